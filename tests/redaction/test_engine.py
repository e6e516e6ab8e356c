"""What the engine finds, and that it does not depend on how it looks: with the library or without, at a record or at a text."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from fakes import filled
from hypothesis import given
from hypothesis import strategies as st
from redacting import looked

from satchel.redaction.crowds import Crowd, repeated_until
from satchel.redaction.engine import Engine
from satchel.redaction.literals import finder
from satchel.redaction.rules import builtin
from satchel.redaction.spans import STRONG

NATIVE, PLAIN = Engine(builtin()), Engine(builtin(), native=False)


def token(seed: str = "") -> str:
    return filled("gh" + "p_{crc}", seed=seed)


def cut(text: str) -> str:
    """Return a text without what is found in it."""
    out, at = [], 0
    for span in NATIVE.find(text):
        out += [text[at : span.start], "#"]
        at = span.end
    return "".join([*out, text[at:]])


ALPHABET = st.text(st.sampled_from("ab_-k\u00e9\u4e2d"), max_size=60)


@given(st.lists(st.text(st.sampled_from("abk_-"), min_size=1, max_size=4), min_size=1, max_size=12, unique=True), ALPHABET)
def test_literals_are_found_alike_with_and_without_the_library(literals: list[str], text: str) -> None:
    native, plain = finder(literals)(text), finder(literals, native=False)(text)
    assert {k: sorted(v) for k, v in native.items()} == {k: sorted(v) for k, v in plain.items()}
    every = {
        number: starts
        for number, literal in enumerate(literals)
        if (starts := [at for at in range(len(text)) if text.startswith(literal, at)])
    }
    assert every == {k: sorted(v) for k, v in plain.items()}


@pytest.mark.parametrize("code", ["\u200b", "\x1b[1m", "\\u002d"])
def test_a_disguised_token_is_found_however_far_it_is_from_another_disguise(code: str) -> None:
    """Of disguises that stand close together one is told; a token in what comes behind it must not be lost for that."""
    secret = token("far")
    hidden = secret[:3] + "\u200b" + secret[3:]
    for distance in (0, 300, 1000, 1023, 1024, 1500, 3000, 4000, 4100, 5200):
        text = f"wo{code}rd " + "a b " * (distance // 4) + f"wo{code}rd " + "c d " * 200 + hidden + "."
        assert [(text.index(hidden), text.index(hidden) + len(hidden))] == [(s.start, s.end) for s in NATIVE.find(text)]


PIECES = st.sampled_from(
    [
        "password: ",
        'api_key = "',
        "token=",
        "\n",
        '"',
        " ",
        "https://u:",
        "@host/",
        "\x1b[31m",
        "%2D",
        "\\n",
        "&quot;",
        "\u200b",
        "é中",
        "x",
        token("a"),
        filled("{an:24}", seed="b"),
        filled("{hex:40}", seed="c"),
        b64encode(token("d").encode()).decode(),
    ]
)


@given(st.lists(PIECES, max_size=14).map("".join))
def test_the_same_is_found_with_and_without_the_library(text: str) -> None:
    assert NATIVE.find(text) == PLAIN.find(text)


@given(st.lists(PIECES, max_size=14).map("".join), st.booleans())
def test_a_record_of_which_a_string_has_a_token_is_opened(text: str, ascii_only: bool) -> None:
    if any(span.strength == STRONG for span in NATIVE.find(text)):
        record = json.dumps({"role": "tool", "content": [{"text": text}]}, ensure_ascii=ascii_only).encode()
        assert NATIVE.opens(record)
        assert NATIVE.opens(text.encode("utf-8", "surrogatepass"))


@given(st.lists(PIECES, max_size=14).map("".join))
def test_what_is_found_in_a_text_is_found_at_the_places_that_a_look_tells(text: str) -> None:
    found = {(span.start, span.end) for span in looked(NATIVE, text)}
    assert all((span.start, span.end) in found for span in NATIVE.find(text) if span.strength == STRONG)


def test_most_records_are_not_opened() -> None:
    for text in (
        '{"sessionId":"9c1e7c0e-1d2f-4f5a-8f4e-0a1b2c3d4e5f","usage":{"input_tokens":1234,"cache_read_input_tokens":9}}',
        "the author of the keyword tokenizer passed all tests",
    ):
        assert not NATIVE.opens(text.encode())


def test_halves_of_surrogate_pairs_do_no_harm() -> None:
    text = f"\ud800 {token()} \udfff"
    assert [token()] == [text[span.start : span.end] for span in NATIVE.find(text)]


def test_spans_count_characters_and_not_bytes() -> None:
    text = f"日本語 é {token()} 中文"
    assert [token()] == [text[span.start : span.end] for span in NATIVE.find(text)]


def test_what_is_redacted_is_left_as_it_is() -> None:
    text = "password: [REDACTED:password:1a2b3c] and token=[REDACTED:token:ffffff]"
    assert [] == NATIVE.find(text)


def test_tokens_on_lines_of_their_own_are_one_each() -> None:
    tokens = [token(str(at)) for at in range(5)]
    text = "\n".join(tokens) + "\n"
    assert tokens == [text[span.start : span.end] for span in NATIVE.find(text)]


def test_a_token_that_a_terminal_broke_goes_whole() -> None:
    value = filled("sk-ant-api03-{b64u:93}AA", seed="wrap")
    text = f"ANTHROPIC_API_KEY={value[:62]}\n{value[62:]}\nNEXT=1\n"
    assert "ANTHROPIC_API_KEY=#\nNEXT=1\n" == cut(text)


@pytest.mark.parametrize("width", [64, 76])
@pytest.mark.parametrize("before", range(40, 64))
def test_a_token_in_base64_goes_wherever_a_line_ends_in_it(width: int, before: int) -> None:
    data = b64encode(b"." * before + token().encode() + b" end").decode()
    text = "\n".join(data[at : at + width] for at in range(0, len(data), width))

    assert "#" == cut(text)
    assert NATIVE.opens(json.dumps({"text": text}).encode())


def test_what_stands_between_windows_is_found_once() -> None:
    value = token()
    text = "x " * ((1 << 19) - 10) + value + " y" * 1000
    assert [value] == [text[span.start : span.end] for span in NATIVE.find(text)]


@pytest.mark.parametrize("word", ["sk-", "password: ", "token=", "://", "ghp_", "eyJ", "key key "])
def test_a_token_behind_a_crowd_of_words_is_found(word: str) -> None:
    text = word * 4000 + "\n" + token() + "\n" + word * 4000
    assert any(token() in text[span.start : span.end] for span in NATIVE.find(text))


def test_what_is_repeated_is_jumped_over() -> None:
    text = "abc" * 10_000 + "end"
    assert 0 == repeated_until(text, 0, 4, reach=10)
    assert 10_000 < repeated_until(text, 0, 3, reach=10) <= 30_000


def test_of_very_many_places_those_that_look_the_same_are_looked_at_once() -> None:
    text = "token " * 1000 + "tokens " * 1000
    crowd = Crowd(text, left=6, right=12)
    looked = []
    past = -1
    for at in [match.start() for match in re.finditer("token", text)]:
        if at >= past and (past := crowd.past(at)) < 0:
            crowd.nothing()
            looked.append(at)

    assert [0, 6, 5994, 6000, 6007] == looked[:5]
    assert len(looked) < 12


def test_a_line_of_words_above_a_broken_token_is_none_of_it() -> None:
    """It was joined with the token's first line, in which no token began then: the second line stayed."""
    secret = token("broken")
    text = f"here is the one that I got from the dashboard\n{secret[:30]}\n{secret[30:]}\nand more"
    assert [(46, 46 + len(secret) + 1)] == [(span.start, span.end) for span in NATIVE.find(text)]


def test_output_is_searched_for_the_surest_tokens() -> None:
    value = token()
    assert ["github-token"] == [rule for _, rule in NATIVE.leaks(f'{{"a":"{value}"}}'.encode())]
    assert [] == list(NATIVE.leaks(b'{"a":"[REDACTED:github-token:1a2b3c] ghp_ hf_hub_download"}'))


def _eval_lines() -> list[dict[str, Any]]:
    shared = os.environ.get("SATCHEL_SHARED")
    path = Path(shared or "../shared") / "data" / "redaction" / "eval-dev.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def test_labelled_lines_are_cleaned_and_innocent_ones_left() -> None:
    lines = _eval_lines()
    if not lines:
        pytest.skip("no labelled lines here")
    missed = [line["id"] for line in lines if any(secret in cut(line["text"]) for secret in line["secrets"])]
    changed = [line["id"] for line in lines if line["benign"] and cut(line["text"]) != line["text"]]
    secret = sum(not line["benign"] for line in lines)

    assert len(missed) <= secret * 0.01
    assert len(changed) <= (len(lines) - secret) * 0.005
    broken = []
    for line in lines:
        text = line["text"]
        if re.match(r"\s*[{\[]", text):
            try:
                json.loads(text)
            except ValueError:
                continue
            try:
                json.loads(cut(text))
            except ValueError:
                broken.append(line["id"])
    assert [] == broken
