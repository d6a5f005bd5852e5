"""Trainings done by hand, in float64 and a few lines: optimisers, clipping, schedules, dropout.

Options are other than the defaults and all different, so that no two can stand in for each other.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ablate.config.parts import part
from ablate.data.tasks import IGNORED, Batch
from ablate.model.projection import Projection
from ablate.train.distributed import Alone
from ablate.train.gradient import Passes
from ablate.train.instruments import GradientNorms
from ablate.train.precision import Precision
from ablate.train.schedules import Schedule
from tests.made_up_bench import Heard, bench, choice, config, trainer

OPTIONS: dict[str, dict[str, float]] = {
    "adamw": {"beta1": 0.6, "beta2": 0.8, "eps": 0.05, "weight_decay": 0.3},
    "sgd": {"momentum": 0.7, "weight_decay": 0.3},
    "lion": {"beta1": 0.6, "beta2": 0.8, "weight_decay": 0.3},
    "muon": {
        "momentum": 0.7,
        "weight_decay": 0.3,
        "beta1": 0.6,
        "beta2": 0.8,
        "eps": 0.05,
    },
}
RATES = (0.1, 0.2, 0.05)


class Small(nn.Module):
    """One of each kind of parameter; the head may be the embedding's own matrix."""

    def __init__(self, tied: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(5, 4)
        self.hidden = Projection(4, 6, "up", bias=True)
        self.back = Projection(6, 4, "down", bias=False)
        self.norm = nn.LayerNorm(4)
        self.head = Projection(4, 5, "head", bias=False)
        if tied:
            self.head.weight = self.embedding.weight


def newton_schulz(matrix: Tensor) -> Tensor:
    """Five steps of the quintic iteration of Jordan et al. 2024, in their bfloat16."""
    x = matrix.bfloat16()
    if tall := x.shape[0] > x.shape[1]:
        x = x.T
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return (x.T if tall else x).double()


def adamw(w: Tensor, gradients: list[Tensor], decay: float, o: dict[str, float]) -> Tensor:
    mean, square = torch.zeros_like(w), torch.zeros_like(w)
    for step, (g, lr) in enumerate(zip(gradients, RATES, strict=True), 1):
        mean = o["beta1"] * mean + (1 - o["beta1"]) * g
        square = o["beta2"] * square + (1 - o["beta2"]) * g * g
        unbiased = mean / (1 - o["beta1"] ** step), square / (1 - o["beta2"] ** step)
        w = w - lr * decay * w - lr * unbiased[0] / (unbiased[1].sqrt() + o["eps"])
    return w


def sgd(w: Tensor, gradients: list[Tensor], decay: float, o: dict[str, float]) -> Tensor:
    velocity = torch.zeros_like(w)
    for g, lr in zip(gradients, RATES, strict=True):
        velocity = o["momentum"] * velocity + g + decay * w
        w = w - lr * velocity
    return w


def lion(w: Tensor, gradients: list[Tensor], decay: float, o: dict[str, float]) -> Tensor:
    mean = torch.zeros_like(w)
    for g, lr in zip(gradients, RATES, strict=True):
        w = w - lr * ((o["beta1"] * mean + (1 - o["beta1"]) * g).sign() + decay * w)
        mean = o["beta2"] * mean + (1 - o["beta2"]) * g
    return w


def muon(w: Tensor, gradients: list[Tensor], decay: float, o: dict[str, float]) -> Tensor:
    mean = torch.zeros_like(w)
    for g, lr in zip(gradients, RATES, strict=True):
        mean = o["momentum"] * mean + (1 - o["momentum"]) * g
        ahead = o["momentum"] * mean + (1 - o["momentum"]) * g
        w = w - lr * decay * w - lr * 0.2 * math.sqrt(max(w.shape)) * newton_schulz(ahead)
    return w


RULES = {"adamw": adamw, "sgd": sgd, "lion": lion, "muon": adamw}


def test_every_optimizer_is_done_by_hand() -> None:
    from tests.made_up_bench import CATALOGUE

    assert set(OPTIONS) == set(RULES) == set(CATALOGUE.names("optim"))


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", OPTIONS)
def test_three_steps_of_each_optimizer_by_hand(name: str, tied: bool) -> None:
    model = Small(tied)
    assert set(OPTIONS[name]) == set(choice("optim", name)) - {"_target_"}
    optimizer = part({"optim": choice("optim", name) | OPTIONS[name]}, "optim")().build(model)
    start = {key: p.detach().double() for key, p in model.named_parameters()}
    gradients: dict[str, list[Tensor]] = {key: [] for key in start}
    for step, lr in enumerate(RATES):
        for number, (key, parameter) in enumerate(model.named_parameters()):
            noise = torch.Generator().manual_seed(100 * step + number)
            parameter.grad = torch.randn(parameter.shape, generator=noise)
            gradients[key].append(parameter.grad.double())
        for group in optimizer.param_groups:
            group["lr"] = lr
        optimizer.step()
    decayed = {"hidden.weight", "back.weight"} | (set() if tied else {"head.weight"})
    for key, parameter in model.named_parameters():
        orthogonal = name == "muon" and key in ("hidden.weight", "back.weight")
        rule = muon if orthogonal else RULES[name]
        decay = OPTIONS[name]["weight_decay"] if key in decayed else 0.0
        expected = rule(start[key], gradients[key], decay, OPTIONS[name])
        tolerance = 1e-2 if orthogonal else 2e-5
        torch.testing.assert_close(
            parameter.double(), expected, rtol=tolerance, atol=tolerance, msg=key
        )


SCHEDULES: dict[str, tuple[dict[str, Any], dict[str, Any], list[float]]] = {
    "constant": ({"name": "none"}, {"name": "constant"}, [1.0] * 6),
    "warmup": (
        {"name": "linear", "steps": 4, "fraction": 0.9},
        {"name": "constant"},
        [0.25, 0.5, 0.75, 1.0, 1.0, 1.0],
    ),
    "by fraction": (
        {"name": "linear", "steps": None, "fraction": 0.34},
        {"name": "linear", "floor": 0.2},
        [0.5, 1.0, 0.8, 0.6, 0.4, 0.2],
    ),
    "cosine": (
        {"name": "linear", "steps": 2},
        {"name": "cosine", "floor": 0.2},
        [0.5, 1.0, *(0.2 + 0.4 * (1 + math.cos(math.pi * u / 4)) for u in (1, 2, 3, 4))],
    ),
    "no warmup": (
        {"name": "none"},
        {"name": "linear", "floor": 0.0},
        [5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6, 0.0],
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_training_has_the_rates_of_its_schedule_at_every_step(name: str, tmp_path: Path) -> None:
    warmup, decay, factors = SCHEDULES[name]
    changes: dict[str, Any] = {"lr": 0.3, "log.every": 1}
    changes |= {f"warmup.{k}": v for k, v in warmup.items() if k != "name"}
    changes |= {f"decay.{k}": v for k, v in decay.items() if k != "name"}
    made = config(changes, warmup=warmup["name"], decay=decay["name"])
    objects, heard = bench(made), Heard()
    used: list[float] = []
    step = objects.optimizer.step

    def noted() -> None:
        used.append(objects.optimizer.param_groups[1]["lr"])
        step()

    objects.optimizer.step = noted  # type: ignore[method-assign, assignment]
    trainer(objects, made, tmp_path, heard).train()
    expected = [0.3 * factor for factor in factors]
    assert used == pytest.approx(expected, abs=1e-12)
    assert [line["lr"] for line in heard.lines] == pytest.approx(expected, abs=1e-12)


class Tosses(nn.Module):
    """Stands in for a model: notes what torch's generator gives in each forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(7))
        self.seen: list[tuple[float, ...]] = []
        self.rows: list[list[list[int]]] = []

    def forward(self, tokens: Tensor) -> Tensor:
        self.seen.append(tuple(torch.rand(3).tolist()))
        self.rows.append(tokens.tolist())
        return self.weight.expand(*tokens.shape, 7)


def tosses(seed: int, step: int, accumulate: int) -> tuple[list[tuple[float, ...]], Tosses]:
    model = Tosses()
    settings: Any = {"accumulate": accumulate, "seed": seed, "compiled": False}
    passes = Passes.of(model, Alone(), Precision("float32", torch.device("cpu")), **settings)
    tokens = np.arange(24).reshape(6, 4) % 7
    norms = GradientNorms([model])
    norms.active = False
    passes.gradient(step, Batch(tokens, tokens), norms, [])
    assert [row for rows in model.rows for row in rows] == tokens.tolist()
    return model.seen, model


def test_every_step_part_and_seed_has_dropout_of_its_own_that_comes_again() -> None:
    places = [(seed, step) for seed in (0, 1, 2) for step in (1, 2, 11, 12)]
    drawn = [toss for seed, step in places for toss in tosses(seed, step, 3)[0]]
    assert len(set(drawn)) == len(drawn) == 36
    assert tosses(1, 2, 3)[0] == drawn[3 * 5 : 3 * 6]


def keep(inputs: list[Tensor]) -> Callable[..., None]:
    """A hook that keeps what comes into a block, with its gradient."""

    def hook(block: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        arguments[0].retain_grad()
        inputs.append(arguments[0])

    return hook


def by_hand(made: dict[str, Any], losses_of: Callable[[Any, Batch], Tensor]) -> dict[str, Any]:
    """A training in plain torch: AdamW as in `adamw`, clipping, the lines at logged steps."""
    objects = bench(made)
    model, task = objects.model.double(), objects.task
    weights = dict(model.named_parameters())
    matrices = {f"{n}.weight" for n, m in model.named_modules() if isinstance(m, nn.Linear)}
    means = {key: torch.zeros_like(w) for key, w in weights.items()}
    squares = {key: torch.zeros_like(w) for key, w in weights.items()}
    o = made["optim"]
    told: dict[str, Any] = {"losses": [], "norms": [], "validation": [], "blocks": [], "inputs": []}
    for step in range(1, made["steps"] + 1):
        model.train()
        model.zero_grad()
        inputs: list[Tensor] = []
        hooks = [block.register_forward_pre_hook(keep(inputs)) for block in model.blocks]
        loss = losses_of(model, task.batch(step))
        loss.backward()
        for hook in hooks:
            hook.remove()
        told["losses"].append(loss.item())
        norm = math.sqrt(sum(w.grad.square().sum().item() for w in weights.values()))
        told["norms"].append(norm)
        told["inputs"].append([x.grad.norm().item() for x in inputs])
        told["blocks"].append(
            [
                math.sqrt(sum(w.grad.square().sum().item() for w in block.parameters()))
                for block in model.blocks
            ]
        )
        share = min(1.0, made["clip"] / norm)
        lr = made["lr"] * Schedule(1.0, made["steps"], *schedule_of(made)).rate(step)
        with torch.no_grad():
            for key, w in weights.items():
                g = w.grad * share
                means[key] = o["beta1"] * means[key] + (1 - o["beta1"]) * g
                squares[key] = o["beta2"] * squares[key] + (1 - o["beta2"]) * g * g
                mean = means[key] / (1 - o["beta1"] ** step)
                root = (squares[key] / (1 - o["beta2"] ** step)).sqrt()
                w *= 1 - lr * (o["weight_decay"] if key in matrices else 0.0)
                w -= lr * mean / (root + o["eps"])
        if step % made["evaluate"]["every"] == 0 or step == made["steps"]:
            model.eval()
            batches = list(task.validation(made["evaluate"]["batches"]))
            counts = [int((b.targets != IGNORED).sum()) for b in batches]
            with torch.no_grad():
                sums = [
                    losses_of(model, b).item() * n for b, n in zip(batches, counts, strict=True)
                ]
            told["validation"].append(sum(sums) / sum(counts))
    return told | {"weights": weights}


def schedule_of(made: dict[str, Any]) -> tuple[Any, Any]:
    return part(made, "warmup")(), part(made, "decay")()


def mean_loss(model: Any, batch: Batch) -> Tensor:
    """Σ −ln p over the targets of a batch by their number."""
    padding = None if batch.padding is None else torch.from_numpy(batch.padding)
    logits = model(torch.from_numpy(batch.inputs), padding=padding)
    targets = torch.from_numpy(batch.targets)
    costs = -logits.log_softmax(-1).gather(-1, targets.clamp(min=0)[..., None])[..., 0]
    return costs[targets != IGNORED].mean()


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("task", ["lm", "mlm", "sort"])
def test_a_training_by_hand_has_the_same_numbers(
    task: str, accumulate: int, tmp_path: Path
) -> None:
    sizes = {"steps": 12, "clip": 1.0, "evaluate.every": 5, "seq_len": 12, "lr": 0.03}
    changes = sizes | {"optim.eps": 0.01, "accumulate": accumulate, "log.every": 5}
    if task == "mlm":
        changes |= {"task": choice("task", "mlm") | {"padding": 0.6, "share": 0.4}}
    made = config(changes, task=task, warmup="linear", decay="cosine")
    expected = by_hand(made, mean_loss)
    objects, heard = bench(made), Heard()
    trained = trainer(objects, made, tmp_path, heard)
    assert trained.train()
    progress, lines = trained.progress, {line["step"]: line for line in heard.lines}
    assert heard.losses == progress.losses == pytest.approx(expected["losses"], rel=1e-4)
    assert sorted(lines) == [1, 5, 10, 12]
    for step, line in lines.items():
        assert line["grad_norm"] == pytest.approx(expected["norms"][step - 1], rel=1e-3)
        assert line["clipped"] == (expected["norms"][step - 1] > 1.0)
        assert line["tokens"] == step * 4 * 12
        for kind, told in (("parameters", "blocks"), ("inputs", "inputs")):
            assert line["gradients"][kind] == pytest.approx(expected[told][step - 1], rel=1e-3)
    assert progress.clipped == sum(norm > 1.0 for norm in expected["norms"])
    assert 0 < progress.clipped < 12 or task == "sort"
    validation = [lines[step]["validation"] for step in (5, 10, 12)]
    assert validation == pytest.approx(expected["validation"], rel=1e-4)
    assert progress.validation == validation[-1]
    assert progress.best == min(validation)
    assert progress.profiles == 4
    for kind, told in (("parameters", "blocks"), ("inputs", "inputs")):
        logged = [expected[told][step - 1] for step in (1, 5, 10, 12)]
        assert getattr(progress, f"{kind}_first") == pytest.approx(logged[0], rel=1e-3)
        assert getattr(progress, f"{kind}_last") == pytest.approx(logged[-1], rel=1e-3)
        sums = [sum(column) for column in zip(*logged, strict=True)]
        assert getattr(progress, f"{kind}_sum") == pytest.approx(sums, rel=1e-3)
    for key, weight in objects.model.named_parameters():
        torch.testing.assert_close(
            weight.double(), expected["weights"][key].detach(), rtol=2e-3, atol=2e-4
        )


def test_the_clock_of_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    made = config({"checkpoint.every": 1, "steps": 4})
    first = trainer(bench(made), made, tmp_path)
    first.progress.seconds = 1000.0
    first.train()
    assert 1000 < first.progress.seconds < 1100
    assert 0 < first.progress.busy < 100
