"""Real transcripts, where they are at hand: what is read of each, as numbers, and the same numbers by another, plainer way."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from census import census, key_of, read
from claude_lines import opened

from satchel.contracts import Usage
from satchel.formats.claude_code import reader
from satchel.formats.model import Message

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "claude-report.json"
FIELDS = ("input", "output", "cache_read", "cache_write")


def _files(shared: Path) -> list[Path]:
    return [file for file in sorted((shared / "data" / "claude").glob("*.jsonl")) if reader.sniff(file) is not None]


def _report(file: Path) -> dict[str, Any]:
    store, heard = opened(file)
    with store:
        return census(*read(file, store), heard)


def test_real_transcripts_are_read_as_before(shared: Path, golden: Callable[[Path, str], None]) -> None:
    report = {key_of(file): _report(file) for file in _files(shared)}

    assert 80 < len(report)
    golden(GOLDEN, json.dumps(report, indent=1) + "\n")


def test_nothing_of_the_real_ones_is_unknown_but_what_was_made_to_be(shared: Path) -> None:
    drift: Counter[str] = Counter()
    for file in _files(shared):
        with opened(file)[0] as store:
            for counts in store.drift().values():
                drift.update(counts)

    made = {"type:", "key:user.project", "key:user.timesstamp"}
    assert set() == {what for what in drift if what not in made}


# ---------------------------------------------------------------------------------------------------------- the plainer way


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_bytes().split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _dumb_tokens(file: Path) -> list[int]:
    best: dict[Any, list[int]] = {}
    for number, line in enumerate(_lines(file)):
        message = line.get("message")
        if not isinstance(message, dict) or (line.get("type") or message.get("role")) != "assistant":
            continue
        if message.get("model") == "<synthetic>" or line.get("isApiErrorMessage") or not isinstance(message.get("usage"), dict):
            continue
        said = message["usage"]
        nested = sum((said.get("cache_creation") or {}).get(f"ephemeral_{age}_input_tokens", 0) for age in ("5m", "1h"))
        counts = [said.get(key) or 0 for key in ("input_tokens", "output_tokens", "cache_read_input_tokens")]
        counts.append(max(said.get("cache_creation_input_tokens") or 0, nested))
        name = message.get("id")
        key = (name, line.get("requestId") if len(name) < 20 else None) if name else number
        best[key] = [max(pair) for pair in zip(counts, best.get(key, [0] * 4), strict=True)]
    return [sum(column) for column in zip(*best.values(), strict=True)] or [0] * 4


def test_tokens_by_another_way(shared: Path) -> None:
    for file in _files(shared):
        with opened(file)[0] as store:
            (info,) = store.sessions()
        assert _dumb_tokens(file) == [getattr(info.usage, field) for field in FIELDS], file.name
        assert info.usage != Usage() or sum(_dumb_tokens(file)) == 0


_PUT_IN = re.compile(
    r"<(system-reminder|ide_\w+|local-command-\w+|bash-std\w+|task-notification|teammate-message|post-tool-use-hook)\b.*?</\1>",
    re.DOTALL,
)
_REFUSED = re.compile(
    r"The user doesn't want to proceed with this tool use\..*?(?:the user said:|reason for the rejection:)\s*\S"
)
_OWN = ("Caveat: ", "[Request interrupted", "This session is being continued", "Operation stopped by hook", "[Image: source")


def _is_from_elsewhere(line: dict[str, Any]) -> bool:
    origin = (line.get("attachment") or line).get("origin") or {}
    return origin.get("kind") == "task-notification" or "senderTaskId" in origin


def _dumb_turns(file: Path) -> int:
    """Count the lines in which a person typed something."""
    turns = 0
    queue: list[str] = []
    taken: list[str] = []
    said: list[str] = []
    for line in _lines(file):
        kind = line.get("type")
        message = line.get("message")
        content: Any = None
        if kind == "user" and isinstance(message, dict) and not line.get("isMeta") and not line.get("isCompactSummary"):
            content = message.get("content")
        elif kind == "attachment" and line["attachment"].get("type") == "queued_command" and not line["attachment"].get("isMeta"):
            content = line["attachment"]["prompt"]
        elif kind == "queue-operation":
            operation = line["operation"]
            if operation == "enqueue":
                queue.append(str(line.get("content")))
            elif operation == "popAll":
                queue.clear()
            elif queue:
                first = queue.pop(0)
                taken += [first] if operation == "remove" else []
        if line.get("isSidechain") or content is None or _is_from_elsewhere(line):
            continue
        parts = [content] if isinstance(content, str) else content
        texts = [
            part if isinstance(part, str) else part["text"] for part in parts if isinstance(part, str) or part["type"] == "text"
        ]
        typed = [text for text in texts if _PUT_IN.sub("", text).strip() and not text.startswith(_OWN)]
        said += typed
        image = any(isinstance(part, dict) and part.get("type") == "image" for part in parts)
        refused = any(isinstance(part, dict) and _REFUSED.match(str(part.get("content"))) for part in parts)
        turns += bool(typed or image or refused or (isinstance(content, str) and not content))
    return turns + sum(text not in said for text in taken + queue)


def test_turns_by_another_way(shared: Path) -> None:
    for file in _files(shared):
        with opened(file)[0] as store:
            (info,) = store.sessions()
            entries = [entry for entry in store.decode(store.records(info.id)) if isinstance(entry, Message)]
        assert (file.name, _dumb_turns(file)) == (file.name, sum(entry.author == "person" for entry in entries))
