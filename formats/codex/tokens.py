"""
Counts the tokens of a rollout.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from satchel.contracts import Usage
from satchel.formats.codex.shapes import text_of

__all__ = ["Tokens"]

_COUNTS = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens", "reasoning_output_tokens")
_NONE = (0, 0, 0, 0, 0)
Vector = tuple[int, ...]


class Tokens:
    """
    Counts tokens once.

    An event has the sum over the thread and the last request's; the same sum again is the same request. A record of its own for
    each answer, in newer rollouts, says it better, and beside it the events say nothing new.
    """

    def __init__(self, usage: dict[int, Usage]) -> None:
        self._usage = usage
        """What belongs to which answer, by its place."""
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
                self._put(at, counts)
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
            self._put(self._answer, counts)
            self._answer = None
        elif any(counts):
            self._unplaced.append((at, counts))

    def _put(self, at: int, counts: Vector) -> None:
        held = self._usage.get(at)
        new = _usage(counts)
        self._usage[at] = new if held is None else _plus(held, new)

    def finish(self, events: list[int]) -> Usage:
        """Place what is left: with the last answer, or without any with the event before that stands for one; return the sum."""
        for at, counts in self._unplaced:
            if self._last:
                self._put(self._last, counts)
            elif events:
                self._put(events[max(0, bisect_right(events, at) - 1)], counts)
        return _usage(tuple(self._all))


def _vector(value: Any) -> Vector | None:
    if type(value) is not dict:
        return None
    given = map(value.get, _COUNTS)
    return tuple([count if type(count) is int and count > 0 else 0 for count in given])


def _usage(counts: Vector) -> Usage:
    given, cached, written, made, thought = counts
    return Usage(input=max(0, given - cached), output=made, cache_read=cached, cache_write=written, reasoning=thought)


def _plus(one: Usage, other: Usage) -> Usage:
    return Usage(
        input=one.input + other.input,
        output=one.output + other.output,
        cache_read=one.cache_read + other.cache_read,
        cache_write=one.cache_write + other.cache_write,
        reasoning=one.reasoning + other.reasoning,
    )
