"""Two runs cannot write into one place, and what a dead one left is taken over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.errors import TargetError, TargetExists
from satchel.events import Event, Problem
from satchel.manifest.manifest import ManifestWriter
from satchel.manifest.target import DirectoryTarget, FileTarget
from satchel.manifest.unfinished import Unfinished
from satchel.manifest.verify import verify

Export = Callable[..., None]

# Writes 300 files, so that a batch is in place, says so, and waits to be killed.
HALF = """
import sys, time
from satchel.manifest.manifest import ManifestWriter
from satchel.manifest.target import DirectoryTarget, FileTarget
with DirectoryTarget(sys.argv[1]) as target, ManifestWriter(target, format="md", version="1") as manifest:
    for number in range(300):
        stream = target.stream(f"{number:03}")
        stream.write(b"%d" % number)
        target.finish(stream)
        manifest.session({"session_id": f"id-{number:03}", "file": f"{number:03}", "message_count": 1})
    target.stream("half").write(b"x")
    print("waiting", flush=True)
    time.sleep(100)
"""


def _killed_run(folder: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HALF, str(folder)], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert b"waiting\n" == run.stdout.readline()
        run.send_signal(signal.SIGKILL)
    assert -signal.SIGKILL == run.returncode


@pytest.mark.parametrize("kind", [DirectoryTarget, FileTarget])
def test_a_second_run_into_the_same_place_fails(tmp_path: Path, kind: type[DirectoryTarget] | type[FileTarget]) -> None:
    with kind(tmp_path / "x") as one, ManifestWriter(one, format="md", version="1"):
        before = sorted(tmp_path.rglob("*"))
        with (
            pytest.raises(TargetError, match="another run is writing into"),
            kind(tmp_path / "x", force=True) as two,
            ManifestWriter(two, format="md", version="1"),
        ):
            pass
        assert before == sorted(tmp_path.rglob("*"))
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]


def test_a_second_process_fails_with_one_sentence(tmp_path: Path) -> None:
    with DirectoryTarget(tmp_path) as target, ManifestWriter(target, format="md", version="1"):
        run = subprocess.run([sys.executable, "-c", HALF, str(tmp_path)], capture_output=True, text=True, check=False)
    assert 1 == run.returncode
    assert f"TargetError: another run is writing into {tmp_path}: wait until it is done" in run.stderr
    assert verify(tmp_path).ok


def test_runs_one_after_the_other_get_the_lock(tmp_path: Path) -> None:
    """Whoever got hold of a partial manifest that its owner then removed starts with a new one."""
    path = str(tmp_path / ".m.partial")
    first = Unfinished(path)
    first.remove()
    second = Unfinished(path)
    assert not second.found
    second.write(b'{"type":"header","schema":"satchel-manifest","version":1}\n')
    second.sync()
    second.leave(ours=True, inherited=False)
    third = Unfinished(path)
    assert third.found
    assert os.path.getsize(path) == third.inherited
    third.remove()
    third.leave(ours=False, inherited=False)
    assert [] == os.listdir(tmp_path)


def test_a_lock_on_a_file_that_has_gone_meanwhile_is_worth_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner finishes between another run's open and its lock: that one then holds a file nobody else can see."""
    fcntl = pytest.importorskip("fcntl")
    path = str(tmp_path / ".m.partial")
    owner = Unfinished(path)
    real = fcntl.flock

    def late(fd: int, how: int) -> None:
        owner.remove()
        real(fd, how)

    monkeypatch.setattr(fcntl, "flock", late)
    second = Unfinished(path)
    assert not second.found
    with pytest.raises(TargetError, match="another run"):
        Unfinished(path)
    second.remove()


def test_a_file_is_in_the_durable_journal_before_it_gets_its_name(
    tmp_path: Path, export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    seen: list[bool] = []
    real_fsync, real_link = os.fsync, os.link

    def fsync(fd: int) -> None:
        flushed.append(os.fstat(fd).st_ino)
        real_fsync(fd)

    def link(old: str, new: str) -> None:
        if new.endswith("a.md"):
            partial = tmp_path / ".manifest.jsonl.partial"
            seen.append(b'"path":"a.md"' in partial.read_bytes())
            inodes = [os.stat(old).st_ino, partial.stat().st_ino, tmp_path.stat().st_ino]
            seen.append(inodes == flushed[:3])
        real_link(old, new)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "link", link)
    export(tmp_path, {"a.md": b"1"})
    assert [True, True] == seen


def test_a_run_that_is_through_does_not_touch_its_successor(tmp_path: Path) -> None:
    path = str(tmp_path / ".m.partial")
    first = Unfinished(path)
    first.remove()
    second = Unfinished(path)
    first.leave(ours=False, inherited=False)
    first.remove()
    assert os.path.exists(path)
    second.remove()


def test_a_file_system_without_locks_is_told_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")

    def no_locks(fd: int, how: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    events: list[Event] = []
    Unfinished(str(tmp_path / ".m.partial"), listen=events.append).remove()
    assert ["has no locks" in event.message for event in events if isinstance(event, Problem)] == [True]


def test_a_link_under_the_name_of_the_partial_manifest_is_not_followed(tmp_path: Path, export: Export) -> None:
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".manifest.jsonl.partial").symlink_to("../precious")
    with pytest.raises(TargetError):
        export(tmp_path / "out", {"a": b""}, force=True)
    assert b"precious" == (tmp_path / "precious").read_bytes()


def test_a_killed_run_is_unfinished_and_the_next_one_goes_on(tmp_path: Path, export: Export) -> None:
    _killed_run(tmp_path)
    report = verify(tmp_path)
    assert ["manifest"] == [finding.kind for finding in report.findings]
    assert "did not finish" in report.findings[0].message
    assert b"255" == (tmp_path / "255").read_bytes()
    assert not (tmp_path / "256").exists()
    assert any(name.endswith(".satchel-tmp") for name in os.listdir(tmp_path))

    export(tmp_path, {f"{number:03}": b"%d" % number for number in range(300)})
    assert verify(tmp_path).ok
    assert 302 == len(os.listdir(tmp_path))


def test_another_run_takes_the_files_of_a_killed_one_over(tmp_path: Path, export: Export) -> None:
    """They are whole, so they belong into the manifest, and nothing of them is unexpected."""
    _killed_run(tmp_path)
    export(tmp_path, {"other": b"x"}, format="trace")
    report = verify(tmp_path)
    assert ((), 257, 257) == (report.findings, report.files, report.sessions)


def test_a_file_that_was_changed_since_is_not_the_killed_runs_any_more(tmp_path: Path, export: Export) -> None:
    _killed_run(tmp_path)
    (tmp_path / "000").write_bytes(b"mine now")
    with pytest.raises(TargetExists):
        export(tmp_path, {"000": b"0"})
    assert b"mine now" == (tmp_path / "000").read_bytes()
    export(tmp_path, {"001": b"again"})
    assert ["unexpected"] == [finding.kind for finding in verify(tmp_path).findings]


def test_a_torn_partial_manifest_counts_up_to_its_last_whole_line(tmp_path: Path, export: Export) -> None:
    _killed_run(tmp_path)
    partial = tmp_path / ".manifest.jsonl.partial"
    data = partial.read_bytes()
    partial.write_bytes(data[:-30])
    with pytest.raises(TargetExists):
        export(tmp_path, {"255": b"255"})
    export(tmp_path, {"254": b"254"})
    assert ["255"] == [finding.path for finding in verify(tmp_path).findings]


HEADER = (
    b'{"type":"header","schema":"satchel-manifest","version":2,"writer":"satchel 1","format":"md","rules":null,"options":{}}\n'
)
FOREIGN = [
    b"\0\xff garbage\n{}\n",
    b"\0" * 100,
    b"my notes, without a line end",
    b'{"type":"header","schema":"other"}\n',
    HEADER.replace(b'"version":2', b'"version":3'),
    HEADER + b'{"type":"totals","sha256":"0"}\n',
]


@pytest.mark.parametrize("data", FOREIGN)
@pytest.mark.parametrize("force", [False, True])
def test_what_no_run_left_under_the_name_of_a_partial_manifest_is_left_alone(
    tmp_path: Path, export: Export, export_file: Export, data: bytes, force: bool
) -> None:
    """It was emptied and removed, whatever was in it, as soon as somebody exported to the file beside it."""
    for name in (".manifest.jsonl.partial", ".x.jsonl.manifest.jsonl.partial"):
        (tmp_path / name).write_bytes(data)
    with pytest.raises(TargetError, match="left alone"):
        export(tmp_path, {"a": b"1"}, force=force)
    with pytest.raises(TargetError, match="left alone"):
        export_file(tmp_path / "x.jsonl", b"{}", force=force)
    assert [data, data] == [path.read_bytes() for path in tmp_path.iterdir()]


def test_a_partial_manifest_with_a_second_name_is_left_alone(tmp_path: Path, export: Export) -> None:
    (tmp_path / "copy").write_bytes(HEADER)
    os.link(tmp_path / "copy", tmp_path / ".manifest.jsonl.partial")
    with pytest.raises(TargetError, match="second name"):
        export(tmp_path, {"a": b"1"}, force=True)
    assert HEADER == (tmp_path / "copy").read_bytes()


@pytest.mark.parametrize("data", [b"", HEADER[:9], HEADER[:-1], HEADER, HEADER + b'{"type":'])
def test_what_a_dead_run_left_is_taken_over_however_little_it_is(tmp_path: Path, export: Export, data: bytes) -> None:
    (tmp_path / ".manifest.jsonl.partial").write_bytes(data)
    export(tmp_path, {"a": b"1"})
    assert verify(tmp_path).ok
    assert {"a", "manifest.jsonl", "SHA256SUMS"} == set(os.listdir(tmp_path))


def test_a_partial_manifest_is_known_from_its_first_moment(tmp_path: Path) -> None:
    with DirectoryTarget(tmp_path) as target, ManifestWriter(target, format="md", version="1"):
        assert HEADER == (tmp_path / ".manifest.jsonl.partial").read_bytes()


def test_the_partial_manifest_goes_after_the_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill between the two left temporary files that nothing told of."""
    gone: list[str] = []
    real = os.unlink

    def unlink(path: str) -> None:
        gone.append(path.rsplit(".", 1)[1])
        real(path)

    def interrupted() -> None:
        with DirectoryTarget(tmp_path) as target, ManifestWriter(target, format="md", version="1"):
            target.finish(target.stream("a"))
            target.stream("b").write(b"x")
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "unlink", unlink)
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert ["satchel-tmp", "satchel-tmp", "partial"] == gone


def test_a_partial_manifest_that_was_exchanged_meanwhile_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / ".m.partial"
    run = Unfinished(str(path))
    path.rename(tmp_path / "moved")
    path.write_bytes(b"theirs")
    run.remove()
    assert b"theirs" == path.read_bytes()


def test_an_interrupted_run_leaves_what_the_next_one_needs_and_no_more(tmp_path: Path, export: Export) -> None:
    files = {f"{number:03}": b"x" for number in range(300)}

    def interrupted(folder: Path, count: int) -> None:
        with DirectoryTarget(folder) as target, ManifestWriter(target, format="md", version="1") as manifest:
            for name in list(files)[:count]:
                stream = target.stream(name)
                stream.write(files[name])
                target.finish(stream)
                manifest.session({"session_id": f"id-{name}", "file": name, "message_count": 1})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path / "few", 10)
    assert [] == list(tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path / "many", 300)
    assert {".manifest.jsonl.partial", *list(files)[:256]} == set(os.listdir(tmp_path / "many"))
    export(tmp_path / "many", files)
    export(tmp_path / "fresh", files)
    assert (tmp_path / "fresh" / "manifest.jsonl").read_bytes() == (tmp_path / "many" / "manifest.jsonl").read_bytes()
    assert verify(tmp_path / "many").ok
