"""What is measured on a trained model: accuracy at lengths always, the rest on request."""

from collections.abc import Mapping
from typing import Any

from ablate.build import Bench
from ablate.data.generated.generated_task import GeneratedTask
from ablate.data.tasks import CorpusTask, Task
from ablate.errors import UserError
from ablate.evaluate.exact import exact_match
from ablate.evaluate.extrapolation import extrapolate, window_layout
from ablate.evaluate.position_probe import probe_positions
from ablate.evaluate.shuffle import measure_shuffle
from ablate.evaluate.windows import Check
from ablate.record.evaluated import Evaluation, Extrapolation
from ablate.train.batches import AT_ONCE


def measure_trained(bench: Bench, config: Mapping[str, Any], check: Check) -> Evaluation:
    """What the config asks for; `check` is called before each step and may raise to stop."""
    settings = config["evaluate"]
    measured = Evaluation(extrapolation=measure_lengths(bench, config, check))
    if settings["position_probe"]:
        measured.position_probe = probe_positions(bench.model, bench.task, check)
    if settings["shuffle"]:
        measured.shuffle = measure_shuffle(bench.model, bench.task, settings["batches"], check)
    return measured


def measure_lengths(bench: Bench, config: Mapping[str, Any], check: Check) -> Extrapolation:
    """The `extrapolation` of a record; `check` is called before each step and may raise to stop.

    On text the same targets are scored with every length of context; on a generated task there are
    new examples for every length.
    """
    multiples, count = config["evaluate"]["lengths"], config["evaluate"]["windows"]
    batch_tokens = max(AT_ONCE, config["batch_size"] * config["seq_len"])
    match bench.task:
        case GeneratedTask() as task:
            return exact_match(
                bench.model,
                task,
                multiples=multiples,
                examples=count,
                batch_tokens=batch_tokens,
                check=check,
            )
        case CorpusTask() as task:
            return extrapolate(
                bench.model,
                task,
                multiples=multiples,
                windows=count,
                protocols=config["evaluate"]["protocols"],
                batch_tokens=batch_tokens,
                check=check,
            )
    raise UserError(f"task: {type(bench.task).__name__} {NEITHER}")


def check_lengths(task: Task, config: Mapping[str, Any]) -> None:
    """Raise UserError where a task cannot be measured at the lengths that a config asks for.

    A generated task always passes: lengths too short for an example are reported as undefined.
    """
    match task:
        case GeneratedTask():
            return
        case CorpusTask():
            window_layout(
                len(task.corpus.validation),
                seq_len=config["seq_len"],
                multiples=config["evaluate"]["lengths"],
                windows=config["evaluate"]["windows"],
            )
        case _:
            raise UserError(f"task: {type(task).__name__} {NEITHER}")


NEITHER = "must be a CorpusTask or a GeneratedTask, so that it can be measured at length"
