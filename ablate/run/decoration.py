"""What a run can do without: where it fails, the run goes on and says so."""

from collections.abc import Callable, Sequence

from ablate.errors import in_a_line
from ablate.record.record import Record
from ablate.train.listeners import Listener


class Decoration(Listener):
    """Passes the events of a run on to a listener until that fails, of which it warns `heralds`."""

    def __init__(self, name: str, listener: Listener, heralds: Sequence[Listener]) -> None:
        self._name, self._listener, self._heralds = name, listener, heralds
        self._failed = False

    def start(self, record: Record, resumed_at: int) -> None:
        self._pass_on(lambda: self._listener.start(record, resumed_at))

    def step(self, step: int, loss: float) -> None:
        self._pass_on(lambda: self._listener.step(step, loss))

    def log(self, line: dict) -> None:
        self._pass_on(lambda: self._listener.log(line))

    def validate(self, step: int, loss: float) -> None:
        self._pass_on(lambda: self._listener.validate(step, loss))

    def message(self, text: str) -> None:
        self._pass_on(lambda: self._listener.message(text))

    def warn(self, text: str) -> None:
        self._pass_on(lambda: self._listener.warn(text))

    def finish(self, record: Record) -> None:
        self._pass_on(lambda: self._listener.finish(record))

    def _pass_on(self, act: Callable[[], None]) -> None:
        if self._failed:
            return
        try:
            act()
        except Exception as error:
            self._failed = True
            for herald in self._heralds:
                herald.warn(f"{self._name}: {in_a_line(error)}; the run goes on without it")
