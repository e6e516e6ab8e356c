"""
A browser opens our pages: its script runs under the page's own policy, and nothing that a session says does anything.

What would run leaves a mark in the document; what would be loaded comes to a proxy that counts.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from documents import HOSTILE, documents, hostile_texts, one_session
from hermes_cases import write
from hermes_parts import Case, assistant, call, tool, user

from satchel.formats.html import writer

MARK = "document.documentElement.dataset.pwned=1"
PAYLOADS = [
    f"<script>{MARK}</script>",
    f"</script><script>{MARK}</script>",
    f"</textarea></title></style><script>{MARK}</script>",
    f"<img src=x onerror={MARK}>",
    f"<svg/onload={MARK}>",
    f"<details open ontoggle={MARK}>",
    f"<iframe srcdoc='<script>parent.{MARK}</script>'></iframe>",
    f"[x](javascript:{MARK})",
    "<meta http-equiv=refresh content='0;url=http://tracker.example/'>",
    "<img src=http://tracker.example/a.png>",
    "![x](http://tracker.example/b.png)",
    "<link rel=stylesheet href=http://tracker.example/c.css>",
    "<style>@import 'http://tracker.example/d.css';body{display:none}</style>",
    "<video src=http://tracker.example/e.mp4 autoplay>",
    "<object data=http://tracker.example/f></object>",
    "<base href=http://tracker.example/>",
    "<form action=http://tracker.example/><input autofocus onfocus=alert(1)>",
]


class _Proxy:
    """Takes every connection that a browser makes, and counts what it asks for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                line = connection.recv(4096).split(b"\r\n")[0].decode("latin-1")
                if "tracker.example" in line:
                    self.asked.append(line)

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def proxy() -> Iterator[_Proxy]:
    """A proxy that nothing should ask."""
    made = _Proxy()
    yield made
    made.close()


@pytest.fixture(scope="module")
def browser() -> str:
    """The browser."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium is here")
    return found


def _opened(browser: str, page: Path, folder: Path, proxy: _Proxy, *, place: str = "") -> str:
    """Return the document as it is once its script has run."""
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync"
    command = [
        browser,
        *flags.split(),
        "--disable-component-update",
        f"--user-data-dir={folder}",
        f"--proxy-server=127.0.0.1:{proxy.port}",
    ]
    command += ["--proxy-bypass-list=<-loopback>", "--virtual-time-budget=8000", "--dump-dom", f"{page.as_uri()}{place}"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True, timeout=100)
    return done.stdout


def _turns() -> list[Any]:
    rows: list[Any] = []
    for text in [*PAYLOADS, *HOSTILE, *hostile_texts(4, 30)]:
        rows += [user(text), assistant(text, call("c", text, command=text), reasoning=text), tool("c", text, text)]
    return rows


def test_the_check_itself_sees_what_runs_and_what_is_loaded(browser: str, tmp_path: Path, proxy: _Proxy) -> None:
    page = tmp_path / "bad.html"
    page.write_text("<!doctype html><html><body>" + PAYLOADS[3] + PAYLOADS[9])
    assert 'data-pwned="1"' in _opened(browser, page, tmp_path / "profile", proxy)
    assert proxy.asked


@pytest.mark.parametrize("plain", [1 << 30, 0], ids=["plain", "packed"])
def test_nothing_runs_and_nothing_is_loaded(
    browser: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy: _Proxy, plain: int
) -> None:
    monkeypatch.setattr(writer, "_PLAIN", plain)
    turns = _turns()
    everywhere = dict.fromkeys(("title", "cwd", "model", "system_prompt", "source"), "".join(PAYLOADS))
    documents(one_session(tmp_path / "store", turns, **everywhere), tmp_path / "out", "html")
    dom = _opened(browser, tmp_path / "out" / "sessions.html", tmp_path / "profile", proxy)
    assert '<html lang="en" class="live">' in dom, "the page's own script ran, and nothing marked the document"
    assert [] == proxy.asked
    assert len(turns) == len(re.findall(r'<article class="', dom))


def test_a_session_is_opened_at_the_message_that_a_link_names(
    browser: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy: _Proxy
) -> None:
    monkeypatch.setattr(writer, "_PLAIN", 0)
    monkeypatch.setattr(writer, "_PART", 4_000)
    case = Case()
    for name in ("a", "b", "c"):
        case.add(name, 1e9, [user(f"{name}-{n} " + "word " * 40) for n in range(60)], title=f"Session {name}")
    documents(write(tmp_path / "state.db", case), tmp_path / "out", "html")
    dom = _opened(browser, tmp_path / "out" / "sessions.html", tmp_path / "profile", proxy, place="#s2-m50")
    assert "<title>Session b</title>" in dom
    assert re.search(r'<article class="user hit" id="s2-m50"', dom)
    assert "b-49" in dom
    shown = [int(number) for number in re.findall(r'id="s2-m(\d+)"', dom)]
    assert list(range(1, len(shown) + 1)) == shown, "each part is there once, and in order, whoever asked for it"
    assert "a-0 " not in dom
    assert 3 == len(re.findall(r'<a href="#s\d" data-at="\d"', dom)), "all sessions are in the list"
    assert re.search(r'data-at="1"[^>]* aria-current="page"', dom)
