"""What `Engine.find` finds in a text, `Engine.opens` says of the text as it is, and of JSON that holds it."""

from __future__ import annotations

import json

import pytest
from disguises import token
from redacting import looked

from satchel.redaction.engine import Engine
from satchel.redaction.rules import builtin

ENGINE = Engine(builtin())
TOKEN = token(1)
SECRET = token(2, head="", length=40)
DIGIT = "0" + SECRET
WIDE = "the value that was set in the console an hour ago, and that nobody has used since"


@pytest.mark.parametrize(
    "text",
    [
        # A value that begins with a digit, or a quote that is not escaped, right behind the blank: never opened, once.
        f"run --client-secret {DIGIT}",
        f"run --client-secret '{SECRET}'",
        f'run --client-secret "{SECRET}"',
        # Quotes that are written by their numbers.
        f"{{\\u0022apiKey\\u0022: \\u0022{SECRET}\\u0022}}",
        f"\\x22apiKey\\x22: \\x22{SECRET}\\x22",
        # Escapes that end in a letter or digit right before the token.
        f"next=to%2520{TOKEN}%2520now",
        f"next=to%252520{TOKEN}",
        f"b'\\x02{TOKEN}'",
        f"'\\0{TOKEN}'",
        f"'\\001{TOKEN}'",
        # Colours whose ESC is lost.
        f"[32m{TOKEN}[0m",
        f"[1;31m{TOKEN}[0m",
        # Few characters only before the line was broken.
        f"set it to {TOKEN[:10]}\\\n{TOKEN[10:]} and restart",
        f"{WIDE} {TOKEN[:6]}\n{TOKEN[6:]} and restart",
        f"{WIDE} {TOKEN[:4]}\r\n{TOKEN[4:]} and restart",
        f"{WIDE} MY_API_KEY={SECRET[:5]}\n{SECRET[5:]}",
        f"{WIDE} MY_API_KEY: {SECRET[:5]}\n{SECRET[5:]}",
    ],
)
def test_what_is_found_is_opened(text: str) -> None:
    found = ENGINE.find(text)

    assert found
    assert all(part not in text[: found[0].start] + text[found[-1].end :] for part in (TOKEN[-20:], SECRET[-20:]))
    assert ENGINE.opens(text.encode())
    assert ENGINE.opens(json.dumps({"content": text}).encode())
    assert ENGINE.opens(json.dumps({"content": json.dumps([text])}).encode())
    assert found == looked(ENGINE, text)


@pytest.mark.parametrize(
    "names", [("INTERNAL_SERVICE_API_KEY", "EXTERNAL_SERVICE_API_KEY"), ("first_service_token", "other_service_token")]
)
@pytest.mark.parametrize("sign", ["=", ":"])
def test_lines_of_equal_width_are_values_of_their_own(names: tuple[str, ...], sign: str) -> None:
    """They were taken for one broken line: one value of two, which was found nowhere else, and a line less."""
    values = [token(seed, head="", length=32) for seed in range(2)]
    text = "\n".join(f"{name}{sign}{value}" for name, value in zip(names, values, strict=True))

    assert values == [text[span.start : span.end] for span in ENGINE.find(text)]


@pytest.mark.parametrize(
    "text",
    [
        "path/%20ghp_helper_functions_for_tests",
        "task[0m-sk-learn",
        f"{WIDE} token=abc\nnothing follows here",
        f"{WIDE} the prefix is ghp_\nAnd the rest of it is random",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert ENGINE.find(text) == []


def test_the_key_of_a_hermes_setting_is_no_secret() -> None:
    """`goal:` and a session's id, under the name `key`, was taken for a key."""
    assert ENGINE.named_value(("key",), "goal:20260115_014845_572b4e") is None
