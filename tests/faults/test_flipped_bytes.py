"""Whatever single byte of an export changes: it is noticed, or it says the same as before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from exporting import exported
from hermes_cases import write
from hermes_parts import Case, TextBytes, assistant, call, compacted, rewound, structured, user

from satchel.digest import content_digest
from satchel.errors import SatchelError
from satchel.events import Problem, ignore
from satchel.formats.hermes_state import reader as hermes
from satchel.formats.jsonl import reader
from satchel.formats.jsonl.readback import ReadBack, read_back

# Another character of the same kind; another case, or a control; bytes that are mostly no UTF-8.
MASKS = (0x01, 0x20, 0x80)
SUMMARY = "[CONTEXT COMPACTION — REFERENCE ONLY] So far."


def _rows() -> Case:
    case = Case()
    turns = [
        user(structured([{"type": "text", "text": "é"}])),
        assistant("Hi.", call("c1", "f", n=1)),
        *compacted([user("old")]),
        *rewound([user(TextBytes(b"caf\xe9"))]),
        user("x\t\n", timestamp=float("inf"), api_content=b"\x00\xff\x01"),
    ]
    case.add("s", 1e9, turns, title="T", ended_at=1e9 + 9.5, end_reason="compression")
    case.add("t", 1e9 + 10, [user(SUMMARY), user("x\t\n"), user("5")], parent_session_id="s")
    case.statements += ["CREATE TABLE dreams (session_id TEXT, body)", "INSERT INTO dreams VALUES ('s', x'ff')"]
    case.row("state_meta", key="goal:s", value="{}")
    return case


def _what_it_says(line: Any) -> Any:
    """Return a parsed line without what the digest leaves out: ids of messages, derived counts, the newest time."""
    line = json.loads(json.dumps(line))
    for row in (*line["messages"], *line["satchel"].get("hidden", ()), *line["satchel"].get("carried", ())):
        del row["id"]
    if "segments" in line["satchel"]:
        # A line of several says of its sessions what stands under `segments`; the rest is for others to read.
        line = {key: line[key] for key in ("messages", "satchel")}
        for segment in line["satchel"]["segments"]:
            del segment["session"]["message_count"], segment["session"]["tool_call_count"]
        line["satchel"]["exact"] = {
            k: v for k, v in line["satchel"]["exact"].items() if k.startswith(("/messages/", "/satchel/"))
        }
    else:
        del line["last_active"], line["message_count"], line["tool_call_count"]
    return line


def _flips(path: Path, data: bytes, *, step: int = 1) -> Iterator[tuple[int, int, bytes]]:
    """Change one byte of a file after the other, and yield where, how, and all its bytes as they are then."""
    with path.open("r+b", buffering=0) as file:
        for place in range(0, len(data), step):
            for mask in MASKS:
                byte = bytes([data[place] ^ mask])
                file.seek(place)
                file.write(byte)
                yield place, mask, data[:place] + byte + data[place + 1 :]
            file.seek(place)
            file.write(data[place : place + 1])


@pytest.mark.parametrize(("group", "step"), [(("s",), 1), (("s", "t"), 2)])
def test_a_flipped_byte_is_noticed_unless_it_says_nothing(tmp_path: Path, group: tuple[str, ...], step: int) -> None:
    out = tmp_path / "out.jsonl"
    with hermes.open(write(tmp_path / "state.db", _rows(), schema=17), listen=ignore) as store:
        data, _, digests = exported(store, group)
    out.write_bytes(data)
    assert digests == {b.session_id: b.content_digest for b in read_back(out, update=len) if isinstance(b, ReadBack)}
    said = _what_it_says(json.loads(data))
    silent = 0
    for place, mask, changed in _flips(out, data, step=step):
        back = list(read_back(out, update=len))
        found = {b.session_id: b.content_digest for b in back if isinstance(b, ReadBack)}
        if any(isinstance(b, Problem) for b in back) or found != digests:
            continue
        silent += 1
        assert said == _what_it_says(json.loads(changed)), (place, mask, changed[max(0, place - 20) : place + 20])
    assert 0 < silent < 100


@pytest.mark.parametrize("group", [("s",), ("s", "t")])
def test_the_store_of_a_flipped_file_agrees_with_its_reading_back(tmp_path: Path, group: tuple[str, ...]) -> None:
    """Or says that something is wrong; and never breaks."""
    out = tmp_path / "out.jsonl"
    with hermes.open(write(tmp_path / "state.db", _rows(), schema=17), listen=ignore) as store:
        data, _, wanted = exported(store, group)
    out.write_bytes(data)
    for place, mask, _ in _flips(out, data, step=5):
        found = {b.session_id: b for b in read_back(out, update=len) if isinstance(b, ReadBack)}
        problems: list[Any] = []
        try:
            with reader.open(out, listen=problems.append) as copy:
                digests = {i.id: content_digest(copy.records(i.id), copy.canonical) for i in copy.sessions()}
        except SatchelError:
            continue
        same = {name for name, b in found.items() if b.content_digest == wanted.get(name)}
        told = any(isinstance(event, Problem) for event in problems)
        assert told or same == {name for name in digests if digests[name] == wanted.get(name)}, (place, mask)
