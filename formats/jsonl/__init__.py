"""
JSON Lines, one session a line: Hermes' own export record, with what it leaves out beside it under the key `satchel`.

The layout is docs/formats/jsonl.md.
"""
