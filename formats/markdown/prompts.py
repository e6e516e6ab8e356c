"""Writes only what people typed, as one Markdown document."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from satchel.contracts import SessionView, Stream, Target, Written
from satchel.errors import UsageError
from satchel.formats.jsonl.prompts import prompts
from satchel.formats.markdown.document import stamp
from satchel.formats.markdown.literal import coded, escaped, fence, plain
from satchel.formats.turns import heading

__all__ = ["open_prompts"]


def open_prompts(target: Target, options: Mapping[str, Any]) -> PromptsDocument:
    """
    Start a document of prompts.

    Raises:
        UsageError: An option is not known.
    """
    unknown = set(options) - {"only"}
    if unknown:
        raise UsageError(f"a document of prompts has no option {sorted(unknown)[0]}")
    if options["only"] != "user-prompts":
        raise UsageError(f"the format md can't write only {options['only']}; there is: user-prompts", subject="only")
    return PromptsDocument(target)


class PromptsDocument:
    """One file of prompts, each letter by letter."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def __enter__(self) -> PromptsDocument:
        self._stream: Stream = self._target.stream("prompts.md")
        self._stream.write(b"# Prompts\n")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self._target.finish(self._stream)

    def add(self, session: SessionView) -> Written:
        """Write the session's prompts, numbered from 1."""
        info = session.info
        write = self._stream.write
        write(f"\n## {escaped(heading(info))}\n\n".encode())
        known = (
            ("Session", session.ids[-1]),
            ("Source", info.source),
            ("Model", info.model),
            ("Started", stamp(info.started_at)),
        )
        for label, value in known:
            if value:
                write(f"- {label}: {coded(value)}\n".encode())
        count = 0
        for message, text in prompts(session):
            count += 1
            write(f"\n### {count} · {stamp(message.time) or 'no time'}\n\n".encode())
            write("".join(fence(plain(text))).encode("utf-8", "replace"))
        if not count:
            write(b"\n*No prompts in this session.*\n")
        return Written(file=self._stream.name or None, messages=count)
