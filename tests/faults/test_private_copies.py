"""A private copy is of one state, for nobody else, and gone when it is not needed any more, whatever comes between."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from live_stores import COPY, grow, read, state, writing

from satchel.errors import StoreChanged, StoreError
from satchel.events import ignore
from satchel.formats.hermes_state import reader, snapshot
from satchel.formats.hermes_state.snapshot import open_snapshot

Build = Callable[..., Path]

pytestmark = pytest.mark.usefixtures("temporary")


def test_a_private_copy_is_taken_on_demand(hermes_db: Build) -> None:
    path = hermes_db()
    before = state(path.parent)
    assert COPY == read(path, private=True)[0]
    with writing(path) as writer:
        writer.say("only in the log")
        how, found = read(path, private=True)
        assert (COPY, 75) == (how, len(found))
    del before["state.db"]
    assert before == {name: value for name, value in state(path.parent).items() if name != "state.db"}


def test_a_copy_does_not_change(hermes_db: Build) -> None:
    path = hermes_db()
    with reader.open(path, listen=ignore, private=True) as store:
        grow(path)
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
        assert 74 == len(read(path, private=True)[1])


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
