"""
Where output goes: one file, a folder of files, or a pipe.

Writers never open files. They ask a target for a stream, write into it, and say when it is finished; the target hashes while it
writes and puts every file in its place only when it is whole:

1. a stream writes to a temporary name in the folder of the final one (mode 0600, nothing there is followed or reused);
2. `commit` flushes all finished files to the disk (up to 100 one by one, more with one `syncfs`), gives them their final names
   and flushes the folders;
3. leaving the target after an error removes whatever is not in place yet, temporary files and folders made for them alike.

So a file under its final name is complete, whatever happens. An existing file is never touched without `force`, also when it
appears while the run goes on. With `force` the name is replaced: a symbolic link there becomes the file, and what it pointed to
is left alone. The new file's mode obeys the umask, and is never wider than that of the file it replaces.

A run that was killed leaves temporary files. They never have a final name; the next run into the folder removes those of a dead
run with a manifest, whose partial one proves them to be its own, and names those that have been lying there for a day.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Self

from satchel.errors import TargetError, TargetExists
from satchel.events import FileWritten, Listener, Problem, ignore
from satchel.manifest.disk import CREATE, failure, flush_folder, into, quietly, rename_new, syncfs, umask
from satchel.manifest.paths import left_over, safe_relative, shown, temporary_name
from satchel.manifest.stream import FileEntry, HashingStream

if TYPE_CHECKING:
    from satchel import contracts

__all__ = ["DirectoryTarget", "FileEntry", "FileTarget", "HashingStream", "PipeTarget", "Ready"]

_BATCH_FILES = 256
_BATCH_BYTES = 256 << 20
_SYNC_ALONE = 100


class _Open(NamedTuple):
    fd: int
    temporary: str
    mode: int


class Ready(NamedTuple):
    """A file that is written and waits for its name."""

    entry: FileEntry
    temporary: str
    mode: int
    identity: tuple[int, int]


class _Files:
    """What the two targets on disk share: everything but which names there are and when a batch is full."""

    def __init__(self, folder: str, *, force: bool, listen: Listener) -> None:
        self.root = folder
        self.force = force
        self.files: list[FileEntry] = []
        self.replaceable: frozenset[str] = frozenset()
        """Names that may be overwritten though `force` is off: files of an unfinished run."""
        self.announce: Callable[[Sequence[FileEntry]], None] | None = None
        """Told of the files that are about to get their final names."""
        self.examine: Callable[[Sequence[tuple[str, str]]], None] | None = None
        """Shown the files that are about to get their final names, each by that name and by where it is; it may raise."""
        self.tag = os.urandom(3).hex()[:5]
        self._listen = listen
        self._mode = 0o666 & ~umask()
        self._root_fd = -1
        self._count = 0
        self._names: set[str] = set()
        self._folders: set[str] = set()
        self._made: list[str] = []
        self._unsynced: set[str] = set()
        self._temporary: set[str] = set()
        self._open: dict[HashingStream, _Open] = {}
        self._ready: list[Ready] = []
        self._ready_bytes = 0
        self._failed = False
        self._placed: set[tuple[int, int]] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None:
        try:
            if kind is None:
                if self._open:
                    name = next(iter(self._open)).name
                    raise TargetError(f"{shown(name)} was started and never finished", subject=name)
                self.commit()
        except BaseException:
            self._discard(failed=True)
            raise
        self._discard(failed=kind is not None)

    def prepare(self) -> None:
        """
        Make the folder, with its parents. Does nothing the second time.

        Raises:
            TargetError: It cannot be made, or something else has its name.
        """
        if "" in self._folders:
            return
        missing: list[str] = []
        at = self.root
        while not os.path.isdir(at):
            if os.path.lexists(at):
                raise TargetError(f"{shown(at)} is not a folder, so nothing can be written into it", subject=at)
            missing.append(at)
            at = os.path.dirname(at)
        for folder in reversed(missing):
            self._make(folder)
        self._folders.add("")
        try:
            # Held open from before the first write, so that syncfs reports every error since.
            self._root_fd = os.open(self.root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0))
        except OSError:
            self._root_fd = -1  # a folder that may be written to and not read

    def finish(self, stream: contracts.Stream, /) -> None:
        """
        Close a stream; its file waits under its temporary name for the next `commit`.

        Raises:
            TargetError: The rest of it cannot be written, or it is no open stream of this target.
        """
        if not isinstance(stream, HashingStream) or stream not in self._open or stream.name not in self._names:
            raise TargetError("a stream was finished that this target did not open, or finished before")
        self._ready.append(self._close(stream))
        self._ready_bytes += stream.bytes

    def commit(self, *, before: Callable[[Sequence[FileEntry]], None] | None = None) -> None:
        """
        Make all finished files durable under their final names. The files of one call survive a crash all or in part, each whole.

        Args:
            before: Called with these files when they are durable, just before they get their names: what may fail, fails here.

        Raises:
            TargetExists: A file of that name appeared meanwhile; it was not touched.
            TargetError: The disk refused.
        """
        if self._failed:
            raise TargetError(f"the output in {shown(self.root)} cannot be completed: a file could not be put in place before")
        ready = self._ready
        self._failed = True  # until all is in place: whoever goes on after an error must not get a manifest of it
        entries = [item.entry for item in ready]
        try:
            if ready:
                self._flush(ready)
                if self.examine is not None:
                    self.examine([(item.entry.path, item.temporary) for item in ready])
                if self.announce is not None:
                    self.announce(entries)
            if before is not None:
                before(entries)
        except OSError as error:
            raise failure(error, self.root) from error
        self._ready, self._ready_bytes = [], 0
        for item in ready:
            self._place(item, replace=self.force or item.entry.path in self.replaceable)
            self.files.append(item.entry)
        self._flush_folders()
        self._failed = False
        for item in ready:
            self._listen(FileWritten(path=self._path(item.entry.path), bytes=item.entry.bytes, sha256=item.entry.sha256))

    def aside(self, name: str, /) -> HashingStream:
        """Start a file that is not payload (a manifest, checksums), for `close` and then `place`. Raises TargetError."""
        self.prepare()
        return self._start(name, self._narrowed(self._path(name)))

    def close(self, stream: HashingStream, /) -> Ready:
        """Finish a stream of `aside` and make it durable under its temporary name. Raises TargetError."""
        item = self._close(stream)
        try:
            self._flush([item])
        except OSError as error:
            raise failure(error, self.root) from error
        return item

    def place(self, item: Ready, /, *, replace: bool) -> None:
        """
        Give what `close` returned its final name, durably.

        Raises:
            TargetExists: The name is taken, and `replace` is off.
            TargetError: The disk refused.
        """
        self._place(item, replace=replace)
        self._flush_folders()

    def drop(self, item: Ready, /) -> None:
        """Give up what `close` returned: nothing of it stays. Raises OSError."""
        os.unlink(item.temporary)
        self._temporary.discard(item.temporary)

    def give_up(self) -> None:
        """Remove every file that is not in place. Nothing can be put in place any more."""
        self._failed = True
        while self._open:
            _, opened = self._open.popitem()
            quietly(os.close, opened.fd)
        while self._temporary:
            quietly(os.unlink, self._temporary.pop())

    def _path(self, name: str) -> str:
        return os.path.join(self.root, name)

    def _begin(self, name: str) -> HashingStream:
        if name in self._names:
            raise TargetError(f"{shown(name)} was started twice in one run", subject=name)
        self.prepare()
        if not self._names:
            self._tell_left_over()
        folder = ""
        for part in name.split("/")[:-1]:
            folder = f"{folder}/{part}" if folder else part
            if folder not in self._folders:
                self._enter(folder)
                self._folders.add(folder)
        stream = self._start(name, self._free(name))
        self._names.add(name)
        return stream

    def _tell_left_over(self) -> None:
        found = sorted(left_over(self.root))
        if found:
            more = f" and {len(found) - 1} more like it" if len(found) > 1 else ""
            message = f"{shown(found[0])}{more} may be what a killed run left: remove it when you know that it is not wanted"
            self._listen(Problem(self.root, message))

    def _enter(self, folder: str) -> None:
        path = self._path(folder)
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            self._make(path)
            return
        except OSError as error:
            raise failure(error, path) from error
        if stat.S_ISLNK(mode):
            raise TargetError(f"{shown(path)} is a symbolic link; nothing is written through it", subject=path)
        if not stat.S_ISDIR(mode):
            raise TargetError(f"{shown(path)} is a file, and a folder of that name is needed", subject=path)

    def _make(self, path: str) -> None:
        self._made.append(path)
        try:
            os.mkdir(path)
        except FileExistsError:
            self._made.pop()
        except OSError as error:
            self._made.pop()
            raise failure(error, path) from error
        self._unsynced.add(os.path.dirname(path))

    def _free(self, name: str) -> int:
        # The mode for the new file, once it is sure that its name may be used.
        path = self._path(name)
        try:
            found = os.lstat(path)
            if stat.S_ISLNK(found.st_mode) and os.path.exists(path):
                found = os.stat(path)
        except FileNotFoundError:
            return self._mode
        except OSError as error:
            raise failure(error, path) from error
        if stat.S_ISDIR(found.st_mode):
            raise TargetError(f"{shown(path)} is a folder, and the output is a file: name a file in it", subject=path)
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISLNK(found.st_mode):
            raise TargetError(f"{shown(path)} is a device or a pipe, not a file: write to stdout instead", subject=path)
        if not self.force and name not in self.replaceable:
            raise TargetExists(f"{shown(path)} exists already: use --force to overwrite it, or another name", subject=path)
        return self._narrowed(path)

    def _narrowed(self, path: str) -> int:
        # What its owner closed to others is not opened by replacing it.
        try:
            found = os.lstat(path).st_mode
        except OSError:
            return self._mode
        return self._mode & found if stat.S_ISREG(found) else self._mode

    def _start(self, name: str, mode: int) -> HashingStream:
        folder, base = os.path.split(self._path(name))
        for _ in range(4096):
            self._count += 1
            temporary = os.path.join(folder, temporary_name(base, f"{self.tag}{self._count & 0xFFF:03x}"))
            self._temporary.add(temporary)
            try:
                fd = os.open(temporary, CREATE, 0o600)
                break
            except FileExistsError:
                self._temporary.discard(temporary)
            except OSError as error:
                raise failure(error, self._path(name)) from error
        else:
            raise TargetError(f"{shown(folder)} is full of temporary files of other runs", subject=folder)
        stream = HashingStream(name, into(fd, self._path(name)))
        self._open[stream] = _Open(fd, temporary, mode)
        return stream

    def _close(self, stream: HashingStream) -> Ready:
        stream._finish()
        opened = self._open[stream]
        try:
            status = os.fstat(opened.fd)
            del self._open[stream]
            os.close(opened.fd)
        except OSError as error:
            raise failure(error, self._path(stream.name)) from error
        entry = FileEntry(stream.name, stream.bytes, stream.sha256)
        return Ready(entry, opened.temporary, opened.mode, (status.st_dev, status.st_ino))

    def _flush(self, ready: Sequence[Ready]) -> None:
        if len(ready) > _SYNC_ALONE and self._root_fd >= 0:
            device = os.fstat(self._root_fd).st_dev
            if all(item.identity[0] == device for item in ready) and syncfs(self._root_fd):
                return
        for item in ready:
            # Not read-only: some systems flush only what was opened for writing.
            fd = os.open(item.temporary, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def _place(self, item: Ready, *, replace: bool) -> None:
        path = self._path(item.entry.path)
        try:
            os.chmod(item.temporary, item.mode)
            if replace:
                self._refuse_own(path)
                os.replace(item.temporary, path)
            else:
                rename_new(item.temporary, path)
        except FileExistsError as error:
            self._refuse_own(path)
            raise TargetExists(f"{shown(path)} appeared while the output was made; it was not touched", subject=path) from error
        except OSError as error:
            raise failure(error, path) from error
        self._placed.add(item.identity)
        self._temporary.discard(item.temporary)
        self._unsynced.add(os.path.dirname(path))

    def _refuse_own(self, path: str) -> None:
        # Where upper and lower case are the same, two names of one run can be one file.
        try:
            found = os.lstat(path)
        except OSError:
            return
        if (found.st_dev, found.st_ino) in self._placed:
            raise TargetError(f"{shown(path)} is the name of another file of this run on this file system", subject=path)

    def _flush_folders(self) -> None:
        while self._unsynced:
            flush_folder(self._unsynced.pop())

    def _discard(self, *, failed: bool) -> None:
        self.give_up()
        if failed:
            while self._made:
                quietly(os.rmdir, self._made.pop())
        if self._root_fd >= 0:
            quietly(os.close, self._root_fd)
            self._root_fd = -1


class FileTarget(_Files):
    """
    A target that is one file.

    The folder is made when it is not there. The file gets its name when the target is left, or at `commit`.

    Attributes:
        name: The file's name without its folder, as it stands in a manifest.
        root: Absolute path of the folder it is in.
        files: What is in place, in order.

    Raises:
        TargetError: The path can only be a folder.
    """

    def __init__(self, path: str | os.PathLike[str], *, force: bool = False, listen: Listener = ignore) -> None:
        text = os.fspath(path)
        folder, self.name = os.path.split(os.path.abspath(text))
        if not text or not self.name or text.endswith(("/", os.sep)) or os.path.basename(text) in (".", ".."):
            raise TargetError(f"'{shown(text)}' is a folder, and the output is a file: name a file in it", subject=text)
        super().__init__(folder, force=force, listen=listen)

    def check(self) -> None:
        """Raise what `stream` would raise for what is there already: TargetExists, or TargetError for a folder or device."""
        self._free(self.name)

    def stream(self, name: str | None = None, /) -> HashingStream:
        """
        Start the file; a name that is given says nothing here.

        Raises:
            TargetExists: The file exists, and `force` is off.
            TargetError: It cannot be made, or was started before.
        """
        if self._names:
            raise TargetError(f"the output is the one file {shown(self.name)}, and a second one was to be written", subject=name)
        return self._begin(self.name)


class DirectoryTarget(_Files):
    """
    A target that is a folder of files, with sub-folders where names hold "/".

    Finished files wait under temporary names and are put in place together: when 256 of them or 256 MiB wait, and when the target
    is left. Files that were in place before an error stay there: they are whole.

    Attributes:
        root: Absolute path of the folder.
        files: What is in place, in order.
        deferred: Whether full batches wait for `settle`, called by someone who knows a better moment.
        reserved: Names in the folder itself that no payload may have, as a predicate.
    """

    def __init__(self, path: str | os.PathLike[str], *, force: bool = False, listen: Listener = ignore) -> None:
        super().__init__(os.path.abspath(os.fspath(path)), force=force, listen=listen)
        self.deferred = False
        self.reserved: Callable[[str], bool] = lambda name: False

    def stream(self, name: str | None = None, /) -> HashingStream:
        """
        Start a file under a relative name.

        Raises:
            TargetExists: A file of that name exists, and `force` is off.
            TargetError: The name leads out of the folder, is reserved, was started before, or cannot be made.
        """
        if name is None:
            raise TargetError("the output is a folder, so each file in it needs a name")
        if self.reserved(safe_relative(name)):
            raise TargetError(f"{shown(name)} is the name of a file that Satchel keeps about the folder itself", subject=name)
        return self._begin(name)

    def finish(self, stream: contracts.Stream, /) -> None:
        """
        Close a stream; its file waits under its temporary name until a batch is full.

        Raises:
            TargetError: The rest of it cannot be written, or it is no open stream of this target.
        """
        super().finish(stream)
        if not self.deferred:
            self.settle()

    def whole(self, name: str, data: bytes, /) -> None:
        """
        Write a file at once that several runs, or sessions, may share: one that is there already with these bytes stays.

        Raises:
            TargetExists: Something else has its name.
            TargetError: It can't be written.
        """
        if name in self._names or self._holds(name, data):
            return
        stream = self.stream(name)
        stream.write(data)
        self.finish(stream)

    def _holds(self, name: str, data: bytes) -> bool:
        path = self._path(name)
        try:
            found = os.lstat(path)
            if not stat.S_ISREG(found.st_mode) or found.st_size != len(data) or name in self.replaceable:
                return False
            with open(path, "rb") as file:
                return file.read(len(data) + 1) == data
        except OSError:
            return False

    def settle(self) -> None:
        """Commit when a batch is full. Raises what `commit` raises."""
        if len(self._ready) >= _BATCH_FILES or self._ready_bytes >= _BATCH_BYTES:
            self.commit()


class PipeTarget:
    """
    A target that is a pipe or anything else that only takes bytes, such as stdout.

    What is written is out at once and cannot be taken back. A closed pipe is told by BrokenPipeError.

    Attributes:
        files: The one file, named "-", once it is finished.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.files: list[FileEntry] = []
        self._file = file
        self._stream: HashingStream | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None:
        if kind is None and self._stream is not None and not self.files:
            raise TargetError("the output to stdout was started and never finished")

    def stream(self, name: str | None = None, /) -> HashingStream:
        """Start the output; a name that is given says nothing here. Raises TargetError the second time."""
        if self._stream is not None:
            raise TargetError("the output is one stream, and a second file was to be written", subject=name)
        self._stream = HashingStream("", self._put)
        return self._stream

    def finish(self, stream: contracts.Stream, /) -> None:
        """Write out what is left and flush. Raises TargetError, or BrokenPipeError when nobody reads any more."""
        if not isinstance(stream, HashingStream) or stream is not self._stream or self.files:
            raise TargetError("a stream was finished that this target did not open, or finished before")
        stream._finish()
        try:
            self._file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise failure(error, "stdout") from error
        self.files.append(FileEntry("-", stream.bytes, stream.sha256))

    def _put(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                # An unbuffered file may take less than it is given.
                view = view[self._file.write(view) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            raise failure(error, "stdout") from error
