"""
The contracts as tests, for anyone who writes a reader or a writer.

Subclass a suite in your own tests, and give it what it asks for:

    from satchel.testing import ReaderContract

    class TestMyReader(ReaderContract):
        reader = my_reader

        @pytest.fixture
        def path(self, tmp_path):
            return write_a_sample_into(tmp_path / "sample.log")

pytest is needed to run them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from satchel.contracts import Reader, Store, Writer
from satchel.digest import content_digest
from satchel.errors import NotFound
from satchel.events import ignore
from satchel.formats.model import Message
from satchel.formats.parted import rows
from satchel.session_views import View

__all__ = ["MemoryStream", "MemoryTarget", "ReaderContract", "WriterContract"]


class MemoryStream:
    """A stream that keeps what is written."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parts: list[bytes] = []
        self.finished = False

    def write(self, data: bytes, /) -> None:
        """Append bytes."""
        assert not self.finished, f"{self.name} is written to after it was finished"
        self.parts.append(bytes(data))

    @property
    def data(self) -> bytes:
        """All bytes so far."""
        return b"".join(self.parts)


class MemoryTarget:
    """A target in memory: files by name."""

    def __init__(self) -> None:
        self.streams: dict[str, MemoryStream] = {}

    def stream(self, name: str | None = None, /) -> MemoryStream:
        """Start a file."""
        name = name or "output"
        assert name not in self.streams, f"{name} is started twice"
        self.streams[name] = MemoryStream(name)
        return self.streams[name]

    def finish(self, stream: Any, /) -> None:
        """Finish a file."""
        assert stream in self.streams.values()
        stream.finished = True


class ReaderContract:
    """What every reader promises. `reader` is the module or object, the fixture `path` a store with at least one message."""

    reader: Reader

    @pytest.fixture
    def path(self) -> Path:
        """A store of the reader's format, in a folder of its own."""
        raise NotImplementedError("give the suite a store: a fixture named path")

    @pytest.fixture
    def store(self, path: Path) -> Iterator[Store]:
        """The store, opened."""
        with self.reader.open(path, listen=ignore) as store:
            yield store

    def test_it_knows_its_own(self, path: Path) -> None:
        claim = self.reader.sniff(path)

        assert claim is not None
        assert claim.reader == self.reader.name

    def test_it_claims_nothing_else(self, tmp_path: Path) -> None:
        for name, content in (("empty", b""), ("text", b"Dear Ada,\n"), ("json", b"[1, 2]\n"), ("binary", bytes(range(256)))):
            other = tmp_path / f"other-{name}"
            other.write_bytes(content)

            assert self.reader.sniff(other) is None, name
        assert self.reader.sniff(tmp_path / "absent") is None

    def test_reading_leaves_no_trace(self, path: Path) -> None:
        before = _folder(path)

        with self.reader.open(path, listen=ignore) as store:
            for info in store.sessions():
                list(store.decode(store.records(info.id)))

        assert before == _folder(path)

    def test_ids_are_distinct_and_the_scan_repeats(self, store: Store) -> None:
        first = [info.id for info in store.sessions()]

        assert first
        assert len(first) == len(set(first))
        assert first == [info.id for info in store.sessions(counts=False)]

    def test_a_session_is_what_the_scan_says(self, store: Store) -> None:
        for info in store.sessions():
            assert info == store.session(info.id)

    def test_an_unknown_id_is_not_found(self, store: Store) -> None:
        with pytest.raises(NotFound):
            store.session("no session has this id")

    def test_records_repeat(self, store: Store) -> None:
        for info in store.sessions(counts=False):
            assert list(store.records(info.id)) == list(store.records(info.id))

    def test_every_record_is_in_exactly_one_entry_in_order(self, store: Store) -> None:
        for info in store.sessions(counts=False):
            records = list(store.records(info.id))
            places = {id(record): place for place, record in enumerate(records)}
            held = [[places[id(record)] for record in entry.records] for entry in store.decode(records)]

            # A message may have records of others between its own; it stands where its first one does.
            assert list(range(len(records))) == sorted(place for entry in held for place in entry), info.id
            assert held == sorted(sorted(entry) for entry in held), info.id

    def test_the_counts_are_of_messages(self, store: Store) -> None:
        for info in store.sessions():
            messages = [e for e in store.decode(store.records(info.id)) if isinstance(e, Message)]
            # What comes from a log counts as an export counts it, in rows; and what stands beside the main line as rewound.
            states = [m.state for m in messages for _ in range(1 if store.dialect == "hermes" else rows(m))]
            counts = {state: states.count(state) for state in ("live", "compacted")}
            counts["rewound"] = len(states) - sum(counts.values())

            assert counts == {"live": info.messages, "compacted": info.compacted, "rewound": info.rewound}, info.id

    def test_canonical_lines_are_lines(self, store: Store) -> None:
        for info in store.sessions(counts=False):
            for record in store.records(info.id):
                line = b"".join(store.canonical(record))

                assert line.endswith(b"\n")
                assert line.count(b"\n") == 1

    def test_a_private_copy_says_the_same(self, path: Path, store: Store) -> None:
        with self.reader.open(path, listen=ignore, private=True) as other:
            for info in store.sessions(counts=False):
                assert _said(store, info.id) == _said(other, info.id)


def _said(store: Store, session_id: str) -> str:
    return content_digest(store.records(session_id), store.canonical, conversation=store.conversation)


def _folder(path: Path) -> dict[str, str]:
    """Return the names beside a path and what is in them; a shared-memory file may take read marks."""
    files = [file for file in sorted(path.parent.iterdir()) if file.is_file()]
    return {f.name: "" if f.name.endswith("-shm") else hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


class WriterContract:
    """What every writer promises. `writer` is the module or object, the fixture `store` an opened store with several sessions."""

    writer: Writer
    options: ClassVar[Mapping[str, Any]] = {}

    @pytest.fixture
    def store(self) -> Store:
        """An opened store."""
        raise NotImplementedError("give the suite a store: a fixture named store")

    def write(self, store: Store, chains: Sequence[Sequence[str]] | None = None) -> tuple[MemoryTarget, list[Any]]:
        """Write sessions into memory; return the target and what the writer said of each."""
        target = MemoryTarget()
        said: list[Any] = []
        if chains is None:
            chains = [[info.id] for info in store.sessions(counts=False)]
        with self.writer.open(target, options=self.options, listen=ignore) as export:
            for ids in chains:
                said.append(export.add(View(store, ids, None)))
        return target, said

    def test_every_stream_is_finished(self, store: Store) -> None:
        target, _ = self.write(store)

        assert target.streams
        assert all(stream.finished for stream in target.streams.values())

    def test_the_same_input_gives_the_same_bytes(self, store: Store) -> None:
        first, second = self.write(store)[0], self.write(store)[0]

        assert {n: s.data for n, s in first.streams.items()} == {n: s.data for n, s in second.streams.items()}

    def test_it_says_where_each_session_went(self, store: Store) -> None:
        target, said = self.write(store)

        assert {written.file for written in said} <= set(target.streams)

    def test_it_writes_every_message_or_says_what_was_lost(self, store: Store) -> None:
        infos = list(store.sessions())
        _, said = self.write(store)

        for info, written in zip(infos, said, strict=True):
            if not written.losses:
                assert (info.messages, info.compacted, info.rewound) == (written.messages, written.compacted, written.rewound)

    def test_no_sessions_are_no_error(self, store: Store) -> None:
        target, said = self.write(store, [])

        assert said == []
        assert all(stream.finished for stream in target.streams.values())
