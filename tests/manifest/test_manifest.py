"""What a run writes about itself: the lines, the seal, the checksums, and what becomes of earlier manifests."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel.errors import ManifestError, TargetError, TargetExists
from satchel.events import Event, Problem
from satchel.jsontext import loads
from satchel.manifest import target as target_module
from satchel.manifest.lines import read_manifest, sums_line, sums_of
from satchel.manifest.manifest import ManifestWriter
from satchel.manifest.target import DirectoryTarget, FileTarget
from satchel.manifest.verify import verify

Export = Callable[..., None]

TWO = {"a.md": b"one", "sub/b.md": b"two!"}


def _lines(path: Path) -> list[dict[str, Any]]:
    return [loads(line) for line in path.read_bytes().splitlines()]


def _names(folder: Path) -> set[str]:
    return set(os.listdir(folder))


def test_the_lines_of_a_folder(tmp_path: Path, export: Export) -> None:
    export(tmp_path, TWO, lost=4)
    path = tmp_path / "manifest.jsonl"
    data = path.read_bytes()
    one, two = (hashlib.sha256(data).hexdigest() for data in TWO.values())
    header = {"type": "header", "schema": "satchel-manifest", "version": 2, "writer": "satchel 1", "format": "md"}
    assert [
        header | {"rules": None, "options": {}},
        {"type": "session", "session_id": "id-a.md", "file": "a.md", "message_count": 3},
        {"type": "session", "session_id": "id-sub/b.md", "file": "sub/b.md", "message_count": 4},
        {
            "type": "file",
            "path": "a.md",
            "bytes": 3,
            "sha256": one,
            "format": "md",
            "session_id": "id-a.md",
            "lineage_session_ids": [],
            "message_count": 3,
            "sessions": 1,
        },
        {
            "type": "file",
            "path": "sub/b.md",
            "bytes": 4,
            "sha256": two,
            "format": "md",
            "session_id": "id-sub/b.md",
            "lineage_session_ids": [],
            "message_count": 4,
            "sessions": 1,
        },
        {"type": "loss", "lost": 4},
    ] == _lines(path)[:-1]
    assert {
        "type": "totals",
        "sessions": 2,
        "messages": 7,
        "files": 2,
        "bytes": 7,
        "lost": 4,
        "covers": "folder",
        "sha256": hashlib.sha256(data[: data.rindex(b',"sha256":')]).hexdigest(),
    } == _lines(path)[-1]
    assert read_manifest(path).sealed
    assert {"a.md", "sub", "manifest.jsonl", "SHA256SUMS"} == _names(tmp_path)


def test_keys_stand_in_their_documented_order(tmp_path: Path) -> None:
    with FileTarget(tmp_path / "x") as target, ManifestWriter(target, format="jsonl", version="1", rules="ab") as manifest:
        target.finish(target.stream())
        manifest.session({"own": 1, "type": "nonsense", "losses": {"images": 2}, "lost": 5, "file": "x", "session_id": "s"})
    lines = (tmp_path / "x.manifest.jsonl").read_text().splitlines()
    assert lines[0].startswith(
        '{"type":"header","schema":"satchel-manifest","version":2,"writer":"satchel 1","format":"jsonl","rules":"ab"'
    )
    assert '{"type":"session","session_id":"s","file":"x","lost":5,"losses":{"images":2},"own":1}' == lines[1]
    assert 5 == loads(lines[-1])["lost"]


def test_one_file_of_many_sessions(tmp_path: Path, export_file: Export) -> None:
    export_file(tmp_path / "x.jsonl", b"{}\n{}\n")
    lines = _lines(tmp_path / "x.jsonl.manifest.jsonl")
    assert ["header", "session", "session", "file", "totals"] == [line["type"] for line in lines]
    assert {"path": "x.jsonl", "session_id": None, "lineage_session_ids": [], "message_count": 6, "sessions": 2} == {
        key: lines[3][key] for key in ("path", "session_id", "lineage_session_ids", "message_count", "sessions")
    }
    assert {"x.jsonl", "x.jsonl.manifest.jsonl"} == _names(tmp_path)


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no coreutils")
def test_the_checksums_are_good_for_coreutils(tmp_path: Path, export: Export) -> None:
    export(tmp_path, TWO | {"with space": b"", "line\nend": b"x", "日本.md": b"y", "-dash": b"z", "\udcff": b"raw"})
    run = subprocess.run(["sha256sum", "-c", "--strict", "SHA256SUMS"], cwd=tmp_path, capture_output=True, check=False)
    assert 0 == run.returncode, run.stderr
    assert 8 == run.stdout.count(b": OK")
    names = [line[0] for line in sums_of(str(tmp_path / "SHA256SUMS")) if line]
    assert "manifest.jsonl" == names[-1]
    assert sorted(names[:-1], key=os.fsencode) == names[:-1]
    (tmp_path / "a.md").write_bytes(b"two")
    assert 1 == subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path, capture_output=True, check=False).returncode


@pytest.mark.parametrize("name", ["a", "line\nend", "a\\b", "cr\rcr", "both\\\n"])
def test_checksum_lines_are_read_back(tmp_path: Path, name: str) -> None:
    (tmp_path / "S").write_bytes(sums_line(name, "0" * 64))
    assert [(name, "0" * 64)] == list(sums_of(str(tmp_path / "S")))


def test_file_lines_come_after_their_sessions_and_as_they_become_durable(tmp_path: Path, export: Export) -> None:
    export(tmp_path, {f"{number:03}": b"x" for number in range(300)})
    lines = _lines(tmp_path / "manifest.jsonl")
    first = next(number for number, line in enumerate(lines) if line["type"] == "file")
    assert 1 + 256 == first
    seen: set[str] = set()
    for line in lines[1:-1]:
        if line["type"] == "session":
            seen.add(line["file"])
        else:
            assert line["path"] in seen
            assert 1 == line["sessions"]


def test_session_lines_are_not_held_in_memory(tmp_path: Path) -> None:
    with FileTarget(tmp_path / "x") as target, ManifestWriter(target, format="jsonl", version="1") as manifest:
        stream = target.stream()
        for number in range(100):
            manifest.session({"session_id": str(number), "file": "x", "note": "n" * 30_000})
        (partial,) = [path for path in tmp_path.iterdir() if path.name.endswith(".partial")]
        assert partial.stat().st_size > 1_900_000
        target.finish(stream)
    assert 100 == verify(tmp_path / "x").sessions


def test_the_same_run_gives_the_same_bytes(tmp_path: Path, export: Export) -> None:
    export(tmp_path / "1", TWO)
    export(tmp_path / "2", TWO)
    for name in ("manifest.jsonl", "SHA256SUMS"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_the_same_run_again_keeps_the_manifest_and_no_older_one(tmp_path: Path, export: Export) -> None:
    export(tmp_path, TWO)
    before = (tmp_path / "manifest.jsonl").stat()
    export(tmp_path, TWO, force=True)
    after = (tmp_path / "manifest.jsonl").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert {"a.md", "sub", "manifest.jsonl", "SHA256SUMS"} == _names(tmp_path)
    assert verify(tmp_path).ok


def test_a_second_run_adds_to_the_first(tmp_path: Path, export: Export) -> None:
    export(tmp_path, TWO, lost=3)
    first = (tmp_path / "manifest.jsonl").read_bytes()
    export(tmp_path, {"c.md": b"3"}, format="trace")
    assert first == (tmp_path / "manifest.1.jsonl").read_bytes()
    report = verify(tmp_path)
    assert ((), 3, 3, 8) == (report.findings, report.files, report.sessions, report.bytes)
    formats = [line["format"] for line in _lines(tmp_path / "manifest.jsonl") if line["type"] in ("header", "file")]
    assert ["md", "md", "md", "trace", "trace"] == formats


def test_what_a_sealed_run_wrote_is_replaced_only_by_force(tmp_path: Path, export: Export) -> None:
    export(tmp_path, TWO)
    before = _names(tmp_path)
    with pytest.raises(TargetExists):
        export(tmp_path, {"c.md": b"3", "a.md": b"one"})
    assert before == _names(tmp_path)
    assert verify(tmp_path).ok


def test_the_order_of_runs_does_not_show(tmp_path: Path, export: Export) -> None:
    """The lines of a run that is made again stand where they stood: nothing grows and nothing moves."""
    export(tmp_path, TWO)
    export(tmp_path, {"c.md": b"3"}, format="trace")
    before = (tmp_path / "manifest.jsonl").read_bytes()
    export(tmp_path, TWO, force=True)
    export(tmp_path, {"c.md": b"3"}, format="trace", force=True)
    assert before == (tmp_path / "manifest.jsonl").read_bytes()
    assert not (tmp_path / "manifest.2.jsonl").exists()


def test_a_file_that_is_written_again_is_listed_once(tmp_path: Path, export: Export) -> None:
    export(tmp_path, TWO)
    export(tmp_path, {"a.md": b"new"}, format="trace", force=True)
    report = verify(tmp_path)
    assert ((), 2, 2) == (report.findings, report.files, report.sessions)
    assert [("sub/b.md", "md"), ("a.md", "trace")] == [
        (line["path"], line["format"]) for line in _lines(tmp_path / "manifest.jsonl") if line["type"] == "file"
    ]


def test_sessions_without_a_file_stay_and_do_not_grow(tmp_path: Path) -> None:
    def run(format: str, name: str) -> None:
        with (
            DirectoryTarget(tmp_path, force=True) as target,
            ManifestWriter(target, format=format, version="1") as manifest,
        ):
            target.finish(target.stream(name))
            manifest.session({"session_id": "good", "file": name})
            manifest.session({"session_id": f"broken-{format}", "file": None, "lost": 1})

    for format, name in (("md", "a"), ("trace", "b"), ("md", "a")):
        run(format, name)
    lines = _lines(tmp_path / "manifest.jsonl")
    assert ["good", "broken-md", "good", "broken-trace"] == [line["session_id"] for line in lines if line["type"] == "session"]
    assert 2 == lines[-1]["lost"]


def test_names_of_older_manifests_that_others_have_are_passed_over(tmp_path: Path, export: Export) -> None:
    long = f"manifest.{'9' * 238}.jsonl"
    (tmp_path / "manifest.1.jsonl").symlink_to("nowhere")
    (tmp_path / "manifest.2.jsonl").write_bytes(b"mine")
    (tmp_path / long).write_bytes(b"mine")
    events: list[Event] = []
    for name in ("a", "b", "c"):
        export(tmp_path, {name: b"x"}, listen=events.append)
    assert ["manifest.1.jsonl" in event.message for event in events if isinstance(event, Problem)] == [True]
    theirs = {"manifest.1.jsonl", "manifest.2.jsonl", long}
    assert theirs | {"a", "b", "c", "manifest.3.jsonl", "manifest.4.jsonl", "manifest.jsonl", "SHA256SUMS"} == _names(tmp_path)
    assert theirs == {finding.path for finding in verify(tmp_path).findings}


def test_what_a_run_lost_stays_known_when_others_are_added(tmp_path: Path, export: Export) -> None:
    export(tmp_path, TWO, lost=3)
    export(tmp_path, {"c.md": b"3"}, format="trace", lost=2)
    assert (True, 5) == (verify(tmp_path).ok, verify(tmp_path).lost)
    export(tmp_path, TWO, lost=1, force=True)
    assert (True, 3) == (verify(tmp_path).ok, verify(tmp_path).lost)


def test_older_manifests_are_numbered(tmp_path: Path, export: Export) -> None:
    for number in range(12):
        export(tmp_path, {f"{number}": b"x"})
    assert {f"manifest.{number}.jsonl" for number in range(1, 12)} <= _names(tmp_path)
    assert [f"{number}" for number in range(3)] == [
        line["path"] for line in _lines(tmp_path / "manifest.3.jsonl") if line["type"] == "file"
    ]
    assert verify(tmp_path).ok


@pytest.mark.parametrize(("damage", "what"), [(b"altered", "was altered"), (b"0ne", "was altered"), (None, "is missing")])
def test_a_folder_that_is_not_as_its_manifest_says_is_not_added_to(
    tmp_path: Path, export: Export, damage: bytes | None, what: str
) -> None:
    export(tmp_path, TWO)
    sealed = (tmp_path / "manifest.jsonl").read_bytes()
    (tmp_path / "a.md").unlink()
    if damage is not None:
        (tmp_path / "a.md").write_bytes(damage)
    before = _names(tmp_path)
    with pytest.raises(ManifestError, match=f"a.md {what}"):
        export(tmp_path, {"c.md": b"3"})
    assert before == _names(tmp_path)
    assert sealed == (tmp_path / "manifest.jsonl").read_bytes()
    events: list[Event] = []
    export(tmp_path, {"c.md": b"3"}, force=True, listen=events.append)
    assert [f"a.md {what}, and is in the manifest no more"] == [e.message for e in events if isinstance(e, Problem)]
    assert ["unexpected"] * (damage is not None) == [finding.kind for finding in verify(tmp_path).findings]


def test_a_sealed_manifest_with_hostile_paths_is_not_added_to(tmp_path: Path, export: Export, forge: Callable[..., Path]) -> None:
    line = {"type": "file", "bytes": 0, "sha256": "0" * 64}
    for lines in ([line | {"path": "../x"}], [line | {"path": "a"}, line | {"path": "a"}], [line | {"path": 5}]):
        forge(tmp_path, lines)
        with pytest.raises(ManifestError):
            export(tmp_path, {"c.md": b"3"}, force=True)
        assert {"manifest.jsonl"} == _names(tmp_path)


def test_a_manifest_of_a_newer_version_is_left_alone(tmp_path: Path, export: Export) -> None:
    (tmp_path / "manifest.jsonl").write_bytes(b'{"type":"header","schema":"satchel-manifest","version":3}\n')
    with pytest.raises(ManifestError, match="version 3"):
        export(tmp_path, {"c.md": b"3"}, force=True)
    assert {"manifest.jsonl"} == _names(tmp_path)


def test_a_damaged_manifest_is_kept_and_what_it_lists_rightly_goes_over(tmp_path: Path, export: Export) -> None:
    export(tmp_path, TWO)
    path = tmp_path / "manifest.jsonl"
    damaged = path.read_bytes().replace(b'"message_count":4', b'"message_count":5')
    path.write_bytes(damaged)
    events: list[Event] = []
    export(tmp_path, {"a.md": b"one", "c.md": b"3"}, listen=events.append)
    assert ["altered"] == [e.message.split("it was ")[1].split(";")[0] for e in events if isinstance(e, Problem)]
    assert damaged == (tmp_path / "manifest.1.jsonl").read_bytes()
    assert {"a.md", "sub/b.md", "c.md"} == {line["path"] for line in _lines(path) if line["type"] == "file"}


FOREIGN = b'{"path":"/home/ada/exports/old.md","session_id":"20260102_x"}\n'


def test_a_foreign_manifest_is_left_alone(tmp_path: Path, export: Export) -> None:
    """Hermes itself appends a `manifest.jsonl` without a header to the same folder."""
    (tmp_path / "manifest.jsonl").write_bytes(FOREIGN)
    (tmp_path / "old.md").write_bytes(b"theirs")
    (tmp_path / "SHA256SUMS").write_bytes(sums_line("old.md", hashlib.sha256(b"theirs").hexdigest()))
    theirs = {name: (tmp_path / name).read_bytes() for name in _names(tmp_path)}
    export(tmp_path, TWO)
    export(tmp_path, {"c.md": b"3"})
    assert theirs == {name: (tmp_path / name).read_bytes() for name in theirs}
    ours = {"a.md", "sub", "c.md", "satchel-manifest.jsonl", "satchel-manifest.1.jsonl", "satchel-SHA256SUMS"}
    assert theirs.keys() | ours == _names(tmp_path)
    report = verify(tmp_path)
    assert ((), 3) == (report.findings, report.files)
    (tmp_path / "manifest.jsonl").unlink()
    export(tmp_path, {"d.md": b"4"})
    assert 4 == verify(tmp_path).files


def test_something_else_under_our_second_name_is_not_overwritten(tmp_path: Path, export: Export) -> None:
    for name in ("manifest.jsonl", "satchel-manifest.jsonl"):
        (tmp_path / name).write_bytes(FOREIGN)
    with pytest.raises(TargetError, match="in the way"):
        export(tmp_path, TWO, force=True)
    assert {"manifest.jsonl", "satchel-manifest.jsonl"} == _names(tmp_path)


def test_a_folder_with_other_things_in_it_is_told(tmp_path: Path, export: Export) -> None:
    (tmp_path / "notes.txt").write_bytes(b"")
    events: list[Event] = []
    export(tmp_path, TWO, listen=events.append)
    assert ["notes.txt" in event.message for event in events if isinstance(event, Problem)] == [True]
    export(tmp_path / "new", TWO, listen=events.append)
    assert 1 == sum(isinstance(event, Problem) for event in events)


@pytest.mark.parametrize("name", ["manifest.jsonl", "SHA256SUMS", "manifest.7.jsonl", ".manifest.jsonl.partial"])
def test_payload_cannot_take_the_names_of_the_manifest(tmp_path: Path, export: Export, name: str) -> None:
    with pytest.raises(TargetError, match="keeps about the folder"):
        export(tmp_path / "out", {name: b""})
    assert not (tmp_path / "out").exists()


def test_a_file_export_replaces_its_manifest_only_by_force(tmp_path: Path, export_file: Export) -> None:
    path = tmp_path / "x.jsonl"
    export_file(path, b"old")
    with pytest.raises(TargetExists):
        export_file(path, b"new")
    export_file(path, b"new", force=True, sessions=1)
    report = verify(path)
    assert ((), 1) == (report.findings, report.sessions)
    assert {"x.jsonl", "x.jsonl.manifest.jsonl"} == _names(tmp_path)
    path.unlink()
    with pytest.raises(TargetExists, match=r"manifest\.jsonl exists"):
        export_file(path, b"new")


@pytest.mark.parametrize(("name", "why"), [("x" * 250, "longer than 255"), ("a\\b", "backslash"), ("c:x", "drive")])
def test_a_name_that_cannot_stand_in_a_manifest_is_refused(tmp_path: Path, export_file: Export, name: str, why: str) -> None:
    with pytest.raises(TargetError, match=why):
        export_file(tmp_path / name, b"")
    assert set() == _names(tmp_path)


def test_the_longest_name_with_a_manifest_works(tmp_path: Path, export_file: Export) -> None:
    path = tmp_path / ("x" * (255 - len(".manifest.jsonl")))
    export_file(path, b"1")
    assert verify(path).ok
    assert 2 == len(_names(tmp_path))


def test_a_session_in_a_file_that_was_not_written_is_an_error(tmp_path: Path) -> None:
    with (
        pytest.raises(ManifestError, match=r"ghost\.md, which was not written"),
        DirectoryTarget(tmp_path) as target,
        ManifestWriter(target, format="md", version="1") as manifest,
    ):
        manifest.session({"session_id": "s", "file": "ghost.md"})
    assert set() == _names(tmp_path)


def test_a_run_that_goes_on_after_a_failed_batch_gets_no_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the manifest would list a file that is not there."""
    monkeypatch.setattr(target_module, "_BATCH_FILES", 1)

    def run() -> None:
        with DirectoryTarget(tmp_path) as target, ManifestWriter(target, format="md", version="1") as manifest:
            target.finish(target.stream("a.md"))
            (tmp_path / "a.md").write_bytes(b"theirs")
            with pytest.raises(TargetExists):
                manifest.session({"session_id": "a", "file": "a.md"})
            target.finish(target.stream("b.md"))
            manifest.session({"session_id": "b", "file": "b.md"})

    with pytest.raises(TargetError, match="cannot be completed"):
        run()
    assert {"a.md"} == _names(tmp_path)
    assert b"theirs" == (tmp_path / "a.md").read_bytes()


def test_nothing_can_be_added_to_a_sealed_run(tmp_path: Path) -> None:
    def run() -> None:
        with DirectoryTarget(tmp_path) as target, ManifestWriter(target, format="md", version="1") as manifest:
            manifest.seal()
            assert manifest.sealed
            with pytest.raises(ManifestError, match="not open"):
                manifest.session({"session_id": "s"})
            target.finish(target.stream("late"))

    with pytest.raises(ManifestError, match="after its manifest"):
        run()
    assert {"manifest.jsonl", "SHA256SUMS"} == _names(tmp_path)
    assert verify(tmp_path).ok


def test_manifests_obey_the_umask(tmp_path: Path, export: Export) -> None:
    before = os.umask(0o077)
    try:
        export(tmp_path / "out", TWO)
    finally:
        os.umask(before)
    assert {0o600} == {path.stat().st_mode & 0o777 for path in (tmp_path / "out").rglob("*") if path.is_file()}
