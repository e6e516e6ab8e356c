"""
Other readers of Claude Code's and Codex' logs, claude-code-log and agentsview, count the same as we do: tokens, calls, turns.

Where they are known to count otherwise is said below, with the reason: those are the only differences that are let pass.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

import claude_lines
import codex_lines
import pytest
from peers import environment, run

from satchel.formats.claude_code import reader as claude
from satchel.formats.model import Image, Message, ToolCall, ToolResult, plain_text

# What claude-code-log makes of transcripts: its own sums, and what its document of each has.
CLAUDE_CODE_LOG = """
import json, sys
from pathlib import Path
from claude_code_log.converter import compute_session_data, convert_jsonl_to, load_transcript

def parts(tree):
    for node in tree:
        yield node
        yield from parts(node.get("children") or [])

def turn(node):
    items = node["content"].get("items") or []
    return "\\n".join(item["text"] for item in items if item.get("type") == "text")

found = {}
for path in map(Path, sys.argv[2:]):
    target = Path(sys.argv[1]) / f"{path.name}.json"
    convert_jsonl_to("json", path, target, silent=True)
    nodes = list(parts(json.loads(target.read_text("utf-8"))["messages"]))
    sums = compute_session_data(load_transcript(path, silent=True)).values()
    keys = ("total_input_tokens", "total_output_tokens", "total_cache_read_tokens", "total_cache_creation_tokens")
    found[path.name] = {
        "tokens": [sum(getattr(one, key) for one in sums) for key in keys],
        "calls": sum(node["type"] == "tool_use" for node in nodes),
        "turns": [turn(node) for node in nodes if node["type"] == "user"],
    }
print(json.dumps(found))
"""

# What stands in agentsview's database.
AGENTSVIEW = """
import json, sqlite3, sys
from pathlib import Path

db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
keys = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
found = {}
for id, path in db.execute("SELECT id, file_path FROM sessions"):
    best = {}
    rows = db.execute("SELECT id, claude_message_id, claude_request_id, token_usage FROM messages WHERE session_id = ?", (id,))
    for row, message, request, usage in rows:
        if usage:
            key = (message, request) if message else row
            counts = [json.loads(usage).get(name) or 0 for name in keys]
            best[key] = list(map(max, counts, best.get(key, [0] * 4)))
    one = found.setdefault(Path(path).name, {"tokens": [0] * 4, "calls": 0, "turns": []})
    one["tokens"] = [sum(column) for column in zip(one["tokens"], *best.values())]
    one["calls"] += db.execute("SELECT count(*) FROM tool_calls WHERE session_id = ?", (id,)).fetchone()[0]
    typed = "SELECT content FROM messages WHERE session_id = ? AND role = 'user' AND NOT is_system ORDER BY ordinal"
    one["turns"] += [text for (text,) in db.execute(typed, (id,))]
print(json.dumps(found))
"""
QUIET = ("DO_NOT_TRACK", "AGENTSVIEW_DISABLE_UPDATE_CHECK", "AGENTSVIEW_NO_DAEMON")


class Counts(NamedTuple):
    """What is counted of a transcript."""

    tokens: list[int]
    """Input, output, read from the cache, written to it."""
    calls: int
    turns: Counter[str]
    """What stands under the person's role and was said, a subagent's prompts too; alike however it is written."""


class Ours(NamedTuple):
    """The same as we read it."""

    counts: Counts
    quiet: Counter[str]
    """Turns that others do not have: words of the queue and of rejections, pictures."""
    unlike: Counter[str]
    """Turns that claude-code-log has no user's message for: commands, and prompts of subagents, which stand with their calls."""
    searches: int
    """Calls that the provider itself made, of which no result comes back."""


def alike(text: str) -> str:
    """Return what the writings of a turn have in common."""
    return " ".join(re.sub(r"\A<bash-input>(.*)</bash-input>\Z", r"!\1", text).split())[:80]


def ours(opened: Any) -> Ours:
    with opened as store:
        (info,) = store.sessions()
        messages = [entry for entry in store.decode(store.records(info.id)) if isinstance(entry, Message)]
    calls = [block for message in messages for block in message.blocks if isinstance(block, ToolCall)]
    turns: Counter[str] = Counter()
    quiet: Counter[str] = Counter()
    unlike: Counter[str] = Counter()
    for message in messages:
        text = alike(plain_text(message.blocks, injected=False))
        if message.role != "user" or message.author not in ("person", "model") or not text:
            continue
        turns[text] += 1
        is_rejected = any(
            isinstance(block, ToolResult) and "tool use was rejected" in plain_text(block.content) for block in message.blocks
        )
        if message.extra.get("queued") or is_rejected or any(isinstance(block, Image) for block in message.blocks):
            quiet[text] += 1
        elif message.extra.get("command") or text.startswith("!") or message.author == "model":
            unlike[text] += 1
    usage = info.usage
    tokens = [usage.input, usage.output, usage.cache_read, usage.cache_write]
    searches = sum(call.kind in ("web_search", "tool_search") for call in calls)
    return Ours(Counts(tokens, len(calls), turns), quiet, unlike, searches)


# Turns of other readers that are the program's own words.
NOTICES = ("[Request interrupted", "Operation stopped by hook:")


def theirs(found: dict[str, Any]) -> Counts:
    turns = Counter(alike(text) for text in found["turns"] if text.strip() and not text.startswith(NOTICES))
    return Counts(found["tokens"], found["calls"], turns)


@pytest.fixture
def by_claude_code_log(readers_python: Path, tmp_path: Path) -> Callable[[list[Path]], dict[str, Counts]]:
    def count(files: list[Path]) -> dict[str, Counts]:
        (tmp_path / "made").mkdir()
        found = run(readers_python, CLAUDE_CODE_LOG, tmp_path / "made", *files, home=tmp_path / "person")
        return {name: theirs(one) for name, one in found.items()}

    return count


@pytest.fixture
def by_agentsview(readers_python: Path, tmp_path: Path) -> Callable[[], dict[str, Counts]]:
    """Return what counts the sessions in `tmp_path / "claude"` and `tmp_path / "codex"`."""

    def count() -> dict[str, Counts]:
        data = tmp_path / "agentsview"
        homes = {"CLAUDE_PROJECTS_DIR": "claude", "CODEX_SESSIONS_DIR": "codex", "AGENTSVIEW_DATA_DIR": "agentsview"}
        for folder in homes.values():
            (tmp_path / folder).mkdir(exist_ok=True)
        env = environment(tmp_path / "person") | {name: str(tmp_path / folder) for name, folder in homes.items()}
        # It is no Python program, so its network is cut by a proxy that nobody is.
        env |= dict.fromkeys(QUIET, "1") | {"AGENTSVIEW_TELEMETRY_ENABLED": "0", "HTTPS_PROXY": "http://127.0.0.1:9"}
        command = [str(readers_python.with_name("agentsview")), "sync"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=100)
        assert done.returncode == 0, done.stderr[-4000:]
        found = run(readers_python, AGENTSVIEW, data / "sessions.db", home=tmp_path / "person")
        return {name: theirs(one) for name, one in found.items()}

    return count


# ------------------------------------------------------------------------------------------------------------ invented ones


def _given(call: str, content: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": content}


def _claude(folder: Path) -> Iterator[Path]:
    log = claude_lines.Log()
    usage = {"input_tokens": 7, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 30}
    log.user("Where is the harbour?")
    log.answer({"type": "thinking", "thinking": "A chart.", "signature": "c2ln"}, usage={**usage, "output_tokens": 1})
    one = log.call("Read", "toolu_1", usage={**usage, "output_tokens": 1})
    two = log.call("Read", "toolu_2", usage=usage, stop="tool_use")
    log.result("toolu_1", parent=one["uuid"])
    log.add("user", parent=two["uuid"], message={"role": "user", "content": [_given("toolu_2", "done")]})
    log.answer("It is north.", id="msg_2", usage=usage, stop="end_turn")
    log.user(
        [{"type": "text", "text": "<ide_opened_file>chart.txt</ide_opened_file>"}, {"type": "text", "text": "And the pier?"}]
    )
    log.call("Edit", "toolu_3", id="msg_3", usage=usage, stop="tool_use")
    no = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you more, the user said:\n"
    log.user([{**_given("toolu_3", f"{no}Not the chart."), "is_error": True}])
    log.user("[Request interrupted by user for tool use]")
    log.user("<command-name>/tide</command-name><command-message>tide</command-message><command-args>now</command-args>")
    log.answer("High.", id="msg_4", usage=usage, stop="end_turn")
    yield claude_lines.written(folder / "harbour" / f"{claude_lines.SESSION}.jsonl", log.lines)


def _codex(folder: Path) -> Iterator[Path]:
    log = codex_lines.Log(source="cli", originator="codex_cli_rs")
    log.put_in("<environment_context><cwd>/srv/harbour</cwd></environment_context>")
    log.turn("Where is the harbour?", "Let me look.", id="turn-1")
    log.item("function_call", name="exec_command", arguments='{"cmd":"ls"}', call_id="call_1")
    log.item("function_call_output", call_id="call_1", output="Exit code: 0\nchart.txt")
    log.tokens((1000, 600, 50), (1000, 600, 50))
    log.tokens((1000, 600, 50), (1000, 600, 50))
    log.answer("It is north.")
    log.tokens((2300, 1500, 90), (1300, 900, 40))
    log.turn("And the pier?", "South.", id="turn-2")
    yield codex_lines.written(folder / "2026" / "01" / "05" / codex_lines.name(), log.lines)


def test_claude_code_log_counts_an_invented_session_the_same(tmp_path: Path, by_claude_code_log: Any) -> None:
    (file,) = _claude(tmp_path / "claude")

    mine, found = ours(claude_lines.opened(file)[0]), by_claude_code_log([file])[file.name]

    assert (mine.counts.tokens, mine.counts.calls) == ([28, 120, 400, 80], 3)
    assert mine.counts.calls == found.calls
    # It counts the first line of each answer, which has a placeholder for the output.
    assert [28, 91, 400, 80] == found.tokens
    assert mine.counts.turns - mine.quiet - mine.unlike == found.turns


def test_agentsview_counts_invented_sessions_the_same(tmp_path: Path, by_agentsview: Any) -> None:
    (transcript,) = _claude(tmp_path / "claude")
    (rollout,) = _codex(tmp_path / "codex")

    found = by_agentsview()

    mine = ours(claude_lines.opened(transcript)[0])
    assert mine.counts._replace(turns=mine.counts.turns - mine.quiet) == found[transcript.name]
    mine = ours(codex_lines.opened(rollout)[0])
    assert ([800, 90, 1500, 0], 1) == (mine.counts.tokens, mine.counts.calls)
    assert mine.counts == found[rollout.name]


# ---------------------------------------------------------------------------------------------------------------- real ones


def _is_whole(file: Path) -> bool:
    """Return whether messages have what Claude Code itself writes: other readers leave out those that do not."""
    for line in file.read_bytes().split(b"\n"):
        try:
            data = json.loads(line or b"{}")
        except ValueError:
            return False
        if not isinstance(data, dict) or (line and not isinstance(data.get("type"), str)):
            return False
        if data.get("type") in ("user", "assistant") and not (
            {"uuid", "parentUuid", "timestamp", "sessionId", "isSidechain", "userType", "version"} <= data.keys()
            and isinstance(data["message"], dict)
        ):
            return False
        if data.get("type") == "assistant" and not ({"id", "usage"} <= data["message"].keys() and data.get("requestId")):
            return False
    return True


def _transcripts(shared: Path, folder: Path) -> Iterator[Path]:
    """Yield copies of the real transcripts that are whole, each in a project of its own."""
    for number, file in enumerate(sorted((shared / "data" / "claude").glob("*.jsonl"))):
        if claude.sniff(file) is not None and _is_whole(file):
            target = folder / f"p{number}" / f"{uuid5(NAMESPACE_URL, file.name)}.jsonl"
            target.parent.mkdir(parents=True)
            shutil.copyfile(file, target)
            yield target


def test_claude_code_log_counts_real_transcripts_the_same(shared: Path, tmp_path: Path, by_claude_code_log: Any) -> None:
    files = list(_transcripts(shared, tmp_path / "claude"))

    found = by_claude_code_log(files)

    assert 30 < len(files)
    for file in files:
        mine, other = ours(claude_lines.opened(file)[0]), found[file.name]
        compared = (mine.counts.calls, mine.counts.tokens[0], *mine.counts.tokens[2:])
        assert compared == (other.calls, other.tokens[0], *other.tokens[2:]), file
        assert other.tokens[1] <= mine.counts.tokens[1], file
        assert not other.turns - mine.counts.turns, file
        assert not mine.counts.turns - mine.quiet - mine.unlike - other.turns, file


def test_agentsview_counts_real_sessions_the_same(shared: Path, tmp_path: Path, by_agentsview: Any) -> None:
    files = list(_transcripts(shared, tmp_path / "claude"))
    rollouts = []
    for file in sorted((shared / "data" / "codex" / "gen2-wrapped").glob("rollout-*.jsonl")):
        rollouts.append(tmp_path / "codex" / "2026" / "01" / "05" / file.name)
        rollouts[-1].parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, rollouts[-1])

    found = by_agentsview()

    assert 30 < len(files)
    assert 5 < len(rollouts)
    for file in files:
        mine, other = ours(claude_lines.opened(file)[0]), found[file.name]
        assert mine.counts[:2] == other[:2], file
        assert not other.turns - mine.counts.turns, file
        assert not mine.counts.turns - mine.quiet - other.turns, file
    for file in rollouts:
        mine, other = ours(codex_lines.opened(file)[0]), found[file.name]
        assert mine.counts.calls - mine.searches == other.calls, file
        # What was spent after the last answer it leaves out; what nobody typed it takes for typed.
        assert all(counted <= spent for spent, counted in zip(mine.counts.tokens, other.tokens, strict=True)), file
        assert not mine.counts.turns - other.turns, file
