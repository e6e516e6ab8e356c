"""`verify` by what it says: what is wrong, what was not compared, and what was not whole in the first place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel.jsontext import dumps
from satchel.manifest.lines import put_seal


def _reseal(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change every line of a manifest, and seal it again as somebody would who wants to be believed."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        change(line)
    del lines[-1]["sha256"]
    lines[-1]["lost"] = sum(line.get("lost", 0) for line in lines[:-1])
    body = b"".join(dumps(line) + b"\n" for line in lines[:-1])
    path.write_bytes(body + put_seal(dumps(lines[-1]), hashlib.sha256(body)))


@pytest.fixture
def manifest(satchel: Callable[..., Any], story: Path) -> Path:
    assert 0 == satchel("export", "x.jsonl").status
    return Path("x.jsonl.manifest.jsonl")


def test_a_format_that_is_not_known_does_not_switch_the_content_check_off(satchel: Callable[..., Any], manifest: Path) -> None:
    """It did, without a word."""

    def change(line: dict[str, Any]) -> None:
        if "format" in line:
            line["format"] = "jsonlines"

    _reseal(manifest, change)
    assert 0 == satchel("verify", "x.jsonl").status
    done = satchel("verify", "x.jsonl", "--content")
    assert (1, True) == (done.status, "could not be compared: no format is called 'jsonlines'" in done.out)


def test_a_format_that_is_not_read_back_is_told(
    satchel: Callable[..., Any], manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from satchel import verifying

    monkeypatch.setattr(verifying, "_READ_BACK", {})
    done = satchel("verify", "x.jsonl", "--content")
    assert (0, "") == (done.status, done.out)
    assert "note: x.jsonl: its content was not compared, since files of the format jsonl are not read back" in done.err
    assert "all as the manifest says, but not all content was compared" in done.err
    (note,) = json.loads(satchel("verify", "x.jsonl", "--content", "--json").out)["notes"]
    assert ("unchecked", "x.jsonl") == (note["kind"], note["path"])


@pytest.mark.parametrize("how", ["null", "gone"])
def test_digests_that_are_missing_do_not_switch_the_content_check_off(
    satchel: Callable[..., Any], manifest: Path, how: str
) -> None:
    def change(line: dict[str, Any]) -> None:
        if line["type"] == "session":
            if how == "null":
                line["content_digest"] = None
            else:
                del line["content_digest"]

    _reseal(manifest, change)
    done = satchel("verify", "x.jsonl", "--content")
    sessions = manifest.read_text().count('"type":"session"')
    assert (1, sessions) == (done.status, done.out.count("has no content digest to compare with, and nothing says why"))


def test_prompts_alone_are_told_to_have_no_content_to_compare(satchel: Callable[..., Any], story: Path) -> None:
    assert 0 == satchel("export", "x.jsonl", "--only", "user-prompts").status
    done = satchel("verify", "x.jsonl", "--content")
    assert 0 == done.status
    assert "note: x.jsonl: its content was not compared, since the export left parts out (only: user-prompts)" in done.err


def test_a_session_that_was_not_read_whole_is_no_fault_and_is_told(satchel: Callable[..., Any], manifest: Path) -> None:
    def change(line: dict[str, Any]) -> None:
        if line.get("line") == 1:
            line |= {"incomplete": True, "lost": 2, "losses": {"images": 1}, "content_digest": None}

    _reseal(manifest, change)
    for words in ((), ("--content",)):
        done = satchel("verify", "x.jsonl", *words)
        assert (0, "") == (done.status, done.out)
        assert "note: 1 session was not read whole when this was written: " in done.err
        assert "note: the format could not hold all of 1 session: images (1)" in done.err
        assert "all as the manifest says, but not all was read whole when this was written" in done.err
        said = json.loads(satchel("verify", "x.jsonl", "--json", *words).out)
        assert (True, 1, 2, 3) == (said["ok"], said["incomplete"], said["lost"], len(said["notes"]))


def test_a_whole_copy_is_told_to_be_one(satchel: Callable[..., Any], manifest: Path) -> None:
    done = satchel("verify", "x.jsonl", "--content")
    assert (0, "") == (done.status, done.out)
    assert done.err.endswith("all as the manifest says\n")
    said = json.loads(satchel("verify", "x.jsonl", "--content", "--json").out)
    assert (True, 0, 0, []) == (said["ok"], said["incomplete"], said["lost"], said["notes"])


def test_a_manifest_that_cannot_be_read_is_a_fault_with_every_option(satchel: Callable[..., Any], manifest: Path) -> None:
    manifest.rename("m")
    manifest.symlink_to("m")
    done = satchel("verify", "x.jsonl", "--content", "--source")
    assert (1, True) == (done.status, done.out.startswith("manifest: "))
    assert "is a symbolic link, which is not followed" in done.out


def test_a_session_that_has_no_digest_and_is_not_there_is_told(satchel: Callable[..., Any], manifest: Path) -> None:
    """Without a digest to compare, nobody had looked whether it was there at all."""
    last = len(Path("x.jsonl").read_bytes().splitlines())
    text = b"".join(Path("x.jsonl").read_bytes().splitlines(keepends=True)[:-1])
    Path("x.jsonl").write_bytes(text)

    def change(line: dict[str, Any]) -> None:
        if line["type"] == "file":
            line |= {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
        elif line["type"] == "totals":
            line["bytes"] = len(text)
        elif line.get("line") == last:
            line |= {"content_digest": None, "incomplete": True}

    _reseal(manifest, change)
    done = satchel("verify", "x.jsonl", "--content")
    assert (1, True) == (done.status, "is listed and not there" in done.out)
