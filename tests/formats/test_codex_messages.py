"""A rollout of Codex is one conversation: nothing said twice, nothing put in taken for typed, nothing taken back live."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from codex_lines import SESSION, Line, Log, entries, infos, messages, name, notes, opened, raw, written

from satchel.contracts import Record, Usage
from satchel.formats.codex import plan, store
from satchel.formats.model import Attachment, Image, Message, Note, Text, Thinking, ToolCall, ToolResult, Unknown, plain_text


def _file(tmp_path: Path, lines: Any) -> Path:
    return written(tmp_path / name(), lines)


def _said(path: Path) -> list[tuple[str, str]]:
    return [(m.author, plain_text(m.blocks, injected=False)) for m in messages(path)]


# ------------------------------------------------------------------------------------------------------------ twice told


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_stands_as_item_and_event_is_said_once(tmp_path: Path, order: tuple[int, int]) -> None:
    log = Log()
    pairs: list[list[Line]] = []
    for text in ("Yes.", "Yes."):
        start = len(log.lines)
        log.ask(text)
        pairs.append(log.lines[start:])
        start = len(log.lines)
        log.answer(f"{text}!")
        pairs.append(log.lines[start:])
        start = len(log.lines)
        log.item("reasoning", summary=[{"type": "summary_text", "text": "One"}, {"type": "summary_text", "text": "Two"}])
        log.event("agent_reasoning", text="One")
        log.event("agent_reasoning", text="Two")
        pairs.append(log.lines[start:])
    lines = [log.lines[0], *(pair[at] for pair in pairs for at in (*order, *range(2, len(pair))))]

    thoughts = [block.text for m in messages(_file(tmp_path, lines)) for block in m.blocks if isinstance(block, Thinking)]
    spoken = [said for said in _said(tmp_path / name()) if said[1]]

    assert [("person", "Yes."), ("model", "Yes.!")] * 2 == spoken
    assert ["One", "Two"] * 2 == thoughts


def test_items_of_threads_are_not_said_again(tmp_path: Path) -> None:
    log = Log(ordinals=True, history_mode="paginated")
    log.put_in("Go.")
    log.event("item_completed", item={"type": "UserMessage", "id": "u", "content": [{"type": "text", "text": "Go."}]})
    log.event("item_completed", item={"type": "AgentMessage", "id": "m", "content": [{"type": "Text", "text": "Gone."}]})
    log.item("message", role="assistant", id="m", content=[{"type": "output_text", "text": "Gone."}])

    assert [("person", "Go."), ("model", "Gone.")] == _said(_file(tmp_path, log.lines))


@pytest.mark.parametrize("paginated", [False, True])
def test_events_alone_are_the_conversation(tmp_path: Path, paginated: bool) -> None:
    log = Log()
    if paginated:
        for kind, text in (("UserMessage", "Go."), ("AgentMessage", "Gone.")):
            log.event("item_completed", item={"type": kind, "content": [{"type": "text", "text": text}]})
        log.event("item_completed", item={"type": "Reasoning", "summary_text": ["Hm."]})
        log.event("item_completed", item={"type": "CommandExecution", "id": "c", "command": ["ls"], "exit_code": 1})
    else:
        log.event("user_message", message="Go.", images=["data:image/png;base64,AA"])
        log.event("agent_message", message="Gone.")
        log.event("agent_reasoning", text="Hm.")
        log.event("exec_command_end", call_id="c", command=["ls"], exit_code=1, aggregated_output="no")
    found = messages(_file(tmp_path, log.lines))

    assert ["person", "model", "model", "model"] == [m.author for m in found]
    assert ["Go.", "Gone.", "", ""] == [plain_text(m.blocks) for m in found]
    assert [Thinking("Hm.")] == found[2].blocks
    call, result = found[3].blocks
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert ("c", True) == (call.id, result.error)


def test_an_event_stands_for_its_item_where_that_is_torn_or_missing_in_its_turn(tmp_path: Path) -> None:
    log = Log()
    log.turn("One.", "First.", id="t1")
    log.event("task_started", turn_id="t2")
    log.event("user_message", message="Two.")
    log.answer("Second.")
    log.event("user_message", message="Three.")
    lines: list[Line | bytes] = [*log.lines, b'{"timestamp":"2026-01-05T10:00:00Z","type":"response_item","payload":{"ty\n']

    said = _said(_file(tmp_path, lines))

    assert ["One.", "First.", "Two.", "Second.", "Three."] == [text for _, text in said]
    assert 1 == sum(note.kind == "damaged" for note in notes(tmp_path / name()))


def test_what_several_kinds_of_events_tell_is_said_once(tmp_path: Path) -> None:
    """A rollout without items had all twice where its turns were told for the screen and as items of the thread."""
    log = Log()
    for number in range(4):
        log.event("user_message", message="Yes.")
        log.event("item_completed", item={"type": "UserMessage", "content": [{"type": "text", "text": "Yes."}]})
        log.event("agent_reasoning", text="Hm.")
        log.event("item_completed", item={"type": "Reasoning", "summary_text": ["Hm."]})
        log.event("agent_message", message=f"{number}!")
        log.event("item_completed", item={"type": "AgentMessage", "content": [{"type": "Text", "text": f"{number}!"}]})
        log.event("exec_command_end", call_id=f"c{number}", command=["ls"], exit_code=0)
        log.event("item_completed", item={"type": "CommandExecution", "id": f"c{number}", "command": ["ls"], "exit_code": 0})
        log.event("task_complete", last_agent_message=f"{number}!")

    found = messages(_file(tmp_path, log.lines))

    assert [("Yes.", Text), ("", Thinking), ("!", Text), ("", ToolCall)] * 4 == [
        (plain_text(m.blocks).lstrip("0123"), type(m.blocks[0])) for m in found
    ]


def test_an_event_of_a_type_nobody_knows_is_an_unknown_note(tmp_path: Path) -> None:
    """The name that a log gives it is shown nowhere: it may hold anything."""
    log = Log()
    log.ask("Go.")
    log.event("novel\x1b[31m", x=1)

    note = notes(_file(tmp_path, log.lines))[-1]

    assert ("unknown", {"type": "novel\x1b[31m", "x": 1}) == (note.kind, note.data)


def test_events_that_say_nothing_are_no_messages(tmp_path: Path) -> None:
    """Without summaries each thought is a sealed item, and an event without a word, which was a message without parts."""
    log = Log(ordinals=True, history_mode="paginated")
    log.event("task_started", turn_id="t1")
    log.put_in("Go.")
    log.event("item_completed", item={"type": "UserMessage", "content": []})
    log.event("item_completed", item={"type": "Reasoning", "id": "r", "summary_text": [], "raw_content": []})
    log.item("reasoning", id="r", summary=[], encrypted_content="gAAAAsealed")
    log.tokens((10, 0, 1), (10, 0, 1))
    log.event("agent_message", message=" ")
    log.event("task_started", turn_id="t2")
    log.event("user_message", message="", images=["data:image/png;base64,AA"])
    log.event("user_message", message="")

    found = messages(_file(tmp_path, log.lines))

    assert [[Text], [Thinking], [Image]] == [[type(block) for block in m.blocks] for m in found]
    assert Usage(input=10, output=1) == found[1].usage


def test_the_end_of_a_turn_tells_its_answer_where_nothing_else_does(tmp_path: Path) -> None:
    log = Log()
    log.turn("One.", "First.", id="t1")
    log.event("task_complete", turn_id="t1", last_agent_message="First.")
    log.event("task_started", turn_id="t2")
    log.event("user_message", message="Two.")
    log.event("task_complete", turn_id="t2", last_agent_message="Second.")

    assert ["One.", "First.", "Two.", "Second."] == [text for _, text in _said(_file(tmp_path, log.lines))]


def test_events_that_are_forgotten_meanwhile_are_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of events must not grow with a rollout, and those that stand alone are not among what is forgotten."""
    monkeypatch.setattr(plan, "_ROOM", 3)
    log = Log()
    for number in range(20):
        log.event("task_started", turn_id=f"t{number}")
        log.ask(f"{number}.")
        if number % 5:
            log.answer(f"{number}!")
        else:
            log.event("agent_message", message=f"{number}!")
            log.event("agent_reasoning", text="Hm.")

    said = [text for _, text in _said(_file(tmp_path, log.lines)) if text]

    assert [f"{number}{mark}" for number in range(20) for mark in ".!"] == said


# ------------------------------------------------------------------------------------------------------------ what nobody typed


@pytest.mark.parametrize(
    "text",
    [
        "<user_instructions>\nBe brief.\n</user_instructions>",
        "# AGENTS.md instructions for /srv\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>",
        " <ENVIRONMENT_CONTEXT><cwd>/srv</cwd></environment_context>\n",
        "<permissions instructions>none</permissions instructions>",
        '<codex_internal_context source="goal">x</codex_internal_context>',
        "<environment_context>a</environment_context>\n<skill>b</skill>",
        "Warning: apply_patch was requested via exec_command. Use the apply_patch tool instead.",
    ],
)
def test_fragments_are_the_harness_own(tmp_path: Path, text: str) -> None:
    log = Log()
    log.put_in(text)

    (message,) = messages(_file(tmp_path, log.lines))

    assert ("harness", (Text(text, injected=True),)) == (message.author, tuple(message.blocks))


@pytest.mark.parametrize(
    "text", ["<b>bold</b> question", "<skill> is a tag?", "<environment_context> what is it?", "# AGENTS.md: rewrite\nit"]
)
def test_prompts_may_look_like_fragments(tmp_path: Path, text: str) -> None:
    log = Log()
    log.put_in(text)

    assert [("person", text)] == _said(_file(tmp_path, log.lines))


def test_a_message_is_told_apart_part_by_part(tmp_path: Path) -> None:
    log = Log()
    log.put_in("<environment_context>x</environment_context>", "Go.")

    (message,) = messages(_file(tmp_path, log.lines))

    assert "person" == message.author
    assert [True, False] == [block.injected for block in message.blocks if isinstance(block, Text)]


@pytest.mark.parametrize(
    "context", ["# Context from my IDE setup:\n\n## Active file: a.py", "<in-app-browser>\n</in-app-browser>"]
)
def test_what_an_editor_put_before_a_prompt_is_injected(tmp_path: Path, context: str) -> None:
    log = Log()
    before = f"{context}\n\n## My request for Codex:\n"
    log.ask(f"{before}Go.")

    (message,) = messages(_file(tmp_path, log.lines))

    assert [Text(before, injected=True), Text("Go.")] == message.blocks
    assert "Go." == infos(tmp_path / name())[SESSION].title


@pytest.mark.parametrize(
    "text",
    [
        "<extension_context>\nMind the tide.\n</extension_context>",
        "<agent_message_board_notification>\nNew post.\n</agent_message_board_notification>",
        "<next_prompt_suggestion>\n[SUGGESTION MODE]\n</next_prompt_suggestion>",
        "<realtime_delegation>\n<input>x</input>\n</realtime_delegation>",
        "<token_budget>\nYou have 9 tokens left.\n</token_budget>",
        "Another language model started to solve this problem and produced a summary of its thinking process.\nNorth.",
        "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a summary.",
    ],
)
def test_what_the_program_says_in_the_midst_of_a_session_is_not_typed(tmp_path: Path, text: str) -> None:
    log = Log()
    log.put_in(text)

    assert [("harness", "")] == _said(_file(tmp_path, log.lines))


def test_parts_that_the_program_says_are_a_notification_are_not_typed(tmp_path: Path) -> None:
    log = Log()
    line = log.put_in("New post in a discussion.", "Go on.")
    kinds = ["agent_message_board.notification", None]
    line["payload"]["internal_chat_message_metadata_passthrough"] = {"content_item_kinds": kinds}

    assert [("person", "Go on.")] == _said(_file(tmp_path, log.lines))


def test_a_message_without_event_beside_one_with_it_was_put_in(tmp_path: Path) -> None:
    log = Log()
    log.put_in("Something new that the program says.")
    log.ask("Go.")
    log.answer("Gone.")

    assert ["harness", "person", "model"] == [m.author for m in messages(_file(tmp_path, log.lines))]


def test_a_message_whose_event_says_it_in_other_words_is_typed(tmp_path: Path) -> None:
    log = Log()
    log.put_in("put in before")
    log.put_in("[cut 86]")
    log.event("user_message", message="[taken out 86]")
    log.put_in("put in after")
    log.answer("Gone.")

    found = messages(_file(tmp_path, log.lines))

    assert [("[cut 86]", "person")] == [(plain_text(m.blocks), m.author) for m in found if m.author == "person"]


def test_prompts_stay_prompts_where_events_are_few(tmp_path: Path) -> None:
    log = Log()
    log.ask("One.")
    for text in ("Two.", "Three."):
        log.item("message", role="assistant", content=[{"type": "output_text", "text": "So."}])
        log.put_in(text)

    assert 3 == sum(m.author == "person" for m in messages(_file(tmp_path, log.lines)))


def test_metadata_tells_of_inherited_messages(tmp_path: Path) -> None:
    log = Log()
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Of the parent."}]}
    log.add("response_item", item, metadata={"inherited_user_message": True})

    assert ["harness"] == [m.author for m in messages(_file(tmp_path, log.lines))]


def test_developer_and_system_are_the_harness(tmp_path: Path) -> None:
    log = Log()
    for role in ("developer", "system"):
        log.item("message", role=role, content=[{"type": "input_text", "text": "Be brief."}])

    assert [("developer", "harness"), ("system", "harness")] == [(m.role, m.author) for m in messages(_file(tmp_path, log.lines))]


def test_marks_around_a_picture_are_injected(tmp_path: Path) -> None:
    log = Log()
    parts = [
        {"type": "input_text", "text": "<image name=[Image #1]>"},
        {"type": "input_image", "image_url": "data:image/png;base64,QUJD"},
        {"type": "input_text", "text": "</image>"},
        {"type": "input_text", "text": "What is it?"},
    ]
    log.item("message", role="user", content=parts)
    log.event("user_message", message="What is it?", local_images=["/srv/a.png"])

    (message,) = messages(_file(tmp_path, log.lines))

    assert ("person", "What is it?") == (message.author, plain_text(message.blocks, injected=False))
    assert [Image("image/png", data="QUJD")] == [block for block in message.blocks if isinstance(block, Image)]


# ------------------------------------------------------------------------------------------------------------ taken back


def _states(path: Path) -> list[tuple[str, str]]:
    return [(plain_text(m.blocks), m.state) for m in messages(path)]


def test_turns_that_were_rolled_back_are_rewound(tmp_path: Path) -> None:
    log = Log()
    for text in ("One.", "Two.", "Three."):
        log.turn(text, f"{text}!")
    log.event("thread_rolled_back", num_turns=1)
    log.turn("Four.", "Four.!")
    log.event("thread_rolled_back", num_turns=2)
    log.turn("Five.", "Five.!")

    states = dict(_states(_file(tmp_path, log.lines)))

    assert ["One.", "One.!", "Five.", "Five.!"] == [text for text, state in states.items() if state == "live"]
    info = infos(tmp_path / name())[SESSION]
    assert (4, 6) == (info.messages, info.rewound)


def test_more_turns_than_there_are_take_all_back(tmp_path: Path) -> None:
    log = Log()
    log.turn("One.", "One.!")
    log.event("thread_rolled_back", num_turns=9)

    assert {"rewound"} == {state for _, state in _states(_file(tmp_path, log.lines))}


def test_what_was_put_in_begins_no_turn(tmp_path: Path) -> None:
    log = Log()
    log.turn("One.", "One.!")
    log.turn("Two.", "Two.!")
    log.put_in("<turn_aborted>by the person</turn_aborted>")
    log.event("thread_rolled_back", num_turns=1)

    states = dict(_states(_file(tmp_path, log.lines)))

    assert {"One.": "live", "One.!": "live", "Two.": "rewound"}.items() <= states.items()


def test_a_compaction_is_a_note_without_what_it_repeats(tmp_path: Path) -> None:
    log = Log()
    log.turn("One.", "First.")
    again = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "One."}]}]
    log.add("compacted", {"message": "So far.", "replacement_history": again})
    log.event("context_compacted")

    found = entries(_file(tmp_path, log.lines))

    assert [("person", "One."), ("model", "First.")] == _said(tmp_path / name())
    (note,) = [entry for entry in found if isinstance(entry, Note) and entry.kind == "compacted"]
    assert {"message": "So far.", "replacement_history_items": 1} == note.data
    assert again == note.records[0].data["payload"]["replacement_history"]


# ------------------------------------------------------------------------------------------------------------ tools


@pytest.mark.parametrize(
    ("output", "text", "error", "extra"),
    [
        ('{"output":"no","metadata":{"exit_code":2,"duration_seconds":0.5}}', "no", True, {"exit_code": 2, "seconds": 0.5}),
        ('{"output":"","metadata":{"exit_code":0}}', "", False, {"exit_code": 0}),
        ("Exit code: 0\nWall time: 1.5 seconds\nOutput:\nok", None, False, {"exit_code": 0, "seconds": 1.5}),
        ("Chunk ID: a\nWall time: 1 seconds\nProcess exited with code 3\nOutput:\nno", None, True, {"exit_code": 3}),
        ("Chunk ID: a\nProcess running with session ID 4\nOutput:\n", None, None, {}),
        ("Script completed\nWall time 0.5 seconds\nOutput:\nok", None, False, {"seconds": 0.5}),
        (
            [{"type": "input_text", "text": "Script failed\nWall time 2 seconds\nno"}],
            "Script failed\nWall time 2 seconds\nno",
            True,
            {"seconds": 2.0},
        ),
        ("Script running with cell ID 4\nWall time 1 seconds\nOutput:\n", None, None, {"seconds": 1.0}),
        ("Script failed to load, they said", None, None, {}),
        ("Plan updated", None, None, {}),
        ("aborted", None, True, {}),
        ("failed in sandbox LandLock with exit code 1", None, True, {}),
        ("the words\nExit code: 1\nare in a file", None, None, {}),
        ('[{"type":"text","text":"of a server"}]', "of a server", None, {}),
        ({"isError": True, "content": [{"type": "text", "text": "no"}]}, "no", True, {}),
        ({"isError": False, "structuredContent": 1}, '{"isError":false,"structuredContent":1}', False, {}),
        ([{"type": "input_text", "text": "part"}], "part", None, {}),
        ({"content": "one object", "success": False}, "one object", True, {}),
        ({"type": "input_text", "text": "one part"}, "one part", None, {}),
        ('{"status":{"a":{"completed":"x"}},"timed_out":false}', None, None, {}),
    ],
)
def test_every_form_of_output_is_read(tmp_path: Path, output: Any, text: str | None, error: bool | None, extra: Any) -> None:
    log = Log()
    log.item("function_call", name="exec_command", arguments='{"cmd":"x"}', call_id="c")
    log.item("function_call_output", call_id="c", output=output)

    call, result = messages(_file(tmp_path, log.lines))

    assert [ToolCall("c", "exec_command", {"cmd": "x"})] == call.blocks
    (block,) = result.blocks
    assert isinstance(block, ToolResult)
    assert ("c", "exec_command", error) == (block.call_id, block.name, block.error)
    assert (output if text is None else text) == plain_text(block.content)
    assert extra.items() <= result.extra.items()


def test_every_kind_of_call_is_one(tmp_path: Path) -> None:
    log = Log()
    log.item("function_call", name="shell", arguments='{"broken', call_id="c1")
    log.item("function_call", name="look", namespace="mcp__maps", arguments="{}", call_id="c2")
    log.item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c3")
    log.item("custom_tool_call_output", call_id="c3", output="Exit code: 1\nOutput:\nno")
    log.item("local_shell_call", id="c4", status="completed", action={"type": "exec", "command": ["ls"]})
    log.item("function_call_output", call_id="c4", output="a")
    log.item("web_search_call", id="ws", action={"type": "search", "query": "tides"})
    log.item("tool_search_call", call_id="c5", arguments={"query": "x"})
    log.item("tool_search_output", call_id="c5", tools=[{"name": "t"}])
    log.item("image_generation_call", id="ig", revised_prompt="a boat", result="QUJD")
    log.item("function_call_output", call_id="gone", output="late")

    found = messages(_file(tmp_path, log.lines))

    calls = [(b.id, b.name, b.kind) for m in found for b in m.blocks if isinstance(b, ToolCall)]
    results = [(b.call_id, b.name) for m in found for b in m.blocks if isinstance(b, ToolResult)]
    assert [
        ("c1", "shell", "function"),
        ("c2", "mcp__maps__look", "function"),
        ("c3", "apply_patch", "custom"),
        ("c4", "local_shell", "local_shell"),
        ("ws", "web_search", "web_search"),
        ("c5", "tool_search", "tool_search"),
        ("ig", "image_generation", "image_generation"),
    ] == calls
    assert [("c3", "apply_patch"), ("c4", "local_shell"), ("c5", "tool_search"), ("gone", None)] == results
    assert [Image("image/png", data="QUJD")] == [b for m in found for b in m.blocks if isinstance(b, Image)]
    assert ['{"broken'] == [b.arguments for b in found[0].blocks if isinstance(b, ToolCall)]


def test_an_event_says_how_a_call_ended(tmp_path: Path) -> None:
    log = Log()
    log.item("custom_tool_call", name="apply_patch", input="x", call_id="c")
    log.event("patch_apply_end", call_id="c", success=False, changes={})
    log.item("custom_tool_call_output", call_id="c", output="It did not apply.")

    blocks = [block for m in messages(_file(tmp_path, log.lines)) for block in m.blocks]

    assert [True] == [block.error for block in blocks if isinstance(block, ToolResult)]


def test_sealed_reasoning_is_kept_and_not_shown(tmp_path: Path) -> None:
    log = Log()
    log.item("reasoning", summary=[{"type": "summary_text", "text": "Hm."}], content=None, encrypted_content="gAAAAAx")

    (message,) = messages(_file(tmp_path, log.lines))

    assert [Thinking("Hm."), Thinking("", hidden=True, data={"encrypted_content": "gAAAAAx"})] == message.blocks
    assert "" == plain_text(message.blocks)


def test_parts_of_every_kind_are_kept(tmp_path: Path) -> None:
    log = Log()
    parts = [
        {"type": "input_image", "file_id": "file-1"},
        {"type": "input_audio", "audio_url": "data:audio/wav;base64,QQ"},
        {"type": "novel", "x": 1},
        {"type": "input_image", "image_url": "https://pictures.example/a.png"},
        {"type": "input_image", "image_url": None},
    ]
    log.item("message", role="user", content=parts)

    (message,) = messages(_file(tmp_path, log.lines))

    assert [Attachment, Attachment, Unknown, Image, Unknown] == [type(block) for block in message.blocks]
    assert "person" == message.author


def test_model_and_effort_are_the_turns(tmp_path: Path) -> None:
    log = Log()
    log.turn("One.", "First.", id="t1")
    log.add(
        "turn_context", {"turn_id": "t2", "collaboration_mode": {"settings": {"model": "invented-2", "reasoning_effort": "low"}}}
    )
    log.turn("Two.", "Second.")
    log.event("thread_settings_applied", thread_settings={"model": "invented-3"})
    log.turn("Three.", "Third.")

    found = [
        (m.model, m.extra.get("effort"), m.extra["turn_id"])
        for m in messages(_file(tmp_path, log.lines))
        if m.role == "assistant"
    ]

    assert [("invented-1", "high", "t1"), ("invented-2", "low", "t2"), ("invented-3", None, "t2")] == found


def test_settings_that_are_changed_in_a_turn_are_for_the_next_one(tmp_path: Path) -> None:
    log = Log()
    log.event("thread_settings_applied", thread_settings={"model": "invented-0", "reasoning_effort": "low"})
    log.turn("One.", "First.")
    log.event("task_started", turn_id="t2")
    log.add("turn_context", {"turn_id": "t2", "model": "invented-1", "effort": "high"})
    log.ask("Two.")
    log.event("thread_settings_applied", thread_settings={"model": "invented-2", "reasoning_effort": "low"})
    log.answer("Second.")
    log.event("task_started", turn_id="t3")
    log.answer("Third.")

    found = [(m.model, m.extra["effort"]) for m in messages(_file(tmp_path, log.lines)) if m.role == "assistant"]

    assert [("invented-0", "low"), ("invented-1", "high"), ("invented-2", "low")] == found


# ------------------------------------------------------------------------------------------------------------ tokens


def _tokens(path: Path) -> tuple[Usage, Usage]:
    with opened(path)[0] as store:
        (info,) = store.sessions()
        used = [m.usage for m in store.decode(store.records(info.id)) if isinstance(m, Message) and m.usage is not None]
    fields = ("input", "output", "cache_read", "cache_write", "reasoning")
    return info.usage, Usage(**{field: sum(getattr(usage, field) for usage in used) for field in fields})


def test_tokens_are_counted_once_however_often_they_are_told(tmp_path: Path) -> None:
    log = Log()
    log.event("token_count", info=None)
    log.turn("One.", "First.")
    for _ in range(2):
        log.tokens((100, 40, 10), (100, 40, 10))
    log.turn("Two.", "Second.")
    for _ in range(2):
        log.tokens((250, 90, 30), (150, 50, 20))
    # The window was full: the sum begins again.
    log.tokens((20, 0, 5), (20, 0, 5))

    total, placed = _tokens(_file(tmp_path, log.lines))

    assert Usage(input=180, cache_read=90, output=35) == total == placed


def test_records_on_answers_go_before_the_events_on_them(tmp_path: Path) -> None:
    log = Log()
    log.turn("One.", "First.")
    used = {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 2}
    for summed in (True, False):
        more = {"thread_token_usage": used} if summed else {}
        log.add("token_usage_record", {"response_id": f"r{summed}", "usage": used, **more})
        log.add("token_usage_record", {"response_id": f"r{summed}", "usage": used, **more})
        log.tokens((10, 4, 2) if summed else (20, 8, 4), (10, 4, 2))

    total, placed = _tokens(_file(tmp_path, log.lines))

    assert Usage(input=12, cache_read=8, output=4) == total == placed


def test_counts_beyond_all_reason_are_none(tmp_path: Path) -> None:
    log = Log()
    log.turn("One.", "First.")
    log.tokens((2**70, 5, 1), (2**70, 5, 1))

    assert Usage(output=1, cache_read=5) == infos(_file(tmp_path, log.lines))[SESSION].usage


def test_sums_alone_are_counted_by_their_growth(tmp_path: Path) -> None:
    log = Log()
    log.turn("One.", "First.")
    for given in (10, 10, 25):
        log.event("token_count", info={"total_token_usage": {"input_tokens": given}})

    assert Usage(input=25) == _tokens(_file(tmp_path, log.lines))[0]


def test_tokens_of_events_alone_have_a_message(tmp_path: Path) -> None:
    log = Log()
    log.event("user_message", message="Go.")
    log.event("agent_message", message="Gone.")
    log.tokens((10, 0, 1), (10, 0, 1))

    total, placed = _tokens(_file(tmp_path, log.lines))

    assert Usage(input=10, output=1) == total == placed


# ------------------------------------------------------------------------------------------------------------ other ages


def test_bare_lines_are_items(tmp_path: Path) -> None:
    lines: list[Line | bytes] = [
        {"id": SESSION, "timestamp": "2025-07-01T09:00:00.000Z", "instructions": None, "git": {"branch": "main"}},
        {"record_type": "state"},
        {"type": "message", "id": None, "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": '{"output":"x","metadata":{"exit_code":0}}'},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Gone."}]},
    ]
    path = _file(tmp_path, lines)

    assert ["person", "model", "model", "tool", "model"] == [m.author for m in messages(path)]
    assert ["session_meta", "state"] == [note.kind for note in notes(path)]
    info = infos(path)[SESSION]
    assert (1751360400.0, "main", "Go.") == (info.started_at, info.git_branch, info.title)


def test_record_type_is_another_name_for_type(tmp_path: Path) -> None:
    log = Log()
    log.turn("Go.", "Gone.")
    for line in log.lines:
        line["record_type"] = line.pop("type")

    assert [("person", "Go."), ("model", "Gone.")] == _said(_file(tmp_path, log.lines))


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("items_first", [False, True])
def test_a_document_is_read_as_a_log(tmp_path: Path, indent: int | None, items_first: bool) -> None:
    held: dict[str, Any] = {
        "session": {"id": SESSION, "timestamp": "2025-04-20T08:00:00.000Z", "instructions": 'say "items": []', "cwd": "/srv"},
        "items": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Gone — é."}]},
        ],
    }
    if items_first:
        held = {"items": held["items"], "session": held["session"]}
    path = tmp_path / f"rollout-2025-04-20-{SESSION}.json"
    path.write_text(json.dumps(held, indent=indent), "utf-8")

    with opened(path)[0] as store:
        records = list(store.records(SESSION))
        assert path.read_bytes() == b"".join(record.raw or b"" for record in records)
        assert 3 == len(records)
    assert [("person", "Go."), ("model", "Gone — é.")] == _said(path)
    assert ("/srv", 1745136000.0) == ((info := infos(path)[SESSION]).cwd, info.started_at)


def test_a_torn_document_keeps_its_whole_items(tmp_path: Path) -> None:
    items = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Gone."}]
    whole = json.dumps({"session": {"id": SESSION}, "items": items}).encode()
    path = tmp_path / "rollout-2025-04-20-x.json"
    path.write_bytes(whole[:-12])

    store, heard = opened(path)
    with store:
        records = list(store.records(SESSION))

    assert whole[:-12] == b"".join(record.raw or b"" for record in records)
    assert [("person", "Go.")] == _said(path)
    assert ["warning"] == [problem.severity for problem in heard]


def test_times_may_be_numbers(tmp_path: Path) -> None:
    line: Line = {"type": "response_item", "timestamp": 1737200001.5, "payload": {"role": "user", "content": "Go."}}

    assert [1737200001.5] == [m.time for m in messages(_file(tmp_path, [*Log().lines, line]))]


# ------------------------------------------------------------------------------------------------------------ damage


def test_damaged_lines_cost_themselves_and_are_warnings(tmp_path: Path) -> None:
    log = Log()
    log.turn("One.", "First.")
    torn = raw(log.lines[1:2])[:40] + b"\n"
    lines: list[Line | bytes] = [b"\xef\xbb\xbf", log.lines[0], torn, *log.lines[1:], b"\0\0\0\n", b"\r\n", b'{"type":"respo']
    path = _file(tmp_path, lines)
    store, heard = opened(path)
    with store:
        list(store.records(SESSION))
        records = list(store.records(SESSION))
        assert path.read_bytes().replace(b"\r\n", b"") == b"".join(record.raw or b"" for record in records)

    assert {("warning", 0)} == {(problem.severity, problem.lost) for problem in heard}
    assert len(heard) == len({problem.where for problem in heard})
    assert [("person", "One."), ("model", "First.")] == _said(path)


def test_separators_within_a_line_do_not_end_it(tmp_path: Path) -> None:
    log = Log()
    log.turn("One\u2028two\x85three", "First.")
    lines = [json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in log.lines]

    assert [("person", "One\u2028two\x85three"), ("model", "First.")] == _said(_file(tmp_path, lines))


def test_what_a_redactor_changed_is_decoded_alike(tmp_path: Path) -> None:
    log = Log()
    log.turn("A secret.", "Known.")
    log.event("thread_rolled_back", num_turns=1)
    with opened(_file(tmp_path, log.lines))[0] as store:
        changed = [
            Record(r.kind, r.key, json.loads(json.dumps(r.data).replace("secret", "word"))) for r in store.records(SESSION)
        ]
        found = [m for m in store.decode(changed) if isinstance(m, Message)]

    assert [("A word.", "rewound"), ("Known.", "rewound")] == [(plain_text(m.blocks), m.state) for m in found]


def test_long_lines_are_known_by_their_beginning_too(tmp_path: Path) -> None:
    log = Log()
    log.ask("Go.")
    for number in range(3):
        log.item("function_call", name="shell", arguments=json.dumps({"cmd": "x" * 3000}), call_id=f"c{number}")
        log.item("function_call_output", call_id=f"c{number}", output="y" * 3000)
        log.tokens((10 * number + 10, 0, 0), (10, 0, 0))
    log.add("compacted", {"message": "z" * 4000})
    log.event("thread_rolled_back", num_turns=1)
    # Beyond what is held parsed at once.
    big = [*log.lines, *({"type": "world_state", "payload": {"state": "w" * (1 << 20)}} for _ in range(5))]
    path = _file(tmp_path, big)

    total, placed = _tokens(path)

    assert Usage(input=30) == total == placed
    assert {"rewound"} == {m.state for m in messages(path)}


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("is_torn", [False, True])
def test_an_answer_glued_to_a_long_output_is_said_once_in_a_long_rollout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_turned: bool, is_torn: bool
) -> None:
    monkeypatch.setattr(store, "_SMALL", -1)
    log = Log()
    log.event("task_started", turn_id="t1")
    log.ask("Go.")
    log.event("agent_message", message="Gone.")
    output = raw([log.item("function_call_output", call_id="c", output="x" * 900)])
    answer = log.item("message", role="assistant", content=[{"type": "output_text", "text": "Gone."}])
    if is_turned:
        answer = {"type": answer["type"], "payload": answer["payload"], "timestamp": answer["timestamp"]}
    lines = [*log.lines[:-2], (output[:700] if is_torn else output.rstrip()) + raw([answer])]

    assert ["Go.", "Gone."] == [text for _, text in _said(_file(tmp_path, lines)) if text]


def test_agents_speak_to_each_other(tmp_path: Path) -> None:
    log = Log(agent_path="/main/worker")
    log.turn("One.", "First.")
    log.add("inter_agent_communication_metadata", {"trigger_turn": True})
    log.item("agent_message", author="/main", recipient="/main/worker", content=[{"type": "input_text", "text": "Do it."}])
    log.item(
        "agent_message",
        author="/main/worker",
        recipient="/main",
        content=[{"type": "encrypted_content", "encrypted_content": "gAAAAx"}],
    )
    log.event("thread_rolled_back", num_turns=1)

    found = messages(_file(tmp_path, log.lines))

    assert [("harness", "rewound"), ("model", "rewound")] == [(m.author, m.state) for m in found[2:]]
    assert ["live", "live"] == [m.state for m in found[:2]]
    assert ("/main", "/main/worker") == (found[2].extra["from"], found[2].extra["to"])
    assert [Thinking] == [type(block) for block in found[3].blocks]
