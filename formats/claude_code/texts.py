"""
Who a text under a person's role is by: typed words, or what Claude Code's program put there.

What a line says of itself goes before what its text looks like: `put_in`. The program marks its texts with tags, or with words it
always begins with (docs/formats/claude-code.md, "Injected text"); typed words may stand behind either.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from satchel.formats.model import Text
from satchel.frozen import maker

__all__ = ["Spoken", "blocked", "command_of", "plain", "put_in", "rejection", "result_parts", "spoken"]

# What a line may say of where its words are from, by key: what of it means that nobody typed them.
_ELSEWHERE = {
    "promptSource": frozenset(["system"]),
    "turnOrigin": frozenset(["task_notification", "peer", "scheduled", "agent", "system"]),
}
_KINDS = frozenset(
    [
        *("agent", "coordinator", "observer", "observer-activity", "peer", "peer-send-message", "projects-relay", "teammate"),
        *("cron", "scheduled", "scheduled-task", "scheduled-trigger", "auto-continuation", "task-notification"),
        *("channel", "plugin", "session-inbox"),
    ]
)
_SAYS = frozenset(["origin", "isMeta", "scheduledTaskId", "commandMode", *_ELSEWHERE])
_TYPED_SOURCES = frozenset(["typed", "queued", "suggestion_accepted"])

# Tags around what the program puts in, whatever stands before or behind them.
_INJECTED = (
    "agent-message",
    "artifact-type-instructions",
    "bash-exit-code",
    "bash-stderr",
    "bash-stdout",
    r"channel(?=\s+source=)",
    "coordinator-relay",
    "cowritten-artifact-html",
    "cross-session-message",
    "fetched-web-content",
    "fork-boilerplate",
    "fork-source",
    "forked-skill-launch",
    "goal",
    "ide_diagnostics",
    "ide_opened_file",
    "ide_selection",
    "local-command-caveat",
    "local-command-stderr",
    "local-command-stdout",
    "new-diagnostics",
    "remote-review",
    "remote-review-progress",
    "scheduled-task",
    "slack-tag-message",
    "system-reminder",
    "task-notification",
    "teammate-message",
    "tick",
)
_HOOK = "[a-z]+(?:-[a-z]+){0,4}-hook"
_OPEN = re.compile(rf"<({'|'.join(_INJECTED)}|{_HOOK})(?:\s[^<>]{{0,400}})?>")

# What is put in under these may stand before typed words, so without its end it is not known to be all of the text.
_BEFORE = frozenset(["channel", "goal", "ide_opened_file", "ide_selection", "system-reminder", "tick"])

# Notices that may have typed words behind them.
_NOTICE = re.compile(
    r"""\[Request\ interrupted\ by\ user[^\]\n]*(?:\]|(?=\n)|\Z)
    |\[Tool\ call\ (?:did\ not\ complete:|interrupted:|result\ not\ in\ this\ copy:|skipped:)[^\]]*(?:\]|\Z)
    |\[Image:\ (?:source:|original)\ [^\n]*
    |Caveat:\ The\ messages\ below\ were\ generated\ by\ the\ user\ while\ running\ local\ commands[^\n]*
    |Another\ Claude\ session\ sent\ a\ message:\s*(?=<cross-session-message)
    |The\ user\ doesn't\ want\ to\ (?:proceed\ with\ this\ tool\ use|take\ this\ action\ right\ now)\.[^\n]*""",
    re.VERBOSE,
)
# Words with which the program begins a message that is all its own.
_HARNESS = (
    "This session is being continued from a previous conversation",
    "Operation stopped by hook:",
    "Stop hook feedback:",
    "Unknown slash command:",
    "[SYSTEM NOTIFICATION",
    "<<autonomous-loop",
    "I hit my usage limit while you were working, but it has reset now",
    "The app was quit while you were working",
)
_TYPED = re.compile(r"<(command-name|command-message|command-args|command-contents|bash-input|user-memory-input)>")


plain = maker(Text)
"""Makes a `Text`."""


class Spoken(NamedTuple):
    """The parts of a text, whether a person typed any of it, whether it is a command, and of what name."""

    parts: list[Text]
    typed: bool
    is_command: bool = False
    command: str | None = None


def put_in(said: Mapping[str, Any]) -> bool:
    """Return whether words under the person's role say of themselves that they were not typed: a task's, or another agent's."""
    if said.keys().isdisjoint(_SAYS):
        return False
    origin = said.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    if (isinstance(kind, str) and kind in _KINDS) or (isinstance(origin, dict) and "senderTaskId" in origin):
        return True
    if said.get("isMeta") or said.get("scheduledTaskId") or said.get("commandMode") == "task-notification":
        return True
    # A turn that a task began may have words in it that a person typed meanwhile.
    if kind == "human" or said.get("promptSource") in _TYPED_SOURCES:
        return False
    return any(isinstance(value := said.get(key), str) and value in values for key, values in _ELSEWHERE.items())


def spoken(text: str) -> Spoken:
    """Split a text under a person's role into what was typed and what the program put in, in order."""
    before: list[Text] = []
    at = 0
    while (end := _end_of_injected(text, at)) > at:
        if not text[end:].strip():
            end = len(text)
        before.append(Text(text[at:end], injected=True))
        at = end
    rest = text[at:]
    if before and not rest:
        return Spoken(before, typed=False)
    command = _command(rest)
    if command is not None:
        shown, name, end = command
        more = spoken(rest[end:]).parts if rest[end:].strip() else []
        return Spoken([*before, Text(shown), *more], typed=True, is_command=True, command=name)
    parts = _without_behind(rest)
    typed = False
    for part in parts:
        typed = typed or not (part.injected or not part.text or part.text.isspace())
    return Spoken(before + parts, typed)


def _end_of_injected(text: str, at: int) -> int:
    """Return where what the program put in there ends; the place itself where it put in nothing."""
    start = _next(text, at)
    if text.startswith(_HARNESS, start):
        return len(text)
    if text.startswith("<", start):
        tag = _OPEN.match(text, start)
        if tag is None:
            return at
        close = text.find(f"</{tag[1]}>", tag.end())
        if close >= 0:
            return close + len(tag[1]) + 3
        return at if tag[1] in _BEFORE else len(text)
    notice = _NOTICE.match(text, start)
    if notice is None:
        return at
    words = rejection(text[start:])
    return start + words[0] if words is not None else notice.end()


def _without_behind(text: str) -> list[Text]:
    """
    Split typed words from what the program put behind them: reminders and hooks' outputs.

    A person may write of such tags, too: in the midst of typed words they are typed.
    """
    if "</" not in text:
        return [plain(text)]
    spans: list[tuple[int, int, str]] = []
    at = 0
    unclosed: set[str] = set()
    while (start := _OPEN.search(text, at)) is not None:
        tag = start[1]
        close = -1 if tag in unclosed else text.find(f"</{tag}>", start.end())
        if close < 0:
            unclosed.add(tag)
            at = start.end()
            continue
        at = close + len(tag) + 3
        spans.append((start.start(), at, tag))
    last = len(text)
    behind: list[Text] = []
    while spans and _is_behind(spans[-1][2]) and not text[spans[-1][1] : last].strip():
        start_at, end_at, _ = spans.pop()
        behind.append(Text(text[start_at:end_at], injected=True))
        last = start_at
    return [Text(text[:last]), *reversed(behind)]


def _is_behind(tag: str) -> bool:
    return tag == "system-reminder" or tag.endswith("-hook")


def command_of(text: str) -> tuple[str, str | None] | None:
    """
    Return what a person typed of a text that holds a command in tags, and its name; None for any other text.

    A slash command is shown as `/name arguments`, a shell command as `!command`, a line for the memory as `#line`.
    """
    found = _command(text)
    return found[:2] if found is not None else None


def _command(text: str) -> tuple[str, str | None, int] | None:
    """Return the same, and where it ends."""
    if not text.startswith(("<command-", "<bash-input>", "<user-memory-input>"), _next(text, 0)):
        return None
    found: dict[str, str] = {}
    at = 0
    while (start := _TYPED.search(text, at)) is not None:
        tag = start[1]
        # Arguments may hold tags themselves: they end where the last of their kind does.
        close = text.rfind(f"</{tag}>", start.end()) if tag == "command-args" else text.find(f"</{tag}>", start.end())
        end = close if close >= 0 else len(text)
        found.setdefault(tag, text[start.end() : end])
        at = end + len(tag) + 3 if close >= 0 else end
    if "bash-input" in found:
        return f"!{found['bash-input']}", None, at
    if "user-memory-input" in found:
        return f"#{found['user-memory-input']}", None, at
    name = (found.get("command-name") or found.get("command-message") or "").strip()
    if not name or "command-name" not in found:
        return None
    name = f"/{name.lstrip('/')}"
    arguments = found.get("command-args", "").strip()
    return f"{name} {arguments}".rstrip(), name, at


# What comes back for a call that the person did not allow, up to the words with which they said why.
_REJECTED = re.compile(
    r"""(?:Error:\s*)?(?:<tool_use_error>)?(?:Error:\s*)?
    (?:The\ user\ doesn't\ want\ to\ (?:proceed\ with\ this\ tool\ use|take\ this\ action\ right\ now)
      |Permission\ for\ this\ tool\ use\ was\ denied)\b
    [^\n]{0,400}?(?:\b[Tt]he\ user\ said:\s*|\bThe\ user\ provided\ the\ following\ reason\ for\ the\ rejection:\s*)""",
    re.VERBOSE,
)
_HINT = "\n\nNote: The user's next message may contain a correction or preference"
_REJECTED_END = "</tool_use_error>"
_REJECTED_START = ("The user doesn't want to ", "Permission for this tool use was denied", "<tool_use_error>", "Error:")
# What the program says there in the person's name.
_FOR_THE_PERSON = ("The user wants to clarify these questions", "The user has indicated they have provided enough answers")


def rejection(text: str) -> tuple[int, int] | None:
    """Return where in what a tool gave back the words stand with which a person said why they did not allow it, from and to."""
    found = _REJECTED.match(text) if text.startswith(_REJECTED_START) else None
    if found is None or text.startswith(_FOR_THE_PERSON, found.end()):
        return None
    end = _last(text, len(text))
    if text.endswith(_REJECTED_END, found.end(), end):
        end -= len(_REJECTED_END)
    hint = text.find(_HINT, found.end(), end)
    end = _last(text, hint if hint >= 0 else end)
    return (found.end(), end) if end > found.end() else None


def blocked(text: Any) -> tuple[str, str] | None:
    """Return what the program says of a prompt that a hook did not let through, up to the prompt, and the prompt."""
    if not isinstance(text, str) or not text.startswith("UserPromptSubmit operation blocked by hook:"):
        return None
    before, mark, prompt = text.partition(_ORIGINAL)
    return (before + mark, prompt) if prompt.strip() else None


_ORIGINAL = "\nOriginal prompt: "


def result_parts(text: str) -> list[Text]:
    """Split a tool's output from the reminders that the program put behind it."""
    last = text[-1:]
    if (last != ">" and not last.isspace()) or not text.endswith(_REMINDED, 0, _last(text, len(text))):
        return [plain(text)]
    reminders: list[Text] = []
    end = len(text)
    while text.endswith(_REMINDED, 0, _last(text, end)) and (start := text.rfind("<system-reminder>", 0, end)) >= 0:
        reminders.append(Text(text[start:end], injected=True))
        end = start
    reminders.reverse()
    return ([Text(text[:end])] if _last(text, end) else []) + reminders


_REMINDED = "</system-reminder>"


def _next(text: str, start: int) -> int:
    """Return where the next thing that is no white space begins."""
    end = len(text)
    while start < end and text[start].isspace():
        start += 1
    return start


def _last(text: str, end: int) -> int:
    """Return where the white space before an index begins."""
    while end and text[end - 1].isspace():
        end -= 1
    return end
