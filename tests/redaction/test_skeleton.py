"""A skeleton keeps the structure, and no text: not a word of it, wherever it stood."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redacting import KEY
from strategies import any_json

import satchel
from satchel.contracts import Record
from satchel.redaction.policy import Policy
from satchel.redaction.skeleton import Skeleton

SKELETON = Skeleton(KEY.tag)
CANARY = "Wq7xZk93vLmT2"


def shape(value: Any) -> Any:
    return SKELETON.value(value)


def test_roles_tools_times_models_and_numbers_stay() -> None:
    line = {
        "type": "assistant",
        "uuid": "550e8400-e29b-41d4-a716-446655440000",
        "timestamp": "2026-03-02T08:30:00.123Z",
        "cwd": "/home/marek/work",
        "version": "2.1.29",
        "isSidechain": False,
        "message": {
            "role": "assistant",
            "model": "claude-sonnet-4-5-20250929",
            "content": [
                {"type": "text", "text": "The tide is high"},
                {"type": "tool_use", "id": "toolu_01AbCdEfGh23", "name": "Bash", "input": {"command": "ls -la", "timeout": 5000}},
                {"type": "document", "name": "payroll.pdf"},
            ],
            "usage": {"input_tokens": 12, "output_tokens": 7, "service_tier": "standard"},
        },
    }
    kept = shape(line)

    assert {**line, "cwd": "[text:16]", "message": kept["message"]} == kept
    message = line["message"]
    assert isinstance(message, dict)
    assert {**message, "content": kept["message"]["content"]} == kept["message"]
    assert [
        {"type": "text", "text": "[text:16]"},
        {"type": "tool_use", "id": "toolu_01AbCdEfGh23", "name": "Bash", "input": {"k1": "[text:8]", "k2": 0}},
        {"type": "document", "name": "[text:16]"},
    ] == kept["message"]["content"]


def test_json_inside_a_column_stays_json() -> None:
    calls = json.dumps(
        [{"id": "call_12345678", "type": "function", "function": {"name": "terminal", "arguments": '{"command": "ls"}'}}]
    )
    row = {"role": "assistant", "tool_calls": calls, "content": 'see {"name": "harbour"}'}
    kept = shape(row)

    (call,) = json.loads(kept["tool_calls"])
    assert ("call_12345678", "terminal") == (call["id"], call["function"]["name"])
    assert {"k1": "[text:2]"} == json.loads(call["function"]["arguments"])
    assert "[text:32]" == kept["content"]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("name", "Jane Doe"), ("id", "fix-the-payroll-bug"), ("model", "ft:acme-payroll"), ("type", CANARY),
        ("version", "harbour"),
        ("source", "see you at nine"), ("tool_name", "mcp__acme-payroll__query"), ("unheard_of", "harbour"),
        ("title", "cli tools"),
        ("timestamp", "yesterday"), ("stop_reason", "because I said so, and so"), ("gitBranch", "main"),
    ],
)  # fmt: skip
def test_a_word_where_a_format_has_its_own_is_no_text(key: str, text: str) -> None:
    assert text not in json.dumps(shape({key: text}))


def test_equal_ids_stay_equal_and_different_ones_different() -> None:
    one, two = shape({"id": "payroll"})["id"], shape({"id": "tides"})["id"]

    assert one == shape({"parentUuid": "payroll"})["parentUuid"] == SKELETON.text("payroll") == SKELETON.identifier("payroll")
    assert one != two


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        (
            "projects/-payroll/550e8400-e29b-41d4-a716-446655440000.jsonl",
            r"projects/id-\w{12}/550e8400-e29b-41d4-a716-446655440000\.jsonl",
        ),
        ("sessions/2026/03/02/rollout-2026-03-02T08-30-00-550e8400-e29b-41d4-a716-446655440000.jsonl.zst", None),
        ("x/subagents/agent-ae66507.jsonl", r"id-\w{12}/subagents/agent-ae66507\.jsonl"),
        ("payroll.json", r"id-\w{12}\.json"),
        ("/home/ada/payroll.md", r"id-\w{12}"),
    ],
)
def test_names_of_files_keep_their_form(name: str, kept: str | None) -> None:
    assert re.fullmatch(kept or re.escape(name), SKELETON.identifier(name))


def test_files_that_are_keys_are_not_told() -> None:
    kept = shape({"type": "file-history-snapshot", "snapshot": {"trackedFileBackups": {"Makefile": {"version": 1}}}})

    assert "Makefile" not in json.dumps(kept)
    assert {"type": "file-history-snapshot", "snapshot": {"k1": {"k1": {"k1": 0}}}} == kept


def test_a_skeleton_of_a_skeleton_is_the_same() -> None:
    once = shape({"id": "payroll", "text": "The tide", "input": {"a": [1, "x"]}, "tool_name": "mcp__a__b", CANARY: 1})

    assert once == shape(once)


def put(value: Any, canary: str, at: list[int]) -> Any:
    """Return JSON with a text put into it, somewhere: as a value, inside one, or as a key."""
    if isinstance(value, dict) and value:
        keys = list(value)
        key = keys[at[0] % len(keys)]
        if at[0] % 3 == 0:
            return {**value, canary: 1}
        return {**value, key: put(value[key], canary, at[1:] or [1])}
    if isinstance(value, list) and value:
        index = at[0] % len(value)
        return [*value[:index], put(value[index], canary, at[1:] or [1]), *value[index + 1 :]]
    return f"see {canary} there" if at[0] % 2 else canary


@given(any_json, st.lists(st.integers(0, 1000), min_size=4, max_size=4))
def test_no_text_survives_and_json_stays_json(value: Any, at: list[int]) -> None:
    before = put(value, CANARY, at)
    kept = shape(before)

    text = json.dumps(kept)
    assert CANARY not in text
    assert json.loads(text) == kept or "NaN" in text
    assert kind(before) == kind(kept)


def kind(value: Any) -> Any:
    """Return what kind of JSON a value is, and those in it."""
    if isinstance(value, dict):
        return len(value)
    if isinstance(value, list):
        return [type(item) if isinstance(item, list | str) else None for item in value]
    return type(value)


def test_a_line_that_is_no_json_gives_way_too() -> None:
    (record,) = SKELETON.apply([Record("line", 3, None, b"torn " + CANARY.encode())])

    assert (3, None, b"[data:32]") == (record.key, record.data, record.raw)
    assert [b'{"type":"user"}\n', b"[data:8]"] == list(SKELETON.file([b'{ "type": "user" }\n', b"torn lin"], whole=False))


@pytest.mark.parametrize("format", ["jsonl", "native"])
def test_a_store_becomes_a_skeleton_that_verifies_and_can_be_read(tmp_path: Path, format: str) -> None:
    home = Path(__file__).resolve().parents[2] / "fixtures/claude_code/home"
    out = tmp_path / "out"
    plain = satchel.convert(home, tmp_path / "plain", format=format)
    outcome = satchel.convert(
        home, out, format=format, redactor=satchel.make_redactor(Policy(skeleton=True), tags=KEY), manifest=True
    )

    assert (plain.sessions, plain.lost) == (outcome.sessions, outcome.lost)
    assert satchel.verify(out, content=format == "jsonl").ok
    words = [path.read_text(errors="replace") for path in out.rglob("*") if path.is_file()] if out.is_dir() else [out.read_text()]
    assert words
    assert not [text for text in words for word in ("tide", "harbour", "/home/") if word in text]


def test_a_hermes_store_keeps_its_numbers(hermes_db: Callable[..., Path], tmp_path: Path) -> None:
    store = hermes_db()
    redactor = satchel.make_redactor(Policy(skeleton=True), tags=KEY)
    satchel.convert(store, tmp_path / "plain.jsonl")
    satchel.convert(store, tmp_path / "bones.jsonl", redactor=redactor)
    plain = [json.loads(line) for line in (tmp_path / "plain.jsonl").read_text().splitlines()]
    bones = [json.loads(line) for line in (tmp_path / "bones.jsonl").read_text().splitlines()]

    keys = (
        "started_at",
        "input_tokens",
        "output_tokens",
        "message_count",
        "tool_call_count",
        "actual_cost_usd",
        "model",
        "source",
    )
    assert [[one.get(key) for key in keys] for one in plain] == [[one.get(key) for key in keys] for one in bones]
    roles = [[(m["role"], m["timestamp"], m["tool_name"]) for m in one["messages"]] for one in plain]
    assert roles == [[(m["role"], m["timestamp"], m["tool_name"]) for m in one["messages"]] for one in bones]
    texts = [m["content"] for one in bones for m in one["messages"] if isinstance(m["content"], str)]
    assert {True} == {text == "" or text.startswith("[text:") for text in texts}
