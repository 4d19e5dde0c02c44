"""Being stopped from outside."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def stoppable(explain: Callable[[], str]) -> Iterator[None]:
    """SIGTERM raises KeyboardInterrupt, as Ctrl-C does, and either has `explain()` as a note.

    Signals are for the main thread of a process: in others only Ctrl-C is explained.
    """

    def interrupt(number: int, _: FrameType | None) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, interrupt) if is_main else None
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.add_note(explain())
        raise
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, before or signal.SIG_DFL)
