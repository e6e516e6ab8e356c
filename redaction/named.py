"""
Values that are secret by the name they stand under: `DB_PASSWORD=…`, `"apiKey": "…"`, `--token …`, `X-Auth-Token: …`, "the
password is …".

One reading for all languages. From a word such as "token" the whole identifier is taken, split into its words and judged; then
comes what may stand between a name and a value in a program, a configuration, a header, a command or a sentence; then the value,
which has to look like one: a name alone makes no secret, since programs are full of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from satchel.redaction.checks import entropy, is_documented, is_placeholder
from satchel.redaction.literals import repeated_until
from satchel.redaction.spans import MEDIUM, STRONG, Span

__all__ = ["CUT_OFF", "DISGUISE", "KINDS", "SPACED", "VERBS", "WORDS", "judged", "named_value", "values"]

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
        for word in _ELSEWHERE for count in (1, 2)
    ),
)  # fmt: skip
"""What an identifier of a secret holds, in small letters: few other words do, so that most texts have none of them."""

KINDS = ("password", "secret", "token", "api-key", "private-key", "pin", "named")
"""The ids under which values are reported."""

_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-$"
_LEFT = 64
_REST = re.compile(r"[A-Za-z0-9_.\-$]{0,64}")
_SPLIT = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PASSWORDS = _words(
    "password passwords passwd passwort kennwort passphrase passphrases pass pwd pw passcode passwrd pword senha contrase "
    "contrasena contraseña clave userpass dbpass dbpassword rootpassword userpassword pgpassword mypassword masterpassword"
)
_SECRETS = _words(
    "secret secrets token apikey apitoken authtoken accesstoken secretkey privatekey accesskey clientsecret credential "
    "credentials creds authkey apisecret appsecret bearer jwt wif encryptionkey signingkey masterkey refreshtoken idtoken "
    "bottoken sharedkey"
)
_PINS = _words("otp totp pincode passcode onetimecode mfacode")
# What is before "key": with these it is a secret one, with those it is none; with any other nobody knows.
_SECRET_KEYS = _words(
    "api secret private access auth authentication encryption encrypt decryption signing sign signature master account "
    "storage shared service admin root license app application sdk write deploy jwt fernet aes hmac wg wireguard ssh rsa "
    "ed25519 webhook integration consumer subscription function functions role rest security crypto cipher data vault "
    "session cookie token bot client server user team project org organization ingest ingestion monitoring telemetry ca "
    "origin operator wallet signer owner deployer account age routing events license pull push dev live prod production "
    "admin management server anon"
)
_OTHER_KEYS = _words(
    "primary foreign public pub cache sort partition idempotency publishable map object dict row column index unique "
    "natural composite hot arrow shortcut group query lookup hash default current next prev previous first last other "
    "parent ref i18n translation locale event metric gpg pgp lang language config setting option registry value item entry "
    "field property attr attribute state store storagekey react vue list sub super meta ctrl alt shift tab space enter "
    "escape esc any press down up host known authorized dedupe dedup lock idx range min max redis search filter feature "
    "flag label message error json yaml node path file dir name type class tag test websocket"
)
_NOT_TOKENS = _words(
    "max min input output total prompt completion num n special next page csrf xsrf pad eos bos unk stop sep cls mask start "
    "end cached cache reasoning first last prev previous current punctuation syntax lexer parse parser word sub open close "
    "left right cancellation cancel design color theme continuation pagination sync delta cursor resume abort new-line "
    "identifier keyword"
)
_TAILS = _words(
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
_NEUTRAL = _words(
    "old new prod production dev development staging stage stg test live backup base value raw plain str string text b64 "
    "base64 hex tmp temp primary secondary main default current legacy rw ro master slave replica local remote my the a b x "
    "y z final real actual plaintext clear decrypted unencrypted"
)


_PASS_OF = _words(
    "redis smtp mysql pg postgres psql root admin ftp ldap mail mqtt rabbit mongo sa app rpc ssh vpn wifi wlan imap bind jwt"
)


class _Name(NamedTuple):
    kind: str
    """What it is called in reports."""
    klass: Class


@lru_cache(maxsize=8192)
def judged(identifier: str) -> _Name | None:
    """Return what an identifier says of its value: that it is a password, another secret, a short code, maybe one, or None."""
    if identifier[:1] == "-" and identifier[1:2] in "DPXp" and identifier[2:3].isalpha():
        identifier = identifier[2:]
    words = [word.lower() for word in _SPLIT.findall(identifier)]
    while words and (words[-1].isdigit() or (len(words) > 1 and words[-1] in _NEUTRAL)):
        words.pop()
    if not words:
        return None
    last = words[-1]
    before = words[-2] if len(words) > 1 else ""
    if last in _PINS or (
        last in ("pin", "code")
        and before in ("pin", "otp", "card", "sim", "security", "mfa", "totp", "verification", "2fa", "auth")
    ):
        return _Name("pin", "pin")
    if last in _PASSWORDS:
        return _Name("password", "password")
    if last == "word" and before == "pass":
        return _Name("password", "password")
    if last in _SECRETS or (last == "secrets"):
        if last == "token" and before in _NOT_TOKENS:
            return None
        kind = "token" if "token" in last or last in ("bearer", "jwt") else "api-key" if "key" in last else "secret"
        return _Name(kind, "secret")
    if last in ("key", "keys"):
        if before in _OTHER_KEYS:
            return None
        if not before:
            return _Name("named", "weak")
        kind = "private-key" if "private" in words else "api-key"
        if before in _SECRET_KEYS and last == "key":
            return _Name(kind, "secret")
        return _Name(kind, "weak")
    if last == "pat" and before:
        return _Name("token", "secret")
    if last in _TAILS:
        return None
    if last in ("auth", "authorization", "session", "sid", "sessionid", "cookie", "salt", "authentication"):
        return _Name("named", "weak")
    if last == "seed" and before in ("wallet", "private", "secret", "master"):
        return _Name("secret", "weak")
    # The word stands further in front: `token_github`, `passwordAdmin`. Names glued without a sign: `dbpassword`, `mysecretkey`.
    if last.endswith(("password", "passwd", "passphrase")) and len(last) < 24:
        return _Name("password", "password")
    if last.endswith(("apikey", "secretkey", "accesskey", "privatekey", "authtoken", "accesstoken", "apitoken", "clientsecret")):
        return _Name("api-key" if last.endswith("key") else "token", "secret")
    if last.endswith("pwd") or (last.endswith("pass") and last[:-4] in _PASS_OF):
        return _Name("password", "password")
    if last.endswith("appkey"):
        return _Name("api-key", "secret")
    if last.endswith(("token", "secret")) and len(last) < 32 and last[:-5].removesuffix("s") not in _NOT_TOKENS:
        return _Name("token" if last.endswith("token") else "secret", "secret")
    for word in words[:-1]:
        if word in _PASSWORDS or word in _SECRETS:
            return _Name("password" if word in _PASSWORDS else "secret", "weak")
    return None


# ------------------------------------------------------------------------------------------------- between name and value

_QUOTES = "\"'`"
# What may stand between a name and its value. The kinds of the value's own form: quoted, bare.
_BETWEEN = re.compile(
    r"""(?xi)
    (?P<close> ["'`*_]{0,3} [\])]{0,2} (?: [ ]? \[ [^\]\n]{0,24} \] (?= \s? : ) )? )
    (?: [ \t]{0,16}
        (?: (?P<value> [,;]? (?: \s{0,64} ["'`]? (?:parameter)? (?:value|content) ["'`]? \s{0,8} [:=]
            | [ \t] {1,8} --value [ =] ) )
          | (?P<schema> : [ ]? \r? \n (?: [ \t]{1,32} \w{1,24} : [ ] [^\n]{0,80} \n ){0,4} [ \t]{1,32} (?:default|example): [ ] )
          | (?P<body> \{ [^{}\n]{0,48} \} \s? = | :? \s{0,16} \{ [^{}]{0,200} \b (?:default|example) ["']? \s{0,8} [=:] )
          | (?P<op> :=|=>|->|<-|\?=|={1,3}|: | \uff1a | %3d | \|\|=? | \?\?=? | \|(?=[ \t]) (?: [ \t]? default\( )? )
          | (?P<call> \( ) (?= \s{0,8} [bru@$]{0,2} ["'`] )
          | (?P<xml> > )
          | (?P<tag> </key> \s{0,32} <string> )
          | (?P<comma> , (?: \s{0,16} \w{1,24} \s? = \s? [\w.]{1,40} , ){0,3} (?: \s{0,16} default \s? = | \s{0,16} \( )?
              | \b or \b )
            (?= \s{0,16} [bru@$]{0,2} ["'`] )
          | (?P<flag> (?= [ \t] ) )
        )
    )
    [ \t]{0,16} (?: \s{0,16} string\(\d{1,5}\)\s )?
    """
)
# After `name:` a type may stand before the value: `password: str = "…"`, `token: String = "…"`.
_TYPE = re.compile(
    r"(?:[A-Za-z_][\w.&<>\[\]|?' ]{0,40}\s=\s)\w{0,16}(?:Field|Column|Body|Query|Header|Form|Setting|Option|Argument)"
    r"\(\s{0,32}(?:default\s?=\s?)?(?=[bru]{0,2}[\"'])"
    r"|[A-Za-z_&*?][\w.&<>\[\]|?' ]{0,40}[^\s=:]\s{0,4}=\s{0,8}(?=[bruf@$]{0,2}[\"'`])"
)
# YAML may say of a value what it is, and give it a name.
_MARKED = re.compile(r"(?:(?:!!?\w{1,24}|&\w{1,24})[ \t]{1,4}){1,2}")
_OPENED = re.compile(
    r"""(?x)
    \s{0,64}
    (?: [\[({] \s{0,8} ){0,2}
    (?: (?:new\ |await\ )? (?: [A-Za-z_][\w.:]{0,40} )?? (?i: secret\w* | str | string | text | bytes | from | some | just | ok
        | literal | quote | value | password | token | key | b64decode | decrypt | env | convertto-securestring\ (?:-string\ )? )
        (?: \( \s{0,8} | (?<=\ ) ) (?: [A-Za-z_]\w{0,24} = )? ){0,2}
    (?P<prefix> [bBrRuUfF@$]{0,2} ) (?P<quote> "{3} | '{3} | ["'`] )
    """
)
_BARE = re.compile(r"[^\s\"'`]{1,4096}")
_HASHED = re.compile(r"(?i)(?:md5|sha\d{0,3}|hash|crypt|hmac|digest|len|type)\w{0,8}\($")
# As Go prints headers: `X-Token:[…]`.
_LISTED = re.compile(r"\[(?P<value>[^\s\"'`\[\],{}()]{16,512})\]")
_LINE_END = re.compile(r"(?:[ \t]+#[^\n]*|[ \t]*)(?:\r?\n|\Z)")
_QUERY_END = re.compile(r"[&#\s\"'`<>;]")
_BARE_END = re.compile(r"[,;<>(){}\[\]|&\"'`]|\\[nrt\"'\\]")
_SENTENCE = re.compile(
    r"""(?xi)
    (?: [ \t,]{1,2} (?!is\b|are\b|was\b|to\b|ist\b|lautet\b|est\b|es\b|should\b) [a-z()'-]{1,16} ){0,5}?
    [ \t]{0,3} (?: \b(?:is|are|was|ist|lautet|war|est|es|=)\b | [ ] (?:é|è) (?=[ ]) | は | 是 | \b should [ ] be \b
        | : | = | to\b | -{1,2}(?=[ ]) | — ) [ \t]{0,3}
    (?: (?:now|set|called|currently|still|just|simply|the|following|as|be)\b [ \t:]{1,3} ){0,3}
    [`"'*(<\[「]{0,3} (?P<value> [^\s`"'<>「」]{6,512} )
    """
)
SPACED = _words(
    "api access secret private client auth bearer refresh session bot encryption signing master service license deploy "
    "account app admin root user db database webhook redis smtp mysql postgres ssh ftp ldap wifi vpn login email mail "
    "master staging production github gitlab sudo basic proxy mongo rabbitmq wallet"
)
"""What stands before a name of two words in prose: "api key", "redis pass"."""

DISGUISE = re.compile("[\\x00-\\x08\\x0e-\\x1f\\\\%&\\x7f-\\x9f\\xad\\u200b-\\u200f\\u2060-\\u2064\\ufeff]")
"""A character behind which text may be written otherwise than it is read."""

CUT_OFF = re.compile(
    r"[A-Za-z0-9_.\-$]{2,128}[\"'`*_]{0,3}[ \t]?(?:=>|:=|[:=])[ \t]{0,8}[\"'`]?"
    r"[A-Za-z0-9_\-+/=.~@!#%^&*]{1,64}[ \t]{0,64}[│┃║|\\]?\r?\n"
)
"""A name whose value ends with its line, and may go on in the next one."""


_WRITTEN_OTHERWISE = re.compile(
    r"[\s\"'`*_=:>,(\[{\])]{0,24}[A-Za-z0-9_\-+/=.~!@#$^*]{0,256}"
    "(?:[\\x00-\\x08\\x0e-\\x1f\\x7f-\\x9f\\xad\\u200b-\\u200f\\u2060-\\u2064\\ufeff]"
    r"|\\(?:[\"'ux/\\=:nrt]|\r?\n)|%[0-9A-Fa-f]{2}|&[#a-zA-Z])"
)


_FOREIGN = re.compile("(?i)mot de passe|contraseñ?as?|пароль|密码|密碼|パスワード|비밀번호|암호")
_PASSWORD = _Name("password", "password")


def values(text: str, starts: Sequence[int], again: list[int]) -> Iterator[Span]:
    """
    Yield what is secret by its name.

    Args:
        starts: Where one of `WORDS` stands, in rising order.
        again: Takes where nothing is found, and another reading of the text may show more.
    """
    past = -1
    failed: set[str] = set()
    many, around, before = len(starts) > 64, "", -1
    for at in starts:
        if at < past:
            continue
        # The same words once more: what was nothing before is nothing now. So a text of one word over and over costs little.
        if many:
            around = text[at : at + 96] + text[max(0, at - 24) : at]
            if around in failed:
                past, before = repeated_until(text, at, at - before, reach=128), at
                continue
            before = at
            if len(failed) > 4096:
                failed.clear()
        rest = _REST.match(text, at)
        end = rest.end() if rest else at
        head = text[max(0, at - _LEFT) : at]
        begin = at - (len(head) - len(head.rstrip(_NAME)))
        # A dot or a dash at its end belongs to the sentence.
        while end > at and text[end - 1] in ".-$":
            end -= 1
        past = end
        foreign = _FOREIGN.match(text, at)
        if foreign is not None:
            begin, past = at, (end := foreign.end())
        identifier = text[begin:end]
        name = judged(identifier) if foreign is None else _PASSWORD
        if name is None or (name.klass == "weak" and name.kind == "named") or identifier in VERBS:
            # In prose a name has a space in it: "api key", "access token".
            if begin > 3 and text[begin - 1] in " \t" and len(identifier) < 12:
                words = text[max(0, begin - 24) : begin - 1].split()
                word = words[-1].lstrip("*_`\"'(") if words else ""
                if word.lower() in SPACED:
                    joined = judged(word + "_" + identifier)
                    if joined is not None:
                        name, begin = joined, begin - 1 - len(word)
            if name is None:
                if many:
                    failed.add(around)
                continue
        span = _value(text, begin, end, name)
        if span is not None:
            yield span
            past = max(past, span.end)
            if DISGUISE.match(text, span.end):
                again.append(begin)
            continue
        if many:
            failed.add(around)
        if _WRITTEN_OTHERWISE.match(text, end) or (name.klass != "weak" and CUT_OFF.match(text, begin)):
            again.append(begin)
        if name.klass in ("password", "secret"):
            yield from _column(text, begin, end, name)
            yield from _inserted(text, begin, end, name)
            near = _beside(text, begin, end) or _below(text, begin, end)
            if near is not None:
                yield _sure(near, name)


def _value(text: str, begin: int, end: int, name: _Name) -> Span | None:
    between = _BETWEEN.match(text, end)
    if between is None:
        return _in_sentence(text, begin, end, name)
    at = between.end()
    if ")" in between["close"] and _HASHED.search(text, max(0, begin - 24), begin) is not None:
        return None
    operator = (between["op"] or "").lower()
    if between["call"] is not None:
        # `.apiKey("…")`, `setToken("…")`: programs call much by such names, so that only what was drawn by lot counts.
        given = _OPENED.match(text, at)
        found = _quoted(text, given, name) if given is not None and name.klass in ("password", "secret") else None
        return found if found is not None and (name.klass == "password" or _drawn(text, found.start, found.end)) else None
    if between["flag"] is not None:
        return _after_blank(text, begin, end, at, name)
    if operator == ":":
        typed = _TYPE.match(text, at)
        if typed is not None:
            at = typed.end()
        marked = _MARKED.match(text, at)
        if marked is not None:
            at = marked.end()
    opened = _OPENED.match(text, at)
    if opened is not None and not (opened.group()[:1] == "\n" and operator in ("=", "|")):
        return _quoted(text, opened, name)
    if between["comma"] is not None or between["body"] is not None or operator.startswith(("||", "??")):
        return None
    if between["xml"] is not None or between["tag"] is not None:
        if text.startswith("<![CDATA[", at):
            at += 9
            stop = text.find("]]>", at, at + 1024)
        else:
            stop = text.find("<", at, at + 1024)
        if stop < 0 or (
            between["close"] == ""
            and between["tag"] is None
            and (text[begin - 1 : begin] not in ("<", ":") or text[begin - 2 : begin - 1] in ("P", "?"))
        ):
            return None
        return _tested(text, at, stop, name, firm=True)
    listed = _LISTED.match(text, at) if operator == ":" else None
    if listed is not None:
        drawn = _drawn(text, *listed.span("value"))
        return None if drawn is None or name.klass == "weak" else _sure(drawn, name)
    bare = _BARE.match(text, at)
    if bare is None:
        return None
    stop = bare.end()
    whole = _LINE_END.match(text, stop) is not None
    before = text[begin - 1 : begin]
    if between["schema"] is not None:
        return _tested(text, at, _trimmed(text, at, stop), name, firm=True) if whole else None
    if name.klass == "weak" and before in ("?", "&"):
        name = _Name(name.kind, "secret")
    tight = operator in ("=", ":=", "%3d") and at == between.end() and not text[end : between.end()].strip("=:%3dD")
    if operator == "%3d":
        return _tested(text, at, min(stop, _found(_CODED_END, text, at, stop)), name, firm=True)
    if tight and (before in ("?", "&") or ("&" in text[at:stop] and before not in (" ", "\n", ""))):
        return _tested(text, at, _found(_QUERY_END, text, at, stop), name, firm=True)
    line = _starts_line(text, begin)
    is_line = whole and ((line and operator in ("=", ":", ":=", "=>", "?=", "\uff1a")) or between["value"] is not None)
    # A line of an environment file, of YAML, of properties: the value is all of it, but for an escape that ends a line.
    if is_line and _ESCAPE.search(text, at, stop) is None:
        if text[stop - 1] in "([{":
            return None
        stop = _trimmed(text, at, stop, ",;'\"")
        # What closes at its end may belong to the program around it.
        plain = _trimmed(text, at, stop)
        if plain < stop and not _scrambled(text[at:stop]) and _tested(text, at, plain, name, firm=True) is None:
            return None
        return _tested(text, at, stop, name, firm=True)
    cut = _found(_BARE_END, text, at, stop)
    code = cut < stop and text[cut] in "([{"
    # Signs may be part of a value, escapes are not: without its backslash a quote would end a string.
    wide = _found(_ANY_ESCAPE, text, at, bare.end())
    stop = _trimmed(text, at, cut)
    if code:
        # A call or a part of something; or a value full of signs, when nothing of a program is near.
        return _tested(text, at, wide, name, firm=True) if tight and _scrambled(text[at:wide]) else None
    firm = tight or operator in ("=>", "|", "?=", "\uff1a") or between["value"] is not None or (whole and line)
    found = _tested(text, at, stop, name, firm=firm)
    if found is None and tight and wide > stop and _scrambled(text[at:wide]):
        found = _tested(text, at, wide, name, firm=True)
    return found or (None if firm or text[between.end() - 1] not in " \t" else _in_sentence(text, begin, end, name))


_ESCAPE = re.compile(r"\\[nrt]")
_ANY_ESCAPE = re.compile(r"\\")
_CODED_END = re.compile(r"%26|%20|%0[aAdD]|%3[bB]|%22|%27|[&\s\"'<>]")


def _found(pattern: re.Pattern[str], text: str, at: int, stop: int) -> int:
    found = pattern.search(text, at, stop)
    return found.start() if found else stop


_SETS = re.compile(
    r"(?i)(?:\b(?:env|arg|setx|export|setenv|\#define|add-authtoken|authtoken)|\bset(?:[ ]-\w{1,3})?(?:[ ]--\w+)?)[ \t]{1,4}\Z"
)


def _after_blank(text: str, begin: int, end: int, at: int, name: _Name) -> Span | None:
    """A name and a blank make an assignment in commands and in a few other places only: `--password value`, `ENV NAME value`."""
    if text[begin:end] in VERBS:
        return None
    option = text[begin : begin + 1] == "-" and (begin == 0 or text[begin - 1] in " \t\n\"'`(,[")
    sets = begin > 2 and text[begin - 1] in " \t" and _SETS.search(text, max(0, begin - 24), begin) is not None
    opened = _OPENED.match(text, at)
    if opened is not None and "\n" not in opened.group():
        quoted = _quoted(text, opened, name)
        if quoted is not None and (option or sets or turns(text[quoted.start : quoted.end]) >= 0.15):
            return quoted
    elif option or sets:
        bare = _BARE.match(text, at)
        if bare is not None and not text.startswith("--", at):
            stop = _found(_ESCAPE, text, at, bare.end())
            return _tested(text, at, _trimmed(text, at, stop), name, firm=True) or _tested(text, at, stop, name, firm=True)
    return _in_sentence(text, begin, end, name)


_LINE_BEGIN = re.compile(
    r"[ \t]*(?:\d{1,6}[:\t\-→│| ]+)?[+\-*>|#•]{0,2}[ \t]*"
    r"(?:export |set |env |-e |ENV |ARG |- )?(?:[A-Z][\w-]*[ ]){0,3}[\"'*\[$@:]{0,2}"
)


def _starts_line(text: str, begin: int) -> bool:
    """Return whether nothing stands before a name on its line but what may: blanks, marks of lists and differences, a number."""
    head = text[max(0, begin - 40) : begin]
    line = head[head.rfind("\n") + 1 :]
    return not (len(line) == 40 and begin > 40) and _LINE_BEGIN.fullmatch(line) is not None


def _trimmed(text: str, at: int, stop: int, signs: str = ".,;:!?)]}>'\"") -> int:
    while stop > at and text[stop - 1] in signs:
        stop -= 1
    return stop


def _quoted(text: str, opened: re.Match[str], name: _Name) -> Span | None:
    quote, at = opened["quote"], opened.end()
    stop, limit = at, min(len(text), at + 4096)
    while True:
        stop = text.find(quote, stop, limit)
        if stop < 0:
            break
        slashes = stop
        while slashes > at and text[slashes - 1] == "\\":
            slashes -= 1
        if (stop - slashes) % 2 == 0:
            break
        stop += 1
    if stop < 0:
        # Cut off, as outputs are: what is left of the line.
        bare = _BARE.match(text, at)
        stop = bare.end() if bare else at
    elif len(quote) == 1 and quote != "`" and "\n" in text[at:stop]:
        return None
    value = text[at:stop]
    if "f" in opened["prefix"].lower() and "{" in value:
        return None
    called = opened.group().count("(")
    return _tested(text, at, stop, name, firm=True, quoted=True) if not called or name.klass != "weak" else None


VERBS = frozenset(("pass", "Pass", "pat", "Pat", "key", "Key", "keys", "pin"))
"""Words that are names only where a sign makes them so."""

_LINK_WORD = re.compile(" (?:as|is|for|a|<-|←) ", re.IGNORECASE)
_SAID_BEFORE = re.compile(
    r"(?i)(?<!\S)[\"'`(]?(?P<value>[^\s\"'`]{8,512})[\"'`)]?,?[ \t]+(?:as|is|for|a|<-|←)[ \t]+"
    r"(?:(?:the|my|our|your|a|an|new|this)[ \t]+)?(?:[a-z-]{1,20}[ \t]+){0,3}\Z"
)


def _in_sentence(text: str, begin: int, end: int, name: _Name) -> Span | None:
    if name.klass == "weak" or text[begin:end] in VERBS:
        return None
    said = _SENTENCE.match(text, end)
    if said is not None:
        start, stop = said.span("value")
        cut = _found(_BARE_END, text, start, stop)
        if cut == stop or text[cut] not in "([{=" or _scrambled(text[start:stop]):
            if cut < stop and _scrambled(text[start:stop]):
                cut = stop
            span = _tested(text, start, _trimmed(text, start, cut), name, firm=False)
            if span is not None:
                return span
    before = None
    if text[begin - 1 : begin] == " " and _LINK_WORD.search(text, max(0, begin - 64), begin) is not None:
        before = _SAID_BEFORE.search(text, max(0, begin - 160), begin)
    if before is not None:
        start, stop = before.span("value")
        value = text[start:stop]
        if turns(value) >= 0.2 and any(c.isdigit() for c in value):
            return _tested(text, start, stop, name, firm=False)
    return None


_RULER = re.compile(r"[ |:=+\-]{3,512}(?=\r?\n)")


def _column(text: str, begin: int, end: int, name: _Name) -> Iterator[Span]:
    """Yield the values below a column's head: in a table of commas, tabs or bars."""
    start = text.rfind("\n", 0, begin) + 1
    stop = text.find("\n", end)
    if stop < 0 or stop - start > 512:
        return
    head = text[start:stop]
    for sign in (",", "\t", "|", ";"):
        if sign in head:
            break
    else:
        return
    cells = [cell.strip().strip("\"'") for cell in head.split(sign)]
    if len(cells) < 2 or (sign != "|" and "" in cells) or any(not re.fullmatch(r"[\w .\-/]{0,40}", cell) for cell in cells):
        return
    at = head[: begin - start].count(sign)
    if cells[at] != text[begin:end]:
        return
    for _ in range(1000):
        start, stop = stop + 1, text.find("\n", stop + 1)
        stop = len(text) if stop < 0 else stop
        if sign == "|" and start < stop < len(text) and _RULER.match(text, start) is not None:
            continue
        row = text[start:stop].split(sign)
        if start >= len(text) or len(row) != len(cells) or stop - start > 4096:
            return
        left = start + sum(len(cell) + 1 for cell in row[:at])
        cell = row[at]
        inner = cell.strip().strip("\"'")
        if inner:
            left += cell.index(inner)
            span = _tested(text, left, left + len(inner), name, firm=True, quoted=True)
            if span is not None:
                yield span
        if stop >= len(text):
            return


_ROWS = re.compile(r"(?i)[^()]{0,512}\)\s{0,16}values\s{0,16}\(")
_CELL = re.compile(r"""\s{0,16}(?:[NnEe]?'(?P<value>[^'\n]{0,1024})'|[^\s,'"()]{0,128}|"[^"\n]{0,512}")\s{0,16}""")


def _inserted(text: str, begin: int, end: int, name: _Name) -> Iterator[Span]:
    """Yield what an SQL statement puts into a column: `INSERT INTO t (a, token) VALUES (1, '…'), (2, '…')`."""
    rows = _ROWS.match(text, end)
    left = text.rfind("(", max(0, begin - 512), begin)
    if rows is None or left < 0 or ")" in text[left:begin]:
        return
    column, at = text.count(",", left, begin), rows.end()
    for _ in range(1000):
        cell = _CELL.match(text, at)
        for _ in range(column):
            if cell is None or text[cell.end() : cell.end() + 1] != ",":
                return
            cell = _CELL.match(text, cell.end() + 1)
        if cell is None:
            return
        if cell["value"]:
            span = _tested(text, *cell.span("value"), name, firm=True, quoted=True)
            if span is not None:
                yield span
        close = text.find(")", cell.end(), cell.end() + 2048)
        after = _NEXT_ROW.match(text, close + 1) if close >= 0 else None
        if after is None:
            return
        at = after.end()


_NEXT_ROW = re.compile(r"\s{0,16},\s{0,16}\(")
_BESIDE = re.compile(
    r"""(?x)
    ["'`*_]{0,3}
    (?: \t | [ ]{2,64} | [ ]{0,32} [│|┃] [ ]{0,4} | [ ]? , (?=[^\s,]) | [ ] \( | [ ]{0,2} (?: new \ value | value ) [ ]
      | (?: [ ,;:]{1,3} (?i: new | one | is | it's | its | was | should | be | the | a | my | our | now | please
           | here | this | that | with | using | use | as | to | put | value | changed | set | equals
           | reads | neu | neue | jetzt | hier | nouveau | nueva | from | dashboard ) \b ){0,7}
        [:,]? [ ] )
    ["'`(]{0,2} (?P<value> [\w+/=.~:!@#%^&*\-]{16,512} )
    """
)
_UNDER = re.compile(
    r"""(?x)
    ["'`*)}\]]{0,3} [ ]{0,2} (?: : | = | :?[ ]?[|>][+\-]? | [:=][ ]?<<-?~?"?\w{1,16}"? | :[ ]?!!\w{1,16} )? [ ]{0,4} \r? \n
    (?: [ \t]{0,8} (?: ```\w{0,12} )? \r?\n ){0,2}
    [ \t]{0,32} (?P<quote>["'`]?) (?P<value> [\w+/=.~:!@#%^&*\-]{16,512} ) (?P=quote) [ \t]{0,8} (?= \r?\n | \Z )
    """
)


def _beside(text: str, begin: int, end: int) -> tuple[int, int] | None:
    """Return what was drawn by lot and stands beside a name with no sign between: in a listing, or with a few words of prose."""
    near = _BESIDE.match(text, end)
    if near is None:
        return None
    start, stop = near.span("value")
    return _drawn(text, start, _trimmed(text, start, stop))


def _below(text: str, begin: int, end: int) -> tuple[int, int] | None:
    """Return what was drawn by lot and is all of the line below a name: a block of YAML or Markdown, what a command printed."""
    below = _UNDER.match(text, end)
    if below is None:
        return None
    start, stop = below.span("value")
    return _drawn(text, start, stop)


def _drawn(text: str, start: int, stop: int) -> tuple[int, int] | None:
    """Return a place where what stands there was drawn by lot, as keys and tokens are: nobody wrote it."""
    value = text[start : min(stop, start + 512)]
    if len(value) < 16 or is_documented(value) or is_placeholder(value):
        return None
    if _UUID.fullmatch(value) or (_LONG_HEX.fullmatch(value) and any(c.isdigit() for c in value)):
        return start, stop
    digits = sum(c.isdigit() for c in value)
    if digits < 2 or entropy(value) < 3.2 or turns(value) < 0.3 or _PATH.fullmatch(value) or _VERSIONED.fullmatch(value):
        return None
    if _NOT_DRAWN.search(value) or _PROGRAM.search(value) or value.count("/") > 3 or _TIME.fullmatch(value) or _is_name(value):
        return None
    kinds = any(c.islower() for c in value) + any(c.isupper() for c in value) + (digits > 0)
    mixed = len(value) >= 20 and kinds == 3 and turns(value) >= 0.36
    return (start, stop) if mixed or _scrambled(value) or (value.isalnum() and _CONSONANTS.search(value)) else None


_LONG_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]{32,512}")
_NOT_DRAWN = re.compile(r"::|[A-Za-z_]=[^=]|\.\.|\A[./~@#&*-]|@[a-zA-Z]|\A(?i:sha\d|md5)")


def _sure(place: tuple[int, int], name: _Name) -> Span:
    return Span(*place, name.kind, MEDIUM)


# ------------------------------------------------------------------------------------------------- the value

_NOTHING = _words(
    "true false null none nil undefined yes no on off string str number int integer boolean bool object array any unknown "
    "void never bytes text char float double optional required enabled disabled default auto password passwd secret token "
    "key apikey api_key username user admin root guest test testing demo value values hidden masked encrypted missing empty "
    "invalid expired basic bearer digest oauth oauth2 jwt hmac rsa aes sha256 sha512 md5 public private local stdin prompt "
    "env file vault keychain keyring"
)
_COMMON = re.compile(
    r"(?i)(?:pass(?:word|wd)?|secret|token|test|testing|example|demo|sample|change_?me|my_?pass(?:word)?|p@ssw[o0]rd|fake|foo(?:bar)?|bar|baz|s3cr[e3]t)[\W_]?\d{0,4}!?"
)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEX = re.compile(r"[0-9a-fA-F]{16,}")
_PATH = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.@~+-]{1,64}(?:[/\\][\w.@~+ -]{0,64})*|[\w.=-]{1,64}(?:/[\w.=-]{1,64}){2,}/?"
    r"|[\w-]{1,64}(?:\.[\w-]{1,32})*\.(?:py|js|ts|json|ya?ml|toml|txt|pem|key|crt|md|html?|env|sh|conf|cfg|ini|xml|log|go|rs|java|rb|php|lock)"
)
_LINK = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://")
_EXPRESSION = re.compile(
    r"""(?x)
      .* [\w\])] \( .*                                     # a call
    | (?: this | self | process | os | req | request | res | ctx | config | settings | props | state | env | args | opts
        | options | params | data | user | window | document | app | module | super | cls | local | var | vars
        | secrets | inputs | steps | github | each
        | module ) [.\[?] .*                                             # a part of something
    | [A-Za-z_$][\w$]* (?: \?? \. [A-Za-z_$][\w$]* | \[ [^\]]* \] | -> \w+ | :: \w+ )+ !?       # dotted names
    | [A-Za-z_$][\w$.]* = [A-Za-z_$][\w$.]* [\w$] [=.(,;] .*                         # one assignment after the other
    | .* \$\{ .* | .* \{\{ .* | \$ [A-Za-z_{(.] .* | % [A-Za-z_]+ %? | .* %\( .* | .* %[sd] .* | & \w .*
    | [!*&]{1,2} [A-Za-z_] \w* | @ [A-Za-z_{] [\w.]* | \* \w*
    | (?: op | vault | ref | env | file | ssm | arn | secret | secretsmanager | azure | gcp | keyring | awssm ) : .*
    """
)
_VERSIONED = re.compile(
    r"[A-Za-z][\w.\-]*-\d+(?:\.\d+)+(?:[\w.\-]*)|(?:[a-z][a-z_]{0,32}:)?\d{8}[_-]\d{4,6}[\w-]*|\d{4}-\d\d-\d\d.*"
)
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ].*)?|\d{1,2}:\d\d(?::\d\d)?.*|v?\d{1,5}(?:\.\d{1,5}){1,4}(?:-[\w.]+)?")
_WORDY = re.compile(r"[A-Za-z]+(?:[_\-./ :][A-Za-z]+)*")
_PART = r"(?:[a-z]+(?:\d{1,4}[a-z]{2,})?|[A-Z][a-z]+|[A-Z]+)\d{0,4}"
# A name in a program: words, with a number at the end of some.
_IDENTIFIER = re.compile(
    rf"_{{0,2}}{_PART}(?:(?:[A-Z][a-z]+\d{{0,4}}){{1,8}}|(?:[_\-./:]{{1,2}}(?:{_PART}|\d{{1,4}}))+)?(?:[A-Z][a-z]+\d{{0,4}}){{0,8}}"
)
# What a form asks of a field, and where a key lies.
_RULES = re.compile(r"[a-z_]{2,24}(?::[\w,.]{1,32})?(?:\|[a-z_]{2,24}(?::[\w,.]{1,32})?){1,16}")
_FILE = re.compile(r"[~/][\w.@~/+-]{1,255}\.(?:json|pem|key|crt|p12|pfx|jks|env|txt|ya?ml|toml|conf|ini|pub)")
_PATTERN = re.compile(r"\[\^|\(\?[:=!<P]|\[[^\]\n]{0,24}(?:A-Z|a-z|0-9)|\][+*?{]|\\[dwsb]|\.\*|\{\d+,")


def turns(text: str) -> float:
    """
    Return how often a text changes between small letters, capitals, digits and other signs, for each of its characters.

    Random text does so at every second character, words and names hardly ever; a capital before small letters begins a word
    and is no change.
    """
    count, last = 0, ""
    for char in text:
        kind = "a" if char.islower() else "A" if char.isupper() else "0" if char.isdigit() else "-"
        if kind != last and last and not (last == "A" and kind == "a"):
            count += 1
        last = kind
    return count / max(1, len(text))


def _tested(text: str, start: int, stop: int, name: _Name, *, firm: bool, quoted: bool = False) -> Span | None:
    # What a long value is shows at its beginning.
    value = text[start : min(stop, start + 512)]
    if stop - start > 4096 or not _is_secret(value, name.klass, firm=firm, quoted=quoted):
        return None
    sure = firm and name.klass != "weak" and len(value) >= 12 and turns(value) >= 0.15
    return Span(start, stop, name.kind, STRONG if sure else MEDIUM)


def _is_secret(value: str, klass: Class, *, firm: bool, quoted: bool) -> bool:
    size = len(value)
    if size < 4 or " " in value or "\t" in value or "\n" in value:
        return False
    scrambled = _scrambled(value) and not (klass == "weak" and _PATH.fullmatch(value))
    if is_documented(value):
        return False
    if value.lower() in _NOTHING or _COMMON.fullmatch(value) or (not scrambled and is_placeholder(value)):
        return False
    digits = sum(c.isdigit() for c in value)
    if value.startswith("ENC[") or _RULES.fullmatch(value) or _FILE.fullmatch(value):
        return False
    if value.startswith("//") or (size < 12 and value[-1] in "-_") or not any(c.isalnum() for c in value):
        return False
    if klass == "pin":
        return digits == size and size <= 8 and firm
    if digits == size:
        return klass == "password" and firm and size >= 5
    change = turns(value)
    if not scrambled:
        if klass != "password" and (_PATTERN.search(value) or ("{" in value and "}" in value)):
            return False
        if _LINK.match(value) or _TIME.fullmatch(value) or (_PATH.fullmatch(value) and change < 0.3):
            return False
        if (
            _EXPRESSION.fullmatch(value)
            and not _random_part(value)
            and not (klass == "password" and _chosen(value, firm, quoted))
        ):
            return False
        if _WORDY.fullmatch(value) and (size < 16 or change < 0.22 or not _mixed(value)):
            return False
        if _is_name(value) and not (
            klass == "password" and (value[-1].isdigit() or digits > 2) and (quoted or firm or _chosen(value, firm, quoted))
        ):
            return False
    if klass == "password":
        if size < 6 or not any(c.isalpha() for c in value):
            return False
        signs = not value.isalnum()
        if not firm:
            return digits > 0 and (change >= 0.12 or signs or digits > 2)
        if digits:
            return quoted or change >= 0.15 or digits > 1 or _NAMED.fullmatch(value) is None
        return (signs and re.fullmatch(r"[\w\-.]+", value) is None) or (not signs and size >= 8 and change >= 0.25)
    if klass == "secret":
        if size < 8:
            return False
        if _UUID.fullmatch(value) or (_HEX.fullmatch(value) and digits):
            return firm or size >= 32
        if size < (8 if firm else 12) or entropy(value) < 2.5 or not any(c.isalpha() for c in value):
            return False
        if digits:
            return change >= (0.16 if firm else 0.2) or (size >= 16 and firm and _CONSONANTS.search(value) is not None)
        return size >= 16 and change >= 0.25
    if re.match(r"[A-Za-z_][\w.\-]*=.", value):
        return False
    if value[0] in "^./~" or value.count("/") > 1 or _UUID.search(value) or _VERSIONED.fullmatch(value):
        return False
    if not firm or size < 16 or _UUID.fullmatch(value) or _HEX.fullmatch(value):
        return False
    classes = sum((any(c.islower() for c in value), any(c.isupper() for c in value), digits > 0))
    return (classes == 3 or (classes == 2 and size >= 20 and digits > 0)) and entropy(value) >= 3.4 and change >= 0.25


_NAMED = re.compile(r"[A-Za-z_$][\w$]*(?:[.\[][\w$\]\"']*)*")
_LETTERS = re.compile(r"[A-Za-z]{7}")


def _scrambled(value: str) -> bool:
    """Return whether a value is so mixed that no program and no sentence is written so."""
    size = len(value)
    if not 20 <= size <= 128 or turns(value) < (0.3 if size >= 40 else 0.4) or entropy(value) < 3.6 or _PROGRAM.search(value):
        return False
    digits = sum(c.isdigit() for c in value)
    signs = sum(not c.isalnum() for c in value)
    return digits > 1 and (_LETTERS.search(value) is None or (size >= 40 and signs > 4))


_PROGRAM = re.compile(
    r"\w_\w*\(|\w{7,}\(|\{\}|\{:|\w\([\w.,]*\)\Z|\)[{;,.)]|=>|&&|\|\||==|[;,}]\w+[.(=]|\(\)|\w\[\w+\]|\$\{|\{\{|://"
)
# No word of any language has five consonants in a row and a number too.
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{5}|[BCDFGHJKLMNPQRSTVWXZ]{5}")


_CHOSEN = re.compile(r"[A-Za-z]\w*(?:[.\-][A-Za-z]\w*)??(?P<end>\d{2,})[!#$%]?")


def _chosen(value: str, firm: bool, quoted: bool) -> bool:
    """Return whether a password could be one that a person made up of words and a number: `Tulip.Breeze4938`."""
    found = _CHOSEN.fullmatch(value)
    digits = sum(c.isdigit() for c in value)
    return (
        (found is not None and firm and len(found["end"]) > 1 and value[0].isupper())
        or (quoted and digits > 0 and "(" not in value)
        or (found is not None and digits > 2)
    )


def _is_name(value: str) -> bool:
    """Return whether a value is a name as programs have them: made of words, and not of a letter or two each."""
    if _IDENTIFIER.fullmatch(value) is None:
        return False
    words = [word for word in _SPLIT.findall(value) if word[0].isalpha()]
    if any(len(word) > 3 and _VOWELS.isdisjoint(word) and word.lower() not in _SPOKEN for word in words):
        return False
    return sum(map(len, words)) >= (3 if value.isalnum() else 2) * len(words)


_VOWELS = frozenset("aeiouyAEIOUY")
_SPOKEN = _words("http https html xhtml grpc mysql psql pgsql xpng dhcp wpdb csrf xsrf hdfs pkcs mtls sftp smtp")


def _random_part(value: str) -> bool:
    """Return whether a part of a dotted value is no name that anybody gave: `s.Tm3cePHqqIifzjVXr6JusP5q`."""
    part = max(value.split("."), key=len)
    return len(part) >= 16 and part.isalnum() and turns(part) >= 0.25 and any(c.isdigit() for c in part)


def _mixed(value: str) -> bool:
    return any(c.islower() for c in value) and any(c.isupper() for c in value)


def named_value(names: Sequence[str], value: str | int) -> Span | None:
    """
    Judge a value of parsed JSON by the keys it stands under, the outermost one first.

    The last key that is a word of its own counts; keys such as "value" and "default", and places in a list, take the one before.
    """
    for depth, key in enumerate(reversed(names)):
        if depth > 3:
            return None
        name = judged(key)
        if name is not None:
            text = str(value)
            if isinstance(value, int) and name.klass not in ("password", "pin"):
                return None
            return _tested(text, 0, len(text), name, firm=True, quoted=True)
        if key.lower() not in ("value", "default", "example", "const", "secret", "data", "current", "raw", "text", "content", ""):
            return None
    return None
