"""
Values by the names they stand under, in the places where languages, files, commands and people put them, and what only looks so.

A place is a function of a name in capitals and a value. All values are made when the test runs.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fakes import filled

from satchel.redaction.engine import Engine
from satchel.redaction.named import named_value
from satchel.redaction.names import judged
from satchel.redaction.rules import builtin

ENGINE = Engine(builtin())

NAMES = {
    "MISTRAL_API_KEY": "{an:32}",
    "DD_API_KEY": "{hex:32}",
    "MY_SERVICE_TOKEN": "x7{ln:26}",
    "OAUTH_CLIENT_SECRET": "a7{b64u:36}Q2",
    "DB_PASSWORD": "{an:10}7x!{an:4}",
    "JWT_SECRET": "{b64:43}=",
    "ENCRYPTION_KEY": "{hex:64}",
    "SNYK_TOKEN": "{uuid}",
    "AWS_SECRET_ACCESS_KEY": "{an:19}/{an:20}",
    "APP_KEY": "base64:{b64:43}=",
    "PRIVATE_KEY": "0x{hex:64}",
    "REFRESH_TOKEN": "b4{b64u:60}X9",
}


def camel(name: str) -> str:
    first, *rest = name.lower().split("_")
    return first + "".join(word.capitalize() for word in rest)


def snake(name: str) -> str:
    return name.lower()


def kebab(name: str) -> str:
    return name.lower().replace("_", "-")


def words(name: str) -> str:
    return name.lower().replace("_", " ")


def title(name: str) -> str:
    return name.replace("_", " ").title()


PLACES: dict[str, Callable[[str, str], str]] = {
    "env": lambda n, v: f"PATH=/usr/bin\n{n}={v}\nHOME=/root\n",
    "env-dq": lambda n, v: f'{n}="{v}"\n',
    "export": lambda n, v: f"export {n}={v}",
    "powershell": lambda n, v: f'$env:{n} = "{v}"',
    "cmd-set": lambda n, v: f"C:\\> set {n}={v}",
    "setx": lambda n, v: f'setx {n} "{v}"',
    "fish": lambda n, v: f"set -x {n} {v}",
    "fishq": lambda n, v: f"set -gx {n} '{v}'",
    "docker-ENV": lambda n, v: f"FROM x\nENV {n}={v}\n",
    "docker-ENV2": lambda n, v: f"FROM x\nENV {n} {v}\n",
    "docker-build-arg": lambda n, v: f"docker build --build-arg {n}={v} .",
    "compose-map": lambda n, v: f"    environment:\n      {n}: {v}\n",
    "compose-mapq": lambda n, v: f'    environment:\n      {n}: "{v}"\n',
    "compose-list": lambda n, v: f"    environment:\n      - {n}={v}\n",
    "systemd": lambda n, v: f'[Service]\nEnvironment="{n}={v}"\n',
    "k8s-env": lambda n, v: f"        - name: {n}\n          value: {v}\n",
    "k8s-envq": lambda n, v: f'        - name: {n}\n          value: "{v}"\n',
    "gha": lambda n, v: f"      env:\n        {n}: {v}\n",
    "yaml-snake": lambda n, v: f"app:\n  {snake(n)}: {v}\n",
    "yaml-q": lambda n, v: f"{snake(n)}: '{v}'\n",
    "yaml-kebab": lambda n, v: f"x:\n  {kebab(n)}: {v}\n",
    "json": lambda n, v: f'{{"{camel(n)}": "{v}", "x": 1}}',
    "json-compact": lambda n, v: f'{{"a":1,"{snake(n)}":"{v}","b":2}}',
    "json-esc": lambda n, v: f'{{"x":"{{\\"{snake(n)}\\":\\"{v}\\"}}"}}',
    "har": lambda n, v: f'{{"name":"{kebab(n)}","value":"{v}"}}',
    "py": lambda n, v: f'{n} = "{v}"',
    "py-single": lambda n, v: f"{snake(n)} = '{v}'",
    "py-kwarg": lambda n, v: f'client = Client({snake(n)}="{v}", timeout=3)',
    "py-dict": lambda n, v: f"cfg['{snake(n)}'] = '{v}'",
    "py-repr": lambda n, v: f"{{'{snake(n)}': '{v}', 'a': None}}",
    "py-environ": lambda n, v: f'os.environ["{n}"] = "{v}"',
    "py-setdefault": lambda n, v: f'os.environ.setdefault("{n}", "{v}")',
    "py-typed": lambda n, v: f'    {snake(n)}: str = "{v}"',
    "py-secretstr": lambda n, v: f'{snake(n)}=SecretStr("{v}")',
    "py-getenv": lambda n, v: f'os.getenv("{n}", "{v}")',
    "js": lambda n, v: f"const {camel(n)} = '{v}';",
    "js-obj": lambda n, v: f"{{ {camel(n)}: '{v}', region: 'eu' }}",
    "js-tmpl": lambda n, v: f"const {camel(n)} = `{v}`",
    "ts": lambda n, v: f'private readonly {camel(n)}: string = "{v}";',
    "js-or": lambda n, v: f"const x = process.env.{n} || '{v}'",
    "js-nullish": lambda n, v: f'{camel(n)}: process.env.{n} ?? "{v}",',
    "go": lambda n, v: f'{camel(n)} := "{v}"',
    "go-struct": lambda n, v: f'\t{camel(n).capitalize()}: "{v}",',
    "go-setenv": lambda n, v: f'os.Setenv("{n}", "{v}")',
    "rust": lambda n, v: f'let {snake(n)}: &str = "{v}";',
    "rust-const": lambda n, v: f'const {n}: &\'static str = "{v}";',
    "java": lambda n, v: f'private static final String {n} = "{v}";',
    "csharp": lambda n, v: f'public string {camel(n).capitalize()} {{ get; set; }} = "{v}";',
    "kotlin": lambda n, v: f'val {camel(n)}: String = "{v}"',
    "swift": lambda n, v: f'let {camel(n)} = "{v}"',
    "ruby": lambda n, v: f":{snake(n)} => '{v}'",
    "ruby2": lambda n, v: f"{snake(n)}: '{v}',",
    "ruby-env": lambda n, v: f"ENV['{n}'] ||= '{v}'",
    "php": lambda n, v: f"'{snake(n)}' => '{v}',",
    "php-var": lambda n, v: f"${snake(n)} = '{v}';",
    "php-define": lambda n, v: f"define('{n}', '{v}');",
    "perl": lambda n, v: f"my ${snake(n)} = '{v}';",
    "lua": lambda n, v: f'{snake(n)} = "{v}",',
    "elixir": lambda n, v: f'config :app, {snake(n)}: "{v}"',
    "scala": lambda n, v: f'val {camel(n)} = "{v}"',
    "c-define": lambda n, v: f'#define {n} "{v}"',
    "dart": lambda n, v: f"final String {camel(n)} = '{v}';",
    "r": lambda n, v: f'Sys.setenv({n} = "{v}")',
    "r2": lambda n, v: f'{snake(n)} <- "{v}"',
    "hcl": lambda n, v: f'  {snake(n)} = "{v}"',
    "hcl-var": lambda n, v: f'variable "{snake(n)}" {{\n  default = "{v}"\n}}',
    "tfvars": lambda n, v: f'{snake(n)}="{v}"',
    "toml": lambda n, v: f'[a]\n{snake(n)} = "{v}"\n',
    "ini": lambda n, v: f"[a]\n{snake(n)} = {v}\n",
    "ini-tight": lambda n, v: f"[a]\n{snake(n)}={v}\n",
    "props": lambda n, v: f"app.{snake(n).replace('_', '.')}={v}\n",
    "props-colon": lambda n, v: f"app.{snake(n)}: {v}\n",
    "xml": lambda n, v: f"<{camel(n)}>{v}</{camel(n)}>",
    "xml-attr": lambda n, v: f'<add key="{camel(n)}" value="{v}" />',
    "xml-attr2": lambda n, v: f'<db {snake(n)}="{v}" host="x"/>',
    "xml-prop": lambda n, v: f'<property name="{snake(n)}">{v}</property>',
    "plist": lambda n, v: f"<key>{camel(n)}</key>\n\t<string>{v}</string>",
    "android": lambda n, v: f'<string name="{snake(n)}">{v}</string>',
    "flag": lambda n, v: f"tool --{kebab(n)} {v} --verbose",
    "flag-eq": lambda n, v: f"tool --{kebab(n)}={v} --verbose",
    "flag-q": lambda n, v: f"tool --{kebab(n)} '{v}'",
    "flag-java": lambda n, v: f"java -D{snake(n)}={v} -jar x.jar",
    "helm": lambda n, v: f"helm upgrade x --set auth.{camel(n)}={v} --wait",
    "helm2": lambda n, v: f"--set-string auth.{camel(n)}={v},a=b",
    "tf-var": lambda n, v: f"terraform apply -var {snake(n)}={v}",
    "tf-varq": lambda n, v: f"terraform apply -var '{snake(n)}={v}'",
    "argv-list": lambda n, v: f'["tool", "--{kebab(n)}", "{v}", "-v"]',
    "argv-list-eq": lambda n, v: f"['tool', '--{kebab(n)}={v}']",
    "gcloud": lambda n, v: f"gcloud run deploy x --set-env-vars {n}={v},A=b",
    "heroku": lambda n, v: f"heroku config:set {n}={v}",
    "fly": lambda n, v: f"fly secrets set {n}={v}",
    "npx": lambda n, v: f"{n}={v} npx start",
    "env-inline": lambda n, v: f"FOO=1 {n}={v} python run.py",
    "ssm": lambda n, v: f"aws ssm put-parameter --name /app/{snake(n)} --value {v} --type SecureString",
    "ps": lambda n, v: f"root 1 0.0 node server --{kebab(n)}={v}\n",
    "header": lambda n, v: f"X-{title(n).replace(' ', '-')}: {v}\r\n",
    "curl-H": lambda n, v: f"curl -H 'X-{title(n).replace(' ', '-')}: {v}' https://x",
    "curl-json": lambda n, v: f'curl -d \'{{"{snake(n)}":"{v}"}}\' https://x',
    "curl-form": lambda n, v: f"curl -d '{snake(n)}={v}&x=1' https://x",
    "curl-F": lambda n, v: f"curl -F {snake(n)}={v} https://x",
    "query": lambda n, v: f"https://x.dev/a?x=1&{snake(n)}={v}&y=2",
    "query-first": lambda n, v: f"GET /a?{snake(n)}={v} HTTP/1.1",
    "fetch-header": lambda n, v: f"headers: {{ 'x-{kebab(n)}': '{v}' }}",
    "prose": lambda n, v: f"hi, my {words(n)} is {v} so please use it",
    "prose2": lambda n, v: f"The {words(n)}: `{v}`",
    "prose3": lambda n, v: f"use {v} as the {words(n)} for staging",
    "prose4": lambda n, v: f"I set the {words(n)} to {v}.",
    "prose5": lambda n, v: f"**{title(n)}**: {v}",
    "prose6": lambda n, v: f"- {title(n)}: {v}\n",
    "prose7": lambda n, v: f"{title(n)} = {v}",
    "prompt": lambda n, v: f"{title(n)} [None]: {v}",
    "prompt2": lambda n, v: f"Enter {words(n)}: {v}\n",
    "md-table": lambda n, v: f"| name | {snake(n)} |\n|---|---|\n| bob | {v} |\n",
    "md-table2": lambda n, v: f"| {n} | {v} |\n",
    "csv": lambda n, v: f"user,{snake(n)},role\nbob,{v},dev\n",
    "tsv": lambda n, v: f"user\t{snake(n)}\nbob\t{v}\n",
    "log-kv": lambda n, v: f"2026-01-01 INFO cfg {snake(n)}={v} region=eu",
    "log-json": lambda n, v: f'INFO {{"{snake(n)}":"{v}"}}',
    "log-comma": lambda n, v: f"config: user=bob, {snake(n)}={v}, x=1",
    "log-paren": lambda n, v: f"Config(user='bob', {snake(n)}='{v}')",
    "log-semi": lambda n, v: f"a=b;{snake(n)}={v};c=d",
    "traceback": lambda n, v: f"    auth({snake(n)}='{v}')\nValueError",
    "assert": lambda n, v: f'assert cfg.{snake(n)} == "{v}"',
    "sql-insert": lambda n, v: f"UPDATE settings SET {snake(n)} = '{v}' WHERE id=1",
    "diff": lambda n, v: f"-{n}=changeme\n+{n}={v}\n",
    "gutter": lambda n, v: f"    12\t{n}={v}\n    13\tX=1\n",
    "grep": lambda n, v: f".env:3:{n}={v}\n",
    "cat-n": lambda n, v: f"     3  {n}={v}\n",
    "arrow": lambda n, v: f"  12→{n}={v}\n",
    "dollar": lambda n, v: f"export {n}=$'{v}'",
    "jinja-default": lambda n, v: f"{{{{ {snake(n)} | default('{v}') }}}}",
    "shell-default": lambda n, v: f"{n}=${{{n}:-{v}}}",
    "heredoc": lambda n, v: f"cat > .env <<EOF\n{n}={v}\nEOF",
    "echo": lambda n, v: f'echo "{n}={v}" >> .env',
    "sed": lambda n, v: f"sed -i 's/{n}=.*/{n}={v}/' .env",
    "printf": lambda n, v: f"printf '%s\\n' '{n}={v}'",
    "graphql": lambda n, v: f'mutation {{ login({camel(n)}: "{v}") {{ ok }} }}',
    "cfn": lambda n, v: f"ParameterKey={camel(n)},ParameterValue={v}",
    "ansible": lambda n, v: f'- name: x\n  vars:\n    {snake(n)}: "{v}"\n',
    "nix": lambda n, v: f'{camel(n)} = "{v}";',
    "gradle": lambda n, v: f"{camel(n)} '{v}'",
    "maven-set": lambda n, v: f"mvn deploy -D{camel(n)}={v}",
    "properties-esc": lambda n, v: f"{snake(n)} = {v} # prod\n",
    "yaml-comment": lambda n, v: f"{snake(n)}: {v}  # rotate me\n",
    "yaml-flow": lambda n, v: f"{{host: x, {snake(n)}: {v}}}",
    "bracket-env": lambda n, v: f"[{n}] => {v}",
    "php-dump": lambda n, v: f'["{snake(n)}"]=>\n  string(32) "{v}"',
    "var_dump": lambda n, v: f"[{snake(n)}] => {v}",
    "ruby-inspect": lambda n, v: f'#<Config {snake(n)}="{v}">',
    "ruby-iv": lambda n, v: f'@{snake(n)}="{v}"',
    "url-enc": lambda n, v: f"data={snake(n)}%3D{v}%26x%3D1",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_value_under_a_secret_name_is_found_in_every_place(place: str) -> None:
    missed = []
    for name, template in NAMES.items():
        value = filled(template, seed=f"{place} {name}")
        text = PLACES[place](name, value)
        found = ENGINE.find(text)
        if not any(span.start <= text.index(value) and text.index(value) + len(value) <= span.end for span in found):
            missed.append(name)
    assert [] == missed


@pytest.mark.parametrize(
    "text",
    [
        "def check_password(self, raw_password: str) -> bool:",
        "const token = await getToken(user.id);",
        "max_tokens=4096, temperature=0.7",
        'secret_key = os.environ["SECRET_KEY"]',
        "api_key=resolved_api_key,",
        "password = request.form['password']",
        "var oa={token:wf,key:qb,password:aw};if(e.session_count===238)throw Error(x)",
        "token = uuid.uuid4().hex[:12]",
        "sudo_password = _prompt_for_sudo_password(timeout_seconds=45)",
        "you can pass `spec=True` to it",
        'REG_NAME_PAT = r"(?:[^\\[\\]%:/?#]|%[a-fA-F0-9]{2})*"',
        "'gss_krb5_lucid_key', 'gss_krb5_rfc1964_keydata'",
        "__m512i const data_key    = _mm512_xor_si512",
        "private_key: PKCS7PrivateKeyTypes",
        "Entire-Session: 2026-01-21-d45a7c90-0652-44ce-b3e4-b5d034d00daa",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        'password: "{{ vault_password }}"',
        "password=None, token=null, secret: true, api_key: string",
        "API_KEY=your_api_key_here",
        "from urllib.parse import (_splitport, _splitpasswd,\n    _splitattr, _splitquery)",
        "the token expired at 2026-01-01T00:00:00Z",
        "GPG_KEY=F61E295167D7085755CB090283B77C67E2EB1683",
        "key: ArrowDown, keyCode: 40, cache_key: user:42:profile",
        "session_key=gateway_session_key,",
    ],
)
def test_programs_that_speak_of_secrets_are_left_alone(text: str) -> None:
    assert [] == ENGINE.find(text)


@pytest.mark.parametrize(
    ("name", "klass"),
    [
        ("DB_PASSWORD", "password"),
        ("dbpassword", "password"),
        ("openaiApiKey", "secret"),
        ("X-Auth-Token", "secret"),
        ("SECRET_KEY_BASE", "secret"),
        ("mySecretKeyProd", "secret"),
        ("max_tokens", None),
        ("passwordHash", None),
        ("publicKey", None),
        ("token_count", None),
        ("sessionId", None),
        ("author", None),
        ("sort_key", None),
    ],
)
def test_a_name_is_judged_by_its_words(name: str, klass: str | None) -> None:
    found = judged(name)
    assert klass == (found.klass if found else None)


def test_a_value_of_json_is_judged_by_the_keys_above_it() -> None:
    value = filled("{an:32}", seed="keys")

    assert named_value(("service", "apiKey", "value"), value) is not None
    assert named_value(("service", "region", "value"), value) is None
    assert named_value(("login", "password"), 48213977) is not None
    assert named_value(("limits", "max_tokens"), 48213977) is None


def test_tables_are_read_below_their_heads() -> None:
    first, second = filled("{an:20}", seed="row 1"), filled("{an:20}", seed="row 2")
    text = f"user,password,role\nbob,{first},dev\nann,{second},ops\nimport a, password, b\n"

    assert [first, second] == [text[span.start : span.end] for span in ENGINE.find(text)]
