"""Words of a person are the person's wherever Claude Code wrote them, and what the program or another agent says never is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from claude_lines import SESSION, Log, infos, messages, written

from satchel.formats.model import Text, ToolResult, plain_text

NO = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. it was NOT written to the file)."
HINT = "\n\nNote: The user's next message may contain a correction or preference. Pay attention."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / f"{SESSION}.jsonl"


def typed(file: Path) -> list[str]:
    """Return what persons typed, message by message."""
    return [plain_text(message.blocks, injected=False) for message in messages(file) if message.author == "person"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[Request interrupted by user]Use the other chart.", ["Use the other chart."]),
        ("[Request interrupted by user for tool use]\n\nUse the other chart.", ["\n\nUse the other chart."]),
        ([{"type": "text", "text": "[Request interrupted by user]"}, {"type": "text", "text": "No."}], ["No."]),
        ("[Request interrupted by user]\n<system-reminder>x</system-reminder>", []),
        ("[Request interrupted by user]\n[Request interrupted by user for tool use]", []),
        ("[Image: source: /srv/a[1].png]\nWhat is this?", ["\nWhat is this?"]),
        ("<local-command-caveat>x</local-command-caveat>\n<command-name>/clear</command-name>", ["/clear"]),
        ("<command-name>/tide</command-name><command-args>now</command-args>\nAnd the wind.", ["/tide now\n\nAnd the wind."]),
        ("<bash-input>ls</bash-input><bash-stdout>chart.txt</bash-stdout>", ["!ls"]),
        (f"{NO} To tell you how to proceed, the user said:\nSail north.", ["Sail north."]),
    ],
)
def test_words_behind_what_the_program_put_in_are_typed(file: Path, content: Any, expected: list[str]) -> None:
    """What followed a notice of an interruption in the same text counted as the notice."""
    log = Log()
    log.user(content)
    written(file, log.lines)

    assert expected == typed(file)


@pytest.mark.parametrize(
    "text",
    [
        '<scheduled-task name="tides" file="~/tides.md">Look at the tides.</scheduled-task>',
        '<channel source="radio" user="ada">Hello</channel>',
        '<cross-session-message from="harbour">Hello</cross-session-message>',
        'Another Claude session sent a message:\n<cross-session-message from="harbour">Hello</cross-session-message>\n',
        "<pre-compact-hook>output</pre-compact-hook>",
        "<user-prompt-submit-hook>output</user-prompt-submit-hook>",
        "<remote-review>notes</remote-review>",
        "<coordinator-relay>Hello</coordinator-relay>",
        "<fork-boilerplate>never closed",
        "[SYSTEM NOTIFICATION - NOT USER INPUT] done",
        "<<autonomous-loop-dynamic>>",
        "[Tool call skipped: the turn was stopped before this call ran.]",
        "The app was quit while you were working. Go on.",
        f"{NO} STOP what you are doing.",
    ],
)
def test_what_the_program_wrote_is_not_typed(file: Path, text: str) -> None:
    log = Log()
    log.user(text)
    written(file, log.lines)

    (message,) = messages(file)

    assert "harness" == message.author
    assert "" == plain_text(message.blocks, injected=False)


@pytest.mark.parametrize(
    "text", ["<channel>a feed</channel>", "<scheduled-tasks>a list</scheduled-tasks>", "Why <tick>1</tick>?", "[Request] it."]
)
def test_texts_that_look_alike_are_typed(file: Path, text: str) -> None:
    log = Log()
    log.user(text)
    written(file, log.lines)

    assert [text] == typed(file)


@pytest.mark.parametrize(
    ("said", "by"),
    [
        ({"origin": {"kind": "human"}}, "person"),
        ({"origin": {"kind": "cli"}, "promptSource": "user"}, "person"),
        ({"promptSource": "typed"}, "person"),
        ({"promptSource": "sdk", "turnOrigin": "sdk"}, "person"),
        ({"promptSource": "queued", "turnOrigin": "task_notification"}, "person"),
        ({"origin": {"kind": "task-notification"}, "promptSource": "sdk"}, "harness"),
        ({"origin": {"kind": "channel", "server": "radio"}}, "harness"),
        ({"origin": {"kind": "auto-continuation"}}, "harness"),
        ({"origin": {"kind": "coordinator"}}, "harness"),
        ({"origin": {"kind": "cron"}}, "harness"),
        ({"promptSource": "system"}, "harness"),
        ({"turnOrigin": "scheduled"}, "harness"),
        ({"scheduledTaskId": "tides", "turnOrigin": "human"}, "harness"),
    ],
)
def test_what_a_line_says_of_itself_goes_before_its_words(file: Path, said: dict[str, Any], by: str) -> None:
    log = Log()
    log.user("Look at the tides.", **said)
    log.add("attachment", attachment={"type": "queued_command", "prompt": "Look again.", "commandMode": "prompt", **said})
    written(file, log.lines)

    assert [by, by] == [message.author for message in messages(file)]
    assert ("Look at the tides." if by == "person" else None) == infos(file)[SESSION].title


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (f"{NO} To tell you how to proceed, the user said:\nSail north.", "Sail north."),
        (f"{NO} To tell you how to proceed, the user said:\nSail north.{HINT}", "Sail north."),
        (f"{NO} The user provided the following reason for the rejection:  Too\nfar.", "Too\nfar."),
        (
            f"<tool_use_error>{NO} The user provided the following reason for the rejection: Too far.</tool_use_error>",
            "Too far.",
        ),
        ("Permission for this tool use was denied. The tool use was rejected. The user said:\nToo far.", "Too far."),
        ([{"type": "text", "text": f"{NO} To tell you how to proceed, the user said:\nSail north."}], "Sail north."),
        (f"{NO} STOP what you are doing and wait for the user.{HINT}", None),
        (f"{NO} To tell you how to proceed, the user said:\nThe user wants to clarify these questions.\n  Ask them.", None),
        (f"3: {NO} To tell you how to proceed, the user said:\nSail north.", None),
    ],
)
@pytest.mark.parametrize("beside", [False, True])
def test_why_a_call_was_not_allowed_is_the_persons_word(file: Path, content: Any, words: str | None, beside: bool) -> None:
    """It stands in what the tool gave back, and was nobody's. A subagent's calls are asked about, too."""
    log = Log(isSidechain=beside)
    log.call("Edit", "toolu_1")
    log.result("toolu_1", content, is_error=True)
    log.lines[-1]["message"]["content"][0]["is_error"] = True
    written(file, log.lines)

    message = messages(file)[-1]

    assert ("person" if words else "tool") == message.author
    assert isinstance(message.blocks[0], ToolResult)
    assert (message.blocks[0].call_id, message.blocks[0].error) == ("toolu_1", True)
    assert ([Text(words)] if words else []) == list(message.blocks[1:])
    shown = plain_text(message.blocks[0].content)
    text = content if isinstance(content, str) else content[0]["text"]
    assert sorted(text) == sorted(shown + (words or ""))


def test_an_output_that_quotes_a_rejection_is_the_tools(file: Path) -> None:
    log = Log()
    log.result("toolu_1", f"{NO} To tell you how to proceed, the user said:\nSail north.")
    log.lines[-1]["message"]["content"][0]["is_error"] = False
    written(file, log.lines)

    assert ["tool"] == [message.author for message in messages(file)]


def test_a_rejection_beside_other_results_takes_nothing_back(file: Path) -> None:
    """Results of calls that ran at once hang on branches of their own; words in one of them make no rewind."""
    log = Log()
    log.user("Go.")
    one = log.call("Edit", "toolu_1")
    two = log.call("Edit", "toolu_2")
    log.result("toolu_1", f"{NO} To tell you how to proceed, the user said:\nNot this one.", parent=one["uuid"])
    log.add("user", parent=two["uuid"], message={"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_2"}]})
    log.user("Go on.")
    written(file, log.lines)

    assert ["Go.", "Not this one.", "Go on."] == typed(file)
    assert {"live"} == {message.state for message in messages(file)}


def test_a_prompt_that_a_hook_did_not_let_through_is_the_persons(file: Path) -> None:
    """It stands nowhere but in what the program says of it, which was a note."""
    no = "UserPromptSubmit operation blocked by hook:\n[check.sh]: not now\n\n\nOriginal prompt: "
    log = Log()
    log.add("system", subtype="informational", content=f"{no}Sail north.", level="warning", preventContinuation=True)
    log.add("system", subtype="informational", content=f"{no}Sail south.", level="warning")
    log.add("system", subtype="informational", content="Original prompt: none", level="info")
    log.user("Sail south.")
    written(file, log.lines)

    assert ["Sail north.", "Sail south."] == typed(file)
    assert [True, None] == [message.extra.get("blocked") for message in messages(file)]


# ------------------------------------------------------------------------------------------------------------ the queue


class Queue(Log):
    """A log whose person types while the model works."""

    def put(self, text: Any, **more: Any) -> None:
        self.count += 1
        time = f"2026-02-01T11:00:{self.count:02}.000Z"
        self.side("queue-operation", operation="enqueue", content=text, timestamp=time, **more)

    def take(self, operation: str = "dequeue") -> None:
        self.side("queue-operation", operation=operation, timestamp="2026-02-01T11:01:00.000Z")


def test_words_that_wait_when_the_file_ends_are_kept(file: Path) -> None:
    """They stand nowhere but in the queue, and were lost."""
    log = Queue()
    log.user("Go on.")
    log.put("Go on.")
    log.put([{"type": "text", "text": "And the lighthouse."}])
    log.put("<task-notification><task-id>a1</task-id></task-notification>")
    log.put("A task's.", origin={"kind": "task-notification"})
    written(file, log.lines)

    found = messages(file)

    assert ["Go on.", "Go on.", "And the lighthouse."] == typed(file)
    assert [None, True, True] == [message.extra.get("pending") for message in found]


def test_words_that_were_taken_for_a_turn_that_never_began_are_kept(file: Path) -> None:
    log = Queue()
    log.put("First.")
    log.take()
    log.user("First.")
    log.answer("Done.")
    log.put("Second.")
    log.take()
    written(file, log.lines)

    assert ["First.", "Second."] == typed(file)


def test_words_that_came_out_of_the_queue_in_other_words_are_said_once(file: Path) -> None:
    log = Queue()
    log.put("/tide now")
    log.take()
    log.user("<command-name>/tide</command-name><command-args>now</command-args>")
    log.put("One.")
    log.put("Two.")
    log.take()
    log.take()
    log.user("One.\nTwo.")
    log.put("Look at the tides.")
    log.take("remove")
    log.user("Look at the tides.", isMeta=True, turnOrigin="scheduled")
    log.put("/compact")
    log.take()
    log.add("system", subtype="local_command", content="<command-name>/compact</command-name>")
    log.put("Taken back.")
    log.take("popAll")
    written(file, log.lines)

    assert ["/tide now", "One.\nTwo."] == typed(file)


def test_a_session_of_nothing_but_the_queue_is_called_by_it(file: Path) -> None:
    log = Queue()
    log.put("Where is the harbour?")
    written(file, log.lines)

    assert "Where is the harbour?" == infos(file)[SESSION].title
    assert ["Where is the harbour?"] == typed(file)
