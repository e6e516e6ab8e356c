"""
A session's structure without any of its text: who spoke when, through which tools, at what cost, and how much; not what.

Nothing is searched for. What may stay is listed: numbers, times, flags, and strings that a format itself has (roles, types,
names of models and tools, ids), each only where the format has it, and only in a form that no text has. Every other string
gives way to `[text:128]`, 128 being the next power of two that is not below its length. So an unknown key, or a new version of
a format, can cost a part of the structure and never shows a text.

Inside the arguments and results of tools nothing stays but the shape: keys become `k1`, `k2`, numbers 0.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from satchel import jsontext
from satchel.contracts import Record
from satchel.errors import JsonError
from satchel.jsontext import RawText
from satchel.redaction.commonplace import words

__all__ = ["Skeleton"]

_DEPTH = 200

_IDS = words(
    """
    id uuid parentUuid sessionId session_id messageId requestId toolUseID tool_use_id parentToolUseID leafUuid logicalParentUuid
    sourceToolAssistantUUID sourceToolUseID agentId promptId anchorUuid source_uuid requestID session_key chat_id user_id
    thread_id parent_session_id tool_call_id call_id platform_message_id turn_id response_id item_id delegation_id
    origin_session hash key origin_ui_session_id parent_id interruptedMessageId refusedUserMessageUuid parent_thread_id
    forked_from_id conversation_id
    """
)
_WORDS = words(
    """
    type role subtype level status state kind phase stop_reason stopReason finish_reason end_reason source author userType
    entrypoint service_tier speed inference_geo permissionMode operation hookEvent trigger effort mode chat_type
    billing_provider billing_mode cost_status cost_source effect_disposition handoff_state handoff_platform delivery_state
    display_kind model_provider originator approval_policy sandbox_mode summary_mode reasoning_effort media_type mime_type
    format agent dialect lineage promptSource direction tool_name toolName collaboration_mode_kind plan_type limit_name
    thread_source
    """
)
_TOOLS = frozenset(["tool_use", "server_tool_use", "mcp_tool_use", "function", "function_call", "custom_tool_call", "tool_call"])
"""Types of what has a tool's name as its `name`; of anything else a name may be a person's or a file's."""
_MODELS = frozenset(["model", "originalModel", "fallbackModel", "model_slug"])
_VERSIONS = frozenset(["version", "cli_version", "pricing_version", "schema_version"])
_STRUCTURES = words(
    """
    message content usage payload info total_token_usage last_token_usage rate_limits primary secondary credits cache_creation
    server_tool_use iterations tool_calls function messages session reasoning_details codex_reasoning_items codex_message_items
    compactMetadata summary model_config source git sessions items reasoning turn_context blocks
    """
)
_IN_TEXT = frozenset(["tool_calls", "reasoning_details", "codex_reasoning_items", "codex_message_items", "model_config"])
"""Strings of these keys are taken apart where they are JSON; `arguments` too, as what tools get; `content` where it is marked."""
_PREFIX = "\0json:"

_MACHINE_ID = re.compile(
    r"""(?x)
      [0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}                        # UUID
    | \d{1,20} | \d{8}[_T-]\d{6}(?:[_-][0-9a-f]{4,12})?                           # number, time with a suffix
    | (?:toolu|call|msg|req|resp|rs|fc|ctc|run|srvtoolu|chatcmpl|item|turn|ws|cmpl)[_-][A-Za-z0-9]{8,64}
    | [0-9a-f]{6,8} | [0-7][0-9A-HJKMNP-TV-Z]{25}                                 # short hex, ULID
    """
)
_WORD = re.compile(r"[A-Za-z]{1,24}(?:[_/:-][A-Za-z]{1,24}){0,5}\d{0,2}")
_MODEL = re.compile(
    r"(?:(?:anthropic|openai|google|meta-llama|mistralai|qwen|deepseek|x-ai|moonshotai|z-ai|nousresearch|openrouter)/)?"
    r"(?:claude|gpt|chatgpt|o[1-9]|codex|gemini|gemma|llama|qwen|qwq|mistral|mixtral|codestral|devstral|deepseek|grok|kimi|glm|hermes|phi"
    r"|command|nova|sonnet|opus|haiku|minimax|yi|nemotron)(?:[0-9]{1,2}(?:\.\d{1,2})?[a-z]?)?"
    r"(?:[-_.:@](?:[a-z]{1,14}|v?\d{1,3}[bkmx]?|\d{1,2}[a-z]{1,4}|20\d{6}|\d{4})){0,9}",
    re.IGNORECASE,
)
_VERSION = re.compile(r"v?\d{1,5}(?:\.\d{1,5}){0,4}(?:-(?:alpha|beta|rc|dev)(?:\.?\d{1,4})?)?")
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?")
_KEY = re.compile(r"[A-Za-z_$]{1,48}\d?|[a-z]{1,24}_\d{1,2}[a-z]{0,2}(?:_[a-z]{1,16}){0,4}")
_FILE = re.compile(r"(?!/)((?:[^/\0]{1,255}/){0,12})([^/\0]{1,255}?)((?:\.(?:jsonl|json|zst|gz|txt|md|log)){1,2})")
"""The name of a file below a store: it keeps its folders apart, and its ending."""
_FOLDERS = words(
    "projects sessions archived_sessions subagents tool-results todos transcripts history session_index saved pending_messages"
)
_LOG = re.compile(
    r"(?:rollout|session|agent|request_dump|api)[_-](?:\d{4}-\d\d-\d\dT?[\d-]{0,9}-?)?(?:[0-9a-f-]{6,36}|\d{8}_\d{6}_[0-9a-f]{4,12})"
)
_STANDS = re.compile(r"\[(?:text|data):\d+\]|(?:id|tool|key)-[0-9a-f]{12}|k\d{1,6}")
_SAID = words(
    """
    hermes claude codex legacy jsonl native cli telegram discord slack whatsapp signal matrix email webhook cron api gateway
    desktop web ide vscode tui acp main user assistant system tool developer continuation delegate branch reset child dm group
    channel
    """
)
"""Strings that stay wherever they stand outside of a conversation: agents, formats, sources, kinds of parents."""


class Skeleton:
    """
    A redactor (`satchel.contracts.Redactor`) that leaves the structure only. It learns nothing, so one pass is like the other.

    Args:
        tag: Gives the tag of a value (`TagKey.tag`): ids that a person may have made up become `id-…`, equal ones the same.
        digest: Of the policy in force; by default that of this module's own rules.
    """

    def __init__(self, tag: Callable[[str], str], *, digest: str = "") -> None:
        self._tag = tag
        self.digest = digest or hashlib.sha256(b"satchel skeleton 1").hexdigest()

    def begin(self) -> None:
        """Do nothing: there is nothing to forget."""

    def learn(self, records: Iterable[Record], /) -> None:
        """Do nothing: there is nothing to learn."""

    def apply(self, records: Iterable[Record], /) -> Iterator[Record]:
        """Yield the skeletons of records."""
        for record in records:
            key = self.text(record.key) if isinstance(record.key, str) else record.key
            if record.data is None:
                raw = None if record.raw is None else _stand_in(len(record.raw), "data").encode()
                yield Record(record.kind, key, None, raw)
            else:
                yield Record(record.kind, key, self.value(record.data), None, record.plain)

    def text(self, text: str, /) -> str:
        """Return what stands for a text outside the records: ids, models, sources and times stay, all else gives way."""
        if not text or text in _SAID or _STANDS.fullmatch(text) or _MACHINE_ID.fullmatch(text) or _TIME.fullmatch(text):
            return text
        name = _FILE.fullmatch(text)
        if name is not None:
            return "/".join([*map(self._part, name[1].split("/")[:-1]), self._part(name[2]) + name[3]])
        return text if _is_model(text) else self._named("id", text)

    def _part(self, part: str) -> str:
        """Return a part of a file's name: the folders and prefixes that agents use stay."""
        return part if not part or part in _FOLDERS or part.isdigit() or _LOG.fullmatch(part) else self.text(part)

    def clean(self, text: str, /) -> str:
        """Return what stands for a loose text."""
        return self.text(text)

    def enter(self, session_id: str, /) -> None:
        """Do nothing: every session is like the others."""

    def identifier(self, text: str, /) -> str:
        """Return what stands for an id, the same as in the records."""
        return self.text(text)

    def counts(self, session_id: str, /) -> Mapping[str, int]:
        """Return nothing: nothing is searched for, so nothing is found."""
        return {}

    def file(self, lines: Iterable[bytes], /, *, whole: bool) -> Iterator[bytes]:
        """Yield the skeleton of a file: JSON stays JSON, whatever is none gives way."""
        for line in [b"".join(lines)] if whole else lines:
            body = line.strip(b" \t\r\n\xef\xbb\xbf")
            try:
                shape = jsontext.dumps(self.value(jsontext.loads(body))) if body else b""
            except JsonError:
                shape = _stand_in(len(body), "data").encode()
            yield shape + (b"\n" if line.endswith(b"\n") else b"")

    def value(self, value: Any) -> Any:
        """Return the skeleton of parsed JSON, or of a row."""
        return self._structure("", value, 0)

    # ------------------------------------------------------------------------------------------------------- walking

    def _structure(self, key: str, value: Any, depth: int) -> Any:
        kind = type(value)
        if value is None or kind is bool or kind is int or kind is float:
            return value
        if depth > _DEPTH:
            return None
        if kind is dict:
            keys = _Keys()
            named = (
                value.get("type") in _TOOLS
                if isinstance(value.get("type"), str)
                else key == "function" or "tool_call_id" in value
            )
            return {
                keys.free(self._key(name)): self._tool(item) if named and name == "name" else self._item(name, item, depth + 1)
                for name, item in value.items()
            }
        if kind is list:
            return [self._item(key, item, depth + 1) if isinstance(item, dict | list) else self._leaf("", item) for item in value]
        return self._leaf(key, value)

    def _item(self, name: str, item: Any, depth: int) -> Any:
        if isinstance(item, dict | list) and name not in _STRUCTURES and name:
            return _shape(item, depth)
        return self._structure(name, item, depth)

    def _tool(self, name: Any) -> Any:
        return self._string("tool_name", name) if isinstance(name, str) else _shape(name, 0)

    def _leaf(self, key: str, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, bytes):
            return _stand_in(len(value), "data").encode()
        if isinstance(value, RawText):
            return _stand_in(len(value.data), "data")
        return self._string(key, value) if isinstance(value, str) else None

    def _string(self, key: str, text: str) -> str:
        if not text or _STANDS.fullmatch(text):
            return text
        if _TIME.fullmatch(text):
            return text
        if key in _IDS:
            return self.text(text)
        if key in _WORDS:
            if text.startswith("mcp__") and key in ("tool_name", "toolName"):
                return self._named("tool", text)  # It says which servers are there.
            if _WORD.fullmatch(text) and len(text) <= 48:
                return text
        if key in _MODELS and _is_model(text):
            return text
        if key in _VERSIONS and _VERSION.fullmatch(text):
            return text
        if key in _IN_TEXT or key == "arguments" or (key == "content" and text.startswith(_PREFIX)):
            opened = _opened(text)
            if opened is not None:
                prefix, value = opened
                inner = _shape(value, 0) if key == "arguments" else self._structure(key, value, 0)
                return prefix + jsontext.dumps(inner).decode()
        return _stand_in(len(text))

    def _key(self, name: str) -> str:
        if not isinstance(name, str) or _STANDS.fullmatch(name):
            return name
        known = name in _IDS or name in _WORDS or name in _STRUCTURES or name in _MODELS or name in _VERSIONS or name in _IN_TEXT
        return name if known or _is_name(name) else self._named("key", name)

    def _named(self, what: str, value: str) -> str:
        # Two tags: a store holds more ids than one of 24 bits tells apart.
        return f"{what}-{self._tag(value)}{self._tag(chr(0) + value)}"


class _Keys:
    """Keeps the keys of an object apart, should two become the same."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def free(self, key: str) -> str:
        name, number = key, 1
        while name in self._taken:
            number += 1
            name = f"{key}-{number}"
        self._taken.add(name)
        return name


def _stand_in(length: int, what: str = "text") -> str:
    return f"[{what}:{1 << max(0, length - 1).bit_length()}]"


def _shape(value: Any, depth: int) -> Any:
    """Return the shape of a tool's argument or result: nothing in it is the format's own."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        return value if not value or _STANDS.fullmatch(value) else _stand_in(len(value))
    if isinstance(value, int):
        return 0
    if isinstance(value, float):
        return 0.0
    if depth > _DEPTH:
        return None
    if isinstance(value, dict):
        return {f"k{number}": _shape(item, depth + 1) for number, item in enumerate(value.values(), 1)}
    if isinstance(value, list):
        return [_shape(item, depth + 1) for item in value]
    return _stand_in(len(value) if isinstance(value, bytes) else 1, "data")


def _opened(text: str) -> tuple[str, Any] | None:
    """Return the JSON that a text is, with the mark before it, if it is an object or a list."""
    prefix = _PREFIX if text.startswith(_PREFIX) else ""
    if text[len(prefix) :].lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = jsontext.loads(text[len(prefix) :])
    except JsonError:
        return None
    return (prefix, value) if isinstance(value, dict | list) else None


def _is_model(text: str) -> bool:
    return len(text) <= 64 and _MODEL.fullmatch(text) is not None


def _is_name(name: str) -> bool:
    """Return whether a key is a word as formats use them: `backupTime`, `is_error`; not what was drawn by lot."""
    if not _KEY.fullmatch(name):
        return False
    turns = sum(a.islower() != b.islower() for a, b in pairwise(name))
    return turns <= 10
