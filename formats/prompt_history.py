"""
A history of prompts: what is left of sessions whose logs were removed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from satchel.contracts import Record
from satchel.errors import StoreError
from satchel.formats.log_lines import LogFile, Report

__all__ = ["History", "Prompt"]

_TITLE = 200


class Prompt(NamedTuple):
    """A line of the history: whose prompt it is and what it says; `is_assigned` where the line itself names the session."""

    session: str
    text: str
    time: float | None
    project: str | None = None
    is_assigned: bool = True


@dataclass(slots=True)
class Prompts:
    """The prompts of one session: the numbers of their lines, and their times."""

    first: str
    project: str | None
    is_assigned: bool
    lines: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)


class History:
    """
    The prompts of sessions that have no log, by the session's id.

    Args:
        known: The sessions that have one.
        prompt_of: Says what a line is; None for one that is no prompt.
    """

    def __init__(
        self, path: Path | None, known: Collection[str], *, prompt_of: Callable[[Record], Prompt | None], report: Report
    ) -> None:
        self.prompts: dict[str, Prompts] = {}
        self._log: LogFile | None = None
        self._prompt_of = prompt_of
        self._report = report
        if path is None:
            return
        try:
            self._log = LogFile(path)
        except StoreError as error:
            report(0, error.message, 1)
            return
        for record in self._log.records(report=report):
            prompt = prompt_of(record)
            if prompt is None or prompt.session in known:
                continue
            held = self.prompts.get(prompt.session)
            if held is None:
                first = " ".join(prompt.text[: 20 * _TITLE].split())[:_TITLE]
                held = self.prompts[prompt.session] = Prompts(first, prompt.project, prompt.is_assigned)
            if not held.lines or held.lines[-1] != record.key:
                held.lines.append(record.key)
            if prompt.time is not None:
                held.times.append(prompt.time)

    def check(self) -> None:
        """Raise StoreChanged if the file is another one now, or shorter."""
        if self._log is not None and self.prompts:
            self._log.check()

    def starts(self) -> dict[str, float | None]:
        """Return when each session began."""
        return {key: min(held.times, default=None) for key, held in self.prompts.items()}

    def records(self, session_id: str) -> Iterator[Record]:
        """Yield the lines of the session's prompts."""
        wanted = set(self.prompts[session_id].lines)
        for record in self._log.records(report=self._report) if self._log is not None else ():
            prompt = self._prompt_of(record) if record.key in wanted else None
            if prompt is not None and prompt.session == session_id:
                yield record
