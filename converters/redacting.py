"""
Redacts and scans files: any text, JSON, or JSON Lines, packed by gzip or zstandard or not.

Each file is a scope of its own and is gone over twice: what one line shows to be secret goes from every line. Memory holds a
window of a text, a line of JSON Lines, or a JSON document of up to 64 MB; a larger document is gone through as text. Output
appears under its name when it is whole; what was not changed keeps every byte.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, NamedTuple

from satchel import jsontext
from satchel.contracts import Gated, Record, Redactor, Scoped, Stream
from satchel.errors import JsonError, NotFound, StoreChanged, StoreError, TargetError, UsageError
from satchel.events import Listener, Problem, Progress, ignore
from satchel.formats.regular import open_regular
from satchel.manifest.target import FileTarget, PipeTarget
from satchel.naming import terminal_line
from satchel.redaction.explaining import described
from satchel.redaction.policy import Policy
from satchel.redaction.report import Report
from satchel.second_opinion import Opinion
from satchel.sources import find_all, real_path, spare

__all__ = ["Finding", "Outcome", "explained", "is_folder", "redact_path", "scan_path"]

_WINDOW = 1 << 18
_AROUND = 1 << 14
"""Characters of a text that are seen on either side of what is being redacted: a key's block, a wrapped line."""
_DOCUMENT = 64 << 20
_LINE = 8 << 20
_HEAD = 1 << 16

Packing = Literal["", "gzip", "zstd"]


class Finding(NamedTuple):
    """
    What is secret in a file, without a character of it.

    Attributes:
        file: Its name below what was scanned.
        line, column: Where it begins, from 1 on, in characters.
        length: Its class of length: "8-15", "16-31", …
        tag: The tag of its placeholder.
        again: It is known from elsewhere in the file alone.
        name: The name it stands under in JSON, where that is a plain word; else "".
    """

    file: str
    line: int
    column: int
    rule: str
    strength: str
    length: str
    tag: str
    again: bool
    name: str


@dataclass(slots=True)
class Outcome:
    """What a run over files did; `skipped` are files that are no text, links, devices: each was told to the listener."""

    files: int = 0
    changed: int = 0
    bytes: int = 0
    skipped: int = 0
    copied: int = 0
    findings: int = 0
    lost: int = 0
    output: str | None = None
    report: Report = field(default_factory=Report)


Hear = Callable[[Finding], None]
Examine = Callable[[Sequence[tuple[str, str]]], None]
Places = Callable[[Record], Sequence[Any]]


# ------------------------------------------------------------------------------------------------------------ reading


class _Piece(NamedTuple):
    """A part of a text: `text[begin:end]` is new, the rest was there before or comes again. `line` is where `text` begins."""

    text: str
    begin: int
    end: int
    line: int


def _packing(head: bytes) -> Packing:
    return "gzip" if head.startswith(b"\x1f\x8b") else "zstd" if head.startswith(b"\x28\xb5\x2f\xfd") else ""


def _opened(stack: ExitStack, path: Path, packing: Packing) -> IO[bytes]:
    raw = stack.enter_context(io.BufferedReader(open_regular(path), 1 << 20))
    if packing == "gzip":
        return stack.enter_context(io.BufferedReader(gzip.GzipFile(fileobj=raw), 1 << 20))
    if packing == "zstd":
        import zstandard

        reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        return stack.enter_context(io.BufferedReader(reader, 1 << 20))
    return raw


class _Source:
    """A file to be gone over twice: it has to be the same each time."""

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name
        # A report says nothing of the folders above.
        self.session = name if not os.path.isabs(name) and not name.startswith("..") else os.path.basename(name)
        with open_regular(path) as file:
            found = os.fstat(file.fileno())
            self.packing = _packing(file.read(4))
        self.mode = stat.S_IMODE(found.st_mode)
        self.size = found.st_size
        self._print = (found.st_ino, found.st_size, found.st_mtime_ns)
        head = self._head()
        self.encoding = _encoding(head)
        self.is_text = self.encoding != "utf-8" or b"\0" not in head
        self.document = self._is_document(head)

    def _head(self) -> bytes:
        with ExitStack() as stack:
            return _read(_opened(stack, self.path, self.packing), _HEAD, self.name)

    def _is_document(self, head: bytes) -> bool:
        """Return whether the file is one JSON text over several lines."""
        if not self.is_text or head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
            return False
        first, _, rest = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")
        if not rest.strip() and len(head) < _HEAD:
            return False
        if _is_json(first):
            return False
        with ExitStack() as stack:
            data = _read(_opened(stack, self.path, self.packing), _DOCUMENT + 1, self.name)
        return len(data) <= _DOCUMENT and _is_json(data)

    def check(self) -> None:
        """Raise StoreChanged where the file is not what it was."""
        found = os.stat(self.path)
        if (found.st_ino, found.st_size, found.st_mtime_ns) != self._print:
            raise StoreChanged(f"{self.name} changed while it was read: nothing of it was written; run again", subject=self.name)

    def chunks(self) -> Iterator[str]:
        """Yield the text in pieces of any size; bytes that are no text come back by `surrogateescape`."""
        errors = "surrogateescape" if self.encoding == "utf-8" else "surrogatepass"
        decoder = codecs.getincrementaldecoder(self.encoding)(errors)
        with ExitStack() as stack:
            file = _opened(stack, self.path, self.packing)
            while data := _read(file, 1 << 20, self.name):
                yield decoder.decode(data)
            yield decoder.decode(b"", True)

    def encoded(self, text: str) -> bytes:
        """Return a piece of the text as it stands in the file."""
        errors = "surrogateescape" if self.encoding == "utf-8" else "surrogatepass"
        return text.encode(self.encoding, errors)


def _read(file: IO[bytes], size: int, name: str) -> bytes:
    try:
        return file.read(size)
    except OSError as error:
        raise StoreError(f"{name} can't be read: {error.strerror or error}", subject=name) from error
    except Exception as error:  # zlib.error, EOFError, ZstdError: each library has its own.
        raise StoreError(f"{name} can't be unpacked: it is damaged or cut off ({type(error).__name__})", subject=name) from error


def _encoding(head: bytes) -> str:
    if head.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    return "utf-16-be" if head.startswith(codecs.BOM_UTF16_BE) else "utf-8"


def _is_json(text: bytes | str) -> bool:
    try:
        return isinstance(jsontext.loads(text), dict | list)
    except JsonError:
        return False


def _pieces(source: _Source) -> Iterator[_Piece]:
    """Yield the parts in which a text is seen: the document, lines of JSON, and windows of other text in their surroundings."""
    if source.document:
        text = "".join(source.chunks())
        yield _Piece(text, 0, len(text), 1)
        return
    held: list[str] = []
    size, line = 0, 1
    windows = _Windows()
    for text in _lines(source.chunks()):
        stripped = text.strip(" \t\r\n\ufeff")
        if len(stripped) >= 16 and stripped[0] + stripped[-1] in ("{}", "[]") and _is_json(stripped):
            yield from windows.rest(held)
            held, size = [], 0
            windows = _Windows(line + 1)
            yield _Piece(text, 0, len(text), line)
        else:
            held.append(text)
            size += len(text)
            if size >= _WINDOW:
                yield from windows.add("".join(held))
                held, size = [], 0
        line += text.count("\n")
    yield from windows.rest(held)


def _lines(chunks: Iterator[str]) -> Iterator[str]:
    """Yield lines, cut at line feeds; one that is too long for a window comes in parts."""
    rest: list[str] = []
    size = 0
    for chunk in chunks:
        *lines, last = chunk.split("\n")
        for text in lines:
            yield "".join([*rest, text, "\n"]) if rest else f"{text}\n"
            rest, size = [], 0
        rest.append(last)
        size += len(last)
        if size > _LINE:
            yield "".join(rest)
            rest, size = [], 0
    if size:
        yield "".join(rest)


class _Windows:
    """Cuts a text into parts, each shown with some of what is before and after it."""

    def __init__(self, line: int = 1) -> None:
        self._text = ""
        self._begin = 0
        self._line = line

    def add(self, text: str) -> Iterator[_Piece]:
        self._text += text
        if len(self._text) - self._begin >= _WINDOW + _AROUND:
            end = self._text.rfind("\n", self._begin, len(self._text) - _AROUND) + 1
            end = end if end > self._begin else len(self._text) - _AROUND
            yield _Piece(self._text, self._begin, end, self._line)
            start = max(0, end - _AROUND)
            self._line += self._text.count("\n", 0, start)
            self._text = self._text[start:]
            self._begin = end - start

    def rest(self, held: list[str]) -> Iterator[_Piece]:
        self._text += "".join(held)
        if self._begin < len(self._text):
            yield _Piece(self._text, self._begin, len(self._text), self._line)


# ----------------------------------------------------------------------------------------------------------- redacting


def _learned(redactor: Redactor, source: _Source) -> None:
    redactor.begin()
    redactor.learn(Record("text", number, piece.text) for number, piece in enumerate(_pieces(source)))


def _clean(redactor: Redactor, source: _Source, report: Report, hear: Hear) -> Iterator[tuple[str, bool]]:
    """Yield a text in order, without what is secret, and whether something went from the part."""
    places: Places | None = getattr(redactor, "places", None)
    done = 0
    for number, piece in enumerate(_pieces(source)):
        record = Record("text", number, piece.text)
        if places is None:
            yield _shape(redactor, piece), True
            continue
        found = places(record)
        report.looked(source.session, opened=bool(found))
        if found:
            report.changed(source.session)
        parts: list[str] = []
        # A secret that reached out of the last part was taken out with it.
        at = piece.begin + max(0, done)
        for place in found:
            if place.end <= at or place.start >= piece.end:
                continue
            parts += (piece.text[at : max(at, place.start)], place.new)
            at = place.end
            if place.rule == "media":
                report.media(source.session)
                continue
            kind = "json" if place.names else "text"
            names, session = place.names, source.session
            again, tag = place.again, place.tag
            report.found(rule=place.rule, strength=place.strength, tag=tag, session=session, kind=kind, names=names, again=again)
            hear(_finding(source, piece, place))
        done = at - piece.end
        parts.append(piece.text[at : piece.end] if at < piece.end else "")
        yield "".join(parts), len(parts) > 1


def _shape(redactor: Redactor, piece: _Piece) -> str:
    """Return what a redactor leaves that keeps no text, and so has no places to tell: JSON stays JSON, lines stay lines."""
    text = piece.text[piece.begin : piece.end]
    ending = "\n" if text.endswith("\n") else ""
    body = text.strip(" \t\r\n\ufeff")
    values = [jsontext.loads(body)] if _is_json(body) else text.removesuffix("\n").split("\n")
    records = redactor.apply(Record("text", number, value) for number, value in enumerate(values))
    shapes = (record.data if isinstance(record.data, str) else jsontext.dumps(record.data).decode() for record in records)
    return "\n".join(shapes) + ending


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")
_STRENGTHS = {1: "weak", 2: "medium", 3: "strong"}


def _finding(source: _Source, piece: _Piece, place: Any) -> Finding:
    return Finding(
        file=source.name,
        line=piece.line + piece.text.count("\n", 0, place.start),
        column=place.start - piece.text.rfind("\n", 0, place.start),
        rule=place.rule,
        strength=_STRENGTHS[place.strength],
        length=_class_of(place.length),
        tag=place.tag,
        again=place.again,
        name=place.names[-1] if place.names and _NAME.fullmatch(place.names[-1]) else "",
    )


def _class_of(length: int) -> str:
    low = 1 << (max(1, length).bit_length() - 1)
    return f"{low}-{2 * low - 1}"


def redact_path(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str] | BinaryIO | None,
    *,
    redactor: Redactor,
    report: Report | None = None,
    in_place: bool = False,
    force: bool = False,
    copy_binary: bool = False,
    hear: Hear | None = None,
    examine: Examine | None = None,
    listen: Listener = ignore,
) -> Outcome:
    """
    Redact a file, a folder with all that is in it, or standard input ("-").

    Args:
        output: A file; for a folder a folder, which gets the same layout; a stream; or None with `in_place`.
        redactor: Made by `satchel.redaction.building.build`; `report` is the one that it tells.
        in_place: Give the redacted file the name and the mode of the original.
        force: Overwrite what is there.
        copy_binary: Copy files that are no text as they are; otherwise they are left out.
        hear: Is told of each place.
        examine: Looks at each file, given by name and path, before it gets its final name, and raises to prevent that.

    Raises:
        SatchelError: Nothing of the file at hand is under its final name; files of a folder that were finished before stay.
    """
    if in_place:
        _spare_stores(path)
    elif isinstance(output, str | os.PathLike):
        spare(find_all(), output)
    outcome = Outcome(report=report if report is not None else Report())
    run = _Run(redactor, outcome, force=force, copy_binary=copy_binary, hear=hear, examine=examine, listen=listen)
    with _located(path) as (found, name):
        if stat.S_ISDIR(os.stat(found).st_mode):
            if in_place:
                run.folder(found, found)
            elif isinstance(output, str | os.PathLike):
                run.folder(found, Path(output))
            else:
                raise UsageError(f"{name} is a folder: name a folder to write into, with -o, or say --in-place", subject=name)
        elif in_place:
            run.file(found, found, name)
        elif output is None:
            raise UsageError("name an output, or say --in-place")
        elif isinstance(output, str | os.PathLike):
            target = Path(output)
            run.file(found, target / run.safe(Path(name).name) if target.is_dir() else target, name)
        else:
            run.file(found, output, name)
    outcome.output = os.fspath(output) if isinstance(output, str | os.PathLike) else None
    return outcome


def _spare_stores(path: str | os.PathLike[str]) -> None:
    """Make sure that nothing in the stores of agents is redacted where it stands. Raises UsageError."""
    target = os.path.join(real_path(os.path.expanduser(path)), "")
    for source in find_all():
        store = os.path.join(real_path(source.path), "")
        if target.startswith(store) or store.startswith(target):
            raise UsageError(
                f"{os.fspath(path)} is, or holds, what belongs to the session store {source.path}: its agent would take placeholders "
                "for what was there; redact a copy, with -o",
                subject=os.fspath(path),
            )


def scan_path(
    path: str | os.PathLike[str],
    *,
    redactor: Redactor,
    report: Report | None = None,
    hear: Hear | None = None,
    opinions: Callable[[Sequence[tuple[str, str]]], Sequence[Opinion]] | None = None,
    listen: Listener = ignore,
) -> Outcome:
    """
    Look for secrets in a file, a folder with all that is in it, or standard input ("-"), and write nothing.

    Args:
        opinions: Gives what other scanners find in files, each named and with its path; that is told too.

    Raises:
        SatchelError: Nothing is there, it can't be read, or a rule failed.
    """
    outcome = Outcome(report=report if report is not None else Report())
    run = _Run(redactor, outcome, hear=hear, listen=listen)
    with _located(path) as (found, name):
        if stat.S_ISDIR(os.stat(found).st_mode):
            run.folder(found, None)
        else:
            run.file(found, None, name)
        if opinions is not None:
            run.other(opinions)
    return outcome


def explained(finding: Finding, policy: Policy | None = None) -> str:
    """Return a finding as one line; with a policy it says why."""
    where = f"{finding.file}:{finding.line}:{finding.column}"
    under = f" under {finding.name}" if finding.name else ""
    tag = f" [REDACTED:{finding.rule}:{finding.tag}]" if finding.tag else ""
    line = (
        f"{where}: {finding.rule} ({finding.strength}, {finding.length} characters){under}{tag}"
        if finding.tag
        else f"{where}: {finding.rule}"
    )
    if policy is not None:
        why = "known from another place in this file; " if finding.again else ""
        line += f": {why}{described(finding.rule, policy)}"
    return terminal_line(line)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder; standard input is none."""
    return os.fspath(path) != "-" and os.path.isdir(os.path.expanduser(path))


@contextmanager
def _located(path: str | os.PathLike[str]) -> Iterator[tuple[Path, str]]:
    """Give the file that a name means, and how it is called; standard input is kept in a private file meanwhile."""
    if os.fspath(path) != "-":
        found = Path(os.path.expanduser(path))
        try:
            mode = os.stat(found).st_mode
        except (FileNotFoundError, NotADirectoryError, ValueError):
            raise NotFound(f"{found} does not exist", subject=str(found)) from None
        except OSError as error:
            raise StoreError(f"{found} can't be looked at: {error.strerror or error}", subject=str(found)) from error
        if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
            raise UsageError(
                f"{found} is a device or a pipe, not a file: pipe it into standard input, with -", subject=str(found)
            )
        yield found, os.fspath(path)
        return
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("- reads standard input, and that is a terminal: pipe a file into it")
    handle, kept = tempfile.mkstemp(prefix="satchel-stdin-")
    try:
        with os.fdopen(handle, "wb") as spool:
            shutil.copyfileobj(sys.stdin.buffer, spool, 1 << 20)
        yield Path(kept), "-"
    finally:
        os.unlink(kept)


class _Run:
    """One run: the redactor, what is told to whom, and what was done."""

    def __init__(
        self,
        redactor: Redactor,
        outcome: Outcome,
        *,
        force: bool = False,
        copy_binary: bool = False,
        hear: Hear | None = None,
        examine: Examine | None = None,
        listen: Listener = ignore,
    ) -> None:
        self._examine = examine
        self._seen: list[tuple[str, str]] = []
        self._redactor = redactor
        self._outcome = outcome
        self._force = force
        self._copy_binary = copy_binary
        self._hear_each = hear
        self._listen = listen

    def _hear(self, finding: Finding) -> None:
        self._outcome.findings += 1
        if self._hear_each is not None:
            self._hear_each(finding)

    def other(self, opinions: Callable[[Sequence[tuple[str, str]]], Sequence[Opinion]]) -> None:
        """Tell what other scanners find in the files that were looked at."""
        for opinion in opinions(self._seen):
            self._hear(Finding(opinion.file, opinion.line, 1, opinion.rule, "other", "", "", False, ""))

    def safe(self, name: str) -> str:
        """Return a file's name without what is secret in it; a placeholder there is spelled so that every system takes it."""
        clean = self._redactor.text(name)
        return name if clean == name else re.sub(r"\[REDACTED:([a-z0-9-]+):([0-9a-f]+)\]", r"REDACTED-\1-\2", clean)

    def folder(self, folder: Path, output: Path | None) -> None:
        """Go through all files of a folder, by name; links are not followed."""
        if output is not None and output != folder and _is_below(output, folder):
            raise UsageError(
                f"{output} lies in {folder}, which is read: choose another folder to write into", subject=str(output)
            )
        files = sorted(self._walk(folder))
        taken: set[str] = set()
        for number, relative in enumerate(files, 1):
            to: Path | None = None
            if output is not None:
                self._redactor.begin()
                name = relative if output == folder else "/".join(map(self.safe, relative.split("/")))
                if name in taken:
                    raise TargetError(f"two files of {folder} would get the same name once redacted: rename one", subject=name)
                taken.add(name)
                to = output / name
            self.file(folder / relative, to, relative)
            self._listen(Progress(number, len(files)))

    def _walk(self, folder: Path) -> Iterator[str]:
        def tell(error: OSError) -> None:
            self._pass_over(str(error.filename or folder), f"it can't be looked into: {error.strerror or error}", lost=1)

        for place, folders, files in os.walk(folder, onerror=tell):
            folders.sort()
            for name in sorted(files + [name for name in folders if os.path.islink(os.path.join(place, name))]):
                path = Path(place, name)
                relative = path.relative_to(folder).as_posix()
                mode = os.lstat(path).st_mode
                if stat.S_ISREG(mode):
                    yield relative
                else:
                    self._pass_over(relative, "a symbolic link" if stat.S_ISLNK(mode) else "no regular file")

    def _pass_over(self, name: str, why: str, *, lost: int = 0) -> None:
        self._outcome.skipped += 1
        self._outcome.lost += lost
        name = self._redactor.text(name)
        self._listen(Problem(name, f"left out: {why}", "loss" if lost else "warning", lost))

    def file(self, path: Path, output: Path | BinaryIO | None, name: str) -> None:
        """Redact one file to a path, a stream, or only look."""
        try:
            source = _Source(path, self._redactor.text(name))
        except OSError as error:
            raise StoreError(f"{name} can't be read: {error.strerror or error}", subject=name) from error
        if isinstance(output, Path) and os.path.islink(output) and output == path:
            raise UsageError(f"{name} is a symbolic link: name the file itself", subject=name)
        if not source.is_text and not (self._copy_binary and output is not None):
            self._pass_over(
                name, "it is no text (--copy-binary copies such files as they are)" if output is not None else "it is no text"
            )
            return
        if source.is_text:
            _learned(self._redactor, source)
            if isinstance(self._redactor, Scoped):
                self._redactor.enter(source.session)
        if output is None:
            for _ in _clean(self._redactor, source, self._outcome.report, self._hear):
                pass
            self._outcome.files += 1
            source.check()
            self._seen.append((source.name, os.fspath(path)))
            return
        if isinstance(output, Path):
            self._into_file(source, output, in_place=output == path)
        elif self._examine is None:
            with PipeTarget(output) as pipe:
                stream = pipe.stream()
                self._outcome.changed += self._write(source, stream.write)
                pipe.finish(stream)
                source.check()
        else:
            # What went down a pipe can't be taken back: it is kept until it was looked at.
            with tempfile.TemporaryDirectory(prefix="satchel-redact-") as private:
                kept = Path(private, "output")
                self._into_file(source, kept, in_place=False)
                with open(kept, "rb") as file:
                    shutil.copyfileobj(file, output, 1 << 20)
        self._outcome.files += 1

    def _into_file(self, source: _Source, output: Path, *, in_place: bool) -> None:
        with FileTarget(output, force=self._force or in_place, listen=self._listen) as target:
            target.check()
            stream = target.aside(target.name)
            changed = self._write(source, stream.write)
            item = target.close(stream)
            source.check()
            if self._examine is not None:
                self._examine([(source.name, item.temporary)])
            if in_place and not changed:
                target.drop(item)  # It says the same: not even its time has to change.
            else:
                target.place(item, replace=self._force or in_place)
        if in_place and changed:
            os.chmod(output, source.mode)
        self._outcome.changed += changed

    def _write(self, source: _Source, write: Callable[[bytes], object]) -> bool:
        if not source.is_text:
            with ExitStack() as stack:
                file = _opened(stack, source.path, "")
                while data := file.read(1 << 20):
                    write(data)
                    self._outcome.bytes += len(data)
            self._outcome.copied += 1
            return False
        changed = False
        with _packed(source.packing, write) as pack, _searched(self._redactor, source, pack) as put:
            for text, touched in _clean(self._redactor, source, self._outcome.report, self._hear):
                data = source.encoded(text)
                self._outcome.bytes += len(data)
                changed = changed or touched
                put(data)
        return changed


class _Into:
    """A target of one stream that hands on what it gets."""

    def __init__(self, name: str, put: Callable[[bytes], object]) -> None:
        self.name = name
        self.write = put

    def stream(self, name: str | None = None, /) -> _Into:
        return self

    def finish(self, stream: Stream, /) -> None:
        pass


@contextmanager
def _searched(redactor: Redactor, source: _Source, put: Callable[[bytes], object]) -> Iterator[Callable[[bytes], object]]:
    """Give what takes bytes and hands them on once the redactor's gate has searched them."""
    if not isinstance(redactor, Gated) or source.encoding != "utf-8":
        yield put
        return
    target = redactor.gate().over(_Into(source.name, put))
    stream = target.stream(source.name)
    yield stream.write
    target.finish(stream)


@contextmanager
def _packed(packing: Packing, write: Callable[[bytes], object]) -> Iterator[Callable[[bytes], object]]:
    """Give what packs bytes as the original was packed, and writes them; the same bytes give the same."""
    if not packing:
        yield write
        return
    if packing == "zstd":
        import zstandard

        packer = zstandard.ZstdCompressor(level=3, write_checksum=True).compressobj()
        yield lambda data: write(packer.compress(data))
        write(packer.flush())
        return
    import zlib

    head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    squeeze = zlib.compressobj(6, zlib.DEFLATED, -15)
    total, check = 0, 0
    write(head)

    def add(data: bytes) -> None:
        nonlocal total, check
        total, check = total + len(data), zlib.crc32(data, check)
        write(squeeze.compress(data))

    yield add
    write(squeeze.flush())
    write(check.to_bytes(4, "little") + (total & 0xFFFFFFFF).to_bytes(4, "little"))


def _is_below(path: Path, folder: Path) -> bool:
    return os.path.join(os.path.realpath(path), "").startswith(os.path.join(os.path.realpath(folder), ""))
