"""What `codex exec --json` printed is read as the answers of its thread, each once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from codex_lines import SESSION, Line, Log, day, entries, infos, messages, name, opened, written

from satchel.contracts import Usage
from satchel.formats.codex import reader
from satchel.formats.model import Message, Note, Text, Thinking, ToolCall, ToolResult, plain_text


def _begun(thread: str = SESSION) -> list[Line]:
    return [{"type": "thread.started", "thread_id": thread}, {"type": "turn.started"}]


def _item(when: str, id: str, kind: str, **more: Any) -> Line:
    return {"type": f"item.{when}", "item": {"id": id, "type": kind, **more}}


def _ended(given: int, cached: int, made: int) -> Line:
    return {"type": "turn.completed", "usage": {"input_tokens": given, "cached_input_tokens": cached, "output_tokens": made}}


def test_a_capture_is_the_answers_of_its_thread(tmp_path: Path) -> None:
    command = {"command": "ls", "status": "in_progress"}
    path = written(
        tmp_path / "out.jsonl",
        [
            b"Reading the prompt from stdin\n",
            *_begun(),
            _item("completed", "item_0", "reasoning", text="Hm."),
            _item("started", "item_1", "command_execution", **command),
            _item("updated", "item_1", "command_execution", **command, aggregated_output="a"),
            _item("completed", "item_1", "command_execution", command="ls", aggregated_output="ab", exit_code=2, status="failed"),
            _item("completed", "item_2", "mcp_tool_call", server="s", tool="t", arguments={"a": 1}, error={"message": "no"}),
            _item("completed", "item_3", "file_change", changes=[{"path": "a", "kind": "add"}], status="completed"),
            _item("completed", "item_4", "web_search", query="harbours"),
            _item("updated", "item_5", "todo_list", items=[{"text": "Look", "completed": True}]),
            _item("completed", "item_6", "error", message="odd"),
            _item("completed", "item_7", "agent_message", text="Gone."),
            _ended(10, 4, 2),
        ],
    )

    claim = reader.sniff(path)
    found = messages(path)
    said = [[type(block) for block in message.blocks] for message in found]

    assert claim is not None
    assert {"model"} == {m.author for m in found}
    assert [[Thinking], *[[ToolCall, ToolResult]] * 3, [ToolCall], [ToolCall], [Text]] == said
    assert [True, True, False] == [block.error for m in found for block in m.blocks if isinstance(block, ToolResult)]
    assert ["ab"] == [plain_text(b.content) for b in found[1].blocks if isinstance(b, ToolResult)]
    assert Usage(input=6, cache_read=4, output=2) == found[-1].usage
    notes = [entry.kind for entry in entries(path) if isinstance(entry, Note)]
    assert [
        "damaged",
        "thread.started",
        "turn.started",
        "item.started",
        "item.updated",
        "item.completed",
        "turn.completed",
    ] == notes
    info = infos(path)[SESSION]
    assert (None, "answers", 10) == (info.title, info.extra["partial"], info.messages)


def test_a_thread_that_was_taken_up_counts_its_sums_once(tmp_path: Path) -> None:
    """Each turn's end tells the sum over the thread, and the ids of items begin anew with each process."""
    lines: list[Line] = []
    for answer, total in (("One.", (10, 0, 1)), ("Two.", (30, 10, 3))):
        lines += [*_begun(), _item("completed", "item_0", "agent_message", text=answer), _ended(*total)]
    lines += [*_begun("another"), _item("completed", "item_0", "agent_message", text="Three."), _ended(50, 0, 5)]

    found = messages(written(tmp_path / "out.jsonl", lines))

    assert ["One.", "Two.", "Three."] == [plain_text(m.blocks) for m in found]
    assert [Usage(input=10, output=1), Usage(input=10, cache_read=10, output=2), Usage(input=50, output=5)] == [
        m.usage for m in found
    ]


def test_what_was_never_completed_is_said_as_far_as_it_went(tmp_path: Path) -> None:
    lines = [
        *_begun(),
        _item("started", "item_0", "command_execution", command="sleep 9", status="in_progress"),
        _item("updated", "item_0", "command_execution", command="sleep 9", aggregated_output="z", status="in_progress"),
    ]
    (message,) = messages(written(tmp_path / "out.jsonl", [*lines, *_begun(), *lines]))[:1]

    assert ["item.updated"] * 2 == [m.extra["event"] for m in messages(tmp_path / "out.jsonl")]
    (result,) = [block for block in message.blocks if isinstance(block, ToolResult)]
    assert ("z", None) == (plain_text(result.content), result.error)


def test_a_capture_beside_its_rollout_is_no_other_session(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    log = Log()
    log.turn("Go.", "Gone.")
    written(day(home) / name(), log.lines)
    written(day(home) / "aaa.jsonl", [*_begun(), _item("completed", "item_0", "agent_message", text="Gone."), _ended(1, 0, 1)])

    store, heard = opened(home)
    with store:
        found = [m for m in store.decode(store.records(SESSION)) if isinstance(m, Message)]
        assert [SESSION] == [info.id for info in store.sessions()]
        assert [name(), "aaa.jsonl"] == [path.name for _, path in store.files(SESSION)]
    assert ["Go.", "Gone."] == [plain_text(m.blocks) for m in found]
    assert ["warning"] == [problem.severity for problem in heard]


@pytest.mark.parametrize(
    "lines",
    [
        [{"type": "item.completed", "item": {"name": "x"}}],
        [{"type": "turn.completed", "usage": {}}],
        [{"type": "thread.started"}],
        [{"type": "error", "message": "no"}],
    ],
)
def test_lines_that_anyone_may_print_are_not_claimed(tmp_path: Path, lines: list[Line]) -> None:
    assert reader.sniff(written(tmp_path / "out.jsonl", lines)) is None


def test_items_that_are_not_known_are_drift(tmp_path: Path) -> None:
    path = written(tmp_path / "out.jsonl", [*_begun(), _item("completed", "item_0", "novel", text="x")])

    with opened(path)[0] as store:
        assert {"": {"type:item.completed/novel": 1}} == store.drift()
    assert [] == messages(path)


@pytest.mark.parametrize("more", [{}, {"status": "in_progress"}])
def test_a_patch_of_which_nobody_says_how_it_ended_is_no_failure(tmp_path: Path, more: Line) -> None:
    log = Log()
    log.event("user_message", message="Go.")
    log.event("patch_apply_end", call_id="c", changes={}, **more)

    result = messages(written(tmp_path / name(), log.lines))[-1].blocks[-1]

    assert isinstance(result, ToolResult)
    assert result.error is None
