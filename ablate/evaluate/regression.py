"""How well vectors predict a number: ridge regression and a small network, tested on other data."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

STRENGTHS = [10.0**power for power in range(-6, 4)]
"""Ridge strengths tried, for features of variance 1."""
HIDDEN, STEPS, EVERY, RATE = 64, 200, 10, 1e-2


@dataclass(frozen=True)
class Samples:
    """Features x [samples, width] and the numbers to predict from them, y [samples]; float64."""

    x: Tensor
    y: Tensor


@dataclass(frozen=True)
class Splits:
    """Samples to fit on, to choose a setting by, and to test the result on."""

    fit: Samples
    choose: Samples
    test: Samples


@dataclass(frozen=True)
class Fit:
    """R² = 1 − Σ(y − ŷ)² / Σ(y − mean y)² and mean |y − ŷ|, on the test samples."""

    r2: float
    mae: float


def score(y: Tensor, prediction: Tensor) -> Fit:
    """How good predictions of y [samples] are; R² is 0 for the mean of y, negative for worse.

    >>> score(torch.tensor([1.0, 3.0]), torch.tensor([2.0, 2.0]))
    Fit(r2=0.0, mae=1.0)
    """
    missed = (y - prediction).square().sum() / (y - y.mean()).square().sum()
    return Fit(1 - missed.item(), (y - prediction).abs().mean().item())


def ridge(splits: Splits) -> Fit:
    """min_w Σ(y − w·x − b)² / n + λ|w|² in closed form, with the λ that is best on `choose`."""
    return score_best(splits, ridge_predictions(standardised(splits)))


def ridge_predictions(splits: Splits) -> Iterator[tuple[Tensor, Tensor]]:
    """For each strength, the predictions for `choose` and for `test`, [samples] each."""
    x, y = splits.fit.x, splits.fit.y
    values, vectors = torch.linalg.eigh(x.T @ x / len(x))
    along = vectors.T @ (x.T @ (y - y.mean()) / len(x))
    for strength in STRENGTHS:
        weights = vectors @ (along / (values.clamp(min=0) + strength))
        yield splits.choose.x @ weights + y.mean(), splits.test.x @ weights + y.mean()


def network(splits: Splits) -> Fit:
    """One hidden layer of 64 units, up to 200 steps of Adam on all of `fit`; best step on `choose`.

    The weights are drawn from a fixed seed.
    """
    return score_best(splits, network_predictions(standardised(splits)))


def network_predictions(splits: Splits) -> Iterator[tuple[Tensor, Tensor]]:
    """At every tenth step, the predictions for `choose` and for `test`, [samples] each."""
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
                outputs = [model(part.x.float())[:, 0] for part in (splits.choose, splits.test)]
            to_choose, to_test = ((y * spread + middle).double() for y in outputs)
            yield to_choose, to_test


def score_best(splits: Splits, predictions: Iterable[tuple[Tensor, Tensor]]) -> Fit:
    """Score on `test` the pair of predictions that has the least error on `choose`."""

    def error(pair: tuple[Tensor, Tensor]) -> float:
        return (splits.choose.y - pair[0]).square().sum().item()

    _, to_test = min(predictions, key=error)
    return score(splits.test.y, to_test)


def standardised(splits: Splits) -> Splits:
    """Each feature with mean 0 and variance 1 over `fit`; one that never changes becomes 0."""
    mean, std = splits.fit.x.mean(0), splits.fit.x.std(0)
    factor = torch.where(std > 0, 1 / std.clamp(min=torch.finfo(std.dtype).tiny), 0.0)

    def scale(samples: Samples) -> Samples:
        return Samples((samples.x - mean) * factor, samples.y)

    return Splits(scale(splits.fit), scale(splits.choose), scale(splits.test))
