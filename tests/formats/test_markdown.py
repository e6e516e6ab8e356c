"""Markdown and Quarto documents: what people see of a session, and that nothing in it reaches beyond its place."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from completeness import missing, real_logs
from documents import HOSTILE, documents, faults, hostile_texts, one_session
from hermes_cases import write
from hermes_parts import PIXEL, Case, assistant, call, compacted, rewound, structured, tool, user
from hypothesis import given
from hypothesis import strategies as st

from satchel import pipeline
from satchel.errors import TargetExists, UsageError
from satchel.events import ignore
from satchel.formats.hermes_state import reader as hermes
from satchel.formats.markdown import document, quarto, writer
from satchel.formats.markdown.front_matter import _Dumper, _keyed, yaml_text
from satchel.formats.markdown.literal import fence, plain, quarto_fence
from satchel.formats.markdown.readback import ReadBack, read_back
from satchel.formats.markdown.rendered import rendered
from satchel.selection import Selection
from satchel.sources import find
from satchel.verifying import check

Build = Callable[..., Path]

STORY = 14
"""Sessions of the sample story that have a relative written with them."""


def _one(tmp_path: Path, *turns: Any, format: str = "md", title: str | None = None, **options: Any) -> str:
    found = documents(one_session(tmp_path / "store", list(turns), title=title), tmp_path / "out", format, **options)
    assert 1 == len(found)
    return next(iter(found.values()))


def _timeless(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "TIME", text)


def _facts(text: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text[4:].partition("\n---\n")[0])
    return found


# ---------------------------------------------------------------------------------------------------------- what is shown


def test_a_turn_a_message_with_its_parts(tmp_path: Path) -> None:
    text = _one(
        tmp_path,
        user("Run **it**.\nPlease."),
        assistant("Sure:\n\n- one\n- two", call("c1", "terminal", command="ls -la"), reasoning="Think `hard`."),
        tool("c1", "terminal", "a.txt\n```\nb.txt"),
        title="A *title*: # 1",
    )
    body = re.sub(r"^<!-- .* -->\n", "", _timeless(text.partition("\n---\n")[2]), flags=re.MULTILINE)
    assert body == (
        "# A \\*title\\*: \\# 1\n\n- Session: `s`\n- Agent: hermes, cli\n- Model: `anthropic/claude-sonnet-4.6`\n"
        "- Time: TIME\n\n"
        "## 1 · User · TIME\n\nRun **it**.  \nPlease.\n\n"
        "## 2 · Assistant · TIME\n\n"
        "<details><summary>Reasoning, 13 bytes</summary>\n\n```text\nThink `hard`.\n```\n\n</details>\n\n"
        "Sure:\n\n- one\n- two\n\n"
        "<details><summary>Call of terminal: ls -la</summary>\n\n"
        '```json\n{\n  "command": "ls -la"\n}\n```\n\n</details>\n\n'
        "### 3 · Tool · terminal · TIME\n\n"
        "<details><summary>Result of terminal, 15 bytes</summary>\n\n````text\na.txt\n```\nb.txt\n````\n\n\n</details>\n\n"
    )
    facts = _facts(text)
    assert ("A *title*: # 1", 3, 1, "md") == tuple(
        facts[name] for name in ("title", "message_count", "tool_call_count", "format")
    )


def test_what_was_compacted_or_taken_back_is_folded_and_marked(tmp_path: Path) -> None:
    text = _one(tmp_path, *compacted([user("old one")]), *rewound([user("not this")]), user("this"))
    assert "## 1 · User · compacted · " in text
    assert "<details><summary>compacted</summary>\n\nold one\n\n" in text
    assert "## 2 · User · rewound · " in text
    assert "<details><summary>rewound</summary>\n\nnot this\n\n" in text
    assert {"message_count": 1, "compacted_count": 1, "rewound_count": 1}.items() <= _facts(text).items()


def test_long_arguments_are_shown_as_the_texts_they_are(tmp_path: Path) -> None:
    text = _one(tmp_path, assistant(None, call("c", "write_file", path="a.py", content='print("x")\nprint("y")\n')))
    assert '"path": "a.py"' in text
    assert 'content:\n\n```text\nprint("x")\nprint("y")\n```\n' in text


def test_colours_go_and_what_cannot_be_seen_is_shown(tmp_path: Path) -> None:
    text = _one(tmp_path, tool("c", "t", "\x1b[31mred\x1b[0m\r\nbell\x07 flip\u202e nul\0 half"), user("a\x08b"))
    assert "red\nbell␇ flip<U+202E> nul␀ half" in text
    assert "a␈b" in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", text)


@pytest.mark.parametrize(("detail", "seen"), [("full", "qatu"), ("chat", "qa"), ("prompts", "q")])
def test_as_much_as_was_asked_for(tmp_path: Path, detail: str, seen: str) -> None:
    turns = [user("said-q"), assistant("said-a", call("c", "said-t")), tool("c", "said-t", "said-u")]
    text = _one(tmp_path, *turns, detail=detail)
    assert set(seen) == set(re.findall(r"said-(\w)", text))
    assert detail == _facts(text)["detail"]


def test_pictures_as_files_as_data_or_named(tmp_path: Path) -> None:
    url = f"data:image/png;base64,{PIXEL}"
    turn = user(structured([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": url}}]))
    store = one_session(
        tmp_path / "store",
        [turn, turn, user(structured([{"type": "image_url", "image_url": {"url": "http://t.example/a.png"}}]))],
    )
    text = documents(store, tmp_path / "files")["s-session.md"]
    names = re.findall(r"!\[[^\]]*\]\((assets/[0-9a-f]{32}\.png)\)", text)
    assert 2 == len(names)
    assert 1 == len(set(names))
    assert base64.b64decode(PIXEL) == (tmp_path / "files" / names[0]).read_bytes()
    assert "\\[image: http://t.example/a.png\\]" in text, "what lies elsewhere is never loaded"
    text = documents(store, tmp_path / "data", images="data")["s-session.md"]
    assert text.count(f"](data:image/png;base64,{PIXEL})") == 2
    text = documents(store, tmp_path / "none", images="none")["s-session.md"]
    assert PIXEL not in text
    assert text.count("\\[image: image/png, ") == 2
    assert not (tmp_path / "none" / "assets").exists()


def test_what_is_no_picture_is_not_shown_as_one(tmp_path: Path) -> None:
    svg = base64.b64encode(b"<svg onload=alert(1)>").decode()
    url = {"url": f"data:image/png;base64,{svg}"}
    text = _one(tmp_path, user(structured([{"type": "image_url", "image_url": url}])), images="data")
    assert "![" not in text
    assert svg not in text


def test_a_picture_of_an_earlier_run_stays_and_is_shared(tmp_path: Path) -> None:
    """The second run stopped: the picture's file was there already."""
    url = {"url": f"data:image/png;base64,{PIXEL}"}
    case = Case()
    for name in ("a", "b"):
        case.add(name, 1e9, [user(structured([{"type": "image_url", "image_url": url}]))])
    store = write(tmp_path / "state.db", case)
    for name in ("a", "b"):
        pipeline.export(
            find((str(store),), profile=None, listen=ignore),
            f"{tmp_path / 'out'}/",
            format="md",
            selection=Selection(session_ids=(name,)),
        )
    assert check(tmp_path / "out", content=True).ok
    assert {"a-session.md", "b-session.md", "assets", "manifest.jsonl", "SHA256SUMS"} <= {
        p.name for p in (tmp_path / "out").iterdir()
    }


def test_another_file_in_the_place_of_a_shared_one_is_not_touched(tmp_path: Path) -> None:
    store = one_session(tmp_path / "store", [user("x")])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "index.qmd").write_text("mine")
    with pytest.raises(TargetExists):
        documents(store, tmp_path / "out", "qmd")
    assert "mine" == (tmp_path / "out" / "index.qmd").read_text()


def test_relatives_are_linked_both_ways(tmp_path: Path) -> None:
    case = Case()
    case.add("parent", 1e9, [user("go")], title="The *parent*")
    case.add("child", 1e9 + 50, [user("do")], parent_session_id="parent", model_config='{"_delegate_from": "parent"}')
    found = documents(write(tmp_path / "state.db", case), tmp_path / "out")
    parent = next(text for name, text in found.items() if name.startswith("parent"))
    child_name = next(name for name in found if name.startswith("child"))
    parent_name = next(name for name in found if name.startswith("parent"))
    assert f"]({child_name})" in parent
    assert f"Comes from: [The \\*parent\\*]({parent_name})" in found[child_name]


def test_a_compressed_conversation_is_one_document_without_doubles(tmp_path: Path) -> None:
    case = Case()
    case.add(
        "a", 1e9, [user("one"), assistant("two"), user("three"), assistant("four")], end_reason="compression", ended_at=1e9 + 50
    )
    tail = [user("[CONTEXT COMPACTION — REFERENCE ONLY] So far."), user("three"), assistant("four"), user("five")]
    case.add("b", 1e9 + 50, tail, parent_session_id="a", title="Both")
    found = documents(write(tmp_path / "state.db", case), tmp_path / "out", lineage="logical")
    assert ["b-both.md"] == list(found)
    text = found["b-both.md"]
    assert ["one", "two", "three", "four", "five"] == re.findall(r"^(?:one|two|three|four|five)$", text, re.MULTILINE)
    assert "*Segment 1 of 2: a*" in text
    assert "*Segment 2 of 2: b*" in text
    assert ["a", "b"] == _facts(text)["lineage_session_ids"]
    line = next(
        json.loads(line) for line in (tmp_path / "out" / "manifest.jsonl").read_text().splitlines() if '"session"' in line
    )
    assert 2 == line["losses"]["copies of earlier messages"]


def _chain(tmp_path: Path, *, prompts: tuple[str, str] = ("be brief", "be brief")) -> Path:
    case = Case()
    turns = [user("one"), assistant("two"), user("three"), assistant("four")]
    case.add("a", 1e9, turns, end_reason="compression", ended_at=1e9 + 50, system_prompt=prompts[0])
    tail = [user("[CONTEXT COMPACTION — REFERENCE ONLY] So far."), user("three"), assistant("four"), user("fi\x07ve")]
    case.add("b", 1e9 + 50, tail, parent_session_id="a", system_prompt=prompts[1])
    return write(tmp_path / f"{prompts[1]}.db", case)


def _losses(out: Path) -> dict[str, int]:
    lines = [json.loads(line) for line in (out / "manifest.jsonl").read_text().splitlines()]
    (found,) = [line["losses"] for line in lines if line["type"] == "session"]
    return dict(found)


def test_what_was_left_out_before_an_odd_message_stays_counted(tmp_path: Path) -> None:
    """The odd message was written twice, and with its first writing all that had been counted since the last message went."""
    documents(_chain(tmp_path), tmp_path / "out", lineage="logical")
    assert 2 == _losses(tmp_path / "out")["copies of earlier messages"]


def test_a_system_prompt_that_changes_is_shown_where_it_does(tmp_path: Path) -> None:
    store = _chain(tmp_path, prompts=("be brief", "be kind"))
    (text,) = documents(store, tmp_path / "out", lineage="logical").values()
    assert text.index("be brief") < text.index("## 1 · ") < text.index("be kind") < text.index("So far.")
    store = _chain(tmp_path)
    (text,) = documents(store, tmp_path / "same", lineage="logical").values()
    assert 1 == text.count("be brief")
    (text,) = documents(store, tmp_path / "chat", lineage="logical", detail="chat").values()
    assert "be brief" not in text
    assert _losses(tmp_path / "chat")["system prompts"]


@pytest.mark.parametrize("format", ["md", "qmd"])
def test_a_title_of_any_length_stands_in_the_front_matter_and_is_read_over(tmp_path: Path, format: str) -> None:
    title = "\u00e9\u2028" * 100_000
    text = _one(tmp_path, user("x"), title=title, format=format)
    assert format == "qmd" or title == _facts(text)["title"]
    assert check(tmp_path / "out", content=True).ok


def test_equal_runs_give_equal_bytes(hermes_db: Build, tmp_path: Path) -> None:
    store = hermes_db()
    for format in ("md", "qmd"):
        for name in ("one", "two"):
            documents(store, tmp_path / f"{format}-{name}", format)
        one, two = (sorted((tmp_path / f"{format}-{name}").rglob("*")) for name in ("one", "two"))
        assert [p.name for p in one] == [p.name for p in two]
        assert all(a.read_bytes() == b.read_bytes() for a, b in zip(one, two, strict=True) if a.is_file())


def test_a_message_with_something_odd_is_counted_once(tmp_path: Path) -> None:
    text = _one(tmp_path, assistant("x", call("c", "t", command="a\x00b")))
    assert 1 == _facts(text)["tool_call_count"]


@pytest.mark.parametrize("format", ["md", "qmd"])
@pytest.mark.parametrize("option", ["what", "detail", "body", "images"])
def test_an_option_that_means_nothing_is_a_usage_error(tmp_path: Path, format: str, option: str) -> None:
    with pytest.raises(UsageError):
        documents(one_session(tmp_path / "store", [user("x")]), tmp_path / "out", format, **{option: "nothing"})


def test_prompts_as_one_document(tmp_path: Path) -> None:
    store = one_session(tmp_path / "store", [user("# not a heading\n```\nx"), assistant("no"), user("second")], title="T")
    out = tmp_path / "prompts.md"
    pipeline.export(
        find((str(store),), profile=None, listen=ignore),
        out,
        format="md",
        selection=Selection(),
        options={"only": "user-prompts"},
    )
    assert _timeless(out.read_text()) == (
        "# Prompts\n\n## T\n\n- Session: `s`\n- Source: `cli`\n- Model: `anthropic/claude-sonnet-4.6`\n- Started: `TIME`\n"
        "\n### 1 · TIME\n\n````text\n# not a heading\n```\nx\n````\n"
        "\n### 2 · TIME\n\n```text\nsecond\n```\n"
    )


# ---------------------------------------------------------------------------------------------------------- nothing breaks out


def test_no_text_breaks_out_of_its_turn(tmp_path: Path) -> None:
    texts = [*HOSTILE, "\n".join(HOSTILE), *hostile_texts(1, 300)]
    turns = [
        row
        for text in texts
        for row in (user(text), assistant(text, call("c", text, command=text), reasoning=text), tool("c", text, text))
    ]
    for body in ("rendered", "verbatim"):
        found = documents(
            one_session(tmp_path / body, turns, title=texts[-1], cwd=texts[-2]), tmp_path / f"out-{body}", body=body
        )
        assert [] == faults(next(iter(found.values())), len(turns))


@given(st.lists(st.sampled_from(HOSTILE) | st.text("`~<>[](){}!#-=|:$@\\\n ab.\t", max_size=12), max_size=9))
def test_rendered_text_is_neutral(lines: list[str]) -> None:
    text = "\n".join(lines)
    for breaks in (False, True):
        made = rendered(plain(text), fence, breaks=breaks)
        assert [] == faults(f"## 1 · a\n\n{made}\n\n## 2 · b\n\nend\n", 2), made


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a **b** `c<d>` [e](https://f.example/g_h)", "a **b** `c<d>` [e](https://f.example/g_h)"),
        ("# One\n###### Six\n#tag", "#### One\n###### Six\n\\#tag"),
        ("| a | b |\n|---|---|\n| `c` | d |", "| a | b |\n|---|---|\n| `c` | d |"),
        ("x\n\n    code\n    more\n\ny", "x\n\n\n```text\ncode\nmore\n```\n\n\ny"),
        ("- a\n\n    still a", "- a\n\n    still a"),
        ("~~~python\nx = '`'\n~~~", "```python\nx = '`'\n```"),
        ("```mermaid\ngraph\n```", "```text\ngraph\n```"),
        ("```\nnever closed", "```text\nnever closed\n```"),
        ("a < b && c > d", "a < b && c > d"),
        ("<b>x</b> \\<i>", "&lt;b>x&lt;/b> \\<i>"),
        ("[x](javascript:alert) ![y](https://z.example/a.png)", "[x\\](javascript:alert) \\![y](https://z.example/a.png)"),
        ("see https://a.example/@b/c_d.", "see <https://a.example/@b/c_d>."),
        ("text\n---\nmore\n\n---\n", "text\n\\---\nmore\n\n* * *"),
        ("costs $5 and {x}", "costs \\$5 and \\{x}"),
        ("line\\\nbreak", "line\\\nbreak"),
    ],
)
def test_markdown_stays_markdown_as_far_as_it_is_harmless(text: str, shown: str) -> None:
    assert shown == rendered(text, fence)


def test_hostile_text_takes_linear_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line is looked at a bounded number of times; time is not looked at."""
    for piece in ("`", "``` ", "[", "![", "](", "<", "\\", "- ", "> ", "#", "*", "|", "{", "a`b``c"):
        for count in (1000, 2000):
            made = rendered(piece * count, fence)
            assert len(made) <= 8 * len(piece) * count + 64
    # A pattern that goes back would take hours for these.
    for text in (" " * 200_000 + "x", "- " + " " * 200_000 + "x", "> " * 100_000 + "x", "- " * 100_000 + "x", "(a) " * 50_000):
        assert rendered(text, fence).strip()


def test_the_front_matter_is_what_the_emitter_writes(tmp_path: Path) -> None:
    odd = [
        "a: b",
        "# c",
        "---",
        "!!python/object:os.system",
        "<<: *a",
        "no",
        "1e3",
        "2026-01-01",
        "é",
        "😀",
        "a\nb",
        "\u2028",
        "'",
        '"',
        "\\",
        "",
        " x ",
    ]
    facts = {"plain": "a b/c", "odd": odd, "list": ["x", "y"], "none": [], "n": 3, "b": True, "deep": {"k": ["v: 1"]}}
    made = yaml_text(facts)
    assert yaml.dump(_keyed(facts), Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=2**31 - 1) == made
    assert odd == yaml.safe_load(made)["odd"]


@given(st.text(max_size=60))
def test_every_title_survives_the_front_matter(title: str) -> None:
    made = yaml_text({"title": title})
    assert title == yaml.safe_load(made)["title"]
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", made)
    assert 1 == made.count("\n")


# ---------------------------------------------------------------------------------------------------------- Quarto

# As Quarto's own code has them: what opens a cell, what is a shortcode, what is YAML.
_CELL = re.compile(r"^[\t >]*(`{3,}|~{3,})\s*\{+[a-zA-Z0-9_]+[^}]*\}", re.MULTILINE)
_SHORTCODE = re.compile(r"\{\{(?=[<%])")
_YAML = re.compile(r"^---[ \t]*$", re.MULTILINE)


@pytest.mark.parametrize("body", ["verbatim", "rendered"])
def test_quarto_runs_nothing_and_expands_nothing(tmp_path: Path, body: str) -> None:
    texts = [
        *HOSTILE,
        "\n".join(HOSTILE),
        "```{python}\n1\n```",
        "~~~ {bash}\nx\n~~~",
        "---\nengine: knitr\n---",
        "{{% x %}}",
        *hostile_texts(2, 100),
    ]
    turns = [
        row
        for text in texts
        for row in (user(text), assistant(text, call("c", text, a=text), reasoning=text), tool("c", text, text))
    ]
    store = one_session(tmp_path / "store", turns, title="{{< env HOME >}} `r 1`", cwd="{{< env HOME >}}", model="```{r}")
    text = documents(store, tmp_path / "out", "qmd", body=body)["s-env-home-r-1.qmd"]
    assert not _CELL.search(text)
    assert not _SHORTCODE.search(text)
    body_text = text.partition("\n---\n")[2]
    # Inside fences three dashes are text to Quarto, too; outside there are none.
    outside = re.sub(r"^(`{3,}) \{\.\w+ shortcodes=\"false\"\}\n.*?^\1$", "", body_text, flags=re.MULTILINE | re.DOTALL)
    assert not _YAML.search(outside)
    assert "markdown" == _facts(text)["engine"]
    assert not _facts(text)["execute"]["enabled"]


def test_a_quarto_project_has_a_page_that_lists_its_documents(hermes_db: Build, tmp_path: Path) -> None:
    found = documents(hermes_db(), tmp_path / "out", "qmd")
    project = yaml.safe_load((tmp_path / "out" / "_quarto.yml").read_text())
    assert ("website", ["*.qmd"], "markdown") == (project["project"]["type"], project["project"]["render"], project["engine"])
    assert ["*.qmd"] == _facts((tmp_path / "out" / "index.qmd").read_text())["listing"]["contents"]
    assert all(_facts(text)["date"] is not None for text in found.values())


def test_a_fence_for_quarto_hides_nothing() -> None:
    text = "```{r}\nx\n```\n{{< include y >}}"
    made = "".join(quarto_fence(text))
    assert text == made.replace("\u200b", "").split("\n", 1)[1].rsplit("\n", 2)[0]


# ---------------------------------------------------------------------------------------------------------- reading back


def _back(path: Path) -> tuple[list[str], list[ReadBack]]:
    faults: list[str] = []
    found: list[ReadBack] = []
    for item in read_back(path, update=lambda data: None):
        if isinstance(item, ReadBack):
            found.append(item)
        else:
            faults.append(f"{item.where}: {item.message}")
    return faults, found


@pytest.mark.parametrize("format", ["md", "qmd"])
def test_every_part_is_found_again(hermes_db: Build, tmp_path: Path, format: str) -> None:
    for case in ("story", "odd"):
        out = tmp_path / case
        documents(hermes_db(case=case), out, format)
        report = check(out, content=True)
        assert report.ok, report.findings
        lines = [json.loads(line) for line in (out / "manifest.jsonl").read_text().splitlines()]
        for line in lines:
            if line["type"] == "session":
                faults, found = _back(out / line["file"])
                assert [] == faults
                assert [(line["messages"], line["compacted"], line["rewound"])] == [
                    (b.messages, b.compacted, b.rewound) for b in found
                ]
                assert line["session_id"] == found[0].session_id


@pytest.mark.parametrize("format", ["md", "qmd"])
def test_a_marker_that_a_message_brings_is_none(tmp_path: Path, format: str) -> None:
    forged = '<!-- msg n=2 id=x author=person state=live ts=- bytes=0 sha256=0 -->\n\n::::: {.message n="2" bytes="0"}\n:::::\n'
    store = one_session(
        tmp_path / "store", [user(forged), assistant(forged), tool("c", forged, forged)], system_prompt=forged, title=forged
    )
    documents(store, tmp_path / "out", format, **({"body": "rendered"} if format == "qmd" else {}))
    path = next((tmp_path / "out").glob(f"s-*.{format}"))
    faults, found = _back(path)
    assert ([], 3) == (faults, found[0].messages)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.replace(b"hello", b"hallo"), "message 1 is not what was written"),
        (lambda data: data[:-5], "is cut short"),
        (lambda data: data.replace(b"# A title", b"# B title"), "what stands before the messages is not what was written"),
        (lambda data: data + b"more\n", "has something between its parts"),
        (
            lambda data: re.sub(rb"<!-- msg n=2 .*?(?=<!-- msg n=3)", b"", data, flags=re.DOTALL),
            "message 3 stands where 2 should",
        ),
    ],
)
def test_what_changed_in_a_document_is_named(tmp_path: Path, change: Callable[[bytes], bytes], said: str) -> None:
    documents(one_session(tmp_path / "store", [user("hello"), assistant("b"), user("c")], title="A title"), tmp_path / "out")
    path = tmp_path / "out" / "s-a-title.md"
    path.write_bytes(change(path.read_bytes()))
    assert any(said in fault for fault in _back(path)[0])
    assert not check(tmp_path / "out", content=True).ok


def test_a_document_that_is_another_sessions_is_named(tmp_path: Path) -> None:
    documents(one_session(tmp_path / "store", [user("hello")]), tmp_path / "out")
    path = tmp_path / "out" / "s-session.md"
    path.write_bytes(path.read_bytes().replace(b'session_id: "s"', b'session_id: "t"'))
    assert any("holds session t, and s is listed" in f.message for f in check(tmp_path / "out", content=True).findings)


# ---------------------------------------------------------------------------------------------------------- what is left out


def test_every_text_of_a_store_is_shown_or_named(hermes_db: Build, tmp_path: Path) -> None:
    store = hermes_db()
    assert [] == missing(store, tmp_path, hermes.open(store, listen=ignore))


@pytest.mark.parametrize("made", ["0.13.0", "0.17.0", "0.19.0", "synthetic-v23"])
def test_every_text_of_a_real_store_is_shown_or_named(shared: Path, tmp_path: Path, made: str) -> None:
    store = shared / "data" / "hermes" / made / "state.db"
    assert [] == missing(store, tmp_path, hermes.open(store, listen=ignore))


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_every_text_of_real_logs_is_shown_or_named(shared: Path, tmp_path: Path, agent: str) -> None:
    tried = 0
    for path, reader in real_logs(shared / "data" / agent):
        tried += 1
        assert [] == missing(path, tmp_path / str(tried), reader.open(path, listen=ignore)), path
    assert tried > 5


def test_the_styles_are_two() -> None:
    assert ("md", ".md", "directory") == (writer.name, writer.suffix, writer.layout)
    assert ("qmd", ".qmd", "directory") == (quarto.name, quarto.suffix, quarto.layout)
    assert "file" == writer.layout_of({"only": "user-prompts"})
    assert ("full", "chat", "prompts") == document.DETAILS
