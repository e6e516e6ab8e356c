"""`export --redact`: the copy is clean, its manifest says by what, and the options mean something together or are an error."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redacting import token


@pytest.fixture
def leaky(story: Path) -> Path:
    """Return the sample store with a secret in many of its fields."""
    with sqlite3.connect(story) as db:
        db.execute("update sessions set title = ? where rowid = 1", (f"on {token()}",))
        db.execute("update sessions set system_prompt = ? where rowid = 2", (f"use {token()}",))
        db.execute("update messages set content = ? where rowid = 3", (f"the key is {token()}, in /home/marek/x",))
    db.close()
    return story


def lines(path: str) -> list[Any]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_what_is_secret_is_in_no_file(satchel: Callable[..., Any], leaky: Path) -> None:
    done = satchel("export", "out/", "--redact", "--report", "report.json")

    texts = [path.read_text() for path in [*Path("out").rglob("*"), Path("report.json")] if path.is_file()]
    assert 0 == done.status
    assert len(texts) == 4
    assert not [text for text in texts if token()[4:] in text]
    assert "[REDACTED:github-token:" in Path("out/sessions.jsonl").read_text()
    assert re.search(r"\d secrets of \d kinds removed in \d sessions: .*github-token 1", done.err)
    assert "redacting is not rotating" in done.err
    assert 0 == satchel("verify", "out", "--content").status


def test_without_redact_all_stays(satchel: Callable[..., Any], leaky: Path) -> None:
    satchel("export", "out.jsonl")

    assert token() in Path("out.jsonl").read_text()
    assert lines("out.jsonl.manifest.jsonl")[0]["rules"] is None


def test_the_manifest_says_by_which_policy(satchel: Callable[..., Any], leaky: Path) -> None:
    satchel("export", "one.jsonl", "--redact")
    satchel("export", "two.jsonl", "--redact")
    satchel("export", "three.jsonl", "--redact", "--also", "emails")
    one, two, three = (lines(f"{name}.jsonl.manifest.jsonl")[0]["rules"] for name in ("one", "two", "three"))

    assert Path("one.jsonl").read_bytes() == Path("two.jsonl").read_bytes()
    assert one == two != three
    assert 64 == len(one)


def test_the_report_counts_by_session_and_field(satchel: Callable[..., Any], leaky: Path) -> None:
    satchel("export", "out.jsonl", "--redact", "--report", "report.json")
    report = json.loads(Path("report.json").read_text())

    assert "passed" == report["gate"]
    assert {"messages/content", "sessions/title", "sessions/system_prompt"} <= set(report["by_field"])
    assert 3 == report["by_rule"]["github-token"]["replaced"]
    assert len(lines("out.jsonl")) == len(report["by_session"])


def test_personal_data_values_rules_and_what_is_allowed(satchel: Callable[..., Any], leaky: Path) -> None:
    Path("allow.txt").write_text(f"{token()}\n")
    Path("values.txt").write_text("the key is\n")
    satchel("export", "a.jsonl", "--redact", "--also", "home-user", "--allow", "allow.txt", "--secrets-from", "values.txt")
    text = Path("a.jsonl").read_text()

    assert token() in text
    assert "/home/marek" not in text
    assert "[REDACTED:known-secret:" in text
    satchel("export", "b.jsonl", "--redact", "--no-rule", "github-token")
    assert token() in Path("b.jsonl").read_text()


def test_the_users_own_settings_are_in_force_unless_another_file_is_named(
    satchel: Callable[..., Any], leaky: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "satchel").mkdir()
    (tmp_path / "satchel/redact.toml").write_text('also = "home-user"\n')
    Path("none.toml").write_text("")
    satchel("export", "a.jsonl", "--redact")
    satchel("export", "b.jsonl", "--redact", "--redact-config", "none.toml")

    assert "/home/marek" not in Path("a.jsonl").read_text()
    assert "/home/marek" in Path("b.jsonl").read_text()


def test_a_skeleton_has_no_text(satchel: Callable[..., Any], leaky: Path) -> None:
    done = satchel("export", "out.jsonl", "--skeleton")
    sessions = lines("out.jsonl")

    assert 0 == done.status
    assert "tide" not in Path("out.jsonl").read_text().lower()
    assert {"user", "assistant"} <= {message["role"] for session in sessions for message in session["messages"]}
    assert 0 == satchel("verify", "out.jsonl", "--content").status


@pytest.mark.parametrize(
    "words",
    [
        ["--redact", "--no-redact"],
        ["--no-redact"],
        ["--no-redact", "--skeleton"],
        ["--rules", "r.toml"],
        ["--also", "emails"],
        ["--drop-media"],
        ["--report", "report.json"],
        ["--fresh-tags"],
        ["--verify-with", "gitleaks"],
        ["--redact", "--level", "mild"],
        ["--skeleton", "--allow", "r.toml"],
        ["--redact", "--verify-with", "nobody"],
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_a_usage_error(satchel: Callable[..., Any], story: Path, words: list[str]) -> None:
    Path("r.toml").write_text("")
    done = satchel("export", "out.jsonl", *words)

    assert 2 == done.status
    assert ["r.toml"] == os.listdir()


def test_a_scanner_looks_before_files_get_their_names(
    satchel: Callable[..., Any], leaky: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    program = folder / "gitleaks"
    program.write_text(
        f"#!{sys.executable}\n"
        "import json, os, pathlib, sys\n"
        "found = [{'RuleID': 'odd', 'File': str(path), 'StartLine': 1, 'Secret': 'x'}"
        " for path in pathlib.Path(sys.argv[2]).iterdir() if 'marek' in path.read_text()]\n"
        "pathlib.Path(sys.argv[-1]).write_text(json.dumps(found))\n"
    )
    program.chmod(0o755)
    done = satchel("export", "out.jsonl", "--redact", "--verify-with", "gitleaks", "--report", "report.json")

    assert 1 == done.status
    assert "gitleaks finds odd in out.jsonl, line 1" in done.err
    assert ["report.json"] == os.listdir()
    report = json.loads(Path("report.json").read_text())
    assert ("failed", {"gitleaks": 1}) == (report["gate"], report["verifiers"])
    assert 0 == satchel("export", "out.jsonl", "--redact", "--verify-with", "gitleaks", "--also", "home-user").status
    assert 2 == satchel("export", "-", "--redact", "--verify-with", "gitleaks").status


def test_json_tells_what_went(satchel: Callable[..., Any], leaky: Path) -> None:
    said = json.loads(satchel("export", "out.jsonl", "--redact", "--json").out)

    assert 1 == said["secrets"]["github-token"]
    assert said["replaced"] > 3


def test_a_dry_run_makes_no_key(
    satchel: Callable[..., Any], leaky: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    satchel("export", "out.jsonl", "--redact", "--dry-run")

    assert not (tmp_path / "state").exists()
