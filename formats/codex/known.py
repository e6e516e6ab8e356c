"""
What is known of Codex' records: types of lines, items and events, parts, keys.

What is not here is drift: read all the same, kept, and counted by `Store.drift`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from satchel.formats.codex.shapes import CAPTURED_ITEMS, ITEMS, TOPS, item_type, shape, text_of, words

__all__ = ["EVENTS", "KEYS", "PARTS", "THREAD_ITEMS", "unknown"]


EVENTS = words(
    """user_message agent_message agent_reasoning agent_reasoning_raw_content token_count task_started turn_started
    task_complete turn_complete turn_aborted entered_review_mode exited_review_mode context_compacted
    thread_rolled_back thread_goal_updated patch_apply_end mcp_tool_call_end web_search_end image_generation_end
    sub_agent_activity thread_settings_applied item_completed thread_name_updated undo_completed injected_message
    error exec_command_end view_image_tool_call guardian_assessment dynamic_tool_call_request
    dynamic_tool_call_response collab_agent_spawn_end collab_agent_interaction_end collab_waiting_end
    collab_close_end collab_resume_end"""
)

THREAD_ITEMS = words(
    """UserMessage AgentMessage Reasoning Plan CommandExecution FileChange McpToolCall DynamicToolCall CollabAgentToolCall
    SubAgentActivity WebSearch ImageView ImageGeneration Extension HookPrompt FunctionCallOutput EnteredReviewMode
    ExitedReviewMode ContextCompaction Sleep"""
)

PARTS = words("input_text output_text input_image input_audio encrypted_content text summary_text reasoning_text")

_ENVELOPE = words("timestamp ordinal type record_type payload metadata")
_ITEM = words("type id internal_chat_message_metadata_passthrough metadata status timestamp")

# By type of a line: the keys of its payload. Types that are not here change too much.
KEYS: dict[str, frozenset[str]] = {
    kind: words(keys)
    for kind, keys in {
        "session_meta": """id session_id timestamp cwd originator cli_version instructions git source thread_source forked_from_id
            forked_from_ordinal_exclusive parent_thread_id agent_nickname agent_role agent_type agent_path model_provider
            base_instructions dynamic_tools selected_capability_roots memory_mode history_mode history_base
            subagent_history_start_ordinal multi_agent_version context_window runtime_workspace_roots creator_user_id
            creator_account_id""",
        "turn_context": """turn_id root_turn_id cwd workspace_roots current_date timezone approval_policy approvals_reviewer
            sandbox_policy permission_profile active_permission_profile file_system_sandbox_policy network model comp_hash
            personality collaboration_mode multi_agent_mode multi_agent_version realtime_active effort summary user_instructions
            developer_instructions final_output_json_schema truncation_policy disabled_plugin_ids cyber_access_program""",
        "compacted": """message replacement_history replacement_history_metadata guardian_history retained_context
            mcp_resource_origins window_number first_window_id previous_window_id window_id compaction_response_id
            latest_token_usage_record resume_metadata""",
        "world_state": "full state",
        "token_usage_record": """thread_id turn_id session_id root_turn_id response_id usage turn_token_usage
            thread_token_usage""",
        "inter_agent_communication": "author recipient other_recipients content trigger_turn",
        "inter_agent_communication_metadata": "trigger_turn",
    }.items()
}

ITEM_KEYS: dict[str, frozenset[str]] = {
    kind: words(keys) | _ITEM
    for kind, keys in {
        "message": "role content phase end_turn encrypted_content",
        "agent_message": "author recipient content",
        "reasoning": "summary content encrypted_content",
        "function_call": "name namespace arguments call_id encrypted_function_args",
        "function_call_output": "call_id name namespace output",
        "local_shell_call": "call_id action",
        "custom_tool_call": "name namespace input call_id",
        "custom_tool_call_output": "call_id name output",
        "tool_search_call": "call_id execution arguments",
        "tool_search_output": "call_id execution tools",
        "web_search_call": "action",
        "image_generation_call": "revised_prompt result",
        "ghost_snapshot": "ghost_commit",
    }.items()
}
_KNOWN_ITEMS = (
    ITEM_KEYS.keys()
    | words("compaction compaction_summary context_compaction additional_tools configuration_update compaction_trigger")
) & ITEMS


def unknown(data: Any) -> Iterator[str]:
    """Yield what is not known of a line."""
    kind, payload, bare = shape(data)
    if data is None or kind == "prompt":
        return
    if kind == "captured":
        item = payload.get("item")
        held = item.get("type", item.get("item_type")) if isinstance(item, dict) else None
        if held is not None and text_of(held) not in CAPTURED_ITEMS:
            yield f"type:{payload['type']}/{held}"
        return
    if kind not in TOPS:
        yield f"type:{kind}"
        return
    if not bare and isinstance(data, dict):
        yield from (f"key:.{key}" for key in data if key not in _ENVELOPE)
    if kind == "response_item":
        item = item_type(payload)
        if item not in _KNOWN_ITEMS:
            yield f"type:response_item/{item}"
        elif item in ITEM_KEYS:
            yield from (f"key:{item}.{key}" for key in payload if key not in ITEM_KEYS[item] and not (bare and key in _ENVELOPE))
        yield from _parts(payload.get("content"))
        yield from _parts(payload.get("output"))
    elif kind == "event_msg":
        event = text_of(payload.get("type"))
        if event not in EVENTS:
            yield f"type:event_msg/{event}"
        elif (
            event == "item_completed"
            and isinstance(held := payload.get("item"), dict)
            and text_of(held.get("type")) not in THREAD_ITEMS
        ):
            yield f"type:item_completed/{held.get('type')}"
    elif kind in KEYS and not bare:
        yield from (f"key:{kind}.{key}" for key in payload if key not in KEYS[kind])


def _parts(content: Any) -> Iterator[str]:
    if isinstance(content, list):
        for part in content:
            kind = text_of(part.get("type")) if isinstance(part, dict) else None
            if kind not in PARTS:
                yield f"block:{kind}"
