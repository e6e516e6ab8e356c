"""
Turns the lines of a rollout into entries: one for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from satchel.contracts import Record
from satchel.formats.codex.events import event_message
from satchel.formats.codex.items import call, image, parts, person_parts, result, thinking
from satchel.formats.codex.known import EVENTS
from satchel.formats.codex.plan import Numbered, Plan, kinds_of
from satchel.formats.codex.shapes import CALLS, OUTPUTS, TOPS, item_type, shape, text_of, time_of, words
from satchel.formats.model import Author, Block, Entry, Message, Note, State, Text, ToolResult
from satchel.frozen import maker

__all__ = ["decode"]

_made, _note, _result = maker(Message), maker(Note), maker(ToolResult)
_NOTHING = Plan()
_HEAVY = ("replacement_history", "replacement_history_metadata", "guardian_history")
"""Keys of a compaction that hold the conversation once more."""
_NOTES = words(
    "compaction compaction_summary context_compaction ghost_snapshot additional_tools configuration_update compaction_trigger"
)


class _Turn:
    """What earlier lines say of later ones."""

    __slots__ = ("agent", "coming", "effort", "failed", "id", "model", "names")

    def __init__(self) -> None:
        self.model: str | None = None
        self.effort: str | None = None
        self.coming: dict[str, Any] | None = None
        """Settings that were changed in a turn, which goes on as it began: they are for the next one."""
        self.id: str | None = None
        self.agent: str | None = None
        """Where this thread stands among the agents."""
        self.names: dict[str, str] = {}
        """Of calls whose outputs are yet to come."""
        self.failed: dict[str, bool] = {}

    def begin(self) -> None:
        """Take up what was set for this turn before it."""
        if self.coming is not None:
            self.context(self.coming)
            self.coming = None

    def context(self, payload: dict[str, Any]) -> None:
        """Take a line on the settings of a turn."""
        mode = payload.get("collaboration_mode")
        settings = mode.get("settings") if isinstance(mode, dict) else None
        chosen = settings if isinstance(settings, dict) else {}
        self.model = text_of(payload.get("model")) or text_of(chosen.get("model")) or self.model
        self.effort = (
            text_of(payload.get("effort")) or text_of(payload.get("reasoning_effort")) or text_of(chosen.get("reasoning_effort"))
        )
        self.id = text_of(payload.get("turn_id")) or self.id


def decode(records: Iterable[Record]) -> Iterator[Entry]:
    """Yield the entry of each record."""
    turn = _Turn()
    for record in records:
        yield _entry(record, turn)


def _entry(record: Record, turn: _Turn) -> Entry:
    data = record.data
    if data is None:
        return _note(kind="damaged", records=(record,))
    kind, payload, _ = shape(data)
    time = time_of(data, payload)
    if kind == "response_item":
        return _item(record, item_type(payload), payload, time, turn)
    if kind == "event_msg":
        return _event(record, payload, time, turn)
    if kind == "turn_context":
        turn.context(payload)
        turn.coming = None
    elif kind == "session_meta":
        turn.agent = text_of(payload.get("agent_path")) or turn.agent
    elif kind == "compacted":
        return _note(kind="compacted", data=_light(payload), time=time, records=(record,))
    elif kind == "inter_agent_communication":
        return _between(record, payload, time, turn)
    elif kind == "captured":
        return _captured(record, payload, time, turn)
    elif kind == "prompt":
        return Message(role="user", author="person", blocks=(Text(payload["text"]),), time=time, records=(record,))
    known = kind if kind in TOPS else "unknown"
    return _note(kind=known, data=payload if known != "unknown" else data, time=time, records=(record,))


def _light(payload: dict[str, Any]) -> dict[str, Any]:
    """Return what a compaction says, but for the conversation that stands before it already."""
    light = {key: value for key, value in payload.items() if key not in _HEAVY}
    history = payload.get("replacement_history")
    if isinstance(history, list):
        light["replacement_history_items"] = len(history)
    return light


def _message(
    record: Record,
    role: str,
    author: Author,
    blocks: list[Block],
    time: float | None,
    turn: _Turn,
    payload: dict[str, Any],
    extra: dict[str, Any] | None = None,
) -> Message:
    plan, at = _plan_of(record)
    state: State = "rewound" if plan.is_rewound(at) else "live"
    said = extra if extra is not None else {}
    get = payload.get
    passed = get("internal_chat_message_metadata_passthrough") or get("metadata")
    id = (text_of(passed.get("turn_id")) if isinstance(passed, dict) else None) or turn.id
    if id is not None:
        said["turn_id"] = id
    if plan.copied and plan.is_copied(at):
        said["copied"] = True
    is_model = author == "model"
    if is_model and turn.effort is not None:
        said["effort"] = turn.effort
    if "phase" in payload and (phase := text_of(get("phase"))) is not None:
        said["phase"] = phase
    if "status" in payload and (status := text_of(get("status"))) is not None:
        said["status"] = status
    return _made(
        role=role,
        author=author,
        blocks=blocks,
        id=text_of(get("id")),
        time=time,
        model=turn.model if is_model else None,
        usage=plan.usage.get(at) if is_model else None,
        state=state,
        records=(record,),
        extra=said,
    )


def _prompter(plan: Plan, at: int) -> Author:
    """Return whose words a prompt is; one that was copied from another session was a person's there."""
    return "person" if plan.is_copied(at) else plan.prompter


def _plan_of(record: Record) -> tuple[Plan, int]:
    key = record.key
    return (key.plan, key.at) if type(key) is Numbered else (_NOTHING, -1)


def _item(record: Record, kind: str, payload: dict[str, Any], time: float | None, turn: _Turn) -> Entry:
    if kind == "message":
        return _spoken(record, payload, time, turn)
    if kind == "reasoning":
        return _message(record, "assistant", "model", thinking(payload), time, turn, payload)
    if kind in CALLS:
        called = call(kind, payload)
        if called.id is not None and kind != "web_search_call":
            turn.names[called.id] = called.name
        blocks: list[Block] = [called]
        if kind == "image_generation_call" and isinstance(payload.get("result"), str) and payload["result"]:
            made = image(payload["result"])
            blocks.append(made if made.data else type(made)("image/png", data=payload["result"]))
        return _message(record, "assistant", "model", blocks, time, turn, payload)
    if kind in OUTPUTS:
        return _output(record, kind, payload, time, turn)
    if kind == "agent_message":
        return _between(record, payload, time, turn)
    known = kind if kind in _NOTES else "unknown"
    return _note(kind=known, data=payload, time=time, records=(record,))


def _spoken(record: Record, payload: dict[str, Any], time: float | None, turn: _Turn) -> Message:
    role = text_of(payload.get("role")) or ""
    content = payload.get("content", payload.get("message"))
    plan, at = _plan_of(record)
    if role == "user":
        blocks, typed = person_parts(content, kinds=kinds_of(payload), injected=at in plan.injected)
        if typed:
            turn.begin()
        return _message(record, role, _prompter(plan, at) if typed else "harness", blocks, time, turn, payload)
    if role in ("developer", "system"):
        return _message(record, role, "harness", parts(content, injected=True), time, turn, payload)
    if role in ("tool", "function"):
        made, failed, ended = result(content)
        id = text_of(payload.get("tool_call_id")) or text_of(payload.get("call_id"))
        name = text_of(payload.get("name"))
        return _message(record, role, "tool", [_result(id, name, made, failed)], time, turn, payload, ended)
    blocks = parts(content)
    function = payload.get("function_call")
    if isinstance(function, dict):
        blocks.append(call("function_call", function))
    calls = payload.get("tool_calls")
    for one in calls if isinstance(calls, list) else ():
        if isinstance(one, dict):
            inner = one.get("function")
            held = call("function_call", {**one, **inner} if isinstance(inner, dict) else one)
            blocks.append(held)
    if role == "assistant" and payload.get("encrypted_content") is not None:
        blocks += thinking({"encrypted_content": payload["encrypted_content"]})
    return _message(record, role or "assistant", "model" if role == "assistant" else "harness", blocks, time, turn, payload)


def _output(record: Record, kind: str, payload: dict[str, Any], time: float | None, turn: _Turn) -> Message:
    given = payload.get("tools") if kind == "tool_search_output" else payload.get("output", payload.get("result"))
    if kind == "tool_search_output" and isinstance(given, list):
        blocks, failed, ended = result({"tools": given})
    else:
        blocks, failed, ended = result(given)
    id = text_of(payload.get("call_id")) or (text_of(payload.get("id")) if kind.startswith("local") else None)
    name = text_of(payload.get("name")) or (turn.names.pop(id, None) if id is not None else None)
    told = turn.failed.pop(id, None) if id is not None else None
    if failed is None:
        failed = told
    return _message(record, "tool", "tool", [_result(id, name, blocks, failed)], time, turn, payload, ended)


def _between(record: Record, payload: dict[str, Any], time: float | None, turn: _Turn) -> Message:
    """What one agent says to another."""
    sender, receiver = payload.get("author"), payload.get("recipient")
    own = sender is not None and sender == (turn.agent or "/root")
    extra = {key: value for key, value in (("from", sender), ("to", receiver)) if value is not None}
    blocks = parts(payload.get("content"), injected=not own)
    if own:
        return _message(record, "assistant", "model", blocks, time, turn, payload, extra)
    return _message(record, "user", "harness", blocks, time, turn, payload, extra)


def _event(record: Record, payload: dict[str, Any], time: float | None, turn: _Turn) -> Entry:
    kind = payload.get("type")
    name = kind if isinstance(kind, str) and kind else "unknown"
    if kind in ("task_started", "turn_started"):
        turn.id = text_of(payload.get("turn_id")) or turn.id
        turn.begin()
    elif kind == "thread_settings_applied" and isinstance(settings := payload.get("thread_settings"), dict):
        turn.coming = settings
        if turn.model is None:
            turn.begin()
    plan, at = _plan_of(record)
    item = payload.get("item") if kind == "item_completed" else None
    _outcome(name, payload, item, turn)
    if at in plan.fallback:
        found = event_message(name, payload, item if isinstance(item, dict) else {})
        if found is not None and found[2]:
            role, author, blocks = found
            if author == "person":
                author = _prompter(plan, at)
            # An event's own id is the call's or the screen's.
            return _message(record, role, author, blocks, time, turn, {"phase": payload.get("phase")}, {"event": name})
    return _note(kind=name if name in EVENTS else "unknown", data=payload, time=time, records=(record,))


def _captured(record: Record, line: dict[str, Any], time: float | None, turn: _Turn) -> Entry:
    from satchel.formats.codex.headless import captured_message, item_of

    plan, at = _plan_of(record)
    found = captured_message(*item_of(line)) if at in plan.fallback else None
    if found is None:
        return _note(kind=line["type"], data=line, time=time, records=(record,))
    role, author, blocks = found
    return _message(record, role, author, blocks, time, turn, {}, {"event": line["type"]})


def _outcome(name: str, payload: dict[str, Any], item: Any, turn: _Turn) -> None:
    """Remember what an event says of how a call ended, which its output may not."""
    id: Any = payload.get("call_id")
    failed: bool | None = None
    if name == "patch_apply_end" and isinstance(payload.get("success"), bool):
        failed = not payload["success"]
    elif name == "exec_command_end" and type(payload.get("exit_code")) is int:
        failed = payload["exit_code"] != 0
    elif name == "mcp_tool_call_end" and isinstance(result := payload.get("result"), dict):
        ok = result.get("Ok")
        failed = "Err" in result or (isinstance(ok, dict) and bool(ok.get("isError", ok.get("is_error"))))
    elif isinstance(item, dict):
        id = item.get("id")
        if type(item.get("exit_code")) is int:
            failed = item["exit_code"] != 0
        elif item.get("type") in ("FileChange", "McpToolCall", "CommandExecution"):
            failed = {"failed": True, "declined": True, "completed": False}.get(str(item.get("status")))
    if failed is not None and isinstance(id, str):
        turn.failed[id] = failed
