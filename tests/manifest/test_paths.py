"""Names that come from elsewhere stay in the folder, and no name breaks a message or a temporary file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import TargetError
from satchel.manifest.paths import (
    hidden_name,
    is_temporary,
    left_over,
    open_regular,
    safe_relative,
    shown,
    size_of,
    sweep,
    temporary_name,
    unsafe_because,
)

HOSTILE = [
    "",
    "/etc/passwd",
    "//host/share",
    "..",
    "../x",
    "a/../../x",
    "a/..",
    "./a",
    "a/./b",
    "a//b",
    "a/",
    ".. /x",
    "a/.../x",
    "a/ /x",
    "C:x",
    "c:/x",
    "a\\b",
    "..\\x",
    "a\0b",
    "\ud800",
    "\udc2e\udc2e/x",
    "x" * 256,
    "ä" * 128,
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_refused(name: str) -> None:
    assert unsafe_because(name)
    with pytest.raises(TargetError):
        safe_relative(name)


@pytest.mark.parametrize("name", ["a", "a b/c.md", ".hidden", "..a", "a..", "x" * 255, "日本/é.md", "a\nb", "raw-\udcff"])
def test_odd_but_harmless_names_are_accepted(name: str) -> None:
    assert name == safe_relative(name)


_PARTS = st.one_of(
    st.sampled_from(["..", ".", "", " ", "...", ".. ", "a", "C:", "~", "\\", "\0", "\udc2e", "%2e%2e"]),
    st.text(st.characters(exclude_characters="/"), max_size=6),
)


@given(st.lists(_PARTS, max_size=6).map("/".join) | st.text(max_size=20))
def test_an_accepted_name_never_leaves_the_folder(name: str) -> None:
    try:
        safe_relative(name)
    except TargetError:
        return
    for root in ("/base/folder", "/"):
        joined = os.path.normpath(os.path.join(root, name))
        assert os.path.join(root, name) == joined
        assert os.path.commonpath([root, joined]) == root
        assert joined != root
    windows = name.replace("/", "\\").split("\\")
    assert all(part.rstrip(" .") for part in windows)
    assert b"\0" not in os.fsencode(name)


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=300))
def test_made_names_fit_and_are_known_again(name: str) -> None:
    temporary = temporary_name(name, "0123abcd")
    assert len(os.fsencode(temporary)) <= 255
    assert is_temporary(temporary)
    assert len(os.fsencode(hidden_name(name, ".partial"))) <= 255
    assert hidden_name(name, ".partial").startswith(".")


def test_hidden_names_that_are_cut_stay_different() -> None:
    assert hidden_name("x" * 300 + "a", ".p") != hidden_name("x" * 300 + "b", ".p")


def test_messages_hold_no_control_characters() -> None:
    assert "a\\x1b[2Jb\\u202e\\udcff ä" == shown("a\x1b[2Jb\u202e\udcff ä")


def test_size_of_opens_nothing_and_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f").write_bytes(b"123")
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    (tmp_path / "to-f").symlink_to(tmp_path / "real" / "f")
    os.mkfifo(tmp_path / "pipe")
    root = str(tmp_path)
    known: dict[str, str] = {}
    assert 3 == size_of(root, "real/f", known)
    assert size_of(root, "real/none", known) is None
    assert size_of(root, "real/f/none", known) is None
    assert "linked is a symbolic link" == size_of(root, "linked/f", known)
    assert "it is a symbolic link" == size_of(root, "to-f", known)
    assert "it is a folder" == size_of(root, "real", known)
    assert "it is a device, a pipe or a socket" == size_of(root, "pipe", known)


def test_open_regular_does_not_wait_for_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(str(tmp_path / "pipe"))


@pytest.mark.parametrize("deep", [False, True])
def test_a_name_of_thousands_of_parts_is_no_matter(tmp_path: Path, deep: bool) -> None:
    """One recursion a part made a manifest with such a path a crash."""
    known: dict[str, str] = {}
    if deep:
        (tmp_path / "a").symlink_to(".")
    found = size_of(str(tmp_path), "a/" * 100_000 + "x", known)
    assert found == ("a is a symbolic link" if deep else found)
    assert not isinstance(found, int)
    assert len(known) <= 1


def test_sweep_takes_the_temporary_files_of_one_run_and_nothing_else(tmp_path: Path) -> None:
    """A file of such a name that was old went, though it was the very store that was read."""
    ours = {".a.md.0123abcd.satchel-tmp", ".x.0123a000.satchel-tmp"}
    others = {".a.md.0123bbcd.satchel-tmp", ".0123a000.satchel-tm", "b.0123a000.satchel-tmp", ".b.0123A000.satchel-tmp"}
    for name in ours | others:
        (tmp_path / name).write_bytes(b"")
        os.utime(tmp_path / name, (1, 1))
    sweep(str(tmp_path), tag="0123a")
    assert others == set(os.listdir(tmp_path))


def test_what_looks_left_over_is_old(tmp_path: Path) -> None:
    old = {
        ".a.md.0123abcd.satchel-tmp",
        ".a.md.0123abcd.satchel-tm",
        "a.md.0123abcd.satchel-tmp",
        ".a.md.0123ABCD.satchel-tmp",
        "a",
    }
    for name in old | {".b.md.0123abcd.satchel-tmp"}:
        (tmp_path / name).write_bytes(b"")
        if name in old:
            os.utime(tmp_path / name, (1, 1))
    assert [".a.md.0123abcd.satchel-tmp"] == list(left_over(str(tmp_path)))
    assert [] == list(left_over(str(tmp_path / "none")))
