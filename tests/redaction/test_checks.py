"""What tells a secret from what only looks like one."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
from fakes import LETTERS, Fakes
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import UsageError
from satchel.redaction.checks import CHECKS, check, entropy, is_placeholder, is_random

FAKES = Fakes("checks")

SHOWN = """
YOUR_API_KEY <your-api-key> changeme xxxxxxxxxxxxxxxxxxxxxxxx [REDACTED] sk-pro...x234 sk_test_... TODO dummy %GITHUB_TOKEN%
{access_token} ${GITHUB_TOKEN} $GITHUB_TOKEN {{vault_password}} $(cat-x) <password> null None true my-secret-token
test-api-key replace-with-your-token ghp_xxxxxxxxxxxxxxxxxxxx 00000000-0000-0000-0000-000000000000 ******** ••••••••
insert-your-key-here op://vault/item/field 1234567890 abcdefgh12345678 process.env.API_KEY os.getenv('HF_TOKEN') __TOKEN__
!secret #{token} @password@ aaaaaaaaaaaaaaaa [A-Za-z0-9]{36} ghp_[0-9a-z]{36} AKIAIOSFODNN7EXAMPLE example-key not-a-real-key
fake-token deadbeefdeadbeef password123
"""
PLACEHOLDERS = SHOWN.split()


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_what_stands_for_a_secret_is_none(text: str) -> None:
    assert is_placeholder(text)


@pytest.mark.parametrize(
    "text", ["Winter!Thunder3455", "orchid3928!", "hunter2", "correct-horse-battery", "P@ssw0rd!", "s3cr3t-Fjord", "pw{4fj}x9"]
)
def test_a_password_is_no_placeholder(text: str) -> None:
    assert not is_placeholder(text)


@pytest.mark.parametrize("kind", ["an", "b64", "b64u", "hex", "ln", "un", "b58", "b32"])
@pytest.mark.parametrize("size", [16, 24, 40, 64, 200])
def test_a_random_token_is_never_a_placeholder(kind: str, size: int) -> None:
    """Long random text holds words by chance: xxxx, test, key."""
    draw = random.Random(f"{kind}{size}")
    texts = ["".join(draw.choice(LETTERS[kind]) for _ in range(size)) for _ in range(400)]
    assert [] == [text for text in texts if is_placeholder(text)]


@pytest.mark.parametrize("word", ["xxxx", "test", "fake", "todo", "sample", "0000", "1234", "abcd", "your", "dummy"])
def test_a_word_in_a_long_token_makes_no_placeholder(word: str) -> None:
    token = FAKES.text("an", 24)
    assert not is_placeholder(token[:12] + word + token[12:] + FAKES.text("an", 16))


def test_what_documentation_shows_is_a_placeholder() -> None:
    """The list holds digests; these are the values that look like nothing to scanners, or are put together here."""
    shown = [
        "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY",
        "sk_test_" + "4eC39HqLyjWDarjtT1zdp7dc",
        "0x" + "ac0974bec39a17e36ba4a6b4d238ff94" + "4bacb478cbed5efcae784d7bf4f2ff80",
        "JBSWY3DP" + "EHPK3PXP",
        "legal winner thank year wave sausage worth useful legal winner thank yellow",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9l" + "IiwiaWF0IjoxNTE2MjM5MDIyfQ.c2ln",
    ]
    assert [] == [text for text in shown if not is_placeholder(text)]


ORDINARY = """
hub_download spinner-double-bounce-animation getUserByIdentifierAndUpdate package_version_major_minor update-manager-v2
transformersPretrainedModelLoader BATHROOMRENOVATION explainability-toolkit-for-deep-learning-models-v2 config2024
1234567890123 configurationManagementController app-server-1 embeddings_v3_base_en_model
"""


@pytest.mark.parametrize("text", ORDINARY.split())
def test_words_are_not_random(text: str) -> None:
    assert not is_random(text)


@pytest.mark.parametrize(
    ("kind", "size", "share"),
    [("an", 20, 0.02), ("an", 36, 0.001), ("mixed", 34, 0.02), ("hex", 32, 0.002), ("ln", 28, 0.02), ("b64u", 40, 0.002)],
)
def test_random_text_is(kind: str, size: int, share: float) -> None:
    draw = random.Random(kind)
    texts = ["".join(draw.choice(LETTERS[kind]) for _ in range(size)) for _ in range(2000)]
    assert sum(not is_random(text) for text in texts) <= share * len(texts) + 1


def _cases() -> dict[str, tuple[list[str], list[str]]]:
    seed = FAKES.fill("{seed:12}")
    words = seed.split()
    return {
        "base58check": ([FAKES.fill("{wif}")], ["K" + "1" * 51, "0OIl"]),
        "basic": ([FAKES.fill("{basic}")], ["authentication", "dXNlcjpwYXNzd29yZA==", "AAAA"]),
        "bytes": ([FAKES.fill("{bytes:64}"), FAKES.fill("{bytes:32}")], ["[1,2,3]", str(list(range(64))), str([300] * 64)]),
        "decodes": ([FAKES.fill("{basic}")], ["!", "A"]),
        "digit": (["a1"], ["abc", ""]),
        "discord": ([FAKES.fill("{discord}")], ["discord.ext.commands"]),
        "entropy:3.0": (["a1b2c3d4e5"], ["aaaaaaaa", ""]),
        "github": (
            ["ghp_" + FAKES.fill("{crc}"), "ghp_" + FAKES.text("an", 36)],
            ["ghp_onlyWordsAreInHereAndNothingElse", "npm_config"],
        ),
        "hex": (["0xdeadbeef", "00ff"], ["xyz", ""]),
        "iban": (["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"], ["DE88370400440532013000", "DE"]),
        "jwt": ([FAKES.fill("{jwt}")], ["eyJub3RoaW5nIjoxfQ.e30.x", "a.b.c", "eyJ"]),
        "key-block": (
            [FAKES.fill("{pem:PRIVATE KEY}")],
            ["-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----"],
        ),
        "long:4": (["abcd"], ["abc"]),
        "luhn": (["4242 4242 4242 4242", "5555555555554444"], ["4242424242424241", "0000000000000000", "1234"]),
        "mixed": (["aB"], ["ab", "AB", "12"]),
        "no-hex": (["xyz"], ["00ff"]),
        "no-ports": (["a1:b2"], ["3306:3306", "80"]),
        "no-uuid": (["abc"], [FAKES.fill("{uuid}")]),
        "no-words": (["a1b2", FAKES.text("mixed", 40)], ["token", "the_name_of_a_variable"]),
        "otp": (["415278", "123 456"], ["2024", "111111"]),
        "password": (["tangerine9", "x#1"], ["password", "8080", "changeme", "<password>"]),
        "pem": ([FAKES.fill("{b64pem:EC PRIVATE KEY}")], [FAKES.fill("{b64pem:CERTIFICATE}"), "LS0tLS1"]),
        "random": ([FAKES.text("an", 32)], ["the_name_of_a_variable"]),
        "real": ([FAKES.text("an", 32)], ["changeme"]),
        "secretlike": (["Fjord77!", "a-b1"], ["file", "--password", "archive.zip", "/etc/passwd", "NAME"]),
        "seed": ([seed, FAKES.fill("{seed:24}")], [" ".join([*words[1:], words[0], "zoo"]), "test " * 11 + "junk"]),
        "seed-words": ([seed, " ".join(reversed(words))], ["test " * 11 + "junk", "one two three", "abandon " * 11 + "about"]),
        "undocumented": (["abc"], ["JBSWY3DP" + "EHPK3PXP"]),
        "wif": ([FAKES.fill("{wif}")], ["K" + FAKES.text("b58", 51)]),
    }


CASES = _cases()


def test_every_check_has_cases() -> None:
    assert set(CHECKS) == {name.partition(":")[0] for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_a_check_lets_pass_what_it_should(name: str) -> None:
    test: Callable[[str], bool] = check(name)
    good, bad = CASES[name]
    assert ([True] * len(good), [False] * len(bad)) == ([test(text) for text in good], [test(text) for text in bad])


@given(st.text(max_size=200))
def test_no_check_raises(text: str) -> None:
    for name in CASES:
        assert check(name)(text) in (True, False)


@pytest.mark.parametrize(
    "text",
    ["", "\ud800", "\x00" * 50, "=" * 5000, "A" * 100_000, "eyJ" * 30_000, "1," * 30_000, "-----BEGIN " * 9000, "[" * 20_000],
)
def test_no_check_raises_for_odd_or_long_text(text: str) -> None:
    for name in CASES:
        assert check(name)(text) in (True, False)


def test_a_check_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=re.escape("there is no check 'nice'")):
        check("nice")


def test_entropy() -> None:
    assert (0.0, 0.0, 1.0, 2.0) == (entropy(""), entropy("aaaa"), entropy("abab"), entropy("abcd"))
