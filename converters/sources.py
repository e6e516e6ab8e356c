"""
Finds the stores that a command reads: by agent's name, by path, or wherever agents leave them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import NamedTuple

from satchel.contracts import Store
from satchel.errors import NotAStore, NotFound, StoreError, UsageError
from satchel.events import Listener, Problem
from satchel.formats import registry

__all__ = ["Source", "find", "find_all", "open_all", "spare"]

AGENTS = ("hermes",)
"""Agents whose stores are found without a path."""


class Source(NamedTuple):
    """A store to be opened: its reader's name, its path, and the profile it belongs to."""

    reader: str
    path: Path
    profile: str | None = None


def find(
    wanted: Sequence[str], *, profile: str | None = None, environ: Mapping[str, str] = os.environ, only_main: bool = False
) -> list[Source]:
    """
    Return the stores that `--from` names, or those at hand when it names none.

    Args:
        wanted: Names of agents, paths, "-" for standard input.
        profile: Of Hermes: a profile's name, or "all"; None for the main one where only one is taken.
        only_main: Without names, take Hermes' main store when it exists, and all stores otherwise; else all stores.

    Raises:
        NotFound: A path does not exist, or an agent has no store.
        NotAStore: A path holds nothing that is known.
        UsageError: A profile is not there.
    """
    if not wanted:
        found = find_all(profile=profile, environ=environ)
        if only_main and profile is None:
            main = [source for source in found if source.reader == "hermes" and source.profile is None]
            found = main or found
        if not found:
            where = ", ".join(str(path) for path in _homes(environ))
            raise NotFound(f"no session store was found (looked at {where}); name one with --from PATH")
        return found
    sources: list[Source] = []
    for word in wanted:
        if word in AGENTS:
            found = find_all(profile=profile, environ=environ)
            if profile is None:
                found = [source for source in found if source.profile is None] or found
            if not found:
                raise NotFound(f"there is no {word} store under {_home(environ)}; name its file with --from PATH", subject=word)
            sources += found
        elif word == "-":
            sources.append(_from_stdin())
        else:
            sources += _at(Path(word).expanduser(), profile)
    unique: dict[str, Source] = {}
    for source in sources:
        unique.setdefault(os.path.realpath(source.path), source)
    return list(unique.values())


def find_all(*, profile: str | None = None, environ: Mapping[str, str] = os.environ) -> list[Source]:
    """Return every store that is where its agent leaves it. Raises UsageError for a profile that is not there."""
    from satchel.formats.hermes_state.homes import stores

    found = [Source("hermes", path, name) for path, name in stores(_home(environ))]
    return _of_profile(found, profile)


def _home(environ: Mapping[str, str]) -> Path:
    from satchel.formats.hermes_state.homes import home

    return home(environ)


def _homes(environ: Mapping[str, str]) -> list[Path]:
    return [_home(environ)]


def _of_profile(found: list[Source], profile: str | None) -> list[Source]:
    if profile is None or profile == "all":
        return found
    name = None if profile == "default" else profile
    chosen = [source for source in found if source.profile == name]
    if found and not chosen:
        names = ", ".join(sorted(source.profile or "default" for source in found))
        raise UsageError(f"there is no profile {profile!r}; there are: {names}", subject=profile)
    return chosen


def _at(path: Path, profile: str | None) -> list[Source]:
    """Return the stores at a path: a file, an agent's home, or a folder that holds some."""
    from satchel.formats.hermes_state.homes import stores

    if not path.exists():
        raise NotFound(f"{path} does not exist; --from takes {', '.join(AGENTS)} or a path", subject=path)
    if not path.is_dir():
        if path.is_file() and path.stat().st_size == 0:
            raise NotAStore(f"{path} is empty (0 bytes): there is nothing to read", subject=path)
        return [Source(registry.detect(path).name, path)]
    homes = [Source("hermes", found, name) for found, name in stores(path)]
    if homes:
        chosen = _of_profile(homes, profile)
        return [source for source in chosen if source.profile is None] or chosen if profile is None else chosen
    sources: list[Source] = []
    for folder, folders, files in os.walk(path):
        folders.sort()
        for name in sorted(files):
            file = Path(folder, name)
            if file.is_file():
                try:
                    sources.append(Source(registry.detect(file).name, file))
                except NotAStore:
                    continue
    if not sources:
        raise NotAStore(f"{path} is a folder that holds no session store Satchel reads", subject=path)
    return sources


def _from_stdin() -> Source:
    """Keep standard input in a private file, since a store is read more than once."""
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("--from - reads standard input, and that is a terminal: pipe a file into it")
    import shutil
    import tempfile

    handle, name = tempfile.mkstemp(prefix="satchel-stdin-")
    path = Path(name)
    _SPOOLED.append(path)
    try:
        with os.fdopen(handle, "wb") as spool:
            shutil.copyfileobj(sys.stdin.buffer, spool, 1 << 20)
        return Source(registry.detect(path).name, path)
    except NotAStore:
        raise NotAStore("standard input holds nothing that Satchel reads", subject="-") from None
    except OSError as error:
        raise StoreError(f"standard input can't be kept for reading: {error.strerror}", subject="-") from error


_SPOOLED: list[Path] = []


def forget_stdin() -> None:
    """Remove what standard input was kept in."""
    while _SPOOLED:
        _SPOOLED.pop().unlink(missing_ok=True)


def spare(sources: Sequence[Source], output: str | os.PathLike[str], *, file_name: str = "") -> None:
    """
    Make sure that an output would overwrite or remove none of the stores, nor what belongs to them.

    Args:
        output: The file or folder that is to be written.
        file_name: Of the one file that a writer makes in a folder, "" when there is none.

    Raises:
        UsageError: It would.
    """
    from satchel.manifest.paths import hidden_name, is_temporary

    target = Path(output)
    written = [target, target.with_name(f"{target.name}.manifest.jsonl") if target.name else target]
    is_folder = target.is_dir() or os.fspath(output).endswith(("/", os.sep))
    if file_name and is_folder:
        names = ("manifest.jsonl", "SHA256SUMS", "satchel-manifest.jsonl", "satchel-SHA256SUMS")
        written = [target / name for name in (file_name, *names)]
    written += [path.with_name(hidden_name(path.name, ".partial")) for path in written if path.name.endswith("manifest.jsonl")]
    swept = os.path.realpath(target if is_folder else target.parent)
    for source in sources:
        # SQLite keeps its files beside the database itself, not beside a link to it.
        stores = {source.path, Path(os.path.realpath(source.path))}
        for store in stores:
            folder = os.path.realpath(store.parent)
            if is_temporary(store.name) and (folder == swept or (is_folder and folder.startswith(os.path.join(swept, "")))):
                raise UsageError(
                    f"{store} has the name of a temporary file, which a run into {target} may remove: copy it, and read the copy",
                    subject=store,
                )
        for store, side in product(stores, ("", "-wal", "-shm", "-journal")):
            kept = store.with_name(store.name + side)
            for path in written:
                same = os.path.realpath(path) == os.path.realpath(kept)
                if not same and path.exists() and kept.exists():
                    same = path.samefile(kept)
                if same:
                    what = "is a session store" if not side else f"belongs to the session store {source.path}"
                    raise UsageError(f"{path} {what}: it is not overwritten, --force or not; choose another OUTPUT", subject=path)


def open_all(
    stack: ExitStack, sources: Sequence[Source], *, listen: Listener, private: bool = False
) -> Iterator[tuple[Source, Store]]:
    """
    Open the stores one after the other, each closed by the stack.

    One of several that can't be read is reported and passed over. Raises StoreError when none can.
    """
    opened = 0
    last: StoreError | None = None
    for source in sources:
        reader = registry.reader(source.reader)
        options = {"profile": source.profile} if source.profile is not None else {}
        try:
            store = reader.open(source.path, listen=listen, private=private, **options)
        except StoreError as error:
            if len(sources) == 1:
                raise
            last = error
            listen(Problem(str(source.path), error.message, "loss", 1))
            continue
        opened += 1
        stack.enter_context(store)
        yield source, store
    if not opened and last is not None:
        raise last
