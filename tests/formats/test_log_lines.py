"""Lines of logs: a damaged one costs itself, what is whole in it is read, and the bytes are all kept."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from satchel.contracts import Record
from satchel.errors import StoreChanged, StoreError
from satchel.formats.log_lines import LogFile, canonical, head_and_tail
from satchel.jsontext import loads

A, B = b'{"a": 1, "n": {"x": [1]}}', b'{"b": "two"}'


def _read(path: Path, data: bytes) -> tuple[list[Record], list[tuple[int, str, int]]]:
    path.write_bytes(data)
    heard: list[tuple[int, str, int]] = []
    return list(LogFile(path).records(report=lambda *told: heard.append(told))), heard


@pytest.mark.parametrize(
    ("line", "values", "told"),
    [
        (A + B, [json.loads(A), json.loads(B)], True),
        (A + b"  " + B + A, [json.loads(A), json.loads(B), json.loads(A)], True),
        (b'{"parentUuid": "x", "text": "prNu' + A, [None, json.loads(A)], True),
        (b'{"parentUuid": "x", "text": [{"type": "text", "text": "pr' + A + B, [None, json.loads(A), json.loads(B)], True),
        (b"\0" * 300 + A, [None, json.loads(A)], True),
        (A + b"\0" * 300, [json.loads(A), None], True),
        (A + b"\0" * 9 + B, [json.loads(A), None, json.loads(B)], True),
        (b'{"a": "cu\0\0\0\0' + B, [None, json.loads(B)], True),
        (b"\0" * 700, [None], True),
        (b'{"a": "cut off', [None], True),
        (b'{"a": {"inner": {"x": 1}, "b": tru', [None], True),
        (b"not JSON", [None], True),
        (b"[" * 2_000 + b"]" * 2_000, [None], True),
        (b'{"a": "\xff\xfe"}', [{"a": "\ufffd\ufffd"}], True),
        (b'{"a": "\xff"}' + B, [{"a": "\ufffd"}, json.loads(B)], True),
        (b'{"n": 123456789012345678901234567890}', [{"n": 123456789012345678901234567890}], False),
        (b'{"a": "\\ud83d"}', [{"a": "\ud83d"}], False),
        ('{"a": "\u2028\u0085"}'.encode(), [{"a": "\u2028\u0085"}], False),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_what_a_damaged_line_holds_is_read_and_its_bytes_are_kept(
    tmp_path: Path, line: bytes, values: list[Any], told: bool, end: bytes
) -> None:
    records, heard = _read(tmp_path / "a.jsonl", b"\xef\xbb\xbf" + B + b"\n\n" + line + end)
    assert [json.loads(B), *values] == [record.data for record in records]
    assert {"line"} == {record.kind for record in records}
    assert [1] + [3] * len(values) == [record.key for record in records]
    assert line + end == b"".join(record.raw or b"" for record in records[1:])
    assert all(loads(b"".join(canonical(record))) is not None for record in records)
    assert 0 == sum(lost for _, _, lost in heard), "its bytes are kept"
    assert bool(heard) is told


@pytest.mark.parametrize("end", [B, b""])
def test_what_follows_a_hundred_damaged_records_on_one_line_is_kept_and_told(tmp_path: Path, end: bytes) -> None:
    torn, many = b'{"a": "cut ' + A, 130
    records, heard = _read(tmp_path / "a.jsonl", torn * many + end + b"\n")
    whole = sum(record.data is not None for record in records)
    assert 99 == whole
    assert A + torn * (many - whole - 1) + end + b"\n" == records[-1].raw
    assert torn * many + end + b"\n" == b"".join(record.raw or b"" for record in records)
    ((_, message, lost),) = heard
    assert "101 damaged records stand on this line beside 99 whole" in message
    assert "what follows the first 100 of them is not looked into" in message
    assert 0 == lost, "its bytes are kept"
    assert ["a damaged record stands on this line beside 1 whole; what is whole is read, the rest is kept as it stands"] == [
        message for _, message, _ in _read(tmp_path / "b.jsonl", torn + b"\n")[1]
    ]


@given(
    st.lists(
        st.sampled_from([A, B, b"\n", b"\r\n", b'{"a": "cut', b"\0\0", b"[1]", b"\xff", b'"', b"}", b" ", b'{"']), max_size=12
    )
)
@example([b'{"', b'{"', A])
def test_no_byte_is_lost_whatever_stands_there(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]) -> None:
    data = b"".join(parts)
    records, _ = _read(tmp_path_factory.getbasetemp() / "any.jsonl", data)
    kept = b"".join(record.raw or b"" for record in records)
    blank = b"".join(line for line in data.splitlines(keepends=True) if line.strip(b"\xef\xbb\xbf \t\r\n"))
    assert [line for line in blank.split(b"\n") if line.strip()] == [line for line in kept.split(b"\n") if line.strip()]


def test_what_is_appended_meanwhile_is_for_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(A + b"\n")
    log = LogFile(path)
    with path.open("ab") as file:
        file.write(B + b"\n")
    assert [json.loads(A)] == [record.data for record in log.records(report=lambda *told: None)]
    log.check()
    os.truncate(path, 3)
    with pytest.raises(StoreChanged):
        log.check()
    path.unlink()
    with pytest.raises(StoreChanged):
        log.check()


def test_a_compressed_log_is_read_by_its_content(tmp_path: Path) -> None:
    import zstandard

    data = b"".join(A + b"\n" for _ in range(5_000))
    packed = zstandard.ZstdCompressor().compress(data)
    path = tmp_path / "a.jsonl"
    records, heard = _read(path, packed)
    assert 5_000 == len(records)
    assert [] == heard
    first, last = head_and_tail(LogFile(path), head=100, tail=100)
    assert [A + b"\n"] * 4 == first
    assert [A + b"\n"] * 3 == last
    records, heard = _read(path, packed[: len(packed) - 8])
    assert 1 == sum(told[2] for told in heard)


def test_the_ends_of_a_log_are_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [b'{"n": %d}\n' % n for n in range(10_000)]
    for data in (b"".join(lines), b"".join(lines)[:-1]):
        path.write_bytes(data)
        first, last = head_and_tail(LogFile(path), head=1_000, tail=1_000)
        assert data.startswith(b"".join(first))
        assert data.endswith(b"".join(last))
        assert first[0] == lines[0]
        assert last[0] in lines
        assert 900 < len(b"".join(last)) <= 1_000
    path.write_bytes(lines[0])
    assert ([lines[0]], []) == head_and_tail(LogFile(path))
    path.write_bytes(b"x" * 5_000 + b"\n" + b"y" * 5_000)
    assert ([b"x" * 5_000 + b"\n"], []) == head_and_tail(LogFile(path), head=10, tail=10)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    with pytest.raises(StoreError):
        LogFile(tmp_path / "a.jsonl")
    with pytest.raises(StoreError):
        LogFile(tmp_path / "none.jsonl")
