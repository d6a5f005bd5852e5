"""What is missing in a record, and what a scheme cannot do."""

from ablate.judge.intervals import interval
from ablate.report.runs.columns import BY_KEY, Missing
from tests.report.conftest import make_run


def test_what_diverged_or_learned_nothing_is_not_a_length_that_a_scheme_cannot_do() -> None:
    found = make_run().record
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
