"""What the tests of targets and manifests share: a small export, as the pipeline makes one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from satchel.events import Listener, ignore
from satchel.jsontext import dumps
from satchel.manifest.lines import put_seal
from satchel.manifest.manifest import ManifestWriter
from satchel.manifest.target import DirectoryTarget, FileTarget

Export = Callable[..., None]
Forge = Callable[..., Path]


def _export(
    folder: Path, files: Mapping[str, bytes], *, force: bool = False, format: str = "md", lost: int = 0, listen: Listener = ignore
) -> None:
    with (
        DirectoryTarget(folder, force=force, listen=listen) as target,
        ManifestWriter(target, format=format, version="1", listen=listen) as manifest,
    ):
        for name, data in files.items():
            stream = target.stream(name)
            stream.write(data)
            target.finish(stream)
            manifest.session({"session_id": f"id-{name}", "file": name, "message_count": len(data)})
        manifest.seal(lost=lost)


def _export_file(path: Path, data: bytes, *, force: bool = False, sessions: int = 2) -> None:
    with FileTarget(path, force=force) as target, ManifestWriter(target, format="jsonl", version="1") as manifest:
        stream = target.stream()
        stream.write(data)
        for line in range(1, sessions + 1):
            manifest.session({"session_id": f"s{line}", "file": target.name, "line": line, "message_count": 3})
        target.finish(stream)


def _forge(
    folder: Path,
    lines: Iterable[Mapping[str, object] | bytes],
    *,
    name: str = "manifest.jsonl",
    seal: bool = True,
    version: int = 2,
    lost: int = 0,
) -> Path:
    header = {
        "type": "header",
        "schema": "satchel-manifest",
        "version": version,
        "writer": "x",
        "format": "md",
        "rules": None,
        "options": {},
    }
    body = b"".join(line if isinstance(line, bytes) else dumps(line) + b"\n" for line in (header, *lines))
    files = [line for line in lines if isinstance(line, Mapping) and line.get("type") == "file"]
    sessions = [line for line in lines if isinstance(line, Mapping) and line.get("type") == "session"]
    totals = {
        "type": "totals",
        "sessions": len(sessions),
        "messages": sum(m for line in sessions if isinstance(m := line.get("message_count"), int)),
        "files": len(files),
        "bytes": sum(b for line in files if isinstance(b := line.get("bytes"), int)),
        "lost": lost + sum(n for line in sessions if isinstance(n := line.get("lost"), int)),
    }
    if version == 1:
        last = dumps(totals | {"sha256": hashlib.sha256(body).hexdigest()}) + b"\n"
    else:
        covers = "folder" if name == "manifest.jsonl" else "files"
        last = put_seal(dumps(totals | {"covers": covers}), hashlib.sha256(body))
    path = folder / name
    path.write_bytes(body + (last if seal else b""))
    return path


@pytest.fixture
def export() -> Export:
    """Return a function that exports files into a folder, one session each: (folder, {name: bytes}, force, format, …)."""
    return _export


@pytest.fixture
def export_file() -> Export:
    """Return a function that exports two sessions into one file: (path, bytes, force)."""
    return _export_file


@pytest.fixture
def forge() -> Forge:
    """Return a function that writes a manifest of any lines, sealed: (folder, lines, name, seal, version, lost)."""
    return _forge
