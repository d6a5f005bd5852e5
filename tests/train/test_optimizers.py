"""What every optimiser of configs/optim keeps to, and the two that torch does not bring whole.

The files are found by globbing, so a new one is taken in by itself.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from torch import nn

from ablate.config.parts import part
from ablate.data.tasks import Batch
from ablate.errors import UserError
from ablate.model.init import initialise
from ablate.model.normalizers import LayerNorm
from ablate.model.placement.rows import Pre
from ablate.model.position.additive import Learned
from ablate.model.recipes import TorchInit
from ablate.model.residual import ResidualRule
from ablate.model.shape import Shape
from ablate.model.transformer import Parts, Transformer
from ablate.train.distributed import Alone
from ablate.train.listeners import Listener
from ablate.train.loop import Settings, Stopped, Trainer
from ablate.train.optimizers import hidden_matrices
from ablate.train.schedules import ConstantDecay, LinearWarmup, Schedule

FILES = sorted((Path(__file__).parents[2] / "configs" / "optim").glob("*.yaml"))
CONTENT = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FILES}
SHAPE = Shape(width=8, depth=2, heads=2, seq_len=6, vocabulary=7)

each_optimizer = pytest.mark.parametrize("name", sorted(CONTENT))


class Counting:
    """A task whose next token is one more than the last."""

    causal, vocabulary = True, SHAPE.vocabulary

    def batch(self, step: int) -> Batch:
        start = np.random.default_rng(step).integers(0, 7, (4, 1))
        tokens = (start + np.arange(7)) % 7
        return Batch(tokens[:, :-1], tokens[:, 1:])

    def validation(self, batches: int) -> list[Batch]:
        return [self.batch(1000 + i) for i in range(batches)]


class Losses(Listener):
    def __init__(self) -> None:
        self.losses: list[float] = []

    def step(self, step: int, loss: float) -> None:
        self.losses.append(loss)


def model(*, tied: bool = False) -> Transformer:
    built = Transformer(SHAPE, Parts(Learned(SHAPE), Pre(LayerNorm), ResidualRule), tied=tied)
    initialise(built, TorchInit(), 0)
    return built


def optimizer(name: str, built: nn.Module, **options: Any) -> torch.optim.Optimizer:
    return part({"optim": CONTENT[name] | options}, "optim")().build(built)


def trainer(name: str, directory: Path, stop: Callable[[], bool] = lambda: False) -> Trainer:
    built = model()
    settings = Settings(
        steps=12,
        seed=0,
        clip=None,
        log_every=6,
        checkpoint_every=100,
        evaluate_every=100,
        validation_batches=4,
        accumulate=1,
        precision="float32",
        compiled=False,
    )
    schedule = Schedule(0.01, 12, LinearWarmup(steps=8), ConstantDecay())
    return Trainer(
        built,
        list(built.blocks),
        optimizer(name, built),
        schedule,
        Counting(),  # type: ignore[arg-type]
        settings,
        directory,
        [Losses()],
        stop,
        [],
        Alone(),
    )


@each_optimizer
def test_a_stopped_run_learns_on_bit_for_bit_and_every_group_hears_the_rate(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    whole = trainer(name, tmp_path / "whole")
    before = whole.validate()
    assert whole.train()
    left = iter([False] * 5)
    first = trainer(name, tmp_path / "parts", lambda: next(left, True))
    with pytest.raises(Stopped):
        first.train()
    rest = trainer(name, tmp_path / "parts")
    assert rest.restore() == 5
    assert rest.train()
    assert rest.progress.losses == whole.progress.losses
    assert all(
        torch.equal(a, b)
        for a, b in zip(rest.model.parameters(), whole.model.parameters(), strict=True)
    )
    assert whole.validate() < before
    for done in (whole, rest):
        assert {group["lr"] for group in done.optimizer.param_groups} == {0.01}


@each_optimizer
@pytest.mark.parametrize("tied", [False, True])
def test_decay_takes_from_matrices_and_spares_norms_biases_and_embeddings(
    name: str, tied: bool
) -> None:
    built = model(tied=tied)
    stepper = optimizer(name, built, weight_decay=0.5)
    for group in stepper.param_groups:
        group["lr"] = 0.1
    matrices = {
        id(m.weight)
        for key, m in built.named_modules()
        if isinstance(m, nn.Linear) and not (tied and key == "head")
    }
    before = [p.detach().clone() for p in built.parameters()]
    for p in built.parameters():
        p.grad = torch.zeros_like(p)
    stepper.step()
    for old, p in zip(before, built.parameters(), strict=True):
        torch.testing.assert_close(p.detach(), old * (0.95 if id(p) in matrices else 1.0))
    held = [id(p) for group in stepper.param_groups for p in group["params"]]
    assert sorted(held) == sorted(id(p) for p in built.parameters()), "each parameter once"


def test_muon_takes_the_matrices_inside_and_makes_their_step_orthogonal() -> None:
    built = model()
    names = {id(p): key for key, p in built.named_parameters()}
    muon_names = [names[id(p)] for p in hidden_matrices(built)]
    assert len(muon_names) == 2 * 6
    assert all(key.startswith("blocks.") and key.endswith(".weight") for key in muon_names)
    stepper = optimizer("muon", built, weight_decay=0.0)
    for group in stepper.param_groups:
        group["lr"] = 0.1
    weight = built.get_parameter(muon_names[0])
    before = weight.detach().clone()
    for p in built.parameters():
        p.grad = torch.randn(p.shape, generator=torch.Generator().manual_seed(0))
    stepper.step()
    singular = torch.linalg.svdvals((before - weight.detach()) / (0.1 * 0.2 * 8**0.5))
    assert 0.5 < singular.min() <= singular.max() < 1.4, "all near 1, as Newton and Schulz get them"


def test_lion_by_hand() -> None:
    built = nn.Linear(1, 2, bias=False)
    stepper = optimizer("lion", built, beta1=0.5, beta2=0.75, weight_decay=0.1)
    stepper.param_groups[0]["lr"] = stepper.param_groups[1]["lr"] = 0.5
    with torch.no_grad():
        built.weight.copy_(torch.tensor([[1.0], [-2.0]]))
    for gradient in ([[4.0], [-4.0]], [[-0.5], [-4.0]]):
        built.weight.grad = torch.tensor(gradient)
        stepper.step()
    # Decay takes 5 % each time. The mean is (1, -1) after the first step; the second looks at
    # (0.5 - 0.25, -0.5 - 2), whose signs are those of the first.
    expected = [(1 * 0.95 - 0.5) * 0.95 - 0.5, (-2 * 0.95 + 0.5) * 0.95 + 0.5]
    assert built.weight.flatten().tolist() == pytest.approx(expected)
    mean = stepper.state[built.weight]["mean"].flatten().tolist()
    assert mean == pytest.approx([0.75 * 1 - 0.25 * 0.5, 0.75 * -1 - 0.25 * 4])


@pytest.mark.parametrize("name", ["muon", "lion"])
def test_a_closure_is_asked_for_the_loss_once(name: str) -> None:
    built = model()
    calls: list[int] = []

    def closure() -> float:
        calls.append(1)
        return 2.5

    assert optimizer(name, built).step(closure) == 2.5
    assert len(calls) == 1


@each_optimizer
def test_options_out_of_range_are_told_when_the_recipe_is_made(name: str) -> None:
    with pytest.raises(UserError, match=r"optim: weight_decay=-1: must be 0 or more"):
        optimizer(name, model(), weight_decay=-1.0)
    share = "momentum" if "momentum" in CONTENT[name] else "beta2"
    with pytest.raises(UserError, match=rf"optim: {share}=1: must be 0 or more and below 1"):
        optimizer(name, model(), **{share: 1.0})
