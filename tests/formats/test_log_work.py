"""What reading logs takes: how many bytes are read, how often a line is parsed and digested, what is held."""

from __future__ import annotations

import builtins
import io
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import claude_lines
import codex_lines
import pytest
from exporting import MemoryTarget

from satchel.contracts import Record
from satchel.events import ignore
from satchel.formats import log_lines
from satchel.formats.claude_code import store as claude_store
from satchel.formats.claude_code.plan import Plan
from satchel.formats.codex import store as codex_store
from satchel.formats.codex.tokens import Spent
from satchel.formats.hermes_legacy import documents
from satchel.formats.jsonl import mapped, writer
from satchel.formats.log_lines import LogFile, head_and_tail
from satchel.formats.model import Message, ToolCall, ToolResult
from satchel.session_views import View


class _Counting(io.FileIO):
    """A file that says how many bytes were read."""

    taken = 0

    def readinto(self, buffer: Any, /) -> int:
        """Read, and count."""
        count = super().readinto(buffer) or 0
        _Counting.taken += count
        return count

    def read(self, size: int | None = -1, /) -> bytes:
        """Read, and count."""
        data = super().read(-1 if size is None else size) or b""
        _Counting.taken += len(data)
        return data


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> type[_Counting]:
    def opened(file: Any, mode: str = "r", buffering: int = -1, **more: Any) -> Any:
        if mode != "rb":
            return builtins.open(file, mode, buffering, **more)
        raw = _Counting(file, "rb")
        return raw if buffering == 0 else io.BufferedReader(raw, buffering if buffering > 0 else 1 << 13)

    monkeypatch.setattr(log_lines, "open", opened, raising=False)
    _Counting.taken = 0
    return _Counting


def _long_log(kind: Any, session: str, *, lines: int) -> Sequence[Any]:
    log = kind(session)
    text = "Low water at noon. " * 50
    for number in range(lines):
        if kind is claude_lines.Log:
            log.user(f"{number} {text}")
            log.answer(text, id=f"msg_{session}_{number}")
        else:
            log.turn(f"{number} {text}", text)
    held: list[Any] = log.lines
    return held


@pytest.mark.parametrize("agent", [claude_lines, codex_lines])
def test_a_small_log_is_opened_once_to_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: Any) -> None:
    """It was opened once to see whether it is compressed, and once more to be looked at."""
    count = 12
    for number in range(count):
        session = f"1f0c5b9e-0000-4000-8000-{number:012}"
        name = f"{session}.jsonl" if agent is claude_lines else codex_lines.name(session)
        agent.written(tmp_path / name, _long_log(agent.Log, session, lines=2))
    opened: list[Path] = []
    usual: Any = os.open

    def counted(path: Any, *more: Any) -> Any:
        opened.append(path)
        return usual(path, *more)

    monkeypatch.setattr(os, "open", counted)
    with agent.opened(tmp_path)[0] as store:
        found = list(store.sessions(counts=False))

    assert (count, count) == (len(found), len([path for path in opened if str(path).endswith(".jsonl")]))


@pytest.mark.parametrize("agent", [claude_lines, codex_lines])
def test_listing_reads_the_ends_of_each_file_and_no_more(tmp_path: Path, taken: type[_Counting], agent: Any) -> None:
    """Each file was read a mebibyte at a time, twice, so that to list sessions took as long as to read them."""
    count = 12
    for number in range(count):
        session = f"1f0c5b9e-0000-4000-8000-{number:012}"
        name = f"{session}.jsonl" if agent is claude_lines else codex_lines.name(session)
        agent.written(tmp_path / name, _long_log(agent.Log, session, lines=250))
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    found = []
    for _ in range(2):
        taken.taken = 0
        with agent.opened(tmp_path)[0] as store:
            assert count == len(list(store.sessions(counts=False)))
        found.append(taken.taken)

    assert found[0] == found[1] < count * 200_000 < size / 2


def test_the_ends_of_a_log_take_little_more_than_their_bytes(tmp_path: Path, taken: type[_Counting]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(b'{"n": %7d, "text": "%s"}\n' % (n, b"x" * 200) for n in range(20_000)))

    first, last = head_and_tail(LogFile(path), head=1 << 16, tail=1 << 15)

    assert 1 << 16 <= sum(map(len, first)) <= taken.taken - sum(map(len, last)) <= 6 << 14


# ------------------------------------------------------------------------------------------------------------ passes


class _Work(Counter[str]):
    """Counts the passes over a log, the lines that became records, and those that were digested."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, store: Any) -> None:
        super().__init__()
        lines, records, canonical = LogFile.lines, LogFile.records, store.canonical

        def counted_lines(log: LogFile) -> Iterator[bytes]:
            self["passes"] += 1
            return lines(log)

        def counted_records(log: LogFile, *, report: Any) -> Iterator[Record]:
            for record in records(log, report=report):
                self["records"] += 1
                yield record

        def counted_canonical(record: Record) -> Any:
            self["digested"] += 1
            return canonical(record)

        monkeypatch.setattr(LogFile, "lines", counted_lines)
        monkeypatch.setattr(LogFile, "records", counted_records)
        store.canonical = counted_canonical


def _exported(monkeypatch: pytest.MonkeyPatch, agent: Any, path: Path) -> tuple[bytes, _Work]:
    with agent.opened(path)[0] as store:
        (info,) = store.sessions(counts=False)
        with monkeypatch.context() as patch:
            work = _Work(patch, store)
            target = MemoryTarget()
            with writer.open(target, options={}, listen=ignore) as writing:
                writing.add(View(store, [info.id], None))
    return target.data, work


@pytest.mark.parametrize("agent", [claude_lines, codex_lines])
def test_an_export_parses_each_line_of_a_small_log_once_and_digests_each_of_any_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, agent: Any
) -> None:
    """The counting of messages and the writing of them each read, parsed and digested all lines."""
    lines = _long_log(agent.Log, agent.SESSION, lines=20)
    name = f"{agent.SESSION}.jsonl" if agent is claude_lines else codex_lines.name()
    path = agent.written(tmp_path / name, lines)

    small, work = _exported(monkeypatch, agent, path)
    assert {"passes": 1, "records": len(lines), "digested": len(lines)} == work

    monkeypatch.setattr(mapped, "_HELD", 1 << 12)
    monkeypatch.setattr(claude_store, "_SMALL", 0)
    monkeypatch.setattr(codex_store, "_SMALL", 0)
    large, work = _exported(monkeypatch, agent, path)
    assert {"passes": 3, "records": 2 * len(lines), "digested": len(lines)} == work
    assert small == large


def test_what_is_held_of_a_small_log_is_let_go_of_line_by_line(tmp_path: Path) -> None:
    import weakref

    class Data(dict[str, Any]):
        """A line that can be watched."""

    lines = _long_log(claude_lines.Log, claude_lines.SESSION, lines=20)
    path = claude_lines.written(tmp_path / f"{claude_lines.SESSION}.jsonl", lines)
    alive: list[weakref.ref[Data]] = []

    def watched(records: Iterator[Record]) -> Iterator[Record]:
        for record in records:
            record.data = data = Data(record.data)
            alive.append(weakref.ref(data))
            yield record

    plain = LogFile.records
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LogFile, "records", lambda log, report: watched(plain(log, report=report)))
        with claude_lines.opened(path)[0] as store:
            records = store.records(claude_lines.SESSION)
            for _ in range(30):
                next(records)

            assert 29 <= sum(ref() is None for ref in alive)


def test_the_room_for_plans_is_reckoned_without_going_over_them_each_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """For each session the plans of all before it were weighed, so that many sessions took the square of their number."""
    count = 30
    for number in range(count):
        session = f"1f0c5b9e-0000-4000-8000-{number:012}"
        log = claude_lines.Log(session, tag=f"{number}.")
        log.user("Where is the harbour?")
        claude_lines.written(tmp_path / f"{session}.jsonl", log.lines)
    weighed = 0

    def weight(plan: Plan) -> int:
        nonlocal weighed
        weighed += 1
        return 10

    monkeypatch.setattr(Plan, "weight", property(weight))
    monkeypatch.setattr(claude_store, "_ROOM", 95)
    with claude_lines.opened(tmp_path)[0] as store:
        for _ in range(2):
            for info in store.sessions(counts=False):
                assert 1 == len(list(store.records(info.id)))
                assert 95 >= 10 * len(store._plans)

    assert 4 * count >= weighed


@pytest.mark.parametrize(("small", "passes"), [(1 << 22, 0), (0, 1)])
def test_the_messages_of_a_small_document_are_cut_out_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small: int, passes: int
) -> None:
    path = tmp_path / "session_20260201_100000_0a1b2c3d.json"
    said = [{"role": "user", "content": f"Low water at {hour}?"} for hour in range(9)]
    path.write_text(json.dumps({"session_id": "20260201_100000_0a1b2c3d", "messages": said}, indent=2))
    monkeypatch.setattr(documents, "_SMALL", small)
    whole = documents.Document(LogFile(path))
    opened = 0
    plain = LogFile.open

    def counted(log: LogFile, **more: Any) -> Any:
        nonlocal opened
        opened += 1
        return plain(log, **more)

    monkeypatch.setattr(LogFile, "open", counted)

    assert said == [record.data for record in whole.records(report=log_lines.unheard)]
    assert passes == opened


def test_names_of_calls_are_remembered_for_results_and_do_not_grow_in_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Codex' results bear their names themselves, and each call's was kept to the end: 100 bytes of memory for each."""
    monkeypatch.setattr(mapped, "_CALLS", 10)
    names: dict[str, str] = {}
    for number in range(100):
        call = Message(role="assistant", author="model", blocks=[ToolCall(f"c{number}", f"tool{number}", {})])
        given = "ls" if number % 5 else None
        result = Message(role="tool", author="tool", blocks=[ToolResult(f"c{number}", given, [])])
        rows = [row for message in (call, result) for row in mapped._rows(message, names, Counter())]

        assert [None, given or f"tool{number}"] == [row["tool_name"] for row in rows]
        assert 10 >= len(names)


# ------------------------------------------------------------------------------------------------------------ tokens


def test_what_was_spent_is_found_in_any_order_and_however_much_it_is() -> None:
    spent = Spent()
    given = {5: (9, 1, 0, 3, 0), 7: (1 << 40, 0, 0, 2, 1), 9: ((1 << 32) - 1, 4, 0, 1, 0), 12: (1, 0, 0, 1, 0)}
    for at, counts in given.items():
        spent.put(at, counts)
    spent.put(9, (1, 1, 1, 1, 1))
    spent.put(3, (2, 1, 0, 1, 0))

    def told(at: int) -> tuple[int, int, int] | None:
        usage = spent.get(at)
        return (usage.input, usage.cache_read, usage.output) if usage is not None else None

    expected = {3: (1, 1, 1), 4: None, 5: (8, 1, 3), 7: (1 << 40, 0, 2), 8: None, 9: ((1 << 32) - 5, 5, 2), 12: (1, 0, 1)}
    for order in (sorted(expected), sorted(expected, reverse=True), [9, 3, 12, 12, 4, 13, 5, 8, 7]):
        assert [expected.get(at) for at in order] == [told(at) for at in order]
