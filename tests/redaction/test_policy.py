"""A policy is all that was asked for, or an error; and it shows no value, whoever asks."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from redacting import KEY, token

from satchel.errors import PluginError, UsageError
from satchel.redaction import linting
from satchel.redaction.building import build
from satchel.redaction.known import from_environment, from_file, is_sensitive
from satchel.redaction.policy import Policy, config_path, make_policy, user_rules

SECRET = "Zq7-vLm2.kd8Wp"
RULE = """
[[rule]]
id = "acme-badge"
about = "badges of Acme"
literals = ["acme_"]
pattern = 'acme_[a-z0-9]{8,40}'
"""


def made(**wanted: Any) -> Policy:
    return make_policy(config=wanted.pop("config", os.devnull), environ=wanted.pop("environ", {}), **wanted)


def clean(text: str, **wanted: Any) -> str:
    redactor: Any = build(made(**wanted), tags=KEY)
    return str(redactor.clean(text))


def lines(path: Path, *texts: str) -> Path:
    path.write_text("\n".join(texts) + "\n")
    return path


# ------------------------------------------------------------------------------------------------------------------ rules


def test_a_rule_of_the_user_is_in_force(tmp_path: Path) -> None:
    own = lines(tmp_path / "rules.toml", RULE)

    assert "badge [REDACTED:acme-badge:" in clean("badge acme_k3j4h5g6f7", rules_from=[own])
    assert "acme_k3j4h5g6f7" in clean("badge acme_k3j4h5g6f7")


def test_a_rule_that_is_off_finds_nothing() -> None:
    text = f"x {token()}"

    assert "REDACTED" in clean(text)
    assert text == clean(text, no_rule=["github-token"])


def test_an_unknown_rule_can_not_be_turned_off() -> None:
    """A misspelled id would leave the rule on; it is the user who believes it to be off."""
    with pytest.raises(UsageError, match="no rule 'gihub-token'"):
        made(no_rule=["gihub-token"])


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"ab(?:c+)+d", "without a bound"),
        (r"ab(?:c{1,9}){1,9}d", "repetition inside a repetition"),
        (r"ab[a-z]*", "without a bound"),
        (r"ab.{0,99999}", "without a bound"),
        (r"ab(c)\1", "refers to one of its own groups"),
        (r"ab(?:cc|c|cc){1,40}d", "takes too long"),
        (r"ab[a-z]{0,2000}[a-z]{0,2000}[a-z]{0,2000}\d", "takes too long"),
    ],
)
def test_a_pattern_that_may_take_for_ever_is_refused(tmp_path: Path, pattern: str, why: str) -> None:
    own = lines(tmp_path / "rules.toml", f'[[rule]]\nid = "slow"\nliterals = ["ab"]\npattern = \'{pattern}\'')

    with pytest.raises(UsageError, match=why):
        user_rules(own)


@pytest.mark.parametrize("pattern", [r"acme_[a-z0-9]{8,40}", r"(?:a|b){3}c", r"(?i)key[ :=]{0,3}(?P<secret>\w{8,64})\b", "x"])
def test_an_ordinary_pattern_passes(pattern: str) -> None:
    assert "" == linting.fault(pattern)


@pytest.mark.parametrize(
    "text",
    ["[[rule]]\nid = 'x'\npattern = 'y'", "not toml", "[[rule]]\nid = 'Big Name'\nliterals = ['abc']\npattern = 'abc'"],
    ids=["no literal", "no TOML", "no id"],
)
def test_rules_of_the_wrong_form_are_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError):
        user_rules(lines(tmp_path / "rules.toml", text))


class Point:
    """An entry point."""

    name = "badges"
    dist = None

    def __init__(self, brought: object) -> None:
        self.brought = brought

    def load(self) -> object:
        if isinstance(self.brought, Exception):
            raise self.brought
        return self.brought


def test_rules_of_a_plug_in_are_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Point(lambda: RULE)])

    assert "[REDACTED:acme-badge:" in clean("badge acme_k3j4h5g6f7")


@pytest.mark.parametrize(
    "brought", [7, ImportError("no"), RULE.replace("acme-badge", "github-token")], ids=["int", "broken", "clash"]
)
def test_a_broken_plug_in_stops_the_run(monkeypatch: pytest.MonkeyPatch, brought: object) -> None:
    """To go on without its rules would leave in what it was installed to take out."""
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Point(brought)])

    with pytest.raises(PluginError, match="badges"):
        made()


# ---------------------------------------------------------------------------------------------------------------- allowing


@pytest.mark.parametrize(
    "entry", ["{token}", "value:{token}", "regex:gh._[A-Za-z0-9]{{36}}", "rule:github-token", "{placeholder}"]
)
def test_what_is_allowed_stays(tmp_path: Path, entry: str) -> None:
    value = token()
    placeholder = f"[REDACTED:github-token:{KEY.tag(value)}]"
    allow = lines(tmp_path / "allow.txt", "# mine", "", entry.format(token=value, placeholder=placeholder))

    assert f"x {value}" == clean(f"x {value}", allow=[allow])
    if not entry.startswith(("regex", "rule")):
        assert "REDACTED" in clean(f"x {token('other')}", allow=[allow])


@pytest.mark.parametrize("pattern", ["(", ".*", r"[\s\S]{0,100}", "(a+)+"])
def test_a_pattern_that_allows_everything_is_refused(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(UsageError, match=r"allow\.txt:1"):
        made(allow=[lines(tmp_path / "allow.txt", f"regex:{pattern}")])


# ---------------------------------------------------------------------------------------------------------- known values


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        (f"DB_PASSWORD={SECRET}\nPORT=8080\nDEBUG=true\nLOG_FILE=/var/log/x.log\n", {SECRET}),
        (f"export API_TOKEN='{SECRET}'  # mine\nNAME=\"harbour\"\n", {SECRET}),
        (f"db_url: postgres://ann:{SECRET}@db/x\n", {SECRET}),
        ("TOKEN=changeme\nSECRET=${OTHER}\nAPI_KEY=Hk29fjK20dkkQz\n", {"Hk29fjK20dkkQz"}),
        (f"{SECRET}\nblue-harbour\n\n# no\nabc\n", {SECRET, "blue-harbour"}),
        (json.dumps({"a": {"apiKey": SECRET}, "port": "8080", "name": "harbour"}), {SECRET}),
        (json.dumps({"tokens": {"access": SECRET}}), {SECRET}),
        (json.dumps([SECRET, "blue-harbour"]), {SECRET, "blue-harbour"}),
        (f"machine example.org login ann password {SECRET}\n", {SECRET}),
    ],
    ids=["env", "quoted", "url", "placeholders", "lines", "json", "json-nested", "json-list", "netrc"],
)
def test_values_are_taken_from_any_file_and_no_more_than_the_secrets(tmp_path: Path, text: str, taken: set[str]) -> None:
    path = tmp_path / "values"
    path.write_text(text)

    assert taken == {secret.value for secret in from_file(path)}


def test_the_environment_gives_what_sensitive_names_hold() -> None:
    environ = {"GITHUB_TOKEN": SECRET, "SSH_AUTH_SOCK": "/tmp/agent.12", "PATH": "/bin:/usr/bin", "TOKEN_LIMIT": "120000000"}

    assert [SECRET] == [secret.value for secret in from_environment(environ)]


@pytest.mark.parametrize(
    ("name", "sensitive"),
    [
        *[("GITHUB_TOKEN", True), ("dbPassword", True), ("api-key", True)],
        *[("MAX_TOKENS", False), ("token_count", False), ("author", False), ("monkey", False), ("KEY_ID", False)],
    ],
)
def test_names_are_judged_by_their_words(name: str, sensitive: bool) -> None:
    assert sensitive == is_sensitive(name)


def test_a_known_value_goes_wherever_it_stands(tmp_path: Path) -> None:
    env = lines(tmp_path / ".env", f"PASSPHRASE={SECRET}")

    assert f"then [REDACTED:known-secret:{KEY.tag(SECRET)}], again" == clean(f"then {SECRET}, again", secrets_from=[env])


def test_the_secrets_of_hermes_are_those_of_its_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "profiles" / "second").mkdir(parents=True)
    lines(home / ".env", f"OPENROUTER_API_KEY={SECRET}")
    (home / "profiles/second/auth.json").write_text(json.dumps({"access_token": "Kd93jfLw02mQx7"}))

    policy = made(secrets_from=["hermes"], environ={"HERMES_HOME": str(home)})

    assert {SECRET, "Kd93jfLw02mQx7"} == {secret.value for secret in policy.secrets}


@pytest.mark.parametrize("text", ["", "a=b\n", "x\ny\n"])
def test_a_file_without_a_secret_is_an_error_that_shows_none_of_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "values"
    path.write_text(text)

    with pytest.raises(UsageError, match="can be a secret"):
        from_file(path)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    for name in ("rules_from", "allow", "secrets_from"):
        with pytest.raises(UsageError, match="can't be read"):
            made(**{name: [tmp_path / "no"]})


# ------------------------------------------------------------------------------------------------------------- the whole


def test_nothing_of_a_policy_shows_a_value(tmp_path: Path) -> None:
    env = lines(tmp_path / ".env", f"PASSPHRASE={SECRET}")
    allow = lines(tmp_path / "allow.txt", "wharf-9-lantern", "regex:quay-[0-9]{4}")
    policy = made(secrets_from=[env], allow=[allow], also=["home-user"], environ={"USER": "marek"})

    shown = f"{policy!r} {policy.secrets!r} {policy.allowed!r} {policy.facts()} {build(policy, tags=KEY)!r}"
    assert not [word for word in (SECRET, "wharf", "quay", "marek") if word in shown]
    assert (1, 2) == (policy.facts()["secrets"], policy.facts()["allowed"])


def test_the_digest_tells_policies_apart_and_takes_no_value(tmp_path: Path) -> None:
    one = lines(tmp_path / "one", "blue-harbour-one")
    two = lines(tmp_path / "two", "blue-harbour-two")
    digests = [
        made().digest,
        made(no_rule=["github-token"]).digest,
        made(also=["emails"]).digest,
        made(secrets_from=[one]).digest,
        made(drop_media=True).digest,
        made(skeleton=True).digest,
        made(level="tokens").digest,
    ]

    assert len(set(digests)) == len(digests)
    assert made(secrets_from=[one]).digest == made(secrets_from=[two]).digest
    assert made().digest == Policy().digest


def test_the_users_file_counts_and_what_is_given_is_joined_to_it(tmp_path: Path) -> None:
    lines(tmp_path / "own.toml", RULE)
    config = lines(
        tmp_path / "redact.toml",
        'rules = "own.toml"',
        'also = ["emails"]',
        'no-rule = ["github-token"]',
        "drop-media = true",
        'people = ["sofia"]',
    )
    policy = made(config=config, also=["home-user"], environ={"USER": "marek"})

    assert "acme-badge" in policy.rules.ids
    assert ("home-user", "emails") == policy.packs
    assert "github-token" in policy.off
    assert policy.drop_media
    assert ("sofia", "marek") == policy.people


def test_rules_may_stand_in_the_users_file_itself(tmp_path: Path) -> None:
    assert "acme-badge" in made(config=lines(tmp_path / "redact.toml", RULE)).rules.ids


@pytest.mark.parametrize(
    "text", ["allowed = ['x']", "also = 'faxes'", "drop-media = 'yes'", "level = 'mild'", "rules = [7]", "= 3"]
)
def test_a_users_file_that_makes_no_sense_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError):
        made(config=lines(tmp_path / "redact.toml", text))


def test_the_users_file_is_found_where_settings_are(tmp_path: Path) -> None:
    assert tmp_path / "satchel" / "redact.toml" == config_path({"XDG_CONFIG_HOME": str(tmp_path)})
    (tmp_path / "satchel").mkdir()
    lines(tmp_path / "satchel" / "redact.toml", 'also = "phones"')

    assert ("phones",) == make_policy(environ={"XDG_CONFIG_HOME": str(tmp_path)}).packs


def test_levels_take_less_or_more(tmp_path: Path) -> None:
    text = f"{token()} password=Tr0ub4dor-3xy harbour@quay.io"

    assert "Tr0ub4dor" in clean(text, level="tokens")
    assert "harbour@quay.io" in clean(text)
    assert "quay" not in clean(text, level="strict")
    assert not [token() for level in ("tokens", "default", "strict") if token() in clean(text, level=level)]
