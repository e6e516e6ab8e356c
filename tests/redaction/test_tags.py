"""Tags: one key a user, made once, kept to its owner; a tag says which secrets are equal, and no more."""

from __future__ import annotations

import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from satchel.errors import RedactionError, UsageError
from satchel.events import Event, Problem
from satchel.redaction.tags import TagKey, default_path


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_equal_values_have_equal_tags_of_six_digits_under_one_key_only() -> None:
    key, other = TagKey(b"a" * 32), TagKey(b"b" * 32)

    assert key.tag("correct horse") == key.tag("correct horse")
    assert key.tag("correct horse") != key.tag("correct horses")
    assert key.tag("correct horse") != other.tag("correct horse")
    assert set(key.tag("\ud800 half")) <= set("0123456789abcdef")
    assert len(key.tag("")) == 6


def test_a_key_shows_itself_nowhere() -> None:
    key = TagKey(b"a" * 32)

    assert repr(key) == "TagKey()"
    with pytest.raises(TypeError):
        pickle.dumps(key)
    with pytest.raises(ValueError, match="32 bytes") as failure:
        TagKey(b"short and secret")
    assert "secret" not in str(failure.value)


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_the_users_key_is_made_once_for_its_owner_alone() -> None:
    first = TagKey.own()
    again = TagKey.own()

    path = default_path()
    assert first.tag("x") == again.tag("x")
    assert path.stat().st_size == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["tag.key"]


def test_processes_that_make_it_at_once_get_the_same_key() -> None:
    program = "from satchel.redaction.tags import TagKey; print(TagKey.own().tag('x'))"
    running = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(4)]

    tags = {process.communicate()[0] for process in running}

    assert {TagKey.own().tag("x") + "\n"} == tags
    assert os.listdir(default_path().parent) == ["tag.key"]


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_damaged_key_is_an_error_and_is_not_replaced(size: int) -> None:
    path = default_path()
    path.parent.mkdir(parents=True)
    path.write_bytes(b"k" * size)
    path.chmod(0o600)

    with pytest.raises(RedactionError, match="instead of 32"):
        TagKey.own()
    assert path.read_bytes() == b"k" * size


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_key_that_others_can_read_is_used_and_told() -> None:
    TagKey.own()
    default_path().chmod(0o644)
    heard: list[Event] = []

    TagKey.own(listen=heard.append)

    assert [str(default_path())] == [event.where for event in heard if isinstance(event, Problem)]


def test_a_named_key_file_has_to_be_there_and_right(tmp_path: Path) -> None:
    file = tmp_path / "mine.key"
    file.write_bytes(b"m" * 32)
    file.chmod(0o600)

    assert TagKey.read(file).tag("x") == TagKey(b"m" * 32).tag("x")
    with pytest.raises(UsageError):
        TagKey.read(tmp_path / "none.key")
    with pytest.raises(UsageError):
        TagKey.read(tmp_path)


def test_fresh_keys_are_kept_nowhere_and_differ() -> None:
    assert TagKey.fresh().tag("x" * 40) != TagKey.fresh().tag("x" * 40)
    assert not default_path().parent.exists()


def test_a_relative_state_home_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "here")

    assert default_path() == Path.home() / ".local" / "state" / "satchel" / "tag.key"
