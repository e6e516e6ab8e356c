"""Hypothesis strategies for what a store or an export may hold."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from satchel.contracts import Record
from satchel.formats.hermes_rows import JSON_PREFIX
from satchel.jsontext import RawText

__all__ = [
    "any_json",
    "common_json",
    "contents",
    "json_texts",
    "message_rows",
    "raw_texts",
    "record",
    "session_rows",
    "spelled",
    "stored_values",
    "texts",
    "tool_calls",
]

COLUMNS = (
    "_compressed_summary",
    "active",
    "api_content",
    "compacted",
    "content",
    "display_identity",
    "finish_reason",
    "id",
    "observed",
    "reasoning",
    "reasoning_details",
    "role",
    "session_id",
    "timestamp",
    "token_count",
    "tool_call_id",
    "tool_calls",
    "tool_name",
)

texts: SearchStrategy[str] = st.text(max_size=30) | st.sampled_from(
    [
        "",
        " ",
        "\0",
        "before\0after",
        "\ufeffx",
        "\u2028",
        "\x7f\x85",
        "👩‍💻",
        "満潮",
        "\t\r\n",
        '"id":',
        '","id":7}',
        JSON_PREFIX,
        "1" * 40,
    ]
)
"""Text as SQLite can hold it: no lone surrogates."""

_surrogates: SearchStrategy[str] = st.text(
    st.characters(categories=["Cs", "Lu", "So"], include_characters='\ud83d\ude00"\\'), max_size=8
).map(lambda text: text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass"))
"""With lone surrogates; two that make a pair are the character they stand for, as JSON has no other way to say them."""


def _is_broken(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


raw_texts: SearchStrategy[RawText] = (
    (st.binary(min_size=1, max_size=12) | st.sampled_from([b"caf\xe9", b"\xed\xa0\xbd", b"\xff\xfe", "満".encode()[:-1]]))
    .filter(_is_broken)
    .map(RawText)
)
"""Text that is not valid UTF-8."""

_common_scalars: SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False) | texts
)
_any_scalars: SearchStrategy[Any] = (
    _common_scalars
    | st.integers(-(2**200), 2**200)
    | st.sampled_from([2**63, 2**64, -(2**63) - 1, 10**18, 10**19, float("inf"), float("-inf"), -0.0, 1e300, 5e-324])
    | _surrogates
)
_keys = st.sampled_from(["id", "name", "type", "text", "$b64", "$str", "$text", "é", "\0"]) | texts


def _nested(scalars: SearchStrategy[Any], keys: SearchStrategy[str]) -> SearchStrategy[Any]:
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
    )


common_json: SearchStrategy[Any] = _nested(_common_scalars, _keys)
"""Values that every JSON library understands the same way."""

any_json: SearchStrategy[Any] = _nested(_any_scalars, _keys | _surrogates)
"""Values with wide integers, infinities and lone surrogates too, in keys as well."""

_deep = st.sampled_from([10, 150, 249, 250, 251, 300, 990, 1500]).map(lambda n: "[" * n + "1" + "]" * n)


def _spelled(value: Any, separators: tuple[str, str], ascii_only: bool) -> str:
    text = json.dumps(value, separators=separators, ensure_ascii=ascii_only)
    # A column can't hold a lone surrogate but as an escape.
    return text if ascii_only else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


json_texts: SearchStrategy[str] = (
    any_json.map(json.dumps)
    | st.builds(_spelled, any_json, st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")]), st.booleans())
    | _deep
    | st.sampled_from(
        [
            "",
            "null",
            "NaN",
            "[NaN, Infinity]",
            "1.10",
            "1E5",
            "[1e400]",
            '"\\ud83d"',
            '{"a": 1, "a": 2}',
            '{"$b64": "AA=="}',
            '{"$str": "x"}',
            '[{"$b64": "AA=="}]',
            "[1,]",
            "{broken",
            "[] trailing",
            '"\\u0000"',
            '"\x01"',
        ]
    )
)
"""Texts that are JSON of every kind and spelling, or nearly."""

tool_calls: SearchStrategy[Any] = (
    st.none()
    | json_texts
    | st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "id": texts | st.none(),
                "type": st.just("function"),
                "function": st.fixed_dictionaries(
                    {"name": texts | st.none() | st.just("terminal")},
                    optional={"arguments": texts | any_json.map(json.dumps) | any_json},
                ),
                "name": texts,
                "arguments": any_json,
            },
        ),
        max_size=3,
    ).map(json.dumps)
    | any_json.map(json.dumps).map(json.dumps)
)
"""A column of tool calls: every shape it is known to have, also encoded twice."""

contents: SearchStrategy[Any] = (
    st.none()
    | texts
    | json_texts.map(lambda text: JSON_PREFIX + text)
    | st.lists(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["text", "input_text", "image_url", "image", "input_audio", "hologram"])},
            optional={"text": texts, "image_url": texts | st.dictionaries(st.just("url"), texts), "source": common_json},
        )
        | texts,
        max_size=3,
    ).map(lambda parts: JSON_PREFIX + json.dumps(parts))
)
"""A column of content: text, or JSON behind its mark."""

stored_values: SearchStrategy[Any] = (
    st.none() | texts | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.binary(max_size=12) | raw_texts
)
"""Any value that a column can hold; SQLite has no NaN."""

_flags = st.sampled_from([0, 1, None, 2, "yes", "", b"", 0.0])


@st.composite
def message_rows(draw: st.DrawFn) -> dict[str, Any]:
    """Return a row of `messages` as a store has it: some of the columns, values of every kind, its id last."""
    row: dict[str, Any] = {}
    for column in COLUMNS:
        if column in ("id", "role") or draw(st.integers(0, 3)):
            row[column] = draw(_columns.get(column, texts | stored_values))
    row["id"] = row.pop("id")
    return row


_columns: dict[str, SearchStrategy[Any]] = {
    "id": st.integers(-(2**63), 2**63 - 1),
    "role": st.sampled_from(["user", "assistant", "tool", "system", "session_meta", ""]) | stored_values,
    "content": contents | stored_values,
    "tool_calls": tool_calls | stored_values,
    "active": _flags,
    "compacted": _flags,
    "observed": _flags,
    "timestamp": st.floats(allow_nan=False) | stored_values,
    "session_id": texts,
}


@st.composite
def session_rows(draw: st.DrawFn) -> dict[str, Any]:
    """Return a row of `sessions`: its id and some columns, among them unknown ones and names that an export's line reserves."""
    names = [
        "source",
        "title",
        "started_at",
        "ended_at",
        "model_config",
        "message_count",
        "system_prompt",
        "aura",
        "messages",
        "satchel",
    ]
    names += ["last_active", "parent_session_id", "a/b", "a~b"]
    chosen = draw(st.lists(st.sampled_from(names), unique=True))
    return {"id": draw(texts.filter(bool))} | {name: draw(stored_values) for name in sorted(chosen)}


def record(row: dict[str, Any], *, kind: str = "messages") -> Record:
    """Return a record of the row, its columns in a reader's order, with the reader's promise about it where it holds."""
    last = {"id": row["id"]} if "id" in row else {}
    row = {name: row[name] for name in sorted(row) if name != "id"} | last
    plain = kind == "messages" and not any(isinstance(value, float) and value - value != 0.0 for value in row.values())
    return Record(kind, row.get("id"), row, None, plain)


def spelled(row: dict[str, Any]) -> dict[str, str]:
    """Return a row so that equal means equal in type too: 1 is not 1.0 nor True, and 0.0 is not -0.0."""
    return {name: repr(value) for name, value in row.items()}
