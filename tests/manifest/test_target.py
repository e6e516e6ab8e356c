"""A target puts whole files under their names, or nothing."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import resource
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import contracts
from satchel.errors import TargetError, TargetExists
from satchel.events import Event, FileWritten
from satchel.manifest import disk
from satchel.manifest.paths import CHUNK
from satchel.manifest.target import DirectoryTarget, FileEntry, FileTarget, PipeTarget


def _put(target: contracts.Target, name: str | None, data: bytes) -> None:
    stream = target.stream(name)
    stream.write(data)
    target.finish(stream)


def _all(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if not p.is_dir()}


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_one_file_appears_when_the_target_is_left(tmp_path: Path) -> None:
    events: list[Event] = []
    path = tmp_path / "new" / "deep" / "x.jsonl"
    with FileTarget(path, listen=events.append) as target:
        _put(target, None, b"hello")
        assert not path.exists()
    digest = hashlib.sha256(b"hello").hexdigest()
    assert b"hello" == path.read_bytes()
    assert [FileEntry("x.jsonl", 5, digest)] == target.files
    assert [FileWritten(path=str(path), bytes=5, sha256=digest)] == events
    assert ["x.jsonl"] == os.listdir(path.parent)


def test_a_folder_of_files(tmp_path: Path) -> None:
    with DirectoryTarget(tmp_path / "out") as target:
        _put(target, "b.md", b"2")
        _put(target, "sub/deep/a.md", b"1")
        _put(target, "empty", b"")
    assert {"b.md": b"2", "empty": b"", "sub/deep/a.md": b"1"} == _all(tmp_path / "out")
    assert ["b.md", "sub/deep/a.md", "empty"] == [entry.path for entry in target.files]


def test_several_streams_may_be_open_at_once(tmp_path: Path) -> None:
    with DirectoryTarget(tmp_path) as target:
        one, two = target.stream("1"), target.stream("2")
        one.write(b"a")
        two.write(b"b")
        one.write(b"c")
        target.finish(two)
        target.finish(one)
    assert {"1": b"ac", "2": b"b"} == _all(tmp_path)


def test_a_temporary_file_is_private_and_the_final_one_obeys_the_umask(tmp_path: Path, umask: None) -> None:
    with FileTarget(tmp_path / "x") as target:
        stream = target.stream()
        (temporary,) = tmp_path.iterdir()
        assert 0o600 == stat.S_IMODE(temporary.stat().st_mode)
        target.finish(stream)
        assert 0o600 == stat.S_IMODE(temporary.stat().st_mode)
    assert 0o640 == stat.S_IMODE((tmp_path / "x").stat().st_mode)


def test_a_replaced_file_does_not_become_more_open(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"private")
    (tmp_path / "x").chmod(0o600)
    with FileTarget(tmp_path / "x", force=True) as target:
        _put(target, None, b"new")
    assert 0o600 == stat.S_IMODE((tmp_path / "x").stat().st_mode)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ValueError])
def test_an_error_leaves_nothing_behind(tmp_path: Path, kind: type[BaseException]) -> None:
    def run(target: FileTarget | DirectoryTarget) -> None:
        with target:
            _put(target, "whole/1", b"1")
            if isinstance(target, DirectoryTarget):
                target.stream("half").write(b"x" * (CHUNK + 1))
            raise kind

    for target in (FileTarget(tmp_path / "new" / "x"), DirectoryTarget(tmp_path / "other")):
        with pytest.raises(kind):
            run(target)
    assert [] == list(tmp_path.iterdir())


def test_a_stream_that_was_never_finished_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="half was started and never finished"), DirectoryTarget(tmp_path) as target:
        target.stream("half")
    assert [] == list(tmp_path.iterdir())


def test_an_existing_file_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"mine")
    with pytest.raises(TargetExists, match="exists already"), FileTarget(tmp_path / "x") as target:
        target.stream()
    with pytest.raises(TargetExists, match="exists already"), DirectoryTarget(tmp_path) as target:
        target.stream("x")
    with pytest.raises(TargetExists):
        FileTarget(tmp_path / "x").check()
    assert {"x": b"mine"} == _all(tmp_path)


def _race(target: DirectoryTarget) -> None:
    with target:
        _put(target, "a", b"ours")
        _put(target, "b", b"ours")
        Path(target.root, "b").write_bytes(b"theirs")


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    target = DirectoryTarget(tmp_path)
    with pytest.raises(TargetExists, match="appeared"):
        _race(target)
    assert {"a": b"ours", "b": b"theirs"} == _all(tmp_path)
    assert ["a"] == [entry.path for entry in target.files]


@pytest.mark.parametrize("exclusive", [True, False])
def test_without_hard_links_nothing_is_overwritten_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exclusive: bool
) -> None:
    def no_links(*args: object, **more: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    if not exclusive:
        monkeypatch.setattr(disk, "_rename_exclusive", lambda old, new: False)
    with pytest.raises(TargetExists, match="appeared"):
        _race(DirectoryTarget(tmp_path))
    assert {"a": b"ours", "b": b"theirs"} == _all(tmp_path)


def test_force_replaces(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"old")
    with FileTarget(tmp_path / "x", force=True) as target:
        _put(target, None, b"new")
        assert b"old" == (tmp_path / "x").read_bytes()
    assert {"x": b"new"} == _all(tmp_path)


def test_force_replaces_a_link_and_never_writes_through_it(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / "x").symlink_to("precious")
    (tmp_path / "y").symlink_to("nowhere")
    for name in ("x", "y"):
        with pytest.raises(TargetExists), FileTarget(tmp_path / name) as target:
            target.stream()
        with FileTarget(tmp_path / name, force=True) as target:
            _put(target, None, b"new")
    assert {"precious": b"precious", "x": b"new", "y": b"new"} == _all(tmp_path)
    assert not (tmp_path / "x").is_symlink()


def test_nothing_is_written_through_a_linked_sub_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sub").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TargetError, match="symbolic link"), DirectoryTarget(tmp_path / "out", force=True) as target:
        target.stream("sub/x")
    assert [] == list((tmp_path / "elsewhere").iterdir())


def test_a_linked_temporary_name_is_not_followed(tmp_path: Path) -> None:
    """Somebody who guesses the next temporary name and puts a link there gains nothing."""
    (tmp_path / "precious").write_bytes(b"precious")
    with FileTarget(tmp_path / "x") as target:
        target.prepare()
        (tmp_path / f".x.{target.tag}001.satchel-tmp").symlink_to("precious")
        _put(target, None, b"new")
    assert b"precious" == (tmp_path / "precious").read_bytes()
    assert b"new" == (tmp_path / "x").read_bytes()


def test_folders_and_files_are_not_mistaken_for_each_other(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(TargetError, match="folder is a folder"), FileTarget(tmp_path / "folder", force=True) as target:
        target.stream()
    with pytest.raises(TargetError, match="file is not a folder"), DirectoryTarget(tmp_path / "file", force=True) as target:
        target.stream("x")
    with pytest.raises(TargetError, match="file is a file"), DirectoryTarget(tmp_path, force=True) as target:
        target.stream("file/x")
    with pytest.raises(TargetError, match="folder is a folder"), DirectoryTarget(tmp_path, force=True) as target:
        target.stream("folder")
    for path in ("out/", ".", "..", "", "a/.."):
        with pytest.raises(TargetError, match="name a file in it"):
            FileTarget(path)


def test_force_does_not_replace_a_device_or_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    for name in ("pipe", "null"):
        with pytest.raises(TargetError, match="device or a pipe"), FileTarget(tmp_path / name, force=True) as target:
            target.stream()


def test_names_that_lead_out_or_are_kept_are_refused(tmp_path: Path) -> None:
    with DirectoryTarget(tmp_path / "out") as target:
        target.reserved = lambda name: name == "manifest.jsonl"
        for name in ("../x", "/x", "", None, "manifest.jsonl"):
            with pytest.raises(TargetError):
                target.stream(name)
        _put(target, "sub/manifest.jsonl", b"")
    assert {"sub/manifest.jsonl"} == set(_all(tmp_path / "out"))


def test_a_name_or_a_second_file_cannot_come_twice(tmp_path: Path) -> None:
    with DirectoryTarget(tmp_path, force=True) as target:
        _put(target, "x", b"1")
        with pytest.raises(TargetError, match="twice"):
            target.stream("x")
    with FileTarget(tmp_path / "y") as file:
        _put(file, None, b"1")
        with pytest.raises(TargetError, match="second"):
            file.stream()


def test_two_names_that_are_one_file_here_do_not_swallow_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a file system without upper and lower case, `--force` would put the second file of a run over its first."""
    real = DirectoryTarget._path
    monkeypatch.setattr(DirectoryTarget, "_path", lambda self, name: real(self, name.lower()))

    def run() -> None:
        with DirectoryTarget(tmp_path, force=True) as target:
            _put(target, "a.md", b"1")
            _put(target, "A.md", b"2")

    with pytest.raises(TargetError, match="another file of this run"):
        run()
    assert {"a.md": b"1"} == _all(tmp_path)


@pytest.mark.parametrize("name", ["x" * 255, "ä" * 127, "日" * 85])
def test_names_of_255_bytes_work(tmp_path: Path, name: str) -> None:
    with DirectoryTarget(tmp_path) as target:
        _put(target, name, b"1")
        _put(target, name[:-1] + "y", b"2")
    assert {name: b"1", name[:-1] + "y": b"2"} == _all(tmp_path)


def test_a_stream_of_another_target_is_refused(tmp_path: Path) -> None:
    with DirectoryTarget(tmp_path / "1") as one, DirectoryTarget(tmp_path / "2") as two:
        stream = one.stream("x")
        with pytest.raises(TargetError, match="did not open"):
            two.finish(stream)
        one.finish(stream)
        with pytest.raises(TargetError, match="finished before"):
            one.finish(stream)


class _Calls:
    """Counts what is asked of the disk."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[str] = []
        for name in ("fsync", "link", "replace"):
            self._watch(monkeypatch, name)
        import satchel.manifest.target as module

        real = disk.syncfs

        def syncfs(fd: int) -> bool:
            self.made.append("syncfs")
            return real(fd)

        monkeypatch.setattr(module, "syncfs", syncfs)

    def _watch(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        real = getattr(os, name)

        def call(*args: object, **more: object) -> object:
            self.made.append(name)
            return real(*args, **more)

        monkeypatch.setattr(os, name, call)

    def count(self, name: str) -> int:
        return self.made.count(name)


@pytest.mark.skipif(sys.platform != "linux", reason="syncfs is Linux's")
def test_many_files_are_flushed_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _Calls(monkeypatch)
    with DirectoryTarget(tmp_path) as target:
        for number in range(256 + 101):
            if number == 256:
                assert 256 == len(target.files)
            _put(target, f"{number}", b"x")
    assert 2 == calls.count("syncfs")
    assert 2 == calls.count("fsync")  # the folder, once a batch
    assert 357 == calls.count("link") == len(target.files)


def test_few_files_are_flushed_one_by_one_and_before_they_get_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = _Calls(monkeypatch)
    with DirectoryTarget(tmp_path) as target:
        _put(target, "a", b"x")
        _put(target, "b", b"x")
    assert ["fsync", "fsync", "link", "link", "fsync"] == calls.made


def test_much_data_does_not_wait_for_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import satchel.manifest.target as module

    monkeypatch.setattr(module, "_BATCH_BYTES", 1000)
    with DirectoryTarget(tmp_path) as target:
        _put(target, "a", bytes(999))
        assert not target.files
        _put(target, "b", b"x")
        assert 2 == len(target.files)


@pytest.mark.parametrize(
    ("code", "reason"),
    [(errno.ENOSPC, "the disk is full"), (errno.EDQUOT, "quota"), (errno.EIO, "input/output error"), (errno.EROFS, "read-only")],
)
@pytest.mark.parametrize("call", ["open", "write", "fsync", "link", "mkdir"])
def test_what_the_disk_refuses_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int, reason: str
) -> None:
    def refuse(*args: object, **more: object) -> None:
        raise OSError(code, os.strerror(code))

    def run() -> None:
        with DirectoryTarget(tmp_path / "new") as target:
            target.prepare()
            monkeypatch.setattr(os, call, refuse)
            _put(target, "sub/x" if call == "mkdir" else "x", b"data")

    with pytest.raises(TargetError, match=reason) as caught:
        run()
    monkeypatch.undo()
    assert str(tmp_path / "new") in caught.value.message
    assert [] == list(tmp_path.iterdir())


def test_a_file_that_outgrows_its_limit_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (CHUNK + 1000, hard))
        with pytest.raises(TargetError, match="larger than is allowed"), FileTarget(tmp_path / "x") as target:
            _put(target, None, bytes(3 * CHUNK))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [] == list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_not_writable_is_one_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(TargetError, match="permission denied"), FileTarget(tmp_path / "x") as target:
        target.stream()


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:7]))
    with FileTarget(tmp_path / "x") as target:
        _put(target, None, b"0123456789" * 10)
    assert b"0123456789" * 10 == (tmp_path / "x").read_bytes()


def test_a_pipe_gets_the_bytes_and_their_digest_is_known() -> None:
    out = io.BytesIO()
    with PipeTarget(out) as target:
        _put(target, None, b"hello")
        with pytest.raises(TargetError, match="second"):
            target.stream()
    assert b"hello" == out.getvalue()
    assert [FileEntry("-", 5, hashlib.sha256(b"hello").hexdigest())] == target.files


def test_a_closed_pipe_is_told_as_such(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb", buffering=0) as file:
        target = PipeTarget(file)
        with pytest.raises(BrokenPipeError):
            _put(target, None, b"hello")


def test_an_unbuffered_pipe_takes_all_in_several_writes() -> None:
    class Slow(io.BytesIO):
        def write(self, data: object, /) -> int:
            return super().write(bytes(memoryview(data))[:3])  # type: ignore[arg-type]

    out = Slow()
    with PipeTarget(out) as target:
        _put(target, None, b"0123456789")
    assert b"0123456789" == out.getvalue()
