"""Whatever a session says of itself, no terminal acts upon it: not on standard output, and not in a message or an error."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hermes_cases import write
from hermes_parts import Case, assistant, call, tool, user

BAD = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp\u2066\r\x08\x7f\u2028"
ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb\ud800-\udfff]")

SESSION = f"id{BAD}"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose store has control sequences in everything that is ever shown, and whose files have them in their names."""
    case = Case()
    case.add(
        SESSION,
        "2026-04-02 10:00:00",
        [
            user(f"A question{BAD}"),
            assistant(f"An answer{BAD}", call("c", f"tool{BAD}", **{f"key{BAD}": f"value{BAD}"}), reasoning=f"A thought{BAD}"),
            tool("c", f"tool{BAD}", f"A result{BAD}"),
            {"role": f"role{BAD}", "content": f"What?{BAD}"},
        ],
        title=f"title{BAD}",
        source=f"source{BAD}",
        model=f"model{BAD}",
        cwd=f"/home/ada/{BAD}",
        git_branch=f"branch{BAD}",
        end_reason=f"reason{BAD}",
        ended_at=1_775_200_000.0,
        parent_session_id=f"gone{BAD}",
    )
    case.add(f"{SESSION}-child", "2026-04-02 11:00:00", [user("And on.")], parent_session_id=SESSION)
    folder = tmp_path / "home"
    store = write(folder / "state.db", case)
    (folder / "config.yaml").write_text(json.dumps({"sessions": {"auto_archive": f"days{BAD}", "retention_days": f"x{BAD}"}}))
    profile = folder / "profiles" / "night\u202e\x9b2J"
    profile.mkdir(parents=True)
    (profile / "state.db").write_bytes(store.read_bytes())
    monkeypatch.setenv("HERMES_HOME", str(folder))
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["list", "--json"],
        ["stats"],
        ["stats", "--json"],
        ["show", SESSION],
        ["show", SESSION, "--all"],
        ["show", SESSION, "--recap"],
        ["show", SESSION, "--json", "--all"],
        ["show", f"{SESSION}-"],
        ["export", "--dry-run"],
        ["export", "--dry-run", "--json"],
        ["export", "out.jsonl", "--profile", "all"],
        ["export", "out.jsonl", "--json"],
        ["export", "out.jsonl", "--log-json"],
        ["doctor"],
        ["doctor", "--json"],
        ["doctor", "--log-json"],
    ],
    ids=lambda words: " ".join(words).replace(SESSION, "ID"),
)
def test_what_a_store_holds_reaches_no_terminal_raw(satchel: Callable[..., Any], home: Path, words: list[str]) -> None:
    done = satchel(*words)

    assert 0 == done.status
    assert [] == ACTIVE.findall(done.out)
    assert [] == ACTIVE.findall(done.err)


def test_json_gives_the_very_text(satchel: Callable[..., Any], home: Path) -> None:
    rows = json.loads(satchel("list", "--json").out)
    shown = json.loads(satchel("show", SESSION, "--json").out)

    assert {SESSION, f"{SESSION}-child"} == {row["id"] for row in rows}
    assert f"title{BAD}" == shown["title"]
    assert f"A question{BAD}" == shown["messages"][0]["text"]


@pytest.mark.parametrize(
    "words",
    [
        ["show", f"no{BAD}"],
        ["show", "id"],
        ["show", f"title{BAD}"],
        ["list", "--from", f"/nowhere/{BAD}"],
        ["doctor", "--from", f"/nowhere/{BAD}"],
        ["list", "--profile", f"x{BAD}"],
        ["list", "--older-than", f"x{BAD}"],
        ["list", "--session-id", f"x{BAD}"],
        ["list", f"--x{BAD}"],
        ["export", f"is-a-file/{BAD}.jsonl"],
        ["export", "out.jsonl", "--format", f"x{BAD}"],
        ["verify", f"x{BAD}"],
        [f"x{BAD}"],
    ],
    ids=lambda words: " ".join(words).partition("\x1b")[0],
)
def test_an_error_repeats_nothing_raw_and_stays_one_line(satchel: Callable[..., Any], home: Path, words: list[str]) -> None:
    Path("is-a-file").write_text("")
    done = satchel(*words)

    assert done.status in (1, 2)
    assert [] == ACTIVE.findall(done.out + done.err)
    assert done.err.splitlines()[-1].startswith("satchel: ")


def test_an_id_with_a_line_break_makes_no_second_line(satchel: Callable[..., Any], home: Path) -> None:
    done = satchel("show", "x\nsatchel: all is well", "--quiet")

    assert 1 == done.status
    assert 1 == len(done.err.splitlines())


def test_findings_of_a_hostile_manifest_are_shown_safely(satchel: Callable[..., Any], home: Path) -> None:
    assert 0 == satchel("export", "copies/").status
    try:
        Path(f"copies/{BAD}.txt").write_text("?")
    except OSError:
        pytest.skip("this file system takes no such name")
    done = satchel("verify", "copies")

    assert 1 == done.status
    assert [] == ACTIVE.findall(done.out + done.err)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Opening a FIFO waits for a writer, so to look what a path is must not open one."""
    os.mkfifo(tmp_path / "pipe")
    result = subprocess.run(
        [sys.executable, "-m", "satchel", "list", "--from", str(tmp_path / "pipe")],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (1, True) == (result.returncode, "--from -" in result.stderr)
