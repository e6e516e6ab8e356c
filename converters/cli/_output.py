"""What a command prints: data on standard output, all else on standard error, nothing that could move a terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from satchel.cli.running import Run, aside, echo
from satchel.events import Event, Problem, Progress, RunStarted, Said, StoreOpened, as_dict
from satchel.naming import display_width, terminal_line
from satchel.wording import count, wrapped

if TYPE_CHECKING:
    from satchel.selection import Tally

__all__ = ["Teller", "columns", "note", "print_facts", "print_json", "print_table", "put", "safe_json", "say", "say_left_out"]

# How many problems of one kind are told one by one; and how many in all, should there be no end of kinds.
_TOLD = {"warning": 5, "loss": 20}
_TOLD_IN_ALL = 200
# What differs in two messages of one kind: what is quoted, and words with digits (ids, rows, offsets).
_PARTICULAR = r"""'[^']*'|"[^"]*"|[^\s'"(),;]*[0-9][^\s'"(),;]*"""


class Teller:
    """
    The listener of a command; a context manager, since it may draw a progress bar.

    Problems of one kind are told a few times and then counted; a log has every one.
    """

    def __init__(self, *, quiet: bool, log_json: bool) -> None:
        self._quiet = quiet
        self._log_json = log_json
        self._bar: Any = None
        self._task: Any = None
        self._kinds: dict[tuple[str, str], _Kind] = {}
        self._told = 0
        self._others = 0
        self._draw = not quiet and not log_json and sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Teller:
        if self._log_json and Run.now is not None:
            # What is only said, too, is then an event (see `say`).
            Run.now.log_json = True
            self(RunStarted(Run.now.command))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            with suppress(OSError):
                self._bar.stop()
        if self._log_json:
            return
        for (severity, _), kind_of in self._kinds.items():
            more = kind_of.times - kind_of.told
            if more and not (self._quiet and severity == "warning"):
                say(f"… and {more:,} more like it: {kind_of.message}")
        if self._others:
            say(f"… and {self._others:,} of other kinds; --log-json tells every one")

    def __call__(self, event: Event) -> None:
        note(event)
        if self._log_json:
            aside(safe_json(as_dict(event)))
        elif isinstance(event, Problem):
            self._problem(event)
        elif self._quiet:
            return
        elif isinstance(event, StoreOpened):
            say(f"reading {event.path} ({event.how})")
        elif isinstance(event, Progress):
            self._progress(event)

    def _problem(self, event: Problem) -> None:
        quiet = self._quiet and event.severity == "warning"
        shape = (event.severity, re.sub(_PARTICULAR, "#", event.message))
        kind = self._kinds.get(shape)
        if kind is None:
            if len(self._kinds) >= _TOLD_IN_ALL:
                # More kinds than anybody reads, and each would be kept.
                self._others += not quiet
                return
            kind = self._kinds[shape] = _Kind(event.message)
        kind.times += 1
        if quiet or kind.told >= _TOLD[event.severity] or self._told >= _TOLD_IN_ALL:
            return
        kind.told += 1
        self._told += 1
        text = f"{'lost' if event.severity == 'loss' else 'warning'}: {event.where}: {event.message}"
        if self._bar is not None:
            with suppress(OSError):
                self._bar.console.print(terminal_line(f"satchel: {text}"), soft_wrap=True)
        else:
            say(text)

    def _progress(self, event: Progress) -> None:
        if not self._draw:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("sessions"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                # What a session says is neither markup nor the name of a picture.
                console=Console(stderr=True, markup=False, emoji=False, highlight=False),
                transient=True,
            )
            self._task = self._bar.add_task("sessions", total=event.total)
            self._bar.start()
        with suppress(OSError):
            self._bar.update(self._task, completed=event.done, total=event.total)


def note(event: Event) -> None:
    """Keep in mind whether a problem was met, for --strict."""
    if isinstance(event, Problem) and Run.now is not None:
        Run.now.problems = True


class _Kind:
    """Problems that differ in particulars only: the first one's message, how many there were, and how many were told."""

    __slots__ = ("message", "times", "told")

    def __init__(self, message: str) -> None:
        self.message = message
        self.times = 0
        self.told = 0


def say(message: str) -> None:
    """Print one line for a person on standard error; with --log-json, the event of it."""
    if Run.now is not None and Run.now.log_json:
        aside(safe_json(as_dict(Said(message))))
        return
    aside(f"satchel: {terminal_line(message)}")


def say_left_out(tally: Tally) -> None:
    """Say what passes the filters and was left out, and how to have it all the same."""
    left = (
        (tally.left_out_live, "live", "--include-live takes them too"),
        (tally.left_out_archived, "archived", "--include-archived takes them too"),
        (tally.left_out_pinned, "pinned", ""),
    )
    for number, what, how in left:
        if number:
            say(f"left out: {count(number, f'{what} session')}" + (f"; {how}" if how else ""))


def columns() -> int | None:
    """Return how wide the terminal is on which standard output ends; None when it ends on none."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    from shutil import get_terminal_size

    return max(40, get_terminal_size().columns)


def put(*parts: tuple[str, str]) -> None:
    """
    Print one line on standard output, made of safe texts, each with a style: "", "dim", "bold", or a colour's name.

    Styles show on a terminal only, and not where NO_COLOR is set.
    """
    plain = columns() is None or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    echo("".join(text if plain or not style else _styled(text, style) for text, style in parts), color=not plain)


def _styled(text: str, style: str) -> str:
    from click import style as styled

    words = style.split()
    colour = next((word for word in words if word not in ("dim", "bold")), None)
    return styled(text, fg=colour, dim="dim" in words or None, bold="bold" in words or None)


# What JSON may hold as it stands, and a terminal would act upon; in JSON these can only be inside a string.
_ACTIVE = "[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb]"


def safe_json(value: Any) -> bytes:
    """Return a value as one line of JSON in which nothing moves a terminal."""
    from satchel.jsontext import dumps

    text = dumps(value)
    return (
        text
        if text.isascii() and b"\x7f" not in text
        else re.sub(_ACTIVE, lambda m: f"\\u{ord(m.group()):04x}", text.decode()).encode()
    )


def print_json(value: Any) -> None:
    """Print a value as one line of JSON on standard output, in UTF-8 whatever the locale."""
    echo(safe_json(value))


def print_facts(facts: Iterable[tuple[str, str]], *, indent: int = 2, label: int = 0) -> None:
    """Print labels and what they say, one below the other, long ones over several lines; `label` is their least width."""
    facts = [(terminal_line(name), terminal_line(value)) for name, value in facts]
    label = max([label, *(len(name) for name, _ in facts)])
    space = indent + label + 2
    for name, value in facts:
        lines = wrapped(value, (columns() or 100) - space)
        put((f"{'':{indent}}{name:{label}}  ", "dim"), (next(lines, ""), ""))
        for line in lines:
            put((f"{'':{space}}{line}", ""))


_WIDEST = 60
_NARROWEST = 8


def print_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), cut: Sequence[int] = (), indent: int = 0
) -> None:
    """
    Print columns on standard output; `right` are the columns of numbers, `cut` those that give way, the first one first.

    Where there is no terminal, columns that may be cut are 60 wide at the most.
    """
    cells = [list(heads), *([terminal_line(cell) for cell in row] for row in rows)]
    widths = [max(display_width(row[i]) for row in cells) for i in range(len(heads))]
    room = columns()
    for i in cut:
        over = widths[i] - _WIDEST if room is None else indent + sum(widths) + 2 * (len(widths) - 1) - room
        widths[i] = max(min(_NARROWEST, widths[i]), widths[i] - max(0, over))
    for number, row in enumerate(cells):
        line = []
        for i, cell in enumerate(row):
            text = terminal_line(cell, widths[i])
            space = " " * (widths[i] - display_width(text))
            line.append(space + text if i in right else text + space)
        put((f"{'':{indent}}" + "  ".join(line).rstrip(), "" if number else "bold"))
        if number == 0:
            put((f"{'':{indent}}" + "─" * min(sum(widths) + 2 * (len(widths) - 1), (room or 120) - indent), "dim"))
