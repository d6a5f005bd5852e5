"""How far a sweep is that Hydra itself goes through."""

from ablate.sweep.by_hydra import Tally


def test_a_tally_tells_the_place_and_the_time_left() -> None:
    times = iter([0.0, 10.0, 10.0, 40.0])
    tally = Tally(4, clock=lambda: next(times))
    assert tally.begin() == "run 1 of 4"
    assert tally.begin() == "run 2 of 4, about 30 s left"
    assert tally.begin() == "run 3 of 4, about 40 s left"


def test_a_single_run_needs_no_tally() -> None:
    assert Tally(1).begin() == ""
