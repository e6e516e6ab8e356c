"""`scan`: says where secrets are, writes nothing, and shows none of them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redacting import token


def write(name: str, text: str) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_finding_is_a_place_a_rule_and_a_tag(satchel: Callable[..., Any]) -> None:
    write("in/a.jsonl", "{}\n" + json.dumps({"n": 1, "text": f"x {token()}"}) + "\n")
    done = satchel("scan", "in")

    (line,) = done.out.splitlines()
    assert 1 == done.status
    assert line.startswith("in/a.jsonl:2:21: github-token (strong, 32-63 characters) under text [REDACTED:github-token:")
    assert token()[4:10] not in done.out + done.err
    assert "looked at 1 file" in done.err
    assert ["in"] == os.listdir()


def test_what_is_clean_ends_with_0(satchel: Callable[..., Any]) -> None:
    write("a.txt", "harbour\n")
    done = satchel("scan", "a.txt")

    assert (0, "") == (done.status, done.out)
    assert "no secret found" in done.err


def test_several_paths_and_standard_input(process: Callable[..., Any]) -> None:
    write("a.txt", "harbour\n")
    done = process("scan", "a.txt", "-", stdin=f"x {token()}\n".encode())

    assert 1 == done.status
    assert done.out.startswith(b"-:1:3: github-token")


def test_json_lists_the_findings(satchel: Callable[..., Any]) -> None:
    write("a.txt", f"x {token()}\nharbour\n{token()}\n")
    said = json.loads(satchel("scan", "a.txt", "--json").out)

    assert (2, 1) == (said["total"], said["files"])
    assert [("a.txt", 1, 3), ("a.txt", 3, 1)] == [(one["file"], one["line"], one["column"]) for one in said["findings"]]
    assert 1 == len({one["tag"] for one in said["findings"]})


def test_explain_says_why(satchel: Callable[..., Any]) -> None:
    write("a.txt", f"x {token()}\n")

    assert "found by" in satchel("scan", "a.txt", "--explain").out


def test_a_store_is_looked_through_by_session_and_field(
    satchel: Callable[..., Any], story: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sqlite3

    with sqlite3.connect(story) as db:
        (row,) = db.execute("select max(rowid) from sessions").fetchone()
        db.execute("update sessions set title = ?, cwd = ? where rowid = ?", (f"on {token()}", f"/x/{token()}", row))
        (name,) = db.execute("select id from sessions where rowid = ?", (row,)).fetchone()
    db.close()
    done = satchel("scan", "--from", "hermes", "--report", "report.json")
    only = satchel("scan", "--from", "hermes", "--source", "no-such-source")
    said = json.loads(satchel("scan", "--from", "hermes", "--json").out)

    assert 1 == done.status
    assert [f"{name}: sessions/cwd: github-token (strong), 1 time", f"{name}: sessions/title: github-token (strong), 1 time"] == [
        line for line in done.out.splitlines() if "github-token" in line
    ]
    assert 0 == only.status
    assert {"session": name, "field": "sessions/cwd", "rule": "github-token", "strength": "strong", "times": 1} in said[
        "findings"
    ]
    assert token()[4:10] not in done.out + done.err + Path("report.json").read_text()


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["a.txt", "--from", "hermes"],
        ["a.txt", "--source", "cli"],
        ["a.txt", "--include-live"],
        ["a.txt", "--profile", "work"],
        ["--from", "hermes", "--explain"],
        ["--from", "hermes", "--verify-with", "gitleaks"],
        ["a.txt", "--skeleton"],
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_a_usage_error(satchel: Callable[..., Any], story: Path, words: list[str]) -> None:
    write("a.txt", "harbour\n")

    assert 2 == satchel("scan", *words).status


def test_a_path_that_is_not_there_is_an_error(satchel: Callable[..., Any]) -> None:
    done = satchel("scan", "no-such-file")

    assert 1 == done.status
    assert "does not exist" in done.err


# ------------------------------------------------------------------------------------------------------- second opinions

GITLEAKS = """#!{python}
import json, os, pathlib, sys
words = sys.argv[1:]
assert words[0] == "dir", words
found = []
for path in sorted(pathlib.Path(words[1]).iterdir()):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for word in line.split():
            if "lantern" in word or "REDACTED" in word:
                found.append({{"RuleID": "generic-api-key", "File": str(path), "StartLine": number, "Secret": word}})
pathlib.Path(words[words.index("--report-path") + 1]).write_text(json.dumps(found))
"""

TRUFFLEHOG = """#!{python}
import json, pathlib, sys
words = sys.argv[1:]
assert words[0] == "filesystem" and "--no-verification" in words and "--no-update" in words, words
for path in sorted(pathlib.Path(words[1]).iterdir()):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if "lantern" in line:
            place = {{"Data": {{"Filesystem": {{"file": str(path), "line": number}}}}}}
            print(json.dumps({{"DetectorName": "Lantern", "Raw": line, "SourceMetadata": place}}))
print("{{}}")
sys.exit(183)
"""

BROKEN = "#!/bin/sh\necho lantern-secret >&2\nexit 7\n"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Return a function that puts a program on the PATH."""
    import sys

    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def put(name: str, text: str) -> None:
        path = folder / name
        path.write_text(text.format(python=sys.executable) if "{python}" in text else text)
        path.chmod(0o755)

    return put


@pytest.mark.parametrize(
    ("name", "program", "rule"),
    [
        ("gitleaks", GITLEAKS, "generic-api-key"),
        ("betterleaks", GITLEAKS, "generic-api-key"),
        ("trufflehog", TRUFFLEHOG, "Lantern"),
    ],
)
def test_a_second_opinion_is_told_without_a_value(
    satchel: Callable[..., Any], install: Callable[[str, str], None], name: str, program: str, rule: str
) -> None:
    install(name, program)
    write("in/a.txt", "harbour\nred-lantern-9\n")
    write("in/b.txt", "harbour\n")
    done = satchel("scan", "in", "--verify-with", name)

    assert 1 == done.status
    assert [f"in/a.txt:2:1: {name}:{rule}"] == done.out.splitlines()
    assert "lantern-9" not in done.out + done.err


def test_a_second_opinion_on_standard_input(
    satchel: Callable[..., Any], install: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install("gitleaks", GITLEAKS)
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spool))
    with write("in.txt", "harbour\nred-lantern-9\n").open() as text:
        monkeypatch.setattr("sys.stdin", text)
        done = satchel("scan", "-", "--verify-with", "gitleaks")

    assert (1, ["-:2:1: gitleaks:generic-api-key"]) == (done.status, done.out.splitlines())
    assert [] == list(spool.iterdir())


def test_what_is_found_only_by_others_keeps_a_file_from_its_name(
    satchel: Callable[..., Any], install: Callable[[str, str], None], story: Path
) -> None:
    install("gitleaks", GITLEAKS)
    write("a.txt", f"red-lantern-9 {token()}\n")
    write("b.txt", f"x {token()}\n")
    done = satchel("redact", "a.txt", "-o", "out.txt", "--verify-with", "gitleaks")
    fine = satchel("redact", "b.txt", "-o", "fine.txt", "--verify-with", "gitleaks")
    piped = satchel("redact", "a.txt", "--verify-with", "gitleaks")

    assert (1, 0, 1) == (done.status, fine.status, piped.status)
    assert "gitleaks finds generic-api-key in a.txt, line 1" in done.err
    assert "" == piped.out
    assert ["a.txt", "b.txt", "fine.txt"] == sorted(os.listdir())


def test_a_scanner_that_fails_is_no_opinion(satchel: Callable[..., Any], install: Callable[[str, str], None]) -> None:
    install("gitleaks", BROKEN)
    write("a.txt", "harbour\n")
    done = satchel("redact", "a.txt", "-o", "out.txt", "--verify-with", "gitleaks")

    assert 1 == done.status
    assert "status 7" in done.err
    assert "lantern" not in done.err
    assert not Path("out.txt").exists()


def test_a_scanner_that_is_not_there_is_a_usage_error(satchel: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    write("a.txt", "harbour\n")

    assert 2 == satchel("scan", "a.txt", "--verify-with", "trufflehog").status
