"""
The history of prompts: what is left of sessions whose rollouts were removed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from satchel.contracts import Record, SessionInfo
from satchel.errors import StoreError
from satchel.formats.codex.scan import short
from satchel.formats.codex.shapes import is_prompt, second
from satchel.formats.log_lines import LINE, LogFile

__all__ = ["History"]


@dataclass(slots=True)
class _Prompts:
    """The prompts of one session: the numbers of their lines, and their times."""

    first: str
    lines: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    count: int = 0


class History:
    """The prompts of sessions that have no rollout, by the session's id."""

    def __init__(self, path: Path | None, known: Collection[str], *, report: Callable[[int, str, int], None]) -> None:
        self.prompts: dict[str, _Prompts] = {}
        self.path = path
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
            key = _session(record)
            if key is None or key in known:
                continue
            held = self.prompts.get(key)
            if held is None:
                held = self.prompts[key] = _Prompts(short(record.data["text"]))
            held.count += 1
            if not held.lines or held.lines[-1] != record.key:
                held.lines.append(record.key)
            if (time := second(record.data["ts"])) is not None:
                held.times.append(time)

    @property
    def size(self) -> int:
        """How long the file was, in bytes."""
        return self._log.size if self._log is not None else 0

    def check(self) -> None:
        """Raise StoreChanged if the file is another one now, or shorter."""
        if self._log is not None and self.prompts:
            self._log.check()

    def starts(self) -> dict[str, float | None]:
        """Return when each session began."""
        return {key: min(held.times, default=None) for key, held in self.prompts.items()}

    def info(self, session_id: str, *, store: str, counts: bool) -> SessionInfo:
        """Return what the prompts say of their session."""
        held = self.prompts[session_id]
        return SessionInfo(
            id=session_id,
            format="codex",
            agent="codex",
            store=store,
            source="codex-cli",
            title=held.first or None,
            started_at=min(held.times, default=None),
            ended_at=max(held.times, default=None),
            last_active=max(held.times, default=None) if counts else None,
            messages=held.count if counts else None,
            compacted=0 if counts else None,
            rewound=0 if counts else None,
            extra={"partial": "prompts"},
        )

    def records(self, session_id: str) -> Iterator[Record]:
        """Yield the lines of the session's prompts."""
        if self._log is None:
            return
        wanted = set(self.prompts[session_id].lines)
        for record in self._log.records(report=self._report):
            if record.key in wanted and _session(record) == session_id:
                record.kind = LINE
                yield record


def _session(record: Record) -> str | None:
    data = record.data
    if not is_prompt(data):
        return None
    return str(data.get("session_id") or data["conversation_id"])
