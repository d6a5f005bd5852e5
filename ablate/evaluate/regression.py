"""What can be told from vectors: ridge regression and a small network, judged on other data."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

STRENGTHS = [10.0**power for power in range(-6, 4)]
"""Ridge strengths tried, for features of variance 1."""
HIDDEN, STEPS, EVERY, RATE = 64, 200, 10, 1e-2


@dataclass(frozen=True)
class Samples:
    """Features x [samples, width] and what is to be told from them, y [samples]; float64."""

    x: Tensor
    y: Tensor


@dataclass(frozen=True)
class Splits:
    """Samples to fit on, to choose a setting on, and to be judged on."""

    fit: Samples
    choose: Samples
    judge: Samples


@dataclass(frozen=True)
class Fit:
    """R² = 1 − Σ(y − ŷ)² / Σ(y − mean y)² and mean |y − ŷ|, on what nothing was chosen by."""

    r2: float
    mae: float


def judge(y: Tensor, guess: Tensor) -> Fit:
    """How good a guess is; R² is 0 for the mean and negative for worse.

    >>> judge(torch.tensor([1.0, 3.0]), torch.tensor([2.0, 2.0]))
    Fit(r2=0.0, mae=1.0)
    """
    missed = (y - guess).square().sum() / (y - y.mean()).square().sum()
    return Fit(1 - missed.item(), (y - guess).abs().mean().item())


def ridge(splits: Splits) -> Fit:
    """min_w Σ(y − w·x − b)² / n + λ|w|² in closed form, λ by the error on `choose`."""
    return best(splits, ridge_guesses(standardised(splits)))


def ridge_guesses(splits: Splits) -> Iterator[tuple[Tensor, Tensor]]:
    """For each strength, the guesses on `choose` and `judge`."""
    x, y = splits.fit.x, splits.fit.y
    values, vectors = torch.linalg.eigh(x.T @ x / len(x))
    along = vectors.T @ (x.T @ (y - y.mean()) / len(x))
    for strength in STRENGTHS:
        weights = vectors @ (along / (values.clamp(min=0) + strength))
        yield splits.choose.x @ weights + y.mean(), splits.judge.x @ weights + y.mean()


def network(splits: Splits) -> Fit:
    """One hidden layer of 64 units, 200 steps of Adam on all of `fit`; `choose` says when to stop.

    Its numbers are drawn from a seed of their own.
    """
    return best(splits, network_guesses(standardised(splits)))


def network_guesses(splits: Splits) -> Iterator[tuple[Tensor, Tensor]]:
    """At every tenth step, the guesses on `choose` and `judge`."""
    x, y = splits.fit.x.float(), splits.fit.y.float()
    middle, spread = y.mean(), y.std()
    model = nn.Sequential(nn.Linear(x.shape[1], HIDDEN), nn.GELU(), nn.Linear(HIDDEN, 1))
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(noise * parameter.shape[-1] ** -0.5 * (parameter.dim() > 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        ((model(x)[:, 0] - (y - middle) / spread).square().mean()).backward()
        optimizer.step()
        if step % EVERY == 0:
            with torch.no_grad():
                guesses = [model(part.x.float()) for part in (splits.choose, splits.judge)]
            one, two = ((guess[:, 0] * spread + middle).double() for guess in guesses)
            yield one, two


def best(splits: Splits, guesses: Iterable[tuple[Tensor, Tensor]]) -> Fit:
    """How good, on `judge`, those guesses are that are best on `choose`."""
    _, chosen = min(guesses, key=lambda pair: (splits.choose.y - pair[0]).square().sum().item())
    return judge(splits.judge.y, chosen)


def standardised(splits: Splits) -> Splits:
    """Each feature with mean 0 and variance 1 over `fit`; one that never changes becomes 0."""
    mean, std = splits.fit.x.mean(0), splits.fit.x.std(0)
    factor = torch.where(std > 0, 1 / std.clamp(min=torch.finfo(std.dtype).tiny), 0.0)

    def scale(samples: Samples) -> Samples:
        return Samples((samples.x - mean) * factor, samples.y)

    return Splits(scale(splits.fit), scale(splits.choose), scale(splits.judge))
