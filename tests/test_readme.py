"""The README's commands are those that are tested."""

import re
import shlex
import textwrap
from pathlib import Path

import pytest

from ablate.config.catalogue import Catalogue
from ablate.config.compose import Composer
from ablate.config.schema import flatten
from ablate.sweep.arguments import separate
from ablate.sweep.study_plan import StudyRuns
from tests.conftest import TINY, Command

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


COMMANDS = re.findall(r"^    (?:.* )?ablate (run|check) ([^#\n]*)", README, re.M)


@pytest.mark.parametrize(("verb", "line"), COMMANDS)
def test_every_run_and_check_in_the_readme_composes(verb: str, line: str) -> None:
    words = shlex.split(line)
    given = separate([word for word in words if not word.startswith("hydra/launcher=")])  # extras
    if given.folders or given.names_sweeper:
        return  # has a test of its own
    composer = Composer()
    study = StudyRuns(given, composer) if given.study else None
    jobs = composer.jobs(given.overrides, sweep=given.multirun) if study is None else []
    assert len(study.plan() if study else jobs) >= 1
    with composer.session():
        for job in jobs[:2]:
            composer.one(job)


def test_the_study_of_ones_own_composes(tmp_path: Path) -> None:
    (text,) = re.findall(r"^    (# Does .*\n(?:    .*\n)+)", README, re.M)
    path = tmp_path / "my_study.yaml"
    path.write_text(textwrap.dedent(f"    {text}"), encoding="utf-8")
    plan = StudyRuns(separate(["--study", str(path)]), Composer()).plan()
    assert len(plan) == 3 * 3 * 5


def test_every_key_and_choice_the_readme_names_exists() -> None:
    catalogue = Catalogue()
    keys = set(flatten(catalogue.defaults())) | set(catalogue.groups())
    for group in catalogue.groups():
        for name in catalogue.names(group):
            choice = catalogue.choice(group, name)
            assert choice
            keys |= {f"{group}.{option}" for option in choice.options}
    named = re.findall(r"`([a-z_]+(?:\.[a-z_]+)*)=[^`]*`", README)
    assert named
    assert set(named) <= keys | {"pos@pos.inner"}


def snippet(language: str) -> str:
    """The README's only fenced block in a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)
    return str(found)


def test_the_scheme_of_ones_own_passes_its_check_and_runs(
    ablate: Command, tmp_path: Path, words: Path
) -> None:
    (tmp_path / "my_schemes.py").write_text(snippet("python"), encoding="utf-8")
    (tmp_path / "my_configs" / "pos").mkdir(parents=True)
    (tmp_path / "my_configs" / "pos" / "recency.yaml").write_text(snippet("yaml"), encoding="utf-8")
    line = (
        "--config-dir",
        "my_configs",
        "pos=recency",
        *TINY,
        "corpus=text",
        f"corpus.files={words}",
    )
    checked = ablate("check", *line)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "✓ causality" in checked.stdout
    assert "✓ shift" in checked.stdout
    done = ablate("run", *line, "evaluate.windows=4")
    assert done.returncode == 0, done.stderr
