"""One run in this process, which the person at the terminal watches."""

from collections.abc import Callable

import torch

from ablate.record.lock import Busy
from ablate.record.record import Record
from ablate.run.decoration import Decoration
from ablate.run.display import display
from ablate.run.execute import execute
from ablate.run.planned import PlannedRun
from ablate.run.tensorboard import TensorBoard
from ablate.shell.stderr import say
from ablate.train.distributed import Processes, alone
from ablate.train.listeners import Curves
from ablate.train.loop import Stopped


def run_in_foreground(
    planned: PlannedRun,
    stop: Callable[[], bool],
    *,
    brief: bool = False,
    join: Callable[[torch.device], Processes] = alone,
) -> Record | None:
    """Do a run and show it; its record, or None where another process has its folder.

    `brief`: its end is told in a line, as that of one of many. `join` as in `execute`. Raises
    KeyboardInterrupt where the user stopped it, which its record then says.
    """
    planned = planned.anywhere()
    folder = planned.directory
    shown = display(folder, brief=brief)
    listeners = [Curves(folder), Decoration("TensorBoard", TensorBoard(folder), [shown]), shown]
    try:
        return execute(planned, listeners, stop, join)
    except Busy as busy:
        say(f"{planned.identity.name}: left alone, {busy}")
        return None
    except Stopped:
        raise KeyboardInterrupt from None
