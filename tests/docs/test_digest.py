"""docs/formats/digest.md is true: its vectors hold, and who has only the page comes to the same digests."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from satchel.contracts import Record, SessionInfo
from satchel.digest import content_digest, lineage_digest
from satchel.events import Problem, ignore
from satchel.formats.hermes_rows import canonical
from satchel.formats.hermes_state import reader as hermes
from satchel.formats.jsonl import reader as jsonl
from satchel.formats.jsonl import writer
from satchel.formats.model import Entry

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "formats" / "digest.md"
FOUND = json.loads(PAGE.with_name("digest-vectors.json").read_text("ascii"))
VECTORS = {vector["name"]: vector for vector in FOUND["vectors"]}

_spec = spec_from_file_location("freeze_vectors", HERE / "freeze_vectors.py")
assert _spec is not None
assert _spec.loader is not None
freezing = module_from_spec(_spec)
_spec.loader.exec_module(freezing)

each_vector = pytest.mark.parametrize("name", VECTORS)
# The code still notes JSON with 19 digits in a row as text in one of its ways to a row, and not in the other.
each_vector_of_the_code = pytest.mark.parametrize("name", sorted(VECTORS))

# ---------------------------------------------------------------------------------------- a second implementation: the page alone


@dataclass(frozen=True)
class Broken:
    """A text that is not valid UTF-8."""

    data: bytes


def second_text(text: str) -> str:
    short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}

    def one(char: str) -> str:
        if char in short:
            return short[char]
        return f"\\u{ord(char):04x}" if char < " " or char in "\x85\u2028\u2029" or "\ud800" <= char <= "\udfff" else char

    return '"' + "".join(map(one, text)) + '"'


def second_number(number: float) -> str:
    sign = "-" if repr(number).startswith("-") else ""
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    e = len(whole) + int(exponent or 0) - (len(whole + part) - len(digits))
    digits = digits.rstrip("0")
    if not digits:
        return f"{sign}0.0"
    if 0 < e <= 16:
        return f"{sign}{digits[:e].ljust(e, '0')}.{digits[e:] or '0'}"
    if -5 < e <= 0:
        return f"{sign}0.{'0' * -e}{digits}"
    rest = f".{digits[1:]}" if digits[1:] else ""
    return f"{sign}{digits[0]}{rest}e{'+' if e > 0 else '-'}{abs(e - 1)}"


def second_json(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{second_text(name)}:{second_json(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(second_json, value)) + "]"
    if isinstance(value, str):
        return second_text(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value) if isinstance(value, int) else second_number(value)


def second_inner(value: Any) -> Iterator[Any]:
    yield value
    for item in [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from second_inner(item)


def second_shown(text: str, *, content: bool) -> tuple[str, Any]:
    """Return "value" and what the JSON text says, or "note", or "none"."""
    depth = deepest = 0
    for char in re.sub(r'"(?:[^"\\]|\\.)*"', "", text):
        depth += (char in "[{") - (char in "]}")
        deepest = max(deepest, depth)
    if deepest > 250:
        return "none", None
    try:
        value = json.loads(text.removeprefix("\ufeff"))
    except ValueError:
        return "none", None
    common = not text.startswith("\ufeff")
    for item in second_inner(value):
        if isinstance(item, float) and item - item != 0:
            common = False
        if isinstance(item, int) and not -(2**63) <= item < 2**64:
            common = False
        if isinstance(item, str) and re.search("[\ud800-\udfff]", item):
            common = False
        if isinstance(item, dict) and not content and isinstance(item.get("arguments"), str):
            halves = re.sub(r"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..", "", item["arguments"])
            common = common and not re.search(r"\\u[dD][89a-fA-F]..", halves)
    like_a_note = isinstance(value, dict) and len(value) == 1 and next(iter(value)).startswith("$")
    if not common or like_a_note:
        return "note", None
    if content:
        usual = value is not None and not isinstance(value, str) and json.dumps(value) == text
    else:
        usual = bool(re.fullmatch(r"[\[{][ -\x7f]*[\]}]", text))
    return ("value", value) if usual else ("note", None)


def second_value(table: str, column: str, value: Any) -> str:
    if isinstance(value, float) and value - value != 0:
        return f'{{"$real":"{value}"}}'
    if isinstance(value, bytes | Broken):
        kind, data = ("b64", value) if isinstance(value, bytes) else ("text", value.data)
        return f'{{"${kind}":"{base64.b64encode(data).decode()}"}}'
    if table == "messages" and column in ("content", "tool_calls") and isinstance(value, int | float):
        return f'{{"$int":{value}}}' if isinstance(value, int) else f'{{"$real":"{value}"}}'
    if table == "messages" and isinstance(value, str):
        mark = "\0json:" if column == "content" else ""
        if column == "tool_calls" or (column == "content" and value.startswith(mark)):
            outcome, shown = second_shown(value[len(mark) :], content=column == "content")
            if outcome == "value":
                return value if column == "tool_calls" else second_json(shown)
            if outcome == "note" or column == "tool_calls":
                return '{"$str":' + second_text(value) + "}"
    return second_json(value)


def second_row(table: str, row: Mapping[str, Any]) -> str:
    names = sorted(row)
    if table == "messages":
        names = [name for name in names if name != "id"]
    if table == "sessions":
        others = [name for name in names if name not in ("id", "message_count", "tool_call_count")]
        names = (["id"] if "id" in names else []) + others
    return "{" + ",".join(f"{second_text(name)}:{second_value(table, name, row[name])}" for name in names) + "}"


Rows = Sequence[Mapping[str, Any]]


def second_lines(session: Mapping[str, Any] | None, tables: Mapping[str, Rows], messages: Rows) -> list[str]:
    own = "null" if session is None else second_row("sessions", session)
    others = [
        f'"{name}":[{",".join(sorted((second_row(name, row) for row in rows), key=str.encode))}]'
        for name, rows in sorted(tables.items())
        if rows
    ]
    return [f'{{"digest":1,"session":{own},"tables":{{{",".join(others)}}}}}', *(second_row("messages", row) for row in messages)]


def second_digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def second_read(noted: Any) -> Any:
    """Return what the vectors' notation stands for."""
    if not isinstance(noted, dict):
        return noted
    if "$real" in noted:
        return float(noted["$real"])
    return base64.b64decode(noted["$b64"]) if "$b64" in noted else Broken(base64.b64decode(noted["$text"]))


def second_vector(vector: Mapping[str, Any]) -> list[str]:
    def rows(given: Rows) -> list[dict[str, Any]]:
        return [{name: second_read(noted) for name, noted in row.items()} for row in given]

    session = None if vector["session"] is None else rows([vector["session"]])[0]
    return second_lines(session, {name: rows(given) for name, given in vector["tables"].items()}, rows(vector["messages"]))


def second_store(db: sqlite3.Connection, session_id: str) -> list[str]:
    """Return a session's lines from the database itself; what belongs to it as docs/formats/hermes-state.md says."""

    def rows(query: str, *values: Any) -> list[dict[str, Any]]:
        found = db.execute(query, values)
        return [dict(zip((column[0] for column in found.description), row, strict=True)) for row in found]

    def names(entry: Any) -> bool:
        try:
            value = json.loads(entry)
        except ValueError:
            return False
        return session_id in [v for k, v in value.items() if k == "session_id" or k.endswith("_session_id")]

    session = next(iter(rows("SELECT * FROM sessions WHERE id = ?", session_id)), None)
    listed = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
    tables: dict[str, Rows] = {}
    for table in [name for (name,) in listed if "_fts" not in name and not name.startswith("sqlite_")]:
        if table in ("sessions", "messages", "schema_version"):
            continue
        given = rows(f"SELECT * FROM {table}")
        if table == "state_meta":
            tables[table] = [row for row in given if row["key"].partition(":")[2] == session_id]
        elif table == "gateway_routing":
            tables[table] = [row for row in given if names(row["entry_json"])]
        elif table == "system_prompts":
            tables[table] = [row for row in given if session and row["hash"] == session["system_prompt_hash"]]
        else:
            links = {key["from"] for key in rows(f"PRAGMA foreign_key_list({table})") if key["table"] == "sessions"}
            tables[table] = [
                row
                for row in given
                if any(row[n] == session_id for n in row if n in links or re.fullmatch("(.*_)?session_id|origin_session", n))
            ]
    return second_lines(session, tables, rows("SELECT * FROM messages WHERE session_id = ? ORDER BY id", session_id))


def second_text_factory(data: bytes) -> str | Broken:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return Broken(data)


# ---------------------------------------------------------------------------------------- the tests


class _View:
    """A session as a writer gets it, of records that are given."""

    dialect = "hermes"
    redacted = False

    def __init__(self, session_id: str, records: Sequence[Record]) -> None:
        self.ids: Sequence[str] = [session_id]
        self.info = SessionInfo(id=session_id, format="hermes", agent="hermes")
        self.segments = [self.info]
        self._records = records

    def records(self, segment: int = -1, /) -> Iterator[Record]:
        return iter(self._records)

    def files(self, segment: int = -1, /) -> Iterator[tuple[str, Path]]:
        return iter(())

    def extent(self, path: Path, /) -> int | None:
        return None

    def origin(self, segment: int = -1, /) -> str | None:
        return None

    def native(self, segment: int = -1, /) -> Iterator[Record] | None:
        return None

    def entries(self, segment: int = -1, /) -> Iterator[Entry]:
        raise NotImplementedError


class _Memory:
    """A target that keeps its one file."""

    name = "sessions.jsonl"

    def __init__(self) -> None:
        self.data = b""

    def stream(self, name: str | None = None, /) -> _Memory:
        return self

    def write(self, data: bytes, /) -> None:
        self.data += data

    def finish(self, stream: object, /) -> None: ...


@each_vector
def test_the_lines_of_a_vector_are_what_its_digest_is_of(name: str) -> None:
    assert VECTORS[name]["digest"] == second_digest(VECTORS[name]["lines"])


@each_vector_of_the_code
def test_the_code_gives_the_frozen_digest(name: str) -> None:
    assert VECTORS[name]["digest"] == content_digest(freezing.records(VECTORS[name]), canonical)


@each_vector_of_the_code
def test_rows_as_the_store_gives_them_have_the_same_digest(name: str) -> None:
    """A reader's rows are in order, and it says so where their numbers are finite; the fast way they go then must not differ."""
    records = list(freezing.records(VECTORS[name]))
    for record in records:
        if record.kind == "messages":
            record.data = {n: record.data[n] for n in sorted(record.data, key=lambda n: (n == "id", n))}
            record.plain = not any(isinstance(v, float) and v - v != 0 for v in record.data.values())
    assert VECTORS[name]["digest"] == content_digest(records, canonical)


@each_vector
def test_the_page_alone_leads_to_the_same_lines(name: str) -> None:
    assert VECTORS[name]["lines"] == second_vector(VECTORS[name])


@each_vector_of_the_code
def test_a_vector_keeps_its_digest_in_a_jsonl_file(name: str, tmp_path: Path) -> None:
    session_id = (VECTORS[name]["session"] or {"id": "s1"})["id"]
    target = _Memory()
    with writer.open(target, options={}, listen=ignore) as export:
        export.add(_View(session_id, list(freezing.records(VECTORS[name]))))
    path = tmp_path / "sessions.jsonl"
    path.write_bytes(target.data)
    (back,) = jsonl.read_back(path, update=lambda _: None)
    assert not isinstance(back, Problem), back
    assert VECTORS[name]["digest"] == back.content_digest
    with jsonl.open(path, listen=ignore) as store:
        assert VECTORS[name]["digest"] == content_digest(store.records(session_id), store.canonical)


@pytest.mark.parametrize("lineage", FOUND["lineages"], ids=lambda lineage: "+".join(lineage["segments"]))
def test_lineages(lineage: dict[str, Any]) -> None:
    digests = [VECTORS[name]["digest"] for name in lineage["segments"]]
    assert lineage["digest"] == lineage_digest(digests)
    assert lineage["digest"] == (digests[0] if len(digests) == 1 else second_digest(digests))


def test_row_ids_and_counts_do_not_matter_and_everything_else_does() -> None:
    by_digest: dict[str, set[str]] = {}
    for name, vector in VECTORS.items():
        by_digest.setdefault(vector["digest"], set()).add(name)
    assert {"conversation", "the same conversation"} in by_digest.values()
    assert len(VECTORS) - 1 == len(by_digest)


@pytest.mark.parametrize(
    ("schema", "case"), [(1, "story"), (14, "story"), (23, "story"), (30, "story"), (23, "odd"), (23, "lineage")]
)
def test_the_page_alone_leads_to_the_digests_of_a_store(hermes_db: Callable[..., Path], schema: int, case: str) -> None:
    path = hermes_db(schema, case)
    with closing(sqlite3.connect(path)) as db, hermes.open(path, listen=ignore) as store:
        db.text_factory = second_text_factory
        ids = [info.id for info in store.sessions(counts=False)]
        expected = {i: content_digest(store.records(i), store.canonical) for i in ids}
        assert expected == {i: second_digest(second_store(db, i)) for i in ids}
    assert len(ids) > 10


def test_the_frozen_vectors_stay_as_they_are() -> None:
    before = json.dumps(FOUND)
    assert 0 == freezing.freeze(FOUND)
    assert before == json.dumps(FOUND)


def test_the_example_on_the_page_is_a_vector() -> None:
    blocks = re.findall(r"^```\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    lines, digest = (block.splitlines() for block in blocks)
    assert VECTORS["conversation"]["lines"] == lines
    assert [VECTORS["conversation"]["digest"]] == digest
    assert digest == [second_digest(lines)]


@pytest.mark.parametrize("line", re.findall(r"^\| .*e.* \| .* \| (.*`.*) \|$", PAGE.read_text("utf-8"), re.M))
def test_the_numbers_on_the_page_are_written_so(line: str) -> None:
    numbers = [text for text in re.findall("`([^`]+)`", line) if re.fullmatch(r"-?[0-9.]+(e[+-][0-9]+)?", text)]
    assert numbers == [second_number(float(text)) for text in numbers]
    assert numbers != []
