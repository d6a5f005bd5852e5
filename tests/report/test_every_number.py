"""Runs with another number in every field: each is told where it belongs, and drawn there."""

import csv
import io
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, geometric_mean, median, stdev
from typing import Any

import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from scipy import stats

from ablate.record.record import Record
from ablate.report.figures.every import drawings
from ablate.report.figures.label_grid import counted
from ablate.report.figures.look import drawing
from ablate.report.figures.view import view_of
from ablate.report.inference.analysis import Analysis, analyse
from ablate.report.page import content as content_module
from ablate.report.page import write
from ablate.report.page.differences import differences
from ablate.report.page.runs import folds
from ablate.report.runs.collect import Run, collect
from ablate.report.runs.columns import BY_KEY, COLUMNS, Missing
from ablate.report.runs.shown import columns_shown, shown
from ablate.report.runs.tables import Table, build
from ablate.report.text.machine import as_csv, as_json
from ablate.report.words.cells import cell_text
from ablate.report.words.statements import statements
from tests.report.conftest import make_run, write_run

SEEDS = (0, 1, 2)
POSITIONS = ("rope", "alibi")


def numbers(arm: int, seed: int) -> dict[str, Any]:
    """Parts of a record in which no two numbers are equal."""
    o = 0.3 * arm + 0.01 * (seed + 1) ** 2

    def row(*values: float | None) -> list[float | None]:
        return [None if value is None else round(value + o / 10, 6) for value in values]

    return {
        "parameters": 1000 + 100 * arm + seed,
        "tokens": 50_000 + 1000 * arm + seed,
        **{f"loss__{key}": value + o for key, value in LOSSES.items()},
        "loss__uniform": 5.5,
        "loss__unigram": 3.31,
        "gradients__parameters_first": row(0.81, 0.43, 0.22, 0.12),
        "gradients__parameters_mean": row(0.51, 0.53, 0.59, 0.57),
        "gradients__inputs_first": row(0.31, 0.36, 0.39, 0.44),
        "gradients__inputs_mean": row(0.71, 0.73, 0.79, 0.77),
        "gradients__clip_fraction": 0.125 + o / 100,
        "extrapolation__accuracy": row(0.32, 0.37, 0.26, 0.21, 0.16),
        "extrapolation__exact": row(0.42, 0.47, 0.46, 0.41, 0.35),
        "extrapolation__nll": row(2.42, 2.34, 3.04, 3.53, None),
        "extrapolation__retention": row(0.91, 1.0, 0.68, 0.52, 0.33),
        "timing__seconds": 61.2 + o,
        "timing__tokens_per_second": 1234.5 + o,
        "timing__total_seconds": 91.7 + o,
        "curve": {"steps": [1, 10, 20, 40], "loss": row(5.9, 4.1, 3.6, 2.7)},
    }


LOSSES = {"first": 5.91, "excess": 0.41, "final": 2.11, "validation": 2.37, "best": 2.29}


def first_over_last(norms: list[Any]) -> float:
    return norms[0] / norms[-1]


WHERE: dict[str, Callable[[Record], Any]] = {
    "val_loss": lambda r: r.loss.validation,
    "first_loss": lambda r: r.loss.first,
    "excess": lambda r: r.loss.excess,
    "grad_ratio": lambda r: first_over_last(r.gradients.parameters_first),
    "input_ratio": lambda r: first_over_last(r.gradients.inputs_first),
    "train_loss": lambda r: r.loss.final,
    "best_loss": lambda r: r.loss.best,
    "unigram": lambda r: r.loss.unigram,
    "clip_fraction": lambda r: r.gradients.clip_fraction,
    "parameters": lambda r: r.parameters,
    "tokens": lambda r: r.tokens,
    "seconds": lambda r: r.timing.seconds,
    "tokens_per_second": lambda r: r.timing.tokens_per_second,
    **{
        f"{short}_{name}": lambda r, kind=kind, place=place: getattr(r.extrapolation, kind)[place]
        for short, kind in (
            ("acc", "accuracy"),
            ("exact", "exact"),
            ("nll", "nll"),
            ("ret", "retention"),
        )
        for place, name in enumerate(("halfL", "L", "2L", "4L", "8L"))
    },
}
"""Where the record has the number of a column."""
BETTER = {
    **dict.fromkeys(("val_loss", "train_loss", "best_loss"), "lower"),
    **{key: "lower" for key in WHERE if key.startswith("nll")},
    **{key: "higher" for key in WHERE if key.startswith(("acc", "exact", "ret"))},
}


def runs_of(changes: dict[str, Any] | None = None) -> list[Run]:
    return [
        make_run({"pos": pos, **(changes or {})}, seed=seed, **numbers(arm, seed))
        for arm, pos in enumerate(POSITIONS)
        for seed in SEEDS
    ]


@pytest.fixture
def table(outputs: Path) -> Table:
    for arm, pos in enumerate(POSITIONS):
        for seed in SEEDS:
            write_run(outputs, {"pos": pos}, seed=seed, **numbers(arm, seed))
    return build(collect([outputs], outputs))


def expected(key: str, table: Table, pos: str) -> tuple[float | None, float | None]:
    """Mean and half-width over seeds, or geometric mean and factor."""
    runs = [run for run in table.runs if run.record.choices["pos"] == pos]
    values = [WHERE[key](run.record) for run in runs]
    if None in values:
        return None, None
    if key.endswith("ratio"):
        mean, spread = geometric_mean(values), stdev(map(math.log, values))
        return mean, math.exp(stats.t.ppf(0.975, 2) * spread / math.sqrt(3))
    return fmean(values), stats.t.ppf(0.975, 2) * stdev(values) / math.sqrt(3)


def test_every_column_reads_its_own_number_of_a_record() -> None:
    assert set(WHERE) == {column.key for column in COLUMNS}
    record = runs_of()[0].record
    read = {column.key: column.extract(record) for column in COLUMNS}
    assert read.pop("nll_8L") is Missing.UNDEFINED
    assert read == {key: WHERE[key](record) for key in read}
    assert len(set(read.values())) == len(read)
    assert {c.key: c.better for c in COLUMNS if c.better} == BETTER


def test_csv_and_json_have_the_mean_and_its_interval_under_every_key(table: Table) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(table))))
    as_object = json.loads(as_json(table, analyse(shown(table))))["rows"]
    assert [row["pos"] for row in rows] == ["rope", "alibi"]
    for row, one in zip(rows, as_object, strict=True):
        for column in COLUMNS:
            mean, spread = expected(column.key, table, row["pos"])
            name = "factor" if column.scale == "log" else "half_width"
            told = [row[f"{column.key}_mean"], row[f"{column.key}_{name}"]]
            assert [float(text) if text else None for text in told] == [
                None if mean is None else pytest.approx(mean, rel=1e-9),
                None if spread is None else pytest.approx(spread, rel=1e-6),
            ], column.key
        (cells,) = [v for v in one.values() if isinstance(v, dict) and "acc_L" in v]
        for key in WHERE:
            told = row[f"{key}_mean"]
            assert cells[key]["mean"] == (float(told) if told else None)
    each = build(table.runs, each_run=True)
    for row, run in zip(csv.DictReader(io.StringIO(as_csv(each))), each.rows, strict=True):
        for key in WHERE:
            value = WHERE[key](run.runs[0].record)
            told = float(row[key]) if row[key] else None
            assert told == (None if value is None else pytest.approx(value, rel=1e-12)), key


def test_the_page_has_each_number_in_its_column_and_each_runs_own_in_its_fold(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_module, "drawings", lambda view, analysis: [])
    html = write.as_html(table, table, analyse(shown(table)), "ablate report scout")
    rows = re.findall(r"<tr data-row>(.*?)</tr>", html, flags=re.DOTALL)[:2]
    for row, pos in zip(rows, POSITIONS, strict=True):
        values = [float(v) for v in re.findall(r'data-v="([^"]+)"', row)]
        columns = [column.key for column in columns_shown(table)]
        assert values == pytest.approx([expected(key, table, pos)[0] for key in columns])
    typed: dict[Path, Any] = {run.directory: None for run in table.runs}
    for fold, run in zip(folds(table.runs, ["pos"], typed, []), table.runs, strict=True):
        record = run.record
        assert [one.value for one in fold.numbers] == [
            record.loss.validation,
            record.extrapolation.accuracy[1],
            record.extrapolation.accuracy[4],
        ]
        facts = dict(fold.facts)
        assert facts["first loss"] == f"{record.loss.first:.3f}"
        assert facts["training loss, last tenth"] == f"{record.loss.final:.3f}"
        assert facts["validation loss"] == f"{record.loss.validation:.3f}"
        assert facts["best validation loss"] == f"{record.loss.best:.3f}"
        assert facts["parameters"] == f"{record.parameters:,}"
        assert facts["tokens"] == f"{record.tokens:,}"
        assert facts["seconds"] == f"{record.timing.seconds:.1f}"
        ratio = first_over_last(record.gradients.parameters_first)
        assert float(facts["gradient, first / last block"]) == pytest.approx(ratio, rel=0.01)


def uneven(shift: float) -> Analysis:
    """Two arms against a baseline, one of which has a seed fewer; `shift` is the other's."""
    shifts = {"rope": 0.0, "alibi": shift, "none": -0.3}
    noise = {"rope": 0.01, "alibi": 0.03, "none": -0.02}
    runs = [
        make_run({"pos": pos}, seed=seed, loss__validation=2.0 + own + noise[pos] * (seed - 1.5))
        for pos, own in shifts.items()
        for seed in range(4 - (pos == "none"))
    ]
    return analyse(shown(build(runs)))


def test_the_pages_differences_are_those_of_the_analysis_under_their_heads() -> None:
    analysis = uneven(0.05)
    (grid,) = differences(analysis)
    for row, one in zip(grid.rows, analysis.contrasts, strict=True):
        pairs = zip(grid.heads, row, strict=True)
        told = {head.name: cell.text.replace("−", "-") for head, cell in pairs}
        test = one.difference
        assert None not in (test.mean, test.low, test.high, one.low, one.high, one.p_holm)
        assert float(told["difference, nats"]) == pytest.approx(test.mean, abs=6e-4)
        for head, low, high in (
            ("95 % interval", test.low, test.high),
            ("corrected", one.low, one.high),
        ):
            ends = [float(end) for end in told[head].split(" to ")]
            assert ends == pytest.approx([low, high], abs=6e-4)
        assert float(told["p (Holm)"].strip("<= ")) == pytest.approx(one.p_holm, abs=6e-4)
        assert told["seeds"] == str(test.n)
    assert {one.difference.n for one in analysis.contrasts} == {3, 4}
    (strict,) = [one for one in analysis.contrasts if one.low != one.difference.low]
    assert strict.p_holm == pytest.approx(2 * (strict.difference.p or 0))


def test_a_cell_tells_mean_spread_and_of_how_many_runs_it_is(table: Table) -> None:
    column = BY_KEY["grad_ratio"]
    cell = next(iter(table.rows)).cells["grad_ratio"]
    mean, factor = expected("grad_ratio", table, "rope")
    text = cell_text(cell, column, 3)
    assert (text.number, text.spread) == (f"{mean:#.3g}", f"×÷{factor:#.3g}")
    assert text.share == ""
    assert cell_text(cell, column, 5).share == "(3 of 5)"


def figures(runs: list[Run]) -> dict[str, Figure]:
    table = build(runs)
    analysis = analyse(shown(table))
    with drawing():
        return {one.name: one.draw() for one in drawings(view_of(table), analysis)}


def lines(axes: Any) -> list[tuple[list[float], list[float]]]:
    drawn = [line.get_xydata().tolist() for line in axes.get_lines()]
    return [([x for x, _ in line], [y for _, y in line]) for line in drawn]


def is_drawn(axes: Any, xs: list[float], ys: list[float]) -> bool:
    return any(
        len(x) == len(xs) and x == pytest.approx(xs) and y == pytest.approx(ys, nan_ok=True)
        for x, y in lines(axes)
    )


def test_figures_draw_each_quantity_in_its_own_axes() -> None:
    runs = runs_of()
    drawn = figures(runs)
    arms = [runs[:3], runs[3:]]
    contexts = [0.5, 1.0, 2.0, 4.0, 8.0]
    lengths = drawn["length"].axes
    for axes, kind in zip(lengths, ("accuracy", "exact", "nll"), strict=True):
        for arm in arms:
            columns = list(
                zip(*(getattr(run.record.extrapolation, kind) for run in arm), strict=True)
            )
            means = [math.nan if None in column else fmean(column) for column in columns]
            assert is_drawn(axes, contexts, means), kind
            for context, column in zip(contexts, columns, strict=True):
                if None not in column:
                    assert is_drawn(axes, [context] * 2, [min(column), max(column)])
    by_depth = drawn["gradient_by_depth"].axes
    for axes, kind in zip(by_depth, ("parameters_first", "inputs_first"), strict=True):
        for arm in arms:
            columns = zip(*(getattr(run.record.gradients, kind) for run in arm), strict=True)
            assert is_drawn(axes, [1, 2, 3, 4], [median(column) for column in columns]), kind
    (loss,) = drawn["loss"].axes
    bands = [c for c in loss.collections if isinstance(c, PolyCollection)]
    for arm in arms:
        curves = [run.record.curve.loss for run in arm]
        columns = list(zip(*curves, strict=True))
        assert is_drawn(loss, [1, 10, 20, 40], [fmean(column) for column in columns])
        for step, column in zip((1, 10, 20, 40), columns, strict=True):
            for edge in (min(column), max(column)):
                points = [tuple(v) for band in bands for v in band.get_paths()[0].vertices]
                assert any(p == pytest.approx((step, edge)) for p in points)
    (first,) = drawn["first_loss"].axes
    dots = sorted(x for xs, _ in lines(first) if len(xs) == 3 for x in xs)
    assert dots == pytest.approx(sorted(run.record.loss.first for run in runs))
    levels = [xs for xs, ys in lines(first) if len(xs) == 2 and xs[0] == xs[1]]
    means = [fmean(run.record.loss.first for run in arm) for arm in arms]
    assert sorted({xs[0] for xs in levels}) == pytest.approx([5.5, *means])


def test_the_forest_draws_means_and_both_intervals_of_every_difference() -> None:
    runs = [
        make_run({"pos": pos}, seed=seed, loss__validation=2.0 + shift + noise * (seed - 1.5))
        for pos, shift, noise in (("rope", 0, 0.01), ("alibi", 0.2, 0.03), ("none", -0.3, -0.02))
        for seed in range(4)
    ]
    analysis = analyse(shown(build(runs)))
    (axes,) = figures(runs)["effects"].axes
    assert any(one.low != one.difference.low for one in analysis.contrasts)
    contrasts = sorted(analysis.contrasts, key=lambda one: one.difference.mean or 0.0)
    assert [one.name for one in contrasts] == ["pos=none", "pos=alibi"]
    for place, (one, shift, noise) in enumerate(
        zip(contrasts, (-0.3, 0.2), (-0.03, 0.02), strict=True)
    ):
        half = stats.t.ppf(0.975, 3) * abs(noise) * stdev(range(4)) / 2
        assert is_drawn(axes, [shift], [place])
        assert is_drawn(axes, [shift - half, shift + half], [place] * 2)
        assert one.low is not None
        assert is_drawn(axes, [one.low, one.high], [place] * 2)


def test_the_rate_figure_draws_validation_losses_of_finished_seeds() -> None:
    losses = {"0.001": [2.5, 2.7], "0.003": [2.2, 2.3], "0.01": [2.9, None]}
    runs = [
        make_run(
            {"lr": float(rate)},
            seed=seed,
            loss__validation=loss or 9.9,
            loss__final=7.7,
            status="done" if loss else "diverged",
        )
        for rate, of_rate in losses.items()
        for seed, loss in enumerate(of_rate)
    ]
    (axes,) = figures(runs)["learning_rate"].axes
    assert is_drawn(axes, [0.001, 0.003, 0.01], [2.6, 2.25, 2.9])
    assert is_drawn(axes, [0.001] * 2, [2.5, 2.7])


def test_labels_are_counted_in_the_cell_of_their_placement_and_rate() -> None:
    cells = {("pre", 0.001): "healthy", ("pre", 0.01): "stuck", ("post", 0.001): "unstable"}
    runs = [
        make_run({"norm": norm, "lr": rate}, seed=seed, label=label)
        for (norm, rate), label in cells.items()
        for seed in range(2 + (label == "stuck"))
    ]
    view = view_of(build(runs))
    told = counted(view.series, ["norm"], ["lr"])
    assert {place: dict(labels) for place, labels in told.items()} == {
        (("pre",), ("0.001",)): {"healthy": 2},
        (("pre",), ("0.01",)): {"stuck": 3},
        (("post",), ("0.001",)): {"unstable": 2},
    }


def test_a_sentence_tells_the_mean_the_corrected_interval_and_the_seeds_of_its_difference() -> None:
    analysis = uneven(0.2)
    told = {s.fact.contrast.name: s.sentence for s in statements(analysis) if s.kind == "mattered"}
    for one, word in zip(analysis.contrasts, ("worse", "better"), strict=True):
        sentence, ends = told[one.name], sorted(map(abs, (one.low or 0, one.high or 0)))
        assert sentence.start == (
            f"{one.name} is {word} than pos=rope by {abs(one.difference.mean or 0):.3f} nats"
        )
        assert sentence.interval == f"[{ends[0]:.3f}, {ends[1]:.3f}]"
        assert sentence.evidence == f"{one.difference.n} seeds paired"
