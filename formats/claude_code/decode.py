"""
From Claude Code's lines to the model: who wrote a message, and which lines are one message.

Facts: docs/formats/claude-code.md.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from satchel.contracts import Record, Usage
from satchel.formats.claude_code.blocks import answer_blocks, joined, most, prompt_blocks, result, saved_path, usage_of
from satchel.formats.claude_code.known import SUBTYPES, TYPES
from satchel.formats.claude_code.plan import COPIED, COUNTED, DELIVERED, PENDING, REWOUND, TWICE, Numbered, Plan, group_key
from satchel.formats.claude_code.texts import blocked, put_in
from satchel.formats.hermes_rows import number
from satchel.formats.log_lines import LINE
from satchel.formats.log_store import second
from satchel.formats.model import Attachment, Author, Block, Entry, Message, Note, State, Text, ToolCall, ToolResult, Unknown
from satchel.frozen import maker

__all__ = ["RESULT_FILE", "decode"]

RESULT_FILE = "tool-result"
"""The kind of records that are a file with the whole of a tool's output; its text is their data."""

_HELD = 64 << 20
"""So many characters of such outputs are held for the messages that show a preview of them; later previews stay previews."""

_message, _note = maker(Message), maker(Note)


def decode(records: Iterable[Record]) -> Iterator[Entry]:
    """
    Yield the entries that the records of one session say, by their first record.

    The lines of one answer are one message, wherever they stand: what stands between them waits for it.
    """
    reading = _Reading()
    read, answers = reading.read, reading.answers
    pending: deque[Entry | _Answer] = deque()
    for record in records:
        given = read(record)
        number = record.key if isinstance(record.key, int) else 0
        if len(pending) == 1:
            first = pending[0]
            if first is given:
                continue
            # What waits alone is an answer, and mostly it is over.
            if isinstance(first, _Answer) and first.until <= number:
                answers.clear()
                pending.clear()
                yield first.entry()
        if not isinstance(given, _Answer):
            if not pending:
                yield given
                continue
            pending.append(given)
        elif not given.is_open:
            given.is_open = True
            answers[given.group] = given
            pending.append(given)
        if len(pending) == 1:
            continue
        for key in [key for key, other in answers.items() if other is not given and other.until <= number]:
            answers.pop(key).is_open = False
        while pending:
            first = pending[0]
            if isinstance(first, _Answer):
                if first.is_open:
                    break
                yield first.entry()
            else:
                yield first
            pending.popleft()
    for item in pending:
        yield item.entry() if isinstance(item, _Answer) else item


class _Answer:
    """An answer of the model whose lines are being collected, up to the line `until` and further while they follow each other."""

    __slots__ = ("blocks", "counted", "first", "group", "is_open", "records", "stop_reason", "until", "usage")

    def __init__(self, message: Message, group: str, until: int, *, counted: bool) -> None:
        self.first = message
        self.group = group
        self.until = until
        self.counted = counted
        self.is_open = False
        self.blocks: list[Block] = []
        self.records: list[Record] = []
        self.usage = message.usage
        self.stop_reason = message.stop_reason

    def add(self, record: Record, blocks: list[Block], usage: Usage | None, stop_reason: str | None) -> None:
        """Take what a further line says."""
        if not self.records:
            self.blocks, self.records = list(self.first.blocks), list(self.first.records)
        self.records.append(record)
        self.blocks = joined(self.blocks, blocks)
        self.usage = None if self.counted else most(self.usage, usage)
        if stop_reason is not None:
            self.stop_reason = stop_reason

    def entry(self) -> Message:
        first = self.first
        if not self.records:
            return first
        return _message(
            role=first.role,
            author=first.author,
            blocks=self.blocks,
            id=first.id,
            time=first.time,
            model=first.model,
            usage=self.usage,
            stop_reason=self.stop_reason,
            state=first.state,
            records=self.records,
            extra=first.extra,
        )


class _Reading:
    """What is remembered from line to line."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.boundary = 0
        self.is_agent: bool | None = None
        self.answers: dict[str, _Answer] = {}
        """Those that may go on, by what their lines have in common."""
        self.calls: dict[str, str] = {}
        self.outputs: dict[str, str] = {}
        self.held = 0
        self.unread: list[str] = []
        self.last_said: Any = None
        self.last_usage: Usage | None = None

    def read(self, record: Record) -> Entry | _Answer:
        """Return the entry of a record, or the answer that it is a line of."""
        key, data = record.key, record.data
        if record.kind != LINE:
            if record.kind == RESULT_FILE and isinstance(data, str):
                self._hold(str(key), data)
            return _note(kind=record.kind, data=data, records=(record,))
        flag = 0
        if type(key) is Numbered:
            plan = key.plan
            if plan is not self.plan:
                self.plan, self.boundary = plan, plan.boundary
            if key < len(plan.flags):
                flag = plan.flags[key]
        if not isinstance(data, dict):
            is_damaged = data is None and (record.raw is None or record.raw.strip() != b"null")
            return _note(kind="damaged" if is_damaged else "unknown", data=data, records=(record,))
        kind = data.get("type")
        message = data.get("message")
        body = message if isinstance(message, dict) else None
        if kind is None:
            if body is not None:
                kind = body.get("role")
            if kind is None and isinstance(data.get("display"), str):
                return _typed_prompt(record, data)
        entry: Entry
        group = None
        if body is not None and kind == "assistant":
            group = group_key(data, body)
            begun = self.answers.get(group) if group is not None else None
            if begun is not None:
                begun.add(record, self._parts(body), self._usage(data, body, flag), _text(body.get("stop_reason")))
                return begun
            entry = self._answer(record, data, body, flag)
        elif body is not None and kind == "user":
            entry = self._prompt(record, data, body, flag)
        else:
            entry = self._entry(record, data, kind, body, flag)
        if flag & TWICE:
            return _note(kind="copy", data=data, time=entry.time, records=(record,))
        if group is None or not isinstance(entry, Message):
            return entry
        place = key if isinstance(key, int) else 0
        until = self.plan.closes.get(place, place) if self.plan is not None else place
        return _Answer(entry, group, until, counted=flag & (COUNTED | COPIED) != 0)

    def _entry(self, record: Record, data: dict[str, Any], kind: Any, body: dict[str, Any] | None, flag: int) -> Entry:
        time = second(data.get("timestamp"))
        if kind == "attachment":
            held = data.get("attachment")
            if isinstance(held, dict) and held.get("type") == "queued_command":
                return self._queued(record, data, held.get("prompt"), held, flag, time)
        elif kind == "system":
            if flag & PENDING and (parts := blocked(data.get("content"))) is not None:
                blocks: list[Block] = [Text(parts[0], injected=True), Text(parts[1])]
                extra = {**self._extra(record, data, flag), "blocked": True}
                return self._message(record, data, flag, time, "user", "person", blocks, extra)
            within = data.get("subtype", "system")
            is_known = isinstance(within, str) and (within in SUBTYPES or within == "system")
            return _note(kind=within if is_known else "unknown", data=data, time=time, records=(record,))
        elif kind == "queue-operation" and flag & (DELIVERED | PENDING):
            return self._queued(record, data, data.get("content"), data, flag, time)
        elif kind in ("tool_use", "tool_result"):
            return self._bare(record, data, kind, body, flag, time)
        known = isinstance(kind, str) and kind in TYPES
        return _note(kind=kind if known else "unknown", data=data, time=time, records=(record,))

    # ------------------------------------------------------------------------------------------------------ messages

    def _answer(self, record: Record, data: dict[str, Any], body: dict[str, Any], flag: int) -> Message:
        blocks = self._parts(body)
        model = body.get("model")
        is_error = bool(data.get("isApiErrorMessage"))
        extra = self._extra(record, data, flag)
        if is_error:
            extra["error"] = data.get("error") or True
        if "costUSD" in data and not flag & (COUNTED | COPIED) and (cost := number(data["costUSD"])) is not None:
            extra["cost"] = cost
        identity = body.get("id") or data.get("uuid")
        return _message(
            role="assistant",
            author="harness" if is_error or model == "<synthetic>" else "model",
            blocks=blocks,
            id=identity if isinstance(identity, str) else None,
            time=second(data.get("timestamp")),
            model=model if isinstance(model, str) and model != "<synthetic>" else None,
            usage=self._usage(data, body, flag),
            stop_reason=_text(body.get("stop_reason")),
            state=self._state(data, flag),
            records=(record,),
            extra=extra,
        )

    def _parts(self, body: dict[str, Any]) -> list[Block]:
        """Return the parts of an answer, and keep what tools its calls are of."""
        blocks = answer_blocks(body.get("content"), self._name, self._whole)
        for block in blocks:
            if isinstance(block, ToolCall) and block.id is not None:
                self.calls[block.id] = block.name
        return blocks

    def _usage(self, data: dict[str, Any], body: dict[str, Any], flag: int) -> Usage | None:
        """Return tokens; lines of one answer mostly repeat them."""
        if flag & (COUNTED | COPIED) or body.get("model") == "<synthetic>" or data.get("isApiErrorMessage"):
            return None
        said = body.get("usage")
        if said != self.last_said:
            self.last_said, self.last_usage = said, usage_of(said)
        return self.last_usage

    def _prompt(self, record: Record, data: dict[str, Any], body: dict[str, Any], flag: int) -> Message:
        origin = data.get("origin")
        source = origin.get("kind") if isinstance(origin, dict) else None
        extra = self._extra(record, data, flag)
        injected = put_in(data)
        for key in ("isMeta", "isCompactSummary"):
            if data.get(key):
                injected = extra[key] = True
        if isinstance(source, str):
            extra["origin"] = source
        self.unread.clear()
        blocks, typed, command = prompt_blocks(body.get("content"), self._name, self._whole, injected=injected)
        if command is not None:
            extra["command"] = command
        if self.unread:
            extra["preview"] = tuple(self.unread)
        called = data.get("sourceToolUseID")
        if isinstance(called, str):
            extra["tool_use_id"] = called
        outcome = data.get("toolUseResult")
        if isinstance(outcome, dict) and isinstance(outcome.get("agentId"), str):
            extra["agent"] = outcome["agentId"]
        time = second(data.get("timestamp"))
        return self._message(record, data, flag, time, "user", self._author(data, blocks, typed), blocks, extra)

    def _queued(
        self, record: Record, data: dict[str, Any], prompt: Any, said: dict[str, Any], flag: int, time: float | None
    ) -> Message:
        """Return what was typed while the model worked."""
        injected = put_in(said) or put_in(data)
        blocks, typed, command = prompt_blocks(prompt, self._name, self._whole, injected=injected)
        extra = self._extra(record, data, flag)
        extra["queued"] = True
        if flag & PENDING:
            extra["pending"] = True
        if command is not None:
            extra["command"] = command
        return self._message(record, data, flag, time, "user", self._author(data, blocks, typed), blocks, extra)

    def _bare(
        self, record: Record, data: dict[str, Any], kind: str, body: dict[str, Any] | None, flag: int, time: float | None
    ) -> Message:
        """Return a call or a result that is a line by itself."""
        identity = data.get("tool_use_id") if kind == "tool_result" else data.get("id")
        call_id = identity if isinstance(identity, str) else None
        block: Block
        if kind == "tool_use":
            name = data.get("name")
            block = ToolCall(call_id, name, data.get("input")) if isinstance(name, str) else Unknown(data)
        else:
            content = data.get("output", data.get("content")) if body is None else body.get("content")
            if isinstance(content, list) and any(
                isinstance(part, dict) and part.get("type") == "tool_result" for part in content
            ):
                return self._prompt(record, data, {"content": content}, flag)
            named = data.get("name")
            found = result(
                {"tool_use_id": call_id, "content": content, "is_error": data.get("is_error")}, self._name, self._whole
            )
            block = ToolResult(call_id, named if isinstance(named, str) else found.name, found.content, found.error)
        role, author = _BARE[kind]
        return self._message(record, data, flag, time, role, author, [block], self._extra(record, data, flag))

    def _message(
        self,
        record: Record,
        data: dict[str, Any],
        flag: int,
        time: float | None,
        role: str,
        author: Author,
        blocks: list[Block],
        extra: dict[str, Any],
    ) -> Message:
        identity = data.get("uuid")
        return _message(
            role=role,
            author=author,
            blocks=blocks,
            id=identity if isinstance(identity, str) else None,
            time=time,
            state=self._state(data, flag),
            records=(record,),
            extra=extra,
        )

    # ------------------------------------------------------------------------------------------------------ what they share

    def _author(self, data: dict[str, Any], blocks: list[Block], typed: bool) -> Author:
        """Return who wrote what stands under the person's role."""
        is_result = False
        for block in blocks:
            if isinstance(block, ToolResult):
                is_result = True
        if typed:
            # Into a subagent nobody types: its prompts are the agent's that called it. What it may do a person is asked.
            return "model" if data.get("isSidechain") and not is_result else "person"
        if is_result:
            return "tool"
        if blocks and all(isinstance(block, Text) and not block.injected and not block.text.strip() for block in blocks):
            return "model" if data.get("isSidechain") else "person"
        return "harness"

    def _state(self, data: dict[str, Any], flag: int) -> State:
        beside = data.get("isSidechain") is True
        if self.is_agent is None:
            self.is_agent = self.plan.agent if self.plan is not None else beside
        if flag & REWOUND:
            return "rewound"
        return "sidechain" if beside and not self.is_agent else "live"

    def _extra(self, record: Record, data: dict[str, Any], flag: int) -> dict[str, Any]:
        extra: dict[str, Any] = {}
        if flag & COPIED:
            extra["copied"] = True
        if "forkedFrom" in data and isinstance(data["forkedFrom"], dict):
            extra["copied"] = data["forkedFrom"].get("sessionId") or True
        if self.boundary and record.key < self.boundary:
            extra["compacted"] = True
        return extra

    def _name(self, call_id: str | None) -> str | None:
        return self.calls.pop(call_id, None) if call_id is not None else None

    def _hold(self, name: str, text: str) -> None:
        if self.held + len(text) <= _HELD:
            self.held += len(text)
            self.outputs["/".join(name.split("/")[-3:])] = text

    def _whole(self, preview: str) -> str | None:
        """Return the output that a preview is of, where its file is one of the session's own."""
        path = saved_path(preview)
        if path is None:
            return None
        # No path of a transcript is ever opened: what it names is looked for among the files that were read.
        text = self.outputs.get("/".join(re.split(r"[\\/]+", path)[-3:]))
        if text is None:
            self.unread.append(path)
        return text


_BARE: dict[str, tuple[str, Author]] = {"tool_use": ("assistant", "model"), "tool_result": ("user", "tool")}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _typed_prompt(record: Record, data: dict[str, Any]) -> Message:
    """Return a prompt of which only the history of prompts tells."""
    blocks: list[Block] = [Text(data["display"])]
    pasted = data.get("pastedContents")
    if isinstance(pasted, dict):
        blocks += (Attachment("pasted", name, held) for name, held in pasted.items())
    return _message(role="user", author="person", blocks=blocks, time=second(data.get("timestamp")), records=(record,))
