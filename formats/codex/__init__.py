"""Codex CLI's session logs: rollouts of every age, and its history of prompts."""
