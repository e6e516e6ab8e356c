"""Sessions of every agent go the same way: found where their agents leave them, listed, exported, verified."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

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
    assert "sessions of claude and codex are here too; --from claude --from codex takes them" in done.err


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


@pytest.mark.parametrize("options", [["--raw"], [], ["--raw", "--lineage", "logical"]])
@pytest.mark.parametrize("agent", ["claude", "codex", "legacy"])
def test_an_export_of_an_export_is_the_same(
    satchel: Callable[..., Any], homes: dict[str, Path], tmp_path: Path, agent: str, options: list[str]
) -> None:
    """It lost the dialect and the original lines, and its sessions were Hermes' from then on."""
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    assert 0 == satchel("export", first, "--from", agent, *options).status
    assert 0 == satchel("export", second, "--from", first, *options).status
    assert first.read_bytes() == second.read_bytes()
    said = [
        [(line["agent"], line["content_digest"], line.get("native_digest")) for line in _sessions(out)] for out in (first, second)
    ]
    assert said[0] == said[1]
    assert {"hermes" if agent == "legacy" else agent} == {one for one, _, _ in said[0]}
    assert all(("--raw" in options) is (digest is not None) for _, _, digest in said[0])
    assert 0 == satchel("verify", second, "--content").status
    infos = [
        json.loads(satchel("list", "--limit", "0", "--json", "--include-archived", "--from", one).out) for one in (agent, first)
    ]
    known = [{row["id"]: (row["agent"], row["parent"], row["lineage"]) for row in rows} for rows in infos]
    assert known[0] == known[1]


def _sessions(out: Path) -> list[dict[str, Any]]:
    lines = map(json.loads, out.with_name(f"{out.name}.manifest.jsonl").read_bytes().splitlines())
    return [line for line in lines if line["type"] == "session"]


def test_segments_of_one_line_keep_their_own_original_lines(satchel: Callable[..., Any], tmp_path: Path) -> None:
    home = tmp_path / "home"
    _claude(home, 1, ["one", "two"])
    _claude(home, 2, ["one", "two", "three"])
    both, apart, single = tmp_path / "both.jsonl", tmp_path / "apart.jsonl", tmp_path / "single.jsonl"
    assert 0 == satchel("export", both, "--from", home, "--raw", "--lineage", "logical").status
    (line,) = map(json.loads, both.read_bytes().splitlines())
    assert [2, 3] == [part["records"] for part in line["satchel"]["native_parts"]]
    assert 0 == satchel("export", apart, "--from", both, "--raw").status
    assert 0 == satchel("export", single, "--from", home, "--raw").status
    kept = [[json.loads(line)["satchel"] for line in out.read_bytes().splitlines()] for out in (apart, single)]
    assert [one["native"] for one in kept[0]] == [one["native"] for one in kept[1]]


@pytest.mark.parametrize("change", ["byte", "missing", "added", "gone", "all of it"])
def test_a_change_of_the_original_lines_is_found(
    satchel: Callable[..., Any], homes: dict[str, Path], tmp_path: Path, change: str
) -> None:
    """Nothing looked at them: the rows were as they should be, and the file had a manifest that said so."""
    out = tmp_path / "out.jsonl"
    assert 0 == satchel("export", out, "--from", "claude", "--raw").status
    lines = [json.loads(line) for line in out.read_bytes().splitlines()]
    extra = next(line["satchel"] for line in lines if len(line["satchel"]["native"]) > 2)
    at = next(at for at, one in enumerate(extra["native"]) if isinstance(one, str))
    if change == "byte":
        extra["native"][at] = extra["native"][at].replace("{", "{ ", 1)
    elif change == "missing":
        del extra["native"][at]
    elif change == "added":
        extra["native"].append("{}\n")
    else:
        del extra["native"]
        if change == "all of it":
            del extra["native_parts"]
    _put(out, b"".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() + b"\n" for line in lines))
    assert 0 == satchel("verify", out).status
    done = satchel("verify", out, "--content")
    assert 1 == done.status
    assert "original records" in done.out + done.err
    if change != "all of it":
        again = satchel("export", tmp_path / "again.jsonl", "--from", out, "--raw")
        assert 3 == again.status
        assert "original records" in again.err


def test_original_lines_without_a_digest_are_read_and_that_is_said(
    satchel: Callable[..., Any], homes: dict[str, Path], tmp_path: Path
) -> None:
    out, again = tmp_path / "out.jsonl", tmp_path / "again.jsonl"
    assert 0 == satchel("export", out, "--from", "claude", "--raw").status
    lines = [json.loads(line) for line in out.read_bytes().splitlines()]
    kept = [line["satchel"]["native"] for line in lines]
    for line in lines:
        del line["satchel"]["native_parts"]
    _put(out, b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines), "native_digest")
    done = satchel("verify", out, "--content")
    assert 0 == done.status
    assert f"the original records of {len(lines)} of its lines were not compared" in done.err
    assert 0 == satchel("export", again, "--from", out, "--raw").status
    assert kept == [json.loads(line)["satchel"]["native"] for line in again.read_bytes().splitlines()]


def _put(out: Path, data: bytes, *without: str) -> None:
    """Put bytes in the place of an export, with a manifest that fits them but for what it says of their content."""
    out.write_bytes(data)
    manifest = out.with_name(f"{out.name}.manifest.jsonl")
    lines = [json.loads(line) for line in manifest.read_bytes().splitlines()]
    for line in lines:
        for key in without:
            line.pop(key, None)
        if line["type"] == "file":
            line |= {"bytes": len(data), "sha256": sha256(data).hexdigest()}
    *above, totals = lines
    totals |= {"bytes": len(data)}
    del totals["sha256"]
    text = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in [*above, totals])[:-2]
    manifest.write_bytes(text + b',"sha256":"%s"}\n' % sha256(text).hexdigest().encode())


@pytest.mark.parametrize("agent", ["claude", "codex", "legacy"])
def test_messages_are_counted_alike_everywhere(
    satchel: Callable[..., Any], homes: dict[str, Path], tmp_path: Path, agent: str
) -> None:
    """A list counted what was said, and an export the rows that it made of it: one for each tool result."""
    out, copy = tmp_path / "out.jsonl", tmp_path / "copy"
    done = json.loads(satchel("export", out, "--from", agent, "--json").out)
    assert 0 == satchel("export", copy, "--from", agent, "--format", "native").status
    rows = {
        line["id"]: len(line["messages"]) + len(line["satchel"].get("hidden", ()))
        for line in map(json.loads, out.read_bytes().splitlines())
    }
    for where in (agent, out):
        listed = json.loads(satchel("list", "--limit", "0", "--json", "--include-archived", "--from", where).out)
        assert rows == {row["id"]: row["message_count"] for row in listed}
        assert sum(rows.values()) == json.loads(satchel("stats", "--json", "--from", where).out)["messages"]
        for row in listed:
            shown = json.loads(satchel("show", row["id"], "--json", "--from", where).out)
            assert row["message_count"] == shown["message_count"]
    assert sum(rows.values()) == done["messages"]
    copied = [json.loads(line) for line in (copy / "manifest.jsonl").read_bytes().splitlines()]
    for lines in (_sessions(out), copied):
        assert rows == {line["session_id"]: line["message_count"] for line in lines if line["type"] == "session"}


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
    satchel("export", str(mixed / "export.jsonl"), "--no-manifest", "--from", homes["legacy"] / "state.db")
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


@pytest.mark.parametrize("agent", ["claude", "codex", "legacy"])
def test_a_log_is_never_overwritten(satchel: Callable[..., Any], homes: dict[str, Path], agent: str) -> None:
    """With --force an export took the place of a transcript, and of the history, in the very store it was made of."""
    before = {path: path.read_bytes() for path in homes[agent].rglob("*") if path.is_file()}
    for path in before:
        if path.suffix in (".jsonl", ".json"):
            done = satchel("export", path, "--from", agent, "--force")
            assert 2 == done.status, path
            assert "choose another OUTPUT" in done.err
    inside = satchel("export", homes[agent] / "copies", "--from", agent, "--format", "native", "--force")
    assert 2 == inside.status
    assert before == {path: path.read_bytes() for path in homes[agent].rglob("*") if path.is_file()}


def test_an_export_may_lie_in_the_folder_it_was_made_of(satchel: Callable[..., Any], homes: dict[str, Path]) -> None:
    out = homes["claude"] / "export.jsonl"
    assert 0 == satchel("export", out, "--from", "claude").status
    assert 0 == satchel("export", out, "--from", "claude", "--force").status
    assert 0 == satchel("verify", out).status


def _claude(home: Path, number: int, texts: list[str], **more: Any) -> None:
    session = f"{number:08d}-0000-4000-8000-000000000000"
    lines, parent = [], None
    for at, text in enumerate(texts):
        uuid = f"{crc32(text.encode()) % 10**8:08d}-0000-4000-8000-{at:012d}"
        body = {"role": "user", "content": text}
        lines.append(
            {"type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": session, "timestamp": f"2026-01-01T00:00:{at:02d}Z"}
            | {"message": body, "cwd": "/w", "version": "2.1.0"}
            | more
        )
        parent = uuid
    folder = home / "projects" / "-p"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{session}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_many_sessions_with_one_beginning_are_read_each_once(
    satchel: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them knows all others, and to read one took twice as long for every other."""
    from satchel.formats.claude_code import plan

    home = tmp_path / "forks"
    for number in range(1, 25):
        _claude(home, number, [*(f"same {at}" for at in range(5)), f"own {number}"])
    made: list[Any] = []
    make = plan.make

    def noted(log: Any, **options: Any) -> Any:
        made.append(log)
        return make(log, **options)

    monkeypatch.setattr(plan, "make", noted)
    assert 0 == satchel("list", "--limit", "0", "--json", "--from", home).status
    assert len(made) <= 24


def test_values_that_no_number_holds_and_deep_lines_stop_nothing(satchel: Callable[..., Any], tmp_path: Path) -> None:
    home, out = tmp_path / "odd", tmp_path / "out.jsonl"
    _claude(home, 1, ["one"], costUSD=10**400, type="assistant")
    _claude(home, 2, ["two"])
    _claude(home, 3, ["three"])
    log = next((home / "projects" / "-p").glob("00000003*"))
    for depth in (890, 950, 1_010):
        with log.open("a") as file:
            deep = "[" * depth + "]" * depth
            file.write(log.read_text().splitlines()[0].replace('"three"', deep).replace('"uuid": "', f'"uuid": "{depth}') + "\n")
    assert 0 == satchel("export", out, "--from", home).status
    assert 3 == len(out.read_bytes().splitlines())
    assert 0 == satchel("verify", out, "--content").status
    assert 0 == satchel("export", tmp_path / "copy", "--from", home, "--format", "native").status


def test_prompts_of_one_id_in_two_homes_are_both_copied(
    satchel: Callable[..., Any], homes: dict[str, Path], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "history.jsonl").write_bytes(
        (homes["claude"] / "history.jsonl").read_bytes().replace(b'"display":"', b'"display":"other ')
    )
    copy = tmp_path / "copy"
    done = satchel("export", copy, "--format", "native", "--from", homes["claude"], "--from", other)
    assert 0 == done.status
    second = list((copy / "store-2").glob("*.jsonl"))
    assert second
    assert all((copy / path.name).read_bytes() != path.read_bytes() for path in second)


def _project(home: Path) -> Path:
    return home / "projects" / "-p"


def test_a_transcript_of_a_version_to_come_is_read_as_it_stands(satchel: Callable[..., Any], tmp_path: Path) -> None:
    """No line of it was known, and it was left out without a word."""
    home, secret = tmp_path / "new", tmp_path / "secret.txt"
    _claude(home, 1, ["one"])
    other = "99999999-0000-4000-8000-000000000000"
    (_project(home) / f"{other}.jsonl").write_text('{"type": "user-prompt", "text": "new"}\n')
    (_project(home) / "notes.jsonl").write_text('{"shopping": "bread"}\n')
    secret.write_text('{"key": "of another program"}\n')
    (_project(home) / "88888888-0000-4000-8000-000000000000.jsonl").symlink_to(secret)
    done = satchel("export", tmp_path / "out.jsonl", "--from", home, "--raw")
    lines = {line["id"]: line for line in map(json.loads, (tmp_path / "out.jsonl").read_bytes().splitlines())}
    assert 2 == len(lines)
    assert ['{"type": "user-prompt", "text": "new"}\n'] == lines[other]["satchel"]["native"]
    assert "notes.jsonl: none of its lines" in done.err
    assert "88888888-0000-4000-8000-000000000000.jsonl: none of its lines" in done.err


def test_prompts_of_a_session_are_kept_when_only_its_subagents_are_left(satchel: Callable[..., Any], tmp_path: Path) -> None:
    home = tmp_path / "swept"
    gone = "77777777-0000-4000-8000-000000000000"
    _claude(home, 1, ["one"])
    agents = _project(home) / gone / "subagents"
    agents.mkdir(parents=True)
    line = next(_project(home).glob("0*.jsonl")).read_text()
    (agents / "agent-abc1234.jsonl").write_text(line.replace("00000001-0000-4000-8000-000000000000", gone))
    prompt = {"display": "typed", "pastedContents": {}, "timestamp": 1767225600000, "project": "/w", "sessionId": gone}
    (home / "history.jsonl").write_text(json.dumps(prompt) + "\n")
    rows = json.loads(satchel("list", "--limit", "0", "--json", "--from", home).out)
    assert {gone, f"{gone}.agent-abc1234", "00000001-0000-4000-8000-000000000000"} == {row["id"] for row in rows}


def test_outputs_beside_both_transcripts_of_one_id_are_copied(satchel: Callable[..., Any], tmp_path: Path) -> None:
    home = tmp_path / "twins"
    _claude(home, 1, ["one"])
    other = home / "projects" / "-q"
    shutil.copytree(_project(home), other)
    for folder, text in ((_project(home), "p"), (other, "q")):
        results = folder / "00000001-0000-4000-8000-000000000000" / "tool-results"
        results.mkdir(parents=True)
        (results / "t.txt").write_text(text)
    assert 0 == satchel("export", tmp_path / "copy", "--from", home, "--format", "native").status
    assert ["p", "q"] == [path.read_text() for path in sorted((tmp_path / "copy").rglob("t.txt"))]


def test_a_file_that_cannot_be_copied_costs_itself(satchel: Callable[..., Any], tmp_path: Path) -> None:
    home = tmp_path / "odd"
    _claude(home, 1, ["one"])
    results = _project(home) / "00000001-0000-4000-8000-000000000000" / "tool-results"
    results.mkdir(parents=True)
    (results / "a\\b.txt").write_text("x")
    (results / "c.txt").write_text("y")
    done = satchel("export", tmp_path / "copy", "--from", home, "--format", "native")
    assert 3 == done.status
    assert "can't be copied" in done.err
    assert ["c.txt"] == [path.name for path in (tmp_path / "copy").rglob("*.txt")]
    assert 0 == satchel("verify", tmp_path / "copy").status


def test_a_home_of_many_empty_folders_is_found(
    satchel: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clean-up leaves them, and the session stood behind the last one that was looked into."""
    home = tmp_path / "cleaned"
    for number in range(600):
        (home / "projects" / f"-a{number}").mkdir(parents=True)
        (home / "projects" / f"-a{number}" / f"{number:08d}-0000-4000-8000-000000000000.jsonl").touch()
    _claude(home, 1, ["one"])
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    assert 1 == len(json.loads(satchel("list", "--json", "--from", "claude").out))


def test_a_log_from_the_future_is_not_live_for_ever(satchel: Callable[..., Any], tmp_path: Path) -> None:
    home = tmp_path / "future"
    _claude(home, 1, ["one"])
    os.utime(next(_project(home).iterdir()), (4e9, 4e9))
    assert [False] == [row["live"] for row in json.loads(satchel("list", "--json", "--from", home).out)]


def test_strict_is_for_doctor_too(satchel: Callable[..., Any], tmp_path: Path) -> None:
    home = tmp_path / "torn"
    _claude(home, 1, ["one"])
    assert 0 == satchel("doctor", "--from", home, "--strict").status
    with next(_project(home).iterdir()).open("a") as file:
        file.write('{"torn\n')
    assert [0, 3] == [satchel("doctor", "--from", home, *more).status for more in ((), ("--strict",))]


def _appended(monkeypatch: pytest.MonkeyPatch, path: Path, data: bytes) -> None:
    """Let a file grow just before it is copied."""
    from satchel.formats.native import writer
    from satchel.formats.regular import open_regular

    def grown(wanted: Path) -> Any:
        if wanted == path:
            with path.open("ab") as file:
                file.write(data)
        return open_regular(wanted)

    monkeypatch.setattr(writer, "open_regular", grown)


@pytest.mark.parametrize("agent", ["claude", "codex", "legacy"])
def test_a_copy_of_a_file_that_grows_is_what_was_read(
    satchel: Callable[..., Any], homes: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    """It had lines more than its digests are of, and half a line at the end."""
    inside = {"claude": "projects/*/*-000000000001.jsonl", "codex": "sessions/**/rollout-*.jsonl", "legacy": "sessions/2*.jsonl"}
    log = sorted(homes[agent].glob(inside[agent]))[0]
    before, name = log.read_bytes(), log.relative_to(homes[agent]).as_posix()
    _appended(monkeypatch, log, before.splitlines()[-1] + b'\n{"half a li')
    assert 0 == satchel("export", tmp_path / "copy", "--from", agent, "--format", "native").status
    assert before < log.read_bytes()
    assert before == (tmp_path / "copy" / name).read_bytes()
    again = satchel("export", tmp_path / "again", "--from", tmp_path / "copy" / name, "--format", "native")
    assert 0 == again.status
    said = []
    for folder in (tmp_path / "copy", tmp_path / "again"):
        lines = map(json.loads, (folder / "manifest.jsonl").read_bytes().splitlines())
        said.append([line["content_digest"] for line in lines if (line.get("file") or "").endswith(log.name)])
    assert said[0]
    assert said[0] == said[1] or agent == "legacy"


def test_a_file_beside_a_log_that_grows_is_copied_as_it_was_read(
    satchel: Callable[..., Any], homes: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = sorted((homes["claude"] / "projects").rglob("tool-results/*"))[0]
    before = side.read_bytes()
    _appended(monkeypatch, side, b"more")
    assert 0 == satchel("export", tmp_path / "copy", "--from", "claude", "--format", "native").status
    assert before == (tmp_path / "copy" / side.relative_to(homes["claude"])).read_bytes()


def test_a_file_beside_a_log_that_is_written_anew_is_read_again(
    satchel: Callable[..., Any], homes: dict[str, Path], tmp_path: Path
) -> None:
    from satchel.errors import StoreChanged
    from satchel.events import ignore
    from satchel.formats.claude_code import reader

    side = sorted((homes["claude"] / "projects").rglob("tool-results/*"))[0]
    with reader.open(homes["claude"], listen=ignore) as store:
        list(store.records(MAIN))
        store.check()
        side.write_bytes(side.read_bytes()[::-1])
        os.utime(side, ns=(1, 1))
        with pytest.raises(StoreChanged, match=side.name):
            store.check()


@pytest.mark.parametrize(
    ("agent", "inside", "named"),
    [
        ("claude", "projects/*/*-000000000001.jsonl", f"{MAIN}.jsonl"),
        ("claude", "projects/*/*/subagents/agent-*.jsonl", None),
        # The time in its name is local there, and nothing in it says of which place.
        ("codex", "sessions/**/rollout-*.jsonl", "rollout-2026-01-05T10-00-00-0197a000-0000-7000-8000-000000000001.jsonl"),
        ("legacy", "sessions/2*.jsonl", "stdin.jsonl"),
        ("legacy", "sessions/session_*.json", None),
    ],
)
def test_a_log_from_standard_input_has_the_name_that_its_agent_gives_it(
    process: Callable[..., Any], homes: dict[str, Path], tmp_path: Path, agent: str, inside: str, named: str | None
) -> None:
    """It had the random name of the file that it was kept in, and where nothing else says so, that was the session's id too."""
    log = sorted(homes[agent].glob(inside))[0]
    runs = []
    for number in (1, 2):
        copy = tmp_path / f"copy-{number}"
        done = process("export", copy, "--from", "-", "--format", "native", stdin=log.read_bytes())
        assert 0 == done.status
        runs.append({path.name: path.read_bytes() for path in copy.iterdir()})
    assert runs[0] == runs[1]
    assert {"SHA256SUMS", "manifest.jsonl", named or log.name} == runs[0].keys()
    assert log.read_bytes() == runs[0][named or log.name]


def test_a_history_of_prompts_is_read_from_standard_input(process: Callable[..., Any], homes: dict[str, Path]) -> None:
    for agent in ("claude", "codex"):
        done = process("list", "--from", "-", "--json", stdin=(homes[agent] / "history.jsonl").read_bytes())
        assert 0 == done.status
        assert {agent} == {row["agent"] for row in json.loads(done.out)}


def test_hermes_files_say_the_same_in_every_time_zone(
    process: Callable[..., Any], homes: dict[str, Path], tmp_path: Path
) -> None:
    """Times without a zone were those of the machine that read them, and so the same files gave other exports elsewhere."""
    outs = []
    for number, zone in enumerate(("UTC", "Asia/Tokyo", "America/St_Johns")):
        out = tmp_path / f"{number}.jsonl"
        assert 0 == process("export", out, "--from", homes["legacy"] / "sessions", "--raw", env={"TZ": zone}).status
        outs.append((out.read_bytes(), json.loads(process("list", "--from", out, "--json", env={"TZ": zone}).out)))
    assert outs[0][0] == outs[1][0] == outs[2][0]
    assert any((row["started_at"] or "").startswith("2025-12-03T08:15") for row in outs[0][1])


def _locked(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let nobody look into a folder; to root, which may look into any, its mode says nothing."""
    scandir, stat = os.scandir, os.stat

    def listed(path: Any = ".") -> Any:
        if Path(path).is_relative_to(folder):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    def looked_at(path: Any, *args: Any, **options: Any) -> Any:
        if isinstance(path, str | os.PathLike) and folder in Path(path).parents:
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, *args, **options)

    monkeypatch.setattr(os, "scandir", listed)
    monkeypatch.setattr(os, "stat", looked_at)


@pytest.mark.parametrize(
    ("agent", "inside"),
    [("claude", ""), ("claude", "projects"), ("codex", ""), ("codex", "sessions"), ("legacy", "sessions")],
)
def test_a_home_that_can_not_be_read_is_no_home_that_is_not_there(
    satchel: Callable[..., Any], homes: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, inside: str
) -> None:
    """A home of another's mode was passed over without a word, and `--from` said that there was none."""
    for kept in ("history.jsonl", "archived_sessions", "pending_messages"):
        shutil.rmtree(homes[agent] / kept, ignore_errors=True)
        (homes[agent] / kept).unlink(missing_ok=True)
    folder = homes[agent] / inside
    _locked(monkeypatch, folder)
    for words in (["list"], ["stats"]):
        every = satchel(*words)
        assert 3 == every.status
        assert f"{homes[agent]}: " in every.err
        assert "Permission denied" in every.err
    for words in (["list", "--from", agent], ["export", str(tmp_path / "out.jsonl"), "--from", agent]):
        named = satchel(*words)
        assert 1 == named.status
        assert f"{homes[agent]} cannot be read: " in named.err
        assert "Permission denied" in named.err
    store = next(one for one in json.loads(satchel("doctor", "--json").out)["stores"] if one["format"] == agent)
    assert "cannot be read: " in store["error"]
    told = satchel("export", tmp_path / "hermes.jsonl")
    if agent == "legacy":
        # They are Hermes' as much as its database is.
        assert 3 == told.status
        assert f"{homes[agent]} cannot be read: " in told.err
        return
    assert f"there may be sessions of {agent} in {homes[agent]}, which can't be read" in told.err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
@pytest.mark.parametrize("inside", ["", "projects", "projects/-srv-harbour"])
def test_a_home_without_permission_is_named(satchel: Callable[..., Any], homes: dict[str, Path], inside: str) -> None:
    shutil.rmtree(homes["claude"] / "projects" / "-srv-boat", ignore_errors=True)
    (homes["claude"] / "history.jsonl").unlink()
    folder = homes["claude"] / inside
    folder.chmod(0)
    try:
        done = satchel("list", "--from", "claude")
    finally:
        folder.chmod(0o700)
    assert 1 == done.status
    assert "Permission denied" in done.err


def test_a_home_of_which_nobody_can_tell_is_looked_at(
    satchel: Callable[..., Any], homes: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the folder above can't be searched, the home can't even be looked at."""
    above = homes["claude"].parent / "closed"
    above.mkdir()
    homes["claude"] = homes["claude"].rename(above / "claude")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(homes["claude"]))
    _locked(monkeypatch, above)
    done = satchel("list", "--from", "claude")
    assert 1 == done.status
    assert f"{homes['claude']} cannot be read: " in done.err


def test_transcripts_are_found_however_deep_they_lie(satchel: Callable[..., Any], tmp_path: Path) -> None:
    """Three folders below that of the projects was the end, and nothing said so."""
    home = tmp_path / "home"
    _claude(home, 1, ["one"])
    log = next((home / "projects").rglob("*.jsonl"))
    ids = []
    for depth in (3, 4, 9, 30):
        session = f"{depth:08d}-0000-4000-8000-000000000000"
        folder = (home / "projects").joinpath(*map(str, range(depth)))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{session}.jsonl").write_text(log.read_text().replace("00000001-", f"{depth:08d}-"))
        ids.append(session)
    (folder / "loop").symlink_to(home / "projects", target_is_directory=True)
    log.unlink()
    for where in (home, home / "projects"):
        rows = json.loads(satchel("list", "--limit", "0", "--json", "--from", where).out)
        assert sorted(ids) == sorted(row["id"] for row in rows)
    folder = (home / "projects").joinpath(*map(str, range(70)))
    folder.mkdir(parents=True)
    (folder / f"{session}.jsonl").write_text("{}\n")
    assert "too deep among the folders of projects" in satchel("list", "--from", home).err


def test_rollouts_are_found_however_deep_they_lie(satchel: Callable[..., Any], homes: dict[str, Path]) -> None:
    rollout = sorted((homes["codex"] / "sessions").rglob("rollout-*.jsonl"))[0]
    deep = (homes["codex"] / "sessions").joinpath(*map(str, range(12)))
    deep.mkdir(parents=True)
    # The history has the prompts of every session.
    (homes["codex"] / "history.jsonl").unlink()
    before = json.loads(satchel("list", "--limit", "0", "--json", "--from", "codex", "--include-archived").out)
    rollout.rename(deep / rollout.name)
    after = json.loads(satchel("list", "--limit", "0", "--json", "--from", "codex", "--include-archived").out)
    assert {row["id"] for row in before} == {row["id"] for row in after}
