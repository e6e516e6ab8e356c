"""Runs the command line: as a process, where streams and signals matter, and inside this one, where it is to be quick."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from satchel.cli import run


class Outcome(NamedTuple):
    """What a run left: its exit status and its two streams."""

    status: int
    out: str
    err: str


class Process(NamedTuple):
    """What a process left: its exit status and the bytes of its two streams."""

    status: int
    out: bytes
    err: bytes


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of its own, with no Hermes home but what a test makes."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "no-home"))
    monkeypatch.setenv("COLUMNS", "100")
    # Without buffers some faults of streams do not show.
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)


@pytest.fixture
def satchel(capfd: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Return a function that runs a command inside this process."""

    def call(*words: object) -> Outcome:
        capfd.readouterr()
        status = run([str(word) for word in words])
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return Outcome(status, out, err)

    return call


@pytest.fixture
def process() -> Callable[..., Process]:
    """Return a function that runs a command as a process of its own; `env` is added to the environment."""

    def call(*words: object, stdin: bytes = b"", env: dict[str, str] | None = None) -> Process:
        done = subprocess.run(
            [sys.executable, "-m", "satchel", *map(str, words)],
            input=stdin,
            capture_output=True,
            env={**os.environ, **(env or {})},
            timeout=60,
            check=False,
        )
        assert b"Traceback" not in done.stdout + done.stderr
        return Process(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def story(hermes_db: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the sample store, which lies in the Hermes home that is in use."""
    path = hermes_db()
    monkeypatch.setenv("HERMES_HOME", str(path.parent))
    return path


@pytest.fixture
def odd(hermes_db: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the store of everything that a store may hold although nobody should write it, as the one in use."""
    path = hermes_db(case="odd")
    monkeypatch.setenv("HERMES_HOME", str(path.parent))
    return path
