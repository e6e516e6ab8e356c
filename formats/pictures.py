"""What kinds of pictures are shown: those that their first bytes say, whatever they are called."""

from __future__ import annotations

__all__ = ["LOOKED_AT", "picture_kind"]

LOOKED_AT = 12
"""So many bytes at the beginning say what a picture is."""


def picture_kind(head: bytes) -> tuple[str, str] | None:
    """Return the suffix and the media type of a picture that every browser shows, by how it begins; None of anything else."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png", "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "jpg", "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "gif", "image/gif"
    return ("webp", "image/webp") if head.startswith(b"RIFF") and head[8:12] == b"WEBP" else None
