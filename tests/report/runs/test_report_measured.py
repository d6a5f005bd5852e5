"""Probes of a run and what `ablate evaluate` added to its record, on the page and as JSON."""

import json
from typing import Any

import pytest

from ablate.report.inference.analysis import analyse
from ablate.report.page import content as content_module
from ablate.report.page import write
from ablate.report.page.remeasured import ENDED, sheets
from ablate.report.runs.measured import measured
from ablate.report.runs.tables import build
from ablate.report.text.machine import as_json
from ablate.shell.finite import finite
from tests.report.conftest import make_run

PROBE = {
    "where": "layer 0 is the input of the first block",
    "ridge": {"r2": [0.01, 0.9], "mae": [16.0, 3.0]},
    "ridge_control": {"r2": [-0.02, None], "mae": [16.0, None]},
    "network": {"r2": [0.02, 0.95], "mae": [15.0, 2.0]},
    "network_control": {"r2": [-0.3, -0.1], "mae": [16.0, 16.0]},
}
SHUFFLE = {"loss": 2.0, "loss_shuffled": 3.5, "change": 1.5, "interval": [1.25, 1.75]}
ENTRY = {
    "overrides": ["evaluate.lengths=[0.5,16]", "evaluate.shuffle=true"],
    "extrapolation": {"train_length": 64, "lengths": [32, 64, 1024], "accuracy": [0.3, 0.5, None]},
    "position_probe": PROBE,
    "shuffle": SHUFFLE,
}
DAMAGE: tuple[Any, ...] = (
    "x",
    3,
    [],
    [None],
    {"a": 1},
    [[]],
    {"ridge": [1]},
    {"ridge": {"r2": [10**200, "x"]}},
)


def texts(**parts: Any) -> list[list[str]]:
    """The rows of all sheets of a run."""
    return [row for sheet in sheets(make_run(**parts)) for row in sheet.rows]


def test_a_run_that_was_not_measured_again_has_no_sheet() -> None:
    assert sheets(make_run()) == []
    assert measured(make_run(evaluations=[], position_probe=None)) == []


def test_each_entry_is_a_row_below_the_run_with_the_lengths_of_all() -> None:
    made, positions = sheets(make_run(evaluations=[ENTRY]))
    assert made.heads[:6] == ["overrides", *(f"acc. at {c}" for c in (32, 64, 128, 256, 512))]
    assert made.rows == [
        [ENDED, "0.400", "0.450", "0.440", "0.410", "0.390", "–", "–"],
        [
            "evaluate.lengths=[0.5,16] evaluate.shuffle=true",
            *("0.300", "0.500", "–", "–", "–", "undef.", "+1.500 [+1.250 to +1.750]"),
        ],
    ]
    assert positions.heads[1:] == ["layer 0", "layer 1"]
    assert [row[0].rpartition(": ")[2] for row in positions.rows] == [
        *("ridge", "ridge control", "network", "network control")
    ]
    assert positions.rows[1][1:] == ["-0.020", "–"]


def test_probes_of_the_run_itself_are_shown() -> None:
    made, positions = sheets(make_run(position_probe=PROBE, shuffle=SHUFFLE | {"interval": None}))
    assert [row[0] for row in made.rows] == [ENDED]
    assert made.rows[0][-1] == "+1.500"
    assert positions.rows[0] == [f"{ENDED}: ridge", "0.010", "0.900"]


@pytest.mark.parametrize("damage", DAMAGE, ids=json.dumps)
@pytest.mark.parametrize("key", sorted(ENTRY))
def test_a_damaged_entry_is_shown_with_what_can_be_read(key: str, damage: Any) -> None:
    rows = texts(evaluations=[{**ENTRY, key: damage}, ENTRY])
    assert len([row for row in rows if row[1:3] == ["0.300", "0.500"]]) == (
        1 if key == "extrapolation" else 2
    )
    assert len(texts(evaluations=[damage], shuffle=damage)) >= 2
    run = make_run(evaluations=damage, shuffle=damage, position_probe=damage)
    told = json.dumps(finite([vars(one) for one in measured(run)]), allow_nan=False)
    assert "Infinity" not in told


def test_json_has_them_by_run() -> None:
    runs = [make_run(seed=0, evaluations=[ENTRY]), make_run(seed=1)]
    table = build(runs)
    (row,) = json.loads(as_json(table, analyse(runs)))["rows"]
    ((name, found),) = row["measured"].items()
    assert name == "scout/default,seed=0"
    assert [one["overrides"] for one in found] == [None, ENTRY["overrides"]]
    assert found[1]["accuracy"] == [0.3, 0.5, None]
    assert found[1]["position_r2"]["network"] == [0.02, 0.95]
    assert (found[1]["shuffle_change"], found[1]["shuffle_interval"]) == (1.5, [1.25, 1.75])


def test_the_page_shows_them_escaped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(content_module, "drawings", lambda view, analysis: [])
    attack = "<img src=x onerror=alert(1)>\x1b[31m"
    runs = [make_run(evaluations=[{**ENTRY, "overrides": [attack]}])]
    text = write.as_html(build(runs), build(runs), analyse(runs), "ablate report")
    assert "<img" not in text
    assert "\x1b" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in text
    for cell in ("+1.500 [+1.250 to +1.750]", "0.500", "0.950", "acc. at 1024", "layer 1"):
        assert f">{cell}<" in text
