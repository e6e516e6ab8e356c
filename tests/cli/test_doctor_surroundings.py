"""`doctor` on what surrounds a store: settings that remove sessions, files of older versions, another agent's clean-up."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doctored import only_store, reasons, settings
from hermes_cases import write
from hermes_parts import Case, assistant, js, user

DAY = 86400.0


# ---------------------------------------------------------------------------------------------------------- settings


@pytest.fixture
def aged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return a function that makes, and puts in use, a store of sessions that ended so many days ago, and some others."""

    def make(schema: int = 23) -> Path:
        now = time.time()
        case = Case()
        for days in (10, 40, 100, 400):
            start = now - days * DAY
            case.add(f"ended-{days}", start, [user("Then?"), assistant("Then.")], ended_at=start + 60, end_reason="cli_close")
        started = now - 200 * DAY
        case.add("live-200", started, [user("Still here.")])
        case.add("pinned-200", started, [user("Keep me.")], ended_at=started + 60, pinned=1)
        case.add("archived-200", started, [user("Hide me.")], ended_at=started + 60, archived=1)
        case.add("long-200", started, [user("Back again.", timestamp=now - DAY)], ended_at=now - DAY)
        case.row("state_meta", key="last_auto_prune", value=str(now - 3600))
        path = write(tmp_path / f"aged-{schema}" / "state.db", case, schema=schema)
        monkeypatch.setenv("HERMES_HOME", str(path.parent))
        return path

    return make


def test_auto_prune_is_off_by_default_and_it_is_said_what_it_would_do(
    satchel: Callable[..., Any], aged: Callable[..., Path]
) -> None:
    aged()
    kept = only_store(satchel)["retention"]
    shown = " ".join(satchel("doctor").out.split())

    assert (None, False, 90, True, 30, 24, None) == tuple(
        kept[name]
        for name in (
            *("config", "auto_prune", "retention_days", "vacuum_after_prune"),
            *("min_vacuum_interval_days", "min_interval_hours", "auto_archive"),
        )
    )
    assert 3 == kept["would_remove"]
    assert kept["last_auto_prune"].startswith("20")
    assert "off: Hermes deletes nothing by itself; if it were on, it would delete 3 sessions now" in shown


def test_auto_prune_that_is_on_is_a_reason_with_a_way_to_copy_first(
    satchel: Callable[..., Any], aged: Callable[..., Path]
) -> None:
    path = aged()
    settings(path.parent, "model: x\nsessions:\n  auto_prune: true\n  retention_days: 30\n  auto_archive: {after_days: 7}\n")
    store = only_store(satchel)
    reason = next(each for each in store["reasons"] if "auto-prune is on" in each["text"])

    assert (True, 30, 4, {"after_days": 7}) == tuple(
        store["retention"][name] for name in ("auto_prune", "retention_days", "would_remove", "auto_archive")
    )
    assert "the next run deletes 4 sessions" in reason["text"]
    assert "satchel export old-sessions.jsonl --older-than 30d" == reason["command"]


def test_older_versions_count_from_the_start_and_know_no_pins(satchel: Callable[..., Any], aged: Callable[..., Path]) -> None:
    aged(schema=22)

    assert 5 == only_store(satchel)["retention"]["would_remove"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sessions: [\n  key: 'sk-not-to-be-shown\n", "no valid YAML"),
        ("sessions: 7\n", "no mapping"),
        ("sessions:\n  auto_prune: true\n  retention_days: ninety\n", "retention_days is no number"),
        ("sessions:\n  auto_prune: true\n  retention_days: -1\n", "retention_days is no number"),
        ("sessions:\n  auto_prune: 'false'\n", "neither true nor false"),
        ("when: 2026-99-99\n", "no valid YAML"),
        ("a: &a [*a, *a]\n" + "[" * 5000, "no valid YAML"),
        ("\x00", "no valid YAML"),
        ("? {a: b}\n: c\n", "no valid YAML"),
        ("!!python/object/apply:os.system ['echo owned']\n", "no valid YAML"),
    ],
    ids=["torn", "number", "word", "negative", "text", "date", "deep", "nul", "key", "code"],
)
def test_settings_that_are_broken_are_a_warning(
    satchel: Callable[..., Any], aged: Callable[..., Path], text: str, problem: str
) -> None:
    path = aged()
    settings(path.parent, text)
    done = satchel("doctor", "--json")
    store = json.loads(done.out)["stores"][0]

    assert 0 == done.status
    assert [True] == [problem in warning for warning in store["warnings"]]
    assert 90 == store["retention"]["retention_days"]
    assert "sk-not-to-be-shown" not in done.out + done.err


@pytest.mark.parametrize("text", ["", "sessions:\n", "- a\n- b\n", "just a text\n", "sessions: {}\n"])
def test_settings_that_say_nothing_leave_the_defaults(satchel: Callable[..., Any], aged: Callable[..., Path], text: str) -> None:
    path = aged()
    settings(path.parent, text)
    store = only_store(satchel)

    assert [] == store["warnings"]
    assert (False, 90) == (store["retention"]["auto_prune"], store["retention"]["retention_days"])


# ---------------------------------------------------------------------------------------------------------- beside


def test_old_files_beside_the_store_are_counted(satchel: Callable[..., Any], story: Path) -> None:
    home = story.parent
    files = {
        "sessions/sessions.json": 10,
        "sessions/20260302_083000_3f9a1c.jsonl": 20,
        "sessions/20300101_000000_abcdef.jsonl": 30,
        "sessions/session_20260302_083000_3f9a1c.json": 40,
        "sessions/request_dump_20260302_083000_3f9a1c_1.json": 50,
        "sessions/saved/hermes_conversation_20260302_090000.json": 60,
        "pending_messages/1.json": 70,
        "pending_messages/2.json": 70,
        "state.db.retired-wal-20260302-7/state.db": 80,
        "state.db.retired-wal-20260302-7/state.db-wal": 90,
        "state.db.malformed-backup-20260302": 100,
        "state.db.pre-update-emergency-1.bak": 110,
        "notes.txt": 999,
    }
    for name, size in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(b"x" * size)
    (home / "sessions" / "loop.jsonl").symlink_to(home / "sessions")
    store = only_store(satchel)
    kinds = {each["where"]: (each["files"], each["bytes"], each["unknown"]) for each in store["legacy"]}

    link = os.lstat(home / "sessions" / "loop.jsonl").st_size
    assert {
        "sessions/sessions.json": (1, 10, None),
        "sessions/*.jsonl": (3, 50 + link, 2),
        "sessions/session_*.json": (1, 40, 0),
        "sessions/request_dump_*.json": (1, 50, None),
        "sessions/saved/*.json": (1, 60, None),
        "pending_messages/*": (2, 140, None),
        "*.retired-wal-*": (2, 170, None),
        "*.malformed-backup-*": (1, 100, None),
        "*.pre-update-emergency-*.bak": (1, 110, None),
    } == kinds
    why = reasons(store)
    assert "sessions.json is the gateway's routing, not a list of sessions" in why
    assert "2 files of sessions/*.jsonl named after a session that is not in the store" in why
    assert "2 files in pending_messages/" in why
    assert "session_*.json named" not in why


def test_claude_codes_own_clean_up_is_a_hint(
    satchel: Callable[..., Any], story: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "claude"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder))
    assert [] == json.loads(satchel("doctor", "--json").out)["hints"]
    folder.mkdir()
    settings = folder / "settings.json"
    for text, said in (
        (None, "after 30 days"),
        (js({"cleanupPeriodDays": 365}), "after 365 days"),
        (js({"cleanupPeriodDays": 0}), "ALL its logs"),
        ("{broken", "after 30 days"),
        ("[]", "after 30 days"),
    ):
        if text is not None:
            settings.write_text(text)
        assert [True] == [said in hint["text"] for hint in json.loads(satchel("doctor", "--json").out)["hints"]]
