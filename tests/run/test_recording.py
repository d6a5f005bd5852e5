"""Each number of a record by hand, from a training that is made up and unlike in every field."""

import math
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from ablate.build import build, build_corpus
from ablate.config.compose import Composition
from ablate.config.identity import Identity
from ablate.data.tasks import IGNORED
from ablate.evaluate.learned import measure_learning
from ablate.evaluate.trained import measure_trained
from ablate.record import disk
from ablate.record.record import Record, RecordedCorpus
from ablate.run.execute import execute
from ablate.run.planned import PlannedRun
from ablate.run.recording import (
    close_record,
    describe,
    finish,
    first_record,
    judge_training,
    measure_training,
)
from ablate.train.checkpoints import load
from ablate.train.memory import TrainingMemory
from tests.made_up_bench import CATALOGUE, bench, choice, config

NAMES = Identity("a name", "an arm", {"pos": "rope"})
LOSSES = [5.0 - step / 50 + 0.07 * (step % 3) for step in range(50)]


def memory(**changes: Any) -> TrainingMemory:
    made = TrainingMemory(
        step=50,
        seconds=40.0,
        busy=32.0,
        losses=[*LOSSES],
        validation=4.25,
        best=4.125,
        clipped=7,
        parameters_first=[1.0, 2.0, 4.0],
        inputs_first=[9.0, 3.0, 1.0],
        parameters_sum=[10.0, 15.0, 25.0],
        inputs_sum=[35.0, 5.0, 50.0],
        parameters_last=[8.0, 4.0, 2.0],
        inputs_last=[1.0, 4.0, 16.0],
        profiles=5,
    )
    return replace(made, **changes)


def recorded(made: dict[str, Any], progress: TrainingMemory) -> Record:
    record = first_record(made, NAMES)
    describe(record, bench(made), made)
    measure_training(record, progress, made)
    return record


def test_what_a_run_is_stands_at_its_place() -> None:
    sizes = {"depth": 3, "width": 24, "heads": 6, "seq_len": 10, "batch_size": 5, "steps": 77}
    made = config(sizes | {"seed": 9, "study": "one", "threads": 2})
    record = first_record(made, NAMES)
    assert {key: vars(record)[key] for key in sizes} == sizes
    assert (record.seed, record.study, record.run_id) == (9, "one", "one/a name")
    assert (record.name, record.arm, record.choices) == ("a name", "an arm", {"pos": "rope"})
    assert (record.status, record.steps_done, record.tokens) == ("running", 0, 0)
    assert record.config == made
    assert record.environment.threads == 2


def test_what_is_known_before_the_first_step() -> None:
    made = config({"evaluate.batches": 2, "seed": 3}, task="mlm")
    made["task"] |= {"padding": 0.5, "share": 0.4}
    objects = bench(made)
    record = first_record(made, NAMES)
    describe(record, objects, made)
    corpus = objects.corpus
    assert corpus is not None
    assert record.corpus == RecordedCorpus("made-up", "0" * 64, 23, 3000, 900)
    assert record.parameters == sum(p.numel() for p in objects.model.parameters())
    dense = record.parameters - objects.model.embedding.weight.numel()
    assert record.flops_per_token == 6 * dense + 12 * 2 * 16 * 8
    loss, task = record.loss, objects.task
    assert loss.uniform == pytest.approx(math.log(23 + 2))
    counts = np.bincount(corpus.train, minlength=23)
    costs = -np.log((counts + 1) / (counts + 1).sum())
    assert loss.unigram == pytest.approx(costs[corpus.validation].mean())
    shares = counts / counts.sum()
    assert loss.unigram_train == pytest.approx(-(shares * np.log(shares)).sum())
    targets = np.concatenate([b.targets.ravel() for b in task.validation(2)])
    assert loss.unigram_windows == pytest.approx(costs[targets[targets != IGNORED]].mean())
    first = task.batch(1).targets
    told, times = np.unique(first[first != IGNORED], return_counts=True)
    assert loss.targets == times.sum() < first.size
    assert loss.repeats == pytest.approx(((times / times.sum()) ** 2).sum())
    assert len(told) > 1
    assert record.environment.device == "cpu"
    assert record.facts is not None
    assert "relative" in record.facts["pos"]


def test_what_a_training_came_to() -> None:
    made = config({"batch_size": 6, "steps": 70})
    record = recorded(made, memory())
    loss, gradients = record.loss, record.gradients
    assert (record.steps_done, record.tokens) == (50, 50 * 6 * 8)
    assert (record.timing.seconds, record.timing.tokens_per_second) == (40.0, 50 * 6 * 8 / 32)
    assert loss.first == LOSSES[0]
    assert loss.excess == pytest.approx(LOSSES[0] - math.log(23))
    assert loss.final == pytest.approx(sum(LOSSES[45:]) / 5)
    assert (loss.validation, loss.best) == (4.25, 4.125)
    assert asdict(gradients) == {
        "parameters_first": [1.0, 2.0, 4.0],
        "parameters_mean": [2.0, 3.0, 5.0],
        "parameters_last": [8.0, 4.0, 2.0],
        "parameters_slope_first": pytest.approx(math.log(2)),
        "parameters_slope_last": pytest.approx(-math.log(2)),
        "inputs_first": [9.0, 3.0, 1.0],
        "inputs_mean": [7.0, 1.0, 10.0],
        "inputs_last": [1.0, 4.0, 16.0],
        "inputs_slope_first": pytest.approx(-math.log(3)),
        "inputs_slope_last": pytest.approx(math.log(4)),
        "clip_fraction": 7 / 50,
    }


def test_what_instruments_saw_is_first_mean_and_last_by_block_and_head() -> None:
    kept = memory()
    for reading in (
        {"rms": [1.0, 3.0], "entropy": [[1.0, 2.0], [3.0, 4.0]], "scale": 2.0},
        {"rms": [3.0, 5.0], "entropy": [[0.0, 0.0], [5.0, 0.0]], "scale": 4.0},
        {"rms": [2.0, 16.0], "entropy": [[5.0, 7.0], [1.0, 2.0]], "scale": 9.0},
    ):
        kept.add_reading(reading)
    record = recorded(config(), kept)
    rms, entropy, scale = map(record.instrument, ("rms", "entropy", "scale"))
    assert (rms.first, rms.mean, rms.last) == ([1.0, 3.0], [2.0, 8.0], [2.0, 16.0])
    assert rms.slope_first == pytest.approx(math.log(3))
    assert rms.slope_last == pytest.approx(math.log(8))
    assert entropy.first == [[1.0, 2.0], [3.0, 4.0]]
    assert entropy.mean == [[2.0, 3.0], [3.0, 2.0]]
    assert entropy.last == [[5.0, 7.0], [1.0, 2.0]]
    assert (scale.first, scale.mean, scale.last) == (2.0, 5.0, 9.0)
    assert entropy.slope_first is scale.slope_first is None


@pytest.mark.parametrize("steps", [1, 9, 200, 201, 450, 1999])
def test_a_thinned_curve_has_at_most_200_steps_and_their_own_losses(steps: int) -> None:
    losses = [1.0 + step / 7 for step in range(1, steps + 1)]
    record = recorded(config(), memory(step=steps, losses=losses))
    curve = record.curve
    assert curve.steps[0] == 1
    assert 100 < len(curve.steps) <= 200 or len(curve.steps) == steps
    assert curve.loss == [losses[(step or 0) - 1] for step in curve.steps]
    assert len(set(np.diff(np.array(curve.steps, float)))) <= 1
    tail = losses[-max(1, steps // 10) :]
    assert record.loss.final == pytest.approx(sum(tail) / len(tail))


def test_spikes_stand_out_from_the_noise_of_as_many_targets_as_a_batch_has() -> None:
    losses = [2.0 + 0.001 * (step % 2) for step in range(100)]
    losses[60] = losses[80] = 2.3
    few = config({"batch_size": 1, "seq_len": 8})  # 8 targets: 0.3 / sqrt(8) = 0.106 nats of noise
    many = config({"batch_size": 64, "seq_len": 32})  # 0.01 at least
    scores = [recorded(made, memory(step=100, losses=losses)).loss for made in (few, many)]
    assert [score.spike_score for score in scores] == [0.0, 2 / 100]
    heights = [0.2995 / (0.3 / math.sqrt(8)), 0.2995 / 0.01]
    assert [score.spike_max for score in scores] == pytest.approx(heights, rel=1e-3)


LABELS: list[tuple[dict[str, Any], int, str | None, str | None]] = [
    ({}, 0, "learned", "healthy"),
    ({}, 0, "stuck", "stuck"),
    ({}, 0, "undecided", "undecided"),
    ({}, 0, None, None),
    ({}, 50, "learned", None),
    ({}, 49, "learned", "healthy"),
    ({"step": 49}, 0, "stuck", None),
    ({"finite": False, "step": 3}, 0, None, "diverged"),
    ({"losses": [9.0] * 50 + [9.0] * 50, "step": 100}, 0, "stuck", "diverged"),
    ({"losses": [2.0] * 40 + [9.0] + [2.0] * 9}, 0, "learned", "unstable"),
]


@pytest.mark.parametrize(("changes", "warmup", "word", "label"), LABELS)
def test_the_label_of_a_run(
    changes: dict[str, Any], warmup: int, word: str | None, label: str | None
) -> None:
    progress = memory(**changes)
    record = recorded(config({"steps": 50}), progress)
    record.learning.word = word
    judge_training(record, progress, warmup)
    assert record.label == label


def test_how_a_run_ended_and_how_long_it_took_in_all() -> None:
    record = first_record(config(), NAMES)
    record.timing.total_seconds = 100.0
    finish(record, "failed", "why", 60.5)
    assert (record.status, record.error) == ("failed", "why")
    assert record.timing.total_seconds == 160.5
    finish(record, "done", None, 7.0)
    assert (record.status, record.error, record.timing.total_seconds) == ("done", None, 160.5)
    finished = datetime.fromisoformat(record.timing.finished or "")
    assert abs((datetime.now(UTC) - finished).total_seconds()) < 60


@pytest.mark.parametrize("status", ["failed", "interrupted"])
def test_of_a_process_that_died_the_curves_tell_how_far_it_came(
    status: str, tmp_path: Path
) -> None:
    lines = [
        '{"step": 1, "loss": 5.5, "tokens": 32, "seconds": 1.0}',
        '{"step": 8, "loss": 4.5, "tokens": 256, "seconds": 6.5}',
    ]
    (tmp_path / "curves.jsonl").write_text("\n".join(lines) + "\n")
    close_record(config(), NAMES, tmp_path, status, "killed")
    record, problem = disk.read(tmp_path)
    assert problem is None
    assert record is not None
    assert (record.steps_done, record.tokens, record.timing.seconds) == (8, 256, 6.5)
    assert record.loss.first == 5.5
    assert (record.status, record.error) == (status, "killed" if status == "failed" else None)
    assert "ERROR killed" in (tmp_path / "run.log").read_text()


def test_the_record_of_a_run_has_what_its_trained_model_is_measured_at(
    tmp_path: Path, words: Path
) -> None:
    sizes = {"outputs": str(tmp_path), "study": "one", "evaluate.batches": 2, "seq_len": 16}
    sizes |= {"corpus": choice("corpus", "text") | {"files": str(words)}}
    made = config({**sizes, "evaluate.shuffle": True})
    choices = {group: str(name) for group, name in CATALOGUE.default_choices().items() if name}
    planned = PlannedRun.of(Composition(made, replace(NAMES, choices=choices), {}))
    record = execute(replace(planned, hydra_files=None), [], lambda: False)
    assert record.error is None
    again = build(made, build_corpus(made))
    state = load(planned.directory)
    assert state is not None
    again.model.load_state_dict(state["model"])
    measured = measure_trained(again, made, lambda doing: None)
    assert record.extrapolation == measured.extrapolation
    assert record.shuffle == measured.shuffle
    lengths = measured.extrapolation
    assert record.learning == measure_learning(again, 2, lengths, lambda doing: None)
    assert record.learning != measure_learning(again, 1, lengths, lambda doing: None)
    assert record.loss.final == state["progress"]["losses"][-1]
    assert (record.status, record.steps_done, record.label) == ("done", 6, record.learning.word)
    found, problem = disk.read(planned.directory)
    assert (found, problem) == (record, None)
    assert yaml.safe_load((planned.directory / "config.yaml").read_text()) == made
