"""
Values under a name: whether what stands there looks like a secret, which most of what stands under such names does not.
"""

from __future__ import annotations

import re

from satchel.redaction.checks import entropy, is_documented, is_placeholder
from satchel.redaction.commonplace import words
from satchel.redaction.names import SPLIT, Class, Name
from satchel.redaction.spans import MEDIUM, STRONG, Span

__all__ = ["drawn", "scrambled", "secret_in", "trimmed", "turns"]

_NOTHING = words(
    "true false null none nil undefined yes no on off string str number int integer boolean bool object array any unknown "
    "void never bytes text char float double optional required enabled disabled default auto password passwd secret token "
    "key apikey api_key username user admin root guest test testing demo value values hidden masked encrypted missing empty "
    "invalid expired basic bearer digest oauth oauth2 jwt hmac rsa aes sha256 sha512 md5 public private local stdin prompt "
    "env file vault keychain keyring"
)
_COMMON = re.compile(
    r"(?i)(?:pass(?:word|wd)?|secret|token|test|testing|example|demo|sample|change_?me|my_?pass(?:word)?|p@ssw[o0]rd|fake|foo(?:bar)?|bar|baz|s3cr[e3]t)[\W_]?\d{0,4}!?"
)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEX = re.compile(r"[0-9a-fA-F]{16,}")
_PATH = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.@~+-]{1,64}(?:[/\\][\w.@~+ -]{0,64})*|[\w.=-]{1,64}(?:/[\w.=-]{1,64}){2,}/?"
    r"|[\w-]{1,64}(?:\.[\w-]{1,32})*\.(?:py|js|ts|json|ya?ml|toml|txt|pem|key|crt|md|html?|env|sh|conf|cfg|ini|xml|log|go|rs|java|rb|php|lock)"
)
_LINK = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://")
_EXPRESSION = re.compile(
    r"""(?x)
      .* [\w\])] \( .*                                     # a call
    | (?: this | self | process | os | req | request | res | ctx | config | settings | props | state | env | args | opts
        | options | params | data | user | window | document | app | module | super | cls | local | var | vars
        | secrets | inputs | steps | github | each
        | module ) [.\[?] .*                                             # a part of something
    | [A-Za-z_$][\w$]* (?: \?? \. [A-Za-z_$][\w$]* | \[ [^\]]* \] | -> \w+ | :: \w+ )+ !?       # dotted names
    | [A-Za-z_$][\w$.]* = [A-Za-z_$][\w$.]* [\w$] [=.(,;] .*                         # one assignment after the other
    | .* \$\{ .* | .* \{\{ .* | \$ [A-Za-z_{(.] .* | % [A-Za-z_]+ %? | .* %\( .* | .* %[sd] .* | & \w .*
    | [!*&]{1,2} [A-Za-z_] \w* | @ [A-Za-z_{] [\w.]* | \* \w*
    | (?: op | vault | ref | env | file | ssm | arn | secret | secretsmanager | azure | gcp | keyring | awssm ) : .*
    """
)
_VERSIONED = re.compile(
    r"[A-Za-z][\w.\-]*-\d+(?:\.\d+)+(?:[\w.\-]*)|(?:[a-z][a-z_]{0,32}:)?\d{8}[_-]\d{4,6}[\w-]*|\d{4}-\d\d-\d\d.*"
)
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ].*)?|\d{1,2}:\d\d(?::\d\d)?.*|v?\d{1,5}(?:\.\d{1,5}){1,4}(?:-[\w.]+)?")
_WORDY = re.compile(r"[A-Za-z]+(?:[_\-./ :][A-Za-z]+)*")
_PART = r"(?:[a-z]+(?:\d{1,4}[a-z]{2,})?|[A-Z][a-z]+|[A-Z]+)\d{0,4}"
# A name in a program: words, with a number at the end of some.
_IDENTIFIER = re.compile(
    rf"_{{0,2}}{_PART}(?:(?:[A-Z][a-z]+\d{{0,4}}){{1,8}}|(?:[_\-./:]{{1,2}}(?:{_PART}|\d{{1,4}}))+)?(?:[A-Z][a-z]+\d{{0,4}}){{0,8}}"
)
# What a form asks of a field, and where a key lies.
_RULES = re.compile(r"[a-z_]{2,24}(?::[\w,.]{1,32})?(?:\|[a-z_]{2,24}(?::[\w,.]{1,32})?){1,16}")
_FILE = re.compile(r"[~/][\w.@~/+-]{1,255}\.(?:json|pem|key|crt|p12|pfx|jks|env|txt|ya?ml|toml|conf|ini|pub)")
_PATTERN = re.compile(r"\[\^|\(\?[:=!<P]|\[[^\]\n]{0,24}(?:A-Z|a-z|0-9)|\][+*?{]|\\[dwsb]|\.\*|\{\d+,")


def turns(text: str) -> float:
    """
    Return how often a text changes between small letters, capitals, digits and other signs, for each of its characters.

    Random text does so at every second character, words and names hardly ever; a capital before small letters begins a word
    and is no change.
    """
    count, last = 0, ""
    for char in text:
        kind = "a" if char.islower() else "A" if char.isupper() else "0" if char.isdigit() else "-"
        if kind != last and last and not (last == "A" and kind == "a"):
            count += 1
        last = kind
    return count / max(1, len(text))


def secret_in(text: str, start: int, stop: int, name: Name, *, firm: bool, quoted: bool = False) -> Span | None:
    """
    Return what stands at a place if it is likely to be secret.

    Args:
        firm: It is sure that this is the name's value; in a sentence, say, it may be any word.
        quoted: It stands between quotes.
    """
    # What a long value is shows at its beginning.
    value = text[start : min(stop, start + 512)]
    if stop - start > 4096 or not _is_secret(value, name.klass, firm=firm, quoted=quoted):
        return None
    sure = firm and name.klass != "weak" and len(value) >= 12 and turns(value) >= 0.15
    return Span(start, stop, name.kind, STRONG if sure else MEDIUM)


def _is_secret(value: str, klass: Class, *, firm: bool, quoted: bool) -> bool:
    size = len(value)
    if size < 4 or " " in value or "\t" in value or "\n" in value:
        return False
    is_scrambled = scrambled(value) and not (klass == "weak" and _PATH.fullmatch(value))
    if is_documented(value):
        return False
    if value.lower() in _NOTHING or _COMMON.fullmatch(value) or (not is_scrambled and is_placeholder(value)):
        return False
    digits = sum(c.isdigit() for c in value)
    if value.startswith("ENC[") or _RULES.fullmatch(value) or _FILE.fullmatch(value):
        return False
    if value.startswith("//") or (size < 12 and value[-1] in "-_") or not any(c.isalnum() for c in value):
        return False
    if klass == "pin":
        return digits == size and size <= 8 and firm
    if digits == size:
        return klass == "password" and firm and size >= 5
    change = turns(value)
    if not is_scrambled:
        if klass != "password" and (_PATTERN.search(value) or ("{" in value and "}" in value)):
            return False
        if _LINK.match(value) or _TIME.fullmatch(value) or (_PATH.fullmatch(value) and change < 0.3):
            return False
        if (
            _EXPRESSION.fullmatch(value)
            and not _random_part(value)
            and not (klass == "password" and _chosen(value, firm, quoted))
        ):
            return False
        if _WORDY.fullmatch(value) and (size < 16 or change < 0.22 or not _mixed(value)):
            return False
        if _is_name(value) and not (
            klass == "password" and (value[-1].isdigit() or digits > 2) and (quoted or firm or _chosen(value, firm, quoted))
        ):
            return False
    if klass == "password":
        if size < 6 or not any(c.isalpha() for c in value):
            return False
        signs = not value.isalnum()
        if not firm:
            return digits > 0 and (change >= 0.12 or signs or digits > 2)
        if digits:
            return quoted or change >= 0.15 or digits > 1 or _NAMED.fullmatch(value) is None
        return (signs and re.fullmatch(r"[\w\-.]+", value) is None) or (not signs and size >= 8 and change >= 0.25)
    if klass == "secret":
        if size < 8:
            return False
        if _UUID.fullmatch(value) or (_HEX.fullmatch(value) and digits):
            return firm or size >= 32
        if size < (8 if firm else 12) or entropy(value) < 2.5 or not any(c.isalpha() for c in value):
            return False
        if digits:
            return change >= (0.16 if firm else 0.2) or (size >= 16 and firm and _CONSONANTS.search(value) is not None)
        return size >= 16 and change >= 0.25
    if re.match(r"[A-Za-z_][\w.\-]*=.", value):
        return False
    if value[0] in "^./~" or value.count("/") > 1 or _UUID.search(value) or _VERSIONED.fullmatch(value):
        return False
    if not firm or size < 16 or _UUID.fullmatch(value) or _HEX.fullmatch(value):
        return False
    classes = sum((any(c.islower() for c in value), any(c.isupper() for c in value), digits > 0))
    return (classes == 3 or (classes == 2 and size >= 20 and digits > 0)) and entropy(value) >= 3.4 and change >= 0.25


_NAMED = re.compile(r"[A-Za-z_$][\w$]*(?:[.\[][\w$\]\"']*)*")
_LETTERS = re.compile(r"[A-Za-z]{7}")


def scrambled(value: str) -> bool:
    """Return whether a value is so mixed that no program and no sentence is written so."""
    size = len(value)
    if not 20 <= size <= 128 or turns(value) < (0.3 if size >= 40 else 0.4) or entropy(value) < 3.6 or _PROGRAM.search(value):
        return False
    digits = sum(c.isdigit() for c in value)
    signs = sum(not c.isalnum() for c in value)
    return digits > 1 and (_LETTERS.search(value) is None or (size >= 40 and signs > 4))


_PROGRAM = re.compile(
    r"\w_\w*\(|\w{7,}\(|\{\}|\{:|\w\([\w.,]*\)\Z|\)[{;,.)]|=>|&&|\|\||==|[;,}]\w+[.(=]|\(\)|\w\[\w+\]|\$\{|\{\{|://"
)
# No word of any language has five consonants in a row and a number too.
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{5}|[BCDFGHJKLMNPQRSTVWXZ]{5}")


_CHOSEN = re.compile(r"[A-Za-z]\w*(?:[.\-][A-Za-z]\w*)??(?P<end>\d{2,})[!#$%]?")


def _chosen(value: str, firm: bool, quoted: bool) -> bool:
    """Return whether a password could be one that a person made up of words and a number: `Tulip.Breeze4938`."""
    found = _CHOSEN.fullmatch(value)
    digits = sum(c.isdigit() for c in value)
    return (
        (found is not None and firm and len(found["end"]) > 1 and value[0].isupper())
        or (quoted and digits > 0 and "(" not in value)
        or (found is not None and digits > 2)
    )


def _is_name(value: str) -> bool:
    """Return whether a value is a name as programs have them: made of words, and not of a letter or two each."""
    if _IDENTIFIER.fullmatch(value) is None:
        return False
    parts = [word for word in SPLIT.findall(value) if word[0].isalpha()]
    if any(len(word) > 3 and _VOWELS.isdisjoint(word) and word.lower() not in _SPOKEN for word in parts):
        return False
    return sum(map(len, parts)) >= (3 if value.isalnum() else 2) * len(parts)


_VOWELS = frozenset("aeiouyAEIOUY")
_SPOKEN = words("http https html xhtml grpc mysql psql pgsql xpng dhcp wpdb csrf xsrf hdfs pkcs mtls sftp smtp")


def _random_part(value: str) -> bool:
    """Return whether a part of a dotted value is no name that anybody gave: `s.Tm3cePHqqIifzjVXr6JusP5q`."""
    part = max(value.split("."), key=len)
    return len(part) >= 16 and part.isalnum() and turns(part) >= 0.25 and any(c.isdigit() for c in part)


def _mixed(value: str) -> bool:
    return any(c.islower() for c in value) and any(c.isupper() for c in value)


def trimmed(text: str, at: int, stop: int, signs: str = ".,;:!?)]}>'\"") -> int:
    """Return where a value ends without the signs behind it that belong to what is around it."""
    while stop > at and text[stop - 1] in signs:
        stop -= 1
    return stop


def drawn(text: str, start: int, stop: int) -> tuple[int, int] | None:
    """Return a place where what stands there was drawn by lot, as keys and tokens are: nobody wrote it."""
    value = text[start : min(stop, start + 512)]
    if len(value) < 16 or is_documented(value) or is_placeholder(value):
        return None
    if _UUID.fullmatch(value) or (_LONG_HEX.fullmatch(value) and any(c.isdigit() for c in value)):
        return start, stop
    digits = sum(c.isdigit() for c in value)
    if digits < 2 or entropy(value) < 3.2 or turns(value) < 0.3 or _PATH.fullmatch(value) or _VERSIONED.fullmatch(value):
        return None
    if _NOT_DRAWN.search(value) or _PROGRAM.search(value) or value.count("/") > 3 or _TIME.fullmatch(value) or _is_name(value):
        return None
    kinds = any(c.islower() for c in value) + any(c.isupper() for c in value) + (digits > 0)
    mixed = len(value) >= 20 and kinds == 3 and turns(value) >= 0.36
    return (start, stop) if mixed or scrambled(value) or (value.isalnum() and _CONSONANTS.search(value)) else None


_LONG_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]{32,512}")
_NOT_DRAWN = re.compile(r"::|[A-Za-z_]=[^=]|\.\.|\A[./~@#&*-]|@[a-zA-Z]|\A(?i:sha\d|md5)")
