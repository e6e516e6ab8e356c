"""
What a message of a log is in Hermes' record: its rows, which are what people see counted as messages.
"""

from __future__ import annotations

from satchel.formats.model import Block, Message, Text, ToolResult

__all__ = ["parted", "rows"]


def parted(message: Message) -> tuple[list[ToolResult], list[Block], list[Block]]:
    """Return what tools gave back, what was put into a person's message, and what else a message says."""
    results: list[ToolResult] = []
    injected: list[Block] = []
    said: list[Block] = []
    for block in message.blocks:
        if isinstance(block, ToolResult):
            results.append(block)
        elif isinstance(block, Text) and block.injected and message.author == "person":
            injected.append(block)
        else:
            said.append(block)
    return results, injected, said


def rows(message: Message) -> int:
    """Return how many rows a message is: one for each tool result, one for what was put into it, one for what else it says."""
    results, injected, said = parted(message)
    return len(results) + bool(injected) + bool(said or not (results or injected))
