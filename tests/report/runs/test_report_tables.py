"""Rows: what is averaged over what, exact numbers, filters and order."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ablate.errors import UserError
from ablate.report.runs.collect import collect
from ablate.report.runs.columns import COLUMNS
from ablate.report.runs.settings import differing
from ablate.report.runs.shown import columns_shown
from ablate.report.runs.tables import Table, build
from ablate.report.words.cells import key_text
from ablate.report.words.legend import legend

Factory = Callable[..., Path]
T1, T2 = 12.706204736, 4.302652730  # 97.5 % quantiles of t with 1 and 2 degrees of freedom


@pytest.fixture
def table_of(outputs: Path) -> Callable[..., Table]:
    def make(**options: Any) -> Table:
        return build(collect([outputs], outputs), **options)

    return make


def column(table: Table, key: str) -> list[float | None]:
    return [row.cells[key].mean for row in table.rows]


def keys(table: Table, key: str) -> list[Any]:
    return [row.keys.get(key) for row in table.rows]


def test_an_arm_is_the_mean_over_its_seeds(add_run: Factory, table_of: Callable) -> None:
    for seed, loss in enumerate((2.0, 2.2, 2.4)):
        add_run({"pos": "rope"}, seed=seed, loss__validation=loss)
    add_run({"pos": "alibi"}, loss__validation=2.1)
    table = table_of()
    alibi, rope = sorted(table.rows, key=lambda row: row.keys["pos"])
    assert rope.cells["val_loss"].mean == pytest.approx(2.2)
    assert rope.cells["val_loss"].interval.half_width == pytest.approx(T2 * 0.2 / math.sqrt(3))
    assert rope.cells["val_loss"].runs == 3
    assert rope.seeds == [0, 1, 2]
    assert alibi.cells["val_loss"].interval.half_width is None


@pytest.mark.parametrize(
    ("key", "one", "other"),
    [
        ("lr", 0.00123456789, 0.00123456788),
        ("pos.base", 1234567.0, 1234568.0),
        ("warmup.note", None, "null"),
        ("warmup.note", 1, "1"),
        ("warmup.note", ["a", "b"], ["a,b"]),
    ],
)
def test_values_that_differ_in_the_least_are_two_arms_and_look_so(
    add_run: Factory, table_of: Callable, key: str, one: object, other: object
) -> None:
    for seed, value in enumerate((one, other)):
        add_run({key: value}, seed=seed)
    table = table_of()
    assert len(table.rows) == 2
    assert len({key_text(row, key) for row in table.rows}) == 2


def test_the_name_of_a_study_is_never_quoted(add_run: Factory, table_of: Callable) -> None:
    for study in ("2024", "null"):
        add_run(study=study)
    rows = table_of(by=["study"], where=["study=2024,null"]).rows
    assert {key_text(row, "study") for row in rows} == {"2024", "null"}


def test_the_gradient_ratio_is_a_geometric_mean(add_run: Factory, table_of: Callable) -> None:
    for seed, first in enumerate((1.0, 4.0)):
        add_run(seed=seed, gradients__parameters_first=[first, 7.0, 2.0])
    cell = table_of().rows[0].cells["grad_ratio"]
    assert cell.mean == pytest.approx(1.0)
    assert cell.interval.half_width == pytest.approx(math.exp(T1 * math.log(2)))


@pytest.mark.parametrize("norms", [[], [None, 1.0], [1.0, 0.0], [1.0, None]])
def test_a_ratio_to_nothing_is_no_ratio(
    add_run: Factory, table_of: Callable, norms: list[float | None]
) -> None:
    add_run(gradients__parameters_first=norms)
    assert column(table_of(), "grad_ratio") == [None]


def test_a_vanished_gradient_is_a_ratio_of_zero(add_run: Factory, table_of: Callable) -> None:
    add_run(gradients__parameters_first=[0.0, 1.0])
    assert column(table_of(), "grad_ratio") == [0.0]


def test_undefined_is_neither_zero_nor_unmeasured(add_run: Factory, table_of: Callable) -> None:
    add_run({"pos": "learned"}, extrapolation__accuracy=[0.4, 0.45, None, None, None])
    add_run({"pos": "none"}, extrapolation=None)
    learned, none = sorted(table_of().rows, key=lambda row: row.keys["pos"])
    assert learned.cells["acc_L"].mean == 0.45
    assert learned.cells["acc_8L"].mean is None
    assert learned.cells["acc_8L"].undefined
    assert none.cells["acc_8L"].mean is None
    assert not none.cells["acc_8L"].undefined


def test_lengths_are_found_by_their_factor(add_run: Factory, table_of: Callable) -> None:
    add_run(
        extrapolation={
            "train_length": 32,
            "lengths": [256, 16, 32],
            "accuracy": [0.3, 0.1, 0.2],
            "nll": [],
        }
    )
    cells = table_of().rows[0].cells
    assert [cells[f"acc_{name}"].mean for name in ("halfL", "L", "2L", "8L")] == [
        0.1,
        0.2,
        None,
        0.3,
    ]
    assert cells["nll_L"].mean is None


def test_only_finished_trainings_are_averaged(add_run: Factory, table_of: Callable) -> None:
    add_run(seed=0, loss__validation=2.0, loss__first=5.0)
    add_run(seed=1, loss__validation=900.0, loss__first=6.0, status="diverged", label="diverged")
    add_run(seed=2, loss__validation=3.0, loss__first=7.0, status="interrupted")
    row = table_of().rows[0]
    assert (row.cells["val_loss"].mean, row.cells["val_loss"].runs) == (2.0, 1)
    assert (row.cells["first_loss"].mean, row.cells["first_loss"].runs) == (6.0, 3)
    assert row.status == {"done": 1, "diverged": 1, "interrupted": 1}
    assert row.label == {"healthy": 2, "diverged": 1}


def test_a_row_of_one_run_shows_what_it_measured(add_run: Factory, table_of: Callable) -> None:
    add_run(loss__validation=900.0, status="diverged")
    add_run(seed=1, loss__validation=2.0)
    assert column(table_of(each_run=True), "val_loss") == [2.0, 900.0]
    assert column(table_of(where=["seed=0"]), "val_loss") == [900.0]


def test_keys_are_what_differs(add_run: Factory, table_of: Callable) -> None:
    base = {"pos": "rope", "norm": "pre", "warmup": "linear", "depth": 24}
    add_run(base | {"warmup.steps": 10})
    add_run(base | {"warmup.steps": 50, "lr": 0.003}, seed=1)
    add_run(base | {"pos": "learned", "warmup.steps": 50})
    assert table_of().keys == ["pos", "warmup.steps", "lr"]
    assert table_of(each_run=True).keys == ["pos", "warmup.steps", "lr", "seed"]


def test_an_option_that_follows_from_the_choice_does_not_differ(
    add_run: Factory, table_of: Callable
) -> None:
    add_run({"pos": "rope", "warmup": "linear", "warmup.steps": 50})  # pos.base
    add_run({"pos": "none"})  # no pos.base, no warmup.steps
    assert table_of().keys == ["pos", "warmup"]


def test_one_arm_is_told_by_its_name(add_run: Factory, table_of: Callable) -> None:
    add_run({"pos": "rope"})
    table = table_of()
    assert table.keys == ["arm"]
    assert keys(table, "arm") == ["pos=rope-1f3a9c2e"]


def test_arms_that_look_alike_are_told_by_name(add_run: Factory, table_of: Callable) -> None:
    add_run({"pos": "rope"}, arm="a-00000000")
    add_run({"pos": "rope"}, seed=1, arm="b-11111111")
    assert keys(table_of(), "arm") == ["a-00000000", "b-11111111"]


def test_studies_are_kept_apart(add_run: Factory, table_of: Callable) -> None:
    add_run()
    add_run(study="other", seed=1)
    table = table_of()
    assert table.keys == ["study", "arm"]
    assert [len(row.runs) for row in table.rows] == [1, 1]


def test_by_averages_within_a_seed_and_then_over_seeds(
    add_run: Factory, table_of: Callable
) -> None:
    losses = {("pre", 0): 1.0, ("pre", 1): 2.0, ("post", 0): 3.0, ("post", 1): 6.0}
    for (norm, seed), loss in losses.items():
        add_run({"pos": "rope", "norm": norm}, seed=seed, loss__validation=loss)
    table = table_of(by=["pos"])
    (row,) = table.rows
    assert len(row.runs) == 4
    assert row.cells["val_loss"].mean == 3.0  # of the seeds' means 2 and 4
    assert row.cells["val_loss"].interval.n == 2
    assert row.cells["val_loss"].interval.half_width == pytest.approx(T1 * 1.0)


def test_by_takes_options_status_and_several_keys(add_run: Factory, table_of: Callable) -> None:
    add_run({"warmup": "linear", "warmup.steps": 10})
    add_run({"warmup": "none"}, status="failed")
    assert keys(table_of(by=["warmup.steps"]), "warmup.steps") == [10, None]
    assert keys(table_of(by=["status"]), "status") == ["done", "failed"]
    assert len(table_of(by=["warmup", "status"]).rows) == 2


def test_where_compares_texts_and_numbers(add_run: Factory, table_of: Callable) -> None:
    for pos in ("rope", "alibi", "none"):
        for lr in (0.001, 0.003):
            add_run({"pos": pos, "lr": lr}, status="failed" if pos == "none" else "done")
    assert len(table_of(where=["pos=rope,alibi"]).rows) == 4
    assert len(table_of(where=["lr=1e-3"]).rows) == 3
    assert len(table_of(where=["pos=rope", "lr=0.003"]).rows) == 1
    assert len(table_of(where=["pos=rope", "pos=alibi"]).rows) == 4
    assert len(table_of(where=["status=failed"]).rows) == 2
    assert len(table_of(where=["norm.final=true"]).rows) == 6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"by": ["poss"]}, r"--by poss.*did you mean pos\?"),
        ({"by": ["xyz"]}, r"--by xyz.*there are pos, study, arm"),
        ({"where": ["nrom=pre"]}, r"--where nrom.*did you mean norm\?"),
        ({"where": ["pos=rpoe"]}, r"pos=rpoe: no run matches; did you mean rope\?"),
        ({"where": ["depth=7"]}, "depth=7: no run matches; there is 24"),
        ({"where": ["pos"]}, "expected KEY=VALUE"),
        ({"where": ["=rope"]}, "expected KEY=VALUE"),
        ({"sort": ["-vall_loss"]}, r"--sort vall_loss.*did you mean val_loss\?"),
        ({"sort": ["seed"]}, "--sort seed: differs within a row"),
    ],
)
def test_mistakes_are_named(
    add_run: Factory, table_of: Callable, options: dict[str, Any], words: str
) -> None:
    for seed in (0, 1):
        add_run({"pos": "rope"}, seed=seed)
        add_run({"pos": "alibi"}, seed=seed)
    with pytest.raises(UserError, match=words):
        table_of(**options)


def test_sorting_puts_undefined_last_in_both_directions(
    add_run: Factory, table_of: Callable
) -> None:
    for pos, accuracy in (("rope", 0.2), ("alibi", 0.4), ("learned", None), ("none", 0.3)):
        add_run({"pos": pos}, extrapolation__accuracy=[0.4, 0.4, 0.4, 0.4, accuracy])
    assert keys(table_of(sort=["acc_8L"]), "pos") == ["rope", "none", "alibi", "learned"]
    assert keys(table_of(sort=["-acc_8L"]), "pos") == ["alibi", "none", "rope", "learned"]


def test_the_order_is_by_validation_loss_and_else_by_keys(
    add_run: Factory, table_of: Callable
) -> None:
    add_run({"pos": "rope", "depth": 10}, loss__validation=2.0)
    add_run({"pos": "rope", "depth": 9}, loss__validation=2.0)
    add_run({"pos": "none", "depth": 9}, loss__validation=None)
    add_run({"pos": "alibi", "depth": 9}, loss__validation=3.0)
    assert keys(table_of(), "depth") == [9, 10, 9, 9]
    assert keys(table_of(sort=["pos", "-depth"]), "depth") == [9, 9, 10, 9]


def test_damaged_runs_are_left_out_and_never_stop_a_report(
    outputs: Path, add_run: Factory, table_of: Callable
) -> None:
    broken = add_run()
    (broken / "record.json").write_text('{"schema": 1, "sta')
    (outputs / "scout" / "empty").mkdir()
    table = table_of(by=["pos"], where=["pos=rope"], sort=["val_loss"])
    assert table.rows == []
    assert len(table.left_out) == 2


def test_a_record_of_only_required_keys_makes_a_row(outputs: Path, table_of: Callable) -> None:
    directory = outputs / "scout" / "bare"
    directory.mkdir(parents=True)
    text = '{"schema": 9, "status": "done", "choices": {"pos": ["odd", 1]}, "config": {"lr": {}}}'
    (directory / "record.json").write_text(text)
    (row,) = table_of().rows
    assert all(row.cells[column.key].mean is None for column in COLUMNS)
    assert row.keys["arm"] == "bare"


def test_differing_keeps_options_after_their_group() -> None:
    rows = [
        {"pos": "rope", "lr": 1, "pos.base": 10, "seed": 0},
        {"pos": "none", "lr": 2, "seed": 1},
        {"pos": "rope", "lr": 1, "pos.base": 20, "seed": 0},
    ]
    assert differing(rows) == ["pos", "pos.base", "lr"]


def test_exact_match_stands_in_a_table_where_a_run_has_it(
    add_run: Factory, table_of: Callable
) -> None:
    add_run({"pos": "rope"})
    assert not any(c.key.startswith("exact") for c in columns_shown(table_of()))
    exact = [1.0, 0.9, 0.5, None, None]
    add_run({"pos": "alibi", "task": "copy"}, extrapolation__exact=exact)
    table = table_of(by=["task"])
    shown = [c.key for c in columns_shown(table)]
    assert [key for key in shown if key.startswith("exact")] == [
        *("exact_L", "exact_2L", "exact_4L", "exact_8L")
    ]
    assert "exact at: share" in "\n".join(legend(table))
    copy, lm = sorted(table.rows, key=lambda row: row.keys["task"])
    assert (copy.cells["exact_2L"].mean, lm.cells["exact_2L"].mean) == (0.5, None)
    assert copy.cells["exact_8L"].undefined
    assert not lm.cells["exact_8L"].undefined
