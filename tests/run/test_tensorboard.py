import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tensorboard import context
from tensorboard.backend.event_processing import (
    data_provider,
    plugin_event_accumulator,
    plugin_event_multiplexer,
)
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import (
    api_pb2,
    backend_context,
    get_experiment,
    list_session_groups,
)

from ablate.record.record import Record, Signature
from ablate.run import pictures
from ablate.run.board_tags import LAYOUT, diagnosis
from ablate.run.hyperparameters import COLUMNS, hyperparameters
from ablate.run.tensorboard import TensorBoard
from tests.run import made_up_run


def write(directory: Path, record: Record | None = None, **outcome: Any) -> None:
    record = record or made_up_run.record()
    directory.mkdir(parents=True, exist_ok=True)
    board = TensorBoard(directory)
    board.start(record, 0)
    made_up_run.train([board], 1, 40)
    board.finish(made_up_run.finished(run_id=record.run_id, **outcome))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, for tests that only read it."""
    directory = tmp_path_factory.mktemp("run")
    write(directory)
    return directory


def read(directory: Path) -> EventAccumulator:
    events = EventAccumulator(str(directory), {"tensors": 0, "scalars": 0, "images": 0})
    return events.Reload()


def scalars(directory: Path, tag: str) -> dict[int, float]:
    events = read(directory).Scalars(tag)
    assert len({event.step for event in events}) == len(events), "a step stands twice"
    return {event.step: event.value for event in events}


def hparams(folder: Path) -> tuple[Any, dict[str, Any]]:
    """What the HParams page of TensorBoard asks its server for: columns, and rows by run."""
    runs = plugin_event_multiplexer.EventMultiplexer()
    runs.AddRunsFromDirectory(str(folder))
    runs.Reload()
    provider = data_provider.MultiplexerDataProvider(runs, str(folder))
    backend = backend_context.Context(base_plugin.TBContext(data_provider=provider))
    request = api_pb2.ListSessionGroupsRequest(
        slice_size=100, allowed_statuses=api_pb2.Status.values()
    )
    arguments = context.RequestContext(), backend, "", request
    groups = list_session_groups.Handler(*arguments).run().session_groups
    return get_experiment.Handler(*arguments).run(), {group.name: group for group in groups}


def test_one_tag_per_quantity_and_block_in_an_order_that_sorts(tmp_path: Path) -> None:
    board = TensorBoard(tmp_path)
    board.start(made_up_run.record(), 0)
    board.log(made_up_run.line(1, depth=12))
    board.finish(made_up_run.finished())
    tags = read(tmp_path).Tags()["scalars"]
    for kind in ("parameters", "inputs"):
        blocks = [tag for tag in tags if tag.startswith(f"per-block gradients {kind}/")]
        assert blocks == sorted(blocks)
        assert blocks[0].endswith("block 01")
        assert blocks[-1].endswith("block 12")
        assert len(blocks) == 12
    groups = sorted({tag.split("/")[0] for tag in tags})
    assert groups[:2] == ["loss", "optimizer"], "the two groups that the page unfolds"


def test_the_values_arrive(run: Path) -> None:
    line = made_up_run.line(40)
    for tag, value in {
        "loss/train": line["loss"],
        "loss/validation": line["loss"] + 0.1,
        "reference/ln V": made_up_run.UNIFORM,
        "reference/unigram loss": made_up_run.UNIGRAM,
        "optimizer/lr": 1e-3,
        "optimizer/grad_norm": 1.5,
        "optimizer/clipped": 0.0,
        "speed/tokens_per_second": 10240.0,
        "per-block gradients parameters/block 02": line["gradients"]["parameters"][1],
        "per-block gradients/first over last block, parameters": 0.14 / 0.34,
        "state/logit scale": 0.55,
        "state/largest logit": 2.5,
        "state/stream rms after the last block": 3.0,
        "state/cosine between tokens after the last block": 0.5,
        "state/largest attention logit": 6.0,
        "state/mean attention entropy": 1.5,
        "state/mean update to weight ratio": 0.01,
    }.items():
        curve = scalars(run, tag)
        assert curve[40] == pytest.approx(value), tag
        assert list(curve) == [1, 10, 20, 30, 40], tag
    assert scalars(run, "results/first loss") == {1: pytest.approx(5.68)}
    excess = scalars(run, "results/first loss minus ln V")
    assert excess == {1: pytest.approx(5.68 - math.log(256))}


def test_accuracy_is_drawn_over_context_and_an_undefined_one_is_left_out(run: Path) -> None:
    curve = scalars(run, "results/accuracy by context tokens")
    assert curve == {32: pytest.approx(0.31), 64: pytest.approx(0.33), 128: pytest.approx(0.25)}
    tags = read(run).Tags()["scalars"]
    assert "results/accuracy at 2L" in tags
    assert "results/accuracy at 4L" not in tags


def test_results_stand_at_the_last_step_a_label_as_its_number(run: Path) -> None:
    for tag, value in {
        "results/final training loss": 2.251,
        "results/share of steps that are spikes": 0.025,
        "results/label": 0.0,
        "results/accuracy at L": 0.33,
        "results/retention at 2L": 0.6,
    }.items():
        assert scalars(run, tag) == {40: pytest.approx(value)}, tag
    assert "results/retention at 4L" not in read(run).Tags()["scalars"]


def test_the_layout_draws_only_what_is_there(run: Path) -> None:
    tags = read(run).Tags()["scalars"]
    for charts in LAYOUT.values():
        for name, (kind, patterns) in charts.items():
            assert kind == "Multiline"
            for pattern in patterns:
                assert any(re.fullmatch(pattern, tag) for tag in tags), f"{name}: {pattern}"


def test_the_diagnosis_is_a_table_of_text(tmp_path: Path) -> None:
    finding = Signature("stuck", "a | b", "lr", "less")
    write(tmp_path / "sick", diagnosis=[finding])
    write(tmp_path / "well", diagnosis=[])

    def text(directory: Path) -> str:
        (event,) = read(directory).Tensors("run/diagnosis/text_summary")
        return event.tensor_proto.string_val[0].decode()

    assert text(tmp_path / "sick").endswith("| stuck | a \\| b | lr | less |")
    assert text(tmp_path / "well") == "nothing found"
    assert "nothing found" in diagnosis(made_up_run.finished(diagnosis=None))
    assert diagnosis(made_up_run.finished(status="failed")) == "not diagnosed"


def test_pictures_of_the_gradient_norms(run: Path) -> None:
    events = read(run)
    profile = events.Images("per-block gradients/by depth")
    assert [image.step for image in profile] == [1, 40]
    over_training = events.Images("per-block gradients/over training")
    for image in (*profile, *over_training):
        assert image.encoded_image_string.startswith(b"\x89PNG")
        assert image.width > 400
        assert image.height > 300


@pytest.mark.parametrize("norm", [0.0, math.nan, math.inf])
def test_gradients_that_a_logarithm_cannot_show(tmp_path: Path, norm: float) -> None:
    board = TensorBoard(tmp_path)
    board.start(made_up_run.record(), 0)
    for step in (1, 2):
        gradients = {"parameters": [norm] * 3, "inputs": [norm] * 3}
        board.log(made_up_run.line(step, loss=math.nan, gradients=gradients))
    board.finish(made_up_run.finished(status="diverged", label="diverged", steps_done=2))
    assert read(tmp_path).Images("per-block gradients/over training")


def test_lines_without_gradients(tmp_path: Path) -> None:
    board = TensorBoard(tmp_path)
    board.start(made_up_run.record(), 0)
    board.log(made_up_run.line(1, gradients={"parameters": [], "inputs": []}))
    only_validation = made_up_run.line(7)
    del only_validation["gradients"]
    board.log(only_validation)
    board.finish(made_up_run.finished())
    assert list(scalars(tmp_path, "loss/train")) == [1, 7]


def test_a_resumed_run_overlaps_nowhere_and_ends_as_it_ends(tmp_path: Path) -> None:
    board = TensorBoard(tmp_path)
    board.start(made_up_run.record(), 0)
    made_up_run.train([board], 1, 30)
    board.finish(made_up_run.record(status="interrupted", steps_done=30))
    _, rows = hparams(tmp_path)
    (row,) = rows.values()
    assert row.sessions[0].status == api_pb2.STATUS_UNKNOWN

    resumed = TensorBoard(tmp_path)
    resumed.start(made_up_run.record(), 20)
    made_up_run.train([resumed], 21, 40)
    resumed.finish(made_up_run.finished())
    as_served = plugin_event_accumulator.EventAccumulator(str(tmp_path))
    as_served.Reload()
    for tag in ("loss/train", "per-block gradients inputs/block 03"):
        assert list(scalars(tmp_path, tag)) == [1, 10, 20, 30, 40]
        assert [event.step for event in as_served.Tensors(tag)] == [1, 10, 20, 30, 40]
    _, rows = hparams(tmp_path)
    (row,) = rows.values()
    assert row.sessions[0].status == api_pb2.STATUS_SUCCESS
    assert row.hparams["pos"].string_value == "rope"


def test_the_heat_map_of_a_resumed_run_begins_at_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []

    def draw(lines: Sequence[dict[str, Any]]) -> bytes:
        drawn.extend(line["step"] for line in lines)
        return pictures.profile(lines[0]["gradients"], 1)

    monkeypatch.setattr("ablate.run.pictures.over_training", draw)
    lines = [json.dumps(made_up_run.line(step)) for step in (1, 10, 20, 30)]
    (tmp_path / "curves.jsonl").write_text("\n".join(lines))
    board = TensorBoard(tmp_path)
    board.start(made_up_run.record(), 20)
    made_up_run.train([board], 21, 40)
    board.finish(made_up_run.finished())
    assert drawn == [1, 10, 20, 30, 40]


def test_a_fresh_run_removes_the_events_of_an_older_one(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path)
    assert len(list(tmp_path.glob("events.out.tfevents.*"))) == 2
    assert list(scalars(tmp_path, "loss/train")) == [1, 10, 20, 30, 40]


def test_hparams_hold_for_runs_with_different_choices(tmp_path: Path) -> None:
    """Keys that only a later run has, and its results, are shown (tensorboardX#519, #670)."""
    first = made_up_run.record()
    other = made_up_run.record(run_id="first/other")
    other.choices = {"pos": "t5", "norm": "post", "warmup": "linear"}
    other.config = first.config | {
        "pos": {"_target_": "somewhere.T5", "buckets": 32, "distance": {"max": 128}},
        "warmup": {"_target_": "somewhere.Linear", "steps": 50},
        "clip": 1.0,
    }
    write(tmp_path / "a", first)
    write(tmp_path / "b", other, status="failed", error="OSError: gone")

    experiment, rows = hparams(tmp_path)
    columns = {column.name for column in experiment.hparam_infos}
    for run in ("a", "b"):  # TensorBoard shows the columns of whichever it reads first
        assert {column.name for column in hparams(tmp_path / run)[0].hparam_infos} == columns
    assert set(rows) == {first.run_id, "first/other"}
    for row in rows.values():
        assert set(row.hparams) <= columns
        found = {value.name.tag: value.value for value in row.metric_values}
        defined = [tag for tag in COLUMNS if not tag.endswith(("4L", "8L"))]
        assert set(found) == set(defined)
    settings = rows["first/other"].hparams
    assert settings["pos"].string_value == "t5"
    assert settings["pos options"].string_value == "buckets=32 distance.max=128"
    assert settings["warmup options"].string_value == "steps=50"
    assert settings["clip"].number_value == 1.0
    assert "clip" not in rows[first.run_id].hparams, "no value is a blank cell"
    assert rows["first/other"].sessions[0].status == api_pb2.STATUS_FAILURE
    assert [column.display_name for column in experiment.metric_infos] == list(COLUMNS.values())


def test_every_run_has_the_same_hyperparameters() -> None:
    first, other = made_up_run.record(), made_up_run.record()
    other.config = first.config | {"pos": {"_target_": "somewhere.Other", "k": [1, 2]}}
    assert list(hyperparameters(first)) == list(hyperparameters(other))
    flat = hyperparameters(other)
    assert flat["pos options"] == "k=[1,2]"
    assert {"outputs", "device", "log"}.isdisjoint(flat)


def test_an_event_outside_of_a_run_is_a_mistake_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="outside of a run"):
        TensorBoard(tmp_path).validate(1, 2.0)
