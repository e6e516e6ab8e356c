"""
Pictures, sounds and documents in base64: told by where they stand and by how their bytes begin.
"""

from __future__ import annotations

import base64
import re

from satchel.redaction.registry import Hit
from satchel.redaction.spans import MEDIUM

__all__ = ["BASE64", "BEGINS", "RULE", "SMALLEST", "is_media", "omitted"]

_DATA_URI = re.compile(
    r"data:(?:image|audio|video|font|application)/[A-Za-z0-9.+-]{1,64}(?:;[a-z]{1,16}=[^;,]{1,64}){0,4};base64,"
)
BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}\Z")
"""Base64 from a place of a text to its end."""
_MAGIC: tuple[tuple[bytes, bytes | None, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82", "image/png"),
    (b"\xff\xd8\xff", b"\xff\xd9", "image/jpeg"),
    (b"GIF87a", b";", "image/gif"),
    (b"GIF89a", b";", "image/gif"),
    (b"RIFF", None, "image/webp"),
    (b"%PDF-", None, "application/pdf"),
    (b"OggS", None, "audio/ogg"),
    (b"ID3", None, "audio/mpeg"),
    (b"\xff\xfb", None, "audio/mpeg"),
    (b"fLaC", None, "audio/flac"),
    (b"wOFF", None, "font/woff"),
    (b"wOF2", None, "font/woff2"),
    (b"\x1aE\xdf\xa3", None, "video/webm"),
    (b"PK\x03\x04", None, "application/zip"),
    (b"BM", None, "image/bmp"),
    (b"II*\0", None, "image/tiff"),
    (b"MM\0*", None, "image/tiff"),
)
BEGINS = re.compile(rb"iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi0|T2dnU|SUQz|//[sv]|ZkxhQ|d09G|GkXfo|UEsDB|Qk[0-3]|SUkq|TU0A")
"""How base64 of media begins."""

RULE = "media"
"""What is reported where media are left out."""

SMALLEST = 64
"""A shorter string is no media."""


def is_media(text: str, *, field: bool) -> bool:
    """
    Return whether a string is a picture, a sound or a document in base64, by where it stands and by its bytes.

    Args:
        field: It stands under a name that media stand under; else only a data URI is one.
    """
    uri = _DATA_URI.match(text) if text.startswith("data:") else None
    if uri is None and not field:
        return False
    body = text[uri.end() :] if uri is not None else text
    if len(body) < SMALLEST or len(body) % 4 or not BASE64.match(body):
        return False
    head, tail = base64.b64decode(body[:64]), base64.b64decode(body[-64:])
    for magic, end, _ in _MAGIC:
        if head.startswith(magic):
            if magic == b"RIFF":
                size = len(body) * 3 // 4 - body[-2:].count("=")
                # A picture ends where it says; what is behind it may be anything.
                return head[8:12] != b"WEBP" or int.from_bytes(head[4:8], "little") + 8 in (size, size + 1)
            return end is None or tail.endswith(end)
    return False


def omitted(text: str) -> Hit:
    """Return what comes in the place of a string that is media: a note of the kind, and how many bytes they are."""
    kind, size = _kind(text)
    return Hit(0, len(text), RULE, MEDIUM, text, f"[omitted: {kind}, {size} bytes]")


def _kind(text: str) -> tuple[str, int]:
    uri = _DATA_URI.match(text)
    body = text[uri.end() :] if uri is not None else text
    head = base64.b64decode(body[:64])
    size = len(body) * 3 // 4 - body[-2:].count("=")
    if head.startswith(b"RIFF") and head[8:12] != b"WEBP":
        return "audio/wav", size
    return next((kind for magic, _, kind in _MAGIC if head.startswith(magic)), "media"), size
