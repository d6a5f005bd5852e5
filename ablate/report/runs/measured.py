"""What a record holds of its trained model besides its columns: probes and later evaluations."""

from dataclasses import dataclass

from ablate.record.evaluated import Evaluation, PositionProbe
from ablate.record.record import Record
from ablate.report.runs.collect import Run


@dataclass(frozen=True)
class Measured:
    """One measurement of a trained model; None in place of a number that is undefined.

    `overrides` are those of `ablate evaluate`, None as the run itself ended. `position_r2` is by
    layer, of the probes that there are; `shuffle_change` in nats, its 95 % interval [] without one.
    """

    overrides: list[str] | None
    lengths: list[int]
    accuracy: list[float | None]
    position_r2: dict[str, list[float | None]]
    shuffle_change: float | None
    shuffle_interval: list[float]


def measured(run: Run) -> list[Measured]:
    """Return the run's own and every later measurement, [] where the columns have all there is.

    An entry that is damaged is there with what of it can be read.
    """
    record = run.record
    if not record.evaluations and not record.position_probe and not record.shuffle:
        return []
    later = [_measured(entry, entry.overrides) for entry in record.evaluations]
    return [_measured(record, None), *later]


def _measured(entry: Record | Evaluation, overrides: list[str] | None) -> Measured:
    pairs = list(zip(entry.extrapolation.lengths, entry.extrapolation.accuracy, strict=False))
    shuffle = entry.shuffle
    bounds = (shuffle.interval or []) if shuffle else []
    return Measured(
        overrides,
        [length for length, _ in pairs],
        [accuracy for _, accuracy in pairs],
        _r2(entry.position_probe or PositionProbe()),
        shuffle.change if shuffle else None,
        bounds if len(bounds) == 2 else [],
    )


def _r2(probe: PositionProbe) -> dict[str, list[float | None]]:
    probes = {
        "ridge": probe.ridge,
        "ridge_control": probe.ridge_control,
        "network": probe.network,
        "network_control": probe.network_control,
    }
    return {kind: fit.r2 for kind, fit in probes.items() if fit.r2}
