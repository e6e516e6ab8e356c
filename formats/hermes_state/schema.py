"""
What tables a Hermes store has, and how each is asked for: by names that differ in case, are not UTF-8, or are not what they seem.

SQLite takes `Sessions` for `sessions`, so what is known goes under its known spelling, and the rest under its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import apsw

from satchel.jsontext import RawText

__all__ = ["Column", "Table", "folded", "quote", "read_tables"]

_UPPER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}

_KNOWN = {
    table: frozenset(columns.split())
    for table, columns in {
        "sessions": """id source user_id session_key chat_id chat_type thread_id display_name origin_json expiry_finalized model
            model_config system_prompt parent_session_id started_at ended_at end_reason message_count tool_call_count
            input_tokens output_tokens cache_read_tokens cache_write_tokens reasoning_tokens cwd git_branch git_repo_root
            billing_provider billing_base_url billing_mode estimated_cost_usd actual_cost_usd cost_status cost_source
            pricing_version title api_call_count handoff_state handoff_platform handoff_error
            compression_failure_cooldown_until compression_failure_error compression_fallback_streak profile_name
            rewind_count archived pinned created_source system_prompt_hash git_metadata_generation title_source
            last_activity_at last_activity_description last_activity_provenance compression_ineffective_count
            compression_overload_streak compression_recovery_deadline transport_profile hidden last_read_at tool_names""",
        "messages": """id session_id role content tool_call_id tool_name tool_calls effect_disposition timestamp token_count
            finish_reason reasoning reasoning_content reasoning_details codex_reasoning_items codex_message_items
            platform_message_id observed active compacted api_content display_kind display_metadata _compressed_summary
            display_identity display_order""",
        "schema_version": "version",
        "state_meta": "key value",
        "gateway_routing": "scope session_key entry_json updated_at",
        "system_prompts": "hash prompt",
        "compression_locks": "session_id holder acquired_at expires_at",
        "session_model_usage": """session_id model billing_provider billing_base_url billing_mode task api_call_count
            input_tokens output_tokens cache_read_tokens cache_write_tokens reasoning_tokens estimated_cost_usd
            actual_cost_usd cost_status cost_source first_seen last_seen""",
        "async_delegations": """delegation_id origin_session origin_ui_session_id parent_session_id state dispatched_at
            completed_at updated_at event_json result_json delivery_state delivery_attempts delivered_at owner_pid
            owner_started_at task_json delivery_claim delivery_claimed_at origin_session_id""",
        "telegram_dm_topic_mode": """chat_id user_id enabled activated_at updated_at has_topics_enabled
            allows_users_to_create_topics capability_checked_at intro_message_id pinned_message_id""",
        "telegram_dm_topic_bindings": "chat_id thread_id user_id session_key session_id managed_mode linked_at updated_at",
        "session_turn_leases": "session_id",
        "gateway_heartbeats": "session_id",
        "gateway_hygiene_state": "session_id",
        "conversation_generations": "session_id",
    }.items()
}
"""Tables and columns by the spelling that they are read under."""

_SHADOWS = ("_data", "_idx", "_content", "_docsize", "_config")


class Column(NamedTuple):
    """
    A column as the schema declares it.

    Attributes:
        text: Whether its affinity turns every number into text.
        sql: What a query reads it by.
    """

    name: str
    text: bool
    nullable: bool
    sql: str


class Table:
    """
    A table.

    Attributes:
        source: What stands for it in a query, as SQL.
        columns: Its columns, in name order.
        names, quoted: Their names, and the SQL for each.
        rowid: What its rowid is called, as SQL; None when it has none, or columns have taken all its names.
        alias: The column that is the rowid itself, None where none is.
        key: What finds a row, as SQL: the rowid, or the primary key's columns, or all columns.
        foreign: Its foreign keys: column and table.
        indexed: The columns that an index begins with.
        indexes: The names of the indexes that list every row.
        unique: The columns of which no two rows have the same value, but for NULL.
        search: Whether it is part of a search index, and holds nothing of its own.
    """

    __slots__ = (
        "alias",
        "columns",
        "foreign",
        "indexed",
        "indexes",
        "key",
        "name",
        "names",
        "quoted",
        "rowid",
        "search",
        "source",
        "unique",
    )

    def __init__(
        self,
        name: str,
        columns: Sequence[Column],
        *,
        source: str,
        rowid: str | None,
        alias: str | None = None,
        primary: Sequence[str],
        foreign: tuple[tuple[str, str], ...],
        indexed: frozenset[str],
        indexes: tuple[str, ...],
        unique: frozenset[str],
        search: bool,
    ) -> None:
        self.name = name
        self.source = source
        self.columns = tuple(sorted(columns))
        self.names = tuple(column.name for column in self.columns)
        self.quoted = [column.sql for column in self.columns]
        self.rowid = rowid
        self.alias = alias
        self.key = (rowid,) if rowid is not None else tuple(primary) or tuple(self.quoted)
        self.foreign = foreign
        self.indexed = indexed
        self.indexes = indexes
        self.unique = unique
        self.search = search

    def has(self, name: str) -> bool:
        """Return whether there is a column of this name."""
        return name in self.names

    def column(self, name: str) -> Column:
        """Return the column of this name."""
        return self.columns[self.names.index(name)]


@lru_cache(maxsize=4096)
def quote(name: str) -> str:
    """Return an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def folded(name: str) -> str:
    """Return a name as SQLite compares it: only the letters of ASCII have no case."""
    return name.translate(_UPPER)


def _plain(name: str | RawText) -> str:
    """Return a name as text; one that is not UTF-8 gets the first digits of its bytes' SHA-256, so that it stays distinct."""
    return name if isinstance(name, str) else f"{name}~{hashlib.sha256(name.data).hexdigest()[:8]}"


# ---------------------------------------------------------------------------------------------------------- reading it


class Asks(Protocol):
    """What queries are run by: `Rows`."""

    def query(self, sql: str, values: Sequence[Any] = (), /) -> apsw.Cursor: ...

    def select(
        self, columns: Sequence[str], tail: str, values: Sequence[Any] = (), /, *, where: str
    ) -> Iterator[tuple[Any, ...]]: ...


class _Declared(NamedTuple):
    """A column as SQLite tells of it; `place` counts those that `*` stands for."""

    name: str | RawText
    kind: str
    not_null: bool
    primary: int
    hidden: int
    place: int


def read_tables(rows: Asks, report: Callable[[str, str, int], None], *, malformed: bool = False) -> dict[str, Table]:
    """
    Return the ordinary tables by name; views, virtual tables and SQLite's own are left out.

    Args:
        report: Hears of a table that can't be understood.
        malformed: The connection reads a schema that SQLite finds fault with.
    """
    return _Reading(rows, report, malformed).tables()


class _Reading:
    def __init__(self, rows: Asks, report: Callable[[str, str, int], None], malformed: bool) -> None:
        self._rows = rows
        self._report = report
        self._malformed = malformed
        self._views = 0
        self._taken: set[str] = set()

    def tables(self) -> dict[str, Table]:
        listed = {
            name: (kind, bool(without))
            for name, kind, without in self._rows.select(
                ("name", "type", "wr"), "FROM pragma_table_list WHERE schema = 'main'", where="the schema"
            )
        }
        named = self._rows.select(("name", "sql"), "FROM sqlite_schema WHERE type = 'table'", where="the schema")
        # One name for each: a malformed schema may have it twice.
        wanted = dict.fromkeys(
            name for name, sql in named if isinstance(name, str | RawText) and not str(sql).upper().startswith("CREATE VIRTUAL")
        )
        known = {folded(name): name for name in listed if isinstance(name, str)}
        self._taken = set(known)
        found: dict[str, Table] = {}
        for stored in wanted:
            plain = _plain(stored)
            if folded(plain).startswith("sqlite_"):
                continue
            there = known.get(folded(plain)) if isinstance(stored, str) else stored if stored in listed else None
            if there is None:
                # SQLite did not get it, so its rows can't be asked for.
                self._report(plain, "the schema says of this table what can't be understood; it is left out", 1)
                continue
            kind, without = listed[there]
            name = folded(plain) if folded(plain) in _KNOWN else plain
            if kind not in ("table", "shadow") or name in found:
                continue
            # Tables that a search index left behind are called as its own are.
            search = kind == "shadow" or (folded(plain).startswith("messages_fts") and folded(plain).endswith(_SHADOWS))
            try:
                found[name] = self._table(name, stored, without=without, search=search)
            except (apsw.SQLError, UnicodeError) as error:
                self._report(plain, f"the schema says of this table what can't be understood ({error}); it is left out", 1)
        return found

    def _told(self, pragma: str, columns: str, name: str | RawText) -> list[tuple[Any, ...]]:
        """Return what a pragma says of a table or an index; names that are not UTF-8 come as RawText."""
        if isinstance(name, str):
            try:
                return self._rows.query(f"SELECT {columns} FROM pragma_{pragma}(?, 'main')", (name,)).fetchall()
            except UnicodeDecodeError:
                pass
        argument, value = ("?", name) if isinstance(name, str) else ("CAST(? AS TEXT)", name.data)
        tail = f"FROM pragma_{pragma}({argument}, 'main')"
        return list(self._rows.select(columns.split(", "), tail, (value,), where="the schema"))

    def _table(self, name: str, stored: str | RawText, *, without: bool, search: bool) -> Table:
        declared: list[_Declared] = []
        told = self._told("table_xinfo", 'name, type, "notnull", pk, hidden', stored)
        for place, (column, kind, not_null, primary, hidden) in enumerate(row for row in told if row[4] != 1):
            declared.append(_Declared(column, str(kind).upper(), bool(not_null), primary, hidden, place))
        rowid = None
        if not without:
            # A column may be called as the rowid is: the name then means the column.
            taken = {folded(column.name) for column in declared if isinstance(column.name, str)}
            rowid = next((word for word in ("rowid", "_rowid_", "oid") if word not in taken), None)
        odd = not isinstance(stored, str) or any(not isinstance(column.name, str) for column in declared)
        source, key, sql = quote(name) if odd else quote(str(stored)), rowid, None
        if not odd:
            pass
        elif isinstance(stored, str) and name in ("sessions", "messages"):
            source = quote(stored)
            sql = self._by_place(source, declared, rowid)
        else:
            self._report(name, "its name, or that of a column, is not valid UTF-8; it is read under another", 0)
            source, key = self._view(stored, declared, rowid)
            sql = {column.place: f"c{column.place}" for column in declared}
        return self._made(name, stored, declared, source=source, rowid=key, sql=sql or {}, without=without, search=search)

    def _made(
        self,
        name: str,
        stored: str | RawText,
        declared: list[_Declared],
        *,
        source: str,
        rowid: str | None,
        sql: dict[int, str],
        without: bool,
        search: bool,
    ) -> Table:
        spelled = self._spelled(name, declared)
        columns: list[Column] = []
        keys: list[tuple[int, str]] = []
        for column in declared:
            if column.hidden:
                continue
            text = "INT" not in column.kind and any(word in column.kind for word in ("CHAR", "CLOB", "TEXT"))
            asked = sql.get(column.place) or quote(str(column.name))
            columns.append(Column(spelled[column.name], text, not column.not_null and not column.primary, asked))
            if column.primary:
                keys.append((column.primary, asked))
        foreign = tuple(
            (spelled[column], folded(target))
            for target, column in self._told("foreign_key_list", '"table", "from"', stored)
            if isinstance(target, str) and column in spelled
        )
        indexed, indexes, unique, has_key = self._indexes(stored, spelled)
        alone = next((c for c in declared if c.primary), None) if len(keys) == 1 else None
        # A key of integers is the rowid itself, unless it has an index of its own.
        alias = spelled[alone.name] if alone and alone.kind == "INTEGER" and not without and not has_key else None
        return Table(
            name,
            columns,
            source=source,
            rowid=rowid,
            alias=alias,
            primary=[asked for _, asked in sorted(keys)],
            foreign=foreign,
            indexed=indexed,
            # What is no name can't be asked for by it.
            indexes=indexes if source == quote(str(stored)) else (),
            unique=unique | ({alias} if alias else set()),
            search=search,
        )

    def _spelled(self, table: str, declared: list[_Declared]) -> dict[str | RawText, str]:
        """Return the names of a table's columns that they are read under."""
        known = _KNOWN.get(table, frozenset())
        spelled: dict[str | RawText, str] = {}
        for column in declared:
            plain = _plain(column.name)
            spelled[column.name] = folded(plain) if folded(plain) in known else plain
            if spelled[column.name] != column.name:
                self._report(table, f"its column {column.name} is read as {spelled[column.name]}", 0)
        return spelled

    def _indexes(
        self, stored: str | RawText, spelled: dict[str | RawText, str]
    ) -> tuple[frozenset[str], tuple[str, ...], frozenset[str], bool]:
        indexed: set[str] = set()
        unique: set[str] = set()
        names: list[str] = []
        has_key = False
        for index, distinct, origin, partial in self._told("index_list", 'name, "unique", origin, partial', stored):
            has_key |= origin == "pk"
            if partial:  # It answers no general question.
                continue
            if isinstance(index, str):
                names.append(index)
            inside = [spelled.get(column) for (column,) in self._told("index_info", "name", index)]
            if inside and inside[0] is not None:
                indexed.add(inside[0])
                if distinct and len(inside) == 1:
                    unique.add(inside[0])
        return frozenset(indexed), tuple(names), frozenset(unique), has_key

    def _by_place(self, source: str, declared: list[_Declared], rowid: str | None) -> dict[int, str]:
        """Return what reads the columns whose names can't be said in a query: by their place."""
        found: dict[int, str] = {}
        odd = [column for column in declared if not isinstance(column.name, str)]
        keys = [c for c in declared if c.primary]
        if rowid is None and (not keys or any(not isinstance(c.name, str) for c in keys)):
            raise apsw.SQLError("columns whose names are not UTF-8, in a table without rowids")
        inside = ", ".join(f"c{column.place}" for column in declared)
        if rowid is not None:
            head, same = f"k, {inside}) AS (SELECT {rowid}, * FROM {source})", f"k = {source}.{rowid}"
        else:
            head = f"{inside}) AS (SELECT * FROM {source})"
            same = " AND ".join(f"c{c.place} IS {source}.{quote(str(c.name))}" for c in keys)
        for column in odd:
            found[column.place] = f"(WITH satchel_places({head} SELECT c{column.place} FROM satchel_places WHERE {same})"
        return found

    def _view(self, stored: str | RawText, declared: list[_Declared], rowid: str | None) -> tuple[str, str | None]:
        """
        Make a view of this connection alone that has plain names for a table's, and return it and its rowid, as SQL.

        A statement must be UTF-8; what stands in the schema need not be.
        """
        while True:
            self._views += 1
            view = f"satchel_view_{self._views}"
            if view not in self._taken:
                break
        name = (stored.encode() if isinstance(stored, str) else stored.data).replace(b'"', b'""')
        inside = [f"c{column.place}" for column in declared]
        head = f"CREATE VIEW {view}({', '.join([*(['k'] if rowid else []), *inside])}) AS SELECT {f'{rowid}, ' if rowid else ''}*"
        sql = head.encode() + b' FROM main."' + name + b'"'
        query = self._rows.query
        query("PRAGMA writable_schema = ON")
        if self._views == 1:
            query("CREATE TEMP TABLE IF NOT EXISTS satchel_none(x)")
        query(
            "INSERT INTO temp.sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES ('view', ?, ?, 0, CAST(? AS TEXT))",
            (view, view, sql),
        )
        query("PRAGMA writable_schema = RESET")
        if self._malformed:
            query("PRAGMA writable_schema = ON")
        return f"temp.{view}", "k" if rowid else None
