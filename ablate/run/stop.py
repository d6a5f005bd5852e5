"""Whether the user asked to stop, by Ctrl-C, SIGTERM or a terminal that closes."""

import signal
from types import FrameType
from typing import Any

from ablate.shell.stderr import say

STOPPING = "Stopping after this step, with a checkpoint; once more stops at once."


class Stop:
    """Set by the first SIGINT, SIGTERM or SIGHUP, which says `words`; a second one stops at once.

    A second SIGHUP does not: shell and kernel both send one. Under nohup none counts.
    After that one they are ignored: the runs that it ends are still to be recorded.
    `patient`: a second one changes nothing. Under torchrun Ctrl-C reaches a process from the
    terminal and from torchrun, which kills what has not ended after half a minute.
    """

    def __init__(self, words: str = STOPPING, *, patient: bool = False) -> None:
        self.asked, self._words, self._patient = False, words, patient
        self._before: dict[int, Any] = {}

    def __call__(self) -> bool:
        return self.asked

    def check(self) -> None:
        """Raise Stopped where a signal came."""
        if self.asked:
            from ablate.train.loop import Stopped

            raise Stopped

    def __enter__(self) -> "Stop":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked and not self._patient and number != signal.SIGHUP:
            for each in self._before:
                signal.signal(each, signal.SIG_IGN)
            self._before.clear()
            raise KeyboardInterrupt
        if not self.asked and self._words:
            say(f"\n{self._words}")
        self.asked = True
