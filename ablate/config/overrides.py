"""The words of a command line as Hydra reads them, checked against what there is."""

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Glob, Override, Sweep
from hydra.errors import HydraException

from ablate.config.catalogue import COMPONENTS, Catalogue, nearest
from ablate.config.mistakes import Mistakes
from ablate.config.text_keys import is_text
from ablate.config.values import as_text
from ablate.errors import UserError

TARGET = "_target_"
VERBS = ("run", "check", "report", "diff", "list", "board", "evaluate", "sample")
MOST_RUNS = 100_000
"""What one command may ask for; planning so many takes minutes."""
OWN_CHOICE = " A choice of your own needs --config-dir DIR, with DIR/{group}/{name}.yaml in it."


FROM_FILES = (
    "{name}: a class is named by a file of choices alone, not by a setting; your own needs a file "
    "DIR/GROUP/NAME.yaml with a line _target_: and --config-dir DIR"
)
REFERENCE = re.compile(r"(?<!\\)(?:\\\\)*\$\{")
"""What OmegaConf replaces by another value; not with a backslash before it."""


def classes(value: Any) -> set[str]:
    """The classes that plain data name.

    >>> classes({"a": [{"_target_": "os.system"}], "_target_x": 1})
    {'os.system'}
    """
    if isinstance(value, Mapping):
        inside = (classes(part) for key, part in value.items() if key != TARGET)
        own = {str(value[TARGET])} if TARGET in value else set()
        return own.union(*inside)
    return set().union(*map(classes, value)) if isinstance(value, list) else set()


def check_sweep(override: Override) -> None:
    """Raise UserError for a sweep whose values cannot be listed, or that has none."""
    if not override.is_sweep_override():
        return
    listed = override.value()
    if isinstance(listed, ChoiceSweep) and any(isinstance(each, Sweep) for each in listed.list):
        raise UserError(f"{override.input_line}: a sweep inside a sweep; write its values")
    try:
        count = sum(1 for _ in islice(override.sweep_iterator(), MOST_RUNS + 1))
    except (HydraException, ValueError) as error:
        key = override.key_or_group
        raise UserError(
            f"{override.input_line}: a sweep needs its values, as in {key}=A,B or {key}=range(0,3)"
        ) from error
    if count == 0:
        raise UserError(f"{override.input_line}: no value lies in this range")
    if count > MOST_RUNS:
        raise UserError(f"{override.input_line}: more than {MOST_RUNS:,} values, one for each run")


class Overrides:
    """Reads and checks overrides; each text is read once."""

    def __init__(self, catalogue: Catalogue, mistakes: Mistakes) -> None:
        self._catalogue, self._mistakes = catalogue, mistakes
        self._parser = OverridesParser.create()
        self._known: dict[str, Override] = {}

    def read(self, text: str) -> Override:
        """A word of a command line; raises UserError for one that cannot be read."""
        if text not in self._known:
            self._known[text] = self._read_anew(text)
        return self._known[text]

    def check_stored(self, text: str) -> Override:
        """A word that stands in a run's folder, for one run; raises UserError for one that may not.

        It chooses among what there is and sets plain values: it names no class, sets nothing of
        Hydra and takes no value from elsewhere.
        """
        key = text.partition("=")[0]
        instead = f"; type {key}=VALUE on this command line instead"
        if REFERENCE.search(text):
            raise UserError(f"{text}, which takes its value from elsewhere{instead}")
        override = self.read(text)
        if override.key_or_group.startswith("hydra"):
            raise UserError(f"{text}, which sets something of Hydra: not from a run's folder")
        if override.is_sweep_override():
            raise UserError(f"{text}, which is several values{instead}")
        self.check(override)
        return override

    def check(self, override: Override) -> None:
        """Raise UserError for a key, group or choice that is not there, and for a useless sweep.

        Also for a word that names a class, or a folder of choices past --config-dir.
        """
        values = [] if override.is_sweep_override() else [override.value()]
        if TARGET in override.key_or_group.split(".") or any(map(classes, values)):
            raise UserError(FROM_FILES.format(name=override.input_line))
        if override.key_or_group.startswith("hydra.searchpath"):
            raise UserError(f"{override.input_line}: folders of choices are given by --config-dir")
        check_sweep(override)
        self._check_key(override)

    def _read_anew(self, text: str) -> Override:
        bare = text.lstrip("+~")
        if "=" not in text and not text.startswith("~"):
            names = self._catalogue.names(bare)
            if names:
                raise UserError(f"{text}: write {bare}=CHOICE; choices are {', '.join(names)}")
            if bare in VERBS:
                raise UserError(f"{text}: one command at a time; the rest must be KEY=VALUE")
            raise UserError(f"{text}: write it as KEY=VALUE, for example depth=24")
        key, _, value = bare.partition("=")
        if value != (quoted := as_text(value)) and is_text(key, self._catalogue):
            text = f"{text.partition('=')[0]}={quoted}"
        try:
            override = self._parser.parse_override(text)
        except HydraException as error:
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
        except ValueError as error:  # more digits than Python reads
            raise UserError(f"{key}: not a number that can be read ({error})") from error
        if isinstance(pattern := override.value(), Glob):
            return self.read(f"{key}={','.join(self._matching(override, pattern))}")
        return override

    def _matching(self, override: Override, pattern: Glob) -> list[str]:
        names = self._catalogue.names(override.key_or_group)
        if not (matching := pattern.filter(names)):
            choices = f"choices are {', '.join(names)}" if names else "it is for choices alone"
            raise UserError(f"{override.input_line}: this matches nothing; {choices}")
        return matching

    def _check_key(self, override: Override) -> None:
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
        if key in COMPONENTS or self._catalogue.names(key):
            self._check_choice(override)
        elif "/" not in key:
            if key.split(".")[0] not in COMPONENTS and key not in self._mistakes.known_keys():
                raise UserError(f"{key}: there is no such key.{self._mistakes.suggest(key)}")
        else:
            groups = self._catalogue.groups()
            raise UserError(f"{key}: there is no such group.{nearest(key, groups)}")
        if override.is_add() or override.is_force_add():
            raise UserError(
                f"{override.input_line}: keys are set, not added; write it without the +"
            )

    def _check_choice(self, override: Override) -> None:
        group = override.key_or_group
        names = self._catalogue.names(group)
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
            self._catalogue.choice(group, name)  # raises for a file that reads in two ways
