"""
Which sessions a command works on: the filters, and what is left out of what they match.

`selection` checks the options as given and makes a `Selection`; `select` goes through a scan with it. A `Selection` matches alike
for every command; in what they differ, each command says by the flags of `select`:

    command                 live                  archived                pinned
    export                  if `takes_live`       taken                   taken
    prune                   never                 `--include-archived`    spared
    archive                 never                 never (they are)        spared
    list, browse, resolve   taken                 `--include-archived`    taken
    search, stats, backup   taken                 taken                   taken

    export                  ended_only=not s.takes_live, hide_archived=False
    prune                   ended_only=True, hide_archived=not s.include_archived, spare_pinned=True
    archive                 ended_only=True, hide_archived=True, spare_pinned=True
    list, browse, resolve   ended_only=False, hide_archived=not s.include_archived
    search, stats, backup   ended_only=False, hide_archived=False
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any

from satchel.errors import UsageError
from satchel.folders import absolute, below, is_written_as_path
from satchel.frozen import frozen
from satchel.ids import resolve_ids, split_id
from satchel.timetext import local, parse_moment

if TYPE_CHECKING:
    from satchel.contracts import SessionInfo

__all__ = ["Selection", "Tally", "resolve_ids", "select", "selection"]

_Test = Callable[["SessionInfo"], bool]

# Filters that compare one field of a session, by option; the field's name where it is another.
_EXACT = {"provider": "provider", "end_reason": "end_reason", "user": "user", "chat_id": "chat_id", "chat_type": "chat_type"}
_PART = {"title": "title", "model": "model", "branch": "git_branch"}
_NOT_NARROWING = frozenset(["agent", "pinned", "include_live", "include_archived"])
# What a scan without counts does not know for every format.
_COUNTED = ("older_than", "newer_than", "messages", "tokens", "cost", "tool_calls")


@frozen(frozen=True, slots=True, kw_only=True)
class Selection:
    """
    The filters of one command; a session is taken when it passes all of them. Made by `selection`, which checks the values.

    Times are seconds since the epoch: `older_than` and `before` are upper bounds and exclude the moment itself, `newer_than` and
    `after` lower bounds that include it. `source`, `exclude_source` and `agent` hold alternatives.
    """

    session_ids: tuple[str, ...] = ()
    """As the user gave them: full, a prefix or a link; `select` resolves them."""
    older_than: float | None = None
    """The newest message is older than this moment; so for `newer_than`, which is the lower bound."""
    newer_than: float | None = None
    before: float | None = None
    """The session started before this moment; so for `after`, which is the lower bound."""
    after: float | None = None
    source: tuple[str, ...] = ()
    exclude_source: tuple[str, ...] = ()
    title: str | None = None
    model: str | None = None
    provider: str | None = None
    branch: str | None = None
    end_reason: str | None = None
    user: str | None = None
    chat_id: str | None = None
    chat_type: str | None = None
    cwd: str | None = None
    workspace: str | None = None
    min_messages: int | None = None
    """Messages of the conversation as its user saw it: live and compacted ones, not those taken back."""
    max_messages: int | None = None
    min_tokens: int | None = None
    max_tokens: int | None = None
    min_cost: float | None = None
    max_cost: float | None = None
    min_tool_calls: int | None = None
    max_tool_calls: int | None = None
    agent: tuple[str, ...] = ()
    pinned: bool = False
    include_live: bool = False
    include_archived: bool = False
    _tests: tuple[_Test, ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "_tests", tuple(_tests(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        # The tests are closures, which cannot be pickled: they are made anew.
        return partial(Selection, **self._given()), ()

    def _given(self) -> dict[str, Any]:
        return {f.name: value for f in fields(self) if f.init and (value := getattr(self, f.name)) != f.default}

    @property
    def narrows(self) -> bool:
        """Whether any filter is given that counts as one: `--agent`, `--pinned` and the `--include-…` switches do not."""
        return not self._given().keys() <= _NOT_NARROWING

    @property
    def needs_counts(self) -> bool:
        """Whether the scan has to count: a filter looks at the newest message, a count, tokens or cost."""
        return any(name.removeprefix("min_").removeprefix("max_") in _COUNTED for name in self._given())

    @property
    def takes_live(self) -> bool:
        """Whether a command that only copies takes live sessions too: asked for, named by id, or nothing narrows."""
        return self.include_live or bool(self.session_ids) or not self.narrows

    def matches(self, info: SessionInfo, /) -> bool:
        """
        Return whether the session passes every filter but the ids, which only a whole scan can resolve (`select` does).

        A fact that the session lacks passes no filter that asks for it; only tokens, cost and tool calls count as 0 then. When
        `needs_counts` says so, the session must come from a scan with counts.
        """
        for test in self._tests:  # noqa: SIM110 (a generator would cost more than the tests)
            if not test(info):
                return False
        return True

    def describe(self) -> str:
        """Return the filters in words, `source telegram or discord, title contains "smoke"`; "every session" for none."""
        return ", ".join(_words(self)) or "every session"


def selection(
    *,
    now: float,
    session_ids: str | Iterable[str] = (),
    older_than: str | None = None,
    newer_than: str | None = None,
    before: str | None = None,
    after: str | None = None,
    source: str | Iterable[str] = (),
    exclude_source: str | Iterable[str] = (),
    title: str | None = None,
    model: str | None = None,
    provider: str | None = None,
    branch: str | None = None,
    end_reason: str | None = None,
    user: str | None = None,
    chat_id: str | None = None,
    chat_type: str | None = None,
    cwd: str | None = None,
    workspace: str | None = None,
    min_messages: str | float | None = None,
    max_messages: str | float | None = None,
    min_tokens: str | float | None = None,
    max_tokens: str | float | None = None,
    min_cost: str | float | None = None,
    max_cost: str | float | None = None,
    min_tool_calls: str | float | None = None,
    max_tool_calls: str | float | None = None,
    agent: str | Iterable[str] = (),
    pinned: bool = False,
    include_live: bool = False,
    include_archived: bool = False,
) -> Selection:
    """
    Check the options as the user gave them and return them as a selection.

    Args:
        now: The moment that durations count back from, in seconds since the epoch.

    Raises:
        UsageError: A value is empty or no time or number, or two of them leave nothing between them.
    """
    chosen = Selection(
        session_ids=_several("--session-id", session_ids),
        older_than=_moment("--older-than", older_than, now),
        newer_than=_moment("--newer-than", newer_than, now),
        before=_moment("--before", before, now),
        after=_moment("--after", after, now),
        source=_several("--source", source),
        exclude_source=_several("--exclude-source", exclude_source),
        title=_value("--title", title),
        model=_value("--model", model),
        provider=_value("--provider", provider),
        branch=_value("--branch", branch),
        end_reason=_value("--end-reason", end_reason),
        user=_value("--user", user),
        chat_id=_value("--chat-id", chat_id),
        chat_type=_value("--chat-type", chat_type),
        cwd=_folder("--cwd", cwd),
        workspace=_workspace(workspace),
        min_messages=_count("--min-messages", min_messages),
        max_messages=_count("--max-messages", max_messages),
        min_tokens=_count("--min-tokens", min_tokens),
        max_tokens=_count("--max-tokens", max_tokens),
        min_cost=_amount("--min-cost", min_cost),
        max_cost=_amount("--max-cost", max_cost),
        min_tool_calls=_count("--min-tool-calls", min_tool_calls),
        max_tool_calls=_count("--max-tool-calls", max_tool_calls),
        agent=_several("--agent", agent),
        pinned=pinned,
        include_live=include_live,
        include_archived=include_archived,
    )
    for given in chosen.session_ids:
        split_id(given)
    # Only bounds that look at the same clock can contradict each other.
    _window("--newer-than", chosen.newer_than, newer_than, "--older-than", chosen.older_than, older_than)
    _window("--after", chosen.after, after, "--before", chosen.before, before)
    for name in ("messages", "tokens", "cost", "tool-calls"):
        least, most = (getattr(chosen, f"{end}_{name.replace('-', '_')}") for end in ("min", "max"))
        if least is not None and most is not None and least > most:
            raise UsageError(f"--min-{name} {least} is more than --max-{name} {most}: nothing can match", subject=f"--min-{name}")
    if chosen.source and not set(chosen.source) - set(chosen.exclude_source):
        raise UsageError("--exclude-source leaves out all that --source takes: nothing can match", subject="--exclude-source")
    return chosen


def _value(option: str, value: str | None) -> str | None:
    if value is not None and not value.strip():
        raise UsageError(f"{option} needs a value, not an empty one; leave {option} out to take all", subject=option)
    return value


def _several(option: str, values: str | Iterable[str]) -> tuple[str, ...]:
    given = (values,) if isinstance(values, str) else values
    return tuple(dict.fromkeys(value for each in given if (value := _value(option, each)) is not None))


def _moment(option: str, value: str | None, now: float) -> float | None:
    return None if value is None else parse_moment(value, now=now, name=option)


def _window(
    lower: str, start: float | None, start_given: str | None, upper: str, end: float | None, end_given: str | None
) -> None:
    if start is not None and end is not None and start >= end:
        raise UsageError(
            f"{lower} {start_given} is not before {upper} {end_given}: no moment lies between them", subject=f"{lower} {upper}"
        )


def _amount(option: str, value: str | float | None) -> float | None:
    if value is None:
        return None
    try:
        number = float(_value(option, value) or 0) if isinstance(value, str) else float(value)
    except (ValueError, OverflowError):
        number = float("nan")
    if number - number != 0.0:
        raise UsageError(f"{option} takes a number, not {value!r}", subject=option)
    if number < 0:
        raise UsageError(f"{option} cannot be negative: {value!r}", subject=option)
    return number


def _count(option: str, value: str | float | None) -> int | None:
    number = _amount(option, value)
    if number is not None and not number.is_integer():
        raise UsageError(f"{option} takes a whole number, not {value!r}", subject=option)
    return None if number is None else int(number)


def _folder(option: str, value: str | None) -> str | None:
    return None if _value(option, value) is None else absolute(value or "", name=option)


def _workspace(value: str | None) -> str | None:
    # A path when it is written as one (`~/x`, `.`, `../x`), else any part of one.
    return _folder("--workspace", value) if value and is_written_as_path(value) else _value("--workspace", value)


def _fold(text: str) -> str:
    """Return the text so that two which differ in case or Unicode form alone are equal."""
    if text.isascii():
        return text.lower()
    from unicodedata import normalize

    return normalize("NFC", normalize("NFC", text).casefold())


# The tests of a selection: one closure a filter that is given, the cheap ones first.


def _tests(given: Selection) -> Iterator[_Test]:
    if given.agent:
        agents = frozenset(given.agent)
        yield lambda info: info.agent in agents
    if given.pinned:
        yield lambda info: info.pinned
    if given.source:
        sources = frozenset(given.source)
        yield lambda info: info.source in sources
    if given.exclude_source:
        excluded = frozenset(given.exclude_source)
        yield lambda info: info.source not in excluded
    for option, name in _EXACT.items():
        if (value := getattr(given, option)) is not None:
            yield _equals(name, value)
    if given.before is not None or given.after is not None:
        yield _between(lambda info: info.started_at, given.after, given.before)
    if given.newer_than is not None or given.older_than is not None:
        yield _between(_last_active, given.newer_than, given.older_than)
    yield from _bounds(lambda info: info.tool_calls, given.min_tool_calls, given.max_tool_calls)
    yield from _bounds(lambda info: info.usage.input + info.usage.output, given.min_tokens, given.max_tokens)
    yield from _bounds(lambda info: info.cost or 0.0, given.min_cost, given.max_cost)
    yield from _bounds(_messages, given.min_messages, given.max_messages)
    for option, name in _PART.items():
        if (value := getattr(given, option)) is not None:
            yield _contains(name, value)
    if given.cwd is not None:
        yield _below(given.cwd)
    if given.workspace is not None:
        yield _works_in(_key(given.workspace))


def _equals(name: str, value: str) -> _Test:
    return lambda info: getattr(info, name) == value


def _contains(name: str, value: str) -> _Test:
    part = _fold(value)
    return lambda info: part in _fold(getattr(info, name) or "")


def _between(clock: Callable[[SessionInfo], float | None], start: float | None, end: float | None) -> _Test:
    lower = float("-inf") if start is None else start
    upper = float("inf") if end is None else end

    def test(info: SessionInfo) -> bool:
        moment = clock(info)
        # A store may hold infinity, which lies in no window, also in one that is open there.
        return moment is not None and lower <= moment < upper and moment - moment == 0.0

    return test


def _last_active(info: SessionInfo) -> float | None:
    # Uncounted is not the same as without messages: a start must not stand in for a message that nobody looked for.
    if info.last_active is None and info.messages == 0:
        return info.started_at
    return info.last_active


def _messages(info: SessionInfo) -> int | None:
    # Compaction in place leaves few live messages of a long conversation, which must not pass for a tiny one.
    return None if info.messages is None else info.messages + (info.compacted or 0)


def _bounds(count: Callable[[SessionInfo], float | None], least: float | None, most: float | None) -> Iterator[_Test]:
    if least is None and most is None:
        return
    lower = float("-inf") if least is None else least
    upper = float("inf") if most is None else most

    def test(info: SessionInfo) -> bool:
        number = count(info)
        return number is not None and lower <= number <= upper

    yield test


def _below(folder: str) -> _Test:
    inside = below(folder)
    return lambda info: info.cwd is not None and inside(info.cwd)


def _key(path: str) -> str:
    text = _fold(path).replace("\\", "/")
    return text.rstrip("/") or text[:1]


def _works_in(part: str) -> _Test:
    def test(info: SessionInfo) -> bool:
        path = (info.git_root or "").strip() or (info.cwd or "").strip()
        # The last component needs no look of its own: it is a part of the path.
        return part in _key(path)

    return test


def _words(given: Selection) -> Iterator[str]:
    if given.session_ids:
        yield f"session {' or '.join(given.session_ids)}"
    for name, words in (
        ("newer_than", "last active at or after"),
        ("older_than", "last active before"),
        ("after", "started at or after"),
        ("before", "started before"),
    ):
        if (moment := getattr(given, name)) is not None:
            yield f"{words} {local(moment)}"
    if given.source:
        yield f"source {' or '.join(given.source)}"
    if given.exclude_source:
        yield f"source not {' or '.join(given.exclude_source)}"
    for option in _PART:
        if (value := getattr(given, option)) is not None:
            yield f'{option} contains "{value}"'
    for option in _EXACT:
        if (value := getattr(given, option)) is not None:
            yield f"{option.replace('_', ' ')} {value}"
    if given.cwd is not None:
        yield f"in folder {given.cwd}"
    if given.workspace is not None:
        yield f"workspace {given.workspace}"
    for name in ("messages", "tokens", "cost", "tool_calls"):
        for end, words in (("min", "at least"), ("max", "at most")):
            if (number := getattr(given, f"{end}_{name}")) is not None:
                yield f"cost {words} ${number}" if name == "cost" else f"{words} {number} {name.replace('_', ' ')}"
    if given.agent:
        yield f"written by {' or '.join(given.agent)}"
    if given.pinned:
        yield "pinned"


@dataclass(slots=True)
class Tally:
    """What `select` saw, filled while it runs: a session that passes the filters is either matched or left out, once."""

    looked_at: int = 0
    matched: int = 0
    left_out_live: int = 0
    left_out_archived: int = 0
    left_out_pinned: int = 0

    @property
    def left_out(self) -> int:
        """Sessions that pass the filters and were not taken."""
        return self.left_out_live + self.left_out_archived + self.left_out_pinned

    def describe(self) -> str:
        """Return what was left out, `2 live, 1 archived`; "" when nothing was."""
        counts = (("live", self.left_out_live), ("archived", self.left_out_archived), ("pinned", self.left_out_pinned))
        return ", ".join(f"{count} {what}" for what, count in counts if count)


def select(
    infos: Iterable[SessionInfo],
    selection: Selection,
    *,
    ended_only: bool,
    hide_archived: bool,
    spare_pinned: bool = False,
    tally: Tally | None = None,
) -> Iterator[SessionInfo]:
    """
    Return the sessions of a scan that a command works on, in the scan's order; by id in the order the ids were given.

    Ids combine with the other filters. They are resolved over the whole scan before this returns; without ids, sessions pass
    through one by one.

    Args:
        infos: The scan, with counts when `selection.needs_counts`; of several stores, one after the other.
        ended_only, hide_archived, spare_pinned: Leave out live, archived and pinned sessions; the table at the top of this module
            has each command's own.
        tally: Counts what was looked at, matched and left out.

    Raises:
        NotFound: An id is unknown; its subclass AmbiguousId when a prefix fits several.
    """
    counts = Tally() if tally is None else tally
    infos = _counted(infos, counts)
    if selection.session_ids:
        infos = resolve_ids(selection.session_ids, infos)
    return _pick(infos, selection, ended_only, hide_archived, spare_pinned, counts)


def _counted(infos: Iterable[SessionInfo], tally: Tally) -> Iterator[SessionInfo]:
    for info in infos:
        tally.looked_at += 1
        yield info


def _pick(
    infos: Iterable[SessionInfo], selection: Selection, ended_only: bool, hide_archived: bool, spare_pinned: bool, tally: Tally
) -> Iterator[SessionInfo]:
    matches = selection.matches
    for info in infos:
        if not matches(info):
            continue
        if ended_only and info.live:
            tally.left_out_live += 1
        elif hide_archived and info.archived:
            tally.left_out_archived += 1
        elif spare_pinned and info.pinned:
            tally.left_out_pinned += 1
        else:
            tally.matched += 1
            yield info
