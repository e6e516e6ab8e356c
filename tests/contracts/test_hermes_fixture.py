"""The sample databases are what they claim to be: whole, the same at each run, and true to their schema version."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import hermes_cases
import pytest
from hermes_schema import LATEST, MESSAGES, SCHEMAS, SESSIONS, columns


def _rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


@pytest.mark.parametrize("case", ["story", "odd", "lineage"])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_version_of_every_case_is_whole(hermes_db: Callable[..., Path], schema: int, case: str) -> None:
    path = hermes_db(schema, case)
    assert [("ok",)] == _rows(path, "PRAGMA integrity_check")
    assert [(schema,)] == _rows(path, "SELECT version FROM schema_version")
    for table in (SESSIONS, MESSAGES):
        found = [str(row[1]) for row in _rows(path, f"PRAGMA table_info({table.name})")]
        assert columns(table, schema) == [name for name in found if name not in ("aura", "weather")]
    assert ["state.db"] == [file.name for file in path.parent.iterdir()]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_story_keeps_its_references(hermes_db: Callable[..., Path], schema: int) -> None:
    assert [] == _rows(hermes_db(schema), "PRAGMA foreign_key_check")


@pytest.mark.parametrize("case", ["story", "odd", "lineage"])
def test_building_twice_gives_the_same_bytes(hermes_db: Callable[..., Path], case: str) -> None:
    first, second = (hashlib.sha256(hermes_db(case=case).read_bytes()).hexdigest() for _ in range(2))
    assert first == second


def test_a_migrated_database_has_the_later_columns_last(hermes_db: Callable[..., Path]) -> None:
    fresh, migrated = hermes_db(), hermes_db(migrated_from=11)
    one, other = ([str(row[1]) for row in _rows(path, "PRAGMA table_info(sessions)")] for path in (fresh, migrated))
    assert sorted(one) == sorted(other)
    assert one.index("session_key") < one.index("title")
    assert other.index("title") < other.index("session_key")
    assert _rows(fresh, "SELECT id, title FROM sessions ORDER BY id") == _rows(
        migrated, "SELECT id, title FROM sessions ORDER BY id"
    )


@pytest.mark.parametrize(
    ("schema", "states"),
    [
        (13, {}),
        (16, {(0,): 2}),
        (LATEST, {(0, 0): 2, (0, 1): 9}),
    ],
)
def test_hidden_messages_stand_where_the_version_can_tell(
    hermes_db: Callable[..., Path], schema: int, states: dict[tuple[int, ...], int]
) -> None:
    path, named = hermes_db(schema), [c for c in ("active", "compacted") if c in columns(MESSAGES, schema)]
    if not named:
        assert states == {}
        return
    listed = ", ".join(named)
    rows = _rows(path, f"SELECT {listed}, count(*) FROM messages WHERE active = 0 GROUP BY {listed}")
    assert states == {row[:-1]: row[-1] for row in rows}


@pytest.mark.skipif(not hermes_cases.fts_available(), reason="this SQLite has no FTS5 with the trigram tokenizer")
@pytest.mark.parametrize(
    ("schema", "migrated_from"), [(5, None), (10, None), (11, None), (22, None), (23, None), (23, 11), (30, 5)]
)
def test_the_search_tables_follow_the_messages(hermes_db: Callable[..., Path], schema: int, migrated_from: int | None) -> None:
    path = hermes_db(schema, migrated_from=migrated_from)
    tables = ["messages_fts"] + (["messages_fts_trigram"] if schema >= 10 else [])
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for table in tables:
            match = f"SELECT count(*) FROM {table} WHERE {table} MATCH ?"
            assert db.execute(match, ("commit",)).fetchone()[0] > 0
            assert (0,) == db.execute(match, ("zephyrs",)).fetchone()
        db.execute("UPDATE messages SET content = 'zephyrs' WHERE id = 1")
        for table in tables:
            assert (1,) == db.execute(f"SELECT count(*) FROM {table} WHERE {table} MATCH 'zephyrs'").fetchone()
        db.execute("DELETE FROM messages WHERE id = 1")
        for table in tables:
            assert (0,) == db.execute(f"SELECT count(*) FROM {table} WHERE {table} MATCH 'zephyrs'").fetchone()


def test_without_fts_there_are_no_search_tables(hermes_db: Callable[..., Path]) -> None:
    assert [] == _rows(hermes_db(fts=False), "SELECT name FROM sqlite_master WHERE name LIKE '%fts%'")


def test_the_later_version_keeps_prompts_in_a_table_of_their_own(hermes_db: Callable[..., Path]) -> None:
    path = hermes_db(30)
    assert [(0,)] == _rows(path, "SELECT count(*) FROM sessions WHERE system_prompt IS NOT NULL")
    joined = "SELECT count(*) FROM sessions JOIN system_prompts ON hash = system_prompt_hash"
    assert _rows(hermes_db(LATEST), "SELECT count(*) FROM sessions WHERE system_prompt IS NOT NULL") == _rows(path, joined)


def test_a_carried_tail_has_one_place_in_the_later_version(hermes_db: Callable[..., Path]) -> None:
    query = "SELECT count(*), count(DISTINCT display_order) FROM messages WHERE display_identity IS NOT NULL"
    assert [(4, 2)] == _rows(hermes_db(30), query)


def test_the_command_builds_refuses_and_replaces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "state.db"
    assert 0 == hermes_cases.main([str(path), "--schema", "11"])
    assert 1 == hermes_cases.main([str(path)])
    assert f"{path} exists already; --force replaces it.\n" == capsys.readouterr().err
    assert 0 == hermes_cases.main([str(path), "--force", "--case", "lineage"])
    assert [(23,)] == _rows(path, "SELECT version FROM schema_version")


def test_a_version_that_never_was_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such schema version: 24"):
        hermes_cases.build(tmp_path / "state.db", schema=24)
    assert [] == list(tmp_path.iterdir())
