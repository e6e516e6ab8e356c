"""
An opened folder of Claude Code's sessions.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.contracts import Record, SessionInfo
from satchel.errors import JsonError
from satchel.formats.claude_code import plan as planning
from satchel.formats.claude_code.decode import RESULT_FILE
from satchel.formats.claude_code.files import Found, Tree, is_transcript_name, side_files, stem_of
from satchel.formats.claude_code.history import prompt_of
from satchel.formats.claude_code.plan import Numbered, Plan
from satchel.formats.claude_code.sessions import Session, gather
from satchel.formats.log_lines import LogFile, unheard
from satchel.formats.log_store import LogStore, given_away, is_live
from satchel.formats.prompt_history import History
from satchel.formats.told import Told
from satchel.jsontext import loads

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    from satchel.formats.model import Entry

__all__ = ["ClaudeStore"]

_LARGEST = 16 << 20
"""Files beside a transcript that are longer, in bytes, are no records."""
_ROOM = 4_000_000
"""Plans of so many lines are kept."""
_SMALL = 4 << 20
"""A transcript of so many bytes may be held parsed."""


class ClaudeStore(LogStore[Session]):
    """Claude Code's sessions at a path."""

    format = agent = dialect = "claude"
    called = "Claude Code"
    _source = "claude-code"

    def __init__(self, path: Path, tree: Tree, told: Told, copy: TemporaryDirectory[str] | None = None) -> None:
        super().__init__(path, told, copy)
        self._tree = tree
        self._plans: dict[str, Plan] = {}
        self._held = 0
        """What the plans weigh."""
        found = gather(tree, tell=self._told)
        self._sessions = found.sessions
        self._empty = found.empty
        self._history = History(tree.history, found.names(), prompt_of=prompt_of, report=self._told.of(tree.history))

    def decode(self, records: Iterable[Record]) -> Iterator[Entry]:
        """Yield the entries that records say; the lines of one answer of the model are one."""
        from satchel.formats.claude_code.decode import decode

        return decode(records)

    def facts(self) -> dict[str, Any]:
        """Return what is known of the store: JSON-ready."""
        agents = sum(session.found.is_agent for session in self._sessions.values())
        versions: dict[str, int] = {}
        for session in self._sessions.values():
            for version in session.facts.versions:
                versions[version] = versions.get(version, 0) + 1
        return {
            "format": self.format,
            "path": self.label,
            "sessions": len(self._sessions) + len(self._history.prompts),
            "subagents": agents,
            "prompts_only": len(self._history.prompts),
            "empty_files": self._empty,
            "bytes": sum(session.log.size for session in self._sessions.values()),
            "versions": {version: versions[version] for version in sorted(versions)},
        }

    def drift(self) -> dict[str, dict[str, int]]:
        """Return what is not known of the lines, by the agent's version: "type:x", "key:type.x", "block:x", and how many."""
        from satchel.formats.claude_code.known import unknown

        found: dict[str, dict[str, int]] = {}
        for session in self._sessions.values():
            version = session.facts.versions[0] if session.facts.versions else ""
            for record in session.log.records(report=unheard):
                if not isinstance(record.data, dict):
                    continue
                said = record.data.get("version")
                version = said if isinstance(said, str) and said else version
                for what in unknown(record.data):
                    counts = found.setdefault(version, {})
                    counts[what] = counts.get(what, 0) + 1
        return found

    def files(self, session_id: str) -> Iterator[tuple[str, Path]]:
        """Yield every file that belongs to the session alone: its name under the root of the store, and where it is."""
        if session_id in self._history.prompts:
            return
        session = self._get(session_id)
        yield session.found.name, session.found.path
        meta = _meta_of(session.found)
        if session.found.is_agent:
            if meta.is_file() and not meta.is_symlink():
                yield meta.relative_to(self._tree.root).as_posix(), meta
            return
        if session.found.folder is not None:
            for path, name in side_files(session.found.folder, tell=self._lost):
                if not _is_agents(name):
                    yield path.relative_to(self._tree.root).as_posix(), path

    def _logs(self) -> Iterable[LogFile]:
        return (session.log for session in self._sessions.values())

    # ------------------------------------------------------------------------------------------------------ one session

    def _start(self, session: Session) -> float | None:
        return session.facts.started

    def _info(self, session: Session) -> SessionInfo:
        facts, log = session.facts, session.log
        live = is_live(self._now, log.modified)
        extra: dict[str, Any] = dict(facts.extra)
        cwd = extra.pop("relocated", None) or facts.cwd
        if facts.versions:
            extra["version"] = facts.versions[-1]
        if session.titled_by is not None:
            extra["title_from"] = session.titled_by
        if not facts.talks and log.size <= 96 << 10:
            extra["talks"] = False
        if session.twin_of is not None:
            extra["twin_of"] = session.twin_of
        if session.found.is_agent:
            extra |= self._meta(session)
        return SessionInfo(
            id=session.id,
            format=self.format,
            agent=self.agent,
            store=self.label,
            source="claude-code",
            title=session.title,
            started_at=facts.started,
            ended_at=None if live else facts.newest,
            live=live,
            cwd=cwd,
            git_branch=facts.branch,
            model=facts.model,
            provider=None,
            parent=session.parent,
            lineage=session.lineage,
            extra=extra,
        )

    def _meta(self, session: Session) -> dict[str, Any]:
        """Return what stands beside a subagent's transcript, and where in the conversation it was called."""
        extra: dict[str, Any] = {}
        agent = session.facts.agent
        if agent is not None:
            extra["agent"] = agent
        with suppress(OSError, JsonError):
            said = loads(self._bytes(_meta_of(session.found), report=False) or b"")
            if isinstance(said, dict):
                names = {"agentType": "agent_type", "toolUseId": "tool_use_id", "parentAgentId": "parent_agent"}
                names |= {"description": "description", "name": "name", "spawnDepth": "depth"}
                extra |= {name: said[key] for key, name in names.items() if said.get(key) is not None}
        return extra

    def _plan(self, session: Session, records: Iterable[Record] | None = None) -> Plan:
        # A family is gone through relatives first, each once: a chain of sessions may be long, and all may know all.
        todo, held = [session], dict[str, Plan]()
        begun: set[str] = set()
        while todo:
            one = todo[-1]
            plan = held.get(one.id) or self._plans.get(one.id)
            if plan is None:
                missing = [key for key in one.relatives if key not in held and key not in begun]
                begun.add(one.id)
                if missing:
                    todo += [self._sessions[key] for key in missing]
                    continue
                options: Any = {
                    "agent": one.found.is_agent,
                    "others": [held[key] for key in one.relatives if key in held],
                    "compared": one.is_compared,
                }
                given = records if one is session else None
                plan = planning.make(one.log, **options) if given is None else planning.make_of(given, **options)
                self._held += plan.weight
            held[one.id] = plan
            todo.pop()
        # As many as memory has room for, the last ones asked for: of a family all are asked for, one after the other.
        for key, plan in held.items():
            self._plans.pop(key, None)
            self._plans[key] = plan
        for key in list(self._plans) if self._held > _ROOM else ():
            if self._held > _ROOM and key not in session.relatives and key != session.id:
                self._held -= self._plans.pop(key).weight
        return held[session.id]

    def _records(self, session: Session) -> Iterator[Record]:
        log = session.log
        self._read[session.found.name] = log
        records: Iterable[Record] = log.records(report=self._told.of(session.found.path))
        if session.id in self._plans or log.size > _SMALL or log.compressed:
            plan = self._plan(session)
        else:
            # Parsed once for both.
            held = deque(records)
            plan = self._plan(session, held)
            records = given_away(held)
        yield from self._side_records(session, plan)
        for record in records:
            record.key = number = Numbered(record.key)
            number.plan = plan
            yield record

    # ------------------------------------------------------------------------------------------------------ beside it

    def _lost(self, where: str, what: str) -> None:
        self._told(where, what, 1)

    def _side_records(self, session: Session, plan: Plan) -> Iterator[Record]:
        found = session.found
        if found.is_agent:
            meta = _meta_of(found)
            if meta.is_file():
                yield from self._side(meta, "meta")
        if found.folder is None:
            return
        for path, name in side_files(found.folder, tell=self._lost):
            kind = _kind_of(name)
            if found.is_agent:
                # Its outputs lie in the folder of the session that called it.
                if kind == RESULT_FILE and path.name in plan.persisted:
                    yield from self._side(path, kind)
            elif kind is not None:
                yield from self._side(path, kind)

    def _side(self, path: Path, kind: str) -> Iterator[Record]:
        raw = self._bytes(path)
        if raw is None:
            return
        data: Any = None
        if kind == RESULT_FILE:
            with suppress(UnicodeDecodeError):
                data = raw.decode("utf-8")
        else:
            with suppress(JsonError):
                data = [loads(line) for line in raw.split(b"\n") if line.strip()] if path.suffix == ".jsonl" else loads(raw)
        yield Record(kind, path.relative_to(self._tree.root).as_posix(), data, raw)

    def _bytes(self, path: Path, *, report: bool = True) -> bytes | None:
        """Return what a file beside a transcript holds, None where it can't be had; links are not followed."""
        try:
            fd = os.open(
                path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
            )
            with open(fd, "rb") as file:
                size = self._first_seen(path, os.fstat(file.fileno()))
                if size > _LARGEST:
                    if report:
                        self._told(str(path), f"it is left where it is: {size} bytes are too many to be taken into a session")
                    return None
                return file.read(size)
        except OSError as error:
            if report:
                self._told(str(path), f"it can't be read: {error.strerror or error}", 1)
            return None


def _meta_of(found: Found) -> Path:
    return found.path.with_name(f"{stem_of(found.path)}.meta.json")


def _is_agents(name: str) -> bool:
    """Return whether a file in a session's folder belongs to a subagent, which is a session of its own."""
    base = name.rpartition("/")[2]
    return (
        name.startswith("subagents/") and base.startswith("agent-") and (is_transcript_name(base) or base.endswith(".meta.json"))
    )


def _kind_of(name: str) -> str | None:
    """Return the kind of record that a file in a session's folder is, None for one that is none."""
    if _is_agents(name):
        return None
    if name.startswith("tool-results/"):
        return RESULT_FILE
    if name.endswith((".json", ".jsonl")):
        return "workflow" if "workflows/" in name else "meta"
    return None
