"""Every rule finds what it is for, leaves what only looks like it, and costs no more on texts made to hurt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from fakes import Fakes, filled

from satchel.errors import UsageError
from satchel.redaction.engine import Engine
from satchel.redaction.matching import rule_matches
from satchel.redaction.names import KINDS
from satchel.redaction.rules import Rule, RuleSet, builtin, parse

BUILTIN = builtin()
BY_ID = {rule.id: rule for rule in BUILTIN.rules}
IDS = Path(__file__).with_name("rule_ids.txt")


@cache
def whole() -> Engine:
    return Engine(BUILTIN)


def found(rule: Rule, text: str) -> list[str]:
    """Return what one rule by itself finds in a text as it stands."""
    folded, out = text.lower(), []
    for literal in dict.fromkeys(literal.lower() for literal in rule.literals):
        starts = [match.start() for match in re.finditer(re.escape(literal), folded)]
        if starts:
            out += [text[span.start : span.end] for span in rule_matches(rule, text, starts, [])]
    return out


def alone(rule: Rule) -> Engine:
    return Engine(RuleSet(rules=(rule,), version="", digest=""))


@pytest.mark.parametrize("id_", BY_ID)
def test_a_rule_finds_its_examples_and_leaves_its_counterexamples(id_: str) -> None:
    rule = BY_ID[id_]
    assert rule.examples
    for example in rule.examples:
        for seed in "ab":
            text = filled(example, seed=seed)
            assert found(rule, text), text
            assert {span.rule for span in whole().find(text)} & {id_, *rule.shared}, text
    for counterexample in rule.counterexamples:
        text = filled(counterexample)
        assert [] == [(s.rule, text[s.start : s.end]) for s in whole().find(text) if s.rule not in KINDS]


@pytest.mark.parametrize("id_", BY_ID)
def test_what_else_finds_an_example_is_said(id_: str) -> None:
    """So that a rule that is dropped, or stops to work, is missed by a test, and no kind is reported under another's name."""
    rule, engine = BY_ID[id_], whole()
    more: set[str] = set()
    for example in rule.examples:
        text = filled(example, seed="a")
        more |= {span.rule for span in engine._look(text, [])}
    assert set() == more - rule.shared - {id_}


def test_no_kind_is_lost_or_renamed() -> None:
    """Placeholders in what is published name kinds: an id is for ever. New ones are added to the list."""
    listed = IDS.read_text("utf-8").split()
    assert sorted(BY_ID) == listed
    assert 250 <= len(listed)


def test_the_examples_hold_no_value_that_looks_like_a_secret() -> None:
    for rule in BUILTIN.rules:
        for example in rule.examples if rule.solid else ():
            assert [] == found(rule, example), example


def _repeats(tree: Any) -> Iterator[tuple[str, int, Any]]:
    """Yield every repeat of a parsed pattern: what it is, how often at most, and what is repeated."""
    for kind, value in tree:
        name = str(kind)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            yield name, int(value[1]), value[2]
        for part in _parts(value):
            yield from _repeats(part)


def _parts(value: Any) -> Iterator[Any]:
    if hasattr(value, "getwidth"):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _parts(item)


@pytest.mark.parametrize("id_", BY_ID)
def test_what_is_repeated_has_a_bound(id_: str) -> None:
    """And of repeats within repeats the outer one gives nothing back, or is short."""
    rule = BY_ID[id_]
    for pattern in filter(None, (rule.pattern, rule.left, rule.each)):
        for kind, most, inner in _repeats(re._parser.parse(pattern.pattern)):  # type: ignore[attr-defined]
            assert most <= 65536, pattern.pattern
            if kind != "POSSESSIVE_REPEAT" and most > 24:
                assert not any(count > 1 for _, count, _ in _repeats(inner)), pattern.pattern


@pytest.mark.parametrize("id_", BY_ID)
def test_a_match_is_not_looked_for_far_from_its_literal(id_: str) -> None:
    rule = BY_ID[id_]
    if rule.left is not None:
        assert re._parser.parse(rule.left.pattern).getwidth()[1] <= 128  # type: ignore[attr-defined]


KEY = Fakes("key").fill("{pem:RSA PRIVATE KEY}").strip().split("\n")
KEY[1:1] = ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF", ""]
LISTINGS = {
    "plain": "a\n" + "\n".join(KEY) + "\nb",
    "windows": "a\r\n" + "\r\n".join(KEY) + "\r\nb",
    "escaped": 'a "' + "\\n".join(KEY) + '\\n" b',
    "escaped-twice": 'a "' + "\\\\n".join(KEY) + '\\\\n" b',
    "numbered": "\n".join(f"{n:6}\t{line}" for n, line in enumerate(KEY, 1)),
    "numbered-by-agents": "\n".join(f"{n:6}\u2192{line}" for n, line in enumerate(KEY, 1)),
    "grep": "\n".join(f"{n}:{line}" for n, line in enumerate(KEY, 1)),
    "grep-files": "\n".join(f"src/a.pem:{n}:{line}" for n, line in enumerate(KEY, 1)),
    "added": "\n".join("+" + line for line in KEY),
    "removed": "\n".join("-" + line for line in KEY),
    "quoted": "\n".join("> " + line for line in KEY),
    "indented": "\n".join("    " + line for line in KEY),
    "comment": "\n".join("# " + line for line in KEY),
    "cut-off": "\n".join(KEY)[:300] + "\nb",
    "one-line": " ".join(KEY) + " b",
    "python": "a = (\n" + "\n".join(f'    "{line}\\n"' for line in KEY) + "\n)\nb",
    "array": "[\n" + "\n".join(f'    "{line}",' for line in KEY) + "\n]\nb",
    "java": "\n".join(f'    "{line}\\n" +' for line in KEY) + '\n    "";',
    "box": "\n".join(f"\u2502 {line:64} \u2502" for line in KEY) + "\nb",
}


@pytest.mark.parametrize("name", LISTINGS)
def test_a_key_is_found_whole_however_its_lines_are_written(name: str) -> None:
    text = LISTINGS[name]
    engine = alone(BY_ID["private-key"])
    spans = engine.find(text)
    left = "".join(text[a:b] for a, b in zip([0, *(s.end for s in spans)], [*(s.start for s in spans), len(text)], strict=True))
    assert ["private-key"] == [span.rule for span in spans]
    assert not re.search(r"[A-Za-z0-9+/]{12}", left.replace("-----END RSA PRIVATE KEY-----", "")), left
    assert text.endswith("b") is False or left.endswith("b")


class TestForm:
    def test_what_a_rule_may_say(self) -> None:
        rules = parse(
            """
            version = "7"
            [[rule]]
            id = "acme-key"
            about = "Keys of Acme"
            literals = ["acme_"]
            pattern = 'acme_[a-z0-9]{16,64}'
            checks = ["real", "digit"]
            examples = ["acme_{ln:20}"]

            [[rule]]
            id = "acme-named"
            literals = ["acme"]
            near = '[0-9a-f]{32}'
            strength = "medium"
            """,
            where="here",
        )
        assert ("7", ["acme-key", "acme-named"]) == (rules.version, sorted(rules.ids))
        engine = Engine(rules)
        text = Fakes("form").fill("see acme_{ln:20}, and the acme token is {hex:32}")
        assert ["acme-key", "acme-named"] == [span.rule for span in engine.find(text)]

    @pytest.mark.parametrize(
        ("entry", "said"),
        [
            ('id = "Bad Id"', "needs an id"),
            ('id = "a"', "needs literals"),
            ('id = "a"\nliterals = ["x"]', "two characters"),
            ('id = "a"\nliterals = [\'a"b\']', "JSON writes in another way"),
            ("id = \"a\"\nliterals = ['a\\\\b']", "JSON writes in another way"),
            ('id = "a"\nliterals = ["a\u00e9"]', "JSON writes in another way"),
            ('id = "a"\nliterals = ["ab"]', "needs a pattern"),
            ('id = "a"\nliterals = ["ab"]\npattern = "("', "pattern that is none"),
            ('id = "a"\nliterals = ["ab"]\npattern = "ab"\nstrength = "very"', "strength"),
            ('id = "a"\nliterals = ["ab"]\npattern = "ab"\ncolour = "red"', "not known: colour"),
            ('id = "a"\nliterals = ["ab"]\npattern = "ab"\nchecks = ["nice"]', "no check"),
        ],
    )
    def test_what_is_wrong_is_said(self, entry: str, said: str) -> None:
        with pytest.raises(UsageError, match=re.escape(said)):
            parse("[[rule]]\n" + entry, where="here")

    def test_a_part_found_again_and_again(self) -> None:
        text = Fakes("each").fill("kind: Secret\ndata:\n  user: {b64:16}\n  key: {b64:24}\n")
        assert [16, 24] == [len(value) for value in found(BY_ID["kubernetes-secret"], text)]

    def test_solid_rules_need_no_context(self) -> None:
        assert BY_ID["github-token"].solid
        assert not any(
            BY_ID[name].solid for name in ("url-password", "curl-user", "private-key", "auth-header", "terraform-token")
        )


@pytest.mark.parametrize(
    "id_",
    [
        "github-token",
        "openai-key",
        "jwt",
        "url-password",
        "private-key",
        "curl-user",
        "seed-phrase",
        "crypt-hash",
        "session-cookie",
    ],
)
def test_a_literal_over_and_over_makes_few_tries(id_: str) -> None:
    """Twice the text, twice the tries at most: work is counted, not timed."""
    rule = BY_ID[id_]
    few, many = _tries(rule, 25_000), _tries(rule, 50_000)
    assert many <= 2.2 * few + 16


def _tries(rule: Rule, size: int) -> int:
    count = 0

    class Counting:
        def match(self, text: str, at: int) -> re.Match[str] | None:
            nonlocal count
            count += 1
            return rule.pattern.match(text, at)

    found(replace(rule, pattern=Counting()), (rule.literals[0] * size)[:size])  # type: ignore[arg-type]
    return count
