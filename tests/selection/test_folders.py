import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import UsageError
from satchel.folders import absolute, below, is_written_as_path


@pytest.mark.parametrize(
    ("folder", "path", "inside"),
    [
        ("/srv/app", "/srv/app", True),
        ("/srv/app", "/srv/app/", True),
        ("/srv/app", "/srv/app/sub/x", True),
        ("/srv/app", "/srv/app2", False),
        ("/srv/app", "/srv", False),
        ("/srv/app", "/SRV/app", False),
        ("/srv/app///", "/srv/app", True),
        ("/srv/app", "/srv//app/./x", True),
        ("/srv/app", "/srv/app/../other", False),
        ("/srv/app", "/srv/other/../app/x", True),
        ("/srv/app", "srv/app", False),
        ("/srv/app", "/srv/app\\sub", True),
        ("/srv/a_p", "/srv/axp", False),
        ("/srv/100%", "/srv/1000", False),
        ("/", "/srv", True),
        ("/", "/", True),
        ("/", "C:\\work", True),
        ("/", "\\\\host\\share", True),
        ("/", "srv", False),
        ("/", "", False),
        ("C:\\Dev", "c:/dev/Sub", True),
        ("C:\\Dev\\", "C:\\DEV", True),
        ("C:\\Dev", "C:\\Devices", False),
        ("c:", "C:\\any", True),
        ("C:\\", "D:\\any", False),
        ("\\\\host\\share", "\\\\HOST\\share\\x", True),
        ("\\\\host\\share", "/host/share/x", False),
        ("/host/share", "\\\\host\\share", False),
        ("/home/ada", "//home/ada", True),
        ("/srv/.config", "/srv/.config/x", True),
    ],
)
def test_a_folder_holds_what_lies_below_it(folder: str, path: str, inside: bool) -> None:
    assert inside == below(folder)(path)


def test_the_root_holds_every_absolute_path() -> None:
    """Upstream's `--cwd /` matched nothing, since it looked for paths that begin with two slashes."""
    assert below("/")("/home/ada/code")


@given(st.lists(st.sampled_from(["a", "b", "..", ".", "", "a b", "é"]), max_size=6))
def test_a_folder_holds_itself_and_its_children_however_they_are_spelled(parts: list[str]) -> None:
    path = "/" + "/".join(parts)

    assert below(path)(path)
    assert below(path)(f"{path}/child")
    assert below(os.path.normpath(path))(path)


def test_home_and_relative_paths_become_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("USERPROFILE", "/home/ada")
    monkeypatch.chdir(tmp_path)

    assert absolute("~/x/", name="--cwd") == os.path.abspath("/home/ada/x")
    assert absolute("x/../y", name="--cwd") == str(tmp_path / "y")
    assert absolute(".", name="--cwd") == str(tmp_path)
    assert absolute("C:\\x", name="--cwd") == "C:\\x"


def test_a_link_is_not_followed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A session holds the path by which its agent was started."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path)

    assert absolute("link", name="--cwd") == str(tmp_path / "link")


def test_a_relative_path_needs_a_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> str:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(os, "getcwd", gone)

    with pytest.raises(UsageError, match=r"--cwd 'x' is relative"):
        absolute("x", name="--cwd")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("~", True),
        ("~/x", True),
        (".", True),
        ("..", True),
        ("./x", True),
        ("..\\x", True),
        ("~x", False),
        (".git", False),
        ("x", False),
    ],
)
def test_a_path_is_told_from_a_part_of_one(text: str, expected: bool) -> None:
    assert expected == is_written_as_path(text)
