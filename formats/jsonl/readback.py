"""
Reads an export back to what its sessions say: the content digests that its manifest recorded.

A line of ours is hashed without parsing the rows that stand in it as the digest takes them; any other is parsed whole.
"""

from __future__ import annotations

import builtins
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from satchel.digest import ContentDigest
from satchel.errors import JsonError
from satchel.events import Problem
from satchel.formats.hermes_rows import canonical, state_of
from satchel.formats.jsonl.lines import BLANK, BROKEN, Exact, Segment, message, messages, parse, segments
from satchel.formats.jsonl.native import faults, native_digest
from satchel.formats.jsonl.record import RESERVED, VERSION
from satchel.jsontext import dumps, loads

if TYPE_CHECKING:
    import io

__all__ = ["ReadBack", "read_back"]


class ReadBack(NamedTuple):
    """What a line says when it is read back: one session, its digest, its messages by state; and what the whole line keeps."""

    line: int
    session_id: str
    content_digest: str
    messages: int
    compacted: int
    rewound: int
    native_digest: str | None = None
    """Of the original records of all sessions of the line; None where there are none."""
    fault: str | None = None
    """What is wrong with these, by what the line says of them itself."""


def read_back(path: str | os.PathLike[str], *, update: Callable[[bytes], object]) -> Iterator[ReadBack | Problem]:
    """
    Read an export from its first byte to its last and yield what each line says, or what is wrong with it.

    `update` gets every byte that is read, in order, so that the file can be hashed in the same pass.
    """
    with builtins.open(path, "rb", buffering=0) as file:
        for number, line in enumerate(_lines(file, update), 1):
            if line[0] != _OPEN and not line.strip(BLANK):
                continue
            try:
                yield from _quick(number, line) or _slow(number, line)
            except JsonError as error:
                yield Problem(f"line {number}", f"can't be read as a session: {error}", "loss", 1)


def _lines(file: io.FileIO, update: Callable[[bytes], object]) -> Iterator[bytes]:
    """Yield the lines of a file, and give `update` every block of it before its lines."""
    begun: list[bytes] = []
    while block := file.read(_BLOCK):
        update(block)
        start = 0
        while end := block.find(b"\n", start) + 1:
            begun.append(block[start:end])
            # Most lines lie in one block.
            yield begun[0] if len(begun) == 1 else b"".join(begun)
            begun.clear()
            start = end
        if start < len(block):
            begun.append(block[start:])
    if begun:
        yield b"".join(begun)


def _quick(number: int, line: bytes) -> list[ReadBack] | None:
    try:
        return _fast(number, line)
    except BROKEN:
        return None  # What is wrong with it, if anything, is for the whole parse to say.


def _slow(number: int, line: bytes) -> list[ReadBack]:
    """Read a line by parsing all of it."""
    whole = parse(line)
    out: list[ReadBack] = []
    found = segments(whole)
    kept = _kept(whole, len(found))
    for segment in found:
        digest = ContentDigest(canonical)
        for fact in segment.facts():
            digest.add(fact)
        states = {"live": 0, "compacted": 0, "rewound": 0}
        for record in messages(whole, segment):
            digest.add(record)
            states[state_of(record.data)] += 1
        out.append(_found(number, segment.id, digest, states, kept))
    return out


def _found(
    number: int, session_id: str, digest: ContentDigest, states: Mapping[str, int], kept: tuple[str | None, str | None]
) -> ReadBack:
    live, compacted, rewound = (states[state] for state in ("live", "compacted", "rewound"))
    return ReadBack(number, session_id, digest.hexdigest(), live, compacted, rewound, *kept)


def _kept(line: Mapping[str, Any], segments: int) -> tuple[str | None, str | None]:
    extra = line.get("satchel")
    if not isinstance(extra, dict) or ("native" not in extra and "native_parts" not in extra):
        return None, None
    return native_digest(extra, segments), faults(extra, segments)


# Possessive, so that a text of many megabytes is passed without a memory of every byte of it.
_TEXT = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_ID = re.compile(rb'\{"id":(%s),' % _TEXT)
_OPEN, _CLOSE, _COMMA, _ZERO = b"{},0"
_ROW_ID, _ROW_END = b',"id":', b"}\n"
_BLOCK = 1 << 18  # bytes; they are hashed and cut while they are in the processor's own cache
# The derived counts, which the digest leaves out, at the end of the session's columns.
_FIRST_COUNT = b',"message_count":'
_COUNTS = re.compile(rb'(?:,"(?:message|tool_call)_count":(?:null|-?[0-9]+)){2},"messages":\[')
# A hidden row begins with the columns that say what became of it; no structured content stands before them.
_STATE = re.compile(
    rb'\{(?:"_compressed_summary":[0-9]+,)?"active":0,(?:"api_content":(?:null|%s),)?"compacted":([01]),"content":' % _TEXT
)


def _fast(number: int, line: bytes) -> list[ReadBack] | None:
    """
    Read a line of ours without parsing the rows that stand in it as the digest takes them.

    The digest covers every byte of such a row, so one that equals the recorded digest proves the row, and any other is found out
    by it. None for a line that must be parsed whole.
    """
    start = line.find(b"\t")
    found = _ID.match(line)
    if start < 0 or found is None or not line.endswith(b"}\n"):
        return None
    view = memoryview(line)
    # Where each row begins, where its id does if it is a plain number and the last column, where the row ends; and which rows are
    # the last ones of their list, the next one's number.
    rows: list[tuple[int, int, int]] = []
    ends: list[int] = []
    find, find_last = line.find, line.rfind
    while line[start + 1] == _OPEN:
        begin = start + 1
        start = find(b"\t", begin)
        if start < 0:
            return None
        last = line[start - 1] != _COMMA
        end = start if last else start - 1
        at = find_last(_ROW_ID, begin, end)
        digits = line[at + 6 : end - 1] if at >= 0 else b""
        plain = digits.isdigit() and line[end - 1] == _CLOSE and (digits[0] != _ZERO or len(digits) == 1)
        rows.append((begin, at if plain else -1, end))
        if last:
            ends.append(len(rows))
            hidden = find(b"\t", start + 1)
            if hidden < 0:
                break
            start = hidden
    if not rows:
        return None
    head = line[: rows[0][0] - 1]
    gap = b"" if len(ends) < 2 else line[rows[ends[0] - 1][2] + 1 : rows[ends[0]][0] - 1]
    tail = line[rows[-1][2] + 1 :]
    if head.endswith(b'"messages":['):
        live = ends[0]
    elif head.endswith(b'"hidden":['):
        live = 0
    else:
        return None
    if len(ends) > 2 or (gap and not gap.endswith(b'"hidden":[')):
        return None
    shell = b'{"messages":[' + gap + tail if live else head + tail
    rest = parse(shell)
    if dumps(rest) + b"\n" != shell:
        # Perhaps a key stands there twice, and readers would take the other one.
        return None
    extra = rest["satchel"]
    if extra.get("v") != VERSION or "segments" in extra or "carried" in extra or rest["messages"] or extra.get("hidden"):
        return None
    exact = Exact(extra.get("exact", {}))
    digest = ContentDigest(canonical)
    stop = head.rfind(_FIRST_COUNT)
    counts = _COUNTS.fullmatch(head, stop) if stop > 0 and live and rest.keys() == RESERVED else None
    if counts is None or exact.of("") or extra.get("orphan") or "columns" in extra:
        segment = segments(parse(head + gap + tail))[0]
    else:
        segment = Segment({"id": loads(found[1])}, extra, exact, row_at="", at="/satchel", several=False)
        digest.add_session(head[: counts.start()] + b"}")
    for fact in segment.facts():
        if fact.kind != "sessions" or digest.is_bare:
            digest.add(fact)
    update = digest.begin_conversation()
    states = {"live": live, "compacted": 0, "rewound": 0}
    order: Iterable[int] = range(len(rows))
    if live < len(rows):
        for begin, _, end in rows[live:]:
            state = _STATE.match(line, begin, end)
            if state is not None:
                states["compacted" if state[1] == b"1" else "rewound"] += 1
            else:
                states[state_of(message(loads(line[begin:end]), {}).data)] += 1
        ids = [int(line[at + 6 : end - 1]) for _, at, end in rows if at >= 0]
        if len(set(ids)) < len(rows):
            return None  # Rows of one id have an order by what they say, and so have ids that are no numbers.
        order = sorted(order, key=ids.__getitem__)
    noted = exact.places
    for i in order:
        begin, at, end = rows[i]
        if noted and (place := f"/messages/{i}" if i < live else f"/satchel/hidden/{i - live}") in noted:
            for piece in canonical(message(loads(line[begin:end]), exact.of(place))):
                update(piece)
        elif at < 0:
            return None
        else:
            # The digest leaves the id out, so it was looked at.
            update(view[begin:at])
            update(_ROW_END)
    return [_found(number, segment.id, digest, states, _kept(rest, 1))]
