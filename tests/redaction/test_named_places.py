"""Values that are secret by their name: the places where they stand, and that the look before the work sees them all."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import fakes
import pytest
from redacting import looked, redactor

from satchel.redaction import apart
from satchel.redaction.engine import Engine
from satchel.redaction.likely import secret_in
from satchel.redaction.rules import builtin


@cache
def engine() -> Engine:
    return Engine(builtin())


PLACES = (
    "echo {an:32} | wrangler secret put API_TOKEN",
    "echo -n '{hex:40}' | gh secret set API_TOKEN --repo acme/site",
    "printf 'API_TOKEN=%s\\n' '{an:32}' >> .env",
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
    "API_TOKEN ?= {an:32}",
    "api_token: !!str {an:32}",
    'api_token: &one "{an:32}"',
    "x = os.environ.get('API_TOKEN') or '{an:32}'",
    'parser.add_argument("--api-token", type=str, default="{an:32}")',
    'api_token: SecretStr = Field(default="{an:32}")',
    'builder.setApiToken("{hex:40}");',
    '"api_token": {{"type": "string", "example": "{uuid}"}}',
    "api_token:\n  type: string\n  example: {an:32}\n",
    "<apiToken><![CDATA[{an:32}]]></apiToken>",
    "map[Accept:[*/*] X-Api-Token:[{uuid}]]",
    "INSERT INTO users (email, api_token) VALUES ('a@b.dev', '{an:32}');",
    " id | api_token\n----+-----------\n  1 | {an:32}",
    "+----+-----------+\n| id | api_token |\n+----+-----------+\n|  1 | {an:32} |\n+----+-----------+",
    "api_token: >-\n  {hex:40}\nb: 1",
    "API_TOKEN:\n```\n{uuid}\n```",
    "$ printenv API_TOKEN\n{hex:40}",
    "API_TOKEN\t{uuid}\n",
    "API_TOKEN              {hex:40}          12 days ago",
    "the api token ({uuid}) stopped working",
    "the api token should be {hex:40}",
    "Is {hex:40} a valid api token?",
    "Das Passwort lautet {an:16}x7.",
    "mein Passwort ist {an:16}x7",
    "le mot de passe est {an:16}x7",
    "Contraseña: {an:16}x7",
    "a senha é {an:16}x7",
    "la password è {an:16}x7",
    "пароль: {an:16}x7",
    "密码是 {an:16}x7",
    "パスワード：{an:16}x7",
    "비밀번호: {an:16}x7",
    'my api token is "{hex:32}". Can you check it?',
    "Set `API_TOKEN` to `{uuid}` and restart.",
    "name\tencryption_key\tregion\nacme\t{hex:64}\teu",
)
OTHERS = (
    "Das Passwort ist falsch.",
    "Das Passwort lautet wie folgt",
    "La contraseña es obligatoria2",
    "パスワード：8文字以上",
    "密码是 错误的",
    "пароль: обязателен",
    "md5(password) = {hex:32}",
    "'password' => 'required|string|min:8|confirmed',",
    "password: ENC[AES256_GCM,data:Tr7o=,iv:1=,tag:k=,type:str]",
    "GOOGLE_APPLICATION_CREDENTIALS=/var/keys/svc-acct1.json",
    "f(kSecret, sizeof(kSecret), XXH3_hashLong_64b_withSeed)",
    "fly secrets set PORT=8080",
    "token\nindex.9f3ab2c1.chunk.js\n",
    '"token" "word"',
    'getToken("user_id_2024_primary")',
    "api_key:\n  type: string\n  example: string\n",
)


@pytest.mark.parametrize("place", OTHERS)
def test_what_is_no_value_stays(place: str) -> None:
    assert [] == engine().find(fakes.filled(place, seed=place))


@pytest.mark.parametrize("join", ['" + "', '"\n    "', '" . "', '" \\\n  "'])
def test_strings_that_a_program_joins_go_together(join: str) -> None:
    first, second = fakes.filled("{an:18}", seed="1"), fakes.filled("{an:18}", seed="2")
    text = f'api_token = "{first}{join}{second}"'
    found = engine().find(text)
    assert all(any(s.start <= text.index(part) and text.index(part) + 18 <= s.end for s in found) for part in (first, second))


@pytest.mark.parametrize("place", PLACES)
def test_a_value_by_its_name_is_found_and_opened(place: str) -> None:
    text = fakes.filled(place, seed=place)
    assert engine().find(text)
    for raw in (text, json.dumps(text), json.dumps(text, ensure_ascii=False), json.dumps({"a": json.dumps({"b": text})})):
        assert engine().opens(raw.encode()), raw
    assert engine().find(text) == looked(engine(), text)


@pytest.mark.parametrize("kind", ["uuid", "an:32", "hex:40"])
def test_an_array_of_a_name_and_a_value_is_a_pair(kind: str) -> None:
    value = fakes.filled("{" + kind + "}", seed="pair")
    text = json.dumps({"headers": [["accept", "text/html"], ["heroku_api_key", value]]})
    assert value not in redactor().clean(text)
    more = json.dumps([["heroku_api_key", "id_of_it_2", "north"], ["key", "up-2"], ["token", "word2"]])
    assert more == redactor().clean(more)


def test_a_quote_keeps_its_backslash() -> None:
    value = fakes.filled("{discord}", seed="quote")
    text = json.dumps(json.dumps(f"DISCORD_TOKEN={value}\nB=1\n"))
    clean = redactor().clean(json.dumps(text))
    assert value not in clean
    assert "B=1" in json.loads(json.loads(json.loads(clean)))


@pytest.mark.parametrize(
    "text",
    [
        'echo "$TOKEN" | gh secret set API_TOKEN',
        "echo ${NPM_TOKEN_FROM_VAULT} | npx wrangler secret put NPM_TOKEN",
        "echo regenerated-everything | tee -a notes-on-the-api_token",
        "printf 'API_TOKEN=%s\\n' \"$API_TOKEN\" >> .env",
        "printf 'password=%s\\n' <your-password>",
    ],
)
def test_what_a_shell_hands_on_is_no_value_where_it_says_none(text: str) -> None:
    assert [] == engine().find(text)


@pytest.mark.parametrize("place", PLACES)
def test_a_value_that_is_said_over_and_over_is_found_each_time(place: str) -> None:
    """Of very many places with the same around them all but the first were taken for nothing where the value stood apart."""
    text = fakes.filled(place, seed=place)
    values = {text[span.start : span.end] for span in engine().find(text)}
    clean = redactor().clean("\n\n".join([text] * 70))
    assert [] == [value for value in values if value in clean]


def test_a_table_is_gone_through_to_its_end_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each head was looked for values below it, so that a table of heads took hours, and no more than 1,000 rows were."""
    judged: list[int] = []

    def counted(text: str, start: int, *further: Any, **options: Any) -> Any:
        judged.append(start)
        return secret_in(text, start, *further, **options)

    monkeypatch.setattr(apart, "secret_in", counted)
    rows = [f"north,{fakes.filled('{an:24}', seed=str(number))}" for number in range(1200)]
    text = "name,api_token\n" + "\n".join(rows) + "\n"
    assert len(rows) == len(engine().find(text))
    judged.clear()
    engine().find("".join(f"name,api_token\n{row}\n" for row in rows))
    assert len(judged) <= 2 * len(rows)
