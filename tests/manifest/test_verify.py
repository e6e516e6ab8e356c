"""Whatever is done to an export, its verification names it; whatever a manifest says, nothing outside the folder is opened."""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.errors import JsonError, NotFound
from satchel.events import Event, Problem, Verified
from satchel.manifest import paths
from satchel.manifest import verify as verify_module
from satchel.manifest.lines import read_manifest
from satchel.manifest.verify import Finding, Report, payload_files, verify

Export = Callable[..., None]
Forge = Callable[..., Path]

FILES = {"a.md": b"one", "sub/b.md": b"two!", "empty.md": b""}


@pytest.fixture
def folder(tmp_path: Path, export: Export) -> Path:
    export(tmp_path / "out", FILES)
    return tmp_path / "out"


def _kinds(report: Report) -> list[tuple[str, str]]:
    return [(finding.kind, finding.path) for finding in report.findings]


def _line(path: object, data: bytes = b"", **more: object) -> dict[str, object]:
    return {"type": "file", "path": path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} | more


def test_a_good_folder(folder: Path) -> None:
    events: list[Event] = []
    report = verify(folder, listen=events.append)
    assert report == verify(folder / "manifest.jsonl")
    assert ((), str(folder / "manifest.jsonl"), 3, 7, 3) == (
        report.findings,
        report.manifest,
        report.files,
        report.bytes,
        report.sessions,
    )
    assert report.ok
    assert [Verified(path=str(folder / name), ok=True) for name in FILES] == events


def test_a_flipped_bit(folder: Path) -> None:
    (folder / "a.md").write_bytes(b"onf")
    events: list[Event] = []
    report = verify(folder, listen=events.append)
    assert [("hash", "a.md")] == _kinds(report)
    assert "a.md was altered" in report.findings[0].message
    assert [False, True, True] == [event.ok for event in events if isinstance(event, Verified)]


def test_another_size(folder: Path) -> None:
    (folder / "a.md").write_bytes(b"one more")
    assert ["a.md has 8 bytes, and 3 in the manifest"] == [finding.message for finding in verify(folder).findings]


def test_missing_and_unlisted_files(folder: Path) -> None:
    (folder / "a.md").unlink()
    (folder / "sub" / "new.md").write_bytes(b"x")
    (folder / ".hidden").write_bytes(b"x")
    (folder / "just-a-folder").mkdir()
    assert [("missing", "a.md"), ("unexpected", ".hidden"), ("unexpected", "sub/new.md")] == _kinds(verify(folder))


def test_a_renamed_file_is_named(folder: Path) -> None:
    (folder / "sub" / "b.md").rename(folder / "c.md")
    report = verify(folder)
    assert [("missing", "sub/b.md"), ("unexpected", "c.md")] == _kinds(report)
    assert "sub/b.md is there under another name: c.md" == report.findings[0].message


def test_names_that_differ_only_in_case_or_unicode_form_are_named(tmp_path: Path, export: Export) -> None:
    export(tmp_path, {"Straße.md": b"1", "été.md": b"2", "other.md": b"3"})
    (tmp_path / "Straße.md").rename(tmp_path / "straße.md")
    (tmp_path / "été.md").rename(tmp_path / unicodedata.normalize("NFD", "été.md"))
    (tmp_path / "other.md").rename(tmp_path / "OTHER.md")
    (tmp_path / "OTHER.md").write_bytes(b"4")
    messages = [finding.message for finding in verify(tmp_path).findings]
    assert 6 == len(messages)
    assert "Straße.md is there under another name: straße.md (only in upper and lower case)" in messages
    assert any("été.md is there under another name" in m and "(only in the Unicode form of its letters)" in m for m in messages)
    assert "other.md is missing" in messages
    assert any("OTHER.md is in the folder" in m and "differs from other.md (only in upper and lower case)" in m for m in messages)


def test_many_faults_are_gathered_from_cheap_to_dear(folder: Path, export: Export) -> None:
    export(folder, {"c.md": b"3", "d.md": b"4"})
    (folder / "a.md").unlink()
    (folder / "sub" / "b.md").write_bytes(b"TWO!")
    (folder / "c.md").write_bytes(b"longer")
    (folder / "d.md").unlink()
    (folder / "d.md").symlink_to("c.md")
    (folder / "e.md").write_bytes(b"new")
    assert [("unsafe", "d.md"), ("missing", "a.md"), ("unexpected", "e.md"), ("size", "c.md"), ("hash", "sub/b.md")] == _kinds(
        verify(folder)
    )


def test_a_manifest_that_was_cut(folder: Path) -> None:
    path = folder / "manifest.jsonl"
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut, why in [
        (whole[:-1], "its last line is cut off"),
        (whole[:-20], "its last line is cut off"),
        (b"".join(lines[:-1]), "does not end with its totals"),
        (b"".join(lines[:-2] + lines[-1:]), "altered"),
        (lines[0], "does not end with its totals"),
    ]:
        path.write_bytes(cut)
        findings = verify(folder).findings
        assert "manifest" == findings[0].kind
        assert why in findings[0].message


@pytest.mark.parametrize("edit", ["reorder", "number", "digest", "add", "drop", "total"])
def test_a_manifest_that_was_edited(folder: Path, edit: str) -> None:
    path = folder / "manifest.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    if edit == "reorder":
        lines[1], lines[2] = lines[2], lines[1]
    elif edit == "number":
        lines[1] = lines[1].replace(b'"message_count":3', b'"message_count":4')
    elif edit == "digest":
        at = lines[-1].index(b'"sha256":"') + 10
        lines[-1] = lines[-1][:at] + (b"0" if lines[-1][at : at + 1] != b"0" else b"1") + lines[-1][at + 1 :]
    elif edit == "add":
        lines.insert(-1, b'{"type":"note"}\n')
    elif edit == "drop":
        del lines[4]
    else:
        lines[-1] = lines[-1].replace(b'"files":3', b'"files":2')
    path.write_bytes(b"".join(lines))
    findings = verify(folder).findings
    assert {"manifest", "sums"} <= {finding.kind for finding in findings}
    if edit != "total":
        assert "altered" in findings[0].message
    assert "sums" in [finding.kind for finding in findings if finding.path == "manifest.jsonl"]


def test_no_flipped_bit_of_a_manifest_goes_unseen(tmp_path: Path, export: Export) -> None:
    export(tmp_path, {"a.md": b"one"})
    path = tmp_path / "manifest.jsonl"
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        assert not verify(tmp_path).ok, place


def test_no_manifest_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"1")
    for path in (tmp_path, tmp_path / "x"):
        report = verify(path)
        assert ["manifest"] == [finding.kind for finding in report.findings]
        assert report.manifest is None
        assert [] == list(payload_files(report))
    with pytest.raises(NotFound, match="does not exist"):
        verify(tmp_path / "none")
    (tmp_path / "manifest.jsonl").write_bytes(b'{"path":"x"}\n')
    assert "no manifest of Satchel" in verify(tmp_path).findings[0].message


def test_a_manifest_of_a_newer_version_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "manifest.jsonl").write_bytes(b'{"type":"header","schema":"satchel-manifest","version":3}\n')
    assert "version 3" in verify(tmp_path).findings[0].message


def test_one_file(tmp_path: Path, export_file: Export) -> None:
    path = tmp_path / "x.jsonl"
    export_file(path, b"{}\n")
    (tmp_path / "somebody else's").write_bytes(b"")
    report = verify(path)
    assert report == verify(tmp_path / "x.jsonl.manifest.jsonl")
    assert ((), 1, 3, 2) == (report.findings, report.files, report.bytes, report.sessions)
    path.write_bytes(b"{ \n")
    assert [("hash", "x.jsonl")] == _kinds(verify(path))
    path.unlink()
    assert [("missing", "x.jsonl")] == _kinds(verify(path))


def test_one_file_that_was_renamed_with_its_manifest(tmp_path: Path, export_file: Export) -> None:
    export_file(tmp_path / "x.jsonl", b"{}\n")
    (tmp_path / "x.jsonl").rename(tmp_path / "y.jsonl")
    (tmp_path / "x.jsonl.manifest.jsonl").rename(tmp_path / "y.jsonl.manifest.jsonl")
    assert ["x.jsonl is there under another name: y.jsonl"] == [f.message for f in verify(tmp_path / "y.jsonl").findings]


def test_a_manifest_that_speaks_of_another_file(tmp_path: Path, export_file: Export) -> None:
    export_file(tmp_path / "x.jsonl", b"{}\n")
    (tmp_path / "y.jsonl").write_bytes(b"damaged")
    (tmp_path / "y.jsonl.manifest.jsonl").write_bytes((tmp_path / "x.jsonl.manifest.jsonl").read_bytes())
    assert [("manifest", "y.jsonl.manifest.jsonl")] == _kinds(verify(tmp_path / "y.jsonl"))
    assert verify(tmp_path / "x.jsonl").ok


def test_kept_manifests_are_expected_and_nothing_that_only_looks_like_one(folder: Path, export: Export) -> None:
    export(folder, {"c.md": b"3"})
    assert (folder / "manifest.1.jsonl").exists()
    assert verify(folder).ok
    assert verify(folder / "manifest.1.jsonl").ok
    (folder / "manifest.2.jsonl").write_bytes(b"{}\n")
    (folder / "sub" / "manifest.1.jsonl").write_bytes((folder / "manifest.1.jsonl").read_bytes())
    assert [("unexpected", "manifest.2.jsonl"), ("unexpected", "sub/manifest.1.jsonl")] == _kinds(verify(folder))


def test_what_an_unfinished_run_left_is_told_as_such(folder: Path) -> None:
    (folder / ".manifest.jsonl.partial").write_bytes(b"")
    (folder / ".a.md.0123abcd.satchel-tmp").write_bytes(b"")
    messages = [finding.message for finding in verify(folder).findings]
    assert ["temporary file" in messages[0], "did not finish" in messages[1]] == [True, True]


def test_a_foreign_file_that_is_called_as_a_partial_manifest_is_not_taken_for_one(folder: Path) -> None:
    (folder / ".manifest.jsonl.partial").write_bytes(b"mine")
    assert ["in the folder and not in the manifest" in f.message for f in verify(folder).findings] == [True]


class TestTotals:
    def test_no_total_can_be_changed(self, tmp_path: Path, export: Export) -> None:
        """`lost` could: the seal was that of the lines above, and no check added it up."""
        export(tmp_path, FILES, lost=3)
        path = tmp_path / "manifest.jsonl"
        whole = path.read_bytes()
        assert read_manifest(path).sealed
        for old, new in [
            (b'"lost":3,"covers"', b'"lost":0,"covers"'),
            (b'"lost":3,"covers"', b'"lost":3,"lost":0,"covers"'),
            (b'"covers":"folder"', b'"covers":"files"'),
            (b'"}\n', b'","lost":0}\n'),
            (b'"}\n', b'" }\n'),
        ]:
            path.write_bytes(new.join(whole.rsplit(old, 1)))
            assert not read_manifest(path).sealed, new

    @pytest.mark.parametrize("version", [1, 2])
    def test_losses_add_up(self, tmp_path: Path, forge: Forge, version: int) -> None:
        sessions = [{"type": "session", "session_id": "s", "lost": 2}]
        assert verify(forge(tmp_path, sessions, name="m", version=version)).ok
        for lost in (-1, 1):
            report = verify(forge(tmp_path, sessions, name="m", version=version, lost=lost))
            # Only the totals of version 1 knew what no session line counts.
            assert (version == 1 and lost > 0) is report.ok
        assert 3 == report.lost or version == 2
        report = verify(forge(tmp_path, [*sessions, {"type": "loss", "lost": 1}], name="m", version=2, lost=1))
        assert (True, 3, 1) == (report.ok, report.lost, report.incomplete)

    def test_a_manifest_of_version_1_is_read_and_its_lines_go_over(self, tmp_path: Path, export: Export, forge: Forge) -> None:
        export(tmp_path / "new", FILES)
        export(tmp_path / "old", FILES)
        path = tmp_path / "old" / "manifest.jsonl"
        header, *lines = path.read_bytes().splitlines(keepends=True)[:-1]
        body = header.replace(b'"version":2', b'"version":1') + b"".join(lines)
        totals = b'{"type":"totals","sessions":3,"messages":7,"files":3,"bytes":7,"lost":0,"sha256":"%s"}\n'
        path.write_bytes(body + totals % hashlib.sha256(body).hexdigest().encode())
        assert [("sums", "manifest.jsonl")] == _kinds(verify(tmp_path / "old"))
        for folder in ("old", "new"):
            export(tmp_path / folder, {"c.md": b"3"}, format="trace")
            assert verify(tmp_path / folder).ok
        assert (tmp_path / "new" / "manifest.jsonl").read_bytes() == path.read_bytes()


class TestNotes:
    def test_a_copy_of_what_was_not_whole_is_good_and_not_whole(self, tmp_path: Path, forge: Forge) -> None:
        """The manifest recorded it, and nobody heard of it again."""
        sessions: list[dict[str, object]] = [
            {"type": "session", "session_id": f"s{n}", "incomplete": n < 7, "lost": int(n < 2)} for n in range(9)
        ]
        sessions[8]["losses"] = {"images": 2, "\x1b[2J": 1}
        report = verify(forge(tmp_path, sessions, name="m"))
        assert (True, 7, 2) == (report.ok, report.incomplete, report.lost)
        assert [
            "7 sessions were not read whole when this was written: s0, s1, s2, s3, s4, …",
            "at least 2 records could not be read or written when this was written",
            "the format could not hold all of 1 session: images (2), \\x1b[2J (1)",
        ] == [note.message for note in report.notes]
        assert ["incomplete", "incomplete", "losses"] == [note.kind for note in report.notes]

    def test_there_are_none_of_a_whole_copy(self, folder: Path) -> None:
        report = verify(folder)
        assert ((), 0, 0) == (report.notes, report.incomplete, report.lost)

    def test_losses_of_any_form_are_no_crash(self, tmp_path: Path, forge: Forge) -> None:
        odd: list[dict[str, object]] = [
            {"lost": "x"},
            {"lost": True},
            {"lost": -5},
            {"losses": [1]},
            {"losses": {"a": None}},
            {"incomplete": []},
        ]
        verify(forge(tmp_path, [{"type": "session", **line} for line in odd], name="m"))

    def test_a_content_check_may_leave_something_unchecked(self, folder: Path) -> None:
        def content(path: str, update: Callable[[bytes], None], /, **_: object) -> list[Finding]:
            return [Finding("unchecked", "a.md", "not compared")]

        report = verify(folder, content=content)
        assert (True, 3) == (report.ok, len(report.notes))


class TestWhatAManifestIs:
    def test_a_name_makes_no_older_manifest(self, folder: Path) -> None:
        header = (folder / "manifest.jsonl").read_bytes().splitlines(keepends=True)[0]
        (folder / "manifest.7.jsonl").write_bytes(b"mine")
        (folder / "manifest.8.jsonl").symlink_to("manifest.jsonl")
        (folder / "manifest.9.jsonl").write_bytes(header + b"anything")
        report = verify(folder)
        assert [("unexpected", "manifest.7.jsonl"), ("unexpected", "manifest.8.jsonl")] == _kinds(report)
        assert [("older", "manifest.9.jsonl")] == [(note.kind, note.path) for note in report.notes]
        assert "proves nothing" in report.notes[0].message

    def test_no_link_is_one(self, tmp_path: Path, export: Export, export_file: Export) -> None:
        """What it led to was read as if it lay there, and compared with the files beside the link."""
        export(tmp_path / "out", {"a": b"1"})
        export_file(tmp_path / "x.jsonl", b"{}")
        for path, about in [
            (tmp_path / "out" / "manifest.jsonl", tmp_path / "out"),
            (tmp_path / "x.jsonl.manifest.jsonl", tmp_path / "x.jsonl"),
        ]:
            path.rename(tmp_path / "elsewhere")
            path.symlink_to(tmp_path / "elsewhere")
            for name in (about, path):
                report = verify(name)
                assert ["manifest"] == [finding.kind for finding in report.findings]
                assert "is a symbolic link, which is not followed" in report.findings[0].message
            path.unlink()
            path.symlink_to("nowhere")
            assert "is a symbolic link" in verify(path).findings[0].message

    def test_a_link_to_a_manifest_is_left_alone_by_an_export(self, tmp_path: Path, export: Export) -> None:
        export(tmp_path / "other", {"a": b"1"})
        before = (tmp_path / "other" / "manifest.jsonl").read_bytes()
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "manifest.jsonl").symlink_to(tmp_path / "other" / "manifest.jsonl")
        events: list[Event] = []
        export(tmp_path / "out", {"b": b"2"}, listen=events.append)
        assert ["is a symbolic link" in event.message for event in events if isinstance(event, Problem)] == [True]
        assert (True, 1) == (verify(tmp_path / "out").ok, verify(tmp_path / "out").files)
        assert before == (tmp_path / "other" / "manifest.jsonl").read_bytes()

    @pytest.mark.parametrize("name", ["m.jsonl", "satchel-manifest.jsonl", "x.manifest.jsonl", "manifest.3.jsonl"])
    def test_its_name_does_not_say_what_it_covers(self, folder: Path, name: str) -> None:
        """Renamed, it told of no file that was added."""
        (folder / "new.md").write_bytes(b"")
        (folder / "manifest.jsonl").rename(folder / name)
        report = verify(folder / name)
        assert [("unexpected", "new.md"), ("sums", name)] == _kinds(report)
        assert f"{name} is manifest.jsonl in SHA256SUMS: the manifest was renamed" == report.findings[1].message

    def test_that_of_one_file_covers_no_folder_under_any_name(self, tmp_path: Path, export_file: Export) -> None:
        export_file(tmp_path / "x.jsonl", b"{}")
        (tmp_path / "other").write_bytes(b"")
        (tmp_path / "x.jsonl.manifest.jsonl").rename(tmp_path / "manifest.jsonl")
        assert verify(tmp_path).ok

    def test_the_formats_of_a_file_and_of_its_header_are_one(self, tmp_path: Path, forge: Forge) -> None:
        (tmp_path / "a").write_bytes(b"")
        assert verify(forge(tmp_path, [_line("a", format="md")], name="m")).ok
        assert [("manifest", "m")] == _kinds(verify(forge(tmp_path, [_line("a", format="x")], name="m")))


class TestChecksums:
    def test_each_disagreement(self, folder: Path) -> None:
        path = folder / "SHA256SUMS"
        good = path.read_text()
        a = hashlib.sha256(b"one").hexdigest()
        for text, kind in [
            (good.replace(a, "0" * 64), ("sums", "a.md")),
            (good.replace(f"{a}  a.md\n", ""), ("sums", "a.md")),
            (f"{a}  ghost.md\n" + good, ("sums", "ghost.md")),
            ("no checksum\n" + good, ("sums", "SHA256SUMS")),
            (f"{'0' * 64}  a.md\n" + good, ("sums", "a.md")),
            (good[:-81] + "0" * 64 + good[-17:], ("sums", "manifest.jsonl")),
        ]:
            path.write_text(text)
            assert kind in _kinds(verify(folder)), text
        path.write_text(good.replace("  ", " *"))
        assert verify(folder).ok

    def test_none_at_all_or_somebody_elses(self, folder: Path) -> None:
        (folder / "SHA256SUMS").write_text(f"{'0' * 64}  other\n")
        assert [("unexpected", "SHA256SUMS"), ("sums", "satchel-SHA256SUMS")] == _kinds(verify(folder))
        (folder / "SHA256SUMS").unlink()
        assert [("sums", "SHA256SUMS")] == _kinds(verify(folder))


class TestHostileManifest:
    def test_a_path_of_thousands_of_parts(self, tmp_path: Path, forge: Forge) -> None:
        (tmp_path / "d").mkdir()
        for path in ("d/" * 3000 + "x", "x/" * 100_000 + "x"):
            assert _kinds(verify(forge(tmp_path, [_line(path)], name="m"))) in ([("missing", path)], [("unsafe", path)])

    @pytest.mark.parametrize("nested", [b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000])
    def test_lines_nested_as_deeply_as_can_be(self, tmp_path: Path, forge: Forge, nested: bytes) -> None:
        for data in (b'{"type":"session","x":%s}\n' % nested, nested + b"\n"):
            verify(forge(tmp_path, [data], name="m"))
            (tmp_path / "m2").write_bytes(data)
            assert not verify(tmp_path / "m2").ok

    @pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "a/../../secret", "..\\secret", "C:secret", "a\0", "", "a//b"])
    def test_no_path_leads_out(self, tmp_path: Path, forge: Forge, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
        (tmp_path / "secret").write_bytes(b"secret")
        (tmp_path / "out").mkdir()
        forge(tmp_path / "out", [_line(path, b"secret")])
        opened: list[str] = []
        monkeypatch.setattr(verify_module, "sha256_of", lambda path, buffer: opened.append(path))
        report = verify(tmp_path / "out")
        assert ("unsafe", path) in _kinds(report)
        assert [] == opened
        assert [] == list(payload_files(report))

    def test_links_pipes_and_folders_are_not_opened(self, tmp_path: Path, forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "x").write_bytes(b"x")
        out = tmp_path / "out"
        out.mkdir()
        (out / "linked").symlink_to("../elsewhere")
        (out / "link").symlink_to("../elsewhere/x")
        os.mkfifo(out / "pipe")
        (out / "folder").mkdir()
        (out / "good").write_bytes(b"x")
        forge(out, [_line(path, b"x") for path in ("linked/x", "link", "pipe", "folder", "folder/../good", "good")])
        opened: list[str] = []
        real = paths.open_regular

        def watched(path: str, /) -> Any:
            opened.append(path)
            return real(path)

        monkeypatch.setattr(paths, "open_regular", watched)
        report = verify(out)
        unsafe = [finding.path for finding in report.findings if finding.kind == "unsafe"]
        assert ["folder/../good", "linked/x", "link", "pipe", "folder"] == unsafe
        assert [str(out / "good")] == opened
        assert ["good"] == [line["path"] for line, _ in payload_files(report)]

    def test_structure(self, tmp_path: Path, forge: Forge) -> None:
        (tmp_path / "a").write_bytes(b"")
        for lines, message in [
            ([_line("a"), _line("a")], "listed twice"),
            ([_line("a"), {"type": "session", "file": "b"}], "which does not list the file"),
            ([_line("a", sessions=2), {"type": "session", "file": "a"}], "holds 2 sessions"),
            ([_line("a", sessions=1, message_count=5), {"type": "session", "file": "a", "message_count": 4}], "5 messages"),
            ([_line("a"), b"not json\n"], "is not a JSON object"),
            ([_line("a"), b"[]\n"], "is not a JSON object"),
            ([_line("a"), {"type": "totals"}], "goes on after its totals"),
            ([_line("a"), {"type": "header", "schema": "other"}], "header of something else"),
            ([_line("a") | {"sha256": "x" * 64}], "no SHA-256"),
            ([_line("a") | {"bytes": "0"}], "lacks a path"),
            ([_line("a") | {"bytes": -1}], "lacks a path"),
            ([_line("a") | {"bytes": True}], "lacks a path"),
            ([_line(["a"])], "lacks a path"),
        ]:
            forge(tmp_path, lines)
            assert any(message in finding.message for finding in verify(tmp_path).findings), lines

    def test_what_is_not_known_is_skipped(self, tmp_path: Path, forge: Forge) -> None:
        (tmp_path / "a").write_bytes(b"")
        forge(tmp_path, [_line("a", future={"x": 1}), {"type": "future", "path": "../x"}, {"no": "type"}])
        assert [("sums", "SHA256SUMS")] == _kinds(verify(tmp_path))

    def test_messages_carry_no_control_characters(self, tmp_path: Path, forge: Forge) -> None:
        forge(tmp_path, [_line("a\x1b]0;title\x07\n"), _line("../\x1b[2J")])
        for finding in verify(tmp_path).findings:
            assert finding.message.isprintable()

    @settings(deadline=None, max_examples=80)
    @given(
        data=st.lists(
            st.binary(max_size=40) | st.sampled_from([b'{"type":"file"}', b'{"type":"totals"}', b"\n", b"{"]), max_size=8
        )
    )
    def test_any_bytes_at_all_are_findings_and_no_crash(
        self, tmp_path_factory: pytest.TempPathFactory, data: list[bytes]
    ) -> None:
        folder = tmp_path_factory.mktemp("any")
        header = b'{"type":"header","schema":"satchel-manifest","version":1}\n'
        (folder / "manifest.jsonl").write_bytes(header + b"\n".join(data))
        assert not verify(folder).ok


class TestContent:
    """A content check and the hash share one reading of each file."""

    def test_it_gets_the_line_and_the_sessions_of_each_file(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: dict[str, tuple[object, list[str]]] = {}

        def content(
            path: str,
            update: Callable[[bytes], None],
            /,
            *,
            file: Mapping[str, Any],
            header: Mapping[str, Any],
            sessions: Iterator[dict[str, Any]],
        ) -> list[Finding]:
            update(Path(path).read_bytes())
            seen[os.path.relpath(path, folder)] = (file["session_id"], [line["session_id"] for line in sessions])
            return [Finding("content", file["path"], "odd")] if file["path"] == "a.md" else []

        hashed: list[str] = []
        monkeypatch.setattr(verify_module, "sha256_of", lambda path, buffer: hashed.append(path))
        report = verify(folder, content=content)
        assert {name: (f"id-{name}", [f"id-{name}"]) for name in FILES} == seen
        assert (Finding("content", "a.md", "odd"),) == report.findings
        assert [] == hashed

    def test_sessions_of_one_file_come_in_order_and_lazily(self, tmp_path: Path, export_file: Export) -> None:
        export_file(tmp_path / "x", b"data", sessions=500)

        def content(
            path: str,
            update: Callable[[bytes], None],
            /,
            *,
            file: Mapping[str, Any],
            header: Mapping[str, Any],
            sessions: Iterator[dict[str, Any]],
        ) -> list[Finding]:
            assert {"session_id": "s1"}.items() <= next(sessions).items()
            assert [f"s{number}" for number in range(2, 501)] == [line["session_id"] for line in sessions]
            update(Path(path).read_bytes())
            return []

        assert verify(tmp_path / "x", content=content).ok

    def test_interleaved_session_lines_find_their_file(self, tmp_path: Path, forge: Forge) -> None:
        for name in ("a", "b"):
            (tmp_path / name).write_bytes(b"")
        sessions = [{"type": "session", "session_id": f"{n}", "file": "ab"[n % 2]} for n in range(6)]
        forge(tmp_path, [*sessions, _line("b"), _line("a")], name="m")
        seen: dict[str, list[str]] = {}

        def content(
            path: str,
            update: Callable[[bytes], None],
            /,
            *,
            file: Mapping[str, Any],
            header: Mapping[str, Any],
            sessions: Iterator[dict[str, Any]],
        ) -> list[Finding]:
            seen[file["path"]] = [line["session_id"] for line in sessions]
            return []

        assert verify(tmp_path / "m", content=content).ok
        assert {"b": ["1", "3", "5"], "a": ["0", "2", "4"]} == seen

    def test_a_file_that_was_not_passed_whole_is_read_again(self, folder: Path) -> None:
        def content(path: str, update: Callable[[bytes], None], /, **_: object) -> list[Finding]:
            update(b"o")
            return []

        assert verify(folder, content=content).ok
        (folder / "a.md").write_bytes(b"0ne")
        assert [("hash", "a.md")] == _kinds(verify(folder, content=content))

    def test_its_errors_are_findings(self, folder: Path) -> None:
        def content(path: str, update: Callable[[bytes], None], /, **_: object) -> list[Finding]:
            raise JsonError("not JSON")

        report = verify(folder, content=content)
        assert [("content", name) for name in FILES] == _kinds(report)
        assert "a.md: not JSON" == report.findings[0].message

    def test_it_is_not_called_for_a_file_of_another_size(self, folder: Path) -> None:
        (folder / "a.md").write_bytes(b"another")
        called: list[str] = []

        def content(path: str, update: Callable[[bytes], None], /, **_: object) -> list[Finding]:
            called.append(os.path.basename(path))
            return []

        verify(folder, content=content)
        assert ["b.md", "empty.md"] == called


def test_a_file_that_grows_while_it_is_read_is_a_finding(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = paths.sha256_of

    def growing(path: str, buffer: bytearray) -> tuple[int, str]:
        with open(path, "ab") as file:
            file.write(b"+")
        return real(path, buffer)

    monkeypatch.setattr(verify_module, "sha256_of", growing)
    assert "changed while it was read, to 4 bytes from 3" in verify(folder).findings[0].message


def test_each_file_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = paths.sha256_of

    def counted(path: str, buffer: bytearray) -> tuple[int, str]:
        read.append(os.path.relpath(path, folder))
        return real(path, buffer)

    monkeypatch.setattr(verify_module, "sha256_of", counted)
    assert verify(folder).ok
    assert list(FILES) == read


def test_payload_files_walks_what_is_there(folder: Path) -> None:
    for source in (verify(folder), read_manifest(folder / "manifest.jsonl")):
        assert [(name, str(folder / name)) for name in FILES] == [(line["path"], path) for line, path in payload_files(source)]


def test_large_files_are_read_in_pieces(tmp_path: Path, forge: Forge) -> None:
    data = bytes(range(256)) * 12_289  # three pieces and a bit
    (tmp_path / "x").write_bytes(data)
    forge(tmp_path, [_line("x", data)], name="m")
    assert verify(tmp_path / "m").ok
