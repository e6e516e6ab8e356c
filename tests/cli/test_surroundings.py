"""What surrounds a run may be broken: homes, folders, the current folder, standard error. It costs what depends on it alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX streams")
NOBODY = "~no-such-user-here/hermes"


def _refuse(monkeypatch: pytest.MonkeyPatch, method: str, part: str) -> None:
    """Let a method of paths fail as for somebody without rights, which a test that is run by root could not have otherwise."""
    usual = getattr(Path, method)

    def refusing(path: Path) -> Any:
        if part in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return usual(path)

    monkeypatch.setattr(Path, method, refusing)


# ---------------------------------------------------------------------------------------------------------- homes


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `~` of a user that does not exist be every home."""
    monkeypatch.setenv("HERMES_HOME", NOBODY)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", NOBODY)


@pytest.mark.parametrize(
    "words", [["list"], ["stats"], ["show", "20260302_083"], ["doctor"], ["export", "out.jsonl"]], ids=lambda words: words[0]
)
def test_an_unknown_home_is_no_matter_where_a_store_is_named(
    satchel: Callable[..., Any], story: Path, homeless: None, words: list[str]
) -> None:
    """`Path.expanduser` raises RuntimeError where nobody knows the home: that ended each run, whatever it was told to read."""
    assert 0 == satchel(*words, "--from", story).status


def test_an_unknown_home_is_told_where_a_store_is_looked_for(satchel: Callable[..., Any], homeless: None) -> None:
    listed = satchel("list")
    named = satchel("list", "--from", NOBODY)
    diagnosed = satchel("doctor", "--json")

    assert (1, 1, 0) == (listed.status, named.status, diagnosed.status)
    assert f"warning: {NOBODY}: there is no such home folder" in listed.err
    assert f"no session store was found (looked at {NOBODY}" in listed.err
    assert f"{NOBODY} does not exist" in named.err
    assert any("no such home folder" in hint["text"] for hint in json.loads(diagnosed.out)["hints"])


@pytest.fixture
def profiles(story: Path) -> Path:
    """Return the home in use, in which there are two profiles too."""
    for name in ("day", "night"):
        folder = story.parent / "profiles" / name
        folder.mkdir(parents=True)
        (folder / "state.db").write_bytes(story.read_bytes())
    return story.parent


def test_a_profile_that_cannot_be_looked_into_costs_that_profile(
    satchel: Callable[..., Any], profiles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (profiles / "profiles" / "night" / "state.db").unlink()
    _refuse(monkeypatch, "is_file", f"{os.sep}night{os.sep}")
    done = satchel("list", "--json", "--limit", "0", "--include-archived")
    written = satchel("export", "out.jsonl")

    assert (3, 28) == (done.status, len(json.loads(done.out)))
    assert f"lost: {profiles / 'profiles' / 'night' / 'state.db'}" in done.err
    assert 0 == written.status


def test_profiles_that_cannot_be_listed_are_told(
    satchel: Callable[..., Any], profiles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refuse(monkeypatch, "iterdir", f"{os.sep}profiles")
    done = satchel("list", "--json", "--limit", "0", "--include-archived")

    assert (0, 14) == (done.status, len(json.loads(done.out)))
    assert f"warning: {profiles / 'profiles'}: it can't be looked into (Permission denied)" in done.err


def test_a_file_that_cannot_be_read_costs_itself_in_a_folder_of_exports(
    satchel: Callable[..., Any], story: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader says of what it can't read that it is not its own, so such a file was passed over without a word."""
    folder = Path("exports")
    folder.mkdir()
    for name in ("one.jsonl", "two.jsonl", "three.jsonl"):
        assert 0 == satchel("export", folder / name, "--no-manifest").status
    usual = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: "two" not in str(path) and usual(path, mode))
    _refuse(monkeypatch, "is_file", "three")
    done = satchel("list", "--from", folder, "--json", "--limit", "0", "--include-archived")

    assert (0, 14) == (done.status, len(json.loads(done.out)))
    assert f"warning: {folder / 'two.jsonl'}: it can't be looked into, and is left out: Permission denied" in done.err
    assert f"warning: {folder / 'three.jsonl'}: " in done.err


# ---------------------------------------------------------------------------------------------------------- the current folder


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder that is gone."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    try:
        os.getcwd()
    except OSError:
        return
    pytest.skip("this system knows a folder that is gone")


@POSIX
def test_a_current_folder_that_is_gone_is_no_matter_for_full_paths(
    satchel: Callable[..., Any], story: Path, nowhere: None, tmp_path: Path
) -> None:
    """The export was there, and its last line, which shows a short path, failed."""
    out = tmp_path / "out.jsonl"
    written = satchel("export", out, "--from", story)

    assert (0, True) == (written.status, f"satchel verify {out}" in written.err)
    assert [0, 0, 0] == [satchel(*words).status for words in (["verify", out], ["list"], ["doctor"])]


@POSIX
def test_a_path_relative_to_a_folder_that_is_gone_is_the_failure_told(
    satchel: Callable[..., Any], story: Path, nowhere: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = satchel("export", "out.jsonl", "--from", story)
    monkeypatch.setenv("HERMES_HOME", "relative")

    assert (1, True) == (written.status, "the current folder is gone" in written.err)
    assert (0, 1) == (satchel("doctor").status, satchel("list").status)


# ---------------------------------------------------------------------------------------------------------- pipes for files


@POSIX
@pytest.mark.parametrize("name", ["config.yaml", "settings.json"])
def test_doctor_waits_for_no_pipe(process: Callable[..., Any], story: Path, tmp_path: Path, name: str) -> None:
    """A FIFO with the name of a settings file kept `doctor` waiting for somebody to write into it."""
    claude = tmp_path / "claude"
    claude.mkdir()
    os.mkfifo((story.parent if name == "config.yaml" else claude) / name)
    done = process("doctor", "--json", env={"CLAUDE_CONFIG_DIR": str(claude)})
    warnings = json.loads(done.out)["stores"][0]["warnings"]

    assert 0 == done.status
    assert (name == "config.yaml") == any("is no regular file" in warning for warning in warnings)


# ---------------------------------------------------------------------------------------------------------- standard error


@contextmanager
def _full() -> Generator[Any, None, None]:
    with open("/dev/full", "wb") as full:
        yield full


@contextmanager
def _hung_up() -> Generator[Any, None, None]:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        yield pipe


@POSIX
@pytest.mark.parametrize("kind", [_full, _hung_up], ids=["full", "hung-up"])
@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["list"], 0),
        (["list", "--log-json"], 0),
        (["export", "out.jsonl"], 0),
        (["show", "nobody"], 1),
        (["nothing"], 2),
        ([], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_messages_that_cannot_be_written_change_no_result(
    story: Path, kind: Callable[[], AbstractContextManager[Any]], words: list[str], status: int
) -> None:
    """A full disk behind the log ended the run with "the output: No space left on device", and nothing was written."""
    if kind is _full and not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    with kind() as stderr:
        command = [sys.executable, "-m", "satchel", *words]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=stderr, check=False, timeout=60)

    assert status == done.returncode
    assert (words[:1] == ["list"]) == bool(done.stdout)
    assert (words[:1] == ["export"]) == Path("out.jsonl").exists()


@POSIX
def test_no_file_is_opened_under_the_number_of_a_closed_stream() -> None:
    """A store that is opened as descriptor 2 gets whatever a library prints on standard error."""
    code = "import os\nfrom satchel.cli import main\ntry:\n main(['formats'])\nexcept SystemExit:\n os.fstat(0), os.fstat(2)"
    shell = f'exec "{sys.executable}" -c "{code}" <&- 2>&-'
    done = subprocess.run(["sh", "-c", shell], stdout=subprocess.PIPE, check=False, timeout=60)

    assert (0, True) == (done.returncode, b"hermes" in done.stdout)
