"""Whether a store's search index finds what is there. No session needs it, so nothing of this is a loss."""

from __future__ import annotations

from collections.abc import Callable

import apsw

from satchel.formats.hermes_state.rows import Rows

__all__ = ["look_at_search"]


def look_at_search(rows: Rows, warn: Callable[[str], None]) -> None:
    """Tell what is odd about the search index."""
    try:
        tail = "FROM sqlite_schema WHERE name LIKE 'messages_fts%'"
        objects = list(rows.select(("type", "name"), tail, where="the schema"))
    except apsw.Error:
        return
    names = {row[1] for row in objects if row[0] == "table"}
    triggers = {row[1] for row in objects if row[0] == "trigger"}
    if "messages_fts" not in names:
        what = "its search index is missing while its triggers are there: Hermes can't write to it" if triggers else None
        warn(what or "it has no search index; nothing of a session is missing for that")
        return
    try:
        word, rowid = _some_word(rows)
        if word is None:
            return
        query = "SELECT rowid FROM messages_fts WHERE messages_fts MATCH ? AND rowid = ?"
        if rows.query(query, (f'"{word}"', rowid)).get is None:
            warn("its search index does not find what is there (damaged or being rebuilt); sessions are whole")
    except UnicodeDecodeError:
        return
    except apsw.Error as error:
        warn(f"its search index can't be read ({error}); sessions are whole")


def _some_word(rows: Rows) -> tuple[str | None, int]:
    """Return a word that a message certainly has, and that message's id."""
    # Only among the newest rows: to look through a large store for one would take as long as to read it.
    found = rows.query(
        "SELECT id, substr(content, 1, 200) FROM messages WHERE role = 'user' COLLATE BINARY AND content GLOB '[A-Za-z]*' "
        "AND id > (SELECT max(id) FROM messages) - 200 ORDER BY id DESC LIMIT 1"
    ).fetchall()
    for rowid, text in found:
        words = [word for word in str(text).split() if word.isascii() and word.isalpha() and len(word) > 2]
        if words and len(str(text)) < 200 and isinstance(rowid, int):
            return words[0], rowid
    return None, 0
