"""
Which sessions a tree of Claude Code's files holds, how they hang together, and what they are called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from satchel.errors import StoreError
from satchel.formats.claude_code.files import Found, Tree, is_uuid, stem_of
from satchel.formats.claude_code.scan import Facts, read, title
from satchel.formats.log_lines import LITTLE, LogFile

if TYPE_CHECKING:
    from satchel.contracts import Lineage

__all__ = ["Session", "Sessions", "gather"]

_MOST_RELATIVES = 200
Tell = Callable[[str, str, int], None]
"""Hears of something that is not as it should be: where, what, and how many records or sessions are lost by it."""


@dataclass(slots=True)
class Session:
    """A session: its transcript and what a look at that said."""

    id: str
    found: Found
    log: LogFile
    facts: Facts
    parent: str | None = None
    lineage: Lineage | None = None
    twin_of: str | None = None
    """The session of the same id that stands in another file."""
    relatives: tuple[str, ...] = ()
    """Sessions before it from which it may have copies."""
    is_compared: bool = False
    """Whether it is one of these for another."""
    title: str | None = None
    titled_by: str | None = None


@dataclass(slots=True)
class Sessions:
    """The sessions of a tree by id; `empty` counts the files that hold nothing."""

    sessions: dict[str, Session] = field(default_factory=dict)
    empty: int = 0

    def names(self) -> set[str]:
        """Return every session of which there is a transcript, or another that goes on from it and has all of it."""
        main = (session for session in self.sessions.values() if not session.found.is_agent)
        return {name for session in main for name in (session.id, session.facts.session, session.facts.named) if name}


def gather(tree: Tree, *, tell: Tell) -> Sessions:
    """Look at every transcript of a tree."""
    out = Sessions()
    some: list[tuple[Found, LogFile, Facts]] = []
    for found in tree.transcripts:
        try:
            log = LogFile(found.path, ahead=LITTLE)
            facts = read(log)
        except StoreError as error:
            tell(str(found.path), error.message, 1)
            continue
        if not log.size:
            out.empty += 1
        elif not _is_one(found, facts):
            # Where Claude Code keeps its sessions, whatever is called as they are may be one of a version to come.
            if is_uuid(stem_of(found.path)) and found.is_at_home and not found.path.is_symlink():
                some.append((found, log, facts))
            elif found.is_at_home:
                tell(str(found.path), "none of its lines that were looked at is a session's; it is left out", 0)
        elif not (found.is_agent and tree.only not in (None, found.session, facts.session)):
            some.append((found, log, facts))
    # A file that is named after its session goes before others that name the same one.
    some.sort(key=lambda item: (not is_uuid(stem_of(item[0].path)), item[0].name))
    for found, log, facts in some:
        session = _placed(out.sessions, found, log, facts)
        out.sessions[session.id] = session
        if session.twin_of is not None:
            other = out.sessions[session.twin_of].found.name
            tell(str(found.path), f"the session {session.twin_of} stands in {other} too; both are read", 0)
    _relate(out.sessions)
    _entitle(out.sessions)
    return out


def _is_one(found: Found, facts: Facts) -> bool:
    """Return whether a file is a transcript, and find out whether it is a subagent's."""
    if not found.is_sure:
        beside = facts.is_sidechain and not facts.has_main
        found.is_agent = beside or (found.is_agent and (facts.agent is not None or not facts.has_main))
    # Where nothing can be read, the name decides.
    return not facts.is_foreign and (facts.is_claude or found.is_sure or found.session is not None)


def _placed(sessions: dict[str, Session], found: Found, log: LogFile, facts: Facts) -> Session:
    stem = stem_of(found.path)
    if found.is_agent:
        said = facts.session if facts.session is not None and not facts.session.startswith("agent-") else None
        parent = found.session or said
        agent = stem.removeprefix("agent-") if stem.startswith("agent-") else facts.agent or stem
        wanted = f"{parent}.agent-{agent}" if parent else stem
        return Session(_free(sessions, wanted), found, log, facts, parent, "delegate" if parent else None)
    wanted = stem if is_uuid(stem) else facts.session or facts.named or stem
    twin = wanted if wanted in sessions else None
    if twin is not None and stem not in sessions:
        wanted = stem
    return Session(_free(sessions, wanted), found, log, facts, twin_of=twin)


def _free(sessions: dict[str, Session], wanted: str) -> str:
    """Return an id that is not taken: this one, or with a number behind it."""
    number, free = 1, wanted
    while free in sessions:
        number += 1
        free = f"{wanted}~{number}"
    return free


def _relate(sessions: dict[str, Session]) -> None:
    """Find out which sessions go on from which, and which may hold copies of others' lines."""
    by_mark: dict[str, list[str]] = {}
    for key, session in sessions.items():
        for mark in session.facts.marks:
            by_mark.setdefault(mark, []).append(key)
        said, forked = session.facts.session, session.facts.forked_from
        if session.found.is_agent or session.twin_of is not None:
            continue
        if forked is not None and forked != key:
            session.parent, session.lineage = forked, "branch"
        elif said is not None and said != key and is_uuid(key):
            session.parent, session.lineage = said, "continuation"
    shared: dict[str, set[str]] = {}
    for keys in by_mark.values():
        if len(keys) > 1:
            for key in keys:
                shared.setdefault(key, set()).update(keys)
    ranks = {key: _rank(sessions, session) for key, session in sessions.items()}
    for key, session in sessions.items():
        others = shared.get(key, set())
        if session.parent is not None and not session.found.is_agent:
            others = others | {session.parent}
        before = [other for other in others if other in sessions and ranks[other] < ranks[key]]
        session.relatives = tuple(sorted(before, key=ranks.__getitem__))[-_MOST_RELATIVES:]
        for other in session.relatives:
            sessions[other].is_compared = True
        if session.parent is None and session.relatives and not session.found.is_agent and session.twin_of is None:
            session.parent, session.lineage = session.relatives[-1], "continuation"


def _rank(sessions: dict[str, Session], session: Session) -> tuple[int, float, float, str]:
    """Return what orders sessions that hold the same lines: the one that the others are copied from comes first."""
    depth, seen, at = 0, {session.id}, session.parent
    while at is not None and at in sessions and at not in seen and depth < 100:
        seen.add(at)
        depth += 1
        at = sessions[at].parent
    return depth, session.facts.newest or 0.0, session.log.modified, session.id


def _entitle(sessions: dict[str, Session]) -> None:
    """Give every session its title; a summary belongs to the file that has the line it is of."""
    owners: dict[str, str] = {}
    wanted = {leaf for session in sessions.values() for leaf, _ in session.facts.summaries}
    for key, session in sessions.items():
        for leaf in session.facts.ids & wanted:
            owners.setdefault(leaf, key)
        session.facts.ids = set()
    given: dict[str, list[str]] = {}
    for key, session in sessions.items():
        for leaf, summary in session.facts.summaries:
            given.setdefault(owners.get(leaf, key), []).append(summary)
    for key, session in sessions.items():
        session.title, session.titled_by = title(session.facts, given.get(key, ()))
