"""
Names of secrets: an identifier, split into its words, and what these say of the value that it stands for.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from satchel.redaction.commonplace import words

__all__ = ["KINDS", "SPACED", "SPLIT", "VERBS", "WORDS", "Class", "Name", "judged"]

Class = Literal["password", "secret", "pin", "weak"]

_ELSEWHERE = ("пароль", "密码", "密碼", "パスワード", "비밀번호", "암호")
WORDS = (
    "passw", "passp", "passc", "_pass", "-pass", "pass=", "pass:", "pass\"", "pass'", "pass\\", "pass is", "pass to",
    "pass ->", "pass >", "dbpass", "userpass", "rootpass", "smtppass", "adminpass", "redispass", "mysqlpass", "ftppass",
    "mailpass", "ldappass", "pgpass", "pwd", "secret", "token", "key", "auth", "credential", "session", "cookie", "_pat",
    "-pat", "wif", "otp", "_pin", "-pin", "pincode", "pin_", "simpin", "cardpin", "salt", "senha", "contrase", "user_pw",
    "_pw", "motdepasse", "mot de passe", "kennwort", "clave",
    *_ELSEWHERE,
    *(
        word.encode("ascii", "backslashreplace").decode().replace("\\", "\\" * count)
        for word in _ELSEWHERE for count in (1, 2, 4, 8)
    ),
)  # fmt: skip
"""What an identifier of a secret holds, in small letters: few other words do, so that most texts have none of them."""

KINDS = ("password", "secret", "token", "api-key", "private-key", "pin", "named")
"""The ids under which values are reported."""

SPLIT = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
"""The words that an identifier is made of."""


_PASSWORDS = words(
    "password passwords passwd passwort kennwort passphrase passphrases pass pwd pw passcode passwrd pword senha contrase "
    "contrasena contraseña clave userpass dbpass dbpassword rootpassword userpassword pgpassword mypassword masterpassword"
)
_SECRETS = words(
    "secret secrets token apikey apitoken authtoken accesstoken secretkey privatekey accesskey clientsecret credential "
    "credentials creds authkey apisecret appsecret bearer jwt wif encryptionkey signingkey masterkey refreshtoken idtoken "
    "bottoken sharedkey"
)
_PINS = words("otp totp pincode passcode onetimecode mfacode")
# What is before "key": with these it is a secret one, with those it is none; with any other nobody knows.
_SECRET_KEYS = words(
    "api secret private access auth authentication encryption encrypt decryption signing sign signature master account "
    "storage shared service admin root license app application sdk write deploy jwt fernet aes hmac wg wireguard ssh rsa "
    "ed25519 webhook integration consumer subscription function functions role rest security crypto cipher data vault "
    "session cookie token bot client server user team project org organization ingest ingestion monitoring telemetry ca "
    "origin operator wallet signer owner deployer account age routing events license pull push dev live prod production "
    "admin management server anon"
)
_OTHER_KEYS = words(
    "primary foreign public pub cache sort partition idempotency publishable map object dict row column index unique "
    "natural composite hot arrow shortcut group query lookup hash default current next prev previous first last other "
    "parent ref i18n translation locale event metric gpg pgp lang language config setting option registry value item entry "
    "field property attr attribute state store storagekey react vue list sub super meta ctrl alt shift tab space enter "
    "escape esc any press down up host known authorized dedupe dedup lock idx range min max redis search filter feature "
    "flag label message error json yaml node path file dir name type class tag test websocket"
)
_NOT_TOKENS = words(
    "max min input output total prompt completion num n special next page csrf xsrf pad eos bos unk stop sep cls mask start "
    "end cached cache reasoning first last prev previous current punctuation syntax lexer parse parser word sub open close "
    "left right cancellation cancel design color theme continuation pagination sync delta cursor resume abort new-line "
    "identifier keyword"
)
_TAILS = words(
    "id ids name names file files filename path paths dir directory folder url uri urls link type types kind length len "
    "size count counts limit limits ttl expiry expires expiration exp header headers policy endpoint endpoints hash hashed "
    "hashes prefix suffix format version status state valid validity validator validation validate field fields input "
    "inputs label labels placeholder hint hints rule rules regex pattern patterns min max error errors message messages msg "
    "required enabled disabled set list map mapping store manager provider providers service services factory handler "
    "handlers source sources reset resets policy strength score checker check checks confirm confirmation again changed at "
    "date time timestamp age days hours minutes seconds rotation index idx position offset usage used use uses budget "
    "window cost price per rate rates code codes event events column columns attribute attributes attr param params "
    "parameter parameters option options config settings schema class object obj model models table view page form button "
    "screen dialog modal component context ref refs reference arn alias scope scopes role roles mode method methods "
    "algorithm alg algo bits bytes encoding charset chars char separator sep delimiter func function fn callback cb test "
    "tests spec mock fixture var variable env environment bucket buckets cache caches pool queue stream reader writer "
    "parser generator gen iter iterator py pyc pyi js mjs jsx tsx rb go rs java kt swift php cpp hpp md txt json yaml yml "
    "toml html css scss svg png csv lock exists missing invalid empty null none bool flag flags level order sort domain "
    "host hostname port server region zone account user username users owner email mail issuer audience subject claims "
    "claim payload body request response req res data info details meta metadata fingerprint thumbprint digest checksum "
    "public pub pem crt cert certificate hsm kms vault"
)
_NEUTRAL = words(
    "old new prod production dev development staging stage stg test live backup base value raw plain str string text b64 "
    "base64 hex tmp temp primary secondary main default current legacy rw ro master slave replica local remote my the a b x "
    "y z final real actual plaintext clear decrypted unencrypted"
)


_PASS_OF = words(
    "redis smtp mysql pg postgres psql root admin ftp ldap mail mqtt rabbit mongo sa app rpc ssh vpn wifi wlan imap bind jwt"
)


class Name(NamedTuple):
    """What the name of a value says of it."""

    kind: str
    """What it is called in reports."""
    klass: Class


@lru_cache(maxsize=8192)
def judged(identifier: str) -> Name | None:
    """Return what an identifier says of its value: that it is a password, another secret, a short code, maybe one, or None."""
    if identifier[:1] == "-" and identifier[1:2] in "DPXp" and identifier[2:3].isalpha():
        identifier = identifier[2:]
    parts = [word.lower() for word in SPLIT.findall(identifier)]
    while parts and (parts[-1].isdigit() or (len(parts) > 1 and parts[-1] in _NEUTRAL)):
        parts.pop()
    if not parts:
        return None
    last = parts[-1]
    before = parts[-2] if len(parts) > 1 else ""
    if last in _PINS or (
        last in ("pin", "code")
        and before in ("pin", "otp", "card", "sim", "security", "mfa", "totp", "verification", "2fa", "auth")
    ):
        return Name("pin", "pin")
    if last in _PASSWORDS:
        return Name("password", "password")
    if last == "word" and before == "pass":
        return Name("password", "password")
    if last in _SECRETS:
        if last == "token" and before in _NOT_TOKENS:
            return None
        kind = "token" if "token" in last or last in ("bearer", "jwt") else "api-key" if "key" in last else "secret"
        return Name(kind, "secret")
    if last in ("key", "keys"):
        if before in _OTHER_KEYS:
            return None
        if not before:
            return Name("named", "weak")
        kind = "private-key" if "private" in parts else "api-key"
        if before in _SECRET_KEYS and last == "key":
            return Name(kind, "secret")
        return Name(kind, "weak")
    if last == "pat" and before:
        return Name("token", "secret")
    if last in _TAILS:
        return None
    if last in ("auth", "authorization", "session", "sid", "sessionid", "cookie", "salt", "authentication"):
        return Name("named", "weak")
    if last == "seed" and before in ("wallet", "private", "secret", "master"):
        return Name("secret", "weak")
    # The word stands further in front: `token_github`, `passwordAdmin`. Names glued without a sign: `dbpassword`, `mysecretkey`.
    if last.endswith(("password", "passwd", "passphrase")) and len(last) < 24:
        return Name("password", "password")
    if last.endswith(("apikey", "secretkey", "accesskey", "privatekey", "authtoken", "accesstoken", "apitoken", "clientsecret")):
        return Name("api-key" if last.endswith("key") else "token", "secret")
    if last.endswith("pwd") or (last.endswith("pass") and last[:-4] in _PASS_OF):
        return Name("password", "password")
    if last.endswith("appkey"):
        return Name("api-key", "secret")
    if last.endswith(("token", "secret")) and len(last) < 32 and last[:-5].removesuffix("s") not in _NOT_TOKENS:
        return Name("token" if last.endswith("token") else "secret", "secret")
    for word in parts[:-1]:
        if word in _PASSWORDS or word in _SECRETS:
            return Name("password" if word in _PASSWORDS else "secret", "weak")
    return None


SPACED = words(
    "api access secret private client auth bearer refresh session bot encryption signing master service license deploy "
    "account app admin root user db database webhook redis smtp mysql postgres ssh ftp ldap wifi vpn login email mail "
    "master staging production github gitlab sudo basic proxy mongo rabbitmq wallet"
)
"""What stands before a name of two words in prose: "api key", "redis pass"."""

VERBS = frozenset(("pass", "Pass", "pat", "Pat", "key", "Key", "keys", "pin"))
"""Words that are names only where a sign makes them so."""
