"""
One session as a person reads it: found by its id, with its relatives, as lines for a terminal, as a recap, as JSON.

Lines are made of safe texts (`satchel.naming.terminal_text`), each with the name of a style; printing is the command line's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from satchel.contracts import SessionInfo, Store
from satchel.errors import AmbiguousId, JsonError, NotFound
from satchel.events import Listener, ignore
from satchel.formats.model import Attachment, Block, Image, Message, Text, Thinking, ToolCall, ToolResult, plain_text
from satchel.formats.parted import rows
from satchel.ids import resolve_ids
from satchel.jsontext import dumps
from satchel.lineage import Families
from satchel.naming import terminal_line, terminal_text
from satchel.sources import Source, open_all
from satchel.timetext import iso_utc, local
from satchel.views import Losses, Row, lacking, place, preview, scan
from satchel.wording import count, size, wrapped

__all__ = [
    "Exchange",
    "Found",
    "Line",
    "Recap",
    "conversation",
    "facts",
    "found_session",
    "hidden",
    "message_json",
    "recap",
    "session_json",
]

Line = tuple[tuple[str, str], ...]
"""Texts with their styles, one line of output."""

_OUTPUT_LINES = 8
_ARGUMENT = 120
_CALL = 400
_RELATIVES = 8


# ---------------------------------------------------------------------------------------------------------- finding


@dataclass(slots=True, kw_only=True)
class Found:
    """
    A session and where it stands.

    Attributes:
        parent: The session it came from, None when it has none or the store does not hold it.
        children: Sessions that came from it, by start.
        chain: The segments of the compressed conversation it is a part of, the first one first; itself alone when it is none.
        also: Labels of further stores that hold a session of the same id.
        only_in_files: Messages that the session's database lacks, and files beside it hold.
        losses: Counts what can't be read, while it is read.
    """

    info: SessionInfo
    store: Store
    parent: SessionInfo | None
    children: list[SessionInfo]
    chain: list[str]
    also: list[str]
    losses: Losses
    only_in_files: list[Message] = field(default_factory=list)

    def messages(self, *, every: bool = False) -> Iterator[Message]:
        """Yield the live messages in order; with `every` also those that were compacted or taken back."""
        for entry in self.store.decode(self.store.records(self.info.id)):
            if isinstance(entry, Message) and (every or entry.state == "live"):
                yield entry


@contextmanager
def found_session(given: str, sources: Sequence[Source], *, listen: Listener = ignore) -> Generator[Found, None, None]:
    """
    Find a session by its id, the beginning of it, or a link; its store stays open meanwhile.

    Raises:
        NotFound: No session fits; its subclass AmbiguousId when several do.
        StoreError: None of the stores can be read.
        StoreChanged: On leaving: the store changed while it was read.
    """
    losses = Losses(listen)
    with ExitStack() as stack:
        stores = [store for _, store in open_all(stack, sources, listen=losses)]
        titled: list[str] = []

        def looked_at() -> Iterator[SessionInfo]:
            wanted = given.casefold()
            for info in scan(stores, counts=False):
                if info.title is not None and info.title.casefold() == wanted:
                    titled.append(info.id)
                yield info

        try:
            info, *others = resolve_ids([given], looked_at())
        except AmbiguousId:
            raise
        except NotFound as error:
            hint = f"; it is the title of {', '.join(titled[:5])}" if titled else "; `satchel list --limit 0` shows all ids"
            raise NotFound(error.message + hint, subject=given) from None
        store = stores[place(info)]
        found = _with_relatives(store, info, [stores[place(other)].label for other in others], losses)
        found.only_in_files = list(lacking(stores, store, info.id))
        yield found
        for each in stores if found.only_in_files else [store]:
            each.check()


def _with_relatives(store: Store, info: SessionInfo, also: list[str], losses: Losses) -> Found:
    relatives = [
        other
        for other in store.sessions(counts=False)
        if other.id != info.id and (other.parent == info.id or other.id == info.parent)
    ]
    # Which of several continuations goes on can be told from their last messages only: a dear scan, and rarely needed.
    chain = Families(store.sessions()).chain(info.id) if relatives else [info.id]
    return Found(
        info=store.session(info.id),
        store=store,
        parent=next((other for other in relatives if other.id == info.parent), None),
        children=[other for other in relatives if other.parent == info.id],
        chain=chain,
        also=also,
        losses=losses,
    )


# ---------------------------------------------------------------------------------------------------------- the header


def facts(found: Found) -> list[tuple[str, str]]:
    """Return what is known of the session as labels and texts; the texts are as the store has them, not made safe."""
    info = found.info
    known: list[tuple[str, str | None]] = [
        ("id", info.id),
        ("store", info.store),
        ("source", info.source),
        ("model", info.model),
        ("time", _times(info)),
        ("folder", info.cwd),
        ("branch", info.git_branch),
        ("messages", _counts(info)),
        ("files", f"{_only(found):,} more are only in files, and shown at the end" if found.only_in_files else None),
        ("usage", _usage(info)),
        ("marks", ", ".join(word for word, is_so in (("pinned", info.pinned), ("archived", info.archived)) if is_so)),
        ("parent", _parent(found)),
        ("children", _named([f"{child.id} ({child.lineage or 'child'})" for child in found.children])),
        ("chain", _chain(found)),
        ("note", "its own row is missing or damaged" if info.damaged else None),
    ]
    return [(label, text) for label, text in known if text]


def _only(found: Found) -> int:
    return sum(map(rows, found.only_in_files))


def _times(info: SessionInfo) -> str:
    start = local(info.started_at) or "unknown"
    if info.live:
        return f"since {start}, live" + (f"; last message {local(info.last_active)}" if local(info.last_active) else "")
    end = local(info.ended_at) or "unknown"
    end = end[11:] if end[:11] == start[:11] else end
    return f"{start} to {end}" + (f" ({info.end_reason})" if info.end_reason else "")


def hidden(info: SessionInfo) -> list[tuple[int, str]]:
    """Return how many messages of a session are not live, each number with what became of those."""
    beside = int(info.extra.get("beside", 0))
    states = ((info.compacted or 0, "compacted"), ((info.rewound or 0) - beside, "taken back"), (beside, "beside the main line"))
    return [(number, what) for number, what in states if number]


def _counts(info: SessionInfo) -> str:
    parts = [f"{info.messages or 0:,}"]
    parts += [f"{number:,} {what}" for number, what in hidden(info)]
    if info.tool_calls:
        parts.append(count(info.tool_calls, "tool call"))
    return ", ".join(parts)


def _usage(info: SessionInfo) -> str:
    usage = info.usage
    numbers = ((usage.input, "in"), (usage.output, "out"), (usage.cache_read, "from cache"), (usage.reasoning, "reasoning"))
    tokens = ", ".join(f"{number:,} {what}" for number, what in numbers if number)
    return "; ".join(part for part in (tokens and f"tokens: {tokens}", f"${info.cost:.4f}" if info.cost else "") if part)


def _parent(found: Found) -> str:
    info = found.info
    if not info.parent:
        return ""
    what = {
        "continuation": "continues it after compression" if info.agent == "hermes" else "continues it",
        "delegate": "was delegated by it",
        "branch": "branched off it",
    }
    how = what.get(info.lineage or "", "")
    how = "follows it after a reset" if info.lineage == "reset" else how
    missing = "" if found.parent is not None else "; it is not in this store"
    return f"{info.parent}" + (f" (this {how}{missing})" if how else missing and f" ({missing[2:]})")


def _chain(found: Found) -> str:
    if len(found.chain) < 2:
        return ""
    at = found.chain.index(found.info.id) + 1
    return f"segment {at} of {len(found.chain)}: {_named(found.chain)}"


def _named(names: Sequence[str]) -> str:
    more = len(names) - _RELATIVES
    return ", ".join(names[:_RELATIVES]) + (f" and {more} more" if more > 0 else "")


# ---------------------------------------------------------------------------------------------------------- the conversation

_AUTHORS = {
    "person": ("●", "User", "yellow"),
    "model": ("◆", "Assistant", "green"),
    "harness": ("○", "Program", "dim"),
    "bystander": ("○", "Bystander", "dim"),
    "system": ("○", "System", "dim"),
    "tool": ("○", "Tool", "dim"),
}


def conversation(messages: Iterable[Message], *, width: int | None, every: bool = False) -> Iterator[Line]:
    """
    Yield the messages as lines: who wrote each and when, its text, its tool calls and what they gave, both cut.

    What stands in the first column is never a message's own text, so no message can pass for several.

    Args:
        width: Of the terminal, in columns; None to break no line of text.
        every: Show all of what is otherwise cut or left out: reasoning, and text that the program put in.
    """
    day = ""
    for message in messages:
        body = list(_body(message, width, every))
        if not body:
            continue
        sign, who, style = _AUTHORS[message.author]
        if message.author == "system" and message.role != "system":
            who = terminal_line(message.role, 30) or who
        moment = local(message.time)
        shown = moment[11:] if moment[:10] == day else moment
        day = moment[:10] or day
        state = {"live": "", "compacted": "  [compacted]", "rewound": "  [taken back]"}.get(message.state, f"  [{message.state}]")
        if message.author != "tool" or state:
            yield ()
            yield ((f"{sign} {who}", f"bold {style}" if style != "dim" else "dim"), (f"  {shown}{state}", "dim"))
        yield from body


def _body(message: Message, width: int | None, every: bool) -> Iterator[Line]:
    for block in message.blocks:
        if isinstance(block, Text):
            if block.injected and not every:
                yield (("  [+ ", "dim"), (f"{count(len(block.text), 'character')} put in by the program]", "dim"))
            elif block.text.strip():
                whole = every or message.author not in ("harness", "system")
                yield from _lines(block.text, "  ", width, "dim" if block.injected else "", None if whole else _OUTPUT_LINES)
        elif isinstance(block, Thinking):
            if every:
                text = block.text or "(in a form that only its provider can read)"
                yield from _lines(text, "  ~ ", width, "dim", None)
        elif isinstance(block, ToolCall):
            yield (("  → ", "cyan"), (_call(block, width), "cyan"))
        elif isinstance(block, ToolResult):
            mark = {True: " (error)", False: "", None: ""}[block.error]
            yield (("  ← ", "dim"), (f"{terminal_line(block.name or 'result', 60)}{mark}", "dim"))
            for part in block.content:
                if isinstance(part, Text):
                    yield from _lines(part.text, "    ", width, "dim", None if every else _OUTPUT_LINES)
                else:
                    yield ((f"    {_part(part)}", "dim"),)
        else:
            yield ((f"  {_part(block)}", "dim"),)


def _lines(text: str, before: str, width: int | None, style: str, most: int | None) -> Iterator[Line]:
    lines = terminal_text(text).strip("\n").split("\n")
    shown = lines if most is None else lines[:most]
    letters = 0
    for line in shown:
        # One line of tool output may be a whole file.
        cut = line if most is None else line[:1000]
        letters += len(line) - len(cut)
        for part in wrapped(cut, None if width is None else width - len(before)):
            yield ((f"{before}{part}".rstrip(), style),)
    if most is not None and (len(lines) > most or letters):
        rest = lines[most:]
        letters += sum(map(len, rest))
        what = f"{count(len(rest), 'more line')}, " if rest else ""
        yield ((f"{before}… {what}{count(letters, 'character')}", f"{style} bold" if style else "dim"),)


def _call(call: ToolCall, width: int | None) -> str:
    if isinstance(call.arguments, dict):
        inside = ", ".join(f"{key}={_short(value)}" for key, value in call.arguments.items())
    else:
        inside = "" if call.arguments is None else _short(call.arguments)
    return terminal_line(f"{call.name}({inside})", (width or _CALL) - 4)


def _short(value: Any) -> str:
    try:
        text = dumps(value).decode()
    except JsonError:  # A plug-in's own type, say.
        text = repr(value)
    return text if len(text) <= _ARGUMENT else f"{text[:_ARGUMENT]}…"


def _part(block: Block) -> str:
    if isinstance(block, Image):
        data = block.data
        where = size(len(data) * 3 // 4) if data and isinstance(data, str) else _word(block.url or data)
        return terminal_line(f"[{_word(block.media_type) or 'image'} {where}]".replace(" ]", "]"))
    if isinstance(block, Attachment):
        return terminal_line(f"[{_word(block.kind)} {_word(block.name)}]".replace(" ]", "]"))
    if isinstance(block, Text):
        return terminal_line(block.text, _ARGUMENT)
    return terminal_line(f"[something else: {_short(getattr(block, 'data', None))}]")


def _word(value: Any) -> str:
    """Return what should be a short text, and is whatever the source put there."""
    if value is None or value == "":
        return ""
    return value[:_ARGUMENT] if isinstance(value, str) else _short(value)


# ---------------------------------------------------------------------------------------------------------- the recap

_EXCHANGES = 10
_PERSON = 300
_MODEL = 200
_MODEL_LINES = 3


@dataclass(slots=True)
class Exchange:
    """
    A thing a person said and the answers to it: who ("person" or "model"), the text as a recap shows it, and the names of the
    tools called.
    """

    turns: list[tuple[str, str, list[str]]] = field(default_factory=list)


@dataclass(slots=True)
class Recap:
    """The last exchanges of a session; `earlier` counts the messages before them that a recap would show."""

    exchanges: list[Exchange]
    earlier: int

    def as_dict(self) -> dict[str, Any]:
        """Return the recap as JSON-ready keys; texts are cut as they are shown."""
        turns = [
            [{"author": who, "text": text, "tools": tools} for who, text, tools in exchange.turns] for exchange in self.exchanges
        ]
        return {"earlier": self.earlier, "exchanges": turns}

    def lines(self) -> Iterator[tuple[str, str, str]]:
        """Yield who, the safe text that is shown of a message (several lines), and its tool calls summed up."""
        for exchange in self.exchanges:
            for who, text, tools in exchange.turns:
                yield who, terminal_text(text), tool_summary(tools)


def recap(messages: Iterable[Message]) -> Recap:
    """
    Return the last ten exchanges of a conversation, as Hermes shows them when a session is resumed.

    Only what the person and the model said is in it: no system text, tool output, reasoning, or what the program put in.
    """
    kept: deque[Exchange] = deque()
    earlier = 0
    for message in messages:
        if message.author not in ("person", "model"):
            continue
        text = plain_text(message.blocks, injected=False).strip()
        text = "\n".join(line for line in text.split("\n") if line.strip())
        tools = [block.name for block in message.blocks if isinstance(block, ToolCall)]
        pictures = sum(isinstance(block, Image) for block in message.blocks)
        text += ("\n" if text and pictures else "") + "[image] " * pictures
        if not text and not tools:
            continue
        if message.author == "person" or not kept:
            kept.append(Exchange())
            if len(kept) > _EXCHANGES:
                earlier += len(kept.popleft().turns)
        turns = kept[-1].turns
        if not text and turns and turns[-1][0] == "model":
            turns[-1][2].extend(tools)
        else:
            turns.append((message.author, shortened(message.author, text), tools))
    return Recap(list(kept), earlier)


def shortened(who: str, text: str) -> str:
    """Return a message's text as a recap shows it: 300 characters of a person's, 3 lines and 200 characters of the model's."""
    most = _PERSON if who == "person" else _MODEL
    lines = text.split("\n")
    short = text if who == "person" else "\n".join(lines[:_MODEL_LINES])
    if len(short) > most:
        return short[:most].rstrip() + "..."
    return short if len(short) == len(text) else f"{short} ..."


def tool_summary(tools: Sequence[str]) -> str:
    """Return tool calls summed up, `[3 tool calls: terminal, web_search]`; "" for none."""
    if not tools:
        return ""
    names = list(dict.fromkeys(terminal_line(name, 40) for name in tools))
    named = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
    return f"[{count(len(tools), 'tool call')}: {named}]"


# ---------------------------------------------------------------------------------------------------------- as JSON


def session_json(found: Found) -> dict[str, Any]:
    """Return the session as JSON-ready keys: those of a list, and its relatives; without its messages."""
    row = Row(found.info, preview(found.store, found.info.id), _only(found)).as_dict()
    return row | {
        "children": [{"id": child.id, "lineage": child.lineage} for child in found.children],
        "chain": found.chain,
        "also_in": found.also,
    }


def message_json(message: Message, *, every: bool = False) -> dict[str, Any]:
    """Return a message as JSON-ready keys; with `every` its reasoning too."""
    calls = [block for block in message.blocks if isinstance(block, ToolCall)]
    results = [block for block in message.blocks if isinstance(block, ToolResult)]
    images = [block for block in message.blocks if isinstance(block, Image)]
    found: dict[str, Any] = {
        "id": message.id,
        "role": message.role,
        "author": message.author,
        "time": iso_utc(message.time),
        "state": message.state,
        "text": plain_text(message.blocks),
        "tool_calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls],
        "results": [
            {"call_id": result.call_id, "name": result.name, "error": result.error, "text": plain_text(result.content)}
            for result in results
        ],
        "images": len(images),
    }
    if every:
        found["reasoning"] = "\n".join(block.text for block in message.blocks if isinstance(block, Thinking) and block.text)
    return found
