"""
What of a session a document for people does not show: which kinds of records, and which fields of those it shows.

A document shows what was said. Ids, flags and what only a program reads stay where they are, and are named here, so that nobody
takes a document for the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from satchel.contracts import Record
from satchel.formats.hermes_rows import JSON_PREFIX
from satchel.formats.model import Attachment, Block, Entry, Image, Note, Text, Thinking, ToolCall, ToolResult, Unknown

__all__ = ["Unshown"]

# Columns of a message's row that its blocks, or the line above them, say; and what they say of it in numbers or by a mark.
_COLUMNS = {
    *("id", "session_id", "role", "content", "tool_calls", "tool_call_id", "tool_name", "timestamp", "model"),
    *("reasoning", "reasoning_content", "codex_message_items", "active", "compacted", "observed"),
    *("author", "sidechain", "_compressed_summary"),
}
_SESSION = {
    *("id", "title", "source", "model", "cwd", "git_branch"),
    *("billing_provider", "system_prompt", "end_reason", "parent_session_id"),
}
"""Columns of a session's row that stand at the head of a document, or are told by its writer when they do not."""


class Unshown:
    """Counts what is not shown of the entries of a session."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._columns: dict[tuple[str, ...], tuple[str, ...]] = {}

    def add(self, entry: Entry) -> None:
        """Take an entry that was shown, or a note, of which only a session's row is."""
        if isinstance(entry, Note):
            self._note(entry)
            return
        said: set[str] | None = None
        for block in entry.blocks:
            if isinstance(block, ToolCall | ToolResult) and (block.id if isinstance(block, ToolCall) else block.call_id):
                self._counts["ids and types of tool calls"] += 1
            elif isinstance(block, Thinking) and block.hidden:
                self._counts["hidden reasoning"] += 1
        for record in entry.records:
            if record.kind == "messages":
                self._row(record)
            else:
                if said is None:
                    said = {entry.role, entry.author, *filter(None, (entry.id, entry.model))}
                    _gather(entry.blocks, said)
                self._leaves(record.data, said)

    def skip(self, what: str, number: int = 1) -> None:
        """Take note of what was left out, in the writer's own words."""
        self._counts[what] += number

    def losses(self) -> dict[str, int]:
        """Return how often each thing was not shown, by name."""
        return {name: count for name, count in sorted(self._counts.items()) if count}

    def _note(self, note: Note) -> None:
        if note.kind != "sessions" or not isinstance(note.data, Mapping):
            self._counts[f"notes: {note.kind}"] += 1
            return
        for name, value in note.data.items():
            if name not in _SESSION and isinstance(value, str | bytes) and value:
                self._counts[f"fields: {note.kind}.{name}"] += 1

    def _row(self, record: Record) -> None:
        row = record.data
        content = row.get("content")
        if type(content) is str and content.startswith(JSON_PREFIX):
            self._counts["types of parts"] += 1
        columns = tuple(row)
        others = self._columns.get(columns)
        if others is None:
            others = self._columns[columns] = tuple(name for name in columns if name not in _COLUMNS)
        for name in others:
            value = row[name]
            if value is not None and type(value) is not int and type(value) is not float and value != "":
                self._counts[f"fields: {name}"] += 1

    def _leaves(self, line: Any, said: set[str]) -> None:
        """Count the texts in a line's JSON that none of the entry's parts says as they stand."""
        todo: list[tuple[Any, str]] = [(line, "")]
        while todo:
            value, path = todo.pop()
            if type(value) is str:
                if value and value not in said:
                    self._counts[f"fields: {path}" if path else "lines that are no object"] += 1
            elif type(value) is dict:
                todo += [(item, f"{path}.{key}" if path else key) for key, item in value.items() if type(item) in _MORE]
            elif type(value) is list:
                todo += [(item, path) for item in value if type(item) in _MORE]


_MORE = (str, dict, list)


def _gather(blocks: Iterable[Block], said: set[str]) -> None:
    """Gather the texts that blocks say."""
    for block in blocks:
        if isinstance(block, Text | Thinking):
            said.add(block.text)
        elif isinstance(block, ToolCall):
            said.add(block.name)
            _texts(block.arguments, said)
        elif isinstance(block, ToolResult):
            if block.name:
                said.add(block.name)
            _gather(block.content, said)
        elif isinstance(block, Image):
            said.update(filter(None, (block.data, block.url, block.media_type)))
        elif isinstance(block, Attachment | Unknown):
            _texts(block.data, said)


def _texts(value: Any, said: set[str]) -> None:
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            said.add(item)
        elif isinstance(item, Mapping):
            todo += item.values()
        elif isinstance(item, list | tuple):
            todo += item
