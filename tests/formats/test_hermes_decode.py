"""From rows to the model: who wrote a message, what its parts are, and what was typed."""

from __future__ import annotations

from typing import Any

import pytest
from hermes_odd import CONTENTS, TOOL_CALLS
from hermes_parts import PIXEL, TextBytes

from satchel.contracts import Record
from satchel.formats.hermes_decode import decode, typed_text
from satchel.formats.model import Attachment, Image, Message, Note, Text, Thinking, ToolCall, ToolResult, Unknown
from satchel.jsontext import RawText


def _message(**row: Any) -> Message:
    entry = decode(Record("messages", 7, row))
    assert isinstance(entry, Message)
    return entry


@pytest.mark.parametrize(
    ("row", "author"),
    [
        ({"role": "user", "content": "Hello."}, "person"),
        ({"role": "user", "content": None}, "person"),
        ({"role": "user", "content": "[Marek] hi", "observed": 1}, "bystander"),
        ({"role": "user", "content": "x", "display_kind": "hidden"}, "harness"),
        ({"role": "user", "content": "x", "display_kind": "model_switch"}, "harness"),
        ({"role": "user", "content": "faster!", "display_kind": "steering"}, "person"),
        ({"role": "user", "content": "[CONTEXT COMPACTION — REFERENCE ONLY] so far"}, "harness"),
        ({"role": "user", "content": "\n [System: resumed]"}, "harness"),
        ({"role": "user", "content": "so far", "_compressed_summary": 1}, "harness"),
        ({"role": "user", "content": "<memory-context>\nlikes tea\n</memory-context>"}, "harness"),
        ({"role": "user", "content": "<memory-context>\nlikes tea\n</memory-context>\nHello."}, "person"),
        ({"role": "user", "content": "about [System: x]"}, "person"),
        ({"role": "assistant", "content": "Hi."}, "model"),
        ({"role": "assistant", "content": "[CONTEXT SUMMARY]: so far"}, "harness"),
        ({"role": "tool", "content": "ok"}, "tool"),
        ({"role": "system", "content": "You are Hermes."}, "system"),
        ({"role": "developer", "content": "x"}, "system"),
        ({"role": None, "content": "x"}, "system"),
        ({"role": b"user", "content": "x"}, "system"),
    ],
)
def test_who_wrote_it(row: dict[str, Any], author: str) -> None:
    assert author == _message(**row).author


@pytest.mark.parametrize(
    ("role", "expected"), [("user", "user"), ("", "unknown"), (None, "unknown"), (RawText(b"\xff"), "\ufffd"), (b"user", "user")]
)
def test_the_role_is_the_sources_own_word(role: Any, expected: str) -> None:
    assert expected == _message(role=role).role


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Hello.", [Text("Hello.")]),
        ("", []),
        (" \n", [Text(" \n")]),
        ("<memory-context>m</memory-context>\nHello.", [Text("<memory-context>m</memory-context>", True), Text("\nHello.")]),
        (
            "One <Memory-Context>m</memory-context> two <memory-context>n</memory-context>",
            [
                Text("One "),
                Text("<Memory-Context>m</memory-context>", True),
                Text(" two "),
                Text("<memory-context>n</memory-context>", True),
            ],
        ),
        ("<memory-context> never closed", [Text("<memory-context> never closed")]),
        ("[Note: model changed]\n\nHello.", [Text("[Note: model changed]", True), Text("Hello.")]),
        ("[System note: a][Note: b]Hello.", [Text("[System note: a]", True), Text("[Note: b]", True), Text("Hello.")]),
        ("[Note: never closed", [Text("[Note: never closed")]),
        ("[Note: only this]", [Text("[Note: only this]", True)]),
        ("İİ<memory-context>m</memory-context>x", [Text("İİ"), Text("<memory-context>m</memory-context>", True), Text("x")]),
    ],
)
def test_what_was_typed_and_what_was_put_in(text: str, parts: list[Text]) -> None:
    assert parts == typed_text(text)


def test_many_notes_take_no_more_than_many_steps() -> None:
    """A text of nothing but notes was copied once for each of them: 2 MB took hours."""
    parts = typed_text("[Note: ]" * 250_000 + "Hello.")
    assert 250_001 == len(parts)
    assert Text("Hello.") == parts[-1]


@pytest.mark.parametrize(
    ("how", "blocks"),
    [
        ("null", []),
        ("empty", []),
        ("text", [Text("An ordinary sentence.")]),
        ("parts", [Text("Two parts,"), Text("one message.")]),
        (
            "image_url",
            [Text("A pixel:"), Image("image/png", PIXEL), Image(url="https://pictures.example.test/tide.png")],
        ),
        ("image source", [Image("image/png", PIXEL)]),
        ("responses", [Text("In the Responses style:"), Image("image/png", PIXEL)]),
        (
            "audio",
            [Attachment("input_audio", None, {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}})],
        ),
        ("unknown part", [Unknown({"type": "hologram", "beams": [1, 2.5, None, True], "text": "from the future"})]),
        ("bare strings", [Text("one string"), Text("another"), Unknown(3), Unknown(None)]),
        ("object", [Unknown({"text": "an object, not a list", "nested": {"deep": [[[]]]}})]),
        ("scalar", [Text("a JSON string after the prefix")]),
        ("lone surrogate", [Text("half a pair: \ud83d, and its end alone: \ude00")]),
        ("broken prefix", [Text('\0json:[{"type": "text", "text": "cut of')]),
        ("invalid utf-8", [Text("caf\ufffd and \ufffd\ufffd, then é")]),
        ("blob", [Text("\ufffdPNG\r\n\x1a\n\x00\ufffd")]),
    ],
)
def test_content_of_every_shape(how: str, blocks: list[Any]) -> None:
    content = CONTENTS[how]
    assert blocks == _message(role="user", content=RawText(bytes(content)) if isinstance(content, TextBytes) else content).blocks


@pytest.mark.parametrize(
    ("how", "blocks"),
    [
        (
            "usual",
            [ToolCall("call_1", "terminal", {"command": "date"}), ToolCall("call_2", "read_file", {"path": "a.txt"})],
        ),
        ("codex", [ToolCall("call_3", "terminal", {"command": "ls"})]),
        ("no id, no function", [ToolCall(None, "terminal", {"command": "ls"})]),
        ("arguments as object", [ToolCall("call_5", "todo", {"items": ["a"]})]),
        ("arguments not JSON", [ToolCall("call_6", "terminal", "ls -la {")]),
        ("arguments empty", [ToolCall("call_7", "now", "")]),
        ("arguments absent", [ToolCall("call_8", "now", None)]),
        ("one object", [ToolCall("call_9", "terminal", {"command": "pwd"})]),
        ("double-encoded", [ToolCall("call_10", "terminal", {"command": "id"})]),
        ("text", [Unknown("not JSON at all")]),
        ("empty text", []),
        ("empty list", []),
        ("null", []),
        ("number", [Unknown(17)]),
        ("list of odd things", [Unknown("terminal"), Unknown(5), Unknown([]), Unknown({})]),
        ("big number", [ToolCall("call_16", "f", {"n": 18446744073709551616, "x": float("inf")})]),
        ("surrogate", [ToolCall("call_17", "f\ud83d", {})]),
        ("blob", [Unknown({"id": "call_20"})]),
    ],
)
def test_tool_calls_of_every_shape(how: str, blocks: list[Any]) -> None:
    assert blocks == _message(role="assistant", tool_calls=TOOL_CALLS[how]).blocks


def test_all_shapes_decode() -> None:
    for calls in TOOL_CALLS.values():
        _message(role="assistant", tool_calls=calls)


def test_reasoning_is_thought_once() -> None:
    assert [Thinking("a"), Text("x")] == _message(role="assistant", content="x", reasoning="a", reasoning_content="a").blocks
    assert [Thinking("a"), Thinking("b")] == _message(role="assistant", reasoning="a", reasoning_content="b").blocks
    assert [] == _message(role="assistant", reasoning="", reasoning_content=None).blocks


def test_what_only_the_provider_can_read_is_kept() -> None:
    entry = _message(
        role="assistant", reasoning_details='[{"a": 1}]', codex_reasoning_items="[{", codex_message_items='[{"id": "m"}]'
    )
    assert [
        Thinking("", hidden=True, data=[{"a": 1}]),
        Thinking("", hidden=True, data="[{"),
        Unknown({"codex_message_items": [{"id": "m"}]}),
    ] == entry.blocks


def test_a_result_belongs_to_its_call() -> None:
    assert [ToolResult("c1", "terminal", [Text("ok")])] == _message(
        role="tool", content="ok", tool_call_id="c1", tool_name="terminal"
    ).blocks
    assert [ToolResult(None, None, [])] == _message(role="tool", content=None).blocks


def test_the_rest_of_a_message() -> None:
    entry = _message(
        id=7,
        role="assistant",
        content="cut",
        timestamp=5,
        finish_reason="incomplete",
        token_count=7,
        platform_message_id="m-1",
        effect_disposition="unknown",
        active=0,
        compacted=1,
    )
    assert ("7", 5.0, "incomplete", "compacted") == (entry.id, entry.time, entry.stop_reason, entry.state)
    assert {"token_count": 7, "platform_message_id": "m-1", "effect_disposition": "unknown"} == entry.extra
    assert {"summary": True} == _message(role="user", content="[CONTEXT SUMMARY]: x").extra


def test_any_other_row_is_a_note() -> None:
    record = Record("session_model_usage", 1, {"session_id": "s", "input_tokens": 5})
    assert Note(kind="session_model_usage", data=record.data, records=(record,)) == decode(record)
