"""
What earlier runs listed and this one does not write again: their lines go over into the new manifest.

A manifest is made of sections, each a header and the lines below it. The section of a run with the same header is written anew in
its old place; so the same run gives the same manifest, whatever ran in between.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from satchel.errors import JsonError, ManifestError
from satchel.manifest.lines import READABLE, VERSION, raw_lines
from satchel.manifest.paths import CHUNK, sha256_of, shown, size_of, unsafe_because
from satchel.manifest.stream import FileEntry

__all__ = ["Carried", "Section", "Tally", "as_count", "compose", "look_back", "sections_of"]


class Section(NamedTuple):
    """A header with its line end, and where the lines below it are; `sealed` when the manifest they stand in is."""

    path: str
    header: bytes
    start: int
    end: int
    sealed: bool


@dataclass(slots=True)
class Tally:
    """What the lines of a manifest add up to."""

    sessions: int = 0
    messages: int = 0
    files: int = 0
    bytes: int = 0
    lost: int = 0

    def add(self, line: Mapping[str, Any], /) -> None:
        """Count a line."""
        if line.get("type") == "session":
            self.sessions += 1
            self.messages += as_count(line.get("message_count"))
            self.lost += as_count(line.get("lost"))
        elif line.get("type") == "file":
            self.files += 1
            self.bytes += as_count(line.get("bytes"))
        elif line.get("type") == "loss":
            self.lost += as_count(line.get("lost"))


@dataclass(slots=True)
class Carried:
    """
    What is known of earlier runs.

    Attributes:
        sections: All of them, oldest first.
        files: The files that are as a section lists them, by path; take out what is written again.
        unfinished: Names of files that only an unfinished run listed: the next one may replace them.
        problems: What a sealed manifest lists and the disk does not have, as sentences.
    """

    sections: list[Section] = field(default_factory=list)
    files: dict[str, tuple[Section, FileEntry]] = field(default_factory=dict)
    unfinished: frozenset[str] = frozenset()
    problems: list[str] = field(default_factory=list)


def sections_of(path: str, end: int, /, *, sealed: bool) -> list[Section]:
    """Return the sections of a manifest, up to the byte where its totals start. Raises OSError."""
    sections: list[Section] = []
    for start, line in raw_lines(path, 0, end):
        if not sections or line.startswith(b'{"type":"header"'):
            if sections:
                sections[-1] = sections[-1]._replace(end=start)
            sections.append(Section(path, _of_today(line), start + len(line), end, sealed))
    return sections


def _of_today(header: bytes) -> bytes:
    # The lines of every version that is read may stand in a manifest of the newest, whose header they then get.
    from satchel.jsontext import dumps, loads

    try:
        value = loads(header)
    except JsonError:
        return header
    if not isinstance(value, dict) or value.get("version") not in READABLE or value["version"] == VERSION:
        return header
    return dumps(value | {"version": VERSION}) + b"\n"


def look_back(root: str, sections: list[Section], /) -> Carried:
    """
    Compare the files that sections list with the disk: sizes first, then bytes.

    Raises:
        ManifestError: A sealed manifest lists a file twice, or one outside the folder; or a file cannot be read.
        OSError: A manifest cannot be read.
    """
    listed: dict[str, list[tuple[Section, FileEntry]]] = {}
    for section in sections:
        for entry in _entries(section):
            before = listed.setdefault(entry.path, [])
            if section.sealed and any(other.sealed for other, _ in before):
                raise ManifestError(f"{shown(section.path)} lists {shown(entry.path)} twice", subject=section.path)
            before.append((section, entry))
    carried = Carried(sections=sections)
    unfinished: set[str] = set()
    linked: dict[str, str] = {}
    buffer = bytearray(min(CHUNK, 1 + max((entry.bytes for claims in listed.values() for _, entry in claims), default=0)))
    for path, claims in listed.items():
        size = size_of(root, path, linked)
        digest = ""
        if any(entry.bytes == size for _, entry in claims):
            try:
                digest = sha256_of(os.path.join(root, path), buffer)[1]
            except OSError as error:
                # Not "altered": nobody knows, and forcing must not drop its line.
                why = (error.strerror or str(error)).lower()
                raise ManifestError(f"{shown(path)} in {shown(root)} could not be read: {why}", subject=path) from error
        true = [(section, entry) for section, entry in claims if entry.sha256 == digest]
        if true:
            carried.files[path] = true[-1]
            if not any(section.sealed for section, _ in true):
                unfinished.add(path)
        elif any(section.sealed for section, _ in claims):
            what = "is missing" if size is None else f"was not opened: {size}" if isinstance(size, str) else "was altered"
            carried.problems.append(f"{shown(path)} {what}")
    carried.unfinished = frozenset(unfinished)
    return carried


def compose(carried: Carried, new: Section, tally: Tally, /) -> Iterator[bytes]:
    """
    Yield the lines of the manifest to be, all but its totals, in pieces; count the lines that are carried over.

    Raises:
        OSError: What is to be carried over cannot be read.
    """
    alive = {id(section) for section, _ in carried.files.values()}
    groups: dict[bytes, list[Section]] = {}
    for section in [*carried.sections, new]:
        groups.setdefault(section.header, []).append(section)
    for header, sections in groups.items():
        if header == new.header or any(id(section) in alive for section in sections):
            yield header
        for section in sections:
            if section is new:
                yield from _blocks(new)
            elif id(section) in alive:
                yield from _surviving(carried, section, tally, again=header == new.header)


def _surviving(carried: Carried, section: Section, tally: Tally, *, again: bool) -> Iterator[bytes]:
    for line, value in _objects(section):
        name = value.get("path") if value.get("type") == "file" else value.get("file")
        if isinstance(name, str):
            kept = carried.files.get(name)
            if kept is None or kept[0] is not section:
                continue
        elif again or not section.sealed:
            continue  # of a session without a file: the run that is made again says it anew
        tally.add(value)
        yield line


def _entries(section: Section) -> Iterator[FileEntry]:
    for _, value in _objects(section):
        if value.get("type") != "file":
            continue
        path, size, digest = value.get("path"), value.get("bytes"), value.get("sha256")
        if isinstance(path, str) and not unsafe_because(path) and type(size) is int and isinstance(digest, str):
            yield FileEntry(path, size, digest)
        elif section.sealed:
            raise ManifestError(
                f"{shown(section.path)} has a line of a file that cannot be followed: '{shown(str(path))}'", subject=section.path
            )


def _objects(section: Section) -> Iterator[tuple[bytes, dict[str, Any]]]:
    from satchel.jsontext import loads

    for _, line in raw_lines(section.path, section.start, section.end):
        try:
            value = loads(line)
        except JsonError:
            continue
        if isinstance(value, dict):
            yield line, value


def _blocks(section: Section) -> Iterable[bytes]:
    with open(section.path, "rb", buffering=0) as file:
        file.seek(section.start)
        left = section.end - section.start
        while left and (block := file.read(min(left, CHUNK))):
            left -= len(block)
            yield block


def as_count(value: object, /) -> int:
    """Return a whole number as it is, anything else as 0."""
    return value if isinstance(value, int) else 0
