"""
A run that ends at any moment whatever, by an error, Ctrl-C or a kill, leaves whole files, no lie, and a way to go on.

Every call by which a run changes the disk is a moment; each is tried.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from satchel.errors import SatchelError, TargetError, TargetExists
from satchel.manifest import target as target_module
from satchel.manifest.lines import header_of, read_manifest
from satchel.manifest.verify import verify

Export = Callable[..., None]

CALLS = ("open", "write", "fsync", "chmod", "link", "unlink", "replace", "rename", "mkdir", "ftruncate", "close")

OLD = {"a.md": b"old a", "kept.md": b"kept"}
NEW = {"a.md": b"new a", "sub/b.md": b"new b", "c.md": b"new c"}


class Moments:
    """Counts the calls that change the disk, and does something at one of them, before or after it is made."""

    def __init__(self, patch: pytest.MonkeyPatch, at: int, what: Callable[[], None], *, after: bool) -> None:
        self.count = 0
        self._at, self._what, self._after = at, what, after
        for name in CALLS:
            patch.setattr(os, name, self._watched(getattr(os, name)))

    def _watched(self, real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **more: object) -> object:
            self.count += 1
            if self.count != self._at:
                return real(*args, **more)
            if not self._after:
                self._what()
            try:
                return real(*args, **more)
            finally:
                self._what()

        return call


def _raise(error: BaseException) -> Callable[[], None]:
    def what() -> None:
        raise error

    return what


def _payload(folder: Path) -> dict[str, bytes]:
    """Return what stands under final names, but for what Satchel writes about the folder."""
    return {
        name: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
        and not (name := str(path.relative_to(folder))).startswith(".")
        and not path.name.startswith(".")
        and name not in ("manifest.jsonl", "manifest.1.jsonl", "manifest.2.jsonl", "SHA256SUMS")
    }


@pytest.fixture(autouse=True)
def _small_batches_and_no_real_flushes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_module, "_BATCH_FILES", 2)
    monkeypatch.setattr(os, "fsync", lambda fd: None)


def _moments(folder: Path, run: Callable[[Path], None], prepare: Callable[[Path], None]) -> int:
    prepare(folder)
    with pytest.MonkeyPatch.context() as patch:
        moments = Moments(patch, 0, lambda: None, after=False)
        run(folder)
    return moments.count


def _tries(folder: Path, run: Callable[[Path], None], prepare: Callable[[Path], None]) -> Iterator[tuple[Path, int]]:
    for at in range(1, _moments(folder / "count", run, prepare) + 1):
        place = folder / str(at)
        prepare(place)
        yield place, at


def _check_whole(folder: Path, before: dict[str, bytes], files: dict[str, bytes]) -> None:
    """Prove that no file is half, and that a manifest which is there tells no lie."""
    payload = _payload(folder)
    for name, data in payload.items():
        assert data in (before.get(name), files.get(name)), name
    assert before.keys() <= payload.keys()
    manifest = folder / "manifest.jsonl"
    if header_of(str(manifest)) is not None:
        assert read_manifest(manifest).sealed
        if verify(folder).ok:
            assert payload in (before, before | files)


def _nothing(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt()])
@pytest.mark.parametrize("older", [False, True])
def test_an_error_at_any_moment(tmp_path: Path, export: Export, error: BaseException, older: bool, after: bool) -> None:
    before = OLD if older else {}

    def prepare(folder: Path) -> None:
        _nothing(folder)
        if older:
            export(folder, OLD, format="older")

    def run(folder: Path) -> None:
        export(folder, NEW, force=older)

    prepare(tmp_path / "undisturbed")
    run(tmp_path / "undisturbed")
    failed = 0
    for folder, at in _tries(tmp_path, run, prepare):
        with pytest.MonkeyPatch.context() as patch:
            Moments(patch, at, _raise(error), after=after)
            try:
                run(folder)
            except (SatchelError, KeyboardInterrupt):
                failed += 1
        _check_whole(folder, before, NEW)
        assert not list(folder.rglob("*.satchel-tmp")), at
        if verify(folder).ok and _payload(folder) == before | NEW:
            continue
        try:
            run(folder)
        except TargetExists:
            # It was complete but for its partial manifest, which this run took away.
            assert not older
        assert verify(folder).ok, (at, verify(folder).findings)
        assert before | NEW == _payload(folder)
        assert (tmp_path / "undisturbed" / "manifest.jsonl").read_bytes() == (folder / "manifest.jsonl").read_bytes()
    assert failed > 40


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("one_file", [False, True])
def test_a_disk_that_is_full_after_any_number_of_bytes(
    tmp_path: Path, export: Export, export_file: Export, monkeypatch: pytest.MonkeyPatch, older: bool, one_file: bool
) -> None:
    """Nothing was left of such a run, unless the disk was full just when the manifest came: then its files were there without."""
    monkeypatch.setattr(target_module, "_BATCH_FILES", 256)
    left = 1 << 20
    real = os.write

    def write(fd: int, data: bytes | memoryview) -> int:
        nonlocal left
        if left == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        count = real(fd, data[:left])
        left -= count
        return count

    def run(folder: Path) -> None:
        if one_file:
            export_file(folder / "x.jsonl", b"new" * 30, force=older)
        else:
            export(folder, NEW, force=older)

    def state(folder: Path) -> dict[str, bytes]:
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    for folder in (tmp_path / "1", tmp_path / "2"):
        _nothing(folder)
        if older and one_file:
            export_file(folder / "x.jsonl", b"old")
        elif older:
            export(folder, OLD, format="older")
    monkeypatch.setattr(os, "write", write)
    run(tmp_path / "1")
    needed = (1 << 20) - left
    before = state(tmp_path / "2")
    for room in range(0, needed, 23):
        left = room
        with pytest.raises(TargetError, match=r"could not be written: the disk is full$"):
            run(tmp_path / "2")
        assert before == state(tmp_path / "2"), room
    left = needed
    run(tmp_path / "2")
    assert state(tmp_path / "1") == state(tmp_path / "2")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked child")
@pytest.mark.parametrize("older", [False, True])
def test_a_kill_at_any_moment(tmp_path: Path, export: Export, older: bool) -> None:
    before = OLD if older else {}

    def prepare(folder: Path) -> None:
        _nothing(folder)
        if older:
            export(folder, OLD, format="older")

    def run(folder: Path) -> None:
        export(folder, NEW, force=older)

    prepare(tmp_path / "undisturbed")
    run(tmp_path / "undisturbed")
    for folder, at in _tries(tmp_path, run, prepare):
        _in_a_child_that_dies(lambda folder=folder: run(folder), at)  # type: ignore[misc]
        _check_whole(folder, before, NEW)
        try:
            run(folder)
        except TargetExists:
            # It was complete but for its partial manifest, which this run took away.
            assert not older
        assert verify(folder).ok, (at, verify(folder).findings)
        assert before | NEW == _payload(folder)
        assert (tmp_path / "undisturbed" / "manifest.jsonl").read_bytes() == (folder / "manifest.jsonl").read_bytes()
        assert not list(folder.rglob(".*")), at
        numbered = [path.name for path in folder.iterdir() if path.name.startswith("manifest.") and path.name != "manifest.jsonl"]
        assert ["manifest.1.jsonl"] * older == numbered


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked child")
@pytest.mark.parametrize("older", [False, True])
def test_a_kill_at_any_moment_of_an_export_to_one_file(tmp_path: Path, export_file: Export, older: bool) -> None:
    def prepare(folder: Path) -> None:
        _nothing(folder)
        if older:
            export_file(folder / "x.jsonl", b"old")

    def run(folder: Path) -> None:
        export_file(folder / "x.jsonl", b"new", force=older)

    for folder, at in _tries(tmp_path, run, prepare):
        _in_a_child_that_dies(lambda folder=folder: run(folder), at)  # type: ignore[misc]
        path = folder / "x.jsonl"
        assert not path.exists() or path.read_bytes() in (b"old", b"new")
        if (folder / "x.jsonl.manifest.jsonl").exists():
            assert read_manifest(folder / "x.jsonl.manifest.jsonl").sealed
        try:
            run(folder)
        except TargetExists:
            assert not older
        assert verify(path).ok, at
        assert b"new" == path.read_bytes()
        assert {"x.jsonl", "x.jsonl.manifest.jsonl"} == set(os.listdir(folder)), at


def _in_a_child_that_dies(run: Callable[[], None], at: int) -> None:
    """Run it in a forked child that ends without a word at a moment: no `finally`, no buffer written out."""
    child = os.fork()
    if child == 0:
        try:
            Moments(pytest.MonkeyPatch(), at, lambda: os._exit(9), after=False)
            run()
        except BaseException as error:
            sys.__stderr__.write(f"{error!r}\n")  # type: ignore[union-attr]
            os._exit(1)
        os._exit(0)
    assert 9 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
