"""
Secrets that stand anywhere in a store, in every column and every key of every kind of record, are in no output of any writer.

Each place gets a secret of its own, so that one that is found in one place says nothing of another.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from redacting import redactor, token

from satchel import library, scanning, sources
from satchel.contracts import Files
from satchel.errors import RedactionError, StoreChanged
from satchel.events import Event, Problem
from satchel.redaction.engine import Engine
from satchel.redaction.literals import Hits
from satchel.redaction.placeholders import PLACEHOLDER
from satchel.redaction.report import Report
from satchel.redaction.rules import builtin
from satchel.redaction.spans import Span
from satchel.session_views import View

FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures"
STRUCTURE = frozenset(
    ["type", "role", "uuid", "parentUuid", "sessionId", "session_id", "timestamp", "isSidechain", "version", "id"]
)


class Planted:
    """Secrets, by the place they were put in."""

    def __init__(self) -> None:
        self.places: dict[str, str] = {}

    def new(self, place: str) -> str:
        return self.places.setdefault(place, token(place))

    def left_in(self, data: bytes) -> list[str]:
        coded = {place: base64.b64encode(value.encode())[:40] for place, value in self.places.items()}
        return sorted(place for place, value in self.places.items() if value.encode() in data or coded[place] in data)


def plant(value: Any, planted: Planted, place: str, *, root: bool = True) -> Any:
    """Put a secret behind every text of a value, and under a key of every object of it."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            inner = json.loads(value) if value[:1] in "{[" and value else None
            if inner is not None:
                return json.dumps(plant(inner, planted, place + "()", root=False))
        return f"{value} {planted.new(place)}"
    if isinstance(value, list):
        return [plant(item, planted, place + "[]", root=False) for item in value]
    if isinstance(value, dict):
        filled = {
            key: item if key in STRUCTURE and isinstance(item, str) else plant(item, planted, f"{place}.{key}", root=False)
            for key, item in value.items()
        }
        return filled | {f"key {planted.new(place + '.?')}": planted.new(place + ".=")}
    return value


def planted_home(name: str, to: Path, planted: Planted) -> Path:
    """Copy a sample home, with a secret in every place of its files."""
    shutil.copytree(FIXTURES / name / "home", to)
    for path in sorted(to.rglob("*")):
        if path.suffix in (".jsonl", ".json") and path.is_file():
            data = path.read_bytes()
            try:
                whole = json.loads(data)
            except ValueError:
                path.write_bytes(b"".join(_planted_line(line, planted, path.name) for line in data.splitlines(keepends=True)))
            else:
                path.write_text(json.dumps(plant(whole, planted, path.name), indent=1))
        elif path.suffix == ".txt" and path.is_file():
            path.write_bytes(path.read_bytes() + planted.new(path.name).encode())
    return to


def _planted_line(line: bytes, planted: Planted, name: str) -> bytes:
    try:
        value = json.loads(line)
    except ValueError:
        # A damaged line is text.
        return line.rstrip(b"\n") + b" " + planted.new(f"{name} damaged").encode() + line[len(line.rstrip(b"\n")) :]
    return json.dumps(plant(value, planted, f"{name}:{value.get('type') if isinstance(value, dict) else ''}")).encode() + b"\n"


def everything(folder: Path) -> bytes:
    """Return all that an export left: names and contents."""
    return b"\n".join(
        bytes(str(path), "utf-8") + b"\n" + path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    )


FORMS: list[tuple[str, str, dict[str, Any]]] = [
    ("jsonl", "out.jsonl", {}),
    ("jsonl", "raw.jsonl", {"options": {"raw": True}}),
    ("jsonl", "prompts.jsonl", {"options": {"only": "user-prompts"}}),
    ("jsonl", "logical.jsonl", {"lineage": "logical"}),
    ("native", "native", {}),
]


@pytest.mark.parametrize("name", ["claude_code", "codex", "hermes_legacy"])
@pytest.mark.parametrize(("format", "output", "how"), FORMS, ids=[output for _, output, _ in FORMS])
def test_no_secret_of_a_log_is_in_any_output(tmp_path: Path, name: str, format: str, output: str, how: dict[str, Any]) -> None:
    planted = Planted()
    home = planted_home(name, tmp_path / "home", planted)
    (tmp_path / "out").mkdir()

    outcome = library.convert(home, tmp_path / "out" / output, format=format, redactor=redactor(), **how)

    left = everything(tmp_path / "out")
    assert planted.left_in(left) == []
    assert outcome.sessions > 1
    assert len(planted.places) > 90
    assert PLACEHOLDER.search(left.decode("utf-8", "replace"))
    if format == "jsonl":
        assert all(json.loads(line) for line in (tmp_path / "out" / output).read_text().splitlines())
        assert library.verify(tmp_path / "out" / output, content=True).ok


def _columns(database: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Yield the columns of a database that may hold any text, by table."""
    tables = [
        name
        for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
    ]
    for table in tables:
        if "fts" in table or table.startswith("sqlite_") or table == "schema_version":
            continue
        foreign = {row[3] for row in database.execute(f'PRAGMA foreign_key_list("{table}")')}
        for _, column, kind, _, _, key in database.execute(f'PRAGMA table_info("{table}")'):
            fixed = key or column in foreign or column.endswith("session_id") or column in ("role", "system_prompt_hash")
            if not fixed and ("TEXT" in kind.upper() or not kind):
                yield table, column


def plant_in_database(path: Path, planted: Planted) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        for (trigger,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            database.execute(f'DROP TRIGGER "{trigger}"')
        for table, column in _columns(database):
            for rowid, value in database.execute(f'SELECT rowid, "{column}" FROM "{table}"').fetchall():
                text = value if isinstance(value, str) else ""
                mark = "\0json:" if text.startswith("\0json:") else ""
                new = mark + plant(text[len(mark) :], planted, f"{table}.{column}")
                with contextlib.suppress(sqlite3.IntegrityError):
                    database.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (new, rowid))
        database.execute("PRAGMA user_version")
        database.commit()


@pytest.fixture
def planted_hermes(hermes_db: Callable[..., Path]) -> tuple[Path, Planted]:
    planted = Planted()
    path = hermes_db(schema=23, case="story")
    plant_in_database(path, planted)
    return path, planted


HERMES_FORMS = [(output, how) for format, output, how in FORMS if format == "jsonl" and output != "raw.jsonl"]


@pytest.mark.parametrize(("output", "how"), HERMES_FORMS, ids=[output for output, _ in HERMES_FORMS])
def test_no_secret_of_a_hermes_store_is_in_any_output(
    tmp_path: Path, planted_hermes: tuple[Path, Planted], output: str, how: dict[str, Any]
) -> None:
    path, planted = planted_hermes
    (tmp_path / "out").mkdir()

    library.convert(path, tmp_path / "out" / output, redactor=redactor(), **how)

    left = everything(tmp_path / "out")
    assert planted.left_in(left) == []
    assert {"sessions.title", "messages.content", "messages.tool_calls()[].function.arguments()"} <= {
        place.partition(".?")[0].rpartition(".")[0] if place.count(".") > 3 else place for place in planted.places
    } | set(planted.places)
    assert library.verify(tmp_path / "out" / output, content=True).ok


def test_no_secret_of_an_export_is_in_an_export_of_it(tmp_path: Path, planted_hermes: tuple[Path, Planted]) -> None:
    path, planted = planted_hermes
    library.convert(path, tmp_path / "plain.jsonl")
    (tmp_path / "out").mkdir()

    library.convert(tmp_path / "plain.jsonl", tmp_path / "out" / "out.jsonl", redactor=redactor())

    assert len(planted.left_in((tmp_path / "plain.jsonl").read_bytes())) > 90
    assert planted.left_in(everything(tmp_path / "out")) == []
    assert library.verify(tmp_path / "out" / "out.jsonl", content=True).ok


def test_a_redacted_export_is_redacted_already(tmp_path: Path, planted_hermes: tuple[Path, Planted]) -> None:
    path, _ = planted_hermes
    library.convert(path, tmp_path / "once.jsonl", redactor=redactor())
    library.convert(tmp_path / "once.jsonl", tmp_path / "twice.jsonl", redactor=redactor())

    assert (tmp_path / "once.jsonl").read_bytes() == (tmp_path / "twice.jsonl").read_bytes()


def test_sessions_without_secrets_come_out_as_they_would_without_redaction(
    tmp_path: Path, hermes_db: Callable[..., Path]
) -> None:
    path = hermes_db(schema=23, case="story")
    library.convert(path, tmp_path / "plain.jsonl")
    library.convert(path, tmp_path / "clean.jsonl", redactor=redactor())
    library.convert(FIXTURES / "claude_code" / "home", tmp_path / "plain", format="native")
    library.convert(FIXTURES / "claude_code" / "home", tmp_path / "clean", format="native", redactor=redactor())

    lines = zip(
        (tmp_path / "plain.jsonl").read_text().splitlines(), (tmp_path / "clean.jsonl").read_text().splitlines(), strict=True
    )
    same = [plain == clean for plain, clean in lines if not PLACEHOLDER.search(clean)]
    assert len(same) > 3
    assert all(same)
    names = sorted(
        path.relative_to(tmp_path / "plain") for path in (tmp_path / "plain").rglob("*.jsonl") if "manifest" not in path.name
    )
    assert names
    assert all((tmp_path / "plain" / name).read_bytes() == (tmp_path / "clean" / name).read_bytes() for name in names)


def test_equal_runs_give_equal_bytes(tmp_path: Path, planted_hermes: tuple[Path, Planted]) -> None:
    path, _ = planted_hermes
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        library.convert(path, tmp_path / name / "out.jsonl", redactor=redactor())

    for name in ("out.jsonl", "out.jsonl.manifest.jsonl"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_the_manifest_says_what_was_taken_out_by_rule(tmp_path: Path, planted_hermes: tuple[Path, Planted]) -> None:
    path, _ = planted_hermes
    outcome = library.convert(path, tmp_path / "out.jsonl", redactor=redactor())

    lines = [json.loads(line) for line in Path(str(outcome.manifest)).read_text().splitlines()]
    assert lines[0]["rules"] == redactor().digest
    sessions = [line for line in lines if line["type"] == "session"]
    assert all(line["redacted"]["github-token"] > 0 for line in sessions)


def test_a_session_whose_id_is_a_secret_is_one_session_under_another_name(tmp_path: Path) -> None:
    secret = token("id")
    home = tmp_path / "home" / "projects" / f"-srv-{token('folder')}"
    home.mkdir(parents=True)
    lines = [
        {"type": "user", "sessionId": secret, "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": "hello"}}
    ]
    (home / f"{secret}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for format, output in (("jsonl", "out.jsonl"), ("native", "native")):
        (tmp_path / format).mkdir()
        library.convert(tmp_path / "home", tmp_path / format / output, format=format, redactor=redactor())

        left = everything(tmp_path / format)
        assert secret.encode() not in left
        assert token("folder").encode() not in left
    line = json.loads((tmp_path / "jsonl" / "out.jsonl").read_text())
    manifest = (tmp_path / "jsonl" / "out.jsonl.manifest.jsonl").read_text().splitlines()
    assert {line["id"]} == {json.loads(row)["session_id"] for row in manifest if json.loads(row)["type"] == "session"}


def test_nothing_that_is_told_of_a_run_holds_a_secret_of_a_name(tmp_path: Path) -> None:
    """Ids of sessions stood in the report, and paths and ids in the events, as they were."""
    folder, session, agent, damaged, other = (
        token(name) for name in ("told folder", "told id", "told agent", "told", "told other")
    )
    home = tmp_path / "home" / "projects" / f"-srv-{folder}"
    (home / session / "subagents").mkdir(parents=True)
    line = {
        "type": "user",
        "sessionId": session,
        "uuid": "u1",
        "parentUuid": None,
        "message": {"role": "user", "content": "hello"},
    }
    (home / f"{session}.jsonl").write_text(json.dumps(line) + "\n{broken " + damaged + "\n")
    helper = line | {"isSidechain": True, "agentId": agent}
    (home / session / "subagents" / f"agent-{agent}.jsonl").write_text(json.dumps(helper) + "\n")
    (home / f"{other}.jsonl").write_bytes(b"\0\xff\n" * 20)
    heard: list[Event] = []
    report = Report()

    library.convert(tmp_path / "home", tmp_path / "out.jsonl", redactor=redactor(report=report), listen=heard.append)

    told = f"{heard} {json.dumps(report.as_dict())}"
    assert any(isinstance(event, Problem) for event in heard)
    assert [value for value in (folder, session, agent, damaged, other) if value in told] == []
    assert len(report.sessions) == 2


# ---------------------------------------------------------------------------------------------------------- failing closed


class _Fragile(Engine):
    def __init__(self, stage: str) -> None:
        super().__init__(builtin())
        self.stage = stage
        self.opened = 0

    def opens(self, raw: bytes) -> int:
        return 1

    def look(self, texts: Sequence[str]) -> dict[int, tuple[int, Hits | None]]:
        return dict.fromkeys(range(len(texts)), (1, None))

    def find(self, text: str, *, hidden: bool = True, hits: Hits | None = None) -> list[Span]:
        self.opened += 1
        if self.stage == "learn" or self.opened > 1000:
            raise RuntimeError(text)
        return super().find(text, hidden=hidden, hits=hits)

    def leaks(self, data: bytes) -> Iterator[tuple[int, str]]:
        if self.stage == "gate" and data:
            raise RedactionError("gate")
        return super().leaks(data)


@pytest.mark.parametrize("stage", ["learn", "apply", "gate"])
@pytest.mark.parametrize(("format", "output"), [("jsonl", "out.jsonl"), ("native", "native/")])
def test_a_failure_at_any_stage_leaves_no_file(tmp_path: Path, stage: str, format: str, output: str) -> None:
    engine = _Fragile(stage)

    red = redactor(engine=engine)
    if stage == "apply":
        red._apply = _raising  # type: ignore[method-assign]
    with pytest.raises(RedactionError):
        library.convert(FIXTURES / "claude_code" / "home", tmp_path / "out" / output, format=format, redactor=red)

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def _raising(record: Any) -> Any:
    raise RuntimeError("private")


def test_a_leak_of_a_writer_is_caught_and_leaves_no_file(tmp_path: Path, planted_hermes: tuple[Path, Planted]) -> None:
    path, _ = planted_hermes
    red = redactor()
    red._apply = lambda record: record  # type: ignore[method-assign]

    with pytest.raises(RedactionError, match="is still in what was to be written"):
        library.convert(path, tmp_path / "out" / "out.jsonl", redactor=red)

    assert not (tmp_path / "out").exists()


def test_nothing_of_a_leak_goes_to_a_pipe(planted_hermes: tuple[Path, Planted]) -> None:
    path, planted = planted_hermes
    red = redactor()
    red._apply = lambda record: record  # type: ignore[method-assign]
    out = io.BytesIO()

    with pytest.raises(RedactionError):
        library.convert(path, out, redactor=red)

    assert planted.left_in(out.getvalue()) == []


def test_what_is_no_text_is_left_out_of_a_redacted_copy_and_told(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(FIXTURES / "claude_code" / "home", home)
    session = next(path for path in sorted(home.rglob("*.jsonl")) if path.with_suffix("").is_dir())
    odd = session.with_suffix("") / "tool-results" / "picture.txt"
    odd.parent.mkdir(exist_ok=True)
    odd.write_bytes(bytes(range(256)) * 40)
    heard: list[Event] = []

    library.convert(home, tmp_path / "out", format="native", redactor=redactor(), listen=heard.append)

    assert not list((tmp_path / "out").rglob("picture.txt"))
    assert any(isinstance(event, Problem) and event.where == str(odd) for event in heard)


def test_standard_input_is_gone_through_twice_too(tmp_path: Path, planted_hermes: tuple[Path, Planted]) -> None:
    path, planted = planted_hermes
    library.convert(path, tmp_path / "plain.jsonl")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); from redacting import redactor; from satchel import library;"
        "library.convert('-', sys.argv[2], redactor=redactor())"
    )
    support = str(FIXTURES.parent / "tests" / "support")
    with (tmp_path / "plain.jsonl").open("rb") as given:
        # A pipe, which can't be read again.
        (private := tmp_path / "private").mkdir()
        cat = subprocess.Popen(["cat"], stdin=given, stdout=subprocess.PIPE)
        subprocess.run(
            [sys.executable, "-c", program, support, str(tmp_path / "out.jsonl")],
            stdin=cat.stdout,
            env=os.environ | {"TMPDIR": str(private)},
            check=True,
        )
        cat.communicate()
    # What came in, secrets and all, was once left there.
    assert [] == list(private.iterdir())

    library.convert(tmp_path / "plain.jsonl", tmp_path / "same.jsonl", redactor=redactor())
    assert planted.left_in((tmp_path / "out.jsonl").read_bytes()) == []
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "same.jsonl").read_bytes()


def _session_lines(manifest: str | None) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in Path(str(manifest)).read_text().splitlines()]
    return [line for line in lines if line["type"] == "session"]


@pytest.mark.parametrize("name", ["claude_code", "codex"])
def test_original_lines_that_an_export_kept_are_redacted_when_it_is_exported_again(tmp_path: Path, name: str) -> None:
    planted = Planted()
    home = planted_home(name, tmp_path / "home", planted)
    library.convert(home, tmp_path / "kept.jsonl", options={"raw": True})
    rows = library.convert(tmp_path / "kept.jsonl", tmp_path / "rows.jsonl", redactor=redactor())
    every = library.convert(tmp_path / "kept.jsonl", tmp_path / "every.jsonl", redactor=redactor(), options={"raw": True})

    said = (tmp_path / "every.jsonl").read_bytes()
    assert planted.left_in(said + (tmp_path / "rows.jsonl").read_bytes()) == []
    assert b'"native":[' in said
    assert library.verify(tmp_path / "every.jsonl", content=True).ok
    of_rows, of_all = (_session_lines(outcome.manifest) for outcome in (rows, every))
    # What goes from the lines is counted beside what goes from the rows.
    for line, less, more in zip(said.splitlines(), of_rows, of_all, strict=True):
        masks = len(PLACEHOLDER.findall(json.dumps(json.loads(line)["satchel"].get("native"))))
        assert masks == sum(more["redacted"].values()) - sum(less["redacted"].values())


def test_a_scan_of_an_export_looks_at_the_original_lines_too(tmp_path: Path) -> None:
    home = tmp_path / "home" / "projects" / "-srv-x"
    home.mkdir(parents=True)
    line = {"type": "user", "uuid": "u1", "sessionId": "s1", "message": {"role": "user", "content": "hello"}}
    # No row of an export has a place for it.
    line["requestId"] = token("aside")
    (home / "s1.jsonl").write_text(json.dumps(line) + "\n")
    library.convert(tmp_path / "home", tmp_path / "kept.jsonl", options={"raw": True})
    report = Report()

    scanning.scan_stores(
        sources.find([str(tmp_path / "kept.jsonl")]), library.make_selection(), redactor=redactor(report=report), report=report
    )

    assert [("line/requestId", 1)] == [(place.field, place.times) for place in scanning.places(report)]


def test_a_redacted_copy_of_a_file_ends_where_the_session_was_read(tmp_path: Path) -> None:
    """What is appended after the store was opened was not learned from."""
    home = tmp_path / "home"
    shutil.copytree(FIXTURES / "claude_code" / "home", home)
    with library.open(home) as store:
        assert isinstance(store, Files)
        session_id, path = next(
            (info.id, path) for info in store.sessions() for _, path in store.files(info.id) if path.suffix == ".jsonl"
        )
        before = path.read_bytes()
        with path.open("ab") as file:
            file.write(b'{"type":"user","added":true}\n')
        red = redactor()
        red.begin()
        red.learn(store.records(session_id))
        copied = b"".join(View(store, [session_id], red).contents(path))
        assert (before.count(b"\n"), 0) == (copied.count(b"\n"), copied.count(b"added"))
        path.write_bytes(before[:100])
        with pytest.raises(StoreChanged):
            list(View(store, [session_id], red).contents(path))
