"""`sasl.jaas.config`, Java's way to hold a login."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_MODULES: Final = {"PlainLoginModule": ("PLAIN",), "ScramLoginModule": ("SCRAM-SHA-256", "SCRAM-SHA-512")}
_TOKEN_MODULES: Final = {"OAuthBearerLoginModule": ("OAUTHBEARER",), "IAMLoginModule": ("AWS_MSK_IAM",)}
_TOKEN = re.compile(r"""\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([=;])|([^\s=;"']+))""", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "b": "\b"}
_SHAPE: Final = '<login module> required <option>="…" <option>="…";'


@dataclass(frozen=True, slots=True)
class Login:
    """Who logs in, and the mechanisms that this may be for."""

    username: str
    password: str = field(repr=False)
    mechanisms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TokenLogin:
    """A login by tokens, with what the login module is told about where they come from."""

    options: Mapping[str, str] = field(repr=False)
    mechanisms: tuple[str, ...]


def parse_jaas(text: str) -> Login | TokenLogin | str:
    """What is in the text, or what is wrong with it, without any part of it that could be a secret."""
    tokens = _tokens(text)
    if tokens is None or len(tokens) < 3 or tokens[-1] != (";", True) or (";", True) in tokens[:-1]:
        return f"is not of the form {_SHAPE}"
    module = tokens[0][0].rpartition(".")[2]
    if module not in _MODULES and module not in _TOKEN_MODULES:
        return f"names a login module that is not supported; supported: {', '.join((*_MODULES, *_TOKEN_MODULES))}"
    if tokens[1][0].lower() not in ("required", "requisite", "sufficient", "optional"):
        return f"is not of the form {_SHAPE}"
    options: dict[str, str] = {}
    pairs = tokens[2:-1]
    if len(pairs) % 3:
        return f"is not of the form {_SHAPE}"
    for at in range(0, len(pairs), 3):
        (name, _), equals, (value, _) = pairs[at : at + 3]
        if equals != ("=", True):
            return f"is not of the form {_SHAPE}"
        options[name] = value
    if module in _TOKEN_MODULES:
        return TokenLogin(options, _TOKEN_MODULES[module])
    if options.get("tokenauth", "false").lower() == "true":
        return "logs in with a delegation token, which is not supported yet"
    if not options.get("username") or "password" not in options:
        return "must contain both username and password"
    return Login(options["username"], options["password"], _MODULES[module])


def _tokens(text: str) -> list[tuple[str, bool]] | None:
    """Words of the text, each with whether it is punctuation; `None` if a quote is left open."""
    tokens: list[tuple[str, bool]] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            return None
        double, single, mark, word = match.groups()
        quoted = double if double is not None else single
        if quoted is not None:
            tokens.append((re.sub(r"\\(.)", _unescape, quoted, flags=re.DOTALL), False))
        else:
            tokens.append((mark or word, mark is not None))
        at = match.end()
    return tokens


def _unescape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match.group(1), match.group(1))
