"""A session as HTML, message by message."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any

from satchel.contracts import Kindred, SessionInfo, SessionView, Usage
from satchel.formats.html.ansi import output_html
from satchel.formats.html.diffs import diff_html, edits_of, looks_like_diff, patch_html
from satchel.formats.html.escape import attribute, linked, one_line, plain, text_html
from satchel.formats.html.markdown import markdown_html
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
from satchel.formats.pictures import picture_kind
from satchel.formats.turns import (
    CallNames,
    about,
    arguments_json,
    conversation,
    heading,
    json_text,
    marks,
    speaker,
    system_prompt,
)
from satchel.formats.unshown import Unshown
from satchel.timetext import iso_utc
from satchel.wording import count, size

__all__ = ["Rendering"]

_CLASSES = {"person": "user", "model": "model", "tool": "tool"}
_LONG = 4_000
_BASE64 = re.compile(r"[A-Za-z0-9+/\n]+={0,2}\n?")


def _anchor(session_id: str) -> str:
    """Return the name of a session's place in the page, made from its id."""
    from urllib.parse import quote

    return "q-" + quote(session_id.encode("utf-8", "replace"), safe="")


class Rendering:
    """
    Renders one session.

    Attributes:
        messages: How many messages were rendered.
        counts: Rows by state.
    """

    def __init__(self, session: SessionView, number: int, unshown: Unshown) -> None:
        self._session = session
        self._number = number
        self._unshown = unshown
        self._names = CallNames()
        self._model: str | None = None
        self._prompt: str | None = None
        self._calls = 0
        self.messages = 0
        self.counts = {"live": 0, "compacted": 0, "rewound": 0, "sidechain": 0}

    def pieces(self) -> Iterator[tuple[int, str]]:
        """Yield the session's HTML in order, each piece with the number of the first message that comes after its beginning."""
        session = self._session
        yield 1, self._top(session.info)
        last = -1
        for at, entry, is_copy in conversation(session):
            if at != last:
                last = at
                if len(session.ids) > 1:
                    segment = f"Segment {at + 1} of {len(session.ids)}: {one_line(session.ids[at])}"
                    yield self.messages + 1, f'<p class="label">{segment}</p>\n'
            if isinstance(entry, Note):
                prompt = system_prompt(entry)
                if prompt is not None and prompt != self._prompt:
                    self._prompt = prompt
                    yield self.messages + 1, self._folded("System prompt", plain(prompt))
                if prompt is None or entry.kind != "system_prompts":
                    self._unshown.add(entry)
            elif is_copy:
                self._unshown.skip("copies of earlier messages", rows(entry))
            else:
                yield self.messages + 1, self._message(entry)
        yield self.messages + 1, self._end(session.info)

    # -------------------------------------------------------------------------------------------------- around the messages

    def _top(self, info: SessionInfo) -> str:
        facts = "".join(f"<dt>{label}</dt><dd>{value}</dd>" for label, value in self._facts(info) if value)
        place = attribute(_anchor(self._session.ids[-1]))
        out = [f'<a id="{place}"></a><h1 dir="auto">{one_line(heading(info))}</h1>\n<dl>{facts}</dl>\n']
        parent, children = self._session.kin() if isinstance(self._session, Kindred) else (None, ())
        if parent is not None:
            out.append(f'<p class="label">Comes from {_link(parent)}</p>\n')
        elif info.parent:
            out.append(f'<p class="label">Comes from {one_line(info.parent)}, which is not in this page</p>\n')
        if children:
            out.append(f'<p class="label">Sessions that come from this one: {", ".join(map(_link, children))}</p>\n')
        return "".join(out)

    def _facts(self, info: SessionInfo) -> Iterator[tuple[str, str]]:
        yield "Session", one_line(self._session.ids[-1])
        yield "Agent", one_line(info.agent + (f", {info.source}" if info.source and info.source != info.agent else ""))
        yield "Model", one_line(info.model or "")
        yield "Provider", one_line(info.provider or "")
        yield "Folder", one_line((info.cwd or "") + (f" ({info.git_branch})" if info.cwd and info.git_branch else ""), 400)
        yield "Time", " to ".join(filter(None, (_time(info.started_at), _time(info.ended_at))))
        yield "Tokens", _tokens(info.usage)
        yield "Cost", f"{info.cost:.4f} US dollars" if info.cost else ""
        yield "Ended by", one_line(info.end_reason or "")

    def _end(self, info: SessionInfo) -> str:
        counts = self.counts
        words = [count(counts["live"], "message")]
        hidden = (("compacted", "compacted"), ("rewound", "taken back"), ("sidechain", "beside the main line"))
        words += [f"{counts[state]:,} {what}" for state, what in hidden if counts[state]]
        words += [count(self._calls, "tool call")] if self._calls else []
        state = "secrets were taken out" if self._session.redacted else "not redacted"
        return f'<p class="end">{", ".join(words)}. Source: {one_line(info.store or info.agent, 300)}; {state}.</p>\n'

    # -------------------------------------------------------------------------------------------------- messages

    def _message(self, message: Message) -> str:
        self.messages += 1
        self.counts[message.state] += rows(message)
        number = self.messages
        who = speaker(message)
        kind = _CLASSES.get(message.author, "other")
        said = marks(message)
        classes = [kind]
        if message.state != "live":
            classes.append("old")
        if any(isinstance(block, ToolResult) and block.error for block in message.blocks) or "error" in said:
            classes.append("err")
        body = "".join(self._block(block, message) for block in message.blocks)
        self._calls += sum(isinstance(block, ToolCall) for block in message.blocks)
        self._unshown.add(message)
        place = f"s{self._number}-m{number}"
        # What the source calls them is there for whoever looks.
        identity = attribute(message.id or "") or "Link to this message"
        head = [f'<a class="n" href="#{place}" title="{identity}">{number}</a>']
        head.append(f'<b title="{attribute(message.role)}">{one_line(who, 40)}</b>')
        head += [f'<span class="badge">{mark}</span>' for mark in said]
        if message.model and message.model != self._model:
            self._model = message.model
            head.append(f"<span>{one_line(message.model, 80)}</span>")
        if message.usage is not None:
            head.append(f"<span>{_tokens(message.usage)}</span>")
        head.append(_time(message.time))
        if "old" in classes and body:
            body = f"<details><summary>{message.state}</summary>{body}</details>"
        label = attribute(f"message {number}, {who}")
        begin = f'<article class="{" ".join(classes)}" id="{place}" aria-label="{label}">'
        return f"{begin}<header>{''.join(head)}</header>{body}</article>\n"

    def _block(self, block: Block, message: Message) -> str:
        if isinstance(block, Text):
            if block.injected or message.author == "harness":
                return self._folded("Put in by the program", plain(block.text))
            if not block.text.strip():
                return ""
            if message.author in ("person", "model", "bystander"):
                return f'<div class="b" dir="auto">{markdown_html(plain(block.text))}</div>'
            return f'<pre dir="auto">{text_html(plain(block.text))}</pre>'
        if isinstance(block, Thinking):
            if block.text.strip():
                return self._folded("Reasoning", plain(block.text), "think")
            return '<p class="label think">Reasoning in a form that only its provider can read</p>'
        if isinstance(block, ToolCall):
            return self._call(block)
        if isinstance(block, ToolResult):
            return self._result(block)
        return self._part(block)

    def _folded(self, title: str, text: str, kind: str = "") -> str:
        octets = len(text.encode("utf-8", "replace"))
        named = f' class="{kind}"' if kind else ""
        words = f'<pre class="words" dir="auto">{linked(text)}</pre>'
        return f"<details{named}><summary>{title} · {size(octets)}</summary>{words}</details>"

    def _call(self, call: ToolCall) -> str:
        self._names.seen(call)
        edits, used = edits_of(call.arguments)
        inside = [diff_html(old, new) for old, new in edits]
        arguments = call.arguments
        if isinstance(arguments, Mapping):
            rest = {name: value for name, value in arguments.items() if name not in used}
            long = {name: value for name, value in rest.items() if isinstance(value, str) and "\n" in value.strip("\n")}
            short = {name: value for name, value in rest.items() if name not in long} if long else rest
            before = [_arguments(short)] if short or not (long or edits) else []
            for name, value in long.items():
                shown = patch_html(value) if looks_like_diff(value) else f'<pre dir="auto">{text_html(plain(value))}</pre>'
                before.append(f'<p class="label">{one_line(str(name), 80)}</p>{shown}')
            inside = before + inside
        else:
            inside = [f'<pre dir="auto">{text_html(plain(arguments_json(call)))}</pre>']
        what = about(call)
        opened = " open" if edits and sum(len(old) + len(new) for old, new in edits) < _LONG else ""
        return (
            f"<details{opened}><summary><b>{one_line(call.name, 80)}</b>{' ' + one_line(what, 140) if what else ''}</summary>"
            f"{''.join(inside)}</details>"
        )

    def _result(self, result: ToolResult) -> str:
        octets = sum(len(block.text) for block in result.content if isinstance(block, Text))
        parts: list[str] = []
        for block in result.content:
            if not isinstance(block, Text):
                parts.append(self._part(block))
            elif block.text:
                shown = (
                    patch_html(block.text) if looks_like_diff(block.text) else f'<pre dir="auto">{output_html(block.text)}</pre>'
                )
                parts.append(shown)
        name = self._names.of(result) or "tool"
        opened = " open" if result.error else ""
        state = " · error" if result.error else ""
        inside = "".join(parts) or '<p class="label">Nothing</p>'
        return (
            f"<details{opened}><summary>Result of <b>{one_line(name, 80)}</b>{state} · {size(octets)}</summary>{inside}</details>"
        )

    def _part(self, block: Block) -> str:
        if isinstance(block, Image):
            return self._image(block)
        if isinstance(block, Attachment):
            title, data = f"Attachment: {block.name or block.kind}", block.data
        else:
            title, data = "Something else", block.data if isinstance(block, Unknown) else repr(block)
        return self._folded(one_line(title), plain(json_text(data)))

    def _image(self, image: Image) -> str:
        if image.data is None:
            return f'<p><span class="chip">[image] {one_line(image.url or image.media_type or "without data", 2000)}</span></p>'
        try:
            head = base64.b64decode(image.data[:64], validate=True)
        except (binascii.Error, ValueError):
            head = b""
        kind = picture_kind(head)
        if kind is None or _BASE64.fullmatch(image.data) is None:
            self._unshown.skip("images left out")
            about_it = f"{one_line(image.media_type or 'of an unknown kind', 60)}, {size(len(image.data) * 3 // 4)}"
            return f'<p><span class="chip">[image: {about_it}]</span></p>'
        return f'<p><img class="picture" alt="image" src="data:{kind[1]};base64,{image.data}"></p>'


def _arguments(short: Mapping[str, Any]) -> str:
    """Return arguments as names with their values, or as JSON where there is more to them."""
    if not short or any(isinstance(value, Mapping | list) for value in short.values()):
        return f"<pre>{text_html(plain(json_text(short)))}</pre>"
    rows = (
        f"<dt>{one_line(str(name), 80)}</dt><dd><code>{text_html(plain(_word(value)))}</code></dd>"
        for name, value in short.items()
    )
    return f'<dl class="arguments">{"".join(rows)}</dl>'


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)


def _link(info: SessionInfo) -> str:
    how = f" ({one_line(info.lineage)})" if info.lineage else ""
    return f'<a href="#{attribute(_anchor(info.id))}">{one_line(heading(info), 120)}</a>{how}'


def _time(seconds: float | None) -> str:
    text = iso_utc(seconds, whole=True)
    return f'<time datetime="{text}">{text[:10]} {text[11:19]} UTC</time>' if text else ""


def _tokens(usage: Usage) -> str:
    numbers = ((usage.input, "in"), (usage.output, "out"), (usage.cache_read, "from cache"), (usage.reasoning, "reasoning"))
    return ", ".join(f"{number:,} {what}" for number, what in numbers if number)
