"""The page around the sessions: its head with the policy that forbids every load, its bar, its script."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

from satchel.formats.html.escape import one_line

__all__ = ["after", "before", "no_script"]


@cache
def _file(name: str) -> str:
    return (resources.files("satchel.formats.html") / name).read_text("utf-8").strip()


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _policy() -> str:
    """Return the policy: only the script and the style that this very page has, by their hashes, and pictures inside of it."""
    parts = (
        "default-src 'none'",
        f"script-src 'sha256-{_hash(_file('page.js'))}'",
        f"style-src 'sha256-{_hash(_file('page.css'))}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(parts)


_BUTTONS = (
    ("user", "User"),
    ("model", "Assistant"),
    ("tool", "Tools"),
    ("think", "Reasoning"),
    ("old", "Hidden"),
)
_KEYS = (
    ("j k", "next, previous message"),
    ("[ ]", "previous, next session"),
    ("/", "search"),
    ("e", "fold or unfold all"),
    ("t", "light or dark"),
    ("?", "this list"),
)


def before(title: str) -> str:
    """Return the page up to where the sessions begin; `title` is plain text."""
    buttons = "".join(f'<button type="button" data-part="{part}" aria-pressed="true">{name}</button>' for part, name in _BUTTONS)
    keys = "".join(f"<dt><kbd>{key}</kbd></dt><dd>{what}</dd>" for key, what in _KEYS)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="robots" content="noindex">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{one_line(title)}</title>\n<style>{_file('page.css')}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#main">To the messages</a>\n'
        '<div id="bar" role="toolbar" aria-label="Page" hidden><button type="button" id="menu">Sessions</button>'
        f'<strong dir="auto">{one_line(title)}</strong>'
        '<input id="find" type="search" placeholder="Search all messages ( / )" aria-label="Search all messages">'
        f'{buttons}<button type="button" data-part="err" aria-pressed="false">Errors</button>'
        '<button type="button" id="fold">Unfold</button>'
        '<button type="button" id="theme" aria-label="Light or dark">Theme</button>'
        '<button type="button" id="keys" aria-label="Keys">?</button></div>\n'
        f'<div id="help" role="dialog" aria-label="Keys" hidden><dl>{keys}</dl></div>\n'
        '<div id="app">\n<nav id="side" aria-label="Sessions" hidden>'
        '<input id="pick" type="search" placeholder="Title, agent, model" aria-label="Sessions with these words">'
        '<ol id="list"></ol></nav>\n<main id="main" tabindex="-1">\n'
        '<div id="results" role="region" aria-label="Found" hidden></div>\n'
    )


def no_script() -> str:
    """Return what stands in a page whose sessions are compressed, for a browser that runs no script."""
    return "<noscript><p>The sessions in this page are compressed; to see them, let the page run its script.</p></noscript>\n"


def after(said: str) -> str:
    """Return the end of the page; `said` is plain text about where it comes from. The index stands right before it."""
    return f"<footer>{one_line(said, 600)}</footer>\n<script>{_file('page.js')}</script>\n</body>\n</html>\n"
