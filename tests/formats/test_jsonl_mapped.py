"""Sessions of other agents stand in the same record: what they say in Hermes' columns, and all of it in the original lines."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from exporting import MemoryTarget

from satchel.contracts import Record, SessionInfo, Usage, Written
from satchel.events import ignore
from satchel.formats.jsonl import reader, writer
from satchel.formats.jsonl.readback import ReadBack, read_back
from satchel.formats.model import (
    Attachment,
    Entry,
    Image,
    Message,
    Note,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)

LINES = [b'{"a": 1}\n', b'{"b": "\xc3\xa9"}\r\n', b'{"torn \xff\n', b'{"last": 1}']
ENTRIES: list[Entry] = [
    Message(role="user", author="harness", blocks=[Text("<env>")], time=1.0),
    Message(role="user", author="person", blocks=[Text("IDE", injected=True), Text("Tide?"), Text("Wind?")], time=2.0),
    Message(
        role="assistant",
        author="model",
        time=3.5,
        model="m-2",
        stop_reason="tool_use",
        usage=Usage(input=10, output=5, cache_read=3, cache_write=2, reasoning=1),
        blocks=[
            Thinking("Look it up."),
            Thinking("", hidden=True, data="gAAA"),
            Text("Looking."),
            ToolCall("c1", "ls", {"path": "é"}),
            ToolCall("c2", "cat", "no JSON"),
        ],
    ),
    Note(kind="system", data={}),
    Message(
        role="user",
        author="tool",
        time=4.0,
        blocks=[ToolResult("c1", None, [Text("a"), Image("image/png", "AAAA")]), ToolResult("c2", None, [Text("b")], error=True)],
    ),
    Message(role="assistant", author="model", blocks=[Text("Gone.")], state="rewound", time=5.0),
    Message(role="assistant", author="model", blocks=[Text("Beside.")], state="sidechain", time=5.5),
    Message(role="assistant", author="model", blocks=[Text("Old.")], state="compacted", time=6.0),
    Message(role="user", author="person", blocks=[Attachment("pdf"), Unknown({"x": 1}), Text("See.")], time=7.0),
    Message(role="assistant", author="model", blocks=[], extra={"copied": True}),
]


class _View:
    dialect = "claude"
    redacted = False

    def __init__(self, *ids: str) -> None:
        self.ids: Sequence[str] = ids

    @property
    def segments(self) -> Sequence[SessionInfo]:
        return [
            SessionInfo(id=one, format="claude", agent="claude", source="claude-code", started_at=0.5, title="T", cwd="/w")
            for one in self.ids
        ]

    @property
    def info(self) -> SessionInfo:
        return self.segments[-1]

    def records(self, segment: int = -1, /) -> Iterator[Record]:
        yield Record("meta", "agent.meta.json", {"x": 1}, b'{"x":1}')
        for number, line in enumerate(LINES, 1):
            yield Record("line", number, None, line)

    def entries(self, segment: int = -1, /) -> Iterator[Entry]:
        yield from ENTRIES

    def files(self, segment: int = -1, /) -> Iterator[tuple[str, Path]]:
        yield from ()

    def extent(self, path: Path, /) -> int | None:
        return None

    def origin(self, segment: int = -1, /) -> str | None:
        return self.dialect

    def native(self, segment: int = -1, /) -> Iterator[Record] | None:
        return self.records(segment)


def _line(*ids: str, **options: Any) -> tuple[dict[str, Any], Written, bytes]:
    target = MemoryTarget()
    with writer.open(target, options=options, listen=ignore) as export:
        written = export.add(_View(*ids))
    return json.loads(target.data), written, target.data


def test_what_is_said_stands_in_hermes_columns() -> None:
    line, written, _ = _line("s")
    rows = line["messages"]
    assert [
        ("user", "harness", "<env>"),
        ("user", "harness", "IDE"),
        ("user", "person", "Tide?\n\nWind?"),
        ("assistant", "model", "Looking."),
        (
            "tool",
            "tool",
            [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}],
        ),
        ("tool", "tool", "b"),
        ("user", "person", "See."),
        ("assistant", "model", None),
    ] == [(row["role"], row["author"], row["content"]) for row in rows]
    assert ["Gone.", "Beside.", "Old."] == [row["content"] for row in line["satchel"]["hidden"]]
    assert [(0, 0, 0), (0, 0, 1), (0, 1, 0)] == [
        (row["active"], row["compacted"], row["sidechain"]) for row in line["satchel"]["hidden"]
    ]
    assert {"path": "é"} == json.loads(rows[3]["tool_calls"][0]["function"]["arguments"])
    assert "no JSON" == rows[3]["tool_calls"][1]["function"]["arguments"]
    assert "Look it up." == rows[3]["reasoning"]
    assert [("c1", "ls"), ("c2", "cat")] == [(row["tool_call_id"], row["tool_name"]) for row in rows[4:6]]
    assert all(rows[0].keys() == row.keys() for row in rows)
    assert (10, 5, 3, 2, 1) == tuple(line[f"{n}_tokens"] for n in ("input", "output", "cache_read", "cache_write", "reasoning"))
    assert ("claude-code", "m-2", 7.0, 0.5, 8, 2) == tuple(
        line[name] for name in ("source", "model", "ended_at", "started_at", "message_count", "tool_call_count")
    )
    assert {"hidden reasoning": 1, "notes: system": 1, "parts: attachment": 1, "parts: unknown": 1} == written.losses
    assert (8, 1, 2) == (written.messages, written.compacted, written.rewound)
    assert "claude" == line["satchel"]["dialect"]
    assert "native" not in line["satchel"]


def test_the_original_lines_give_the_bytes_back() -> None:
    line, _, _ = _line("s", raw=True)
    meta, *lines = line["satchel"]["native"]
    assert {"kind": "meta", "key": "agent.meta.json", "text": '{"x":1}'} == meta
    assert LINES == [base64.b64decode(one["b64"]) if isinstance(one, dict) else one.encode() for one in lines]


@pytest.mark.parametrize("ids", [("s",), ("root", "tip")])
def test_the_rows_are_read_back_with_their_digest(tmp_path: Path, ids: tuple[str, ...]) -> None:
    _, written, data = _line(*ids, raw=True)
    out = tmp_path / "out.jsonl"
    out.write_bytes(data)
    found = list(read_back(out, update=lambda _: None))
    assert list(ids) == [back.session_id for back in found if isinstance(back, ReadBack)]
    with reader.open(out, listen=ignore) as store:
        entries = list(store.decode(store.records(ids[-1])))
        messages = [entry for entry in entries if isinstance(entry, Message)]
        assert ["harness", "harness", "person"] == [message.author for message in messages[:3]]
        assert {"live", "rewound", "compacted", "sidechain"} == {message.state for message in messages}
        if len(ids) == 1:
            (back,) = found
            assert isinstance(back, ReadBack)
            assert written.content_digest == back.content_digest
            assert store.session("s").messages == 8


def test_what_a_later_segment_copied_is_said_once() -> None:
    line, written, _ = _line("root", "tip")
    assert 1 == written.losses["copies of earlier messages"]
    assert [8, 7] == [sum(row["session_id"] == one for row in line["messages"]) for one in ("root", "tip")]
    assert [8, 7] == [segment["session"]["message_count"] for segment in line["satchel"]["segments"]]


def test_prompts_are_what_people_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    copied = Message(role="user", author="person", blocks=[Text("Said in another session.")], extra={"copied": True})
    monkeypatch.setattr(_View, "entries", lambda view, segment=-1: iter([copied, *ENTRIES]))
    target = MemoryTarget()
    with writer.open(target, options={"only": "user-prompts"}, listen=ignore) as export:
        export.add(_View("s"))
    assert ["Tide?\nWind?", "See."] == [json.loads(line)["text"] for line in target.data.splitlines()]
