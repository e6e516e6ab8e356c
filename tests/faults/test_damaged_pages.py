"""Pages of a store are overwritten or gone: what stands on the others comes out, what is lost is told, and reading ends."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hermes_cases
import plain_rows
import pytest
import sqlite_pages

from satchel.contracts import SessionInfo
from satchel.errors import SatchelError, StoreError
from satchel.events import Event, Problem, ignore
from satchel.formats.hermes_state import reader

pytestmark = pytest.mark.timeout(60)


@dataclass
class Base:
    """A whole database, what is in it, and which pages each row needs."""

    path: Path
    data: bytes
    rows: dict[int, Any]
    needs: dict[int, sqlite_pages.Needs]
    sessions: dict[str, frozenset[int]]
    schema: frozenset[int]
    page: int

    @property
    def pages(self) -> int:
        return len(self.data) // self.page


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Base]:
    made: dict[str, Base] = {}

    def base(name: str) -> Base:
        if name not in made:
            case, schema, *rest = name.split()
            page = int(rest[0]) if rest else 1024
            rows_of = hermes_cases.CASES[case]()
            for row in (row for messages in rows_of.messages.values() for row in messages):
                # Long enough for overflow pages, and short enough for many tests.
                row["content"] = row["content"][:5000] if isinstance(row["content"], str) else row["content"]
            path = hermes_cases.write(tmp_path_factory.mktemp("base") / "state.db", rows_of, schema=int(schema))
            sqlite_pages.shrink_pages(path, page)
            with reader.open(path, listen=ignore) as store:
                infos = list(store.sessions())
                rows = {r.key: r.data for i in infos for r in store.records(i.id) if r.kind == "messages"}
            needs = sqlite_pages.rows(path, "messages")
            assert set(needs) == set(rows)
            ids = {number: row["id"] for number, row in enumerate(plain_rows.rows(path, "sessions"), 1)}
            own = {ids[rowid]: row.pages for rowid, row in sqlite_pages.rows(path, "sessions").items()}
            schema_pages = _pages(path, "sqlite_schema")
            made[name] = Base(path, path.read_bytes(), rows, needs, own, schema_pages, page)
        return made[name]

    return base


def _pages(path: Path, *tables: str) -> frozenset[int]:
    """Return the pages of tables that have rows."""
    return frozenset(page for table in tables for row in sqlite_pages.rows(path, table).values() for page in row.pages)


@dataclass
class Outcome:
    """What was read of a damaged file."""

    infos: list[SessionInfo]
    rows: dict[int, Any]
    problems: list[Problem]
    repeated: list[int]

    @property
    def lost(self) -> int:
        return sum(problem.lost for problem in self.problems)


def _read(path: Path) -> Outcome:
    """Read all of a store, twice; nothing may change between, and no loss be told again."""
    heard: list[Event] = []
    rows: dict[int, Any] = {}
    repeated: list[int] = []
    with reader.open(path, listen=heard.append) as store:
        infos = list(store.sessions())
        first = {info.id: list(store.records(info.id)) for info in infos}
        told = sum(event.lost for event in heard if isinstance(event, Problem))
        assert infos == list(store.sessions())
        for session_id, records in first.items():
            assert records == list(store.records(session_id))
            for record in records:
                if record.kind == "messages":
                    repeated += [record.key] if record.key in rows else []
                    rows[record.key] = record.data
        assert told == sum(event.lost for event in heard if isinstance(event, Problem))
        store.check()
        store.facts()
    assert len(infos) == len({info.id for info in infos})
    return Outcome(infos, rows, [event for event in heard if isinstance(event, Problem)], repeated)


def _overwrite(base: Base, tmp_path: Path, pages: Iterable[int], noise: random.Random | None) -> Path:
    data = bytearray(base.data)
    for page in pages:
        data[(page - 1) * base.page : page * base.page] = noise.randbytes(base.page) if noise else bytes(base.page)
    path = tmp_path / "damaged.db"
    path.write_bytes(data)
    return path


def _compare(base: Base, found: Outcome, hit: Iterable[int]) -> None:
    """Hold what came out against what had to."""
    hit = set(hit)
    whole = {rowid for rowid, row in base.needs.items() if not row.pages & hit}
    missing = {rowid for rowid in whole if found.rows.get(rowid) != base.rows[rowid]}
    assert set() == missing
    assert [] == found.repeated
    lost = set(base.rows) - set(found.rows)
    assert bool(lost) <= bool(found.lost)
    ids = {info.id for info in found.infos}
    assert {name for name, pages in base.sessions.items() if not pages & hit} <= ids
    assert {base.rows[rowid]["session_id"] for rowid in whole} <= ids


NAMES = ["story 23", "odd 22", "lineage 30", "story 8"]


@pytest.mark.parametrize("seed", range(32))
def test_overwritten_pages_take_nothing_else_with_them(bases: Callable[[str], Base], tmp_path: Path, seed: int) -> None:
    rng, base = random.Random(seed), bases(NAMES[seed % len(NAMES)])
    free = [page for page in range(2, base.pages + 1) if page not in base.schema and page not in _long_keys(base)]
    pages = rng.sample(free, rng.choice([1, 1, 2, 8]))
    found = _read(_overwrite(base, tmp_path, pages, rng if seed % 3 else None))
    _compare(base, found, pages)


def _long_keys(base: Base) -> set[int]:
    """Return pages that hold the rest of long keys: SQLite takes what is on an overwritten one for another key."""
    return {page for table in ("messages", "sessions") for page in sqlite_pages.index_pages(base.path, table, overflow=True)}


@pytest.mark.parametrize("seed", range(24))
def test_flipped_bits_break_nothing(bases: Callable[[str], Base], tmp_path: Path, seed: int) -> None:
    """What a changed byte says can't be known; but every row of `messages` on another page is as it was."""
    rng, base = random.Random(1000 + seed), bases(NAMES[seed % len(NAMES)])
    pages = sorted(_pages(base.path, "messages") - base.schema) if seed % 2 else range(1, base.pages + 1)
    page, data = rng.choice(pages), bytearray(base.data)
    for _ in range(3):
        data[(page - 1) * base.page + rng.randrange(base.page)] ^= 1 << rng.randrange(8)
    path = tmp_path / "damaged.db"
    path.write_bytes(data)
    try:
        found = _read(path)
    except SatchelError:
        assert page in base.schema or page == 1
        return
    if seed % 2:
        whole = {rowid for rowid, row in base.needs.items() if page not in row.pages}
        assert set() == {rowid for rowid in whole if found.rows.get(rowid) != base.rows[rowid]}


@pytest.mark.parametrize("seed", range(8))
def test_a_page_that_stands_in_for_another_breaks_nothing(bases: Callable[[str], Base], tmp_path: Path, seed: int) -> None:
    rng, base = random.Random(2000 + seed), bases(NAMES[seed % len(NAMES)])
    data = bytearray(base.data)
    one, other = (rng.randrange(1, base.pages) * base.page for _ in range(2))
    data[one : one + base.page] = base.data[other : other + base.page]
    path = tmp_path / "damaged.db"
    path.write_bytes(data)
    try:
        _read(path)
    except SatchelError as error:
        assert str(path) in error.message  # noqa: PT017


@pytest.mark.parametrize("seed", range(8))
def test_a_file_that_was_cut_gives_what_is_left(bases: Callable[[str], Base], tmp_path: Path, seed: int) -> None:
    rng, base = random.Random(3000 + seed), bases("odd 22 4096")
    size = rng.randrange(max(base.schema) * base.page, len(base.data)) if seed else 700
    path = tmp_path / "damaged.db"
    path.write_bytes(base.data[:size])
    if not seed:
        with pytest.raises(StoreError):
            reader.open(path, listen=ignore)
        return
    found = _read(path)
    assert any("malformed" in problem.message for problem in found.problems)
    _compare(base, found, range(size // base.page + 1, base.pages + 1))


def test_a_file_that_was_cut_within_a_page_of_an_index(bases: Callable[[str], Base], tmp_path: Path) -> None:
    """SQLite takes the missing part for zeros: a page that is half there finds only some of the rows, and says nothing."""
    base, path = bases("odd 22 4096"), tmp_path / "damaged.db"
    pages = sqlite_pages.index_pages(base.path, "messages") | sqlite_pages.index_pages(base.path, "sessions")
    pages = {page for page in pages if page > max(base.schema)}
    assert len(pages) > 8
    for page in sorted(pages)[::2]:
        path.write_bytes(base.data[: page * base.page - base.page // 4])
        _compare(base, _read(path), range(page, base.pages + 1))


@pytest.mark.parametrize("name", NAMES)
def test_without_any_index_every_row_comes_out(bases: Callable[[str], Base], tmp_path: Path, name: str) -> None:
    base = bases(name)
    pages = sqlite_pages.index_pages(base.path, "messages") | sqlite_pages.index_pages(base.path, "sessions")
    found = _read(_overwrite(base, tmp_path, pages, random.Random(1)))
    assert base.rows == {key: found.rows[key] for key in base.rows}
    _compare(base, found, pages)


@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize("which", ["first", "second", "last", "all but one", "every second"])
def test_leaves_of_messages(bases: Callable[[str], Base], tmp_path: Path, which: str, index: bool) -> None:
    """The first one, too: stepping over it looked for the next rowid among the negative ones, and found nothing at all."""
    base = bases("odd 22")
    leaves: list[int] = []
    for rowid in sorted(base.needs):
        leaf = base.needs[rowid].leaf
        leaves += [leaf] if leaf not in leaves else []
    assert len(leaves) > 4
    hit = {
        "first": leaves[:1],
        "second": leaves[1:2],
        "last": leaves[-1:],
        "all but one": [leaf for leaf in leaves if leaf != leaves[3]],
        "every second": leaves[::2],
    }[which]
    indexes = sqlite_pages.index_pages(base.path, "messages") if index else set()
    found = _read(_overwrite(base, tmp_path, {*hit, *indexes}, random.Random(2)))
    _compare(base, found, {*hit, *indexes})
    gone = set(base.rows) - set(found.rows)
    assert gone
    if not index:
        assert len(gone) == found.lost


@pytest.mark.parametrize("index", [False, True])
def test_sessions_whose_rows_are_gone_are_known_by_what_names_them(
    bases: Callable[[str], Base], tmp_path: Path, index: bool
) -> None:
    base = bases("story 23")
    indexes = sqlite_pages.index_pages(base.path, "sessions") if index else set()
    pages = set().union(*base.sessions.values()) - {1}
    found = _read(_overwrite(base, tmp_path, pages | indexes, random.Random(3)))
    assert set(base.sessions) == {info.id for info in found.infos}
    assert all(info.damaged for info in found.infos)
    assert base.rows == found.rows
    assert len(base.sessions) == found.lost


def test_the_search_index_is_no_part_of_any_session(bases: Callable[[str], Base], tmp_path: Path) -> None:
    base = bases("story 23")
    tables = ["messages_fts_data", "messages_fts_idx", "messages_fts_docsize", "messages_fts_trigram_data"]
    pages = _pages(base.path, *tables)
    assert pages
    found = _read(_overwrite(base, tmp_path, pages, random.Random(4)))
    assert base.rows == found.rows
    assert all("search index" in problem.message for problem in found.problems)
    assert found.problems


def test_a_message_that_can_be_read_in_part_is_read_in_part(bases: Callable[[str], Base], tmp_path: Path) -> None:
    base = bases("odd 22")
    rowid, tail = next((rowid, row.overflow[-1]) for rowid, row in base.needs.items() if len(row.overflow) > 3)
    found = _read(_overwrite(base, tmp_path, [tail], None))
    assert base.rows[rowid]["session_id"] == found.rows[rowid]["session_id"]
    assert base.rows[rowid]["role"] == found.rows[rowid]["role"]
    others = {key: row for key, row in base.rows.items() if tail not in base.needs[key].pages}
    assert others == {key: found.rows[key] for key in others}


def test_rows_of_other_tables_that_are_gone_are_told(bases: Callable[[str], Base], tmp_path: Path) -> None:
    base = bases("story 23")
    for table in ("session_model_usage", "state_meta", "gateway_routing", "async_delegations", "telegram_dm_topic_bindings"):
        pages = _pages(base.path, table)
        assert pages
        found = _read(_overwrite(base, tmp_path, pages, random.Random(5)))
        assert base.rows == found.rows
        assert found.lost, table
        assert any(table in problem.where for problem in found.problems if problem.lost)
