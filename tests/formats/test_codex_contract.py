"""Codex' reader keeps what every reader promises."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from codex_lines import SESSION, Log, entries, name, opened, raw, written
from hypothesis import given
from hypothesis import strategies as st

from satchel.contracts import Record
from satchel.formats.codex import reader, store
from satchel.formats.codex.decode import decode
from satchel.testing import ReaderContract

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "codex" / "home"


class TestCodexReader(ReaderContract):
    reader = reader

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        if not FIXTURE.is_dir():
            pytest.skip("the fixtures are not here")
        return Path(shutil.copytree(FIXTURE, tmp_path / "codex"))


class TestOneRollout(ReaderContract):
    reader = reader

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        log = Log()
        log.turn("Go.", "Gone.", id="t1")
        log.event("thread_rolled_back", num_turns=1)
        log.turn("Go on.", "On.", id="t2")
        return written(tmp_path / "logs" / name(), log.lines)


# ---------------------------------------------------------------------------------------------------------- any lines at all

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id", "content", "name"]), inner)
    ),
    max_leaves=8,
)
_PART = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["input_text", "output_text", "input_image", "tool_use", "tool_result", "encrypted_content", "odd"]
        )
    },
    optional={"text": st.text(max_size=8) | _JSON, "image_url": st.just("data:image/png;base64,AA") | _JSON, "content": _JSON},
)
_ITEM = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            [
                "message",
                "reasoning",
                "function_call",
                "function_call_output",
                "local_shell_call",
                "custom_tool_call",
                "custom_tool_call_output",
                "web_search_call",
                "image_generation_call",
                "tool_search_call",
                "tool_search_output",
                "agent_message",
                "compaction",
                "odd",
            ]
        )
        | _JSON
    },
    optional={
        "role": st.sampled_from(["user", "assistant", "developer", "tool"]) | _JSON,
        "content": st.lists(_PART, max_size=3) | st.text(max_size=4) | _JSON,
        "summary": st.lists(_PART, max_size=2) | _JSON,
        "call_id": st.sampled_from(["c1", "c2"]) | _JSON,
        "name": _JSON,
        "arguments": st.sampled_from(['{"a":1}', "{", ""]) | _JSON,
        "output": st.sampled_from(['{"output":"x","metadata":{"exit_code":1}}', "Exit code: 1\nOutput:\n", "aborted"]) | _JSON,
        "action": _JSON,
        "tools": _JSON,
        "function_call": _JSON,
        "tool_calls": _JSON,
        "internal_chat_message_metadata_passthrough": _JSON,
    },
)
_USAGE = st.fixed_dictionaries({}, optional={"input_tokens": st.integers(0, 9) | _JSON, "output_tokens": st.integers(0, 9)})
_EVENT = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            [
                "user_message",
                "agent_message",
                "agent_reasoning",
                "token_count",
                "task_started",
                "task_complete",
                "thread_rolled_back",
                "item_completed",
                "exec_command_end",
                "mcp_tool_call_end",
                "patch_apply_end",
                "web_search_end",
                "thread_settings_applied",
                "thread_name_updated",
            ]
        )
        | _JSON
    },
    optional={
        "message": st.sampled_from(["a", "b"]) | _JSON,
        "text": _JSON,
        "last_agent_message": st.sampled_from(["a", "b"]) | _JSON,
        "num_turns": st.integers(-1, 3) | _JSON,
        "info": st.fixed_dictionaries({}, optional={"total_token_usage": _USAGE | _JSON, "last_token_usage": _USAGE | _JSON})
        | _JSON,
        "item": st.fixed_dictionaries(
            {"type": st.sampled_from(["UserMessage", "AgentMessage", "Reasoning", "CommandExecution", "McpToolCall"]) | _JSON},
            optional={"content": st.lists(_PART, max_size=2) | _JSON, "summary_text": _JSON, "id": _JSON, "result": _JSON},
        )
        | _JSON,
        "result": _JSON,
        "images": _JSON,
        "call_id": st.sampled_from(["c1", "c2"]) | _JSON,
        "invocation": _JSON,
        "thread_settings": _JSON,
        "thread_name": _JSON,
    },
)
_META = st.fixed_dictionaries(
    {"id": st.just(SESSION) | _JSON},
    optional={
        "source": _JSON,
        "git": _JSON,
        "history_base": _JSON,
        "forked_from_id": _JSON,
        "parent_thread_id": _JSON,
        "cwd": _JSON,
    },
)
_CAPTURED = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["thread.started", "turn.completed", "item.started", "item.updated", "item.completed", "session.created", "error"]
        )
    },
    optional={
        "thread_id": st.just(SESSION) | _JSON,
        "message": _JSON,
        "usage": _USAGE | _JSON,
        "item": st.fixed_dictionaries(
            {
                "type": st.sampled_from(
                    [
                        "agent_message",
                        "reasoning",
                        "command_execution",
                        "file_change",
                        "mcp_tool_call",
                        "collab_tool_call",
                        "web_search",
                    ]
                )
                | _JSON
            },
            optional={
                "id": st.just("item_0") | _JSON,
                "text": _JSON,
                "tool": _JSON,
                "result": _JSON,
                "error": _JSON,
                "status": _JSON,
            },
        )
        | _JSON,
    },
)
_LINE = (
    st.fixed_dictionaries(
        {"type": st.just("response_item"), "payload": _ITEM | _JSON}, optional={"metadata": _JSON, "timestamp": _JSON}
    )
    | st.fixed_dictionaries({"type": st.just("event_msg"), "payload": _EVENT | _JSON}, optional={"timestamp": _JSON})
    | st.fixed_dictionaries({"type": st.just("session_meta"), "payload": _META | _JSON})
    | st.fixed_dictionaries(
        {
            "type": st.sampled_from(["turn_context", "compacted", "token_usage_record", "inter_agent_communication", "odd"]),
            "payload": _JSON,
        },
        optional={"ordinal": _JSON},
    )
    | _CAPTURED
    | _ITEM
    | _JSON
)


@given(lines=st.lists(_LINE, max_size=12))
def test_any_lines_give_every_record_one_entry_in_order(tmp_path_factory: pytest.TempPathFactory, lines: list[object]) -> None:
    known = Log().lines
    file = written(tmp_path_factory.mktemp("any") / name(), [*known, *lines])  # type: ignore[list-item]

    held = [[int(record.key) for record in entry.records] for entry in entries(file)]

    assert [[number] for number in range(1, len(lines) + 2)] == held


_LONG = "x" * 400
_WHOLE = st.sampled_from(
    [
        ("event_msg", {"type": "task_started", "turn_id": "t"}),
        ("event_msg", {"type": "user_message", "message": f"Go. {_LONG}"}),
        ("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"Go. {_LONG}"}]}),
        ("event_msg", {"type": "agent_message", "message": f"Gone. {_LONG}"}),
        (
            "response_item",
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"Gone. {_LONG}"}]},
        ),
        ("response_item", {"type": "function_call", "name": "shell", "arguments": _LONG, "call_id": "c"}),
        ("response_item", {"type": "function_call_output", "call_id": "c", "output": _LONG}),
        ("event_msg", {"type": "exec_command_end", "call_id": "c", "aggregated_output": _LONG}),
        ("event_msg", {"type": "token_count", "info": {"last_token_usage": {"input_tokens": 5}}}),
        ("event_msg", {"type": "thread_rolled_back", "num_turns": 1}),
        ("compacted", {"message": _LONG}),
    ]
)


@given(
    records=st.lists(
        st.tuples(_WHOLE, st.sampled_from(["whole", "glued", "glued otherwise", "torn", "torn and glued"])), max_size=12
    )
)
def test_short_and_long_rollouts_are_read_alike(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[tuple[str, dict[str, object]], str]]
) -> None:
    """In a long rollout a record that another was glued to was known by its beginning alone, and the other one said twice."""
    log = Log()
    lines: list[bytes] = [raw(log.lines)]
    for (kind, payload), how in records:
        line = raw([log.add(kind, payload)])
        if how == "glued otherwise":
            line = raw([{"type": kind, "payload": payload}]).rstrip()
        line = line[: len(line) * 2 // 3] + b"\n" if how.startswith("torn") else line
        lines.append(line if how in ("whole", "torn") else line.rstrip())
    file = written(tmp_path_factory.mktemp("any") / name(), lines)

    def read() -> list[str]:
        with opened(file)[0] as opened_store:
            found = [repr(entry) for entry in opened_store.decode(opened_store.records(SESSION))]
            return [*found, repr(opened_store.session(SESSION).usage)]

    short = read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "_SMALL", -1)
        long = read()

    assert short == long


@given(lines=st.lists(_LINE, max_size=8))
def test_any_first_lines_can_be_listed(tmp_path_factory: pytest.TempPathFactory, lines: list[object]) -> None:
    file = written(tmp_path_factory.mktemp("any") / name(), [{"type": "event_msg", "payload": {}}, *lines])  # type: ignore[list-item]

    with opened(file)[0] as store:
        (info,) = store.sessions()
        store.drift()
        store.facts()

    assert info.id


@given(lines=st.lists(_LINE, max_size=12))
def test_any_records_decode_without_their_file(lines: list[object]) -> None:
    records = [Record("line", number, line) for number, line in enumerate(lines, 1)]

    held = [[record.key for record in entry.records] for entry in decode(records)]

    assert [[number] for number in range(1, len(lines) + 1)] == held
