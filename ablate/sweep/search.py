"""A sweep whose values a sweeper of Hydra chooses one after the other, such as Optuna's."""

import importlib
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig

from ablate.config.compose import Composer
from ablate.config.values import brief
from ablate.errors import UserError
from ablate.record import disk
from ablate.run.stop import Stop
from ablate.shell.stderr import say
from ablate.sweep.arguments import Arguments
from ablate.sweep.by_hydra import hand_to_hydra, job
from ablate.sweep.plan import compose_all, refuse_time_limit, refused
from ablate.sweep.remote import here

SHOWN = 5
HYDRAS = ("hydra/sweeper", "hydra/launcher", "hydra.sweeper", "hydra.launcher")


@dataclass
class Trials:
    """What came out so far: the score, what the sweeper chose and the status of each run."""

    stop: Stop
    fixed: tuple[str, ...]
    done: list[tuple[float, str, str]] = field(default_factory=list)

    def __call__(self, config: DictConfig) -> float | None:
        """Do a run; its validation loss, of one that diverged at most ln V, None where it failed.

        The bound keeps a sweeper that models the scores from being led by one that blew up.
        """
        value = job(config, self.stop, None)
        record, problem = disk.read(Path(HydraConfig.get().runtime.output_dir))
        status = (record.status or "unknown") if record else str(problem)
        uniform = record.loss.uniform if record and status != "failed" else None
        score = None if uniform is None else bounded(value, uniform)
        chosen = [word for word in HydraConfig.get().overrides.task if word not in self.fixed]
        words = ", ".join(chosen)
        self.done.append((math.inf if score is None else score, words, status))
        return score


def bounded(loss: float | None, uniform: float) -> float:
    """A loss in nats, or ln V where it is larger or no number.

    >>> bounded(2.0, 5.5), bounded(9.0, 5.5), bounded(None, 5.5)
    (2.0, 5.5, 5.5)
    """
    return uniform if loss is None or not loss < uniform else loss


def search(arguments: Arguments, composer: Composer) -> int:
    """Check what can be checked, let the sweeper run, and tell what was best; the exit code."""
    check_sweeper(arguments)
    if arguments.until_decided or arguments.asks_plan:
        raise UserError(
            "hydra/sweeper: chooses runs by what came of others; without --until-decided and --plan"
        )
    plan = compose_all(composer.jobs(corners(arguments.overrides), sweep=True), composer)
    refuse_time_limit(plan)
    for _, error in refused(plan):
        raise error
    trials = Trials(Stop(), arguments.overrides)
    with trials.stop:
        try:
            hand_to_hydra(arguments, here(trials.stop) if arguments.names_launcher else trials)
        except KeyboardInterrupt:
            trials.stop.asked = True
        except HydraException as error:
            raise UserError(f"hydra/sweeper: {str(error).splitlines()[0]}") from error
    return summarise(trials, arguments, plan[0].config)


def check_sweeper(arguments: Arguments) -> None:
    """Raise UserError for a sweeper that is not installed, or has nothing to choose."""
    word = next(word for word in arguments.overrides if word.startswith("hydra/sweeper="))
    if not arguments.multirun:
        raise UserError(f"{word}: a sweeper chooses the runs of a sweep; add -m")
    if arguments.study is not None:
        raise UserError(f"{word}: the runs of --study are listed; there is nothing to choose")
    if word.endswith("=optuna"):
        try:
            optuna = importlib.import_module("optuna")
        except ModuleNotFoundError as error:
            raise UserError(f"{word}: not installed; pip install 'ablate[tune]'") from error
        # Its log has colours wherever it goes.
        optuna.logging.set_verbosity(optuna.logging.WARNING)


def corners(overrides: Sequence[str]) -> list[str]:
    """Overrides with the ends of each interval in its place and without a sweeper's settings.

    >>> corners(["lr=tag(log, interval(1e-4, 1e-2))", "depth=2,4", "hydra/sweeper=optuna"])
    ['lr=0.0001,0.01', 'depth=2,4']
    """
    spelled = []
    for text in overrides:
        if text.startswith(HYDRAS) and not text.startswith("hydra.sweeper.params"):
            continue
        try:
            override = OverridesParser.create().parse_override(text)
        except HydraException:
            spelled.append(text)  # the composer says what is wrong with it
            continue
        value: Any = override.value()
        if override.is_interval_sweep():
            text = f"{override.key_or_group}={brief(value.start)},{brief(value.end)}"
        spelled.append(text)
    return spelled


def summarise(trials: Trials, arguments: Arguments, config: dict[str, Any]) -> int:
    """Say which runs were best and what to do with that; the exit code.

    What a launcher of Hydra has done elsewhere is told by the records alone.
    """
    ranked = sorted(trials.done)
    if ranked:
        say(f"\n{len(ranked)} runs, the best first by validation loss in nats:")
    for score, words, status in ranked[:SHOWN]:
        say(f"  {score:.4f}  {words}" + (f"  ({status})" if status != "done" else ""))
    if trials.stop.asked:
        say(f"To go on: {arguments.to_go_on()}")
        return 130
    if ranked and math.isfinite(ranked[0][0]):
        say("Chosen on the validation text of these seeds: confirm it on other seeds.")
    say(f"Next: ablate report {shlex.quote(str(Path(config['outputs']) / config['study']))}")
    return 1 if any(status == "failed" for _, _, status in ranked) else 0
