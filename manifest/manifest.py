"""
Write the manifest of a run, while the run goes on.

The order in which things become durable, and what a crash leaves at each point:

1. The partial manifest (`satchel.manifest.unfinished`) lists a batch of files; then the files get their final names. A crash
   leaves whole files, a partial manifest that knows them, and no manifest of this run.
   Before the last batch gets them, the manifest and `SHA256SUMS` are complete and flushed under temporary names.
2. When all files are in place, `SHA256SUMS` is replaced. A crash leaves it one digest ahead: that of the manifest to come.
3. An older manifest is kept as `manifest.<n>.jsonl`, a second name of the same file.
4. The manifest gets its final name. It is the last thing to appear.
5. The partial manifest is removed, and with it the lock.

So a manifest that is there was sealed when everything in it was durable. A folder that had one before keeps that until step 4:
where this run replaced a file it lists, it gives the old digest, and says no. It never says yes to bytes it does not describe.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

from satchel.errors import ManifestError, TargetError, TargetExists
from satchel.events import Listener, Problem, ignore
from satchel.manifest.carried import Carried, Section, Tally, as_count, compose, look_back, sections_of
from satchel.manifest.disk import failure
from satchel.manifest.lines import (
    BESIDE,
    FOLDER,
    SCHEMA,
    SHARED,
    VERSION,
    Manifest,
    header_of,
    is_own_manifest,
    kept_name,
    manifest_in,
    put_seal,
    read_manifest,
    sums_in,
    sums_line,
)
from satchel.manifest.paths import CHUNK, hidden_name, is_temporary, sha256_of, shown, sweep, unsafe_because
from satchel.manifest.stream import FileEntry
from satchel.manifest.target import DirectoryTarget, FileTarget, Ready
from satchel.manifest.unfinished import Unfinished

__all__ = ["SESSION_KEYS", "Manifest", "ManifestWriter", "read_manifest"]

SESSION_KEYS = (
    "session_id",
    "agent",
    "lineage_session_ids",
    "file",
    "line",
    "messages",
    "compacted",
    "rewound",
    "message_count",
    "content_digest",
    "source_digest",
    "incomplete",
    "lost",
    "losses",
)
"""The keys of a session line, in their order; further ones follow in the caller's."""


class ManifestWriter:
    """
    The manifest of one run into a target; a context manager, entered before the first file is started.

    Leaving it without an error seals it, when `seal` was not called. Leaving it after an error leaves no manifest, and a partial
    one only where files of this run are in place already: the next run into the folder takes those over.

    In a folder with a sealed manifest of ours, what that one lists is compared with the disk first, and the lines of files that
    this run does not write again are carried over. The older manifest is kept under a number, unless the new one is the same.

    Attributes:
        path: Where the manifest is, once it is sealed.
        sealed: Whether it is.
    """

    def __init__(
        self,
        target: FileTarget | DirectoryTarget,
        /,
        *,
        format: str,
        version: str,
        rules: str | None = None,
        options: Mapping[str, Any] | None = None,
        listen: Listener = ignore,
    ) -> None:
        """
        Args:
            target: Where the run writes to.
            format: Name of the format that is written.
            version: Satchel's own.
            rules: SHA-256 of the redaction rules in hex, None when nothing is redacted.
            options: What else shapes the output, JSON-ready; nothing that differs between two equal runs.
            listen: Told of what is odd about the folder.
        """
        from satchel.jsontext import dumps

        self.sealed = False
        self._dumps = dumps
        self._target = target
        self._format = format
        self._listen = listen
        writer = f"satchel {version}"
        header = {"type": "header", "schema": SCHEMA, "version": VERSION, "writer": writer}
        self._header = dumps(header | {"format": format, "rules": rules, "options": dict(options or {})}) + b"\n"
        self._tally = Tally()
        self._by_file: dict[str, _OfFile] = {}
        self._announced: Sequence[FileEntry] = ()
        self._carried = Carried()
        self._old: Manifest | None = None
        self._name = ""
        self._partial: Unfinished | None = None

    @property
    def path(self) -> str:
        return os.path.join(self._target.root, self._name)

    def __enter__(self) -> Self:
        target = self._target
        target.prepare()
        if isinstance(target, FileTarget):
            self._name = target.name + BESIDE
            if why := unsafe_because(target.name) or unsafe_because(self._name):
                raise TargetError(f"{shown(target.name)} cannot stand in a manifest: {why}; use another name, or no manifest")
        else:
            self._name = manifest_in(target.root)
        partial = Unfinished(os.path.join(target.root, hidden_name(self._name, ".partial")), listen=self._listen)
        self._partial = partial
        try:
            self._look_back(partial)
            self._check_free()
            target.tag = partial.tag
            target.replaceable = self._carried.unfinished
            target.announce = self._announce
            if isinstance(target, DirectoryTarget):
                target.deferred = True
                target.reserved = _is_reserved
            partial.write(self._header)
            partial.flush()  # at once: by its header the next run knows it
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None:
        if kind is not None:
            self._leave()
        elif not self.sealed:
            self.seal()

    def session(self, line: Mapping[str, Any], /) -> None:
        """
        Write the line of a session, once its file's part of it is written; keys as in `SESSION_KEYS`.

        `file` is the relative name of its file, None for a session that went into none; `lost` is how many of its records could
        not be read or written.

        Raises:
            TargetExists: A file that was to be put in place now appeared meanwhile.
            TargetError: The disk refused.
        """
        row: dict[str, Any] = {"type": "session"}
        for key in SESSION_KEYS:
            if key in line:
                row[key] = line[key]
        if len(row) <= len(line):
            row |= {key: value for key, value in line.items() if key not in row}
        self._open_partial().write(self._dumps(row) + b"\n")
        self._tally.add(row)
        name = row.get("file")
        if isinstance(name, str):
            of_file = self._by_file.get(name)
            if of_file is None:
                of_file = self._by_file[name] = _OfFile(row.get("session_id"), row.get("lineage_session_ids"))
            of_file.sessions += 1
            of_file.messages += as_count(row.get("message_count"))
        if isinstance(self._target, DirectoryTarget):
            self._target.settle()

    def seal(self, *, lost: int = 0) -> None:
        """
        Put all finished files in place, then the checksums and the manifest.

        Args:
            lost: Sessions and records that could not be read or written and that no session line counts.

        Raises:
            ManifestError: A session line names a file that was not written.
            TargetExists: A file that was to be put in place appeared meanwhile.
            TargetError: The disk refused.
        """
        partial = self._open_partial()
        made: list[_Made] = []

        def before(entries: Sequence[FileEntry]) -> None:
            for name in self._by_file:
                raise ManifestError(f"a session is said to be in {shown(name)}, which was not written", subject=name)
            files = [*self._target.files, *entries]
            for entry in files:
                self._carried.files.pop(entry.path, None)
            if lost:
                partial.write(self._dumps({"type": "loss", "lost": lost}) + b"\n")
            new = Section(partial.path, self._header, partial.inherited + len(self._header), partial.flush(), False)
            self._tally.lost += lost
            made.append(self._make(new, files))

        try:
            self._target.commit(before=before)
            self._publish(made[0])
        except OSError as error:
            self._leave()
            raise failure(error, self.path) from error
        except BaseException:
            self._leave()
            raise
        self.sealed = True
        self._target.announce = _too_late
        partial.remove()

    def _open_partial(self) -> Unfinished:
        if self._partial is None or self.sealed:
            raise ManifestError("the manifest is not open: nothing can be added to it", subject=self._name)
        return self._partial

    def _look_back(self, partial: Unfinished) -> None:
        root = self._target.root
        deep = isinstance(self._target, DirectoryTarget)
        sections: list[Section] = []
        try:
            if header_of(self.path) is not None:
                self._old = read_manifest(self.path)
                if deep:
                    sections += sections_of(self.path, self._old.end, sealed=self._old.sealed)
            if partial.found:
                sweep(root, tag=partial.tag, deep=deep)
                sections += sections_of(partial.path, partial.inherited, sealed=False)
            self._carried = look_back(root, sections)
        except OSError as error:
            raise ManifestError(f"{shown(self.path)} could not be read: {error.strerror or error}", subject=root) from error
        if problems := self._carried.problems:
            if not self._target.force:
                more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
                raise ManifestError(
                    f"{shown(root)} is not as its {self._name} says: {problems[0]}{more}. Look at it with `satchel verify`, "
                    "then export into another folder, or use --force to go on without these files",
                    subject=root,
                )
            for problem in problems:
                self._listen(Problem(root, f"{problem}, and is in the manifest no more"))
        if self._old is not None and not self._old.sealed and deep:
            self._listen(Problem(self.path, f"the older manifest is not sealed: {self._old.why}; what it lists rightly was kept"))

    def _check_free(self) -> None:
        target = self._target
        if isinstance(target, FileTarget):
            target.replaceable = self._carried.unfinished
            target.check()
            if os.path.lexists(self.path) and not target.force and target.name not in self._carried.unfinished:
                raise TargetExists(f"{shown(self.path)} exists already: use --force to overwrite it", subject=self.path)
        elif self._old is None:
            if os.path.lexists(self.path):
                raise TargetError(f"{shown(self.path)} is in the way: it is no manifest of Satchel", subject=self.path)
            if self._name == SHARED and os.path.islink(os.path.join(target.root, FOLDER)):
                message = f"{FOLDER} is a symbolic link, which is not followed: the manifest of this run is {SHARED}"
                self._listen(Problem(target.root, message))
            if self._name == FOLDER and not self._carried.sections:
                known = (hidden_name(FOLDER, ".partial"), sums_in(target.root, FOLDER))
                names = (name for name in os.listdir(target.root) if name not in known)
                # The name alone makes no older manifest: `verify` will look into it, too.
                others = [name for name in names if not (kept_name(name) and is_own_manifest(os.path.join(target.root, name)))]
                if others:
                    message = f"the folder holds other things already ({shown(min(others))}, …); verify will name each such file"
                    self._listen(Problem(target.root, message))

    def _announce(self, entries: Sequence[FileEntry]) -> None:
        partial = self._open_partial()
        self._announced = entries
        for entry in entries:
            of_file = self._by_file.pop(entry.path, None)
            alone = of_file is not None and of_file.sessions == 1
            row = {
                "type": "file",
                "path": entry.path,
                "bytes": entry.bytes,
                "sha256": entry.sha256,
                "format": self._format,
                "session_id": of_file.session_id if of_file and alone else None,
                "lineage_session_ids": of_file.lineage if of_file and alone and of_file.lineage is not None else [],
                "message_count": of_file.messages if of_file else 0,
                "sessions": of_file.sessions if of_file else 0,
            }
            partial.write(self._dumps(row) + b"\n")
            self._tally.add(row)
        partial.sync()

    def _make(self, new: Section, files: Sequence[FileEntry]) -> _Made:
        # The manifest and the checksums, durable under temporary names: a full disk is met while nothing else has its name.
        target, tally = self._target, self._tally
        stream = target.aside(self._name)
        above = hashlib.sha256()
        for piece in compose(self._carried, new, tally):
            above.update(piece)
            stream.write(piece)
        totals = {"type": "totals", "sessions": tally.sessions, "messages": tally.messages, "files": tally.files}
        totals |= {"bytes": tally.bytes, "lost": tally.lost, "covers": "folder" if self._name == FOLDER else "files"}
        whole = above
        stream.write(put_seal(self._dumps(totals), whole))
        sums = self._make_sums(whole.hexdigest(), files) if isinstance(target, DirectoryTarget) else None
        return _Made(target.close(stream), sums, self._old is not None and self._old.sha256 == whole.hexdigest())

    def _publish(self, made: _Made) -> None:
        target = self._target
        if made.sums is not None:
            target.place(made.sums, replace=True)
        if made.same:
            target.drop(made.manifest)
            return
        if isinstance(target, DirectoryTarget) and self._old is not None:
            self._keep_old()
        target.place(made.manifest, replace=self._old is not None or target.force)

    def _make_sums(self, manifest: str, files: Sequence[FileEntry]) -> Ready | None:
        target = self._target
        name = sums_in(target.root, self._name)
        entries = [*(entry for _, entry in self._carried.files.values()), *files]
        lines = [sums_line(entry.path, entry.sha256) for entry in sorted(entries, key=lambda entry: os.fsencode(entry.path))]
        lines.append(sums_line(self._name, manifest))
        data = b"".join(lines)
        path = os.path.join(target.root, name)
        try:
            with open(path, "rb") as file:
                if file.read(len(data) + 1) == data:
                    return None
        except OSError:
            pass
        stream = target.aside(name)
        stream.write(data)
        return target.close(stream)

    def _keep_old(self) -> None:
        root = self._target.root
        numbers = [
            kept[1]
            for name in os.listdir(root)
            if (kept := kept_name(name)) and kept[0] == self._name and is_own_manifest(os.path.join(root, name))
        ]
        number = max(numbers, default=0)
        stem = self._name.removesuffix(".jsonl")
        if number and os.path.getsize(self.path) == os.path.getsize(os.path.join(root, f"{stem}.{number}.jsonl")):
            # A run that died between this step and the next kept it already.
            buffer = bytearray(CHUNK)
            if sha256_of(os.path.join(root, f"{stem}.{number}.jsonl"), buffer) == sha256_of(self.path, buffer):
                return
        number += 1
        while os.path.lexists(os.path.join(root, f"{stem}.{number}.jsonl")):
            number += 1  # it is somebody else's
        name = f"{stem}.{number}.jsonl"
        try:
            os.link(self.path, os.path.join(root, name))
        except OSError:
            stream = self._target.aside(name)
            with open(self.path, "rb", buffering=0) as file:
                while block := file.read(CHUNK):
                    stream.write(block)
            self._target.place(self._target.close(stream), replace=False)

    def _leave(self) -> None:
        self._target.announce = _too_late
        # Before the partial manifest goes: without it, nobody would know them for what they are.
        self._target.give_up()
        if self._partial is not None:
            ours = bool(self._target.files) or any(map(self._is_in_place, self._announced))
            self._partial.leave(ours=ours, inherited=bool(self._carried.unfinished))

    def _is_in_place(self, entry: FileEntry) -> bool:
        # What was interrupted between giving a file its name and noting it.
        try:
            return sha256_of(os.path.join(self._target.root, entry.path), bytearray(CHUNK)) == (entry.bytes, entry.sha256)
        except OSError:
            return False


class _Made(NamedTuple):
    manifest: Ready
    sums: Ready | None
    same: bool


class _OfFile:
    __slots__ = ("lineage", "messages", "session_id", "sessions")

    def __init__(self, session_id: Any, lineage: Any) -> None:
        self.session_id = session_id
        self.lineage = lineage
        self.sessions = 0
        self.messages = 0


def _is_reserved(name: str) -> bool:
    return (
        name in (FOLDER, SHARED, "SHA256SUMS", "satchel-SHA256SUMS")
        or kept_name(name) is not None
        or name in (hidden_name(FOLDER, ".partial"), hidden_name(SHARED, ".partial"))
        or is_temporary(name)
    )


def _too_late(entries: Sequence[FileEntry]) -> None:
    for entry in entries:
        raise ManifestError(f"{shown(entry.path)} was finished after its manifest", subject=entry.path)
