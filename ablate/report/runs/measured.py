"""What a record holds of its trained model besides its columns: probes and later evaluations."""

from dataclasses import dataclass
from typing import Any

from ablate.record.record import NUMBER, NUMBERS, SHAPE, fit
from ablate.report.runs.collect import Run

KINDS = ("ridge", "ridge_control", "network", "network_control")
ENTRY: dict[str, Any] = {
    "extrapolation": SHAPE["extrapolation"],
    "position_probe": {kind: {"r2": NUMBERS} for kind in KINDS},
    "shuffle": {"change": NUMBER, "interval": NUMBERS},
}


@dataclass(frozen=True)
class Measured:
    """One measurement of a trained model; None in place of a number that is undefined.

    `overrides` are those of `ablate evaluate`, None as the run itself ended. `position_r2` is by
    layer, of the probes that there are; `shuffle_change` in nats, its 95 % interval [] without one.
    """

    overrides: list[str] | None
    lengths: list[float]
    accuracy: list[float | None]
    position_r2: dict[str, list[float | None]]
    shuffle_change: float | None
    shuffle_interval: list[float]


def measured(run: Run) -> list[Measured]:
    """Return the run's own and every later measurement, [] where the columns have all there is.

    An entry that is damaged is there with what of it can be read.
    """
    record = run.record
    entries = record.get("evaluations")
    later = [] if entries is None else entries if isinstance(entries, list) else [entries]
    if not later and not record.get("position_probe") and not record.get("shuffle"):
        return []
    return [_measured(record, None), *(_measured(entry, _overrides(entry)) for entry in later)]


def _overrides(entry: Any) -> list[str]:
    given = entry.get("overrides") if isinstance(entry, dict) else None
    return [word for word in given if isinstance(word, str)] if isinstance(given, list) else []


def _measured(entry: Any, overrides: list[str] | None) -> Measured:
    found = fit(entry, ENTRY)
    contexts, probe = found["extrapolation"], found["position_probe"]
    pairs = zip(contexts["lengths"], contexts["accuracy"], strict=False)
    kept = [(length, accuracy) for length, accuracy in pairs if length is not None]
    bounds = [bound for bound in found["shuffle"]["interval"] if bound is not None]
    return Measured(
        overrides,
        [length for length, _ in kept],
        [accuracy for _, accuracy in kept],
        {kind: probe[kind]["r2"] for kind in KINDS if probe[kind]["r2"]},
        found["shuffle"]["change"],
        bounds if len(bounds) == 2 else [],
    )
