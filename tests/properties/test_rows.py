"""What holds of every row: its visible form and the notes beside it give it back, and equal digests mean equal rows."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import any_json, contents, message_rows, record, session_rows, spelled, stored_values, texts, tool_calls

from satchel.contracts import Record
from satchel.formats.hermes_decode import decode, typed_text
from satchel.formats.hermes_rows import (
    JSON_PREFIX,
    Calls,
    canonical,
    exact_value,
    row_json,
    stored_row,
    visible_row,
    visible_value,
)
from satchel.formats.jsonl.lines import message, parse
from satchel.formats.model import Message
from satchel.jsontext import dumps, loads


def _is_common(value: Any) -> bool:
    """Return whether a value is valid UTF-8 within 64 bits, and finite."""
    if isinstance(value, str):
        return not any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, dict):
        return all(_is_common(key) and _is_common(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(_is_common, value))
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, int):
        return -(2**63) <= value < 2**64
    return isinstance(value, float) and value - value == 0.0


@given(stored_values)
def test_a_value_comes_back_from_what_is_shown_and_its_note(value: Any) -> None:
    shown, note = visible_value(value)
    assert _is_common(shown)
    assert repr(value) == repr(exact_value(loads(dumps(note))) if note else shown)


@given(message_rows())
def test_a_message_comes_back_from_its_visible_row(row: dict[str, Any]) -> None:
    shown, exact = visible_row(Record("messages", row["id"], dict(row)))
    calls = shown.get("tool_calls")
    assert _is_common(shown | {"tool_calls": calls.value} if isinstance(calls, Calls) else shown)
    assert spelled(row) == spelled(stored_row("messages", shown, exact))


@given(message_rows())
@example({"role": "user", "tool_calls": '{"":1000000000000000000}', "id": 0})
def test_a_message_comes_back_from_its_json(row: dict[str, Any]) -> None:
    """Whatever way the JSON was made; and any JSON library can read it."""
    quick, careful = record(row), Record("messages", row["id"], dict(row))
    body = row_json(quick)
    assert body == row_json(careful)
    assert quick.exact == careful.exact
    assert list(orjson.loads(body)) == [*sorted(name for name in row if name != "id"), "id"]
    notes = loads(dumps(quick.exact or {}))
    assert _is_common(notes)
    line = parse(b'{"messages":[\t' + body + b'\t],"satchel":{"v":1}}')
    back = message(line["messages"][0], notes)
    assert spelled({name: row[name] for name in sorted(row)}) == spelled({name: back.data[name] for name in sorted(back.data)})
    assert row == quick.data
    assert b"".join(canonical(quick)) == b"".join(canonical(careful)) == b"".join(canonical(back))


@given(session_rows())
def test_a_session_comes_back_from_its_visible_row(row: dict[str, Any]) -> None:
    shown, exact = visible_row(Record("sessions", row["id"], dict(row)))
    assert spelled(row) == spelled(stored_row("sessions", loads(dumps(shown)), loads(dumps(exact))))


def _canonical(row: dict[str, Any]) -> bytes:
    return b"".join(canonical(record(row)))


@given(message_rows(), st.integers(-(2**63), 2**63 - 1))
def test_a_messages_id_is_no_part_of_what_it_says(row: dict[str, Any], other: int) -> None:
    line = _canonical(row)
    assert line == _canonical(row | {"id": other})
    assert 1 == line.count(b"\n")
    assert line.endswith(b"}\n")
    loads(line)


@given(
    message_rows(),
    st.sampled_from(["content", "tool_calls", "role", "timestamp", "reasoning"]),
    st.data(),
)
def test_different_messages_have_different_lines_in_the_digest(row: dict[str, Any], column: str, data: st.DataObject) -> None:
    values = {"content": contents | stored_values, "tool_calls": tool_calls | stored_values}.get(column, stored_values)
    one, other = (row | {column: data.draw(values)} for _ in range(2))
    assert (spelled(one) == spelled(other)) is (_canonical(one) == _canonical(other))


@given(st.sampled_from(["content", "tool_calls"]), stored_values)
def test_structured_text_never_passes_for_another_value(column: str, value: Any) -> None:
    """`{"$b64": …}` may be what a BLOB looks like in the digest, or what somebody wrote in structured content."""
    row = {column: value, "id": 1}
    look = loads(_canonical(row))[column]
    if isinstance(look, dict):
        prefix = JSON_PREFIX if column == "content" else ""
        assert _canonical(row) != _canonical({column: prefix + dumps(look).decode().replace(":", ": ", 1), "id": 1})


@given(message_rows())
def test_every_row_is_one_message(row: dict[str, Any]) -> None:
    one = record(row)
    entry = decode(one)
    assert isinstance(entry, Message)
    assert [one] == list(entry.records)
    assert entry.author in ("person", "model", "tool", "system", "harness", "bystander")
    assert entry.state in ("live", "compacted", "rewound")
    assert entry.role


@given(any_json)
@example([[[[[[]]]]]])
def test_structured_content_of_any_shape_is_decoded(value: Any) -> None:
    import json

    for role in ("user", "assistant", "tool"):
        decode(Record("messages", 1, {"role": role, "content": JSON_PREFIX + json.dumps(value), "tool_calls": json.dumps(value)}))


_marks = st.sampled_from(
    ["<memory-context>", "</memory-context>", "<MEMORY-CONTEXT>", "[Note: x]", "[System note: y]", "\n", "İ", "ß"]
)


@given(st.lists(texts | _marks, max_size=8).map("".join))
def test_nothing_but_blanks_is_lost_between_typed_and_injected_text(text: str) -> None:
    parts = typed_text(text)
    at = 0
    for part in parts:
        found = text.index(part.text, at)
        assert "" == text[at:found].strip()
        at = found + len(part.text)
    assert "" == text[at:].strip()
