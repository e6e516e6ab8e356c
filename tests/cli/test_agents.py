"""Sessions of every agent go the same way: found where their agents leave them, listed, exported, verified."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
MAIN = "1f0c5b9e-0000-4000-8000-000000000001"


@pytest.fixture
def homes(story: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Return the homes of the agents, each with sessions; the environment names them."""
    found = {"claude": tmp_path / "claude", "codex": tmp_path / "codex", "legacy": story.parent}
    shutil.copytree(FIXTURES / "claude_code" / "home", found["claude"])
    shutil.copytree(FIXTURES / "codex" / "home", found["codex"])
    shutil.copytree(FIXTURES / "hermes_legacy" / "home", found["legacy"], dirs_exist_ok=True)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(found["claude"]))
    monkeypatch.setenv("CODEX_HOME", str(found["codex"]))
    return found


def test_a_list_has_the_sessions_of_every_agent(satchel: Callable[..., Any], homes: dict[str, Path]) -> None:
    rows = json.loads(satchel("list", "--limit", "0", "--json").out)
    assert {"claude", "codex", "hermes", "legacy"} == {row["format"] for row in rows}
    ids = [row["id"] for row in rows]
    assert MAIN in ids
    assert len(ids) == len(set(ids))
    for agent, formats in (("claude", {"claude"}), ("codex", {"codex"}), ("hermes", {"hermes", "legacy"})):
        chosen = json.loads(satchel("list", "--limit", "0", "--json", "--agent", agent).out)
        assert formats == {row["format"] for row in chosen}


def test_a_list_reads_only_the_logs_that_it_shows(
    satchel: Callable[..., Any], homes: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from satchel.formats.claude_code.store import ClaudeStore

    counted: list[str] = []
    session = ClaudeStore.session

    def noted(self: ClaudeStore, session_id: str, *, counts: bool = True) -> Any:
        counted.extend([session_id] if counts else [])
        return session(self, session_id, counts=counts)

    monkeypatch.setattr(ClaudeStore, "session", noted)
    whole = json.loads(satchel("list", "--limit", "0", "--json", "--from", "claude").out)
    assert {row["id"] for row in whole} == set(counted)
    counted.clear()
    first = json.loads(satchel("list", "--limit", "1", "--json", "--from", "claude").out)
    assert whole[:1] == first
    assert [first[0]["id"]] == counted


def test_an_export_takes_hermes_database_and_says_what_else_is_there(
    satchel: Callable[..., Any], homes: dict[str, Path], tmp_path: Path
) -> None:
    done = satchel("export", str(tmp_path / "out.jsonl"))
    assert "sessions of claude, codex and legacy are here too; --from claude --from codex --from legacy takes them" in done.err


@pytest.mark.parametrize("agent", ["claude", "codex", "legacy"])
def test_an_export_of_an_agents_sessions_is_verified_and_read_back(
    satchel: Callable[..., Any], homes: dict[str, Path], tmp_path: Path, agent: str
) -> None:
    out, again = str(tmp_path / "out.jsonl"), str(tmp_path / "again.jsonl")
    assert 0 == satchel("export", out, "--from", agent, "--raw").status
    assert 0 == satchel("verify", out, "--content").status
    lines = [json.loads(line) for line in Path(out).read_bytes().splitlines()]
    listed = json.loads(satchel("list", "--limit", "0", "--json", "--include-archived", "--from", agent).out)
    assert {row["id"] for row in listed} == {line["id"] for line in lines}
    assert all(line["satchel"]["dialect"] == agent and line["satchel"]["native"] for line in lines)
    assert 0 == satchel("export", again, "--from", out).status
    assert [row["id"] for row in listed if row["message_count"]]
    assert {line["id"]: len(line["messages"]) for line in lines} == {
        line["id"]: len(line["messages"]) for line in map(json.loads, Path(again).read_bytes().splitlines())
    }


@pytest.mark.parametrize("agent", ["claude", "codex", "legacy"])
def test_original_files_are_copied_byte_for_byte(
    satchel: Callable[..., Any], homes: dict[str, Path], tmp_path: Path, agent: str
) -> None:
    if agent == "claude":
        log = homes["claude"] / "projects" / "-srv-harbour" / f"{MAIN}.jsonl"
        log.write_bytes(b"\xef\xbb\xbf\n\r\n" + log.read_bytes() + b'\n\n{"torn": "\xff')
    done = satchel("export", str(tmp_path / "copy"), "--from", agent, "--format", "native")
    assert 0 == done.status
    copied = {p.relative_to(tmp_path / "copy").as_posix(): p.read_bytes() for p in (tmp_path / "copy").rglob("*") if p.is_file()}
    own = {"manifest.jsonl", "SHA256SUMS"}
    assert own < copied.keys()
    # Prompts whose transcript is gone stand in a history with others.
    prompts = {name for name in copied if "/" not in name} - own
    assert (agent != "legacy") is bool(prompts)
    for name in copied.keys() - own - prompts:
        assert (homes[agent] / name).read_bytes() == copied[name], name
    history = (homes[agent] / "history.jsonl").read_bytes().splitlines() if prompts else []
    assert all(line in history for name in prompts for line in copied[name].splitlines())
    logs = {
        p.relative_to(homes[agent]).as_posix() for p in homes[agent].rglob("2*.jsonl" if agent == "legacy" else "projects/**/*")
    }
    assert {name for name in logs if (homes[agent] / name).is_file()} <= copied.keys()
    assert 0 == satchel("verify", str(tmp_path / "copy")).status


def test_a_database_has_no_original_files(satchel: Callable[..., Any], story: Path, tmp_path: Path) -> None:
    done = satchel("export", str(tmp_path / "copy"), "--format", "native", "--from", str(story))
    assert 2 == done.status
    assert "use jsonl" in done.err
    assert not (tmp_path / "copy" / "manifest.jsonl").exists()


def test_a_damaged_line_is_told_and_strict_makes_it_the_status(
    satchel: Callable[..., Any], homes: dict[str, Path], tmp_path: Path
) -> None:
    log = homes["claude"] / "projects" / "-srv-harbour" / f"{MAIN}.jsonl"
    whole = satchel("export", str(tmp_path / "a.jsonl"), "--from", "claude", "--strict")
    with log.open("ab") as file:
        file.write(b'{"torn": "li\n')
    plain = satchel("export", str(tmp_path / "b.jsonl"), "--from", "claude")
    strict = satchel("export", str(tmp_path / "c.jsonl"), "--from", "claude", "--strict")
    assert [0, 0, 3] == [whole.status, plain.status, strict.status]
    assert f"{log}:" in plain.err
    assert (tmp_path / "b.jsonl").read_bytes() == (tmp_path / "c.jsonl").read_bytes()


def test_a_folder_of_mixed_things_gives_each_once(satchel: Callable[..., Any], homes: dict[str, Path], tmp_path: Path) -> None:
    mixed = tmp_path / "mixed"
    shutil.copytree(homes["claude"], mixed / "old laptop" / "claude")
    shutil.copytree(FIXTURES / "hermes_legacy" / "home" / "sessions", mixed / "hermes" / "sessions")
    satchel("export", str(mixed / "export.jsonl"), "--no-manifest")
    (mixed / "notes.txt").write_text("Not a session.")
    rows = json.loads(satchel("list", "--limit", "0", "--json", "--from", str(mixed)).out)
    ids = [row["id"] for row in rows]
    assert {"claude", "legacy", "jsonl"} == {row["format"] for row in rows}
    assert len(ids) == len(set(ids))


def test_logs_of_two_agents_in_one_folder_are_told_apart(
    satchel: Callable[..., Any], homes: dict[str, Path], tmp_path: Path
) -> None:
    flat = tmp_path / "flat"
    flat.mkdir()
    for number, log in enumerate([*homes["claude"].rglob("*-0000*.jsonl"), *homes["codex"].rglob("rollout-*.jsonl")]):
        shutil.copy(log, flat / f"{number}-{log.name}")
    rows = json.loads(satchel("list", "--limit", "0", "--json", "--include-archived", "--from", str(flat)).out)
    assert {"claude", "codex"} == {row["format"] for row in rows}
    assert len(list(flat.iterdir())) == len({row["id"] for row in rows}) == len(rows)


def test_what_is_none_of_ours_is_named(satchel: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"uuid": "x", "chat_messages": [{"text": "hello"}]}]))
    done = satchel("list", "--from", str(path))
    assert 1 == done.status
    assert "JSON of another kind" in done.err


def test_doctor_counts_what_the_reader_does_not_know(satchel: Callable[..., Any], homes: dict[str, Path]) -> None:
    log = homes["claude"] / "projects" / "-srv-harbour" / f"{MAIN}.jsonl"
    with log.open("ab") as file:
        file.write(b'{"type": "dream", "version": "9.9.9", "sessionId": "%s"}\n' % MAIN.encode())
    store = next(one for one in json.loads(satchel("doctor", "--json").out)["stores"] if one["format"] == "claude")
    assert {"9.9.9": {"type:dream": 1}} == store["unknown"]
    assert "type:dream 1x" in satchel("doctor", "--from", "claude").out
