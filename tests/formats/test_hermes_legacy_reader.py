"""Session files of Hermes: which are sessions, what belongs together, and what a database already has."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.contracts import Record
from satchel.errors import NotAStore, NotFound, StoreChanged
from satchel.events import Event, Problem, ignore
from satchel.formats import registry
from satchel.formats.hermes_legacy import reader
from satchel.formats.hermes_legacy.homes import homes
from satchel.formats.hermes_legacy.reader import LegacyStore
from satchel.formats.hermes_state import reader as hermes
from satchel.formats.jsonl import reader as jsonl
from satchel.formats.model import Message, Note, Text, Thinking, ToolResult, plain_text
from satchel.testing import ReaderContract

HOME = Path(__file__).resolve().parents[2] / "fixtures" / "hermes_legacy" / "home"
FERRY, KNOT, SLIP = "20251203_081500_1a2b3c4d", "20251204_193000_5e6f70", "20260914_120000_9a8b7c"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A copy of the sample home."""
    return Path(shutil.copytree(HOME, tmp_path / "home"))


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """An empty folder of session files."""
    folder = tmp_path / "hermes" / "sessions"
    folder.mkdir(parents=True)
    return folder


def _lines(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _say(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "timestamp": "2025-12-01T10:00:00"} | more


def _snapshot(session_id: str, *messages: dict[str, Any], **more: Any) -> bytes:
    made = {"session_id": session_id, "session_start": "2025-12-01T10:00:00", "message_count": len(messages)} | more
    return json.dumps(made | {"messages": messages}, indent=2).encode()


def _bare(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content} | more


def _read(path: Path) -> tuple[dict[str, list[Message | Note]], list[Problem]]:
    heard: list[Event] = []
    with reader.open(path, listen=heard.append) as store:
        found = {i.id: list(store.decode(store.records(i.id))) for i in store.sessions(counts=False)}
    return found, [event for event in heard if isinstance(event, Problem)]


def _texts(entries: Iterable[Message | Note]) -> list[str]:
    found: list[str] = []
    for entry in entries:
        if isinstance(entry, Message):
            results = [block for block in entry.blocks if isinstance(block, ToolResult)]
            found.append("".join(plain_text(r.content) for r in results) if results else plain_text(entry.blocks))
    return found


class TestHome(ReaderContract):
    reader = reader

    @pytest.fixture
    def path(self, home: Path) -> Path:
        return home


class TestTranscript(ReaderContract):
    reader = reader

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return Path(shutil.copy(HOME / "sessions" / f"{FERRY}.jsonl", tmp_path))


class TestSnapshot(ReaderContract):
    reader = reader

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return Path(shutil.copy(HOME / "sessions" / f"session_{KNOT}.json", tmp_path))


# ------------------------------------------------------------------------------------------------ which sessions


def test_files_of_one_session_are_one_session_and_the_routing_is_no_list_of_sessions(home: Path) -> None:
    with reader.open(home, listen=ignore) as store:
        infos = {info.id: info for info in store.sessions()}
        assert [FERRY, KNOT, SLIP] == list(infos)
        assert [5, 4, 6] == [info.messages for info in infos.values()]
        assert ["telegram", "cli", "discord"] == [info.source for info in infos.values()]
        slip = infos[SLIP]
        assert (310, 24, 7, 1) == (slip.usage.input, slip.usage.output, slip.usage.cache_read, slip.usage.cache_write)
        assert (0.0125, "4711", "u-ada", "dm", "agent:main:discord:dm:4711") == (
            slip.cost,
            slip.chat_id,
            slip.user,
            slip.chat_type,
            slip.session_key,
        )
        kinds = [record.kind for record in store.records(KNOT)]
        assert ["document", "request_dump", "saved", "line", "line", "line", "line"] == kinds
        assert {"transcript": 2, "snapshot": 2, "saved": 1, "request_dump": 1, "pending": 1} == store.facts()["files"]


def test_rows_that_a_database_did_not_take_follow_the_snapshot(home: Path) -> None:
    found, problems = _read(home)
    assert [] == problems
    assert [
        "Is the slipway dry?",
        "Until noon.",
        "And after that?",
        "Wet until six.",
        "a turn that was no message",
        "Still there?",
    ] == _texts(found[SLIP])
    assert ["88", "89"] == [entry.id for entry in found[SLIP] if isinstance(entry, Message) and entry.id]


def test_a_thought_that_stands_twice_is_shown_once_and_a_mirror_is_no_words_of_the_model(home: Path) -> None:
    found, _ = _read(home)
    asked = found[FERRY][2]
    assert isinstance(asked, Message)
    assert [Thinking("the timetable"), Text("I'll look.")] == list(asked.blocks[:2])
    assert ("harness", "cron") == (found[FERRY][-1].author, found[FERRY][-1].extra["mirror_source"])  # type: ignore[union-attr]


@pytest.mark.parametrize("longer", ["transcript", "snapshot"])
def test_what_only_the_shorter_account_has_stands_in_its_place_and_nothing_twice(sessions: Path, longer: str) -> None:
    """The words differ as Hermes' writers spell them: tags of thoughts, times, the name of a tool."""
    calls = [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]
    told = [
        _say("user", "one"),
        _say("assistant", "<REASONING_SCRATCHPAD>hm</REASONING_SCRATCHPAD>two", tool_calls=calls),
        _say("tool", "three", tool_call_id="c1", name="ls"),
        _say("assistant", "four"),
        _say("user", "one"),
    ]
    shot = [
        _bare("user", "one"),
        _bare("assistant", "<think>hm</think>two", tool_calls=calls),
        _bare("tool", "three", tool_call_id="c1", tool_name="ls"),
        _bare("user", "only in the snapshot"),
    ]
    if longer == "snapshot":
        shot += [_bare("assistant", "and more"), _bare("user", "bye"), _bare("assistant", "bye bye")]
    (sessions / "20251201_100000_aa.jsonl").write_bytes(_lines(_say("session_meta", None), *told))
    (sessions / "session_20251201_100000_aa.json").write_bytes(_snapshot("20251201_100000_aa", *shot))
    found, problems = _read(sessions.parent)
    assert [] == problems
    texts = _texts(found["20251201_100000_aa"])
    assert texts.count("one") == 2
    expected = {"one", "two", "three", "four", "only in the snapshot"} | (
        {"and more", "bye", "bye bye"} if longer == "snapshot" else set()
    )
    assert sorted([*expected, "one"]) == sorted(texts)
    assert ["one", "two", "three"] == texts[:3]


def test_the_id_is_the_one_inside_and_else_the_one_of_the_name(sessions: Path) -> None:
    (sessions / "session_odd_name_0123abcd.json").write_bytes(_snapshot("agent:main/odd name", _bare("user", "hi")))
    (sessions / "plain-name.json").write_bytes(json.dumps({"messages": [_bare("user", "hi")], "model": "m"}).encode())
    (sessions / "session_bg_20251201_100000_bb.json").write_bytes(_snapshot("bg_20251201_100000_bb", _bare("user", "hi")))
    (sessions / "20251201_100000_cc.jsonl").write_bytes(_lines(_say("user", "hi")))
    found, problems = _read(sessions.parent)
    assert {"agent:main/odd name", "plain-name", "bg_20251201_100000_bb", "20251201_100000_cc"} == set(found)
    assert [] == problems


def test_a_session_that_only_a_dumped_request_tells_of(sessions: Path) -> None:
    body = {"model": "m", "messages": [_bare("system", "be kind"), _bare("user", "hi")]}
    dump = {"timestamp": "2025-12-01T10:00:00", "session_id": "s1", "reason": "x", "request": {"url": "u", "body": body}}
    (sessions / "request_dump_s1_20251201_100000_000001.json").write_text(json.dumps(dump, indent=2))
    found, _ = _read(sessions.parent)
    assert ["be kind", "hi"] == _texts(found["s1"])


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", b'{"type": "user", "sessionId": "1", "uuid": "2", "message": {"role": "user", "content": "hi"}}\n'),
        ("a.jsonl", b'{"type": "session_meta", "payload": {"id": "1"}}\n{"type": "response_item", "payload": {}}\n'),
        ("a.jsonl", b'{"id": "1", "messages": [{"role": "user", "content": "hi", "timestamp": 1}]}\n'),
        ("a.jsonl", b'{"role": "user", "content": "chat of somebody"}\n'),
        ("a.jsonl", b'{"role": "user", "content": [], "created": 1}\n'),
        ("a.json", b'{"id": "1", "messages": [{"role": "user", "content": "hi"}]}'),
        ("a.json", b'{"messages": [{"role": "user", "content": "hi"}]}'),
        ("a.json", b'{"sessionId": "1", "messages": []}'),
        ("sessions.json", b'{"k": {"session_key": "k", "session_id": "s"}}'),
        ("session_1.json", b"not JSON"),
    ],
)
def test_files_of_others_are_not_claimed(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    assert reader.sniff(tmp_path / name) is None
    assert reader.sniff(tmp_path) is None
    with pytest.raises(NotAStore):
        reader.open(tmp_path / name, listen=ignore)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        # The name of a key in a tool's schema is not the line's own.
        (
            "a.jsonl",
            _lines({"role": "session_meta", "tools": [{"properties": {"id": {}, "messages": {}}}]}, _say("user", "x")),
        ),
        (
            "a.json",
            json.dumps({"session_id": "s", "model": "m", "messages": [_bare("user", "x", tool_calls=[{"id": "1"}])]}).encode(),
        ),
        ("20251201_100000_aa.jsonl", _lines(_bare("user", "no meta line, no time"))),
        ("a.jsonl", _lines({"content": "a row that was no message"}, _say("user", "x", observed=False))),
        ("a.jsonl", b"\xef\xbb\xbf" + _lines(_say("user", "x")).replace(b"\n", b"\r\n")),
        ("a.jsonl", b"\0\0\0\n" + _lines(_say("user", "x"))),
    ],
)
def test_one_reader_claims_a_file(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    assert jsonl.sniff(tmp_path / name) is None
    assert "legacy" == registry.detect(tmp_path / name).name
    with reader.open(tmp_path / name, listen=ignore) as store:
        (info,) = store.sessions()
        assert "x" in _texts(list(store.decode(store.records(info.id)))) or info.id == "20251201_100000_aa"


# ------------------------------------------------------------------------------------------------ a database beside it


def test_sessions_of_the_database_are_not_listed_and_are_there_by_their_id(home: Path) -> None:
    with reader.open(home, listen=ignore, known={KNOT, SLIP}.__contains__) as store:
        assert [FERRY] == [info.id for info in store.sessions()]
        assert [KNOT, SLIP] == store.in_both()
        assert 6 == store.session(SLIP).messages
        assert (1, 2) == (store.facts()["sessions"], store.facts()["in_database"])
        with pytest.raises(NotFound):
            next(store.files("no such session"))


def test_only_what_the_database_lacks_is_given(home: Path, hermes_db: Callable[..., Path]) -> None:
    def message(role: str, text: str, time: float | None = None) -> Message:
        return Message(role=role, author="person", blocks=[Text(text)], time=time)

    with reader.open(home, listen=ignore) as store:
        held = [e for e in store.decode(store.records(SLIP)) if isinstance(e, Message)]
        assert [] == list(store.only_here(SLIP, held))
        assert _texts(held) == _texts(store.only_here(SLIP, []))
        assert ["Wet until six."] == _texts(store.only_here(SLIP, [m for m in held if "six" not in plain_text(m.blocks)]))
        # Times are another zone's, spaces and halves of pairs are others, and a text is there as often as it is there.
        twice = [message("user", "ok", 1.0), message("user", "ok", 2.0)]
        assert 6 == len(list(store.only_here(SLIP, twice)))


def test_a_text_that_was_said_more_often_lacks_where_its_time_says(tmp_path: Path) -> None:
    path = tmp_path / "20251201_100000_aa.jsonl"
    times = [1_764_580_000, 1_764_583_600, 1_764_587_200]
    path.write_bytes(_lines(*[_bare("user", "ok  then\ud83d", timestamp=time) for time in times]))
    theirs = [Message(role="user", author="person", blocks=[Text("ok then\ufffd")], time=time + 2.0) for time in times[1:]]
    with reader.open(path, listen=ignore) as store:
        assert [times[0]] == [message.time for message in store.only_here("20251201_100000_aa", theirs)]


def test_a_call_that_only_one_account_has(tmp_path: Path) -> None:
    """Early snapshots left tool calls out; a database that has the text with its calls has more, one without has less."""
    calls = [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]
    bare, full = tmp_path / "20251201_100000_aa.jsonl", tmp_path / "20251201_100000_bb.jsonl"
    bare.write_bytes(_lines(_say("assistant", "Let me look."), _say("assistant", "")))
    full.write_bytes(_lines(_say("assistant", "Let me look.", tool_calls=calls)))
    with reader.open(bare, listen=ignore) as without, reader.open(full, listen=ignore) as having:
        short = [e for e in without.decode(without.records(bare.stem)) if isinstance(e, Message)]
        long = [e for e in having.decode(having.records(full.stem)) if isinstance(e, Message)]
        assert [] == list(without.only_here(bare.stem, long))
        assert 1 == len(list(having.only_here(full.stem, short)))


def test_messages_of_a_real_database_are_compared(tmp_path: Path, hermes_db: Callable[..., Path]) -> None:
    with hermes.open(hermes_db(case="story"), listen=ignore) as database:
        info = max(database.sessions(), key=lambda info: (info.messages or 0) + info.tool_calls)
        theirs = [e for e in database.decode(database.records(info.id)) if isinstance(e, Message) and e.state == "live"]
        rows = [r.data for r in database.records(info.id) if r.kind == "messages" and r.data.get("active", 1)]
    lines = []
    for row in rows:
        line = {
            key: row[key] for key in ("role", "content", "tool_call_id", "tool_name", "timestamp") if row.get(key) is not None
        }
        lines.append(line | ({"tool_calls": json.loads(row["tool_calls"])} if row.get("tool_calls") else {}))
    path = tmp_path / "20251201_100000_aa.jsonl"
    path.write_bytes(_lines(*lines, _say("user", "only in the file")))
    with reader.open(path, listen=ignore) as store:
        assert ["only in the file"] == _texts(store.only_here(path.stem, theirs))


def test_the_files_of_a_session_are_named(home: Path) -> None:
    with reader.open(home, listen=ignore) as store:
        assert [
            f"sessions/{SLIP}.jsonl",
            f"sessions/session_{SLIP}.json",
            "pending_messages/pending-0f0f0f.json",
        ] == [name for name, _ in store.files(SLIP)]
        assert all(path == home / name for name, path in store.files(SLIP))


def test_homes_are_those_with_session_files(tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()
    (tmp_path / "profiles" / "work" / "sessions").mkdir(parents=True)
    (tmp_path / "profiles" / "bare").mkdir()
    assert [tmp_path, tmp_path / "profiles" / "work"] == homes({"HERMES_HOME": str(tmp_path)})
    assert [] == homes({"HERMES_HOME": str(tmp_path / "absent")})


# ------------------------------------------------------------------------------------------------ damage


def test_damage_costs_its_own_file_and_is_told_once(home: Path) -> None:
    sessions = home / "sessions"
    cut = sessions / f"session_{KNOT}.json"
    cut.write_bytes(cut.read_bytes()[:-120])
    (sessions / "sessions.json").write_bytes((sessions / "sessions.json").read_bytes()[:-60])
    (sessions / "notes.json").write_text('{"shopping": ["bread"]}')
    (sessions / "20251205_000000_dd.jsonl").write_bytes(b"\xff\xfe broken\n")
    (sessions / "session_20251206_000000_ee.json").write_bytes(b"\0" * 4096)
    os.mkfifo(sessions / "pipe.jsonl")
    heard: list[Event] = []
    with reader.open(home, listen=heard.append) as store:
        for info in list(store.sessions()) * 2:
            list(store.records(info.id))
        infos = {info.id: info for info in store.sessions()}
    assert {FERRY, KNOT, SLIP, "20251205_000000_dd", "20251206_000000_ee"} == set(infos)
    assert {KNOT, "20251205_000000_dd", "20251206_000000_ee"} == {i for i, info in infos.items() if info.damaged}
    assert 3 == infos[KNOT].messages
    told = [(Path(event.where).name.partition(":")[0], event.lost > 0) for event in heard if isinstance(event, Problem)]
    assert sorted(told) == [
        ("20251205_000000_dd.jsonl", False),
        ("notes.json", False),
        ("pipe.jsonl", True),
        (cut.name, True),
        ("session_20251206_000000_ee.json", True),
        ("sessions.json", True),
    ]


def test_a_file_that_is_another_now_is_told(home: Path) -> None:
    with reader.open(home, listen=ignore) as store:
        list(store.records(KNOT))
        store.check()
        path = home / "sessions" / f"session_{KNOT}.json"
        (home / "new").write_bytes(path.read_bytes())
        (home / "new").replace(path)
        with pytest.raises(StoreChanged):
            store.check()


def test_odd_values_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "20251201_100000_aa.jsonl"
    rows: list[Any] = [
        _say(
            "user", [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]
        ),
        _say("assistant", None, reasoning_details=[{"type": "x"}], sparkle=1),
        _say("assistant", {"odd": 1}, tool_calls={"name": "f", "arguments": {"a": 1}}),
        _say("wizard", "abra"),
        _say("user", "x", timestamp="no time"),
        _say("user", "x", timestamp=1_764_580_000_000),
        _say("user", "x", timestamp={}),
        {"role": ["list"], "content": 5},
        {"neither": "nor"},
        [1],
        7,
    ]
    path.write_bytes(_lines(*rows))
    with reader.open(path, listen=ignore) as store:
        entries = list(store.decode(store.records(path.stem)))
        assert rows == [record.data for entry in entries for record in entry.records]
        assert [None, 1_764_580_000.0, None] == [entry.time for entry in entries[4:7]]
        assert ["unknown"] * 3 == [entry.kind for entry in entries[8:] if isinstance(entry, Note)]
        assert {"key:assistant.sparkle", "type:wizard", "type:None", "type:list", "type:int", "type:['list']"} <= set(
            store.drift()["unknown"]
        )


def test_records_without_their_bytes_decode_alike(home: Path) -> None:
    """A redactor gives records that have data alone."""
    with reader.open(home, listen=ignore) as store:
        for info in store.sessions():
            records = list(store.records(info.id))
            bare = [Record(record.kind, record.key, record.data) for record in records]
            assert [repr(e) for e in store.decode(records)] == [repr(e) for e in store.decode(bare)]


_ROWS = st.one_of(
    st.just(b"\n"),
    st.binary(max_size=12).map(lambda data: data.replace(b"\n", b"") + b"\n"),
    st.sampled_from(
        [
            _lines(_say("session_meta", None, tools=[])),
            _lines(_say("user", "hi")),
            _lines(_say("assistant", "<think>a</think>b", reasoning="a")),
            _lines(_say("tool", None, tool_call_id=1)),
            _lines({"content": "x"}),
            _lines({"session_key": "k", "data": "waiting"}),
            _lines({}),
            _lines(None),
            _lines(_say("user", "hi")).strip() * 2 + b"\n",
            b'{"role": "user", "content": "cut o',
        ]
    ),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.lists(_ROWS, max_size=8), st.lists(st.sampled_from(["hi", "b", "other"]), max_size=4))
def test_whatever_the_files_hold_each_record_is_in_one_entry(tmp_path: Path, rows: list[bytes], shot: list[str]) -> None:
    (tmp_path / "20251201_100000_aa.jsonl").write_bytes(b"".join(rows))
    shutil.rmtree(tmp_path / "saved", ignore_errors=True)
    (tmp_path / "session_20251201_100000_aa.json").write_bytes(
        _snapshot("20251201_100000_aa", *[_bare("user" if text == "hi" else "assistant", text) for text in shot])
    )
    with reader.open(tmp_path, listen=ignore) as store:
        records = list(store.records("20251201_100000_aa"))
        entries = list(store.decode(records))
        assert [id(record) for record in records] == [id(record) for entry in entries for record in entry.records]
        assert b"".join(rows).strip() == b"" or any(record.raw for record in records)
        kinds = ["line" == record.kind for record in records]
        assert kinds == sorted(kinds)
        said = _texts(entries)
        assert all(text in said for text in shot)


def test_reading_takes_no_more_memory_for_a_store_than_for_a_file(home: Path) -> None:
    """The store keeps places and not contents."""
    with reader.open(home, listen=ignore) as store:
        assert isinstance(store, LegacyStore)
        list(store.sessions())
        assert all(not isinstance(value, bytes) for files in store._files.values() for f in files for value in f.head.values())
