"""What is known of the command that runs, and lines written to the two streams."""

from __future__ import annotations

import sys
from contextlib import suppress
from types import TracebackType

__all__ = ["Run", "aside", "echo"]


class Run:
    """
    One run of a command; a context manager.

    Attributes:
        command: Its name.
        log_json: Whether what is said to people is an event too.
        problems: Whether a problem was met, for --strict.
    """

    now: Run | None = None
    """The one that goes on, None outside of any."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.log_json = False
        self.problems = False

    def __enter__(self) -> Run:
        self._before, Run.now = Run.now, self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        Run.now = self._before


def echo(line: str | bytes, *, err: bool = False, color: bool | None = None) -> None:
    """Write a line to standard output or standard error, at once; `color` says whether styles in it stay, None by the stream."""
    stream = sys.stderr if err else sys.stdout
    encoding = getattr(stream, "encoding", None) or ""
    if encoding.lower() not in ("utf-8", "utf8") or not hasattr(stream, "buffer") or (isinstance(line, str) and "\x1b" in line):
        # Consoles, locales, and styles where nothing shows them need care, and loading what takes it needs time.
        import click

        click.echo(line, err=err, color=color)
    elif isinstance(line, str):
        stream.write(f"{line}\n")
        stream.flush()
    else:
        stream.flush()
        stream.buffer.write(line + b"\n")
        stream.buffer.flush()


def aside(line: str | bytes) -> None:
    """Print a line on standard error; a run whose messages can't be written, or are not wanted any more, goes on."""
    with suppress(OSError, ValueError):
        echo(line, err=True)
