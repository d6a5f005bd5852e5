"""Imports point down, room by room, without a circle; nothing heavy is loaded before its time."""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from ablate.cli import VERBS
from ablate.config.identity import NOT_IDENTITY
from ablate.report.runs.settings import CIRCUMSTANCES

PACKAGE = Path(__file__).resolve().parents[1] / "ablate"

ROOMS: dict[str, set[str]] = {
    "errors": set(),
    "shell": {"errors"},
    "config": {"errors"},
    "record": {"errors", "shell"},
    "judge": {"errors", "shell", "record"},
    "model": {"errors"},
    "data": {"errors"},
    "train": {"errors", "record", "judge", "model", "data"},
    "build": {"errors", "config", "model", "data", "train"},
    "evaluate": {
        *("errors", "shell", "config", "record", "judge", "model", "data", "train", "build"),
    },
    "check": {
        *("errors", "shell", "config", "record", "judge", "model", "data", "train", "build"),
        "evaluate",
    },
    "run": {
        *("errors", "shell", "config", "record", "judge", "model", "data", "train", "build"),
        *("evaluate", "check"),
    },
    "report": {"errors", "shell", "config", "record", "judge"},
    "sweep": {
        *("errors", "shell", "config", "record", "judge", "model", "data", "train", "build"),
        *("evaluate", "check", "run", "report"),
    },
    "sample": {"errors", "shell", "model", "data", "evaluate"},
    "diff": {"errors", "shell", "config", "record", "judge", "report"},
    "listing": {"errors", "shell", "config"},
    "board": {"errors", "shell"},
    "cli": {
        *("errors", "shell"),
        *("sweep", "check", "evaluate", "sample", "report", "diff", "listing", "board"),
    },
    "__main__": {"shell", "cli"},
}
"""Room → the rooms that it may import; all of them stand above it."""

INSIDE_REPORT = ("runs", "inference", "words", "text", "figures", "page")
"""The rooms of the report: each imports itself and those before it."""

FOREIGN = {
    "model": {"hydra", "omegaconf", "datasets", "rich", "numpy", "yaml"},
    "data": {"torch", "hydra", "omegaconf", "rich"},
    "report": {"torch", "hydra", "omegaconf", "datasets"},
    "diff": {"torch", "hydra", "omegaconf", "datasets"},
    "record": {"torch", "hydra", "omegaconf", "datasets", "numpy", "scipy", "rich"},
    "judge": {"torch", "hydra", "omegaconf", "datasets"},
    "shell": {"torch", "hydra", "omegaconf", "datasets", "numpy", "scipy"},
}
"""Room → the packages that it does without."""


def files(folder: Path = PACKAGE) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, anywhere in it; of ours the module and not the name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if module_path(name) else node.module


def module_path(name: str) -> Path | None:
    """The file of a module of ours."""
    place = PACKAGE.parent.joinpath(*name.split("."))
    found = (place.with_suffix(".py"), place / "__init__.py")
    return next((path for path in found if path.is_file()), None)


def room_of(name: str) -> str:
    """The room of a module of ours: "ablate.report.runs.collect" stands in "report".

    "" for the package itself, which has the version alone.
    """
    return (*name.split("."), "")[1]


def test_every_room_is_in_the_table() -> None:
    there = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in files()}
    assert there - {"__init__"} == set(ROOMS)


def test_the_table_points_down() -> None:
    before: set[str] = set()
    for room, below in ROOMS.items():
        assert below <= before
        before.add(room)


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_imports_only_what_lies_below_it(room: str) -> None:
    own = files(PACKAGE / room) or [PACKAGE / f"{room}.py"]
    wrong = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in own
        for name in imported(path)
        if name.partition(".")[0] == "ablate" and room_of(name) not in {"", room, *ROOMS[room]}
    }
    assert not wrong


@pytest.mark.parametrize("place", range(len(INSIDE_REPORT)))
def test_the_rooms_of_the_report_point_down_too(place: int) -> None:
    allowed = INSIDE_REPORT[: place + 1]
    wrong = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in files(PACKAGE / "report" / INSIDE_REPORT[place])
        for name in imported(path)
        if name.startswith("ablate.report.") and name.split(".")[2] not in allowed
    }
    assert not wrong


def test_a_sweep_asks_the_report_for_verdicts_alone() -> None:
    """Whether an arm is decided is what a report would say; how it would be told is not asked."""
    names = {
        ".".join(name.split(".")[:3])
        for path in files(PACKAGE / "sweep")
        for name in imported(path)
        if name.startswith("ablate.report.")
    }
    assert names == {"ablate.report.inference", "ablate.report.runs"}


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {}
    for path in files():
        name = ".".join(("ablate", *path.relative_to(PACKAGE).with_suffix("").parts))
        graph[name.removesuffix(".__init__")] = {
            other for other in imported(path) if module_path(other) and other != "ablate"
        }
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_no_two_files_or_classes_have_one_name() -> None:
    names = [path.name for path in files() if path.name not in ("__init__.py", "command.py")]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    classes = [
        node.name
        for path in files()
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    ]
    assert [name for name, count in Counter(classes).items() if count > 1] == []


def test_every_verb_has_a_room_with_a_command() -> None:
    rooms = set(VERBS.values())
    assert rooms == {room for room in ROOMS if (PACKAGE / room / "command.py").is_file()}
    assert rooms <= ROOMS["cli"]


def test_every_room_says_what_it_is_for() -> None:
    for path in files():
        if path.name == "__init__.py":
            assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


def test_what_tests_share_is_imported_by_its_whole_name() -> None:
    tests = files(PACKAGE.parent / "tests")
    names = {path.stem for path in tests}
    wrong = {
        f"{path}: {name}"
        for path in tests
        for name in imported(path)
        if name.partition(".")[0] in names
    }
    assert not wrong


@pytest.mark.parametrize("room", sorted(FOREIGN))
def test_a_room_keeps_clear_of_foreign_packages(room: str) -> None:
    wrong = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in files(PACKAGE / room)
        for name in imported(path)
        if name.partition(".")[0] in FOREIGN[room]
    }
    assert not wrong


def test_only_build_sees_both_configs_and_the_model() -> None:
    both = set()
    for path in files():
        names = set(imported(path))
        if "ablate.model.shape" in names and any(n.startswith("ablate.config") for n in names):
            both.add(path.name)
    assert both == {"build.py"}


@pytest.mark.parametrize(
    "words",
    [
        *(["--help"], ["list"], ["list", "pos=rope"]),
        *(["run", "--help"], ["report", "--help"], ["diff", "--help"]),
        ["check", "--help"],
    ],
)
def test_the_shell_is_light(words: list[str]) -> None:
    program = (
        "import sys; from ablate.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'datasets', 'matplotlib', 'scipy', 'pandas'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"
    assert done.stdout


def test_the_report_does_not_tell_arms_apart_by_what_is_no_part_of_their_identity() -> None:
    assert set(NOT_IDENTITY) <= set(CIRCUMSTANCES)
