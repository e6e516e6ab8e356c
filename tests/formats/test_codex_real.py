"""Real rollouts, where they are at hand: what is read of each, as numbers, and the same numbers by another, plainer way."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from census import TOKENS, census, key_of, read
from codex_lines import opened

from satchel.formats.codex import reader
from satchel.formats.model import Message

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "codex-report.json"


def _files(shared: Path) -> list[Path]:
    folder = shared / "data" / "codex"
    return [file for file in sorted(folder.rglob("*.json*")) if reader.sniff(file) is not None]


def _report(file: Path) -> dict[str, Any]:
    store, heard = opened(file)
    with store:
        info, records, entries = read(file, store)
    used = [entry.usage for entry in entries if isinstance(entry, Message) and entry.usage is not None]
    report = census(info, records, entries, heard)
    assert report["tokens"] == [sum(getattr(usage, field) for usage in used) for field in TOKENS]
    return report


def test_real_rollouts_are_read_as_before(shared: Path, golden: Callable[[Path, str], None]) -> None:
    report = {key_of(file): _report(file) for file in _files(shared)}

    assert 30 < len(report)
    golden(GOLDEN, json.dumps(report, indent=1) + "\n")


def test_nothing_of_what_codex_wrote_itself_is_unknown(shared: Path) -> None:
    drift: Counter[str] = Counter()
    for file in _files(shared):
        if file.parent.name == "gen2-wrapped":
            with opened(file)[0] as store:
                for counts in store.drift().values():
                    drift.update(counts)

    assert Counter() == drift


# ---------------------------------------------------------------------------------------------------------- the plainer way


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_bytes().split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and isinstance(value.get("payload"), dict):
            yield value


def _dumb_total(file: Path) -> list[int] | None:
    """Return the last sum that the rollout itself gives."""
    last = None
    for line in _lines(file):
        info = line["payload"].get("info")
        if (
            line["payload"].get("type") == "token_count"
            and isinstance(info, dict)
            and sum(info.get("total_token_usage", {}).values())
        ):
            last = info["total_token_usage"]
    if last is None:
        return None
    given, cached = last.get("input_tokens", 0), last.get("cached_input_tokens", 0)
    rest = [last.get(key, 0) for key in ("output_tokens", "cached_input_tokens", "cache_write_input_tokens")]
    return [given - cached, *rest, last.get("reasoning_output_tokens", 0)]


def test_tokens_by_another_way(shared: Path) -> None:
    looked = 0
    for file in _files(shared):
        total = _dumb_total(file)
        if total is None:
            continue
        with opened(file)[0] as store:
            (info,) = store.sessions()
        assert (file.name, total) == (file.name, [getattr(info.usage, field) for field in TOKENS])
        looked += 1
    assert 8 < looked


def _dumb_prompts(file: Path) -> int:
    """Count the events on what the person sent."""
    count = 0
    for line in _lines(file):
        payload = line["payload"]
        item = payload.get("item") or {}
        count += payload.get("type") == "user_message" and payload.get("kind") in (None, "plain")
        count += payload.get("type") == "item_completed" and item.get("type") == "UserMessage"
    return count


def test_turns_by_another_way(shared: Path) -> None:
    for file in _files(shared):
        if file.parent.name != "gen2-wrapped":
            continue
        with opened(file)[0] as store:
            (info,) = store.sessions()
            messages = [entry for entry in store.decode(store.records(info.id)) if isinstance(entry, Message)]
        assert (file.name, _dumb_prompts(file)) == (file.name, sum(m.author == "person" for m in messages))


def test_no_answer_is_said_twice_or_not_at_all(shared: Path) -> None:
    for file in _files(shared):
        if file.parent.name != "gen2-wrapped":
            continue
        spoken = sum(
            line["payload"].get("type") == "message" and line["payload"].get("role") == "assistant" for line in _lines(file)
        )
        with opened(file)[0] as store:
            (info,) = store.sessions()
            messages = [entry for entry in store.decode(store.records(info.id)) if isinstance(entry, Message)]
        found = sum(m.records[0].data["payload"]["type"] == "message" for m in messages if m.author == "model")
        assert (file.name, spoken, 0) == (file.name, found, sum("event" in m.extra for m in messages))
