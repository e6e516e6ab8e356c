"""A store that another program may be using is read as one state, and nobody can tell afterwards that it was read."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from live_stores import AS_IT_LIES, BESIDE, COPY, grow, read, state, writing

from satchel.errors import NotAStore, StoreChanged, StoreDamaged, StoreError
from satchel.events import ignore
from satchel.formats.hermes_state import reader, snapshot
from satchel.formats.hermes_state.beside import retention
from satchel.formats.hermes_state.snapshot import open_snapshot, sides

Build = Callable[..., Path]

pytestmark = pytest.mark.usefixtures("temporary")


# ---------------------------------------------------------------------------------------------------------- the three cases


@pytest.mark.parametrize("wal", [None, b""])
def test_a_store_at_rest_is_read_as_it_lies(hermes_db: Build, wal: bytes | None) -> None:
    path = hermes_db()
    if wal is not None:
        Path(f"{path}-wal").write_bytes(wal)
    before = state(path.parent)
    how, found = read(path)
    assert (AS_IT_LIES, 74) == (how, len(found))
    assert before == state(path.parent)


def test_a_store_in_use_is_read_beside_its_writer(hermes_db: Build) -> None:
    """What only the log holds is read; the log is not taken in, not cut, not removed when the reader closes."""
    path = hermes_db()
    with writing(path) as writer:
        writer.say("only in the log")
        before = state(path.parent)
        assert ["state.db", "state.db-shm", "state.db-wal"] == sorted(before)
        how, found = read(path)
        assert (BESIDE, 75, 1) == (how, len(found), found.count("only in the log"))
        assert before == state(path.parent)
        writer.say("and then")
        assert 76 == len(read(path)[1])


def test_what_is_written_meanwhile_is_not_seen(hermes_db: Build) -> None:
    path = hermes_db()
    with writing(path) as writer:
        writer.say("before")
        with reader.open(path, listen=ignore) as store:
            session = store.session("20260306_090000_09e21a")
            for step in range(3):
                writer.say(f"meanwhile {step}")
                assert session == store.session(session.id)
                assert 3 == sum(record.kind == "messages" for record in store.records(session.id))
            writer.run("PRAGMA wal_checkpoint(PASSIVE)")
            assert session == store.session(session.id)
            store.check()
        assert 78 == len(read(path)[1])


def test_the_writer_does_not_wait_for_the_reader(hermes_db: Build) -> None:
    path = hermes_db()
    with writing(path) as writer:
        writer.say("first")
        with reader.open(path, listen=ignore) as store:
            messages = store.records("20260306_090000_09e21a")
            next(messages)
            writer.say("second")
            writer.run("DELETE FROM messages WHERE content = 'first'")
            assert ["first"] == [r.data["content"] for r in messages if r.data.get("content") == "first"]


def test_a_writer_that_died_left_its_log_and_it_stays(hermes_db: Build) -> None:
    path = hermes_db()
    with writing(path) as writer:
        writer.say("last words")
        writer.die()
    before = state(path.parent)
    for _ in range(2):
        _, found = read(path)
        assert "last words" in found
        assert before == state(path.parent)


def test_a_log_whose_index_is_gone_is_read_from_a_copy(hermes_db: Build) -> None:
    path = hermes_db()
    with writing(path) as writer:
        writer.say("only in the log")
        writer.die()
    Path(f"{path}-shm").unlink()
    before = state(path.parent)
    how, found = read(path)
    assert (COPY, 75) == (how, len(found))
    assert before == state(path.parent)


CRASH = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode = DELETE")
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN")
db.execute("UPDATE messages SET content = 'never ' || id")
db.execute("DELETE FROM sessions")
db.execute("UPDATE messages SET role = 'never'")
os._exit(9)
"""


def test_a_change_that_was_never_finished_is_not_seen(hermes_db: Build) -> None:
    """The rollback journal of a writer that died is played back, in the copy only."""
    path = hermes_db()
    _, wanted = read(path)
    before = path.read_bytes()
    subprocess.run([sys.executable, "-c", CRASH, str(path)], check=False)
    assert Path(f"{path}-journal").stat().st_size
    assert before != path.read_bytes(), "nothing was spilled: the test proves nothing"
    untouched = state(path.parent)
    how, found = read(path)
    assert (COPY, wanted) == (how, found)
    assert untouched == state(path.parent)


@pytest.mark.parametrize("journal", [b"", bytes(512)])
def test_a_spent_journal_is_no_obstacle(hermes_db: Build, journal: bytes) -> None:
    path = hermes_db()
    Path(f"{path}-journal").write_bytes(journal)
    before = state(path.parent)
    assert AS_IT_LIES == read(path)[0]
    assert before == state(path.parent)


@pytest.mark.parametrize("log", [False, True])
def test_a_folder_that_can_not_be_written_to_is_enough(hermes_db: Build, log: bool) -> None:
    path = hermes_db()
    if log:
        with writing(path) as writer:
            writer.say("only in the log")
            writer.die()
    before = state(path.parent)
    for file in path.parent.iterdir():
        file.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        assert 74 + log == len(read(path)[1])
        assert before == state(path.parent)
    finally:
        path.parent.chmod(0o755)


NAMES: list[str | bytes] = [
    "a?b.db",
    "a?mode=rwc&x.db",
    "a#b.db",
    "100%.db",
    "%41.db",
    "two\nlines.db",
    "sp ace+plus.db",
    "満潮.db",
    ":memory:",
    "file:x.db",
    b"caf\xe9.db",
]


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_a_name_is_taken_as_it_is(hermes_db: Build, tmp_path: Path, name: str | bytes) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    path = folder / os.fsdecode(name)
    try:
        hermes_db().rename(path)
    except OSError:
        pytest.skip("no such name on this file system")
    before = state(folder)
    assert (AS_IT_LIES, 74) == ((seen := read(path))[0], len(seen[1]))
    assert (COPY, 74) == ((seen := read(path, private=True))[0], len(seen[1]))
    assert before == state(folder)
    with writing(path) as writer:
        writer.say("in the log")
        assert (BESIDE, 75) == ((seen := read(path))[0], len(seen[1]))


def test_a_link_leads_to_the_log_beside_the_real_file(hermes_db: Build, tmp_path: Path) -> None:
    path, link = hermes_db(), tmp_path / "links" / "other.db"
    link.parent.mkdir()
    link.symlink_to(path)
    with writing(path) as writer:
        writer.say("in the log")
        assert 75 == len(read(link)[1])
    assert ["other.db"] == [file.name for file in link.parent.iterdir()]


def test_a_name_relative_to_the_folder(hermes_db: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    path = hermes_db()
    monkeypatch.chdir(path.parent)
    assert 74 == len(read(Path("state.db"))[1])


def _make(path: Path, what: str) -> None:
    match what:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "loop":
            path.symlink_to(path)
        case "text":
            path.write_text("Dear diary")
        case "empty":
            path.write_bytes(b"")
        case "magic":
            path.write_bytes(b"SQLite format 3\0")
        case "header":
            path.write_bytes(b"SQLite format 3\0" + bytes(84))
        case "zeros":
            path.write_bytes(b"SQLite format 3\0" + bytes(8176))
        case "empty with a log":
            path.write_bytes(b"")
            Path(f"{path}-wal").write_bytes(os.urandom(5000))
        case "zeros with a log":
            path.write_bytes(b"SQLite format 3\0" + bytes(8176))
            Path(f"{path}-wal").write_bytes(os.urandom(5000))
            Path(f"{path}-shm").write_bytes(os.urandom(32768))
        case "journal of noise":
            path.write_bytes(b"SQLite format 3\0" + bytes(8176))
            Path(f"{path}-journal").write_bytes(os.urandom(5000))


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ("nothing", StoreError),
        ("folder", NotAStore),
        ("pipe", NotAStore),
        ("loop", StoreError),
        ("text", NotAStore),
        ("empty", StoreDamaged),
        ("magic", StoreError),
        ("header", StoreError),
        ("zeros", StoreError),
        ("empty with a log", StoreError),
        ("zeros with a log", StoreError),
        ("journal of noise", StoreError),
    ],
)
@pytest.mark.timeout(20)
def test_what_is_no_store_is_an_error_of_ours(tmp_path: Path, what: str, error: type[StoreError]) -> None:
    if what == "pipe" and not hasattr(os, "mkfifo"):
        pytest.skip("no pipes with names here")
    path = tmp_path / "x" / "state.db"
    path.parent.mkdir()
    _make(path, what)
    before = {file.name for file in path.parent.iterdir()}
    with pytest.raises(error) as caught:
        reader.open(path, listen=ignore)
    assert str(path) in caught.value.message
    assert not caught.value.message.count("\n")
    assert reader.sniff(path) is None or what not in ("folder", "pipe", "text", "empty", "nothing", "loop")
    assert before == {file.name for file in path.parent.iterdir()}


# ---------------------------------------------------------------------------------------------------------- changes


def _replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.replace(path)


@pytest.mark.parametrize(
    "change", [grow, _replace, Path.unlink, lambda path: os.truncate(path, 8192), lambda path: os.utime(path, (1, 1))]
)
def test_a_file_that_changes_while_it_is_read_is_told(hermes_db: Build, change: Callable[[Path], object]) -> None:
    path = hermes_db()
    with reader.open(path, listen=ignore) as store:
        store.check()
        change(path)
        with pytest.raises(StoreChanged, match="while it was read"):
            store.check()


def test_a_snapshot_can_not_be_written_to(hermes_db: Build) -> None:
    path = hermes_db()
    opened = open_snapshot(path)
    with pytest.raises(apsw.ReadOnlyError):
        opened.connection.execute("DELETE FROM messages")
    opened.close()


def test_what_lies_beside_a_store_is_named(hermes_db: Build) -> None:
    path = hermes_db()
    assert {} == dict(sides(path))
    with writing(path) as writer:
        writer.say("x")
        found = dict(sides(path))
    assert ["state.db-shm", "state.db-wal"] == sorted(found)
    assert found["state.db-wal"] > 0


@pytest.mark.parametrize("step", ["_print", "_hot_journal", "_connect"])
def test_a_change_that_begins_while_a_store_is_opened_is_not_seen(
    hermes_db: Build, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The change is larger than the writer's memory, so that parts of it are in the file before it is done, and then undone."""
    path = hermes_db()
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = DELETE")
        before = sorted(read(path)[1])
        function = getattr(snapshot, step)
        begun: list[str] = []

        def late(*words: object) -> object:
            if not begun:
                begun.append(step)
                writer.execute("PRAGMA cache_size = 1")
                writer.execute("BEGIN IMMEDIATE")
                writer.execute("UPDATE messages SET content = 'undone' || hex(zeroblob(3000))")
            return function(*words)

        monkeypatch.setattr(snapshot, step, late)
        try:
            found = sorted(read(path)[1])
        except StoreChanged:
            found = sorted(read(path)[1])
        writer.execute("ROLLBACK")
    assert [step] == begun
    assert before == found


# ---------------------------------------------------------------------------------------------------------- pipes


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("sides", [["-journal"], ["-wal"], ["-shm"], ["-wal", "-shm", "-journal"]], ids="".join)
@pytest.mark.timeout(20)
def test_a_pipe_beside_a_store_is_no_log(hermes_db: Build, sides: list[str], private: bool) -> None:
    """Opening one waits for whoever writes into it: reading hung."""
    path = hermes_db()
    for side in sides:
        os.mkfifo(f"{path}{side}")
    assert 74 == len(read(path, private=private)[1])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.timeout(20)
def test_a_log_whose_index_is_a_pipe_is_read_from_a_copy(hermes_db: Build) -> None:
    path = hermes_db()
    with writing(path) as writer:
        writer.say("only in the log")
        writer.die()
    Path(f"{path}-shm").unlink()
    os.mkfifo(f"{path}-shm")
    how, found = read(path)
    assert (COPY, 75) == (how, len(found))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.timeout(20)
def test_settings_in_a_pipe_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.yaml")
    found = retention(tmp_path)
    assert (None, 1) == (found.config, len(found.problems))
    assert "not a regular file" in found.problems[0]


# ---------------------------------------------------------------------------------------------------------- the last writer


def test_a_writer_that_closes_before_the_look_leaves_the_whole(hermes_db: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes its log away; SQLite made it anew for the reader, and both files stayed."""
    path = hermes_db()
    hold = snapshot._hold
    with writing(path) as writer:
        writer.say("last words")

        def late(database: Path) -> tuple[int, int] | None:
            writer.close()
            return hold(database)

        monkeypatch.setattr(snapshot, "_hold", late)
        how, found = read(path)
    assert (AS_IT_LIES, 75) == (how, len(found))
    assert ["state.db"] == [file.name for file in path.parent.iterdir()]


def test_a_writer_that_closes_after_the_look_leaves_its_log(hermes_db: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """As beside every other reader: it is read by the next one, and removed by the next that closes last."""
    path = hermes_db()
    connect = snapshot._connect
    with writing(path) as writer:
        writer.say("last words")
        before = state(path.parent)

        def late(database: Path, mode: str) -> apsw.Connection:
            writer.close()
            assert before == state(path.parent)
            return connect(database, mode)

        monkeypatch.setattr(snapshot, "_connect", late)
        assert (BESIDE, 75) == ((seen := read(path))[0], len(seen[1]))
    assert before == state(path.parent)


def test_two_snapshots_of_a_store_keep_each_others_locks(hermes_db: Build) -> None:
    """Closing any descriptor of a file drops the locks of the process; without them the writer takes the log away."""
    path = hermes_db()
    with writing(path) as writer:
        writer.say("last words")
        first = open_snapshot(path)
        second = open_snapshot(path)
        assert 75 == len(read(path, private=True)[1])
        second.close()
        writer.close()
        assert Path(f"{path}-wal").exists()
        assert 75 == first.connection.execute("SELECT count(*) FROM messages").get
        first.close()
    assert {} == snapshot._HELD


def test_a_transaction_that_ended_by_itself_is_told(hermes_db: Build) -> None:
    """SQLite ends it where the disk fails; what is read after that may be another state."""
    path = hermes_db()
    with writing(path) as writer:
        writer.say("x")
        opened = open_snapshot(path)
        opened.check()
        opened.connection.execute("ROLLBACK")
        with pytest.raises(StoreChanged, match="one state"):
            opened.check()
        opened.close()
