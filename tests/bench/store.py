"""
Makes a Hermes store to measure with: invented sessions of an agent at work, the same for the same seed and size.

    python tests/bench/store.py OUT.db --sessions 1000 --mb 100 [--schema 23] [--seed 1] [--search]
    python tests/bench/store.py OUT.db --message-mb 200 [--emoji]

`--mb` is the text in it; the file is larger, with `--search` about five times. Needs nothing but Python. The last line that is
printed says as JSON what was made.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures" / "hermes_state"))
from hermes_schema import INDEXES, MESSAGES, SESSIONS, TABLES, columns, create, layout_of, search

EDITION = 1
"""Goes up when the same arguments give other sessions."""

_START = 1_780_000_000.0
_POOL = 1_500_000
_STATES = {"live": (1, 0), "compacted": (0, 1), "rewound": (0, 0)}
_PROSE = """
    tide buoy harbour ebb flow gauge station chart table moon spring neap wind swell pier quay anchor vessel pilot lock basin
    the a of to and in is that it for on with as was at by an be this from or are not have had but what all were when we there
    can said which do if will each about how up out them then she many some so these would other into has more write number
"""
_WORDS = _PROSE.split()
_FOREIGN = (
    "満潮は三時十二分、干潮は九時二十一分です。",
    "Прилив начнётся в полночь.",
    "naïve façade — “quoted” …",
    "مدّ وجزر",
    "🌊 höher als üblich",
)
_MODELS = ("anthropic/claude-sonnet-4.6", "openai/gpt-5.2", "nousresearch/hermes-4-405b")


class Text:
    """Text as it stands in sessions. Each kind is cut out of one long stretch that the seed makes."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"text {seed}")
        self._pools = {"prose": self._pool(self._prose), "code": self._pool(self._code), "log": self._pool(self._log)}

    def cut(self, rng: random.Random, kind: str, size: int) -> str:
        """Return about `size` characters of a kind."""
        pool = self._pools[kind]
        parts: list[str] = []
        while size > 0:
            start = rng.randrange(len(pool) - 1)
            part = pool[start : start + size]
            parts.append(part)
            size -= len(part)
        return "".join(parts)

    def _pool(self, line: Any) -> str:
        lines: list[str] = []
        size = 0
        while size < _POOL:
            lines.append(line())
            size += len(lines[-1]) + 1
        return "\n".join(lines)

    def _prose(self) -> str:
        rng = self._random
        if rng.random() < 0.04:
            return rng.choice(_FOREIGN)
        words = rng.choices(_WORDS, k=rng.randint(6, 22))
        return " ".join(words).capitalize() + rng.choice((".", ".", "?", ":", " (`" + rng.choice(words) + "`)."))

    def _code(self) -> str:
        rng = self._random
        one, two, three = rng.choices(_WORDS, k=3)
        indent = "    " * rng.randint(0, 3)
        return indent + rng.choice(
            (
                f"def {one}_{two}({three}: str, *, limit: int = {rng.randint(1, 999)}) -> dict[str, float]:",
                f'{one}["{two}"] = {three}.get("{one}", {rng.random():.3f})  # {two} {three}',
                f"if {one} is None and not {two}.endswith('{three}'):",
                f'return f"{{{one}:>{rng.randint(2, 30)}}}\\t{{{two}!r}}\\n"',
                f'<a href="https://{one}.example.test/{two}?q={three}&amp;n={rng.randint(1, 99)}">{three}</a>',
                "",
            )
        )

    def _log(self) -> str:
        rng = self._random
        day, hour, minute, second = rng.randint(1, 28), rng.randint(0, 23), rng.randint(0, 59), rng.random() * 60
        level = rng.choice(("INFO", "INFO", "DEBUG", "WARNING", "ERROR"))
        one, two, three, four = rng.choices(_WORDS, k=4)
        status, took = rng.choice((200, 200, 404, 500)), rng.random() * 900
        return (
            f"2026-05-{day:02d}T{hour:02d}:{minute:02d}:{second:06.3f}Z {level:7} {one}.{two}[{rng.randint(1, 32767)}] "
            f'"{three} {four}" status={status} took={took:.1f}ms\x1b[0m'
        )


def _size(rng: random.Random, middle: float, spread: float, most: int) -> int:
    return min(most, max(1, int(rng.lognormvariate(0, spread) * middle)))


def turns(rng: random.Random, text: Text, budget: int) -> Iterator[dict[str, Any]]:
    """Yield the messages of a session until they hold about `budget` characters."""
    call = 0
    while budget > 0:
        rows: list[dict[str, Any]] = [{"role": "user", "content": text.cut(rng, "prose", _size(rng, 300, 1.0, 20_000))}]
        if rng.random() < 0.01:
            parts = [
                {"type": "text", "text": rows[0]["content"]},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}},
            ]
            rows[0]["content"] = "\0json:" + json.dumps(parts)
        for _ in range(min(40, 1 + int(rng.expovariate(1 / 4)))):
            if sum(map(_characters, rows)) > budget:
                break
            calls, results = [], []
            for _ in range(1 if rng.random() < 0.9 else 3):
                call += 1
                code = text.cut(rng, "code", _size(rng, 350, 1.1, 60_000))
                function = {
                    "name": rng.choice(("terminal", "read_file", "patch", "search_files")),
                    "arguments": json.dumps({"input": code}),
                }
                calls.append({"id": f"call_{call}", "type": "function", "function": function})
                result = text.cut(rng, rng.choice(("log", "code", "prose")), _size(rng, 1100, 1.6, 400_000))
                results.append({"role": "tool", "tool_call_id": f"call_{call}", "tool_name": function["name"], "content": result})
            thought = text.cut(rng, "prose", _size(rng, 250, 0.8, 5_000)) if rng.random() < 0.6 else None
            said = text.cut(rng, "prose", _size(rng, 120, 0.7, 2_000)) if rng.random() < 0.5 else None
            rows.append({"role": "assistant", "content": said, "reasoning": thought, "tool_calls": json.dumps(calls)})
            rows += results
        rows.append(
            {"role": "assistant", "content": text.cut(rng, "prose", _size(rng, 900, 0.9, 20_000)), "finish_reason": "stop"}
        )
        state = rng.choices(list(_STATES), (96, 3, 1))[0]
        for row in rows:
            row["active"], row["compacted"] = _STATES[state]
            budget -= _characters(row)
            yield row


def _characters(row: dict[str, Any]) -> int:
    return sum(len(value) for value in row.values() if type(value) is str)


def _sessions(seed: int, sessions: int, mb: float) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    rng, text = random.Random(f"sizes {seed}"), Text(seed)
    shares = [rng.lognormvariate(0, 1.2) for _ in range(sessions)]
    scale = mb * 1_000_000 / sum(shares)
    for number, share in enumerate(shares):
        mine = random.Random(f"session {seed} {number}")
        started = _START + 5_000.0 * number
        prompt = "You are Hermes.\n" + text.cut(mine, "prose", min(7_000, int(share * scale) // 3))
        rows = list(turns(mine, text, int(share * scale) - len(prompt)))
        for at, row in enumerate(rows):
            row["timestamp"] = started + 7.25 * (at + 1)
        yield (
            {
                "id": f"2026{number // 28 % 12 + 1:02d}{number % 28 + 1:02d}_{number % 86400:06d}_{mine.getrandbits(24):06x}",
                "source": mine.choice(("cli", "cli", "telegram", "cron")),
                "model": mine.choice(_MODELS),
                "model_config": json.dumps({"max_iterations": 90}),
                "system_prompt": prompt,
                "title": f"Session {number}" if mine.random() < 0.8 else None,
                "cwd": "/home/ada/tidepool",
                "started_at": started,
                "ended_at": started + 7.25 * (len(rows) + 2) if mine.random() < 0.97 else None,
                "end_reason": "cli_close",
                "input_tokens": sum(map(_characters, rows)) // 3,
                "output_tokens": sum(map(_characters, rows)) // 40,
                "estimated_cost_usd": round(mine.random(), 6),
            },
            rows,
        )


def _one_message(mb: float, emoji: bool) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    line = 'One line of a very long output, with "quotes" and a tab\t' + ("🌊" if emoji else "!") + "\n"
    content = line * (int(mb * 1_000_000) // len(line.encode()))
    row = {"role": "tool", "tool_call_id": "call_1", "tool_name": "terminal", "content": content}
    yield {"id": "20260601_000000_b16b16", "source": "cli", "started_at": _START}, [row | {"timestamp": _START + 1}]


def build(
    path: Path, sessions: Iterator[tuple[dict[str, Any], list[dict[str, Any]]]], *, schema: int, with_search: bool
) -> dict[str, Any]:
    """Write the sessions into a new store and return what is in it: sessions, messages, characters of text, the file's size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for side in ("", "-wal", "-shm"):
        Path(f"{path}{side}").unlink(missing_ok=True)
    db = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = OFF", "cache_size = -200000"):
        db.execute(f"PRAGMA {pragma}")
    db.execute("BEGIN")
    for table in TABLES:
        if table.since <= schema:
            db.execute(create(table, schema, {}))
    for index, since in INDEXES:
        if since <= schema:
            db.execute(f"CREATE {index}")
    for statement in search(layout_of(schema)) if with_search else ():
        db.execute(statement)
    db.execute("INSERT INTO schema_version (version) VALUES (?)", (schema,))
    known = set(columns(SESSIONS, schema)), set(columns(MESSAGES, schema))
    made = {"sessions": 0, "messages": 0, "characters": 0}
    for session, rows in sessions:
        calls = sum(row.get("tool_calls", "[]").count('"type": "function"') for row in rows)
        _insert(db, "sessions", session | {"message_count": len(rows), "tool_call_count": calls}, known[0])
        for row in rows:
            _insert(db, "messages", row | {"session_id": session["id"]}, known[1])
        made["sessions"] += 1
        made["messages"] += len(rows)
        made["characters"] += sum(map(_characters, [session, *rows]))
    db.execute("COMMIT")
    db.close()
    return made | {"schema": schema, "search": with_search, "edition": EDITION, "bytes": path.stat().st_size}


def _insert(db: sqlite3.Connection, table: str, row: dict[str, Any], known: set[str]) -> None:
    names = [name for name in row if name in known]
    db.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})", [row[name] for name in names])


def main() -> None:
    """Make one store."""
    parser = argparse.ArgumentParser(description="Make a Hermes store to measure with.")
    parser.add_argument("output", type=Path, metavar="OUT.db")
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--mb", type=float, default=100, help="text in all sessions together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schema", type=int, default=23, choices=(22, 23))
    parser.add_argument("--search", action="store_true", help="fill the search tables, as Hermes does: slow")
    parser.add_argument("--message-mb", type=float, help="instead, one session with one message of this size")
    parser.add_argument(
        "--emoji", action="store_true", help="that message has emoji, which take four bytes of memory a character"
    )
    given = parser.parse_args()
    content = _one_message(given.message_mb, given.emoji) if given.message_mb else _sessions(given.seed, given.sessions, given.mb)
    print(json.dumps(build(given.output, content, schema=given.schema, with_search=given.search)))


if __name__ == "__main__":
    main()
