"""Values that are secret by their name: the places where they stand, and that the look before the work sees them all."""

from __future__ import annotations

import json
from functools import cache

import fakes
import pytest

from satchel.redaction.engine import Engine
from satchel.redaction.rules import builtin


@cache
def engine() -> Engine:
    return Engine(builtin())


PLACES = (
    'let algoliaAdminKey = "{hex:32}"',
    'fernetKey := "{an:43}="',
    'const secretKeyBase = "{hex:128}";',
    'localStorage.setItem("btcWif", "{wif}")',
    "name,service_token,region\nacme,{ln:28},eu",
    '"name","service_api_key"\n"acme","{an:32}"',
    '<input type="hidden" name="api_token" value="{an:32}">',
    '<property name="apiToken" value="{an:32}"/>',
    "{{\\u0022apiToken\\u0022:\\u0022{an:32}\\u0022}}",
    "setenv API_TOKEN '{hex:32}'",
    "        - name: API_KEY\n          value: {an:32}\n        - name: B",
    'api_token = (\n    "{an:32}"\n)',
    "api key — {hex:64}",
    "rotated the api key, new one: {hex:32}",
    'variable "hec_token" {{\n  type = string\n  default = "{uuid}"\n}}',
)


@pytest.mark.parametrize("place", PLACES)
def test_a_value_by_its_name_is_found_and_opened(place: str) -> None:
    text = fakes.filled(place, seed=place)
    assert engine().find(text)
    for raw in (text, json.dumps(text), json.dumps(text, ensure_ascii=False), json.dumps({"a": json.dumps({"b": text})})):
        assert engine().opens(raw.encode()), raw
