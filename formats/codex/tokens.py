"""
Counts the tokens of a rollout.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import Any

from satchel.contracts import Usage
from satchel.formats.codex.shapes import text_of
from satchel.frozen import maker

__all__ = ["Spent", "Tokens"]

_made = maker(Usage)
_COUNTS = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens", "reasoning_output_tokens")
_NONE = (0, 0, 0, 0, 0)
_MOST = 1 << 62
"""Nobody spent so many: a count that is larger is nonsense, and no 64 bits hold the sum of two."""
_FEW = 1 << 32
Vector = tuple[int, ...]


class Spent:
    """What was spent on which answer, by its place: in a few bytes each, since a long rollout has very many."""

    __slots__ = ("_counts", "_more", "_next", "_places")

    def __init__(self) -> None:
        self._places = array("q")
        self._counts = array("I")
        self._more: dict[int, Vector] = {}
        """What came later, or is too much for the others."""
        self._next = 0
        """Where the next answer that is asked for is likely to be: mostly they are asked for in order."""

    def put(self, at: int, counts: Vector) -> None:
        """Add to what was spent on an answer."""
        places, held = self._places, self._counts
        if (not places or at > places[-1]) and max(counts) < _FEW:
            places.append(at)
            held.extend(counts)
        else:
            self._more[at] = _sum(self._more.get(at, _NONE), counts)

    def get(self, at: int) -> Usage | None:
        """Return what was spent on an answer, None where nobody says."""
        places, index = self._places, self._next
        if not (index < len(places) and places[index] >= at and (not index or places[index - 1] < at)):
            index = bisect_left(places, at)
        there = index < len(places) and places[index] == at
        self._next = index + there
        more = self._more.get(at) if self._more else None
        if not there:
            return None if more is None else _usage(more)
        size = len(_COUNTS)
        held = tuple(self._counts[index * size : index * size + size])
        return _usage(held if more is None else _sum(held, more))


class Tokens:
    """
    Counts tokens once.

    An event has the sum over the thread and the last request's; the same sum again is the same request. A record of its own for
    each answer, in newer rollouts, says it better, and beside it the events say nothing new.
    """

    def __init__(self, spent: Spent) -> None:
        self._spent = spent
        self._sum: Vector | None = None
        self._seen: set[str] = set()
        self._told: Vector | None = None
        """What a record said that has no sum: the event on the same request is yet to come."""
        self._answer: int | None = None
        self._unplaced: list[tuple[int, Vector]] = []
        self._last = 0
        self._all = [0, 0, 0, 0, 0]

    def answer(self, at: int) -> None:
        """Hear of something the model gave."""
        self._last = at
        if self._unplaced:
            for _, counts in self._unplaced:
                self._spent.put(at, counts)
            self._unplaced.clear()
        else:
            self._answer = at

    def count(self, at: int, payload: dict[str, Any], *, copied: bool) -> None:
        """Take an event."""
        info = payload.get("info")
        if not isinstance(info, dict):
            return
        total, last = _vector(info.get("total_token_usage")), _vector(info.get("last_token_usage"))
        if total is not None and total == self._sum:
            return
        if last is None and total is not None:
            before = self._sum or _NONE
            fell = any(new < old for new, old in zip(total, before, strict=True))
            last = total if fell else tuple(new - old for new, old in zip(total, before, strict=True))
        if total is not None:
            self._sum = total
        if last is None or copied:
            return
        if self._told == last:
            self._told = None
            return
        self._told = None
        self._add(at, last)

    def record(self, at: int, payload: dict[str, Any], *, copied: bool) -> None:
        """Take a record on one answer."""
        id = text_of(payload.get("response_id"))
        used, total = _vector(payload.get("usage")), _vector(payload.get("thread_token_usage"))
        if used is None or (id is not None and id in self._seen):
            return
        if id is not None:
            self._seen.add(id)
        if total is not None and total == self._sum:
            return
        if total is not None:
            self._sum = total
        if copied:
            return
        self._told = used
        self._add(at, used)

    def _add(self, at: int, counts: Vector) -> None:
        for i, count in enumerate(counts):
            self._all[i] += count
        if self._answer is not None:
            self._spent.put(self._answer, counts)
            self._answer = None
        elif any(counts):
            self._unplaced.append((at, counts))

    def restart(self) -> None:
        """Hear that another thread goes on from here: its sums are its own."""
        self._sum = None

    def finish(self, events: list[int]) -> Usage:
        """Place what is left: with the last answer, or without any with the event before that stands for one; return the sum."""
        for at, counts in self._unplaced:
            if self._last:
                self._spent.put(self._last, counts)
            elif events:
                self._spent.put(events[max(0, bisect_right(events, at) - 1)], counts)
        return _usage(tuple(self._all))


def _vector(value: Any) -> Vector | None:
    if type(value) is not dict:
        return None
    found = tuple([value.get(key, 0) for key in _COUNTS])
    for count in found:
        if type(count) is not int or not 0 <= count < _MOST:
            return tuple([count if type(count) is int and 0 < count < _MOST else 0 for count in found])
    return found


def _sum(one: Vector, other: Vector) -> Vector:
    return tuple([min(first + second, _MOST) for first, second in zip(one, other, strict=True)])


def _usage(counts: Vector) -> Usage:
    given, cached, written, made, thought = counts
    return _made(input=max(0, given - cached), output=made, cache_read=cached, cache_write=written, reasoning=thought)
