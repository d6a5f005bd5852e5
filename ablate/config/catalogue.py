"""What there is to choose: the YAML files of configs/, read as text without Hydra or torch."""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from ablate.config.loaders import ValueLoader
from ablate.errors import UserError

COMPONENTS = (
    "pos",
    "norm",
    "norm_layer",
    "residual",
    "init",
    "feed_forward",
    "warmup",
    "decay",
    "optim",
    "corpus",
    "task",
)
"""Groups that make up a run, in the order in which names and tables show them."""

PRESETS = ("size", "experiment")
"""Groups whose files only set the values of other keys."""


STUDIES = "studies"
"""The folder of study files: lists of runs. Were it called `study`, Hydra would take study=NAME for
a choice."""


def config_folder() -> Path:
    """The folder of the shipped configs: beside the package in a checkout, inside it in a wheel."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


@dataclass(frozen=True)
class Choice:
    """One file of a group, with what its comment lines say."""

    group: str
    name: str
    path: Path
    summary: str = ""
    formula: str = ""
    paper: str = ""
    target: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    option_help: dict[str, str] = field(default_factory=dict)


def read_choice(group: str, path: Path) -> Choice:
    """Read one file. Its first comment is `# what it is | formula | paper`; later ones are
    `# fact: value` or `# option name: what it does`, which may also stand behind an option.
    """
    try:
        text = path.read_text(encoding="utf-8")
        content = yaml.load(text, ValueLoader) or {}
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise UserError(f"{path}: cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise UserError(f"{path}: must hold KEY: VALUE lines, one of them _target_: module.Class")
    lines = re.findall(r"^# ?(.*)$", text, flags=re.MULTILINE)
    comments = [line for line in lines if not line.startswith("@package")]
    heading = [p.strip() for p in re.split(r" \|(?: |$)", comments[0] if comments else "")]
    facts: dict[str, str] = {}
    option_help = dict(re.findall(r"^(\w+):.*\S +# (.*)$", text, flags=re.MULTILINE))
    for comment in comments[1:]:
        if match := re.match(r"option ([\w.]+): (.*)", comment):
            option_help[match[1]] = match[2]
        elif match := re.match(r"(\w+): (.*)", comment):
            facts[match[1]] = match[2]
    options = {k: v for k, v in content.items() if k not in ("_target_", "defaults")}
    entries = [entry for entry in content.get("defaults") or [] if isinstance(entry, dict)]
    mark = "override /"  # as presets choose from groups
    choices = {k[len(mark) :]: v for e in entries for k, v in e.items() if k.startswith(mark)}
    options = {**choices, **options}
    summary, formula, paper = (*heading, "", "", "")[:3]
    target = str(content.get("_target_", ""))
    return Choice(
        group, path.stem, path, summary, formula, paper, target, facts, options, option_help
    )


class Catalogue:
    """The groups and choices of some config folders; an earlier folder's file wins."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self.folders = [config_folder(), *folders]
        self._read: dict[Path, Choice] = {}

    def groups(self) -> list[str]:
        """Names of all groups that have a choice, components first."""
        return [g for g in (*COMPONENTS, *PRESETS) if self.names(g)]

    def names(self, group: str) -> list[str]:
        """Names of a group's choices, sorted."""
        files = (path for folder in self.folders for path in (folder / group).glob("*.yaml"))
        return sorted({path.stem for path in files})

    def path(self, group: str, name: str) -> Path | None:
        """The file of a choice."""
        paths = (folder / group / f"{name}.yaml" for folder in self.folders)
        return next((path for path in paths if path.is_file()), None)

    def choice(self, group: str, name: str) -> Choice | None:
        """A choice with its comments and options."""
        path = self.path(group, name)
        if path and path not in self._read:
            self._read[path] = read_choice(group, path)
        return self._read[path] if path else None

    def defaults(self) -> dict[str, Any]:
        """The plain default values and sub-trees of run.yaml."""
        return {k: v for k, v in self._run.items() if k not in ("defaults", "hydra")}

    def default_choices(self) -> dict[str, str | None]:
        """Which choice of each group run.yaml takes."""
        entries = [e for e in self._run["defaults"] if isinstance(e, dict)]
        return {g: n for e in entries for g, n in e.items() if not g.startswith("override ")}

    @cached_property
    def targets(self) -> frozenset[str]:
        """Every class that a file names; no class from elsewhere is imported."""
        files = (path for folder in self.folders for path in folder.glob("*/*.yaml"))
        texts = (path.read_text(encoding="utf-8", errors="replace") for path in files)
        named = (re.findall(r"_target_[\"']?\s*:\s*([^\s,}]+)", text) for text in texts)
        return frozenset(name.strip("\"'") for names in named for name in names)

    @cached_property
    def _run(self) -> dict[str, Any]:
        text = (config_folder() / "run.yaml").read_text(encoding="utf-8")
        content: dict[str, Any] = yaml.load(text, ValueLoader)
        return content


def nearest(word: str, names: Iterable[str]) -> str:
    """' Did you mean ...?' where a name is close to `word`, else nothing.

    A name that begins `word`, or the other way round, counts as closer than a rough likeness.

    >>> nearest("rpoe", ["rope", "alibi"]), nearest("prenorm", ["deepnorm", "pre"])
    (' Did you mean rope?', ' Did you mean pre?')
    """
    known = list(names)
    beginnings = [n for n in known if word.startswith(n) or n.startswith(word)] if word else []
    close = (
        difflib.get_close_matches(word, known, n=1, cutoff=0.85)
        or beginnings
        or difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    )
    return f" Did you mean {max(close, key=len)}?" if close else ""
