import hashlib
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from satchel.naming import clean_title, display_width, file_name, safe_id, slug, terminal_line, terminal_text

ANY = st.text(st.characters(codec=None, categories=None))
"""Every code point, lone surrogates too."""
HOSTILE = st.one_of(
    ANY,
    st.text("aAbB.-_~/\\: \n\0", max_size=12),
    st.text(".-_/"),
    st.sampled_from(["con", "CON", "con.txt", "Nul", "com1", "LPT9.log", "aux.", "manifest", "..", "~", "case_id", "Case_ID"]),
)
DEVICES = {"con", "prn", "aux", "nul"} | {f"{port}{n}" for port in ("com", "lpt") for n in range(10)}


def folded(name: str) -> str:
    """Return the name as the most forgetful file system would compare it."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def mark(session_id: str) -> str:
    return "~" + hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]


@pytest.mark.parametrize(
    "session_id",
    [
        "20260105_091523_a1b2c3",
        "20260105_091523_a1b2c3d4",
        "cron_digest.daily_20260112_094037",
        "0b5f3a52-8d0e-4c6b-9f3e-2a7c51d4e860",
        "a",
        "x_",
        "x" * 100,
        "com10",
        "console",
        "manifest-a",
    ],
)
def test_an_ordinary_id_is_its_own_name(session_id: str) -> None:
    assert session_id == safe_id(session_id)


@pytest.mark.parametrize(
    ("session_id", "stem"),
    [
        ("../../x", "x"),
        ("/", "id"),
        ("", "id"),
        ("..", "id"),
        ("日本", "id"),
        ("a/b\\c", "a_b_c"),
        ("C:\\x", "C_x"),
        ("CON", "_CON"),
        ("con.txt", "_con.txt"),
        ("com1", "_com1"),
        ("manifest", "_manifest"),
        ("manifest.1", "_manifest.1"),
        ("SHA256SUMS", "_SHA256SUMS"),
        ("Case_ID", "Case_ID"),
        ("-rf", "rf"),
        (".hidden", "hidden"),
        ("end.", "end"),
        ("end ", "end"),
        ("a\nb\0c", "a_b_c"),
        ("a\u202eb\u200bc", "a_b_c"),
        ("a\ud800", "a"),
        ("x" * 101, "x" * 100),
        ("a~12345678", "a_12345678"),
    ],
)
def test_any_other_id_is_made_safe_and_carries_its_hash(session_id: str, stem: str) -> None:
    assert stem + mark(session_id) == safe_id(session_id)


@given(HOSTILE)
def test_a_name_is_safe_everywhere(session_id: str) -> None:
    name = safe_id(session_id)

    assert name.isascii()
    assert 0 < len(name) <= 120
    assert len(safe_id(name)) <= 120
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-~")
    assert name[0] not in ".-~"
    assert name[-1] != "."
    assert name.partition(".")[0].lower() not in DEVICES | {"manifest", "satchel-manifest", "sha256sums"}


@given(HOSTILE, HOSTILE)
@example("Case_ID", "case_id")
@example("K", "\u212a")
@example("\u00e9", "e\u0301")
@example("con", "_con")
@example("a/b", "a_b")
def test_two_ids_never_share_a_name_not_even_folded(one: str, other: str) -> None:
    if one != other:
        assert folded(safe_id(one)) != folded(safe_id(other))


@given(st.sampled_from(["id", "chat", "chat-2", "a~b"]), ANY)
def test_ids_that_differ_in_case_or_form_alone_are_told_apart(start: str, end: str) -> None:
    session_id = start + end
    forms = {session_id, session_id.upper(), session_id.lower(), *(unicodedata.normalize(f, session_id) for f in ("NFD", "NFKC"))}

    assert len(forms) == len({folded(safe_id(form)) for form in forms})


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Numeric sort flag", "numeric-sort-flag"),
        ("  Fix: the (big) bug!! ", "fix-the-big-bug"),
        ("v1.2_rc", "v1.2_rc"),
        ("../../etc/passwd", "etc-passwd"),
        (None, "session"),
        ("", "session"),
        ("🎉 🎉", "session"),
        ("日本語の題名", "日本語の題名"),
        ("Überprüfung (neu)", "überprüfung-neu"),
        ("Cafe\u0301", "caf\u00e9"),
        ("हिन्दी शीर्षक", "हिन्दी-शीर्षक"),
        ("\u0301x", "x"),
        ("a\u3164b", "ab"),
        ("con", "session-con"),
        ("CON.txt", "session-con.txt"),
        ("con" + "-" * 60 + "x", "session-con"),
        ("con." + "x" * 60, "session-con." + "x" * 48),
        ("x" * 70, "x" * 60),
        ("y" * 59 + " z", "y" * 59),
        ("語" * 40, "語" * 26),
        ("\ud800", "session"),
    ],
)
def test_a_slug_keeps_what_can_be_read(title: str | None, expected: str) -> None:
    assert expected == slug(title)


@given(st.none() | HOSTILE)
def test_a_slug_is_safe_and_short(title: str | None) -> None:
    text = slug(title)

    assert text == unicodedata.normalize("NFC", text)
    assert 0 < len(text) <= 60
    assert len(text.encode()) <= 80
    assert text[0] not in ".-_"
    assert text[-1] not in ".-_ "
    assert text.partition(".")[0] not in DEVICES
    assert all(char.isalnum() or char in "._-" or unicodedata.category(char)[0] == "M" for char in text)


@pytest.mark.parametrize(
    ("session_id", "title", "expected"),
    [
        ("20260105_091523_a1b2c3", "A Title", "20260105_091523_a1b2c3-a-title.md"),
        ("20260105_091523_a1b2c3", None, "20260105_091523_a1b2c3-session.md"),
        ("0b5f3a52-8d0e-4c6b-9f3e-2a7c51d4e860", "T", "0b5f3a52-8d0e-4c6b-9f3e-2a7c51d4e860-t.md"),
        ("../up", "T", f"up{mark('../up')}-t.md"),
        ("chat-2", "plans", f"chat-2{mark('chat-2')}-plans.md"),
    ],
)
def test_a_file_is_named_by_id_and_title(session_id: str, title: str | None, expected: str) -> None:
    assert expected == file_name(session_id, title, ".md")


def test_an_id_and_a_title_that_look_like_another_id_do_not_meet_it() -> None:
    """A dash separates id and title, and ids that a client chose may hold dashes themselves."""
    uuid = "0b5f3a52-8d0e-4c6b-9f3e-2a7c51d4e860"
    names = [
        file_name("chat", "2 plans", ".md"),
        file_name("chat-2", "plans", ".md"),
        file_name(uuid, "plans", ".md"),
        file_name("0b5f3a52", "8d0e-4c6b-9f3e-2a7c51d4e860 plans", ".md"),
        file_name("0b5f3a52-8d0e", "4c6b-9f3e-2a7c51d4e860 plans", ".md"),
    ]

    assert len(names) == len(set(names))


PARTS = st.text("ab-", min_size=1, max_size=5)


@given(HOSTILE | PARTS, HOSTILE | PARTS, HOSTILE | PARTS, HOSTILE | PARTS)
def test_two_ids_never_share_a_file_whatever_the_titles(one: str, other: str, title: str, other_title: str) -> None:
    if one != other:
        assert folded(file_name(one, title, ".md")) != folded(file_name(other, other_title, ".md"))


@example("X" * 300, "語" * 26 + "ab", ".trace.jsonl")
@given(HOSTILE, HOSTILE, st.sampled_from([".md", ".trace.jsonl", "." + "x" * 60]))
def test_a_file_name_fits_any_file_system(session_id: str, title: str, suffix: str) -> None:
    name = file_name(session_id, title, suffix)

    assert len(name.encode()) <= 200
    assert name.endswith(suffix)
    assert "/" not in name


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Plain", "Plain"),
        ("  a \t\r\n b  ", "a b"),
        ("a\x00b\x1b[31mc\x7f", "ab[31mc"),
        ("a\x9bb", "ab"),
        ("a\u200bb\u202ec\u2066d\ufeffe\ufffcf", "abcdef"),
        ("a\u2028b", "ab"),
        ("a\u3000b\u00a0c", "a b c"),
        ("a\ud800b", "a\ufffdb"),
        ("日本語 🎉", "日本語 🎉"),
        ("", None),
        (None, None),
        (" \n\u200b", None),
    ],
)
def test_a_title_is_cleaned_as_the_store_does_it(title: str | None, expected: str | None) -> None:
    assert expected == clean_title(title)


def test_a_long_title_is_left_to_the_caller() -> None:
    assert clean_title("x" * 10_000) == "x" * 10_000


@given(ANY)
def test_a_clean_title_stays_as_it_is(title: str) -> None:
    cleaned = clean_title(title)

    assert cleaned == clean_title(cleaned)
    assert cleaned is None or cleaned.encode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\x9b2Jb\x90", "a\\x9b2Jb\\x90"),
        ("over\rwrite\x08\x7f", "over\\x0dwrite\\x08\\x7f"),
        ("a\r\nb", "a\nb"),
        ("user\u202enimda\u2066x\u2069", "user\\u202enimda\\u2066x\\u2069"),
        ("a\u2028b", "a\\u2028b"),
        ("a\ufff9b\ufffbc", "a\\ufff9b\\ufffbc"),
        ("a\ud800b", "a\\ud800b"),
        ("שלום, 日本, 👩\u200d👧", "שלום, 日本, 👩\u200d👧"),
    ],
)
def test_nothing_moves_or_colours_a_terminal(text: str, expected: str) -> None:
    assert expected == terminal_text(text)


@given(ANY)
def test_terminal_text_holds_no_control_whatever_comes_in(text: str) -> None:
    safe = terminal_text(text)

    assert all(char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp") for char in safe)
    assert not set(safe) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert safe == terminal_text(safe)


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("  a\r\n\tb  c\u2028d \n", None, "a b  c d"),
        ("a\x1b[1m", None, "a\\x1b[1m"),
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("a bcdef", 3, "a…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("\x1b[31m", 4, "\\x1…"),
        ("anything", 1, "…"),
        ("anything", 0, ""),
        ("", 0, ""),
    ],
)
def test_a_line_is_one_line_of_its_width(text: str, width: int | None, expected: str) -> None:
    assert expected == terminal_line(text, width)


@given(ANY, st.integers(0, 30))
def test_a_line_never_exceeds_its_width(text: str, width: int) -> None:
    line = terminal_line(text, width)

    assert display_width(line) <= width
    assert "\n" not in line
    assert "\t" not in line


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("日本", 4), ("ｱ", 1), ("e\u0301", 1), ("👩\u200d👧", 4), ("\u1100\u1161", 2), ("é", 1), ("", 0)],
)
def test_a_width_is_counted_in_columns(text: str, columns: int) -> None:
    assert columns == display_width(text)


def test_a_line_of_combining_marks_is_cut_too() -> None:
    line = terminal_line("a" + "\u0301" * 100_000, 10)

    assert len(line) < 1_000
    assert line.endswith("…")
