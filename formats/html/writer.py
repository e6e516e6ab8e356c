"""
Writes sessions as one page of HTML.

A small page holds everything as it is and needs no script to be read. Once it grows, the sessions stand in it compressed, in
parts of a few hundred kilobytes, and the page's script opens what is looked at: a page of 100 MB opens at once, and no more than
a part is ever in memory here.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal

from satchel.contracts import Export, SessionView, Stream, Target, Written, search, write_searched
from satchel.errors import UsageError
from satchel.events import Listener
from satchel.formats.html.messages import Rendering
from satchel.formats.html.page import after, before, no_script
from satchel.formats.spool import Spool
from satchel.formats.turns import heading
from satchel.formats.unshown import Unshown
from satchel.jsontext import dumps
from satchel.timetext import iso_utc
from satchel.wording import count

__all__ = ["file_name", "layout", "name", "open", "suffix"]

name = "html"
layout: Literal["file"] = "file"
suffix = ".html"
file_name = "sessions.html"

_PART = 1 << 18
"""Characters of a part: few enough to be opened in no time, enough to be compressed well."""

_PLAIN = 2 << 20
"""Up to so many bytes of sessions, a page is plain."""

_LEVEL = 3
"""Of compression: above it the page gets little smaller, and takes much longer to make."""


def open(target: Target, *, options: Mapping[str, Any], listen: Listener) -> Export:
    """
    Start a page.

    Raises:
        UsageError: An option is given; there is none.
    """
    if options:
        raise UsageError(f"the format html has no option {sorted(options)[0]}")
    return Page(target)


class Page:
    """One page."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._held: list[list[bytes]] | None = []
        self._bytes = 0
        self._blobs = 0
        self._sessions = 0
        self._title = "Sessions"
        self._said: dict[str, None] = {}
        self._redacted = False
        self._index = Spool()

    def __enter__(self) -> Page:
        self._stream: Stream = self._target.stream(file_name)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self._finish()
                self._target.finish(self._stream)
        finally:
            self._index.close()

    def add(self, session: SessionView) -> Written:
        """Write a session, part by part."""
        self._sessions += 1
        number = self._sessions
        unshown = Unshown()
        rendering = Rendering(session, number, unshown)
        info = session.info
        self._title = heading(info) if number == 1 else count(number, "session")
        if self._held is not None:
            self._held.append([])
        blob, firsts = self._blobs, list[int]()
        waiting: list[str] = []
        length, first = 0, 1
        for message, piece in rendering.pieces():
            if not waiting:
                first = message
            waiting.append(piece)
            length += len(piece)
            if length >= _PART:
                firsts.append(first)
                self._put("".join(waiting))
                waiting.clear()
                length = 0
        if waiting:
            firsts.append(first)
            self._put("".join(waiting))
        counts = rendering.counts
        self._note(session, info, counts["live"], firsts, blob)
        return Written(
            file=self._stream.name or None,
            messages=counts["live"],
            compacted=counts["compacted"],
            rewound=counts["rewound"] + counts["sidechain"],
            losses=unshown.losses(),
        )

    def _note(self, session: SessionView, info: Any, messages: int, firsts: list[int], blob: int) -> None:
        if len(self._said) < 8:
            self._said[info.store or info.agent] = None
        self._redacted |= session.redacted
        started = iso_utc(info.started_at, whole=True)
        row = [heading(info), session.ids[-1], info.agent, info.source or "", info.model or "", started, messages, firsts, blob]
        data = dumps(row)
        search(self._stream, data)
        self._index.add(data.replace(b"<", b"\\u003c"))

    def _put(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        # It is written later, or compressed: now it can be seen, and it is known what must not be in it.
        search(self._stream, data)
        if self._held is None:
            self._pack(data)
            return
        self._blobs += 1
        self._held[-1].append(data)
        self._bytes += len(data)
        if self._bytes > _PLAIN:
            held, self._held = self._held, None
            self._stream.write(f"{before('Sessions')}{no_script()}</main>\n</div>\n".encode())
            self._blobs = 0
            for parts in held:
                for part in parts:
                    self._pack(part)

    def _pack(self, data: bytes) -> None:
        """Write a part compressed."""
        coded = base64.b64encode(zlib.compress(data, _LEVEL))
        write_searched(self._stream, b'<script type="text/plain" id="z%d">%s</script>\n' % (self._blobs, coded))
        self._blobs += 1

    def _finish(self) -> None:
        write = self._stream.write
        packed = self._held is None
        if self._held is not None:
            write(before(self._title).encode())
            for number, parts in enumerate(self._held, 1):
                write(b'<section class="session" id="s%d">\n' % number)
                for part in parts:
                    write_searched(self._stream, part)
                write(b"</section>\n")
            if not self._sessions:
                write(b"<p>No sessions.</p>\n")
            write(b"</main>\n</div>\n")
        write(b'<script type="application/json" id="index">{"packed":%s,"sessions":[' % (b"true" if packed else b"false"))
        # The rows were searched when they came.
        self._index.pour(lambda row: write_searched(self._stream, row), b",\n")
        write(b"]}</script>\n")
        state = "secrets were taken out" if self._redacted else "not redacted"
        said = f"{count(self._sessions, 'session')} from {', '.join(self._said) or 'nowhere'}; {state}; made by Satchel"
        write(after(said).encode())
