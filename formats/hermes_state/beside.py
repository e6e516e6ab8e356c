"""What lies beside a Hermes store: old transcripts, side files, copies made in need, and the settings that remove sessions."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from io import BufferedReader
from pathlib import Path
from typing import Any

from satchel.formats.regular import open_regular

__all__ = ["Legacy", "Retention", "legacy", "retention"]

_LARGEST_SETTINGS = 4 << 20

# Folder under the home ("" for itself), pattern of names, what it is. The first pattern that fits a name takes it.
_KINDS = (
    ("sessions", "sessions.json", "gateway routing, not a list of sessions"),
    ("sessions", "request_dump_*.json", "failed requests, each with a whole conversation"),
    ("sessions", "session_*.json", "snapshots of sessions"),
    ("sessions", "*.jsonl", "transcripts of an old gateway, or rows the store could not take"),
    ("sessions", "*.json", "old snapshots of sessions"),
    ("sessions/saved", "*.json", "conversations saved by /save"),
    ("pending_messages", "*", "rows that could not be written to the store"),
    ("", "*.retired-wal-*", "copies made when a WAL was replaced under Hermes"),
    ("", "*.malformed-backup-*", "copies made before a repair"),
    ("", "*.pre-update-emergency-*.bak", "copies made before an update"),
)


@dataclass(slots=True)
class Legacy:
    """
    Files of one kind beside the store.

    Attributes:
        where: Folder and pattern, relative to the home.
        unknown: Those whose name is of no session in the store; None for kinds that are not named by one.
    """

    where: str
    what: str
    files: int = 0
    bytes: int = 0
    unknown: int | None = None


@dataclass(slots=True)
class Retention:
    """
    Settings of `sessions:` in config.yaml; what is not set has Hermes' default.

    Attributes:
        config: The file, None when there is none.
        problems: What in it can't be understood; defaults stand in its place.
        auto_archive: As it is set, whatever it is; None when it is not.
    """

    config: Path | None = None
    auto_prune: bool = False
    retention_days: float = 90
    vacuum_after_prune: bool = True
    min_vacuum_interval_days: float = 30
    min_interval_hours: float = 24
    auto_archive: Any = None
    problems: list[str] = field(default_factory=list)


def legacy(home: Path, ids: Collection[str]) -> list[Legacy]:
    """
    Return what lies beside the store under its home, by kind; kinds of which there is nothing are left out.

    Args:
        ids: The sessions in the store.
    """
    found: list[Legacy] = []
    kinds = {(folder, pattern): Legacy(f"{folder}/{pattern}".lstrip("/"), what) for folder, pattern, what in _KINDS}
    for folder in dict.fromkeys(folder for folder, _, _ in _KINDS):
        for entry in _entries(home / folder):
            pattern = next((p for f, p, _ in _KINDS if f == folder and fnmatchcase(entry.name, p)), None)
            if pattern is None or (entry.is_dir(follow_symlinks=False) and folder not in ("", "pending_messages")):
                continue
            kind = kinds[folder, pattern]
            files, octets = _size(entry)
            kind.files += files
            kind.bytes += octets
            stem = entry.name.rpartition(".")[0]
            if pattern in ("*.jsonl", "session_*.json"):
                known = stem in ids or stem.removeprefix("session_") in ids
                kind.unknown = (kind.unknown or 0) + (not known)
    found += [kind for kind in kinds.values() if kind.files]
    return found


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return


def _size(entry: os.DirEntry[str]) -> tuple[int, int]:
    """Return how many files an entry is, and their bytes; links are not followed."""
    try:
        if not entry.is_dir(follow_symlinks=False):
            return 1, entry.stat(follow_symlinks=False).st_size
        inside = [_size(each) for each in _entries(Path(entry.path)) if not each.is_dir(follow_symlinks=False)]
    except OSError:
        return 1, 0
    return sum(files for files, _ in inside), sum(octets for _, octets in inside)


def retention(home: Path) -> Retention:
    """Return the settings of the home's config.yaml that remove or hide sessions. A broken file is a problem named, no error."""
    found = Retention()
    path = home / "config.yaml"
    try:
        with open_regular(path) as file, BufferedReader(file) as buffered:
            data = buffered.read(_LARGEST_SETTINGS + 1)
    except FileNotFoundError:
        return found
    except OSError as error:
        found.problems.append(f"{path} can't be read: {error.strerror}")
        return found
    found.config = path
    if len(data) > _LARGEST_SETTINGS:
        found.problems.append(f"{path} is larger than {_LARGEST_SETTINGS >> 20} MB: it was not read")
        return found
    try:
        import yaml

        settings = yaml.safe_load(data)
    except Exception as error:  # Whatever broken YAML raises; its own words may quote a line that holds a key.
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        found.problems.append(f"{path} is no valid YAML{where}: Hermes' defaults are assumed")
        return found
    sessions = settings.get("sessions") if isinstance(settings, dict) else None
    if sessions is None:
        return found
    if not isinstance(sessions, dict):
        found.problems.append(f"{path}: sessions is no mapping: Hermes' defaults are assumed")
        return found
    for name in ("auto_prune", "vacuum_after_prune"):
        if name in sessions:
            # Hermes takes any value for yes or no, so the text "false" is yes.
            setattr(found, name, bool(sessions[name]))
            if not isinstance(sessions[name], bool | None):
                found.problems.append(f"{path}: sessions.{name} is neither true nor false, and counts as {bool(sessions[name])}")
    for name in ("retention_days", "min_vacuum_interval_days", "min_interval_hours"):
        value = sessions.get(name)
        if value is None:
            continue
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6:
            setattr(found, name, value)
        else:
            found.problems.append(f"{path}: sessions.{name} is no number that makes sense; the default is assumed")
    found.auto_archive = _shown(sessions.get("auto_archive"))
    return found


def _shown(value: Any) -> Any:
    """Return a setting as JSON has it; one of another shape by the name of its type."""
    if isinstance(value, dict):
        return {str(key): _shown(each) for key, each in value.items() if not isinstance(each, dict | list)}
    return value if isinstance(value, bool | int | float | str | None) else type(value).__name__
