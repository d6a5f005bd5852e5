"""From a command line to checked, composed configs, with errors in words before anything runs."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ablate.catalogue import COMPONENTS, Catalogue, config_folder, nearest
from ablate.config import RunConfig, check_ranges, flatten, plain, shown
from ablate.errors import UserError
from ablate.identity import Identity, identify

TYPE_WORDS = {
    "Integer": "a whole number",
    "Float": "a number",
    "Boolean": "true or false",
    "String": "a word",
}


def register() -> None:
    """Make the schema and the run-name resolver known to Hydra; harmless when repeated."""
    ConfigStore.instance().store(name="run_schema", node=RunConfig)
    OmegaConf.register_new_resolver(
        "run_name", lambda *, _root_: identify(_root_, plain(_root_)).name, replace=True
    )


def check_values(override: Override) -> None:
    """Raise UserError for a sweep whose values cannot be listed, or that has none."""
    if not override.is_sweep_override():
        return
    try:
        count = sum(1 for _ in override.sweep_iterator())
    except (HydraException, ValueError) as error:
        key = override.key_or_group
        raise UserError(
            f"{override.input_line}: a sweep needs its values, as in {key}=A,B or {key}=range(0,3)"
        ) from error
    if count == 0:
        raise UserError(f"{override.input_line}: no value lies in this range")


def quoted(folder: Path) -> str:
    """A folder as an address that Hydra reads whole, whatever signs are in its name.

    >>> quoted(Path("/my, own"))
    "'file:///my, own'"
    """
    return f"'file://{folder}'" if "'" not in str(folder) else f'"file://{folder}"'


class Composer:
    """Composes configs from overrides over the shipped and the user's config folders."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        for folder in folders:
            if not folder.is_dir():
                raise UserError(f"--config-dir {folder}: no such folder")
        self.folders = [folder.resolve() for folder in folders]
        shipped, self.catalogue = Catalogue(), Catalogue(self.folders)
        for folder in self.folders:
            for path in sorted(folder.glob("*/*.yaml")):
                if shipped.path(path.parent.name, path.stem):
                    raise UserError(
                        f"{path}: {path.parent.name}={path.stem} exists already; "
                        "give your choice another name"
                    )
        register()

    def jobs(self, overrides: Sequence[str], *, sweep: bool) -> list[list[str]]:
        """The overrides of every run that the command asks for, one list a run.

        Raises UserError for a misspelt group, choice or key, and for a list of values where no
        sweep was asked for.
        """
        parsed = [self._parse(text) for text in overrides]
        keys = [override.get_key_element() for override in parsed]
        if twice := [key for key in keys if keys.count(key) > 1]:
            raise UserError(f"{twice[0]} is given twice; of several values write {twice[0]}=A,B -m")
        for override in parsed:
            check_values(override)
            self._check_names(override)
        swept = [o for o in parsed if o.is_sweep_override()]
        if swept and not sweep:
            raise UserError(
                f"{swept[0].input_line}: several values are a sweep; add -m to run them all"
            )
        return [job for batch in BasicSweeper.split_arguments(parsed, None) for job in batch]

    @contextmanager
    def session(self) -> Iterator[None]:
        """Hydra's global state, needed around `one`."""
        with initialize_config_dir(str(config_folder()), job_name="ablate", version_base="1.3"):
            yield

    def one(self, job: Sequence[str]) -> tuple[DictConfig, dict[str, Any], Identity]:
        """Compose one run: Hydra's config, the same in plain data, and its identity."""
        search = [f"hydra.searchpath=[{','.join(map(quoted, self.folders))}]"]
        extra = search if self.folders else []
        try:
            composed = compose("run", [*job, *extra], return_hydra_config=True)
            config = plain(composed)
        except (HydraException, OmegaConfBaseException, ValueError) as error:
            raise UserError(self._explain(error, job)) from error
        except yaml.YAMLError as error:
            raise UserError(f"not YAML: {' '.join(str(error).split())}") from error
        check_ranges(config)
        return composed, config, identify(composed, config)

    def _parse(self, text: str) -> Override:
        bare = text.lstrip("+~")
        if "=" not in text and not text.startswith("~"):
            names = self.catalogue.names(bare)
            if names:
                raise UserError(f"{text}: write {bare}=CHOICE; choices are {', '.join(names)}")
            if bare in ("run", "report", "list", "board", "check"):
                raise UserError(f"{text}: one command at a time; the rest must be KEY=VALUE")
            raise UserError(f"{text}: write it as KEY=VALUE, for example depth=24")
        try:
            return OverridesParser.create().parse_override(text)
        except HydraException as error:
            key, _, value = bare.partition("=")
            if "=" in value:
                raise UserError(
                    f"{text}: two = in one word; put a space between KEY=VALUE pairs, and quotes "
                    f"around a value that holds one: {key}='\"...\"'"
                ) from error
            raise UserError(
                f"{text}: cannot be read; put quotes around a value with spaces or special signs: "
                f"{key}='\"...\"'"
            ) from error

    def _check_names(self, override: Override) -> None:
        key = override.key_or_group
        if key in ("hydra.run.dir", "hydra.sweep.dir", "hydra.sweep.subdir"):
            # Two runs would share a folder, and no later command would find them.
            raise UserError(f"{key}: a run's folder is OUTPUTS/STUDY/NAME; set outputs= or study=")
        if key.startswith("hydra"):
            return
        if override.is_delete():
            raise UserError(f"{override.input_line}: no key can be removed from a run")
        if key in COMPONENTS or self.catalogue.names(key):
            self._check_choice(override)
        elif "/" not in key:
            if key.split(".")[0] not in COMPONENTS and key not in self._keys():
                raise UserError(f"{key}: there is no such key.{self._suggest(key)}")
        else:
            groups = self.catalogue.groups()
            raise UserError(f"{key}: there is no such group.{nearest(key, groups)}")
        if override.is_add() or override.is_force_add():
            raise UserError(
                f"{override.input_line}: keys are set, not added; write it without the +"
            )

    def _check_choice(self, override: Override) -> None:
        group = override.key_or_group
        names = self.catalogue.names(group)
        values = (
            list(override.sweep_string_iterator())
            if override.is_discrete_sweep()
            else [override.get_value_element_as_str()]
        )
        for value in values:
            name = value.strip("'\"")
            if name not in names:
                raise UserError(
                    f"{group}={name}: no such choice; choices are {', '.join(names)}."
                    f"{nearest(name, names)}"
                )

    def _keys(self) -> list[str]:
        defaults = self.catalogue.defaults()
        return [*self.catalogue.groups(), *defaults, *flatten(defaults)]

    def _suggest(self, key: str) -> str:
        options = [
            f"{group}.{option}"
            for group in COMPONENTS
            for name in self.catalogue.names(group)
            if (choice := self.catalogue.choice(group, name))
            for option in choice.options
        ]
        leaves = [k for k in [*self._keys(), *options] if k.endswith(f".{key}")]
        close = nearest(key, [*self._keys(), *options])
        return close or (
            f" Did you mean {leaves[0]}?" if leaves else " `ablate run --help` lists them."
        )

    def _explain(self, error: Exception, job: Sequence[str]) -> str:
        """One or two lines for what Hydra or OmegaConf says."""
        causes = [error, error.__cause__, error.__context__]
        text = "\n".join(str(cause) for cause in causes if cause)
        key_match = re.search(r"full_key: (\S+)", text) or re.search(
            r"override '?([\w.@/]+)'?", text
        )
        key = key_match[1] if key_match else ""
        given = next((o for o in job if o.lstrip("+").split("=")[0] == key), key)
        if match := re.search(r"could not be converted to (\w+)", text):
            return f"{given}: must be {TYPE_WORDS.get(match[1], match[1])}"
        if "is not a valid bool" in text:
            return f"{given}: must be true or false"
        if "to ListConfig" in text or "Invalid value assigned" in text:
            return f"{given}: must be a list, for example [0.5,1,2]"
        if "is not Optional" in text:
            return f"{given}: null is not allowed here"
        if "not in struct" in text or "not in '" in text:
            return self._unknown_option(key, job)
        first = text.strip().split("\n")[0]
        return f"{given}: {first}" if given and given not in first else first

    def _unknown_option(self, key: str, job: Sequence[str]) -> str:
        group, _, option = key.partition(".")
        chosen = next(
            (o.split("=", 1)[1] for o in reversed(job) if o.split("=")[0] == group),
            self.catalogue.default_choices().get(group),
        )
        choice = self.catalogue.choice(group, str(chosen))
        if choice is None:
            return f"{key}: there is no such key.{self._suggest(key)}"
        owners = [
            f"{group}={name}"
            for name in self.catalogue.names(group)
            if (other := self.catalogue.choice(group, name)) and option in other.options
        ]
        elsewhere = f" It is an option of {', '.join(owners)}." if owners else ""
        if not choice.options:
            return f"{key}: {group}={chosen} has no options.{elsewhere}"
        options = ", ".join(f"{group}.{k}={shown(v)}" for k, v in choice.options.items())
        return (
            f"{key}: {group}={chosen} has no option {option}; it has {options}."
            f"{elsewhere or nearest(option, choice.options)}"
        )
