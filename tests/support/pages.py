"""Pages of HTML as a parser sees them, with what is compressed in them opened."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

__all__ = ["Element", "blobs", "elements", "index_of", "page_faults", "text_of_page", "whole"]

_BLOB = re.compile(r'<script type="text/plain" id="z(\d+)">([A-Za-z0-9+/=]*)</script>')
_VOID = {"meta", "br", "hr", "img", "input"}


class Element:
    """An element with its attributes, and all text inside of it."""

    def __init__(self, tag: str, attributes: dict[str, str | None], within: list[Element]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.within = list(within)
        self.text = ""

    def __repr__(self) -> str:
        return f"<{self.tag} {self.attributes}>"


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[Element] = []
        self.open: list[Element] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs), self.open)
        self.found.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1].tag != tag:
            self.wrong.append(f"</{tag}> closes {self.open[-1:]}")
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data

    def handle_comment(self, data: str) -> None:
        self.wrong.append(f"comment: {data[:60]}")

    def handle_pi(self, data: str) -> None:
        self.wrong.append(f"instruction: {data[:60]}")


def elements(html: str) -> tuple[list[Element], list[str]]:
    """Return the elements of a page, or a part of one, in order, and what is not well-formed in it."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    return parser.found, parser.wrong + [f"<{element.tag}> is not closed" for element in parser.open]


def blobs(page: str) -> Iterator[str]:
    """Yield the compressed parts of a page, opened."""
    for number, (said, data) in enumerate(_BLOB.findall(page)):
        assert number == int(said)
        yield zlib.decompress(base64.b64decode(data)).decode()


def whole(page: str) -> str:
    """Return a page with its compressed parts as plain HTML."""
    return _BLOB.sub("", page).replace("</main>", "".join(blobs(page)) + "</main>", 1)


def index_of(page: str) -> dict[str, Any]:
    """Return the list of the sessions that a page has."""
    found = re.search(r'<script type="application/json" id="index">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    read: dict[str, Any] = json.loads(found[1])
    return read


_TAGS = {
    *("html", "head", "meta", "title", "style", "body", "a", "div", "button", "strong", "input", "dl", "dt", "dd", "kbd"),
    *("nav", "ol", "ul", "li", "main", "section", "h1", "h4", "h5", "h6", "p", "article", "header", "b", "span", "time"),
    *("details", "summary", "pre", "code", "em", "s", "table", "thead", "tbody", "tr", "th", "td", "blockquote", "br", "hr"),
    *("img", "ins", "del", "footer", "script", "noscript"),
}
_ATTRIBUTES = {
    *("class", "id", "href", "rel", "dir", "title", "alt", "src", "datetime", "lang", "charset", "content", "name", "http-equiv"),
    *("type", "role", "hidden", "tabindex", "placeholder", "open", "start", "colspan", "data-part", "data-language"),
    *("aria-label", "aria-pressed"),
}
_LINK = re.compile(r"(?:https?://|mailto:|#)\S*\Z", re.IGNORECASE)
_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\n]+\Z")


def page_faults(page: str, *, messages: int) -> list[str]:
    """Return what is in a page that only a session could have brought there, and what is wrong with its form."""
    found, faults = elements(whole(page))
    for element in found:
        if element.tag not in _TAGS:
            faults.append(f"<{element.tag}>")
        for name, value in element.attributes.items():
            if name not in _ATTRIBUTES or name.startswith("on"):
                faults.append(f"<{element.tag} {name}={value!r}>")
        href, source = element.attributes.get("href"), element.attributes.get("src")
        if href is not None and not _LINK.match(href):
            faults.append(f"link: {href[:80]}")
        if source is not None and (element.tag != "img" or not _PICTURE.match(source)):
            faults.append(f"source: {source[:80]}")
        if element.tag == "meta" and element.attributes.get("http-equiv") not in (None, "Content-Security-Policy"):
            faults.append(f"meta: {element.attributes}")
        if element.tag == "article" and any(outer.tag == "article" for outer in element.within):
            faults.append("a message inside of another one")
    tags = [element.tag for element in found]
    for tag, number in (("style", 1), ("title", 1), ("script", 2), ("article", messages)):
        if tags.count(tag) != number:
            faults.append(f"{tags.count(tag)} times <{tag}>, not {number}")
    return faults


def text_of_page(page: str) -> str:
    """Return all text of a page, and what stands in its links and titles."""
    found, _ = elements(whole(page))
    links = " ".join(
        str(element.attributes.get(name, "")) for element in found for name in ("href", "title", "src", "data-language")
    )
    return found[0].text + " " + links
