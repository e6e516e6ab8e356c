"""
How much of a rollout was copied from another session: a fork, and a subagent that knows what its caller knew, begin with that.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import islice
from typing import Any

from satchel.contracts import Record
from satchel.formats.codex.plan import numbered
from satchel.formats.codex.scan import Facts
from satchel.formats.codex.shapes import second, shape, text_of
from satchel.formats.log_lines import LogFile, unheard
from satchel.jsontext import canonical

__all__ = ["Before", "before", "copied"]

_LATE = 2.0
"""So long after its first line, in seconds, a rollout's copies may still be written."""

Before = dict[int, list[int]]
"""The records of another session: by what they say, where they stand."""


def _said(kind: str, payload: dict[str, Any]) -> int:
    return hash((kind, canonical(payload)))


def before(logs: Iterable[LogFile]) -> Before:
    """Return what another session says."""
    found: Before = {}
    number = 0
    for log in logs:
        for record in log.records(report=unheard):
            number += 1
            if isinstance(record.data, dict):
                kind, payload, _ = shape(record.data)
                found.setdefault(_said(kind, payload), []).append(number)
    return found


def copied(log: LogFile, facts: Facts, others: Before | None, segment: int) -> list[tuple[int, int]]:
    """
    Return from where to where the records of a rollout are another session's.

    The ordinal that says so is taken at its word. Without one, records count that say what the other session's do, in its order,
    and were not written later; what stands between them belongs to them. Where that session is not there, a second header tells
    of copies, and they end with the second in which they were all written. A subagent without such a header has none: what its
    caller was told at the beginning too, it was told itself.
    """
    meta = facts.meta
    until = _ordinal(meta)
    has_header = until is None and (bool(facts.others) or _has_second_header(log))
    is_told = has_header and (meta.get("forked_from_id") is not None or facts.is_subagent)
    if until is None and not is_told and (not others or facts.is_subagent):
        return []
    start = end = 0
    last = 0
    begun: float | None = None
    is_matching = bool(others)
    is_guessing = not others and is_told
    for at, record in numbered(log.records(report=unheard), segment):
        data = record.data
        kind, payload, _ = shape(data)
        if begun is None and kind == "session_meta":
            begun = second(data.get("timestamp")) or second(payload.get("timestamp"))
            start = end = at + 1
            continue
        if until is not None and isinstance(data, dict) and type(ordinal := data.get("ordinal")) is int:
            if ordinal >= until:
                break
            end = at + 1
            continue
        if data is None:
            continue
        if is_matching and others is not None:
            place_there = _next(others.get(_said(kind, payload), ()), last)
            if _is_late(record, payload, begun):
                break
            if place_there is not None:
                last, end = place_there, at + 1
            elif _begins(kind, payload) or second(data.get("timestamp") if isinstance(data, dict) else None) is None:
                break
        elif is_guessing:
            if _is_late(record, payload, begun):
                break
            end = at + 1
        elif until is None:
            break
    return [(start, end)] if end > start else []


def _has_second_header(log: LogFile) -> bool:
    """Return whether another header follows the first at once, which may be longer than the beginning that was looked at."""
    first = list(islice(log.records(report=unheard), 2))
    return len(first) == 2 and all(shape(record.data)[0] == "session_meta" for record in first)


def _begins(kind: str, payload: dict[str, Any]) -> bool:
    """Return whether a line begins a turn; one that the other session does not have is the first of this one's own."""
    return kind == "turn_context" or payload.get("type") in ("task_started", "turn_started")


def _ordinal(meta: dict[str, Any]) -> int | None:
    for key in ("subagent_history_start_ordinal", "forked_from_ordinal_exclusive"):
        if key.startswith("forked") and isinstance(meta.get("history_base"), dict):
            # It refers to the other session, and has nothing of it.
            continue
        value = meta.get(key)
        if type(value) is int and value > 0 and text_of(meta.get("id")) is not None:
            return value
    return None


def _next(places: Iterable[int], last: int) -> int | None:
    held = list(places)
    index = bisect_left(held, last + 1)
    return held[index] if index < len(held) else None


def _is_late(record: Record, payload: dict[str, Any], begun: float | None) -> bool:
    time = second(record.data.get("timestamp")) if isinstance(record.data, dict) else None
    return time is not None and begun is not None and time > begun + _LATE
