"""Which of Claude Code's lines are live, which were taken back, which stand there twice; and that none is lost on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from claude_lines import SESSION, Line, Log, entries, infos, messages, notes, opened, raw, said, uid, written

from satchel.contracts import Record
from satchel.formats.claude_code import plan
from satchel.formats.claude_code.decode import decode
from satchel.formats.log_lines import LogFile
from satchel.formats.model import Message, Note


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / f"{SESSION}.jsonl"


def _turn(log: Log, text: str, number: int, **more: Any) -> Line:
    line = log.user(text, **more)
    log.answer(f"Answer {number}.", id=f"msg_{number}")
    return line


def _states(path: Path) -> list[tuple[str, str]]:
    return [(message.state, text) for message, (_, text) in zip(messages(path), said(messages(path)), strict=True)]


def test_a_prompt_that_was_edited_is_rewound_with_what_followed_it(file: Path) -> None:
    log = Log()
    _turn(log, "First.", 1)
    before = log.parent
    _turn(log, "Left.", 2)
    log.call("Read", "toolu_1", id="msg_3")
    log.result("toolu_1", "x")
    _turn(log, "Instead.", 4, parent=before)
    written(file, log.lines)

    states = [message.state for message in messages(file)]

    assert ["live"] * 2 + ["rewound"] * 4 + ["live"] * 2 == states
    info = infos(file)[SESSION]
    assert (4, 0, 4) == (info.messages, info.compacted, info.rewound)


def test_rewinds_within_rewinds(file: Path) -> None:
    log = Log()
    _turn(log, "Root.", 1)
    root = log.parent
    _turn(log, "A.", 2)
    a = log.parent
    _turn(log, "A1.", 3)
    _turn(log, "A2.", 4, parent=a)
    _turn(log, "B.", 5, parent=root)
    b = log.parent
    _turn(log, "B1.", 6)
    _turn(log, "B2.", 7, parent=b)
    written(file, log.lines)

    live = [text for state, text in _states(file) if state == "live" and not text.startswith("Answer")]

    assert ["Root.", "B.", "B2."] == live


def test_forks_that_no_prompt_makes_are_none(file: Path) -> None:
    log = Log()
    log.user("Go.")
    one = log.call("Read", "toolu_1")["uuid"]
    two = log.call("Read", "toolu_2")["uuid"]
    log.result("toolu_1", parent=one)
    log.add("progress", data={"type": "hook_progress"}, parent=one)
    log.result("toolu_2", parent=two)
    after = log.parent
    log.add("system", subtype="api_error", parent=after)
    log.add("system", subtype="stop_hook_summary", parent=after)
    log.answer("Delivered beside.", id="msg_2")
    log.user("<command-name>/model</command-name>", parent=after)
    log.user("Next.", parent=after)
    log.answer("Fine.", id="msg_3")
    written(file, log.lines)

    assert {"live"} == {message.state for message in messages(file)}


def test_new_roots_and_lost_parents_are_no_rewinds(file: Path) -> None:
    log = Log()
    _turn(log, "One.", 1)
    _turn(log, "Two.", 2, parent=None)
    _turn(log, "Three.", 3, parent=uid("nowhere"))
    itself = log.user("Four.")
    itself["parentUuid"] = itself["uuid"]
    one, two = log.user("Five."), log.user("Six.")
    one["parentUuid"] = two["uuid"]
    written(file, log.lines)

    assert {"live"} == {message.state for message in messages(file)}


def test_a_graph_where_ids_stand_for_several_lines_proves_nothing(file: Path) -> None:
    """Files that were made anonymous may have one word for every id."""
    log = Log()
    for i in range(4):
        log.user(f"Prompt {i}", uuid="[trimmed]", timestamp="[trimmed]", parent=uid(1) if i % 2 else "[trimmed]")
    written(file, log.lines)

    assert ["live"] * 4 == [message.state for message in messages(file)]


def test_a_history_that_was_written_twice_is_read_once(file: Path) -> None:
    log = Log()
    _turn(log, "One.", 1)
    _turn(log, "Two.", 2)
    written(file, [*log.lines, *log.lines])

    found = entries(file)

    assert 4 == sum(isinstance(entry, Message) for entry in found)
    assert ["copy"] * 4 == notes(found)
    assert 2 == infos(file)[SESSION].usage.output


def test_what_stands_before_a_compaction_stays_and_says_so(file: Path) -> None:
    log = Log()
    _turn(log, "Before.", 1)
    log.add("system", subtype="compact_boundary", parent=None, logicalParentUuid=log.parent, compactMetadata={"trigger": "auto"})
    log.user("This session is being continued from a previous conversation.", isCompactSummary=True)
    _turn(log, "After.", 2)
    written(file, log.lines)

    found = messages(file)

    assert ["compact_boundary"] == notes(entries(file))
    assert [True, True, None, None, None] == [message.extra.get("compacted") for message in found]
    assert {"live"} == {message.state for message in found}
    assert ["person", "model", "harness", "person", "model"] == [message.author for message in found]


def test_subagents_within_a_transcript_stand_beside_the_conversation(file: Path) -> None:
    log = Log(version="1.0.120")
    log.user("Look around.")
    log.call("Task", "toolu_1")
    log.user("You look around.", isSidechain=True, parent=None)
    log.answer("I did.", id="msg_9", isSidechain=True)
    log.result("toolu_1")
    written(file, log.lines)

    found = messages(file)

    assert ["live", "live", "sidechain", "sidechain", "live"] == [message.state for message in found]
    assert ["person", "model", "model", "model", "tool"] == [message.author for message in found]
    assert 3 == infos(file)[SESSION].messages


# ---------------------------------------------------------------------------------------------------------- the records


def test_the_records_are_the_file(file: Path) -> None:
    log = Log()
    _turn(log, "One.", 1)
    _turn(log, "Two.", 2)
    lines = [json.dumps(line).encode() + b"\r\n" for line in log.lines]
    torn = lines[1][:90] + lines[2] + b"\0" * 20 + lines[3]
    data = b"\xef\xbb\xbf" + lines[0] + torn + b'{"type":"user","mess'
    file.write_bytes(data)
    store, heard = opened(file)

    with store:
        records = list(store.records(SESSION))
        assert data == raw(records)
        assert records == list(store.records(SESSION))
        assert [f"{file}:2", f"{file}:3", f"{file}:4"] == sorted(problem.where for problem in heard)


def test_entries_are_the_same_when_records_were_made_anew(file: Path) -> None:
    """Redaction replaces a record's data; what is known of the file must survive it."""
    log = Log()
    _turn(log, "One.", 1)
    before = log.parent
    _turn(log, "Left.", 2)
    _turn(log, "Instead.", 3, parent=before)
    log.call("Read", "toolu_1", id="msg_4")
    log.result("toolu_1")
    log.call("Read", "toolu_2", id="msg_4")
    written(file, log.lines)

    with opened(file)[0] as store:
        kept = list(store.decode(store.records(SESSION)))
        anew = list(decode(Record(r.kind, r.key, r.data) for r in store.records(SESSION)))

    assert [_shape(entry) for entry in kept] == [_shape(entry) for entry in anew]


def _shape(entry: Any) -> Any:
    if isinstance(entry, Note):
        return entry.kind, entry.data
    return entry.role, entry.author, list(entry.blocks), entry.state, entry.usage, len(entry.records)


def test_records_without_their_file_still_decode() -> None:
    log = Log()
    _turn(log, "One.", 1)
    log.call("Read", "toolu_1", id="msg_1")

    found = list(decode(Record("line", number, line) for number, line in enumerate(log.lines, 1)))

    assert [[1], [2, 3]] == [[record.key for record in entry.records] for entry in found]


@pytest.mark.parametrize("last", [(), ("uuid", "timestamp"), ("uuid", "timestamp", "toolUseResult")])
@pytest.mark.parametrize("long", [False, True])
def test_long_lines_are_understood_as_short_ones(file: Path, long: bool, last: tuple[str, ...]) -> None:
    """Long lines are not parsed to see how they hang together, unless they must be; which keys stand last differs by version."""
    pad = "x" * (5_000 if long else 5)
    log = Log()
    _turn(log, f"First. {pad}", 1)
    log.add("attachment", attachment={"type": "queued_command", "prompt": f"Queued. {pad}"})
    before = log.parent
    _turn(log, f"Left. {pad}", 2)
    log.answer(pad, id="msg_3")
    log.result("toolu_1", pad, toolUseResult={"uuid": uid("nested"), "content": pad})
    log.add("progress", data={"type": "agent_progress", "message": {"type": "user", "uuid": uid("nested"), "message": pad}})
    log.answer({"type": "tool_use", "id": "toolu_2", "name": "Write", "input": {"requestId": "r", "text": pad}}, id="msg_3")
    log.result("toolu_2", [{"type": "text", "text": pad}], {"type": "text", "text": "Typed meanwhile."})
    _turn(log, f"Instead. {pad}", 4, parent=before)
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * (90_000 if long else 9)}}
    log.user([picture, {"type": "text", "text": "A picture."}])
    for line in log.lines:
        for key in last:
            if key in line:
                line[key] = line.pop(key)
    written(file, [*log.lines, *log.lines[-3:]])

    made = plan.make(LogFile(file), agent=False)
    states = [message.state for message in messages(file)]

    assert {6: 9} == made.closes
    assert ["live"] * 3 + ["rewound"] * 5 + ["live"] * 3 == states
    assert ["copy"] * 3 == [kind for kind in notes(entries(file)) if kind == "copy"]


def test_long_lines_of_tools_are_not_parsed_to_look_a_transcript_over(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those whose output is a list of texts, or has an id of its own, were: twice as many as had to be."""
    parsed: list[bytes] = []

    def kept(line: bytes) -> Any:
        parsed.append(line)
        return json.loads(line)

    monkeypatch.setattr(plan, "loads_quick", kept)
    log = Log()
    log.user("Go.")
    log.call("Read", "toolu_1")
    log.result("toolu_1", [{"type": "text", "text": "x" * 5_000}], toolUseResult={"uuid": uid("nested")})
    line = log.lines[-1]
    line |= {key: line.pop(key) for key in ("uuid", "timestamp")}
    written(file, log.lines)

    plan.make(LogFile(file), agent=False)

    assert [json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in log.lines[:2]] == parsed


def test_both_ways_of_looking_over_a_file_find_the_same(file: Path) -> None:
    log = Log()
    for i in range(6):
        _turn(log, f"Prompt {i}. " + "y" * 900 * i, i)
        log.call("Read", f"toolu_{i}", id=f"msg_{i}")
        log.result(f"toolu_{i}", "z" * 800 * i)
    log.user("Elsewhere.", parent=log.lines[2]["uuid"])
    written(file, [*log.lines, *log.lines[:4]])

    one = plan.make(LogFile(file), agent=False)
    with opened(file)[0] as store:
        other = plan.make_of(list(store.records(SESSION)), agent=False)

    assert (one.closes, one.flags, one.boundary) == (other.closes, other.flags, other.boundary)
    assert any(flag & plan.REWOUND for flag in one.flags)
    assert any(flag & plan.TWICE for flag in one.flags)
