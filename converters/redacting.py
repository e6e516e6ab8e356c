"""
Redacts and scans files: any text, JSON, or JSON Lines, packed by gzip or zstandard or not.

Each file is a scope of its own and is gone over twice: what one line shows to be secret goes from every line. Memory holds a
window of a text, a line of JSON Lines, or a JSON document of up to 8 MB; a larger document is gone through as text. Output
appears under its name when it is whole; what was not changed keeps every byte.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

from satchel import jsontext, standard_input
from satchel.contracts import Gated, Record, Redactor, Scoped, Stream
from satchel.errors import NotFound, StoreError, TargetError, UsageError
from satchel.events import Listener, Problem, Progress, ignore
from satchel.manifest.target import FileTarget, PipeTarget
from satchel.naming import terminal_line
from satchel.redaction import media
from satchel.redaction.explaining import described
from satchel.redaction.placeholders import PLACEHOLDER, spelled
from satchel.redaction.policy import Policy
from satchel.redaction.report import Report
from satchel.second_opinion import Opinion
from satchel.sources import find_all, real_path, spare
from satchel.text_files import Piece, TextFile, is_json, packed, pieces

__all__ = ["Finding", "Outcome", "explained", "is_folder", "redact_path", "scan_path"]


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


# ----------------------------------------------------------------------------------------------------------- redacting


def _learned(redactor: Redactor, source: TextFile) -> None:
    redactor.begin()
    redactor.learn(Record("text", number, piece.text) for number, piece in enumerate(pieces(source)))


def _clean(redactor: Redactor, source: TextFile, report: Report, hear: Hear) -> Iterator[tuple[str, bool]]:
    """Yield a text in order, without what is secret, and whether something went from the part."""
    places: Places | None = getattr(redactor, "places", None)
    done = 0
    for number, piece in enumerate(pieces(source)):
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
            if place.rule == media.RULE:
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


def _shape(redactor: Redactor, piece: Piece) -> str:
    """Return what a redactor leaves that keeps no text, and so has no places to tell: JSON stays JSON, lines stay lines."""
    text = piece.text[piece.begin : piece.end]
    ending = "\n" if text.endswith("\n") else ""
    body = text.strip(" \t\r\n\ufeff")
    values = [jsontext.loads(body)] if is_json(body) else text.removesuffix("\n").split("\n")
    records = redactor.apply(Record("text", number, value) for number, value in enumerate(values))
    shapes = (record.data if isinstance(record.data, str) else jsontext.dumps(record.data).decode() for record in records)
    return "\n".join(shapes) + ending


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")
_STRENGTHS = {1: "weak", 2: "medium", 3: "strong"}


def _finding(source: TextFile, piece: Piece, place: Any) -> Finding:
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
        spare((), output)
    outcome = Outcome(report=report if report is not None else Report())
    run = _Run(redactor, outcome, force=force, copy_binary=copy_binary, hear=hear, examine=examine, listen=listen)
    with _located(path) as (found, name):
        if isinstance(found, Path) and found.is_dir():
            if in_place:
                run.folder(found, found)
            elif isinstance(output, str | os.PathLike):
                run.folder(found, Path(output))
            else:
                raise UsageError(f"{name} is a folder: name a folder to write into, with -o, or say --in-place", subject=name)
        elif in_place and isinstance(found, Path):
            run.file(found, found, name, alone=True)
        elif output is None:
            raise UsageError("name an output, or say --in-place")
        elif isinstance(output, str | os.PathLike):
            target = Path(output)
            if target.is_dir() and name == "-":
                raise UsageError(f"{target} is a folder, and standard input has no name: name a file in it", subject=str(target))
            run.file(found, target / run.safe(Path(name).name) if target.is_dir() else target, name, alone=True)
        else:
            run.file(found, output, name, alone=True)
    outcome.output = os.fspath(output) if isinstance(output, str | os.PathLike) else None
    return outcome


def _spare_stores(path: str | os.PathLike[str]) -> None:
    """Make sure that nothing in the stores of agents is redacted where it stands. Raises UsageError."""
    target = os.path.join(real_path(os.path.expanduser(path)), "")
    for source in find_all():
        store = os.path.join(real_path(source.path), "")
        if target.startswith(store) or store.startswith(target):
            raise UsageError(
                f"{os.fspath(path)} is, or holds, what belongs to the session store {source.path}: its agent would take "
                "placeholders for what was there; redact a copy, with -o",
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
    with _located(path, named=opinions is not None) as (found, name):
        if isinstance(found, Path) and found.is_dir():
            run.folder(found, None)
        else:
            run.file(found, None, name, alone=True)
        if opinions is not None:
            run.other(opinions)
    return outcome


def explained(finding: Finding, policy: Policy | None = None) -> str:
    """Return a finding as one line; with a policy it says why."""
    where = f"{finding.file}:{finding.line}:{finding.column}"
    under = f" under {finding.name}" if finding.name else ""
    line = f"{where}: {finding.rule}"
    if finding.tag:
        line += f" ({finding.strength}, {finding.length} characters){under} {spelled(finding.rule, finding.tag)}"
    if policy is not None:
        why = "known from another place in this file; " if finding.again else ""
        line += f": {why}{described(finding.rule, policy)}"
    return terminal_line(line)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder; standard input is none."""
    return os.fspath(path) != "-" and os.path.isdir(os.path.expanduser(path))


@contextmanager
def _located(path: str | os.PathLike[str], *, named: bool = False) -> Generator[tuple[Path | IO[bytes], str]]:
    """
    Give the file that a name means, and how it is called; standard input is kept in a private file meanwhile.

    Args:
        named: Other programs look at the file, so that it needs a path.
    """
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
    with standard_input.named(asked="-") if named else standard_input.nameless(asked="-") as kept:
        yield kept, "-"


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
        return name if clean == name else PLACEHOLDER.sub(r"REDACTED-\1-\2", clean)

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
            try:
                self.file(folder / relative, to, relative)
            except StoreError as error:
                # One that can't be read is named, and costs itself.
                self._pass_over(relative, error.message, lost=1)
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

    def file(self, path: Path | IO[bytes], output: Path | BinaryIO | None, name: str, *, alone: bool = False) -> None:
        """Redact one file to a path, a stream, or only look; one that is `alone` has to be a text. Raises StoreError."""
        try:
            source = TextFile(path, self._redactor.text(name))
        except OSError as error:
            raise StoreError(f"{name} can't be read: {error.strerror or error}", subject=name) from error
        if isinstance(output, Path) and os.path.islink(output) and output == path:
            raise UsageError(f"{name} is a symbolic link: name the file itself", subject=name)
        if not source.is_text and not (self._copy_binary and output is not None):
            if alone:
                why = f"{name} is no text, so nothing can be taken out of it (sessions of a store: satchel export --redact)"
                raise StoreError(why, subject=name)
            more = " (--copy-binary copies such files as they are)" if output is not None else ""
            self._pass_over(name, f"it is no text{more}")
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
            if isinstance(path, Path):
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

    def _into_file(self, source: TextFile, output: Path, *, in_place: bool) -> None:
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

    def _write(self, source: TextFile, write: Callable[[bytes], object]) -> bool:
        if not source.is_text:
            for data in source.data():
                write(data)
                self._outcome.bytes += len(data)
            self._outcome.copied += 1
            return False
        changed = False
        # The gate reads UTF-8: what is written otherwise is searched before it is encoded.
        gate = self._redactor.gate() if isinstance(self._redactor, Gated) and source.encoding != "utf-8" else None
        with packed(source.packing, write) as pack, _searched(self._redactor, source, pack) as put:
            for text, touched in _clean(self._redactor, source, self._outcome.report, self._hear):
                data = source.encoded(text)
                if gate is not None:
                    gate.text(text.encode("utf-8", "surrogatepass"), source.name)
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
def _searched(redactor: Redactor, source: TextFile, put: Callable[[bytes], object]) -> Generator[Callable[[bytes], object]]:
    """Give what takes bytes and hands them on once the redactor's gate has searched them."""
    if not isinstance(redactor, Gated) or source.encoding != "utf-8":
        yield put
        return
    target = redactor.gate().over(_Into(source.name, put))
    stream = target.stream(source.name)
    yield stream.write
    target.finish(stream)


def _is_below(path: Path, folder: Path) -> bool:
    return os.path.join(os.path.realpath(path), "").startswith(os.path.join(os.path.realpath(folder), ""))
