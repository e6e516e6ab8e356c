"""Lines of any origin: Hermes' own, damaged ones, others'. One bad line, or one bad message, takes no other with it."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from exporting import exported, upstream_line
from hermes_schema import LATEST
from strategies import spelled

from satchel.contracts import Record
from satchel.digest import content_digest
from satchel.errors import NotAStore, NotFound, StoreChanged, StoreError
from satchel.events import Event, Problem, ignore
from satchel.formats.hermes_rows import visible_row
from satchel.formats.hermes_state import reader as hermes
from satchel.formats.jsonl import reader
from satchel.formats.jsonl.readback import ReadBack, read_back
from satchel.formats.jsonl.record import FEATURES

Build = Callable[..., Path]


def _open(path: Path, data: bytes | str) -> tuple[reader.JsonlStore, list[Problem]]:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    heard: list[Problem] = []

    def hear(event: Event) -> None:
        if isinstance(event, Problem):
            heard.append(event)

    return reader.open(path, listen=hear), heard


def _line(session_id: str, *contents: Any, **more: Any) -> str:
    messages = [{"id": i, "session_id": session_id, "role": "user", "content": c} for i, c in enumerate(contents, 1)]
    return json.dumps({"id": session_id, "source": "cli", "started_at": 1.5, "messages": messages} | more) + "\n"


def _said(store: reader.JsonlStore, session_id: str) -> list[Any]:
    return [record.data["content"] for record in store.records(session_id) if record.kind == "messages"]


# ---------------------------------------------------------------------------------------------------------- Hermes' own


@pytest.mark.parametrize("case", ["story", "lineage"])
@pytest.mark.parametrize("schema", [11, 16, LATEST])
def test_hermes_own_lines_are_read(hermes_db: Build, tmp_path: Path, schema: int, case: str) -> None:
    """They hold the live rows only, in the table's order of columns, written by `json.dumps`."""
    with hermes.open(hermes_db(schema, case), listen=ignore) as store:
        infos = list(store.sessions())
        data = "".join(upstream_line(list(store.records(info.id))) for info in infos)
        again, problems = _open(tmp_path / "out.jsonl", data)
        with again:
            assert [] == problems
            assert sorted(info.id for info in infos) == sorted(info.id for info in again.sessions())
            for info in infos:
                live = [r for r in store.records(info.id) if r.kind == "messages" and r.data.get("active", 1) == 1]
                own = next(store.records(info.id))
                found = list(again.records(info.id))
                assert spelled(dict(sorted(own.data.items()))) == spelled(dict(sorted(found[0].data.items())))
                assert [sorted(spelled(r.data).items()) for r in live] == [sorted(spelled(r.data).items()) for r in found[1:]]
                assert content_digest([own, *live], store.canonical) == content_digest(found, again.canonical)
                copy = again.session(info.id)
                assert (info.title, info.lineage, info.messages) == (copy.title, copy.lineage, copy.messages)


@pytest.mark.parametrize(
    ("content", "stored"),
    [
        (None, None),
        ("text", "text"),
        ([{"type": "text", "text": "é"}], '\0json:[{"type": "text", "text": "\\u00e9"}]'),
        ({"a": 1}, '\0json:{"a": 1}'),
        (["\ud83d"], '\0json:["\\ud83d"]'),
        (5, "\0json:5"),
        (True, "\0json:true"),
        ([10**30, float("inf")], "\0json:[1000000000000000000000000000000, Infinity]"),
    ],
)
def test_content_of_others_becomes_what_hermes_would_store(tmp_path: Path, content: Any, stored: str | None) -> None:
    store, problems = _open(tmp_path / "a.jsonl", _line("s", content))
    with store:
        assert [stored] == _said(store, "s")
        digest = content_digest(store.records("s"), store.canonical)
    assert [] == problems
    (back,) = read_back(tmp_path / "a.jsonl", update=lambda data: None)
    assert isinstance(back, ReadBack)
    assert digest == back.content_digest


def test_columns_that_others_parsed_are_text_again(tmp_path: Path) -> None:
    store, _ = _open(tmp_path / "a.jsonl", _line("s", model_config={"a": [1]}, archived=True, pinned=False))
    with store:
        own = next(store.records("s"))
    assert ('{"a": [1]}', 1, 0) == (own.data["model_config"], own.data["archived"], own.data["pinned"])


@pytest.mark.parametrize("tokens", [5, 2**80])
def test_numbers_that_json_has_no_word_for_are_kept(tmp_path: Path, tokens: int) -> None:
    """`json.dumps` writes Infinity; a copy of such a line must not turn it into null, whatever stands beside it."""
    row = {"content": "x", "role": "user", "timestamp": float("inf"), "token_count": tokens, "id": 1}
    data = json.dumps({"id": "s", "started_at": float("-inf"), "messages": [row]}) + "\n"
    store, _ = _open(tmp_path / "a.jsonl", data)
    with store:
        records = list(store.records("s"))
        assert (float("-inf"), float("inf"), tokens) == (
            records[0].data["started_at"],
            records[1].data["timestamp"],
            records[1].data["token_count"],
        )
        assert b'"timestamp":{"$real":"inf"}' in b"".join(store.canonical(records[1]))
        copy, _, digests = exported(store)
    again, _ = _open(tmp_path / "b.jsonl", copy)
    with again:
        assert [spelled(dict(sorted(r.data.items()))) for r in records] == [
            spelled(dict(sorted(r.data.items()))) for r in again.records("s")
        ]
        assert digests["s"] == content_digest(again.records("s"), again.canonical)


def test_messages_without_ids_keep_their_order_and_count_whole(tmp_path: Path) -> None:
    """A call's id is no message's id: what stood behind it was left out of the digest."""
    calls = [{"id": "c1", "function": {"name": "f"}}]
    rows = [{"role": "user", "content": c, "tool_calls": calls, "z": c} for c in ("b", "a", "c")]
    digests = set()
    for last in ("c", "d"):
        rows[2]["z"] = last
        store, problems = _open(tmp_path / "a.jsonl", json.dumps({"id": "s", "messages": rows}) + "\n")
        with store:
            assert ["b", "a", "c"] == _said(store, "s")
            digests.add(content_digest(store.records("s"), store.canonical))
        assert [] == problems
        (back,) = read_back(tmp_path / "a.jsonl", update=lambda data: None)
        assert isinstance(back, ReadBack)
        digests.add(back.content_digest)
    assert 2 == len(digests)


# ---------------------------------------------------------------------------------------------------------- odd files


@pytest.mark.parametrize(
    "dressed",
    [
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: b"\n\n \t\n" + data.replace(b"\n", b"\n\n"),
        lambda data: data.removesuffix(b"\n"),
        lambda data: b"\xef\xbb\xbf\r\n" + data,
    ],
)
def test_marks_blank_lines_and_line_ends_do_not_matter(
    hermes_db: Build, tmp_path: Path, dressed: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "a.jsonl"
    with hermes.open(hermes_db(), listen=ignore) as store:
        data, _, digests = exported(store)
    again, problems = _open(path, dressed(data))
    assert [] == problems
    with again:
        assert digests == {i.id: content_digest(again.records(i.id), again.canonical) for i in again.sessions()}
    backs = list(read_back(path, update=lambda data: None))
    assert digests == {back.session_id: back.content_digest for back in backs if isinstance(back, ReadBack)}
    assert reader.sniff(path) is not None


def test_a_bad_line_is_told_and_passed_over(tmp_path: Path) -> None:
    lines = [
        _line("one", "1"),
        "not JSON\n",
        '{"id": "torn", "messages": [{"role": "us\n',
        '{"type": "summary"}\n',
        '["id", "messages"]\n',
        '{"id": "x", "messages": {}}\n',
        '{"messages": []}\n',
        '{"id": null, "messages": []}\n',
        '{"id": "v", "messages": [], "satchel": {"v": 2}}\n',
        '{"id": "v", "messages": [], "satchel": {"v": "1"}}\n',
        '{"id": "v", "messages": [], "satchel": {"v": 0}}\n',
        '{"id": "v", "messages": [], "satchel": {"usage": []}}\n',
        '{"id": "v", "messages": [], "satchel": []}\n',
        '{"id": "v", "messages": [], "satchel": {"v": 1, "exact": []}}\n',
        '{"id": "v", "messages": [], "satchel": {"v": 1, "exact": {"/title": {"b64": 5}}}}\n',
        '{"id": "v", "messages": [], "satchel": {"v": 1, "exact": {"/title": {"hex": "00"}}}}\n',
        '{"id": "v", "messages": [], "satchel": {"v": 1, "segments": [{}]}}\n',
        '{"id": "v", "messages": [], "satchel": {"v": 1, "segments": 5}}\n',
        '{"id": "v", "messages": [], "satchel": {"v": 1, "columns": []}}\n',
        '{"id": "deep", "messages": ' + "[" * 5000 + "]" * 5000 + "}\n",
        _line("two", "2"),
    ]
    path = tmp_path / "a.jsonl"
    store, problems = _open(path, "".join(lines))
    with store:
        assert ["one", "two"] == [info.id for info in store.sessions()]
        assert [f"{path}:{n}" for n in range(2, len(lines))] == [problem.where for problem in problems]
        assert len(lines) - 2 == store.facts()["damaged_lines"]
    backs = list(read_back(path, update=lambda data: None))
    assert [1, len(lines)] == [back.line for back in backs if isinstance(back, ReadBack)]
    assert [f"line {n}" for n in range(2, len(lines))] == [back.where for back in backs if isinstance(back, Problem)]


def test_bytes_that_are_not_utf8_spoil_one_line_only(tmp_path: Path) -> None:
    store, problems = _open(tmp_path / "a.jsonl", _line("a", "caf").encode().replace(b"caf", b"caf\xe9") + _line("b").encode())
    with store:
        assert ["b"] == [info.id for info in store.sessions()]
    assert 1 == len(problems)


def test_one_bad_message_takes_no_other_with_it(hermes_db: Build, tmp_path: Path) -> None:
    """A line is cut at its tabs, so the row that can't be parsed is lost and told, and every other session and row is there."""
    session_id = "20260302_083000_3f9a1c"
    with hermes.open(hermes_db(), listen=ignore) as store:
        data, _, digests = exported(store)
        wanted = [record.data["id"] for record in store.records(session_id) if record.kind == "messages"]
    assert data.count(b"summer date first") == 1
    path = tmp_path / "a.jsonl"
    again, problems = _open(path, data.replace(b"summer date first", b"summer\x01date first"))
    with again:
        assert list(digests) == [info.id for info in again.sessions()]
        for _ in range(2):
            assert wanted[:1] + wanted[2:] == [r.data["id"] for r in again.records(session_id) if r.kind == "messages"]
        assert len(wanted) - 1 == again.session(session_id).messages
        others = [name for name in digests if name != session_id]
        assert [digests[name] for name in others] == [content_digest(again.records(n), again.canonical) for n in others]
    assert [("loss", 1, f"{path}:2")] == [(problem.severity, problem.lost, problem.where) for problem in problems]
    backs = [back for back in read_back(path, update=lambda data: None) if isinstance(back, ReadBack)]
    assert [session_id] == [back.session_id for back in backs if back.content_digest != digests[back.session_id]]


@pytest.mark.parametrize(
    ("pattern", "new"),
    [
        (rb',"satchel":{', b',"messages":[],"satchel":{'),
        (rb'("hidden":\[.*)}}\n', rb'\1,"hidden":[]}}\n'),
        (rb'"id":3}', b'"id":03}'),
    ],
)
def test_a_line_that_others_would_read_differently_does_not_pass(
    hermes_db: Build, tmp_path: Path, pattern: bytes, new: bytes
) -> None:
    with hermes.open(hermes_db(), listen=ignore) as store:
        data, _, digests = exported(store)
    changed, times = re.subn(pattern, new, data, count=1)
    assert 1 == times
    found = []
    for content in (data, changed):
        (tmp_path / "a.jsonl").write_bytes(content)
        backs = [back for back in read_back(tmp_path / "a.jsonl", update=lambda data: None) if isinstance(back, ReadBack)]
        found.append({back.session_id: back.content_digest for back in backs})
    assert digests == found[0]
    assert 1 == len(digests.items() - found[1].items())


def test_messages_that_are_none_are_told(tmp_path: Path) -> None:
    store, problems = _open(tmp_path / "a.jsonl", _line("a", messages=["text", {"role": "user", "content": "x"}, None]))
    with store:
        assert ["x"] == _said(store, "a")
        assert [1, 1] == [problem.lost for problem in problems]
    (back,) = read_back(tmp_path / "a.jsonl", update=lambda data: None)
    assert isinstance(back, Problem)


@pytest.mark.parametrize(
    "aside",
    [
        {"usage": 5},
        {"meta": []},
        {"tables": {"dreams": [5]}},
        {"unknown": {"dreams": {"a": 1}}},
        {"meta": {"k": "x"}, "exact": {"/satchel/meta/k": {"b64": "!"}}},
    ],
)
def test_facts_that_are_none_are_told(tmp_path: Path, aside: dict[str, Any]) -> None:
    store, problems = _open(tmp_path / "a.jsonl", _line("a", "x", satchel={"v": 1} | aside) + _line("b", "y"))
    with store:
        assert [["x"], ["y"]] == [_said(store, info.id) for info in store.sessions()]
    assert [1] == [problem.lost for problem in problems]
    backs = list(read_back(tmp_path / "a.jsonl", update=lambda data: None))
    assert [Problem, ReadBack] == [type(back) for back in backs]


@pytest.mark.parametrize("depth", [250, 900, 980, 1000, 1020])
def test_content_nested_deeply_stops_nobody(tmp_path: Path, depth: int) -> None:
    """It is read as what it is or told, whatever the interpreter's limit is."""
    path = tmp_path / "a.jsonl"
    line = _line("a", "DEEP").replace('"DEEP"', "[" * depth + "]" * depth)
    store, problems = _open(path, line + _line("b", "y"))
    with store:
        assert ["y"] == _said(store, "b")
        said = _said(store, "a") if "a" in [info.id for info in store.sessions()] else []
        assert [f"\0json:{'[' * depth}{']' * depth}"] == said or problems
        if said:
            content_digest(store.records("a"), store.canonical)
    *_, last = read_back(path, update=lambda data: None)
    assert isinstance(last, ReadBack)
    assert ("b", 2) == (last.session_id, last.line)


def test_a_session_that_stands_twice_is_taken_once(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    store, problems = _open(path, _line("a", "first") + _line("b", "x") + _line("a", "second"))
    with store:
        assert ["a", "b"] == [info.id for info in store.sessions()]
        assert ["first"] == _said(store, "a")
    assert [f"{path}:3"] == [problem.where for problem in problems]
    assert ["a", "b", "a"] == [b.session_id for b in read_back(path, update=lambda data: None) if isinstance(b, ReadBack)]


def test_others_tabs_are_only_blanks(tmp_path: Path) -> None:
    data = '{ "id": "a", "extra": [ {"k": 1} ], "messages": [ {"content": "x"}, {"content": "y"} ]}'.replace(" ", "\t") + "\n"
    store, problems = _open(tmp_path / "a.jsonl", data + data.replace('"a"', '"b"'))
    with store:
        assert ["a", "b"] == [info.id for info in store.sessions(counts=False)]
        assert ["x", "y"] == _said(store, "a")
        assert '[{"k": 1}]' == next(store.records("a")).data["extra"]
    assert [] == problems


def test_an_empty_id_is_an_id_where_we_wrote_it(tmp_path: Path) -> None:
    store, _ = _open(tmp_path / "a.jsonl", _line("", "x", satchel={"v": 1}) + _line("b"))
    with store:
        assert ["", "b"] == [info.id for info in store.sessions()]


@pytest.mark.parametrize("data", ["", "\n\n", "text\n", "{}\n", '{"id": "a"}\n', "\x00" * 100])
def test_a_file_without_sessions_is_no_store(tmp_path: Path, data: str) -> None:
    with pytest.raises(NotAStore):
        _open(tmp_path / "a.jsonl", data)


def test_an_unknown_session_is_not_found(tmp_path: Path) -> None:
    store, _ = _open(tmp_path / "a.jsonl", _line("a"))
    with store:
        with pytest.raises(NotFound):
            store.session("b")
        with pytest.raises(NotFound):
            list(store.records("b"))


@pytest.mark.parametrize("path", ["absent.jsonl", "."])
def test_what_can_not_be_read_is_an_error_of_ours(tmp_path: Path, path: str) -> None:
    with pytest.raises(StoreError):
        reader.open(tmp_path / path, listen=ignore)


def test_a_file_that_changed_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    store, _ = _open(path, _line("a", "x") + _line("b", "y"))
    with store:
        store.check()
        path.write_text(_line("c", "zzzzzzzzzzzzzzzzzzzzzzzzz"))
        with pytest.raises(StoreChanged):
            store.check()
        for ask in (store.session, lambda session_id: list(store.records(session_id))):
            with pytest.raises(StoreChanged):
                ask("b")


def test_a_private_copy_does_not_change(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(_line("a", "x"))
    with reader.open(path, listen=ignore, private=True) as store:
        path.write_text("gone\n")
        assert ["x"] == _said(store, "a")
        store.check()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_read_to_its_end_first(tmp_path: Path) -> None:
    """As standard input is: it can't be read twice, nor from the middle."""
    pipe, data = tmp_path / "pipe", _line("a", "x" * 200_000) + _line("b", "y")
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(data,))
    writer.start()
    try:
        with reader.open(pipe, listen=ignore) as store:
            assert ["a", "b"] == [info.id for info in store.sessions()]
            for _ in range(2):
                assert ["y"] == _said(store, "b")
            store.check()
    finally:
        writer.join()


@pytest.mark.parametrize(
    ("data", "ours"),
    [
        (_line("a", "x"), True),
        ("\n\n" + _line("a", "x"), True),
        (_line("a", extra="z" * 100_000), True),
        ("\ufeff" + _line("a"), True),
        ('{"type": "user", "message": {"id": 5}}\n', False),
        ('{"messages": []}\n', False),
        ("[1]\n" + _line("a"), True),
        ("", False),
        ("SQLite format 3\0", False),
    ],
)
def test_a_file_is_known_by_its_first_readable_line(tmp_path: Path, data: str, ours: bool) -> None:
    path = tmp_path / "anything.txt"
    path.write_text(data, encoding="utf-8")
    assert ours is (reader.sniff(path) is not None)


def test_a_folder_or_nothing_is_not_known(tmp_path: Path) -> None:
    assert reader.sniff(tmp_path) is None
    assert reader.sniff(tmp_path / "absent") is None


def test_records_are_those_of_a_hermes_store(hermes_db: Build, tmp_path: Path) -> None:
    with hermes.open(hermes_db(), listen=ignore) as store:
        data, _, _ = exported(store)
    again, _ = _open(tmp_path / "a.jsonl", data)
    with again:
        assert ("hermes", "hermes", "jsonl") == (again.dialect, again.agent, again.format)
        for info in again.sessions():
            records = list(again.records(info.id))
            assert all(isinstance(record, Record) for record in records)
            assert [r for e in again.decode(records) for r in e.records] == records
        assert 14 == again.facts()["sessions"]


# ------------------------------------------------------------------------------------------------------ tool calls to the letter


@pytest.mark.parametrize(
    "calls",
    [
        '[{"id": "call_1", "function": {"name": "ls", "arguments": "{\\"path\\": \\"\\u00e9\\"}"}}]',
        '[{"id":"call_1" , "n":1.50e1}]',
        '[{"tool_calls":[1], "tool_name":"x"},{"tool_calls": [2],"tool_name":"y"}]',
        '[{"a": 1, "a": 2}]',
        '{"function": {"name": "ls"}}',
        "[]",
    ],
)
@pytest.mark.parametrize(
    "content", ["text", '\0json:[{"tool_calls": [1], "tool_name": "x"}]', '\0json:{"a": [",\\"tool_calls\\":[]"]}']
)
def test_tool_calls_come_back_to_the_letter(hermes_db: Build, tmp_path: Path, calls: str, content: str) -> None:
    """Also where the row holds names like the column's inside other values, and where the spelling is nobody's."""
    path = hermes_db(LATEST, "story")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE messages SET tool_calls = ?, content = ?", (calls, content))
    with hermes.open(path, listen=ignore) as store:
        (tmp_path / "out.jsonl").write_bytes(exported(store)[0])
    with hermes.open(path, listen=ignore) as store, reader.open(tmp_path / "out.jsonl", listen=ignore) as again:
        for info in store.sessions():
            wanted = [spelled(dict(sorted(r.data.items()))) for r in store.records(info.id) if r.kind == "messages"]
            found = [spelled(dict(sorted(r.data.items()))) for r in again.records(info.id) if r.kind == "messages"]
            assert wanted == found
            assert store.session(info.id).messages == again.session(info.id).messages


# ------------------------------------------------------------------------------------------------------ lines of hostile shape

_ROW = {"id": 1, "session_id": "bad", "role": "user", "content": "x", "tool_calls": None, "timestamp": 2.0}
_SHAPES: list[Any] = [5, "x", [1], [[1]], {"a": 5}, {"a": [5]}, {"a": {"b": 1}}, True, None, [{"x": 1}], [{}], [None]]
_VALUES: list[Any] = [10**400, 2**64, -1, [1], {"a": 1}, {"$b64": "AA=="}, True, None, "\ud83d", float("inf"), float("nan")]
_NOTES: list[Any] = [{"str": 5}, {"b64": "!"}, {"int": "x"}, {"int": "5"}, {"real": "x"}, {"a": 1}, 5, [], {}, {"null": False}]
_PLACES = ["/title", "/messages/0/content", "/messages/0/id", "/x/y", "", "/satchel/unknown/t/0/x", "/messages/99/content"]


def _hostile() -> dict[str, dict[str, Any]]:
    whole = {"id": "bad", "source": "cli", "started_at": 1.5, "messages": [_ROW], "satchel": {"v": 1}}
    found: dict[str, dict[str, Any]] = {}
    for key in FEATURES:
        found |= {f"{key} is {value}": whole | {"satchel": {"v": 1, key: value}} for value in _SHAPES}
    for name in ("started_at", "title", "source", "parent_session_id", "message_count", "estimated_cost_usd"):
        found |= {f"{name} is {str(value)[:9]!a}": whole | {name: value} for value in _VALUES}
    for name in ("timestamp", "id", "role", "content", "tool_calls", "active", "session_id", "reasoning"):
        found |= {
            f"its message's {name} is {str(value)[:9]!a}": whole | {"messages": [_ROW | {name: value}]} for value in _VALUES
        }
    for table in ("\ud83d", "a\0b", "", '"x"', "sessions", "messages"):
        found[f"table {table!a}"] = whole | {"satchel": {"v": 1, "unknown": {table: [{"session_id": "bad", "x": 1}]}}}
    for note in _NOTES:
        found |= {f"note {note} at {place}": whole | {"satchel": {"v": 1, "exact": {place: note}}} for place in _PLACES}
    return found


def test_a_line_of_any_shape_costs_that_line_at_most(tmp_path: Path) -> None:
    """Whatever stands where something else should, its neighbour is read, and what is read can be written again."""
    for how, bad in _hostile().items():
        # What a library for JSON refuses, a lone surrogate say, is no matter of this test.
        text = json.dumps(bad) + "\n" + _line("good", "x")
        store, heard = _open(tmp_path / "in.jsonl", text)
        with store:
            ids = [info.id for info in store.sessions()]
            assert "good" in ids, how
            for info in store.sessions():
                assert list(store.decode(store.records(info.id))), how
            data, _, digests = exported(store)
        for line in data.splitlines() if "table" not in how else ():
            orjson.loads(line)
        (tmp_path / "out.jsonl").write_bytes(data)
        back = list(read_back(tmp_path / "out.jsonl", update=lambda _: None))
        assert [digests[session_id] for session_id in ids] == [getattr(found, "content_digest", found) for found in back], how
        assert ids == ["good"] or len(ids) == 2 or heard, how


def test_ids_of_any_type_keep_their_order(tmp_path: Path) -> None:
    """A store without a key on `messages.id` may hold any of them; SQLite orders them, then what they say does."""
    live = [
        {"id": key, "role": "user", "content": str(n), "active": 1}
        for n, key in ((1, None), (3, 2), (5, "a"), (7, "b"), (8, "b"))
    ]
    hidden = [{"id": key, "role": "user", "content": str(n), "active": 0} for n, key in ((0, None), (4, 2.5), (6, "b"))]
    store, _ = _open(tmp_path / "in.jsonl", json.dumps({"id": "s", "messages": live, "satchel": {"v": 1, "hidden": hidden}}))
    with store:
        assert list("01345678") == _said(store, "s")
        data, _, digests = exported(store)
    (tmp_path / "out.jsonl").write_bytes(data)
    (back,) = read_back(tmp_path / "out.jsonl", update=lambda _: None)
    assert isinstance(back, ReadBack)
    assert digests["s"] == back.content_digest


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_lines_are_read_back_across_the_blocks_of_a_file(
    hermes_db: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: bytes
) -> None:
    with hermes.open(hermes_db(), listen=ignore) as store:
        data = exported(store)[0]
    path = tmp_path / "a.jsonl"
    path.write_bytes(data + b"\n \n" + data.rstrip(b"\n") + end)
    found: list[list[object]] = []
    for size in (1 << 18, 1000, 7):
        monkeypatch.setattr("satchel.formats.jsonl.readback._BLOCK", size)
        read: list[bytes] = []
        found.append(list(read_back(path, update=read.append)))
        assert path.read_bytes() == b"".join(read)

    assert found[0]
    assert all(found[0] == other for other in found)


@pytest.mark.parametrize(
    ("arguments", "stands"),
    [
        (r"\\u062a\\u20ac", True),
        (r"\\ud83d\\ude00", True),
        (r"\\ud83d", False),
        (r"\\uDE00 \\u0044", False),
        (r"\\u\u0064800", False),
        (r"\\\u0075d800", False),
        (r"\\u0041 \u005cud800", False),
        (r"\\\\ud83d", True),
    ],
)
def test_tool_calls_stand_as_they_are_unless_half_a_pair_is_escaped_in_them(arguments: str, stands: bool) -> None:
    """However the escape itself is spelled: readers that parse the arguments too can't hold half a character."""
    calls = f'[{{"id": "c1", "function": {{"name": "run", "arguments": "{{\\"a\\": \\"{arguments}\\"}}"}}}}]'
    _, exact = visible_row(Record("messages", 1, {"role": "assistant", "tool_calls": calls, "id": 1}))

    assert stands is ("tool_calls" not in exact)
