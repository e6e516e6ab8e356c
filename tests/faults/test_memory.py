"""Memory holds a message, not a session: how much is used does not depend on how long a session is."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hermes_cases import write
from hermes_parts import Case

from satchel import library

SUPPORT = Path(__file__).resolve().parents[1] / "support"
MESSAGES, LETTERS = 8_000, 10_000

EXPORT = """
import sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from exporting import View
from satchel.digest import content_digest
from satchel.events import ignore
from satchel.formats.hermes_state import reader
from satchel.formats.jsonl import writer

def used():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon:"))

class Nowhere:
    name, most, bytes = "", 0, 0
    def stream(self, name=None): return self
    def finish(self, stream): pass
    def write(self, data):
        self.bytes += len(data)
        self.most = max(self.most, used())

target = Nowhere()
how = sys.argv[3]
options = {"only": how} if how == "user-prompts" else {}
with reader.open(Path(sys.argv[1]), listen=ignore) as store:
    content_digest(store.records("small"), store.canonical)
    before = used()
    with writer.open(target, options=options, listen=ignore) as export:
        for view in [View(store, "small", "large")] if how == "logical" else [View(store, "small"), View(store, "large")]:
            export.add(view)
    print(target.bytes, max(target.most, used()) - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is told by Linux only")
@pytest.mark.parametrize(("schema", "how"), [(23, "single"), (17, "single"), (23, "logical"), (23, "user-prompts")])
def test_a_long_session_takes_no_more_memory_than_a_short_one(tmp_path: Path, schema: int, how: str) -> None:
    """Version 17 has no index that gives a session's rows in order, so SQLite sorts them. Its second half repeats the first."""
    case = Case()
    for name in ("small", "large"):
        case.add(name, 1e9)
    path = write(tmp_path / "state.db", case, schema=schema, fts=False)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA synchronous = OFF")
        query = """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
            INSERT INTO messages (session_id, role, content, timestamp, active, compacted)
            SELECT ?, 'user', replace(hex(zeroblob(? / 2)), '0', 'x') || (i % 4000), i, i / 4 % 2, 1 - i / 4 % 2 FROM n"""
        for name, messages in (("small", 10), ("large", MESSAGES)):
            db.execute(query, (messages, name, LETTERS))
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    ran = subprocess.run(
        [sys.executable, "-c", EXPORT, str(path), str(SUPPORT), how],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "" == ran.stderr
    written, grown = map(int, ran.stdout.split())
    assert written > MESSAGES * LETTERS
    assert grown < 24_000, f"{grown} KiB more for a session of {written >> 10} KiB"


VERIFY = """
import sys
from pathlib import Path
from satchel.formats.jsonl.readback import ReadBack, read_back

def most():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))

before = most()
assert all(isinstance(found, ReadBack) for found in read_back(Path(sys.argv[1]), update=lambda data: None))
print(most() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is told by Linux only")
def test_a_large_text_of_a_hidden_message_is_passed_without_a_memory_of_each_byte(tmp_path: Path) -> None:
    megabytes = 8
    case = Case()
    hidden = {"role": "user", "content": "x", "active": 0, "api_content": 'a"b\\' * (megabytes << 18)}
    case.add("s", 1e9, [hidden, {"role": "user", "content": "y"}])
    out = tmp_path / "a.jsonl"
    library.convert(write(tmp_path / "state.db", case, schema=23, fts=False), out)
    ran = subprocess.run([sys.executable, "-c", VERIFY, str(out)], capture_output=True, text=True, check=False)
    assert "" == ran.stderr
    assert int(ran.stdout) < 12 * (megabytes << 10), f"{ran.stdout.strip()} KiB"


RECORDS = """
import sys
from pathlib import Path
from satchel.events import ignore
from satchel.formats.hermes_state import reader

def used():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))

with reader.open(Path(sys.argv[1]), listen=ignore) as store:
    list(store.records("small"))
    before = used()
    found = sum(1 for record in store.records("large"))
    print(found, used() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is told by Linux only")
@pytest.mark.parametrize("index", ["", "CREATE INDEX dreams_session ON dreams(session_id)"])
def test_rows_of_other_tables_are_read_one_by_one(tmp_path: Path, index: str) -> None:
    """They were gathered before the first one was given on."""
    case = Case()
    for name in ("small", "large"):
        case.add(name, 1e9)
    path = write(tmp_path / "state.db", case, schema=23, fts=False)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE dreams (session_id TEXT, body TEXT)")
        rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) SELECT i FROM n"
        db.execute(f"INSERT INTO dreams SELECT 'large', hex(zeroblob(500)) || i FROM ({rows})")
        db.execute(index)
    ran = subprocess.run([sys.executable, "-c", RECORDS, str(path)], capture_output=True, text=True, check=False)
    assert "" == ran.stderr
    found, grown = map(int, ran.stdout.split())
    assert found == 60_001
    assert grown < 16_000, f"{grown} KiB for the rows of another table"
