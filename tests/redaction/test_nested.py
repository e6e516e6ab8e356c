"""Strings in JSON, and in the JSON in its strings: each is judged once where it stands, and nothing else changes."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.redaction.media import is_media
from satchel.redaction.nested import FULL, NAMED, NUMBER, STRONG_ONLY, Edit, Sieve, applied, edits
from satchel.redaction.registry import Hit

NEEDLE = "Needle"
NEW = "[REDACTED:needle:0a0a0a]"


def _judge(text: str, names: tuple[str, ...], mode: int) -> list[Hit]:
    hits = []
    if mode in (NAMED, NUMBER, FULL) and any("password" in name for name in names):
        return [Hit(0, len(text), "named", 2, text, "[REDACTED:named:0b0b0b]")]
    at = text.find(NEEDLE)
    while at >= 0 and mode in (FULL, STRONG_ONLY):
        hits.append(Hit(at, at + len(NEEDLE), "needle", 3, NEEDLE, NEW))
        at = text.find(NEEDLE, at + 1)
    return hits


def clean(text: str, **options: Any) -> str:
    return applied(text, edits(text, Sieve(_judge, **options)))


def _values(value: Any) -> Any:
    """Return what a cleaned value has to be, by going through the value itself."""
    if isinstance(value, str):
        return value.replace(NEEDLE, NEW) if len(value) >= 6 else value
    if isinstance(value, list):
        return [_values(item) for item in value]
    return {_values(key): _values(item) for key, item in value.items()} if isinstance(value, dict) else value


def test_keys_and_values_are_cleaned_and_all_else_stays_as_it_was_spelled() -> None:
    text = '\n { "a" : "x Needle\\u00e9\\/ \\ud83d\\ude00 Needle" ,"Needle":[1.0,  "\\n\\"Needle\\\\"], "n": NaN }\t'

    assert clean(text) == text.replace(NEEDLE, NEW)


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("depth", range(6))
def test_json_in_strings_is_opened_and_closed(depth: int, ascii_only: bool) -> None:
    value: Any = {'say "é😀"': "a \\ b \n Needle \t é", "n": [1, 2.50, None]}
    text = json.dumps(value, indent=2, ensure_ascii=ascii_only)
    for _ in range(depth):
        text = json.dumps({"arguments": text, "other": "…"}, ensure_ascii=ascii_only)

    assert clean(text) == text.replace(NEEDLE, NEW)


def test_a_key_that_stands_twice_hides_nothing() -> None:
    assert clean('{"a":"Needle","a":"x"}') == '{"a":"Needle","a":"x"}'.replace(NEEDLE, NEW)


def test_text_that_only_looks_like_json_is_text() -> None:
    assert clean('{"a": Needle}') == '{"a": Needle}'.replace(NEEDLE, NEW)
    assert clean("[1] Needle") == f"[1] {NEW}"


def test_content_with_hermes_mark_is_opened() -> None:
    assert clean(
        '\0json:[{"text":"Needle","password":"ab\\"cd"}]'
    ) == '\0json:[{"text":"Needle","password":"[REDACTED:named:0b0b0b]"}]'.replace(NEEDLE, NEW)


def test_a_number_becomes_a_text_at_any_depth_only_where_its_name_says_so() -> None:
    text = json.dumps({"password": 123456, "count": 123456, "deep": json.dumps({"password": 987654}), "password list": "[13579]"})

    found = json.loads(clean(text))

    assert found["password"] == "[REDACTED:named:0b0b0b]"
    assert found["count"] == 123456
    assert json.loads(found["deep"]) == {"password": "[REDACTED:named:0b0b0b]"}
    assert json.loads(found["password list"]) == ["[REDACTED:named:0b0b0b]"]


def test_names_are_inherited_and_pairs_are_read() -> None:
    value = {
        "password": {"value": "inherited", "all": ["first", "second"]},
        "headers": [{"name": "x-password", "value": "of a pair"}, {"value": "in the other order", "name": "password"}],
        "kind": "other",
    }

    found = json.loads(clean(json.dumps(value)))

    gone = "[REDACTED:named:0b0b0b]"
    assert found["password"] == {"value": gone, "all": [gone, gone]}
    assert [pair["value"] for pair in found["headers"]] == [gone, gone]
    assert found["kind"] == "other"


def test_the_schema_of_a_secret_is_none() -> None:
    text = json.dumps({"properties": {"password": {"type": "string", "description": "what to say at the door"}}})

    assert clean(text) == text


def test_data_of_a_kubernetes_secret_is_judged_as_secrets_wherever_its_kind_stands() -> None:
    seen: list[tuple[tuple[str, ...], str]] = []

    def judge(text: str, names: tuple[str, ...], mode: int) -> Sequence[Hit]:
        seen.append((names, text))
        return ()

    edits(json.dumps({"data": {"wave": "c2FsdA=="}, "stringData": {"reef": "coral"}, "kind": "Secret"}), Sieve(judge))
    edits(json.dumps({"data": {"wave": "c2FsdA=="}, "kind": "ConfigMap"}), Sieve(judge))

    assert [(("secrets", "wave"), "c2FsdA=="), (("secrets", "reef"), "coral")] == [s for s in seen if s[0][:1] == ("secrets",)]


@pytest.mark.parametrize(
    "name", ["uuid", "parentUuid", "tool_use_id", "sessionId", "requestId", "call_id", "sha", "signature", "encrypted_content"]
)
def test_what_other_things_hang_on_is_judged_by_sure_rules_only(name: str) -> None:
    seen: list[int] = []

    def judge(text: str, names: tuple[str, ...], mode: int) -> Sequence[Hit]:
        seen.append(mode)
        return ()

    edits(json.dumps({name: "looks-like-something"}), Sieve(judge, least=18))

    assert seen == [STRONG_ONLY]


def test_keys_that_would_be_the_same_stay_two() -> None:
    text = json.dumps({NEW: 1, NEEDLE: 2, f"{NEEDLE}!": 3})

    found = clean(text)

    assert list(json.loads(found).values()) == [1, 2, 3]
    assert NEEDLE not in found


def _png(extra: bytes = b"") -> str:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    head = chunk(b"IHDR", bytes([0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]))
    data = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0\0" * 30)) + chunk(b"IEND", b"") + extra
    return base64.b64encode(data).decode()


def test_media_is_known_by_place_and_bytes() -> None:
    png = _png()

    assert is_media(png, field=True)
    assert is_media(f"data:image/png;base64,{png}", field=False)
    assert not is_media(png, field=False)
    assert not is_media(_png(b"and a word behind it"), field=True)
    assert not is_media(png.replace("A", " ", 1), field=True)
    assert not is_media(base64.b64encode(b"no picture at all" * 9).decode(), field=True)


def test_media_stays_or_gives_way_to_a_note() -> None:
    text = json.dumps({"source": {"type": "base64", "data": _png()}, "url": f"data:image/png;base64,{_png()}"})

    def judge(text: str, names: tuple[str, ...], mode: int) -> Sequence[Hit]:
        return [Hit(0, 4, "needle", 3, text[:4], NEW)] if len(text) > 40 else ()

    assert edits(text, Sieve(judge)) == []
    note = Hit(0, 1, "media", 2, "", "[omitted]")
    found = json.loads(applied(text, edits(text, Sieve(judge, media=lambda said: note))))
    assert found == {"source": {"type": "base64", "data": "[omitted]"}, "url": "[omitted]"}


def test_a_chunk_of_a_stream_stays_base64() -> None:
    text = json.dumps({"type": "exec_command_output_delta", "chunk": base64.b64encode(b"echo Needle\n").decode()})

    found = json.loads(clean(text))

    assert base64.b64decode(found["chunk"]).decode() == f"echo {NEW}\n"


def test_only_what_stands_in_a_string_is_left_closed_for_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satchel.redaction.nested._LARGEST", 30)
    seen: list[str] = []

    def judge(text: str, names: tuple[str, ...], mode: int) -> Sequence[Hit]:
        seen.append(text)
        return ()

    inner = json.dumps({"some words": "and some more of them"})
    edits(json.dumps({"small text": "not opened", "its inner": inner}), Sieve(judge))

    assert seen == ["small text", "not opened", "its inner", inner]


def test_deep_nesting_needs_no_stack() -> None:
    text = "[" * 900 + '"Needle"' + "]" * 900

    assert clean(text) == text.replace(NEEDLE, NEW)


def test_nothing_shows_a_value() -> None:
    found = edits(json.dumps({"a": NEEDLE}), Sieve(_judge))

    assert isinstance(found[0], Edit)
    assert NEEDLE not in repr(found)


_LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=12), st.just(f"a {NEEDLE}"), st.just(f'{NEEDLE} é\n"\\')
)
_KEYS = st.one_of(st.text(max_size=4), st.just(NEEDLE))
_TREES = st.recursive(
    _LEAVES, lambda below: st.lists(below, max_size=3) | st.dictionaries(_KEYS, below, max_size=3), max_leaves=12
)


@given(_TREES, st.integers(0, 2), st.booleans(), st.sampled_from([None, 1]))
def test_any_json_says_the_same_but_for_what_goes(tree: Any, depth: int, ascii_only: bool, indent: int | None) -> None:
    value: Any = [tree]
    expected: Any = [_values(tree)]
    if json.dumps(value).count(NEEDLE) != json.dumps(value, ensure_ascii=False).count(NEEDLE):
        return
    for _ in range(depth):
        value = [json.dumps(value, ensure_ascii=ascii_only, indent=indent)]
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)

    found = json.loads(clean(text))

    for _ in range(depth):
        found = json.loads(found[0])
    assert found == expected
