"""A manifest as a file: read from its two ends, line by line, sealed or not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.errors import ManifestError
from satchel.manifest import lines as lines_module
from satchel.manifest.lines import kept_name, manifest_in, read_manifest

Forge = Callable[..., Path]


def test_sealed(tmp_path: Path, forge: Forge) -> None:
    path = forge(tmp_path, [{"type": "session", "session_id": "s"}, {"type": "file", "path": "a"}])
    manifest = read_manifest(path)
    assert (True, "") == (manifest.sealed, manifest.why)
    assert "md" == manifest.header["format"]
    assert manifest.totals is not None
    assert 1 == manifest.totals["sessions"]
    assert ["s"] == [line["session_id"] for line in manifest.sessions()]
    assert ["a"] == [line["path"] for line in manifest.files()]
    assert ["header", "session", "file", "totals"] == [line.value["type"] for line in manifest.lines() if line.value]
    data = path.read_bytes()
    assert all(data[line.start :].startswith(b'{"type":') for line in manifest.lines())
    assert data.index(b'{"type":"totals"') == manifest.end


@pytest.mark.parametrize("length", [0, 1, 4000, 4096, 5000, 3_000_000])
def test_the_last_line_is_found_whatever_its_length(tmp_path: Path, forge: Forge, length: int) -> None:
    path = forge(tmp_path, [{"type": "session", "note": "x" * length}], seal=False)
    manifest = read_manifest(path)
    assert not manifest.sealed
    assert path.stat().st_size == manifest.end
    with path.open("ab") as file:
        file.write(b'{"type":"totals","pad":"' + b"y" * length + b'","sha256":"0"}\n')
    assert "altered" in read_manifest(path).why


def test_anything_else_is_no_manifest(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, data in {"empty": b"", "text": b"hello\n", "other": b'{"type":"header","schema":"x"}\n', "list": b"[]\n"}.items():
        (tmp_path / name).write_bytes(data)
    for name in ("empty", "text", "other", "list", "pipe", "none"):
        with pytest.raises(ManifestError, match="no manifest of Satchel"):
            read_manifest(tmp_path / name)


def test_a_line_that_never_ends_is_not_held_in_memory(tmp_path: Path, forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    path = forge(tmp_path, [{"type": "session", "note": "x" * 100_000}], seal=False)
    monkeypatch.setattr(lines_module, "_LONGEST", 1000)
    with pytest.raises(ManifestError, match="no end"):
        read_manifest(path)
    assert max(len(line) for _, line in lines_module.raw_lines(str(path))) <= 1000


def test_which_manifest_speaks_of_a_folder(tmp_path: Path, forge: Forge) -> None:
    assert "manifest.jsonl" == manifest_in(str(tmp_path))
    forge(tmp_path, [], name="satchel-manifest.jsonl")
    assert "satchel-manifest.jsonl" == manifest_in(str(tmp_path))
    forge(tmp_path, [])
    assert "manifest.jsonl" == manifest_in(str(tmp_path))
    (tmp_path / "manifest.jsonl").write_bytes(b"{}\n")
    assert "satchel-manifest.jsonl" == manifest_in(str(tmp_path))


def test_a_manifest_that_cannot_be_read_is_not_taken_for_somebody_elses(
    tmp_path: Path, forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a disk error would make the next run start a second manifest beside the first."""
    forge(tmp_path, [])

    def broken(path: str, /) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(lines_module, "open_regular", broken)
    with pytest.raises(ManifestError, match="could not be read: input/output error"):
        manifest_in(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("manifest.1.jsonl", ("manifest.jsonl", 1)),
        ("satchel-manifest.23.jsonl", ("satchel-manifest.jsonl", 23)),
        ("manifest.01.jsonl", None),
        ("manifest.0.jsonl", None),
        ("manifest.jsonl", None),
        ("x.manifest.1.jsonl", None),
        ("manifest.1.jsonl\n", None),
    ],
)
def test_names_of_kept_manifests(name: str, expected: tuple[str, int] | None) -> None:
    assert expected == kept_name(name)
