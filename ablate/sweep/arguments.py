"""Hydra's flags and the overrides apart, in whatever order they were typed."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from ablate.errors import UserError
from ablate.shell.parser import no_such_flag

OWN = ("--until-decided", "--plan")
SWITCHES = {
    "-m": "--multirun",
    "--multirun": "--multirun",
    "--resolve": "--resolve",
    **dict(zip(OWN, OWN, strict=True)),
}
WITH_VALUE = {
    "-c": "--cfg",
    "--cfg": "--cfg",
    "-p": "--package",
    "--package": "--package",
    "-cd": "--config-dir",
    "--config-dir": "--config-dir",
    "--study": "--study",
}
MAYBE_VALUE = {"-i": "--info", "--info": "--info"}
KNOWN = ("-m", "--cfg", "--resolve", "--info", "--config-dir", "--study", *OWN, "--help")
"""The flags that the help page has."""

FLAGS = (*SWITCHES, *WITH_VALUE, *MAYBE_VALUE)
INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
CFG = ("job", "hydra", "all")
SEEDS = re.compile(r"^seed=(\d+)\.\.(\d+)$")
NO_RANGE = re.compile(r"^seed=[^,$]*\.\.")
SETTING = re.compile(r"^-+([\w.@/]+=.*)$")


@dataclass(frozen=True)
class Arguments:
    """A command line of `ablate run`, taken apart."""

    typed: tuple[str, ...]
    overrides: tuple[str, ...]
    flags: tuple[tuple[str, str | None], ...]
    help: bool = False

    @property
    def multirun(self) -> bool:
        """-m was given."""
        return any(name == "--multirun" for name, _ in self.flags)

    @property
    def until_decided(self) -> bool:
        """Seeds are to be added at planned looks."""
        return any(name == "--until-decided" for name, _ in self.flags)

    @property
    def asks_plan(self) -> bool:
        """The runs are to be told, and none done."""
        return any(name == "--plan" for name, _ in self.flags)

    @property
    def folders(self) -> list[Path]:
        """The user's own config folders."""
        return [Path(v) for name, v in self.flags if name == "--config-dir" and v]

    @property
    def study(self) -> str | None:
        """The study file that was asked for, by name or path."""
        return next((v for name, v in self.flags if name == "--study"), None)

    @property
    def asks_hydra(self) -> bool:
        """A question that Hydra answers without running anything."""
        return any(name in ("--cfg", "--info") for name, _ in self.flags)

    @property
    def sets_hydra(self) -> bool:
        """Whether anything of Hydra itself is set, which then does the runs."""
        return any(map(is_hydras, self.overrides))

    @property
    def names_launcher(self) -> bool:
        """Whether a launcher of Hydra is to do the runs, or those of a study are no product."""
        named = any(word.startswith("hydra/launcher=") for word in self.overrides)
        return self.study is not None or self.until_decided or named

    @property
    def names_sweeper(self) -> bool:
        """Whether a sweeper of Hydra is to choose the runs."""
        return any(word.startswith("hydra/sweeper=") for word in self.overrides)

    def for_hydra(self) -> list[str]:
        """The same line with flags first, as Hydra's parser needs it."""
        drop = (*OWN, *(("--multirun",) if self.asks_hydra else ()))
        flags = [t for name, v in self.flags if name not in drop for t in (name, v) if t]
        return [*flags, *self.overrides]

    def as_typed(self) -> str:
        """The line as one could type it again."""
        return shlex.join(self.typed)

    def to_go_on(self) -> str:
        """The command that goes on with what this line left unfinished, and repeats nothing.

        >>> separate(["-m", "rerun=true", "seed=0,1"]).to_go_on()
        'ablate run -m seed=0,1'
        """
        words = [word for word in self.typed if not word.lstrip("+").startswith("rerun=")]
        return shlex.join(["ablate", "run", *words])


def separate(arguments: Sequence[str]) -> Arguments:
    """Take a command line apart; raises UserError for a flag that there is none of.

    >>> separate(["depth=6", "-m", "seed=0,1"]).for_hydra()
    ['--multirun', 'depth=6', 'seed=0,1']
    """
    overrides: list[str] = []
    flags: list[tuple[str, str | None]] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name, _, attached = word.partition("=")
        if word in ("-h", "--help"):
            return Arguments(tuple(arguments), (), (), help=True)
        if word in SWITCHES:
            flags.append((SWITCHES[word], None))
        elif name in WITH_VALUE:
            value = attached or (rest.pop(0) if rest else "")
            flags.append((WITH_VALUE[name], check_value(name, value)))
        elif name in MAYBE_VALUE:
            value = attached or (rest.pop(0) if rest and rest[0] in INFO else "all")
            flags.append((MAYBE_VALUE[name], check_value(name, value)))
        elif (match := SETTING.match(word)) and not get_close_matches(name, FLAGS, cutoff=0.75):
            raise UserError(f"{word}: a setting has no dash before it; write {match[1]}")
        elif word.startswith("-"):
            raise no_such_flag(name, KNOWN)
        else:
            override = SEEDS.sub(as_range, word)
            if NO_RANGE.match(override):
                raise UserError(f"{word}: a range is two whole numbers, as in seed=0..4")
            overrides.append(override)
    names = {name for name, _ in flags}
    if "--study" in names and names & {"--cfg", "--info"}:
        raise UserError("--study: a list of runs; --cfg and --info are for one")
    if names & {*OWN} and names & {"--cfg", "--info"}:
        raise UserError("--cfg and --info show one config; without --until-decided and --plan")
    if "--resolve" in names and "--cfg" not in names:
        raise UserError("--resolve: only with --cfg, as in --cfg job --resolve")
    return Arguments(tuple(arguments), tuple(overrides), tuple(flags))


def as_range(seeds: re.Match[str]) -> str:
    """seed=A..B, both included, as Hydra writes it; that needs quotes in a shell.

    Raises UserError for a range that goes down.

    >>> SEEDS.sub(as_range, "seed=0..4")
    'seed=range(0,5)'
    """
    first, last = int(seeds[1]), int(seeds[2])
    if first > last:
        raise UserError(f"{seeds[0]}: must go up, as seed={last}..{first} does")
    return f"seed=range({first},{last + 1})"


def is_hydras(override: str) -> bool:
    """Whether an override sets something of Hydra itself, such as its launcher.

    >>> is_hydras("hydra/launcher=ray"), is_hydras("+hydra.job.name=x"), is_hydras("depth=6")
    (True, True, False)
    """
    return override.lstrip("+").startswith("hydra")


def check_value(flag: str, value: str) -> str:
    """The value of a flag; raises UserError where it is missing or unknown."""
    long = WITH_VALUE.get(flag) or MAYBE_VALUE[flag]
    allowed = {"--cfg": CFG, "--info": INFO}.get(long)
    if not value or value.startswith("-"):
        raise UserError(f"{flag}: needs a value{': ' + ', '.join(allowed) if allowed else ''}")
    if allowed and value not in allowed:
        raise UserError(f"{flag} {value}: allowed are {', '.join(allowed)}")
    return value
