"""The encodings of a Hermes row: what an export shows of it, what stands beside that, and what the digest takes."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hermes_odd import CONTENTS, TOOL_CALLS
from hermes_parts import TextBytes
from strategies import spelled

from satchel.contracts import Record
from satchel.errors import JsonError
from satchel.formats.hermes_rows import (
    JSON_PREFIX,
    Calls,
    canonical,
    decode_content,
    exact_value,
    is_summary,
    number,
    row_json,
    state_of,
    stored_row,
    text_of,
    visible_row,
)
from satchel.jsontext import RawText, loads


def _stored(value: object) -> Any:
    return RawText(bytes(value)) if isinstance(value, TextBytes) else value


def _row(**columns: Any) -> Record:
    return Record("messages", 7, {name: columns[name] for name in sorted(columns)} | {"id": 7}, None, True)


@pytest.mark.parametrize("how", CONTENTS)
def test_every_content_comes_back(how: str) -> None:
    record = _row(content=_stored(CONTENTS[how]), role="user")
    shown, exact = visible_row(Record("messages", 7, record.data))
    assert spelled(record.data) == spelled(stored_row("messages", shown, exact))
    assert loads(row_json(record)) == shown
    assert exact == (record.exact or {})


@pytest.mark.parametrize("how", TOOL_CALLS)
def test_every_tool_call_comes_back(how: str) -> None:
    record = _row(role="assistant", tool_calls=TOOL_CALLS[how])
    shown, exact = visible_row(Record("messages", 7, record.data))
    assert spelled(record.data) == spelled(stored_row("messages", shown, exact))
    if isinstance(shown["tool_calls"], Calls):
        assert record.data["tool_calls"] == shown["tool_calls"].text
        shown["tool_calls"] = shown["tool_calls"].value
    assert loads(row_json(record)) == shown


@pytest.mark.parametrize(
    ("content", "shown", "note"),
    [
        ("plain", "plain", None),
        ('\0json:[{"type": "text"}]', [{"type": "text"}], None),
        ('\0json:[{"type":"text"}]', [{"type": "text"}], "str"),
        ('\0json:{"n": 18446744073709551616}', {"n": 1.8446744073709552e19}, "str"),
        ('\0json:{"n": 900719925474099300}', {"n": 900719925474099300}, None),
        ('\0json:{"n": NaN}', {"n": None}, "str"),
        ('\0json:["\\ud83d"]', ["\ufffd"], "str"),
        ('\0json:{"a": 1, "a": 2}', {"a": 2}, "str"),
        ('\0json:"text"', "text", "str"),
        ("\0json:null", None, "str"),
        ("\0json:5", 5, None),
        ('\0json:{"$b64": "AA=="}', {"$b64": "AA=="}, "str"),
        ("\0json:[cut", "\0json:[cut", None),
        ("\0json:" + "[" * 251 + "]" * 251, "\0json:" + "[" * 251 + "]" * 251, None),
        (b"\x00\xff", "\0\ufffd", "b64"),
        (RawText(b"caf\xe9"), "caf\ufffd", "text"),
        (RawText(b"\0json:[\xff]"), "\0json:[\ufffd]", "text"),
        (12345, 12345, "int"),
        (3.5, 3.5, "real"),
        (float("-inf"), None, "real"),
    ],
)
def test_content_as_it_is_shown(content: Any, shown: Any, note: str | None) -> None:
    record = _row(content=content)
    assert shown == loads(row_json(record))["content"]
    assert note == (next(iter(record.exact["content"])) if record.exact else None)


@pytest.mark.parametrize(
    ("calls", "shown", "noted"),
    [
        (None, None, False),
        ('[{"id": "c1"}]', [{"id": "c1"}], False),
        ('[{"id":"c1"}]', [{"id": "c1"}], False),
        ('[ {"id" : "c1"}, ["x"] ]', [{"id": "c1"}, ["x"]], False),
        ('[{"id": "c1"}]\n', [{"id": "c1"}], True),
        ('[{"id":\t"c1"}]', [{"id": "c1"}], True),
        (' [{"id": "c1"}]', [{"id": "c1"}], True),
        ('[{"id": "\u00e9"}]', [{"id": "\u00e9"}], True),
        ('[{"id": "\\u00e9"}]', [{"id": "\u00e9"}], False),
        ('[{"index": 18446744073709551616}]', [{"index": 1.8446744073709552e19}], True),
        ('[{"index": 1e19, "id": "18446744073709551616"}]', [{"index": 1e19, "id": "18446744073709551616"}], False),
        ('{"$b64": "AA=="}', {"$b64": "AA=="}, True),
        ('{"id": "c1"}', {"id": "c1"}, False),
        ('"[]"', "[]", True),
        ("[]", [], False),
        ("not JSON", [], True),
        ("", [], True),
        ("null", None, True),
        (b"[]", [], True),
        ('[{"n": 1e400}]', [{"n": None}], True),
    ],
)
def test_tool_calls_as_they_are_shown(calls: Any, shown: Any, noted: bool) -> None:
    """Text that is no JSON is shown as an empty list, as Hermes' own reader does it."""
    record = _row(tool_calls=calls)
    assert shown == loads(row_json(record))["tool_calls"]
    assert noted is (record.exact is not None)


@pytest.mark.parametrize("depth", [1, 249, 250])
def test_nesting_that_every_reader_takes_is_shown(depth: int) -> None:
    text = "[" * depth + "1" + "]" * depth
    record = _row(content="\0json:" + text, tool_calls=text)
    shown = orjson.loads(row_json(record))
    assert record.exact is None
    assert loads(text) == shown["content"] == shown["tool_calls"]


def test_a_blob_beside_structured_content_is_noted_too() -> None:
    """The quick way does not look at every value, so it must not be trusted with what another value shows to be odd."""
    for columns in ({"content": '\0json:["a"]'}, {"tool_calls": "[ ]"}, {"tool_calls": b"[]"}):
        record = _row(weather=b"\x00\xff", **columns)
        row_json(record)
        assert record.exact is not None
        assert {"b64": "AP8="} == record.exact["weather"]


def test_the_json_is_made_once() -> None:
    record = _row(content="x")
    assert row_json(record) is row_json(record)
    assert not hasattr(record, "__dict__")


def test_the_json_has_columns_by_name_and_the_id_last() -> None:
    record = Record("messages", 7, {"role": "user", "Zone": 1, "_x": 2, "id": 7, "content": "é"})
    assert '{"Zone":1,"_x":2,"content":"é","role":"user","id":7}'.encode() == row_json(record)


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ({"content": "x", "id": 7}, b'{"content":"x"}\n'),
        ({"id": 7}, b"{}\n"),
        ({"content": "x"}, b'{"content":"x"}\n'),
        ({"content": '\0json:[{"id": 5}]', "role": "user"}, b'{"content":[{"id":5}],"role":"user"}\n'),
        ({"content": '{"id":5}', "id": 7}, b'{"content":"{\\"id\\":5}"}\n'),
        ({"content": b"\xff", "id": 7}, b'{"content":{"$b64":"/w=="}}\n'),
        ({"content": RawText(b"\xff"), "id": 7}, b'{"content":{"$text":"/w=="}}\n'),
        ({"content": "\0json:[1,2]", "id": 7}, b'{"content":{"$str":"\\u0000json:[1,2]"}}\n'),
        ({"id": 7, "timestamp": float("inf")}, b'{"timestamp":{"$real":"inf"}}\n'),
    ],
)
def test_a_message_in_the_digest(row: dict[str, Any], line: bytes) -> None:
    """The id is left out wherever it stands, and nothing else that is called an id."""
    assert line == b"".join(canonical(Record("messages", row.get("id"), row)))


def test_a_session_in_the_digest_begins_with_its_id_and_leaves_the_counts_out() -> None:
    row = {"archived": 0, "id": "s", "message_count": 5, "title": None, "tool_call_count": 2, "cost": float("inf"), "blob": b"x"}
    line = b'{"id":"s","archived":0,"blob":{"$b64":"eA=="},"cost":{"$real":"inf"},"title":null}\n'
    assert line == b"".join(canonical(Record("sessions", "s", row)))


def test_other_rows_in_the_digest_keep_their_ids_and_counts() -> None:
    row = {"message_count": 1, "id": 3}
    assert b'{"id":3,"message_count":1}\n' == b"".join(canonical(Record("dreams", 3, row)))


@pytest.mark.parametrize(
    "note",
    [
        {},
        {"odd": 1},
        {"str": "x", "int": 5},
        {"str": 5},
        {"b64": "AB=="},
        {"b64": "A A=="},
        {"b64": "A"},
        {"b64": None},
        {"text": "!"},
        {"real": "Inf"},
        {"real": "1.50"},
        {"real": "x"},
        {"real": 1.5},
        {"int": "5"},
        {"int": True},
        {"null": 0},
    ],
)
def test_a_note_that_we_would_not_have_written_is_an_error(note: dict[str, Any]) -> None:
    with pytest.raises(JsonError):
        exact_value(note)


@pytest.mark.parametrize(
    ("row", "state"),
    [
        ({}, "live"),
        ({"active": None}, "live"),
        ({"active": None, "compacted": 1}, "live"),
        ({"active": 1, "compacted": 1}, "live"),
        ({"active": 2}, "live"),
        ({"active": "no"}, "live"),
        ({"active": 0}, "rewound"),
        ({"active": 0, "compacted": None}, "rewound"),
        ({"active": 0, "compacted": 0}, "rewound"),
        ({"active": 0, "compacted": 1}, "compacted"),
        ({"active": 0.0, "compacted": 2}, "compacted"),
    ],
)
def test_the_state_of_a_message(row: dict[str, Any], state: str) -> None:
    assert state == state_of(row)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, 1.0), (1.5, 1.5), (float("inf"), None), (float("nan"), None), ("1", None), (b"1", None), (None, None), (True, None)],
)
def test_a_number_is_a_finite_one(value: Any, expected: float | None) -> None:
    assert expected == number(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("x", "x"), (None, None), (b"caf\xe9", "caf\ufffd"), (RawText(b"caf\xe9"), "caf\ufffd"), (5, "5"), (1.5, "1.5"), ("", "")],
)
def test_text_for_people(value: Any, expected: str | None) -> None:
    assert expected == text_of(value)


@pytest.mark.parametrize(
    ("stored", "decoded"),
    [
        (None, None),
        ("x", "x"),
        ("\0json:[1]", [1]),
        ("\0json:[", "\0json:["),
        ("\0JSON:[]", "\0JSON:[]"),
        (b"\0json:[]", b"\0json:[]"),
        ("\0json:" + "[" * 500, "\0json:" + "[" * 500),
        (JSON_PREFIX + '"' + "[" * 500 + '"', "[" * 500),
    ],
)
def test_content_is_decoded_where_it_is_marked_and_parses(stored: Any, decoded: Any) -> None:
    assert decoded == decode_content(stored)


def test_summaries_are_known_by_their_mark_or_their_beginning() -> None:
    assert is_summary({"_compressed_summary": 1, "content": "x"})
    assert is_summary({"content": "\n[CONTEXT COMPACTION — REFERENCE ONLY] so far"})
    assert not is_summary({"_compressed_summary": 0, "content": "about [CONTEXT COMPACTION]"})
    assert not is_summary({"content": None})


def test_tool_calls_are_spelled_as_hermes_spells_them() -> None:
    calls: list[dict[str, Any]] = [{"id": "é😀", "n": [1.0, 1e16, -0.0, 10**15], "x": {}, "y": [], "z": None, "t": True}]
    record = _row(tool_calls=json.dumps(calls))
    row_json(record)
    assert record.exact is None
    shown, exact = visible_row(record)
    assert json.dumps(calls) == stored_row("messages", shown, exact)["tool_calls"]
