"""Each signature provoked by a real run, small, and named; a healthy run is left alone."""

import random
from pathlib import Path

import pytest

from ablate.config.compose import Composer
from ablate.record.record import Record, Signature
from ablate.run.execute import execute
from ablate.run.planned import PlannedRun
from tests.conftest import later_wins

SMALL = (
    "corpus=text",
    "evaluate.windows=8",
    "evaluate.batches=16",
    "evaluate.lengths=[1,2]",
    "depth=2",
    "width=32",
    "heads=2",
    "seq_len=32",
    "batch_size=8",
    "steps=60",
    "threads=1",
)

DEEP_AND_HOT = ("depth=24", "batch_size=4", "steps=50", "lr=6e-3")


@pytest.fixture(scope="module")
def periodic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts that repeat four letters sixteen times, then four others: who knows where, knows.

    Many of them, since what becomes of a length is judged over documents.
    """
    draw = random.Random(0)
    folder = tmp_path_factory.mktemp("periodic")
    for number in range(200):
        text = "".join("".join(draw.choices("abcdefgh", k=4)) * 16 for _ in range(12))
        (folder / f"{number}.txt").write_text(text)
    return folder


def run(folder: Path, text: Path, *overrides: str, choices: tuple[Path, ...] = ()) -> Record:
    """The record of a run that was really done."""
    composer = Composer(choices)
    words = later_wins(*SMALL, f"corpus.files={text}", *overrides)
    with composer.session():
        config, identity = composer.one(words)
    return execute(PlannedRun(config, identity, folder / identity.name), [], lambda: False)


def signatures(record: Record) -> list[Signature]:
    assert record.error is None
    assert record.diagnosis is not None
    return record.diagnosis


def named(record: Record) -> list[str]:
    return [signature.name for signature in signatures(record)]


def test_a_healthy_run_has_no_finding(tmp_path: Path, words: Path) -> None:
    found = run(tmp_path, words)
    assert found.label == "healthy"
    assert named(found) == []


@pytest.mark.parametrize(
    ("overrides", "name", "cause"),
    [
        (("norm=none", "residual=off", "depth=8", "steps=40"), "rank collapse", "no residual path"),
        (("tied=true", "norm.final=false", "steps=10"), "high first loss", "tied to large"),
        pytest.param(
            ("norm=none", "norm_layer=none", "init=xavier", "depth=12", "steps=10"),
            "exponential growth",
            "no norm holds",
            marks=pytest.mark.slow,
        ),
        (("lr=3", "steps=40"), "diverged", "learning rate too high"),
        (("lr=0.1", "steps=40"), "sharp attention", "at this learning rate"),
        (("pos=learned", "steps=10"), "undefined past L", "no such position"),
        pytest.param(
            ("task=mlm", "pos=none", "lr=1e-2", "evaluate.shuffle=true"),
            "order is not used",
            "no position scheme",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            (
                "norm_layer=batchnorm",
                "norm=post",
                "batch_size=1",
                "seq_len=8",
                "steps=15",
                "lr=3e-2",
            ),
            "evaluation gap",
            "batch statistics",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_is_done_wrong_is_named(
    tmp_path: Path, words: Path, overrides: tuple[str, ...], name: str, cause: str
) -> None:
    record = run(tmp_path, words, *overrides)
    assert name in named(record)
    (found,) = [signature for signature in signatures(record) if signature.name == name]
    assert cause in found.cause


def test_a_task_that_gives_its_targets_away_is_a_leak(
    tmp_path: Path, words: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine" / "task").mkdir(parents=True)
    (tmp_path / "mine" / "task" / "unshifted.yaml").write_text(
        "# Predicts what it is given.\n_target_: unshifted_task.Unshifted\n"
    )
    (tmp_path / "unshifted_task.py").write_text(
        "from ablate.data.lm import LanguageModelling\n"
        "from ablate.data.tasks import Batch\n"
        "class Unshifted(LanguageModelling):\n"
        "    def view(self, rows, last, random):\n"
        "        return Batch(rows[:, :-1], rows[:, :-1])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    mine = (tmp_path / "mine",)
    record = run(tmp_path, words, "task=unshifted", "tied=true", "steps=5", choices=mine)
    assert "low first loss" in named(record)
    assert "see its targets" in signatures(record)[0].cause


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "names"),
    [
        (("pos=learned", "pos.rows=64"), {"cliff past L"}),
        # How steeply phases fail that were never seen is a matter of the text and the machine.
        (("pos=rope",), {"cliff past L", "gradual fall of accuracy past L"}),
    ],
)
def test_positions_that_were_never_trained_show_past_the_train_length(
    tmp_path: Path, periodic: Path, overrides: tuple[str, ...], names: set[str]
) -> None:
    record = run(
        tmp_path,
        periodic,
        "depth=1",
        "seq_len=16",
        "steps=200",
        "lr=1e-2",
        "evaluate.lengths=[1,2,4]",
        "evaluate.windows=300",
        *overrides,
    )
    (name,) = named(record)
    assert name in names


@pytest.mark.slow
def test_post_norm_without_warmup_is_stuck_and_warmup_or_pre_norm_is_the_cure(
    tmp_path: Path, words: Path
) -> None:
    cold = run(tmp_path, words, "norm=post", *DEEP_AND_HOT)
    assert named(cold) == ["stuck"]
    assert signatures(cold)[0].cause == "maybe post-norm without warmup"
    for cure in (("norm=post", "warmup=linear", "warmup.steps=30"), ("norm=pre",)):
        assert run(tmp_path, words, *cure, *DEEP_AND_HOT).label != "stuck"
