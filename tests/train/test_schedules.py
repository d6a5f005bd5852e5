"""Learning rates at every step, warmup and decay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablate.errors import UserError
from ablate.train.schedules import (
    ConstantDecay,
    CosineDecay,
    LinearDecay,
    LinearWarmup,
    NoWarmup,
    Schedule,
)


def test_linear_warmup_starts_at_one_part_in_w_and_not_at_zero() -> None:
    schedule = Schedule(0.5, 10, LinearWarmup(steps=4), ConstantDecay())
    rates = [schedule.rate(s) for s in range(1, 11)]
    assert rates == [0.125, 0.25, 0.375, *[0.5] * 7]


def test_no_warmup_is_the_full_rate_from_the_first_step() -> None:
    schedule = Schedule(0.5, 3, NoWarmup(), ConstantDecay())
    assert [schedule.rate(s) for s in (1, 2, 3)] == [0.5, 0.5, 0.5]


def test_a_fraction_is_of_all_steps_and_steps_win_over_it() -> None:
    assert LinearWarmup(fraction=0.1).length(200) == 20
    assert LinearWarmup(steps=5, fraction=0.1).length(200) == 5
    assert LinearWarmup(steps=0).factor(1, 10) == 1.0


def test_decay_runs_from_the_peak_to_the_floor_at_the_last_step() -> None:
    for decay in (CosineDecay(floor=0.1), LinearDecay(floor=0.1)):
        schedule = Schedule(1.0, 100, LinearWarmup(steps=10), decay)
        assert schedule.rate(10) == pytest.approx(1.0)
        assert schedule.rate(55) == pytest.approx(0.55)
        assert schedule.rate(100) == pytest.approx(0.1)


@given(steps=st.integers(1, 300), share=st.floats(0, 1), floor=st.floats(0, 1))
def test_rates_stay_between_zero_and_the_peak(steps: int, share: float, floor: float) -> None:
    for decay in (ConstantDecay(), CosineDecay(floor=floor), LinearDecay(floor=floor)):
        schedule = Schedule(1.0, steps, LinearWarmup(fraction=share), decay)
        rates = [schedule.rate(s) for s in range(1, steps + 1)]
        assert all(0 <= rate <= 1 + 1e-12 for rate in rates)
        # With a floor of zero only the last step may have no rate at all.
        assert all(rate > 0 for rate in rates[:-1])


def test_a_warmup_longer_than_the_run_is_refused() -> None:
    with pytest.raises(UserError, match=r"warmup\.steps=11 .*\(steps=10\)"):
        Schedule(1.0, 10, LinearWarmup(steps=11), ConstantDecay())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": -1}, "0 or more"),
        ({"steps": None, "fraction": 1.5}, "between 0 and 1"),
        ({"steps": None, "fraction": None}, "needs"),
    ],
)
def test_impossible_warmups_are_refused(options: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        LinearWarmup(**options)


def test_an_impossible_floor_is_refused() -> None:
    with pytest.raises(UserError, match="between 0 and 1"):
        CosineDecay(floor=1.5)
