"""
What events say was said, which mostly an item of the conversation says too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

__all__ = ["END", "SCREEN", "THREAD", "Event", "Window", "told_once"]

SCREEN, THREAD, END = range(3)
"""Kinds of events that say the same: those for the screen, items of threads, ends of turns."""


class Window:
    """A turn, as far as that is marked: what kinds of items it has."""

    __slots__ = ("kinds",)

    def __init__(self) -> None:
        self.kinds: frozenset[str] = frozenset()

    def add(self, kind: str) -> None:
        """Take a kind of items. Very many turns share the few sets that there are."""
        if kind not in self.kinds:
            kinds = self.kinds | {kind}
            self.kinds = _SETS.setdefault(kinds, kinds)


_SETS: dict[frozenset[str], frozenset[str]] = {}


class Event(NamedTuple):
    """What an event says was said: where it stands, as which record, in which turn, whose word it is; and what kind of event."""

    at: int
    number: int
    window: Window
    kind: str
    text: int
    teller: int


def told_once(events: Iterable[Event]) -> Iterator[int]:
    """
    Yield of events that stand for items those that say each thing once.

    Of what several kinds of events say in a turn, the kind counts that says it most often. A thought may be one event in parts
    or whole: of thoughts, the kind that came first.
    """
    groups: dict[tuple[int, str, int], dict[int, list[int]]] = {}
    for event in events:
        text = 0 if event.kind == "reasoning" else event.text
        tellers = groups.setdefault((id(event.window), event.kind, text), {})
        tellers.setdefault(event.teller, []).append(event.at)
    for (_, kind, _), tellers in groups.items():
        yield from next(iter(tellers.values())) if kind == "reasoning" else max(tellers.values(), key=len)
