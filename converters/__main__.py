"""The program: `satchel`, and `python -m satchel`."""

from __future__ import annotations

import os

try:
    import gc

    from satchel import stopping
except KeyboardInterrupt:
    # Ctrl-C before signals are watched; others end the process without a word anyway.
    os._exit(130)

__all__ = ["main"]


def main() -> None:
    """Run the command line and end the process, whatever comes, without a traceback for a signal."""
    stopping.watch()
    # Loading makes many objects, all to stay; later, records come and go by the hundred thousand and hold no cycles.
    gc.set_threshold(50_000, 20, 100)
    # Loading takes longer than many a command: a signal may come meanwhile.
    from satchel.cli import main as command_line

    status = 1
    try:
        command_line()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except stopping.Stopped as stop:
        status = stop.status
    stopping.leave(status)


if __name__ == "__main__":
    main()
