"""
A manifest as a file: JSON lines, sealed by the last one.

    {"type":"header","schema":"satchel-manifest","version":2,"writer":…,"format":…,"rules":…,"options":{…}}
    {"type":"session","session_id":…,"agent":…,"lineage_session_ids":[…],"file":…,…}
    {"type":"file","path":…,"bytes":…,"sha256":…,"format":…,"session_id":…,"lineage_session_ids":[…],"message_count":…,"sessions":…}
    {"type":"loss","lost":…}
    {"type":"totals","sessions":…,"messages":…,"files":…,"bytes":…,"lost":…,"covers":…,"sha256":…}

The keys stand in this order. `sha256` of the last line is that of all bytes before it, the beginning of its own line included: a
manifest where it is right is sealed, any other is that of an unfinished run, or altered. (In version 1 it was that of the lines
above alone, so that nothing guarded the totals; there were no `loss` lines and no `covers`. It is read, and written no more.) A
manifest may have several headers: each speaks of the lines below it, down to the next one (lines that an earlier run wrote keep
their header). Lines and keys that are not known are skipped.

A manifest is what its first line says, whatever its name; a link is none. In a folder it is put under `manifest.jsonl`, with
`SHA256SUMS` beside it, and covers the folder: a file that no line lists is unexpected. Where another program keeps a
`manifest.jsonl`, ours is `satchel-manifest.jsonl`, and covers the files it lists; so does that of a single file,
`<file>.manifest.jsonl`.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from satchel import exactjson
from satchel.errors import JsonError, ManifestError
from satchel.frozen import frozen
from satchel.manifest.paths import CHUNK, open_regular, shown

__all__ = [
    "BESIDE",
    "FOLDER",
    "READABLE",
    "SCHEMA",
    "SHARED",
    "VERSION",
    "Line",
    "Manifest",
    "header_of",
    "is_own_manifest",
    "is_readable",
    "kept_name",
    "manifest_in",
    "put_seal",
    "raw_lines",
    "read_manifest",
    "sums_in",
    "sums_line",
    "sums_of",
]

SCHEMA = "satchel-manifest"
VERSION = 2
READABLE = (1, VERSION)
"""The versions that are read; the lines of each may stand in a manifest of the newest."""

FOLDER = "manifest.jsonl"
SHARED = "satchel-manifest.jsonl"
BESIDE = ".manifest.jsonl"
"""What is put behind the name of a single file."""

_SUMS = "SHA256SUMS"
_SHARED_SUMS = "satchel-SHA256SUMS"
_FEW_BYTES = 2 << 20  # of a manifest: some thousand lines
_LONGEST = 64 << 20  # bytes of a line; nothing of ours comes near
# Compiled when first used: a verification of one file needs neither.
_KEPT = r"((?:satchel-)?manifest)\.([1-9][0-9]*)\.jsonl"
_SEAL = rb',"sha256":"([0-9a-f]{64})"\}\n'
_SEAL_BYTES = 78
_SUM = rb"(?s:(\\?)([0-9a-f]{64}) [ *](.+))"
# None: open_regular's own, for what is no regular file; ELOOP: a link.
_NOTHING_THERE = (None, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG)
_ALTERED = "its lines do not have the digest that its last line gives: it was altered"
_ESCAPES = {ord("\\"): "\\\\", ord("\n"): "\\n", ord("\r"): "\\r"}


class Line(NamedTuple):
    """A line of a manifest: its 1-based number, the byte it starts at, and its JSON object, None when it is none."""

    number: int
    start: int
    value: dict[str, Any] | None


@frozen(frozen=True, slots=True, kw_only=True)
class Manifest:
    """
    A manifest on disk, its lines read as they are asked for.

    Nothing in it is trusted: the paths may lead anywhere, the keys may be of any type.

    Attributes:
        path: The manifest file.
        header: Its first line.
        totals: Its last line, None while it has none.
        sealed: Whether the last line is right.
        why: Why it is not sealed, as a clause; "" when it is.
        sha256: Digest of the whole manifest file in lower-case hex.
        end: The byte where its totals start, or would.
    """

    path: str
    header: Mapping[str, Any]
    totals: Mapping[str, Any] | None
    sealed: bool
    why: str
    sha256: str
    end: int

    def lines(self, start: int = 0, /) -> Iterator[Line]:
        """Yield the lines from the byte where one starts; the numbers count from there."""
        parse = _parser(self.end - start)
        for number, (place, line) in enumerate(raw_lines(self.path, start), 1):
            yield Line(number, place, _object(line, parse))

    def sessions(self) -> Iterator[dict[str, Any]]:
        """Yield the session lines."""
        return (value for _, _, value in self.lines() if value is not None and value.get("type") == "session")

    def files(self) -> Iterator[dict[str, Any]]:
        """Yield the file lines."""
        return (value for _, _, value in self.lines() if value is not None and value.get("type") == "file")


def read_manifest(path: str | os.PathLike[str], /) -> Manifest:
    """
    Read the two ends of a manifest and see whether it is sealed.

    Raises:
        ManifestError: It cannot be read, is a link, has no header of ours, or is of a newer version.
    """
    name = os.fspath(path)
    if os.path.islink(name):
        message = f"{shown(name)} is a symbolic link, which is not followed: name what it leads to"
        raise ManifestError(message, subject=name)
    header = header_of(name)
    if header is None:
        raise ManifestError(f"{shown(name)} is no manifest of Satchel: its first line is not the header of one", subject=name)
    version = header.get("version")
    if not is_readable(header):
        told = shown(repr(version))
        raise ManifestError(f"{shown(name)} is a manifest of version {told}; this Satchel reads 1 to {VERSION}", subject=name)
    try:
        with open_regular(name) as file:
            last, start = _last_line(file)
            digest = _digest(file, start)
    except OSError as error:
        raise _unreadable(name, error) from error
    totals = _object(last)
    if totals is not None and totals.get("type") != "totals":
        totals = None
    end = start if totals is not None else start + len(last)
    why = ""
    if not last.endswith(b"\n"):
        why = "its last line is cut off"
    elif totals is None:
        why = "it does not end with its totals: the run that wrote it did not finish"
    elif version == 1:
        why = "" if totals.get("sha256") == digest.hexdigest() else _ALTERED
    else:
        # What follows the seal would not be covered by it, so it has to be the very end.
        digest.update(last[:-_SEAL_BYTES])
        seal = re.fullmatch(_SEAL, last[-_SEAL_BYTES:])
        why = "" if seal and seal[1].decode() == digest.hexdigest() else _ALTERED
        last = last[-_SEAL_BYTES:]
    digest.update(last)
    return Manifest(path=name, header=header, totals=totals, sealed=not why, why=why, sha256=digest.hexdigest(), end=end)


def is_readable(header: Mapping[str, Any], /) -> bool:
    """Return whether a header is one of ours, in a version that is read."""
    version = header.get("version")
    return header.get("schema") == SCHEMA and type(version) is int and version in READABLE


def put_seal(totals: bytes, digest: hashlib._Hash, /) -> bytes:
    """Return the JSON object of the totals as the last line, sealed; `digest` has all bytes above, and gets those of the line."""
    opened = totals[:-1]
    digest.update(opened)
    seal = b',"sha256":"%s"}\n' % digest.hexdigest().encode()
    digest.update(seal)
    return opened + seal


def raw_lines(path: str, start: int = 0, end: int | None = None, /) -> Iterator[tuple[int, bytes]]:
    """Yield each line between two bytes of a file with the byte it starts at. Raises OSError."""
    # Whoever starts in the middle wants a few lines only.
    with (
        open_regular(path) as raw,
        open(raw.fileno(), "rb", buffering=16384 if start else 65536, closefd=False) as file,
    ):
        file.seek(start)
        while (end is None or start < end) and (line := file.readline(_LONGEST)):
            yield start, line
            start += len(line)


def header_of(path: str, /) -> dict[str, Any] | None:
    """
    Return the header of a manifest of ours; None for anything else, a link, or nothing, at the path.

    Raises:
        ManifestError: There is a file that cannot be read, so that nobody knows.
    """
    try:
        with open_regular(path) as raw, open(raw.fileno(), "rb", closefd=False) as file:
            first = file.readline(CHUNK)
    except OSError as error:
        if error.errno in _NOTHING_THERE:
            return None
        raise _unreadable(path, error) from error
    header = _object(first)
    return header if header is not None and header.get("type") == "header" and header.get("schema") == SCHEMA else None


def is_own_manifest(path: str, /) -> bool:
    """Return whether a manifest of ours is at a path, sealed or not; what cannot be read is none."""
    try:
        return header_of(path) is not None
    except ManifestError:
        return False


def manifest_in(folder: str, /) -> str:
    """
    Return the name that our manifest has, or would have, in a folder: `FOLDER`, or `SHARED` where the first is taken.

    Raises:
        ManifestError: There is one that cannot be read.
    """
    if os.path.lexists(os.path.join(folder, FOLDER)):
        return FOLDER if header_of(os.path.join(folder, FOLDER)) is not None else SHARED
    return SHARED if header_of(os.path.join(folder, SHARED)) is not None else FOLDER


def kept_name(name: str, /) -> tuple[str, int] | None:
    """Split the name of an older manifest that was kept, such as `manifest.2.jsonl`, into its manifest's name and its number."""
    match = re.fullmatch(_KEPT, name)
    return (f"{match[1]}.jsonl", int(match[2])) if match else None


def sums_in(folder: str, manifest: str, digest: str = "", /) -> str:
    """
    Return the name that the checksum list of a manifest has, or would have.

    A list is ours when its last line names our manifest, or has its digest, when that is given. Where somebody else's
    `SHA256SUMS` is, ours is `satchel-SHA256SUMS`.

    Raises:
        ManifestError: There is one that cannot be read.
    """
    for name in (_SUMS, _SHARED_SUMS):
        try:
            with open_regular(os.path.join(folder, name)) as file:
                last, _ = _last_line(file)
        except OSError as error:
            if error.errno in _NOTHING_THERE:
                continue
            raise _unreadable(os.path.join(folder, name), error) from error
        match = re.fullmatch(_SUM, last.rstrip(b"\n"))
        if match and (match[3] == os.fsencode(manifest) or match[2].decode() == digest):
            return name
    return _SHARED_SUMS if os.path.lexists(os.path.join(folder, _SUMS)) else _SUMS


def sums_line(path: str, sha256: str, /) -> bytes:
    """Return the line that `sha256sum -c` takes for a file, with its line end."""
    escaped = path.translate(_ESCAPES)
    return b"%s%s  %s\n" % (b"\\" if escaped != path else b"", sha256.encode(), os.fsencode(escaped))


def sums_of(path: str, /) -> Iterator[tuple[str, str] | None]:
    """Yield path and digest of each line of a checksum list, None for a line that is none. Raises OSError."""
    with open_regular(path) as raw, open(raw.fileno(), "rb", buffering=65536, closefd=False) as file:
        while line := file.readline(CHUNK):
            match = re.fullmatch(_SUM, line.rstrip(b"\n"))
            if match is None:
                yield None
                continue
            name = match[3]
            if match[1]:
                name = re.sub(rb"\\([\\nr])", lambda m: {b"n": b"\n", b"r": b"\r"}.get(m[1], m[1]), name)
            yield os.fsdecode(name), match[2].decode()


def _unreadable(path: str, error: OSError) -> ManifestError:
    return ManifestError(f"{shown(path)} could not be read: {(error.strerror or str(error)).lower()}", subject=path)


def _parser(octets: int) -> Callable[[bytes], Any]:
    # What parses so many bytes of lines: for few, it is not worth to load what parses many fast.
    return exactjson.loads if octets < _FEW_BYTES and "satchel.jsontext" not in sys.modules else _parsed


def _parsed(line: bytes) -> Any:
    from satchel.jsontext import loads

    return loads(line)


def _object(line: bytes, parse: Callable[[bytes], Any] = exactjson.loads) -> dict[str, Any] | None:
    value: Any = None
    try:
        value = parse(line)
    except JsonError:
        with suppress(JsonError):
            value = _parsed(line)  # which takes deeper nesting
    return value if isinstance(value, dict) else None


def _last_line(file: io.FileIO) -> tuple[bytes, int]:
    # The bytes of the last line and where it starts.
    end = at = file.seek(0, os.SEEK_END)
    tail = b""
    while at > 0 and len(tail) < _LONGEST:
        step = min(at, CHUNK if tail else 4096)
        at -= step
        file.seek(at)
        block = b""
        while len(block) < step and (more := file.read(step - len(block))):
            block += more
        tail = block + tail
        found = tail.rfind(b"\n", 0, len(tail) - 1)
        if found >= 0:
            return tail[found + 1 :], end - len(tail) + found + 1
    if at > 0:
        raise OSError(errno.EFBIG, "its last line has no end")
    return tail, 0


def _digest(file: io.FileIO, end: int) -> hashlib._Hash:
    file.seek(0)
    digest = hashlib.sha256()
    while end and (block := file.read(min(end, CHUNK))):
        digest.update(block)
        end -= len(block)
    return digest
