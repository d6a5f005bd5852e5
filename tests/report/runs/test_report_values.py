"""How far a run tolerates more context, read from its record."""

from typing import Any

import pytest

from ablate.judge.intervals import interval
from ablate.record.record import Record
from ablate.report.runs.columns import BY_KEY, Missing
from ablate.report.runs.extract import tolerated
from ablate.report.runs.shown import columns_shown
from ablate.report.runs.tables import build
from ablate.report.words.legend import legend
from tests.report.conftest import make_run

FLAGS = [None, None, "yes", "yes", "no"]


def record(flags: Any) -> Record:
    return make_run(extrapolation__flags=flags).record


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (FLAGS, 4),
        ([None, None, "yes", "undecided", "yes"], 2),
        ([None, None, None, None, None], 1),
        ([None, None, "undecided", "yes", "yes"], 1),
        ([None, None, "yes", "yes", "yes"], 8),
    ],
)
def test_a_run_tolerates_as_far_as_every_length_before_does(found: list[Any], told: float) -> None:
    assert tolerated(record({"accuracy": {"tolerates": found}})) == told


def test_of_a_generated_task_exact_match_decides() -> None:
    flags = {"accuracy": {"tolerates": FLAGS}, "exact": {"tolerates": [None, None, *["no"] * 3]}}
    assert tolerated(record(flags)) == 1


@pytest.mark.parametrize("flags", [None, {}, "yes", {"accuracy": "yes"}, {"accuracy": {}}])
def test_a_record_without_flags_has_no_value(flags: Any) -> None:
    assert tolerated(record(flags)) is Missing.UNMEASURED


def test_the_column_stands_in_the_table_where_a_run_has_flags() -> None:
    run = make_run()
    assert run.record is not None
    assert "tolerated" not in [column.key for column in columns_shown(build([run]))]
    run = make_run(extrapolation__flags={"accuracy": {"tolerates": FLAGS}})
    table = build([run])
    assert "tolerated" in [column.key for column in columns_shown(table)]
    assert table.rows[0].cells["tolerated"].mean == 4
    told = "\n".join(legend(table))
    assert "tolerates up to, L: largest context" in told
    assert "exact at" not in told


def test_what_diverged_or_learned_nothing_is_not_a_length_that_a_scheme_cannot_do() -> None:
    found = record({})
    measured = found.extrapolation
    measured.retention, measured.accuracy = [None] * 5, [0.1, 0.1, 0.1, None, None]
    assert BY_KEY["ret_2L"].extract(found) is Missing.UNMEASURED
    assert BY_KEY["ret_8L"].extract(found) is Missing.UNDEFINED
    assert BY_KEY["acc_8L"].extract(found) is Missing.UNDEFINED
    measured.accuracy, measured.nll = [None] * 5, [None] * 5
    assert BY_KEY["acc_8L"].extract(found) is Missing.UNMEASURED
    assert BY_KEY["nll_L"].extract(found) is Missing.UNMEASURED


def test_multiples_of_two_stay_so_on_the_log_scale() -> None:
    assert interval([8.0], "log").mean == 8.0
    assert interval([8.0, 2.0], "log").mean == 4.0
