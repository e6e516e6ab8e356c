import os
import pickle
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.contracts import SessionInfo, Usage
from satchel.errors import AmbiguousId, NotFound, SatchelError, UsageError
from satchel.selection import Selection, Tally, select, selection

NOW = 1_783_258_200.0
"""2026-07-05 13:30:00 UTC."""
DAY = 86_400.0


def session(session_id: str = "s1", /, **facts: Any) -> SessionInfo:
    return SessionInfo(id=session_id, format="hermes", agent=facts.pop("agent", "hermes"), **facts)


def chosen(**options: Any) -> Selection:
    return selection(now=NOW, **options)


def taken(sessions: Sequence[SessionInfo], /, *, tally: Tally | None = None, **options: Any) -> list[str]:
    """Return the ids that an export with these options takes."""
    made = chosen(**options)
    return [info.id for info in select(sessions, made, ended_only=not made.takes_live, hide_archived=False, tally=tally)]


# What each filter matches.


@pytest.mark.parametrize(
    ("option", "field"),
    [
        ("source", "source"),
        ("provider", "provider"),
        ("end_reason", "end_reason"),
        ("user", "user"),
        ("chat_id", "chat_id"),
        ("chat_type", "chat_type"),
    ],
)
def test_exact_filters_take_the_value_alone(option: str, field: str) -> None:
    made = chosen(**{option: "group_a"})

    assert made.matches(session(**{field: "group_a"}))
    for other in ("Group_a", "group_ab", "groupXa", "", None):
        assert not made.matches(session(**{field: other}))


@pytest.mark.parametrize(("option", "field"), [("title", "title"), ("model", "model"), ("branch", "git_branch")])
@pytest.mark.parametrize(
    ("part", "text", "matches"),
    [
        ("sonnet", "vendor/Sonnet-9", True),
        ("SONNET", "vendor/sonnet-9", True),
        ("100%", "100% done", True),
        ("100%", "100 done", False),
        ("a_b", "a_b", True),
        ("a_b", "axb", False),
        ("ÄRGER", "ärger im Büro", True),
        ("ärger", "ÄRGER", True),
        ("STRASSE", "Hauptstraße", True),
        ("σίσυφος", "ΣΊΣΥΦΟΣ", True),
        ("caf\u00e9", "Cafe\u0301 plans", True),
        ("Cafe\u0301", "CAF\u00c9", True),
        ("日本", "新しい日本語", True),
        ("x", None, False),
        ("x", "", False),
    ],
)
def test_substring_filters_are_literal_and_know_all_letters(
    option: str, field: str, part: str, text: str | None, matches: bool
) -> None:
    """Upstream lower-cased one side by ASCII only, and took `%` and `_` as wildcards before it deleted what matched."""
    assert matches == chosen(**{option: part}).matches(session(**{field: text}))


@given(st.text(min_size=1).filter(str.strip), st.sampled_from(["NFC", "NFD"]))
def test_a_title_is_found_by_itself_in_any_case_and_form(title: str, form: Any) -> None:
    info = session(title=title)

    assert chosen(title=title).matches(info)
    assert chosen(title=unicodedata.normalize(form, title)).matches(info)
    assert chosen(title=title.casefold()).matches(info)


def test_sources_are_alternatives_and_exclusions_add_up() -> None:
    infos = [session(name or "none", source=name) for name in ("cli", "telegram", "cron", None)]

    assert ["cli", "cron"] == taken(infos, source=["cron", "cli"])
    assert ["telegram", "none"] == taken(infos, exclude_source=("cli", "cron"))
    assert ["cron"] == taken(infos, source=["cron", "cli"], exclude_source="cli")


def test_age_is_the_newest_messages_not_the_starts() -> None:
    """Pruning by start time deleted chats that were used the day before."""
    used_yesterday = session(started_at=NOW - 200 * DAY, last_active=NOW - DAY, messages=9)

    assert not chosen(older_than="90").matches(used_yesterday)
    assert chosen(newer_than="2d").matches(used_yesterday)
    assert chosen(before="90").matches(used_yesterday)
    assert not chosen(after="2d").matches(used_yesterday)


def test_upper_bounds_exclude_their_moment_and_lower_bounds_include_it() -> None:
    info = session(started_at=NOW - 3 * DAY, last_active=NOW - DAY, messages=1)

    assert not chosen(before="3d").matches(info)
    assert chosen(after="3d").matches(info)
    assert not chosen(older_than="1d").matches(info)
    assert chosen(newer_than="1d").matches(info)


def test_bounds_combine_to_a_window() -> None:
    infos = [session(str(days), started_at=NOW - days * DAY) for days in range(6)]

    assert ["2", "3"] == taken(infos, after="3d", before="1d")


def test_a_session_without_messages_is_as_old_as_its_start() -> None:
    assert chosen(older_than="1d").matches(session(started_at=NOW - 2 * DAY, messages=0))


@pytest.mark.parametrize("option", ["older_than", "newer_than", "before", "after"])
@pytest.mark.parametrize("time", [None, float("nan"), float("inf"), float("-inf")])
def test_a_session_without_a_time_matches_no_time(option: str, time: float | None) -> None:
    assert not chosen(**{option: "1d"}).matches(session(started_at=time, last_active=time, messages=0))


def test_the_start_does_not_stand_in_for_messages_that_nobody_counted() -> None:
    uncounted = session(started_at=NOW - 200 * DAY, last_active=None, messages=None)

    assert not chosen(older_than="90").matches(uncounted)


@pytest.mark.parametrize(
    ("name", "facts", "value"),
    [
        ("messages", {"messages": 5}, 5),
        ("messages", {"messages": 3, "compacted": 2, "rewound": 7}, 5),
        ("tokens", {"usage": Usage(input=3, output=2, cache_read=900, reasoning=900)}, 5),
        ("cost", {"cost": 0.25}, 0.25),
        ("tool_calls", {"tool_calls": 5}, 5),
        ("tokens", {}, 0),
        ("cost", {"cost": None}, 0),
        ("tool_calls", {}, 0),
    ],
)
def test_number_bounds_include_their_value(name: str, facts: dict[str, Any], value: float) -> None:
    info = session(**facts)

    assert chosen(**{f"min_{name}": value}).matches(info)
    assert chosen(**{f"max_{name}": value}).matches(info)
    assert chosen(**{f"min_{name}": value, f"max_{name}": str(value)}).matches(info)
    assert not chosen(**{f"min_{name}": value + 1}).matches(info)
    assert not value or not chosen(**{f"max_{name}": 0}).matches(info)


def test_a_long_conversation_that_was_compacted_is_not_tiny() -> None:
    """Compaction in place leaves a handful of live rows; `prune --max-messages 3` must not take the rest for nothing."""
    assert not chosen(max_messages=3).matches(session(messages=3, compacted=500))


def test_uncounted_messages_match_no_bound() -> None:
    assert not chosen(max_messages=3).matches(session(messages=None))
    assert not chosen(min_messages=0).matches(session(messages=None))


def test_a_workspace_is_the_git_root_else_the_folder() -> None:
    in_git = session(git_root="/home/ada/code/Satchel-web/", cwd="/home/ada/code/other/deep")
    plain = session(git_root=" ", cwd="C:\\dev\\web")

    for part in ("satchel-web", "code/satchel", "/home/ada/code/satchel-web", "Satchel-Web/"):
        assert chosen(workspace=part).matches(in_git)
    assert not chosen(workspace="other").matches(in_git)
    assert chosen(workspace="web").matches(plain)
    assert chosen(workspace="dev/web").matches(plain)
    assert not chosen(workspace="x").matches(session())


def test_a_workspace_may_be_written_as_a_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("USERPROFILE", "/home/ada")
    monkeypatch.chdir(tmp_path)
    home = session(cwd="/home/ada/code/web")
    here = session(cwd=f"{tmp_path}/sub")

    assert chosen(workspace="~/code/web").matches(home)
    assert chosen(workspace=".").matches(here)
    assert chosen(workspace="./sub").matches(here)
    assert not chosen(workspace=".").matches(home)


def test_cwd_takes_the_folder_and_what_is_in_it() -> None:
    made = chosen(cwd="/srv/app/")

    assert made.matches(session(cwd="/srv/app"))
    assert made.matches(session(cwd="/srv/app/sub"))
    assert not made.matches(session(cwd="/srv/app2"))
    assert not made.matches(session(cwd=None))


def test_agent_and_pinned_choose_too() -> None:
    infos = [session("a", agent="claude"), session("b", agent="codex", pinned=True), session("c", pinned=True)]

    assert ["a", "b"] == taken(infos, agent=["claude", "codex"])
    assert ["b", "c"] == taken(infos, pinned=True)


def test_all_filters_are_joined_by_and() -> None:
    infos = [session("a", source="cli", title="smoke"), session("b", source="cli"), session("c", title="smoke")]

    assert ["a"] == taken(infos, source="cli", title="smoke")


EVERY_FILTER: dict[str, Any] = {
    "session_ids": ["s1"],
    "older_than": "1d",
    "newer_than": "9d",
    "before": "1d",
    "after": "9d",
    "source": ["cli"],
    "exclude_source": ["cron"],
    "title": "t",
    "model": "m",
    "provider": "p",
    "branch": "b",
    "end_reason": "e",
    "user": "u",
    "chat_id": "c",
    "chat_type": "dm",
    "cwd": "/w",
    "workspace": "w",
    "min_messages": 1,
    "max_messages": 9,
    "min_tokens": 1,
    "max_tokens": 9,
    "min_cost": 0.0,
    "max_cost": 9.5,
    "min_tool_calls": 0,
    "max_tool_calls": 9,
}
SWITCHES: dict[str, Any] = {"agent": ["claude"], "pinned": True, "include_live": True, "include_archived": True}


def test_the_lists_of_this_file_hold_every_filter() -> None:
    assert {f.name for f in fields(Selection) if f.init} == EVERY_FILTER.keys() | SWITCHES.keys()


@pytest.mark.parametrize("option", sorted(EVERY_FILTER))
def test_each_filter_narrows_is_described_and_has_an_effect(option: str) -> None:
    made = chosen(**{option: EVERY_FILTER[option]})

    assert made.narrows
    assert made.describe() != "every session"
    if option == "session_ids":
        with pytest.raises(NotFound):
            taken([session("other")], session_ids=["s1"])
    else:
        misfit = session(source="cron", started_at=None, messages=99, tool_calls=99, usage=Usage(input=99), cost=99.0)
        misfits = [misfit, session(messages=0, tool_calls=-1, cost=-1.0)]
        assert not all(made.matches(info) for info in misfits)


@pytest.mark.parametrize("option", sorted(SWITCHES))
def test_switches_do_not_narrow(option: str) -> None:
    """An `--agent` or `--pinned` must never switch off the 90 days of a prune, nor open an archive of everything."""
    assert not chosen(**{option: SWITCHES[option]}).narrows


def test_no_options_match_everything() -> None:
    made = chosen()

    assert made == Selection()
    assert not made.narrows
    assert not made.needs_counts
    assert made.matches(session())
    assert made.describe() == "every session"


def test_only_filters_on_what_is_counted_need_counts() -> None:
    counted = {name for name in EVERY_FILTER if chosen(**{name: EVERY_FILTER[name]}).needs_counts}

    assert counted == {
        "older_than",
        "newer_than",
        *(f"{end}_{name}" for end in ("min", "max") for name in ("messages", "tokens", "cost", "tool_calls")),
    }
    assert not chosen(**SWITCHES).needs_counts


def test_the_filters_are_said_in_words() -> None:
    made = chosen(
        session_ids=["a", "b"],
        after="2026-07-01 10:00",
        source=["telegram", "discord"],
        title="smoke",
        chat_type="group",
        min_cost=0.5,
        max_tool_calls=0,
        agent="claude",
        pinned=True,
    )

    assert made.describe() == (
        'session a or b, started at or after 2026-07-01 10:00, source telegram or discord, title contains "smoke", '
        "chat type group, cost at least $0.5, at most 0 tool calls, written by claude, pinned"
    )


def test_a_selection_can_be_sent_to_another_process() -> None:
    made = chosen(title="smoke", cwd="/srv", older_than="1d", source=["cli"])

    again = pickle.loads(pickle.dumps(made))

    assert again == made
    assert again.matches(session(title="Smoke", cwd="/srv/x", last_active=0.0, messages=1, source="cli"))
    assert not again.matches(session(title="Smoke", cwd="/var", last_active=0.0, messages=1, source="cli"))


def test_a_default_can_be_added_to_a_selection() -> None:
    made = replace(chosen(agent="hermes"), older_than=NOW - 90 * DAY)

    assert made.matches(session(last_active=NOW - 91 * DAY, messages=1))
    assert not made.matches(session(last_active=NOW - 89 * DAY, messages=1))


# What is refused.


@pytest.mark.parametrize("option", sorted(set(EVERY_FILTER) | {"agent"}))
@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_value_is_an_error_that_names_its_option(option: str, empty: str) -> None:
    """`prune --source ""` switched the 90-day default off and matched everything that had ended."""
    name = "--session-id" if option == "session_ids" else "--" + option.replace("_", "-")

    with pytest.raises(UsageError, match=rf"^{name} needs a value") as caught:
        chosen(**{option: empty})

    assert name == caught.value.subject


def test_an_empty_value_among_several_is_an_error_too() -> None:
    with pytest.raises(UsageError, match="--source needs a value"):
        chosen(source=["cli", ""])


@pytest.mark.parametrize("option", [name for name in EVERY_FILTER if name.startswith(("min_", "max_"))])
@pytest.mark.parametrize("value", ["many", "nan", "inf", "-1", float("nan"), float("inf"), -1, "0x10", "1,5", 10**400])
def test_a_number_has_to_be_one(option: str, value: Any) -> None:
    with pytest.raises(UsageError, match="--" + option.replace("_", "-")):
        chosen(**{option: value})


def test_counts_are_whole_and_costs_need_not_be() -> None:
    with pytest.raises(UsageError, match=r"--min-messages takes a whole number, not '1\.5'"):
        chosen(min_messages="1.5")

    assert chosen(min_cost="1.5").min_cost == 1.5
    assert chosen(min_messages="3").min_messages == 3


@pytest.mark.parametrize("name", ["messages", "tokens", "cost", "tool_calls"])
def test_a_range_that_holds_nothing_is_an_error(name: str) -> None:
    option = name.replace("_", "-")

    with pytest.raises(UsageError, match=rf"--min-{option} 3(\.0)? is more than --max-{option} 2"):
        chosen(**{f"min_{name}": 3, f"max_{name}": 2})


@pytest.mark.parametrize("lower", ["2d", "1d"])
@pytest.mark.parametrize(("start", "end"), [("newer_than", "older_than"), ("after", "before")])
def test_a_window_that_holds_nothing_is_an_error(start: str, end: str, lower: str) -> None:
    with pytest.raises(UsageError, match=rf"--{start.replace('_', '-')} 1d is not before --{end.replace('_', '-')} {lower}"):
        chosen(**{start: "1d", end: lower})


def test_bounds_on_different_clocks_do_not_contradict_each_other() -> None:
    """Begun long ago, used of late: a window on the start and one on the newest message need not overlap."""
    long_chat = session(started_at=NOW - 30 * DAY, last_active=NOW - DAY, messages=1)

    assert chosen(newer_than="2d", before="20d").matches(long_chat)
    assert chosen(after="1d", older_than="2d").narrows


def test_a_source_that_is_excluded_is_an_error() -> None:
    with pytest.raises(UsageError, match="--exclude-source"):
        chosen(source="cli", exclude_source=["cron", "cli"])


@pytest.mark.parametrize("bad", ["@session:", "@session:work/", "@session:work/ "])
def test_a_link_without_an_id_is_an_error(bad: str) -> None:
    with pytest.raises(UsageError, match="names no session"):
        chosen(session_ids=[bad])


@given(st.dictionaries(st.sampled_from(sorted(EVERY_FILTER)), st.text(max_size=8), max_size=5))
def test_any_text_makes_a_selection_or_a_usage_error(options: dict[str, str]) -> None:
    try:
        made = chosen(**options)
    except UsageError:
        return

    assert made.describe()
    assert made.matches(session()) in (True, False)


# What is left out of what matches.

LIVE = session("live", live=True, source="cli")
ENDED = session("ended", source="cli")
ARCHIVED = session("archived", archived=True, source="cli")
PINNED = session("pinned", pinned=True, source="cli")
OTHER = session("other", source="cron", live=True)
ALL = [LIVE, ENDED, ARCHIVED, PINNED, OTHER]


def test_an_export_without_a_filter_takes_everything() -> None:
    tally = Tally()

    assert [info.id for info in ALL] == taken(ALL, tally=tally)
    assert tally == Tally(looked_at=5, matched=5)
    assert tally.describe() == ""


@pytest.mark.parametrize("switch", ["agent", "include_live", "include_archived"])
def test_an_export_with_a_switch_alone_still_takes_live_sessions(switch: str) -> None:
    value: Any = "hermes" if switch == "agent" else True

    assert "live" in taken(ALL, **{switch: value})


def test_an_export_with_a_filter_leaves_live_sessions_out_and_says_so() -> None:
    """Upstream left open sessions out of a filtered export without a word."""
    tally = Tally()

    assert ["ended", "archived", "pinned"] == taken(ALL, source="cli", tally=tally)
    assert tally == Tally(looked_at=5, matched=3, left_out_live=1)
    assert tally.describe() == "1 live"
    assert ["live", "ended", "archived", "pinned"] == taken(ALL, source="cli", include_live=True)


def test_an_export_by_id_takes_a_live_session() -> None:
    assert ["live"] == taken(ALL, session_ids=["live"])


def test_a_prune_takes_ended_sessions_only_and_spares_what_is_kept() -> None:
    def prune(**options: Any) -> tuple[list[str], Tally]:
        made, tally = chosen(**options), Tally()
        hide = not made.include_archived
        found = select(ALL, made, ended_only=True, hide_archived=hide, spare_pinned=True, tally=tally)
        return [info.id for info in found], tally

    assert (["ended"], Tally(5, 1, 1, 1, 1)) == prune(source="cli")
    assert prune(source="cli")[1].describe() == "1 live, 1 archived, 1 pinned"
    assert prune(source="cli")[1].left_out == 3
    assert prune(source="cli", include_live=True)[0] == ["ended"]
    assert prune(source="cli", include_archived=True)[0] == ["ended", "archived"]
    assert prune(session_ids=["live"]) == ([], Tally(5, 0, 1, 0, 0))


def test_a_session_is_left_out_for_one_reason() -> None:
    both = session(live=True, archived=True, pinned=True)
    tally = Tally()

    assert list(select([both], Selection(), ended_only=True, hide_archived=True, spare_pinned=True, tally=tally)) == []
    assert tally.left_out == 1


def test_sessions_pass_one_by_one() -> None:
    """A store of any size is never held."""
    seen: list[str] = []

    def scan() -> Iterator[SessionInfo]:
        for info in ALL:
            seen.append(info.id)
            yield info

    found = select(scan(), Selection(), ended_only=False, hide_archived=False)

    assert next(found).id == "live"
    assert seen == ["live"]


def test_ids_combine_with_the_other_filters() -> None:
    """Upstream ignored every filter beside `--session-id`."""
    tally = Tally()

    assert ["ended"] == taken(ALL, session_ids=["ended", "other"], source="cli", tally=tally)
    assert (5, 1) == (tally.looked_at, tally.matched)


@pytest.mark.parametrize(("wanted", "error"), [("none", NotFound), ("s-", AmbiguousId)])
def test_an_id_that_fails_does_so_before_anything_is_done(wanted: str, error: type[SatchelError]) -> None:
    infos = [session("s-1"), session("s-2")]

    with pytest.raises(error):
        select(infos, chosen(session_ids=[wanted]), ended_only=False, hide_archived=False)


def test_the_module_is_light() -> None:
    code = "import sys; import satchel.selection; print(*sys.modules)"
    path = os.pathsep.join(sys.path)
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path}
    ).stdout.split()

    assert "satchel.selection" in loaded
    assert not {"orjson", "click", "rich", "apsw", "pyarrow", "satchel.contracts"} & set(loaded)
