"""A home of Codex is read whole: every session once, whatever its age, parts as one, copies as copies, machines as machines."""

from __future__ import annotations

import builtins
import io
import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import zstandard
from codex_lines import OTHER, SESSION, THIRD, Line, Log, day, infos, messages, name, opened, raw, written

from satchel.contracts import Usage
from satchel.errors import NotAStore, StoreChanged
from satchel.events import ignore
from satchel.formats import registry
from satchel.formats.codex import reader
from satchel.formats.codex.homes import homes, places
from satchel.formats.model import Message, plain_text

FOURTH = "0197a000-0000-7000-8000-000000000004"


def _talk(session: str = SESSION, *, at: float = 0, text: str = "Where is the harbour?", **meta: Any) -> Log:
    log = Log(session, at=at, **meta)
    log.turn(text, "North.", id=f"turn-{session[-1]}-1")
    return log


def _old(home: Path) -> Path:
    for file in home.rglob("*"):
        os.utime(file, (1_700_000_000, 1_700_000_000))
    return home


def _spoken(path: Path, session: str) -> list[str]:
    return [plain_text(m.blocks) for m in messages(path, session)]


# ------------------------------------------------------------------------------------------------------------ what is found


def test_every_place_of_a_home_is_looked_into(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    written(day(home) / name(), _talk().lines)
    written(home / "sessions" / name(OTHER, time="2025-05-07"), _talk(OTHER, at=10).lines)
    written(home / "archived_sessions" / name(THIRD), _talk(THIRD, at=20).lines)
    written(day(home) / name(FOURTH), [])
    (home / "auth.json").write_text('{"session": {}, "items": []}')
    (home / "config.toml").write_text("")
    _old(home)

    store, heard = opened(home)
    with store:
        found = list(store.sessions())
        facts = store.facts()

    assert [(SESSION, False), (OTHER, False), (THIRD, True)] == [(info.id, info.archived) for info in found]
    assert {("codex", "codex", "codex-cli")} == {(info.format, info.agent, info.source) for info in found}
    assert (3, 1, 1) == (facts["sessions"], facts["archived"], facts["empty_files"])
    assert [] == heard
    first = found[0]
    assert ("Where is the harbour?", "prompt", "/srv/harbour") == (first.title, first.extra["title_from"], first.cwd)
    assert (1767607200.0, 1767607206.0, 1767607206.0, False) == (first.started_at, first.ended_at, first.last_active, first.live)
    assert ("invented-1", 2) == (first.model, first.messages)


def test_a_folder_elsewhere_is_read_through_its_link_and_never_in_a_circle(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "codex", tmp_path / "old"
    written(elsewhere / "05" / name(), _talk().lines)
    (home / "sessions" / "2026").mkdir(parents=True)
    (home / "sessions" / "2026" / "01").symlink_to(elsewhere)
    (elsewhere / "again").symlink_to(home / "sessions")

    store, heard = opened(home)
    with store:
        assert [SESSION] == [info.id for info in store.sessions()]
        assert [f"sessions/2026/01/05/{name()}"] == [where for where, _ in store.files(SESSION)]
    assert [] == heard


def test_the_keys_are_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "codex"
    written(day(home) / name(), _talk().lines)
    for folder in (home, day(home)):
        (folder / "auth.json").write_text('{"session":{"id":"x"},"items":[]}')
    seen: list[str] = []
    as_it_was: dict[str, Any] = {"os": os.open, "open": builtins.open, "io": io.open}

    def watch(which: str) -> Any:
        def look(path: Any, *args: Any, **more: Any) -> Any:
            seen.append(str(path))
            return as_it_was[which](path, *args, **more)

        return look

    monkeypatch.setattr(os, "open", watch("os"))
    monkeypatch.setattr(builtins, "open", watch("open"))
    monkeypatch.setattr(io, "open", watch("io"))
    for private in (False, True):
        assert reader.sniff(home) is not None
        with reader.open(home, listen=ignore, private=private) as store:
            for info in store.sessions():
                list(store.decode(store.records(info.id)))
                list(store.files(info.id))

    assert seen
    assert not [path for path in seen if path.endswith("auth.json")]


def test_a_compressed_rollout_is_read_and_a_plain_one_goes_before_it(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    packed = zstandard.ZstdCompressor()
    file = day(home) / f"{name()}.zst"
    file.parent.mkdir(parents=True)
    file.write_bytes(packed.compress(raw(_talk().lines)))

    assert [["Where is the harbour?", "North."]] == [_spoken(home, key) for key in infos(home)]
    assert reader.sniff(file) is not None
    assert ["Where is the harbour?", "North."] == _spoken(file, SESSION)

    written(day(home) / name(), _talk(text="Where now?").lines)

    assert [["Where now?", "North."]] == [_spoken(home, key) for key in infos(home)]
    with opened(home)[0] as store:
        files = list(store.files(SESSION))
    plain = day(home) / name()
    assert [plain, file] == [path for _, path in files]
    assert f"sessions/2026/01/05/{name()}" == files[0][0]


def test_a_compressed_rollout_that_was_cut_is_a_loss(tmp_path: Path) -> None:
    log = _talk()
    log.item("message", role="assistant", content=os.urandom(60_000).hex())
    file = tmp_path / f"{name()}.zst"
    file.write_bytes(zstandard.ZstdCompressor().compress(raw(log.lines))[:-400])

    store, heard = opened(file)
    with store:
        records = list(store.records(SESSION))

    assert records or heard
    assert "loss" in {problem.severity for problem in heard}


def test_names_come_from_the_index_and_the_databases(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    for at, session in enumerate((SESSION, OTHER, THIRD, FOURTH)):
        log = _talk(session, at=10.0 * at)
        if session == FOURTH:
            log.event("thread_name_updated", thread_id=FOURTH, thread_name="Of the rollout")
        written(day(home) / name(session), log.lines)
    index = [{"id": SESSION, "thread_name": text, "updated_at": "x"} for text in ("Old", "New")]
    cleared = [{"id": OTHER, "thread_name": text, "updated_at": "x"} for text in ("Named", " ")]
    written(home / "session_index.jsonl", [*index, *cleared, b"torn\n"])
    for number, title in ((4, "Older"), (5, "Of the database")):
        with closing(sqlite3.connect(home / f"state_{number}.sqlite")) as base:
            base.execute("CREATE TABLE threads (id TEXT PRIMARY KEY, title TEXT, rollout_path TEXT)")
            base.execute("INSERT INTO threads VALUES (?, ?, '')", (THIRD, title))
            base.execute("CREATE TABLE thread_spawn_edges (parent_thread_id TEXT, child_thread_id TEXT, status TEXT)")
            base.execute("INSERT INTO thread_spawn_edges VALUES (?, ?, 'open')", (SESSION, THIRD))
            base.commit()
    before = sorted(path.name for path in home.iterdir())

    found = infos(home)

    assert ["New", "Where is the harbour?", "Of the database", "Of the rollout"] == [
        found[session].title for session in (SESSION, OTHER, THIRD, FOURTH)
    ]
    assert (SESSION, "delegate") == (found[THIRD].parent, found[THIRD].lineage)
    assert before == sorted(path.name for path in home.iterdir())


def test_a_database_in_use_is_read_and_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    written(day(home) / name(), _talk().lines)
    with closing(sqlite3.connect(home / "state_5.sqlite")) as base:
        base.execute("PRAGMA journal_mode=WAL")
        base.execute("CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT)")
        base.execute("INSERT INTO threads VALUES (?, 'Named')", (SESSION,))
        base.commit()
        before = {path.name: path.read_bytes() for path in home.glob("state*") if not path.name.endswith("-shm")}

        assert "Named" == infos(home)[SESSION].title
        assert before == {path.name: path.read_bytes() for path in home.glob("state*") if not path.name.endswith("-shm")}


def test_a_damaged_database_costs_its_titles_only(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    written(day(home) / name(), _talk().lines)
    with closing(sqlite3.connect(home / "state_5.sqlite")) as base:
        base.execute("CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT)")
        base.commit()
    whole = (home / "state_5.sqlite").read_bytes()
    (home / "state_5.sqlite").write_bytes(whole[:100] + b"\xff" * 300 + whole[400:])
    (home / "state_4.sqlite").write_bytes(b"")

    store, heard = opened(home)
    with store:
        assert ["Where is the harbour?"] == [info.title for info in store.sessions()]
    assert ["warning", "warning"] == [problem.severity for problem in heard]


def test_prompts_are_a_session_where_there_is_no_rollout(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    written(day(home) / name(), _talk().lines)
    prompts: list[Line | bytes] = [
        {"session_id": SESSION, "ts": 1767607200, "text": "Where is the harbour?"},
        {"session_id": OTHER, "ts": 1757607200, "text": "Left alone."},
        {"conversation_id": OTHER, "ts": 1757607300, "text": "Really."},
        b'{"session_id": "to\n',
    ]
    written(home / "history.jsonl", prompts)

    found = infos(home)

    assert {SESSION, OTHER} == set(found)
    lost = found[OTHER]
    assert ("prompts", "Left alone.", 2, 1757607200.0, 1757607300.0) == (
        lost.extra["partial"],
        lost.title,
        lost.messages,
        lost.started_at,
        lost.ended_at,
    )
    assert [("person", "Left alone."), ("person", "Really.")] == [(m.author, plain_text(m.blocks)) for m in messages(home, OTHER)]
    assert {OTHER, SESSION} == set(infos(home / "history.jsonl"))


# ------------------------------------------------------------------------------------------------------------ parts of a thread


def _part(rollout: str, after: Log, *, ordinal: int, at: float, base: str = SESSION, offset: bool = True) -> Log:
    bound = len(raw(after.lines[:ordinal])) if offset else None
    held = {"thread_id": base, "end_ordinal_exclusive": ordinal, "end_byte_offset": bound}
    return Log(SESSION, at=at, ordinals=True, history_mode="paginated", history_base=held)


@pytest.mark.parametrize("offset", [False, True])
def test_the_parts_of_a_thread_are_one_session(tmp_path: Path, offset: bool) -> None:
    home = tmp_path / "codex"
    first = Log(SESSION, ordinals=True, history_mode="paginated")
    first.turn("One.", "First.")
    kept = len(first.lines)
    first.turn("Two.", "Second.")
    second = _part("b", first, ordinal=kept, at=100, offset=offset)
    second.turn("Three.", "Third.")
    written(day(home) / name(), first.lines)
    written(day(home) / name(time="2026-01-05T12-00-00", part=OTHER), second.lines)

    found = infos(home)

    assert [SESSION] == list(found)
    assert (4, 2, 2) == (found[SESSION].messages, found[SESSION].rewound, found[SESSION].extra["parts"])
    states = [(plain_text(m.blocks), m.state) for m in messages(home, SESSION)]
    assert ["One.", "First.", "Three.", "Third."] == [text for text, state in states if state == "live"]
    assert 6 == len(states)
    with opened(home)[0] as store:
        assert raw([*first.lines, *second.lines]) == b"".join(record.raw or b"" for record in store.records(SESSION))
        assert 2 == len(list(store.files(SESSION)))


def test_a_part_that_was_left_is_dead(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    first = Log(SESSION, ordinals=True)
    first.turn("One.", "First.")
    left = _part("b", first, ordinal=len(first.lines), at=100)
    left.turn("Wrong.", "Badly.")
    last = _part("c", first, ordinal=len(first.lines), at=200)
    last.turn("Two.", "Second.")
    written(day(home) / name(), first.lines)
    written(day(home) / name(time="2026-01-05T12-00-00", part=OTHER), left.lines)
    written(day(home) / name(time="2026-01-05T13-00-00", part=THIRD), last.lines)

    states = [(plain_text(m.blocks), m.state) for m in messages(home, SESSION)]

    assert ["Wrong.", "Badly."] == [text for text, state in states if state == "rewound"]


def test_turns_that_were_left_are_not_taken_back_again(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    first = Log(SESSION, ordinals=True)
    first.turn("One.", "First.")
    first.turn("Two.", "Second.")
    kept = len(first.lines)
    first.event("thread_rolled_back", num_turns=1)
    first.turn("Left.", "Behind.")
    second = _part("b", first, ordinal=kept, at=100)
    second.turn("Three.", "Third.")
    second.event("thread_rolled_back", num_turns=2)
    written(day(home) / name(), first.lines)
    written(day(home) / name(time="2026-01-05T12-00-00", part=OTHER), second.lines)

    states = [(plain_text(m.blocks), m.state) for m in messages(home, SESSION)]

    assert ["One.", "First."] == [text for text, state in states if state == "live"]


def test_a_part_whose_beginning_is_gone_is_read(tmp_path: Path) -> None:
    first = Log(SESSION, ordinals=True)
    last = _part("b", first, ordinal=1, at=100)
    last.turn("Two.", "Second.")
    file = written(tmp_path / name(part=OTHER), last.lines)

    assert ["Two.", "Second."] == _spoken(file, SESSION)


# ------------------------------------------------------------------------------------------------------------ copies of files


def test_of_a_plain_file_and_a_packed_one_elsewhere_the_longer_one_is_read_or_else_the_plain_one(tmp_path: Path) -> None:
    """What a packed file holds was guessed, so that an old archived copy went before a session that goes on."""
    home = tmp_path / "codex"
    log = _talk(text="Where is it? " * 500)
    plain = written(day(home) / name(), log.lines)
    packed = home / "archived_sessions" / f"{name()}.zst"
    packed.parent.mkdir()
    packed.write_bytes(zstandard.compress(plain.read_bytes()))

    assert [(SESSION, False)] == [(info.id, info.archived) for info in infos(home).values()]

    log.turn("And now?", "South.")
    packed.write_bytes(zstandard.compress(raw(log.lines)))

    assert [(SESSION, True)] == [(info.id, info.archived) for info in infos(home).values()]


def test_a_session_that_went_on_in_a_copy_is_read_there(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    log = _talk()
    written(day(home) / name(), log.lines)
    log.turn("And now?", "South.")
    written(day(home) / f"{name()[:-6]} (1).jsonl", log.lines)

    assert [SESSION] == list(infos(home))
    assert ["Where is the harbour?", "North.", "And now?", "South."] == _spoken(home, SESSION)


def test_a_copy_of_a_later_part_is_no_other_part(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    first = _talk()
    written(day(home) / name(), first.lines)
    base = {"thread_id": SESSION, "end_ordinal_exclusive": 99, "end_byte_offset": len(raw(first.lines))}
    part = _talk(at=100, history_base=base, text="And now?").lines
    later = name(part=THIRD, time="2026-01-05T12-00-00")
    written(day(home) / later, part)
    written(home / "archived_sessions" / later, part)
    written(day(home) / f"{later[:-6]} (1).jsonl", part)

    store, heard = opened(home)
    with store:
        found = [plain_text(m.blocks) for m in store.decode(store.records(SESSION)) if isinstance(m, Message)]
        assert [SESSION] == [info.id for info in store.sessions()]
        assert 4 == len(list(store.files(SESSION)))

    assert ["Where is the harbour?", "North.", "And now?", "North."] == found
    assert ["warning"] * 2 == [problem.severity for problem in heard]


def test_a_copy_of_a_file_is_no_other_session(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    log = _talk()
    written(day(home) / name(), log.lines)
    written(day(home) / name().replace(".jsonl", " (1).jsonl"), log.lines[:-1])
    written(home / "archived_sessions" / name(), log.lines)

    store, heard = opened(home)
    with store:
        assert [(SESSION, False)] == [(info.id, info.archived) for info in store.sessions()]
        assert 3 == len(list(store.files(SESSION)))
    assert [("warning", 0)] * 2 == [(problem.severity, problem.lost) for problem in heard]


def test_a_file_that_says_something_else_is_another_session(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    written(day(home) / name(), _talk().lines)
    written(home / "archived_sessions" / name(), _talk(text="Other words.").lines)

    found = infos(home)

    assert 2 == len(found)
    assert [SESSION] == [info.extra["twin_of"] for info in found.values() if "twin_of" in info.extra]


# ------------------------------------------------------------------------------------------------------------ forks, subagents


def _parent() -> Log:
    log = _talk()
    log.tokens((100, 0, 10), (100, 0, 10))
    log.turn("Two.", "Second.", id="turn-1-2")
    log.tokens((300, 0, 30), (200, 0, 20))
    return log


def _copied(parent: Log, *, at: float, session: str = OTHER, **meta: Any) -> Log:
    fork = Log(session, at=at, **meta)
    made = fork.lines[0]["timestamp"]
    fork.lines += [{**line, "timestamp": made} for line in parent.lines]
    fork.time = at + 30
    fork.turn("Elsewhere.", "There.", id="turn-2-1")
    fork.tokens((350, 0, 35), (50, 0, 5))
    return fork


@pytest.mark.parametrize("is_there", [False, True])
def test_what_a_fork_copied_is_marked_and_not_counted(tmp_path: Path, is_there: bool) -> None:
    home = tmp_path / "codex"
    parent = _parent()
    if is_there:
        written(day(home) / name(), parent.lines)
    fork = _copied(parent, at=1000, forked_from_id=SESSION)
    written(day(home) / name(OTHER, time="2026-01-05T12-00-00"), fork.lines)

    store, heard = opened(home)
    with store:
        info = store.session(OTHER)
        found = [m for m in store.decode(store.records(OTHER)) if isinstance(m, Message)]

    assert (SESSION, "branch") == (info.parent, info.lineage)
    assert Usage(input=50, output=5) == info.usage
    assert [True] * 4 + [False] * 2 == [m.extra.get("copied", False) for m in found]
    assert ["Elsewhere.", "There."] == [plain_text(m.blocks) for m in found[4:]]
    assert (not is_there) == info.extra.get("parent_missing", False)
    assert int(not is_there) == len(heard)


def test_words_that_are_the_same_by_chance_are_no_copies(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    parent = _parent()
    written(day(home) / name(), parent.lines)
    fork = Log(OTHER, at=1000, forked_from_id=SESSION)
    made = fork.lines[0]["timestamp"]
    fork.lines += [{**line, "timestamp": made} for line in parent.lines[:7]]
    fork.time = 1030
    # As the parent went on, but later.
    for line in parent.lines[7:]:
        fork.add(line["type"], line["payload"])
    written(day(home) / name(OTHER), fork.lines)

    found = messages(home, OTHER)

    assert [True, True, False, False] == [m.extra.get("copied", False) for m in found]


def test_a_copy_that_is_not_quite_one_is_still_known(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    parent = _parent()
    written(day(home) / name(), parent.lines)
    fork = _copied(parent, at=1000, forked_from_id=SESSION)
    fork.lines[5]["payload"] = {"type": "rewritten"}
    written(day(home) / name(OTHER), fork.lines)

    assert [True] * 4 + [False] * 2 == [m.extra.get("copied", False) for m in messages(home, OTHER)]
    assert Usage(input=50, output=5) == infos(home)[OTHER].usage


def test_a_fork_that_refers_to_its_parent_has_no_copies(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    written(day(home) / name(), _talk().lines)
    base = {"thread_id": SESSION, "end_ordinal_exclusive": 7}
    fork = Log(OTHER, at=50, ordinals=True, forked_from_id=SESSION, forked_from_ordinal_exclusive=7, history_base=base)
    fork.turn("Elsewhere.", "There.")
    written(day(home) / name(OTHER), fork.lines)

    assert [None, None] == [m.extra.get("copied") for m in messages(home, OTHER)]


def test_a_fork_that_refers_to_its_parent_is_a_branch(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    written(day(home) / name(), _talk().lines)
    base = {"thread_id": SESSION, "end_ordinal_exclusive": 3, "end_byte_offset": 9}
    written(day(home) / name(OTHER), _talk(OTHER, at=50, history_base=base, text="Elsewhere.").lines)

    info = infos(home)[OTHER]

    assert (SESSION, "branch", base) == (info.parent, info.lineage, info.extra["history_base"])
    assert ["Elsewhere.", "North."] == _spoken(home, OTHER)


def test_a_fork_may_refer_to_a_later_part_of_its_parent(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    first = _talk()
    written(day(home) / name(), first.lines)
    base: Line = {"thread_id": SESSION, "end_ordinal_exclusive": 5, "end_byte_offset": len(raw(first.lines))}
    written(day(home) / name(part=THIRD, time="2026-01-05T12-00-00"), _talk(at=50, history_base=base).lines)
    base = {"thread_id": THIRD, "end_ordinal_exclusive": 9}
    written(day(home) / name(OTHER, time="2026-01-05T13-00-00"), _talk(OTHER, at=90, history_base=base).lines)

    info = infos(home)[OTHER]

    assert (SESSION, "branch", None) == (info.parent, info.lineage, info.extra.get("parent_missing"))


def test_subagents_are_delegates(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    parent = _parent()
    written(day(home) / name(), parent.lines)
    spawned = {
        "subagent": {"thread_spawn": {"parent_thread_id": SESSION, "depth": 1, "agent_nickname": "Ada", "agent_role": "look"}}
    }
    child = Log(
        OTHER,
        at=500,
        source=spawned,
        session_id=SESSION,
        forked_from_id=SESSION,
        subagent_history_start_ordinal=len(parent.lines),
    )
    child.lines += [{**line, "ordinal": number} for number, line in enumerate(parent.lines)]
    child.turn("Look.", "Seen.", id="turn-2-1")
    for number, line in enumerate(child.lines[len(parent.lines) + 1 :]):
        line["ordinal"] = len(parent.lines) + number
    written(day(home) / name(OTHER), child.lines)

    info = infos(home)[OTHER]

    assert (SESSION, "delegate", "subagent", "Ada", "look") == (
        info.parent,
        info.lineage,
        info.extra["origin"],
        info.extra["agent_name"],
        info.extra["agent_role"],
    )
    assert "machine" not in info.extra
    assert [True] * 4 + [False] * 2 == [m.extra.get("copied", False) for m in messages(home, OTHER)]
    # What the caller wrote is a model's; what was copied, a person typed.
    assert ["person", "model"] * 2 + ["model"] * 2 == [m.author for m in messages(home, OTHER)]


@pytest.mark.parametrize(
    ("source", "by"),
    [
        ("cli", "person"),
        ({"subagent": {"thread_spawn": {"parent_thread_id": SESSION, "depth": 1}}}, "model"),
        ({"subagent": {"thread_spawn": {"parent_thread_id": SESSION, "depth": 1, "agent_path": "/ada"}}}, "person"),
        ({"subagent": {"other": "guardian"}}, "harness"),
    ],
)
@pytest.mark.parametrize("has_items", [True, False])
def test_prompts_are_by_whoever_called_the_thread(tmp_path: Path, source: Any, by: str, has_items: bool) -> None:
    """What an agent was told by another one, and the program's own questions to a model, passed for typed."""
    log = Log(source=source)
    log.turn("Look.", "Seen.")
    log.lines = [line for line in log.lines if has_items or line["type"] != "response_item"]
    path = written(tmp_path / name(), log.lines)

    assert [by, "model"] == [m.author for m in messages(path)]


def test_a_subagent_that_begins_anew_has_no_copies(tmp_path: Path) -> None:
    """What every thread is told at its beginning passed for a copy of what its caller was told."""
    home = tmp_path / "codex"
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": SESSION, "depth": 1}}}
    metas: dict[str, Line] = {SESSION: {}, OTHER: {"source": spawned, "session_id": SESSION}}
    for session, meta in metas.items():
        log = Log(session, **meta)
        log.put_in("<environment_context><cwd>/srv/harbour</cwd></environment_context>")
        log.item("message", role="developer", content=[{"type": "input_text", "text": "Be brief."}])
        log.turn(f"Look, {session[-1]}.", "Seen.", id=f"turn-{session[-1]}-1")
        written(day(home) / name(session), log.lines)

    assert [None] * 4 == [m.extra.get("copied") for m in messages(home, OTHER)]


@pytest.mark.parametrize("is_there", [False, True])
def test_a_long_header_does_not_hide_what_a_subagent_copied(tmp_path: Path, is_there: bool) -> None:
    home = tmp_path / "codex"
    parent = _parent()
    if is_there:
        written(day(home) / name(), parent.lines)
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": SESSION, "depth": 1}}}
    child = _copied(parent, at=1000, source=spawned, dynamic_tools=["x" * 200_000])
    child.answer("y" * 100_000)
    written(day(home) / name(OTHER), child.lines)

    assert [True] * 4 + [False] * 3 == [m.extra.get("copied", False) for m in messages(home, OTHER)]
    assert Usage(input=50, output=5) == infos(home)[OTHER].usage


def test_a_subagent_may_be_called_so_in_one_word(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    written(day(home) / name(OTHER), _talk(OTHER, session_id=SESSION, source="subagent").lines)

    assert (SESSION, "delegate") == (infos(home)[OTHER].parent, infos(home)[OTHER].lineage)


@pytest.mark.parametrize(
    "meta",
    [
        {"source": {"subagent": "review"}},
        {"source": {"subagent": "compact"}},
        {"source": {"internal": "memory_consolidation"}},
        {"source": {"subagent": {"other": "guardian"}}},
        {"thread_source": "guardian_review"},
    ],
)
def test_threads_of_the_program_are_machines(tmp_path: Path, meta: Line) -> None:
    home = tmp_path / "codex"
    written(day(home) / name(OTHER), _talk(OTHER, session_id=SESSION, **meta).lines)

    info = infos(home)[OTHER]

    assert (SESSION, "delegate", True) == (info.parent, info.lineage, info.extra["machine"])


def test_a_later_header_names_no_session(tmp_path: Path) -> None:
    log = _talk()
    log.add("session_meta", {"id": OTHER, "timestamp": "2026-01-04T00:00:00Z", "cwd": "/srv/other"})

    assert [SESSION] == list(infos(written(tmp_path / name(), log.lines)))


def test_without_a_header_the_name_says_the_thread(tmp_path: Path) -> None:
    lines = _talk().lines[1:]

    assert [OTHER] == list(infos(written(tmp_path / name(OTHER), lines)))
    assert ["x"] == list(infos(written(tmp_path / "x.jsonl", lines)))


# ------------------------------------------------------------------------------------------------------------ the rest


def test_a_file_that_just_changed_is_live(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    file = written(day(home) / name(), _talk().lines)

    assert (True, None) == ((info := infos(home)[SESSION]).live, info.ended_at)

    os.utime(file, (time.time() - 3600, time.time() - 3600))

    assert infos(home)[SESSION].live is False


def test_a_file_that_got_shorter_is_noticed(tmp_path: Path) -> None:
    file = written(tmp_path / name(), _talk().lines)
    with opened(file)[0] as store:
        list(store.records(SESSION))
        with file.open("ab") as more:
            more.write(b"{}\n")
        store.check()
        file.write_bytes(b"")

        with pytest.raises(StoreChanged):
            store.check()


def test_what_is_appended_meanwhile_is_for_the_next_time(tmp_path: Path) -> None:
    file = written(tmp_path / name(), _talk().lines)
    with opened(file)[0] as store:
        before = list(store.records(SESSION))
        with file.open("ab") as more:
            more.write(b'{"type":"event_msg","payload":{}}\n')

        assert before == list(store.records(SESSION))


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":"a","messages":[{"role":"user","content":"x"}],"timestamp":"2026-01-01"}\n',
        b'{"type":"user","sessionId":"a","uuid":"b","message":{"role":"user","content":"x"},"timestamp":"2026-01-01T00:00:00Z"}\n',
        b'{"role":"user","content":"x","timestamp":"2026-01-01T00:00:00Z"}\n',
        b'{"type":"message","role":"user","content":"x"}\n',
        b'{"display":"x","timestamp":1,"project":"y"}\n',
        b'{"type":"session_meta"}\n',
        b"[]\n",
    ],
)
def test_lines_of_others_are_not_claimed(tmp_path: Path, line: bytes) -> None:
    file = tmp_path / name()
    file.write_bytes(line * 3)

    assert reader.sniff(file) is None


def test_a_folder_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    written(home / "sessions" / "2026" / "01" / "05" / name(), [])

    assert reader.sniff(home) is None
    with pytest.raises(NotAStore):
        reader.open(home, listen=ignore)

    written(home / "sessions" / "2026" / "01" / "06" / name(OTHER), _talk(OTHER).lines)

    for folder in (home, home / "sessions", home / "sessions" / "2026" / "01" / "06"):
        assert reader.sniff(folder) is not None
        assert [OTHER] == list(infos(folder))
        assert "codex" == registry.detect(folder).name


def test_a_rollout_by_another_name_is_taken_by_its_content(tmp_path: Path) -> None:
    written(tmp_path / "kept" / "a.jsonl", _talk().lines)
    written(tmp_path / "kept" / "b.jsonl", [{"role": "user"}])

    assert [SESSION] == list(infos(tmp_path / "kept"))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no pipes of this kind here")
    home = tmp_path / "codex"
    written(day(home) / name(), _talk().lines)
    os.mkfifo(day(home) / name(OTHER))
    os.mkfifo(home / "history.jsonl")

    assert [SESSION] == list(infos(home))


def test_homes_are_where_the_environment_says(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    assert [home] == places({"CODEX_HOME": str(home), "HOME": "elsewhere"})
    assert [tmp_path / ".codex"] == places({"HOME": str(tmp_path)})
    assert [] == homes({"CODEX_HOME": str(home)})

    home.mkdir()

    assert [] == homes({"CODEX_HOME": str(home)})

    written(day(home) / name(), _talk().lines)

    assert [home] == homes({"CODEX_HOME": str(home)})


def test_a_private_copy_outlives_what_it_is_of(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    written(day(home) / name(), _talk().lines)
    with reader.open(home, listen=ignore, private=True) as store:
        shutil.rmtree(home)

        assert 5 < len(list(store.records(SESSION)))
        store.check()


def test_drift_is_counted_by_version(tmp_path: Path) -> None:
    log = _talk()
    log.add("novel", {"x": 1})
    log.event("novel_event")
    log.item("message", role="user", content=[{"type": "novel_part"}], novelty=1)

    with opened(written(tmp_path / name(), log.lines))[0] as store:
        drift = store.drift()

    assert {
        "0.104.0": {"type:novel": 1, "type:event_msg/novel_event": 1, "key:message.novelty": 1, "block:novel_part": 1}
    } == drift
