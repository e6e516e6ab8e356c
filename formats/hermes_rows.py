"""
What the rows of a Hermes store mean: the one place that knows their encodings.

The store's reader and the JSONL reader and writer share it. Facts: docs/formats/hermes-state.md. A *stored* row has the
database's own values; a *visible* row is what Hermes' own export shows of it: structured content and tool calls decoded,
everything valid UTF-8 within 64 bits. Where the visible value does not give the stored one back, an *exact* note beside it does.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import orjson

from satchel.contracts import Record
from satchel.errors import JsonError
from satchel.jsontext import RawText, dumps, loads, loads_common, one_line, verbatim

__all__ = [
    "DERIVED",
    "JSON_PREFIX",
    "Calls",
    "canonical",
    "decode_content",
    "exact_value",
    "fact_json",
    "is_summary",
    "number",
    "row_json",
    "session_json",
    "state_of",
    "stored_row",
    "text_of",
    "visible_row",
    "visible_value",
]

JSON_PREFIX = "\0json:"
"""What marks content that is JSON and not text."""

_LEAST, _GREATEST = -(2**63), 2**64 - 1
"""The integers that every JSON reader takes."""

_MAX_DEPTH = 250
"""Nesting that every JSON writer and reader takes inside a row of a line; deeper content stays the text it is stored as."""


def _encoder() -> Callable[[Any], str]:
    """Return what writes JSON as Hermes does (`json.dumps`), without making an encoder for each call."""
    whole = json.JSONEncoder().encode
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return whole
    ascii_only = json.encoder.encode_basestring_ascii
    encode = make(None, json.JSONEncoder().default, ascii_only, None, ": ", ", ", False, False, True)
    return lambda value: "".join(encode(value, 0)) if type(value) in (list, dict) else whole(value)


_encode = _encoder()


# ---------------------------------------------------------------------------------------------------------- values


def number(value: Any) -> float | None:
    """Return a column's value as a finite number, or None for text, NULL and nonsense."""
    if type(value) is float or type(value) is int:
        try:
            return float(value) if math.isfinite(value) else None
        except OverflowError:
            return None  # No database holds such an integer, but an export may.
    return None


def text_of(value: Any) -> str | None:
    """Return a column's value as text for people: bytes decoded with U+FFFD, numbers spelled, None for NULL."""
    if value is None or (type(value) is str and value.isascii()):
        return value
    if _is_plain(value):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(visible_value(value)[0]) if isinstance(value, str) else str(value)


def state_of(row: Mapping[str, Any]) -> Literal["live", "compacted", "rewound"]:
    """Return what became of a message row, by its two flags; a missing or NULL `active` means live."""
    active = row.get("active", 1)
    if active is None or active:
        return "live"
    return "compacted" if row.get("compacted") else "rewound"


def visible_value(value: Any) -> tuple[Any, dict[str, Any] | None]:
    """Return how a stored value is shown, and the exact note that gives it back, or None where none is needed."""
    kind = type(value)
    if value is None or _is_plain(value):
        return value, None
    if kind is str:
        # No database gives these two, but an export of others may.
        return visible_value(RawText(value.encode("utf-8", "surrogatepass")))
    if kind is int:
        return _common(value), {"int": str(value)}
    if kind is float:
        return None, {"real": "nan" if value != value else "inf" if value > 0 else "-inf"}
    if isinstance(value, RawText):
        return str(value), {"text": base64.b64encode(value.data).decode()}
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace"), {"b64": base64.b64encode(value).decode()}
    raise TypeError(f"a database holds no {kind.__name__}")


def exact_value(note: Mapping[str, Any]) -> Any:
    """Return the stored value that an exact note stands for. Raises JsonError for a note that we would not have written."""
    if len(note) == 1:
        ((kind, said),) = note.items()
        make = _EXACT.get(kind)
        try:
            if make is not None and type(said) in _SAID.get(kind, (str,)):
                return make(said)
        except ValueError as error:
            raise JsonError(f"an exact note that is none: {error}") from error
    raise JsonError(f"an exact note of unknown kind: {', '.join(sorted(map(str, note)))[:80]}")


def _decoded(coded: str) -> bytes:
    data = base64.b64decode(coded)
    if base64.b64encode(data).decode() != coded:
        raise ValueError("base64 in another spelling")
    return data


def _real(said: str) -> float:
    value = float(said)
    if repr(value) != said:
        raise ValueError("a number in another spelling")
    return value


def _integer(said: int | str) -> int:
    value = int(said)
    if isinstance(said, str) and (str(value) != said or _LEAST <= value <= _GREATEST):
        raise ValueError("a number in another spelling")
    return value


# What a note says is spelled in one way only, so that no change of it goes unnoticed.
_EXACT: dict[str, Callable[[Any], Any]] = {
    "str": str,
    "b64": _decoded,
    "text": lambda coded: RawText(_decoded(coded)),
    "real": _real,
    "int": _integer,
    "null": lambda _: None,
}
_SAID = {"int": (int, str), "null": (bool,)}


# ---------------------------------------------------------------------------------------------------------- JSON in columns


def _parse(text: str) -> tuple[Any, bool]:
    """Parse a column's JSON; the second value says whether every JSON reader would understand it the same way."""
    if text.count("[") + text.count("{") > _MAX_DEPTH and _depth(text) > _MAX_DEPTH:
        raise JsonError("nested too deeply")
    try:
        return loads_common(text), True
    except JsonError:
        return loads(text), False


def _depth(text: str) -> int:
    depth = deepest = 0
    quoted = escaped = False
    for char in text:
        if quoted:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                quoted = False
        elif char == '"':
            quoted = True
        elif char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "]}":
            depth -= 1
    return deepest


def _shown(text: str) -> tuple[Any, bool]:
    """
    Return a column's JSON as every JSON reader takes it, and whether writing it as Hermes does gives the text again.

    Raises:
        JsonError: It is not JSON, or nested too deeply to be shown.
    """
    value, common = _parse(text)
    if not common:
        # What only looks uncommon, a long number inside a string, say, is written back the same.
        try:
            other = orjson.loads(text)
        except ValueError:
            return _common(value), False
        return (other, True) if _encode(other) == text else (_common(value), False)
    return value, _encode(value) == text


_ESCAPES = re.compile(r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def _settled(calls: Any) -> Any:
    """
    Return tool calls without escapes of lone surrogates in their arguments.

    Arguments are JSON in a text, and readers that parse them (`datasets`) can't hold half a character.
    """
    if isinstance(calls, list):
        return [_settled(call) for call in calls]
    if isinstance(calls, dict):
        return {
            key: _ESCAPES.sub(_whole_escape, value) if key == "arguments" and isinstance(value, str) else _settled(value)
            for key, value in calls.items()
        }
    return calls


def _whole_escape(match: re.Match[str]) -> str:
    found = match[0]
    return "\\ufffd" if len(found) == 6 else found


def _common(value: Any) -> Any:
    """Return a parsed value with what some JSON readers refuse replaced: wide integers, lone surrogates, NaN."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_common(item) for item in value]
    if isinstance(value, dict):
        return {_common(key): _common(item) for key, item in value.items()}
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        if _LEAST <= value <= _GREATEST:
            return value
        try:
            value = float(value)
        except OverflowError:
            return None
    return value if math.isfinite(value) else None


class Calls:
    """Tool calls that stand in an export as they are stored: `text` is the stored text, and JSON."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    @property
    def value(self) -> Any:
        """What the text says."""
        return orjson.loads(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Calls) and self.text == other.text

    def __hash__(self) -> int:
        return hash(("Calls", self.text))

    def __repr__(self) -> str:
        return f"Calls({self.text!r})"


def _stand(calls: str) -> bool:
    """Return whether tool calls stand in an export as they are: JSON on one line that every reader takes the same way."""
    if not calls.isascii() or "\n" in calls or "\r" in calls or "\t" in calls or calls[:1] + calls[-1:] not in ("[]", "{}"):
        return False
    try:
        value = orjson.loads(calls)
    except ValueError:
        return False
    if type(value) is not list:
        return _stand_at_closer_look(calls, value)
    # The shape they have nearly always: nothing is nested in it, and no integer is too wide, since those come as floats.
    try:
        for call in value:
            for item in call.values():
                kind = type(item)
                if not (kind is str or kind is int or item is None):
                    for inner in item.values():
                        if type(inner) is not str:
                            return _stand_at_closer_look(calls, value)
    except AttributeError:
        return _stand_at_closer_look(calls, value)
    return "\\\\u" not in calls or not _may_escape_halves(calls) or bool(_settled(value) == value)


def _may_escape_halves(calls: str) -> bool:
    """Return whether the escape of half a surrogate pair may be spelled in a text inside tool calls."""
    # Any character of it may itself be an escape; most escapes in arguments are of other characters.
    return any(part in calls for part in _MAY_BE_HALVES)


_MAY_BE_HALVES = ("\\\\ud", "\\\\uD", "\\\\u\\", "\\\\\\u", "\\u005")


def _stand_at_closer_look(calls: str, value: Any) -> bool:
    if _is_ambiguous(value) or (calls.count("[") + calls.count("{") > _MAX_DEPTH and _depth(calls) > _MAX_DEPTH):
        return False
    # What is replaced for readers that can't hold it, wide integers say, is not said by the text alone.
    exactly = loads(calls)
    return repr(_common(exactly)) == repr(exactly) and bool(_settled(value) == value)


def decode_content(stored: Any) -> Any:
    """Return what a content column holds: text, parsed JSON where it is marked as such and parses, None for NULL."""
    if type(stored) is not str or not stored.startswith(JSON_PREFIX):
        return stored
    try:
        return _parse(stored[len(JSON_PREFIX) :])[0]
    except JsonError:
        return stored


def visible_row(record: Record) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """
    Return a stored row as Hermes' export shows it, and the exact notes by column for what that could not show.

    `stored_row` of the two is the stored row again.
    """
    row = dict(record.data)
    exact: dict[str, dict[str, Any]] = {}
    if not _is_shown_whole(row):
        for column, value in row.items():
            row[column], note = visible_value(value)
            if note is not None:
                exact[column] = note
    if record.kind != "messages":
        return row, exact
    content = row.get("content")
    if type(content) is str:
        if "content" not in exact and content.startswith(JSON_PREFIX):
            try:
                shown, usual = _shown(content[len(JSON_PREFIX) :])
            except JsonError:
                pass  # Not JSON after all: the text as it stands.
            else:
                row["content"] = shown
                if not usual or _is_ambiguous(shown) or type(shown) is str:
                    exact["content"] = {"str": content}
    elif (note := _number_note(content)) is not None:
        exact["content"] = note
    calls = row.get("tool_calls")
    if type(calls) is str:
        note = exact.get("tool_calls")
        if note is None and _stand(calls):
            row["tool_calls"] = Calls(calls)
            return row, exact
        row["tool_calls"] = [] if note is not None else _shown_calls(calls)
        exact["tool_calls"] = note or {"str": calls}
    elif (note := _number_note(calls)) is not None:
        exact["tool_calls"] = note
    return row, exact


def _shown_calls(calls: str) -> Any:
    """Return tool calls that can't stand as they are, as every JSON reader takes them; none where they are no JSON."""
    try:
        return _settled(_shown(calls)[0])
    except JsonError:
        return []


def _is_shown_whole(row: Mapping[str, Any]) -> bool:
    """Return whether JSON shows every value of a row as it is."""
    # A loop over every value of every session's row: what is usual is found out without a call.
    for value in row.values():
        kind = type(value)
        if (
            value is None
            or (kind is str and value.isascii())
            or (kind is int and _LEAST <= value <= _GREATEST)
            or (kind is float and value - value == 0.0)
        ):
            continue
        if not _is_plain(value):
            return False
    return True


def _is_plain(value: Any) -> bool:
    """Return whether every JSON reader takes a text or a number as it is, or it is neither (then not)."""
    kind = type(value)
    if kind is str:
        if value.isascii():
            return True
        try:
            value.encode()
        except UnicodeEncodeError:
            return False  # Half a surrogate pair.
        return True
    if kind is int:
        return bool(_LEAST <= value <= _GREATEST)
    return kind is float and value - value == 0.0


def _is_ambiguous(shown: Any) -> bool:
    """Return whether a decoded value would pass for something else: for NULL, or for a note in the canonical form."""
    return shown is None or (type(shown) is dict and len(shown) == 1 and next(iter(shown)).startswith("$"))


def _number_note(value: Any) -> dict[str, Any] | None:
    """Return the note of a number in a column of text: a column declared without an affinity may hold one."""
    if type(value) is int:
        return {"int": value}
    return {"real": repr(value)} if type(value) is float and value - value == 0.0 else None


def stored_row(kind: str, visible: Mapping[str, Any], exact: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the stored row of a visible one and its exact notes: the inverse of `visible_row`."""
    row = dict(visible)
    for column, note in exact.items():
        row[column] = exact_value(note)
    if kind == "messages":
        content = row.get("content")
        if "content" not in exact and content is not None and type(content) is not str:
            row["content"] = JSON_PREFIX + _encode(content)
        calls = row.get("tool_calls")
        if type(calls) is Calls:
            row["tool_calls"] = calls.text
        elif "tool_calls" not in exact and calls is not None:
            # Exports of others have parsed them; Hermes spells them like this.
            row["tool_calls"] = _encode(calls)
    return row


# ---------------------------------------------------------------------------------------------------------- as JSON


def row_json(record: Record) -> bytes:
    """
    Return a row as JSON the way an export shows it: its columns by name, a message's id last.

    It is made once and kept on the record; `record.exact` then has the notes on what it can't show.
    """
    if record.json is not None:
        return record.json
    if record.plain:
        # The fast way, for rows whose values are as they should be.
        row = record.data
        content = row.get("content")
        calls = row.get("tool_calls")
        try:
            if content is None or content[:1] != "\0":
                if calls is None:
                    record.json = body = one_line(orjson.dumps(row))
                    return body
                if type(calls) is str and _stand(calls):
                    shown = row.copy()
                    shown["tool_calls"] = verbatim(calls)
                    record.json = body = one_line(orjson.dumps(shown))
                    return body
        except (TypeError, ValueError, RecursionError):
            # A BLOB, or text that is not UTF-8: only serialising finds them, since looking at every value costs more.
            pass
    shown, notes = visible_row(record)
    record.json = dumps(_in_order(shown))
    record.exact = notes or None
    return record.json


def _in_order(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message's visible row as it is written."""
    calls = row.get("tool_calls")
    row = {**row, "tool_calls": verbatim(calls.text)} if type(calls) is Calls else row
    return {name: row[name] for name in sorted(row) if name != "id"} | ({"id": row["id"]} if "id" in row else {})


DERIVED = ("message_count", "tool_call_count")
"""Columns of a session that restate its messages, and often wrongly: no part of what it says."""


def canonical(record: Record) -> tuple[bytes | memoryview, ...]:
    """
    Return the pieces of a row's canonical line (docs/formats/digest.md): its JSON and a newline.

    A message row stands without its id. A session's row begins with its id and stands without the derived counts. A value that
    JSON can't show is an object: `{"$b64": …}` for a BLOB, `{"$text": …}`, `{"$real": …}`, `{"$str": …}` for JSON text that is
    not spelled as Hermes spells it.
    """
    kind = record.kind
    if kind == "messages":
        body = record.json or row_json(record)
        if record.exact is None and "id" in record.data:
            end = body.rindex(b'"id":')
            return memoryview(body)[: end - (end > 1)], b"}\n"
    elif kind == "sessions":
        body = session_json(record)
        if record.exact is None and body.endswith(b"}") and (end := body.rfind(_COUNTS)) > 0:
            return memoryview(body)[:end], b"}\n"
    else:
        body = fact_json(record)
        if record.exact is None:
            return body, b"\n"
    shown, notes = visible_row(record)
    shown |= {column: {f"${kind}": value for kind, value in note.items()} for column, note in notes.items()}
    if kind == "messages":
        shown = _in_order(shown)
    first = {"id": shown.pop("id")} if kind == "sessions" and "id" in shown else {}
    left_out = _LEFT_OUT.get(kind, ())
    return (dumps(first | {name: shown[name] for name in sorted(shown) if name not in left_out}) + b"\n",)


_LEFT_OUT = {"messages": ("id",), "sessions": DERIVED}
_COUNTS = b',"%s":' % DERIVED[0].encode()


_orders: dict[tuple[str, ...], tuple[str, ...]] = {}
"""By the columns of sessions' rows, the order in which they are shown."""
_MOST_ORDERS = 256


def session_json(record: Record) -> bytes:
    """Return a session's row as JSON the way an export shows it: its id, the other columns by name, the derived counts."""
    if record.json is None:
        row = record.data
        columns = tuple(row)
        names = _orders.get(columns)
        if names is None:
            if len(_orders) > _MOST_ORDERS:
                _orders.clear()
            inner = [name for name in sorted(columns) if name != "id" and name not in DERIVED]
            names = _orders[columns] = (*(["id"] if "id" in row else ()), *inner, *(name for name in DERIVED if name in row))
        if not _is_shown_whole(row):
            row, notes = visible_row(record)
            record.exact = notes or None
        record.json = dumps({name: row[name] for name in names})
    return record.json


def fact_json(record: Record) -> bytes:
    """Return a row of another table as JSON the way an export shows it: its columns by name."""
    if record.json is None:
        shown, notes = visible_row(record)
        record.json = dumps({name: shown[name] for name in sorted(shown)})
        record.exact = notes or None
    return record.json


# How a summary of what was compacted begins (docs/formats/hermes-state.md, "Injected text").
_SUMMARY = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:", "[PRIOR CONTEXT — for reference only")


def is_summary(row: Mapping[str, Any]) -> bool:
    """Return whether a message row is a compaction summary."""
    if row.get("_compressed_summary"):
        return True
    content = row.get("content")
    return type(content) is str and content.lstrip().startswith(_SUMMARY)
