"""What is hidden behind a disguise is seen in a view, and the view says exactly where it stands in the text."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from disguises import (
    Disguised,
    continued,
    escaped,
    listed,
    percent,
    plain,
    references,
    scattered,
    token,
    unicode_escaped,
    wrapped,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.redaction.hiding import hides
from satchel.redaction.views import View, views
from satchel.redaction.wraps import gutters, joined

_SURROUNDINGS = st.text(
    st.sampled_from("abcXYZ019 \n\t\"'=:;,.&<>%\\/{}()#-_é→😀"), max_size=40
)  # fmt: skip
_TOKENS = st.builds(token, st.integers(0, 2**32), alphabet=st.sampled_from(["abcdef0123456789", "ABCxyz0189-_", "aZ9+/=.~"]))
_TEXTS = st.builds(plain, _SURROUNDINGS.map("{}=".format), _TOKENS, _SURROUNDINGS.map(" {}".format))

Disguise = Callable[[Disguised], Disguised]

_FEW = settings(max_examples=30)
_CODES = ("\x1b[0m", "\x1b[38;5;12;1m", "\x1b[K", "\x1b]8;;https://example.com\x1b\\", "\x9b31m", "\x1b(B")
_WRITTEN = ("\\x1b[1m", "\\u001b[0m", "\\033[32m", "^[[0m", "\\e[K")
_NOTHING = ("\u200b", "\u200d", "\xad", "\ufeff", "\u202e", "\u2060", "\x00", "\u200b\u200c")

_DISGUISES: dict[str, Disguise] = {
    "json": escaped,
    "json twice": lambda text: escaped(text, 2),
    "json three times": lambda text: escaped(text, 3, ascii_only=False),
    "json with slashes": lambda text: escaped(text, slashes=True),
    "unicode escapes": unicode_escaped,
    "some unicode escapes": lambda text: unicode_escaped(text, form="\\u{:04X}", every=3),
    "hex escapes": lambda text: unicode_escaped(text, form="\\x{:02x}"),
    "some octal escapes": lambda text: unicode_escaped(text, form="\\{:03o}", every=2),
    "some braced escapes": lambda text: unicode_escaped(text, form="\\u{{{:x}}}", every=2),
    "long escapes": lambda text: unicode_escaped(text, form="\\U{:08x}"),
    "percent": percent,
    "percent, all": lambda text: percent(text, whole=True),
    "percent, all, small": lambda text: percent(text, whole=True, lower=True),
    "percent twice": lambda text: percent(text, 2),
    "html": lambda text: references(text, every=0),
    "decimal references": references,
    "some hexadecimal references": lambda text: references(text, form="&#x{:X};", every=2),
    "open references": lambda text: references(text, form="&#{:07};"),
    "colours": lambda text: scattered(text, _CODES, [3, 9, 9, 17, 20]),
    "written colours": lambda text: scattered(text, _WRITTEN, [3, 11, 17, 25, 30]),
    "nothing to see": lambda text: scattered(text, _NOTHING, [1, 3, 9, 10, 17, 20]),
    "returns": lambda text: scattered(text, (" \r", "\r"), [10, 20]),
    "bold": lambda text: text._replace(secret="".join(f"{char}\b{char}" for char in text.secret)),
}
_UNSEEN = [
    name for name in _DISGUISES if name not in ("json", "json twice", "json three times", "percent", "percent twice", "html")
]
_SHOWN = ("colours", "written colours", "nothing to see", "returns", "bold")


def _found(text: Disguised, secret: str, *, hot: bool = True) -> list[tuple[int, int]]:
    found = []
    for view in views(text.text, hot=hot):
        at = view.text.find(secret)
        if at >= 0:
            found.append((view.start(at), view.end(at + len(secret))))
    return found


@pytest.mark.parametrize("name", _DISGUISES)
@_FEW
@given(text=_TEXTS)
def test_a_disguised_secret_is_seen_and_its_place_is_exact(name: str, text: Disguised):
    disguised = _DISGUISES[name](text)

    if disguised.text != text.text:
        assert disguised.span in _found(disguised, text.secret)


@given(text=_TEXTS, inner=st.sampled_from(list(_DISGUISES)), outer=st.sampled_from(list(_DISGUISES)))
def test_two_disguises_are_seen_through_as_well(text: Disguised, inner: str, outer: str):
    # Codes in the middle of an escape, an escape of half a code or half an escape: nobody could read that.
    if outer in _SHOWN:
        inner, outer = outer, inner
    if outer in _SHOWN or (outer.startswith("some") and (inner in _SHOWN or inner.startswith("some"))):
        outer = "json"
    once = _DISGUISES[inner](text)
    twice = _DISGUISES[outer](once)

    if twice.text != text.text and "json three times" not in (inner, outer):
        assert twice.span in _found(twice, text.secret)


@pytest.mark.parametrize("name", _UNSEEN)
@_FEW
@given(text=_TEXTS)
def test_what_hides_a_literal_is_read_though_no_literal_is_seen(name: str, text: Disguised):
    disguised = _DISGUISES[name](text)

    if "ghp_" not in disguised.text:
        assert disguised.span in _found(disguised, text.secret, hot=False)


@pytest.mark.parametrize("name", _UNSEEN)
@_FEW
@given(text=_TEXTS, ascii_only=st.booleans())
def test_what_hides_a_literal_is_told_from_the_serialised_record_too(name: str, text: Disguised, ascii_only: bool):
    disguised = _DISGUISES[name](text)
    raw = json.dumps({"text": disguised.text}, ensure_ascii=ascii_only)

    if "ghp_" not in disguised.text:
        assert hides(raw, serialised=True)


@given(text=st.text(st.sampled_from("abc019 \n\t\"'=:;,.<>/{}()#-_é→"), max_size=200))
def test_a_text_without_disguises_has_no_views(text: str):
    assert [] == list(views(text, hot=True))
    assert [] == list(views(text, hot=False))


@pytest.mark.parametrize(
    "text",
    [
        'print("a\\n")\n',
        "50 % of it, 100%\n",
        "AT&T &amp; co &#39;\n",
        "one\r\ntwo\r\n",
        "\x1b[1mbold\x1b[0m word\n",
        "re.compile(r'[\\w\\-.]+')",
        "thumbs 👍\ufe0f up",
    ],
)
def test_ordinary_text_is_read_once_where_no_literal_is_in_it(text: str):
    assert [] == list(views(text, hot=False))


def test_each_layer_is_a_view_of_its_own():
    text = '{"log": "{\\"a\\": \\"b\\\\n%41&lt;\\"}"}'

    assert [
        '{"log": "{"a": "b\\n%41&lt;"}"}',
        '{"log": "{"a": "b\\nA&lt;"}"}',
        '{"log": "{"a": "b\\nA<"}"}',
        '{"log": "{"a": "b\nA<"}"}',
    ] == [view.text for view in views(text, hot=True)]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("\\ud83d\\ude00\\u00e9", "😀é"),
        ("\\ud83d x", "\ud83d x"),
        ("\\q \\u12 \\x4 \\", None),
        ("%zz %4 %c3 %c3%c3", None),
        ("%C3%A9%E2%82%AC%F0%9F%98%80%41%ED%A0%80", "é€😀A%ED%A0%80"),
        ("&bogus; &; &#; &#0; &#x110000;", None),
        ("&lt;&lt;&quot;&#65;&#x42;&nbsp;", '<<"AB '),
        ("ab\b\bXY\n\bq _\b_\bx\n", "XY\nq x\n"),
        ("\b\b\bab\b", "a"),
        ("\x1b]0;title\x07text\x1b[2J\x1b7\x1b", "text"),
        ("\x1b[\x1b[31mx", "x"),
    ],
)
def test_what_is_no_escape_stays_as_it_is(text: str, read: str | None):
    made = [view.text for view in views(text, hot=True)]

    assert ([] if read is None else [read]) == made[:1]


_ESCAPED = ["\\\\", "\\n", "\\u0041", "\\ud83d\\ude00", "\\x41", "%41", "%25", "%C3%A9", "&amp;", "&#65;", "\b", "\r", "\r\n"]
_LOOSE = ["\\", "%", "&", "a", "B", "é", "😀", "\n", " "]
_PIECES = st.sampled_from([*_CODES, *_WRITTEN, *_NOTHING, *_ESCAPED, *_LOOSE])


@given(text=st.lists(_PIECES, max_size=30).map("".join))
def test_places_rise_and_stay_in_the_text_whatever_it_is(text: str):
    for view in views(text, hot=True):
        starts = [view.start(at) for at in range(len(view.text))]
        ends = [view.end(at + 1) for at in range(len(view.text))]
        assert all(0 <= start < end <= len(text) for start, end in zip(starts, ends, strict=True))
        assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
        assert all(view.text[at] in (text[starts[at]], view.text[at]) for at in range(len(view.text)))


_HOSTILE_ESCAPES = ["\\", "\\\\n", "\\n", "\\x5c", "\\u005c", "\\u0041", "%", "%25", "%41", "&", "&amp;", "&#38;#38;"]
_HOSTILE_CODES = ["\x1b", "\x1b[", "\x1b]", "\x1b[0m", "^[[", "\\\\\\\\e[", "\u200b", "a\b", "\b", "ab\b", "\r"]


@pytest.mark.parametrize("shape", [*_HOSTILE_ESCAPES, *_HOSTILE_CODES])
def test_hostile_text_is_read_a_few_times_at_most(shape: str):
    text = shape * (100_000 // len(shape))

    made = list(views(text, hot=True))

    assert len(made) <= 10
    assert sum(len(view.text) for view in made) <= 4 * len(text) + (64 << 10)
    for view in made:
        # A run of one escape is one piece of the map.
        assert (view.start(0), view.end(1)) <= (len(text), len(text))
        assert len(view._at) <= 2 * len(text) // len(shape) + 2


@pytest.mark.parametrize("escape", ["\\\\", "\\u0041", "\\x41", "\\n", "%41", "&amp;", "\\101"])
def test_a_run_of_escapes_is_one_piece(escape: str):
    view = next(iter(views("a" + escape * 1000 + "b", hot=True)))

    assert (1 + 500 * len(escape), 1 + 501 * len(escape)) == (view.start(501), view.end(502))
    assert len(view._at) == 3


def test_a_view_shows_nothing_of_its_text():
    view = next(iter(views("a\\tsecret", hot=True)))

    assert "View(8 characters)" == repr(view)


# Wraps.


def _joined(text: Disguised, secret: str) -> tuple[int, int] | None:
    view = joined(text.text, len(text.head))
    at = -1 if view is None else view.text.find(secret)
    return None if view is None or at < 0 else (view.start(at), view.end(at + len(secret)))


@pytest.mark.parametrize("tail", ["", "\n", '" -H "Accept: */*"\n', "\nnext line\n"])
@pytest.mark.parametrize("gutter", ["", "  ", "│ ", "> ", "+", "| "])
@given(
    seed=st.integers(0, 2**32), width=st.sampled_from([40, 60, 72, 80]), name=st.sampled_from(["KEY=", "export TOKEN=", "x: "])
)
def test_a_token_that_a_terminal_broke_is_joined(seed: int, width: int, name: str, gutter: str, tail: str):
    secret = token(seed, length=120)
    head, rest = name + ('"' if tail.startswith('"') else ""), tail
    text = wrapped(plain(head, secret, rest[: rest.find("\n") + 1].rstrip("\n")), width - len(gutter), gutter=gutter)
    text = text._replace(head="before\n" + text.head, tail=text.tail + rest[rest.find("\n") :] if "\n" in rest else text.tail)
    last = text.secret.rpartition("\n")[2].removeprefix(gutter)

    if any(char.isdigit() for char in last) and any(char.isalpha() for char in last) and (len(last) > 8 or tail[:1] != '"'):
        assert text.span == _joined(text, secret)


def test_a_token_in_a_box_is_joined():
    secret = token(7, length=60)
    text = wrapped(plain("KEY=", secret, ""), 30, gutter="│ ", border=" │")

    assert text.span == _joined(text, secret)


@pytest.mark.parametrize(
    "mark", ["\\\n", "\\\r\n", "\\\n    ", '"\n  "', '" \\\n "', '" + \\\n    "', '" +\n"', '"\n    + f"', "' .\n'"]
)
@_FEW
@given(seed=st.integers(0, 2**32), place=st.integers(0, 100))
def test_a_token_that_is_continued_is_joined(seed: int, place: int, mark: str):
    secret = token(seed)
    quote = mark.strip()[:1] if mark[0] in "\"'" else '"'
    text = continued(plain(f"key = {quote}", secret, f"{quote}\n"), place, mark=mark)

    # Strings that follow each other without a sign between them may be two.
    assert (None if mark == '"\n  "' else text.span) == _joined(text, secret)


def test_a_soft_line_break_of_mail_is_joined():
    secret = token(3, length=80)
    text = continued(plain("The new token is ", secret, " as of today.\r\n"), 57, mark="=\r\n")

    assert text.span == _joined(text, secret)


@pytest.mark.parametrize(
    "text",
    [
        "GITHUB_TOKEN={}\nOTHER_KEY2=abc\n",
        "the token is {}\nand it works\n",
        "{}\n2024-01-01T00:00:00Z done\n",
        "{}\n/usr/lib/python3\n",
        "{}\n\nabc123\n",
        "{} \nabc123\n",
        "{} \\\n  --flag2\n",
        "{}\nabc123 is a line that is longer than the one before it and so cannot be its rest\n",
        "{}\n        indented2 text\n",
        '"{}",\n"abc123"\n',
    ],
)
def test_lines_that_end_in_a_token_but_go_not_on_are_left(text: str):
    text = text.format(token(1))

    assert joined(text, text.index("ghp_")) is None


def test_a_wrap_in_a_view_is_told_in_places_of_the_text():
    secret = token(9, length=90)
    text = escaped(wrapped(plain("{KEY=", secret, ""), 80))
    (view,) = views(text.text, hot=True)

    made = joined(view, view.text.index("ghp_"))

    assert made is not None
    at = made.text.index(secret)
    assert text.span == (made.start(at), made.end(at + len(secret)))


@pytest.mark.parametrize(
    "shape", ["a", " ", "\n", "|", "> ", '"', "\\\n", "│ a │\n", "a" * 40 + "\n", '" ', "- ", "1:", "a1" * 20 + "\n"]
)
def test_a_wrap_is_looked_for_in_a_few_lines_only(shape: str):
    text = shape * (200_000 // len(shape))

    view = joined(text, 100_000)

    assert view is None or len(view.text) <= 20 << 10


_ENDS = ['"', "'", " +", '" +\n', "\\", "\n", "\r\n", "="]
_STARTS = [" ", "  ", "> ", "│ ", " │", "| ", "12:", "13:", "+", "-", "a1" * 15, "abc", "B2"]
_LINES = st.sampled_from([*_ENDS, *_STARTS])


@given(text=st.lists(_LINES, max_size=40).map("".join), at=st.integers(0, 60))
def test_places_in_wraps_and_listings_rise(text: str, at: int):
    for view in (joined(text, min(at, len(text))), gutters(text, min(at, len(text)))):
        if view is not None:
            places = [view.start(at) for at in range(len(view.text))]
            assert view.text == "".join(text[place] for place in places)
            assert places == sorted(set(places))
            assert [place + 1 for place in places] == [view.end(at + 1) for at in range(len(view.text))]


# Listings.

_PEM = [
    "-----BEGIN PRIVATE KEY-----",
    "Proc-Type: 4,ENCRYPTED",
    "",
    "MIIEvQIBADANBgkq",
    "hkiG9w0BAQEFAASC",
    "-----END PRIVATE KEY-----",
]


@pytest.mark.parametrize(
    "gutter",
    [
        lambda number: f"{number + 6:6}\t",
        lambda number: f"{number + 6}:",
        lambda number: f"{number + 6:>5}→",
        lambda number: f"{number + 96:>4} | ",
        lambda number: f"conf/key.py:{number + 7}:" if number == 1 else f"conf/key.py-{number + 7}-",
        lambda number: "> ",
        lambda number: "+",
        lambda number: "│ ",
        lambda number: f"2024-05-01T10:00:{number:02}.123Z ",
        lambda number: "web-1  | ",
        lambda number: f"# {'' if number == 3 else ' '}",
        lambda number: "    ",
        lambda number: f"{number}: {'key: ' if number == 1 else ''}",
    ],
)
def test_a_key_in_a_listing_is_read_without_its_gutter(gutter: Callable[[int], str]):
    before, after = "a line\n", "another line\n"
    text = before + listed(_PEM, gutter) + after
    at = text.index("-----BEGIN")

    view = gutters(text, at)

    assert view is not None
    assert _PEM == [line.strip() for line in view.text.splitlines()][: len(_PEM)]
    end = view.text.index("-----END PRIVATE KEY-----") + 25
    assert (at, len(text) - len(after) - 1) == (view.start(0), view.end(end))


def test_what_has_no_gutter_is_no_listing():
    text = "\n".join(_PEM)

    assert gutters(text, 0) is None
    assert gutters("key = " + text, 6) is None
    assert gutters("> " + _PEM[0], 2) is None


@pytest.mark.parametrize("head", ["", "> ", "1: ", "a:1:", " " * 200, "1" * 200])
def test_a_listing_ends_after_so_many_lines(head: str):
    text = (head + "-----BEGIN\n") + (head + "x" * 20 + "\n") * 20_000

    view = gutters(text, len(head))

    assert view is None or len(view.text) <= 64 << 10


def test_views_can_be_made_of_views():
    view = View("bcd", lambda: [(0, 1, 1)])
    inner = View("d", lambda: [(0, 2, 1)], view)

    assert (3, 4) == (inner.start(0), inner.end(1))
