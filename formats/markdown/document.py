"""
The engine of both kinds of documents: one file a session, part by part, the whole of it held on disk and not in memory.

What differs between Markdown and Quarto stands in a `Style`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from satchel.contracts import SessionInfo, SessionView, Target, Written
from satchel.errors import UsageError
from satchel.formats.carried import copies
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
    plain_text,
)
from satchel.formats.parted import rows
from satchel.formats.spool import Spool
from satchel.formats.turns import (
    CallNames,
    about,
    arguments_json,
    heading,
    json_text,
    marks,
    session_facts,
    size,
    speaker,
    system_prompt,
)
from satchel.formats.unshown import Unshown
from satchel.naming import file_name
from satchel.timetext import iso_utc

__all__ = ["DETAILS", "Documents", "Listed", "Style", "choices", "stamp"]

DETAILS = ("full", "chat", "prompts")
"""How much is shown: everything, what people and models said, or what people typed."""

BODIES = ("rendered", "verbatim")
"""How texts are shown that were written as Markdown: as such, or letter by letter."""

_SAID = {"person", "model"}
_TYPED = {"person"}
_OLD = ("compacted", "rewound")
_SHOWN_OF_SESSION = {
    *("id", "title", "source", "model", "cwd", "git_branch", "billing_provider", "system_prompt", "end_reason"),
    *("parent_session_id", "system_prompt_hash"),
}


class Style(NamedTuple):
    """What a kind of document has its own way for: a fence, a part that is folded, the front matter."""

    name: str
    suffix: str
    body: str
    fence: Callable[..., str]
    folded: Callable[[str, str], str]
    facts: Callable[[dict[str, Any]], dict[str, Any]]
    quarto: bool


class Listed(NamedTuple):
    """A document as an index lists it."""

    file: str
    title: str
    when: str
    agent: str
    messages: int


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

    def __init__(self, target: Target, style: Style, options: Choices, *, index: Callable[[Documents], None]) -> None:
        self._target = target
        self._style = style
        self._options = options
        self._index = index
        self._listed = Spool()
        self._assets = Assets(target, options.images, self._lost)
        self._unshown = Unshown()

    def __enter__(self) -> Documents:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self._index(self)
        finally:
            self._listed.close()

    @property
    def target(self) -> Target:
        """Where the documents go."""
        return self._target

    def _lost(self, what: str) -> None:
        self._unshown.skip(what)

    def add(self, session: SessionView) -> Written:
        """Write the session's document."""
        self._unshown = Unshown(lambda note: _SHOWN_OF_SESSION if note.kind == "sessions" else ())
        body = Spool()
        try:
            document = _Document(session, self._style, self._options, self._assets, self._unshown, body)
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
        self._note(Listed(name, heading(info), stamp(info.started_at), info.agent, document.messages))
        counts = document.counts
        return Written(
            file=name,
            messages=counts["live"],
            compacted=counts["compacted"],
            rewound=counts["rewound"] + counts["sidechain"],
            losses=self._unshown.losses(),
        )

    def _note(self, row: Listed) -> None:
        self._listed.add("\0".join([row.file, row.title, row.when, row.agent, str(row.messages)]).encode("utf-8", "replace"))

    def each(self, put: Callable[[Listed], object]) -> None:
        """Give every document that was written to `put`, in order."""

        def one(line: bytes) -> None:
            file, title, when, agent, messages = line.decode().split("\0")
            put(Listed(file, title, when, agent, int(messages)))

        self._listed.pour(one)


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
        self._prompt: str | None = None
        self._model: str | None = None
        self._newest: float | None = None
        self.messages = 0
        self._calls = 0
        self.counts = {"live": 0, "compacted": 0, "rewound": 0, "sidechain": 0}

    # -------------------------------------------------------------------------------------------------- reading

    def read(self) -> None:
        """Read the session, and make the parts of all its messages."""
        session = self._session
        several = len(session.ids) > 1
        flags = iter(copies(_says(e) for at in range(len(session.ids)) for e in session.entries(at) if isinstance(e, Message)))
        for at in range(len(session.ids)):
            self._model = None
            seam = f"*Segment {at + 1} of {len(session.ids)}: {escaped(session.ids[at])}*\n\n" if several else ""
            for entry in session.entries(at):
                if isinstance(entry, Note):
                    self._take_note(entry)
                elif several and next(flags):
                    self._unshown.skip("copies of earlier messages", rows(entry))
                elif self._is_wanted(entry):
                    self._message(entry, seam)
                    seam = ""

    def _take_note(self, note: Note) -> None:
        prompt = system_prompt(note)
        if prompt is not None and self._options.detail == "full":
            self._prompt = prompt
            if note.kind == "system_prompts":
                return
        self._unshown.add(note)

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
        self.counts[message.state] += rows(message)
        if message.time is not None and (self._newest is None or message.time > self._newest):
            self._newest = message.time
        text = f"{seam}{self._title(message)}\n\n{self._said(message)}"
        if self._style.quarto:
            text += ":::::\n\n"
        body = text.encode("utf-8", "replace")
        self._body.add(markers.message(self.messages, message, body, quarto=self._style.quarto))
        self._body.add(body)
        self._unshown.add(message)

    def _title(self, message: Message) -> str:
        who = speaker(message)
        words = [str(self.messages), escaped(who, 40)]
        if message.author == "tool":
            names = {self._names.of(block) for block in message.blocks if isinstance(block, ToolResult)} - {None}
            words += [escaped(name or "", 60) for name in sorted(map(str, names))[:3]]
        words += marks(message)
        when = stamp(message.time)
        if when:
            words.append(when)
        if message.model and message.model != self._model:
            self._model = message.model
            words.append(escaped(message.model, 80))
        return f"{'##' if message.author in _SAID else '###'} {' · '.join(words)}"

    def _said(self, message: Message) -> str:
        parts = [part for block in message.blocks for part in self._block(block, message)]
        text = "".join(f"{part.strip(chr(10))}\n\n" for part in parts if part.strip())
        if message.state in _OLD and text:
            return f"{self._style.folded(message.state, text.rstrip(chr(10)))}\n"
        return text

    # -------------------------------------------------------------------------------------------------- blocks

    def _block(self, block: Block, message: Message) -> Iterator[str]:
        style, full = self._style, self._options.detail == "full"
        if isinstance(block, Text):
            if block.injected or message.author == "harness":
                if full:
                    yield self._folded("Put in by the program", block.text)
                else:
                    self._unshown.skip("text put in by the program")
            else:
                yield self._text(block.text, message)
        elif isinstance(block, Image):
            yield self._assets.shown(block)
        elif not full:
            self._unshown.skip(f"parts: {type(block).__name__.lower()}")
            if isinstance(block, ToolCall):
                self._calls += 1
        elif isinstance(block, Thinking):
            if block.text.strip():
                yield self._folded("Reasoning", block.text)
            else:
                yield "*Reasoning in a form that only its provider can read*"
        elif isinstance(block, ToolCall):
            self._calls += 1
            self._names.seen(block)
            what = about(block)
            yield style.folded(f"Call of {block.name}" + (f" · {what}" if what else ""), self._arguments(block))
        elif isinstance(block, ToolResult):
            yield self._result(block)
        else:
            yield self._other(block)

    def _text(self, text: str, message: Message) -> str:
        if self._options.body == "verbatim" or message.author == "tool":
            return self._style.fence(plain(text)) if text.strip() else ""
        return rendered(text, self._style.fence, breaks=message.author == "person")

    def _folded(self, title: str, text: str) -> str:
        return self._style.folded(f"{title} · {size(len(text.encode('utf-8', 'replace')))}", self._style.fence(plain(text)))

    def _arguments(self, call: ToolCall) -> str:
        """Return a call's arguments: the short ones as JSON, each text of several lines by itself."""
        arguments, fence = call.arguments, self._style.fence
        if not isinstance(arguments, Mapping):
            return fence(plain(arguments_json(call)), "text" if isinstance(arguments, str) else "json")
        long = {name: value for name, value in arguments.items() if isinstance(value, str) and "\n" in value.strip("\n")}
        short = {name: value for name, value in arguments.items() if name not in long}
        out = [fence(plain(json_text(short)), "json")] if short or not long else []
        for name, value in long.items():
            out.append(f"{escaped(str(name), 80)}:\n\n{fence(plain(value))}")
        return "\n".join(out)

    def _result(self, result: ToolResult) -> str:
        name = self._names.of(result) or "a tool"
        parts: list[str] = []
        octets = 0
        for block in result.content:
            if isinstance(block, Text):
                octets += len(block.text)
                parts.append(self._style.fence(plain(block.text)) if block.text else "")
            elif isinstance(block, Image):
                parts.append(f"{self._assets.shown(block)}\n")
            else:
                parts.append(f"{self._other(block)}\n")
        words = [f"Result of {name}", *(["error"] if result.error else []), size(octets)]
        return self._style.folded(" · ".join(words), "\n".join(parts) or "*Nothing*\n")

    def _other(self, block: Block) -> str:
        if isinstance(block, Attachment):
            said = block.data if block.data is not None else {}
            return self._style.folded(
                f"Attachment: {block.name or block.kind}", self._style.fence(plain(json_text(said)), "json")
            )
        data = block.data if isinstance(block, Unknown) else repr(block)
        return self._style.folded("Something else", self._style.fence(plain(json_text(data)), "json"))

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
        out = [f"# {escaped(heading(info))}\n\n"]
        out += [f"- {label}: {value}\n" for label, value in self._lines(info) if value]
        out.append("\n")
        parent, children = session.kin()
        if parent is not None:
            out.append(f"Comes from: {self._link(parent)}\n\n")
        if children:
            out.append("Sessions that come from this one:\n\n")
            out += [f"- {self._link(child)}\n" for child in children]
            out.append("\n")
        if self._prompt:
            out.append(f"{self._folded('System prompt', self._prompt)}\n")
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


def _says(message: Message) -> tuple[Any, bool]:
    return (message.role, plain_text(message.blocks), len(message.blocks)), bool(message.extra.get("summary"))
