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


def test_a_store_that_is_called_as_a_temporary_file_is_not_removed(
    satchel: Callable[..., Any], story: Path, tmp_path: Path
) -> None:
    """A run removed such a file from its output's folder when it was a day old, though it read from it."""
    folder = tmp_path / "out"
    store = folder / "deep" / ".state.db.12345678.satchel-tmp"
    store.parent.mkdir(parents=True)
    shutil.copy(story, store)
    os.utime(store, (1, 1))
    (folder / "link.db").symlink_to(store)
    for output in (folder, store.parent / "x.jsonl"):
        for source in (store, folder / "link.db"):
            done = satchel("export", output, "--from", source)
            assert (2, True) == (done.status, "has the name of a temporary file" in done.err)
    assert 0 == satchel("export", folder / "x.jsonl", "--from", store).status
    assert 0 == satchel("export", store.parent / "y.jsonl").status
    assert story.read_bytes() == store.read_bytes()


@pytest.mark.parametrize("more", [(), ("--no-manifest",), ("--force",)])
def test_what_may_be_left_over_is_told_and_not_removed(
    satchel: Callable[..., Any], story: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    left = tmp_path / ".mine.12345678.satchel-tmp"
    left.write_bytes(b"mine")
    os.utime(left, (1, 1))
    done = satchel("export", tmp_path / "x.jsonl", *more)
    assert (0, 1) == (done.status, done.err.count(".mine.12345678.satchel-tmp may be what a killed run left"))
    assert b"mine" == left.read_bytes()


@pytest.mark.parametrize("more", [(), ("--force",)])
def test_what_has_the_name_of_a_partial_manifest_is_left_alone(
    satchel: Callable[..., Any], story: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    mine = tmp_path / ".x.jsonl.manifest.jsonl.partial"
    mine.write_bytes(b"mine")
    done = satchel("export", tmp_path / "x.jsonl", *more)
    assert (1, True) == (done.status, "is in the way, and was left alone" in done.err)
    assert b"mine" == mine.read_bytes()
    assert not (tmp_path / "x.jsonl").exists()
    assert 2 == satchel("export", tmp_path / "x.jsonl", "--from", shutil.copy(story, mine)).status
    assert story.read_bytes() == mine.read_bytes()
