"""What a trained model can do at length, by the protocol that fits its task."""

from collections.abc import Callable, Mapping
from typing import Any

from ablate.build import Bench
from ablate.evaluate.extrapolation import extrapolate


def measure_lengths(
    bench: Bench, config: Mapping[str, Any], check: Callable[[str], None]
) -> dict[str, Any]:
    """The `extrapolation` of a record; `check` is told what comes next and may raise to stop."""
    return extrapolate(
        bench.model,
        bench.task,
        multiples=config["evaluate"]["lengths"],
        windows=config["evaluate"]["windows"],
        batch_tokens=config["batch_size"] * config["seq_len"],
        check=check,
    )
