"""A study: runs that are more than one product of values, as rows, a grid and rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import BooleanNode, FloatNode, IntegerNode, ValidationError

from ablate.config.compose import Composer
from ablate.config.identity import Identity
from ablate.config.schema import flatten
from ablate.config.values import brief, read, write
from ablate.errors import UserError

LookTimes = tuple[tuple[int, ...], tuple[float, ...]]
"""Numbers of seeds at which a study is looked at, and the level of each look."""


@dataclass(frozen=True)
class Rule:
    """Runs to leave out: those that have every one of some settings."""

    when: Mapping[str, Sequence[str]]
    because: str

    def __str__(self) -> str:
        """As in `depth=24 pos=rope,alibi`."""
        return " ".join(f"{key}={','.join(each)}" for key, each in self.when.items())

    def holds(self, config: Mapping[str, Any], identity: Identity) -> bool:
        """Whether a run is to be left out."""
        settings = settings_of(config, identity)
        return all(
            key in settings and any(same(settings[key], value) for value in values)
            for key, values in self.when.items()
        )


def settings_of(config: Mapping[str, Any], identity: Identity) -> dict[str, Any]:
    """What a rule can name of a run: its choices, keys and options."""
    return {**flatten(config), **identity.choices}


@dataclass(frozen=True)
class Study:
    """What a study file says; every text is overrides as they are typed.

    `looks` are when it is looked at with --until-decided.
    """

    path: Path
    question: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    arms: Sequence[Mapping[str, str]] = ({},)
    grid: Mapping[str, str] = field(default_factory=dict)
    seeds: str | None = None
    rules: Sequence[Rule] = ()
    looks: LookTimes | None = None

    def jobs(self, composer: Composer, overrides: Sequence[str]) -> list[list[str]]:
        """The overrides of every run: each arm with each point of the grid and each seed.

        What is given on the command line stands in place of a setting, of a line of the grid and of
        the seeds. Raises UserError where it names what the arms differ in.
        """
        composer.jobs(overrides, sweep=True)  # raises for a mistake on the command line
        line = keyed(overrides, "the command line")
        seeds = {"seed": self.seeds} if self.seeds else {}
        common = {
            "study": write(self.path.stem),
            **self.settings,
            **self.grid,
            **seeds,
            **line,
        }
        jobs = []
        for arm in self.arms:
            if clash := [key for key in arm if key in line or key in self.grid]:
                place = "the command line" if clash[0] in line else "the grid"
                raise UserError(
                    f"{clash[0]}: the arms of {self.path} set it, so {place} cannot; "
                    "copy the file and change the arms"
                )
            words = [f"{key}={value}" for key, value in {**common, **arm}.items()]
            try:
                jobs += composer.jobs(words, sweep=True)
            except UserError as error:
                raise UserError(f"{self.path}: {error}") from error
        return jobs


def keyed(words: Sequence[str], place: str) -> dict[str, str]:
    """KEY=VALUE words by key; raises UserError for another word and for a key given twice."""
    settings: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise UserError(f"{place}: {word}: write it as KEY=VALUE, for example depth=24")
        if key in settings:
            raise UserError(f"{place}: {key} is given twice")
        settings[key] = value
    return settings


def same(value: Any, wanted: str) -> bool:
    """Whether a setting has the value that the command line would make of a text.

    >>> same(0.001, "1e-3"), same(True, "on"), same("on", "on"), same(10, "010"), same(None, "0")
    (True, True, True, True, False)
    """
    try:
        meant = read(wanted)
    except UserError:
        return False
    if isinstance(value, str):
        return value in (wanted, meant)
    try:
        typed = NODES[type(value)](meant) if type(value) in NODES else meant
    except ValidationError:
        return False
    return bool(typed == value) or brief(meant) == brief(value)


NODES: Mapping[type, Any] = {bool: BooleanNode, int: IntegerNode, float: FloatNode}
"""What OmegaConf makes of a value for a key of a type."""
