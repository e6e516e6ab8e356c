"""Every reader and writer of ours keeps the contracts that `satchel.testing` publishes; so does a plug-in."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from satchel import library
from satchel.contracts import Reader, Store, Writer
from satchel.events import ignore
from satchel.formats.hermes_state import reader as hermes
from satchel.formats.jsonl import reader as jsonl_reader
from satchel.formats.jsonl import writer as jsonl_writer
from satchel.testing import ReaderContract, WriterContract


class TestHermesReader(ReaderContract):
    reader = cast("Reader", hermes)

    @pytest.fixture(
        params=[(1, "story"), (11, "lineage"), (16, "story"), (23, "story"), (23, "odd"), (23, "lineage"), (30, "story")]
    )
    def path(self, request: pytest.FixtureRequest, hermes_db: Callable[..., Path]) -> Path:
        schema, case = request.param
        return hermes_db(schema=schema, case=case)


class TestJsonlReader(ReaderContract):
    reader = cast("Reader", jsonl_reader)

    @pytest.fixture(params=["story", "odd", "lineage"])
    def path(self, request: pytest.FixtureRequest, hermes_db: Callable[..., Path], tmp_path: Path) -> Path:
        folder = tmp_path / "export"
        folder.mkdir()
        library.convert(hermes_db(schema=23, case=request.param), folder / "sessions.jsonl")
        return folder / "sessions.jsonl"


class TestJsonlWriter(WriterContract):
    writer = cast("Writer", jsonl_writer)

    @pytest.fixture(params=["story", "odd", "lineage"])
    def store(self, request: pytest.FixtureRequest, hermes_db: Callable[..., Path]) -> Iterator[Store]:
        with hermes.open(hermes_db(schema=23, case=request.param), listen=ignore) as store:
            yield store


class TestPromptsWriter(WriterContract):
    writer = cast("Writer", jsonl_writer)
    options: ClassVar[Mapping[str, Any]] = {"only": "user-prompts"}

    @pytest.fixture
    def store(self, hermes_db: Callable[..., Path]) -> Iterator[Store]:
        with hermes.open(hermes_db(schema=23, case="story"), listen=ignore) as store:
            yield store

    def test_it_writes_every_message_or_says_what_was_lost(self, store: Store) -> None:
        """Prompts are a choice from the messages, and so the one writer that is meant to leave some out."""
        _, said = self.write(store)

        assert 0 < sum(written.messages for written in said) < sum(info.messages or 0 for info in store.sessions())


# ------------------------------------------------------------------------------------------------------------ plug-ins

PLUGIN = """
from satchel.contracts import Claim, Record, SessionInfo
from satchel.formats.model import Message, Note, Text
from satchel.jsontext import canonical

name = "notes"
summary = "a file of notes, one a line"
layout = "file"
suffix = ".notes"
file_name = "all.notes"


def sniff(path):
    try:
        with path.open("rb") as file:
            return Claim(reader=name, why="begins with NOTES") if file.read(6) == b"NOTES\\n" else None
    except OSError:
        return None


class Notes:
    format = name
    agent = "notes"
    dialect = "notes"
    conversation = "line"

    def __init__(self, path):
        self.path, self.label = path, str(path)
        self.lines = path.read_bytes().splitlines(keepends=True)[1:]

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        pass

    def sessions(self, *, counts=True):
        n = len(self.lines) if counts else None
        yield SessionInfo(id="notes", format=name, agent="notes", messages=n, compacted=0 if counts else None,
                          rewound=0 if counts else None, last_active=None)

    def session(self, session_id, /, *, counts=True):
        from satchel.errors import NotFound
        for info in self.sessions(counts=counts):
            if info.id == session_id:
                return info
        raise NotFound("there is no such session")

    def records(self, session_id, /):
        for number, line in enumerate(self.lines, 1):
            yield Record("line", number, line.decode(), line)

    def decode(self, records, /):
        for record in records:
            yield Message(role="user", author="person", blocks=[Text(record.data)], records=(record,))

    def canonical(self, record, /):
        return (canonical(record.data) + b"\\n",)

    def check(self):
        pass

    def facts(self):
        return {"path": self.label}


def open(path, /, **options):
    if "target" in options or hasattr(path, "stream"):
        return Export(path)
    return Notes(path)


class Export:
    def __init__(self, target):
        self.target = target

    def __enter__(self):
        self.stream = self.target.stream(file_name)
        self.stream.write(b"NOTES\\n")
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.target.finish(self.stream)

    def add(self, session, /):
        from satchel.contracts import Written
        count = 0
        for entry in session.entries():
            for block in getattr(entry, "blocks", ()):
                if isinstance(block, Text):
                    self.stream.write(block.text.split("\\n")[0].encode() + b"\\n")
            count += isinstance(entry, Message)
        return Written(file=self.stream.name or None, messages=count, losses={"all but the first line": count})
"""


@pytest.fixture
def installed(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Lay a distribution with entry points on the path, as an installer would; returns the environment that sees it."""

    def install(name: str, points: str, module: str = PLUGIN) -> dict[str, str]:
        folder = tmp_path / "site"
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(textwrap.dedent(points))
        (folder / f"{name}.py").write_text(module)
        return os.environ | {"PYTHONPATH": str(folder)}

    return install


def run(env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "satchel", *words], capture_output=True, text=True, env=env, check=False)


def test_a_plug_in_reads_and_writes(installed: Any, tmp_path: Path, hermes_db: Callable[..., Path]) -> None:
    env = installed("notesplug", "[satchel.readers]\nnotes = notesplug\n[satchel.writers]\nnotes = notesplug\n")
    sample = tmp_path / "a.notes"
    sample.write_bytes(b"NOTES\none\ntwo\n")

    listed = run(env, "formats", "--json")
    written = run(env, "export", str(tmp_path / "out.notes"), "--format", "notes", "--from", str(hermes_db()))
    copied = run(env, "export", "-", "--format", "notes", "--from", str(sample))

    assert "notesplug" in listed.stdout, listed.stderr
    assert 0 == written.returncode, written.stderr
    assert (tmp_path / "out.notes").read_bytes().startswith(b"NOTES\n")
    assert (0, "NOTES\none\ntwo\n") == (copied.returncode, copied.stdout)
    assert 0 == run(env, "verify", str(tmp_path / "out.notes")).returncode


def test_a_broken_plug_in_is_a_warning_that_names_its_distribution(installed: Any, hermes_db: Callable[..., Path]) -> None:
    env = installed("brokenplug", "[satchel.readers]\nbroken = brokenplug\n", "raise RuntimeError('out of order')\n")

    result = run(env, "formats")

    assert 0 == result.returncode
    assert "brokenplug" in result.stderr
    assert "hermes" in result.stdout
    assert 0 == run(env, "list", "--from", str(hermes_db())).returncode


def test_a_name_that_is_taken_is_an_error_that_names_both(installed: Any) -> None:
    env = installed("otherjsonl", "[satchel.writers]\njsonl = otherjsonl\n")

    result = run(env, "formats")

    assert 1 == result.returncode
    assert "otherjsonl" in result.stderr
    assert "satchel" in result.stderr
    assert "Traceback" not in result.stderr
