"""What Hydra calls for each run."""

from collections.abc import Callable, Sequence
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from ablate.config.identity import identify
from ablate.config.schema import plain
from ablate.record import record
from ablate.record.lock import Busy
from ablate.run.display import display
from ablate.run.execute import Order, execute
from ablate.run.state import Tally, is_wanted, say, stamp
from ablate.run.tensorboard import TensorBoard
from ablate.train.listeners import Curves, Listener
from ablate.train.loop import Stopped


def job(config: DictConfig, stop: Callable[[], bool], tally: Tally | None) -> float | None:
    """Do one run, or nothing where it is finished; its validation loss, for a sweeper.

    Without a tally it is one of several whose order nobody knows.
    """
    if stop():
        raise KeyboardInterrupt
    hydra = HydraConfig.get()
    whole = OmegaConf.merge({"hydra": hydra}, config)
    assert isinstance(whole, DictConfig)
    settings = plain(config)
    directory = Path(hydra.runtime.output_dir)
    order = Order(settings, identify(whole, settings), directory, stamp(directory))
    found, _ = record.read(order.directory)
    status = found["status"] if found else None
    if not is_wanted(status, order.config):
        say(f"{order.identity.name}: already {status}")
        return found["loss"]["validation"] if found else None
    if tally and (words := tally.begin()):
        say(words)
    brief = tally is None or tally.total > 1
    try:
        result = execute(order, lambda order: listeners(order, brief=brief), stop)
    except Busy as busy:
        say(f"{order.identity.name}: left alone, {busy}")
        return None
    except Stopped:
        raise KeyboardInterrupt from None
    validation = result["loss"]["validation"]
    return float(validation) if validation is not None else None


def listeners(order: Order, *, brief: bool) -> Sequence[Listener]:
    """Who hears of a run: curves.jsonl, TensorBoard and the person at the terminal."""
    shown = display(order.directory, brief=brief)
    return [Curves(order.directory), TensorBoard(order.directory), shown]
