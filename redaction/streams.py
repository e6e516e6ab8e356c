"""
Secrets that are cut in two: output that an agent logged in pieces, as it came, each piece a record of its own.

The pieces of one stream are joined as they are learned, as far as a secret reaches; what of a secret is in which piece is noted.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from satchel.contracts import Record
from satchel.redaction.registry import Hit

__all__ = ["Cut", "Streams", "piece_of"]

_REACH = 512
"""So many characters of a stream are remembered."""
_STREAMS = 64
_BORDERS = 4096
_LEAST = 6
"""A part of a known value that is shorter is not taken for one."""
_RUN_AT_END = re.compile(r"\S{6,}\Z")
_RUN_AT_START = re.compile(r"\S{6,}")


class Cut(NamedTuple):
    """A part of a secret: `text` at `start` of a piece."""

    start: int
    text: str
    value: str
    rule: str

    def __repr__(self) -> str:
        return f"Cut({self.start}, {self.rule!r})"


class _Piece(NamedTuple):
    place: int
    """Which record it is."""
    begin: int
    """Where it begins in what is remembered; below 0 where its beginning is forgotten."""
    size: int


class _Stream:
    __slots__ = ("pieces", "text")

    def __init__(self) -> None:
        self.text = ""
        self.pieces: list[_Piece] = []


class _Border(NamedTuple):
    first: int
    at: int
    before: str
    second: int
    behind: str


def piece_of(record: Record) -> tuple[Hashable, str] | None:
    """Return the stream that a record holds a piece of, and the piece, None for one that holds none."""
    data = record.data
    if type(data) is not dict:
        return None
    kind = data.get("type")
    if kind == "event_msg":
        payload = data.get("payload")
        if type(payload) is dict:
            event = payload.get("type")
            if type(event) is str and event.endswith("_delta"):
                return (event, _name(payload, "call_id", "item_id")), _said(payload)
    elif kind == "progress":
        inner = data.get("data")
        if type(inner) is dict and type(inner.get("output")) is str:
            return (inner.get("type"), _name(data, "toolUseID", "parentToolUseID")), inner["output"]
    return None


def _name(data: Mapping[str, Any], *keys: str) -> Hashable:
    return next((data[key] for key in keys if type(data.get(key)) is str), None)


def _said(payload: Mapping[str, Any]) -> str:
    chunk = payload.get("chunk")
    if type(chunk) is str:
        try:
            return base64.b64decode(chunk, validate=True).decode()
        except (binascii.Error, ValueError):
            return chunk
    delta = payload.get("delta")
    return delta if type(delta) is str else ""


class Streams:
    """The streams of a family; its `repr` shows nothing of them."""

    def __init__(self) -> None:
        self._open: dict[Hashable, _Stream] = {}
        self._borders: deque[_Border] = deque(maxlen=_BORDERS)
        self._cuts: dict[int, list[Cut]] = {}

    def __repr__(self) -> str:
        return "Streams()"

    def clear(self) -> None:
        """Forget a family."""
        self._open.clear()
        self._borders.clear()
        self._cuts.clear()

    def end(self) -> None:
        """End a session: what comes next belongs to no stream of it."""
        self._open.clear()

    def take(self, record: Record, place: int, find: Callable[[str], Sequence[Hit]]) -> None:
        """
        Take in a record, which may hold a piece of a stream.

        Args:
            place: Says which record it is.
            find: Says what is secret in what the pieces say together.
        """
        found = piece_of(record)
        if found is None or not found[1]:
            return
        key, text = found
        stream = self._open.get(key)
        if stream is None:
            if len(self._open) >= _STREAMS:
                self._open.pop(next(iter(self._open)))
            stream = self._open[key] = _Stream()
        border = len(stream.text)
        if border and (before := _RUN_AT_END.search(stream.text)) and (behind := _RUN_AT_START.match(text)):
            last = stream.pieces[-1]
            self._borders.append(_Border(last.place, before.start() - last.begin, before[0], place, behind[0][:_REACH]))
        stream.pieces.append(_Piece(place, border, len(text)))
        stream.text += text[:_REACH]
        if border:
            for hit in find(stream.text):
                if hit.start < border < hit.end:
                    self._cut(stream, hit)
        kept = (stream.text if len(text) <= _REACH else text)[-_REACH:]
        gone = border + len(text) - len(kept)
        stream.text = kept
        stream.pieces = [p._replace(begin=p.begin - gone) for p in stream.pieces if p.begin + p.size > gone]

    def _cut(self, stream: _Stream, hit: Hit) -> None:
        for piece in stream.pieces:
            start, end = max(hit.start, piece.begin), min(hit.end, piece.begin + piece.size)
            if start < end:
                cut = Cut(start - piece.begin, stream.text[start:end], hit.value, hit.rule)
                cuts = self._cuts.setdefault(piece.place, [])
                # What was taken for the whole of it may go on in the next piece.
                cuts[:] = [other for other in cuts if not hit.value.startswith(other.value)]
                cuts.append(cut)

    def settle(self, values: Iterable[tuple[str, str]]) -> None:
        """Note where values, given with their rules, are cut in two that are known only since the pieces were taken."""
        known = list(values)
        while self._borders:
            first, at, before, second, behind = self._borders.popleft()
            for value, rule in known:
                for size in range(_LEAST, len(value) - _LEAST + 1):
                    if behind.startswith(value[size:]) and before.endswith(value[:size]):
                        begin = at + len(before) - size
                        self._cuts.setdefault(first, []).append(Cut(begin, value[:size], value, rule))
                        self._cuts.setdefault(second, []).append(Cut(0, value[size:], value, rule))

    def cuts(self, place: int) -> Sequence[Cut]:
        """Return the parts of secrets that are in a record."""
        return self._cuts.get(place, ()) if self._cuts else ()
