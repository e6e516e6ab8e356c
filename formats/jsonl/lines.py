"""
One line of an export, parsed: its sessions, their facts, their messages.

A line of ours is cut at its tabs where its messages are not needed, or where one of them is damaged and the others are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from json import JSONDecoder, JSONEncoder
from typing import Any

from satchel.contracts import Record
from satchel.errors import JsonError
from satchel.formats.hermes_info import message_order, public_id
from satchel.formats.hermes_rows import Calls, exact_value, stored_row, text_of, visible_row
from satchel.formats.jsonl.record import RESERVED, TABLE_KEYS, VERSION, pointer
from satchel.jsontext import loads

__all__ = ["BLANK", "BROKEN", "Bad", "Exact", "Segment", "message", "messages", "parse", "salvaged", "segments", "shell"]

BLANK = b"\xef\xbb\xbf \t\r\n"
"""Bytes of which a line may consist that says nothing: a byte order mark may stand alone on the first."""

BROKEN = (JsonError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What a line raises whose JSON is not of the shape it should have."""

Bad = Callable[[str, Exception], object]
"""Hears of what can't be read: in words what it is, and why."""

_KEYS = {key: table for table, key in TABLE_KEYS.items()}
_encode = JSONEncoder().encode


def parse(line: bytes, *, rows: Sequence[bytes] | None = None) -> dict[str, Any]:
    """Parse a whole line; `rows` are its message rows, where they are not to be found by its tabs. Raises JsonError."""
    value = loads(line)
    if not isinstance(value, dict):
        raise JsonError("not a session record")
    if rows is None:
        rows = [part for part in line.split(b"\t") if part.startswith(b"{")][1:] if b"\t{" in line else ()
    if rows:
        with suppress(*BROKEN):
            _keep_calls(rows, [shown for _, _, shown in _shown(value)])
    return value


def _keep_calls(rows: Sequence[bytes], shown: Sequence[Any]) -> None:
    """Put the text of tool calls, as it stands in each row, in the place of what it says."""
    if len(rows) != len(shown):
        return  # Somebody else's tabs.
    for row, value in zip(rows, shown, strict=True):
        if isinstance(value, dict) and isinstance(value.get("tool_calls"), list | dict):
            text = _calls_in(row, value["tool_calls"])
            if text is not None:
                value["tool_calls"] = Calls(text)


_CALLS = b'"tool_calls":'
_scan = JSONDecoder().raw_decode


def _calls_in(row: bytes, value: Any) -> str | None:
    """Return the text that stands for tool calls in a row of JSON, given what it says; None where it is not found for sure."""
    start = -1
    while (start := row.find(_CALLS, start + 1)) >= 0:
        begin = start + len(_CALLS)
        end = row.rfind(b',"tool_name":')
        try:
            if end < begin or loads(row[begin:end]) != value:
                text = row[begin:].decode()
                end = begin + len(text[: _scan(text)[1]].encode())
            # No name nested in the row's content: what stands before is a row by itself.
            if loads(row[begin:end]) == value and isinstance(loads(row[:start] + b'"":0}'), dict):
                return row[begin:end].decode()
        except BROKEN:
            continue
    return None


def shell(line: bytes) -> dict[str, Any]:
    """Parse a line without its messages, where that is cheaper. Raises JsonError."""
    parts = line.split(b"\t")
    if len(parts) > 1 and parts[0].endswith((b'"messages":[', b'"hidden":[', b'"carried":[')):
        try:
            return parse(b"".join(part for part in parts if part is parts[0] or not part.startswith(b"{")))
        except JsonError:
            pass  # Somebody else's tabs.
    return parse(line)


def salvaged(line: bytes) -> dict[str, Any]:
    """Parse a line of ours with null for each message row that can't be parsed. Raises JsonError when that does not help."""
    parts = line.split(b"\t")
    rows: list[bytes] = []
    for i, part in enumerate(parts):
        if i and part.startswith(b"{"):
            row = part.removesuffix(b",")
            try:
                loads(row)
            except JsonError:
                parts[i] = b"null" + part[len(row) :]
            rows.append(row)
    return parse(b"".join(parts), rows=rows)


class Exact:
    """The exact notes of a line, by the place of the row they belong to."""

    __slots__ = ("_notes",)

    def __init__(self, notes: Mapping[str, Mapping[str, Any]]) -> None:
        self._notes: dict[str, dict[str, Mapping[str, Any]]] = {}
        for place, note in notes.items():
            at, _, column = place.rpartition("/")
            self._notes.setdefault(at, {})[column.replace("~1", "/").replace("~0", "~")] = note

    def of(self, at: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the notes of the row at a JSON pointer, by column."""
        return self._notes.get(at, {})

    @property
    def places(self) -> Mapping[str, object]:
        """The places of all rows that have notes."""
        return self._notes


_Owned = dict[Any, list[tuple[str, int, Any]]]


class Owned:
    """What the segments of one line share: its rows by session, once they were asked for."""

    __slots__ = ("line", "rows")

    def __init__(self) -> None:
        self.line: Mapping[str, Any] | None = None
        self.rows: _Owned = {}


class Segment:
    """
    One session of a line: most lines have one, a lineage's line has several.

    `at` is its place among these, `dialect` that of the records it was made of, None where it has always been Hermes'.
    """

    __slots__ = ("_at", "_extra", "at", "dialect", "exact", "id", "orphan", "ours", "owned", "row", "several")

    def __init__(
        self,
        shown: Mapping[str, Any],
        extra: Mapping[str, Any],
        exact: Exact,
        *,
        row_at: str,
        at: str,
        several: bool,
        owned: Owned | None = None,
        number: int = 0,
        dialect: Any = None,
    ) -> None:
        row = _restored("sessions", shown, exact.of(row_at))
        notes = exact.of(f"{at}/columns")
        if notes or "columns" in extra:
            row |= _restored("columns", extra.get("columns", {}), notes)
        self.ours = "v" in extra or several
        identity = text_of(row.get("id"))
        if identity is None and not self.ours:
            raise JsonError("not a session record: it has no id")
        self.row = row
        self.id = identity or "" if not self.ours or "id" not in row else public_id(row["id"])
        self.several = several
        self.at = number
        self.dialect: str | None = dialect if isinstance(dialect, str) else None
        self.orphan = bool(extra.get("orphan"))
        self._at = at
        self._extra = {**extra, "shown": shown}
        self.exact = exact
        self.owned = owned or Owned()

    def facts(self, bad: Bad | None = None) -> Iterator[Record]:
        """Yield the records that stand before the messages. Raises JsonError where they can't be read, unless `bad` is given."""
        try:
            yield from self._facts()
        except BROKEN as error:
            if bad is None:
                raise JsonError(f"what stands beside the messages is not as it should be ({error})") from error
            bad("what stands beside the messages", error)

    def _facts(self) -> Iterator[Record]:
        extra, exact, at = self._extra, self.exact, self._at
        if not self.orphan:
            yield Record("sessions", self.id, self.row)
        prompt = extra["shown"].get("system_prompt")
        if self.row.get("system_prompt") is None and isinstance(prompt, str):
            data = {"hash": self.row.get("system_prompt_hash"), "prompt": prompt}
            yield Record("system_prompts", data["hash"], data)
        notes = exact.of(f"{at}/meta")
        if notes or "meta" in extra:
            for key, value in _restored("meta", extra.get("meta", {}), notes).items():
                yield Record("state_meta", key, {"key": key, "value": value})
        tables = [(_KEYS[key], f"{at}/{key}", extra[key]) for key in _KEYS if key in extra]
        for group in ("tables", "unknown"):
            if group in extra:
                tables += [(table, f"{at}{pointer(group, table)}", rows) for table, rows in extra[group].items()]
        for table, place, rows in tables:
            if table in ("sessions", "messages"):
                raise JsonError(f"rows of {table} stand where those of other tables belong")
            for i, row in enumerate(rows):
                yield Record(table, i, _restored(table, row, exact.of(f"{place}/{i}")))


def segments(line: Mapping[str, Any]) -> list[Segment]:
    """Return the sessions of a parsed line. Raises JsonError when it is no session record."""
    extra = line.get("satchel")
    if not isinstance(line.get("messages"), list) or not isinstance(extra, dict | None):
        raise JsonError("not a session record: it has no list of messages")
    extra = extra or {}
    version = extra.get("v") if extra else VERSION
    if not isinstance(version, int) or version < 1:
        raise JsonError("the key satchel has no layout number")
    if version > VERSION:
        raise JsonError(f"written by a newer Satchel (layout {version}; this one reads {VERSION})")
    for key in ("hidden", "carried", "segments"):
        if not isinstance(extra.get(key, []), list):
            raise JsonError(f"what stands under satchel.{key} is no list")
    try:
        return _segments(line, extra)
    except BROKEN as error:
        raise JsonError(f"not a session record: {error}") from error


def _segments(line: Mapping[str, Any], extra: Mapping[str, Any]) -> list[Segment]:
    exact = Exact(extra.get("exact", {}))
    columns = {k: v for k, v in line.items() if k not in RESERVED}
    parts = extra.get("segments")
    if parts:
        # The line itself shows its last session once more, for readers that know of one only.
        last = f"/satchel/segments/{len(parts) - 1}/session"
        if columns != parts[-1]["session"] or exact.of("") != exact.of(last):
            raise JsonError("the columns of the line are not those of its last session")
        owned = Owned()
        return [
            Segment(
                segment["session"],
                segment,
                exact,
                row_at=f"/satchel/segments/{i}/session",
                at=f"/satchel/segments/{i}",
                several=True,
                owned=owned,
                number=i,
                dialect=extra.get("dialect"),
            )
            for i, segment in enumerate(parts)
        ]
    return [Segment(columns, extra, exact, row_at="", at="/satchel", several=False, dialect=extra.get("dialect"))]


def messages(line: Mapping[str, Any], segment: Segment, bad: Bad | None = None) -> list[Record]:
    """
    Return the message rows of a session of a parsed line, by id.

    Raises:
        JsonError: One of them can't be read; unless `bad` is given, which hears of it.
    """
    exact = segment.exact
    records: list[Record] = []
    for at, i, shown in _owned(line, segment) if segment.several else _shown(line):
        try:
            records.append(message(shown, exact.of(f"{at}/{i}")))
        except BROKEN as error:
            if bad is None:
                raise JsonError(f"message {i + 1} of {at} is not as it should be ({error})") from error
            bad(f"message {i + 1} of {at}", error)
    keys = [record.key for record in records]
    if all(type(key) is int for key in keys) and (len(set(keys)) == len(keys) or not segment.ours):
        records.sort(key=_by_key)
    elif segment.ours:
        records.sort(key=lambda record: message_order(record.data))
    return records


def _shown(line: Mapping[str, Any]) -> Iterator[tuple[str, int, Any]]:
    """Yield the rows of a parsed line, each with the list it stands in and its place there."""
    extra = line.get("satchel") or {}
    for at, rows in (("/messages", line["messages"]), *((f"/satchel/{k}", extra.get(k, ())) for k in ("hidden", "carried"))):
        for i, shown in enumerate(rows):
            yield at, i, shown


def _owned(line: Mapping[str, Any], segment: Segment) -> list[tuple[str, int, Any]]:
    """Return the rows of one session of a lineage's line; they are sorted by session once, for all of its sessions."""
    if segment.owned.line is not line:
        by_session: _Owned = {}
        for place in _shown(line):
            at, i, shown = place
            owner: Any = _NOBODY
            if isinstance(shown, dict):
                note = segment.exact.of(f"{at}/{i}").get("session_id")
                owner = public_id(exact_value(note) if note is not None else shown.get("session_id"))
            by_session.setdefault(owner, []).append(place)
        segment.owned.line, segment.owned.rows = line, by_session
    # What is no row at all may have been anybody's.
    return segment.owned.rows.get(segment.id, []) + segment.owned.rows.get(_NOBODY, [])


_NOBODY = object()


def _restored(kind: str, shown: Any, notes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the stored row of one that is shown. Raises JsonError when it shows something else than its exact notes say."""
    if not isinstance(shown, dict):
        raise JsonError(f"what stands for {kind} is no object")
    row = stored_row(kind, shown, notes)
    if kind != "messages" and not _PARSED.isdisjoint(map(type, row.values())):
        row = {column: _scalar(value) for column, value in row.items()}
    if notes:
        again, _ = visible_row(Record(kind, None, row))
        for column, note in notes.items():
            # A column that is NULL may show what another table holds.
            if "null" not in note and repr(again[column]) != repr(shown[column]):
                raise JsonError(f"the column {column} shows something else than its exact note says")
    return row


def _by_key(record: Record) -> int:
    return int(record.key)


def message(shown: Any, notes: Mapping[str, Mapping[str, Any]]) -> Record:
    """Return the stored row of a message as it stands in a line, and its exact notes."""
    if "tool_calls" in notes and isinstance(shown, dict) and type(shown.get("tool_calls")) is Calls:
        shown = {**shown, "tool_calls": shown["tool_calls"].value}
    row = _restored("messages", shown, notes)
    plain = not notes and _in_order(tuple(row))
    for column, value in row.items():
        kind = type(value)
        if kind is dict or kind is list or kind is bool:
            row[column] = _scalar(value)
        elif kind is float and value - value != 0.0:
            plain = False
    return Record("messages", row.get("id"), row, None, plain)


@lru_cache(maxsize=64)
def _in_order(columns: tuple[str, ...]) -> bool:
    """Return whether columns stand as the digest takes them: sorted, the id last."""
    return columns[-1:] == ("id",) and list(columns[:-1]) == sorted(columns[:-1])


_PARSED = frozenset((dict, list, bool))


def _scalar(value: Any) -> Any:
    """Return a column's value as a database holds it; exports of others may have parsed it."""
    if isinstance(value, dict | list):
        return _encode(value)
    return int(value) if isinstance(value, bool) else value
