"""
An opened folder of Codex' sessions.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.contracts import Record, SessionInfo
from satchel.errors import StoreError
from satchel.formats.codex import plan as planning
from satchel.formats.codex.copies import before, copied
from satchel.formats.codex.document import Document
from satchel.formats.codex.files import Tree
from satchel.formats.codex.history import prompt_of
from satchel.formats.codex.plan import Numbered, Plan, numbered, place
from satchel.formats.codex.sessions import Part, Session, gather
from satchel.formats.codex.shapes import text_of
from satchel.formats.codex.titles import read as read_titles
from satchel.formats.log_lines import LogFile, unheard
from satchel.formats.log_store import LogStore, given_away, is_live
from satchel.formats.prompt_history import History
from satchel.formats.told import Told

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    from satchel.formats.model import Entry

__all__ = ["CodexStore"]

_PLANS = 4
_SMALL = 4 << 20
"""A rollout of so many bytes may be held parsed."""


class CodexStore(LogStore[Session]):
    """Codex' sessions at a path."""

    format = agent = dialect = "codex"
    called = "Codex"
    _source = "codex-cli"

    def __init__(self, path: Path, tree: Tree, told: Told, copy: TemporaryDirectory[str] | None = None) -> None:
        super().__init__(path, told, copy)
        self._tree = tree
        self._plans: dict[str, Plan] = {}
        titles = read_titles(tree.index, tree.states, tell=told)
        found = gather(tree, titles, tell=told)
        self._sessions = found.sessions
        self._empty = found.empty
        self._history = History(tree.history, self._sessions.keys(), prompt_of=prompt_of, report=told.of(tree.history))

    def decode(self, records: Iterable[Record]) -> Iterator[Entry]:
        """Yield the entry of each record."""
        from satchel.formats.codex.decode import decode

        return decode(records)

    def facts(self) -> dict[str, Any]:
        """Return what is known of the store: JSON-ready."""
        versions: dict[str, int] = {}
        for session in self._sessions.values():
            version = text_of(session.facts.meta.get("cli_version"))
            if version is not None:
                versions[version] = versions.get(version, 0) + 1
        parts = [part for session in self._sessions.values() for part in session.parts]
        return {
            "format": self.format,
            "path": self.label,
            "sessions": len(self._sessions) + len(self._history.prompts),
            "subagents": sum(session.lineage == "delegate" for session in self._sessions.values()),
            "archived": sum(session.newest.found.archived for session in self._sessions.values()),
            "compressed": sum(part.log.compressed for part in parts),
            "prompts_only": len(self._history.prompts),
            "empty_files": self._empty,
            "bytes": sum(part.log.size for part in parts),
            "versions": {version: versions[version] for version in sorted(versions)},
        }

    def drift(self) -> dict[str, dict[str, int]]:
        """Return what is not known of the lines, by the agent's version: "type:x", "key:type.x", "block:x", and how many."""
        from satchel.formats.codex.known import unknown

        found: dict[str, dict[str, int]] = {}
        for session in self._sessions.values():
            for part in session.parts:
                version = text_of(part.facts.meta.get("cli_version")) or ""
                for record in part.log.records(report=unheard):
                    for what in unknown(record.data):
                        counts = found.setdefault(version, {})
                        counts[what] = counts.get(what, 0) + 1
        return found

    def files(self, session_id: str) -> Iterator[tuple[str, Path]]:
        """Yield the files that belong to the session alone, its rollouts first: their names under the store's root, and paths."""
        if session_id in self._history.prompts:
            return
        session = self._get(session_id)
        for part in (*session.parts, *session.copies):
            yield part.found.name, part.found.path
        for part in (*session.parts, *session.copies):
            twin = part.found.twin
            if twin is not None and twin.is_file():
                yield twin.relative_to(self._tree.root).as_posix(), twin

    def _logs(self) -> Iterable[LogFile]:
        return (part.log for session in self._sessions.values() for part in (*session.parts, *session.copies))

    # ------------------------------------------------------------------------------------------------------ one session

    def _start(self, session: Session) -> float | None:
        return next((part.facts.started for part in session.parts if part.facts.started is not None), None)

    def _info(self, session: Session) -> SessionInfo:
        facts, newest = session.facts, session.newest
        archived = newest.found.archived
        live = not archived and is_live(self._now, max(part.log.modified for part in session.parts))
        times = [part.facts.newest for part in session.parts if part.facts.newest is not None]
        git = facts.meta.get("git")
        branch = text_of(git.get("branch")) if isinstance(git, dict) else None
        return SessionInfo(
            id=session.id,
            format=self.format,
            agent=self.agent,
            store=self.label,
            source="codex-cli",
            title=session.title,
            started_at=self._start(session),
            ended_at=None if live else max(times, default=None),
            live=live,
            archived=archived,
            cwd=next((part.facts.cwd for part in session.parts if part.facts.cwd), None),
            git_branch=branch,
            model=next((part.facts.model for part in reversed(session.parts) if part.facts.model), None),
            provider=text_of(facts.meta.get("model_provider")),
            parent=session.parent,
            lineage=session.lineage,
            extra=self._extra(session),
        )

    def _extra(self, session: Session) -> dict[str, Any]:
        facts, meta = session.facts, session.facts.meta
        extra: dict[str, Any] = {}
        keys = {"cli_version": "version", "originator": "originator", "thread_source": "thread_source"}
        keys |= {
            "agent_nickname": "agent_name",
            "agent_role": "agent_role",
            "agent_type": "agent_role",
            "agent_path": "agent_path",
        }
        for key, name in keys.items():
            value = text_of(meta.get(key)) or text_of(facts.spawn.get(key))
            if value is not None:
                extra[name] = value
        if facts.origin is not None:
            extra["origin"] = facts.origin
        if session.titled_by is not None:
            extra["title_from"] = session.titled_by
        if facts.is_machine:
            extra["machine"] = True
        if len(session.parts) > 1:
            extra["parts"] = len(session.parts)
        if session.parts[0].facts.base is not None:
            extra["history_base"] = session.parts[0].facts.base
        if facts.is_captured:
            extra["partial"] = "answers"
        if session.twin_of is not None:
            extra["twin_of"] = session.twin_of
        if session.parent is not None and session.parent not in self._sessions:
            extra["parent_missing"] = True
        return extra

    def _records(self, session: Session) -> Iterator[Record]:
        held: list[deque[Record]] = []
        if session.id not in self._plans and all(part.log.size <= _SMALL and not part.log.compressed for part in session.parts):
            # Parsed once for both.
            held = [deque(part.log.records(report=self._told.of(part.found.path))) for part in session.parts]
        plan = self._plan(session, held)
        for segment, part in enumerate(session.parts):
            self._read[part.found.name] = part.log
            records = given_away(held[segment]) if held else part.log.records(report=self._told.of(part.found.path))
            for at, record in numbered(records, segment):
                record.key = key = Numbered(record.key)
                key.at = at
                key.plan = plan
                yield record

    def _plan(self, session: Session, held: list[deque[Record]] | None = None) -> Plan:
        plan = self._plans.pop(session.id, None)
        if plan is None:
            ranges = self._copied(session)
            try:
                dead = list(_dead(session))
                plan = planning.make(_lines(session, held or []), copied=ranges, dead=dead)
            except StoreError:
                # It is told when the records are read.
                plan = planning.make(_readable(session), copied=ranges, dead=[])
            plan.prompter = session.facts.prompter
        self._plans[session.id] = plan
        while len(self._plans) > _PLANS:
            self._plans.pop(next(iter(self._plans)))
        return plan

    def _copied(self, session: Session) -> list[tuple[int, int]]:
        facts = session.facts
        if session.lineage not in ("branch", "delegate") and not facts.others:
            return []
        parent = self._sessions.get(session.parent or "") or next(
            (self._sessions[other] for other in facts.others if other in self._sessions and other != session.id), None
        )
        others = before([part.log for part in parent.parts]) if parent is not None else None
        ranges = copied(session.parts[0].log, facts, others, 0)
        if not ranges and others and facts.others:
            ranges = copied(session.parts[0].log, facts, None, 0)
        if ranges and parent is None:
            what = "the session that it has copies from is not here: what was written with its first line counts as copied"
            self._told(str(session.parts[0].found.path), what)
        return ranges


Lines = Iterator[tuple[int, Any, "re.Match[bytes] | None"]]


def _lines(session: Session, held: list[deque[Record]]) -> Lines:
    for segment, part in enumerate(session.parts):
        if held:
            yield from ((at, record.data, None) for at, record in numbered(held[segment], segment))
        elif isinstance(part.log, Document):
            yield from ((at, record.data, None) for at, record in numbered(part.log.records(report=unheard), segment))
        else:
            yield from planning.quick(part.log, segment)


def _readable(session: Session) -> Lines:
    """What can be read of files of which one can't be read to its end."""
    for segment, part in enumerate(session.parts):
        yield from ((at, record.data, None) for at, record in numbered(part.log.records(report=unheard), segment))


def _dead(session: Session) -> Iterator[tuple[int, int]]:
    """Yield from where to where records were left behind: after the point from which a later part went on."""
    for segment, part in enumerate(session.parts):
        end = place(segment + 1, 0, 0)
        if part.is_dead:
            yield place(segment, 0, 0), end
        elif part.cut is not None and part.cut != (None, None):
            start = _cut(part, segment)
            if start is not None:
                yield start, end


def _cut(part: Part, segment: int) -> int | None:
    """Return where what was left behind begins."""
    offset, ordinal = part.cut or (None, None)
    passed = 0
    by_ordinal: int | None = None
    for number, line in enumerate(part.log.lines(), 1):
        if offset is not None and passed >= offset:
            return place(segment, number, 0)
        passed += len(line)
        if ordinal is not None and by_ordinal is None and (found := _ORDINAL.search(line[:400])) and int(found[1]) >= ordinal:
            by_ordinal = place(segment, number, 0)
            if offset is None:
                return by_ordinal
    return by_ordinal if offset is None or passed < offset else None


_ORDINAL = re.compile(rb'"ordinal":\s*(\d+)')
