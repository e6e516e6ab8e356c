"""`doctor`: what it finds beside, inside and around a store; and that it leaves no trace."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from doctored import diagnosis, only_store, reasons, settings
from hermes_cases import write
from hermes_parts import Case, user

DAY = 86400.0


# ---------------------------------------------------------------------------------------------------------- no store


def test_no_store_is_an_answer_that_says_where_it_looked_and_what_to_do(satchel: Callable[..., Any], tmp_path: Path) -> None:
    done = satchel("doctor")
    found = diagnosis(satchel)

    assert 0 == done.status
    assert "No session store is here." in done.out
    assert str(tmp_path / "no-home") in done.out.replace("\n", "")
    assert "HERMES_HOME" in done.out
    assert "satchel doctor --from PATH" in done.out
    assert [] == found["stores"]
    assert str(tmp_path / "no-home") in found["looked_at"]


@pytest.mark.parametrize("given", ["hermes", "/nowhere/state.db", "."])
def test_a_named_store_that_is_not_there_is_a_failure(satchel: Callable[..., Any], given: str) -> None:
    done = satchel("doctor", "--from", given)

    assert 1 == done.status
    assert "can't be read" in done.out
    assert "1 of 1 store can't be read at all" in done.err


# ---------------------------------------------------------------------------------------------------------- a healthy one


def test_a_healthy_store(satchel: Callable[..., Any], story: Path) -> None:
    store = only_store(satchel)

    assert str(story) == store["path"]
    assert (14, 2, 1, 1, 74, 9, 2) == tuple(
        store[name] for name in ("sessions", "live", "archived", "pinned", "messages", "compacted", "rewound")
    )
    assert (23, 23, "as it lies, without a lock") == (store["schema"], store["known_schema"], store["read"])
    assert (0, 0, 0) == (store["orphan_messages"], store["missing_parents"], store["wal_bytes"])
    assert ([], 0, []) == (store["damage"], store["lost"], store["warnings"])
    assert store["search"] is not None
    assert not store["search"]["stale"]


def test_the_commands_it_names_can_be_run(satchel: Callable[..., Any], hermes_db: Callable[..., Path]) -> None:
    import shlex

    path = hermes_db(case="lineage")
    store = only_store(satchel, "--from", path)
    commands = [each["command"] for each in (*store["reasons"], *store["commands"]) if each["command"]]

    assert len(commands) >= 4
    for command in commands:
        program, *words = shlex.split(command)
        assert "satchel" == program
        done = satchel(*words, "--force") if words[0] == "export" else satchel(*words)
        assert 0 == done.status, (command, done.err)


def test_the_store_in_use_is_named_by_no_option(satchel: Callable[..., Any], story: Path) -> None:
    folder = story.parent / "profiles" / "night shift"
    folder.mkdir(parents=True)
    (folder / "state.db").write_bytes(story.read_bytes())
    stores = diagnosis(satchel)["stores"]

    assert [None, "night shift"] == [store["profile"] for store in stores]
    assert ["satchel export hermes-sessions.jsonl", "satchel export hermes-sessions.jsonl --profile 'night shift'"] == [
        store["commands"][-1]["command"] for store in stores
    ]


def test_why_a_session_may_seem_missing(satchel: Callable[..., Any], story: Path) -> None:
    (story.parent / "profiles" / "night").mkdir(parents=True)
    (story.parent / "profiles" / "night" / "state.db").write_bytes(story.read_bytes())
    found = diagnosis(satchel)
    why = reasons(found["stores"][0])

    assert "1 archived session" in why
    assert "1 subagent run" in why
    assert "2 sessions that go on with a compressed one" in why
    assert "another profile: there are default, night" in reasons({"reasons": found["hints"]})


def test_homes_that_are_not_in_use_are_looked_at_too(
    satchel: Callable[..., Any], hermes_db: Callable[..., Path], story: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """HERMES_HOME may be set in one terminal and not in the other, and the sessions seem to be gone."""
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    usual = tmp_path / "person" / ".hermes" / "state.db"
    usual.parent.mkdir(parents=True)
    hermes_db(case="lineage").rename(usual)
    found = diagnosis(satchel)

    assert [str(story), str(usual)] == [store["path"] for store in found["stores"]]
    assert f"{usual} is outside the home in use" in reasons({"reasons": found["hints"]})
    assert f"satchel list --from {usual}" in [hint["command"] for hint in found["hints"]]

    monkeypatch.setenv("HERMES_HOME", str(usual.parent / "profiles" / "work"))
    assert str(usual) in [store["path"] for store in diagnosis(satchel)["stores"]]


# ---------------------------------------------------------------------------------------------------------- the WAL


@pytest.fixture
def writer(story: Path) -> Iterator[sqlite3.Connection]:
    """A connection that writes to the sample store and keeps what it wrote in the WAL."""
    db = sqlite3.connect(story, isolation_level=None)
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("INSERT INTO sessions (id, source, started_at) VALUES ('newest', 'cli', 1775300000)")
    db.execute("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('newest', 'user', 'In time?', 1775300001)")
    yield db
    db.close()


def test_what_is_only_in_the_wal_is_told(satchel: Callable[..., Any], story: Path, writer: sqlite3.Connection) -> None:
    store = only_store(satchel)

    assert {"sessions": 1, "messages": 1} == store["only_in_wal"]
    assert (15, 75) == (store["sessions"], store["messages"])
    assert "beside its writer" in store["read"]
    assert store["wal_bytes"] > 0
    assert "1 session and 1 message are in the WAL alone" in reasons(store)
    assert "newer rows that the file itself lacks" in " ".join(satchel("doctor").out.split())


def test_a_wal_whose_rows_are_all_in_the_file_is_told_apart(
    satchel: Callable[..., Any], story: Path, writer: sqlite3.Connection
) -> None:
    writer.execute("PRAGMA wal_checkpoint(PASSIVE)")
    store = only_store(satchel)

    assert {"sessions": 0, "messages": 0} == store["only_in_wal"]
    assert "WAL alone" not in reasons(store)
    assert "whose new rows are in the file already" in " ".join(satchel("doctor").out.split())


def test_a_wal_without_its_shm_is_read_from_a_copy(
    satchel: Callable[..., Any], story: Path, writer: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy" / "state.db"
    copy.parent.mkdir()
    for side in ("", "-wal"):
        copy.with_name(f"state.db{side}").write_bytes(Path(f"{story}{side}").read_bytes())
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spool))
    store = only_store(satchel, "--from", copy)

    assert "from a private copy" == store["read"]
    assert 15 == store["sessions"]
    assert {"sessions": 1, "messages": 1} == store["only_in_wal"]
    assert ["state.db", "state.db-wal"] == sorted(path.name for path in copy.parent.iterdir())
    assert [] == list(spool.iterdir())


def test_it_touches_nothing(satchel: Callable[..., Any], story: Path, writer: sqlite3.Connection) -> None:
    def state() -> dict[str, tuple[int, int, bytes]]:
        return {
            path.name: (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
            for path in story.parent.iterdir()
            if not path.name.endswith("-shm")
        }

    settings(story.parent, "sessions: {auto_prune: true}\n")
    names = sorted(path.name for path in story.parent.iterdir())
    before = state()
    for words in ([], ["--quick"], ["--from", story], ["--profile", "all"]):
        assert 0 == satchel("doctor", *words).status

    assert names == sorted(path.name for path in story.parent.iterdir())
    assert before == state()


# ---------------------------------------------------------------------------------------------------------- who has it open

LINUX = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="the system does not tell")
HOLD = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA wal_autocheckpoint = 0")
db.execute("INSERT INTO state_meta VALUES ('held', '1')")
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(story: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the sample store open."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(story)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert "ready\n" == running.stdout.readline()
        yield running
        running.communicate(timeout=60)


@LINUX
def test_who_has_it_open_is_told(satchel: Callable[..., Any], story: Path, holder: subprocess.Popen[str]) -> None:
    store = only_store(satchel)

    assert [holder.pid] == [each["pid"] for each in store["open_in"]]
    assert f"(process {holder.pid})" in satchel("doctor").out


@LINUX
def test_who_has_it_open_under_another_path_is_told_too(satchel: Callable[..., Any], story: Path, tmp_path: Path) -> None:
    """A container sees the same file under a name of its own."""
    other = tmp_path / "elsewhere" / "state.db"
    other.parent.mkdir()
    other.hardlink_to(story)
    namesake = tmp_path / "stranger" / "state.db"
    namesake.parent.mkdir()
    namesake.write_bytes(b"another store")
    hold = "import sys; kept = open(sys.argv[1]); print('ready', flush=True); sys.stdin.read()"
    held: dict[Path, int] = {}
    running = [
        subprocess.Popen([sys.executable, "-c", hold, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for path in (other, namesake)
    ]
    try:
        for path, each in zip((other, namesake), running, strict=True):
            assert each.stdout is not None
            each.stdout.readline()
            held[path] = each.pid
        assert [held[other]] == [each["pid"] for each in only_store(satchel)["open_in"]]
    finally:
        for each in running:
            each.communicate(timeout=60)


@LINUX
def test_a_wal_that_was_deleted_under_its_writer_is_an_alarm(
    satchel: Callable[..., Any], story: Path, holder: subprocess.Popen[str]
) -> None:
    """Another program closed the store and unlinked the WAL; the gateway wrote on into it, and lost its rows when it ended."""
    Path(f"{story}-wal").unlink()
    Path(f"{story}-shm").unlink()
    store = only_store(satchel)
    alarms = [each for each in store["commands"] if "deleted or replaced" in each["text"]]

    assert {f"{story}-wal", f"{story}-shm"} == {
        part for each in alarms for part in each["text"].replace(",", "").split() if part.startswith(str(story))
    }
    assert all(each["command"].startswith(f"cp /proc/{holder.pid}/fd/") for each in alarms)


def test_nobody_knows_where_the_system_does_not_tell(
    satchel: Callable[..., Any], story: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satchel.processes._PROC", "/nowhere")

    assert only_store(satchel)["open_in"] is None
    assert "unknown (this system does not tell)" in satchel("doctor").out


# ---------------------------------------------------------------------------------------------------------- inside


def test_messages_without_a_session_and_sessions_without_a_parent(
    satchel: Callable[..., Any], hermes_db: Callable[..., Path]
) -> None:
    odd = only_store(satchel, "--from", hermes_db(case="odd"))
    lineage = only_store(satchel, "--from", hermes_db(case="lineage"))

    assert (2, 1) == (odd["orphan_messages"], odd["orphan_sessions"])
    assert "2 messages of 1 session without a row" in reasons(odd)
    assert 2 == lineage["missing_parents"]
    assert "1 session of the source tool" in reasons(lineage)


@pytest.mark.parametrize("schema", [1, 11, 17, 22, 23, 30])
def test_every_schema_can_be_looked_at(satchel: Callable[..., Any], hermes_db: Callable[..., Path], schema: int) -> None:
    store = only_store(satchel, "--from", hermes_db(schema=schema))

    assert schema == store["schema"]
    assert 14 == store["sessions"]
    assert (schema > 23) == any("newer than the newest known one" in warning for warning in store["warnings"])


def test_free_pages_and_what_vacuum_gives_back(satchel: Callable[..., Any], tmp_path: Path) -> None:
    case = Case()
    case.add("kept", "2026-04-02 10:00:00", [user("Short.")])
    case.add("gone", "2026-04-02 11:00:00", [user("x" * 3_000_000)])
    case.statements.append("DELETE FROM messages WHERE session_id = 'gone'")
    path = write(tmp_path / "freed" / "state.db", case, fts=False)
    store = only_store(satchel, "--from", path)

    assert store["free_bytes"] >= 2_900_000
    assert "hermes sessions optimize" in [each["command"] for each in store["commands"]]
    db = sqlite3.connect(path)
    db.execute("VACUUM")
    db.close()
    again = only_store(satchel, "--from", path)
    assert 0 == again["free_bytes"]
    assert store["bytes"] - again["bytes"] >= store["free_bytes"]


def test_a_missing_and_a_stale_search_index(satchel: Callable[..., Any], tmp_path: Path, hermes_db: Callable[..., Path]) -> None:
    none = only_store(satchel, "--from", hermes_db(fts=False))
    path = hermes_db()
    db = sqlite3.connect(path)
    db.execute("INSERT INTO state_meta VALUES ('fts_stale', '1')")
    db.commit()
    db.close()
    stale = only_store(satchel, "--from", path)

    assert [] == none["search"]["tables"]
    assert "search index  none" in satchel("doctor", "--from", none["path"]).out
    assert stale["search"]["stale"]
    assert "(marked as stale)" in satchel("doctor", "--from", path).out


def test_a_damaged_page_is_found_and_a_quick_look_may_miss_it(
    satchel: Callable[..., Any], hermes_db: Callable[..., Path]
) -> None:
    path = hermes_db(case="big", fts=False)
    db = sqlite3.connect(path)
    (page,) = db.execute("PRAGMA page_size").fetchone()
    db.close()
    data = bytearray(path.read_bytes())
    last = next(at for at in range(len(data) - page, 0, -page) if data[at] == 13)
    data[last : last + page] = b"\xa5" * page
    path.write_bytes(data)
    store = only_store(satchel, "--from", path, status=3)

    assert store["lost"] >= 1
    assert store["damage"]
    assert "Carry over all that can still be read; what can't be is named:" in [each["text"] for each in store["commands"]]
    assert satchel("doctor", "--from", path, "--quick").status in (0, 3)


def test_a_file_that_was_cut_short_is_said_to_be(satchel: Callable[..., Any], hermes_db: Callable[..., Path]) -> None:
    path = hermes_db(case="big")
    size = path.stat().st_size
    os.truncate(path, size * 6 // 10)
    store = only_store(satchel, "--from", path, status=3)

    assert f"the file is cut short: {size * 6 // 10:,} of {size:,} bytes are there" == store["damage"][0]


def test_an_export_can_be_looked_at_too(satchel: Callable[..., Any], story: Path) -> None:
    assert 0 == satchel("export", "out.jsonl").status
    store = only_store(satchel, "--from", "out.jsonl")

    assert ("jsonl", 14, 74) == (store["format"], store["sessions"], store["messages"])
    assert 0 == satchel("doctor", "--from", "out.jsonl").status


# ---------------------------------------------------------------------------------------------------------- unreadable


def test_copies_beside_a_store_that_cannot_be_read_are_pointed_at(satchel: Callable[..., Any], story: Path) -> None:
    """Hermes keeps a copy before it repairs; who is left with an empty store should not have to know."""
    story.rename(story.parent / "state.db.malformed-backup-20260302")
    story.write_bytes(b"")
    store = only_store(satchel, status=1)
    shown = satchel("doctor").out

    assert [("*.malformed-backup-*", 1)] == [(each["where"], each["files"]) for each in store["legacy"]]
    assert "Copies of a store are beside it" in shown
    assert f"satchel doctor --from {story.parent}/COPY" in shown


def test_a_broken_store_among_others_is_told_and_the_rest_is_looked_at(
    satchel: Callable[..., Any], story: Path, tmp_path: Path
) -> None:
    folder = story.parent / "profiles" / "broken"
    folder.mkdir(parents=True)
    (folder / "state.db").write_bytes(b"")
    found = diagnosis(satchel, status=3)
    named = satchel("doctor", "--from", story, "--from", folder / "state.db")

    assert [None, True] == [store["error"] and "empty" in store["error"] for store in found["stores"]]
    assert 14 == found["stores"][0]["sessions"]
    assert 1 == named.status
    assert "Total" not in named.out
    assert "sessions      14" in named.out
