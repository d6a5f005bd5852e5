"""Reading a study file: what it may hold, and every mistake in it in a line."""

import math
import re
import shlex
from pathlib import Path
from typing import Any

import yaml

from ablate.config import values
from ablate.config.catalogue import STUDIES, Catalogue, nearest
from ablate.config.loaders import TextLoader
from ablate.errors import UserError
from ablate.judge.looks import LEVELS, LOOKS, problem
from ablate.sweep.arguments import SEEDS, as_range
from ablate.sweep.study import LookTimes, Rule, Study, keyed

KEYS = ("settings", "arms", "grid", "seeds", "skip", "looks", "levels")
RULE = "{when: {KEY: VALUE}, because: WHY}"


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
        content = yaml.load(text, TextLoader)
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
        arms=[keyed(words_of(row, path), f"{path}: arms: {row}") for row in rows],
        grid=grid_of(content.get("grid") or {}, path),
        seeds=seeds_of(content["seeds"], path) if "seeds" in content else None,
        rules=rules_of(content.get("skip") or [], path),
        looks=looks_of(content, path),
    )


def grid_of(content: Any, path: Path) -> dict[str, str]:
    """Key → its values with commas between."""
    if not isinstance(content, dict) or not all(
        v and isinstance(v, list) for v in content.values()
    ):
        raise UserError(f"{path}: grid: must be lines of KEY: [A, B]")
    return {str(key): ",".join(map(typed, each)) for key, each in content.items()}


def seeds_of(content: Any, path: Path) -> str:
    """Seeds as an override takes them.

    >>> seeds_of("0..4", Path()), seeds_of(["3", "5"], Path()), seeds_of("7", Path())
    ('range(0,5)', '3,5', '7')
    """
    if SEEDS.match(word := f"seed={content}"):
        return SEEDS.sub(as_range, word).removeprefix("seed=")
    seeds = content if isinstance(content, list) else [content]
    if not seeds or not all(isinstance(s, str) and re.fullmatch(r"[\d_]+", s) for s in seeds):
        raise UserError(f"{path}: seeds={content}: must be a number, a list of them, or 0..4")
    return ",".join(map(str, seeds))


def looks_of(content: Any, path: Path) -> LookTimes | None:
    """The looks and their levels, None without any; raises UserError for a bad plan."""
    if "looks" not in content and "levels" not in content:
        return None
    numbers = numbers_of(content, "looks", LOOKS, path)
    levels = numbers_of(content, "levels", LEVELS, path)
    looks = tuple(map(int, numbers))
    if fractions := [f"{number:g}" for number in numbers if number != int(number)]:
        raise UserError(f"{path}: looks: {fractions[0]}: must be a whole number of seeds")
    if wrong := problem(looks, levels):
        raise UserError(f"{path}: {wrong}")
    return looks, levels


def numbers_of(content: Any, key: str, usual: tuple[float, ...], path: Path) -> tuple[float, ...]:
    """A list of finite numbers; raises UserError for anything else."""
    listed = content.get(key, list(map(str, usual)))
    try:
        numbers = tuple(map(float, listed)) if isinstance(listed, list) else ()
    except (TypeError, ValueError):
        numbers = ()
    if not numbers or not all(map(math.isfinite, numbers)):
        example = ", ".join(map(str, usual))
        raise UserError(f"{path}: {key}: {listed}: must be a list of numbers, as in [{example}]")
    return numbers


def settings_of(content: Any, path: Path) -> dict[str, str]:
    """The settings of all runs; raises UserError where they are no line of words."""
    if not isinstance(content, str):
        raise UserError(f"{path}: settings: must be a line such as depth=12 width=64")
    return keyed(words_of(content, path), f"{path}: settings")


def words_of(row: str, path: Path) -> list[str]:
    """The words of a row as a shell would part them; raises UserError for an open quote."""
    try:
        return shlex.split(row)
    except ValueError as error:
        raise UserError(f"{path}: {row}: {error}") from error


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
    wanted = {str(k): v if isinstance(v, list) else [v] for k, v in when.items()}
    return Rule({key: list(map(typed, each)) for key, each in wanted.items()}, because)


def typed(value: Any) -> str:
    """A value of a study file as an override takes it: a text as it is typed, if it can be.

    >>> typed("3e-4"), typed("a,b"), typed(["0.5", "c2p"]), typed({"a": "1"})
    ('3e-4', "'a,b'", '[0.5,c2p]', '{a:1}')
    """
    if isinstance(value, list):
        return f"[{','.join(map(typed, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{typed(item)}' for key, item in value.items())}}}"
    if "${" in value or re.fullmatch(r"\w+\(.*\)", value):
        return str(value)
    try:
        values.read(value)
    except UserError:
        return values.write(value)
    return str(value) or "''"
