"""
Parses JSON exactly and without orjson, whose loading takes as long as parsing some thousand lines.

`satchel.jsontext` is where JSON is parsed and written; this is the careful way behind its fast one, by itself for whoever has
little to parse.
"""

from __future__ import annotations

from typing import Any

from satchel.errors import JsonError

__all__ = ["loads"]

_BOM = b"\xef\xbb\xbf"


def loads(data: bytes | str) -> Any:
    """
    Parse one JSON value: integers of any size, lone surrogates and NaN included.

    Raises:
        JsonError: It is not JSON, not UTF-8, or nested too deeply to be handled (which `satchel.jsontext` may handle still).
    """
    import json

    try:
        text = data.removeprefix(_BOM).decode("utf-8") if isinstance(data, bytes) else data.removeprefix("\ufeff")
        return json.loads(text)
    except RecursionError as error:
        raise JsonError("nested too deeply") from error
    except ValueError as error:
        raise JsonError(f"not JSON ({error})") from error
