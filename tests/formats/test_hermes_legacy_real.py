"""Session files that Hermes itself wrote, where they are at hand: counted by the reader and by a plain loop."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from satchel.events import Problem
from satchel.formats.hermes_legacy import reader
from satchel.formats.model import Message, Note, ToolCall, ToolResult

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "legacy-report.json"


def _report(path: Path) -> dict[str, Any]:
    heard: list[Problem] = []
    with reader.open(path, listen=lambda e: heard.append(e) if isinstance(e, Problem) else None) as store:
        (info,) = store.sessions()
        records = list(store.records(info.id))
        entries = list(store.decode(records))
        drift = store.drift()
    messages = [entry for entry in entries if isinstance(entry, Message)]
    calls = {b.id for m in messages for b in m.blocks if isinstance(b, ToolCall)}
    made = sum(isinstance(b, ToolCall) for m in messages for b in m.blocks)
    results = [b for m in messages for b in m.blocks if isinstance(b, ToolResult)]

    def tally(words: list[str]) -> dict[str, int]:
        return {word: words.count(word) for word in sorted(set(words))}

    assert (len(messages), made) == (info.messages, info.tool_calls)
    return {
        "records": tally([record.kind for record in records]),
        "entries": len(entries),
        "roles": tally([message.role for message in messages]),
        "authors": tally([message.author for message in messages]),
        "notes": tally([entry.kind for entry in entries if isinstance(entry, Note)]),
        "tool_calls": info.tool_calls,
        "results_paired": sum(result.call_id in calls for result in results),
        "unknown": sum(n for counts in drift.values() for n in counts.values()),
        "damaged": sum(problem.lost for problem in heard),
    }


def _plainly(path: Path) -> tuple[dict[str, int], int]:
    """Count roles and calls with nothing of ours."""
    text = path.read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)["messages"]
    roles = [row["role"] for row in rows if row["role"] != "session_meta"]
    return {role: roles.count(role) for role in sorted(set(roles))}, sum(len(row.get("tool_calls") or ()) for row in rows)


def test_real_files_are_read_as_before(shared: Path, golden: Callable[[Path, str | bytes], None]) -> None:
    report: dict[str, Any] = {}
    root = shared / "data" / "hermes"
    for path in sorted(root.glob("*/legacy-sessions/**/*.json*")):
        found = _report(path)
        assert (found["roles"], found["tool_calls"]) == _plainly(path)
        report[path.relative_to(root).as_posix()] = found
    assert report
    golden(GOLDEN, json.dumps(report, indent=1, sort_keys=True) + "\n")


def test_a_folder_of_real_files_has_each_session_once(shared: Path) -> None:
    for folder in sorted((shared / "data" / "hermes").glob("*/legacy-sessions")):
        with reader.open(folder, listen=lambda event: None) as store:
            infos = list(store.sessions())
            assert len(list(folder.glob("*.json*"))) == len(infos)
            assert sum(1 for info in infos for _ in store.files(info.id)) == len(list(folder.rglob("*.json*")))
