"""Claude Code's lines become the messages that they are: one an answer, each by whom it is from, none lost and none twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from claude_lines import OTHER, SESSION, Log, entries, infos, messages, notes, opened, said, uid, written

from satchel.contracts import Usage
from satchel.formats.model import Attachment, Image, Message, Note, Text, Thinking, ToolCall, ToolResult, Unknown

TOO_LARGE = (
    "<persisted-output>\nOutput too large (91KB). Full output saved to: {}\n\n"
    "Preview (first 2KB):\nfirst words\n</persisted-output>"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / f"{SESSION}.jsonl"


def test_the_lines_of_an_answer_are_one_message_with_its_tokens_once(file: Path) -> None:
    log = Log()
    log.user("Where is the harbour?")
    log.answer({"type": "thinking", "thinking": "A chart.", "signature": "c2ln"}, usage={"input_tokens": 5, "output_tokens": 1})
    log.answer("Let me look.", usage={"input_tokens": 5, "output_tokens": 1})
    log.call("Read", "toolu_1", usage={"input_tokens": 5, "output_tokens": 60}, stop="tool_use")
    written(file, log.lines)

    person, answer = messages(file)

    assert "person" == person.author
    assert [Thinking("A chart."), Text("Let me look."), ToolCall("toolu_1", "Read", {"of": "toolu_1"})] == list(answer.blocks)
    assert ("msg_1", "tool_use", Usage(input=5, output=60)) == (answer.id, answer.stop_reason, answer.usage)
    assert [2, 3, 4] == [record.key for record in answer.records]
    assert Usage(input=5, output=60) == infos(file)[SESSION].usage


def test_an_answer_goes_on_behind_the_results_that_came_meanwhile(file: Path) -> None:
    log = Log()
    log.call("Read", "toolu_1")
    log.result("toolu_1")
    log.add("progress", data={"type": "hook_progress"}, toolUseID="toolu_1", parentToolUseID="toolu_1")
    log.call("Read", "toolu_2")
    log.result("toolu_2")
    log.answer("Both are read.", id="msg_2")
    written(file, log.lines)

    found = entries(file)

    assert [[1, 4], [2], [3], [5], [6]] == [[record.key for record in entry.records] for entry in found]
    assert isinstance(found[0], Message)
    assert ["toolu_1", "toolu_2"] == [block.id for block in found[0].blocks if isinstance(block, ToolCall)]
    results = [block for entry in found if isinstance(entry, Message) for block in entry.blocks if isinstance(block, ToolResult)]
    assert [("toolu_1", "Read"), ("toolu_2", "Read")] == [(block.call_id, block.name) for block in results]


def test_a_growing_answer_is_not_repeated(file: Path) -> None:
    log = Log()
    log.answer("The harbour")
    log.answer("The harbour is north.")
    log.answer("The harbour is north.")
    log.call("Read", "toolu_1")
    log.call("Read", "toolu_1")
    written(file, log.lines)

    (answer,) = messages(file)

    assert [Text("The harbour is north."), ToolCall("toolu_1", "Read", {"of": "toolu_1"})] == list(answer.blocks)
    assert 5 == len(answer.records)


def test_short_words_may_be_said_twice_in_one_answer(file: Path) -> None:
    log = Log()
    log.answer("Yes.")
    log.call("Read", "toolu_1")
    log.answer("Yes.")
    written(file, log.lines)

    assert ["Text", "ToolCall", "Text"] == [type(block).__name__ for block in messages(file)[0].blocks]


def test_answers_without_a_name_are_answers_each(file: Path) -> None:
    log = Log()
    for text in ("One.", "Two."):
        log.add("assistant", message={"role": "assistant", "content": text, "usage": {"output_tokens": 2}})
    written(file, log.lines)

    assert [("model", "One."), ("model", "Two.")] == said(messages(file))
    assert 4 == infos(file)[SESSION].usage.output


def test_the_same_name_far_apart_is_two_messages_with_the_tokens_once(file: Path) -> None:
    log = Log()
    log.answer("First words of a long answer.")
    log.user("And now?")
    log.answer("Second words of a long answer.")
    written(file, log.lines)

    found = messages(file)

    assert [Usage(input=3, output=1), None, None] == [message.usage for message in found]
    assert 1 == infos(file)[SESSION].usage.output


def test_an_answer_that_is_written_again_without_its_request_is_one(file: Path) -> None:
    """Its tokens counted twice, and it was said twice."""
    log = Log()
    log.user("Where is the harbour?")
    log.answer("North of here.", id="msg_01InventedInventedInvent", usage={"input_tokens": 4, "output_tokens": 5})
    again = log.answer("North of here.", id="msg_01InventedInventedInvent", usage={"input_tokens": 4, "output_tokens": 5})
    del again["requestId"]
    written(file, log.lines)

    assert [("person", "Where is the harbour?"), ("model", "North of here.")] == said(messages(file))
    assert Usage(input=4, output=5) == infos(file)[SESSION].usage


def test_tokens_are_read_from_all_the_places_they_may_be_in(file: Path) -> None:
    nested = {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 4}
    usage: dict[str, Any] = {
        "input_tokens": 2,
        "output_tokens": 9,
        "cache_read_input_tokens": 70,
        "cache_creation_input_tokens": 0,
    }
    usage |= {"cache_creation": nested, "output_tokens_details": {"thinking_tokens": 6}, "service_tier": None}
    log = Log()
    log.answer("Hm.", usage=usage)
    log.answer("Bad.", id="msg_2", usage={"input_tokens": "many", "output_tokens": -1, "cache_read_input_tokens": True})
    written(file, log.lines)

    found = [message.usage for message in messages(file)]

    assert [Usage(input=2, output=9, cache_read=70, cache_write=34, reasoning=6), Usage()] == found


def test_what_the_program_says_as_the_model_costs_nothing(file: Path) -> None:
    log = Log()
    log.answer("API Error: 429", id=uid("x"), isApiErrorMessage=True, error="rate_limit")
    line = log.answer("No response requested.", id=uid("y"))
    line["message"]["model"] = "<synthetic>"
    written(file, log.lines)

    found = messages(file)

    assert ["harness", "harness"] == [message.author for message in found]
    assert [None, None] == [message.usage for message in found]
    assert "rate_limit" == found[0].extra["error"]
    assert [None, "claude-invented-1"] == [found[1].model, found[0].model]


@pytest.mark.parametrize(
    ("content", "author", "parts"),
    [
        ("Sail north.", "person", [Text("Sail north.")]),
        ("", "person", [Text("")]),
        ([{"type": "text", "text": "One."}, "Two."], "person", [Text("One."), Text("Two.")]),
        (
            "<command-name>/pr</command-name>\n  <command-message>pr</command-message>\n<command-args>a < b</command-args>",
            "person",
            [Text("/pr a < b")],
        ),
        ("<command-message>pr is running…</command-message>\n<command-name>pr</command-name>", "person", [Text("/pr")]),
        ("<bash-input>ls -l</bash-input>", "person", [Text("!ls -l")]),
        ("<user-memory-input>use tabs</user-memory-input>", "person", [Text("#use tabs")]),
        ("<command-message>no name</command-message>", "person", [Text("<command-message>no name</command-message>")]),
        ("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>", "harness", None),
        ("<local-command-stdout></local-command-stdout>", "harness", None),
        ("<local-command-stdout>never closed", "harness", None),
        ("Caveat: The messages below were generated by the user while running local commands. DO NOT respond", "harness", None),
        ("This session is being continued from a previous conversation that ran out of context.", "harness", None),
        ("[Request interrupted by user for tool use]", "harness", None),
        ("<task-notification>\n<task-id>a1</task-id>\n</task-notification>", "harness", None),
        ('<teammate-message teammate_id="ada">Hello</teammate-message>', "harness", None),
        ("<system-reminder>Mind the tide.</system-reminder>", "harness", None),
        (
            "<ide_opened_file>chart.txt</ide_opened_file>What is this?<system-reminder>Be brief.</system-reminder>",
            "person",
            [
                Text("<ide_opened_file>chart.txt</ide_opened_file>", injected=True),
                Text("What is this?"),
                Text("<system-reminder>Be brief.</system-reminder>", injected=True),
            ],
        ),
        ("What does <system-reminder> do?", "person", [Text("What does <system-reminder> do?")]),
        (
            [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}],
            "person",
            [Image("image/png", "AAAA")],
        ),
        ([{"type": "hologram", "x": 1}, 7], "harness", [Unknown({"type": "hologram", "x": 1}), Unknown(7)]),
        (
            [{"type": "document", "title": "Chart", "source": {}}],
            "person",
            [Attachment("document", "Chart", {"type": "document", "title": "Chart", "source": {}})],
        ),
    ],
)
def test_what_was_typed_is_told_from_what_was_put_in(file: Path, content: Any, author: str, parts: list[Any] | None) -> None:
    log = Log()
    log.user(content)
    written(file, log.lines)

    (message,) = messages(file)

    assert author == message.author
    if parts is None:
        assert all(isinstance(block, Text) and block.injected for block in message.blocks)
    else:
        assert parts == list(message.blocks)


@pytest.mark.parametrize("key", ["isMeta", "isCompactSummary"])
def test_marked_lines_were_put_in_whatever_they_say(file: Path, key: str) -> None:
    log = Log()
    log.user("Base directory for this skill: /srv/skills", **{key: True})
    written(file, log.lines)

    (message,) = messages(file)

    assert ("harness", [Text("Base directory for this skill: /srv/skills", injected=True)]) == (
        message.author,
        list(message.blocks),
    )
    assert message.extra[key] is True


def test_words_typed_while_a_tool_ran_come_with_its_result(file: Path) -> None:
    log = Log()
    log.call("Read", "toolu_1")
    log.result("toolu_1", "text", {"type": "text", "text": "Use the other one."})
    log.result("toolu_2", "text", {"type": "text", "text": "[Request interrupted by user for tool use]"})
    written(file, log.lines)

    assert ["model", "person", "tool"] == [message.author for message in messages(file)]


def test_reminders_behind_an_output_are_not_the_tools(file: Path) -> None:
    log = Log()
    log.result("toolu_1", "1 line\n\n<system-reminder>a</system-reminder>\n<system-reminder>b</system-reminder>\n")
    log.result("toolu_2", [{"type": "text", "text": "x"}, {"type": "tool_reference", "tool_name": "Map"}, None, 3], is_error=True)
    log.result("toolu_3", None)
    written(file, log.lines)

    one, two, three = (message.blocks[0] for message in messages(file))

    assert isinstance(one, ToolResult)
    assert [
        ("1 line\n\n", False),
        ("<system-reminder>a</system-reminder>\n", True),
        ("<system-reminder>b</system-reminder>\n", True),
    ] == [(block.text, block.injected) for block in one.content if isinstance(block, Text)]
    assert isinstance(two, ToolResult)
    assert [Text("x"), Attachment("tool_reference", "Map", {"type": "tool_reference", "tool_name": "Map"}), Unknown(3)] == list(
        two.content
    )
    assert isinstance(three, ToolResult)
    assert [] == list(three.content)


def test_hidden_thinking_says_so(file: Path) -> None:
    opaque = {"type": "thinking", "thinking": "", "signature": "c2ln"}
    redacted = {"type": "redacted_thinking", "data": "eA=="}
    log = Log()
    log.answer(opaque, redacted, {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}})
    log.answer(
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "oddity"}]},
        {"type": "fallback"},
        "(no content)",
    )
    written(file, log.lines)

    assert [
        Thinking("", hidden=True, data=opaque),
        Thinking("", hidden=True, data=redacted),
        ToolCall("srvtoolu_1", "web_search", {}, "server_tool_use"),
        ToolResult("srvtoolu_1", "web_search", [Unknown({"type": "oddity"})]),
        Unknown({"type": "fallback"}),
        Text("(no content)", injected=True),
    ] == list(messages(file)[0].blocks)


def test_queued_words_are_the_persons(file: Path) -> None:
    log = Log()
    log.add("attachment", attachment={"type": "queued_command", "prompt": "Also the lighthouse.", "commandMode": "prompt"})
    log.add(
        "attachment",
        attachment={"type": "queued_command", "prompt": [{"type": "text", "text": "And"}], "origin": {"kind": "peer"}},
    )
    log.add(
        "attachment",
        attachment={"type": "queued_command", "prompt": "<task-notification>x</task-notification>", "commandMode": "prompt"},
    )
    log.add("attachment", attachment={"type": "skill_listing", "content": ""})
    written(file, log.lines)

    found = messages(file)

    assert [
        ("person", "Also the lighthouse."),
        ("harness", "And"),
        ("harness", "<task-notification>x</task-notification>"),
    ] == said(found)
    assert [True] * 3 == [message.extra["queued"] for message in found]


def test_words_that_left_the_queue_for_the_model_are_shown_once(file: Path) -> None:
    """Versions without attachments kept what was queued and delivered amid a turn nowhere but in the queue's own lines."""
    log = Log()
    log.user("Go.")
    log.side("queue-operation", operation="enqueue", content="Only in the queue.", timestamp="2026-02-01T10:00:02.000Z")
    log.side("queue-operation", operation="remove", timestamp="2026-02-01T10:00:03.000Z")
    log.side("queue-operation", operation="enqueue", content="Said again below.", timestamp="2026-02-01T10:00:04.000Z")
    log.side("queue-operation", operation="remove", timestamp="2026-02-01T10:00:05.000Z")
    log.side("queue-operation", operation="enqueue", content="Next turn.", timestamp="2026-02-01T10:00:06.000Z")
    log.side("queue-operation", operation="dequeue", timestamp="2026-02-01T10:00:07.000Z")
    log.side("queue-operation", operation="enqueue", content="Taken back.", timestamp="2026-02-01T10:00:08.000Z")
    log.side("queue-operation", operation="popAll", content="Taken back.", timestamp="2026-02-01T10:00:09.000Z")
    log.result("toolu_1", "x", {"type": "text", "text": "Said again below."})
    log.user("Next turn.")
    written(file, log.lines)

    found = messages(file)

    assert ["Go.", "Only in the queue.", "Said again below.", "Next turn."] == [text for _, text in said(found)]
    assert {"person"} == {message.author for message in found}


def test_what_no_message_is_a_note_of_its_type(file: Path) -> None:
    log = Log()
    log.side("custom-title", customTitle="Harbour")
    log.add("system", subtype="turn_duration", durationMs=12)
    log.add("system", content="Running…", level="info")
    log.add("system", subtype="brand_new")
    log.add("progress", data={"type": "bash_progress"})
    log.side("starlight", brightness=3)
    written(file, [*log.lines, b"[1]\n", b"null\n", b'{"torn": "li\n'])

    found = entries(file)

    assert [
        "custom-title",
        "turn_duration",
        "system",
        "unknown",
        "progress",
        "unknown",
        "unknown",
        "unknown",
        "damaged",
    ] == notes(found)
    assert all(isinstance(entry, Note) and entry.data == entry.records[0].data for entry in found)


def test_calls_and_results_that_are_lines_themselves(file: Path) -> None:
    log = Log()
    log.side("tool_use", id="toolu_1", name="Read", input={"a": 1}, uuid=uid("a"))
    log.side("tool_result", tool_use_id="toolu_1", output="text", uuid=uid("b"))
    log.side("tool_result", uuid=uid("c"), message={"role": "tool", "content": "more"})
    written(file, [*log.lines, *Log(tag="z").lines])
    log.user("Go on.")
    written(file, log.lines)

    found = messages(file)

    assert ["model", "tool", "tool", "person"] == [message.author for message in found]
    assert [ToolCall("toolu_1", "Read", {"a": 1})] == list(found[0].blocks)
    assert [ToolResult(None, None, [Text("more")])] == list(found[2].blocks)


def test_the_cost_that_early_versions_wrote_is_kept(file: Path) -> None:
    log = Log()
    log.answer("One.", costUSD=0.5)
    log.answer("Two.", id="msg_2", costUSD=0.25)
    written(file, log.lines)

    assert 0.75 == infos(file)[SESSION].cost


def test_lines_of_no_type_are_by_their_role(file: Path) -> None:
    usage = {"input_tokens": 100, "output_tokens": 50}
    line = {
        "timestamp": "2026-01-09T10:00:00.000Z",
        "sessionId": "alpha",
        "message": {"role": "assistant", "id": "m", "usage": usage},
    }
    written(file, [{**line, "requestId": "r", "costUSD": 0.12}])

    assert 100 == infos(file)[SESSION].usage.input


# ---------------------------------------------------------------------------------------------------------- outputs beside it


def _output(tmp_path: Path, path: str, *, name: str = "toolu_1.txt", data: bytes = b"the whole of it") -> Path:
    log = Log()
    log.call("Bash", "toolu_1")
    log.result("toolu_1", TOO_LARGE.format(path))
    file = written(tmp_path / "p" / f"{SESSION}.jsonl", log.lines)
    folder = tmp_path / "p" / SESSION / "tool-results"
    folder.mkdir(parents=True)
    (folder / name).write_bytes(data)
    return file


@pytest.mark.parametrize(
    "path", ["/home/ada/.claude/projects/p/{}/tool-results/toolu_1.txt", "C:\\Users\\ada\\p\\{}\\tool-results\\toolu_1.txt"]
)
def test_an_output_that_lies_beside_the_transcript_is_shown_whole(tmp_path: Path, path: str) -> None:
    file = _output(tmp_path, path.format(SESSION))

    found = entries(file)

    assert ["tool-result"] == notes(found)
    assert isinstance(found[-1], Message)
    block = found[-1].blocks[0]
    assert isinstance(block, ToolResult)
    assert [Text("the whole of it")] == list(block.content)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        f"/p/{SESSION}/tool-results/../../secret.txt",
        f"/p/{OTHER}/tool-results/toolu_1.txt",
        "tool-results/toolu_1.txt",
        f"/p/{SESSION}/tool-results/absent.txt",
    ],
)
def test_a_path_that_leads_elsewhere_is_not_followed(tmp_path: Path, path: str) -> None:
    (tmp_path / "p" / "secret.txt").parent.mkdir()
    (tmp_path / "p" / "secret.txt").write_text("secret")
    file = _output(tmp_path, path)

    message = messages(file)[-1]

    block = message.blocks[0]
    assert isinstance(block, ToolResult)
    assert isinstance(block.content[0], Text)
    assert block.content[0].text.startswith("<persisted-output>")
    assert (path,) == message.extra["preview"]


def test_a_link_among_the_outputs_is_not_followed(tmp_path: Path) -> None:
    file = _output(tmp_path, f"/p/{SESSION}/tool-results/toolu_1.txt")
    output = file.parent / SESSION / "tool-results" / "toolu_1.txt"
    output.unlink()
    (tmp_path / "secret.txt").write_text("secret")
    output.symlink_to(tmp_path / "secret.txt")

    assert b"secret" not in b"".join(record.raw or b"" for entry in entries(file) for record in entry.records)


def test_an_output_that_is_too_long_stays_a_preview(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from satchel.formats.claude_code import store

    monkeypatch.setattr(store, "_LARGEST", 10)
    file = _output(tmp_path, f"/p/{SESSION}/tool-results/toolu_1.txt")
    opened_store, heard = opened(file)

    with opened_store:
        records = list(opened_store.records(SESSION))

    assert {"line"} == {record.kind for record in records}
    assert ["warning"] == [problem.severity for problem in heard]


def test_an_output_that_is_no_text_is_kept(tmp_path: Path) -> None:
    file = _output(tmp_path, f"/p/{SESSION}/tool-results/toolu_1.txt", data=b"\xff\xfe\x00")
    with opened(file)[0] as store:
        record = next(iter(store.records(SESSION)))

        assert (None, b"\xff\xfe\x00") == (record.data, record.raw)
        assert b"".join(store.canonical(record)).endswith(b"\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("what does <goal>x</goal> mean? and <tick>1</tick>", ["what does <goal>x</goal> mean? and <tick>1</tick>"]),
        ("<ide_selection>x</ide_selection>\nFix <tick>it</tick>.", ["\nFix <tick>it</tick>."]),
        ("Go on. <system-reminder>x</system-reminder>\n", ["Go on. "]),
        ("<goal>x</goal> <tick>1</tick>", []),
        ("say <system-reminder>x</system-reminder> aloud", ["say <system-reminder>x</system-reminder> aloud"]),
    ],
)
def test_tags_in_the_midst_of_typed_words_are_typed(text: str, said: list[str]) -> None:
    from satchel.formats.claude_code.texts import spoken

    parts = spoken(text).parts
    assert said == [part.text for part in parts if not part.injected]
    assert "".join(text.split()) == "".join("".join(part.text for part in parts).split())
