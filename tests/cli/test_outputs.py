"""Outputs that must not be written: a store, what belongs to one, and what is no file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("name", ["state.db", "state.db-wal", "state.db-shm", "state.db-journal", "again.db"])
def test_a_store_is_never_overwritten(satchel: Callable[..., Any], story: Path, name: str) -> None:
    if name == "again.db":
        os.link(story, story.with_name(name))
    before = story.read_bytes()
    done = satchel("export", story.with_name(name), "--force")
    assert 2 == done.status
    assert "it is not overwritten, --force or not" in done.err
    assert before == story.read_bytes()


def test_what_lies_beside_the_store_that_a_link_leads_to_is_not_overwritten(
    satchel: Callable[..., Any], story: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "state.db").symlink_to(story)
    monkeypatch.setenv("HERMES_HOME", str(home))
    for name in ("state.db-wal", "state.db"):
        done = satchel("export", story.with_name(name), "--force")
        assert (2, True) == (done.status, "it is not overwritten" in done.err)
    assert ["state.db"] == sorted(os.listdir(story.parent))


@pytest.mark.parametrize("name", ["SHA256SUMS", "satchel-SHA256SUMS", "satchel-manifest.jsonl", "sessions.jsonl"])
def test_a_store_that_is_called_as_an_output_is_not_overwritten(
    satchel: Callable[..., Any], story: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    shutil.copy(story, folder / name)
    assert 2 == satchel("export", folder, "--force", "--from", folder / name).status
    assert [name] == os.listdir(folder)


def test_a_pipe_is_no_file_under_whatever_name(satchel: Callable[..., Any], story: Path) -> None:
    read, write = os.pipe()
    try:
        for more in ((), ("--no-manifest",), ("--force",)):
            done = satchel("export", f"/dev/fd/{write}", *more)
            assert (1, True) == (done.status, "is a device or a pipe, not a file" in done.err)
    finally:
        os.close(read)
        os.close(write)
