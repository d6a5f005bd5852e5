"""A study file: runs that are more than one product of values, as rows and rules."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ablate.config.catalogue import STUDIES, Catalogue, nearest
from ablate.config.compose import Composer
from ablate.config.identity import Identity
from ablate.config.schema import flatten
from ablate.config.values import brief, write
from ablate.config.values import read as read_value
from ablate.errors import UserError
from ablate.sweep.arguments import SEEDS, as_range

KEYS = ("settings", "arms", "grid", "seeds", "skip")
RULE = "{when: {KEY: VALUE}, because: WHY}"


@dataclass(frozen=True)
class Rule:
    """Runs to leave out: those that have every one of some settings."""

    when: Mapping[str, Sequence[Any]]
    because: str

    def __str__(self) -> str:
        """As in `depth=24 pos=rope,alibi`."""
        return " ".join(f"{key}={','.join(map(brief, each))}" for key, each in self.when.items())

    def holds(self, config: Mapping[str, Any], identity: Identity) -> bool:
        """Whether a run is to be left out."""
        have = {**flatten(config), **identity.choices}
        return all(
            key in have and any(same(have[key], value) for value in values)
            for key, values in self.when.items()
        )


@dataclass(frozen=True)
class Study:
    """What a study file says; every text is overrides as they are typed."""

    path: Path
    question: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    arms: Sequence[Mapping[str, str]] = ({},)
    grid: Mapping[str, str] = field(default_factory=dict)
    seeds: str | None = None
    rules: Sequence[Rule] = ()

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


class KeysOnce(yaml.SafeLoader):
    """Reads YAML, and refuses a key given twice, of which YAML keeps the last without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping; raises yaml.YAMLError."""
        seen: list[Any] = []
        for key, _ in node.value:
            if key.value in seen:
                line = key.start_mark.line + 1
                raise yaml.YAMLError(f"{key.value} is given twice, again in line {line}")
            seen.append(key.value)
        return super().construct_mapping(node, deep)


def find(word: str, catalogue: Catalogue) -> Path:
    """The file of a study, by its path or its name; raises UserError where there is none."""
    names = catalogue.names(STUDIES)
    if shipped := catalogue.path(STUDIES, word):
        return shipped
    path = Path(word).expanduser()
    if path.suffix in (".yaml", ".yml"):
        if path.is_file():
            return path
        raise UserError(f"--study {word}: no such file")
    raise UserError(
        f"--study {word}: no such study; there are {', '.join(names)}, or a path to a .yaml."
        f"{nearest(word, names)}"
    )


def read(path: Path) -> Study:
    """Read a study file; raises UserError for whatever it cannot mean."""
    try:
        text = path.read_text(encoding="utf-8")
        content = yaml.load(text, KeysOnce)
    except (ValueError, yaml.YAMLError) as error:
        raise UserError(f"{path}: cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict) or content.get("arms", content.get("grid")) is None:
        raise UserError(f"{path}: a study needs arms: or grid:, or both")
    if unknown := [str(key) for key in content if key not in KEYS]:
        raise UserError(
            f"{path}: {unknown[0]}: no such key; keys are {', '.join(KEYS)}."
            f"{nearest(unknown[0], KEYS)}"
        )
    comment = re.match(r"# ?(.*)", text)
    rows = content.get("arms", [""])
    if not isinstance(rows, list) or not rows or not all(isinstance(row, str) for row in rows):
        raise UserError(f"{path}: arms: must be a list of rows such as - norm=post warmup=linear")
    return Study(
        path,
        question=comment[1].split(" | ")[0] if comment else "",
        settings=settings_of(content.get("settings") or "", path),
        arms=[keyed(row.split(), f"{path}: arms: {row}") for row in rows],
        grid=grid_of(content.get("grid") or {}, path),
        seeds=seeds_of(content["seeds"], path) if "seeds" in content else None,
        rules=rules_of(content.get("skip") or [], path),
    )


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


def grid_of(content: Any, path: Path) -> dict[str, str]:
    """Key → its values with commas between."""
    if not isinstance(content, dict) or not all(
        v and isinstance(v, list) for v in content.values()
    ):
        raise UserError(f"{path}: grid: must be lines of KEY: [A, B]")
    return {str(key): ",".join(map(typed, values)) for key, values in content.items()}


def seeds_of(content: Any, path: Path) -> str:
    """Seeds as an override takes them.

    >>> seeds_of("0..4", Path()), seeds_of([3, 5], Path()), seeds_of(7, Path())
    ('range(0,5)', '3,5', '7')
    """
    if SEEDS.match(word := f"seed={content}"):
        return SEEDS.sub(as_range, word).removeprefix("seed=")
    seeds = content if isinstance(content, list) else [content]
    if not seeds or not all(isinstance(s, int) and not isinstance(s, bool) for s in seeds):
        raise UserError(f"{path}: seeds={content}: must be a number, a list of them, or 0..4")
    return ",".join(map(str, seeds))


def settings_of(content: Any, path: Path) -> dict[str, str]:
    """The settings of all runs; raises UserError where they are no line of words."""
    if not isinstance(content, str):
        raise UserError(f"{path}: settings: must be a line such as depth=12 width=64")
    return keyed(content.split(), f"{path}: settings")


def rules_of(content: Any, path: Path) -> list[Rule]:
    """The rules of `skip`; raises UserError where they are no list."""
    if not isinstance(content, list):
        raise UserError(f"{path}: skip: must be a list of {RULE}")
    return [rule_of(rule, path) for rule in content]


def rule_of(content: Any, path: Path) -> Rule:
    """A rule of `skip`; raises UserError where it lacks a part."""
    when = content.get("when") if isinstance(content, dict) else None
    because = content.get("because") if isinstance(content, dict) else None
    if not isinstance(when, dict) or not when or not isinstance(because, str):
        raise UserError(f"{path}: skip: each rule must be {RULE}, with a text as WHY")
    values = {str(k): v if isinstance(v, list) else [v] for k, v in when.items()}
    return Rule(values, because)


def typed(value: Any) -> str:
    """A value of a study file as an override takes it; a text is one already.

    >>> typed(None), typed(1234567.0), typed("3e-4"), typed([0.5, "c2p"])
    ('null', '1234567.0', '3e-4', '[0.5,c2p]')
    """
    if isinstance(value, list):
        return f"[{','.join(map(typed, value))}]"
    return value if isinstance(value, str) else write(value)


def same(value: Any, wanted: Any) -> bool:
    """Whether a setting has the value that a study file names, as YAML or as it is typed.

    >>> same(0.001, "1e-3"), same(True, True), same("post", "post"), same(None, 0)
    (True, True, True, False)
    """
    if isinstance(wanted, str) and value != wanted:
        try:
            wanted = read_value(wanted)
        except UserError:
            return False
    return brief(wanted) in (value, brief(value))
