"""The page's grids: each cell is the number of the analysis that its heading names."""

from statistics import fmean
from typing import Any

import pytest
from matplotlib.patches import Rectangle

from ablate.report.figures.failure_cells import failure_cells
from ablate.report.figures.look import drawing
from ablate.report.inference.analysis import Analysis, analyse
from ablate.report.page.counts import failures
from ablate.report.page.differences import tests as choices_and_sensitivities
from ablate.report.page.fairness import ledger
from ablate.report.page.grid import Grid
from tests.report.conftest import make_run

UNIFORM = 5.5
RATES: dict[tuple[str, float], list[float | None]] = {
    ("rope", 0.001): [2.5, 2.6, 2.51, 2.66],
    ("rope", 0.003): [2.1, 2.2, 2.13, 2.24],
    ("rope", 0.01): [None, 2.9, None, 3.1],
    ("alibi", 0.001): [2.4, 2.3, 2.45, 2.52],
    ("alibi", 0.003): [2.7, 2.8, 2.75, 2.86],
    ("alibi", 0.01): [3.6, 3.1, 3.3, 3.4],
}


def told(grid: Grid) -> list[dict[str, str]]:
    return [
        {head.name: cell.text for head, cell in zip(grid.heads, row, strict=True)}
        for row in grid.rows
    ]


def by_rate(**how: Any) -> Analysis:
    runs = [
        make_run(
            {"pos": pos, "lr": rate},
            seed=seed,
            loss__validation=9.9 if value is None else value,
            loss__uniform=UNIFORM,
            status="diverged" if value is None else "done",
            label="diverged" if value is None else "healthy",
            timing__seconds=100.0 * rate + seed,
        )
        for (pos, rate), values in RATES.items()
        for seed, value in enumerate(values)
    ]
    return analyse(runs, **how)


def test_what_was_chosen_stands_beside_all_that_it_was_chosen_from() -> None:
    analysis = by_rate(choose_key="lr", selection_seeds=["1", "3"])
    (grid, *_) = choices_and_sensitivities(analysis)
    assert {row["arm"]: list(row.values())[1:] for row in told(grid)} == {
        "pos=rope": ["lr=0.003", "0.001: 2.630, 0.003: 2.220, 0.01: 3.000", "1, 3"],
        "pos=alibi": ["lr=0.001", "0.001: 2.410, 0.003: 2.830, 0.01: 3.250", "1, 3"],
    }


def test_sensitivity_is_the_mean_over_rates_less_the_best_and_divergence_costs_ln_v() -> None:
    (grid,) = choices_and_sensitivities(by_rate())
    for row in told(grid):
        pos = row["arm"].removeprefix("pos=")
        table = [
            [UNIFORM if value is None else value for value in RATES[pos, rate]]
            for rate in (0.001, 0.003, 0.01)
        ]
        each = [fmean(column) - min(column) for column in zip(*table, strict=True)]
        mean, _, half = row["sensitivity"].partition(" ±")
        assert float(mean) == pytest.approx(fmean(each), abs=6e-4)
        assert float(half) > 0
        losses = [part.split(": ") for part in row["rates, with their losses"].split(", ")]
        assert [rate for rate, _ in losses] == ["0.001", "0.003", "0.01"]
        assert [float(loss) for _, loss in losses] == pytest.approx(
            [fmean(row) for row in table], abs=6e-4
        )
        assert row["seeds"] == "4"


def test_the_ledger_has_the_mean_time_of_each_arms_finished_runs() -> None:
    rows = {row["arm"]: row for row in told(ledger(by_rate()))}
    assert len(rows) == 6
    for (pos, rate), values in RATES.items():
        (row,) = [r for arm, r in rows.items() if f"pos={pos}" in arm and arm.endswith(f"{rate:g}")]
        seconds = [100 * rate + seed for seed, value in enumerate(values) if value is not None]
        assert float(row["time, s"]) == pytest.approx(fmean(seconds), abs=0.051)


FAILED = {("pre", 6): 0, ("pre", 24): 1, ("post", 6): 0, ("post", 24): 4}


def failing() -> Analysis:
    runs = [
        make_run(
            {"norm": norm, "depth": depth},
            seed=seed,
            label="stuck" if seed < stuck else "healthy",
            loss__validation=3.4 if seed < stuck else 2.4,
        )
        for (norm, depth), stuck in FAILED.items()
        for seed in range(5)
    ]
    return analyse(runs, baseline="norm=pre,depth=6")


def test_failures_are_counted_by_level_and_by_arm() -> None:
    analysis = failing()
    levels, arms = failures(analysis)
    facts = {one.name: one for of in analysis.failures for one in of.levels}
    rows = {row["level"]: row for row in told(levels)}
    assert rows["norm=post"]["runs"] == "4 of 10 : 1 of 10"
    assert rows["depth=24"]["runs"] == "5 of 10 : 0 of 10"
    for name in ("norm=post", "depth=24"):
        p = facts[name].test.p_holm
        shown = rows[name]["p (Holm)"].strip("<= ")
        assert p is not None
        assert float(shown) == pytest.approx(p, abs=6e-4)
    by_arm = {row["arm"]: row for row in told(arms)}
    assert {arm: row["runs"] for arm, row in by_arm.items()} == {
        "norm=pre depth=24": "1 of 5",
        "norm=post depth=24": "4 of 5",
    }
    # 5 of 20 failed; within a seed each of its runs is as likely: 2 of 4, then 1 of 4 thrice.
    assert {row["expected"] for row in by_arm.values()} == {f"{(2 + 1 + 1 + 1) / 4:.1f}"}


def test_the_figure_of_failures_has_each_cells_count_and_its_share_as_a_bar() -> None:
    one = failure_cells(failing())
    assert one is not None
    with drawing():
        figure = one.draw()
    (axes,) = figure.axes
    across = [label.get_text() for label in axes.get_xticklabels()]
    down = [label.get_text() for label in axes.get_yticklabels()]
    texts = {
        (down[int(y)], across[int(x)]): text.get_text()
        for text in axes.texts
        for x, y in [text.get_position()]
    }
    assert {place: text.split()[0] for place, text in texts.items()} == {
        (norm, str(depth)): str(count) for (norm, depth), count in FAILED.items()
    }
    widths = sorted(
        {round(p.get_width(), 3) for p in axes.patches if isinstance(p, Rectangle)} - {0.0}
    )
    assert any(b == pytest.approx(4 * a, rel=0.02) for a in widths for b in widths)
