"""
How a signal ends a run, and how the process ends: all that was begun is cleaned up, and no traceback is shown.

Loaded before everything else of the program, so it loads next to nothing itself.
"""

from __future__ import annotations

import os
import signal
import sys

# As `typing` has it, which takes long to load: until `watch` is called, a signal ends in a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from types import FrameType
    from typing import NoReturn

__all__ = ["Stopped", "begin", "leave", "over", "watch"]

_PATIENCE = 3


class Stopped(BaseException):
    """
    A signal asks the run to end.

    No KeyboardInterrupt, which some libraries take for their own business. `status` is the exit status: 128 and the signal's
    number, so 130 for Ctrl-C.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
        self.status = 128 + number


class _State:
    # Whether there is something to clean up, and how many signals came since.
    working = False
    signals = 0


def watch() -> None:
    """Take the signals that end a process; those that were to be ignored (nohup) stay ignored."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _stop)
    sys.unraisablehook = _unraisable


def begin() -> None:
    """Say that from now on a signal must let the run clean up."""
    _State.working, _State.signals = True, 0


def over() -> None:
    """Say that all is cleaned up: from now on a signal ends the process at once."""
    _State.working = False


def _stop(number: int, frame: FrameType | None) -> None:
    _State.signals += 1
    if not _State.working or _State.signals >= _PATIENCE:
        os._exit(128 + number)
    if _State.signals == 1:
        # A second one comes while the first is obeyed, from `timeout` or a closing terminal; it must not cut that short.
        raise Stopped(number)


def _unraisable(args: UnraisableHookArgs) -> None:
    """Send a signal once more that arrived where Python lets no exception through, in a destructor say."""
    if not isinstance(args.exc_value, Stopped):
        sys.__unraisablehook__(args)
        return
    from _thread import interrupt_main
    from threading import Timer

    _State.signals = 0
    again = Timer(0.01, interrupt_main, (args.exc_value.number,))
    again.daemon = True
    again.start()


def leave(status: int) -> NoReturn:
    """
    End the process with this exit status, without the interpreter's own tear-down, which is a good part of a short run.

    What was registered to be done at the end is done. Debuggers, profilers and threads get the usual end.
    """
    over()
    threading = sys.modules.get("threading")
    watched = sys.gettrace() is not None or sys.getprofile() is not None or sys.flags.inspect
    if watched or (threading is not None and threading.active_count() > 1):
        sys.exit(status)
    from atexit import _run_exitfuncs

    _run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            status = status or int(stream is sys.stdout)
    os._exit(status)
