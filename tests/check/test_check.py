"""Each finding is provoked once, and no shipped choice is called broken."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from ablate.check.cell import Cell
from ablate.check.checks import check_cell, marks, warnings
from ablate.check.first_step import judge_first_loss
from ablate.check.initial import FirstLoss, measure_first_loss
from ablate.check.listed import CHECKS
from ablate.check.passes import undisturbed
from ablate.config.catalogue import Catalogue
from ablate.train.instruments import slope
from ablate.train.schedules import LinearWarmup, Warmup
from tests.check import check_parts as parts
from tests.check.check_parts import DEEP, Cells, broken, look

POSITIONS, NORMS = Catalogue().names("pos"), Catalogue().names("norm")


@pytest.fixture(scope="module")
def cells(words: Path, tmp_path_factory: pytest.TempPathFactory) -> Cells:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ABLATE_CACHE", str(tmp_path_factory.mktemp("check cache")))
        return Cells(words)


@pytest.mark.parametrize("name", POSITIONS)
def test_no_position_scheme_is_called_broken(cells: Cells, name: str) -> None:
    found = check_cell(cells(f"pos={name}"))
    assert not broken(found)
    assert len(found) == len(CHECKS)


@pytest.mark.parametrize("name", NORMS)
def test_no_norm_placement_is_called_broken(cells: Cells, name: str) -> None:
    found = check_cell(cells(f"norm={name}", "depth=4"))
    assert not broken(found)
    assert marks(found)["ok"] >= 11


@pytest.mark.parametrize("name", ["none", "rope", "learned", "alibi"])
def test_encoders_are_checked_as_such(cells: Cells, name: str) -> None:
    found = {f.name: f for f in check_cell(cells(f"pos={name}", "task=mlm"))}
    assert not broken(list(found.values()))
    assert "causality" not in found
    assert "cache" not in found
    assert found["attention"].mark == "ok"
    assert (found["order"].mark == "warning") == (name == "none")
    assert ("blind" in found["order"].text) == (name == "none")


# First loss


def test_first_loss_is_as_its_logits_lead_one_to_expect(cells: Cells) -> None:
    finding = look(cells(*DEEP), "first loss")
    values = finding.values
    assert finding.mark == "ok"
    assert values["excess"] == pytest.approx(values["expected"], abs=3 * values["error"])
    assert values["half_variance"] == pytest.approx(values["expected"], rel=0.15)
    assert values["uniform"] == pytest.approx(math.log(256))


def test_a_tied_head_is_named_and_so_is_a_missing_final_norm(cells: Cells) -> None:
    tied = look(cells(*DEEP, "tied=true"), "first loss")
    assert tied.mark == "warning"
    assert tied.values["excess"] > 5
    assert "tied to embeddings of std 1" in tied.text
    assert "final norm" not in tied.text
    assert "tied=false" in tied.advice
    both = look(cells(*DEEP, "tied=true", "norm.final=false"), "first loss")
    assert both.values["excess"] > tied.values["excess"]
    unnormed = look(cells(*DEEP, "norm=sandwich", "norm.final=false"), "first loss")
    assert unnormed.mark == "warning"
    assert "no final norm" in unnormed.text
    assert "norm.final=true" in unnormed.advice


def test_a_large_head_is_named(cells: Cells) -> None:
    cell = cells(*DEEP, "init=gpt2", "init.std=0.6", "norm=post")
    finding = look(cell, "first loss")
    assert finding.mark == "warning"
    assert "head's weights are large (std 0." in finding.text


def test_a_target_that_is_not_shifted_is_a_leak(cells: Cells) -> None:
    finding = look(cells("tied=true", task=parts.NotShifted), "first loss")
    assert finding.mark == "broken"
    assert "leak" in finding.advice


def test_a_low_loss_within_the_noise_of_a_text_is_no_leak() -> None:
    known: dict[str, Any] = {
        "uniform": 5.5,
        "expected": 0.2,
        "spread": 0.6,
        "own": 0.0,
        "stream": 1.0,
        "tied": False,
        "normed": True,
        "width": 64,
        "tokens": 1024,
    }
    assert judge_first_loss(FirstLoss(loss=5.3, repeats=0.1, **known)).mark == "ok"
    assert judge_first_loss(FirstLoss(loss=5.3, repeats=0.005, **known)).mark == "broken"
    assert judge_first_loss(FirstLoss(loss=math.nan, repeats=0.1, **known)).mark == "broken"
    high = judge_first_loss(FirstLoss(loss=6.2, repeats=0.1, **known))
    assert high.mark == "ok"
    assert "happen to lie" in high.text
    assert judge_first_loss(FirstLoss(loss=6.2, repeats=0.005, **known)).mark == "warning"
    large = judge_first_loss(FirstLoss(loss=6.2, repeats=0.1, **known | {"spread": 1.2}))
    assert "head's weights are large" in large.text
    lifted = judge_first_loss(
        FirstLoss(loss=6.2, repeats=0.1, **known | {"spread": 1.2, "stream": 2})
    )
    assert "the stream reaches the head" in lifted.text
    assert lifted.advice


# Profiles over depth


def test_without_residuals_gradients_vanish_and_tokens_become_one(cells: Cells) -> None:
    gradients, activations, tokens, causality = look(
        cells(*DEEP, "norm=none", "residual=off"),
        *("gradients", "activations", "tokens", "causality"),
    )
    assert gradients.mark == "warning"
    assert "vanish" in gradients.text
    assert "residual=on" in gradients.advice
    assert activations.mark == "ok"
    assert tokens.mark == "warning"
    assert tokens.values["cosine_after"] > 0.999
    assert causality.mark == "warning"
    assert "cannot be told" in causality.text


def test_growth_is_exponential_without_norm_and_not_with_it(cells: Cells) -> None:
    wild = look(cells(*DEEP, "norm=none", "init=xavier"), "activations")
    assert wild.mark == "warning"
    assert "exponential" in wild.text
    for overrides in (
        ("norm=pre", "init=xavier"),
        ("norm=sandwich",),
        ("norm=none", "init=xavier", "residual=depth_scaled"),
        ("norm=none", "residual=rezero"),
    ):
        calm = look(cells(*DEEP, *overrides), "activations")
        assert calm.mark == "ok", overrides
    exploding = look(cells(*DEEP, "norm=none", "init=xavier"), "gradients")
    assert exploding.mark == "warning"
    assert "explode" in exploding.text


def test_numbers_that_overflow_are_broken(cells: Cells) -> None:
    cell = cells(*DEEP, "norm=none", "init=gpt2", "init.std=50.0")
    found = dict(broken(check_cell(cell)))
    assert set(found) >= {"first loss", "gradients", "activations", "causality"}
    for name in ("activations", "causality"):
        assert "numbers overflow" in found[name]


def test_profiles_are_those_of_the_blocks(cells: Cells) -> None:
    depth = cells("depth=5").depth
    assert len(depth.parameters) == len(depth.inputs) == 5
    assert len(depth.stream) == 6
    assert len(depth.changes) == 5
    assert depth.alike[0] < 0.5
    assert all(p.grad is None for p in cells().bench.model.parameters())


def test_a_parameter_that_nothing_uses_is_named(cells: Cells) -> None:
    finding = look(cells(pos=parts.BuildsTooMuch), "gradients")
    assert finding.mark == "warning"
    assert finding.values["unreached"] == ["position.unused"]


# Properties


@pytest.mark.parametrize(
    "scheme", [parts.SeesTheMean, parts.SeesTheNext, parts.UnmasksItself, parts.SeesTheBatch]
)
def test_a_leak_is_caught(cells: Cells, scheme: type) -> None:
    finding = look(cells(pos=scheme), "causality")
    assert finding.mark == "broken"
    assert ("another" in finding.text) == (scheme is parts.SeesTheBatch)


def test_a_leak_behind_a_gate_that_starts_shut_is_caught(cells: Cells) -> None:
    cell = cells("norm=none", "residual=rezero", pos=parts.SeesTheNext)
    assert look(cell, "causality").mark == "broken"


def test_a_leak_of_training_alone_is_caught(cells: Cells) -> None:
    finding = look(cells(pos=parts.LeaksInTraining), "causality")
    assert finding.mark == "broken"
    assert "in training" in finding.text


@pytest.mark.parametrize("name", ["batchnorm", "masked_batchnorm"])
def test_batch_statistics_are_explained(cells: Cells, name: str) -> None:
    cell = cells(f"norm_layer={name}", "dropout=0.1", "residual=stochastic_depth")
    finding = look(cell, "causality")
    assert finding.mark == "warning"
    assert "batch statistics of 5 norms" in finding.text
    assert finding.values["leak"] <= 1e-9 < finding.values["leak_in_training"]


def test_order_must_not_be_told_where_there_is_no_position(cells: Cells) -> None:
    told = look(cells("pos=none", "task=mlm", pos=parts.TellsOrderByItself), "order")
    assert told.mark == "broken"
    blind = look(cells("pos=p_rope", "pos.p=0.0", "task=mlm"), "order")
    assert blind.mark == "warning"
    assert look(cells("pos=none", "depth=1"), "order").mark == "warning"
    assert "mask alone" in look(cells("pos=none"), "order").text


def test_a_relative_scheme_that_is_none_is_caught(cells: Cells) -> None:
    assert look(cells(pos=parts.CallsItselfRelative), "shift").mark == "broken"
    honest = look(cells("pos=sinusoidal"), "shift")
    assert honest.mark == "ok"
    assert honest.text.startswith("absolute")
    # FIRE is relative for queries up to its threshold.
    assert look(cells("pos=fire", "pos.threshold=8.0"), "shift").mark == "warning"


def test_a_cache_without_offsets_is_caught(cells: Cells) -> None:
    finding = look(cells(pos=parts.ForgetsTheOffset), "cache")
    assert finding.mark == "broken"
    assert finding.values["change"] > 1e-3
    refused = look(cells("pos=randomized", "pos.evaluation=drawn"), "cache")
    assert refused.mark == "warning"
    follows = look(cells("pos=rope_dynamic_ntk", "pos.original_length=4"), "cache")
    assert follows.mark == "warning"
    assert "follow the length" in follows.text


def test_limits_of_length_are_stated_and_kept(cells: Cells) -> None:
    assert look(cells(pos=parts.LimitThatIsNone), "length").mark == "broken"
    assert look(cells(pos=parts.SilentLimit), "length").mark == "broken"
    learned = look(cells("pos=learned"), "length")
    assert learned.mark == "warning"
    assert learned.values["limit"] == 16
    assert look(cells("pos=learned", "pos.rows=32"), "length").mark == "ok"


def test_a_check_that_fails_does_not_hide_the_others(cells: Cells) -> None:
    found = {f.name: f for f in check_cell(cells(pos=parts.Crashes))}
    assert len(found) == len(CHECKS)
    assert found["causality"].text == "fails with RuntimeError: broke on purpose"
    assert found["norms"].mark == "ok"


# What was built


def test_norms_are_counted_against_the_file(cells: Cells) -> None:
    assert look(cells("depth=3", "norm.qk=true"), "norms").values["norms"] == 3 * 4 + 1
    doubled = look(cells(norm=parts.OneNormTooMany), "norms")
    assert doubled.mark == "broken"
    assert "9 LayerNorm" in doubled.text
    shared = look(cells(norm=parts.OneNormForAll), "norms")
    assert shared.mark == "warning"


def test_sizes(cells: Cells) -> None:
    cell = cells()
    values = look(cell, "size").values
    assert values["parameters"] == sum(p.numel() for p in cell.bench.model.parameters())
    assert values["flops_per_token"] > 6 * (values["parameters"] - 256 * 16)


class FromZero(Warmup):
    """Wastes its first step."""

    def length(self, steps: int) -> int:
        return 10

    def factor(self, step: int, steps: int) -> float:
        return min(1.0, (step - 1) / 10)


def test_the_first_step_is_not_wasted(cells: Cells) -> None:
    found = look(cells("warmup=linear", "warmup.steps=10", "steps=40"), "schedule")
    assert found.mark == "ok"
    assert found.values["first"] == pytest.approx(1e-4)
    assert found.values["peak"] == pytest.approx(1e-3)
    cell = cells(warmup=FromZero)
    assert look(cell, "schedule").mark == "broken"
    assert isinstance(cells("warmup=linear").bench.schedule.warmup, LinearWarmup)


@pytest.mark.parametrize(
    ("overrides", "mark"),
    [
        (("norm=post",), "warning"),
        (("norm=post", "warmup=linear"), "ok"),
        (("norm=post", "depth=6"), "ok"),
        (("norm=post", "init=gpt2"), "ok"),
        (("norm=deepnorm",), "ok"),
        (("norm=pre",), "ok"),
        (("norm=ngpt",), "ok"),
    ],
)
def test_deep_post_norm_asks_for_warmup(
    cells: Cells, overrides: tuple[str, ...], mark: str
) -> None:
    assert look(cells(*DEEP, "width=64", *overrides), "schedule").mark == mark


# The checks of a run


def state(cell: Cell) -> dict[str, torch.Tensor]:
    return {k: v.clone() for k, v in cell.bench.model.state_dict().items()}


def test_warnings_leave_a_run_as_it_was(cells: Cells) -> None:
    cell = cells(
        *("tied=true", "norm_layer=batchnorm", "dropout=0.2", "pos=randomized"),
        "residual=stochastic_depth",
    )
    model = cell.bench.model
    model.blocks[1].eval()
    before, modes = state(cell), [m.training for m in model.modules()]
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    (text,) = warnings(cell.bench)
    assert torch.equal(torch.rand(3), expected)
    assert "tied" in text
    assert "try: tied=false" in text
    assert all(torch.equal(value, before[key]) for key, value in state(cell).items())
    assert [m.training for m in model.modules()] == modes
    assert all(p.grad is None for p in model.parameters())
    assert warnings(cells().bench) == []


def test_warnings_catch_a_leak_and_survive_a_crash(cells: Cells) -> None:
    (text,) = warnings(cells(pos=parts.SeesTheMean).bench)
    assert text.startswith("causality: a token sees later ones")
    assert len(warnings(cells(pos=parts.Crashes).bench)) == 2


def test_undisturbed_restores_after_an_error(cells: Cells) -> None:
    cell = cells("norm_layer=batchnorm")
    before = state(cell)

    def fail_halfway() -> None:
        with undisturbed(cell.bench.model):
            measure_first_loss(cell.bench, 64)
            assert any(not torch.equal(v, before[k]) for k, v in state(cell).items())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert all(torch.equal(v, before[k]) for k, v in state(cell).items())


def test_slope_has_no_value_where_a_logarithm_has_none() -> None:
    assert math.isnan(slope([1.0]))
    assert math.isnan(slope([1.0, 0.0]))
    assert math.isnan(slope([1.0, math.inf]))
