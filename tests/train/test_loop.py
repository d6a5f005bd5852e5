"""The loop against a few lines of plain torch, and its memory across a stop."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from ablate.data.tasks import Batch
from ablate.errors import UserError
from ablate.train.distributed import Alone
from ablate.train.listeners import Listener
from ablate.train.loop import Settings, Stopped, Trainer
from ablate.train.schedules import ConstantDecay, LinearWarmup, Schedule

VOCABULARY = 7


class Counting:
    """A task with batches that follow from the step."""

    causal, vocabulary, uniform = True, VOCABULARY, float(np.log(VOCABULARY))

    def batch(self, step: int) -> Batch:
        tokens = np.random.default_rng(step).integers(0, VOCABULARY, (4, 6))
        return Batch(tokens[:, :-1], tokens[:, 1:])

    def validation(self, batches: int) -> list[Batch]:
        return [self.batch(1000 + i) for i in range(batches)]


class Heard(Listener):
    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.losses: list[float] = []

    def step(self, step: int, loss: float) -> None:
        self.losses.append(loss)

    def log(self, line: dict) -> None:
        self.lines.append(line)


def make(directory: Path, *, stop: Callable[[], bool] = lambda: False, **more: Any) -> tuple:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Embedding(VOCABULARY, 8), nn.Linear(8, 8), nn.Dropout(0.2), nn.Linear(8, VOCABULARY)
    )
    settings = Settings(
        **{
            "steps": 10,
            "seed": 3,
            "clip": None,
            "log_every": 4,
            "checkpoint_every": 3,
            "evaluate_every": 5,
            "validation_batches": 2,
            "accumulate": 1,
            "precision": "float32",
            "compiled": False,
            **more,
        }
    )
    warmup = LinearWarmup(steps=min(4, settings.steps))
    schedule = Schedule(0.1, settings.steps, warmup, ConstantDecay())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    heard = Heard()
    trainer = Trainer(
        model,
        [model[1], model[3]],
        optimizer,
        schedule,
        Counting(),  # type: ignore[arg-type]
        settings,
        directory,
        [heard],
        stop,
        [],
        Alone(),
    )
    return trainer, heard


def test_one_step_is_plain_gradient_descent(tmp_path: Path) -> None:
    trainer, heard = make(tmp_path, steps=1)
    trainer.model[2].p = 0.0
    expected = [p.detach().clone().requires_grad_() for p in trainer.model.parameters()]
    batch = Counting().batch(1)
    e, w1, b1, w2, b2 = expected
    hidden = e[torch.from_numpy(batch.inputs)] @ w1.T + b1
    logits = hidden @ w2.T + b2
    loss = nn.functional.cross_entropy(
        logits.flatten(0, 1), torch.from_numpy(batch.targets).flatten()
    )
    loss.backward()
    trainer.schedule = Schedule(0.1, 1, LinearWarmup(steps=0), ConstantDecay())
    assert trainer.train()
    assert heard.losses == pytest.approx([loss.item()])
    for now, before in zip(trainer.model.parameters(), expected, strict=True):
        torch.testing.assert_close(now, before - 0.1 * before.grad)
    line = heard.lines[0]
    whole = torch.cat([p.grad.flatten() for p in expected]).norm().item()
    assert line["grad_norm"] == pytest.approx(whole)
    by_hand = [torch.cat([w.grad.flatten(), b.grad]).norm().item() for w, b in ((w1, b1), (w2, b2))]
    assert line["gradients"]["parameters"] == pytest.approx(by_hand)


def test_lines_come_at_the_first_every_nth_and_the_last_step(tmp_path: Path) -> None:
    trainer, heard = make(tmp_path)
    trainer.train()
    assert [line["step"] for line in heard.lines] == [1, 4, 5, 8, 10]
    assert [line["lr"] for line in heard.lines] == pytest.approx([0.025, 0.1, 0.1, 0.1, 0.1])
    assert [line["tokens"] for line in heard.lines] == [20, 80, 100, 160, 200]
    assert [line["step"] for line in heard.lines if "validation" in line] == [5, 10]
    assert "gradients" not in heard.lines[2]
    assert trainer.progress.best == min(line.get("validation", 9.0) for line in heard.lines)


def test_hooks_are_on_the_model_at_the_steps_that_are_looked_at_alone(tmp_path: Path) -> None:
    hooked: list[int] = []
    trainer, heard = make(tmp_path)

    def look(module: nn.Module, inputs: object) -> None:
        if module.training and trainer.model[1]._forward_pre_hooks:
            hooked.append(trainer.progress.step + 1)

    trainer.model.register_forward_pre_hook(look)
    trainer.train()
    assert hooked == [line["step"] for line in heard.lines if "gradients" in line] == [1, 4, 8, 10]


def test_clipping_scales_the_update_and_not_the_recorded_norm(tmp_path: Path) -> None:
    free, heard_free = make(tmp_path / "a", steps=1, checkpoint_every=99)
    (tmp_path / "a").mkdir()
    free.train()
    norm = heard_free.lines[0]["grad_norm"]
    start = [p.detach().clone() for p in make(tmp_path)[0].model.parameters()]
    clipped, heard = make(tmp_path, steps=1, clip=norm / 10)
    clipped.train()
    assert heard.lines[0]["grad_norm"] == norm
    assert heard.lines[0]["clipped"]
    assert clipped.progress.clipped == 1
    pairs = zip(start, free.model.parameters(), clipped.model.parameters(), strict=True)
    for before, whole, tenth in pairs:
        torch.testing.assert_close(tenth - before, (whole - before) / 10, atol=1e-6, rtol=1e-3)


def test_a_stopped_run_goes_on_to_exactly_the_same_end(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    whole, heard_whole = make(tmp_path / "whole")
    whole.train()
    losses: list[float] = []
    for checks in (2, 3, 99):
        left = iter([False] * checks)
        trainer, heard = make(tmp_path / "parts", stop=lambda left=left: next(left, True))
        assert trainer.restore() == len(losses)
        if checks == 99:
            trainer.train()
        else:
            with pytest.raises(Stopped):
                trainer.train()
        losses += heard.losses
    assert losses == heard_whole.losses
    assert trainer.progress.losses == whole.progress.losses
    assert trainer.progress.parameters_sum == whole.progress.parameters_sum
    for a, b in zip(trainer.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_killed_run_goes_on_from_the_last_checkpoint(tmp_path: Path) -> None:
    whole, heard_whole = make(tmp_path)
    whole.train()
    (tmp_path / "checkpoint.pt").unlink()

    class Killed(Listener):
        def step(self, step: int, loss: float) -> None:
            if step == 8:
                raise SystemExit

    trainer, _ = make(tmp_path)
    trainer.listeners = [Killed()]
    with pytest.raises(SystemExit):
        trainer.train()
    again, heard = make(tmp_path)
    assert again.restore() == 6
    again.train()
    assert heard.losses == heard_whole.losses[6:]


def test_a_non_finite_loss_ends_training_and_keeps_the_weights(tmp_path: Path) -> None:
    trainer, heard = make(tmp_path)
    trainer.schedule = Schedule(1e30, 10, LinearWarmup(steps=0), ConstantDecay())
    assert trainer.train() is False
    assert trainer.progress.step < 10
    assert len(heard.losses) == trainer.progress.step
    assert heard.lines[-1]["step"] == trainer.progress.step
    assert all(p.isfinite().all() for p in trainer.model.parameters())


def test_a_run_that_became_non_finite_stays_so_after_a_restart(tmp_path: Path) -> None:
    trainer, _ = make(tmp_path)
    with torch.no_grad():
        trainer.model[1].weight.fill_(float("nan"))
    assert not trainer.train()
    again, heard = make(tmp_path)
    assert again.restore() == 1
    assert not again.train()
    assert heard.losses == []


@pytest.mark.parametrize("state", [torch.zeros(3), {}, {"model": {"x": torch.zeros(1)}}])
def test_a_checkpoint_of_another_model_is_told_with_what_to_do(tmp_path: Path, state: Any) -> None:
    torch.save(state, tmp_path / "checkpoint.pt")
    trainer, _ = make(tmp_path)
    with pytest.raises(UserError, match=r"checkpoint\.pt is not of this model.*rerun=true"):
        trainer.restore()
