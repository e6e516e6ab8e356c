"""
What must be known of a whole transcript before its first line can be decoded: one cheap pass over its lines.

Found are: which prompts were taken back, which lines are copies of others, how far the parts of one message are apart, and which
queued words reached the model. A line costs some 300 bytes while the pass goes on, for the last 400,000 lines, and a few bytes
afterwards; nothing of its text is kept.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from satchel.contracts import Record
from satchel.errors import JsonError, StoreError
from satchel.formats.claude_code.texts import blocked, command_of, put_in, spoken
from satchel.formats.log_lines import LogFile, records_of, unheard
from satchel.jsontext import loads_quick

__all__ = [
    "COPIED",
    "COUNTED",
    "DELIVERED",
    "PENDING",
    "REWOUND",
    "TWICE",
    "Numbered",
    "Plan",
    "group_key",
    "make",
    "make_of",
    "prompt_text",
    "typed",
]

REWOUND = 1
"""The line was taken back: it stands on a branch that the person left by asking again further up."""
TWICE = 2
"""The line stands in this file before."""
COPIED = 4
"""The line is a copy of one in another file of the store."""
DELIVERED = 8
"""The words queued by this line reached the model, and stand nowhere else in the file."""
COUNTED = 16
"""The tokens of the message that begins here are counted elsewhere: in another file, or further up."""
PENDING = 32
"""The words in this line stand nowhere else in the file: they still waited when it ended, or a hook did not let them through."""

_WINDOW = 400_000
"""So many lines are remembered by their ids; what refers to one further up begins a new root."""
_OPEN_GROUPS = 48
_REACH = 4_000
"""Parts of one message that stand further apart, in lines, are taken for two."""
_LONG = 800
_API_NAME = 20
"""So long, in characters, are the names that the API gives to answers; others' may be given twice."""
_UUID = 36


class Numbered(int):
    """The number of a line, with the plan of the file it stands in, so that it goes along wherever the record does."""

    plan: Plan


class Plan:
    """What was found of a transcript; see the module."""

    __slots__ = ("agent", "boundary", "closes", "flags", "ids", "persisted", "usages")

    def __init__(self) -> None:
        self.flags = bytearray()
        """By number of line."""
        self.closes: dict[int, int] = {}
        """The last line of a message by its first one, where lines of others stand between them."""
        self.boundary = 0
        """The line of the last compaction, else 0."""
        self.agent = False
        """Whether this is a subagent's transcript."""
        self.ids: array[int] = array("q")
        """What tells its lines and messages from others, for comparing files; emptied once that is done."""
        self.usages: array[int] = array("q")
        self.persisted: set[str] = set()
        """Names of files that the transcript says have the whole of a tool's output."""

    @property
    def weight(self) -> int:
        """About how many lines it is of, as memory goes."""
        return 1 + len(self.ids) + len(self.usages) + len(self.flags) // 8


def group_key(data: Mapping[str, Any], message: Mapping[str, Any]) -> str | None:
    """Return what the lines of one answer of the model have in common, or None where they have no name."""
    identity = message.get("id")
    if not isinstance(identity, str) or not identity:
        return None
    if identity[:4] == "msg_" and len(identity) >= _API_NAME:
        # Nobody else's; and a line may lack the request that another one of the same answer names.
        return identity
    request = data.get("requestId")
    return f"{identity} {request}" if isinstance(request, str) and request else identity


def prompt_text(data: Mapping[str, Any]) -> str | None:
    """Return what a person typed in a line, None where it is nobody's prompt: a result, a command, what the program put in."""
    if data.get("isCompactSummary") or data.get("isSidechain") or put_in(data):
        return None
    message = data.get("message")
    return typed(message.get("content")) if isinstance(message, dict) else None


def typed(content: Any) -> str | None:
    """Return what a person typed of a message's content, "" where there is only a picture, None where it is nobody's."""
    texts: list[str] = []
    image = False
    for block in [content] if isinstance(content, str) else content if isinstance(content, list) else ():
        text = block if isinstance(block, str) else block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str):
            said = spoken(text)
            # A command is no prompt; what stands behind one is.
            typed_parts = [part.text for part in said.parts if not part.injected and part.text.strip()]
            texts += typed_parts[1:] if said.is_command else typed_parts
        elif isinstance(block, dict) and block.get("type") in ("image", "document"):
            image = True
    return "\n".join(texts) if texts else "" if image else None


_PARENT = b'{"parentUuid":"'
_BEGIN, _AFTER = len(_PARENT), len(_PARENT) + _UUID
_ENDS = (b'"}\n', b'"}\r\n')


def _is_result(line: bytes, at: int) -> bool:
    """Return whether a person's line has what tools gave back, and no words beside it."""
    first = line.find(b'"type":"tool_result"', at, at + 2_000)
    if first < 0:
        return False
    words = line.find(b'"type":"text"', at)
    # A list that begins with words, and behind the first result, is what that one gave back.
    while words > first and line.startswith(b"[{", words - 2):
        words = line.find(b'"type":"text"', words + 13)
    return words < 0


def _parsed(line: bytes) -> Any:
    """Parse a line; of a very long one, what it has of a picture's data is left out first. Raises JsonError."""
    if len(line) < _PICTURE:
        return loads_quick(line)
    parts = []
    at = 0
    while (start := line.find(b'"data":"', at)) >= 0 and (end := line.find(b'"', start + 8)) >= 0:
        parts.append(line[at : start + 8])
        at = end
    if not at:
        return loads_quick(line)
    try:
        return loads_quick(b"".join((*parts, line[at:])))
    except JsonError:
        return loads_quick(line)


_PICTURE = 1 << 16
_PERSISTED = re.compile(rb"tool-results[/\\]+([^\"/\\<>\s]{1,255})")
_QUICK = {b"user": "user", b"assistant": "assistant", b"progress": "progress", b"attachment": "attachment"}


def make(log: LogFile, *, agent: bool, others: Collection[Plan] = (), compared: bool = False) -> Plan:
    """
    Go over a transcript once.

    Args:
        others: Those of the store that it may hold copies of.
        compared: Whether it is one of these itself for others, so that what its lines are known by is kept.
    """
    work = _Pass(agent, others, compared)
    try:
        for number, line in enumerate(log.lines(), 1):
            if len(line) <= _LONG or not work.glance(number, line):
                work.parse(number, line)
            if agent and b"tool-results" in line:
                work.keep(line)
    except StoreError:
        pass  # Whoever reads the records says so.
    return work.end()


def make_of(records: Iterable[Record], *, agent: bool, others: Collection[Plan] = (), compared: bool = False) -> Plan:
    """Do the same with records that were read already."""
    work = _Pass(agent, others, compared)
    for record in records:
        work.record(record.key, record.data)
        if agent and record.raw is not None and b"tool-results" in record.raw:
            work.keep(record.raw)
    return work.end()


class _Pass:
    """The pass itself."""

    def __init__(self, agent: bool, others: Collection[Plan], compared: bool) -> None:
        self.plan = plan = Plan()
        plan.agent = agent
        self.known = {key for other in others for key in other.ids}
        self.counted = {key for other in others for key in other.usages}
        self.compares = compared or bool(others)
        self.flags = plan.flags
        # The nodes of the graph: number of line, parent, what tells twins from lines that only have the same id.
        self.numbers: array[int] = array("i")
        self.parents: array[int] = array("i")
        self.stamps: array[int] = array("q")
        self.prompts: list[int] = []
        self.new: dict[str, int] = {}
        self.old: dict[str, int] = {}
        self.waiting: dict[str, list[int]] = {}
        # Answers that may go on: by name, their first and last line; and every answer's name, as a number.
        self.groups: dict[str, tuple[int, int]] = {}
        self.begun: set[int] = set()
        self.last_group: str | None = None
        self.head = b"\0"
        """What stood between the parent and the type of the last long line: mostly all have the same."""
        # Queued words by line: those that wait, those taken for a turn of which nothing is seen yet, those given to the model.
        self.queue: list[tuple[int, str]] = []
        self.taken: list[tuple[int, str]] = []
        self.delivered: list[tuple[int, str]] = []
        self.blocked: list[tuple[int, str]] = []
        self.said: dict[int, int] = {}
        """Where words were said last, by their hash."""
        # Whether several lines have the same id, so that nobody knows which one is meant.
        self.is_confused = False

    def parse(self, number: int, line: bytes) -> None:
        """Take a line as it stands in the file."""
        try:
            self.record(number, _parsed(line))
        except JsonError as error:
            for record in records_of(line, number, error, report=unheard):
                self.record(number, record.data)

    def glance(self, number: int, line: bytes) -> bool:
        """Take a long line of the usual shape without parsing it; return False where only parsing tells what it says."""
        find, starts = line.find, line.startswith
        parent = group = None
        if starts(_PARENT) and starts(self.head, _AFTER) and b'"' not in line[_BEGIN:_AFTER]:
            # All that stands between its parent and its type is as in the one before.
            at = _AFTER + len(self.head)
            parent = line[_BEGIN:_AFTER]
        else:
            at = find(b'"type":"', 0, 2_000) + 8
            above = find(b'"parentUuid":', 0, at) + 13
            if at < 8 or above < 13 or find(b"{", 1, at) >= 0:
                return False
            if starts(b'"', above):
                parent = line[above + 1 : find(b'"', above + 1, above + 101)]
                if starts(_PARENT) and len(parent) == _UUID:
                    self.head = line[_AFTER:at]
        kind = _QUICK.get(line[at : find(b'"', at, at + 52)])
        place = line.rfind(b'"uuid":"', at) + 8
        if kind is None or place < 8:
            return False
        time = place + _UUID + 15
        if find(b'"', place, time) != place + _UUID or not starts(b'","timestamp":"', place + _UUID):
            return False
        stop = find(b'"', time, time + 45)
        # What stands directly before the end of the line is its own; else it may be another's that the line holds.
        if not starts(_ENDS, stop) and find(b'"uuid":"') + 8 != place:
            return False
        if kind == "assistant":
            body = find(b'"message":{', at, at + 100)
            name = find(b'"id":"', body, body + 200) + 6
            if body < 0 or name < 6 or find(b"{", body + 11, name) >= 0 or find(b"[", body, name) >= 0:
                return False
            group = line[name : find(b'"', name, name + 200)]
            is_own = len(group) >= _API_NAME and group.startswith(b"msg_")
            asked = line.rfind(b'"requestId":"') if not is_own else -1
            if asked >= 0:
                if find(b'"requestId":"') != asked:
                    return False
                group = b"%b %b" % (group, line[asked + 13 : find(b'"', asked + 13, asked + 213)])
        elif (kind == "user" and not _is_result(line, at)) or (kind == "attachment" and b"queued_command" in line):
            return False
        try:
            self.see(
                number,
                kind,
                line[place : place + _UUID].decode(),
                parent.decode() if parent is not None else None,
                line[time:stop].decode(),
                group.decode() if group is not None else None,
            )
        except UnicodeDecodeError:
            return False
        return True

    def keep(self, line: bytes) -> None:
        """Keep the names of files that a line says have the whole of an output."""
        self.plan.persisted.update(name.decode("utf-8", "replace") for name in _PERSISTED.findall(line))

    def record(self, number: int, data: Any) -> None:
        if type(data) is not dict:
            self.last_group = None
            return
        get = data.get
        kind, uuid, parent, time = get("type"), get("uuid"), get("parentUuid"), get("timestamp")
        group = None
        message = get("message")
        if type(message) is dict:
            if kind is None:
                kind = message.get("role")
            if kind == "assistant":
                group = group_key(data, message)
        self.see(
            number,
            kind if type(kind) is str else "",
            uuid if type(uuid) is str else None,
            parent if type(parent) is str else None,
            time if type(time) is str else "",
            group,
            data,
        )

    def see(
        self,
        number: int,
        kind: str,
        uuid: str | None,
        parent: str | None,
        time: str,
        group: str | None,
        data: dict[str, Any] | None = None,
    ) -> None:
        """Take what a line says of itself; `data` is the whole of it where it was parsed."""
        flag = 0
        index = -1
        if uuid:
            new = self.new
            twin = new.get(uuid, -1)
            if twin < 0 and self.old:
                twin = self.old.get(uuid, -1)
            # Only real ids tell twins: in files that were made anonymous, all lines may have the same word for one.
            stamp = hash(time) if len(uuid) == _UUID else hash((time, _spelled(data)))
            if self.compares:
                keys = (hash((uuid, time)), hash((time, kind, group)))
                if self.known and time and (keys[0] in self.known or keys[1] in self.known):
                    flag = COPIED
                self.plan.ids.extend(keys)
            if twin >= 0 and self.stamps[twin] == stamp and time:
                flag |= TWICE
            else:
                index = len(self.numbers)
                self.numbers.append(number)
                self.stamps.append(stamp)
                above = new.get(parent, -1) if parent else -1
                self.parents.append(above)
                if above < 0 and parent and parent != uuid:
                    self.far(index, parent)
                if twin >= 0:
                    self.is_confused = True
                elif self.waiting or len(new) >= _WINDOW:
                    self.enter(uuid, index)
                else:
                    new[uuid] = index
        if group is not None:
            flag |= self.answer(number, group)
        else:
            self.last_group = None
            if data is not None:
                if kind != "progress" and kind != "file-history-snapshot":
                    self.look(number, kind, index, data)
                if kind == "assistant" and self.compares and "message" in data:
                    key = hash((time, uuid, "usage"))
                    if key in self.counted:
                        flag |= COUNTED
                    self.plan.usages.append(key)
        if flag:
            self.mark(number, flag)

    def mark(self, number: int, flag: int) -> None:
        flags = self.flags
        if number >= len(flags):
            flags.extend(bytes(number + 1 - len(flags)))
        flags[number] |= flag

    def far(self, index: int, parent: str) -> None:
        """Find a parent that is not near: far above, or below."""
        found = self.old.get(parent, -1)
        if found >= 0:
            self.parents[index] = found
        elif len(self.waiting) < _WINDOW:
            self.waiting.setdefault(parent, []).append(index)

    def enter(self, uuid: str, index: int) -> None:
        if len(self.new) >= _WINDOW:
            self.old, self.new = self.new, {}
        self.new[uuid] = index
        if self.waiting and uuid in self.waiting:
            for child in self.waiting.pop(uuid):
                # It stands above its parent.
                self.parents[child] = index

    def answer(self, number: int, group: str) -> int:
        """Take one line of an answer of the model; return its flags."""
        place = self.groups.get(group)
        if place is not None and number - place[1] <= _REACH:
            first = place[0]
            if self.last_group != group or first in self.plan.closes:
                self.plan.closes[first] = number
            self.groups[group] = (first, number)
            self.last_group = group
            return 0
        if len(self.groups) >= _OPEN_GROUPS:
            self.groups.pop(next(iter(self.groups)))
        self.groups.pop(group, None)
        self.groups[group] = (number, number)
        self.last_group = group
        key = hash(group)
        if key in self.begun or key in self.counted:
            return COUNTED
        self.begun.add(key)
        if self.compares:
            self.plan.usages.append(key)
        return 0

    def look(self, number: int, kind: str, index: int, data: dict[str, Any]) -> None:
        """Look closer at a line that was parsed."""
        if kind == "user":
            text = prompt_text(data)
            if text is not None:
                self.groups.clear()
                self.say(number, text)
                if index >= 0:
                    self.prompts.append(index)
            elif self.taken or self.queue or self.delivered:
                self.not_typed(number, data.get("message"))
        elif kind == "attachment":
            held = data.get("attachment")
            if isinstance(held, dict) and held.get("type") == "queued_command":
                text = typed(held.get("prompt"))
                if text is not None:
                    self.say(number, text)
        elif kind == "system":
            if data.get("subtype") == "compact_boundary":
                self.plan.boundary = number
            elif data.get("subtype") == "local_command":
                self.taken.clear()
            elif (parts := blocked(data.get("content"))) is not None:
                self.blocked.append((number, parts[1]))
                self.taken.clear()
        elif kind == "queue-operation":
            self.queued(number, data)

    def say(self, number: int, text: str) -> None:
        """Remember that words stand in this line."""
        self.said[hash(text.strip())] = number
        self.taken.clear()

    def not_typed(self, number: int, message: Any) -> None:
        """Take a line that is no prompt: what a command or a task put into the queue may stand there."""
        content = message.get("content") if isinstance(message, dict) else None
        for block in [content] if isinstance(content, str) else content if isinstance(content, list) else ():
            text = block.get("text") if isinstance(block, dict) else block
            if isinstance(text, str):
                command = command_of(text)
                self.say(number, command[0] if command is not None else text)

    def queued(self, number: int, data: dict[str, Any]) -> None:
        """Follow the queue of what the person typed while the model worked."""
        operation = data.get("operation")
        if operation == "enqueue":
            text = None if put_in(data) else typed(data.get("content"))
            self.queue.append((number, text or ""))
        elif operation in ("dequeue", "remove") and self.queue:
            (self.delivered if operation == "remove" else self.taken).append(self.queue.pop(0))
        elif operation == "popAll":
            self.queue.clear()

    def end(self) -> Plan:
        for number, text in self.blocked:
            if hash(text.strip()) not in self.said:
                self.mark(number, PENDING)
        for queued, flag in ((self.delivered, DELIVERED), (self.taken, PENDING), (self.queue, PENDING)):
            for number, text in queued:
                # The same words may have been typed before, too.
                if text.strip() and self.said.get(hash(text.strip()), 0) < number:
                    self.mark(number, flag)
        self.rewinds()
        return self.plan

    def rewinds(self) -> None:
        """Mark the branches that were left: where two children of a line both lead to prompts, the one with the last is live."""
        if self.plan.agent or self.is_confused:
            return
        parents = self.parents
        marked = bytearray(len(parents))
        led = array("i", [-1]) * len(parents)
        left: set[int] = set()
        for prompt in reversed(self.prompts):
            child = prompt
            while not marked[child]:
                marked[child] = 1
                parent = parents[child]
                if parent < 0:
                    break
                if led[parent] < 0:
                    led[parent] = child
                elif led[parent] != child:
                    left.add(child)
                    # What stands above is the live branch's already.
                    break
                child = parent
        if not left:
            return
        state = bytearray(len(parents))  # 1 live, 2 left
        for index in range(len(parents)):
            path = []
            at = index
            while at >= 0 and not state[at]:
                path.append(at)
                state[at] = 3
                if at in left:
                    state[at] = 2
                    break
                at = parents[at]
            verdict = 2 if at >= 0 and state[at] == 2 else 1
            for node in path:
                state[node] = verdict
            if state[index] == 2:
                self.mark(self.numbers[index], REWOUND)


def _spelled(data: Any) -> str:
    try:
        return repr(data)
    except RecursionError:
        return ""
