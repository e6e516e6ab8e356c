"""The page of HTML: what people see, and that nothing in a session reaches beyond its message."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from completeness import missing, real_logs
from documents import HOSTILE, documents, hostile_texts, one_session
from exporting import MemoryTarget, View
from hermes_cases import write
from hermes_parts import PIXEL, Case, assistant, call, compacted, rewound, structured, tool, user
from hypothesis import given
from hypothesis import strategies as st
from pages import Element, blobs, elements, index_of, page_faults, text_of_page, whole
from redacting import redactor, token

from satchel.contracts import search, write_searched
from satchel.errors import RedactionError, UsageError
from satchel.events import ignore
from satchel.formats.hermes_state import reader as hermes
from satchel.formats.html import writer
from satchel.formats.html.ansi import output_html
from satchel.formats.html.diffs import diff_html, edits_of, looks_like_diff, patch_html
from satchel.formats.html.markdown import _parser, markdown_html
from satchel.formats.pictures import picture_kind
from satchel.formats.turns import line, visible
from satchel.verifying import check

Build = Callable[..., Path]


def _page(tmp_path: Path, *turns: Any, **columns: Any) -> str:
    return documents(one_session(tmp_path / "store", list(turns), **columns), tmp_path / "out", "html")["sessions.html"]


def _articles(page: str) -> list[Element]:
    return [element for element in elements(whole(page))[0] if element.tag == "article"]


def _inside(page: str, tag: str) -> list[str]:
    return [element.text for element in elements(whole(page))[0] if element.tag == tag]


# ---------------------------------------------------------------------------------------------------------- what is shown


def test_a_message_is_an_article_with_its_parts(tmp_path: Path) -> None:
    page = _page(
        tmp_path,
        user("Run **it**."),
        assistant("Sure: `x`", call("c1", "terminal", command="ls -la"), reasoning="Think."),
        tool("c1", "terminal", "a.txt"),
        title="A <title>",
    )
    first, second, third = _articles(page)
    assert ("user", "model", "tool") == (first.attributes["class"], second.attributes["class"], third.attributes["class"])
    assert ("s1-m1", "message 1, User") == (first.attributes["id"], first.attributes["aria-label"])
    assert ["it"] == _inside(page, "strong")[1:]
    assert {"x", "A <title>"} <= {*_inside(page, "code"), *_inside(page, "h1")}
    assert ["Reasoning · 6 bytes", "terminal ls -la", "Result of terminal · 5 bytes"] == _inside(page, "summary")
    assert "a.txt" in _inside(page, "pre")
    assert re.findall(r'<time datetime="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ">', page)


def test_what_was_compacted_or_taken_back_is_folded_and_marked(tmp_path: Path) -> None:
    page = _page(tmp_path, *compacted([user("old one")]), *rewound([user("not this")]), user("this"))
    assert ["user old", "user old", "user"] == [article.attributes["class"] for article in _articles(page)]
    assert ["compacted", "rewound"] == _inside(page, "summary")
    assert "1 message, 1 compacted, 1 taken back" in page


def test_an_edit_is_shown_as_lines_that_go_and_come(tmp_path: Path) -> None:
    page = _page(tmp_path, assistant(None, call("c", "edit", path="a.py", old_string="a\nb\nc", new_string="a\nB\nc")))
    assert (["- b\n"], ["+ B\n"]) == (_inside(page, "del"), _inside(page, "ins"))
    assert "  a\n- b\n+ B\n  c\n" in _inside(page, "pre")


def test_an_error_stands_open(tmp_path: Path) -> None:
    log = tmp_path / "x.jsonl"
    log.write_text(
        '{"type":"user","uuid":"1","sessionId":"e","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"go"}}\n'
        '{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"e","timestamp":"2026-01-01T00:00:01Z",'
        '"message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"no"}}]}}\n'
        '{"type":"user","uuid":"3","parentUuid":"2","sessionId":"e","timestamp":"2026-01-01T00:00:02Z","message":{"role":"user",'
        '"content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"failed"}]}}\n'
    )
    page = documents(log, tmp_path / "out", "html")["sessions.html"]
    assert "tool err" == _articles(page)[2].attributes["class"]
    assert "<details open><summary>Result of <b>Bash</b> · error" in page


def test_pictures_stand_in_the_page_and_nothing_is_fetched(tmp_path: Path) -> None:
    def picture(url: str) -> dict[str, Any]:
        return {"type": "image_url", "image_url": {"url": url}}

    svg = base64.b64encode(b"<svg onload=alert(1)>").decode()
    parts = [
        picture(f"data:image/png;base64,{PIXEL}"),
        picture("http://t.example/a.png"),
        picture(f"data:image/png;base64,{svg}"),
    ]
    page = _page(tmp_path, user(structured(parts)), user("![x](http://t.example/b.png) ![y](data:image/svg+xml;base64,AAAA)"))
    assert [] == page_faults(page, messages=2)
    assert 1 == page.count("<img ")
    assert "http://t.example/a.png" in page
    assert "[image: x] http://t.example/b.png" in page


def test_relatives_are_linked_within_the_page(tmp_path: Path) -> None:
    case = Case()
    case.add("parent", 1e9, [user("go")], title="The parent")
    case.add("a <child>", 1e9 + 50, [user("do")], parent_session_id="parent", model_config='{"_delegate_from": "parent"}')
    page = documents(write(tmp_path / "state.db", case), tmp_path / "out", "html")["sessions.html"]
    targets = {
        element.attributes["href"] for element in elements(page)[0] if str(element.attributes.get("href", "")).startswith("#q-")
    }
    places = {f"#{element.attributes['id']}" for element in elements(page)[0] if element.attributes.get("id")}
    assert 2 == len(targets)
    assert targets <= places


def test_a_parent_that_is_not_in_the_page_is_named(tmp_path: Path) -> None:
    assert "Comes from elsewhere, which is not in this page" in _page(tmp_path, user("x"), parent_session_id="elsewhere")


def test_a_system_prompt_that_changes_is_shown_where_it_does(tmp_path: Path) -> None:
    case = Case()
    case.add("a", 1e9, [user("one")], end_reason="compression", ended_at=1e9 + 50, system_prompt="be brief")
    case.add("b", 1e9 + 50, [user("two")], parent_session_id="a", system_prompt="be kind")
    page = documents(write(tmp_path / "state.db", case), tmp_path / "out", "html", lineage="logical")["sessions.html"]
    assert page.index("be brief") < page.index("<p>one") < page.index("be kind") < page.index("<p>two")


def test_what_begins_as_a_picture_is_one() -> None:
    assert ("webp", "image/webp") == picture_kind(b"RIFF\x00\x00\x00\x00WEBPVP8 ")
    assert picture_kind(b"RIFF\x00\x00\x00\x00WAVEfmt ") is None
    assert picture_kind(b"<svg onload=alert(1)>") is None


def test_a_text_that_begins_with_many_blanks_is_one_line_of_its_words() -> None:
    assert "so many" == line(" \n" * 5000 + "so  many", 20)
    assert "…" == line("x" * 30, 20)[-1]


def test_the_page_says_where_it_comes_from_and_whether_it_is_redacted(tmp_path: Path) -> None:
    page = _page(tmp_path, user("x"))
    assert "not redacted; made by Satchel" in page
    assert str(tmp_path / "store" / "state.db") in page


def test_equal_runs_give_equal_bytes(hermes_db: Build, tmp_path: Path) -> None:
    store = hermes_db()
    one, two = (documents(store, tmp_path / name, "html")["sessions.html"] for name in ("one", "two"))
    assert one == two


def test_there_are_no_options(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no option what"):
        documents(one_session(tmp_path / "store", [user("x")]), tmp_path / "out", "html", what="1")


def test_a_page_is_in_its_manifest(hermes_db: Build, tmp_path: Path) -> None:
    documents(hermes_db(), tmp_path / "out", "html")
    assert check(tmp_path / "out", content=True).ok


# ---------------------------------------------------------------------------------------------------------- nothing breaks out

_PAYLOADS = [
    "</script><script>document.documentElement.dataset.pwned=1</script>",
    "<img src=x onerror=alert(1)>",
    "</pre></details></article></section></main><h1>forged</h1>",
    "<style>body{display:none}</style>",
    "<meta http-equiv=refresh content='0;url=http://t.example'>",
    "<iframe src=http://t.example></iframe>",
    "</textarea></title><svg/onload=alert(1)>",
    "[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,x) [d](blob:x) [e](//t.example) [f](vbscript:x)",
    "[a](&#106;avascript:alert(1)) <javascript:alert(1)> [g]: javascript:x\n[g]",
    "' onmouseover='x' \" onclick=\"y",
    "![x](http://t.example/p.png) ![y](data:image/svg+xml,x) ![" * 20,
    "\u202eevil\u202c \u200b\u2066x",
    "```html\n</code></pre><script>x</script>\n```",
    '```"onclick="x\ny\n```',
    "|a|\n|-|\n|<b>|",
    "> " * 60 + "deep",
    "{{constructor.constructor('x')()}}",
    "]]><!--",
]


@pytest.mark.parametrize("plain", [1 << 30, 0], ids=["plain", "packed"])
def test_no_text_breaks_out_of_its_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain: int) -> None:
    monkeypatch.setattr(writer, "_PLAIN", plain)
    texts = [*_PAYLOADS, *HOSTILE, "\n".join(HOSTILE), *hostile_texts(3, 150)]
    turns: list[Any] = []
    for text in texts:
        turns += [user(text), assistant(text, call("c", text, command=text, k=text), reasoning=text), tool("c", text, text)]
    everywhere = _PAYLOADS[0]
    page = _page(
        tmp_path, *turns, title=everywhere, cwd=everywhere, model=everywhere, system_prompt=everywhere, source=everywhere
    )
    assert [] == page_faults(page, messages=len(turns))
    results = [article for article in _articles(page) if article.attributes["class"] == "tool"]
    assert all(visible(text) in result.text for text, result in zip(texts, results, strict=True))


@given(st.lists(st.sampled_from(_PAYLOADS + HOSTILE) | st.text("<>&\"'`[](){}!#-=|:\\\n ab.", max_size=15), max_size=8))
def test_rendered_markdown_is_well_formed_and_harmless(lines: list[str]) -> None:
    made = markdown_html("\n".join(lines))
    found, faults = elements(f"<div>{made}</div>")
    assert [] == faults
    for element in found:
        assert element.tag not in ("script", "style", "iframe", "svg", "object", "form", "input", "meta")
        assert element.attributes.keys() <= {"href", "rel", "title", "dir", "class", "alt", "src", "data-language", "start"}
        assert re.match(r"https?://|mailto:|#|$", str(element.attributes.get("href", "")), re.IGNORECASE)
        assert "src" not in element.attributes or str(element.attributes["src"]).startswith("data:image/")


_USUAL = [
    "- **b** c", "- `x` y", "* **b**", "+ p", "3. three", "1. **b**: c", "a **b c** d", "2**3 and 4**5", "**a", "b** c",
    "# Head **b**", "## a_b", "- \"q\"", "- 1. n", "- # h", "* * *", "**a `b` c**", "`**a**`", "### x #", "1. - z",
    "**b_c**", "**x**y", "10. ten", "- a\\", "word", "two words", "snake_case_name", "a `code` b", "`x` `y`", "``two``",
    "`open", "see https://a.example/b_c?d=e&f=1.", "5 * 3", "**b**", "# Head", "## `x`", "- item", "* item", "1. one",
    "2) two", "  indented", "    four", "\ttab", "> quote", "| a | b |", "|---|---|", "---", "===", "```", "```py",
    "```py title", "~~~", "[x](https://a.example)", "[x]", "![y](z)", "a & b", "&amp;", "x < y", "<b>", "\\*", "a\\",
    "trailing  ", "it's \"quoted\"", "a_b _c_", "~~gone~~", "x ~ y", "", "", "", "   ", ":---", "```x```", "- ", "-",
    "1.", "a|b", "--|--",
]  # fmt: skip


@given(st.lists(st.sampled_from(_USUAL), max_size=12))
def test_what_is_read_without_the_parser_is_as_the_parser_reads_it(lines: list[str]) -> None:
    text = "\n".join(lines).strip("\n")
    assert str(_parser().render(text, {})) == markdown_html(text)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("one\ntwo\n\nthree & <four>", "<p>one<br>\ntwo</p>\n<p>three &amp; &lt;four&gt;</p>\n"),
        (
            "see https://a.example/b?c=d.",
            '<p>see <a href="https://a.example/b?c=d" rel="noopener noreferrer nofollow">https://a.example/b?c=d</a>.</p>\n',
        ),
        ("# H", '<h4 dir="auto">H</h4>\n'),
        ("**b** `c`", "<p><strong>b</strong> <code>c</code></p>\n"),
        ("```py\nx\n```", '<pre data-language="py"><code>x\n</code></pre>\n'),
        ("[x](javascript:y)", "<p>[x](javascript:y)</p>\n"),
        ("", ""),
    ],
)
def test_markdown_as_html(text: str, html: str) -> None:
    assert html == markdown_html(text)


def test_what_is_long_or_nested_deeply_is_shown_as_it_is() -> None:
    assert markdown_html("*a* " * 20_000).startswith("<pre>*a* *a*")
    assert "&gt; &gt;" not in markdown_html("plain")
    for text in ("![" * 20_000, "[" * 20_000, "> " * 20_000, "- " * 20_000, "*a_" * 5_000):
        assert len(markdown_html(text)) < 40 * len(text)


def test_the_policy_names_the_hashes_of_this_very_page(tmp_path: Path) -> None:
    page = _page(tmp_path, user("x"))
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    assert policy is not None
    assert page.index("Content-Security-Policy") < page.index("<title>")
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy[1]
    assert "default-src 'none'" in policy[1]
    assert not re.search(r"unsafe|https?:", policy[1])
    assert not re.search(r"@import|url\(|https?://|\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|\beval\(", page)


# ---------------------------------------------------------------------------------------------------------- terminals, patches


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("\x1b[31mred\x1b[0m plain", '<span class="f1">red</span> plain'),
        ("\x1b[1;92;41mx\x1b[39my", '<span class="b1 bo f10">x</span><span class="b1 bo">y</span>'),
        ("\x1b[38;5;196mx\x1b[m", '<span class="f9">x</span>'),
        ("\x1b[38;2;10;20;250mx", '<span class="f12">x</span>'),
        ("a\x1b[2Kb\x1b]0;title\x07c<", "abc&lt;"),
        ("\x1b[31m<b>\x1b[999999mz", '<span class="f1">&lt;b&gt;</span>z'),
        ("10 %\r20 %\r\ndone", "10 %\n20 %\ndone"),
    ],
)
def test_colours_of_a_terminal_are_classes(text: str, html: str) -> None:
    assert html == output_html(text)


@given(st.text("\x1b[]0123456789;:mKJ\x07<>ab\r\n", max_size=60))
def test_no_output_leaves_an_element_open(text: str) -> None:
    found, faults = elements(f"<pre>{output_html(text)}</pre>")
    assert [] == faults
    assert {"pre", "span"} >= {element.tag for element in found}


def test_edits_in_the_shapes_that_tools_have() -> None:
    assert ([("a", "b")], {"old_string", "new_string"}) == edits_of({"old_string": "a", "new_string": "b", "path": "x"})
    assert ([("a", "b"), ("c", "d")], {"edits"}) == edits_of(
        {"edits": [{"old_text": "a", "new_text": "b"}, {"old_str": "c", "new_str": "d"}]}
    )
    assert ([], set()) == edits_of({"edits": [{"old_text": "a", "new_text": "b", "all": True}]})
    assert ([], set()) == edits_of("old_string")


@given(st.lists(st.sampled_from(["a", "b", "<c>", ""]), max_size=8), st.lists(st.sampled_from(["a", "b", "<c>", ""]), max_size=8))
def test_an_edit_shows_both_texts_whole(old: list[str], new: list[str]) -> None:
    (pre, *_), faults = elements(diff_html("\n".join(old), "\n".join(new)))
    assert [] == faults
    lines = pre.text.removesuffix("\n").split("\n")
    assert (old or [""]) == [line[2:] for line in lines if line[0] != "+"]
    assert (new or [""]) == [line[2:] for line in lines if line[0] != "-"]


def test_a_patch_is_told_by_how_it_begins() -> None:
    text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-<old>\n+new\n"
    assert looks_like_diff(text)
    assert not looks_like_diff("- a list\n- of things")
    assert "<del>-&lt;old&gt;\n</del><ins>+new\n</ins>" in patch_html(text)


# ---------------------------------------------------------------------------------------------------------- large pages


def test_a_large_page_is_compressed_part_by_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_PLAIN", 20_000)
    monkeypatch.setattr(writer, "_PART", 5_000)
    case = Case()
    for name in ("a", "b", "c"):
        case.add(name, 1e9, [user(f"{name} {n} " + "word " * 60) for n in range(30)], title=f"Session {name}")
    store = write(tmp_path / "state.db", case)
    page = documents(store, tmp_path / "out", "html")["sessions.html"]
    index = index_of(page)
    parts = list(blobs(page))
    assert index["packed"]
    assert "<noscript>" in page
    assert 3 == len(index["sessions"])
    assert sum(len(session[7]) for session in index["sessions"]) == len(parts)
    lengths = [len(session[7]) for session in index["sessions"]]
    assert [0, lengths[0], lengths[0] + lengths[1]] == [session[8] for session in index["sessions"]]
    for session in index["sessions"]:
        for at, first in enumerate(session[7]):
            ids = re.findall(r'id="s\d+-m(\d+)"', parts[session[8] + at])
            assert not ids or first == int(ids[0])
    assert [] == page_faults(page, messages=90)
    monkeypatch.setattr(writer, "_PLAIN", 1 << 30)
    small = documents(store, tmp_path / "small", "html")["sessions.html"]
    assert not index_of(small)["packed"]
    assert "<noscript>" not in small
    assert [a.text for a in _articles(small)] == [a.text for a in _articles(page)]


def test_no_more_than_a_part_waits(hermes_db: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_PLAIN", 0)
    target = MemoryTarget()
    with hermes.open(hermes_db(), listen=ignore) as store, writer.open(target, options={}, listen=ignore) as page:
        sizes = [0]
        for info in list(store.sessions(counts=False))[:5]:
            page.add(View(store, info.id))
            sizes.append(len(target.data))
    assert sizes == sorted(set(sizes)), "each session is out when the next one comes"


# ---------------------------------------------------------------------------------------------------------- redaction


def test_what_is_compressed_or_written_later_is_searched_first(tmp_path: Path) -> None:
    """The gate sees only what goes through it, and in a compressed part no secret can be seen."""
    red = redactor()
    target = red.gate().over(MemoryTarget())
    stream = target.stream("x")
    secret = f"the key is {token(1)}".encode()
    search(stream, b"harmless")
    write_searched(stream, b"coded")
    with pytest.raises(RedactionError):
        search(stream, secret)


@pytest.mark.parametrize("plain", [1 << 30, 0], ids=["plain", "packed"])
def test_no_secret_is_in_a_redacted_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain: int) -> None:
    from satchel import pipeline
    from satchel.selection import Selection
    from satchel.sources import find

    monkeypatch.setattr(writer, "_PLAIN", plain)
    secret = token(2)
    turns = [user(f"use {secret}"), assistant(f"`{secret}`", call("c", "t", header=f"x: {secret}")), tool("c", "t", secret)]
    store = one_session(tmp_path / "store", turns, title=f"with {secret}")
    out = tmp_path / "page.html"
    pipeline.export(
        find((str(store),), profile=None, listen=ignore), out, format="html", selection=Selection(), redactor=redactor()
    )
    page = out.read_text()
    assert secret not in whole(page)
    assert whole(page).count("REDACTED") > 3
    assert "secrets were taken out; made by Satchel" in page


# ---------------------------------------------------------------------------------------------------------- what is left out


@pytest.mark.parametrize("plain", [1 << 30, 0], ids=["plain", "packed"])
def test_every_text_of_a_store_is_shown_or_named(
    hermes_db: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain: int
) -> None:
    monkeypatch.setattr(writer, "_PLAIN", plain)
    store = hermes_db()
    assert [] == missing(store, tmp_path, hermes.open(store, listen=ignore), format="html", read=text_of_page)


@pytest.mark.parametrize("made", ["0.13.0", "0.17.0", "0.19.0", "synthetic-v23"])
def test_every_text_of_a_real_store_is_shown_or_named(shared: Path, tmp_path: Path, made: str) -> None:
    store = shared / "data" / "hermes" / made / "state.db"
    assert [] == missing(store, tmp_path, hermes.open(store, listen=ignore), format="html", read=text_of_page)


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_every_text_of_real_logs_is_shown_or_named(shared: Path, tmp_path: Path, agent: str) -> None:
    tried = 0
    for path, reader in real_logs(shared / "data" / agent):
        tried += 1
        assert [] == missing(path, tmp_path / str(tried), reader.open(path, listen=ignore), format="html", read=text_of_page), (
            path
        )
    assert tried > 5
