"""
Values that are secret by the name they stand under: `DB_PASSWORD=…`, `"apiKey": "…"`, `--token …`, `X-Auth-Token: …`, "the
password is …".

One reading for all languages. From a word such as "token" the whole identifier is taken, split into its words and judged
(names.py); then comes what may stand between a name and a value in a program, a configuration, a header, a command or a sentence,
which is here; then the value, which has to look like one (likely.py): a name alone makes no secret, since programs are full of
them. What stands further away from its name is in apart.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from satchel.redaction.apart import Tables, below, beside, column, inserted
from satchel.redaction.crowds import CROWD, OFTEN, Crowd
from satchel.redaction.likely import drawn, scrambled, secret_in, trimmed, turns
from satchel.redaction.names import SPACED, VERBS, Name, judged
from satchel.redaction.spans import MEDIUM, Span

__all__ = ["CUT_OFF", "DISGUISE", "named_value", "values"]

_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-$"
_LEFT = 64
_REST = re.compile(r"[A-Za-z0-9_.\-$]{0,64}")
# What may stand between a name and its value, with blanks of any width. The kinds of the value's own form: quoted, bare.
_BETWEEN = re.compile(
    r"""(?xi)
    (?P<close> ["'`*_]{0,3} [\])]{0,2} (?: [ ]? \[ [^\]\n]{0,24} \] (?= \s? : ) )? )
    (?: [ \t\xa0\u2000-\u200a\u202f\u3000]{0,16}
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
    [ \t\xa0\u2000-\u200a\u202f\u3000]{0,16} (?: \s{0,16} string\(\d{1,5}\)\s )?
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
DISGUISE = re.compile(r"[\x00-\x08\x0e-\x1f\\%&\x7f-\x9f\xad\u200b-\u200f\u2060-\u2064\ufeff]|\^\[\[|[ ]?\r(?=[A-Za-z0-9_\-])")
"""What stands where text may be written otherwise than it is read."""

CUT_OFF = re.compile(
    r"[A-Za-z0-9_.\-$]{2,128}[\"'`*_]{0,3}[ \t]?(?:=>|:=|[:=])[ \t]{0,8}[\"'`]?"
    r"[A-Za-z0-9_\-+/=.~@!#%^&*]{1,64}[ \t]{0,64}[│┃║|\\]?\r?\n"
)
"""A name whose value ends with its line, and may go on in the next one."""


_WRITTEN_OTHERWISE = re.compile(
    r"[\s\"'`*_=:>,(\[{\])]{0,24}[A-Za-z0-9_\-+/=.~!@#$^*]{0,256}"
    r"(?:[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u200b-\u200f\u2060-\u2064\ufeff]|[ ]?\r(?=[A-Za-z0-9_\-])"
    r"|\\(?:[\"'ux/\\=:nrt]|\r?\n)|%[0-9A-Fa-f]{2}|&[#a-zA-Z]|(?:\^|(?<=\^))\[\[)"
)


_FOREIGN = re.compile("(?i)mot de passe|contraseñ?as?|пароль|密码|密碼|パスワード|비밀번호|암호")
_PASSWORD = Name("password", "password")


def values(text: str, starts: Sequence[int], again: list[int]) -> Iterator[Span]:
    """
    Yield what is secret by its name.

    Args:
        starts: Where one of `WORDS` stands, in rising order.
        again: Takes where nothing is found, and another reading of the text may show more.
    """
    past = -1
    crowd = Crowd(text, left=24, right=96, enough=OFTEN) if len(starts) > CROWD else None
    tables: Tables = {}
    for at in starts:
        if at < past:
            continue
        if crowd is not None and (known := crowd.past(at)) >= 0:
            past = known
            continue
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
                if crowd is not None:
                    crowd.nothing(sure=True)
                continue
        span = _value(text, begin, end, name)
        if span is not None:
            yield span
            past = max(past, span.end)
            if DISGUISE.match(text, span.end):
                again.append(begin)
            continue
        is_odd = _WRITTEN_OTHERWISE.match(text, end) is not None or (
            name.klass != "weak" and CUT_OFF.match(text, begin) is not None
        )
        if is_odd:
            again.append(begin)
        further: list[Span] = []
        if name.klass in ("password", "secret"):
            further += column(text, begin, end, name, tables)
            further += inserted(text, begin, end, name)
            near = beside(text, end) or below(text, end)
            if near is not None:
                further.append(_sure(near, name))
            yield from further
        if crowd is not None and not further:
            crowd.nothing(sure=not is_odd)


def _value(text: str, begin: int, end: int, name: Name) -> Span | None:
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
        return found if found is not None and (name.klass == "password" or drawn(text, found.start, found.end)) else None
    if between["flag"] is not None:
        return _after_blank(text, begin, end, at, name)
    if operator == ":":
        typed = _TYPE.match(text, at)
        if typed is not None:
            at = typed.end()
        marked = _MARKED.match(text, at)
        if marked is not None:
            at = marked.end()
    if operator == "=" and text.startswith("%s", at):
        formatted = _FORMATTED.match(text, at)
        return secret_in(text, *formatted.span("value"), name, firm=True) if formatted is not None else None
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
        return secret_in(text, at, stop, name, firm=True)
    listed = _LISTED.match(text, at) if operator == ":" else None
    if listed is not None:
        place = drawn(text, *listed.span("value"))
        return None if place is None or name.klass == "weak" else _sure(place, name)
    bare = _BARE.match(text, at)
    if bare is None:
        return None
    stop = bare.end()
    whole = _LINE_END.match(text, stop) is not None
    before = text[begin - 1 : begin]
    if between["schema"] is not None:
        return secret_in(text, at, trimmed(text, at, stop), name, firm=True) if whole else None
    if name.klass == "weak" and before in ("?", "&"):
        name = Name(name.kind, "secret")
    tight = operator in ("=", ":=", "%3d") and at == between.end() and not text[end : between.end()].strip("=:%3dD")
    if operator == "%3d":
        return secret_in(text, at, min(stop, _found(_CODED_END, text, at, stop)), name, firm=True)
    if tight and (before in ("?", "&") or ("&" in text[at:stop] and before not in (" ", "\n", ""))):
        return secret_in(text, at, _found(_QUERY_END, text, at, stop), name, firm=True)
    line = _starts_line(text, begin)
    is_line = whole and ((line and operator in ("=", ":", ":=", "=>", "?=", "\uff1a")) or between["value"] is not None)
    # A line of an environment file, of YAML, of properties: the value is all of it, but for an escape that ends a line.
    if is_line and _ESCAPE.search(text, at, stop) is None:
        if text[stop - 1] in "([{":
            return None
        stop = trimmed(text, at, stop, ",;'\"")
        # What closes at its end may belong to the program around it.
        plain = trimmed(text, at, stop)
        if plain < stop and not scrambled(text[at:stop]) and secret_in(text, at, plain, name, firm=True) is None:
            return None
        return secret_in(text, at, stop, name, firm=True)
    cut = _found(_BARE_END, text, at, stop)
    code = cut < stop and text[cut] in "([{"
    # Signs may be part of a value, escapes are not: without its backslash a quote would end a string.
    wide = _found(_ANY_ESCAPE, text, at, bare.end())
    stop = trimmed(text, at, cut)
    if code:
        # A call or a part of something; or a value full of signs, when nothing of a program is near.
        return secret_in(text, at, wide, name, firm=True) if tight and scrambled(text[at:wide]) else None
    firm = tight or operator in ("=>", "|", "?=", "\uff1a") or between["value"] is not None or (whole and line)
    found = secret_in(text, at, stop, name, firm=firm)
    if found is None and tight and wide > stop and scrambled(text[at:wide]):
        found = secret_in(text, at, wide, name, firm=True)
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


def _after_blank(text: str, begin: int, end: int, at: int, name: Name) -> Span | None:
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
            return secret_in(text, at, trimmed(text, at, stop), name, firm=True) or secret_in(text, at, stop, name, firm=True)
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


def _quoted(text: str, opened: re.Match[str], name: Name) -> Span | None:
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
    return secret_in(text, at, stop, name, firm=True, quoted=True) if not called or name.klass != "weak" else None


_LINK_WORD = re.compile(" (?:as|is|for|a|<-|←) ", re.IGNORECASE)
_SAID_BEFORE = re.compile(
    r"(?i)(?<!\S)[\"'`(]?(?P<value>[^\s\"'`]{8,512})[\"'`)]?,?[ \t]+(?:as|is|for|a|<-|←)[ \t]+"
    r"(?:(?:the|my|our|your|a|an|new|this)[ \t]+)?(?:[a-z-]{1,20}[ \t]+){0,3}\Z"
)


# What a shell hands on to a program that is told the name: `echo … | gh secret set NAME`.
_PIPED = re.compile(
    r"\b(?:echo|printf|print)[ \t]+(?:-\w{1,2}[ \t]+){0,2}(?P<quote>[\"']?)(?P<value>[^\s\"'|]{8,512})(?P=quote)[ \t]*\|"
    r"[^|\n;&]{0,60}[ \t](?:secrets?|env|config|variables?|vars?|put|set|add|create)[ \t]+(?:[\w:=./@-]{1,40}[ \t]+){0,4}[\"']?\Z"
)
# What a format's first place is for: `printf 'NAME=%s\n' …`.
_FORMATTED = re.compile(r"%s(?:\\{1,4}n)?[\"'][ \t]*,?[ \t]+(?P<quote>[\"']?)(?P<value>[^\s\"']{8,512})(?P=quote)")


def _in_sentence(text: str, begin: int, end: int, name: Name) -> Span | None:
    if name.klass == "weak" or text[begin:end] in VERBS:
        return None
    if "|" in text[max(0, begin - 160) : begin]:
        piped = _PIPED.search(text, max(0, begin - 640), begin)
        if piped is not None:
            return secret_in(text, *piped.span("value"), name, firm=True)
    said = _SENTENCE.match(text, end)
    if said is not None:
        start, stop = said.span("value")
        cut = _found(_BARE_END, text, start, stop)
        if cut == stop or text[cut] not in "([{=" or scrambled(text[start:stop]):
            if cut < stop and scrambled(text[start:stop]):
                cut = stop
            span = secret_in(text, start, trimmed(text, start, cut), name, firm=False)
            if span is not None:
                return span
    before = None
    if text[begin - 1 : begin] == " " and _LINK_WORD.search(text, max(0, begin - 64), begin) is not None:
        before = _SAID_BEFORE.search(text, max(0, begin - 160), begin)
    if before is not None:
        start, stop = before.span("value")
        value = text[start:stop]
        if turns(value) >= 0.2 and any(c.isdigit() for c in value):
            return secret_in(text, start, stop, name, firm=False)
    return None


def _sure(place: tuple[int, int], name: Name) -> Span:
    return Span(*place, name.kind, MEDIUM)


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
            return secret_in(text, 0, len(text), name, firm=True, quoted=True)
        if key.lower() not in ("value", "default", "example", "const", "secret", "data", "current", "raw", "text", "content", ""):
            return None
    return None
