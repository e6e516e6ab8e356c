"""
What people look at: lists, previews and totals over opened stores. Data only; printing is the command line's.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, TypeVar

from satchel.contracts import Beside, SessionInfo, Store
from satchel.errors import StoreChanged
from satchel.events import Event, Listener, Problem, ignore
from satchel.formats.model import Message, plain_text
from satchel.formats.parted import rows
from satchel.frozen import frozen
from satchel.selection import Selection, Tally, select
from satchel.sources import Source, open_all
from satchel.timetext import age, iso_utc

__all__ = [
    "Figures",
    "Listing",
    "Losses",
    "ModelFigures",
    "Row",
    "Statistics",
    "lacking",
    "listing",
    "place",
    "preview",
    "scan",
    "settled",
    "statistics",
]

_TRIES = 3
_PREVIEW = 200
_PLACE = "satchel.store"


@frozen(frozen=True, slots=True)
class Row:
    """
    A line of a list: a session and the beginning of what it is about.

    `only_in_files` counts messages that its database lacks, and files beside that hold.
    """

    info: SessionInfo
    preview: str
    only_in_files: int = 0

    def cells(self, now: float) -> tuple[str, ...]:
        """Return title, preview, number of messages, age, source and id, as text."""
        info = self.info
        marks = ("* " if info.pinned else "") + ("(archived) " if info.archived else "")
        return (
            marks + (info.title or "—"),
            self.preview or "—",
            str(info.messages if info.messages is not None else "") + (f"+{self.only_in_files}" if self.only_in_files else ""),
            ("live, " if info.live else "") + age(info.last_active, now),
            info.source or "",
            info.id,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the row as JSON-ready keys."""
        info = self.info
        return {
            "id": info.id,
            "title": info.title,
            "preview": self.preview,
            "agent": info.agent,
            "format": info.format,
            "source": info.source,
            "store": info.store,
            "profile": info.profile,
            "started_at": iso_utc(info.started_at) or None,
            "ended_at": iso_utc(info.ended_at) or None,
            "last_active": iso_utc(info.last_active) or None,
            "end_reason": info.end_reason,
            "live": info.live,
            "archived": info.archived,
            "pinned": info.pinned,
            "message_count": None if info.messages is None else info.messages + (info.compacted or 0) + (info.rewound or 0),
            "compacted": info.compacted,
            "rewound": info.rewound,
            "only_in_files": self.only_in_files,
            "tool_calls": info.tool_calls,
            "tokens": info.usage.input + info.usage.output,
            "cost": info.cost,
            "model": info.model,
            "cwd": info.cwd,
            "git_branch": info.git_branch,
            "parent": info.parent,
            "lineage": info.lineage,
            "damaged": info.damaged,
        }


@dataclass(slots=True)
class Listing:
    """A list of sessions; `more` counts those beyond the limit, `lost` what could not be read."""

    rows: list[Row] = field(default_factory=list)
    more: int = 0
    lost: int = 0
    tally: Tally = field(default_factory=Tally)


class Losses:
    """A listener that counts what could not be read, and passes every event on."""

    def __init__(self, listen: Listener) -> None:
        self._listen = listen
        self.lost = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, Problem) and event.severity == "loss":
            self.lost += max(1, event.lost)
        self._listen(event)


Result = TypeVar("Result")


def settled(look: Callable[[bool], Result], listen: Listener) -> Result:
    """
    Call `look(private)` until what it read is one state of each store: again when one changed, the last time on private copies.

    Raises:
        StoreChanged: A store changed all the time, even while it was copied.
    """
    for attempt in range(1, _TRIES):
        try:
            return look(False)
        except StoreChanged as error:
            listen(Problem(str(error.subject or "a store"), f"it changed while it was read: it is read again ({attempt + 1})"))
    return look(True)


def listing(sources: Sequence[Source], selection: Selection, *, limit: int, listen: Listener = ignore) -> Listing:
    """
    List the sessions of several stores, the last active one first.

    Args:
        limit: How many at the most, 0 for all; pinned ones come on top of it.
    """
    return settled(lambda private: _listing(sources, selection, limit, listen, private), listen)


def _listing(sources: Sequence[Source], selection: Selection, limit: int, listen: Listener, private: bool) -> Listing:
    found = Listing()
    hear = Losses(listen)
    with ExitStack() as stack:
        stores = [store for _, store in open_all(stack, sources, listen=hear, private=private)]
        # Only what is shown is kept: a scan makes many thousand infos.
        kept: list[tuple[float, str, int, SessionInfo, Store]] = []
        pinned: list[tuple[float, str, int, SessionInfo, Store]] = []
        count = 0
        # Whoever names a session wants to see it.
        hidden = not selection.include_archived and not selection.session_ids
        # To count the messages of a log is to read it: only those are counted that are shown.
        infos = scan(stores, cheaply=not selection.needs_counts)
        for info in select(infos, selection, ended_only=False, hide_archived=hidden, tally=found.tally):
            count += 1
            newest = info.last_active or info.ended_at or info.started_at or 0.0
            item = (newest, info.id, count, info, stores[place(info)])
            if not limit or len(kept) < limit:
                heapq.heappush(kept, item)
            else:
                item = heapq.heappushpop(kept, item)
                if item[3].pinned:
                    pinned.append(item)
        for _, _, _, info, store in sorted([*kept, *pinned], reverse=True):
            counted = info if info.messages is not None else store.session(info.id)
            only = sum(rows(message) for message in lacking(stores, store, info.id))
            found.rows.append(Row(counted, preview(store, info.id), only))
        found.more = count - len(found.rows)
        for store in stores:
            store.check()
    found.lost = hear.lost
    return found


def scan(stores: Sequence[Store], *, counts: bool = True, cheaply: bool = False) -> Iterator[SessionInfo]:
    """
    Yield the sessions of several stores, one after the other; `place` gives the store's number back.

    Args:
        cheaply: Leave those uncounted that would have to be read for it.
    """
    for at, store in enumerate(stores):
        for info in store.sessions(counts=counts and (not cheaply or store.conversation != "line")):
            info.extra = {**info.extra, _PLACE: at}
            yield info


def place(info: SessionInfo) -> int:
    """Return which of the stores of a `scan` the session is in."""
    return int(info.extra[_PLACE])


def lacking(stores: Sequence[Store], database: Store, session_id: str) -> Iterator[Message]:
    """Yield the messages of a session that a database lacks, and files beside it hold, if they are among the opened stores."""
    for store in stores:
        if isinstance(store, Beside) and store.database is database:
            yield from store.lacking(session_id)


def preview(store: Store, session_id: str) -> str:
    """Return the beginning of the first thing a person wrote in a session, on one line."""
    for entry in store.decode(store.records(session_id)):
        if isinstance(entry, Message) and entry.author == "person":
            text = _first_words(plain_text(entry.blocks, injected=False))
            if text:
                return text
    return ""


def _first_words(text: str) -> str:
    """Return the beginning of a text on one line; of a text of many megabytes no more than that is gone through."""
    words: list[str] = []
    room = _PREVIEW
    for match in re.finditer(r"\S+", text):
        words.append(text[match.start() : min(match.end(), match.start() + room)])
        room -= len(words[-1]) + 1
        if room <= 0:
            break
    return " ".join(words)[:_PREVIEW]


# ---------------------------------------------------------------------------------------------------------- totals


@dataclass(slots=True)
class ModelFigures:
    """Totals of the sessions whose last model is one and the same; costs in US dollars."""

    sessions: int = 0
    messages: int = 0
    input: int = 0
    output: int = 0
    cost: float = 0.0


@dataclass(slots=True, kw_only=True)
class Figures:
    """
    Totals over the sessions of one store, or of several.

    Attributes:
        bytes: Size of the store's file; for a database without what lies beside it.
        messages: Of every state; of these `compacted` and `rewound` are out of the model's sight, and `beside` of the latter were
            not taken back but stand beside the main line.
        cost: US dollars: the actual cost of a session, else the estimated one.
        oldest: The earliest start; `newest` is the latest activity, both in seconds since the epoch.
        sources, models: By name; None where a session has none.
    """

    label: str = ""
    format: str = ""
    profile: str | None = None
    bytes: int = 0
    sessions: int = 0
    live: int = 0
    archived: int = 0
    pinned: int = 0
    messages: int = 0
    compacted: int = 0
    rewound: int = 0
    beside: int = 0
    tool_calls: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    cost: float = 0.0
    oldest: float | None = None
    newest: float | None = None
    sources: Counter[str | None] = field(default_factory=Counter)
    models: dict[str | None, ModelFigures] = field(default_factory=dict)

    def add(self, info: SessionInfo) -> None:
        """Take one session in."""
        messages = (info.messages or 0) + (info.compacted or 0) + (info.rewound or 0)
        self.sessions += 1
        self.live += info.live
        self.archived += info.archived
        self.pinned += info.pinned
        self.messages += messages
        self.compacted += info.compacted or 0
        self.rewound += info.rewound or 0
        self.beside += int(info.extra.get("beside", 0))
        self.tool_calls += info.tool_calls
        for name in ("input", "output", "cache_read", "cache_write", "reasoning"):
            setattr(self, name, getattr(self, name) + getattr(info.usage, name))
        self.cost += info.cost or 0.0
        # Times that no calendar has are shown nowhere.
        if info.started_at is not None and iso_utc(info.started_at):
            self.oldest = info.started_at if self.oldest is None else min(self.oldest, info.started_at)
        if info.last_active is not None and iso_utc(info.last_active):
            self.newest = info.last_active if self.newest is None else max(self.newest, info.last_active)
        self.sources[info.source or None] += 1
        model = self.models.setdefault(info.model or None, ModelFigures())
        model.sessions += 1
        model.messages += messages
        model.input += info.usage.input
        model.output += info.usage.output
        model.cost += info.cost or 0.0

    def by_source(self) -> list[tuple[str | None, int]]:
        """Return how many sessions each source has, in falling order."""
        return sorted(self.sources.items(), key=lambda item: (-item[1], item[0] or ""))

    def by_model(self) -> list[tuple[str | None, ModelFigures]]:
        """Return the models, the one with the most tokens first."""
        return sorted(self.models.items(), key=lambda item: (-item[1].input - item[1].output, -item[1].sessions, item[0] or ""))

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as JSON-ready keys."""
        return {
            "sessions": self.sessions,
            "live": self.live,
            "ended": self.sessions - self.live,
            "archived": self.archived,
            "pinned": self.pinned,
            "messages": self.messages,
            "compacted": self.compacted,
            "rewound": self.rewound,
            "tool_calls": self.tool_calls,
            "tokens": {
                "input": self.input,
                "output": self.output,
                "cache_read": self.cache_read,
                "cache_write": self.cache_write,
                "reasoning": self.reasoning,
            },
            "cost": self.cost,
            "oldest": iso_utc(self.oldest),
            "newest": iso_utc(self.newest),
            "bytes": self.bytes,
            "sources": [{"source": source, "sessions": sessions} for source, sessions in self.by_source()],
            "models": [
                {
                    "model": model,
                    "sessions": of.sessions,
                    "messages": of.messages,
                    "input": of.input,
                    "output": of.output,
                    "cost": of.cost,
                }
                for model, of in self.by_model()
            ],
        }


@dataclass(slots=True)
class Statistics:
    """The figures of all sessions that were chosen, and of each store; `lost` counts what could not be read."""

    total: Figures
    stores: list[Figures]
    lost: int
    tally: Tally


def statistics(sources: Sequence[Source], selection: Selection, *, listen: Listener = ignore) -> Statistics:
    """
    Count what the sessions of several stores hold; live and archived ones too.

    Raises:
        StoreError: None of the stores can be read.
    """
    return settled(lambda private: _statistics(sources, selection, listen, private), listen)


def _statistics(sources: Sequence[Source], selection: Selection, listen: Listener, private: bool) -> Statistics:
    hear = Losses(listen)
    tally = Tally()
    total, each = Figures(), list[Figures]()
    with ExitStack() as stack:
        opened = list(open_all(stack, sources, listen=hear, private=private))
        stores = [store for _, store in opened]
        for source, store in opened:
            octets = store.facts().get("bytes") or source.path.stat().st_size
            figures = Figures(label=store.label, format=store.format, profile=source.profile, bytes=octets)
            total.bytes += figures.bytes
            each.append(figures)
        for info in select(scan(stores), selection, ended_only=False, hide_archived=False, tally=tally):
            total.add(info)
            each[place(info)].add(info)
        for store in stores:
            store.check()
    return Statistics(total, each, hear.lost, tally)
