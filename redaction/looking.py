"""
A look at a record in one piece: whether something may be in it, which saves most of them from being gone through.
"""

from __future__ import annotations

from typing import Any

from satchel.contracts import Record
from satchel.redaction.parts import USUAL, bytes_of, json_of
from satchel.redaction.roles import Finder
from satchel.redaction.spans import Span

__all__ = ["Look"]

_SMALL = 512
_MOST_COLUMNS = 256
_MOST_NAMES = 20_000
_PROBE = "x9K2mQ7vT4bW8nR3pL6z"
_PROBE_NUMBER = 48213977


class Look:
    """
    Says what of records is worth going through; of names it remembers what they say.

    Args:
        least: In texts that are shorter nothing is.
    """

    def __init__(self, engine: Finder, least: int) -> None:
        self._engine = engine
        self._least = least
        self._named: dict[tuple[str, ...], bool] = {}
        self._columns: dict[tuple[str, ...], bool] = {}

    def row(self, row: dict[str, Any], seen: dict[int, list[Span]]) -> int:
        """
        Return how a row has to be gone through: 0 not at all, 1 its texts as they are, 2 other readings of them too.

        Args:
            seen: Takes, by their hashes, texts in which nothing is.
        """
        odd = self.is_odd(tuple(row))
        opens, least = self._engine.opens, self._least
        deepest = 2 if odd else 0
        small: list[str] = []
        for value in row.values():
            kind = type(value)
            if kind is str:
                size = len(value)
                if size < least:
                    continue
                if size < _SMALL:
                    small.append(value)
                    continue
                deep = opens(value.encode("utf-8", "surrogatepass"))
                if not deep:
                    seen[hash(value)] = []
                elif deep > deepest:
                    deepest = deep
            elif kind not in USUAL and opens(bytes_of(value)):
                deepest = 2
        if small and deepest < 2:
            deepest = max(deepest, opens("\n".join(small).encode("utf-8", "surrogatepass")))
        return deepest

    def serialised(self, record: Record) -> bytes:
        """Return all that a record says in one piece."""
        raw = record.raw
        if raw is not None:
            # Files that are read as a whole say the same twice; what differs is looked at closely.
            return (
                raw if record.kind == "line" or not isinstance(record.data, dict | list) else raw + b"\n" + json_of(record.data)
            )
        data = record.data
        if type(data) is str and ("\\b" in data or "\\r" in data):
            # It may be JSON itself, whose escapes are spelled so only in the text as it is.
            return json_of(data) + b"\n" + data.encode("utf-8", "surrogatepass")
        if type(data) is not dict:
            return json_of(data)
        # Nearly all values of a row are texts, times and nothing. As JSON, since disguises are looked for as that spells them.
        text = json_of([value for value in data.values() if type(value) is str])
        rest = [json_of(bytes_of(value).decode("utf-8", "replace")) for value in data.values() if type(value) not in USUAL]
        if self.is_odd(tuple(data)):
            rest.append(json_of({key: value for key, value in data.items() if type(value) in (str, int)}))
        return b"\n".join((text, *rest)) if rest else text

    def is_odd(self, columns: tuple[str, ...]) -> bool:
        """Return whether the name of one of a row's columns says that a secret is in it, or is one."""
        odd = self._columns.get(columns)
        if odd is None:
            if len(self._columns) > _MOST_COLUMNS:
                self._columns.clear()
            odd = any(self.is_named((column,)) or self._engine.find(column) for column in columns)
            self._columns[columns] = odd
        return odd

    def is_named(self, names: tuple[str, ...]) -> bool:
        """Return whether a value under these names can be secret for their sake."""
        known = self._named.get(names)
        if known is None:
            if len(self._named) > _MOST_NAMES:
                self._named.clear()
            probe: str | int = _PROBE_NUMBER if names[-1:] == ("",) else _PROBE
            known = self._named[names] = self._engine.named_value(names, probe) is not None
        return known

    def is_named_number(self, names: tuple[str, ...]) -> bool:
        """Return whether a number under these names can be."""
        key = (*names, "\0")
        known = self._named.get(key)
        if known is None:
            known = self._named[key] = self._engine.named_value(names, _PROBE_NUMBER) is not None
        return known
