"""From a command line to checked, composed configs, with errors in words before anything runs."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hydra import initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ablate.config.bases import Bases
from ablate.config.catalogue import COMPONENTS, Catalogue, config_folder, nearest
from ablate.config.identity import Identity, identify, named
from ablate.config.mistakes import Mistakes
from ablate.config.schema import RunConfig, check_ranges, plain, resolved, unresolved
from ablate.errors import UserError

OWN_CHOICE = " A choice of your own needs --config-dir DIR, with DIR/{group}/{name}.yaml in it."


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


def hydra_settings(
    settings: Mapping[str, Any], overrides: Sequence[Override], *, of_many: bool
) -> dict[str, Any]:
    """Hydra's own settings of a base, completed by what it adds for the overrides of a run."""
    own = [str(o.input_line) for o in overrides if o.is_hydra_override()]
    task = [str(o.input_line) for o in overrides if not o.is_hydra_override()]
    return {
        **settings,
        "mode": "MULTIRUN" if of_many else "RUN",
        "overrides": {"hydra": own if of_many else [*own, "hydra.mode=RUN"], "task": task},
        "job": {**settings["job"], "override_dirname": ",".join(sorted(task))},
    }


@dataclass(frozen=True)
class Composition:
    """One run in plain data: its config, its names and what .hydra/ is to hold, by file name."""

    config: dict[str, Any]
    identity: Identity
    files: dict[str, Any]


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
        self.mistakes = Mistakes(self.catalogue)
        self._bases = Bases(self.folders)
        self._parser = OverridesParser.create()
        self._read: dict[str, Override] = {}

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
        """Hydra's global state, needed around `one` and `whole`."""
        with initialize_config_dir(str(config_folder()), job_name="ablate", version_base="1.3"):
            if self.folders:  # found as Hydra finds a --config-dir
                search = create_config_search_path(str(config_folder()))
                for folder in self.folders:
                    search.prepend("command-line", f"file://{folder}", SearchPathQuery("schema"))
                GlobalHydra.instance().clear()
                Hydra.create_main_hydra2("ablate", search)
            yield

    def one(self, job: Sequence[str]) -> tuple[dict[str, Any], Identity]:
        """Compose one run: its config in plain data, and its identity."""
        composition = self.whole(job)
        return composition.config, composition.identity

    def whole(self, job: Sequence[str], *, of_many: bool = False) -> Composition:
        """Compose one run, perhaps one of many, with what Hydra writes down of it."""
        parsed = [self._parse(text) for text in job]
        try:
            base = self._bases.of([o for o in parsed if not self._bases.is_value(o)])
            composed = base.with_values([o for o in parsed if self._bases.is_value(o)])
            config = resolved(composed)
        except (HydraException, OmegaConfBaseException, ValueError) as error:
            raise UserError(self.mistakes.explain(error, job)) from error
        except yaml.YAMLError as error:
            raise UserError(f"not YAML: {' '.join(str(error).split())}") from error
        check_ranges(config)
        files = {
            "config": unresolved(composed),
            "hydra": {"hydra": hydra_settings(base.hydra, parsed, of_many=of_many)},
            "overrides": list(job),
        }
        return Composition(config, named(config, base.chosen, self.catalogue), files)

    def _parse(self, text: str) -> Override:
        if text not in self._read:
            self._read[text] = self._parse_anew(text)
        return self._read[text]

    def _parse_anew(self, text: str) -> Override:
        bare = text.lstrip("+~")
        if "=" not in text and not text.startswith("~"):
            names = self.catalogue.names(bare)
            if names:
                raise UserError(f"{text}: write {bare}=CHOICE; choices are {', '.join(names)}")
            if bare in ("run", "report", "list", "board", "check"):
                raise UserError(f"{text}: one command at a time; the rest must be KEY=VALUE")
            raise UserError(f"{text}: write it as KEY=VALUE, for example depth=24")
        try:
            return self._parser.parse_override(text)
        except HydraException as error:
            key, _, value = bare.partition("=")
            if "=" in value:
                raise UserError(
                    f"{text}: two = in one word; put a space between KEY=VALUE pairs, and quotes "
                    f"around a value that holds one: {key}='\"...\"'"
                ) from error
            if value.endswith(","):
                raise UserError(
                    f"{text}: ends in a comma; write values without spaces between them: {key}=A,B"
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
        if key.startswith("hydra.sweeper.params"):
            raise UserError(
                f"{key}: write what is swept as keys of its own, KEY=A,B, or for a sweeper that "
                "chooses KEY='interval(A,B)'"
            )
        if key.startswith("hydra"):
            return
        if override.is_delete():
            raise UserError(f"{override.input_line}: no key can be removed from a run")
        if key in COMPONENTS or self.catalogue.names(key):
            self._check_choice(override)
        elif "/" not in key:
            if key.split(".")[0] not in COMPONENTS and key not in self.mistakes.known_keys():
                raise UserError(f"{key}: there is no such key.{self.mistakes.suggest(key)}")
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
                    f"{nearest(name, names) or OWN_CHOICE.format(group=group, name=name or 'NAME')}"
                )
