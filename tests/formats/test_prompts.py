"""What people typed, and nothing that was put under their name."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from exporting import View, exported
from hermes_cases import write
from hermes_parts import PIXEL, Case, Row, assistant, compacted, rewound, structured, tool, user

from satchel.events import ignore
from satchel.formats.hermes_state import reader as hermes
from satchel.formats.jsonl.prompts import prompts

Build = Callable[..., Path]

SUMMARY = "[CONTEXT COMPACTION — REFERENCE ONLY] So far."


def _lines(path: Path, *groups: str | Sequence[str]) -> list[dict[str, Any]]:
    with hermes.open(path, listen=ignore) as store:
        data, written, _ = exported(store, *groups, options={"only": "user-prompts"})
    lines = [json.loads(line) for line in data.splitlines()]
    assert len(lines) == sum(one.messages for one in written)
    return lines


def _typed(tmp_path: Path, *turns: Row) -> list[str]:
    case = Case()
    case.add("s", 1e9, turns)
    return [line["text"] for line in _lines(write(tmp_path / "state.db", case, schema=30))]


def test_a_line_a_prompt(hermes_db: Build) -> None:
    assert [
        {
            "session_id": "20260304_190000_7e1e63a0",
            "index": 1,
            "created_at": "2026-03-04T19:00:02Z",
            "role": "user",
            "text": "明日の満潮は何時ですか？リスボンでお願いします。",
            "message_id": 57,
            "event_id": "4101",
        },
        {
            "session_id": "20260304_190000_7e1e63a0",
            "index": 2,
            "created_at": "2026-03-04T19:00:24Z",
            "role": "user",
            "text": "\nThanks! And low tide?",
            "message_id": 59,
            "event_id": "4103",
        },
    ] == _lines(hermes_db(), "20260304_190000_7e1e63a0")


def test_what_others_put_under_a_persons_role_is_left_out(tmp_path: Path) -> None:
    assert ["typed", "steered", "also typed"] == _typed(
        tmp_path,
        user("typed"),
        user("hidden scaffolding", display_kind="hidden"),
        user("steered", display_kind="steering"),
        user("[Marek] not to the agent", observed=1),
        user("[System: the machine restarted]"),
        user(SUMMARY),
        user("so far", _compressed_summary=1),
        user("<memory-context>likes tea</memory-context>"),
        user("[Note: the model changed]"),
        user("  \n"),
        user(None),
        assistant("typed by the model"),
        tool("c1", "terminal", "typed by a tool"),
        {"role": "developer", "content": "typed by a developer"},
        user("also typed"),
    )


def test_what_was_put_into_a_persons_text_is_cut_out(tmp_path: Path) -> None:
    assert ["Hello.", "\nBoth?", "what is kept"] == _typed(
        tmp_path,
        user("[System note: it is Wednesday]\n\nHello."),
        user("<memory-context>likes tea</memory-context>\nBoth?"),
        user("what is kept", api_content="what is sent"),
    )


def test_pictures_are_named_and_not_shown(tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    text = {"type": "text", "text": "Look:"}
    assert ["Look:\n[image]\n[image]", "[image]"] == _typed(
        tmp_path, user(structured([text, picture, picture])), user(structured([picture]))
    )


def test_what_was_taken_back_is_left_out_and_what_was_compacted_is_not(tmp_path: Path) -> None:
    said = [user("1"), assistant("2"), user("3")]
    assert ["1", "3", "5"] == _typed(
        tmp_path, *compacted(said), user(SUMMARY), said[2], *rewound([user("4")]), assistant("a"), user("5")
    )


def test_a_person_who_repeats_themselves_is_heard_each_time(tmp_path: Path) -> None:
    turns = [user("go on"), assistant("a"), user("go on"), assistant("b"), user("stop")]
    assert ["go on", "go on", "stop", "go on"] == _typed(
        tmp_path, *compacted(turns), user(SUMMARY), turns[3], turns[4], assistant("c"), user("go on")
    )
    tmp_path = tmp_path / "again"
    assert ["yes", "no", "yes"] == _typed(
        tmp_path, *compacted([user("yes"), assistant("a"), user("no")]), user(SUMMARY), user("yes")
    )


def test_a_lineage_is_heard_once(tmp_path: Path) -> None:
    case = Case()
    case.add("one", 1e9, [user("1"), assistant("2"), user("3")], ended_at=1e9 + 90, end_reason="compression")
    case.add("two", 1e9 + 100, [user(SUMMARY), user("3"), user("5")], parent_session_id="one")
    path = write(tmp_path / "state.db", case)
    lines = _lines(path, ["one", "two"])
    assert [("two", 1, "1"), ("two", 2, "3"), ("two", 3, "5")] == [(i["session_id"], i["index"], i["text"]) for i in lines]
    assert [2, 2] == [sum(line["session_id"] == name for line in _lines(path)) for name in ("one", "two")]


def test_every_oddity_is_survived(hermes_db: Build) -> None:
    with hermes.open(hermes_db(case="odd"), listen=ignore) as store:
        data, _, _ = exported(store, options={"only": "user-prompts"})
        for line in data.splitlines():
            assert json.loads(line)["text"].strip()
        assert sum(1 for _ in prompts(View(store, "odd-contents"))) > 30


def test_the_index_counts_in_each_session(hermes_db: Build) -> None:
    lines = _lines(hermes_db())
    for session_id in {line["session_id"] for line in lines}:
        mine = [line["index"] for line in lines if line["session_id"] == session_id]
        assert list(range(1, len(mine) + 1)) == mine
