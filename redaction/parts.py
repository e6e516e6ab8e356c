"""
The parts of a record: its columns, their names, its text, what it parses to; read as texts, and put together again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from satchel.contracts import Record
from satchel.errors import JsonError
from satchel.jsontext import RawText, dumps, loads
from satchel.redaction.nested import Edit, applied

__all__ = ["DATA", "USUAL", "ColumnName", "bytes_of", "changed", "exact", "is_row", "is_said_by", "json_of", "text_of", "where"]

DATA = object()
"""The part of a record that its data is, where it has no text of its own."""
USUAL = frozenset([str, int, float, bool, type(None)])
"""The types of columns that JSON has too, and in which no other text is."""
_FLAT = USUAL | {bytes, RawText}


class ColumnName(str):
    """The name of a column, as a part of a record."""

    __slots__ = ()


def bytes_of(value: Any) -> bytes:
    """Return a column's value as bytes: its own, or its JSON."""
    if isinstance(value, bytes):
        return value
    return value.data if isinstance(value, RawText) else json_of(value)


def text_of(value: Any) -> str:
    """Return a column's value as text in which every byte that is none is a character of its own."""
    if isinstance(value, str):
        return value
    return bytes_of(value).decode("utf-8", "surrogateescape")


def changed(record: Record, found: Sequence[tuple[Any, Edit]], key: Any) -> Record:
    """Return a record under a key, and what is to go from its parts gone from them."""
    data, raw = record.data, record.raw
    of_text = [edit for part, edit in found if part is None]
    of_data = [edit for part, edit in found if part is DATA]
    if raw is not None:
        new = applied(raw.decode("utf-8", "surrogateescape"), of_text)
        bare = new.encode("utf-8", "surrogateescape")
        if isinstance(data, str):
            data = new
        elif of_data:
            data = loads(applied(exact(data), of_data))
        elif data is not None and of_text and is_said_by(raw, data):
            data = loads(bare)
        return Record(record.kind, key, data, bare, record.plain)
    if isinstance(data, str):
        return Record(record.kind, key, applied(data, of_text), None, record.plain)
    if of_data:
        return Record(record.kind, key, loads(applied(exact(data), of_data)), None, False)
    row: dict[str, Any] = {}
    plain = record.plain
    for column, value in data.items():
        own = [edit for part, edit in found if part == column and type(part) is str]
        name = applied(column, [edit for part, edit in found if type(part) is ColumnName and part == column])
        while name != column and (name in data or name in row):
            name += "+"
        plain = plain and name == column
        row[name] = _restored(value, own) if own else value
    return Record(record.kind, key, row, None, plain)


def _restored(value: Any, own: Sequence[Edit]) -> Any:
    """Return a column's value with its edits made, of the type that it was; a number becomes a text."""
    if isinstance(value, str):
        return applied(value, own)
    if isinstance(value, int):
        return own[0].new
    data = applied(text_of(value), own).encode("utf-8", "surrogateescape")
    return RawText(data) if isinstance(value, RawText) else data


def json_of(data: Any) -> bytes:
    """Return JSON of anything; what has none stands as its text."""
    try:
        return dumps(data)
    except JsonError:
        return json.dumps(data, default=str).encode()


def exact(data: Any) -> str:
    """Return JSON that gives the same value again, NaN and halves of surrogate pairs too."""
    return json.dumps(data)


def is_row(data: Any) -> bool:
    """Return whether a record's data are columns with the values that a database has."""
    return type(data) is dict and all(type(value) in _FLAT for value in data.values())


def is_said_by(raw: bytes, data: Any) -> bool:
    """Return whether a record's bytes say all that its data say."""
    if data is None:
        return True
    if isinstance(data, str):
        return raw == data.encode("utf-8", "surrogatepass")
    try:
        return bool(loads(raw) == data)
    except JsonError:
        return False


def where(record: Record) -> str:
    """Return where a record is, without a word of what it says."""
    key = record.key
    return f"{record.kind} {int(key)}" if isinstance(key, int) else f"a record of {record.kind}"
