"""A secret in another encoding is found: by every form it may take, and by what a run of base64 or hex says."""

from __future__ import annotations

import html
import json
import shlex
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from disguises import base64_lines, token
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.redaction.encodings import decoded, decodes_to_text, encoded_literals, run_around, texts_in_base64, variants

_VALUES = st.text(st.sampled_from("abzAZ019-_.+/=~ !\"'\\$&<>%@:;é→😀\n"), min_size=10, max_size=40)


def _json(value: str) -> str:
    return json.dumps(value)[1:-1]


def _json_plain(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]


_ENCODERS: list[Callable[[str], str]] = [
    _json,
    _json_plain,
    lambda value: _json(_json(value)),
    lambda value: _json_plain(_json_plain(value)),
    lambda value: _json(_json(_json(value))),
    lambda value: _json(value).replace("/", "\\/"),
    lambda value: _json_plain(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
    lambda value: quote(value, safe=""),
    quote,
    quote_plus,
    lambda value: quote(quote(value, safe=""), safe=""),
    lambda value: quote(quote_plus(value)),
    lambda value: quote(value, safe="!*'()"),
    html.escape,
    lambda value: html.escape(html.escape(value)),
    lambda value: html.escape(value).replace("&#x27;", "&#39;"),
    lambda value: shlex.quote("'" + value)[6:-1],
    lambda value: value.encode().hex(),
    lambda value: value.encode().hex().upper(),
]


@pytest.mark.parametrize("encoder", range(len(_ENCODERS)))
@settings(max_examples=30)
@given(value=_VALUES)
def test_every_form_of_a_value_is_known(encoder: int, value: str):
    assert _ENCODERS[encoder](value) in variants(value).values()


@given(value=_VALUES, before=st.binary(max_size=7), after=st.binary(max_size=7))
def test_a_value_is_found_in_base64_whatever_stands_around_it(value: str, before: bytes, after: bytes):
    data = before + value.encode() + after
    forms = list(variants(value).values())

    for text in (
        b64encode(data).decode(),
        urlsafe_b64encode(data).decode(),
        quote(b64encode(data).decode(), safe=""),
        b64encode(data).decode().replace("/", "\\/"),
    ):
        assert any(form in text for form in forms)


@given(value=st.text(min_size=1, max_size=30))
def test_forms_are_distinct_and_never_met_by_chance(value: str):
    forms = list(variants(value).values())

    assert value == forms[0]
    assert len(set(forms)) == len(forms)
    assert all(len(form) >= min(len(value), 8) for form in forms)


def test_a_token_of_plain_characters_has_few_forms():
    assert {
        "raw": "ghp_abcdefghij0123456789",
        "quoted-6": "ghp\\_abcdefghij0123456789",
        "base64-0-1": "Z2hwX2FiY2RlZmdoaWowMTIzNDU2Nzg5",
        "base64-1-1": "docF9hYmNkZWZnaGlqMDEyMzQ1Njc4O",
        "base64-2-1": "naHBfYWJjZGVmZ2hpajAxMjM0NTY3OD",
        "hex-1": "6768705f6162636465666768696a30313233343536373839",
        "hex-2": "6768705F6162636465666768696A30313233343536373839",
    } == variants("ghp_abcdefghij0123456789")


def test_of_a_short_value_no_encoded_form_is_looked_for():
    assert {"raw": "abc1234"} == variants("abc1234")


@given(literal=st.text("abzAZ019-_", min_size=4, max_size=9), before=st.binary(max_size=6), seed=st.integers(0, 99))
def test_a_literal_of_four_characters_is_found_at_every_alignment(literal: str, before: bytes, seed: int):
    data = before + literal.encode() + token(seed, head="").encode()
    forms = encoded_literals([literal])

    assert any(form in b64encode(data).decode() and encoding == "base64" for form, (encoding, _) in forms.items())
    assert any(form in urlsafe_b64encode(data).decode() for form in forms)
    assert any(form in data.hex() and encoding == "hex" for form, (encoding, _) in forms.items())
    assert any(form in data.hex().upper() for form in forms)


def test_a_literal_too_short_to_be_told_from_chance_has_no_form():
    assert {} == encoded_literals(["sk-", "r8"])


def _seen(text: str, secret: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return where the runs stand that say the secret, and where in them it stands."""
    found = []
    for form, (encoding, alignment) in encoded_literals(["ghp_"]).items():
        at = text.find(form)
        while at >= 0:
            run = run_around(text, at, at + len(form), encoding, alignment)
            view = decoded(text, *run, encoding, hit=at, alignment=alignment)
            place = -1 if view is None else view.text.find(secret)
            if view is not None and place >= 0:
                found.append((run, (view.start(place), view.end(place + len(secret)))))
            at = text.find(form, at + 1)
    return found


_HEADS = ["", "data: ", 'x = "', "Authorization: Basic ", "TOKEN=", "<b>", "a-b: "]


@given(
    seed=st.integers(0, 2**32),
    before=st.text(st.sampled_from("user:{}\"é→😀 /?>"), max_size=90),
    after=st.text(st.sampled_from("\n ;é?>"), max_size=90),
    head=st.sampled_from(_HEADS),
    url=st.booleans(),
    width=st.sampled_from([0, 0, 60, 64, 76]),
    end=st.sampled_from(["\n", "\r\n", "\n    "]),
)  # fmt: skip
def test_a_secret_in_base64_is_read_and_its_run_is_known(
    seed: int, before: str, after: str, head: str, url: bool, width: int, end: str
):  # fmt: skip
    secret = token(seed)
    data = (before + secret + after).encode()
    encoded = base64_lines((urlsafe_b64encode if url else b64encode)(data).decode(), width, end=end)
    text = f"{head}{encoded}\n\nrest\n"

    run = (len(head), len(head) + len(encoded))
    places = [place for found, place in _seen(text, secret) if found == run]
    assert places
    start, stop = places[0]
    first, last = len(before.encode()) // 3, (len((before + secret).encode()) - 1) // 3 + 1
    bare = "".join(encoded.split())
    assert bare[first * 4 : last * 4] == "".join(text[start:stop].split())


@given(seed=st.integers(0, 2**32), before=st.binary(max_size=20), upper=st.booleans(), width=st.sampled_from([0, 64]))
def test_a_secret_in_hex_is_read_and_its_run_is_known(seed: int, before: bytes, upper: bool, width: int):
    secret = token(seed)
    encoded = (before + secret.encode()).hex()
    encoded = base64_lines(encoded.upper() if upper else encoded, width)
    text = f"key: {encoded};"

    (found,) = {*_seen(text, secret)}
    assert (5, 5 + len(encoded)) == found[0]
    assert secret.encode().hex() == "".join(text[slice(*found[1])].split()).lower()


@pytest.mark.parametrize(
    ("head", "tail"), [("name_", "=="), ("a/b-", "=="), ("x", ""), ("/data/", ""), ("a-b+", ""), ("xyz/-", " z"), ("", "-suffix")]
)
def test_what_is_glued_to_a_run_does_not_hide_it(head: str, tail: str):
    secret = token(5)
    text = head + b64encode(b"user:" + secret.encode()).decode().rstrip("=") + tail

    assert _seen(text, secret)


def test_a_line_of_words_after_a_full_line_is_no_part_of_a_run():
    encoded = b64encode(token(5, length=44).encode()).decode()
    text = f"{encoded}\nHello world"

    assert 64 == len(encoded)
    assert [(0, 64)] == [run for run, _ in _seen(text, token(5, length=44))]


@pytest.mark.parametrize("shape", ["Z2hwX", "naHBf\n", "Z2hwX" + "a" * 59 + "\n", "Z2hwX=", "6768705f", "Z2hwX-+"])
def test_a_run_is_followed_so_far_and_no_farther(shape: str):
    text = shape * (400_000 // len(shape))
    encoding = "hex" if shape[0] == "6" else "base64"
    at = text.index(shape[:5], 200_000)

    start, stop = run_around(text, at, at + 5, encoding)
    view = decoded(text, start, stop, encoding, hit=at)

    assert at - (65 << 10) <= start <= at < stop <= at + (65 << 10)
    assert view is not None
    assert len(view.text) <= stop - start


@pytest.mark.parametrize("value", ["user:pass", "hunter2 é→", token(3), "line one\nline two"])
def test_text_in_base64_and_hex_is_told(value: str):
    data = value.encode()

    assert value == decodes_to_text(b64encode(data).decode())
    assert value == decodes_to_text(urlsafe_b64encode(data).decode().rstrip("="))
    assert value == decodes_to_text(base64_lines(b64encode(data * 1).decode(), 64))
    assert value == decodes_to_text(data.hex())


@pytest.mark.parametrize("run", ["", "abc", "dXNlcg", "dXNlcjpwYXNz=", "hunter2hunter2", "!!!!????", "00" * 16, "//////////8="])
def test_what_says_no_text_is_none(run: str):
    assert decodes_to_text(run) is None


def test_base64_that_says_text_is_told_from_names_paths_and_bytes() -> None:
    said = "DB_PASSWORD=cobalt7-\u00fc\n"
    run = b64encode(said.encode()).decode().rstrip("=")
    other = b64encode(bytes(range(60))).decode()
    raw = f"/usr/share/python/site-packages test_of_a_very_long_name {other} x={run}== {run}".encode()

    found = list(texts_in_base64(raw))

    assert [said, said] == [text for _, _, text in found]
    assert [run, run] == [raw[start:end].decode() for start, end, _ in found]
