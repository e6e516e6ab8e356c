"""Databases that Hermes itself made, where they are at hand: every session and message, by the account that came with them."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from exporting import exported

from satchel.digest import content_digest
from satchel.errors import NotAStore, StoreDamaged, StoreError
from satchel.events import Event, Problem, ignore
from satchel.formats.hermes_state import reader
from satchel.formats.jsonl import reader as jsonl
from satchel.formats.jsonl.readback import ReadBack, read_back
from satchel.jsontext import RawText

MADE = ["0.13.0", "0.17.0", "0.19.0", "migrated-0.13.0-to-0.19.0", "synthetic-v23"]
OLD = ["0.13.0", "0.17.0", "0.19.0"]


def _copied(folder: Path, to: Path, *, log: bool = True) -> Path:
    """Copy a database that was open, so that the original stays as it is."""
    to.mkdir()
    for file in folder.glob("state.db*"):
        if log or file.name == "state.db":
            shutil.copy(file, to)
            (to / file.name).chmod(0o600)
    return to / "state.db"


def _bytes(value: Any) -> bytes:
    if isinstance(value, RawText):
        return value.data
    return value if isinstance(value, bytes) else str(value or "").encode()


def _compare(path: Path, truth: dict[str, Any]) -> None:
    with reader.open(path, listen=ignore) as store:
        assert truth["schema_version"] == store.schema
        infos = {info.id: info for info in store.sessions()}
        assert set(truth["sessions"]) == set(infos)
        counts = [sum(getattr(info, state) for info in infos.values()) for state in ("messages", "compacted", "rewound")]
        assert [truth["totals"][name] for name in ("active", "compacted", "rewound")] == counts
        assert truth["totals"]["messages"] == sum(counts)
        for session_id, said in truth["sessions"].items():
            info = infos[session_id]
            assert (said["source"], said["title"], said["model"]) == (info.source, info.title, info.model)
            assert (said["started_at"], said["ended_at"], said["end_reason"]) == (info.started_at, info.ended_at, info.end_reason)
            assert (said["live"], bool(said["archived"]), said["parent_session_id"]) == (info.live, info.archived, info.parent)
            rows = (said["rows_active"], said["rows_compacted"], said["rows_rewound"])
            assert rows == (info.messages, info.compacted, info.rewound)
            messages = [record.data for record in store.records(session_id) if record.kind == "messages"]
            digest = hashlib.sha256(b"".join(_bytes(row["content"]) + b"\x1e" for row in messages))
            assert said["content_sha256"] == digest.hexdigest()
            usage = [record for record in store.records(session_id) if record.kind == "session_model_usage"]
            assert said.get("usage_rows") in (None, len(usage))
        store.check()


@pytest.mark.parametrize("made", MADE)
def test_a_store_holds_what_its_maker_says(shared: Path, made: str) -> None:
    folder = shared / "data" / "hermes" / made
    _compare(folder / "state.db", json.loads((folder / "truth.json").read_text()))


@pytest.mark.parametrize("made", OLD)
def test_a_store_that_was_open_with_its_log_and_without(shared: Path, tmp_path: Path, made: str) -> None:
    folder = shared / "data" / "hermes" / made / "hot"
    _compare(_copied(folder, tmp_path / "with"), json.loads((folder / "truth.json").read_text()))
    without = json.loads((folder / "truth-without-wal.json").read_text())
    _compare(_copied(folder, tmp_path / "without", log=False), without)
    path = _copied(folder, tmp_path / "alone")
    Path(f"{path}-shm").unlink()
    _compare(path, json.loads((folder / "truth.json").read_text()))


@pytest.mark.parametrize("made", MADE)
def test_a_copy_as_lines_says_the_same(shared: Path, tmp_path: Path, made: str) -> None:
    out = tmp_path / "out.jsonl"
    with reader.open(shared / "data" / "hermes" / made / "state.db", listen=ignore) as store:
        data, _, digests = exported(store)
    out.write_bytes(data)
    assert digests == {b.session_id: b.content_digest for b in read_back(out, update=len) if isinstance(b, ReadBack)}
    with jsonl.open(out, listen=ignore) as copy:
        assert digests == {i.id: content_digest(copy.records(i.id), copy.canonical) for i in copy.sessions(counts=False)}


def test_hermes_own_export_is_read(shared: Path) -> None:
    folder = shared / "data" / "hermes" / "0.19.0"
    lines = [path for path in sorted((folder / "upstream-export").rglob("*.jsonl")) if jsonl.sniff(path)]
    if not lines:
        pytest.skip("no export in lines among the inputs")
    with reader.open(folder / "state.db", listen=ignore) as store:
        for path in lines:
            with jsonl.open(path, listen=ignore) as copy:
                for info in copy.sessions():
                    live = [r.data["content"] for r in store.records(info.id) if r.kind == "messages" and r.data["active"]]
                    found = [r.data["content"] for r in copy.records(info.id) if r.kind == "messages"]
                    assert len(live) == len(found)
                    assert live == found or "redacted" in path.name


@pytest.mark.parametrize(
    ("name", "sessions", "words"),
    [
        ("odd-rows", None, ""),
        ("active-null", None, "no `active` mark"),
        ("no-fts", 67, "no search index"),
        ("fts-broken", 67, "search index"),
        ("fts-trigger-dangling", 67, "triggers"),
        ("schema-duplicate", 67, "malformed"),
        ("truncated", 67, "malformed"),
        ("pages-scrambled", 67, ""),
        ("future", 67, "newer than the newest known one"),
    ],
)
def test_a_damaged_store_gives_what_is_left(shared: Path, name: str, sessions: int | None, words: str) -> None:
    heard: list[Event] = []
    with reader.open(shared / "data" / "hermes" / "damaged" / f"{name}.db", listen=heard.append) as store:
        infos = list(store.sessions())
        assert len(infos) == len({info.id for info in infos})
        assert sessions in (None, len(infos))
        rows = sum(record.kind == "messages" for info in infos for record in store.records(info.id))
        assert (
            sum((info.messages or 0) + (info.compacted or 0) + (info.rewound or 0) for info in infos) >= rows
            or name == "truncated"
        )
    problems = [event for event in heard if isinstance(event, Problem)]
    assert any(words in problem.message for problem in problems) or not words
    lost = sum(problem.lost for problem in problems if "_fts" not in problem.where)
    assert (363 + 25, 274) == (lost, rows) if name == "truncated" else lost == 0


@pytest.mark.parametrize(
    ("name", "error"),
    [("empty", StoreDamaged), ("not-a-db", NotAStore), ("header-only", StoreError), ("other-app", NotAStore)],
)
def test_what_is_no_store_is_refused(shared: Path, name: str, error: type[StoreError]) -> None:
    with pytest.raises(error):
        reader.open(shared / "data" / "hermes" / "damaged" / f"{name}.db", listen=ignore)
