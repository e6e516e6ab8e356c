"""Every row of every version of a Hermes store comes out with exactly the values that are stored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import plain_rows
import pytest
from hermes_schema import LATEST, SCHEMAS
from strategies import spelled

from satchel.contracts import Record
from satchel.errors import NotFound
from satchel.events import Event, Problem, StoreOpened, ignore
from satchel.formats.hermes_state import reader

Build = Callable[..., Path]


def _compare(path: Path) -> None:
    everything = {name: plain_rows.rows(path, name) for name in plain_rows.tables(path)}
    expected = plain_rows.session_ids(path)
    with reader.open(path, listen=ignore) as store:
        found = [info.id for info in store.sessions()]
        assert sorted(expected) == sorted(found)
        for session_id in found:
            records = list(store.records(session_id))
            wanted = plain_rows.of_session(path, session_id, everything)
            assert [kind for kind, _ in wanted] == [record.kind for record in records]
            assert _sorted(wanted) == _sorted([(record.kind, record.data) for record in records])
            messages = [record for record in records if record.kind == "messages"]
            assert [row["id"] for kind, row in wanted if kind == "messages"] == [record.key for record in messages]
            for record in messages:
                assert [*sorted(name for name in record.data if name != "id"), "id"] == list(record.data)
        store.check()


def _sorted(rows: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return rows to compare: of other tables in any order, of `messages` in theirs."""
    spelt = [(kind, sorted(spelled(row).items())) for kind, row in rows]
    return sorted(row for row in spelt if row[0] != "messages") + [row for row in spelt if row[0] == "messages"]


@pytest.mark.parametrize("case", ["story", "odd", "lineage"])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_row_comes_out_as_it_is_stored(hermes_db: Build, schema: int, case: str) -> None:
    _compare(hermes_db(schema, case))


@pytest.mark.parametrize(("schema", "first"), [(LATEST, 11), (22, 1), (30, 8)])
def test_the_order_of_columns_does_not_matter(hermes_db: Build, schema: int, first: int) -> None:
    _compare(hermes_db(schema, migrated_from=first))


def test_a_store_without_search_tables_is_whole(hermes_db: Build) -> None:
    _compare(hermes_db(fts=False))


def test_a_private_copy_says_the_same(hermes_db: Build) -> None:
    path = hermes_db()
    with reader.open(path, listen=ignore) as one, reader.open(path, listen=ignore, private=True) as other:
        assert list(one.sessions()) == list(other.sessions())
        for info in one.sessions():
            assert list(one.records(info.id)) == list(other.records(info.id))


@pytest.mark.parametrize("case", ["story", "odd", "lineage"])
@pytest.mark.parametrize("schema", [1, 13, 16, LATEST, 30])
def test_what_is_asked_twice_is_answered_twice(hermes_db: Build, schema: int, case: str) -> None:
    with reader.open(hermes_db(schema, case), listen=ignore) as store:
        infos = list(store.sessions())
        assert infos == list(store.sessions())
        for info in infos:
            assert info == store.session(info.id)
            assert list(store.records(info.id)) == list(store.records(info.id))
        for info in store.sessions(counts=False):
            assert (None, None, None, None) == (info.messages, info.compacted, info.rewound, info.last_active)
            assert info == store.session(info.id, counts=False)


def test_two_readers_of_one_session_do_not_disturb_each_other(hermes_db: Build) -> None:
    with reader.open(hermes_db(), listen=ignore) as store:
        session_id = next(iter(store.sessions())).id
        pairs = list(zip(store.records(session_id), store.records(session_id), strict=True))
        assert len(pairs) > 2
        assert all(one == other for one, other in pairs)


def test_sessions_come_by_start_and_those_without_a_row_last(hermes_db: Build) -> None:
    with reader.open(hermes_db(), listen=ignore) as store:
        infos = list(store.sessions())
        assert sorted(infos, key=lambda info: (info.started_at or 0, info.id)) == infos
    with reader.open(hermes_db(case="odd"), listen=ignore) as store:
        *_, last = store.sessions()
        assert ("odd-orphan", True, "recovered", 2) == (last.id, last.damaged, last.source, last.messages)
        assert ["messages", "messages"] == [record.kind for record in store.records("odd-orphan")]


def _is_live(row: dict[str, Any]) -> bool:
    active = row.get("active", 1)
    return active is None or active not in (0, "", b"")


@pytest.mark.parametrize("case", ["story", "odd", "lineage"])
@pytest.mark.parametrize("schema", [1, 14, 16, 17, LATEST, 30])
def test_messages_are_counted_row_by_row(hermes_db: Build, schema: int, case: str) -> None:
    path = hermes_db(schema, case)
    messages = plain_rows.rows(path, "messages")
    with reader.open(path, listen=ignore) as store:
        for info in store.sessions():
            mine = [row for row in messages if row["session_id"] == info.id]
            gone = [row for row in mine if not _is_live(row)]
            compacted = sum(bool(row.get("compacted")) for row in gone)
            assert (len(mine) - len(gone), compacted, len(gone) - compacted) == (info.messages, info.compacted, info.rewound)
            times = [t for row in mine if isinstance(t := row["timestamp"], float) and abs(t) != float("inf")]
            own = next((row for row in plain_rows.rows(path, "sessions") if row["id"] == info.id), {})
            moved = own.get("last_activity_at")
            newest = max([*times, *([moved] if isinstance(moved, float) else [])], default=info.started_at)
            assert newest == info.last_active


def test_what_the_store_counted_itself_is_not_believed(hermes_db: Build) -> None:
    with reader.open(hermes_db(case="odd"), listen=ignore) as store:
        assert [1, 2, 1] == [store.session(f"odd-count-{how}").messages for how in ("high", "zero", "null")]


def test_a_session_in_the_models_words(hermes_db: Build) -> None:
    with reader.open(hermes_db(), listen=ignore, profile="work") as store:
        info = store.session("20260304_190000_7e1e63a0")
    assert ("hermes", "hermes", "work", "telegram") == (info.format, info.agent, info.profile, info.source)
    assert ("満潮はいつ？", "daily", False, False, False) == (info.title, info.end_reason, info.live, info.archived, info.pinned)
    assert ("700100200", "700100200", "dm") == (info.user, info.chat_id, info.chat_type)
    assert ("agent:main:telegram:dm:700100200", {"display_name": "Ada"}) == (info.session_key, info.extra)
    assert (4, 0, 0) == (info.messages, info.compacted, info.rewound)
    assert (1772650800.0, 1772693800.0) == (info.started_at, info.ended_at)
    assert 1400 == info.usage.cache_read
    assert info.cost is not None
    assert info.cost > 0
    assert info.store.endswith("state.db (profile work)")


KINDS = {
    "chain-1": None,
    "chain-1-delegate": "delegate",
    "chain-1-tool": "child",
    "chain-2": "continuation",
    "chain-1-branch": "branch",
    "chain-3": "continuation",
    "origin": None,
    "copy-1": "branch",
    "copy-2": "continuation",
    "helper-1": "delegate",
    "helper-2": "continuation",
    "helper-branch": "branch",
    "choice": None,
    "choice-ended-late": "continuation",
    "choice-live": "continuation",
    "choice-compressed-old": "continuation",
    "choice-compressed-new": "continuation",
    "choice-tip": "continuation",
    "fork": None,
    "fork-branch": "branch",
    "fork-child": "child",
    "fork-marked": "branch",
    "boss": None,
    "worker": "delegate",
    "worker-2": None,
    "apprentice": "delegate",
    "orphaned": "delegate",
    "old-child": "child",
    "boss-branch": "branch",
    "chat-1": None,
    "chat-2": "reset",
    "chat-3": "reset",
    "chat-4": "child",
    "chat-other-key": "child",
    "chat-compressed": None,
    "chat-after": "reset",
    "ring-a": "continuation",
    "ring-b": "continuation",
    "self": "continuation",
    "self-delegate": "delegate",
    "pair-a": "delegate",
    "pair-b": "delegate",
    "no-parent": "child",
    "no-boss": "delegate",
    "empty-parent": None,
    "odd-marks": "child",
    "bad-config": "child",
}


@pytest.mark.parametrize("schema", [17, LATEST, 30])
def test_why_each_session_has_its_parent(hermes_db: Build, schema: int) -> None:
    with reader.open(hermes_db(schema, "lineage"), listen=ignore) as store:
        assert KINDS == {info.id: info.lineage for info in store.sessions()}


def test_the_storys_lineage(hermes_db: Build) -> None:
    with reader.open(hermes_db(), listen=ignore) as store:
        kinds = Counter(info.lineage for info in store.sessions())
    assert {None: 9, "continuation": 2, "delegate": 1, "branch": 1, "reset": 1} == kinds


def test_an_unknown_session_is_not_found(hermes_db: Build) -> None:
    for case in ("story", "odd"):
        with reader.open(hermes_db(case=case), listen=ignore) as store:
            for session_id in ("nobody", "", "20260302_083000", "%", "ODD-CONTENTS"):
                with pytest.raises(NotFound):
                    store.session(session_id)
                assert [] == [record for record in store.records(session_id) if record.kind != "state_meta"]


def test_unknown_columns_and_tables_come_along(hermes_db: Build) -> None:
    with reader.open(hermes_db(case="odd"), listen=ignore) as store:
        records = list(store.records("odd-stranger"))
    assert "violet" == records[0].data["aura"]
    assert [b"\x00\xff", None] == [record.data["weather"] for record in records if record.kind == "messages"]
    assert ["of a sheep", None] == [record.data["body"] for record in records if record.kind == "dreams"]
    assert ["goal:odd-stranger"] == [record.data["key"] for record in records if record.kind == "state_meta"]


def test_the_rows_around_a_session(hermes_db: Build) -> None:
    def kinds(session_id: str) -> list[str]:
        return [record.kind for record in store.records(session_id) if record.kind != "messages"]

    with reader.open(hermes_db(30), listen=ignore) as store:
        locked = ["compression_locks", "session_model_usage", "session_turn_leases", "state_meta", "system_prompts"]
        assert ["sessions", *locked] == kinds("20260306_090000_09e21a")
        told = ["gateway_routing", "session_model_usage", "system_prompts", "telegram_dm_topic_bindings"]
        assert ["sessions", *told] == kinds("20260305_071500_7e1e63a1")
        assert "async_delegations" in kinds("20260304_100000_a11ce0")


def test_rows_that_name_no_session_are_nobodys(hermes_db: Build) -> None:
    with reader.open(hermes_db(case="odd"), listen=ignore) as store:
        named = [record for info in store.sessions() for record in store.records(info.id)]
    assert "last_auto_prune" not in [record.data.get("key") for record in named]
    assert "gone" not in [record.data.get("session_id") for record in named]


def test_a_row_is_plain_unless_a_number_is_infinite(hermes_db: Build) -> None:
    with reader.open(hermes_db(case="odd"), listen=ignore) as store:
        plain = {record.data["content"]: record.plain for record in store.records("odd-time-rows") if record.kind == "messages"}
    assert {"never": False} == {content: value for content, value in plain.items() if not value}


@pytest.mark.parametrize(("case", "schema"), [("big", LATEST), ("big", 16), ("story", 30)])
def test_a_session_takes_a_handful_of_statements(hermes_db: Build, case: str, schema: int) -> None:
    """However many messages it has: nothing is asked message by message."""
    with reader.open(hermes_db(schema, case), listen=ignore) as store:
        infos = list(store.sessions())
        before = store.statements
        for info in infos:
            assert sum(1 for _ in store.records(info.id)) > 1
        assert store.statements - before <= 12 * len(infos) + 40
        before = store.statements
        list(store.sessions())
        assert store.statements - before <= 2 + len(infos)


def test_a_scan_does_not_ask_session_by_session(hermes_db: Build) -> None:
    with reader.open(hermes_db(case="big"), listen=ignore) as store:
        before = store.statements
        assert 300 == sum(1 for _ in store.sessions())
        # The first scan also compares the tables with their indexes.
        assert store.statements - before <= 20
        before = store.statements
        assert 300 == sum(1 for _ in store.sessions())
        assert store.statements - before <= 5


@pytest.mark.parametrize("case", ["story", "odd", "lineage"])
def test_every_record_is_in_exactly_one_entry_in_order(hermes_db: Build, case: str) -> None:
    with reader.open(hermes_db(case=case), listen=ignore) as store:
        for info in store.sessions():
            records = list(store.records(info.id))
            entries = list(store.decode(records))
            assert [id(record) for record in records] == [id(record) for entry in entries for record in entry.records]


def test_the_digests_lines_are_json_without_the_ids(hermes_db: Build) -> None:
    with reader.open(hermes_db(), listen=ignore) as store:
        for info in store.sessions():
            for record in store.records(info.id):
                line = b"".join(store.canonical(record))
                assert line.endswith(b"\n")
                assert ("id" in json.loads(line)) is ("id" in record.data and record.kind != "messages")


def test_opening_tells_what_it_found(hermes_db: Build) -> None:
    heard: list[Event] = []
    path = hermes_db()
    with reader.open(path, listen=heard.append):
        assert [StoreOpened("hermes", str(path), "as it lies, without a lock")] == heard


@pytest.mark.parametrize(
    ("schema", "case", "fts", "words"),
    [
        (30, "story", True, "newer than the newest known one"),
        (LATEST, "odd", True, "no `active` mark"),
        (LATEST, "story", False, "no search index"),
    ],
)
def test_what_is_odd_about_a_store_is_said_once(hermes_db: Build, schema: int, case: str, fts: bool, words: str) -> None:
    heard: list[Event] = []
    with reader.open(hermes_db(schema, case, fts=fts), listen=heard.append) as store:
        for _ in range(2):
            for info in store.sessions():
                list(store.records(info.id))
    told = [event for event in heard if isinstance(event, Problem)]
    assert 1 == sum(words in problem.message for problem in told)
    assert 0 == sum(problem.lost for problem in told)
    assert len(told) == len({(problem.where, problem.message) for problem in told})


def test_facts_are_json_ready(hermes_db: Build) -> None:
    path = hermes_db()
    with reader.open(path, listen=ignore) as store:
        facts = store.facts()
    assert facts == json.loads(json.dumps(facts))
    assert (14, 74, LATEST, {}) == (facts["sessions"], facts["messages"], facts["schema"], facts["beside"])


def test_a_record_equals_another_that_says_the_same() -> None:
    one, other = Record("messages", 1, {"id": 1}), Record("messages", 2, {"id": 1})
    assert one == other
    assert one != Record("sessions", 1, {"id": 1})
    assert one != "a record"
