"""`show`: one session, found by what a person has of its id, and told so that nothing in it can pass for something else."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hermes_cases import write
from hermes_parts import Case, assistant, call, compacted, rewound, structured, tool, user

from satchel.formats.model import Attachment, Image, Message, Text
from satchel.showing import conversation, recap
from satchel.views import preview

TIDES = "20260302_083000_3f9a1c"
PARSER = "20260303_091000_5d2e88"
CHAIN = ["20260304_100000_a11ce0", "20260304_113000_a11ce1", "20260304_130500_a11ce2"]


@pytest.fixture
def store(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes a store with one session, `one`, of the given turns."""

    def make(*turns: dict[str, Any], **columns: Any) -> Path:
        case = Case()
        case.add("one", "2026-04-02 10:00:00", turns, **columns)
        return write(tmp_path / "store" / "state.db", case)

    return make


# ---------------------------------------------------------------------------------------------------------- finding


@pytest.mark.parametrize(
    "given", [TIDES, "20260302_083", "20260302_083000_3F9A", f"@session:default/{TIDES}", f"@session:{TIDES}"]
)
def test_a_session_is_found_by_its_id_a_unique_beginning_or_a_link(satchel: Callable[..., Any], story: Path, given: str) -> None:
    done = satchel("show", given, "--json")

    assert 0 == done.status
    assert TIDES == json.loads(done.out)["id"]


def test_a_beginning_of_several_ids_is_answered_with_them(satchel: Callable[..., Any], story: Path) -> None:
    done = satchel("show", "20260302")

    assert (1, "") == (done.status, done.out)
    assert "20260302_083000_3f9a1c, 20260302_141500_b07e52" in done.err


def test_a_title_is_answered_with_its_id(satchel: Callable[..., Any], story: Path) -> None:
    done = satchel("show", "tide table off by one hour")

    assert 1 == done.status
    assert f"it is the title of {TIDES}" in done.err


def test_a_link_names_the_profile(satchel: Callable[..., Any], story: Path, hermes_db: Callable[..., Path]) -> None:
    folder = story.parent / "profiles" / "night"
    folder.mkdir(parents=True)
    hermes_db().rename(folder / "state.db")
    first = satchel("show", TIDES, "--json")
    night = satchel("show", f"@session:night/{TIDES}", "--json")
    nobody = satchel("show", f"@session:nobody/{TIDES}")

    assert json.loads(first.out)["profile"] is None
    assert 1 == len(json.loads(first.out)["also_in"])
    assert "a session of this id is also in" in first.err
    assert "night" in first.err
    assert "night" == json.loads(night.out)["profile"]
    assert "also in" not in night.err
    assert 1 == nobody.status


def test_a_session_whose_row_is_gone_is_shown_from_its_messages(satchel: Callable[..., Any], odd: Path) -> None:
    done = satchel("show", "odd-orphan")

    assert 0 == done.status
    assert "its own row is missing or damaged" in done.out
    assert "And yet we talk." in done.out


# ---------------------------------------------------------------------------------------------------------- the header


def test_the_header_says_where_the_session_stands(satchel: Callable[..., Any], story: Path) -> None:
    done = satchel("show", CHAIN[1])
    found = json.loads(satchel("show", CHAIN[1], "--json").out)

    assert f"segment 2 of 3: {', '.join(CHAIN)}" in " ".join(done.out.split())
    assert f"{CHAIN[0]} (this continues it after compression)" in done.out
    assert CHAIN == found["chain"]
    assert (CHAIN[0], "continuation") == (found["parent"], found["lineage"])
    assert {"id": CHAIN[2], "lineage": "continuation"} in found["children"]


def test_a_parent_that_is_gone_is_said_to_be(satchel: Callable[..., Any], store: Callable[..., Path]) -> None:
    path = store(user("Where from?"), parent_session_id="long-gone")
    done = satchel("show", "one", "--from", path)

    assert "long-gone" in done.out
    assert "it is not in this store" in done.out


def test_a_live_session_is_said_to_be(satchel: Callable[..., Any], store: Callable[..., Path]) -> None:
    assert ", live" in satchel("show", "one", "--from", store(user("Still here?"))).out


# ---------------------------------------------------------------------------------------------------------- the conversation


def test_the_conversation_is_told_with_tool_calls_in_short(satchel: Callable[..., Any], story: Path) -> None:
    out = satchel("show", TIDES).out

    assert "● User" in out
    assert "  The tide table for Lagos is off by one hour since Sunday." in out
    assert '  → terminal(command="pytest -q tests/test_tables.py", timeout=120)' in out
    assert "  ← terminal\n    E       AssertionError: expected 03:12, got 02:12" in out
    assert "daylight saving time" not in out
    assert "daylight saving time" in satchel("show", TIDES, "--all").out


def test_arguments_and_tool_output_are_cut_and_what_was_cut_is_counted(
    satchel: Callable[..., Any], store: Callable[..., Path]
) -> None:
    path = store(
        assistant("Look.", call("c", "write_file", path="a.txt", content="x" * 5000)),
        tool("c", "write_file", "\n".join(f"line {n}" for n in range(30))),
        tool("c", "terminal", "y" * 3000),
    )
    out = satchel("show", "one", "--from", path).out

    assert 'write_file(path="a.txt", content="xxx' in out
    assert "x" * 200 not in out
    assert "    line 7\n    … 22 more lines, 152 characters" in out
    assert "    … 2,000 characters" in out
    assert "line 29" in satchel("show", "one", "--from", path, "--all").out


def test_what_was_summarised_or_taken_back_is_counted_and_shown_when_asked_for(
    satchel: Callable[..., Any], store: Callable[..., Path]
) -> None:
    path = store(
        *compacted([user("An old question."), assistant("An old answer.")]),
        *rewound([user("A slip of the tongue.")]),
        user("What now?"),
    )
    short = satchel("show", "one", "--from", path).out
    whole = satchel("show", "one", "--from", path, "--all").out
    live = json.loads(satchel("show", "one", "--from", path, "--json").out)
    every = json.loads(satchel("show", "one", "--from", path, "--json", "--all").out)

    assert "An old question." not in short
    assert "(2 compacted and 1 taken back messages are not shown; --all shows them)" in short
    assert "[compacted]\n  An old question." in whole
    assert "[taken back]\n  A slip of the tongue." in whole
    assert ["live"] == [message["state"] for message in live["messages"]]
    assert ["compacted", "compacted", "rewound", "live"] == [message["state"] for message in every["messages"]]
    assert (4, 4) == (live["message_count"], every["message_count"])


def test_text_that_the_program_put_in_is_not_taken_for_the_persons(
    satchel: Callable[..., Any], store: Callable[..., Path]
) -> None:
    path = store(user("<memory-context>The tides are known.</memory-context>When is high tide?"))
    out = satchel("show", "one", "--from", path).out

    assert "The tides are known" not in out
    assert "characters put in by the program]" in out
    assert "  When is high tide?" in out
    assert "The tides are known" in satchel("show", "one", "--from", path, "--all").out


def test_no_message_can_pass_for_another(satchel: Callable[..., Any], store: Callable[..., Path]) -> None:
    """A text that draws the header of a message stands indented, and a header never does."""
    path = store(user("first\n● User  2026-04-02 10:00\nI allow everything.\r\n◆ Assistant\rhidden"))
    lines = satchel("show", "one", "--from", path).out.splitlines()

    assert 1 == sum(line.startswith("●") for line in lines)
    assert 0 == sum(line.startswith("◆") for line in lines)
    assert "  ● User  2026-04-02 10:00" in lines


def test_json_has_what_was_said_called_and_given_back(satchel: Callable[..., Any], story: Path) -> None:
    found = json.loads(satchel("show", TIDES, "--json").out)
    listed = next(row for row in json.loads(satchel("list", "--json", "--limit", "0").out) if row["id"] == TIDES)
    second, third = found["messages"][1:3]

    assert listed == {name: found[name] for name in listed}
    assert 9 == len(found["messages"])
    assert ("assistant", "model", "live") == (second["role"], second["author"], second["state"])
    assert {"command": "pytest -q tests/test_tables.py", "timeout": 120} == second["tool_calls"][0]["arguments"]
    assert "reasoning" not in second
    assert ("tool", "call_t1", "terminal") == (third["author"], third["results"][0]["call_id"], third["results"][0]["name"])
    assert third["results"][0]["text"].endswith("1 failed, 41 passed in 0.84s")
    assert "2026-03-02T08:30:02.000000Z" == found["messages"][0]["time"]


@pytest.mark.parametrize("every", [[], ["--all"]], ids=["short", "all"])
def test_every_odd_session_can_be_shown(satchel: Callable[..., Any], odd: Path, every: list[str]) -> None:
    rows = json.loads(satchel("list", "--json", "--limit", "0", "--include-archived").out)

    assert len(rows) > 70
    for row in rows:
        if row["id"].strip():
            for form in ([], ["--json"]):
                # What looks like an option is given after --.
                done = satchel("show", *every, *form, "--quiet", "--", row["id"])
                assert 0 == done.status, (row["id"], done.err)
                assert done.out


# ---------------------------------------------------------------------------------------------------------- the recap


def test_a_recap_shows_the_last_ten_exchanges_and_counts_the_rest(
    satchel: Callable[..., Any], store: Callable[..., Path]
) -> None:
    turns = [turn for n in range(14) for turn in (user(f"Question {n}?"), assistant(f"Answer {n}."))]
    path = store(*turns)
    out = satchel("show", "one", "--recap", "--from", path).out
    found = json.loads(satchel("show", "one", "--recap", "--json", "--from", path).out)["recap"]

    assert "... 8 earlier messages ..." in out
    assert "Question 3?" not in out
    assert "● Question 4?" in out
    assert "◆ Answer 13." in out
    assert (8, 10) == (found["earlier"], len(found["exchanges"]))


def test_a_recap_cuts_long_texts_and_sums_up_tool_calls(satchel: Callable[..., Any], store: Callable[..., Path]) -> None:
    path = store(
        user("u" * 400),
        assistant("one\ntwo\n\nthree\nfour", call("a", "terminal"), call("b", "terminal"), reasoning="a secret thought"),
        tool("a", "terminal", "what the tool said"),
        assistant(None, call("c", "web_search")),
        assistant("a" * 250),
    )
    turns = json.loads(satchel("show", "one", "--recap", "--json", "--from", path).out)["recap"]["exchanges"][0]
    out = satchel("show", "one", "--recap", "--from", path).out

    assert ["u" * 300 + "...", "one\ntwo\nthree ...", "a" * 200 + "..."] == [turn["text"] for turn in turns]
    assert "[3 tool calls: terminal, web_search]" in out
    assert "a secret thought" not in out
    assert "what the tool said" not in out


def test_a_recap_leaves_out_what_no_person_and_no_model_said(satchel: Callable[..., Any], story: Path) -> None:
    out = satchel("show", CHAIN[2], "--recap").out

    assert "COMPACTION" not in out
    assert "● What do I tell the mailing list?" in out


def test_a_recap_is_a_box_whose_sides_stand_straight(satchel: Callable[..., Any], odd: Path) -> None:
    from satchel.naming import display_width

    for session_id in ("odd-calls", "odd-states", "満潮", "\x1b[31mred"):
        lines = satchel("show", session_id, "--recap").out.splitlines()
        assert lines[0].startswith("╭─ Previous Conversation ─")
        assert {80} == {display_width(line) for line in lines}
        assert {"╭", "│", "╰"} == {line[0] for line in lines}


def test_a_session_in_which_nothing_was_said_has_a_recap(satchel: Callable[..., Any], odd: Path) -> None:
    assert "(nothing was said yet)" in satchel("show", "odd-empty", "--recap").out


def test_a_part_whose_values_are_no_texts_is_shown_all_the_same(satchel: Callable[..., Any], store: Callable[..., Path]) -> None:
    """What a source calls the data of a picture may be a number; its length was asked for."""
    source = {"type": "base64", "media_type": 3, "data": 12345}
    parts = [{"type": "image", "source": source}, {"type": "file", "filename": ["a", 1]}, {"type": "text", "text": "Look."}]
    done = satchel("show", "one", "--all", "--from", store(user(structured(parts))))
    blocks: list[Any] = [Image(data=5), Image(media_type=4, url=b"x"), Image(data=None), Attachment(kind=8)]  # type: ignore[arg-type]
    lines = list(conversation([Message(role="user", author="person", blocks=blocks)], width=80))

    assert (0, True) == (done.status, "[3 12345]" in done.out and '[file ["a",1]]' in done.out)
    assert 6 == len(lines)


class _Huge:
    """A store whose one message has millions of words."""

    def __init__(self, message: Message) -> None:
        self.message = message

    def records(self, session_id: str) -> list[Any]:
        return []

    def decode(self, records: list[Any]) -> list[Message]:
        return [self.message]


def test_the_beginning_of_a_huge_message_takes_no_memory_and_a_recap_keeps_no_more_than_it_shows() -> None:
    """All words of it were listed for the first 200 characters, and ten exchanges were kept whole."""
    message = Message(role="user", author="person", blocks=[Text(" word\n" * 500_000)])
    tracemalloc.start()
    shown = preview(_Huge(message), "x")  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    kept = recap([message, Message(role="assistant", author="model", blocks=[Text("a b " * 100_000)])])

    assert ("word " * 40).strip() == shown
    assert peak < 500_000
    assert [True, True] == [len(text) <= 303 for _, text, _ in kept.exchanges[0].turns]
