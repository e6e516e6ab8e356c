"""`export` by the words it is given: what it leaves alone, what it says, and when it writes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TIDES = "20260302_083000_3f9a1c"
LIVE = "20260306_090000_09e21a"


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _ids(out: str) -> list[str]:
    return [json.loads(line)["id"] for line in out.splitlines()]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["out.jsonl"],
        ["out.jsonl", "--force"],
        ["folder/"],
        ["-"],
        ["out.jsonl", "--session-id", TIDES],
        ["out.jsonl", "--only", "user-prompts"],
        ["out.jsonl", "--source", "telegram", "--json"],
        ["out.jsonl", "--lineage", "logical", "--stamp"],
    ],
    ids=" ".join,
)
def test_a_dry_run_writes_nothing(satchel: Callable[..., Any], story: Path, words: list[str]) -> None:
    """Upstream's dry run wrote the file when a session id was given."""
    Path("out.jsonl").write_text("mine")
    before = _files(Path.cwd()), _files(story.parent), sorted(Path.cwd().rglob("*"))
    done = satchel("export", *words, "--dry-run")

    assert 0 == done.status
    assert before == (_files(Path.cwd()), _files(story.parent), sorted(Path.cwd().rglob("*")))
    assert "nothing was written" in done.err


def test_a_dry_run_names_what_would_be_written(satchel: Callable[..., Any], story: Path) -> None:
    done = satchel("export", "--source", "telegram", "--dry-run", "--include-live")
    whole = satchel("export", "--dry-run", "--lineage", "logical", "--json")

    assert 2 == len(done.out.splitlines())
    assert "2 sessions would be written (source telegram)" in done.err
    assert [3] == [len(plan["segments"]) for plan in json.loads(whole.out) if len(plan["segments"]) > 1]


def test_an_export_takes_everything_and_a_filter_leaves_live_sessions_out_with_a_word(
    satchel: Callable[..., Any], story: Path
) -> None:
    everything = satchel("export", "-")
    filtered = satchel("export", "-", "--source", "cli")
    asked = satchel("export", "-", "--source", "cli", "--include-live")
    by_id = satchel("export", "-", "--session-id", LIVE)

    assert LIVE in _ids(everything.out)
    assert "left out" not in everything.err
    assert LIVE not in _ids(filtered.out)
    assert "left out: 1 live session; --include-live takes them too" in filtered.err
    assert LIVE in _ids(asked.out)
    assert "left out" not in asked.err
    assert [LIVE] == _ids(by_id.out)


def test_what_is_there_stays_untouched_without_force(satchel: Callable[..., Any], story: Path) -> None:
    out = Path("out.jsonl")
    out.write_text("mine")
    refused = satchel("export", "out.jsonl")

    assert 1 == refused.status
    assert "out.jsonl" in refused.err
    assert "--force" in refused.err
    assert {"out.jsonl": b"mine"} == _files(Path.cwd())

    assert 0 == satchel("export", "out.jsonl", "--force").status
    assert 14 == len(out.read_text().splitlines())
    assert 0 == satchel("verify", "out.jsonl", "--content", "--source").status


def test_the_store_that_is_read_is_never_overwritten(satchel: Callable[..., Any], story: Path) -> None:
    """With --force, a name typed wrong once put an export in the place of the database that it was made from."""
    before = _files(story.parent)
    other = Path("other.db")
    other.hardlink_to(story)
    for output in (story, story.parent / "." / "state.db", other, f"{story}-wal"):
        for source in ([], ["--from", story]):
            done = satchel("export", output, "--force", *source)
            assert 2 == done.status
            assert "not overwritten" in done.err
    assert before == _files(story.parent)

    assert 0 == satchel("export", "copies/").status
    sealed = _files(Path("copies"))
    done = satchel("export", "copies/", "--from", "copies/sessions.jsonl", "--force")
    assert 2 == done.status
    assert sealed == _files(Path("copies"))


def test_a_store_that_is_only_nearby_is_not_overwritten_either(
    satchel: Callable[..., Any], story: Path, hermes_db: Callable[..., Path]
) -> None:
    before = story.read_bytes()
    done = satchel("export", story, "--force", "--from", hermes_db(case="lineage"))

    assert 2 == done.status
    assert before == story.read_bytes()


def test_an_export_leaves_nothing_in_the_stores_folder(satchel: Callable[..., Any], story: Path) -> None:
    before = _files(story.parent)
    for words in (["export", "out.jsonl"], ["list"], ["show", TIDES], ["stats"], ["doctor"], ["verify", "out.jsonl", "--source"]):
        assert 0 == satchel(*words).status

    assert before == _files(story.parent)


def test_no_manifest_leaves_one_file(satchel: Callable[..., Any], story: Path) -> None:
    done = satchel("export", "out.jsonl", "--no-manifest")

    assert ["out.jsonl"] == sorted(_files(Path.cwd()))
    assert "sha256 " in done.err


def test_two_exports_are_equal_to_the_byte_and_a_stamp_is_asked_for(satchel: Callable[..., Any], story: Path) -> None:
    for name in ("one", "two"):
        assert 0 == satchel("export", f"{name}/").status
    assert 0 == satchel("export", "three/", "--stamp").status

    assert _files(Path("one")) == _files(Path("two"))
    assert b"exported_at" not in Path("one/manifest.jsonl").read_bytes()
    assert b"exported_at" in Path("three/manifest.jsonl").read_bytes()


def test_user_prompts_go_to_standard_output(satchel: Callable[..., Any], story: Path) -> None:
    done = satchel("export", "--only", "user-prompts", "--session-id", TIDES)
    prompts = [json.loads(line) for line in done.out.splitlines()]

    assert 0 == done.status
    assert [(TIDES, 1, "user")] == [(prompt["session_id"], prompt["index"], prompt["role"]) for prompt in prompts]
    assert prompts[0]["text"].startswith("The tide table for Lagos is off by one hour")
    assert "1 session, 1 prompt" in done.err
    assert {} == _files(Path.cwd())


def test_no_match_is_a_sentence_and_no_failure(satchel: Callable[..., Any], story: Path) -> None:
    done = satchel("export", "-", "--title", "no such title anywhere")

    assert (0, "") == (done.status, done.out)
    assert "no session matches" in done.err


@pytest.fixture
def profiles(hermes_db: Callable[..., Path], story: Path) -> Path:
    """A home with the sample in it, and a profile `night` with another store."""
    folder = story.parent / "profiles" / "night"
    folder.mkdir(parents=True)
    hermes_db(case="lineage").rename(folder / "state.db")
    return story.parent


def test_an_export_takes_the_main_store_and_says_that_there_are_others(satchel: Callable[..., Any], profiles: Path) -> None:
    main = satchel("export", "-")
    night = satchel("export", "-", "--profile", "night")
    both = satchel("export", "-", "--profile", "all")

    assert 14 == len(_ids(main.out))
    assert "1 more Hermes profile is here; --profile all takes them too" in main.err
    assert 47 == len(_ids(night.out))
    assert 14 + 47 == len(_ids(both.out))


def test_a_list_takes_every_profile(satchel: Callable[..., Any], profiles: Path) -> None:
    rows = json.loads(satchel("list", "--json", "--limit", "0", "--include-archived").out)

    shown = satchel("list").out

    assert "cli (default)" in shown
    assert "cli (night)" in shown
    assert "(default)" not in satchel("list", "--profile", "default").out
    assert {None: 14, "night": 47} == {name: sum(row["profile"] == name for row in rows) for name in (None, "night")}


def test_verify_counts_what_is_wrong_and_fails(satchel: Callable[..., Any], story: Path) -> None:
    assert 0 == satchel("export", "copies/").status
    with open("copies/sessions.jsonl", "ab") as file:
        file.write(b"one byte too many")
    Path("copies/stranger.txt").write_text("?")
    done = satchel("verify", "copies")

    assert 1 == done.status
    assert {"size", "unexpected"} <= {line.partition(":")[0] for line in done.out.splitlines()}
    assert "faults in copies" in done.err


def test_a_dry_run_ends_as_the_run_would_and_says_what_it_can_not_know(
    satchel: Callable[..., Any], story: Path, tmp_path: Path
) -> None:
    """It ended with 0 although it told of sessions that can't be read."""
    out = tmp_path / "damaged.jsonl"
    assert 0 == satchel("export", out, "--no-manifest").status
    whole = satchel("export", "--dry-run", "--from", out)
    out.write_bytes(out.read_bytes() + b'{"id": "torn", "messages": [\n')
    done = {
        words: satchel("export", *words, "--from", out).status
        for words in (("--dry-run",), ("-n", "--strict"), (tmp_path / "a",))
    }
    assert [0, 3, 3, 3] == [whole.status, *done.values()]
    assert "what is damaged inside of them is not known" in whole.err
