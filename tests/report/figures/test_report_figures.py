"""Figures: looks that stay, panels that can be read, and only what the records hold."""

import json
import random
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib.figure
import pytest
from matplotlib import rc_context
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from ablate.errors import UserError
from ablate.record.curves import block_norms, read_lines
from ablate.report.figures.every import FORMATS, drawings, encoded, save_all
from ablate.report.figures.failure_cells import failure_cells
from ablate.report.figures.forest import simple_effects
from ablate.report.figures.gradients import heat
from ablate.report.figures.label_grid import axes_of, counted, label_grid
from ablate.report.figures.length_curves import context_curve, lengths
from ablate.report.figures.look import COLOURS, INK, drawing, look, looks
from ablate.report.figures.loss import curves, first, seed_curve
from ablate.report.figures.panels import layout
from ablate.report.figures.rates import rate_sweeps, sensitivity
from ablate.report.figures.view import LINES, PANELS, Drawing, Series, View, view_of
from ablate.report.inference.analysis import analyse
from ablate.report.page.content import illustration
from ablate.report.page.svg import inline
from ablate.report.runs.collect import collect
from ablate.report.runs.shown import shown
from ablate.report.runs.tables import build
from ablate.report.words.interactions import verdict_text
from ablate.report.words.statements import of_failures, statements
from tests.report.conftest import make_run

Factory = Callable[..., Path]


def view(outputs: Path, **how: Any) -> View:
    return view_of(build(collect([outputs], outputs), **how))


def drawn(outputs: Path) -> list[str]:
    table = build(collect([outputs], outputs))
    return [one.name for one in drawings(view_of(table), analyse(shown(table)))]


def made(one: Any) -> matplotlib.figure.Figure:
    with drawing():
        figure = one.draw()
        figure.draw_without_rendering()
    return figure


def lines(figure: matplotlib.figure.Figure) -> list[Any]:
    return [line for axes in figure.axes for line in axes.get_lines()]


COMPARED = {
    "pos": ("none", "learned", "sinusoidal", "rope", "alibi", "t5", "kerple", "fire"),
    "norm": ("pre", "post", "none", "sandwich", "peri", "deepnorm"),
    "norm_layer": ("layernorm", "rmsnorm", "batchnorm", "dyt", "none"),
    "residual": ("on", "off", "rezero", "layerscale"),
    "warmup": ("none", "linear"),
}


@pytest.mark.parametrize("group", sorted(COMPARED))
def test_what_is_compared_most_has_different_colours(group: str) -> None:
    colours = [look(group, name).colour for name in COMPARED[group]]
    assert len(set(colours)) == len(colours)
    assert set(colours) <= set(COLOURS)


def test_a_look_follows_from_the_name_alone_and_numbers_take_a_ramp() -> None:
    few, many = looks("pos", ["rope"]), looks("pos", ["zzz", "alibi", "rope"])
    assert few["rope"] == many["rope"] == look("pos", "rope")
    ramp = looks("depth", ["24", "6", "12"])
    assert list(ramp) == ["6", "12", "24"]
    assert len({one.colour for one in ramp.values()}) == 3


def test_there_is_a_figure_only_where_there_are_data(outputs: Path, add_run: Factory) -> None:
    nothing = {"steps": [], "loss": []}
    bare = {f"gradients__{key}": [] for key in ("parameters_first", "inputs_first")}
    add_run(
        curve=nothing,
        label=None,
        loss__first=None,
        extrapolation__lengths=[],
        extrapolation__accuracy=[],
        **bare,
    )
    assert drawn(outputs) == []
    add_run({"pos": "alibi"})
    assert drawn(outputs) == [
        "effects",
        "loss",
        "length",
        "labels",
        "first_loss",
        "gradient_by_depth",
    ]


def test_all_records_damaged_draws_nothing(outputs: Path, add_run: Factory) -> None:
    (add_run() / "record.json").write_text("{")
    assert drawn(outputs) == []


def test_a_loss_curve_is_smoothed_and_its_band_is_over_seeds(
    outputs: Path, add_run: Factory
) -> None:
    for seed, loss in enumerate((2.0, 4.0)):
        add_run(seed=seed, curve={"steps": [1, 2, None, 4], "loss": [loss, loss, 9.0, None]})
    (one,) = view(outputs).series
    assert seed_curve(one.runs) == [(1, 3.0, 2.0, 4.0), (2, 3.0, 2.0, 4.0)]
    figure = made(curves(view(outputs)))
    assert any(isinstance(part, PolyCollection) for part in figure.axes[0].collections)


def test_a_diverged_curve_ends_in_a_cross_and_is_cut_off_above_ln_v(
    outputs: Path, add_run: Factory
) -> None:
    add_run({"pos": "rope"})
    wild = {"steps": [1, 2, 3], "loss": [5.5, 5.0, 900.0]}
    add_run({"pos": "alibi"}, status="diverged", label="diverged", curve=wild)
    figure = made(curves(view(outputs)))
    assert "x" in [line.get_marker() for line in lines(figure)]
    assert figure.axes[0].get_ylim()[1] < 7


def test_an_undefined_length_is_marked_and_not_dropped(outputs: Path, add_run: Factory) -> None:
    add_run({"pos": "rope"})
    add_run({"pos": "learned"}, extrapolation__accuracy=[0.4, 0.45, None, None, None])
    by_pos = {one.keys["pos"]: one for one in view(outputs).series}
    assert context_curve(by_pos["learned"], lambda measured: measured.accuracy) == {
        0.5: [0.4],
        1.0: [0.45],
        2.0: None,
        4.0: None,
        8.0: None,
    }
    figure = made(lengths(view(outputs)))
    crosses = [line for line in figure.axes[0].get_lines() if line.get_marker() == "x"]
    assert [list(line.get_xdata()) for line in crosses] == [[2.0, 4.0, 8.0]]
    assert "undefined" in [text.get_text() for text in figure.axes[0].texts]
    assert any(patch.get_hatch() for patch in figure.axes[0].patches)


def test_sensitivity_needs_three_rates_and_marks_those_without_a_finished_seed(
    outputs: Path, add_run: Factory
) -> None:
    for rate in (0.001, 0.003):
        add_run({"lr": rate, "norm": "pre"})
    assert rate_sweeps(view(outputs)) == []
    add_run({"lr": 0.01, "norm": "pre"}, status="diverged", label="diverged")
    add_run({"lr": 0.01, "norm": "post"})
    ((one, sweep),) = rate_sweeps(view(outputs))
    assert (one.keys["norm"], list(sweep)) == ("pre", [0.001, 0.003, 0.01])
    figure = made(sensitivity(view(outputs)))
    (cross,) = (
        line for line in lines(figure) if line.get_marker() == "x" and len(line.get_xdata())
    )
    assert list(cross.get_xdata()) == [0.01]
    assert figure.axes[0].get_xscale() == "log"


def test_panels_hold_what_the_colours_do_not(outputs: Path, add_run: Factory) -> None:
    for pos in ("rope", "alibi"):
        for norm in ("pre", "post"):
            for depth in (6, 12):
                add_run({"pos": pos, "norm": norm, "depth": depth})
    plan = layout(view(outputs))
    assert [panel.title for panel in plan.panels] == [
        f"norm={norm} depth={depth}"
        for norm in view(outputs).values("norm")
        for depth in ("6", "12")
    ]
    assert {name for name, _ in plan.legend} == {"rope", "alibi"}
    assert plan.others == 0
    by_norm = layout(view(outputs), ["norm"])
    assert len(by_norm.panels) == 2
    assert len({found for found in by_norm.looks.values() if found is not None}) == 4


@pytest.mark.parametrize("panelled", [None, ["norm"]])
def test_of_many_arms_the_best_have_names_and_the_others_are_grey(
    outputs: Path, add_run: Factory, panelled: list[str] | None
) -> None:
    for place in range(20):
        for norm in ("pre", "post"):
            add_run(
                {"pos": "rope", "norm": norm, "pos.base": float(10 + place)},
                loss__validation=2.0 + place,
            )
    everything = view(outputs)
    assert len(everything.series) == 40
    plan = layout(everything, panelled)
    assert len(plan.panels) <= PANELS
    assert len(plan.legend) == LINES
    assert plan.others == 40 - LINES
    best = [one for one in everything.series if plan.look(one)]
    assert {float(one.keys["pos.base"]) for one in best} == {10.0, 11.0, 12.0, 13.0}


def of_grid(**values: list[Any]) -> View:
    """The view of all combinations, without a disk."""
    combinations = product(*values.values())
    runs = [make_run(dict(zip(values, one, strict=True))) for one in combinations]
    return view_of(build(runs))


def test_too_many_panels_put_a_factor_in_dashes_before_arms_turn_grey() -> None:
    rates = [0.0003, 0.001, 0.003]
    few = of_grid(norm=["pre", "post"], warmup=["none", "linear"], depth=[6, 12], lr=rates)
    plan = layout(few)
    assert (len(plan.panels), plan.others, plan.across) == (6, 0, 3)
    assert len({look for look in plan.looks.values() if look}) == 4
    many = layout(of_grid(norm=["pre", "post"], depth=[*range(6, 11)], lr=[1, 2, 3, 4, 5]))
    assert (len(many.panels), many.others) == (1, 50 - LINES)


def test_the_label_grid_counts_every_run(outputs: Path, add_run: Factory) -> None:
    for norm in ("pre", "post"):
        for lr in (0.001, 0.003):
            for seed in (0, 1):
                bad = norm == "post" and lr == 0.003 and seed == 1
                label = "diverged" if bad else "healthy"
                add_run({"norm": norm, "lr": lr}, seed=seed, label=label)
    found = view(outputs)
    rows, columns = axes_of(found)
    assert (rows, columns) == (["norm"], ["lr"])
    cells = counted(found.series, rows, columns)
    assert dict(cells[("post",), ("0.003",)]) == {"healthy": 1, "diverged": 1}
    assert sum(cell.total() for cell in cells.values()) == 8
    assert label_grid(found) is not None


def test_the_first_loss_stands_beside_ln_v(outputs: Path, add_run: Factory) -> None:
    add_run({"pos": "rope"}, loss__first=5.6)
    add_run({"pos": "alibi"}, loss__first=45.0)
    figure = made(first(view(outputs)))
    assert figure.axes[0].get_xscale() == "log"
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [
        "pos=rope",
        "pos=alibi",
    ]


def write_curves(directory: Path, depth: int) -> None:
    good = [
        {"step": step, "loss": 2.0, "gradients": {"parameters": [0.5 + step] * depth, "inputs": []}}
        for step in (1, 5, 10)
    ]
    damaged = ['{"step": 7, "gradients"', "[]", '{"step": true}', '{"step": 8, "gradients": 3}']
    text = "\n".join([*map(json.dumps, good), *damaged, "\x00\xff"])
    (directory / "curves.jsonl").write_text(text)


def test_the_heat_map_reads_curves_and_passes_over_damage(outputs: Path, add_run: Factory) -> None:
    for seed in (0, 1):
        write_curves(add_run(seed=seed), 3)
    (one,) = view(outputs).series
    assert heat(one) == ([1, 5, 10], [[1.5] * 3, [5.5] * 3, [10.5] * 3])
    assert "gradient_over_steps" in drawn(outputs)
    infinite = [{"step": 1, "gradients": {"parameters": [1.0, float("inf"), "x", True]}}]
    assert block_norms(infinite, "parameters") == [(1, [1.0, None, None, None])]
    assert read_lines(outputs) == []


def test_the_same_figure_is_the_same_file(outputs: Path, add_run: Factory) -> None:
    for seed in (0, 1):
        add_run(seed=seed)
    grid_ = label_grid(view(outputs))
    assert grid_ is not None
    assert inline(grid_) == inline(grid_)
    for name in FORMATS:
        with drawing():
            assert encoded(grid_.draw(), name) == encoded(grid_.draw(), name)


def test_names_are_no_formulas_and_no_markup(outputs: Path, add_run: Factory) -> None:
    for name in ("$x_1$ & <b>", r"\frac{%"):
        add_run({"norm": name})
    text = inline(first(view(outputs)))  # type: ignore[arg-type]
    assert "norm=$x_1$ &amp; &lt;b&gt;" in text
    assert "<b>" not in text


def test_ticks_keep_their_digits_and_ids_are_the_figures_own(
    outputs: Path, add_run: Factory
) -> None:
    for rate in (0.0003, 0.001, 0.003):
        add_run({"lr": rate})
    text = inline(sensitivity(view(outputs)))  # type: ignore[arg-type]
    assert ">0.0003<" in text
    ids = [part.split('"')[0] for part in text.split(' id="')[1:]]
    assert ids
    assert all(name.startswith("learning_rate-") for name in ids)


def test_files_are_written_in_three_formats(outputs: Path, add_run: Factory) -> None:
    add_run()
    grid_ = label_grid(view(outputs))
    assert grid_ is not None
    files = save_all([grid_], outputs / "new" / "figures")
    assert [path.name for path in files] == ["labels.png", "labels.svg", "labels.pdf"]
    assert [path.read_bytes()[:5] for path in files] == [b"\x89PNG\r", b"<?xml", b"%PDF-"]
    (outputs / "file").write_text("")
    with pytest.raises(UserError, match=r"--figures .*file"):
        save_all([grid_], outputs / "file")


def impossible() -> Figure:
    raise RuntimeError("no ink")


def plain() -> Figure:
    figure = Figure(layout="constrained")
    figure.subplots().plot([1, 2], [3, 4])
    return figure


def in_chinese() -> Figure:
    figure = Figure()
    figure.suptitle("漢字")
    return figure


def test_one_that_cannot_be_drawn_costs_a_line(
    outputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = [Drawing("bad", "", "", impossible), Drawing("foreign", "", "", in_chinese)]
    files = save_all(drawn, outputs / "figures")
    assert {path.stem for path in files} == {"foreign"}
    assert capsys.readouterr().err.splitlines() == [
        "ablate report: bad is not drawn: RuntimeError: no ink",
        "ablate report: letters that the font of the figures lacks are boxes there: 字漢",
    ]
    shown = illustration(Drawing("bad", "Bad", "What it shows.", impossible))
    assert (shown.svg, shown.caption) == (
        "",
        "What it shows. It could not be drawn: RuntimeError: no ink.",
    )


def test_settings_of_the_user_do_not_count() -> None:
    with rc_context({"font.size": 30, "axes.facecolor": "red", "savefig.dpi": 7}), drawing():
        changed = encoded(plain(), "png")
    with drawing():
        assert encoded(plain(), "png") == changed


def test_records_with_holes_are_drawn(outputs: Path, add_run: Factory) -> None:
    random.seed(3)
    record = json.loads((add_run() / "record.json").read_text())
    for place in range(12):
        broken = json.loads(json.dumps(record))
        for key in random.sample(sorted(broken), 6):
            broken[key] = random.choice([None, "x", [None, "y", 1e999], 3, {}, [[]]])
        broken |= {"name": f"r{place}", "schema": random.choice([0, 1, 2])}
        directory = outputs / "scout" / f"r{place}"
        directory.mkdir()
        (directory / "record.json").write_text(json.dumps(broken))
    table = build(collect([outputs], outputs))
    for one in drawings(view_of(table), analyse(shown(table))):
        made(one)
    assert all(isinstance(one, Series) for one in view_of(table).series)


CORNER = {"norm": "post", "warmup": "none"}


def with_a_corner(add_run: Factory, seeds: int = 6) -> None:
    """A study in which one cell of four diverges."""
    for norm, warmup, seed in product(("pre", "post"), ("none", "linear"), range(seeds)):
        arm = {"norm": norm, "warmup": warmup}
        ends = {"status": "diverged", "label": "diverged", "loss__validation": None}
        parts = ends if arm == CORNER else {"loss__validation": 2.5 + 0.003 * seed}
        add_run(arm, seed=seed, **parts)


def test_the_figure_of_failures_has_the_counts_of_every_cell_and_what_the_text_says(
    outputs: Path, add_run: Factory
) -> None:
    with_a_corner(add_run)
    analysis = analyse(shown(build(collect([outputs], outputs))))
    one = failure_cells(analysis)
    assert one is not None
    (axes,) = made(one).axes
    spots = {(text.get_position()): text.get_text() for text in axes.texts}
    rows = [label.get_text() for label in axes.get_yticklabels()]
    columns = [label.get_text() for label in axes.get_xticklabels()]
    failed = (columns.index("none") + 0.5, rows.index("post") + 0.4)
    assert spots.pop(failed) == "6 of 6"
    assert set(spots.values()) == {"0 of 6"}
    assert len(spots) == 3
    frames = [patch for patch in axes.patches if to_hex(patch.get_edgecolor()) == INK]
    assert [(patch.get_x() // 1, patch.get_y() // 1) for patch in frames] == [
        (failed[0] // 1, failed[1] // 1)
    ]
    told = of_failures(statements(analysis), "diverged")[:2]
    title = axes.get_title(loc="left").replace("\n", " ")
    assert title == " ".join(
        ["diverged, runs of each cell", *(statement.sentence.claim for statement in told)]
    )


def test_where_nothing_failed_there_is_no_figure_of_failures(
    outputs: Path, add_run: Factory
) -> None:
    add_run({"norm": "pre"})
    add_run({"norm": "post"})
    assert "failures" not in drawn(outputs)


def test_simple_effects_have_a_figure_with_the_words_of_the_table(
    outputs: Path, add_run: Factory
) -> None:
    for norm, warmup, seed in product(("pre", "post"), ("none", "linear"), range(5)):
        loss = 2.5 + 0.01 * seed + 0.4 * (norm == "post" and warmup == "none")
        loss += 0.001 * ((seed * 7 + len(norm) * 3 + len(warmup)) % 5)
        add_run({"norm": norm, "warmup": warmup}, seed=seed, loss__validation=loss)
    analysis = analyse(shown(build(collect([outputs], outputs))))
    one = simple_effects(analysis)
    assert one is not None
    figure = made(one)
    words = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert sorted(words) == sorted(verdict_text(effect) for effect in analysis.simple)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["norm=post − norm=pre, within", "warmup=linear − warmup=none, within"]
