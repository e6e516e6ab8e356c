"""A home of Claude Code is read whole: every session once, subagents by themselves, copies as copies, prompts that were left."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from claude_lines import OTHER, SESSION, THIRD, Line, Log, infos, messages, notes, opened, raw, uid, written

from satchel.errors import NotAStore, NotFound, StoreChanged
from satchel.events import ignore
from satchel.formats import registry
from satchel.formats.claude_code import reader
from satchel.formats.claude_code.homes import homes
from satchel.formats.model import Message


def _talk(session: str = SESSION, *, tag: str = "", **envelope: Any) -> Log:
    log = Log(session, tag=tag, **envelope)
    log.user("Where is the harbour?")
    log.answer("North.", id=f"msg_0123456789abcdef{tag}", stop="end_turn")
    return log


def _agent(log: Log, agent: str) -> list[Line]:
    child = Log(log.session, tag=agent, agentId=agent)
    child.envelope["isSidechain"] = True
    child.user(f"You are {agent}.")
    child.answer("I am.", id=f"msg_{agent}")
    return child.lines


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with two projects, subagents in the new and in the old layout, outputs, a workflow, and the history."""
    home = tmp_path / "claude"
    one = home / "projects" / "-srv-harbour"
    log = _talk()
    written(one / f"{SESSION}.jsonl", log.lines)
    agents = one / SESSION / "subagents"
    written(agents / "agent-a1b2c3d.jsonl", _agent(log, "a1b2c3d"))
    (agents / "agent-a1b2c3d.meta.json").write_text(
        json.dumps({"agentType": "Explore", "description": "Look", "toolUseId": "toolu_1"})
    )
    written(agents / "workflows" / "run1" / "agent-b1.jsonl", _agent(log, "b1"))
    written(agents / "workflows" / "run1" / "journal.jsonl", [{"type": "started", "key": "k", "agentId": "b1"}])
    (agents / "workflows" / "run1.json").write_text('{"phases": []}')
    results = one / SESSION / "tool-results"
    results.mkdir()
    (results / "toolu_1.txt").write_text("all of it")
    two = home / "projects" / "-srv-other"
    old = _talk(OTHER, tag="o")
    written(two / f"{OTHER}.jsonl", old.lines)
    written(two / "agent-0123abcd.jsonl", _agent(old, "0123abcd"))
    (two / "memory").mkdir()
    (two / "memory" / "MEMORY.md").write_text("# notes")
    (two / "sessions-index.json").write_text('{"version": 1, "entries": []}')
    written(home / "todos" / "x.jsonl", [{"a": 1}])
    prompts: list[Line] = [
        {"display": "Where is the harbour?", "timestamp": 1769940000000, "project": "/srv/harbour", "sessionId": SESSION},
        {
            "display": "Left alone.",
            "timestamp": 1759940001000,
            "project": "/srv/gone",
            "sessionId": THIRD,
            "pastedContents": {"1": {"content": "x"}},
        },
        {"display": "Really.", "timestamp": 1759940002000, "project": "/srv/gone", "sessionId": THIRD},
        {"display": "Old words.", "timestamp": 1739940002000, "project": "/srv/old"},
    ]
    written(home / "history.jsonl", [*prompts, b'{"display": "torn\n'])
    for file in home.rglob("*"):
        os.utime(file, (1_700_000_000, 1_700_000_000))
    return home


def test_every_session_of_a_home_is_there_once(home: Path) -> None:
    store, heard = opened(home)
    with store:
        found = {info.id: info for info in store.sessions()}

        lost = [key for key in found if key.startswith("history-")]
        assert {
            SESSION,
            OTHER,
            THIRD,
            f"{SESSION}.agent-a1b2c3d",
            f"{SESSION}.agent-b1",
            f"{OTHER}.agent-0123abcd",
            *lost,
        } == set(found)
        assert 1 == len(lost)
        assert sorted(found.values(), key=lambda info: (info.started_at or 0, info.id)) == list(found.values())
        assert [f"{home / 'history.jsonl'}:5"] == [problem.where for problem in heard]
        facts = store.facts()
        assert (7, 3, 2, {"2.1.40": 5}) == (facts["sessions"], facts["subagents"], facts["prompts_only"], facts["versions"])
        json.dumps(facts)


def test_a_session_says_what_its_lines_say(home: Path) -> None:
    info = infos(home)[SESSION]

    assert ("claude", "claude", "claude-code") == (info.format, info.agent, info.source)
    assert ("/srv/harbour", "main", "claude-invented-1") == (info.cwd, info.git_branch, info.model)
    assert ("Where is the harbour?", "prompt", "2.1.40") == (info.title, info.extra["title_from"], info.extra["version"])
    assert (1769940001.0, 1769940002.0, 1769940002.0) == (info.started_at, info.ended_at, info.last_active)
    assert (2, 0, 0, False) == (info.messages, info.compacted, info.rewound, info.live)
    assert info.parent is None


def test_a_subagent_is_a_session_of_its_own(home: Path) -> None:
    found = infos(home)
    new, old = found[f"{SESSION}.agent-a1b2c3d"], found[f"{OTHER}.agent-0123abcd"]

    assert [(SESSION, "delegate"), (OTHER, "delegate")] == [(info.parent, info.lineage) for info in (new, old)]
    assert {
        "agent": "a1b2c3d",
        "agent_type": "Explore",
        "description": "Look",
        "tool_use_id": "toolu_1",
    }.items() <= new.extra.items()
    assert [("model", "live"), ("model", "live")] == [(m.author, m.state) for m in messages(home, new.id)]


def test_what_lies_beside_a_transcript_is_among_its_records(home: Path) -> None:
    with opened(home)[0] as store:
        records = list(store.records(SESSION))
        of_agent = list(store.records(f"{SESSION}.agent-a1b2c3d"))

    beside = [(record.kind, record.key.rpartition(f"{SESSION}/")[2]) for record in records if record.kind != "line"]
    assert [
        ("tool-result", "tool-results/toolu_1.txt"),
        ("workflow", "subagents/workflows/run1.json"),
        ("workflow", "subagents/workflows/run1/journal.jsonl"),
    ] == sorted(beside)
    assert ["line", "line"] == [record.kind for record in records[3:]]
    assert ["meta", "line", "line"] == [record.kind for record in of_agent]


def test_the_files_of_a_session_are_named(home: Path) -> None:
    with opened(home)[0] as store:
        files = {info.id: dict(store.files(info.id)) for info in store.sessions(counts=False)}

    base = "projects/-srv-harbour"
    assert {
        f"{base}/{SESSION}.jsonl",
        f"{base}/{SESSION}/subagents/workflows/run1/journal.jsonl",
        f"{base}/{SESSION}/subagents/workflows/run1.json",
        f"{base}/{SESSION}/tool-results/toolu_1.txt",
    } == set(files[SESSION])
    agents = f"{base}/{SESSION}/subagents/agent-a1b2c3d"
    assert {f"{agents}.jsonl", f"{agents}.meta.json"} == set(files[f"{SESSION}.agent-a1b2c3d"])
    assert {} == files[THIRD]
    assert all(home / name == path and path.is_file() for found in files.values() for name, path in found.items())


def test_prompts_whose_transcript_is_gone_are_a_partial_session(home: Path) -> None:
    info = infos(home)[THIRD]

    assert (False, "prompts", "Left alone.", "/srv/gone") == (info.damaged, info.extra["partial"], info.title, info.cwd)
    assert (1759940001.0, 2) == (info.started_at, info.messages)
    found = messages(home, THIRD)
    assert ["person", "person"] == [message.author for message in found]
    assert 2 == len(found[0].blocks)
    with opened(home)[0] as store:
        assert [2, 3] == [record.key for record in store.records(THIRD)]


@pytest.mark.parametrize(
    "place", ["", "projects", "projects/-srv-harbour", f"projects/-srv-harbour/{SESSION}.jsonl", "history.jsonl"]
)
def test_any_part_of_a_home_can_be_opened(home: Path, place: str) -> None:
    path = home / place

    claim = reader.sniff(path)

    assert claim is not None
    assert "claude" == claim.reader == registry.detect(path).name
    with reader.open(path, listen=ignore) as store:
        ids = {info.id for info in store.sessions(counts=False)}
    assert (THIRD if place == "history.jsonl" else SESSION) in ids
    assert (f"{SESSION}.agent-a1b2c3d" in ids) is (place != "history.jsonl")


def test_an_early_subagent_comes_with_its_session_alone(home: Path) -> None:
    assert {OTHER, f"{OTHER}.agent-0123abcd"} == set(infos(home / "projects" / "-srv-other" / f"{OTHER}.jsonl"))


def test_an_early_subagent_of_another_session_is_left_out(home: Path) -> None:
    folder = home / "projects" / "-srv-other"
    written(folder / f"{THIRD}.jsonl", _talk(THIRD, tag="t").lines)

    assert {THIRD} == set(infos(folder / f"{THIRD}.jsonl"))


def test_a_private_copy_says_the_same_and_goes_away(home: Path) -> None:
    with reader.open(home, listen=ignore, private=True) as store:
        found = [info for info in store.sessions() if info.id == SESSION]
        records = list(store.records(SESSION))
        folder = Path(store.files(SESSION).__next__()[1])
        assert str(home) not in str(folder)
    assert not folder.exists()
    with reader.open(home, listen=ignore) as store:
        assert found == [info for info in store.sessions() if info.id == SESSION]
        assert records == list(store.records(SESSION))


@pytest.mark.parametrize(
    "line",
    [
        {"type": "session_meta", "payload": {"id": "x"}},
        {"type": "response_item", "payload": {"type": "message"}},
        {"type": "message", "role": "user", "content": []},
        {"id": "20260101_000000_abc", "messages": []},
        {"type": "user", "message": {"role": "user", "parts": [{"text": "hi"}]}, "uuid": "u", "sessionId": "s"},
        {"type": "message", "id": "1", "parentId": None, "message": {"role": "user", "content": "hi"}},
        {"type": "session", "version": 3, "id": "x", "cwd": "/"},
        {"type": "user.message", "data": {"content": "hi"}, "id": "1"},
        {"role": "user", "message": {"content": [{"type": "text", "text": "hi"}]}},
        {"summary": "x"},
        {"type": "started", "key": "k", "agentId": "a"},
    ],
)
def test_other_agents_lines_are_not_claimed(tmp_path: Path, line: Line) -> None:
    folder = tmp_path / "sessions"
    file = written(folder / f"{SESSION}.jsonl", [line, line])

    assert reader.sniff(file) is None
    assert reader.sniff(folder) is None
    with pytest.raises(NotAStore):
        reader.open(folder, listen=ignore)


def test_not_many_folders_are_looked_into_to_know_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from satchel.formats.claude_code import files

    for i in range(9):
        (tmp_path / f"a{i}").mkdir()
    written(tmp_path / "z" / f"{SESSION}.jsonl", _talk().lines)
    assert reader.sniff(tmp_path) is not None

    monkeypatch.setattr(files, "_FOLDERS", 5)
    assert reader.sniff(tmp_path) is None


def test_a_line_without_an_end_is_not_read_to_know_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satchel.formats.log_store._LONGEST", 1_000)
    file = tmp_path / "long.jsonl"
    file.write_bytes(b'{"a": "' + b"x" * 200_000 + b'"}\n' + json.dumps(_talk().lines[0]).encode())

    assert reader.sniff(file) is None


def test_lines_are_known_by_what_they_hold(tmp_path: Path) -> None:
    some: dict[str, list[Any]] = {
        "damaged": [b'{"torn\n', b"\0\0\0\n", *_talk().lines],
        "side": [{"type": "summary", "summary": "Harbour", "leafUuid": uid(1)}],
        "snapshot": [{"type": "file-history-snapshot", "messageId": "m", "snapshot": {"trackedFileBackups": {}}}],
        "bare": [{"type": "user", "message": {"content": "hi"}}],
        "spaced": [json.dumps(line).encode() + b"\n" for line in _talk().lines],
    }
    for name, lines in some.items():
        assert reader.sniff(written(tmp_path / f"{name}.txt", lines)) is not None, name


def test_a_file_of_another_name_is_its_first_session(tmp_path: Path) -> None:
    written(tmp_path / "p" / "chat.jsonl", _talk().lines)
    written(tmp_path / "p" / "more.jsonl", _talk(tag="m").lines)

    found = infos(tmp_path)

    assert {SESSION, "more"} == set(found)
    assert SESSION == found["more"].extra["twin_of"]


def test_a_session_that_stands_in_two_folders_is_read_twice_and_told(tmp_path: Path) -> None:
    log = _talk()
    written(tmp_path / "projects" / "a" / f"{SESSION}.jsonl", log.lines)
    log.user("More.")
    written(tmp_path / "projects" / "b" / f"{SESSION}.jsonl", log.lines)

    store, heard = opened(tmp_path)
    with store:
        found = {info.id: info for info in store.sessions()}

    assert {SESSION, f"{SESSION}~2"} == set(found)
    assert 1 == len(heard)
    assert 1 == sum(info.usage.output for info in found.values())
    assert [None, None] == [info.parent for info in found.values()]


def test_empty_files_are_no_sessions(tmp_path: Path) -> None:
    written(tmp_path / "p" / f"{SESSION}.jsonl", _talk().lines)
    written(tmp_path / "p" / f"{OTHER}.jsonl", [])

    with opened(tmp_path)[0] as store:
        assert [SESSION] == [info.id for info in store.sessions()]
        assert 1 == store.facts()["empty_files"]
    with pytest.raises(NotAStore):
        reader.open(tmp_path / "p" / f"{OTHER}.jsonl", listen=ignore)


def test_a_session_without_a_word_says_so(tmp_path: Path) -> None:
    log = Log()
    log.side("custom-title", customTitle="Nothing")
    written(tmp_path / f"{SESSION}.jsonl", log.lines)

    info = infos(tmp_path)[SESSION]

    assert ("Nothing", 0, False) == (info.title, info.messages, info.extra["talks"])


def test_a_file_that_was_written_just_now_goes_on(tmp_path: Path) -> None:
    file = written(tmp_path / f"{SESSION}.jsonl", _talk().lines)
    assert (True, None) == (infos(file)[SESSION].live, infos(file)[SESSION].ended_at)

    os.utime(file, (time.time() - 3_600, time.time() - 3_600))
    assert not infos(file)[SESSION].live


# ---------------------------------------------------------------------------------------------------------- titles


def test_titles_go_by_their_precedence(tmp_path: Path) -> None:
    log = Log()
    log.lines.append({"type": "summary", "summary": "Of another", "leafUuid": uid("elsewhere")})
    log.user("<command-name>/init</command-name>")
    given: list[tuple[str | None, str | None]] = []

    def look() -> None:
        info = infos(written(tmp_path / f"{SESSION}.jsonl", log.lines), counts=False)[SESSION]
        given.append((info.title, info.extra.get("title_from")))

    summary = log.lines.pop(0)
    look()
    log.user("First   real\nprompt. " + "x" * 300)
    look()
    log.lines.append(summary)
    look()
    log.side("last-prompt", lastPrompt="The last prompt")
    look()
    log.side("ai-title", aiTitle="Made up")
    look()
    log.side("custom-title", customTitle="Given")
    log.side("ai-title", aiTitle="Made up later")
    look()

    assert [
        ("/init", "command"),
        (("First real prompt. " + "x" * 300)[:200], "prompt"),
        ("Of another", "summary"),
        ("The last prompt", "last-prompt"),
        ("Made up", "ai-title"),
        ("Given", "custom-title"),
    ] == given


def test_a_summary_belongs_to_the_file_that_has_its_line(tmp_path: Path) -> None:
    one, two = _talk(), _talk(OTHER, tag="o")
    one.lines.insert(0, {"type": "summary", "summary": "Of the other", "leafUuid": two.lines[-1]["uuid"]})
    written(tmp_path / "p" / f"{SESSION}.jsonl", one.lines)
    written(tmp_path / "p" / f"{OTHER}.jsonl", two.lines)

    found = infos(tmp_path, counts=False)

    assert ["Where is the harbour?", "Of the other"] == [found[SESSION].title, found[OTHER].title]


def test_the_last_of_the_records_beside_the_graph_counts(tmp_path: Path) -> None:
    log = _talk()
    log.side("tag", tag="draft")
    log.side("mode", mode="plan")
    log.side("agent-name", agentName="Ada")
    log.side("relocated", relocatedCwd="/srv/moved")
    log.side("tag", tag="")
    log.side("mode", mode="normal")
    info = infos(written(tmp_path / f"{SESSION}.jsonl", log.lines))[SESSION]

    assert ("/srv/moved", "normal", "Ada") == (info.cwd, info.extra["mode"], info.extra["agent_name"])
    assert "tag" not in info.extra


# ---------------------------------------------------------------------------------------------------------- copies


def _copied(lines: list[Line], session: str, **more: Any) -> list[Line]:
    return [{**line, "sessionId": session, **more} for line in lines]


def _outputs(path: Path) -> dict[str, int]:
    return {key: info.usage.output for key, info in infos(path).items()}


def test_a_history_that_was_copied_on_resuming_is_counted_once(tmp_path: Path) -> None:
    one = _talk()
    two = Log(OTHER, tag="two")
    two.parent = one.parent
    two.count = 10
    two.user("And then?")
    two.answer("South.", id="msg_two")
    written(tmp_path / "p" / f"{SESSION}.jsonl", one.lines)
    written(tmp_path / "p" / f"{OTHER}.jsonl", [*_copied(one.lines, OTHER), *two.lines])

    found = infos(tmp_path)

    assert {SESSION: 1, OTHER: 1} == _outputs(tmp_path)
    assert (SESSION, "continuation") == (found[OTHER].parent, found[OTHER].lineage)
    assert [True, True, None, None] == [message.extra.get("copied") for message in messages(tmp_path, OTHER)]
    assert [None, None] == [message.extra.get("copied") for message in messages(tmp_path, SESSION)]
    with opened(tmp_path)[0] as store:
        assert 4 == len(list(store.records(OTHER)))


def test_copies_are_known_without_their_ids(tmp_path: Path) -> None:
    """Early versions gave copied lines new ids; the answers' names and the times stayed."""
    one = _talk()
    copies = [{**line, "sessionId": OTHER, "uuid": uid(f"new{i}")} for i, line in enumerate(one.lines)]
    written(tmp_path / "p" / f"{SESSION}.jsonl", one.lines)
    two = Log(OTHER, tag="two")
    two.count = 10
    two.user("And then?")
    written(tmp_path / "p" / f"{OTHER}.jsonl", [*copies, *two.lines])

    assert {SESSION: 1, OTHER: 0} == _outputs(tmp_path)
    assert [True, True, None] == [message.extra.get("copied") for message in messages(tmp_path, OTHER)]


def test_a_fork_is_a_branch_of_what_it_was_forked_from(tmp_path: Path) -> None:
    one = _talk()
    forked = [
        {**line, "sessionId": OTHER, "uuid": uid(f"f{i}"), "forkedFrom": {"sessionId": SESSION, "messageUuid": line["uuid"]}}
        for i, line in enumerate(one.lines)
    ]
    written(tmp_path / "p" / f"{SESSION}.jsonl", one.lines)
    written(tmp_path / "p" / f"{OTHER}.jsonl", forked)

    found = infos(tmp_path)

    assert (SESSION, "branch") == (found[OTHER].parent, found[OTHER].lineage)
    assert {SESSION: 1, OTHER: 0} == _outputs(tmp_path)
    assert [SESSION, SESSION] == [message.extra["copied"] for message in messages(tmp_path, OTHER)]


def test_a_fork_whose_original_is_gone_counts_for_itself(tmp_path: Path) -> None:
    fork = _copied(_talk().lines, OTHER, forkedFrom={"sessionId": SESSION, "messageUuid": uid(1)})
    written(tmp_path / "p" / f"{OTHER}.jsonl", fork)

    assert {OTHER: 1} == _outputs(tmp_path)


def test_a_file_that_begins_with_another_session_continues_it(tmp_path: Path) -> None:
    log = _talk()
    log.session = OTHER
    log.user("On.")
    written(tmp_path / "p" / f"{OTHER}.jsonl", log.lines)

    info = infos(tmp_path)[OTHER]

    assert (SESSION, "continuation") == (info.parent, info.lineage)


def test_invented_ids_that_files_share_relate_nothing(tmp_path: Path) -> None:
    for session in (SESSION, OTHER):
        log = _talk(session, tag=session)
        for line, name in zip(log.lines, ("u1", "a1"), strict=True):
            line["uuid"] = name
        log.lines[1]["message"]["id"] = "msg_1"
        written(tmp_path / "p" / f"{session}.jsonl", log.lines)

    assert [None, None] == [info.parent for info in infos(tmp_path).values()]
    assert {SESSION: 1, OTHER: 1} == _outputs(tmp_path)


def test_three_copies_of_a_history_are_counted_once(tmp_path: Path) -> None:
    lines = _talk().lines
    for i, session in enumerate((SESSION, OTHER, THIRD)):
        own = Log(session, tag=session)
        own.count = 20 * (i + 1)
        own.answer("Own.", id=f"msg_own{i}")
        written(tmp_path / "p" / f"{session}.jsonl", [*_copied(lines, session), *own.lines])

    found = infos(tmp_path)

    assert {SESSION: 2, OTHER: 1, THIRD: 1} == _outputs(tmp_path)
    assert [None, SESSION, OTHER] == [found[key].parent for key in (SESSION, OTHER, THIRD)]


# ---------------------------------------------------------------------------------------------------------- odd places


def test_a_store_that_changed_is_told(home: Path) -> None:
    file = home / "projects" / "-srv-harbour" / f"{SESSION}.jsonl"
    with opened(home)[0] as store:
        list(store.records(SESSION))
        with file.open("ab") as more:
            more.write(b'{"type":"mode"}\n')
        store.check()
        assert 2 == sum(record.kind == "line" for record in store.records(SESSION))
        file.write_bytes(b"")
        with pytest.raises(StoreChanged):
            store.check()


def test_an_unknown_session_is_not_found(home: Path) -> None:
    with opened(home)[0] as store, pytest.raises(NotFound):
        store.records("none")


def test_a_compressed_transcript_is_read(tmp_path: Path) -> None:
    import zstandard

    data = b"".join(json.dumps(line).encode() + b"\n" for line in _talk().lines)
    file = tmp_path / "p" / f"{SESSION}.jsonl.zst"
    file.parent.mkdir()
    file.write_bytes(zstandard.ZstdCompressor().compress(data))

    assert [SESSION] == list(infos(tmp_path))
    with opened(tmp_path)[0] as store:
        assert data == raw(store.records(SESSION))


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs permissions that hold")
def test_a_transcript_that_may_not_be_read_is_told(home: Path) -> None:
    (home / "projects" / "-srv-other" / f"{OTHER}.jsonl").chmod(0)

    store, heard = opened(home)
    with store:
        assert OTHER not in [info.id for info in store.sessions()]
    assert any("cannot be read" in problem.message for problem in heard)


def test_names_that_are_no_files_do_no_harm(home: Path) -> None:
    folder = home / "projects" / "-srv-other"
    (folder / f"{THIRD}.jsonl").mkdir()
    (folder / "loop").symlink_to(folder)
    (folder / "gone.jsonl").symlink_to(folder / "nowhere")
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.jsonl")
    (home / "projects" / "-srv-harbour" / SESSION / "subagents" / "agent-a1b2c3d.meta.json").write_text("not JSON")

    found = infos(home)

    assert {SESSION, OTHER} <= set(found)
    assert "agent_type" not in found[f"{SESSION}.agent-a1b2c3d"].extra


def test_drift_is_counted_by_version(tmp_path: Path) -> None:
    log = _talk()
    log.user([{"type": "hologram"}], glow=1)
    log.side("starlight")
    log.add("attachment", attachment={"type": "new_kind"}, version="9.0.0")
    written(tmp_path / f"{SESSION}.jsonl", log.lines)

    with opened(tmp_path)[0] as store:
        assert {
            "2.1.40": {"block:hologram": 1, "key:user.glow": 1, "type:starlight": 1},
            "9.0.0": {"type:attachment/new_kind": 1},
        } == store.drift()


def test_the_homes_are_where_they_are_by_default(tmp_path: Path) -> None:
    for name in (".claude", ".config/claude", "one", "two", "a,b"):
        (tmp_path / name).mkdir(parents=True)
    here = {"HOME": str(tmp_path)}

    assert [tmp_path / ".claude", tmp_path / ".config/claude"] == homes(here)
    assert [tmp_path / "one", tmp_path / "two"] == homes(
        {**here, "CLAUDE_CONFIG_DIR": f"{tmp_path}/one, {tmp_path}/two,{tmp_path}/no"}
    )
    assert [tmp_path / "a,b"] == homes({**here, "CLAUDE_CONFIG_DIR": f"{tmp_path}/a,b"})
    assert [] == homes({"HOME": str(tmp_path / "nobody")})


def test_notes_and_messages_come_from_a_subagents_outputs(home: Path) -> None:
    agents = home / "projects" / "-srv-harbour" / SESSION / "subagents"
    lines = _agent(_talk(), "c1")
    path = f"/x/{SESSION}/tool-results/toolu_1.txt"
    child = Log(SESSION, tag="c2", agentId="c1", isSidechain=True)
    child.result("toolu_1", f"<persisted-output>\nOutput too large. Full output saved to: {path}\n\nPreview</persisted-output>")
    written(agents / "agent-c1.jsonl", [*lines, *child.lines])

    with opened(home)[0] as store:
        found = list(store.decode(store.records(f"{SESSION}.agent-c1")))

    assert ["tool-result"] == notes(found)
    assert isinstance(found[-1], Message)
    assert "all of it" in repr(found[-1].blocks)
