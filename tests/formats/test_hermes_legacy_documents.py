"""A file that is one object is taken apart whatever its spelling, and gives what is whole in it when it is cut off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from satchel.contracts import Record
from satchel.formats.hermes_legacy.documents import BODY, MESSAGES, Document, outline
from satchel.formats.log_lines import LogFile

DOC: dict[str, Any] = {
    "session_id": "a",
    "tools": [{"x": [1]}],
    "message_count": 3,
    "messages": [
        {"role": "user", "content": "café ☕\n    }"},
        {"role": "assistant", "content": [{"z": []}], "n": 123456789012345678901234567890},
        {"role": "tool", "content": "\ud83d"},
    ],
    "after": [1],
}
Told = list[tuple[int, str, int]]


def _cut(path: Path, data: bytes, way: Any = MESSAGES) -> tuple[Document, list[Record], Told]:
    path.write_bytes(data)
    told: Told = []
    document = Document(LogFile(path), way)
    return document, list(document.records(report=lambda *what: told.append(what))), told


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("spelling", [{"indent": 2}, {"indent": 2, "ensure_ascii": False}, {}, {"indent": 4}, {"indent": "\t"}])
def test_every_spelling_gives_the_same(tmp_path: Path, spelling: dict[str, Any], start: str, end: str) -> None:
    text = start + json.dumps(DOC, **spelling).replace("\n", end)
    document, records, told = _cut(tmp_path / "a.json", text.encode("utf-8", "surrogatepass"))
    if spelling.get("ensure_ascii", True):
        assert [] == told
        assert DOC["messages"] == [record.data for record in records]
    assert DOC | {"messages": []} == document.data
    assert [1, 2, 3] == [record.key for record in records]
    assert 3 == document.count
    rest = document.rest.decode("utf-8", "surrogatepass")
    for record in records:
        assert record.raw is not None
        assert record.raw in text.encode("utf-8", "surrogatepass")
    assert DOC | {"messages": []} == json.loads(rest.removeprefix("\ufeff"))


@pytest.mark.parametrize("indent", [2, None])
def test_a_file_cut_anywhere_gives_what_is_whole_and_says_so(tmp_path: Path, indent: int | None) -> None:
    data = json.dumps(DOC, indent=indent).encode()
    for length in range(1, len(data)):
        document, records, told = _cut(tmp_path / "a.json", data[:length])
        whole = [record.data for record in records if record.data is not None]
        assert DOC["messages"][: len(whole)] == whole
        assert told, length
        begun = data.find(b'"role"')
        if length > begun:
            assert sum(lost for _, _, lost in told) >= 3 - len(whole)
        for record in records:
            assert record.raw
        assert (document.data or {}).items() <= (DOC | {"messages": []}).items() or length < begun


@pytest.mark.parametrize("indent", [2, None])
def test_a_request_has_its_messages_inside(tmp_path: Path, indent: int | None) -> None:
    dump = {"session_id": "a", "request": {"method": "POST", "body": {"messages": DOC["messages"], "tools": []}}}
    document, records, told = _cut(tmp_path / "a.json", json.dumps(dump, indent=indent).encode(), BODY)
    assert DOC["messages"] == [record.data for record in records]
    assert {"session_id": "a", "request": {"method": "POST", "body": {"messages": [], "tools": []}}} == document.data
    assert [] == told


@pytest.mark.parametrize(
    ("data", "values", "lost"),
    [
        (b'{\n  "messages": [\n    {\n "a": {\n    }\n}\n  ]\n}', [{"a": {}}], 0),
        (b'{\n  "messages": [\n    {\n      "a": 1\n    },\n    "text",\n    {}\n  ]\n}', [{"a": 1}, "text", {}], 0),
        (b'{\n  "messages": [\n    {\n      "a": "\xff"\n    }\n  ]\n}', [{"a": "\ufffd"}], 0),
        (b'{"messages": [{"a": "\xff"}], "b": "\xff"}', [{"a": "\ufffd"}], 0),
        (b'{"messages": [{"a": "tab\there"}]}', [{"a": "tab\there"}], 0),
        (b'{"messages": [{"a": 1}]}\0\0\0', [{"a": 1}], 0),
        (b'{"messages": [{"a": 1}, {"b": tru}, {"c": 1}]}', [{"a": 1}, None], 1),
        (b'{"messages": {"a": 1}}', [], 0),
        (b'{"messages": []}', [], 0),
        (b"\0" * 64, [None], 1),
        (b"[1]", [None], 1),
    ],
)
def test_odd_and_damaged_ones(tmp_path: Path, data: bytes, values: list[Any], lost: int) -> None:
    _, records, told = _cut(tmp_path / "a.json", data)
    assert values == [record.data for record in records]
    assert lost == sum(each for _, _, each in told)


def test_long_messages_are_cut_across_what_is_read_at_once(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": f"{number}" * size} for number, size in enumerate([1, 3_000_000, 1_048_500, 40])]
    document, records, _ = _cut(tmp_path / "a.json", json.dumps({"messages": messages}, indent=2).encode())
    assert messages == [record.data for record in records]
    assert not document._whole


def test_the_beginning_of_a_file_names_its_keys() -> None:
    found = outline('{"session_id": "s", "tools": [{"messages": 1}], "messages": [{"a": 1', head=True)
    assert ["session_id", "tools", "messages"] == found.keys
    assert {"session_id": "s", "tools": [{"messages": 1}], "messages": []} == found.data
