"""Pictures of a document: files beside it, data inside it, or a line that says what was there."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable
from typing import Literal

from satchel.contracts import Target, share
from satchel.formats.markdown.literal import escaped
from satchel.formats.model import Image
from satchel.formats.pictures import LOOKED_AT, picture_kind
from satchel.wording import size

__all__ = ["HOW", "Assets"]

HOW = ("files", "data", "none")
_FOLDER = "assets"


class Assets:
    """Writes each picture once, under the name of what is in it."""

    def __init__(self, target: Target, how: Literal["files", "data", "none"]) -> None:
        self._target = target
        self._how = how
        self._written: set[str] = set()

    def shown(self, image: Image, lost: Callable[[str], object]) -> str:
        """Return the Markdown that stands for a picture; `lost` hears of one that is not there."""
        if image.data is None:
            # What is loaded from elsewhere tells elsewhere that it is looked at.
            return f"\\[image: {escaped(image.url or image.media_type or 'without data', 2000)}\\]"
        try:
            data = base64.b64decode(image.data, validate=False)
        except (binascii.Error, ValueError):
            lost("images that are not base64")
            return f"\\[image: {escaped(image.media_type or 'unknown')}, not readable\\]"
        digest = hashlib.sha256(data)
        kind = picture_kind(data[:LOOKED_AT])
        label = f"image: {escaped(image.media_type or 'unknown', 60)}, {size(len(data))}, sha256 {digest.hexdigest()}"
        if kind is None or self._how == "none":
            lost("images left out")
            return f"\\[{label}\\]"
        suffix, media = kind
        if self._how == "data":
            return f"![{label[:200]}](data:{media};base64,{base64.b64encode(data).decode()})"
        name = f"{_FOLDER}/{digest.hexdigest()[:32]}.{suffix}"
        if name not in self._written:
            self._written.add(name)
            share(self._target, name, data)
        return f"![{label}]({name})"
