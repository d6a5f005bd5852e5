"""What is measured on a trained model: accuracy at lengths always, the rest on request."""

from collections.abc import Mapping
from typing import Any

from ablate.build import Bench
from ablate.evaluate.lengths import measure_lengths
from ablate.evaluate.position_probe import probe_positions
from ablate.evaluate.shuffle import measure_shuffle
from ablate.evaluate.windows import Check
from ablate.record.evaluated import Evaluation


def measure_trained(bench: Bench, config: Mapping[str, Any], check: Check) -> Evaluation:
    """What the config asks for; `check` is called before each step and may raise to stop."""
    settings = config["evaluate"]
    measured = Evaluation(extrapolation=measure_lengths(bench, config, check))
    if settings["position_probe"]:
        measured.position_probe = probe_positions(bench.model, bench.task, check)
    if settings["shuffle"]:
        measured.shuffle = measure_shuffle(bench.model, bench.task, settings["batches"], check)
    return measured
