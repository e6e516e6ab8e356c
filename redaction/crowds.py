"""
Very many places of one text, where the same word stands over and over: most of them are looked at in no time.
"""

from __future__ import annotations

from typing import AnyStr, Generic

__all__ = ["CROWD", "OFTEN", "Crowd", "repeated_until"]

CROWD = 64
"""So many places at most are each looked at for themselves."""
OFTEN = 16
"""So often nothing was found where the same stands around, and nothing is looked for there any more."""
_MOST = 4096


class Crowd(Generic[AnyStr]):
    """
    Remembers what stands around the places of a text at which nothing is: where the same stands again, nothing is either. And
    what stands around those at which something is.

    Args:
        left, right: How many characters before and behind a place are compared.
        enough: So often nothing was found at such a place.
    """

    __slots__ = ("_around", "_before", "_enough", "_left", "_nothing", "_right", "_something", "_text")

    def __init__(self, text: AnyStr, *, left: int, right: int, enough: int = 1) -> None:
        self._text: AnyStr = text
        self._left, self._right = left, right
        self._enough = enough
        self._nothing: dict[AnyStr, int] = {}
        self._something: dict[AnyStr, int] = {}
        self._around: AnyStr = text[:0]
        self._before = -1

    def past(self, at: int) -> int:
        """Return up to where there is nothing from a place on, -1 where that is not known; places come in rising order."""
        around = self._text[max(0, at - self._left) : at + self._right]
        if self._nothing.get(around, 0) >= self._enough:
            past = repeated_until(self._text, at, at - self._before, reach=self._left + self._right)
        else:
            past = -1
            self._around = around
        self._before = at
        return past

    def something(self) -> int:
        """Return how long what is at the place asked for last is, as was said of one like it; 0 where that is not known."""
        return self._something.get(self._around, 0)

    def found(self, size: int) -> None:
        """Say that something is at the place that was asked for last, of that size."""
        if len(self._something) > _MOST:
            self._something.clear()
        self._something[self._around] = size

    def nothing(self, *, sure: bool = False) -> None:
        """Say that nothing is at the place that was asked for last; `sure` if once is enough."""
        if len(self._nothing) > _MOST:
            self._nothing.clear()
        self._nothing[self._around] = self._enough if sure else self._nothing.get(self._around, 0) + 1


def repeated_until(text: AnyStr, at: int, period: int, *, reach: int) -> int:
    """
    Return up to where what stands at a place of a text is repeated again and again, less `reach`; the place itself where it is
    not.

    Args:
        period: After how many characters it begins again.
    """
    end, size = at, 1024
    while period > 0 and len(piece := text[end : end + size]) == size and piece == text[end + period : end + period + size]:
        end += size
        size = min(2 * size, 1 << 16)
    return max(at, end - reach)
