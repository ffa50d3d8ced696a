"""Credentials of many kinds, made anew whenever asked: none is committed, none ever opened anything."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid
import zlib
from typing import NamedTuple

ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"


SEED = 20261130
_CHANCE = random.Random(SEED)


class Credential(NamedTuple):
    """`line` is how a tool prints it, `secret` the part that must never be seen again."""

    kind: str
    line: str
    secret: str


def text(length: int, alphabet: str = ALNUM) -> str:
    return "".join(_CHANCE.choice(alphabet) for _ in range(length))


def credentials() -> list[Credential]:
    """One of each kind, the same on every call: made while tests run, so that none is ever committed.

    One in some ten thousand of a kind happens to spell what scanners take for an example, and is passed over.
    """
    _CHANCE.seed(SEED)
    found: list[Credential] = []

    def bare(kind: str, secret: str, line: str = "found {} in the log") -> None:
        found.append(Credential(kind, line.format(secret), secret))

    for prefix in ("ghp_", "gho_", "ghs_"):
        bare(f"github {prefix}", _github(prefix))
    bare("github fine-grained", f"github_pat_{text(22)}_{text(59)}")
    bare("gitlab", f"glpat-{text(20)}", "remote: {}")
    bare("aws access key id", f"AKIA{text(16, string.ascii_uppercase + '234567')}")
    bare("aws secret", text(40), "aws_secret_access_key = {}")
    bare("slack bot", f"xoxb-{_digits(12)}-{_digits(12)}-{text(24)}", "SLACK={}")
    bare(
        "slack webhook",
        f"T{text(8, UPPER)}/B{text(8, UPPER)}/{text(24)}",
        "https://hooks.slack.com/services/{}",
    )
    bare("stripe", f"sk_live_{text(24)}")
    bare("openai", f"sk-proj-{text(74)}T3BlbkFJ{text(74)}")
    bare("anthropic", f"sk-ant-api03-{text(93)}AA")
    bare("google", f"AIza{text(35)}")
    bare("npm", f"npm_{text(36)}", "//registry.npmjs.org/:_authToken={}")
    bare("pypi", f"pypi-AgEIcHlwaS5vcmc{text(70)}")
    bare("sendgrid", f"SG.{text(22)}.{text(43)}")
    bare("twilio", f"SK{text(32, HEX)}")
    bare("hugging face", f"hf_{text(34, string.ascii_letters)}")
    bare("digitalocean", f"dop_v1_{text(64, HEX)}")
    bare("shopify", f"shpat_{text(32, HEX)}")
    bare("telegram", f"1{_digits(9)}:AA{text(33)}")
    bare("discord webhook", f"1{_digits(17)}/{text(68)}", "https://discord.com/api/webhooks/{}")
    bare("linear", f"lin_api_{text(40)}")
    bare("age", f"AGE-SECRET-KEY-1{text(58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L')}")
    bare("vault", f"hvs.{text(90)}")
    bare("mailgun", f"key-{text(32, HEX)}")
    bare("jwt", _jwt())
    bare("private key", _pem(), "cat id_rsa\n{}")
    bare("database url", _password(), "DATABASE=postgres://app:{}@db.internal:5432/app")
    bare("url with a password", _password(), "https://bob:{}@git.internal/x.git")
    bare("basic", base64.b64encode(f"user:{_password()}".encode()).decode(), "Authorization: Basic {}")
    bare("bearer", text(40), "> Authorization: Bearer {}")
    bare("azure", base64.b64encode(_CHANCE.randbytes(64)).decode(), "AccountName=x;AccountKey={};")
    bare("password in yaml", _password(), "db:\n  password: {}\n")
    bare("password in env", _password(), "DB_PASSWORD={}")
    bare("password in json", _password(), '{{"user": "a", "password": "{}"}}')
    bare("token in env", _token(30), "export DEPLOY_TOKEN={}")
    bare("secret in code", _token(24), 'clientSecret: "{}",')
    bare("api key in a header", _token(32), "x-api-key: {}")
    bare("netrc", _password(), "machine x.org login bob password {}")
    bare("curl", _password(), "+ curl -u bob:{} https://x.org")
    return found


def innocents() -> list[str]:
    """Lines that look random and are no secrets: digests, ids, locks, code, masks."""
    _CHANCE.seed(SEED)

    def digest(size: int) -> str:
        return _CHANCE.randbytes(size).hex()

    pair = base64.b64encode(_CHANCE.randbytes(64)).decode()
    return [
        f"commit {digest(20)}",
        f"index {digest(4)}..{digest(4)} 100644",
        f"id: {uuid.uuid4()}",
        f'"integrity": "sha512-{pair}"',
        f"    --hash=sha256:{digest(32)} \\",
        f'checksum = "{digest(32)}"',
        f"golang.org/x/net v0.1.0 h1:{base64.b64encode(_CHANCE.randbytes(32)).decode()}",
        f'resolved "https://registry.yarnpkg.com/a/-/a-1.0.0.tgz#{digest(20)}"',
        f"{hashlib.md5(_CHANCE.randbytes(9)).hexdigest()}  dump.tar",
        f"sha256:{digest(32)}",
        f"request-id: req_{text(24)}",
        f"toolu_{text(24)} call_{text(24)}",
        f'"nextPageToken": "{text(30)}"',
        "max_tokens=128000",
        "token = self.next_token()",
        'password = os.environ["DB_PASSWORD"]',
        "api_key=settings.OPENAI_API_KEY,",
        "password: ${DB_PASSWORD}",
        "password=********",
        "TOKEN=<your-token>",
        "secret: Optional[bytes] = None",
        "--- PASS: TestToken_Refresh2 (0.00s)",
        "Bearer token authentication is used",
        "def reset_password(token: str) -> None:",
    ]


def _digits(length: int) -> str:
    return text(length, "123456789")


def _token(length: int) -> str:
    """One that only its name gives away; letters alone, which one in a hundred has, might be words."""
    return "".join(_CHANCE.choice(string.digits if i % 5 == 2 else ALNUM) for i in range(length))


def _password() -> str:
    return f"{text(6)}7{text(6, string.ascii_lowercase)}9"


def _github(prefix: str) -> str:
    """With the checksum at its end that GitHub puts there."""
    body = text(30)
    rest, check = zlib.crc32(body.encode()), ""
    digits = string.digits + string.ascii_uppercase + string.ascii_lowercase
    for _ in range(6):
        rest, place = divmod(rest, 62)
        check = digits[place] + check
    return prefix + body + check


def _jwt() -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": text(10), "iat": 1516239022})
    sealed = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return ".".join([*sealed, text(43)])


def _pem() -> str:
    lines = "\n".join(text(64) for _ in range(25))
    return f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----"
