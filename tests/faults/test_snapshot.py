"""A store that another program may be using is read as one state, and nobody can tell afterwards that it was read."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from satchel.errors import NotAStore, StoreChanged, StoreDamaged, StoreError
from satchel.events import ignore
from satchel.formats.hermes_state import reader, snapshot
from satchel.formats.hermes_state.beside import retention
from satchel.formats.hermes_state.snapshot import open_snapshot, sides

Build = Callable[..., Path]

AS_IT_LIES, BESIDE, COPY = "as it lies, without a lock", "in one read transaction, beside its writer", "from a private copy"


def _state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return what must stay the same: names, inodes and bytes; the bytes of a `-shm` are its users' business."""
    return {
        entry.name: (entry.inode(), b"" if entry.name.endswith("-shm") else Path(entry.path).read_bytes())
        for entry in os.scandir(folder)
        if entry.is_file(follow_symlinks=False)
    }


def _read(path: Path, *, private: bool = False) -> tuple[str, list[str]]:
    """Read all of a store; return how, and the contents of all messages."""
    hows: list[str] = []

    def hear(event: object) -> None:
        hows.extend([how] if (how := getattr(event, "how", None)) else [])

    with reader.open(path, listen=hear, private=private) as store:
        found = [str(r.data["content"]) for i in store.sessions() for r in store.records(i.id) if r.kind == "messages"]
        store.check()
    return hows[0], found


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Watch the folder for temporary files: it is empty again after each test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert [] == list(folder.iterdir())


WRITER = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA wal_autocheckpoint = 0")
for line in sys.stdin:
    if line == "die\\n":
        os._exit(9)
    db.execute(line)
    print("done", flush=True)
"""


class Writer:
    """A process that holds a store open and writes to it."""

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, statement: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(statement + "\n")
        self._process.stdin.flush()
        assert "done\n" == self._process.stdout.readline()

    def say(self, text: str) -> None:
        self.run(
            "INSERT INTO messages (session_id, role, content, timestamp) "
            f"VALUES ('20260306_090000_09e21a', 'user', '{text}', 1772790000.0)"
        )

    def die(self) -> None:
        """End without closing anything."""
        self._process.communicate("die\n")

    def close(self) -> None:
        self._process.communicate()


@contextmanager
def _writer(path: Path) -> Generator[Writer, None, None]:
    writer = Writer(path)
    try:
        yield writer
    finally:
        if writer._process.returncode is None:
            writer.close()


# ---------------------------------------------------------------------------------------------------------- the three cases


@pytest.mark.parametrize("wal", [None, b""])
def test_a_store_at_rest_is_read_as_it_lies(hermes_db: Build, wal: bytes | None) -> None:
    path = hermes_db()
    if wal is not None:
        Path(f"{path}-wal").write_bytes(wal)
    before = _state(path.parent)
    how, found = _read(path)
    assert (AS_IT_LIES, 74) == (how, len(found))
    assert before == _state(path.parent)


def test_a_store_in_use_is_read_beside_its_writer(hermes_db: Build) -> None:
    """What only the log holds is read; the log is not taken in, not cut, not removed when the reader closes."""
    path = hermes_db()
    with _writer(path) as writer:
        writer.say("only in the log")
        before = _state(path.parent)
        assert ["state.db", "state.db-shm", "state.db-wal"] == sorted(before)
        how, found = _read(path)
        assert (BESIDE, 75, 1) == (how, len(found), found.count("only in the log"))
        assert before == _state(path.parent)
        writer.say("and then")
        assert 76 == len(_read(path)[1])


def test_what_is_written_meanwhile_is_not_seen(hermes_db: Build) -> None:
    path = hermes_db()
    with _writer(path) as writer:
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
        assert 78 == len(_read(path)[1])


def test_the_writer_does_not_wait_for_the_reader(hermes_db: Build) -> None:
    path = hermes_db()
    with _writer(path) as writer:
        writer.say("first")
        with reader.open(path, listen=ignore) as store:
            messages = store.records("20260306_090000_09e21a")
            next(messages)
            writer.say("second")
            writer.run("DELETE FROM messages WHERE content = 'first'")
            assert ["first"] == [r.data["content"] for r in messages if r.data.get("content") == "first"]


def test_a_writer_that_died_left_its_log_and_it_stays(hermes_db: Build) -> None:
    path = hermes_db()
    with _writer(path) as writer:
        writer.say("last words")
        writer.die()
    before = _state(path.parent)
    for _ in range(2):
        _, found = _read(path)
        assert "last words" in found
        assert before == _state(path.parent)


def test_a_log_whose_index_is_gone_is_read_from_a_copy(hermes_db: Build) -> None:
    path = hermes_db()
    with _writer(path) as writer:
        writer.say("only in the log")
        writer.die()
    Path(f"{path}-shm").unlink()
    before = _state(path.parent)
    how, found = _read(path)
    assert (COPY, 75) == (how, len(found))
    assert before == _state(path.parent)


def test_a_private_copy_is_taken_on_demand(hermes_db: Build) -> None:
    path = hermes_db()
    before = _state(path.parent)
    assert COPY == _read(path, private=True)[0]
    with _writer(path) as writer:
        writer.say("only in the log")
        how, found = _read(path, private=True)
        assert (COPY, 75) == (how, len(found))
    del before["state.db"]
    assert before == {name: value for name, value in _state(path.parent).items() if name != "state.db"}


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
    _, wanted = _read(path)
    before = path.read_bytes()
    subprocess.run([sys.executable, "-c", CRASH, str(path)], check=False)
    assert Path(f"{path}-journal").stat().st_size
    assert before != path.read_bytes(), "nothing was spilled: the test proves nothing"
    state = _state(path.parent)
    how, found = _read(path)
    assert (COPY, wanted) == (how, found)
    assert state == _state(path.parent)


@pytest.mark.parametrize("journal", [b"", bytes(512)])
def test_a_spent_journal_is_no_obstacle(hermes_db: Build, journal: bytes) -> None:
    path = hermes_db()
    Path(f"{path}-journal").write_bytes(journal)
    before = _state(path.parent)
    assert AS_IT_LIES == _read(path)[0]
    assert before == _state(path.parent)


@pytest.mark.parametrize("log", [False, True])
def test_a_folder_that_can_not_be_written_to_is_enough(hermes_db: Build, log: bool) -> None:
    path = hermes_db()
    if log:
        with _writer(path) as writer:
            writer.say("only in the log")
            writer.die()
    before = _state(path.parent)
    for file in path.parent.iterdir():
        file.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        assert 74 + log == len(_read(path)[1])
        assert before == _state(path.parent)
    finally:
        path.parent.chmod(0o755)


# ---------------------------------------------------------------------------------------------------------- paths


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
    before = _state(folder)
    assert (AS_IT_LIES, 74) == ((read := _read(path))[0], len(read[1]))
    assert (COPY, 74) == ((read := _read(path, private=True))[0], len(read[1]))
    assert before == _state(folder)
    with _writer(path) as writer:
        writer.say("in the log")
        assert (BESIDE, 75) == ((read := _read(path))[0], len(read[1]))


def test_a_link_leads_to_the_log_beside_the_real_file(hermes_db: Build, tmp_path: Path) -> None:
    path, link = hermes_db(), tmp_path / "links" / "other.db"
    link.parent.mkdir()
    link.symlink_to(path)
    with _writer(path) as writer:
        writer.say("in the log")
        assert 75 == len(_read(link)[1])
    assert ["other.db"] == [file.name for file in link.parent.iterdir()]


def test_a_name_relative_to_the_folder(hermes_db: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    path = hermes_db()
    monkeypatch.chdir(path.parent)
    assert 74 == len(_read(Path("state.db"))[1])


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


def _grow(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("INSERT INTO state_meta VALUES ('more', 'x')")


def _replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.replace(path)


@pytest.mark.parametrize(
    "change", [_grow, _replace, Path.unlink, lambda path: os.truncate(path, 8192), lambda path: os.utime(path, (1, 1))]
)
def test_a_file_that_changes_while_it_is_read_is_told(hermes_db: Build, change: Callable[[Path], object]) -> None:
    path = hermes_db()
    with reader.open(path, listen=ignore) as store:
        store.check()
        change(path)
        with pytest.raises(StoreChanged, match="while it was read"):
            store.check()


def test_a_copy_does_not_change(hermes_db: Build) -> None:
    path = hermes_db()
    with reader.open(path, listen=ignore, private=True) as store:
        _grow(path)
        path.unlink()
        store.check()
        assert 14 == sum(1 for _ in store.sessions())


@pytest.mark.parametrize("times", [1, 3, 100])
def test_a_file_that_changes_while_it_is_copied_is_copied_again(
    hermes_db: Build, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    path, clone, left = hermes_db(), snapshot._clone, [times]

    def disturbed(source: Path, copy: Path) -> None:
        clone(source, copy)
        if left[0]:
            left[0] -= 1
            os.utime(path, (left[0], left[0]))

    monkeypatch.setattr(snapshot, "_clone", disturbed)
    if times == 100:
        with pytest.raises(StoreChanged, match="too fast"):
            open_snapshot(path, private=True)
    else:
        assert 74 == len(_read(path, private=True)[1])


def test_a_copy_that_finds_no_room_is_an_error_of_ours(
    hermes_db: Build, monkeypatch: pytest.MonkeyPatch, temporary: Path
) -> None:
    def full(fd: int, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(snapshot, "_put", full)
    monkeypatch.setattr(snapshot, "_FICLONE", 0)
    with pytest.raises(StoreError, match="No space left on device; set TMPDIR"):
        open_snapshot(hermes_db(), private=True)


def test_without_a_folder_for_the_copy_it_is_an_error_of_ours(
    hermes_db: Build, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    with pytest.raises(StoreError):
        open_snapshot(hermes_db(), private=True)


def test_a_copy_is_for_nobody_else(hermes_db: Build, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And has no name any more when it is read: a process that is killed then leaves nothing."""
    take_in, modes = snapshot._taken_in, []

    def seen(copy: Path) -> apsw.Connection:
        modes.append(copy.parent.stat().st_mode & 0o777)
        modes.extend(file.stat().st_mode & 0o777 for file in copy.parent.iterdir())
        return take_in(copy)

    monkeypatch.setattr(snapshot, "_taken_in", seen)
    before = os.umask(0)
    try:
        opened = open_snapshot(hermes_db(), private=True)
    finally:
        os.umask(before)
    assert [0o700, 0o600] == modes
    assert [] == list(temporary.iterdir())
    assert 74 == opened.connection.execute("SELECT count(*) FROM messages").get
    opened.close()


def test_a_snapshot_can_not_be_written_to(hermes_db: Build) -> None:
    path = hermes_db()
    opened = open_snapshot(path)
    with pytest.raises(apsw.ReadOnlyError):
        opened.connection.execute("DELETE FROM messages")
    opened.close()


def test_what_lies_beside_a_store_is_named(hermes_db: Build) -> None:
    path = hermes_db()
    assert {} == dict(sides(path))
    with _writer(path) as writer:
        writer.say("x")
        found = dict(sides(path))
    assert ["state.db-shm", "state.db-wal"] == sorted(found)
    assert found["state.db-wal"] > 0


@pytest.mark.parametrize("side", ["-journal", "-wal"])
def test_a_log_of_an_earlier_try_is_not_left_in_the_copy(
    hermes_db: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, side: str
) -> None:
    path = hermes_db()
    log = Path(f"{path}{side}")
    log.write_bytes(b"from a state that has passed")
    folder = tmp_path / "copy"
    folder.mkdir()
    clone = snapshot._clone

    def finish(source: Path, copy: Path) -> None:
        clone(source, copy)
        if source == log:
            log.unlink()
            os.utime(path, ns=(1, 1))

    monkeypatch.setattr(snapshot, "_clone", finish)
    snapshot._copy(path, folder)
    assert [found.name for found in folder.iterdir()] == [path.name]


@pytest.mark.parametrize("step", ["_print", "_hot_journal", "_connect"])
def test_a_change_that_begins_while_a_store_is_opened_is_not_seen(
    hermes_db: Build, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The change is larger than the writer's memory, so that parts of it are in the file before it is done, and then undone."""
    path = hermes_db()
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = DELETE")
        before = sorted(_read(path)[1])
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
            found = sorted(_read(path)[1])
        except StoreChanged:
            found = sorted(_read(path)[1])
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
    assert 74 == len(_read(path, private=private)[1])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.timeout(20)
def test_a_log_whose_index_is_a_pipe_is_read_from_a_copy(hermes_db: Build) -> None:
    path = hermes_db()
    with _writer(path) as writer:
        writer.say("only in the log")
        writer.die()
    Path(f"{path}-shm").unlink()
    os.mkfifo(f"{path}-shm")
    how, found = _read(path)
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
    with _writer(path) as writer:
        writer.say("last words")

        def late(database: Path) -> tuple[int, int] | None:
            writer.close()
            return hold(database)

        monkeypatch.setattr(snapshot, "_hold", late)
        how, found = _read(path)
    assert (AS_IT_LIES, 75) == (how, len(found))
    assert ["state.db"] == [file.name for file in path.parent.iterdir()]


def test_a_writer_that_closes_after_the_look_leaves_its_log(hermes_db: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """As beside every other reader: it is read by the next one, and removed by the next that closes last."""
    path = hermes_db()
    connect = snapshot._connect
    with _writer(path) as writer:
        writer.say("last words")
        before = _state(path.parent)

        def late(database: Path, mode: str) -> apsw.Connection:
            writer.close()
            assert before == _state(path.parent)
            return connect(database, mode)

        monkeypatch.setattr(snapshot, "_connect", late)
        assert (BESIDE, 75) == ((read := _read(path))[0], len(read[1]))
    assert before == _state(path.parent)


def test_two_snapshots_of_a_store_keep_each_others_locks(hermes_db: Build) -> None:
    """Closing any descriptor of a file drops the locks of the process; without them the writer takes the log away."""
    path = hermes_db()
    with _writer(path) as writer:
        writer.say("last words")
        first = open_snapshot(path)
        second = open_snapshot(path)
        assert 75 == len(_read(path, private=True)[1])
        second.close()
        writer.close()
        assert Path(f"{path}-wal").exists()
        assert 75 == first.connection.execute("SELECT count(*) FROM messages").get
        first.close()
    assert {} == snapshot._HELD


def test_a_transaction_that_ended_by_itself_is_told(hermes_db: Build) -> None:
    """SQLite ends it where the disk fails; what is read after that may be another state."""
    path = hermes_db()
    with _writer(path) as writer:
        writer.say("x")
        opened = open_snapshot(path)
        opened.check()
        opened.connection.execute("ROLLBACK")
        with pytest.raises(StoreChanged, match="one state"):
            opened.check()
        opened.close()


# ---------------------------------------------------------------------------------------------------------- signals and room


@pytest.mark.parametrize("step", ["os.mkdir", "_clone", "_taken_in", "shutil.rmtree", "_connect"])
def test_a_signal_at_any_step_leaves_no_copy(
    hermes_db: Build, monkeypatch: pytest.MonkeyPatch, temporary: Path, step: str
) -> None:
    """One between making the folder and noting its name, or while it was removed, left it."""
    path = hermes_db()
    name = step if "." in step else f"satchel.formats.hermes_state.snapshot.{step}"
    module, _, attribute = name.rpartition(".")
    function = getattr(sys.modules[module], attribute)
    calls: list[str] = []

    def interrupted(*words: Any, **named: Any) -> Any:
        calls.append(step)
        result = None if step == "shutil.rmtree" and len(calls) == 1 else function(*words, **named)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        open_snapshot(path, private=True)
    assert calls


def test_a_source_that_can_not_be_read_is_not_taken_for_a_full_disk(hermes_db: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    read = os.read

    def failing(fd: int, size: int) -> bytes:
        if size == snapshot._CHUNK:
            raise OSError(5, "Input/output error")
        return read(fd, size)

    monkeypatch.setattr(snapshot, "_FICLONE", 0)
    monkeypatch.setattr(os, "read", failing)
    with pytest.raises(StoreError, match="cannot be read: Input/output error") as caught:
        open_snapshot(hermes_db(), private=True)
    assert "TMPDIR" not in caught.value.message


NO_ROOM = """
import resource, sys
from pathlib import Path
from satchel.errors import StoreError
from satchel.events import ignore
from satchel.formats.hermes_state import reader
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    with reader.open(Path(sys.argv[1]), listen=print, private=sys.argv[2] == "private") as store:
        for info in store.sessions():
            for record in store.records(info.id):
                pass
except StoreError as error:
    print("StoreError", error.message)
"""


@pytest.mark.parametrize("how", ["private", "as it lies"])
def test_no_room_for_temporary_files_is_an_error_of_ours(tmp_path: Path, how: str) -> None:
    """SQLite sorts rows without a key in a temporary file; what it says of a full disk was taken for damage."""
    pytest.importorskip("resource")
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, started_at REAL)")
        db.execute("CREATE TABLE messages (id INTEGER, session_id TEXT, role TEXT, content TEXT)")
        db.execute("INSERT INTO sessions VALUES ('s', 'cli', 1)")
        rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1600) SELECT i FROM n"
        db.execute(f"INSERT INTO messages SELECT i, 's', 'user', hex(zeroblob(4000)) FROM ({rows})")
    ran = subprocess.run([sys.executable, "-c", NO_ROOM, str(path), how], capture_output=True, text=True, check=False)
    assert "" == ran.stderr
    said = [line for line in ran.stdout.splitlines() if line.startswith("StoreError")]
    assert 1 == len(said)
    assert "set TMPDIR to a folder with room" in said[0]
    assert "lost=1" not in ran.stdout
