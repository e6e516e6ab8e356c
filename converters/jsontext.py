"""
The only place where JSON is parsed or written.

orjson is the fast path, and a careful one stands behind it, since orjson alone loses data: integers beyond 64 bits become
floats, lone surrogates, NaN, a byte order mark and nesting beyond 1,024 (writing: 254) are refused, and infinities are written
as null. Lines are cut at the byte 0x0A only, never at U+2028 or a bare CR.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable
from typing import Any

import orjson

from satchel.errors import JsonError
from satchel.exactjson import loads as _loads_slow

__all__ = [
    "RawText",
    "canonical",
    "dumps",
    "indented",
    "is_plain",
    "loads",
    "loads_common",
    "loads_quick",
    "one_line",
    "verbatim",
]

# An integer beyond 64 bits has at least 19 digits in a row: map every digit to "0" and look for the run.
_DIGITS = bytes.maketrans(b"123456789", b"0" * 9)
_LONG_RUN = b"0" * 19
# orjson gives such an integer as a float of at least 2**63. Where bytes are many and parts are few, these are looked at instead.
_MANY = 2048
_WIDE = 2.0**63
_MAX_DEPTH = 900


class RawText:
    """
    A text value of a database that is not valid UTF-8, so that it can't be a str: its bytes as stored.

    It is not a BLOB, which is `bytes`: which of the two a column holds is a fact that must survive.
    """

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RawText) and self.data == other.data

    def __hash__(self) -> int:
        return hash(("RawText", self.data))

    def __repr__(self) -> str:
        return f"RawText({self.data!r})"

    def __str__(self) -> str:
        """Return the text with U+FFFD for what can't be decoded."""
        return self.data.decode("utf-8", "replace")


def loads(data: bytes | str) -> Any:
    """
    Parse one JSON value, exactly: integers of any size, lone surrogates and NaN included.

    Raises:
        JsonError: It is not JSON, not UTF-8, or nested too deeply to be handled.
    """
    try:
        value = orjson.loads(data)
    except (orjson.JSONDecodeError, RecursionError):
        return _loads_slow(data)
    size = len(data)
    if size < _MANY:
        if _LONG_RUN not in (data if isinstance(data, bytes) else data.encode()).translate(_DIGITS) or _is_narrow(value, size):
            return value
        return _loads_slow(data)
    return value if _is_narrow(value, size) or not _has_long_run(data) else _loads_slow(data)


def _has_long_run(data: bytes | str) -> bool:
    return _LONG_RUN in (data if isinstance(data, bytes) else data.encode()).translate(_DIGITS)


def _is_narrow(value: Any, size: int) -> bool:
    """Return whether nothing in a value can be an integer beyond 64 bits; also False where it has too many parts to look at."""
    left = 32 + (size >> 5)
    todo: list[Collection[Any]] = [(value,)]
    for items in todo:
        left -= len(items)
        if left < 0:
            return False
        for item in items:
            kind = type(item)
            if kind is str:
                continue
            if kind is dict:
                todo.append(item.values())
            elif kind is list:
                todo.append(item)
            elif kind is float and not -_WIDE < item < _WIDE:
                return False
    return True


def loads_common(data: bytes | str) -> Any:
    """
    Parse one JSON value that every JSON library understands the same way.

    Raises:
        JsonError: It is none, or holds an integer beyond 64 bits, a lone surrogate, NaN, or nesting beyond 1,024.
    """
    try:
        value = orjson.loads(data)
    except (orjson.JSONDecodeError, RecursionError) as error:
        raise JsonError(f"not common JSON ({error})") from error
    if len(data) >= 19 and _has_long_run(data):
        raise JsonError("not common JSON (a run of digits that may be an integer beyond 64 bits)")
    return value


def loads_quick(data: bytes | str) -> Any:
    """
    Parse one JSON value where only its texts are wanted, or whether it is one: an integer beyond 64 bits may come as a float.

    Raises:
        JsonError: It is not JSON, not UTF-8, or nested too deeply to be handled.
    """
    try:
        return orjson.loads(data)
    except (orjson.JSONDecodeError, RecursionError):
        return _loads_slow(data)


def dumps(value: Any) -> bytes:
    """
    Write a value as compact JSON in UTF-8, keys in their own order.

    U+0085, U+2028 and U+2029 are written as escapes, lone surrogates as `\\udXXX` escapes, integers of any size as they are;
    infinities and NaN become null.

    Raises:
        JsonError: The value is nested too deeply, or holds something JSON has no form for.
    """
    try:
        return one_line(orjson.dumps(value))
    except (TypeError, RecursionError):
        return one_line(_written(value, sort=False, exact=False))


def indented(value: Any) -> str:
    """Write a value as JSON for people, two blanks a level, or compact where it is nested too deeply. Raises JsonError."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except (TypeError, RecursionError):
        return dumps(value).decode()


# Characters that some readers of JSON Lines, Python's str.splitlines among them, take for the end of a line.
_SEPARATORS = (
    (b"\xa8", b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xa9", b"\xe2\x80\xa9", b"\\u2029"),
    (b"\x85", b"\xc2\x85", b"\\u0085"),
)


def one_line(text: bytes) -> bytes:
    """Return JSON with U+0085, U+2028 and U+2029 as escapes, so that nobody takes them for the end of a line."""
    if text.isascii():
        return text
    for last, raw, escape in _SEPARATORS:
        # Their last bytes are rare in most texts, and one byte is found ten times as fast as three.
        if text.find(last) >= 0 and _holds(text, raw):
            text = text.replace(raw, escape)
    return text


def _holds(text: bytes, raw: bytes) -> bool:
    at, last = 0, raw[-1:]
    for _ in range(8 + (len(text) >> 9)):
        at = text.find(last, at) + 1
        if not at:
            return False
        if text.endswith(raw, 0, at):
            return True
    return raw in text


def verbatim(text: bytes | str) -> Any:
    """Return a value that `dumps` writes as the JSON it is."""
    return orjson.Fragment(text)


def canonical(value: Any) -> bytes:
    """
    Write parsed JSON in one form only: what a content digest takes of a log's line.

    Keys sorted by code point, no white space, exact integers, shortest floats, `\\udXXX` for lone surrogates; bytes as
    `{"$b64": …}`, `RawText` as `{"$text": …}`, infinities and NaN as `{"$real": …}`.
    """
    if is_plain(value):
        try:
            return one_line(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
        except (TypeError, RecursionError):
            pass
    return one_line(_written(value, sort=True, exact=True))


def is_plain(value: Any) -> bool:
    """Return whether orjson writes the value exactly: no bytes, no infinity, and no depth to speak of."""
    todo: list[Iterable[Any]] = [(value,)]
    while todo:
        for item in todo.pop():
            kind = type(item)
            if kind is str or kind is int or item is None or kind is bool:
                continue
            if kind is float:
                if item - item != 0.0:
                    return False
            elif kind is dict:
                todo.append(item.values())
            elif kind is list:
                todo.append(item)
            else:
                return False
    return True


def _written(value: Any, *, sort: bool, exact: bool) -> bytes:
    out: list[bytes] = []
    try:
        _write(value, out, 0, sort=sort, exact=exact)
    except RecursionError as error:
        raise JsonError("nested too deeply") from error
    return b"".join(out)


def _write(value: Any, out: list[bytes], depth: int, *, sort: bool, exact: bool) -> None:
    if depth > _MAX_DEPTH:
        raise JsonError("nested too deeply")
    kind = type(value)
    if value is None or kind is bool:
        out.append(orjson.dumps(value))
    elif isinstance(value, str):
        out.append(_string(value))
    elif isinstance(value, int):
        out.append(b"%d" % value)
    elif isinstance(value, float):
        if value - value == 0.0:
            out.append(orjson.dumps(value))
        elif exact:
            name = "nan" if value != value else "inf" if value > 0 else "-inf"
            out.append(b'{"$real":"%s"}' % name.encode())
        else:
            out.append(b"null")
    elif isinstance(value, bytes) and exact:
        out.append(b'{"$b64":"%s"}' % base64.b64encode(value))
    elif isinstance(value, RawText) and exact:
        out.append(b'{"$text":"%s"}' % base64.b64encode(value.data))
    elif isinstance(value, dict):
        items: Iterable[tuple[Any, Any]] = value.items()
        if sort:
            items = sorted(items)
        before = b"{"
        for key, item in items:
            if not isinstance(key, str):
                raise JsonError(f"JSON has no form for a key that is {type(key).__name__}")
            out += (before, _string(key), b":")
            _write(item, out, depth + 1, sort=sort, exact=exact)
            before = b","
        out.append(b"{}" if before == b"{" else b"}")
    elif isinstance(value, list | tuple):
        before = b"["
        for item in value:
            out.append(before)
            _write(item, out, depth + 1, sort=sort, exact=exact)
            before = b","
        out.append(b"[]" if before == b"[" else b"]")
    elif kind is orjson.Fragment:
        out.append(orjson.dumps(value))
    else:
        raise JsonError(f"JSON has no form for {kind.__name__}")


def _string(text: str) -> bytes:
    try:
        return orjson.dumps(text)
    except TypeError:
        # Lone surrogates: write them as escapes, the rest as ever. Two that make a pair are the character they stand for.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        parts: list[bytes] = []
        run: list[str] = []
        for char in text:
            if "\ud800" <= char <= "\udfff":
                parts.append(orjson.dumps("".join(run))[1:-1])
                run.clear()
                parts.append(b"\\u%04x" % ord(char))
            else:
                run.append(char)
        parts.append(orjson.dumps("".join(run))[1:-1])
        return b'"' + b"".join(parts) + b'"'
