"""The original files of sessions that come from logs."""
