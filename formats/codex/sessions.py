"""
Which sessions a folder's rollouts are: a thread may go on in several files, and a file may be a copy of another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING

from satchel.errors import StoreError
from satchel.formats.codex.document import Document
from satchel.formats.codex.files import Found, Name, Tree, name_of, stem_of
from satchel.formats.codex.scan import Facts, read
from satchel.formats.log_lines import LITTLE, LogFile

if TYPE_CHECKING:
    from satchel.contracts import Lineage
    from satchel.formats.codex.titles import Titles

__all__ = ["Part", "Session", "Sessions", "gather"]

Tell = Callable[[str, str, int], None]
"""Hears of something that is not as it should be: where, what, and how many sessions are lost by it."""


@dataclass(slots=True)
class Part:
    """A file of a session."""

    found: Found
    log: LogFile
    facts: Facts
    name: Name
    cut: tuple[int | None, int | None] | None = None
    """Where the next part went on from this one: the offset in bytes and the ordinal of what it left behind."""
    is_dead: bool = False
    """Whether the person went on from before all of it."""

    @property
    def rollout(self) -> str | None:
        """The id that later parts name this one by."""
        return self.name.part or self.facts.thread or self.name.thread


@dataclass(slots=True)
class Session:
    """A session: its files, the first one first."""

    id: str
    parts: list[Part]
    copies: list[Part] = field(default_factory=list)
    """Files that say nothing that is not in the others."""
    parent: str | None = None
    lineage: Lineage | None = None
    twin_of: str | None = None
    title: str | None = None
    titled_by: str | None = None

    @property
    def facts(self) -> Facts:
        """What the first file says."""
        return self.parts[0].facts

    @property
    def newest(self) -> Part:
        """The file that the session goes on in."""
        return self.parts[-1]


@dataclass(slots=True)
class Sessions:
    """The sessions of a tree by id; `empty` counts the files that hold nothing."""

    sessions: dict[str, Session] = field(default_factory=dict)
    empty: int = 0


def gather(tree: Tree, titles: Titles, *, tell: Tell) -> Sessions:
    """Look at every rollout of a tree."""
    out = Sessions()
    groups: dict[str, list[Part]] = {}
    for found in tree.rollouts:
        try:
            log = Document(found.path) if found.kind == "document" else LogFile(found.path, ahead=LITTLE)
            if not log.size:
                out.empty += 1
                continue
            facts = read(log)
        except StoreError as error:
            tell(str(found.path), error.message, 1)
            continue
        name = name_of(found.path)
        if facts.is_codex or found.path.name.startswith("rollout-") or len(tree.rollouts) == 1:
            groups.setdefault(facts.thread or name.thread or stem_of(found.path.name), []).append(Part(found, log, facts, name))
    for thread, parts in groups.items():
        _placed(out.sessions, thread, parts, tell)
    # A later part has an id of its own, by which others may name the thread that it is of.
    threads = {part.name.part: session.id for session in out.sessions.values() for part in session.parts}
    for session in out.sessions.values():
        _relate(session, titles, threads)
        _entitle(session, titles)
    return out


def _placed(sessions: dict[str, Session], thread: str, parts: list[Part], tell: Tell) -> None:
    later = [part for part in parts if part.name.part is not None or part.facts.base is not None]
    firsts = [part for part in parts if part not in later]
    session = Session(thread, [])
    first, twins = _picked(firsts, thread, session, tell)
    following: dict[str, list[Part]] = {}
    for part in later:
        following.setdefault(part.name.part or part.found.name, []).append(part)
    distinct: list[Part] = []
    for same in following.values():
        one, others = _picked(same, thread, session, tell)
        distinct += one
        twins += others
    session.parts = first + _chained(first, distinct, tell)
    sessions[thread] = session
    for other in twins:
        free = wanted = stem_of(other.found.path.name)
        number = 1
        while free in sessions:
            number += 1
            free = f"{wanted}~{number}"
        sessions[free] = Session(free, [other], twin_of=thread)
        tell(str(other.found.path), f"the session {thread} stands in {session.parts[0].found.name} too; both are read", 0)


def _picked(parts: list[Part], thread: str, session: Session, tell: Tell) -> tuple[list[Part], list[Part]]:
    """
    Return of files that should be the same the one to read, if there is any, and those that say something else.

    A file that is called as Codex calls it goes before copies, and the longest before others.
    """
    if len(parts) < 2:
        return parts, []

    def rank(part: Part) -> tuple[bool, bool, bool, int, bool, bool]:
        is_copy, is_called_otherwise = part.name.is_copy, part.name.thread != thread
        where = part.found.archived, part.log.compressed
        return part.facts.is_captured, is_copy, is_called_otherwise, -_length(part), *where

    picked, *others = sorted(parts, key=rank)
    copies: list[Part] = []
    twins: list[Part] = []
    for other in others:
        if other.facts.is_captured and not picked.facts.is_captured:
            tell(str(other.found.path), f"it was printed by the session in {picked.found.name}, which is read", 0)
            session.copies.append(other)
        elif _is_beginning(other.log, picked.log):
            copies.append(other)
        elif _is_beginning(picked.log, other.log):
            # The session went on in the file that is called otherwise.
            copies.append(picked)
            picked = other
        else:
            twins.append(other)
    copies += [twin for twin in twins if _is_beginning(twin.log, picked.log)]
    for copy in copies:
        tell(str(copy.found.path), f"it is a copy of {picked.found.name}, which is read", 0)
    session.copies += copies
    return [picked], [twin for twin in twins if twin not in copies]


def _length(part: Part) -> int:
    if not part.log.compressed:
        return part.log.size
    length = 0
    with suppress(StoreError):
        for line in part.log.lines():
            length += len(line)
    return length


def _is_beginning(copy: LogFile, of: LogFile) -> bool:
    """Return whether a file is another, or what that was before it grew."""
    if not copy.compressed and not of.compressed and copy.size > of.size:
        return False
    try:
        for one, other in zip_longest(copy.lines(), of.lines()):
            if one is None:
                return True
            if one != other:
                return False
    except StoreError:
        return False
    return True


def _chained(first: list[Part], later: list[Part], tell: Tell) -> list[Part]:
    """Return the later parts in order, with what each left behind of the one that it went on from."""
    later = sorted(later, key=lambda part: (part.name.stamp, part.facts.started or 0.0, part.found.name))
    order = first + later
    if len(order) < 2:
        return later
    named = {part.rollout: part for part in order}
    alive = {id(order[-1])}
    at = order[-1]
    while at.facts.base is not None or at.name.part is not None:
        base = at.facts.base or {}
        before = named.get(base.get("thread_id")) if isinstance(base.get("thread_id"), str) else None
        if before is None and at is not order[0]:
            # Nothing says which it goes on from: the one before it.
            before = order[order.index(at) - 1]
        if before is None or id(before) in alive:
            break
        offset, ordinal = base.get("end_byte_offset"), base.get("end_ordinal_exclusive")
        before.cut = (offset if type(offset) is int else None, ordinal if type(ordinal) is int else None)
        alive.add(id(before))
        at = before
    for part in order:
        part.is_dead = id(part) not in alive
    return later


def _relate(session: Session, titles: Titles, threads: Mapping[str | None, str]) -> None:
    facts = session.facts
    if session.twin_of is not None:
        return
    forked = facts.meta.get("forked_from_id")
    fork = forked if isinstance(forked, str) and forked and forked != session.id else None
    base = facts.base
    if fork is None and base is not None and isinstance(base.get("thread_id"), str) and len(session.parts) == 1:
        # A later part whose first one is gone names itself.
        thread = threads.get(base["thread_id"], base["thread_id"])
        fork = thread if thread != session.id and session.parts[0].name.part is None else None
    root = facts.meta.get("session_id")
    caller = facts.parent or (titles.parents.get(session.id) if fork is None else None)
    if facts.is_subagent or (caller is not None and caller != session.id):
        parent = caller or fork or (root if isinstance(root, str) and root else None)
        if parent is not None and parent != session.id:
            session.parent, session.lineage = parent, "delegate"
        elif facts.is_machine:
            session.lineage = "delegate"
    elif fork is not None:
        session.parent, session.lineage = fork, "branch"


def _entitle(session: Session, titles: Titles) -> None:
    """Give a session its title: the name a person gave, else Codex' own, else the first prompt."""
    named = next((part.facts.name for part in reversed(session.parts) if part.facts.name), None)
    given = titles.names.get(session.id)
    prompt = next((part.facts.prompt for part in session.parts if part.facts.prompt), None)
    from satchel.formats.codex.scan import short

    for title, by in (
        (given, "name"),
        (named if session.id not in titles.names else None, "name"),
        (titles.titles.get(session.id), "title"),
        (prompt, "prompt"),
    ):
        if title and short(title):
            session.title, session.titled_by = short(title), by
            return
