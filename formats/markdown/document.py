"""
The engine of both kinds of documents: one file a session, part by part, the whole of it held on disk and not in memory.

What differs between Markdown and Quarto stands in a `Style`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import TracebackType
from typing import Any, NamedTuple

from satchel.contracts import Kindred, SessionInfo, SessionView, Target, Written
from satchel.errors import UsageError
from satchel.formats.markdown import markers
from satchel.formats.markdown.assets import HOW, Assets
from satchel.formats.markdown.front_matter import front_matter
from satchel.formats.markdown.literal import coded, escaped, plain
from satchel.formats.markdown.rendered import rendered
from satchel.formats.model import (
    Attachment,
    Block,
    Image,
    Message,
    Note,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)
from satchel.formats.parted import rows
from satchel.formats.spool import Spool
from satchel.formats.turns import (
    CallNames,
    about,
    arguments_json,
    conversation,
    heading,
    is_odd,
    json_text,
    marks,
    session_facts,
    speaker,
    system_prompt,
)
from satchel.formats.unshown import Unshown
from satchel.naming import file_name
from satchel.timetext import iso_utc
from satchel.wording import size

__all__ = ["DETAILS", "Documents", "Style", "choices", "stamp"]

DETAILS = ("full", "chat", "prompts")
"""How much is shown: everything, what people and models said, or what people typed."""

BODIES = ("rendered", "verbatim")
"""How texts are shown that were written as Markdown: as such, or letter by letter."""

_SAID = {"person", "model"}
_TYPED = {"person"}
_OLD = ("compacted", "rewound")


class Style(NamedTuple):
    """What a kind of document has its own way for: a fence, how a folded part begins and ends, the front matter."""

    name: str
    suffix: str
    body: str
    fence: Callable[..., list[str]]
    folding: Callable[[str], str]
    folded: str
    facts: Callable[[dict[str, Any]], dict[str, Any]]
    quarto: bool


class Choices(NamedTuple):
    """What was asked for."""

    detail: str
    body: str
    images: Any


def choices(options: Mapping[str, Any], style: Style) -> Choices:
    """
    Return what the options ask for.

    Raises:
        UsageError: An option, or what it is set to, is not known.
    """
    known: dict[str, tuple[Sequence[str], str]] = {
        "detail": (DETAILS, "full"),
        "body": (BODIES, style.body),
        "images": (HOW, "files"),
    }
    unknown = set(options) - set(known)
    if unknown:
        raise UsageError(f"the format {style.name} has no option {sorted(unknown)[0]}")
    said: dict[str, str] = {}
    for option, (values, default) in known.items():
        value = options.get(option, default)
        if value not in values:
            raise UsageError(f"{option} is one of {', '.join(values)}, not {value!r}", subject=option)
        said[option] = value
    return Choices(**said)


def stamp(seconds: float | None) -> str:
    """Return a time as it stands in a heading, `2026-05-03 10:20:30 UTC`; "" for none."""
    text = iso_utc(seconds, whole=True)
    return f"{text[:10]} {text[11:19]} UTC" if text else ""


class Documents:
    """A folder of documents."""

    def __init__(self, target: Target, style: Style, options: Choices, *, finish: Callable[[Target], object]) -> None:
        self._target = target
        self._style = style
        self._options = options
        self._finish = finish
        self._assets = Assets(target, options.images)

    def __enter__(self) -> Documents:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self._finish(self._target)

    def add(self, session: SessionView) -> Written:
        """Write the session's document."""
        unshown = Unshown()
        body = Spool()
        try:
            document = _Document(session, self._style, self._options, self._assets, unshown, body)
            document.read()
            info = session.info
            name = file_name(session.ids[-1], info.title, self._style.suffix)
            stream = self._target.stream(name)
            stream.write(front_matter(document.facts()))
            top = document.top()
            stream.write(markers.head(top, quarto=self._style.quarto))
            stream.write(top)
            body.pour(stream.write)
            self._target.finish(stream)
        finally:
            body.close()
        counts = document.counts
        return Written(
            file=name,
            messages=counts["live"],
            compacted=counts["compacted"],
            rewound=counts["rewound"] + counts["sidechain"],
            losses=unshown.losses(),
        )


class _Document:
    """One document in the making."""

    def __init__(
        self, session: SessionView, style: Style, options: Choices, assets: Assets, unshown: Unshown, body: Spool
    ) -> None:
        self._session = session
        self._style = style
        self._options = options
        self._assets = assets
        self._unshown = unshown
        self._body = body
        self._names = CallNames()
        self._out: list[str] = []
        self._show: Callable[[str], str] = plain
        self._lost: list[str] = []
        self._first: str | None = None
        self._prompt: str | None = None
        self._model: str | None = None
        self._newest: float | None = None
        self.messages = 0
        self._calls = 0
        self.counts = {"live": 0, "compacted": 0, "rewound": 0, "sidechain": 0}

    # -------------------------------------------------------------------------------------------------- reading

    def read(self) -> None:
        """Read the session, and make the parts of all its messages."""
        ids = self._session.ids
        seam, last = "", -1
        for at, entry, is_copy in conversation(self._session):
            if at != last:
                last, self._model = at, None
                seam += f"*Segment {at + 1} of {len(ids)}: {escaped(ids[at])}*\n\n" if len(ids) > 1 else ""
            if isinstance(entry, Note):
                seam += self._note(entry)
            elif is_copy:
                self._unshown.skip("copies of earlier messages", rows(entry))
            elif self._is_wanted(entry):
                self._message(entry, seam)
                seam = ""

    def _note(self, note: Note) -> str:
        """Take a note, and return what of it stands before the next message: a system prompt that is another one by now."""
        prompt = system_prompt(note)
        if prompt is None or note.kind != "system_prompts":
            self._unshown.add(note)
        if prompt is None or prompt == self._prompt:
            return ""
        if self._options.detail != "full":
            self._unshown.skip("system prompts")
        elif self._prompt is None:
            self._first = self._prompt = prompt
        else:
            self._prompt = prompt
            return "".join(self._folded("System prompt", prompt, plain))
        return ""

    def _is_wanted(self, message: Message) -> bool:
        detail = self._options.detail
        if detail == "full":
            return True
        who = _SAID if detail == "chat" else _TYPED
        says = any(isinstance(block, Text | Image) and not getattr(block, "injected", False) for block in message.blocks)
        if message.author in who and message.state in ("live", "compacted") and says:
            return True
        self._unshown.skip(f"messages: {message.author}", rows(message))
        return False

    def _message(self, message: Message, seam: str) -> None:
        self.messages += 1
        count = rows(message)
        self.counts[message.state] += count
        time = message.time
        if time is not None and (self._newest is None or time > self._newest):
            self._newest = time
        when = iso_utc(time)
        title = f"{seam}{self._title(message, when)}\n\n".encode("utf-8", "replace")
        said = self._written(message, _as_it_is)
        if is_odd(said):
            # Something in it can't be seen. That most messages have no such thing is told by one look at all of it.
            said = self._written(message, plain)
        body = title + said
        self._body.add(markers.message(self.messages, message, body, when=when, count=count, quarto=self._style.quarto))
        self._body.add(body)
        self._calls += sum(type(block) is ToolCall for block in message.blocks)
        self._unshown.add(message)
        for what in self._lost:
            self._unshown.skip(what)

    def _written(self, message: Message, show: Callable[[str], str]) -> bytes:
        self._show = show
        self._out = out = list[str]()
        self._lost = []
        is_old = message.state in _OLD
        if is_old:
            out.append(self._style.folding(message.state))
        for block in message.blocks:
            self._block(block, message)
        if is_old:
            out.append(self._style.folded)
        if self._style.quarto:
            out.append(":::::\n\n")
        return "".join(out).encode("utf-8", "surrogatepass")

    def _title(self, message: Message, when: str) -> str:
        author = message.author
        words = [str(self.messages), speaker(message) if author != "system" else escaped(speaker(message), 40)]
        if author == "tool":
            names = {self._names.of(block) for block in message.blocks if isinstance(block, ToolResult)} - {None}
            words += [_short(name or "") for name in sorted(map(str, names))[:3]]
        words += marks(message)
        if when:
            words.append(f"{when[:10]} {when[11:19]} UTC")
        if message.model and message.model != self._model:
            self._model = message.model
            words.append(_short(message.model))
        return f"{'##' if author in _SAID else '###'} {' · '.join(words)}"

    # -------------------------------------------------------------------------------------------------- blocks

    def _block(self, block: Block, message: Message) -> None:
        """Add what a block says, and a blank line after it."""
        full, out = self._options.detail == "full", self._out
        if isinstance(block, Text):
            if block.injected or message.author == "harness":
                if full:
                    out += self._folded("Put in by the program", block.text, self._show)
                else:
                    self._lost.append("text put in by the program")
            elif block.text.strip():
                if self._options.body == "verbatim" or message.author == "tool":
                    out += self._style.fence(self._show(block.text))
                    out.append("\n")
                else:
                    out.append(rendered(self._show(block.text), self._style.fence, breaks=message.author == "person"))
                    out.append("\n\n")
        elif isinstance(block, Image):
            out.append(f"{self._assets.shown(block, self._lost.append)}\n\n")
        elif not full:
            self._lost.append(f"parts: {type(block).__name__.lower()}")
        elif isinstance(block, Thinking):
            if block.text.strip():
                out += self._folded("Reasoning", block.text, self._show)
            else:
                out.append("*Reasoning in a form that only its provider can read*\n\n")
        elif isinstance(block, ToolCall):
            self._call(block)
        elif isinstance(block, ToolResult):
            self._result(block)
        else:
            out += self._other(block)

    def _folded(self, title: str, text: str, show: Callable[[str], str], language: str = "text") -> list[str]:
        octets = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
        return [self._style.folding(f"{title}, {size(octets)}"), *self._style.fence(show(text), language), self._style.folded]

    def _other(self, block: Block) -> list[str]:
        """Return a part that is neither text nor picture, call or result: as the JSON it is."""
        title = f"Attachment: {block.name or block.kind}" if isinstance(block, Attachment) else "Something else"
        data = block.data if isinstance(block, Attachment | Unknown) else repr(block)
        return self._folded(title, json_text(data), self._show, "json")

    def _call(self, call: ToolCall) -> None:
        """Add a call: the short ones of its arguments as JSON, each text of several lines by itself."""
        self._names.seen(call)
        what = about(call)
        arguments, fence, out = call.arguments, self._style.fence, self._out
        out.append(self._style.folding(f"Call of {call.name}: {what}" if what else f"Call of {call.name}"))
        if isinstance(arguments, Mapping):
            long = {name: value for name, value in arguments.items() if isinstance(value, str) and "\n" in value.strip("\n")}
            short = {name: value for name, value in arguments.items() if name not in long} if long else arguments
            if short or not long:
                out += fence(self._show(json_text(short)), "json")
            for name, value in long.items():
                out.append(f"\n{escaped(str(name), 80)}:\n\n")
                out += fence(self._show(value))
        else:
            out += fence(self._show(arguments_json(call)), "text" if isinstance(arguments, str) else "json")
        out.append(self._style.folded)

    def _result(self, result: ToolResult) -> None:
        out = self._out
        octets = sum(len(block.text) for block in result.content if isinstance(block, Text))
        name = self._names.of(result) or "a tool"
        out.append(self._style.folding(f"Result of {name}{', error' if result.error else ''}, {size(octets)}"))
        for block in result.content:
            if isinstance(block, Text):
                if block.text:
                    out += self._style.fence(self._show(block.text))
                    out.append("\n")
            elif isinstance(block, Image):
                out.append(f"{self._assets.shown(block, self._lost.append)}\n\n")
            else:
                out += self._other(block)
        if not result.content:
            out.append("*Nothing*\n")
        out.append(self._style.folded)

    # -------------------------------------------------------------------------------------------------- the head

    def facts(self) -> dict[str, Any]:
        """Return the front matter."""
        facts = session_facts(self._session)
        counts = self.counts
        facts |= {
            "updated_at": iso_utc(self._newest, whole=True),
            "message_count": counts["live"],
            "compacted_count": counts["compacted"],
            "rewound_count": counts["rewound"] + counts["sidechain"],
            "tool_call_count": self._calls,
            "detail": self._options.detail,
            "tags": ["agent-session", facts["agent"]],
            "exporter": "satchel",
        }
        return self._style.facts(facts)

    def top(self) -> bytes:
        """Return what stands before the messages: the title, the facts in a list, the session's relatives, the system prompt."""
        session, info = self._session, self._session.info
        # Quarto shows the title that the front matter has.
        out = [] if self._style.quarto else [f"# {escaped(heading(info))}\n\n"]
        out += [f"- {label}: {value}\n" for label, value in self._lines(info) if value]
        out.append("\n")
        parent, children = session.kin() if isinstance(session, Kindred) else (None, ())
        if parent is not None:
            out.append(f"Comes from: {self._link(parent)}\n\n")
        if children:
            out.append("Sessions that come from this one:\n\n")
            out += [f"- {self._link(child)}\n" for child in children]
            out.append("\n")
        if self._first:
            out += self._folded("System prompt", self._first, plain)
        if not self.messages:
            out.append("*No messages in this session.*\n")
        if self._style.quarto:
            out.append(":::::\n\n")
        return "".join(out).encode("utf-8", "replace")

    def _lines(self, info: SessionInfo) -> Iterable[tuple[str, str]]:
        usage = info.usage
        tokens = ", ".join(f"{count:,} {what}" for count, what in ((usage.input, "in"), (usage.output, "out")) if count)
        yield "Session", coded(self._session.ids[-1])
        yield "Agent", escaped(info.agent + (f", {info.source}" if info.source and info.source != info.agent else ""))
        yield "Model", coded(info.model) if info.model else ""
        yield "Folder", coded(info.cwd + (f" ({info.git_branch})" if info.git_branch else "")) if info.cwd else ""
        yield "Time", " to ".join(filter(None, (stamp(info.started_at), stamp(info.ended_at))))
        yield "Tokens", tokens
        yield "Cost", f"{info.cost:.4f} US dollars" if info.cost else ""
        yield "Segments", ", ".join(map(coded, self._session.ids)) if len(self._session.ids) > 1 else ""
        yield "Redacted", "yes" if self._session.redacted else ""

    def _link(self, info: SessionInfo) -> str:
        from urllib.parse import quote

        name = quote(file_name(info.id, info.title, self._style.suffix), safe="._-~")
        return f"[{escaped(heading(info))}]({name})" + (f" ({info.lineage})" if info.lineage else "")


def _as_it_is(text: str) -> str:
    return text


@lru_cache(maxsize=1000)
def _short(name: str) -> str:
    """Return the name of a tool or a model as it stands in a heading; there are few of them."""
    return escaped(name, 80)
