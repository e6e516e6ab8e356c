"""
Encodings: the forms in which a value known to be secret may stand elsewhere, and secrets inside base64 and hex.

Base64 has three forms of a value, by how many bytes stand before it in the same text (0, 1 or 2 more than a multiple of three):
its alignment. Of each the characters are taken that depend on the value alone, so that it is found whatever stands around it.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from html import escape
from urllib.parse import quote, quote_plus

from satchel.redaction.views import Pieces, View

__all__ = ["RUN_SIGNS", "decoded", "decodes_to_text", "encoded_literals", "run_around", "texts_in_base64", "variants"]

_PLAIN = re.compile(r"[A-Za-z0-9_.~\-]+")
_SHORT = 8
"""No form of a value is shorter, but the value itself: shorter ones are met by chance."""
_STABLE_BASE64 = 10
_STABLE_HEX = 16
_LITERAL_BASE64 = 5
_LITERAL_HEX = 8
_SKIPPED = (0, 2, 3)
"""How many characters of base64 depend on what stands before a value, by alignment."""


def variants(value: str) -> dict[str, str]:
    """
    Return every form in which a value may stand in a text, each once, by a name; the first is "raw", the value itself.

    Escaped as in JSON (up to three times; `\\/`, `\\u003c` and Python's quotes too), percent-encoded and as character references
    (up to twice), quoted for a shell or Markdown, in base64 (standard and for URLs, at each alignment; in JSON and URLs too) and
    in hex. A form is left out that is shorter than the value and than 8 characters, of base64 than 10 characters, of hex than 16.
    Base64 that is broken over lines is for the caller to join.
    """
    names = {value: "raw"}

    def add(kind: str, forms: Iterable[str], least: int) -> None:
        for number, form in enumerate(forms, 1):
            if len(form) >= least:
                names.setdefault(form, f"{kind}-{number}")

    short = min(len(value), _SHORT)
    if _PLAIN.fullmatch(value) is None:
        add("escaped", _escaped(value), short)
        add("percent", _percent(value), short)
        add("html", _html(value), short)
    # Letters and digits alone are escaped nowhere, what stands in tokens beside them in few places.
    if not (value.isascii() and value.isalnum()):
        add("quoted", _quoted(value), short)
    data = value.encode("utf-8", "surrogatepass")
    for alignment in range(3):
        form = _base64(data, alignment)
        if len(form) >= _STABLE_BASE64:
            add(f"base64-{alignment}", _spelled(form), _STABLE_BASE64)
    add("hex", (data.hex(), data.hex().upper()), _STABLE_HEX)
    return {name: form for form, name in names.items()}


def _spelled(form: str) -> Iterable[str]:
    """Yield base64 as it stands in a text, a URL, JSON and, percent-encoded, in a URL again."""
    yield form
    yield form.replace("+", "-").replace("/", "_")
    yield form.replace("/", "\\/")
    yield form.replace("+", "%2B").replace("/", "%2F")
    yield form.replace("+", "%2b").replace("/", "%2f")


def _base64(data: bytes, alignment: int) -> str:
    whole = b64encode(bytes(alignment) + data + bytes(2)).decode()
    return whole[_SKIPPED[alignment] : (alignment + len(data)) * 8 // 6]


def _json(value: str) -> str:
    return json.dumps(value)[1:-1]


def _json_plain(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]


def _json_slashes(value: str) -> str:
    return _json(value).replace("/", "\\/")


def _json_html(value: str) -> str:
    """Return a value as Go and others escape it in JSON that may stand in HTML."""
    for char in "<>&":
        value = value.replace(char, chr(0xE000 + ord(char)))
    form = _json_plain(value)
    for char in "<>&":
        form = form.replace(chr(0xE000 + ord(char)), f"\\u{ord(char):04x}")
    return form


def _json_html_quotes(value: str) -> str:
    return _json_html(value).replace("'", "\\u0027").replace('\\"', "\\u0022")


def _escaped(value: str) -> Iterable[str]:
    for ways in ((_json,), (_json_plain,), (_json_slashes, _json), (_json_html, _json_plain), (_json_html_quotes, _json_plain)):
        form = value
        for level in range(3):
            form = ways[min(level, len(ways) - 1)](form)
            yield form
    yield repr(value)[1:-1]
    yield value.replace("\\", "\\\\").replace("'", "\\'")


def _percent(value: str) -> Iterable[str]:
    for way in _WAYS:
        once = way(value)
        for form in (once, _lower_hex(once)):
            yield form
            yield _PATH(form)
            yield _ALL(form)


def _quoter(safe: str, *, plus: bool = False) -> Callable[[str], str]:
    """Return what `quote` (with `plus`, `quote_plus`) does but for the signs that are `safe`, and does it faster."""
    way = quote_plus if plus else quote
    table = {number: way(chr(number), safe=safe) for number in range(128)}

    def quoted(text: str) -> str:
        return text.translate(table) if text.isascii() else way(text, safe=safe, errors="surrogatepass")

    return quoted


_ALL, _PATH = _quoter(""), _quoter("/")
# The last two are what encodeURIComponent and encodeURI leave.
_WAYS = (_ALL, _PATH, _quoter("", plus=True), _quoter("!*'()"), _quoter("!*'();/?:@&=+$,#"))


def _lower_hex(form: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), form)


def _html(value: str) -> Iterable[str]:
    for first in (
        escape(value),
        escape(value, quote=False),
        escape(value).replace("&#x27;", "&#39;"),
        escape(value).replace("&#x27;", "&apos;"),
        escape(value, quote=False).replace('"', "&quot;"),
        escape(value).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
        escape(value).replace("/", "&#x2F;").replace("=", "&#x3D;").replace("`", "&#x60;"),
    ):
        yield first
        yield escape(first)


def _quoted(value: str) -> Iterable[str]:
    yield value.replace("'", "'\"'\"'")
    yield value.replace("'", "'\\''")
    # As within double quotes, and as without any.
    yield re.sub(r'([\\"$`])', r"\\\1", value)
    yield re.sub(r"([^A-Za-z0-9_@%+=:,./\-])", r"\\\1", value)
    yield re.sub(r"([^A-Za-z0-9_])", r"\\\1", value)
    # As in Markdown.
    yield re.sub(r"([_*])", r"\\\1", value)
    yield re.sub(r"([_*\\`\[\]])", r"\\\1", value)


def encoded_literals(literals: Iterable[str]) -> dict[str, tuple[str, int]]:
    """
    Return the forms in which the literals of rules stand in base64 and hex: form -> ("base64" or "hex", alignment).

    Base64 forms shorter than 5 characters and hex forms shorter than 8 are left out: too much looks like them. So literals of 4
    characters are found at every alignment, shorter ones not. Letters are as they are in the encoding, in hex small and capital
    ones each; a search that takes them for the same has to compare again.
    """
    forms: dict[str, tuple[str, int]] = {}
    for literal in literals:
        data = literal.encode("utf-8", "surrogatepass")
        for alignment in range(3):
            for form in _literal_forms(data, alignment):
                if len(form) >= _LITERAL_BASE64:
                    forms.setdefault(form, ("base64", alignment))
                    forms.setdefault(form.replace("+", "-").replace("/", "_"), ("base64", alignment))
        digits = data.hex()
        if len(digits) >= _LITERAL_HEX:
            forms.setdefault(digits, ("hex", 0))
            forms.setdefault(digits.upper(), ("hex", 0))
    return forms


def _literal_forms(data: bytes, alignment: int) -> set[str]:
    """Return the form of a literal; one that is a character too short, with that, as it is before a digit and before a letter."""
    form = _base64(data, alignment)
    if len(form) != _LITERAL_BASE64 - 1 or (alignment + len(data)) * 8 % 6 != 4:
        return {form}
    skipped = _SKIPPED[alignment]
    return {b64encode(bytes(alignment) + data + after)[skipped : skipped + _LITERAL_BASE64].decode() for after in (b"0", b"A")}


_RUN = 64 << 10
_BROKEN = r"\r?\n[ \t]{0,40}"
_CLOSED = r"""(?=[\r\n"'`<,;)}\]]|\Z)"""
_ALPHABETS = {"base64": r"A-Za-z0-9+/\-_", "standard": "A-Za-z0-9+/", "url": r"A-Za-z0-9\-_", "hex": "0-9A-Fa-f"}
_AHEAD = {
    # Every line but the last is a full one, as long as mail and PEM have them; the further ones have nothing else on them.
    name: re.compile(
        rf"(?:[{chars}]{{60,76}}{_BROKEN}(?=[{chars}]{{1,76}}={{0,2}}{_CLOSED}))*[{chars}]*" + ("" if name == "hex" else "={0,2}")
    )
    for name, chars in _ALPHABETS.items()
}
_LINE = {name: re.compile(f"[{chars}]*") for name, chars in _ALPHABETS.items()}
_BEHIND = {
    name: re.compile(rf"[{chars}]*(?:[ \t]{{0,40}}\n\r?[{chars}]{{60,76}}(?![{chars}]))*") for name, chars in _ALPHABETS.items()
}


def run_around(text: str, start: int, end: int, encoding: str, alignment: int = 0) -> tuple[int, int]:
    """
    Return the run of base64 or hex that a hit of an encoded literal stands in: up to 64 KB to each side of it.

    Lines of 60 to 76 characters, the last one shorter, are one run. Padding belongs to it.

    Args:
        start: Where the hit begins; `end` is where it ends.
        encoding: "base64" (of either alphabet) or "hex"; with `alignment` as `encoded_literals` gives it.
    """
    if encoding == "hex":
        begin, stop = _run(text, start, "hex")
        # Half a byte before belongs to something else, or there is half a byte after.
        return begin + _odd(text, begin, start), stop
    begin, stop = _run(text, start, "base64")
    run = text[begin:stop]
    if ("+" in run or "/" in run) and ("-" in run or "_" in run):
        # Two alphabets: that in which the hit stands in whole groups of four from the run's start, or the longer run.
        runs = [_run(text, start, name) for name in ("standard", "url")]
        begin, stop = max(runs, key=lambda found: (_phase(text, found[0], start, alignment) == 0, found[1] - found[0]))
    elif _phase(text, begin, start, alignment):
        for name in ("standard", "url"):
            first, last = _run(text, start, name)
            if last == stop and not _phase(text, first, start, alignment):
                begin = first
    return begin, max(stop, end)


def _run(text: str, at: int, name: str) -> tuple[int, int]:
    low = max(0, at - _RUN)
    behind = text[low:at][::-1]
    match = _BEHIND[name].match(behind)
    begin = at - (match.end() if match else 0)
    line = _LINE[name].match(behind)
    ahead = _AHEAD[name].match(text, at - (line.end() if line else 0), min(len(text), at + _RUN))
    return begin, ahead.end() if ahead else at


def _odd(text: str, begin: int, start: int) -> int:
    return len(_BLANK.sub("", text[begin:start])) % 2


def _phase(text: str, begin: int, start: int, alignment: int) -> int:
    """Return how many characters of base64 stand in a run before the first whole group of four, as a hit in it tells."""
    return (len(_BLANK.sub("", text[begin:start])) - _SKIPPED[alignment]) % 4


_BLANK = re.compile(r"[\r\n \t]+")
_WIDTHS = re.compile("[\0-\x7f]+|[\x80-\u07ff]+|[\u0800-\uffff]+|[\U00010000-\U0010ffff]+")


def decoded(text: str, start: int, end: int, encoding: str, *, hit: int, alignment: int = 0) -> View | None:
    """
    Return what a run of base64 or hex says, as a view of the text: places are those of whole groups of four, or of pairs.

    It is read as UTF-8 or, where that fails, byte by byte (Latin-1), so that ASCII in binary data is seen. None where the run has
    not one whole group.

    Args:
        start: Where the run begins; `end` is where it ends, both as `run_around` gives them.
        hit: Where in it the encoded literal begins, with its `alignment`: tells where groups begin.
    """
    phase = 0 if encoding == "hex" else _phase(text, start, hit, alignment)
    run, breaks = text[start:end], []
    for match in _BLANK.finditer(run):
        breaks.append(match.span())
    bare = _BLANK.sub("", run) if breaks else run
    if encoding == "hex":
        size, made = 2, 1
        data = bytes.fromhex(bare[: len(bare) // 2 * 2])
    else:
        size, made = 4, 3
        data = _bytes(bare[phase:])
    if not data:
        return None

    def lines() -> Pieces:
        at = here = 0
        for first, last in breaks:
            yield at, start + here, 1
            at, here = at + first - here, last
        yield at, start + here, 1

    return _Decoded(data, View(bare, lines), phase, size, made)


def _bytes(run: str) -> bytes:
    run = run.rstrip("=").replace("-", "+").replace("_", "/")
    if len(run) % 4 == 1:
        run = run[:-1]
    return b64decode(run + "=" * (-len(run) % 4))


class _Decoded(View):
    """A view of whole groups: every `size` characters from `phase` on say `made` bytes."""

    __slots__ = ("_bare", "_made", "_phase", "_size")

    def __init__(self, data: bytes, bare: View, phase: int, size: int, made: int) -> None:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = data.decode("latin-1")
        narrow = len(text) == len(data)

        def pieces() -> Pieces:
            at = byte = 0
            if narrow:
                yield 0, 0, 1
                return
            for match in _WIDTHS.finditer(text):
                count = match.end() - match.start()
                width = len(match[0][0].encode())
                yield at, byte, width
                at, byte = at + count, byte + count * width

        super().__init__(text, pieces)
        self._bare, self._phase, self._size, self._made = bare, phase, size, made

    def start(self, i: int) -> int:
        return self._bare.start(self._phase + super().start(i) // self._made * self._size)

    def end(self, j: int) -> int:
        last = self._phase + ((super().end(j) - 1) // self._made + 1) * self._size
        return self._bare.end(min(last, len(self._bare.text)))


_TEXT_RUN = b"a" * 20
RUN_SIGNS = bytes(97 if (chr(byte).isalnum() and byte < 128) or byte in b"+/-_" else 32 for byte in range(256))
"""Signs of base64 and hex as one letter, all others as blanks: so a run of them is looked for."""
_FIRST_OF_FOUR = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef"
"""What a group of four begins with whose first byte is ASCII."""
_LONGEST_TEXT = 1 << 20


def texts_in_base64(raw: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield where in a text runs of base64 stand that say text, 15 bytes at least, without their padding, and what they say."""
    runs = raw.translate(RUN_SIGNS)
    at = runs.find(_TEXT_RUN)
    while at >= 0:
        end = runs.find(b" ", at + len(_TEXT_RUN))
        if end < 0:
            end = len(runs)
        # Nearly all runs are names, paths and ids: five of their signs tell.
        if not raw[at : at + len(_TEXT_RUN) : 4].translate(None, _FIRST_OF_FOUR) and end - at <= _LONGEST_TEXT:
            text = _text(_bytes(raw[at:end].decode()))
            if text is not None:
                yield at, end, text
        at = runs.find(_TEXT_RUN, end)


_BASE64_TEXT = re.compile(r"[A-Za-z0-9+/\-_]{8,}={0,2}")
_HEX_TEXT = re.compile("(?:[0-9A-Fa-f]{2}){8,}")
_UNPRINTABLE = re.compile("[\0-\x08\x0e-\x1f\x7f-\x9f\ufffd]")


def decodes_to_text(run: str) -> str | None:
    """
    Return the text that bare base64 (of 8 characters at least, line ends in it or not) or hex (16) says, or None if it says none.

    Text is UTF-8 without control characters; what a name or header calls a secret, and is such a text, can be judged by it.
    """
    bare = _BLANK.sub("", run)
    if _HEX_TEXT.fullmatch(bare):
        text = _text(bytes.fromhex(bare))
        if text is not None:
            return text
    if not _BASE64_TEXT.fullmatch(bare):
        return None
    stripped = bare.rstrip("=")
    # Padding that is there has to be right.
    if len(stripped) % 4 == 1 or (len(stripped) < len(bare) and len(bare) % 4):
        return None
    return _text(_bytes(stripped))


def _text(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if not text or _UNPRINTABLE.search(text) else text
