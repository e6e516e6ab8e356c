"""
The rollouts of Codex' first weeks: one JSON document each, with a list of items.

It is read as a log is: first what stands before the items, then each item, as pieces that joined are the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder
from typing import Any

from satchel.contracts import Record
from satchel.errors import StoreError
from satchel.formats.log_lines import BLANK, LINE, LogFile, Report

__all__ = ["Document", "is_document"]

_decode_at = JSONDecoder().raw_decode
_SPACE = re.compile("[\ufeff \t\r\n]*")
_SESSION = re.compile(rb'"session"\s*:\s*\{')
_ITEMS = re.compile(rb'"items"\s*:\s*\[')


def is_document(head: bytes) -> bool:
    """Return whether a file that begins so is such a document: an object with a session and a list of items."""
    if not head.lstrip(BLANK).startswith(b"{"):
        return False
    start = head.lstrip(BLANK)[1:].lstrip(BLANK)
    return start.startswith((b'"session"', b'"items"')) and bool(_SESSION.search(head) and _ITEMS.search(head))


class Document(LogFile):
    """Such a document; a record's key is its number."""

    __slots__ = ()

    def records(self, *, report: Report) -> Iterator[Record]:
        """Yield what stands around the items, then the items."""
        try:
            with self.open() as file:
                raw = file.read()
        except (OSError, StoreError) as error:
            report(1, str(getattr(error, "message", error)), 1)
            return
        text = raw.decode("utf-8", "surrogateescape")
        for number, (piece, data) in enumerate(_pieces(text), 1):
            held = piece.encode("utf-8", "surrogateescape")
            if data is None:
                report(number, "is no whole item; it is kept as it stands", 0)
            yield Record(LINE, number, data, held)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _pieces(text: str) -> Iterator[tuple[str, Any]]:
    """Cut a document into what stands before the items, with the other keys, and the items; what is torn is None."""
    header: dict[str, Any] = {}
    items: list[tuple[str, Any]] = []
    begin = 0
    at = _skip(text, 0) + 1
    torn = False
    before = ""
    try:
        while True:
            at = _skip(text, at)
            if text[at : at + 1] == "}":
                at += 1
                break
            key, at = _decode_at(text, at)
            at = _skip(text, at)
            if text[at : at + 1] != ":":
                raise JSONDecodeError("no colon", text, at)
            at = _skip(text, at + 1)
            if key == "items" and text[at : at + 1] == "[" and not items:
                at += 1
                before, begin = text[:at], at
                while text[(at := _skip(text, at)) : at + 1] != "]":
                    value, at = _decode_at(text, at)
                    at = _skip(text, at)
                    if text[at : at + 1] == ",":
                        at += 1
                    elif text[at : at + 1] != "]":
                        raise JSONDecodeError("no comma", text, at)
                    items.append((text[begin:at], value))
                    begin = at
                at += 1
            else:
                header[str(key)], at = _decode_at(text, at)
            at = _skip(text, at)
            if text[at : at + 1] == ",":
                at += 1
            elif text[at : at + 1] != "}":
                raise JSONDecodeError("no comma", text, at)
    except (JSONDecodeError, RecursionError, ValueError):
        torn = True
    if not before:
        before, begin = (text[:begin], begin) if items else (text, len(text))
        torn = torn and not header
        yield before, header if header or not torn else None
        return
    rest = text[begin:]
    yield before, header
    if torn:
        yield from items
        yield rest, None
    elif items:
        yield from items[:-1]
        piece, value = items[-1]
        yield piece + rest, value
    # Without items there is nothing that the rest could belong to but itself.
    elif rest:
        yield rest, {"items": []}
