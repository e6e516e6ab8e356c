"""
What must be known of a whole session before its lines can be decoded one by one.

Most of what is said stands twice in a rollout: as an item of what the model was given and gave, and as an event for the screen.
The items are the conversation. An event is a message only where its item is missing; which those are, what the person took back
later, which prompts nobody typed and which tokens belong to which answer is found out here, in one pass before.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from satchel.contracts import Record, Usage
from satchel.errors import JsonError
from satchel.formats.codex.headless import captured_message, item_of, thread_of
from satchel.formats.codex.injected import normal
from satchel.formats.codex.items import person_parts
from satchel.formats.codex.said import END, SCREEN, THREAD, Event, Window, told_once
from satchel.formats.codex.shapes import CALLS, OUTPUTS, item_type, shape, text_of, texts, words
from satchel.formats.codex.tokens import Spent, Tokens
from satchel.formats.log_lines import BLANK, LogFile, records_of, unheard
from satchel.formats.model import Author
from satchel.jsontext import loads, loads_quick

__all__ = ["Numbered", "Plan", "make", "numbered", "place"]

# In the order in which Codex writes keys: lines of which no more than the type need be known here.
_LIGHT = re.compile(
    rb'\{"timestamp":"[^"]{8,40}",(?:"ordinal":\d+,)?"type":"(?:(compacted|world_state)"|response_item","payload":\{"type":"'
    rb'(?:(function_call|custom_tool_call)|(function_call_output|custom_tool_call_output|ghost_snapshot))")'
)
_GLUED = re.compile(rb'}\{"')
_HEAVY = 300
"""A line that is shorter, in bytes, is parsed."""

_SAID = {"agent_message": "assistant", "agent_reasoning": "reasoning", "agent_reasoning_raw_content": "reasoning"}
_ENDS = ("task_complete", "turn_complete")
_SAID_ITEMS = {"UserMessage": "user", "AgentMessage": "assistant", "Reasoning": "reasoning"}
_TOOL_EVENTS = words(
    """exec_command_end patch_apply_end mcp_tool_call_end web_search_end image_generation_end
    dynamic_tool_call_response tool_call"""
)
_TOOL_ITEMS = words("""CommandExecution FileChange McpToolCall WebSearch ImageGeneration DynamicToolCall CollabAgentToolCall""")


def place(segment: int, line: int, piece: int) -> int:
    """Return what orders the records of a session: those of a file by line, and those on one line."""
    return segment << 48 | line << 12 | min(piece, 4095)


class Numbered(int):
    """The number of a line, with its place in the session and the session's plan: they go along wherever the record does."""

    at: int
    plan: Plan


class Plan:
    """What was found of a session; see the module. Sets and keys are of places."""

    __slots__ = ("_ends", "_starts", "copied", "fallback", "injected", "prompter", "total", "usage")

    def __init__(self) -> None:
        self.injected: set[int] = set()
        """Messages under a person's role that nobody typed, though nothing in them says so."""
        self.fallback: set[int] = set()
        """Events that are messages, since there is no item for them."""
        self.copied: list[tuple[int, int]] = []
        """From where to where, without it, records are another session's."""
        self.prompter: Author = "person"
        """Whose words prompts are: into a thread that another one called, that one writes them."""
        self.usage = Spent()
        self.total = Usage()
        self._starts: list[int] = []
        self._ends: list[int] = []

    def take_back(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Mark what stands in these ranges as taken back."""
        merged: list[list[int]] = []
        for start, end in sorted(ranges):
            if merged and start <= merged[-1][1]:
                merged[-1][1] = max(end, merged[-1][1])
            else:
                merged.append([start, end])
        self._starts = [start for start, _ in merged]
        self._ends = [end for _, end in merged]

    def is_rewound(self, at: int) -> bool:
        """Return whether what stands there was taken back later."""
        if not self._starts:
            return False
        index = bisect_right(self._starts, at) - 1
        return index >= 0 and at < self._ends[index]

    def is_copied(self, at: int) -> bool:
        """Return whether what stands there was copied from another session."""
        return any(start <= at < end for start, end in self.copied)


def numbered(records: Iterable[Record], segment: int) -> Iterator[tuple[int, Record]]:
    """Yield records of a file with their places."""
    last, piece = -1, 0
    begin = place(segment, 0, 0)
    for record in records:
        line = record.key
        if line != last:
            last, piece = line, 0
            yield begin | line << 12, record
        else:
            piece += 1
            yield place(segment, line, piece), record


def quick(log: LogFile, segment: int) -> Iterator[tuple[int, Any, re.Match[bytes] | None]]:
    """Yield what lines say with their places; of a long one that is known by its beginning, that alone."""
    light_of = _LIGHT.match
    begin = place(segment, 0, 0)
    for number, line in enumerate(log.lines(), 1):
        if len(line) > _HEAVY and (light := light_of(line)) is not None and _is_one(line, light):
            yield begin | number << 12, None, light
            continue
        try:
            # What it gets wrong, big integers and halves of pairs, does not matter here.
            data = loads_quick(line)
        except JsonError:
            pass
        else:
            yield begin | number << 12, data, None
            continue
        try:
            data = loads(line)
        except JsonError as error:
            if line.strip(BLANK):
                for piece, record in enumerate(records_of(line, number, error, report=unheard)):
                    yield place(segment, number, piece), record.data, None
        else:
            yield place(segment, number, 0), data, None


def _is_one(line: bytes, light: re.Match[bytes]) -> bool:
    """Return whether a line is no torn record, nor has another one glued to it, which must be seen for itself."""
    whole = line.endswith(b"}\n") or line.rstrip().endswith(b"}")
    # An expression finds these three bytes in half the time that "in" takes.
    return whole and line.count(b'"payload":') < 2 and _GLUED.search(line, light.end()) is None


class _Exchange(NamedTuple):
    """Where a message stands: in which turn, before which answer; and whether it has the form of a fragment."""

    window: Window
    number: int
    is_tagged: bool


_TAGGED = re.compile(r"\s*<[A-Za-z][\w.:-]*(?:\s[^<>]*)?>.*</[^<>]+>\s*\Z", re.DOTALL)
_ROOM = 4096
_NEAR = 8
"""So many records lie at most between the two writings of a text."""


class _Scan:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.window = Window()
        self.count = 0
        self.damaged: list[int] = []
        """Which records of the session can't be read."""
        self.exchange = 0
        """How many items of the model there were."""
        self.users: list[tuple[int, int, _Exchange, tuple[int, ...]]] = []
        """Messages in an envelope of which something may have been typed."""
        self.typed: list[int] = []
        """Messages without one, and what other agents began a turn with."""
        self.events: list[Event] = []
        self.room = _ROOM
        self.asked: set[int] = set()
        """Before which answers an event says that a person sent something."""
        self.item_texts = {kind: array("q") for kind in ("user", "assistant", "reasoning")}
        """Hashes of what items say: in a few bytes each, since a long rollout has very many."""
        self.told: dict[str, set[int]] = {}
        """Those of them that an event says too; known in the end."""
        self.tool_events: list[int] = []
        self.tool_ids: set[str] = set()
        self.has_tools = False
        self.rollbacks: list[tuple[int, int]] = []
        self.is_triggered = False
        self.tokens = Tokens(plan.usage)
        self.thread: str | None = None
        """The thread that printed what was captured last."""
        self.going_on: dict[str, int] = {}
        """Where the last line stands on items of it that are not complete."""

    # What is seen of a line, in the order of the lines.

    def see(self, at: int, data: Any, light: re.Match[bytes] | None, *, copied: bool) -> None:
        self.count += 1
        if light is not None:
            if light[2]:
                self._model(at, "tools", copied)
            elif light[3]:
                self.has_tools = True
            return
        if data is None:
            self.damaged.append(self.count)
            return
        kind, payload, bare = shape(data)
        if kind == "response_item":
            self._item(at, item_type(payload), payload, data if type(data) is dict else {}, bare, copied)
        elif kind == "event_msg":
            self._event(at, payload, copied)
        elif kind in ("inter_agent_communication", "inter_agent_communication_metadata"):
            self.is_triggered = bool(payload.get("trigger_turn"))
            if self.is_triggered and kind == "inter_agent_communication":
                self.typed.append(at)
                self.is_triggered = False
        elif kind == "token_usage_record":
            self.tokens.record(at, payload, copied=copied)
        elif kind == "captured":
            self._captured(at, payload)

    def _captured(self, at: int, line: dict[str, Any]) -> None:
        thread = thread_of(line)
        if thread is not None:
            # Ids of items are the process' own.
            self.plan.fallback.update(self.going_on.values())
            self.going_on.clear()
            if thread != self.thread:
                self.tokens.restart()
            self.thread = thread
        kind, item = item_of(line)
        if kind and captured_message(kind, item) is not None:
            id = item.get("id")
            is_going_on = line["type"] != "item.completed"
            if isinstance(id, str):
                self.going_on.pop(id, None)
                if is_going_on:
                    self.going_on[id] = at
            if not is_going_on:
                self.plan.fallback.add(at)
                self._model(at, "captured", copied=False)
        elif line["type"] == "turn.completed":
            # The sum over the thread.
            self.tokens.count(at, {"info": {"total_token_usage": line.get("usage")}}, copied=False)

    def _model(self, at: int, kind: str, copied: bool) -> None:
        self.window.add(kind)
        self.exchange += 1
        if kind == "tools":
            self.has_tools = True
        if not copied:
            self.tokens.answer(at)

    def _item(self, at: int, kind: str, payload: dict[str, Any], data: dict[str, Any], bare: bool, copied: bool) -> None:
        if kind in CALLS:
            self._model(at, "tools", copied)
        elif kind in OUTPUTS:
            self.has_tools = True
        elif kind == "reasoning":
            found = [normal(text) for text in (*texts(payload.get("summary")), *texts(payload.get("content")))]
            self.item_texts["reasoning"].extend(found)
            self._model(at, "reasoning" if found else "sealed", copied)
        elif kind == "agent_message":
            if self.is_triggered:
                self.typed.append(at)
                self.is_triggered = False
        elif kind == "message":
            role = payload.get("role")
            content = payload.get("content", payload.get("message"))
            if role == "assistant":
                spoken = texts(content)
                self.item_texts["assistant"].extend(map(normal, spoken))
                if len(spoken) > 1:
                    self.item_texts["assistant"].append(normal("\n".join(spoken)))
                self._model(at, "assistant" if spoken else "sealed", copied)
            elif role == "user":
                self._user(at, payload, content, data, bare)

    def _user(self, at: int, payload: dict[str, Any], content: Any, data: dict[str, Any], bare: bool) -> None:
        spoken = texts(content)
        found = {normal(text) for text in spoken}
        if len(spoken) > 1:
            found |= {normal("\n".join(spoken)), normal("".join(spoken))}
        self.item_texts["user"].extend(found)
        meta = data.get("metadata")
        if isinstance(meta, dict) and (meta.get("inherited_user_message") or meta.get("compaction_output")):
            self.plan.injected.add(at)
            return
        if not person_parts(content, kinds=kinds_of(payload))[1]:
            return
        self.window.add("user")
        if bare:
            self.typed.append(at)
        else:
            is_tagged = all(_TAGGED.match(text) for text in spoken)
            self.users.append((at, self.count, _Exchange(self.window, self.exchange, is_tagged), tuple(found)))

    def _event(self, at: int, payload: dict[str, Any], copied: bool) -> None:
        kind = text_of(payload.get("type"))
        if kind == "token_count":
            self.tokens.count(at, payload, copied=copied)
        elif kind in ("task_started", "turn_started"):
            self.window = Window()
        elif kind == "user_message":
            if payload.get("kind") in (None, "plain"):
                self._said(at, "user", str(payload.get("message") or ""), SCREEN)
        elif kind in _SAID:
            self._said(at, _SAID[kind], str(payload.get("message", payload.get("text")) or ""), SCREEN)
        elif kind in _ENDS:
            if (last := text_of(payload.get("last_agent_message"))) is not None:
                self._said(at, "assistant", last, END)
        elif kind == "thread_rolled_back":
            count = payload.get("num_turns")
            if type(count) is int and count > 0:
                self.rollbacks.append((at, count))
        elif kind in _TOOL_EVENTS:
            self._tool(at, payload.get("call_id"))
        elif kind == "item_completed" and isinstance(item := payload.get("item"), dict):
            what = text_of(item.get("type"))
            if what in _SAID_ITEMS:
                spoken = texts(item.get("content")) + texts(item.get("summary_text")) + texts(item.get("raw_content"))
                self._said(at, _SAID_ITEMS[what], "\n".join(spoken), THREAD)
            elif what in _TOOL_ITEMS:
                self._tool(at, item.get("id"))

    def _tool(self, at: int, id: Any) -> None:
        """Take an event on a call; a call that another one told of already is not told of again."""
        if self.has_tools or (isinstance(id, str) and id in self.tool_ids):
            return
        self.tool_events.append(at)
        if isinstance(id, str):
            self.tool_ids.add(id)

    def _said(self, at: int, kind: str, text: str, teller: int) -> None:
        if kind == "user":
            self.asked.add(self.exchange)
        elif not text.strip():
            return
        self.events.append(Event(at, self.count, self.window, kind, normal(text), teller))
        if len(self.events) > self.room:
            self._make_room()

    def _make_room(self) -> None:
        """Forget events whose items are there for sure."""
        self.events = [event for event in self.events if event.kind == "user" or self._may_stand_for_one(event)]
        self.room = max(_ROOM, 2 * len(self.events))

    def _may_stand_for_one(self, event: Event) -> bool:
        is_near = event.number > self.count - _NEAR or self._is_near_damage(event.number)
        return event.kind not in event.window.kinds or is_near

    # What follows from all of it.

    def finish(self, dead: list[tuple[int, int]]) -> None:
        plan = self.plan
        self._compare()
        plan.fallback.update(told_once(filter(self._stands_for_one, self.events)))
        answers = [event.at for event in self.events if event.kind != "user" and event.at in plan.fallback]
        if not self.has_tools:
            plan.fallback.update(self.tool_events)
            answers += self.tool_events
        plan.fallback.update(self.going_on.values())
        self._tell_injected()
        plan.total = self.tokens.finish(sorted(answers))
        # What was left behind counts neither as a turn nor as a word to take one back.
        plan.take_back(dead)
        turns = [at for at, _, _, _ in self.users if at not in plan.injected] + self.typed
        turns += [event.at for event in self.events if event.kind == "user" and event.at in plan.fallback]
        turns = sorted(at for at in turns if not plan.is_rewound(at))
        rollbacks = [(at, count) for at, count in self.rollbacks if not plan.is_rewound(at)]
        plan.take_back([*dead, *_taken_back(turns, rollbacks)])

    def _compare(self) -> None:
        """Find out which of the texts of events items say too."""
        for kind, hashes in self.item_texts.items():
            asked = {event.text for event in self.events if event.kind == kind}
            self.told[kind] = {text for text in hashes if text in asked}

    def _stands_for_one(self, event: Event) -> bool:
        """Return whether there is no item for an event."""
        is_alone = event.kind not in event.window.kinds or self._is_near_damage(event.number)
        return is_alone and event.text not in self.told[event.kind]

    def _is_near_damage(self, count: int) -> bool:
        """Return whether the other writing of what a record says may be one that can't be read."""
        index = bisect_right(self.damaged, count - _NEAR - 1)
        return index < len(self.damaged) and self.damaged[index] <= count + _NEAR

    def _tell_injected(self) -> None:
        """
        Find messages that no event says the person sent, in a session whose events say so of others.

        What stands beside a message that an event tells of, or has the form of a fragment, was put in; other texts only where
        most of the session's have their events, as those of whole rollouts do.
        """
        said = {event.text for event in self.events if event.kind == "user"}
        if not said:
            return
        matched = 0
        left: list[tuple[int, int, _Exchange]] = []
        for at, count, exchange, found in self.users:
            if not said.isdisjoint(found):
                matched += 1
            elif not self._is_near_damage(count):
                left.append((at, count, exchange))
        changed = self._changed(left)
        alone: list[int] = []
        for at, _, exchange in left:
            if at in changed:
                matched += 1
            elif exchange.number in self.asked or exchange.is_tagged:
                self.plan.injected.add(at)
            else:
                alone.append(at)
        if len(alone) <= matched:
            self.plan.injected.update(alone)

    def _changed(self, left: list[tuple[int, int, _Exchange]]) -> set[int]:
        """
        Return which of the messages that no event tells of are told of in other words: somebody changed one of the two.

        That is the one next to an event that tells of no message, rather before it than after it.
        """
        counts = [count for _, count, _ in left]
        taken: set[int] = set()
        for event in self.events:
            if event.kind != "user" or event.text in self.told["user"] or event.at in self.plan.fallback:
                continue
            index = bisect_right(counts, event.number)
            near = [
                (abs(event.number - counts[i]), i >= index, left[i][0])
                for i in range(max(0, index - _NEAR), min(len(left), index + _NEAR))
                if left[i][2].window is event.window and left[i][0] not in taken
            ]
            if near:
                taken.add(min(near)[2])
        return taken


def kinds_of(payload: dict[str, Any]) -> Any:
    """Return what the program says of the parts of a message."""
    passed = payload.get("internal_chat_message_metadata_passthrough")
    return passed.get("content_item_kinds") if isinstance(passed, dict) else None


def _taken_back(turns: list[int], rollbacks: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    alive: list[int] = []
    coming = iter(turns)
    turn = next(coming, None)
    for at, count in rollbacks:
        while turn is not None and turn < at:
            alive.append(turn)
            turn = next(coming, None)
        if alive:
            start = alive[-count] if count <= len(alive) else alive[0]
            del alive[-count:]
            yield start, at


def make(
    lines: Iterable[tuple[int, Any, re.Match[bytes] | None]],
    *,
    copied: list[tuple[int, int]],
    dead: list[tuple[int, int]],
) -> Plan:
    """
    Return the plan of a session from what its lines say.

    Args:
        copied: From where to where the records are another session's.
        dead: From where to where they were left behind when the person went on from further up.
    """
    plan = Plan()
    plan.copied = copied
    scan = _Scan(plan)
    see = scan.see
    for at, data, light in lines:
        see(at, data, light, copied=bool(copied) and plan.is_copied(at))
    scan.finish(dead)
    return plan
