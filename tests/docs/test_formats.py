"""The pages on formats are true: their examples come out of the code, their recipes run, and nothing of the code is left out."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import hermes_cases
import hermes_schema
import pytest
from hermes_parts import STRUCTURED, Case, TextBytes, assistant, at, call, js, rewound, structured, tool, user

from satchel import events
from satchel.events import Event
from satchel.formats import hermes_decode, hermes_rows
from satchel.formats.hermes_state import schema, snapshot
from satchel.formats.jsonl.record import FEATURES, KNOWN_TABLES, RESERVED, TABLE_KEYS
from satchel.manifest import manifest, report, verify
from satchel.pipeline import LineageMode, export
from satchel.selection import Selection
from satchel.sources import Source

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLES = DOCS / "formats" / "examples"
FIXTURES = DOCS.parent / "fixtures"

# ------------------------------------------------------------------------------------------------ the examples


def tides() -> Case:
    """Return a short conversation with something under most keys."""
    case = Case()
    session, began = "20260310_070000_0a5e77", "2026-03-10 07:00:00"
    case.add(
        session,
        began,
        [
            user("When is high tide in Lagos?"),
            assistant(None, call("call_1", "terminal", command="tidepool next --station Lagos")),
            tool("call_1", "terminal", "03:12"),
            *rewound([user("Say it like a pirate."), assistant("Arr! At 03:12!")]),
            assistant("At 03:12."),
        ],
        title="High tide",
        system_prompt="You are Hermes.",
        rewind_count=1,
        input_tokens=310,
        output_tokens=24,
    )
    case.row("session_model_usage", session_id=session, model="anthropic/claude-sonnet-4.6", task="", input_tokens=310)
    entry = {"session_key": "agent:main:cli", "session_id": session}
    case.row("gateway_routing", scope="", session_key="agent:main:cli", entry_json=js(entry), updated_at=at(began))
    case.row("state_meta", key=f"goal:{session}", value=js({"goal": "Catch the tide", "status": "active"}))
    case.row("compression_locks", session_id=session, holder="pid 4242", acquired_at=at(began), expires_at=at(began) + 300)
    case.statements += [
        "CREATE TABLE dreams (session_id TEXT, body TEXT)",
        f"INSERT INTO dreams VALUES ('{session}', 'of a sheep')",
    ]
    return case


def oddities() -> Case:
    """Return sessions with every kind of value that a line can't show, at a version that keeps prompts apart."""
    # Declared without a type, a column takes numbers for what they are.
    case = Case(overrides={("messages", "content"): "", ("messages", "tool_calls"): ""})
    case.add(
        "odd-tides",
        "2026-03-11 07:00:00",
        [
            user(TextBytes(b"caf\xe9"), timestamp=float("inf")),
            user(b"\x00\xff"),
            user(structured([{"type": "text", "text": "Is this the blue?"}])),
            user(STRUCTURED + "[1,2]"),
            assistant(None, tool_calls="not JSON"),
            user(12345),
        ],
        title=TextBytes(b"mar\xe9e"),
        system_prompt="You are Hermes.",
    )
    case.messages["odd-orphan"] = [
        {"session_id": "odd-orphan", "timestamp": at("2026-03-11 08:00:00")} | user("My session's row is gone.")
    ]
    case.statements += [
        "ALTER TABLE sessions ADD COLUMN last_active BLOB",
        "UPDATE sessions SET last_active = x'01'",
        'ALTER TABLE messages ADD COLUMN "sea/level~m" REAL',
        "UPDATE messages SET \"sea/level~m\" = 9e999 WHERE role = 'user'",
    ]
    return case


def segments() -> Case:
    """Return one conversation in two rows, the second beginning with copies of the end of the first."""
    case = Case()
    tail = [user("One commit a station?"), assistant("That should do.")]
    case.add(
        "20260312_090000_a11ce0",
        "2026-03-12 09:00:00",
        [user("The import takes forty minutes."), assistant("It commits after each row."), *tail],
        title="Slow import",
        ended_at=at("2026-03-12 10:00:00"),
        end_reason="compression",
    )
    case.add(
        "20260312_100001_a11ce1",
        "2026-03-12 10:00:01",
        [user("[CONTEXT COMPACTION — REFERENCE ONLY] Goal: a fast import."), *tail, user("Go on.")],
        title="Slow import #2",
        parent_session_id="20260312_090000_a11ce0",
    )
    return case


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that builds a store, exports it and returns the export."""

    def make(case: Case, output: str, *, schema: int, lineage: LineageMode = "single", **options: str) -> Path:
        store = hermes_cases.write(tmp_path / "state.db", case, schema=schema, fts=False)
        where = f"{tmp_path}/{output}"
        export([Source("hermes", store)], where, selection=Selection(), lineage=lineage, options=options, version="0.1.0")
        return Path(where)

    return make


def _example(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (EXAMPLES / name).read_text("utf-8").split("\n") if line]


def _page(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def _blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", _page(page), re.M | re.S)


@pytest.mark.parametrize("name", ["sessions.jsonl", "manifest.jsonl", "SHA256SUMS"])
def test_the_export_comes_out_as_shown(write: Write, golden: Callable[[Path, bytes], None], name: str) -> None:
    golden(EXAMPLES / "export" / name, (write(tides(), "export/", schema=23) / name).read_bytes())


def test_the_odd_lines_come_out_as_shown(write: Write, golden: Callable[[Path, bytes], None]) -> None:
    golden(EXAMPLES / "odd.jsonl", write(oddities(), "odd.jsonl", schema=30).read_bytes())


def test_the_lineage_comes_out_as_shown(write: Write, golden: Callable[[Path, bytes], None]) -> None:
    golden(EXAMPLES / "lineage.jsonl", write(segments(), "lineage.jsonl", schema=11, lineage="logical").read_bytes())


def test_the_prompts_come_out_as_shown(write: Write, golden: Callable[[Path, bytes], None]) -> None:
    golden(EXAMPLES / "user-prompts.jsonl", write(tides(), "prompts.jsonl", schema=23, only="user-prompts").read_bytes())


def test_the_session_of_another_agent_comes_out_as_shown(tmp_path: Path, golden: Callable[[Path, bytes], None]) -> None:
    log = next((FIXTURES / "claude_code/home/projects").glob("*/*-000000000001.jsonl"))
    out = tmp_path / "claude.jsonl"
    export([Source("claude", log)], out, selection=Selection(), options={"raw": True}, version="0.1.0")
    golden(EXAMPLES / "claude.jsonl", out.read_bytes())


# ------------------------------------------------------------------------------------------------ docs/formats/jsonl.md


def test_the_blocks_of_the_jsonl_page_are_the_examples() -> None:
    line, notes, prompt = map(json.loads, _blocks("formats/jsonl.md", "json"))
    assert _example("export/sessions.jsonl") == [line]
    assert list(_example("export/sessions.jsonl")[0]) == list(line)
    assert _example("odd.jsonl")[0]["satchel"]["exact"] == notes
    assert _example("user-prompts.jsonl") == [prompt]


def _lines() -> list[dict[str, Any]]:
    return [line for name in ("export/sessions.jsonl", "odd.jsonl", "lineage.jsonl", "claude.jsonl") for line in _example(name)]


def test_every_key_and_every_note_is_in_an_example_and_on_the_page() -> None:
    parts = [part for line in _lines() for part in (line["satchel"], *line["satchel"].get("segments", ()))]
    listed = [cells[0].strip("`") for cells in _table("formats/jsonl.md", "Under `satchel`")]
    assert sorted(("v", *FEATURES)) == sorted(listed)
    assert set(listed) == {key for part in parts for key in part} - {"session"}
    notes = [cells[0] for cells in _table("formats/jsonl.md", "Exact notes")]
    assert set(hermes_rows._EXACT) == set(re.findall(r'`\{"(\w+)":', "".join(notes)))
    assert set(hermes_rows._EXACT) == {kind for part in parts for note in part.get("exact", {}).values() for kind in note}


def test_the_tables_and_names_of_the_layout_are_on_the_page() -> None:
    page = _page("formats/jsonl.md")
    assert [] == [name for name in (*KNOWN_TABLES, *RESERVED, *TABLE_KEYS, *TABLE_KEYS.values()) if f"`{name}`" not in page]


def test_keys_stand_in_the_order_that_the_page_gives() -> None:
    under = [cells[0].strip("`") for cells in _table("formats/jsonl.md", "Under `satchel`")]
    for line in _lines():
        *columns, messages, last_active, satchel = line
        assert ["messages", "last_active", "satchel"] == [messages, last_active, satchel]
        if "orphan" not in line["satchel"]:
            assert ["id", *sorted(columns[1:-2]), "message_count", "tool_call_count"] == columns
        for row in [*line["messages"], *line["satchel"].get("hidden", []), *line["satchel"].get("carried", [])]:
            assert [*sorted(name for name in row if name != "id"), "id"] == list(row)
        assert sorted(line["satchel"], key=under.index) == list(line["satchel"])


def test_a_line_can_be_cut_at_its_tabs() -> None:
    for name in ("export/sessions.jsonl", "odd.jsonl", "lineage.jsonl", "claude.jsonl"):
        for text, line in zip((EXAMPLES / name).read_text("utf-8").splitlines(), _example(name), strict=True):
            rows = [json.loads(part.rstrip(",")) for part in text.split("\t")[1:] if part.startswith("{")]
            extra = line["satchel"]
            assert [*line["messages"], *extra.get("hidden", []), *extra.get("carried", [])] == rows


@pytest.mark.parametrize(
    ("case", "schema", "name"),
    [(tides, 23, "export/sessions.jsonl"), (oddities, 30, "odd.jsonl"), (segments, 11, "lineage.jsonl")],
)
def test_the_recipe_gives_the_rows_that_are_stored(tmp_path: Path, case: Callable[[], Case], schema: int, name: str) -> None:
    recipe: dict[str, Any] = {}
    exec(_blocks("formats/jsonl.md", "python")[0], recipe)
    store = hermes_cases.write(tmp_path / "state.db", case(), schema=schema, fts=False)
    for line in _example(name):
        ids = [segment["session"]["id"] for segment in line["satchel"].get("segments", ())] or [line["id"]]
        with closing(sqlite3.connect(store)) as db:
            db.row_factory = sqlite3.Row
            db.text_factory = lambda data: _text_or_bytes(data)
            marks = ", ".join("?" * len(ids))
            stored = [dict(row) for row in db.execute(f"SELECT * FROM messages WHERE session_id IN ({marks}) ORDER BY id", ids)]
        assert stored == recipe["stored_messages"](line)
        assert [type(value) for row in stored for _, value in sorted(row.items())] == [
            type(value) for row in recipe["stored_messages"](line) for _, value in sorted(row.items())
        ]


def _text_or_bytes(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def test_the_python_on_the_page_reads_a_file() -> None:
    _, read, _ = _blocks("formats/jsonl.md", "python")
    run = subprocess.run(
        [sys.executable, "-c", read], cwd=EXAMPLES / "export", capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert "20260310_070000_0a5e77 High tide 4\n" == run.stdout


@pytest.mark.skipif(shutil.which("jq") is None, reason="there is no jq here")
def test_the_jq_on_the_page_reads_a_file() -> None:
    (command,) = _blocks("formats/jsonl.md", "sh")
    run = subprocess.run(["sh", "-c", command], cwd=EXAMPLES / "export", capture_output=True, text=True, check=True)
    assert "20260310_070000_0a5e77\tHigh tide\t4\t2\n" == run.stdout


# ------------------------------------------------------------------------------------------------ docs/formats/hermes-state.md


def _columns(heading: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield name, declared type, and the first and last schema version that may have brought a column."""
    for names, kind, since, _ in _table("formats/hermes-state.md", heading):
        first, _, last = since.partition("–")
        for name in re.findall("`([^`]+)`", names):
            yield name, kind.partition(",")[0], int(first), int(last or first)


@pytest.mark.parametrize("table", [hermes_schema.SESSIONS, hermes_schema.MESSAGES], ids=["sessions", "messages"])
def test_every_column_is_on_the_page_with_its_version(table: hermes_schema.Table) -> None:
    listed = {name: (kind, first, last) for name, kind, first, last in _columns(table.name)}
    known = {name: (declared.split()[0], since) for name, declared, since in table.columns}
    assert sorted(known) == sorted(listed)
    for name, (declared, since) in known.items():
        kind, first, last = listed[name]
        assert (declared, True) == (kind, first <= since <= last), name


def test_every_other_table_is_on_the_page() -> None:
    rows = {
        name: (columns, since)
        for names, columns, since in _table("formats/hermes-state.md", "Other tables")
        for name in _code(names)
    }
    for table in hermes_schema.OTHERS:
        columns, since = rows[table.name]
        first, _, last = since.partition("–")
        assert int(first) <= table.since <= int(last or first), table.name
        if table.name != "session_turn_leases":
            assert [] == [name for name, _, _ in table.columns if f"`{name}`" not in columns], table.name


def test_every_beginning_of_injected_text_is_on_the_page() -> None:
    told = "".join("".join(cells) for cells in _table("formats/hermes-state.md", "Injected text"))
    known = (
        *hermes_decode._HARNESS,
        *hermes_decode._LEADING_NOTE,
        *hermes_rows._SUMMARY,
        "<memory-context>",
        "</memory-context>",
    )
    assert [] == [text for text in known if f"`{text}`" not in told]


def test_every_name_on_the_page_is_read_under_its_spelling() -> None:
    """SQLite takes capitals for small letters, and a reader that looks for a name does not."""
    told = {name: {each[0] for each in _columns(name)} for name in ("sessions", "messages")}
    for names, columns, _ in _table("formats/hermes-state.md", "Other tables"):
        if names != "`messages_fts…`":
            told |= {name: {each for each in _code(columns) if each.isidentifier()} for name in _code(names)}
    for name, found in told.items():
        assert found <= schema._KNOWN[name] | {"task_json", "result_json", "session_id"}, name


def test_every_kind_of_lineage_is_on_the_page() -> None:
    from satchel.contracts import Lineage

    kinds = {cells[0] for cells in _table("formats/hermes-state.md", "Lineage")}
    assert {"none", *get_args(Lineage)} == kinds


def test_every_way_of_reading_is_on_the_page() -> None:
    source = Path(snapshot.__file__).read_text("utf-8")
    ways = re.findall(r'Snapshot\(path, connection, "([^"]+)"', source)
    told = "".join("".join(cells) for cells in _table("formats/hermes-state.md", "Reading a live store"))
    assert 3 == len(ways)
    assert [] == [way for way in ways if f'("{way}")' not in told]


# ------------------------------------------------------------------------------------------------ docs/manifest.md


def test_the_block_of_the_manifest_page_is_the_example() -> None:
    assert [(EXAMPLES / "export" / "manifest.jsonl").read_text("utf-8")] == _blocks("manifest.md", "json")


@pytest.mark.parametrize("kind", ["header", "session", "file", "totals"])
def test_every_key_of_a_line_is_on_the_page_in_its_order(kind: str) -> None:
    (line,) = (line for line in _example("export/manifest.jsonl") if line["type"] == kind)
    listed = [name for cells in _table("manifest.md", kind) for name in _code(cells[0])]
    if kind == "session":
        # Keys that stand in some lines only.
        assert ["profile", "native_digest"] == [listed.pop(-2), listed.pop()]
        assert ["type", *manifest.SESSION_KEYS] == listed
    assert listed == list(line)


def test_every_kind_of_finding_is_on_the_page() -> None:
    from satchel import verifying

    sources = "".join(Path(str(module.__file__)).read_text("utf-8") for module in (verify, report, verifying))
    found = set(re.findall(r'(?:find|Finding)\(\s*"(\w+)"', sources))
    assert found == {name for cells in _table("manifest.md", "Checking") for name in _code(cells[0])}


def test_the_seal_can_be_checked_as_the_page_says(tmp_path: Path) -> None:
    (program,) = _blocks("manifest.md", "python")
    right = (EXAMPLES / "export" / "manifest.jsonl").read_bytes()
    lines = right.splitlines(keepends=True)
    altered = [right.replace(b'"rewound":2', b'"rewound":1'), right[:-1], b"".join(lines[:-1]), b"".join([*lines[:2], lines[3]])]
    for data, status in [(right, 0), *((data, 1) for data in altered)]:
        path = tmp_path / "manifest.jsonl"
        path.write_bytes(data)
        run = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
        assert (status, status == 0) == (run.returncode, manifest.read_manifest(path).sealed), run.stderr


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum here")
def test_the_files_can_be_checked_as_the_page_says(tmp_path: Path) -> None:
    (command,) = _blocks("manifest.md", "sh")
    folder = shutil.copytree(EXAMPLES / "export", tmp_path / "export")
    for status in (0, 1):
        run = subprocess.run(
            ["sh", "-c", command.replace("FOLDER", str(folder))], capture_output=True, text=True, env={"LC_ALL": "C"}, check=False
        )
        assert status == run.returncode, run.stdout
        assert ("manifest.jsonl: OK" in run.stdout, f"sessions.jsonl: {'FAILED' if status else 'OK'}" in run.stdout) == (
            True,
            True,
        )
        with open(folder / "sessions.jsonl", "ab") as file:
            file.write(b"\n")


# ------------------------------------------------------------------------------------------------ docs/events.md


def _kind(event: type[Event]) -> str:
    return re.sub("(?<!^)([A-Z])", r"_\1", event.__name__).lower()


def test_every_event_and_every_field_is_on_the_page() -> None:
    headings = re.findall(r"^## ([a-z_]+)$", _page("events.md"), re.M)
    kinds = {_kind(event): [field.name for field in fields(event)] for event in get_args(Event)}
    assert sorted(kinds) == sorted(headings)
    assert kinds == {kind: [name for cells in _table("events.md", kind) for name in _code(cells[0])] for kind in kinds}


def test_the_stream_on_the_page_is_one_of_real_events(tmp_path: Path) -> None:
    (block,) = _blocks("events.md", "json")
    store = hermes_cases.write(tmp_path / "state.db", tides(), schema=23)
    told: list[Event] = [events.RunStarted("export")]
    export([Source("hermes", store)], f"{tmp_path}/export/", selection=Selection(), version="0.1.0", listen=told.append)
    shown = [events.as_dict(event) for event in told]
    for event in shown:
        if "path" in event:
            event["path"] = str(event["path"]).replace(str(tmp_path / "state.db"), "/home/ada/.hermes/state.db")
            event["path"] = str(event["path"]).replace(str(tmp_path), "/home/ada")
    assert [json.loads(line) for line in block.splitlines()] == shown
    assert [list(json.loads(line)) for line in block.splitlines()] == [list(event) for event in shown]


# ------------------------------------------------------------------------------------------------ all pages

PAGES = ("formats/hermes-state.md", "formats/jsonl.md", "formats/digest.md", "manifest.md", "events.md")


def _section(page: str, heading: str) -> str:
    """Return what stands under a heading, down to the next one of any level."""
    (found,) = re.findall(
        rf"^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", re.sub("```.*?```", "", _page(page), flags=re.S), re.M | re.S
    )
    return str(found)


def _table(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the one table under a heading, without its head."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in _section(page, heading).split("\n") if line.startswith("| ")]
    assert rows, heading
    return [[cell.strip() for cell in row] for row in rows[1:]]


def _code(text: str) -> list[str]:
    return re.findall("`([^`]+)`", text)


@pytest.mark.parametrize("page", PAGES[:-1])
def test_a_page_says_what_every_page_says(page: str) -> None:
    headings = re.findall("^## (.+)$", _page(page), re.M)
    assert "About" == headings[0]
    assert ["References", "Last verified"] == headings[-2:]
    assert "Losses" in headings
    assert re.search(r"^20\d\d-\d\d-\d\d", _section(page, "Last verified").strip())


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for text, link in re.findall(r"\[([^\]]+)\]\(([^)\s]+)\)", re.sub("```.*?```", "", _page(page), flags=re.S)):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (DOCS / page).parent / file if file else DOCS / page
        assert target.exists(), f"{text}: {link}"
        if anchor:
            headings = re.findall("^#+ (.+)$", target.read_text("utf-8"), re.M)
            anchors = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert anchor in anchors, f"{text}: {link}"
