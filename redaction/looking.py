"""
A look at records in one piece: whether something may be in them, and where, which saves most of them from being gone through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from satchel.contracts import Record
from satchel.redaction.literals import Hits
from satchel.redaction.parts import USUAL, bytes_of, json_of
from satchel.redaction.roles import Finder

__all__ = ["Look", "batches"]

_NOWHERE: Hits = {}
_MOST_COLUMNS = 256
_MOST_NAMES = 20_000
_PROBE = "x9K2mQ7vT4bW8nR3pL6z"
_PROBE_NUMBER = 48213977
_AT_ONCE, _MOST_AT_ONCE = 1 << 18, 512
"""So many characters are looked at together, of so many records."""


def batches(records: Iterable[Record], *, plain: bool) -> Iterator[tuple[list[Record], bool]]:
    """
    Yield records in order, those that are rows or texts in batches that are looked at together, and others one by one.

    With each comes whether it is such a batch; without `plain` none is.
    """
    waiting: list[Record] = []
    size = 0
    for record in records:
        data = record.data
        is_plain = plain and record.raw is None and (type(data) is dict or type(data) is str)
        if is_plain:
            waiting.append(record)
            size += sum([len(value) for value in ([data] if isinstance(data, str) else data.values()) if type(value) is str])
            if size < _AT_ONCE and len(waiting) < _MOST_AT_ONCE:
                continue
        if waiting:
            yield waiting, True
            waiting, size = [], 0
        if not is_plain:
            yield [record], False
    if waiting:
        yield waiting, True


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
        self._telling: dict[str, bool] = {}

    def over(self, data: Sequence[Mapping[str, Any] | str]) -> Iterator[tuple[int, dict[int, Hits]]]:
        """
        Yield how each row or text has to be gone through: 0 not at all, 1 its texts as they are, 2 other readings of them too.

        With it comes where in its texts something may be, by their hashes, as far as that is known: in most it is nowhere.
        """
        least, texts = self._least, []
        ends: list[int] = []
        for one in data:
            if type(one) is str:
                texts.append(one)
            else:
                texts += [value for value in one.values() if type(value) is str and len(value) >= least]  # type: ignore[union-attr]
            ends.append(len(texts))
        found = self._engine.look(texts)
        begin = 0
        for one, end in zip(data, ends, strict=True):
            depth = max((found[number][0] for number in range(begin, end) if number in found), default=0) if found else 0
            if not isinstance(one, str):
                depth = max(depth, self._beside(one))
            places: dict[int, Hits] = {}
            for number in range(begin, end) if depth else ():
                _, hits = found.get(number, (0, _NOWHERE))
                if hits is not None:
                    places[hash(texts[number])] = hits
            yield depth, places
            begin = end

    def _beside(self, row: Mapping[str, Any]) -> int:
        """Return how a row has to be gone through for what it has beside its texts: the names of its columns, bytes."""
        if any(type(value) not in USUAL and self._engine.opens(bytes_of(value)) for value in row.values()):
            return 2
        return int(self.is_odd(tuple(row)))

    def text(self, text: str) -> Hits | None:
        """Return where in a text something may be, None where that cannot be told."""
        return self._engine.look([text]).get(0, (0, _NOWHERE))[1]

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

    def plainly(self, record: Record) -> bytes:
        """Return all that a record says, in which nothing is disguised, with its letters and digits as they are."""
        data = record.data
        if record.raw is None and type(data) is str:
            return data.encode("utf-8", "surrogatepass")
        if record.raw is not None or type(data) is not dict or not all(type(value) in USUAL for value in data.values()):
            return self.serialised(record)
        return "\n".join([*data, *(value for value in data.values() if type(value) is str)]).encode("utf-8", "surrogatepass")

    def is_telling(self, column: str) -> bool:
        """Return whether something is in the name of a column."""
        known = self._telling.get(column)
        if known is None:
            if len(self._telling) > _MOST_NAMES:
                self._telling.clear()
            known = self._telling[column] = bool(self._engine.find(column))
        return known

    def is_odd(self, columns: tuple[str, ...]) -> bool:
        """Return whether the name of one of a row's columns says that a secret is in it, or is one."""
        odd = self._columns.get(columns)
        if odd is None:
            if len(self._columns) > _MOST_COLUMNS:
                self._columns.clear()
            odd = any(self.is_named((column,)) or self.is_telling(column) for column in columns)
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
