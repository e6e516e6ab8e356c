"""
Tests of a value that a pattern found: is it a secret, or does it only look like one?

Each check takes the value (a str) and says whether it may stay in the running. Rules name them: "entropy:3.0", "digit". A check
never raises for any text, and its time grows no faster than the text.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable
from functools import cache
from importlib import resources
from itertools import pairwise
from math import log2

from satchel.errors import UsageError

__all__ = ["CHECKS", "Check", "check", "entropy", "is_documented", "is_placeholder", "is_random"]

Check = Callable[[str], bool]

_DIGITS = "0123456789"
_BASE62 = _DIGITS + "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + "abcdefghijklmnopqrstuvwxyz"
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def entropy(text: str) -> float:
    """Return Shannon's entropy of a text's characters, in bits a character."""
    if not text:
        return 0.0
    size = len(text)
    return -sum(n / size * log2(n / size) for n in Counter(text).values())


# -- placeholders ------------------------------------------------------------------------------------------------------------

_WHOLE = re.compile(
    r"""(?ix)
      [\W_]* | (?P<one>.)(?P=one)*                                        # nothing, one character over and over
    # What stands for another value.
    | <[^<>]*> | \[[^\[\]]*\] | \{[^{}]*\} | \(.*\) | %\w+% | __\w+__ | %[sdrv] | \{\{.*\}\} | @\w+@ | `.*`
    | \$\{.* | \$\(.* | \$[a-z_]\w* (?:\W.*)? | \$\$?[0-9@*]? | \#\{.* | @\{.* | <%.* | <\?.* | !\w+(?:[ ].*)?
    | (?: op | vault | keyring | secretsmanager | ssm | gcp-?sm | awssm | akv | ref\+\w+ | env | file | doppler | bws | pass )
      ://? .*
    | ENC\[.* | arn:aws[\w-]*:.* | @Microsoft\.KeyVault.* | \$ANSIBLE_VAULT.*
    | \$?env[:.]\w.* | process\.env.* | os\.(?:environ|getenv).*
    """,
    re.DOTALL,
)
_FILLERS = """
a abc abcd about access account acme actual admin after an any api apikey app auth bad bar baz bearer before blah bogus
bot change changed changeme changethis client code correct cred credential credentials custom db default demo dev dummy
empty encrypted enter env example expired fake false field fill fixme foo foobar for from func function generate
generated get goes good google guest hash here hidden hunter2 id in input insert invalid is it just jwt key keys known
live local localhost long masked me missing mock mocked my mypass mypassword mysecret mytoken name new nil no none not
null of old omitted one openai or other output param parameter pass passphrase passwd password passwords paste personal
placeholder please private prod production provided public put pw pwd qux random raw real redacted removed replace
replaced replaceme required root safe sample secret secrets secure service session set sha shared should sk some
something string stripped strong stub super supersecret supersecretkey supersecretpassword temp template test testing
testkey testpass testpassword tests testsecret testtoken text that the this to todo token tokens true two type undefined
unknown unset update user username val valid value var variable very verysecret was weak with write wrong xxx xxxx xyz
yes you your yourkey yourpassword yoursecret yourtoken zzz
"""
_WORDS = frozenset(_FILLERS.split())
_SPLIT = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_STANDS_FOR = re.compile(
    r"""(?ix)
      (?<![a-z0-9]) (?: your | insert | enter | replace | paste | put | add ) [-_. ]
        (?: own | the | real | actual | new | my | with | in )? [-_. ]? [a-z]{2,12}
    | (?<![a-z0-9]) my [-_. ]? (?: super | secret | api | access | token | key | pass | pwd | auth | private | client )
    | (?<![a-z]) your (?: api | access | secret | token | key | pass | auth | private | client | own | bot | app )
    | change[-_. ]?(?: me | this | it ) | place[-_]?holder | redacted | (?<![a-z]) example | example (?![a-z])
    | not[-_ ]?a?[-_ ]?real
    | \$\{\w[^{}]*\} | \{\{[^{}]*\}\} | <[a-z][\w .:-]*> | \*{3} | \.{3} | … | •{3} | %\(\w+\)s
    | \[\^?[a-z0-9]-[a-z0-9] | \\[dws][+*{] | \[:\w+:\] | (?<=[\])]) \{ [0-9]+ ,? [0-9]* \}  # a pattern, not a value
    | deadbeef | cafebabe | not[-_ ]?(?:so[-_ ]?)?secret | lorem[-_ ]?ipsum | in(?:valid|correct)[-_](?:key|token|secret)
    """
)
_RUNS = re.compile(r"(?i)(?P<x>x{4,}|[*#•_.]{4,}|0{6,}|(?P<same>[a-z0-9])(?P=same){5,})")
_SEQUENCES = ("0123456789", "1234567890", "abcdefgh", "12345678", "87654321", "qwerty", "fedcba98", "11223344", "a1b2c3d4")


def is_placeholder(text: str) -> bool:
    """
    Return whether a value stands for a secret instead of being one: `<your-key>`, `changeme`, `${TOKEN}`, `xxxxxxxx`, and what
    the documentation of services shows to everybody.
    """
    text = text.strip().strip("\"'`")
    if _WHOLE.fullmatch(text):
        return True
    size = len(text)
    # Long random text holds short words by chance; what is long has to be a placeholder for the greater part.
    if size <= 200 and _STANDS_FOR.search(text):
        return True
    run = max((match.group() for match in _RUNS.finditer(text)), key=len, default="")
    if len(run) * 4 >= size or (len(run) >= 8 and len(run) * 8 >= size):
        # Base64 of zero bytes is a run of A: what is random beside it decides.
        rest = text.replace(run, " ", 1)
        return len(rest) < 32 or not is_random(rest)
    folded = text.lower()
    if any(sequence in folded and len(sequence) * 4 >= size for sequence in _SEQUENCES):
        return True
    if size >= 8 and len(set(folded)) <= max(2, min(4, size // 8)) and not text.isdigit():
        return True
    if size <= 80 and _only_words(text):
        return True
    return is_documented(text)


def _only_words(text: str) -> bool:
    words = _SPLIT.findall(text)
    return bool(words) and all(word.lower() in _WORDS or word in ("1", "12", "123", "1234", "12345", "123456") for word in words)


# What documentation, tutorials and test networks show to everybody. Digests: the values themselves are what scanners look for.
_DOCUMENTED = frozenset(
    (
        # AWS's documentation
        "78314b11be2e581549ac1c4f616563fad3fdf0c3b71678f6e2299182080e0598",
        "e8a0614b6747a06ff9a2728dd2250bf13068310cd2550ebc3cecd4d287a4e259",
        "e21b597ba6b9cafa59d9ebc4d65c0385f5eb3fa56abab2607fa76589ad849a33",
        "c6ea27c534f993d31f0aef882e3d200e7b87470c379ae79c8f9b19d3bd363dc9",
        "cb20d34a7adda2f5d2043836051e242fd4c2b233e02c80c91fe9d5af9b100574",
        # GitHub's documentation of token prefixes and of OAuth
        "3543c50b0cb9cea8e55eb1f529b79f043cb250d485fde7b66cabbb5183add7da",
        "bc3ae723f57c6b9e3fd80b699fcc420f6074b0b1718039669d22631d508ac0a7",
        "82e74299544e00738f9c0acb69b1eb348b3e20ffcfabcb34779bd37590fead6c",
        "797c0ce414586cc8eb6929afe947c720e3e4d351dd070a6fe39f630beaab3054",
        "6d7fa4e64d4b1f3ea31962e258b684de1f244434ebb11089b9d9817e44c43303",
        # Stripe's public test keys
        "2cafc0970149a84f3b9e62eaf169f36f59907a3b3e31f7b82e68c69cd27f7326",
        "f2d6ca16515033e5dce14eba840b979d27b5cbae24bb3e5bf484339667f86397",
        "b1471f544ceeea31333bde7e1ecbaad6eac0d4a749412ad29bd66ef895b81c6b",
        # Slack's documentation
        "f5375a46365089a84f4f822b70d44e744d64775cc747f030f8488a6274fe28f8",
        # The accounts of Hardhat, Anvil and Ganache
        "bc1a50966c9e6486bc4ebf880b51611a2a97fcb8e7a6976e9b81a9e3e8ca0e3c",
        "8335c55334821eefd4334369ff9c04a8594f161013cf9d87f58802d87297837e",
        "b26ab6529d20ebebb4192256f202984754f785481c64b1a1aed58cac93b3617e",
        "64034b44c579b335ab5e85debbfe72789e970138cc8d296799c3833a2a8525fb",
        "4d3e46eec8244d1d106f866ee48994f6176705298aee1b8426b2ad2529eb454b",
        "0aedba9d586f34f95cf1f0d54926f62e8a078ce2ca593be73ab27a87d3ff9c5d",
        "28e543d3753fc9d14c658ebef20b76a3b5f8e7d78667baf27832ceb3bea01bdf",
        "f070994a8599478580678f2b9482c5f02bb3de0647281e8efae183669425808a",
        "38e69fdd19aefeb4adf56312f10e62c30274997835173c7006308323ad7db506",
        "967f21586cdf1248a862f2cfb330099701c942c2c7a7537c54f7ec48f8556505",
        "578592185588730b9d10b87e2274706a8301a179cdb60fb4263c788e7e679503",
        # The emulators of Azure Storage and of Cosmos DB
        "0011cc25eb4320717494d2703e8cba85743e71b500283c21c8b88147992f9059",
        "aa6547439583c3a275d4542a0df6c1ad6a863971be9f2a2220f027cc02aef615",
        # RFC 6749, 6750, 7235, 7617
        "6c96130f130ab0d6d158397e24d2bcc1c9a5e73ae081f6e983f1c7b545d24a4c",
        "00cf4c781dc37003f7c7dd7d4c9a6ef1e0f4c62d9a291aa8bc398774e3fefd32",
        "b8e148545b13c78bc74da2f1a7275dd71e56ddece129d7d2f7b3ecc06f7994da",
        "53f5da0aaa93d64cd5772c554cbf940f0539e689dddbeb8f923eec3f72c02ea9",
        "e9974c507d2a802143f614c878fcbb622a3800e05e6e0d329fee2c5b6b243329",
        "cf4d418ed3de92d71f767db5391d5a2dacd40e1ce49e75d1137e2ecf4982d844",
        "d05f6bb1aa2e4ccd9e4a1d22f1edbe119406d3d1aa30261d699b4ff2bf72e59b",
        "ad62d48d8b069026a2a0d0291f857a77e1975edf610aa3502e8bc71bd96f513a",
        "687da00b09c83361bf3a2853b3a0c7d63ca5da870c8d3cdc20905c7aa546840a",
        "7619ee8cea49187f309616e30ecf54be072259b43760f1f550a644945d5572f2",
        "ca7459e2b26776de081b9a07e40227fd6cff232a1e3233ff6b6aa6d036ca9981",
        # BIP 39's test vectors; the seeds everybody uses repeat a word and count as none
        "ecb0e7ba498c5920991f0b3483e91f7abafa9ecc6bd82a9a51494589592b1a8f",
        "3a64bcd9cea43c0aba67ba0bf2ddff8137a492bccbc672107fcbf7381086f698",
        "b83e96417f61cb148d0dc8a89b839ee4956ad45b5e4b6a2a6cae048e48782157",
        # The one-time password of Google's wiki, the hash of PHP's manual
        "8be5d113c0871ce1a122d68a7dff940ab7b09ad8dfcfd9a85aa5c1acc026279e",
        "6264db1aafd61806c2ef4e3e42ed23e8a37472cd92aeac06ba7db1296a90da8b",
    )
)  # fmt: skip

# The payload of the token on jwt.io's front page, whatever it is signed with: 1234567890, John Doe.
_JWT_IO = ".eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9l"


def is_documented(text: str) -> bool:
    if _JWT_IO in text:
        return True
    return hashlib.sha256(text.removeprefix("0x").encode("utf-8", "surrogatepass")).hexdigest() in _DOCUMENTED


# -- what random text looks like ----------------------------------------------------------------------------------------------


def is_random(text: str) -> bool:
    """
    Return whether a value looks drawn by chance: digits among the letters, or capitals where no camelCase has them.

    Words joined by dashes, underscores or capitals do not, nor numbers at their ends.
    """
    pieces = re.findall(r"[A-Za-z0-9]+", text[:512])
    size = sum(map(len, pieces))
    if size < 8:
        return False
    # What camelCase splits into: words of several letters there, one or two characters where chance put the capitals and digits.
    parts = [part for piece in pieces for part in _SPLIT.findall(piece)]
    digits = [part for part in parts if part[0] in _DIGITS]
    if len(digits) == len(parts):
        return False
    upper = sum(c.isupper() for piece in pieces for c in piece)
    letters = size - sum(map(len, digits))
    if 0 < upper < letters:
        words = len(parts) - len(digits)
        return letters < (4.2 if size >= 28 else 3.6) * words and (len(digits) > 1 or 0.25 < upper / letters < 0.8)
    # Letters of one size: only digits tell, and each word may end with one.
    inner = sum(part[0] in _DIGITS for piece in pieces for part in _SPLIT.findall(piece)[:-1])
    return bool(digits) and inner >= max(1, len(pieces) // 2) and size < 6 * len(parts) and _max_run(text[:512]) < 24


def _max_run(text: str) -> int:
    """Return the length of the longest run of letters."""
    return max(map(len, re.findall(r"[A-Za-z]+", text)), default=0)


def _digit(text: str) -> bool:
    return any(c in _DIGITS for c in text)


def _mixed(text: str) -> bool:
    return any(c.islower() for c in text) and any(c.isupper() for c in text)


_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_COMMON = """
a admin b bar baz c changeme database db default dev example foo foobar guest host http hunter2 key letmein local
localhost me minio minioadmin mongo mongodb mypass mypassword mysql p pass pass1 pass123 pass2 passwd password
password123 port postgres pw pwd qux rabbitmq redis root s3cr3t s3cret sa secret secret123 test test123 token u user
username www x y yourpass yourpassword z
"""
_DEFAULTS = frozenset(_COMMON.split())


def _password(text: str) -> bool:
    """What protects something: not the words every example has in its place, not a bare port, user or group number."""
    return (
        len(text) >= 3 and text.lower() not in _DEFAULTS and not (text.isdigit() and len(text) <= 5) and not is_placeholder(text)
    )


_PLAIN = re.compile(
    r"-?[A-Za-z]?[a-z_./-]*|[A-Z_]+|[0-9]{1,6}|[0-9.]+:[0-9]+|/[\w./-]*"
    r"|[\w.-]*\.(?:zip|7z|txt|ya?ml|json|js|py|sh|pem|key)"
)


def _secretlike(text: str) -> bool:
    """A word nobody would write in its place by accident: a digit or a sign in it, or capitals inside."""
    return _PLAIN.fullmatch(text) is None


def _no_words(text: str) -> bool:
    """Not the words of a sentence or the name of a variable."""
    return _digit(text) or is_random(text) or (len(text) >= 24 and not re.search(r"[-_.]", text))


_PEM_EDGE = re.compile(r"-{4,5} ?(?:BEGIN|END) [A-Z0-9 ]{1,48}-{4,5}")


def _key_block(text: str) -> bool:
    """A PEM block that has something in it."""
    body = _PEM_EDGE.sub(" ", text)
    found = re.findall(r"[A-Za-z0-9+/]{12,}", body)
    return bool(found) and entropy("".join(found)[:512]) >= 3.0


def _otp(text: str) -> bool:
    """The digits of a one-time code: not a year, not one digit over and over."""
    digits = re.sub(r"[^0-9]", "", text)
    return not (len(digits) == 4 and digits[:2] in ("19", "20")) and len(set(digits)) > 1


# -- what decodes ---------------------------------------------------------------------------------------------------------------


def _unbase64(text: str) -> bytes:
    """Decode base64 of either alphabet, padded or not, cut anywhere; b"" when it is none."""
    text = text.replace("-", "+").replace("_", "/").replace("\n", "").rstrip("=")
    text = text[: len(text) - (len(text) % 4 == 1)]
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _jwt(text: str) -> bool:
    """The first part decodes to JSON that names an algorithm or a type."""
    head = text.split(".", 1)[0]
    if len(head) > 8192:
        return False
    try:
        header = json.loads(_unbase64(head))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and bool({"alg", "typ", "kid", "enc", "jku", "cty"} & set(header))


def _basic(text: str) -> bool:
    """Decodes to `user:password`, in text."""
    try:
        plain = _unbase64(text[:8192]).decode("utf-8")
    except UnicodeDecodeError:
        return False
    user, colon, password = plain.partition(":")
    return (
        bool(colon)
        and plain.isprintable()
        and len(password) >= 1
        and (len(user) > 0 or len(password) > 3)
        and _password(password)
    )


def _decodes(text: str) -> bool:
    """Decodes to printable text with a colon or an equals sign, or to bytes that are no text."""
    data = _unbase64(text[:8192])
    return len(data) >= 3


def _pem64(text: str) -> bool:
    """Decodes to a PEM block that holds a private key."""
    return b"PRIVATE KEY" in _unbase64(text[:256])


def _discord(text: str) -> bool:
    """The first part decodes to the bot's number, or is at least as random as the rest."""
    head = text.split(".", 1)[0]
    data = _unbase64(head)
    return data.isdigit() or is_random(head)


def _bytes(text: str) -> bool:
    """An array of 32 or 64 numbers below 256: the bytes of a key."""
    numbers = re.findall(r"[0-9]{1,4}", text[:2048])
    return len(numbers) in (32, 64) and all(int(n) < 256 for n in numbers) and len(set(numbers)) > 16 and not _rising(numbers)


def _rising(numbers: list[str]) -> bool:
    values = list(map(int, numbers))
    steps = {b - a for a, b in pairwise(values)}
    return len(steps) <= 3


# -- checksums: one that holds proves a token; one that does not proves nothing, since tokens are cut and made up ----------------


def _crc62(body: str) -> str:
    number, out = zlib.crc32(body.encode("utf-8", "surrogatepass")), ""
    while number:
        number, digit = divmod(number, 62)
        out = _BASE62[digit] + out
    return out.rjust(6, "0")


def _has_crc(text: str) -> bool:
    """The last six characters are the CRC-32 of what stands between the prefix and them, as GitHub's and npm's tokens have it."""
    body = text.rsplit("_", 1)[-1]
    return len(body) > 6 and body[-6:] == _crc62(body[:-6])


def _github(text: str) -> bool:
    return _has_crc(text) or (entropy(text) >= 3.0 and is_random(text.split("_", 1)[-1]))


def _base58check(text: str) -> bytes:
    """Return what a base58check text holds, or b""."""
    if not 20 <= len(text) <= 128 or any(c not in _BASE58 for c in text):
        return b""
    number = 0
    for char in text:
        number = number * 58 + _BASE58.index(char)
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    data = b"\0" * (len(text) - len(text.lstrip("1"))) + data
    body, end = data[:-4], data[-4:]
    return body if hashlib.sha256(hashlib.sha256(body).digest()).digest()[:4] == end else b""


def _wif(text: str) -> bool:
    """A private key of Bitcoin in its usual form, its checksum right."""
    body = _base58check(text)
    return len(body) in (33, 34) and body[0] in (0x80, 0xEF)


@cache
def _bip39() -> dict[str, int]:
    text = resources.files("satchel.redaction").joinpath("bip39.txt").read_text("ascii")
    return {word: number for number, word in enumerate(text.split())}


def _mnemonic(text: str) -> list[int]:
    """Return the numbers of the words of a seed phrase, or [] when one of them is in no list."""
    words = re.findall(r"[a-z]+", text[:512].lower())
    if len(words) not in (12, 15, 18, 21, 24):
        return []
    numbers = _bip39()
    return [numbers[word] for word in words] if all(word in numbers for word in words) else []


def _seed_words(text: str) -> bool:
    """12 to 24 words of BIP39's English list, most of them different."""
    found = _mnemonic(text)
    return len(set(found)) * 2 > len(found) > 0


def _seed(text: str) -> bool:
    """The same, and the checksum is right."""
    found = _mnemonic(text)
    if len(set(found)) * 2 <= len(found) or not found:
        return False
    bits = 0
    for number in found:
        bits = bits << 11 | number
    check_bits = len(found) // 3
    data = (bits >> check_bits).to_bytes(len(found) * 4 // 3, "big")
    return bits & ((1 << check_bits) - 1) == hashlib.sha256(data).digest()[0] >> (8 - check_bits)


def _luhn(text: str) -> bool:
    """A card's number: 12 to 19 digits whose last one checks the others."""
    digits = [int(c) for c in text[:64] if c in _DIGITS]
    if not 12 <= len(digits) <= 19 or len(set(digits)) < 2:
        return False
    return sum(d if i % 2 == 0 else (2 * d - 9 if d > 4 else 2 * d) for i, d in enumerate(reversed(digits))) % 10 == 0


def _iban(text: str) -> bool:
    """An international bank account number, its check digits right."""
    plain = text[:64].replace(" ", "").replace("-", "").upper()
    if not re.fullmatch(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", plain):
        return False
    return int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1


CHECKS: dict[str, Callable[[str], Check]] = {
    "base58check": lambda _: lambda text: _base58check(text) != b"",
    "basic": lambda _: _basic,
    "bytes": lambda _: _bytes,
    "decodes": lambda _: _decodes,
    "digit": lambda _: _digit,
    "discord": lambda _: _discord,
    "entropy": lambda least: lambda text: entropy(text) >= float(least),
    "github": lambda _: _github,
    "hex": lambda _: lambda text: _HEX.fullmatch(text) is not None,
    "iban": lambda _: _iban,
    "jwt": lambda _: _jwt,
    "key-block": lambda _: _key_block,
    "long": lambda least: lambda text: len(text) >= int(least),
    "luhn": lambda _: _luhn,
    "mixed": lambda _: _mixed,
    "no-hex": lambda _: lambda text: _HEX.fullmatch(text) is None,
    "no-ports": lambda _: lambda text: re.fullmatch(r"[0-9:./]+", text) is None,
    "no-uuid": lambda _: lambda text: _UUID.fullmatch(text) is None,
    "no-words": lambda _: _no_words,
    "otp": lambda _: _otp,
    "password": lambda _: _password,
    "pem": lambda _: _pem64,
    "random": lambda _: is_random,
    "real": lambda _: lambda text: not is_placeholder(text),
    "secretlike": lambda _: _secretlike,
    "seed": lambda _: _seed,
    "seed-words": lambda _: _seed_words,
    "undocumented": lambda _: lambda text: not is_documented(text),
    "wif": lambda _: _wif,
}
"""By name; each takes what stands behind the colon and returns the check."""


def check(name: str) -> Check:
    """
    Return the check of a name such as "digit" or "entropy:3.0".

    Raises:
        UsageError: There is none of that name.
    """
    head, _, rest = name.partition(":")
    if head not in CHECKS:
        raise UsageError(f"there is no check {head!r}; there are: {', '.join(sorted(CHECKS))}", subject=name)
    return CHECKS[head](rest)
