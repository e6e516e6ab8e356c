"""
Tells apart what was said from what compaction stored again.

Compaction begins a new stretch of a conversation with copies of the first messages (sometimes), a summary, and copies of the last
messages. Shown naively, those appear twice. A copy is a message that repeats the stretch before, in order, right before or right
after a summary; a person who says the same thing again is no copy. So a message that stands alone after a summary is a copy only
when it was the stretch's last.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from satchel.formats.model import Message, plain_text

__all__ = ["Carried", "copies", "says"]

Item = TypeVar("Item")


class Carried(Generic[Item]):
    """Takes messages in order and gives them back, sometimes later, each with whether it is a copy."""

    def __init__(self) -> None:
        self._stretch: list[int] = []
        self._before: list[int] = []
        self._at = 0
        self._after_summary = False
        self._pending: list[tuple[Item, int]] = []
        # What may be copies after a summary, until it is known how far the repetition goes.
        self._run: list[tuple[Item, int]] = []

    def take(self, item: Item, *, says: Hashable, summary: bool) -> list[tuple[Item, bool]]:
        """
        Take the next message.

        Args:
            says: What it says; equal for a message and its copy.
            summary: It is a compaction summary.
        """
        mark = hash(says)
        if summary:
            out = self._end_run() + [(held, True) for held, _ in self._pending]
            self._before, self._stretch = self._stretch, [held for _, held in self._pending]
            self._at = len(self._pending)
            self._pending.clear()
            self._after_summary = True
            return [*out, (item, False)]
        out = []
        if self._after_summary:
            try:
                self._at = self._before.index(mark, self._at) + 1
            except ValueError:
                out = self._end_run()
            else:
                self._run.append((item, mark))
                return self._end_run() if self._at == len(self._before) else []
        if self._pending:
            at = len(self._pending)
            if at < len(self._stretch) and self._stretch[at] == mark:
                self._pending.append((item, mark))
                return []
            out = self.end()
        if self._stretch and self._stretch[0] == mark:
            self._pending.append((item, mark))
            return out
        self._stretch.append(mark)
        return [*out, (item, False)]

    def end(self) -> list[tuple[Item, bool]]:
        """Give back what was held: the repetition led to no summary, so it was said."""
        out = self._end_run() + [(held, False) for held, _ in self._pending]
        self._stretch += [mark for _, mark in self._pending]
        self._pending.clear()
        return out

    def _end_run(self) -> list[tuple[Item, bool]]:
        """Give back what repeated the stretch before after a summary."""
        copied = len(self._run) > 1 or self._at == len(self._before)
        out = [(held, copied) for held, _ in self._run]
        self._stretch += [mark for _, mark in self._run]
        self._run.clear()
        self._after_summary = False
        return out


def copies(said: Iterable[tuple[Hashable, bool]]) -> bytearray:
    """Return for each message, given as what it says and whether it is a summary, 1 when it is a copy and 0 when it is not."""
    carried: Carried[None] = Carried()
    out = bytearray()
    for says, summary in said:
        out.extend(copy for _, copy in carried.take(None, says=says, summary=summary))
    out.extend(copy for _, copy in carried.end())
    return out


def says(message: Message) -> tuple[Hashable, bool]:
    """Return what `copies` is told of a message: what it says, and whether it is a summary."""
    return (message.role, plain_text(message.blocks), len(message.blocks)), bool(message.extra.get("summary"))
