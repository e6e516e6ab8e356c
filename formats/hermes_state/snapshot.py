"""
Opens a SQLite file that another program may be using, as one consistent state and without a trace.

Untouched means: the same names, inodes and bytes of the database and its `-wal`, and nothing new in the folder. Three cases
(docs/formats/hermes-state.md, "Reading a live store"):

* immutable: there is no `-wal`, or it is empty. Nothing is locked and nothing created; that the file did not change meanwhile
  is checked.
* shared: `-wal` and `-shm` are there. A read-only connection that never checkpoints holds one read transaction.
* private: anything else (a WAL whose `-shm` is gone, a rollback journal, a folder that can't be written to, a file that was cut
  within a page). The files are copied into a private folder, by reflink where the file system can, and the copy is read.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from satchel.errors import NotAStore, StoreChanged, StoreDamaged, StoreError

__all__ = ["Snapshot", "is_sqlite", "open_snapshot", "sides"]

_MAGIC = b"SQLite format 3\0"
_HEADER = 100
_BUSY_MS = 5_000
_COPY_TRIES = 5
_FICLONE = 0x40049409
_SIDES = ("-wal", "-shm", "-journal")


class _Print(NamedTuple):
    """What tells that a database file is still the one that was opened, unchanged."""

    device: int
    inode: int
    size: int
    modified: int
    header: bytes


class Snapshot:
    """
    A read-only connection to one state of a database.

    Attributes:
        connection: The apsw connection, inside a read transaction where the case needs one.
        path: The database the user named; not the private copy.
        how: In words, how it is read.
    """

    def __init__(self, path: Path, connection: apsw.Connection, how: str, seen: _Print | None, folder: str | None) -> None:
        self.path = path
        self.connection = connection
        self.how = how
        self._seen = seen
        self._folder = folder
        self.held: tuple[int, int] | None = None

    def check(self) -> None:
        """Raise StoreChanged if the file that is read as immutable changed since it was opened."""
        if self._seen is not None and (self._seen != _print(self.path) or _hot_journal(self.path)):
            raise StoreChanged(f"{self.path} changed while it was read; try again", subject=self.path)

    def close(self) -> None:
        """Close the connection without a checkpoint, and remove a private copy."""
        self.connection.close()
        if self.held is not None:
            _HELD[self.held] -= 1
            self.held = None
        if self._folder is not None:
            _remove(self._folder)
            self._folder = None


def is_sqlite(path: Path) -> bool:
    """Return whether the file begins as a SQLite database does."""
    if _is_held(path):
        return True
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


# Databases that this process reads beside their writer, by device and inode. Closing any other descriptor of such a file would
# drop the locks that SQLite holds on it (POSIX record locks belong to the process), so it is not opened another time.
_HELD: Counter[tuple[int, int]] = Counter()


def _is_held(path: Path) -> bool:
    try:
        found = os.stat(path)
    except OSError:
        return False
    return _HELD[found.st_dev, found.st_ino] > 0


def open_snapshot(path: Path, *, private: bool = False) -> Snapshot:
    """
    Open one consistent state of the database at `path`.

    Args:
        private: Read from a private copy in any case.

    Raises:
        NotAStore: It is no SQLite database.
        StoreDamaged: It is empty, or too short to hold anything.
        StoreError: It can't be opened; the reason is given.
        StoreChanged: It changed all the time while it was copied.
    """
    path = Path(os.path.realpath(path))
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise NotAStore(f"{path} is not a file", subject=path)
        if found.st_size == 0 and not _size(path, "-wal"):
            raise StoreDamaged(f"{path} is empty (0 bytes): there is nothing to read", subject=path)
        if found.st_size and not is_sqlite(path):
            os.close(os.open(path, os.O_RDONLY))
            raise NotAStore(f"{path} is not a SQLite database", subject=path)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}", subject=path) from error
    # Before the journal is looked for: a change that begins between the two is then seen by one of them.
    seen = _print(path)
    if not private and not _hot_journal(path):
        if not _size(path, "-wal") and not _part_of_a_page(path):
            connection = _connect(path, "immutable=1")
            return Snapshot(path, connection, "as it lies, without a lock", seen, None)
        if os.path.exists(f"{path}-shm"):
            # What can't be read in this way can perhaps be read in the other, which also says what is wrong with it.
            with suppress(apsw.Error):
                return _open_shared(path)
    return _open_private(path)


def _open_shared(path: Path) -> Snapshot:
    connection = _connect(path, "mode=ro")
    try:
        connection.execute("BEGIN")
        # The transaction begins with its first read.
        connection.execute("PRAGMA schema_version").fetchall()
    except apsw.Error:
        connection.close()
        raise
    snapshot = Snapshot(path, connection, "in one read transaction, beside its writer", None, None)
    found = os.stat(path)
    snapshot.held = (found.st_dev, found.st_ino)
    _HELD[snapshot.held] += 1
    return snapshot


def _open_private(path: Path) -> Snapshot:
    import tempfile

    try:
        folder = tempfile.mkdtemp(prefix="satchel-")
    except OSError as error:
        raise StoreError(
            f"there is no folder for a copy of {path}: {error.strerror}; set TMPDIR to one with room for it", subject=path
        ) from error
    try:
        _copy(path, Path(folder))
        connection = _connect(Path(folder, path.name), "mode=rw")
        try:
            # Takes in the WAL, or rolls a journal back, in the copy. What a malformed one gives is the reader's business.
            with suppress(apsw.CorruptError):
                connection.execute("PRAGMA schema_version").fetchall()
        except apsw.Error:
            connection.close()
            raise
    except apsw.Error as error:
        _remove(folder)
        raise StoreDamaged(f"{path} cannot be opened: {_say(error)}", subject=path) from error
    except BaseException:
        _remove(folder)
        raise
    return Snapshot(path, connection, "from a private copy", None, folder)


def _remove(folder: str) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def _uri(path: Path) -> str:
    """Return the path for SQLite, every byte that is not plainly itself as %XX."""
    plain = (chr(b) if (chr(b).isalnum() and b < 128) or b in b"/._-" else f"%{b:02X}" for b in os.fsencode(path))
    return "file:" + "".join(plain)


def _connect(path: Path, mode: str) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_URI | (apsw.SQLITE_OPEN_READWRITE if mode == "mode=rw" else apsw.SQLITE_OPEN_READONLY)
    try:
        connection = apsw.Connection(f"{_uri(path)}?{mode}", flags=flags)
    except apsw.CantOpenError as error:
        raise StoreError(f"{path} cannot be opened: {_say(error)}", subject=path) from error
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.set_busy_timeout(_BUSY_MS)
    connection.pragma("mmap_size", 0)
    connection.pragma("cell_size_check", True)
    return connection


def _say(error: apsw.Error) -> str:
    return str(error).removeprefix("SQLError: ") or type(error).__name__


def _part_of_a_page(path: Path) -> int:
    """Return how many bytes the file has beyond its last whole page; 0 unless it was cut."""
    with open(path, "rb") as file:
        header = file.read(_HEADER)
        page = int.from_bytes(header[16:18], "big")
        return os.fstat(file.fileno()).st_size % (page if page > 1 else 65536)


def _size(path: Path, side: str) -> int:
    try:
        return os.stat(f"{path}{side}").st_size
    except OSError:
        return 0


def _hot_journal(path: Path) -> bool:
    """Return whether a rollback journal waits that has something in it: one that is kept but spent begins with zeros."""
    try:
        with open(f"{path}-journal", "rb") as file:
            return any(file.read(8))
    except FileNotFoundError:
        return False
    except OSError:
        # Whether the database is whole without it, nobody knows.
        return True


def _print(path: Path) -> _Print:
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            return _Print(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, file.read(_HEADER))
    except OSError as error:
        raise StoreChanged(f"{path} went away while it was read: {error.strerror}", subject=path) from error


def _wal_print(path: Path, side: str) -> tuple[int, bytes] | None:
    """Return what must stay the same of a log while it is copied: its inode and its header with the salts."""
    try:
        with open(f"{path}{side}", "rb") as file:
            return os.fstat(file.fileno()).st_ino, file.read(32)
    except OSError:
        return None


def _state(path: Path) -> tuple[object, ...]:
    return (_print(path), *(_wal_print(path, side) for side in _SIDES if side != "-shm"))


def _copy(path: Path, folder: Path) -> None:
    """Copy the database and its logs, until nothing changed under the copy."""
    for _ in range(_COPY_TRIES):
        # A journal left from an earlier try would be rolled back into a later state of the database.
        for old in folder.iterdir():
            old.unlink()
        before = _state(path)
        _clone(path, folder / path.name)
        for side in _SIDES:
            if side != "-shm":
                with suppress(FileNotFoundError):
                    _clone(Path(f"{path}{side}"), folder / f"{path.name}{side}")
        if before == _state(path):
            # SQLite would take the rest of a page that was cut for zeros, and perhaps find nothing wrong with it.
            os.truncate(folder / path.name, os.stat(folder / path.name).st_size - _part_of_a_page(folder / path.name))
            return
    raise StoreChanged(f"{path} changes too fast to be copied; try again when its writer rests", subject=path)


def _clone(source: Path, copy: Path) -> None:
    """Copy a file, sharing its blocks where the file system can."""
    import fcntl
    import shutil

    try:
        with open(source, "rb") as old, open(copy, "wb", opener=_private) as new:
            try:
                fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
            except OSError:
                shutil.copyfileobj(old, new, 1 << 20)
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise
        raise StoreError(
            f"{source} cannot be copied into {copy.parent}: {error.strerror}; set TMPDIR to a folder with room for it",
            subject=source,
        ) from error


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def sides(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the files that lie beside the database and belong to it: name and size in bytes."""
    for side in _SIDES:
        with suppress(OSError):
            found = os.stat(f"{path}{side}")
            yield f"{path.name}{side}", found.st_size
