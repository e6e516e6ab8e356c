"""Hermes' session files and its database are one store: what only the files hold is listed, shown, counted and exported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from satchel.events import ignore
from satchel.formats.hermes_state import reader as hermes
from satchel.formats.model import Message

NEW = "20260101_120000_f11e5a"
LINES = [
    {"role": "user", "content": "Is the ferry late?", "timestamp": "2026-01-01T12:00:00"},
    {"role": "assistant", "content": "By an hour.", "timestamp": "2026-01-01T12:00:05"},
]


class Home(NamedTuple):
    """A home with a database, a session that only a file has, and one of which a file has a message more and a torn line."""

    path: Path
    known: str
    whole: str


@pytest.fixture
def home(story: Path) -> Home:
    sessions = story.parent / "sessions"
    sessions.mkdir()
    with hermes.open(story, listen=ignore) as store:
        known, whole = [info.id for info in store.sessions() if info.messages and info.messages > 2][:2]
        rows = {
            session_id: [
                {"role": record.data["role"], "content": record.data["content"], "tool_calls": record.data["tool_calls"]}
                for record, entry in zip(records, store.decode(records), strict=True)
                if isinstance(entry, Message)
            ]
            for session_id in (known, whole)
            if (records := [record for record in store.records(session_id) if record.kind == "messages"])
        }
    more = {"role": "assistant", "content": "Only here.", "timestamp": "2026-03-02T09:00:00"}
    _write(sessions / f"{NEW}.jsonl", LINES)
    _write(sessions / f"{whole}.jsonl", rows[whole])
    _write(sessions / f"{known}.jsonl", [*rows[known], more])
    with (sessions / f"{known}.jsonl").open("ab") as file:
        file.write(b'{"role": "user", "content": "cut o\n')
    return Home(story.parent, known, whole)


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_list_says_which_sessions_have_more_in_files(satchel: Callable[..., Any], home: Home) -> None:
    """The comparison was there, and nothing called it."""
    rows = {row["id"]: row for row in json.loads(satchel("list", "--limit", "0", "--json", "--include-archived").out)}
    assert (1, 0, 0) == tuple(rows[one]["only_in_files"] for one in (home.known, home.whole, NEW))
    assert ("hermes", "legacy") == (rows[home.known]["format"], rows[NEW]["format"])
    done = satchel("list", "--limit", "0")
    (line,) = (line for line in done.out.splitlines() if home.known in line)
    assert "+1 " in line
    assert "+N: so many messages more are in Hermes' session files" in done.err


def test_a_session_is_shown_with_what_only_files_hold(satchel: Callable[..., Any], home: Home) -> None:
    shown = satchel("show", home.known)
    assert shown.out.index("Only in files") < shown.out.index("Only here.")
    assert "1 more are only in files" in shown.out
    said = json.loads(satchel("show", home.known, "--json").out)
    assert (["Only here."], 1) == ([message["text"] for message in said["messages_only_in_files"]], said["only_in_files"])
    for other in (home.whole, NEW):
        assert "Only in files" not in satchel("show", other).out


def test_doctor_counts_what_only_files_hold(satchel: Callable[..., Any], home: Home) -> None:
    stores = json.loads(satchel("doctor", "--json").out)["stores"]
    (legacy,) = (store for store in stores if store["format"] == "legacy")
    assert {"sessions": 1, "messages": 2, "parts": 1, "messages_of_parts": 1} == legacy["only_in_files"]
    assert all(store["only_in_files"] is None for store in stores if store is not legacy)
    text = " ".join(satchel("doctor").out.split())
    assert "1 session with 2 messages; 1 message of 1 session that the database holds too" in text
    assert "1 message of 1 session are in these files alone" in text
    assert "satchel export hermes-sessions.jsonl --from hermes" in text
    quick = json.loads(satchel("doctor", "--quick", "--json").out)["stores"]
    assert {None} == {store["only_in_files"]["parts"] for store in quick if store["format"] == "legacy"}


@pytest.mark.parametrize("words", [[], ["--from", "hermes"], ["--from", "HOME"], ["--from", "legacy", "--from", "hermes"]])
def test_an_export_of_hermes_takes_what_only_files_hold(
    satchel: Callable[..., Any], home: Home, tmp_path: Path, words: list[str]
) -> None:
    out, again = tmp_path / "out.jsonl", tmp_path / "again.jsonl"
    named = [str(home.path) if word == "HOME" else word for word in words]
    planned = json.loads(satchel("export", "--dry-run", "--json", *named).out)
    assert 0 == satchel("export", out, "--raw", *named).status
    lines = {line["id"]: line for line in map(json.loads, out.read_bytes().splitlines())}
    rest = f"files:{home.known}"
    assert sorted(lines) == sorted(row["session_id"] for row in planned)
    assert {NEW, rest} == {key for key, line in lines.items() if line["satchel"].get("dialect") == "legacy"}
    assert ["Only here."] == [row["content"] for row in lines[rest]["messages"]]
    assert home.known == lines[rest]["parent_session_id"]
    # What nobody can read is only there, too.
    assert '{"role": "user", "content": "cut o\n' == lines[rest]["satchel"]["native"][-1]
    assert f"files:{home.whole}" not in lines
    assert 0 == satchel("verify", out, "--content").status
    assert 0 == satchel("verify", out, "--source", *named).status
    assert 0 == satchel("export", again, "--raw", "--from", out).status
    assert sorted(out.read_bytes().splitlines()) == sorted(again.read_bytes().splitlines())


def test_what_files_hold_of_a_session_goes_with_it(satchel: Callable[..., Any], home: Home, tmp_path: Path) -> None:
    out = tmp_path / "one.jsonl"
    assert 0 == satchel("export", out, "--session-id", home.known).status
    assert [home.known, f"files:{home.known}"] == [json.loads(line)["id"] for line in out.read_bytes().splitlines()]
    assert 0 == satchel("export", out, "--session-id", home.whole, "--force").status
    assert [home.whole] == [json.loads(line)["id"] for line in out.read_bytes().splitlines()]


def test_a_database_alone_is_a_database_alone(satchel: Callable[..., Any], home: Home, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert 0 == satchel("export", out, "--from", home.path / "state.db").status
    ids = {json.loads(line)["id"] for line in out.read_bytes().splitlines()}
    assert home.known in ids
    assert not {NEW, f"files:{home.known}"} & ids


def test_files_alone_are_whole_sessions(satchel: Callable[..., Any], home: Home) -> None:
    ids = {row["id"] for row in json.loads(satchel("list", "--limit", "0", "--json", "--from", "legacy").out)}
    assert {NEW, home.known, home.whole} == ids
