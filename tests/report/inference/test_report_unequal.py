"""Effects whose cells are unlike each other, with holes, and choices with a seed that diverged."""

from typing import Any

import pytest

from ablate.errors import UserError
from ablate.report.inference.analysis import Analysis, analyse
from ablate.report.inference.contrasts import Contrast
from ablate.report.runs.collect import Run
from tests.report.conftest import make_run

LOSSES = {("pre", 6): 2.0, ("pre", 24): 2.4, ("post", 6): 2.1, ("post", 24): 3.3}
"""Post less pre: 0.1 at depth 6 and 0.9 at depth 24; an interaction of 0.8."""


def loss(norm: str, depth: int, seed: int) -> float:
    """Each cell has a scatter of its own, and each seed a level of its own."""
    own = {("pre", 6): 0.001, ("pre", 24): 0.004, ("post", 6): -0.002, ("post", 24): 0.007}
    return LOSSES[norm, depth] + 0.05 * seed + own[norm, depth] * (seed * seed - 3.5)


def grid(left_out: set[tuple[str, int, int]] = frozenset(), **parts: Any) -> list[Run]:  # type: ignore[assignment]
    return [
        make_run(
            {"norm": norm, "depth": depth}, seed=s, loss__validation=loss(norm, depth, s), **parts
        )
        for norm, depth in LOSSES
        for s in range(4)
        if (norm, depth, s) not in left_out
    ]


def of(contrasts: Any, name: str) -> Contrast:
    (one,) = [c for c in contrasts if c.name == name]
    return one


def effect(norm: str, against: str, depths: list[int], seeds: list[int]) -> float:
    return sum(loss(norm, d, s) - loss(against, d, s) for d in depths for s in seeds) / (
        len(depths) * len(seeds)
    )


def mean(contrast: Contrast) -> float:
    assert contrast.difference.mean is not None
    return contrast.difference.mean


def test_main_effects_weigh_cells_alike_and_interactions_take_the_difference_between_them() -> None:
    analysis = analyse(grid(), baseline="norm=pre,depth=6")
    assert mean(of(analysis.effects, "norm=post")) == pytest.approx(
        effect("post", "pre", [6, 24], [0, 1, 2, 3])
    )
    (crossed,) = analysis.interactions
    seeds = [0, 1, 2, 3]
    by_hand = effect("post", "pre", [24], seeds) - effect("post", "pre", [6], seeds)
    assert set(crossed.name.split(" × ")) == {"norm=post", "depth=24"}
    assert mean(crossed) == pytest.approx(by_hand)
    within = {one.within: mean(one) for one in analysis.simple if one.name == "norm=post"}
    assert within == {
        (("depth", "6"),): pytest.approx(effect("post", "pre", [6], seeds)),
        (("depth", "24"),): pytest.approx(effect("post", "pre", [24], seeds)),
    }


def test_a_hole_takes_its_place_from_both_sides_and_a_cell_from_the_mean() -> None:
    one_seed = analyse(grid({("post", 24, 3)}), baseline="norm=pre,depth=6")
    found = of(one_seed.effects, "norm=post")
    assert mean(found) == pytest.approx(effect("post", "pre", [6, 24], [0, 1, 2]))
    assert (found.seeds, found.cells, found.unpaired) == ((0, 1, 2), 2, 1)
    lost = {("post", 24, seed) for seed in range(4)}
    one_cell = analyse(grid(lost), baseline="norm=pre,depth=6")
    found = of(one_cell.effects, "norm=post")
    assert mean(found) == pytest.approx(effect("post", "pre", [6], [0, 1, 2, 3]))
    assert (found.cells, found.shared, found.every) == (1, 1, 2)
    assert len(one_cell.interactions) == 0


RATES: dict[tuple[str, float], list[float | None]] = {
    ("rope", 0.001): [2.5, 2.6, 2.55, 2.65],
    ("rope", 0.003): [2.1, 2.7, 2.2, 2.8],  # the mean of two seeds is best, the second alone not
    ("rope", 0.01): [1.5, None, 1.4, 1.3],  # best where it does not diverge
    ("alibi", 0.001): [2.4, 2.4, 2.45, 2.5],
    ("alibi", 0.003): [None, 2.0, 2.0, 2.0],
    ("alibi", 0.01): [2.6, 2.1, 2.0, 2.1],
}


def rates() -> list[Run]:
    return [
        make_run(
            {"pos": pos, "lr": rate},
            seed=seed,
            loss__validation=9.0 if value is None else value,
            loss__final=1.0,
            loss__best=1.0,
            status="diverged" if value is None else "done",
            label="diverged" if value is None else "healthy",
        )
        for (pos, rate), values in RATES.items()
        for seed, value in enumerate(values)
    ]


@pytest.fixture
def chosen() -> Analysis:
    return analyse(rates(), choose_key="lr", selection_seeds=["0", "1"])


def test_a_rate_of_which_a_selection_seed_diverged_is_not_chosen(chosen: Analysis) -> None:
    told = {choice.arm: choice for choice in chosen.choices}
    rope, alibi = told["pos=rope"], told["pos=alibi"]
    assert (rope.value, alibi.value) == ("0.003", "0.01")
    assert rope.among == alibi.among == ("0.001", "0.003", "0.01")
    assert rope.losses == (pytest.approx(2.55), pytest.approx(2.4), None)
    assert alibi.losses == (pytest.approx(2.4), None, pytest.approx(2.35))
    assert rope.seeds == (0, 1)
    assert (rope.at_end, alibi.at_end) == (False, True)


def test_what_is_reported_of_a_chosen_rate_is_of_the_other_seeds(chosen: Analysis) -> None:
    (one,) = chosen.contrasts
    rope, alibi = (2.2 + 2.8) / 2, (2.0 + 2.1) / 2
    sign = 1 if one.name.startswith("pos=alibi") else -1
    assert mean(one) == pytest.approx(sign * (alibi - rope))
    assert one.seeds == (2, 3)


def test_without_named_seeds_the_first_third_chooses() -> None:
    analysis = analyse(rates(), choose_key="lr")
    assert {choice.seeds for choice in analysis.choices} == {(0,)}
    assert {choice.arm: choice.value for choice in analysis.choices} == {
        "pos=rope": "0.01",
        "pos=alibi": "0.001",
    }


def test_where_every_rate_lost_a_selection_seed_nothing_is_reported() -> None:
    lost = [
        make_run({"lr": rate}, seed=seed, status="diverged" if seed == 0 else "done")
        for rate in (0.1, 0.2)
        for seed in range(3)
    ]
    with pytest.raises(UserError, match="no run finished on the seeds to choose on"):
        analyse(lost, choose_key="lr")
