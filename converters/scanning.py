"""
Looks for secrets in the sessions of stores, and writes nothing: what an export would remove, by session, field and rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from satchel import pipeline
from satchel.contracts import Origins, Record, Redactor, Store
from satchel.events import Event, Listener, Problem, Progress, ignore
from satchel.redaction.report import STRENGTHS, Report
from satchel.selection import Selection
from satchel.sources import Source, open_all
from satchel.views import settled

__all__ = ["Place", "Seen", "places", "scan_stores"]


class Place(NamedTuple):
    """A field of a session that holds something: which rule says so, and how many times."""

    session: str
    field: str
    rule: str
    strength: str
    times: int


class Seen(NamedTuple):
    """How many sessions were looked at, and how many sessions or records could not be read."""

    sessions: int
    lost: int


def scan_stores(
    sources: Sequence[Source],
    selection: Selection,
    *,
    redactor: Redactor,
    report: Report | None = None,
    listen: Listener = ignore,
) -> Seen:
    """
    Go over the selected sessions as an export would; what is found is told to the report that the redactor was made with.

    Args:
        report: That report; it is cleared when a store changes meanwhile and all is read again.

    Raises:
        SatchelError: Nothing could be read, or a rule failed.
    """
    lost = 0

    def hear(event: Event) -> None:
        nonlocal lost
        if isinstance(event, Problem) and event.severity == "loss":
            lost += max(1, event.lost)
        listen(event)

    def look(private: bool) -> int:
        nonlocal lost
        lost = 0
        if report is not None:
            report.clear()
        with ExitStack() as stack:
            stores = list(open_all(stack, sources, listen=hear, private=private))
            plans = pipeline.plan(stores, selection, ended_only=not selection.takes_live)
            total, done = sum(map(len, plans)), 0
            for item in plans:
                for family in item.families:
                    _look(item.store, [session_id for segments in family for session_id in segments], redactor)
                    done += len(family)
                    listen(Progress(done, total))
                item.store.check()
        return done

    return Seen(settled(look, listen), lost)


def _look(store: Store, family: Sequence[str], redactor: Redactor) -> None:
    enter: Callable[[str], None] = getattr(redactor, "enter", _nobody)
    redactor.begin()
    for session_id in family:
        enter(session_id)
        for records in _all(store, session_id):
            redactor.learn(records)
    for session_id in family:
        enter(session_id)
        for records in _all(store, session_id):
            for _ in redactor.apply(records):
                pass


def _all(store: Store, session_id: str) -> Iterator[Iterator[Record]]:
    """Yield the records of a session, and those that it was made of, if they were kept."""
    yield store.records(session_id)
    kept = store.native(session_id) if isinstance(store, Origins) else None
    if kept is not None:
        yield kept


def _nobody(session_id: str) -> None:
    pass


def places(report: Report) -> list[Place]:
    """Return what a report has counted, by session, field and rule."""
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for name, session in report.sessions.items():
        for (rule, where, strength, _, _), count in session.hits.items():
            counts[name, where, rule, STRENGTHS[strength]] += count
    return [Place(*key, count) for key, count in sorted(counts.items())]
