"""
What is known of Claude Code's records: types, kinds within them, blocks, keys.

What is not here is drift: read all the same, kept, and counted by `Store.drift`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["BLOCKS", "CHAIN", "KEYS", "SIDE", "SUBTYPES", "TYPES", "unknown"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CHAIN = _words("user assistant system attachment progress")
"""Types of lines that refer to the one before them."""

# By type of a line that refers to no other: its keys.
SIDE: dict[str, frozenset[str]] = {
    kind: _words(keys)
    for kind, keys in {
        "summary": "summary leafUuid timestamp",
        "custom-title": "customTitle",
        "ai-title": "aiTitle",
        "last-prompt": "lastPrompt leafUuid",
        "agent-name": "agentName",
        "agent-color": "agentColor",
        "agent-setting": "agentSetting",
        "tag": "tag",
        "permission-mode": "permissionMode",
        "mode": "mode",
        "pr-link": "prNumber prUrl prRepository timestamp",
        "file-history-snapshot": "messageId isSnapshotUpdate snapshot",
        "queue-operation": "operation content timestamp",
        "worktree-state": "worktreeSession",
        "relocated": "relocatedCwd",
        "bridge-session": "bridgeSessionId lastSequenceNum ownerAccountUuid ownerOrganizationUuid",
        "frame-link": "path frameUrl title timestamp",
        "content-replacement": "replacements uuid timestamp",
        "atis-latch": "atis",
        "agent_metadata": "metadata",
        "started": "key agentId",
        "result": "key agentId result",
    }.items()
}

# Old and foreign lines whose whole is one block.
_BARE = {"tool_use": "name input id message", "tool_result": "name output id tool_use_id content message"}

TYPES = CHAIN | SIDE.keys() | _BARE.keys()

SUBTYPES = _words(
    """local_command stop_hook_summary turn_duration compact_boundary microcompact_boundary api_error away_summary
    informational bridge_status session_start error api_refusal model_refusal_fallback"""
)

ATTACHMENTS = _words(
    """hook_success hook_additional_context hook_system_message hook_blocking_error hook_non_blocking_error hook_cancelled
    deferred_tools_delta mcp_instructions_delta agent_listing_delta skill_listing invoked_skills dynamic_skill
    queued_command file edited_text_file compact_file_reference read_truncation_notice nested_memory diagnostics
    task_reminder todo_reminder task_status plan_mode plan_mode_exit auto_mode ultra_effort_enter ultra_effort_exit
    goal_status command_permissions date_change budget_usd total_tokens_reminder batching_reminder_sent silent_turn_reminder
    companion_intro"""
)

PROGRESS = _words("hook_progress bash_progress agent_progress mcp_progress query_update search_results_received waiting_for_task")

BLOCKS = _words(
    """text image document tool_result tool_use thinking redacted_thinking server_tool_use web_search_tool_result
    web_fetch_tool_result code_execution_tool_result bash_code_execution_tool_result text_editor_code_execution_tool_result
    tool_search_tool_result advisor_tool_result mcp_tool_use mcp_tool_result fallback tool_reference search_result"""
)

_ENVELOPE = _words(
    """type uuid parentUuid logicalParentUuid isSidechain sessionId session_id userType cwd version gitBranch timestamp agentId
    slug entrypoint isMeta teamName agentName sessionKind forkedFrom requestId message"""
)

KEYS: dict[str, frozenset[str]] = {
    "user": _ENVELOPE
    | _words(
        """toolUseResult sourceToolAssistantUUID sourceToolUseID permissionMode thinkingMetadata todos isCompactSummary
    isVisibleInTranscriptOnly planContent imagePasteIds promptId promptSource origin interruptedMessageId toolDenialKind
    toolEndsTurn mcpMeta classifierMetaLines interruptedByShutdown turnCompanion turnOrigin turnPosition scheduledTaskId
    userFeedback"""
    ),
    "assistant": _ENVELOPE
    | _words(
        """isApiErrorMessage error apiErrorStatus errorDetails effort attributionPlugin attributionSkill attributionMcpServer
    attributionMcpTool attributionAgent isAbortedMidStream supersedesUuids costUSD durationMs"""
    ),
    "system": _ENVELOPE
    | _words(
        """subtype content level toolUseID hookCount hookInfos hookErrors preventedContinuation stopReason hasOutput
    hookAdditionalContext durationMs messageCount pendingBackgroundAgentCount compactMetadata microcompactMetadata error
    cause retryInMs retryAttempt maxRetries source url apiRefusalCategory apiRefusalExplanation refusedUserMessageUuid
    retractedMessageUuids direction trigger originalModel fallbackModel scope preventContinuation"""
    ),
    "attachment": _ENVELOPE | {"attachment"},
    "progress": _ENVELOPE | {"data", "toolUseID", "parentToolUseID"},
    **{kind: keys | {"type", "sessionId"} for kind, keys in SIDE.items()},
    **{kind: _ENVELOPE | _words(keys) for kind, keys in _BARE.items()},
}


def unknown(data: dict[str, Any]) -> Iterator[str]:
    """Yield what a line says that is not known: "type:x", "key:type.x", "block:x"."""
    kind = data.get("type")
    if not isinstance(kind, str):
        if not isinstance(data.get("message"), dict):
            yield "type:"
        return
    if kind not in TYPES:
        yield f"type:{kind}"
        return
    for key in data.keys() - KEYS[kind]:
        yield f"key:{kind}.{key}"
    inner, names, label = {
        "system": (data, SUBTYPES, "subtype"),
        "attachment": (data.get("attachment"), ATTACHMENTS, "type"),
        "progress": (data.get("data"), PROGRESS, "type"),
    }.get(kind, (None, frozenset[str](), ""))
    if isinstance(inner, dict):
        within = inner.get(label)
        if isinstance(within, str) and within not in names:
            yield f"type:{kind}/{within}"
    message = data.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else ():
        within = block.get("type") if isinstance(block, dict) else type(block).__name__
        if not isinstance(block, str) and not (isinstance(within, str) and within in BLOCKS):
            yield f"block:{within if isinstance(within, str) else type(within).__name__}"
