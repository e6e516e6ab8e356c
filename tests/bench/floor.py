"""
The plain loop that exports are measured against: rows read, made JSON, hashed, written, and nothing else.

    python tests/bench/floor.py STATE.db OUT.jsonl

It shows what Hermes' own export shows, and has none of what makes an export safe: no second look at the store, no rows but live
ones, no other tables, no digest of the content, no manifest, no flush to disk, no care for what is no text.
"""

from __future__ import annotations

import hashlib
import sqlite3
import sys
from typing import Any

import orjson


def main(store: str, output: str) -> str:
    """Write the store's sessions, a line each, and return the SHA-256 of the file."""
    db = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    ids = [row[0] for row in db.execute("SELECT id FROM sessions ORDER BY started_at, id")]
    newest: dict[str, float] = dict(db.execute("SELECT session_id, max(timestamp) FROM messages GROUP BY session_id").fetchall())
    digest = hashlib.sha256()
    with open(output, "wb", buffering=1 << 20) as out:
        for session_id in ids:
            cursor = db.execute("SELECT * FROM sessions WHERE id = ?", (session_id,))
            session: dict[str, Any] = dict(zip([c[0] for c in cursor.description], cursor.fetchone(), strict=True))
            session["last_active"] = newest.get(session_id, session["started_at"])
            cursor = db.execute("SELECT * FROM messages WHERE session_id = ? AND active = 1 ORDER BY id", (session_id,))
            names = [c[0] for c in cursor.description]
            messages: list[dict[str, Any]] = []
            for row in cursor:
                message = dict(zip(names, row))  # noqa: B905
                if message["content"] and message["content"].startswith("\0json:"):
                    message["content"] = orjson.loads(message["content"][6:])
                if message["tool_calls"]:
                    message["tool_calls"] = orjson.loads(message["tool_calls"])
                messages.append(message)
            session["messages"] = messages
            line = orjson.dumps(session, option=orjson.OPT_APPEND_NEWLINE)
            digest.update(line)
            out.write(line)
    return digest.hexdigest()


if __name__ == "__main__":
    print(main(*sys.argv[1:3]))
