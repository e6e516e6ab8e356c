"""
A store is exported while Hermes writes to it: every export is one state of it, and Hermes notices nothing.

The writer is hermes-agent itself. What belongs together it writes in one transaction, so that a state that never was would show.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from peers import environment, run, script

import satchel
from satchel.events import Event, StoreOpened

# Writes until it is told to stop; pauses, connected, when asked. Every fifty writes Hermes makes a checkpoint by itself, and now
# and then the store is closed, which takes its log away, and opened again.
WRITER = """
import json, os, sys, time
from pathlib import Path
from hermes_state import SessionDB

store, control = Path(sys.argv[1]), Path(sys.argv[2])
files = [store, Path(f"{store}-wal"), Path(f"{store}-shm")]

def pair(n):
    def write(conn):
        for session in ("left", "right"):
            conn.execute(
                "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', ?, ?)",
                (session, f"pair {n}", time.time()),
            )
            conn.execute("UPDATE sessions SET message_count = message_count + 1 WHERE id = ?", (session,))
        conn.execute("INSERT OR REPLACE INTO state_meta (key, value) VALUES ('goal:left', ?)", (str(n),))
    db._execute_write(write)

def tell(name, text=""):
    part = control / f"{name}.part"
    part.write_text(text)
    os.replace(part, control / name)

db, known, n, reopened, moved = SessionDB(store), None, 0, 0, 0
for session in ("left", "right", "chat", "undo"):
    db.create_session(session, "cli", model="test/model", system_prompt="Go on.")
while not (control / "stop").exists():
    n += 1
    pair(n)
    found = [os.stat(file).st_ino for file in files]
    moved += known is not None and found != known
    known = found
    calls = [{"id": f"call_{n}", "type": "function", "function": {"name": "tide", "arguments": "{}"}}]
    db.append_message("chat", "assistant", f"turn {n} " + "ebb and flow " * 20, tool_calls=calls)
    if n % 20 == 0:
        db.archive_and_compact("chat", [{"role": "user", "content": f"summary {n}"}])
    if n % 15 == 0:
        first = db.append_message("undo", "user", f"oops {n}")
        db.append_message("undo", "assistant", f"really {n}")
        db.rewind_to_message("undo", first)
    if n % 30 == 0:
        db.create_session(f"short {n}", "telegram")
        db.append_message(f"short {n}", "user", "x" * 6000)
        db.end_session(f"short {n}", "user_exit")
    if n % 60 in (0, 4, 8, 12):
        db.close()
        db, known, reopened = SessionDB(store), None, reopened + 1
    tell("at", str(n))
    if (control / "pause").exists():
        tell("paused")
        while (control / "pause").exists():
            time.sleep(0.002)
        (control / "paused").unlink()
    time.sleep(0.004)
db.close()
print(json.dumps({"pairs": n, "reopened": reopened, "moved": moved}))
"""


class Live:
    """A store with a writer at work."""

    def __init__(self, store: Path, control: Path, process: subprocess.Popen[str]) -> None:
        self.store = store
        self.control = control
        self.process = process

    def at(self) -> int:
        """Return how many pairs are in the store at least."""
        return int((self.control / "at").read_text())

    def wait(self, name: str, *, gone: bool = False) -> None:
        """Wait for a sign of the writer's."""
        self.wait_for(lambda: (self.control / name).exists() != gone)

    def wait_for(self, done: Callable[[], bool]) -> None:
        """Wait until something is so, at most a minute."""
        until = time.monotonic() + 60
        while not done():
            assert self.process.poll() is None, self.process.communicate()[1]
            assert time.monotonic() < until, "the writer does not go on"
            time.sleep(0.002)

    @contextmanager
    def paused(self) -> Generator[None]:
        """Let the writer rest, connected, its log beside the store."""
        (self.control / "pause").touch()
        self.wait("paused")
        yield
        (self.control / "pause").unlink()
        self.wait("paused", gone=True)

    def crash(self) -> None:
        """Kill the writer, its log beside the store."""
        (self.control / "pause").touch()
        self.wait("paused")
        self.process.kill()
        self.process.communicate()

    def stop(self) -> dict[str, Any]:
        """End the writer and return what it tells."""
        (self.control / "stop").touch()
        out, errors = self.process.communicate(timeout=60)
        assert 0 == self.process.returncode, errors
        told: dict[str, Any] = json.loads(out.rstrip("\n").rpartition("\n")[2])
        return told


@pytest.fixture
def live(hermes_python: Path, tmp_path: Path) -> Iterator[Live]:
    store, control = tmp_path / "hermes" / "state.db", tmp_path / "control"
    store.parent.mkdir()
    control.mkdir()
    process = subprocess.Popen(
        script(hermes_python, WRITER, store, control),
        env=environment(tmp_path / "home"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    try:
        found = Live(store, control, process)
        found.wait("at")
        yield found
    finally:
        process.kill()
        process.communicate()


class State(NamedTuple):
    """How far the writer was."""

    pairs: int
    turns: int
    compactions: int
    rewinds: int
    short: int


def _state(path: Path) -> State:
    """Return the state that an export shows, and prove that it is one."""
    with path.open(encoding="utf-8", newline="\n") as file:
        sessions: dict[str, dict[str, Any]] = {record["id"]: record for record in map(json.loads, file)}
    live = {name: [m["content"] for m in record["messages"]] for name, record in sessions.items()}
    hidden = {name: record["satchel"].get("hidden", []) for name, record in sessions.items()}
    # One transaction wrote both messages, both counts, and the goal.
    pairs = len(live["left"])
    assert [f"pair {n}" for n in range(1, pairs + 1)] == live["left"] == live["right"]
    assert (pairs, pairs) == (sessions["left"]["message_count"], sessions["right"]["message_count"])
    if pairs:
        assert str(pairs) == sessions["left"]["satchel"]["meta"]["goal:left"]
    # Compaction hides all rows and adds the summary, in one transaction.
    said = [*(m["content"] for m in hidden["chat"]), *live["chat"]]
    turns = [text.split()[1] for text in said if text.startswith("turn ")]
    compactions = sum(text.startswith("summary ") for text in said)
    assert [str(n) for n in range(1, len(turns) + 1)] == turns
    assert len(turns) + compactions == len(said)
    assert compactions == sum(m["content"].startswith("summary ") for m in hidden["chat"]) + (compactions > 0)
    assert compactions == sum(text.startswith("summary ") for text in live["chat"][:1]) + max(0, compactions - 1)
    assert all((m["active"], m["compacted"]) == (0, 1) for m in hidden["chat"])
    # So does rewinding, with a count of its own.
    rewinds = sum(m["role"] == "user" for m in hidden["undo"])
    assert (2 * rewinds, rewinds) == (len(hidden["undo"]), sessions["undo"]["rewind_count"])
    short = [record for name, record in sessions.items() if name.startswith("short ")]
    assert all(record["ended_at"] is None or len(record["messages"]) == 1 for record in short)
    return State(pairs, len(turns), compactions, rewinds, len(short))


def _files(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return the inode and the bytes of each file; of the shared memory, where readers leave marks, the inode."""
    return {
        path.name: (path.stat().st_ino, b"" if path.name.endswith("-shm") else path.read_bytes()) for path in folder.iterdir()
    }


def _log(store: Path) -> tuple[int, bytes] | None:
    """Return the inode and the bytes of the log; None when there is none, or its writer began it anew meanwhile."""
    try:
        with open(f"{store}-wal", "rb") as file:
            inode, log = os.fstat(file.fileno()).st_ino, file.read()
            file.seek(0)
            return (inode, log) if log and file.read(32) == log[:32] else None
    except FileNotFoundError:
        return None


def _committed(log: bytes) -> bytes:
    """Return a log up to its last commit but one: the last may have been in the making. Behind these frames may be older ones."""
    size, salts = int.from_bytes(log[8:12], "big"), log[16:24]
    commits = [0, 0]
    for at in range(32, len(log), 24 + size):
        if log[at + 8 : at + 16] != salts:
            break
        if log[at + 4 : at + 8] != bytes(4):
            commits.append(at + 24 + size)
    return log[: commits[-2]]


def test_two_hundred_exports_beside_the_writer(live: Live, tmp_path: Path) -> None:
    """None fails or mixes two states; the files of the store stay the writer's own."""
    opened: Counter[str] = Counter()
    names: set[str] = set()
    same_log = 0

    def listen(event: Event) -> None:
        if isinstance(event, StoreOpened):
            opened[event.how] += 1

    last, exports = State(0, 0, 0, 0, 0), 0
    # One export after the other makes the writer wait, now and then, for the moment in which it can take its log away.
    while exports < 200 or last.pairs < 100:
        exports += 1
        least, log = live.at(), _log(live.store)
        outcome = satchel.convert(live.store, tmp_path / "out.jsonl", force=True, listen=listen)
        after = _log(live.store)
        names |= {path.name for path in live.store.parent.iterdir()}
        assert 0 == outcome.lost
        state = _state(tmp_path / "out.jsonl")
        assert state.pairs >= least
        assert all(now >= then for now, then in zip(state, last, strict=True))
        last = state
        # A log that its writer did not begin anew (the salts in its header tell) only grew.
        if log and after and log[1][:32] == after[1][:32] and (known := _committed(log[1])):
            assert (log[0], known) == (after[0], after[1][: len(known)])
            same_log += 1
    told = live.stop()
    assert (0, True) == (told["moved"], told["reopened"] > 5)
    assert told["pairs"] >= last.pairs
    assert {"state.db", "state.db-wal", "state.db-shm"} >= names
    assert ["state.db"] == [path.name for path in live.store.parent.iterdir()]
    assert opened["in one read transaction, beside its writer"] > 100
    assert same_log > 20


def test_a_resting_writers_files_stay_as_they_are(live: Live, tmp_path: Path) -> None:
    """Reading makes no checkpoint, not even when it ends, and takes no log away."""
    live.wait_for(lambda: live.at() >= 25)
    with live.paused():
        before = _files(live.store.parent)
        assert {"state.db", "state.db-wal", "state.db-shm"} == set(before)
        assert len(before["state.db-wal"][1]) > 0
        for _ in range(3):
            satchel.convert(live.store, tmp_path / "out.jsonl", force=True)
            assert before == _files(live.store.parent)
        assert live.at() <= _state(tmp_path / "out.jsonl").pairs
    assert 0 == live.stop()["moved"]


def test_two_exports_at_once(live: Live, tmp_path: Path) -> None:
    for turn in range(3):
        outputs = [tmp_path / f"out-{turn}-{number}.jsonl" for number in range(2)]
        commands = [[sys.executable, "-m", "satchel", "export", str(out), "--from", str(live.store), "-q"] for out in outputs]
        running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8") for command in commands]
        told = [process.communicate(timeout=60)[1] for process in running]
        assert [0, 0] == [process.returncode for process in running], told
        for out in outputs:
            _state(out)
            assert satchel.verify(out, content=True).ok
    assert 0 == live.stop()["moved"]


READER = """
import sys, time
import satchel
with satchel.open(sys.argv[1]) as store:
    records = store.records("left")
    print(next(records).kind, next(records).kind, flush=True)
    time.sleep(100)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_reader_that_is_killed_leaves_no_lock(live: Live, tmp_path: Path) -> None:
    live.wait_for(lambda: live.at() >= 5)
    readers = [
        subprocess.Popen([sys.executable, "-c", READER, str(live.store)], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for reader in readers:
        assert reader.stdout is not None
        assert "sessions" == reader.stdout.readline().split()[0]
    before = live.at()
    live.wait_for(lambda: live.at() >= before + 5)
    for reader in readers:
        reader.kill()
        reader.communicate()
        assert -signal.SIGKILL == reader.returncode
    before = live.at()
    live.wait_for(lambda: live.at() >= before + 70)
    with live.paused(), closing(sqlite3.connect(live.store, timeout=1, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("ROLLBACK")
        # A mark that was left behind would keep the log from being taken in whole.
        busy, frames, taken = db.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        assert (0, frames) == (busy, taken)
    satchel.convert(live.store, tmp_path / "out.jsonl")
    assert _state(tmp_path / "out.jsonl").pairs >= before
    assert 0 == live.stop()["moved"]


# ---------------------------------------------------------------------------------------------------------- afterwards

OPEN = """
import json, sys
from pathlib import Path
from hermes_state import SessionDB
db = SessionDB(Path(sys.argv[1]))
counts = {s["id"]: len(s["messages"]) for s in db.export_all()}
db.append_message("left", "user", "and on")
found = len(db.search_messages("pair"))
db.close()
print(json.dumps({"counts": counts, "found": found}))
"""


@pytest.mark.parametrize("shm", [True, False], ids=["with -shm", "without -shm"])
def test_hermes_opens_what_was_read_after_its_crash(live: Live, hermes_python: Path, tmp_path: Path, shm: bool) -> None:
    """A killed writer leaves its log; reading leaves both as they are, and Hermes finds all of it."""
    live.wait_for(lambda: live.at() >= 25)
    live.crash()
    if not shm:
        Path(f"{live.store}-shm").unlink()
    checked = _check(live.store, tmp_path / "before")
    before = _files(live.store.parent)
    assert len(before["state.db-wal"][1]) > 0
    satchel.convert(live.store, tmp_path / "out.jsonl")
    assert before == _files(live.store.parent)
    assert (["ok"], ["ok"]) == (checked, _check(live.store, tmp_path / "after"))
    state = _state(tmp_path / "out.jsonl")
    told = run(hermes_python, OPEN, live.store, home=tmp_path / "home")
    with (tmp_path / "out.jsonl").open(encoding="utf-8", newline="\n") as file:
        assert told["counts"] == {record["id"]: len(record["messages"]) for record in map(json.loads, file)}
    assert state.pairs >= 25
    assert told["found"] > 0
    assert ["ok"] == _check(live.store, tmp_path / "opened")


def _check(store: Path, folder: Path) -> list[str]:
    """Return what SQLite finds wrong with a copy of a store and its log."""
    shutil.copytree(store.parent, folder)
    with closing(sqlite3.connect(folder / store.name)) as db:
        return [row[0] for row in db.execute("PRAGMA integrity_check")]


def test_a_store_that_was_copied_while_it_was_open(shared: Path, hermes_python: Path, tmp_path: Path) -> None:
    folder = tmp_path / "hot"
    shutil.copytree(shared / "data" / "hermes" / "0.19.0" / "hot", folder)
    for path in [folder, *folder.iterdir()]:
        path.chmod(0o755)
    checked, before = _check(folder / "state.db", tmp_path / "before"), _files(folder)
    satchel.convert(folder / "state.db", tmp_path / "out.jsonl")
    assert before == _files(folder)
    assert (["ok"], ["ok"]) == (checked, _check(folder / "state.db", tmp_path / "after"))
    told = run(hermes_python, OPEN.replace('"left"', "next(iter(counts))"), folder / "state.db", home=tmp_path / "home")
    with (tmp_path / "out.jsonl").open(encoding="utf-8", newline="\n") as file:
        assert told["counts"] == {record["id"]: len(record["messages"]) for record in map(json.loads, file)}
