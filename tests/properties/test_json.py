"""What holds of all JSON values: nothing is lost in reading and writing, and the canonical form says what a value is."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st
from strategies import any_json, common_json, json_texts, stored_values

from satchel.errors import JsonError
from satchel.jsontext import canonical, dumps, is_plain, loads, loads_common


def _finite(value: Any) -> Any:
    """Return the value with null for what JSON has no number for."""
    if isinstance(value, float) and value - value != 0.0:
        return None
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return {key: _finite(item) for key, item in value.items()} if isinstance(value, dict) else value


def _on_one_line(text: bytes) -> bytes:
    """Return JSON with what some take for the end of a line as escapes."""
    for char in "\x85\u2028\u2029":
        text = text.replace(char.encode(), b"\\u%04x" % ord(char))
    return text


@given(any_json)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert repr(_finite(value)) == repr(loads(dumps(value)))


@given(json_texts)
def test_writing_what_was_read_is_stable(text: str) -> None:
    try:
        value = loads(text)
        once = dumps(value)
    except JsonError:
        return
    assert once == dumps(loads(once))
    once.decode()


@given(json_texts)
def test_both_ways_of_reading_agree_with_the_standard_library(text: str) -> None:
    try:
        expected = json.loads(text)
    except (ValueError, RecursionError):
        return
    assert repr(expected) == repr(loads(text)) == repr(loads(text.encode()))
    with suppress(JsonError):
        assert repr(expected) == repr(loads_common(text))


@given(common_json)
def test_common_json_is_written_as_orjson_writes_it(value: Any) -> None:
    assert is_plain(value)
    assert _on_one_line(orjson.dumps(value)) == dumps(value)
    assert _on_one_line(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)) == canonical(value)


@given(st.dictionaries(st.text(max_size=5), any_json, max_size=6), st.randoms())
def test_the_canonical_form_does_not_depend_on_the_order_of_keys(value: dict[str, Any], random: Any) -> None:
    items = list(value.items())
    random.shuffle(items)
    assert canonical(value) == canonical(dict(items))


@given(any_json)
def test_the_canonical_form_can_be_read_as_json_and_is_its_own(value: Any) -> None:
    written = canonical(value)
    assert written == canonical(loads(written))


@given(stored_values, stored_values)
def test_different_values_have_different_canonical_forms(one: Any, other: Any) -> None:
    assert (repr(one) == repr(other)) is (canonical(one) == canonical(other))
