"""
What the beginning and the end of a transcript say of its session: enough to list it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from satchel.errors import JsonError
from satchel.formats.claude_code.known import CHAIN, SIDE
from satchel.formats.claude_code.plan import prompt_text, typed
from satchel.formats.claude_code.texts import command_of, put_in
from satchel.formats.log_lines import LogFile, head_and_tail
from satchel.formats.log_store import second
from satchel.jsontext import loads_quick

__all__ = ["Facts", "is_line", "is_prompt_line", "read", "title"]

_MARKS = 64
# Shorter names are invented ones, which files may have in common that have nothing in common.
_UUID, _NAME = 36, 20
_TITLE = 200


def is_line(data: Any) -> bool:
    """Return whether parsed JSON is a line of a Claude Code transcript."""
    if not isinstance(data, dict):
        return False
    kind = data.get("type")
    message = data.get("message")
    if kind in ("user", "assistant"):
        return isinstance(message, dict) and ("content" in message or "usage" in message) and "parts" not in message
    if kind is None:
        return isinstance(message, dict) and isinstance(data.get("sessionId"), str) and "usage" in message
    if not isinstance(kind, str):
        return False
    if kind in CHAIN:
        linked = isinstance(data.get("sessionId"), str) or "parentUuid" in data
        return linked and ("data" in data if kind == "progress" else "attachment" in data or kind == "system")
    if kind == "file-history-snapshot":
        return isinstance(data.get("snapshot"), dict)
    if kind == "summary":
        return isinstance(data.get("summary"), str) and "leafUuid" in data
    return kind in SIDE and isinstance(data.get("sessionId"), str) and kind not in ("started", "result")


def is_prompt_line(data: Any) -> bool:
    """Return whether parsed JSON is a line of the history of prompts."""
    if not isinstance(data, dict) or not isinstance(data.get("display"), str):
        return False
    return "timestamp" in data and ("project" in data or "pastedContents" in data or "sessionId" in data)


@dataclass(slots=True)
class Facts:
    """What was seen of a transcript."""

    is_claude: bool = False
    """Whether any line is Claude Code's."""
    is_foreign: bool = False
    """Whether there is JSON, and none of it Claude Code's."""
    empty: bool = True
    talks: bool = False
    """Whether anything is a message."""
    is_sidechain: bool = False
    """Whether the first line of the graph is a subagent's."""
    has_main: bool = False
    """Whether any message is of the main line, beside which subagents' stand."""
    agent: str | None = None
    session: str | None = None
    """The session that the first line of the graph names."""
    named: str | None = None
    """The session that any line names first."""
    forked_from: str | None = None
    started: float | None = None
    newest: float | None = None
    cwd: str | None = None
    branch: str | None = None
    model: str | None = None
    versions: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    summaries: list[tuple[str, str]] = field(default_factory=list)
    """Each with the line it is of, which may stand in another file."""
    prompt: str | None = None
    command: str | None = None
    queued: str | None = None
    """What was typed while the model worked, or before it could."""
    ids: set[str] = field(default_factory=set)
    marks: frozenset[str] = frozenset()
    """What its first lines have in common with copies of them."""


# Records of which the last one counts, by type: the key that says it, and how it is called here.
_LAST = {
    "custom-title": ("customTitle", "custom-title"),
    "ai-title": ("aiTitle", "ai-title"),
    "last-prompt": ("lastPrompt", "last-prompt"),
}
_SIDE = {
    "agent-name": ("agentName", "agent_name"),
    "agent-color": ("agentColor", "agent_color"),
    "agent-setting": ("agentSetting", "agent_setting"),
    "tag": ("tag", "tag"),
    "permission-mode": ("permissionMode", "permission_mode"),
    "mode": ("mode", "mode"),
    "worktree-state": ("worktreeSession", "worktree"),
    "bridge-session": ("bridgeSessionId", "bridge_session"),
    "pr-link": ("prUrl", "pull_request"),
}


def read(log: LogFile) -> Facts:
    """Look at a transcript's beginning and end. Raises StoreError."""
    head, tail = head_and_tail(log)
    facts = Facts()
    marks: list[str] = []
    for line in head:
        _look(facts, line, marks)
    facts.marks = frozenset(marks)
    for line in tail:
        _look(facts, line, None)
    return facts


def _look(facts: Facts, line: bytes, marks: list[str] | None) -> None:
    try:
        data = loads_quick(line)
    except JsonError:
        facts.empty = facts.empty and not line.strip()
        return
    facts.empty = False
    if not isinstance(data, dict):
        return
    if facts.named is None:
        facts.named = _text(data.get("sessionId"))
    if is_line(data):
        facts.is_claude, facts.is_foreign = True, False
    elif not facts.is_claude:
        facts.is_foreign = True
    kind = data.get("type")
    if isinstance(kind, str) and kind in _LAST:
        key, name = _LAST[kind]
        if isinstance(data.get(key), str) and data[key].strip():
            facts.titles[name] = data[key]
    elif kind == "summary" and isinstance(data.get("summary"), str):
        facts.summaries.append((str(data.get("leafUuid")), data["summary"]))
    elif isinstance(kind, str) and kind in _SIDE:
        key, name = _SIDE[kind]
        if data.get(key) in (None, ""):
            facts.extra.pop(name, None)
        else:
            facts.extra[name] = data[key]
    elif kind == "queue-operation" and data.get("operation") == "enqueue":
        facts.queued = facts.queued or (None if put_in(data) else typed(data.get("content")))
    elif kind == "relocated" and isinstance(data.get("relocatedCwd"), str):
        facts.extra["relocated"] = data["relocatedCwd"]
    else:
        _look_at_line(facts, kind, data, marks)


def _look_at_line(facts: Facts, kind: Any, data: Mapping[str, Any], marks: list[str] | None) -> None:
    get = data.get
    time = second(get("timestamp"))
    if time is not None:
        facts.started = time if facts.started is None else min(facts.started, time)
        facts.newest = time if facts.newest is None else max(facts.newest, time)
    message = get("message")
    body = message if isinstance(message, dict) else None
    if kind is None and body is not None:
        kind = body.get("role")
    identity = get("uuid")
    first = facts.session is None and (isinstance(identity, str) or body is not None)
    if isinstance(identity, str):
        facts.ids.add(identity)
        if marks is not None and len(identity) == _UUID and len(marks) < _MARKS:
            marks.append(identity)
    if not isinstance(kind, str) or kind not in CHAIN:
        return
    if first:
        facts.is_sidechain = get("isSidechain") is True
        facts.session = _text(get("sessionId")) or facts.session
        facts.agent = _text(get("agentId"))
    forked = get("forkedFrom")
    if facts.forked_from is None and isinstance(forked, dict):
        facts.forked_from = _text(forked.get("sessionId"))
    facts.cwd = facts.cwd or _text(get("cwd"))
    facts.branch = _text(get("gitBranch")) or facts.branch
    version = _text(get("version"))
    if version is not None and version not in facts.versions:
        facts.versions.append(version)
    entrypoint = _text(get("entrypoint"))
    if entrypoint is not None:
        facts.extra.setdefault("entrypoint", entrypoint)
    if kind in ("user", "assistant") and get("isSidechain") is not True:
        facts.has_main = True
    if kind == "assistant" and body is not None:
        facts.talks = True
        model = _text(body.get("model"))
        if model is not None and model != "<synthetic>":
            facts.model = model
        name = _text(body.get("id"))
        if name is not None and marks is not None and len(name) >= _NAME and len(marks) < _MARKS:
            marks.append(name)
    elif kind == "user" and body is not None:
        facts.talks = True
        if facts.prompt is None and marks is not None:
            facts.prompt = _first_prompt(facts, data, body)
    elif kind == "attachment" and facts.prompt is None:
        held = get("attachment")
        if isinstance(held, dict) and held.get("type") == "queued_command":
            facts.talks = True
            facts.prompt = None if put_in(held) or put_in(data) else typed(held.get("prompt")) or None


def _first_prompt(facts: Facts, data: Mapping[str, Any], body: Mapping[str, Any]) -> str | None:
    beside = data.get("isSidechain") is True
    text = prompt_text({**data, "isSidechain": False}) if beside and facts.is_sidechain else prompt_text(data)
    if text:
        return text
    content = body.get("content")
    if facts.command is None and not data.get("isMeta"):
        for block in [content] if isinstance(content, str) else content if isinstance(content, list) else ():
            said = block.get("text") if isinstance(block, dict) else block
            command = command_of(said) if isinstance(said, str) else None
            if command is not None:
                facts.command = command[0]
    return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def title(facts: Facts, summaries: Iterable[str]) -> tuple[str | None, str | None]:
    """Return the title of a session and where it is from, by the precedence that Claude Code has itself."""
    for name in _LAST_NAMES:
        if name in facts.titles:
            return _cut(facts.titles[name]), name
    for summary in reversed(list(summaries)):
        if summary.strip():
            return _cut(summary), "summary"
    if facts.prompt:
        return _cut(facts.prompt), "prompt"
    if facts.command:
        return _cut(facts.command), "command"
    if facts.queued:
        return _cut(facts.queued), "prompt"
    return None, None


_LAST_NAMES = tuple(name for _, name in _LAST.values())


def _cut(text: str) -> str:
    return " ".join(text[: 20 * _TITLE].split())[:_TITLE]
