"""
Finds the stores that a command reads: by agent's name, by path, or wherever agents leave them.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from satchel.contracts import Naming, Store
from satchel.errors import NotAStore, NotFound, StoreError, UsageError
from satchel.events import Listener, Problem, ignore
from satchel.formats import registry

__all__ = ["Source", "find", "find_all", "is_stdin", "of_agents", "open_all", "real_path", "spare"]

AGENTS = ("hermes", "claude", "codex", "legacy")
"""What `--from` takes for the stores that an agent leaves in its home; "legacy" are Hermes' session files."""

_HOMES = {
    "claude": "satchel.formats.claude_code.homes",
    "codex": "satchel.formats.codex.homes",
    "legacy": "satchel.formats.hermes_legacy.homes",
}


class Source(NamedTuple):
    """
    A store to be opened: its reader's name, its path, and the profile it belongs to.

    `fault` says why nobody can tell whether it is one: its place is there, and can't be looked into.
    """

    reader: str
    path: Path
    profile: str | None = None
    fault: str | None = None


def find(
    wanted: Sequence[str],
    *,
    profile: str | None = None,
    environ: Mapping[str, str] = os.environ,
    only_main: bool = False,
    listen: Listener = ignore,
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
        if only_main and profile is None:
            main = [source for source in _of_hermes(None, environ, listen) if source.profile is None]
            if main:
                return _with_files(main)
        found = find_all(profile=profile, environ=environ, listen=listen if not only_main else ignore)
        if not found:
            raise NotFound(f"no session store was found (looked at {_looked_at(environ)}); name one with --from PATH")
        return found
    sources: list[Source] = []
    for word in wanted:
        if word in AGENTS:
            found = [s for s in find_all(profile=profile, environ=environ, listen=listen) if s.reader == word]
            if profile is None:
                found = [source for source in found if source.profile is None] or found
            if word == "hermes":
                found = _with_files(found)
            if not found:
                raise NotFound(
                    f"there is no {word} store here (looked at {_looked_at(environ)}); name it with --from PATH", subject=word
                )
            sources += found
        elif word == "-":
            sources.append(_from_stdin())
        else:
            sources += _at(Path(os.path.expanduser(word)), profile, listen)
    unique: dict[str, Source] = {}
    for source in sources:
        unique.setdefault(f"{source.reader} {real_path(source.path)}", source)
    # A database is opened before the files beside it, which tell what it lacks.
    return sorted(unique.values(), key=lambda source: source.reader == "legacy")


def real_path(path: str | os.PathLike[str]) -> str:
    """Return the path without links and from the root; a relative one as it is where the current folder is gone."""
    try:
        return os.path.realpath(path)
    except OSError:
        return os.fspath(path)


def find_all(*, profile: str | None = None, environ: Mapping[str, str] = os.environ, listen: Listener = ignore) -> list[Source]:
    """Return every store that is where its agent leaves it. Raises UsageError for a profile that is not there."""
    found = _of_hermes(profile, environ, listen)
    return _with_files(found) if profile is not None and profile != "all" else found + of_agents(environ)


def _with_files(databases: list[Source]) -> list[Source]:
    """Return databases of Hermes and the session files in the same homes: what only those hold belongs to the same sessions."""
    found = list(databases)
    for source in databases:
        home = source.path.parent
        if source.reader == "hermes" and source.path.name == "state.db":
            found += _files_in(home)
    return found


def _files_in(home: Path) -> list[Source]:
    from satchel.formats.hermes_legacy import homes

    if not os.path.isdir(home / homes.HOLD[0]):
        return []
    return [source] if (source := _of_home("legacy", home, homes.HOLD)) is not None else []


def _of_home(agent: str, path: Path, folders: Sequence[str]) -> Source | None:
    if registry.reader(agent).sniff(path) is not None:
        return Source(agent, path)
    from satchel.formats.log_store import blocked

    fault = blocked(path, folders)
    return Source(agent, path, fault=fault) if fault is not None else None


def _of_hermes(profile: str | None, environ: Mapping[str, str], listen: Listener) -> list[Source]:
    from satchel.formats.hermes_state.homes import stores

    return _of_profile([Source("hermes", path, name) for path, name in stores(_home(environ), listen=listen)], profile)


def of_agents(environ: Mapping[str, str], *, around: Iterable[Path] | None = None) -> list[Source]:
    """
    Return the stores that are files, where their agents leave them; a home without a session is none.

    One that can't be looked into is taken for a store: whoever opens it then says why that fails.

    Args:
        around: Only those that one of these paths lies in.
    """
    found: list[Source] = []
    inside = None if around is None else tuple(os.path.join(real_path(path), "") for path in around)
    for agent, where in _HOMES.items():
        module = import_module(where)
        folders = module.homes(environ)
        if inside is not None:
            # Its reader is loaded for those alone.
            roots = {path: os.path.join(real_path(path), "") for path in folders}
            folders = [path for path in folders if any(one.startswith(roots[path]) for one in inside)]
        homes = (_of_home(agent, path, module.HOLD) for path in folders)
        found += (source for source in homes if source is not None)
    return found


def _looked_at(environ: Mapping[str, str]) -> str:
    names = (("CLAUDE_CONFIG_DIR", "~/.claude"), ("CODEX_HOME", "~/.codex"))
    return ", ".join([str(_home(environ)), *(os.path.expanduser(environ.get(name) or usual) for name, usual in names)])


def _home(environ: Mapping[str, str]) -> Path:
    from satchel.formats.hermes_state.homes import home

    return home(environ)


def _of_profile(found: list[Source], profile: str | None) -> list[Source]:
    if profile is None or profile == "all":
        return found
    name = None if profile == "default" else profile
    chosen = [source for source in found if source.profile == name]
    if found and not chosen:
        names = ", ".join(sorted(source.profile or "default" for source in found))
        raise UsageError(f"there is no profile {profile!r}; there are: {names}", subject=profile)
    return chosen


def _at(path: Path, profile: str | None, listen: Listener) -> list[Source]:
    """Return the stores at a path: a file, an agent's home, or a folder that holds some."""
    from satchel.formats.hermes_state.homes import stores

    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise NotFound(f"{path} does not exist; --from takes {', '.join(AGENTS)} or a path", subject=path) from None
    except OSError as error:
        raise StoreError(f"{path} cannot be looked at: {error.strerror or error}", subject=path) from error
    if not stat.S_ISDIR(status.st_mode):
        if stat.S_ISREG(status.st_mode) and status.st_size == 0:
            raise NotAStore(f"{path} is empty (0 bytes): there is nothing to read", subject=path)
        return [Source(registry.detect(path).name, path)]
    homes = [Source("hermes", found, name) for found, name in stores(path, listen=listen)]
    if homes:
        chosen = _of_profile(homes, profile)
        return _with_files([source for source in chosen if source.profile is None] or chosen if profile is None else chosen)
    with suppress(NotAStore):
        return _of_folder(path)

    faults: list[OSError] = []

    def tell(error: OSError) -> None:
        faults.append(error)
        listen(Problem(str(error.filename or path), f"it can't be looked into, and is left out: {error.strerror or error}"))

    sources: list[Source] = []
    for folder, folders, files in os.walk(path, onerror=tell):
        folders.sort()
        for name in list(folders):
            # A folder that is a store as a whole says more than its files by themselves.
            with suppress(NotAStore):
                sources += _of_folder(Path(folder, name))
                folders.remove(name)
        for name in sorted(files):
            file = Path(folder, name)
            try:
                if file.is_file():
                    if not os.access(file, os.R_OK):
                        # A reader would take it for a file of another kind.
                        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
                    sources.append(Source(registry.detect(file).name, file))
            except NotAStore:
                continue
            except OSError as error:
                tell(error)
    if not sources and faults:
        why = f"{faults[0].filename or path}: {faults[0].strerror or faults[0]}"
        raise StoreError(f"{path} holds no session store as far as it can be looked into ({why})", subject=path)
    if not sources:
        raise NotAStore(f"{path} is a folder that holds no session store Satchel reads", subject=path)
    return sources


def _of_folder(path: Path) -> list[Source]:
    """Return the stores that a folder is as a whole: the logs of several agents may lie in it, and each reader takes its own."""
    try:
        return [Source(registry.detect(path).name, path)]
    except UsageError:
        return [Source(name, path) for name in _HOMES if registry.reader(name).sniff(path) is not None]


def _from_stdin() -> Source:
    """Keep standard input in a private file, since a store is read more than once."""
    import atexit
    import tempfile

    from satchel.standard_input import PREFIX, copy_into

    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    if not _SPOOLED:
        # Whoever uses the library forgets it no later than at the end.
        atexit.register(forget_stdin)
    _SPOOLED.append(folder)
    path = folder / "stdin"
    try:
        with path.open("xb") as spool:
            copy_into(spool, asked="--from -")
        reader = registry.detect(path)
        # Readers and copies go by names where a log does not say whose it is, and equal input shall give equal output.
        own = reader.own_name(path) if isinstance(reader, Naming) else None
        return Source(reader.name, path.rename(folder / (own or "stdin")))
    except NotAStore:
        raise NotAStore("standard input holds nothing that Satchel reads", subject="-") from None
    except OSError as error:
        raise StoreError(f"standard input can't be kept for reading: {error.strerror}", subject="-") from error


_SPOOLED: list[Path] = []


def is_stdin(path: Path) -> bool:
    """Return whether a path is what standard input was kept in."""
    return path.parent in _SPOOLED


def forget_stdin() -> None:
    """Remove what standard input was kept in."""
    while _SPOOLED:
        _remove(_SPOOLED.pop())


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def spare(sources: Sequence[Source], output: str | os.PathLike[str], *, file_name: str = "") -> None:
    """
    Make sure that an output would overwrite or remove none of the stores, nor what belongs to them: of those given, and of those
    that are where their agents leave them.

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
    swept = real_path(target if is_folder else target.parent)
    everywhere = (*_of_hermes(None, os.environ, ignore), *of_agents(os.environ, around=[target, *written]))
    for source in (*sources, *everywhere):
        if source.path.is_dir():
            _spare_files(source, written, folder=target if not file_name else None)
            continue
        # SQLite keeps its files beside the database itself, not beside a link to it.
        stores = {source.path, Path(real_path(source.path))}
        for store in stores:
            folder = real_path(store.parent)
            if is_temporary(store.name) and (folder == swept or (is_folder and folder.startswith(os.path.join(swept, "")))):
                raise UsageError(
                    f"{store} has the name of a temporary file, which a run into {target} may remove: copy it, and read the copy",
                    subject=store,
                )
        for store, side in product(stores, ("", "-wal", "-shm", "-journal")):
            kept = store.with_name(store.name + side)
            for path in written:
                same = real_path(path) == real_path(kept) or _is_same_file(path, kept)
                if same:
                    what = "is a session store" if not side else f"belongs to the session store {source.path}"
                    raise UsageError(f"{path} {what}: it is not overwritten, --force or not; choose another OUTPUT", subject=path)


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # One is not there, or lies in a folder that nobody here may look into.
        return False


def _spare_files(source: Source, written: Sequence[Path], *, folder: Path | None) -> None:
    """Make sure that nothing in a store that is a folder is overwritten, and no folder of copies is laid into it."""
    root = os.path.join(real_path(source.path), "")
    if folder is not None and os.path.join(real_path(folder), "").startswith(root):
        raise UsageError(f"{folder} lies in the session store {source.path}: choose another OUTPUT", subject=folder)
    for path in written:
        if not path.exists() or not real_path(path).startswith(root) or _is_ours(path):
            continue
        raise UsageError(
            f"{path} is a file of the session store {source.path}: it is not overwritten, --force or not; choose another OUTPUT",
            subject=path,
        )


def _is_ours(path: Path) -> bool:
    """Return whether a file is an export, or what stands beside one."""
    if path.is_dir() or path.name.endswith(("manifest.jsonl", "SHA256SUMS")):
        return True
    try:
        return registry.detect(path).name == "jsonl"
    except (NotAStore, UsageError, OSError):
        return False


def open_all(
    stack: ExitStack, sources: Sequence[Source], *, listen: Listener, private: bool = False
) -> Iterator[tuple[Source, Store]]:
    """
    Open the stores one after the other, each closed by the stack.

    One of several that can't be read is reported and passed over. Raises StoreError when none can.
    """
    opened = 0
    last: StoreError | None = None
    databases: dict[str, Store] = {}
    for source in sources:
        reader = registry.reader(source.reader)
        options: dict[str, Any] = {"profile": source.profile} if source.profile is not None else {}
        database = databases.get(real_path(source.path))
        if source.reader == "legacy" and database is not None:
            # What the database of the same home holds is shown from there.
            options["database"] = database
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
        if source.reader == "hermes":
            databases[real_path(source.path.parent)] = store
        yield source, store
    if not opened and last is not None:
        raise last
