"""
What the beginning and the end of a rollout say of its session.
"""

from __future__ import annotations

import re
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from satchel.errors import JsonError, StoreError
from satchel.formats.codex.document import Document
from satchel.formats.codex.headless import thread_of
from satchel.formats.codex.injected import asked, is_injected
from satchel.formats.codex.items import person_parts
from satchel.formats.codex.plan import kinds_of
from satchel.formats.codex.shapes import is_line, item_type, second, shape, text_of, texts, time_of, words
from satchel.formats.log_lines import LogFile, head_and_tail, unheard
from satchel.formats.model import Author, Text
from satchel.jsontext import loads

__all__ = ["Facts", "read", "short"]

_HEAD = 96 << 10
_MORE = 1 << 20
"""So far a prompt is looked for, in bytes, where the beginning has none."""
_TAIL = 32 << 10
_PACKED = 1 << 20
"""A compressed file that is longer, in bytes, is not read to its end for a list."""
_MACHINES = words("review compact memory_consolidation guardian guardian_review memory_consolidation_v2 auto_review")


@dataclass(slots=True)
class Facts:
    """What was found; times are seconds since the epoch."""

    meta: dict[str, Any] = field(default_factory=dict)
    has_meta: bool = False
    is_codex: bool = False
    is_bare: bool = False
    is_captured: bool = False
    others: list[str] = field(default_factory=list)
    """Ids of further headers: those of sessions that this one has copies of."""
    started: float | None = None
    newest: float | None = None
    cwd: str | None = None
    model: str | None = None
    prompt: str | None = None
    name: str | None = None

    @property
    def thread(self) -> str | None:
        """The id of the thread, as the first header says it."""
        return text_of(self.meta.get("id"))

    @property
    def base(self) -> dict[str, Any] | None:
        """Which part of which rollout comes before this one."""
        held = self.meta.get("history_base")
        return held if isinstance(held, dict) else None

    @property
    def parent(self) -> str | None:
        """The thread that called this one, where it is a subagent."""
        spawned = self.spawn.get("parent_thread_id")
        return text_of(self.meta.get("parent_thread_id")) or text_of(spawned)

    @property
    def spawn(self) -> dict[str, Any]:
        """How this thread was called."""
        source = self.meta.get("source")
        sub = source.get("subagent") if isinstance(source, dict) else None
        held = sub.get("thread_spawn") if isinstance(sub, dict) else None
        return held if isinstance(held, dict) else {}

    @property
    def origin(self) -> str | None:
        """Where the session was begun: "cli", "vscode", "exec", a subagent's kind, ..."""
        source = self.meta.get("source")
        while isinstance(source, dict) and source:
            key, inner = next(iter(source.items()))
            if key == "thread_spawn":
                return "subagent"
            source = inner
        return text_of(source)

    @property
    def is_subagent(self) -> bool:
        """Whether another thread called this one."""
        source = self.meta.get("source")
        return (
            source == "subagent"
            or (isinstance(source, dict) and ("subagent" in source or "internal" in source))
            or self.meta.get("thread_source") == "subagent"
            or (self.parent is not None and self.parent != self.thread)
            or self.is_machine
        )

    @property
    def is_machine(self) -> bool:
        """Whether no one but the program spoke in it: a review, a compaction, a guardian's look."""
        source = self.meta.get("source")
        return text_of(self.meta.get("thread_source")) in _MACHINES or (isinstance(source, dict) and self.origin in _MACHINES)

    @property
    def prompter(self) -> Author:
        """
        Who writes what stands under the person's role.

        Agents that have a path are told what to do in messages of a kind of their own, so there the rest is a person's.
        """
        if self.is_machine:
            return "harness"
        return "model" if self.is_subagent and self.meta.get("agent_path", self.spawn.get("agent_path")) is None else "person"


def short(text: str) -> str:
    """Return a text as a title: one line, not long."""
    return " ".join(text[:4000].split())[:200]


def read(log: LogFile) -> Facts:
    """Look at the ends of a rollout. Raises StoreError."""
    facts = Facts()
    if isinstance(log, Document):
        for record in log.records(report=unheard):
            _take(facts, record.data)
        facts.is_codex = True
        return facts
    first, last = _ends(log)
    spoken: list[str] = []
    for line in first:
        _see(facts, line, spoken)
    told = facts.prompt
    if told is None and spoken:
        facts.prompt = spoken[0]
    if facts.prompt is None and last:
        _look_further(facts, log)
    begun, facts.started = facts.started, None
    for line in last:
        _see(facts, line, [])
    facts.started = begun if begun is not None else facts.started
    return facts


def _ends(log: LogFile) -> tuple[list[bytes], list[bytes]]:
    if not log.compressed:
        return head_and_tail(log, head=_HEAD)
    # What can be read of a damaged one says something too; reading its records tells of the damage.
    first: list[bytes] = []
    last: deque[bytes] = deque()
    read = kept = 0
    with suppress(StoreError):
        for line in log.lines():
            if read < _HEAD:
                first.append(line)
                read += len(line)
                continue
            if log.size > _PACKED:
                break
            last.append(line)
            kept += len(line)
            while kept > _TAIL and len(last) > 1:
                kept -= len(last.popleft())
    return first, list(last)


def _look_further(facts: Facts, log: LogFile) -> None:
    read = 0
    with suppress(StoreError):
        for line in log.lines():
            read += len(line)
            # Long lines are outputs and histories.
            if len(line) < _HEAD and b"user" in line:
                spoken: list[str] = []
                _see(Facts(), line, spoken)
                if spoken:
                    facts.prompt = spoken[0]
            if read >= _MORE or facts.prompt is not None:
                break


def _see(facts: Facts, line: bytes, spoken: list[str]) -> None:
    try:
        data = loads(line)
    except JsonError:
        return
    facts.is_codex = facts.is_codex or is_line(data)
    _take(facts, data, spoken)


def _take(facts: Facts, data: Any, spoken: list[str] | None = None) -> None:
    kind, payload, bare = shape(data)
    if not kind:
        return
    time = time_of(data, payload)
    if time is not None:
        facts.started = time if facts.started is None else facts.started
        facts.newest = time if facts.newest is None or time > facts.newest else facts.newest
    if kind == "session_meta":
        if not facts.has_meta:
            facts.meta, facts.has_meta, facts.is_bare = payload, True, bare
            facts.started = second(payload.get("timestamp")) or facts.started
            facts.cwd = text_of(payload.get("cwd")) or facts.cwd
        elif (other := text_of(payload.get("id"))) is not None and other != facts.thread:
            facts.others.append(other)
    elif kind == "turn_context":
        facts.model = text_of(payload.get("model")) or facts.model
        facts.cwd = facts.cwd or text_of(payload.get("cwd"))
    elif kind == "captured":
        facts.is_captured = True
        if not facts.has_meta and (thread := thread_of(payload)) is not None:
            facts.meta, facts.has_meta = {"id": thread}, True
    elif kind == "event_msg":
        _event(facts, payload, spoken)
    elif kind == "response_item" and item_type(payload) == "message" and payload.get("role") == "user":
        content = payload.get("content", payload.get("message"))
        if facts.cwd is None:
            facts.cwd = _cwd(content)
        blocks, typed = person_parts(content, kinds=kinds_of(payload))
        if typed:
            prompt = short(" ".join(block.text for block in blocks if isinstance(block, Text) and not block.injected))
            if prompt and spoken is not None:
                spoken.append(prompt)
            elif prompt and facts.prompt is None:
                facts.prompt = prompt


def _event(facts: Facts, payload: dict[str, Any], spoken: list[str] | None) -> None:
    kind = payload.get("type")
    if kind == "thread_name_updated":
        facts.name = text_of(payload.get("thread_name"))
    elif kind == "thread_settings_applied" and isinstance(settings := payload.get("thread_settings"), dict):
        facts.model = facts.model or text_of(settings.get("model"))
    text = None
    if kind == "user_message" and payload.get("kind") in (None, "plain"):
        text = text_of(payload.get("message"))
    elif kind == "item_completed" and isinstance(item := payload.get("item"), dict) and item.get("type") == "UserMessage":
        text = " ".join(texts(item.get("content")))
    if text is not None and facts.prompt is None and not is_injected(text):
        facts.prompt = short(asked(text)[1]) or None
    if text is not None and spoken is not None and facts.prompt is not None:
        spoken.append(facts.prompt)


def _cwd(content: Any) -> str | None:
    """Return the folder that the fragment on the surroundings names."""
    for text in texts(content):
        if "<environment_context>" in text:
            found = re.search(r"<cwd>(.*?)</cwd>|Current working directory: (.+)", text)
            if found is not None:
                return (found[1] or found[2] or "").strip() or None
    return None
