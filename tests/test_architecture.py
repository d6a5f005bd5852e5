"""Imports point down only, and nothing heavy is loaded before it is needed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from ablate.identity import NOT_IDENTITY
from ablate.report.settings import CIRCUMSTANCES

PACKAGE = Path(__file__).resolve().parents[1] / "ablate"

MAY_IMPORT = {
    "model": {"ablate.model", "ablate.errors"},
    "data": {"ablate.data", "ablate.errors"},
    "train": {
        "ablate.train",
        "ablate.model",
        "ablate.data",
        "ablate.errors",
        "ablate.first_loss",
        "ablate.labels",
        "ablate.lock",
        "ablate.record",
        "ablate.profile",
    },
    "report": {
        "ablate.report",
        "ablate.catalogue",
        "ablate.record",
        "ablate.labels",
        "ablate.lock",
        "ablate.errors",
        "ablate.profile",
    },
    "diagnosis": {"ablate.diagnosis", "ablate.first_loss", "ablate.labels"},
    "evaluate": {
        "ablate.record",
        "ablate.catalogue",
        "ablate.evaluate",
        "ablate.build",
        "ablate.model",
        "ablate.data",
        "ablate.errors",
        "ablate.lock",
        "ablate.train",
        "ablate.compose",
        "ablate.parser",
        "ablate.profile",
        "ablate.terminal",
    },
}
"""Folder → the parts of ablate that it may import."""

FOREIGN_TO = {
    "model": {"hydra", "omegaconf", "datasets", "rich", "numpy", "yaml"},
    "data": {"torch", "hydra", "omegaconf", "rich"},
    "report": {"torch", "hydra", "omegaconf", "datasets"},
    "diagnosis": {"torch", "hydra", "omegaconf", "datasets", "numpy", "scipy"},
}


def imported(path: Path) -> set[str]:
    """Every module that a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            if node.module == "ablate":
                names |= {f"ablate.{alias.name}" for alias in node.names}
    return names


def within(name: str, allowed: set[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in allowed)


@pytest.mark.parametrize("folder", sorted(MAY_IMPORT))
def test_a_folder_imports_only_what_lies_below_it(folder: str) -> None:
    files = list((PACKAGE / folder).rglob("*.py"))
    assert files
    wrong = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in files
        for name in imported(path)
        if name.startswith("ablate.") and not within(name, MAY_IMPORT[folder])
    }
    assert not wrong


@pytest.mark.parametrize("folder", sorted(FOREIGN_TO))
def test_a_folder_keeps_clear_of_foreign_packages(folder: str) -> None:
    wrong = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in (PACKAGE / folder).rglob("*.py")
        for name in imported(path)
        if within(name, FOREIGN_TO[folder])
    }
    assert not wrong


def test_only_build_sees_both_configs_and_the_model() -> None:
    both = {
        path.name
        for path in PACKAGE.rglob("*.py")
        if "ablate.model.shape" in imported(path)
        and {"ablate.config", "ablate.parts"} & imported(path)
    }
    assert both == {"build.py"}


@pytest.mark.parametrize(
    "words",
    [
        *(["--help"], ["list"], ["list", "pos=rope"]),
        *(["run", "--help"], ["report", "--help"], ["diff", "--help"]),
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
