"""Stores that are broken, or are none: each ends with its status and a sentence, and never with a trace."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

COMMANDS = [["list"], ["stats"], ["export", "-"], ["doctor"]]

# Of the real ones: nothing can be read, something can't, and all can although something is odd.
UNREADABLE = ["empty", "not-a-db", "header-only", "other-app"]
LOSSY = ["truncated", "pages-scrambled"]
ODD = ["no-fts", "fts-broken", "fts-trigger-dangling", "schema-duplicate", "active-null", "future", "odd-rows"]


@pytest.fixture
def broken(tmp_path: Path, hermes_db: Callable[..., Path]) -> Callable[[str], Path]:
    """Return a function that makes a broken store of a kind."""

    def make(kind: str) -> Path:
        path = tmp_path / f"{kind}.db"
        if kind == "other-app":
            db = sqlite3.connect(path)
            db.execute("CREATE TABLE sessions (token TEXT, user TEXT)")
            db.close()
            return path
        whole = hermes_db().read_bytes()
        contents = {
            "empty": b"",
            "not-a-db": b"This is a text.\n",
            "header-only": whole[:4096],
            "truncated": whole[: len(whole) * 8 // 10],
        }
        path.write_bytes(contents[kind])
        return path

    return make


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_cannot_be_read_at_all_is_a_failure(
    satchel: Callable[..., Any], broken: Callable[[str], Path], kind: str, words: list[str]
) -> None:
    path = broken(kind)
    done = satchel(*words, "--from", path)

    assert 1 == done.status
    assert str(path) in done.err + done.out
    assert words == ["doctor"] or "" == done.out


@pytest.mark.parametrize(
    "words", [["export", "-"], ["doctor"], ["list"], ["stats"], ["show", "20260302_083"]], ids=lambda words: words[0]
)
def test_what_can_be_read_in_part_is_told_by_the_status(
    satchel: Callable[..., Any], broken: Callable[[str], Path], words: list[str]
) -> None:
    done = satchel(*words, "--from", broken("truncated"))

    assert 3 == done.status
    assert done.out
    assert "damaged" in done.err + done.out


def test_one_store_of_several_that_is_broken_does_not_hide_the_others(
    satchel: Callable[..., Any], broken: Callable[[str], Path], story: Path
) -> None:
    done = satchel("list", "--json", "--limit", "0", "--from", story, "--from", broken("header-only"))

    assert 3 == done.status
    assert 13 == len(json.loads(done.out))
    assert "header-only.db" in done.err


# ---------------------------------------------------------------------------------------------------------- real ones


def _real(shared: Path, kind: str) -> Path:
    path = shared / "data" / "hermes" / "damaged" / f"{kind}.db"
    if not path.exists():
        pytest.skip(f"there is no {kind}.db")
    return path


@pytest.mark.parametrize("kind", [*UNREADABLE, *LOSSY, *ODD])
def test_a_real_broken_store_ends_an_export_with_its_status(process: Callable[..., Any], shared: Path, kind: str) -> None:
    path = _real(shared, kind)
    before = sorted(path.parent.iterdir()), path.read_bytes()
    done = process("export", "-", "--from", path)

    assert (1 if kind in UNREADABLE else 3 if kind in LOSSY else 0) == done.status
    assert (kind in UNREADABLE) == (b"" == done.out)
    assert kind in UNREADABLE or (b"lost: " if kind in LOSSY else b"warning: ") in done.err
    assert before == (sorted(path.parent.iterdir()), path.read_bytes())


@pytest.mark.parametrize("words", [["list"], ["stats"], ["doctor"], ["show", "20260"]], ids=lambda words: words[0])
@pytest.mark.parametrize("kind", [*UNREADABLE, *LOSSY, *ODD])
def test_a_real_broken_store_breaks_no_command(satchel: Callable[..., Any], shared: Path, kind: str, words: list[str]) -> None:
    done = satchel(*words, "--from", _real(shared, kind))

    wanted = 1 if kind in UNREADABLE or words[0] == "show" else 3 if kind in LOSSY else 0
    assert wanted == done.status
    assert "an error in Satchel itself" not in done.err


@pytest.mark.parametrize("kind", LOSSY + ODD)
def test_a_doctor_says_what_is_the_matter(satchel: Callable[..., Any], shared: Path, kind: str) -> None:
    found = json.loads(satchel("doctor", "--json", "--from", _real(shared, kind)).out)
    store = found["stores"][0]

    assert (kind not in LOSSY) == found["ok"]
    assert (kind in LOSSY) == bool(store["damage"])
    assert kind in LOSSY or store["warnings"]
    assert ["satchel export hermes-sessions.jsonl"] == [
        each["command"].partition(" --from")[0] for each in store["commands"] if "export" in each["command"]
    ]
