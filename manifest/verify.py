"""
Compare what is on the disk with its manifest.

The checks go from cheap to dear, and all that is wrong is gathered: the seal, the lines, paths that must not be followed, files
that are missing, files that nobody listed, sizes, and last the bytes. Nothing but a regular file below the folder is ever opened.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from satchel.errors import ManifestError, NotFound, SatchelError
from satchel.events import Listener, Verified, ignore
from satchel.manifest.lines import (
    BESIDE,
    FOLDER,
    Manifest,
    header_of,
    is_own_manifest,
    is_readable,
    kept_name,
    manifest_in,
    read_manifest,
    sums_in,
    sums_of,
)
from satchel.manifest.paths import CHUNK, hidden_name, is_temporary, sha256_of, shown, size_of, unsafe_because
from satchel.manifest.report import ContentCheck, Finding, Losses, Report
from satchel.manifest.unfinished import foreign_because

__all__ = ["ContentCheck", "Finding", "Report", "payload_files", "verify"]

_HASHED_AT_ONCE = 1 << 18  # bytes; they should stay in the processor's own cache
_HEX = frozenset("0123456789abcdef")
_COUNTS = ("sessions", "messages", "files", "bytes")


class _Listed(NamedTuple):
    """A file line: where it is and its header, and what it says."""

    bytes: int
    sha256: str
    start: int
    header: int
    sessions: object
    messages: object


class _Named:
    """What the session lines that name one file add up to, and where the first is."""

    __slots__ = ("messages", "sessions", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.sessions = 0
        self.messages = 0


class _Check:
    """One verification on its way."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.root, self.name = os.path.split(manifest.path)
        self.findings: list[Finding] = []
        self.listed: dict[str, _Listed] = {}
        self.named: dict[str, _Named] = {}
        self.sessions = 0
        self.losses = Losses()
        self.notes: list[Finding] = []
        self.linked: dict[str, str] = {}

    def find(self, kind: str, path: str, message: str) -> None:
        self.findings.append(Finding(kind, path, message))


def verify(path: str | os.PathLike[str], /, *, listen: Listener = ignore, content: ContentCheck | None = None) -> Report:
    """
    Compare a folder, a file with its manifest beside it, or what a manifest lists with that manifest.

    Files that no line lists are findings only where the manifest covers the whole folder. `content` is called for each file whose
    size is right.

    Raises:
        NotFound: Nothing is at the path.
    """
    given = os.path.abspath(os.fspath(path))
    where: str | None = None
    try:
        where = _manifest_of(given)
        if where is None:
            raise ManifestError(_absent(given), subject=given)
        manifest = read_manifest(where)
        whole = _covers_folder(manifest)
    except ManifestError as error:
        return Report(findings=(Finding("manifest", os.path.basename(where or given), error.message),), manifest=where)
    check = _Check(manifest)
    if not manifest.sealed:
        check.find("manifest", check.name, f"{shown(check.name)} is not sealed: {manifest.why}")
    _read_lines(check)
    sizes = _look(check)
    sums = _sums_of(check) if whole else ""
    others = _others(check, sums) if whole else []
    _tell_missing(check, sizes, others if whole else [os.path.basename(given)])
    if where == given + BESIDE and os.path.basename(given) not in check.listed and not check.findings:
        name = shown(os.path.basename(given))
        check.find("manifest", check.name, f"{shown(check.name)} does not list {name}: it is another file's")
    if whole:
        _tell_unexpected(check, sizes, others)
        _compare_sums(check, sums)
    check.notes += check.losses.notes(check.name)
    right = _compare_sizes(check, sizes)
    _compare_bytes(check, right, listen=listen, content=content)
    return Report(
        findings=tuple(check.findings),
        manifest=where,
        files=len(check.listed),
        bytes=sum(item.bytes for item in check.listed.values()),
        sessions=check.sessions,
        notes=tuple(check.notes),
        incomplete=check.losses.incomplete,
        lost=check.losses.lost,
    )


def payload_files(source: Report | Manifest, /) -> Iterator[tuple[dict[str, Any], str]]:
    """
    Yield the file lines of a manifest with each file's absolute path, where it is a regular file that no link leads to.

    Raises:
        ManifestError: The report's manifest cannot be read.
    """
    if isinstance(source, Report):
        if source.manifest is None:
            return
        source = read_manifest(source.manifest)
    root = os.path.dirname(os.path.abspath(source.path))
    linked: dict[str, str] = {}
    for line in source.files():
        name = line.get("path")
        if isinstance(name, str) and not unsafe_because(name) and isinstance(size_of(root, name, linked), int):
            yield line, os.path.join(root, name)


def _manifest_of(given: str) -> str | None:
    # The manifest that speaks of a path; a link in its place is returned too, and refused when it is read.
    if os.path.isdir(given):
        where = os.path.join(given, manifest_in(given))
        if not os.path.lexists(where):
            where = os.path.join(given, FOLDER)
            return where if os.path.islink(where) else None
        return where
    if os.path.lexists(given + BESIDE):
        return given + BESIDE
    if not os.path.lexists(given):
        raise NotFound(f"{shown(given)} does not exist", subject=given)
    return given if os.path.islink(given) or header_of(given) is not None else None


def _covers_folder(manifest: Manifest) -> bool:
    # Whether files that it does not list are unexpected. It says so itself, since version 2, whatever its name is now.
    root, name = os.path.split(manifest.path)
    covers = manifest.totals.get("covers") if manifest.totals is not None else None
    if covers is None or name == FOLDER:
        return name == FOLDER and covers != "files"
    # An older one, that was kept under a number or elsewhere, does not know what came after it.
    current = manifest_in(root)
    return covers == "folder" and (current == name or not is_own_manifest(os.path.join(root, current)))


def _absent(given: str) -> str:
    if not os.path.isdir(given):
        return f"{shown(given)} has no manifest beside it ({shown(os.path.basename(given))}{BESIDE}), and is none itself"
    if any(os.path.lexists(os.path.join(given, hidden_name(name, ".partial"))) for name in (FOLDER, manifest_in(given))):
        return f"{shown(given)} has no sealed manifest: the run that writes into it goes on, or did not finish; run it again"
    return f"{shown(given)} has no manifest of Satchel, so there is nothing to compare it with"


def _read_lines(check: _Check) -> None:
    sums = dict.fromkeys(_COUNTS, 0)
    header, header_start = check.manifest.header, 0
    ended = 0
    for number, start, value in check.manifest.lines():
        if ended == 1:
            check.find("manifest", check.name, f"{shown(check.name)} goes on after its totals, from line {number}")
        ended += ended > 0
        if value is None:
            check.find("manifest", check.name, f"{shown(check.name)}, line {number}, is not a JSON object")
            continue
        kind = value.get("type")
        check.losses.add(value)
        if kind == "session":
            messages = value.get("message_count")
            messages = messages if isinstance(messages, int) else 0
            check.sessions += 1
            sums["messages"] += messages
            if isinstance(name := value.get("file"), str):
                named = check.named.setdefault(name, _Named(start))
                named.sessions += 1
                named.messages += messages
        elif kind == "file":
            _read_file_line(check, number, start, value, header_start)
            if header.get("format") not in (None, value.get("format", header.get("format"))):
                formats = f"{shown(repr(value['format']))}, and {shown(repr(header['format']))} by its header"
                check.find("manifest", check.name, f"{shown(check.name)}, line {number}, is of a file of the format {formats}")
        elif kind == "totals":
            ended = 1
        elif kind == "header":
            header, header_start = value, start
            if not is_readable(value):
                check.find("manifest", check.name, f"{shown(check.name)}, line {number}, is the header of something else")
    for name, named in check.named.items():
        listed = check.listed.get(name)
        if listed is None:
            check.find("manifest", name, f"{shown(name)} holds a session by the manifest, which does not list the file")
        elif isinstance(listed.sessions, int) and (listed.sessions, listed.messages) != (named.sessions, named.messages):
            check.find(
                "manifest",
                name,
                f"{shown(name)} holds {listed.sessions} sessions and {listed.messages} messages by its line in the manifest, "
                f"{named.sessions} and {named.messages} by the lines of the sessions",
            )
    sums["sessions"] = check.sessions
    sums["files"] = len(check.listed)
    sums["bytes"] = sum(item.bytes for item in check.listed.values())
    if (totals := check.manifest.totals) is not None:
        for key in _COUNTS:
            if totals.get(key) != sums[key]:
                told = shown(str(totals.get(key)))
                check.find(
                    "manifest", check.name, f"{shown(check.name)} has {sums[key]} {key} in its lines, {told} in its totals"
                )
        # The totals of version 1 alone knew what no session line counts.
        lost, lines = totals.get("lost"), check.losses.lost
        alone = check.manifest.header.get("version") == 1 and type(lost) is int and lost > lines
        if alone and isinstance(lost, int):
            check.losses.lost = lost
        elif lost != lines:
            message = f"{shown(check.name)} has {lines} lost in its lines, {shown(str(lost))} in its totals"
            check.find("manifest", check.name, message)


def _read_file_line(check: _Check, number: int, start: int, value: dict[str, Any], header: int) -> None:
    name, size, digest = value.get("path"), value.get("bytes"), value.get("sha256")
    if not isinstance(name, str) or type(size) is not int or size < 0 or not isinstance(digest, str):
        check.find("manifest", check.name, f"{shown(check.name)}, line {number}, lacks a path, a size or a digest")
    elif len(digest) != 64 or not _HEX.issuperset(digest):
        check.find("manifest", name, f"{shown(name)} has no SHA-256 in the manifest (line {number})")
    elif why := unsafe_because(name):
        check.find("unsafe", name, f"'{shown(name)}' in the manifest (line {number}) is no path to follow: {why}")
    elif name in check.listed:
        check.find("manifest", name, f"{shown(name)} is listed twice in the manifest (again in line {number})")
    else:
        check.listed[name] = _Listed(size, digest, start, header, value.get("sessions"), value.get("message_count"))


def _look(check: _Check) -> dict[str, int | None]:
    # The size of each file that may be opened, None for one that is not there.
    sizes: dict[str, int | None] = {}
    for name in check.listed:
        found = size_of(check.root, name, check.linked)
        if isinstance(found, str):
            check.find("unsafe", name, f"{shown(name)} was not opened: {found}")
        else:
            sizes[name] = found
    return sizes


def _sums_of(check: _Check) -> str:
    try:
        return sums_in(check.root, check.name, check.manifest.sha256)
    except ManifestError:
        return "SHA256SUMS"  # to be told when it is compared


def _others(check: _Check, sums: str) -> list[str]:
    # What is in the folder and not listed, our own files about it apart. Links are not followed.
    found: list[str] = []
    todo = [""]
    while todo:
        folder = todo.pop()
        try:
            with os.scandir(os.path.join(check.root, folder)) as scan:
                entries = list(scan)
        except OSError as error:
            check.find("unexpected", folder, f"{shown(folder) or 'the folder'} could not be looked into: {error.strerror}")
            continue
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                todo.append(name)
            elif name not in check.listed and not (not folder and _is_own(check, entry.path, name, sums)):
                found.append(name)
    return sorted(found)


def _is_own(check: _Check, path: str, name: str, sums: str) -> bool:
    if name in (check.name, sums):
        return True
    kept = kept_name(name)
    if kept is None or kept[0] != FOLDER or not is_own_manifest(path):
        return False
    try:
        why = read_manifest(path).why
    except ManifestError as error:
        why = error.message
    if why:
        check.notes.append(Finding("older", name, f"{shown(name)} is an older manifest, and proves nothing: {why}"))
    return True


def _tell_missing(check: _Check, sizes: dict[str, int | None], others: Iterable[str]) -> None:
    missing = [name for name, size in sizes.items() if size is None]
    if not missing:
        return
    by_size: dict[int, list[str]] = {}
    for other in others:
        size = None if unsafe_because(other) else size_of(check.root, other, check.linked)
        if isinstance(size, int):
            by_size.setdefault(size, []).append(other)
    digests: dict[str, str] = {}
    for name in missing:
        listed = check.listed[name]
        message = f"{shown(name)} is missing"
        for other in by_size.get(listed.bytes, ()):
            if other not in digests:
                try:
                    digests[other] = sha256_of(os.path.join(check.root, other), bytearray(CHUNK))[1]
                except OSError:
                    digests[other] = ""
            if digests[other] == listed.sha256:
                message = f"{shown(name)} is there under another name: {shown(other)}{_difference(name, other)}"
                break
        check.find("missing", name, message)


def _tell_unexpected(check: _Check, sizes: dict[str, int | None], others: Iterable[str]) -> None:
    folded: dict[str, str] = {}
    for other in others:
        base = os.path.basename(other)
        if is_temporary(base):
            message = f"{shown(other)} has the name of a temporary file of a run that did not finish"
        elif other == hidden_name(check.name, ".partial") and _is_partial(os.path.join(check.root, other)):
            message = f"{shown(other)} was left by a run that did not finish: run it again, or remove it"
        else:
            if not folded:
                folded = {_folded(name): name for name in sizes}
            near = folded.get(_folded(other), "")
            also = f"; it differs from {shown(near)}{_difference(near, other)}" if near else ""
            message = f"{shown(other)} is in the folder and not in the manifest{also}"
        check.find("unexpected", other, message)


def _is_partial(path: str) -> bool:
    try:
        return not foreign_because(path)
    except (OSError, ManifestError):
        return False


def _folded(name: str) -> str:
    if name.isascii():
        return name.lower()
    import unicodedata

    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _difference(name: str, other: str) -> str:
    if _folded(name) != _folded(other):
        return ""
    if name.lower() == other.lower():
        return " (only in upper and lower case)"
    return " (only in the Unicode form of its letters)"


def _compare_sums(check: _Check, sums: str) -> None:
    told: dict[str, str] = {}
    last = ""
    try:
        for item in sums_of(os.path.join(check.root, sums)):
            if item is None:
                check.find("sums", sums, f"{sums} has a line that is none of a checksum list")
            else:
                last = item[0]
                if told.setdefault(last, item[1]) != item[1]:
                    check.find("sums", last, f"{shown(last)} is twice in {sums}, with different digests")
    except FileNotFoundError:
        other = "" if sums == "SHA256SUMS" else ", and SHA256SUMS does not end with its line"
        check.find("sums", sums, f"there is no {sums} that goes with {check.name}{other}")
        return
    except OSError as error:
        check.find("sums", sums, f"{sums} could not be read: {error.strerror or error}")
        return
    if last != check.name and told.get(last) == check.manifest.sha256 and check.name not in told:
        check.find("sums", check.name, f"{shown(check.name)} is {shown(last)} in {sums}: the manifest was renamed")
        told[check.name] = told.pop(last)
    for name, digest in [*((name, item.sha256) for name, item in check.listed.items()), (check.name, check.manifest.sha256)]:
        found = told.pop(name, None)
        if found is None:
            check.find("sums", name, f"{shown(name)} is not in {sums}")
        elif found != digest:
            check.find("sums", name, f"{shown(name)} has another digest in {sums} than {_by(check, name)}")
    for name in told:
        check.find("sums", name, f"{shown(name)} is in {sums} and not in the manifest")


def _by(check: _Check, name: str) -> str:
    return "it has on the disk" if name == check.name else "in the manifest"


def _compare_sizes(check: _Check, sizes: dict[str, int | None]) -> list[str]:
    right: list[str] = []
    for name, size in sizes.items():
        expected = check.listed[name].bytes
        if size == expected:
            right.append(name)
        elif size is not None:
            check.find("size", name, f"{shown(name)} has {size} bytes, and {expected} in the manifest")
    return right


def _compare_bytes(check: _Check, right: list[str], *, listen: Listener, content: ContentCheck | None) -> None:
    buffer = bytearray(min(_HASHED_AT_ONCE, 1 + max((check.listed[name].bytes for name in right), default=0)))
    passed = set(right)
    for name, listed in check.listed.items():
        path = os.path.join(check.root, name)
        before = len(check.findings)
        if name in passed:
            try:
                size, digest = _looked_into(check, name, path, content) if content else (-1, "")
                if size != listed.bytes:
                    size, digest = sha256_of(path, buffer)
            except OSError as error:
                check.find("hash", name, f"{shown(name)} could not be read: {(error.strerror or str(error)).lower()}")
            else:
                if size != listed.bytes:
                    check.find("size", name, f"{shown(name)} changed while it was read, to {size} bytes from {listed.bytes}")
                elif digest != listed.sha256:
                    message = f"{shown(name)} was altered: its SHA-256 is {digest}, and {listed.sha256} in the manifest"
                    check.find("hash", name, message)
        listen(Verified(path=path, ok=name in passed and len(check.findings) == before))


def _looked_into(check: _Check, name: str, path: str, content: ContentCheck) -> tuple[int, str]:
    digest = hashlib.sha256()
    total = 0

    def update(chunk: bytes) -> None:
        nonlocal total
        digest.update(chunk)
        total += len(chunk)

    listed = check.listed[name]
    line = next(check.manifest.lines(listed.start)).value or {}
    header = next(check.manifest.lines(listed.header)).value or {}
    try:
        for found in content(path, update, file=line, header=header, sessions=_sessions_of(check, name)):
            (check.notes if found.kind == "unchecked" else check.findings).append(found)
    except SatchelError as error:
        check.find("content", name, f"{shown(name)}: {error.message}")
    return total, digest.hexdigest()


def _sessions_of(check: _Check, name: str) -> Iterator[dict[str, Any]]:
    named = check.named.get(name)
    if named is None:
        return
    left = named.sessions
    for line in check.manifest.lines(named.start):
        value = line.value
        if value is not None and value.get("type") == "session" and value.get("file") == name:
            yield value
            left -= 1
            if not left:
                return
