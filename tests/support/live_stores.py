"""Stores that another process is writing to, and what must stay the same when they are read."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from satchel.formats.hermes_state import reader

__all__ = ["AS_IT_LIES", "BESIDE", "COPY", "Writer", "grow", "read", "state", "writing"]

AS_IT_LIES, BESIDE, COPY = "as it lies, without a lock", "in one read transaction, beside its writer", "from a private copy"


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return what must stay the same: names, inodes and bytes; the bytes of a `-shm` are its users' business."""
    return {
        entry.name: (entry.inode(), b"" if entry.name.endswith("-shm") else Path(entry.path).read_bytes())
        for entry in os.scandir(folder)
        if entry.is_file(follow_symlinks=False)
    }


def read(path: Path, *, private: bool = False) -> tuple[str, list[str]]:
    """Read all of a store; return how, and the contents of all messages."""
    hows: list[str] = []

    def hear(event: object) -> None:
        hows.extend([how] if (how := getattr(event, "how", None)) else [])

    with reader.open(path, listen=hear, private=private) as store:
        found = [str(r.data["content"]) for i in store.sessions() for r in store.records(i.id) if r.kind == "messages"]
        store.check()
    return hows[0], found


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
def writing(path: Path) -> Generator[Writer, None, None]:
    writer = Writer(path)
    try:
        yield writer
    finally:
        if writer._process.returncode is None:
            writer.close()


def grow(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("INSERT INTO state_meta VALUES ('more', 'x')")
