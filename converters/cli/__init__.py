"""
The command line: one module a command, found by name when it is called.

No logic lives here: a command reads its options, calls the library, and prints. click is loaded only for words that are not
plainly what a command declares (`satchel.cli.declare`).
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from satchel import stopping
from satchel.cli.running import aside
from satchel.errors import SatchelError

if TYPE_CHECKING:
    from satchel.cli.declare import Command
    from satchel.cli.explained import cli

__all__ = ["COMMANDS", "cli", "complain", "declared", "main", "run"]

# Name -> module and the line of help; nothing is imported to list them.
COMMANDS = {
    "export": ("satchel.cli.export", "Write sessions out, with a manifest that proves the copy."),
    "list": ("satchel.cli.list", "List sessions, newest first."),
    "show": ("satchel.cli.show", "Show one session as a conversation."),
    "stats": ("satchel.cli.stats", "Count sessions, messages, tokens and bytes."),
    "redact": ("satchel.cli.redact", "Remove secrets from files."),
    "scan": ("satchel.cli.scan", "Look for secrets in files or stores, and write nothing."),
    "verify": ("satchel.cli.verify", "Compare an export with its manifest."),
    "formats": ("satchel.cli.formats", "List the formats that can be read and written."),
    "doctor": ("satchel.cli.doctor", "Say which stores are here, how they are, and why a session may seem missing."),
}


def __getattr__(name: str) -> Any:
    if name != "cli":
        raise AttributeError(f"module 'satchel.cli' has no attribute {name!r}")
    from satchel.cli.explained import cli

    return cli


def main(args: list[str] | None = None) -> None:
    """Run the command line as a process of its own, and exit with its status."""
    stopping.watch()
    closed = sys.stdout is None
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A title may hold what the locale has no letter for.
            stream.reconfigure(errors="backslashreplace")
    status = run(sys.argv[1:] if args is None else args)
    if closed:
        sys.stdout = None
    sys.exit(status)


def _open_streams() -> None:
    """Give each standard stream that is closed a descriptor, so that no store is opened under its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR if number == 2 else os.O_RDONLY)
    if sys.stdout is None:
        # Whoever writes to it shall hear that it is closed, as from every other program.
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115


def run(args: list[str]) -> int:
    """Run one command and return its exit status; whatever goes wrong becomes one sentence on standard error."""
    stopping.begin()
    try:
        try:
            return _run(args)
        finally:
            _clean()
    except (KeyboardInterrupt, stopping.Stopped) as stop:
        _clean()
        stopping.over()
        status = stop.status if isinstance(stop, stopping.Stopped) else 130
        complain(args, "interrupted; nothing half-written is under its final name", status)
        return status
    finally:
        stopping.over()


def _run(args: list[str]) -> int:
    try:
        status = _called(args)
        sys.stdout.flush()
        return status
    except SatchelError as error:
        _trace(args)
        complain(args, error.message, error.exit_code)
        return error.exit_code
    except BrokenPipeError:
        # Whoever read the output has enough of it.
        _forget_output()
        return 1
    except MemoryError:
        complain(args, "the machine has not enough memory for this", 1)
        return 1
    except OSError as error:
        _trace(args)
        if error.filename is not None:
            complain(args, f"{error.filename}: {error.strerror or error}", 1)
        elif error.errno == errno.ENOENT:
            # Nothing but asking for the current folder fails so without a name.
            complain(args, "the current folder is gone, and a path is relative to it: give full paths", 1)
        else:
            _forget_output()
            complain(args, f"the output: {error.strerror or error}", 1)
        return 1
    except Exception as error:
        _trace(args)
        what = f"{type(error).__name__}: {error}"
        complain(args, f"an error in Satchel itself: {what} (run with --debug for its place, and report it)", 1)
        return 1


def _called(args: list[str]) -> int:
    """Call the command that the words name, with what they say; words that are not plain are click's to read, or to refuse."""
    # With this variable set, a shell asks how a word may go on.
    if args and args[0] in COMMANDS and "_SATCHEL_COMPLETE" not in os.environ:
        command = declared(args[0])
        values = command.read(args[1:])
        if values is not None:
            return command(**values)
    from satchel.cli.explained import call

    return call(args)


def declared(name: str) -> Command:
    """Return the command of this name as its module declares it."""
    found: Command = import_module(COMMANDS[name][0]).command
    return found


def _trace(args: list[str]) -> None:
    if "--debug" in args:
        from traceback import format_exc

        aside(format_exc().rstrip())


def _forget_output() -> None:
    """Let what is still in the buffers of standard output go nowhere, so that the interpreter does not try it once more."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _clean() -> None:
    sources: Any = sys.modules.get("satchel.sources")
    if sources is not None:
        sources.forget_stdin()


def complain(args: list[str], message: str, status: int) -> None:
    """Say on standard error, as a sentence or as an event, why the run that was given these words ends with this status."""
    if "--log-json" in args:
        from satchel.cli._output import safe_json
        from satchel.events import Failed, as_dict

        aside(safe_json(as_dict(Failed(message, status))))
        return
    from satchel.naming import terminal_line

    aside(f"satchel: {terminal_line(message)}")
