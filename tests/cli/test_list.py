"""`list` and `stats`: which sessions, in which order, and figures that add up."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hermes_cases import write
from hermes_parts import Case, user

PINNED = "20260304_130500_a11ce2"


def _rows(satchel: Callable[..., Any], *words: str) -> list[dict[str, Any]]:
    done = satchel("list", "--json", *words)
    assert 0 == done.status
    rows: list[dict[str, Any]] = json.loads(done.out)
    return rows


def test_sessions_come_last_active_first_and_archived_ones_are_hidden(satchel: Callable[..., Any], story: Path) -> None:
    rows = _rows(satchel, "--limit", "0")
    every = _rows(satchel, "--limit", "0", "--include-archived")

    assert sorted((row["last_active"] for row in rows), reverse=True) == [row["last_active"] for row in rows]
    assert ["Neap tides (draft)"] == [row["title"] for row in every if row["archived"]]
    assert {row["id"] for row in every if not row["archived"]} == {row["id"] for row in rows}


def test_a_limit_holds_but_for_pinned_sessions(satchel: Callable[..., Any], story: Path) -> None:
    rows = _rows(satchel, "--limit", "3")
    done = satchel("list", "--limit", "3")

    assert [False, False, False, True] == [row["pinned"] for row in rows]
    assert PINNED == rows[-1]["id"]
    assert "9 more; --limit 0 shows all" in done.err
    assert "left out: 1 archived session; --include-archived takes them too" in done.err


def test_a_preview_is_what_the_person_typed(satchel: Callable[..., Any], story: Path) -> None:
    """The first text of a continuation is a summary, and a message may begin with what the program put in."""
    previews = {row["id"]: row["preview"] for row in _rows(satchel, "--limit", "0")}

    assert "What do I tell the mailing list?" == previews[PINNED]
    assert "明日の満潮は何時ですか？リスボンでお願いします。" == previews["20260304_190000_7e1e63a0"]
    assert [] == [preview for preview in previews.values() if "COMPACTION" in preview or "<memory-context>" in preview]


def test_a_count_is_of_rows_and_not_of_what_the_row_says(satchel: Callable[..., Any], odd: Path) -> None:
    counts = {row["id"]: row["message_count"] for row in _rows(satchel, "--limit", "0")}

    assert (1, 2, 7) == (counts["odd-count-high"], counts["odd-count-zero"], counts["odd-states"])


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (["--source", "cron"], ["cron_tide-digest_20260305_060000"]),
        (["--title", "TIDE TABLE"], ["20260302_083000_3f9a1c"]),
        (["--title", "%"], []),
        (["--pinned"], [PINNED]),
        (["--session-id", "20260303_0910"], ["20260303_091000_5d2e88"]),
        (["--after", "2026-03-06T00:00:00Z"], ["20260306_090000_09e21a"]),
        (["--agent", "claude"], []),
    ],
    ids=lambda value: " ".join(value),
)
def test_filters(satchel: Callable[..., Any], story: Path, words: list[str], ids: list[str]) -> None:
    assert ids == [row["id"] for row in _rows(satchel, *words)]


def test_no_match_is_said_on_standard_error(satchel: Callable[..., Any], story: Path) -> None:
    done = satchel("list", "--title", "no such title")

    assert (0, "") == (done.status, done.out)
    assert "no session matches" in done.err


def test_a_long_title_does_not_widen_the_table(satchel: Callable[..., Any], odd: Path) -> None:
    done = satchel("list", "--limit", "0")

    assert "odd-title-4" in done.out
    assert max(line.index("odd-title-") for line in done.out.splitlines() if "odd-title-" in line) < 200


# ---------------------------------------------------------------------------------------------------------- stats


def test_the_first_lines_are_those_of_hermes(satchel: Callable[..., Any], story: Path) -> None:
    done = satchel("stats")
    megabytes = story.stat().st_size / 1024 / 1024

    assert [
        "Total sessions: 14",
        "Total messages: 74",
        "  cli: 10 sessions",
        "  telegram: 2 sessions",
        "  cron: 1 sessions",
        "  subagent: 1 sessions",
        f"Database size: {megabytes:.1f} MB",
    ] == done.out.splitlines()[:7]


def test_figures_add_up(satchel: Callable[..., Any], story: Path) -> None:
    found = json.loads(satchel("stats", "--json").out)

    assert found["sessions"] == found["live"] + found["ended"] == sum(each["sessions"] for each in found["sources"])
    assert found["sessions"] == sum(each["sessions"] for each in found["models"])
    assert found["messages"] == sum(each["messages"] for each in found["models"])
    assert found["tokens"]["input"] == sum(each["input"] for each in found["models"])
    assert found["cost"] == pytest.approx(sum(each["cost"] for each in found["models"]))
    assert (2, 1, 1, 9, 2) == tuple(found[name] for name in ("live", "archived", "pinned", "compacted", "rewound"))
    assert story.stat().st_size == found["bytes"]


def test_figures_are_of_what_the_filters_take(satchel: Callable[..., Any], story: Path) -> None:
    found = json.loads(satchel("stats", "--json", "--source", "telegram").out)
    rows = _rows(satchel, "--source", "telegram")

    assert [{"source": "telegram", "sessions": 2}] == found["sources"]
    assert found["messages"] == sum(row["message_count"] for row in rows)


def test_several_stores_are_counted_each_and_together(
    satchel: Callable[..., Any], story: Path, hermes_db: Callable[..., Path]
) -> None:
    other = hermes_db(case="lineage")
    found = json.loads(satchel("stats", "--json", "--from", story, "--from", other, "--from", story).out)
    shown = satchel("stats", "--from", story, "--from", other).out

    assert [14, 47] == [store["sessions"] for store in found["stores"]]
    assert 61 == found["sessions"]
    assert story.stat().st_size + other.stat().st_size == found["bytes"]
    assert "Total sessions: 61" in shown
    assert str(other)[:20] in shown


def test_times_that_no_calendar_has_are_neither_the_oldest_nor_the_newest(satchel: Callable[..., Any], odd: Path) -> None:
    found = json.loads(satchel("stats", "--json").out)

    assert "1970-01-01T00:00:00.000000Z" == found["oldest"]
    assert found["newest"] < "2027"


def test_a_store_without_a_session_has_figures_too(satchel: Callable[..., Any], tmp_path: Path) -> None:
    empty = write(tmp_path / "empty" / "state.db", Case())
    found = json.loads(satchel("stats", "--json", "--from", empty).out)

    assert (0, 0, [], "") == (found["sessions"], found["messages"], found["models"], found["oldest"])
    assert "Total sessions: 0" in satchel("stats", "--from", empty).out


@pytest.mark.parametrize(
    "words",
    [["list", "--json"], ["stats", "--json"], ["doctor", "--json"], ["export", "--dry-run", "--json"]],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("times", [1, 9])
def test_a_store_that_changes_while_it_is_read_is_read_again(
    satchel: Callable[..., Any], story: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], times: int
) -> None:
    """A file that is read as it lies has no lock on it: its writer may begin at any moment, and never rest."""
    from satchel.formats.hermes_state.reader import HermesStore

    left = times
    expected = json.loads(satchel(*words).out)
    once = HermesStore.sessions

    def meanwhile(store: HermesStore, **options: Any) -> Any:
        nonlocal left
        if left:
            left -= 1
            os.utime(story, ns=(0, left))
        return once(store, **options)

    monkeypatch.setattr(HermesStore, "sessions", meanwhile)
    done = satchel(*words)
    found = json.loads(done.out)
    if words[0] == "doctor":
        assert times == 1 or "from a private copy" == found["stores"][0].pop("read")
        expected["stores"][0].pop("read")
        found["stores"][0].pop("read", None)
        for each in (expected, found):
            each["stores"][0].pop("warnings")

    assert 0 == done.status
    assert expected == found
    assert words[0] == "doctor" or "it changed while it was read: it is read again" in done.err


def test_ages_are_told_in_words(satchel: Callable[..., Any], tmp_path: Path) -> None:
    case = Case()
    case.add("new-one", time.time() - 7200, [user("Is it now?")])
    done = satchel("list", "--from", write(tmp_path / "new" / "state.db", case))

    assert "live, 1h ago" in done.out or "live, 2h ago" in done.out
