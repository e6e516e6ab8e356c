"""
Which records were noted, in memory that does not grow with their number.
"""

from __future__ import annotations

from satchel.contracts import Record

__all__ = ["Marks", "place_of"]

_BITS = 20
_MASK = (1 << _BITS) - 1


def place_of(record: Record) -> int:
    """Return a number that stands for a record."""
    return hash((record.kind, record.key))


class Marks:
    """Places of records, as `place_of` gives them. It has each that was added; of many there are more in it than were."""

    __slots__ = ("_bits",)

    def __init__(self) -> None:
        self._bits = bytearray(1 << (_BITS - 3))

    def add(self, place: int) -> None:
        at = place & _MASK
        self._bits[at >> 3] |= 1 << (at & 7)

    def __contains__(self, place: int) -> bool:
        at = place & _MASK
        return self._bits[at >> 3] & 1 << (at & 7) != 0
