"""
The history of prompts: what is left of sessions whose transcripts were removed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from satchel.contracts import Record, SessionInfo
from satchel.errors import StoreError
from satchel.formats.claude_code.blocks import second
from satchel.formats.claude_code.scan import is_prompt_line
from satchel.formats.log_lines import LINE, LogFile

__all__ = ["History"]


class _Prompts(NamedTuple):
    """The prompts of one session: the numbers of their lines."""

    lines: list[int]
    project: str | None
    first: str
    times: list[float]
    is_assigned: bool


class History:
    """
    The prompts of sessions that have no transcript, by the session's id.

    Early versions did not write the id: such prompts are kept by project, and may stand in transcripts too.
    """

    def __init__(self, path: Path | None, known: Collection[str], *, report: Callable[[int, str, int], None]) -> None:
        self.prompts: dict[str, _Prompts] = {}
        self._log: LogFile | None = None
        self._report = report
        if path is None:
            return
        try:
            self._log = LogFile(path)
        except StoreError as error:
            report(0, error.message, 1)
            return
        for record in self._log.records(report=report):
            data = record.data
            if not is_prompt_line(data):
                continue
            project = data.get("project") if isinstance(data.get("project"), str) else None
            said = data.get("sessionId")
            assigned = isinstance(said, str) and bool(said)
            key = said if assigned else f"history-{sha256((project or '').encode('utf-8', 'replace')).hexdigest()[:12]}"
            if key in known:
                continue
            held = self.prompts.setdefault(
                key, _Prompts([], project, " ".join(data["display"][:4000].split())[:200], [], assigned)
            )
            if not held.lines or held.lines[-1] != record.key:
                held.lines.append(record.key)
            time = second(data.get("timestamp"))
            if time is not None:
                held.times.append(time)

    def check(self) -> None:
        """Raise StoreChanged if the file is another one now, or shorter."""
        if self._log is not None and self.prompts:
            self._log.check()

    def starts(self) -> dict[str, float | None]:
        """Return when each session began."""
        return {key: min(held.times, default=None) for key, held in self.prompts.items()}

    def info(self, session_id: str, *, format: str, store: str, counts: bool) -> SessionInfo:
        """Return what the prompts say of their session."""
        held = self.prompts[session_id]
        extra: dict[str, object] = {"partial": "prompts"}
        if not held.is_assigned:
            extra["unassigned"] = True
        return SessionInfo(
            id=session_id,
            format=format,
            agent="claude",
            store=store,
            source="claude-code",
            title=held.first or None,
            started_at=min(held.times, default=None),
            ended_at=max(held.times, default=None),
            last_active=max(held.times, default=None) if counts else None,
            cwd=held.project,
            messages=len(held.lines) if counts else None,
            compacted=0 if counts else None,
            rewound=0 if counts else None,
            extra=extra,
        )

    def records(self, session_id: str) -> Iterator[Record]:
        """Yield the lines of the session's prompts."""
        wanted = set(self.prompts[session_id].lines)
        if self._log is None:
            return
        for record in self._log.records(report=self._report):
            if record.key in wanted and is_prompt_line(record.data):
                record.kind = LINE
                yield record
