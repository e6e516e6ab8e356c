"""
Which formats there are: a table of names, and plug-ins for the rest.

Nothing is imported to list the built-in ones. Plug-ins come through the entry-point groups `satchel.readers` and
`satchel.writers`, which are looked at only when a name is not built in, or when all are listed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from satchel.contracts import Claim, Reader, Writer
from satchel.errors import NotAStore, PluginError, UsageError
from satchel.events import Listener, Problem, ignore

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["Known", "detect", "known", "reader", "writer"]

Role = Literal["readers", "writers"]


class Known(NamedTuple):
    """A format by name: the module or object that is it, what it is for, who brings it, and how all its files begin, if alike."""

    name: str
    where: str
    summary: str
    origin: str = "satchel"
    magic: bytes = b""


_SQLITE = b"SQLite format 3\0"

_BUILT_IN: dict[Role, tuple[Known, ...]] = {
    "readers": (
        Known("hermes", "satchel.formats.hermes_state.reader", "Hermes Agent's session store (state.db)", magic=_SQLITE),
        Known("jsonl", "satchel.formats.jsonl.reader", "JSON Lines exports: Satchel's and Hermes' own"),
        Known("legacy", "satchel.formats.hermes_legacy.reader", "Hermes Agent's session files: transcripts and snapshots"),
        Known("claude", "satchel.formats.claude_code.reader", "Claude Code's session logs, and its history of prompts"),
        Known("codex", "satchel.formats.codex.reader", "Codex CLI's session logs, and its history of prompts"),
    ),
    "writers": (
        Known("jsonl", "satchel.formats.jsonl.writer", "one JSON object a session, with all it holds; Hermes takes it back"),
        Known("html", "satchel.formats.html.writer", "one self-contained page, for people to read; it loads nothing"),
        Known("md", "satchel.formats.markdown.writer", "one Markdown document a session, for people to read"),
        Known("qmd", "satchel.formats.markdown.quarto", "a Quarto project: one document a session, which runs nothing"),
        Known(
            "native",
            "satchel.formats.native.writer",
            "the original files of Claude Code, Codex and legacy sessions, byte for byte",
        ),
    ),
}


def known(role: Role, *, listen: Listener = ignore) -> list[Known]:
    """
    Return every format of a role, built-in ones first.

    Raises:
        PluginError: Two distributions bring the same name.
    """
    formats = list(_BUILT_IN[role])
    taken = {known.name: known.origin for known in formats}
    for point in _points(role):
        origin = _origin(point)
        if point.name in taken:
            raise PluginError(f"the {role[:-1]} {point.name} is brought by both {taken[point.name]} and {origin}; uninstall one")
        taken[point.name] = origin
        try:
            summary = str(getattr(_load(point), "summary", "") or "")
        except PluginError as error:
            listen(Problem(origin, error.message))
            continue
        formats.append(Known(point.name, point.value, summary, origin))
    return formats


def reader(name: str) -> Reader:
    """Return the reader of this name. Raises UsageError when there is none, PluginError when it is broken."""
    return cast("Reader", _find("readers", name))


def writer(name: str) -> Writer:
    """Return the writer of this name. Raises UsageError when there is none, PluginError when it is broken."""
    return cast("Writer", _find("writers", name))


def detect(path: Path) -> Reader:
    """
    Return the reader whose format the path is, by its content.

    Raises:
        NotAStore: No reader knows it.
        UsageError: Several do.
    """
    claims = _claims(path, [import_module(format.where) for format in _likely(path)])
    if not claims:
        # Plug-ins cost a look at every installed distribution.
        names = [format.name for format in known("readers") if format.origin != "satchel"]
        claims = _claims(path, [reader(name) for name in names])
    if not claims:
        raise NotAStore(f"{path} is of no format that Satchel reads ({_looks_like(path)})", subject=path)
    if len(claims) > 1:
        what = " and ".join(f"{claim.reader} ({claim.why})" for _, claim in claims)
        raise UsageError(f"{path} may be {what}: Satchel can not tell which", subject=path)
    return claims[0][0]


def _likely(path: Path) -> list[Known]:
    """Return the built-in readers that the path may be for; loading one costs more than a look at how the file begins."""
    marked = [format for format in _BUILT_IN["readers"] if format.magic]
    others = [format for format in _BUILT_IN["readers"] if not format.magic]
    # A reader that is loaded may have the very file open, and knows better than to open it once more.
    loaded = [format for format in marked if format.where in sys.modules]
    if any(import_module(format.where).sniff(path) for format in loaded):
        return loaded
    head = _head(path)
    return [format for format in marked if head.startswith(format.magic)] or others


def _head(path: Path) -> bytes:
    """Return how a regular file begins, b"" for everything else: opening a pipe would wait for whoever writes into it."""
    try:
        if not path.is_file():
            return b""
        with open(path, "rb") as file:
            return file.read(64)
    except OSError:
        return b""


def _claims(path: Path, readers: list[Any]) -> list[tuple[Reader, Claim]]:
    found = ((reader, reader.sniff(path)) for reader in readers)
    return [(reader, claim) for reader, claim in found if claim is not None]


def _looks_like(path: Path) -> str:
    """Say in a few words what a file is."""
    try:
        if path.is_dir():
            return "a folder"
        if not path.is_file():
            # Opening a pipe would wait for whoever writes into it.
            return "a pipe or a device; give it as standard input, with --from -"
        with open(path, "rb") as file:
            head = file.read(512)
    except OSError as error:
        return error.strerror or "it can't be read"
    if not head:
        return "an empty file"
    if head.startswith(_SQLITE):
        return "a SQLite database"
    if head.lstrip()[:1] in (b"{", b"["):
        return "JSON of another kind"
    return "a binary file" if b"\0" in head else "a text file"


def _find(role: Role, name: str) -> Any:
    for format in _BUILT_IN[role]:
        if format.name == name:
            return import_module(format.where)
    points = [point for point in _points(role) if point.name == name]
    if len(points) > 1:
        origins = " and ".join(_origin(point) for point in points)
        raise PluginError(f"the {role[:-1]} {name} is brought by both {origins}; uninstall one")
    if not points:
        names = ", ".join(format.name for format in known(role))
        raise UsageError(f"there is no {role[:-1]} for {name!r}; there are: {names}", subject=name)
    return _load(points[0])


def _points(role: Role) -> Iterator[EntryPoint]:
    from importlib.metadata import entry_points

    yield from sorted(entry_points(group=f"satchel.{role}"), key=lambda point: (point.name, _origin(point)))


def _origin(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def _load(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:  # Whatever a plug-in raises, it must not stop the others.
        raise PluginError(f"the plug-in {point.name} of {_origin(point)} can't be loaded: {error}", subject=point.name) from error
