"""Markdown and Quarto from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from documents import one_session
from hermes_parts import assistant, call, made_up, tool, user

Run = Callable[..., Any]


@pytest.mark.parametrize("format", ["md", "qmd"])
def test_sessions_become_documents_that_verify(satchel: Run, story: Path, format: str) -> None:
    done = satchel("export", "out", "--format", format, "--from", story, "--after", "2000-01-01", "--include-live")

    assert 0 == done.status
    assert len(list(Path("out").glob(f"*.{format}"))) > 5
    done = satchel("verify", "out", "--content", "--source", "--from", story)
    assert 0 == done.status
    assert "all as the manifest says" in done.err
    assert "not compared" not in done.err


def test_without_an_output_they_go_where_hermes_puts_its_own(
    satchel: Run, story: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "home"))
    session = json.loads(satchel("list", "--from", story, "--json", "--limit", "1").out)[0]["id"]

    assert 0 == satchel("export", "--format", "md", "--from", story, "--session-id", session).status
    assert 1 == len(list((tmp_path / "home" / "session-exports").glob("*.md")))


def test_several_sessions_need_a_filter(satchel: Run, story: Path) -> None:
    done = satchel("export", "out", "--format", "md", "--from", story)

    assert 2 == done.status
    assert "say which, with a filter" in done.err
    assert not Path("out").exists()


def test_prompts_go_to_standard_output(satchel: Run, story: Path) -> None:
    done = satchel("export", "--format", "md", "--only", "user-prompts", "--from", story)

    assert 0 == done.status
    assert done.out.startswith("# Prompts\n\n## ")
    assert 0 == satchel("export", "prompts.md", "--format", "md", "--only", "user-prompts", "--from", story).status
    assert done.out == Path("prompts.md").read_text()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["-", "--format", "md", "--session-id", "x"], "name a folder, not standard output"),
        (["out.jsonl", "--detail", "chat"], "--detail goes with the formats md and qmd"),
        (["-", "--format", "md", "--only", "user-prompts", "--images", "none"], "--images goes with the formats md and qmd"),
        (["out", "--format", "qmd", "--only", "user-prompts"], "goes with the formats jsonl and md"),
        (["out", "--format", "md", "--raw"], "--raw goes with the format jsonl"),
    ],
)
def test_what_cannot_mean_anything_is_a_usage_error(satchel: Run, story: Path, words: list[str], why: str) -> None:
    done = satchel("export", *words, "--from", story)

    assert (2, "") == (done.status, done.out)
    assert why in done.err


@pytest.mark.parametrize("format", ["md", "qmd"])
def test_secrets_go_from_texts_names_and_front_matter(satchel: Run, tmp_path: Path, format: str) -> None:
    key = made_up("ghp_", 40)
    turns = [
        user(f"token {key}"),
        assistant(f"`{key}`", call("c", "t", command=f"curl -H 'Authorization: {key}'")),
        tool("c", "t", key),
    ]
    store = one_session(tmp_path / "store", turns, title=f"rotate {key}", cwd=f"/srv/{key}")
    done = satchel("export", "out", "--format", format, "--from", store, "--redact")

    assert 0 == done.status
    for path in Path("out").rglob("*"):
        assert key.lower() not in path.name.lower()
        assert path.is_dir() or key not in path.read_text()
    text = next(path.read_text() for path in Path("out").glob(f"*.{format}") if path.name != f"index.{format}")
    assert "redacted: true" in text
    assert text.count("REDACTED") > 4
    assert 0 == satchel("verify", "out", "--content").status
