"""JSON is read and written exactly, also where orjson by itself would lose something."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from satchel import jsontext
from satchel.errors import JsonError
from satchel.jsontext import RawText, canonical, dumps, is_plain, loads, loads_common

INTEGERS = [0, -1, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**18, 10**19, 10**40, -(10**400)]


@pytest.mark.parametrize("number", INTEGERS)
@pytest.mark.parametrize("around", ["%d", "[%d]", '{"a":{"b":[1,%d,2]}}'])
def test_integers_of_any_size_are_exact(number: int, around: str) -> None:
    text = around % number
    assert json.loads(text) == loads(text) == loads(text.encode())
    assert text.encode() == dumps(loads(text)) == canonical(loads(text))


@pytest.mark.parametrize("parts", [0, 5000])
@pytest.mark.parametrize("number", INTEGERS)
def test_integers_of_any_size_are_exact_in_long_texts(number: int, parts: int) -> None:
    """Of texts that are long, the parts are looked at, unless these are very many."""
    text = json.dumps({"text": "word " * 1000, "parts": [{"n": 0.5}] * parts, "deep": [[{"n": [1.5, number]}]]})
    assert json.loads(text) == loads(text) == loads(text.encode())


@pytest.mark.parametrize("text", ["", "word " * 1000])
def test_digits_in_texts_cost_no_second_parsing(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Ids of many digits stand on very many lines, and each such line was parsed once more, in Python."""
    line = {"id": "1" * 40, "time": 1770000000.5, "text": text, "inner": [{"of": "0000000000000000000000.1"}]}

    def again(data: bytes | str) -> Any:
        raise AssertionError("It is parsed a second time.")

    monkeypatch.setattr(jsontext, "_loads_slow", again)
    assert line == loads(json.dumps(line)) == loads(json.dumps(line).encode())


@pytest.mark.parametrize(
    "text", ["1" * 5000, '"' + "1" * 5000 + '"', '["0000000000000000000000", 0.1000000000000000055511151231257827]']
)
def test_long_runs_of_digits_are_no_trouble_where_they_are_no_integers(text: str) -> None:
    """More than 4,300 digits are an integer that Python refuses; in a string they are just text."""
    if text[0] == "1":
        with pytest.raises(JsonError):
            loads(text)
    else:
        assert json.loads(text) == loads(text)


def test_a_float_with_many_digits_is_the_nearest_one() -> None:
    assert 0.1 == loads("0.1000000000000000055511151231257827")
    assert 1e22 == loads("10000000000000000000000.0")


@pytest.mark.parametrize("text", ['"\\ud83d"', '{"\\ude00":1}', '["a\\ud83db", "\\ud83d\\ude00"]', '"\\ud83d\\n\\u0000\\""'])
def test_lone_surrogates_survive(text: str) -> None:
    value = loads(text)
    assert json.loads(text) == value
    for write in (dumps, canonical):
        written = write(value)
        written.decode()  # Valid UTF-8: the surrogate is an escape.
        assert value == loads(written)
        assert b"\\ud83d" in written or b"\\ude00" in written


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert "😀" == loads('"\\ud83d\\ude00"')
    assert '"😀"'.encode() == dumps("😀")


def test_infinities_and_nan_are_read_and_written_as_null() -> None:
    value = loads("[Infinity, -Infinity, NaN, 1e400]")
    assert ["inf", "-inf", "nan", "inf"] == [repr(item) for item in value]
    assert b"[null,null,null,null]" == dumps(value)
    assert b'[{"$real":"inf"},{"$real":"-inf"},{"$real":"nan"},{"$real":"inf"}]' == canonical(value)


@pytest.mark.parametrize("data", [b'\xef\xbb\xbf{"a":1}', '\ufeff{"a":1}'])
def test_a_byte_order_mark_is_passed_over(data: bytes | str) -> None:
    assert {"a": 1} == loads(data)
    with pytest.raises(JsonError):
        loads_common(data)


@pytest.mark.parametrize("data", [b'"\xff"', b'{"a":"\xed\xa0\xbd"}', b"\xef\xbb\xbf\xef\xbb\xbf1", b'"\xc3', b'"\x00"', b""])
def test_what_is_not_utf8_or_not_json_is_an_error(data: bytes) -> None:
    with pytest.raises(JsonError):
        loads(data)


@pytest.mark.parametrize("text", ["", " ", "{", "[1,]", "{'a':1}", "[1] 2", "01", "+1", "tru", '"\t"', '{"a"}', "\x00"])
def test_broken_text_is_an_error(text: str) -> None:
    with pytest.raises(JsonError):
        loads(text)


def test_of_duplicate_keys_the_last_one_counts_in_every_way_of_reading() -> None:
    assert {"a": 2} == loads('{"a":1,"a":2}')
    assert {"a": 2, "b": 2**70} == loads(f'{{"a":1,"b":{2**70},"a":2}}')


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [10, 253, 254, 255, 300, 800])
def test_deep_nesting_is_written(depth: int) -> None:
    text = b"[" * depth + b"1" + b"]" * depth
    assert text == dumps(_nested(depth)) == canonical(_nested(depth))
    assert text == dumps(loads(text))


@pytest.mark.parametrize("depth", [905, 1020, 5_000])
@pytest.mark.parametrize("write", [dumps, canonical])
def test_what_is_nested_too_deeply_is_an_error_of_ours(write: Callable[[Any], bytes], depth: int) -> None:
    with pytest.raises(JsonError, match="deep"):
        write(_nested(depth))


@pytest.mark.parametrize("write", [dumps, canonical])
def test_nesting_is_an_error_of_ours_also_far_down_the_stack(write: Callable[[Any], bytes]) -> None:
    """The interpreter's own limit may come first; a caller knows nothing of it."""

    def down(steps: int) -> bytes:
        return write(_nested(850)) if steps == 0 else down(steps - 1)

    with pytest.raises(JsonError, match="deep"):
        down(sys.getrecursionlimit() // 2)


@pytest.mark.parametrize("depth", [1_025, 5_000, 100_000])
def test_text_nested_without_end_is_an_error_of_ours(depth: int) -> None:
    with pytest.raises(JsonError):
        loads("[" * depth)


def test_canonical_sorts_by_code_point_and_says_what_json_can_not() -> None:
    value = {"é": 1, "z": 2, "Z": [b"\x00\xff", RawText(b"caf\xe9"), 2**64], "\uffff": 3, "😀": 4, "a": None}
    expected = '{"Z":[{"$b64":"AP8="},{"$text":"Y2Fm6Q=="},18446744073709551616],"a":null,"z":2,"é":1,"\uffff":3,"😀":4}'
    assert expected.encode() == canonical(value)


def test_canonical_takes_surrogates_in_keys_by_their_code_point() -> None:
    assert b'{"\\ud83d":1,"\xef\xbf\xbf":2}' == canonical({"\uffff": 2, "\ud83d": 1})


@pytest.mark.parametrize("write", [dumps, canonical])
@pytest.mark.parametrize("value", [{1: 2}, {None: b""}, {2**70: 1}, [object()], {"a": {1, 2}}])
def test_what_json_has_no_form_for_is_an_error(write: Callable[[Any], bytes], value: Any) -> None:
    with pytest.raises(JsonError):
        write(value)


def test_bytes_are_no_json_but_in_the_canonical_form() -> None:
    for value in (b"", RawText(b"\xff")):
        with pytest.raises(JsonError):
            dumps([value])


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({"a": [1, 1.5, None, True, "x"]}, True),
        ([float("inf")], False),
        ([[{"a": float("nan")}]], False),
        (b"", False),
        (RawText(b"\xff"), False),
        ((1,), False),
    ],
)
def test_plain_is_what_orjson_writes_exactly(value: Any, plain: bool) -> None:
    assert plain is is_plain(value)
    if plain:
        assert orjson.dumps(value, option=orjson.OPT_SORT_KEYS) == canonical(value)


@pytest.mark.parametrize("write", [dumps, canonical])
@pytest.mark.parametrize(
    "text", ["\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", "a\u2028" * 1000, "\x85" + "é" * 5000, "\ud83d\u2028", "é\u2027\u202a"]
)
def test_nobody_takes_a_part_of_a_line_for_its_end(write: Callable[[Any], bytes], text: str) -> None:
    """Python's own `str.splitlines` cuts at eight characters beside the newline."""
    written = write({text: [text]})
    assert 1 == len(written.decode().splitlines())
    assert {text: [text]} == loads(written)


def test_dumps_keeps_the_order_of_keys() -> None:
    assert b'{"b":1,"a":{"d":2,"c":3}}' == dumps({"b": 1, "a": {"d": 2, "c": 3}})


def test_raw_text_is_neither_text_nor_a_blob() -> None:
    raw = RawText(b"caf\xe9")
    assert "caf\ufffd" == str(raw)
    assert raw == RawText(b"caf\xe9") != RawText(b"caf")
    assert raw != b"caf\xe9"
    assert {raw} == {RawText(b"caf\xe9")}
