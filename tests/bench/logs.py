"""
Reads a tree of logs three times, to measure what reading takes: to entries, as an export does, or just the JSON of each line.

    python tests/bench/logs.py make OUT --mb 100 [--seed 1]     invented sessions of Claude Code to read
    python tests/bench/logs.py entries claude PATH              opens the store, and decodes every record of every session
    python tests/bench/logs.py lines PATH                       the plain loop: every line of every file through orjson

All of them print how much they made or read. The plain loop has none of what entries need: which lines hang together, who wrote
them, what was taken back, numbers that 64 bits do not hold, damage.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

EDITION = 1
"""Goes up when the same arguments give other sessions."""
TIMES = 3

_FILE = 350_000
"""So large a transcript is, in characters, on average."""


def entries(reader: str, path: Path) -> int:
    """Return how many entries a tree has."""
    from satchel.formats import registry

    count = 0
    with registry.reader(reader).open(path, listen=lambda event: None) as store:
        for info in store.sessions(counts=False):
            for _ in store.decode(store.records(info.id)):
                count += 1
    return count


def lines(path: Path) -> int:
    """Return how many lines of the files of a tree are JSON."""
    import orjson

    count = 0
    for file in sorted(path.rglob("*.jsonl")):
        with open(file, "rb", buffering=1 << 20) as found:
            for line in found:
                try:
                    orjson.loads(line)
                except orjson.JSONDecodeError:
                    continue
                count += 1
    return count


def make(to: Path, *, mb: float, seed: int) -> int:
    """Make a tree of Claude Code's projects; return how many characters of JSON it has."""
    from store import Text

    rng, text, size = random.Random(seed), Text(seed), 0
    while size < mb * 1e6:
        session = str(UUID(int=rng.getrandbits(128), version=4))
        wanted = int(_FILE * rng.paretovariate(1.5) / 3)
        file = to / "projects" / f"-srv-{rng.choice(('harbour', 'tides', 'charts'))}" / f"{session}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(file, "w", encoding="utf-8") as out:
            written = 0
            for line in _session(session, rng, text):
                written += out.write(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n")
                if written >= wanted:
                    break
        size += written
    return size


def _session(session: str, rng: random.Random, text: Any) -> Iterator[dict[str, Any]]:
    parent: str | None = None
    count = 0

    def line(kind: str, message: dict[str, Any], **more: Any) -> dict[str, Any]:
        nonlocal parent, count
        count += 1
        own = str(UUID(int=rng.getrandbits(128), version=4))
        out: dict[str, Any] = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/srv/harbour",
            "sessionId": session,
        }
        out |= {"version": "2.1.40", "gitBranch": "main", "type": kind, "message": message, **more, "uuid": own}
        parent = own
        return out | {"timestamp": f"2026-02-01T{count // 3600 % 24:02}:{count // 60 % 60:02}:{count % 60:02}.000Z"}

    while True:
        yield line("user", {"role": "user", "content": text.cut(rng, "prose", rng.randrange(40, 600))})
        for _ in range(rng.randrange(1, 8)):
            answer, call = (f"{name}_01{rng.getrandbits(100):024x}" for name in ("msg", "toolu"))
            usage = {"input_tokens": rng.randrange(9), "cache_read_input_tokens": rng.randrange(150_000)}
            head = {"model": "claude-invented-1", "id": answer, "type": "message", "role": "assistant"}
            tail = {"stop_reason": None, "stop_sequence": None, "usage": usage | {"output_tokens": rng.randrange(900)}}
            for part in (
                {"type": "text", "text": text.cut(rng, "prose", rng.randrange(50, 900))},
                {
                    "type": "tool_use",
                    "id": call,
                    "name": "Read",
                    "input": {"text": text.cut(rng, "code", rng.randrange(30, 3000))},
                },
            ):
                yield line("assistant", {**head, "content": [part], **tail}, requestId=f"req_{answer}")
            given = text.cut(rng, "log", int(400 * rng.paretovariate(1.1)) % 60_000)
            result = {"type": "tool_result", "tool_use_id": call, "content": given}
            yield line("user", {"role": "user", "content": [result]}, toolUseResult={"stdout": given, "interrupted": False})


def main() -> None:
    """Do one of these."""
    parser = argparse.ArgumentParser(description="Read a tree of logs three times, or make one.")
    jobs = parser.add_subparsers(dest="job", required=True)
    job = jobs.add_parser("make")
    job.add_argument("output", type=Path, metavar="OUT")
    job.add_argument("--mb", type=float, default=100)
    job.add_argument("--seed", type=int, default=1)
    job = jobs.add_parser("entries")
    job.add_argument("reader")
    job.add_argument("path", type=Path)
    jobs.add_parser("lines").add_argument("path", type=Path)
    given = parser.parse_args()
    if given.job == "make":
        print(make(given.output, mb=given.mb, seed=given.seed))
    else:
        for _ in range(TIMES):
            print(entries(given.reader, given.path) if given.job == "entries" else lines(given.path))


if __name__ == "__main__":
    main()
