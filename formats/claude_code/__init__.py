"""Claude Code's session logs: project trees of JSON Lines."""
