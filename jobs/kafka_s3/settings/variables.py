"""Variables in values: `${env:NAME}`, `${file:path:key}` and `${secrets:name}`."""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from kafka_s3.errors import ConfigurationError
from kafka_s3.settings.files import ANYWHERE, parse_properties, read_text
from kafka_s3.settings.reach import ENV_PREFIXES, FILE_ROOTS, Reach, reach_of

_KINDS: Final = ("env", "file", "secrets")
# Connect's own pattern: a provider, an optional path, a key.
_VARIABLE: Final = re.compile(r"\$\{([^}:]*):([^}]*)\}")


class Source(enum.Enum):
    """Where a value came from."""

    CONNECTOR = "connector file"
    AIRFLOW = "Airflow connection"
    WORKER = "worker file"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Given:
    """A property's text as one place gave it. It never prints its text.

    `secret`: a variable in it was looked up, so it is hidden whatever property holds it.
    `resolved`: it holds no variable that was left as it stands. `found`: what its variables stood for. `variables`: how
    they were written, which is no secret.
    """

    text: str = field(repr=False)
    source: Source
    secret: bool = False
    resolved: bool = True
    found: tuple[str, ...] = field(default=(), repr=False)
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lookups:
    """What variables are looked up in.

    `read_file` returns the text of the properties file at a path, or raises OSError or UnicodeDecodeError.
    `secrets` returns a secret by name, or `None` (or raises LookupError) if there is none; without it there is no
    backend for secrets here. `reach`: what may be looked up at all.
    """

    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    read_file: Callable[[str], str] | None = field(default=None, repr=False)
    secrets: Callable[[str], str | None] | None = field(default=None, repr=False)
    reach: Reach = ANYWHERE


def lookups_of(
    environment: Mapping[str, str],
    *,
    secrets: Callable[[str], str | None] | None = None,
    only_looks: bool = False,
) -> Lookups:
    """What an entry point looks variables up in: its environment and its machine's files, as far as both allow it."""
    reach = reach_of(environment, only_looks=only_looks)
    read_file = functools.partial(read_text, reach=reach)
    return Lookups(env=dict(environment), read_file=read_file, secrets=secrets, reach=reach)


class Refusal(str):
    """The sentence that says why a variable may not be looked up in this process."""


class _MissingError(Exception):
    """Why a variable has no value; says nothing of any value."""


class _RefusedError(_MissingError):
    """Why a variable may not be looked up here."""


def has_variable(text: str) -> bool:
    return _VARIABLE.search(text) is not None


def resolve(given: Given, lookups: Lookups | None) -> Given | str:
    """The value with its variables replaced, or the sentence that says which one has no value and why.

    Without `lookups` the text stays as it is, marked as not resolved. What a variable stands for is not looked at
    for further variables, as in Connect.
    """
    if not has_variable(given.text):
        return given
    if lookups is None:
        return replace(given, resolved=False)
    pieces: list[str] = []
    found: list[str] = []
    at = 0
    for match in _VARIABLE.finditer(given.text):
        provider, reference = match.groups()
        try:
            value = _look_up(provider, reference, lookups)
        except _MissingError as missing:
            # Only what is meant as a variable is repeated: other text may be a part of a password.
            named = f"the variable {match.group()}" if provider in _KINDS else "a variable"
            sentence = f"{named} {missing}"
            return Refusal(sentence) if isinstance(missing, _RefusedError) else sentence
        found.append(value)
        pieces += [given.text[at : match.start()], value]
        at = match.end()
    text = "".join([*pieces, given.text[at:]])
    written = tuple(match.group() for match in _VARIABLE.finditer(given.text))
    return replace(given, text=text, secret=given.secret or bool(found), found=tuple(found), variables=written)


def _look_up(provider: str, reference: str, lookups: Lookups) -> str:
    match provider:
        case "env":
            if not lookups.reach.has_variable(reference):
                raise _RefusedError(f"is not looked up here: {ENV_PREFIXES} does not allow it in this process")
            if reference not in lookups.env:
                raise _MissingError("has no value: the environment variable is not set")
            return lookups.env[reference]
        case "file":
            return _look_up_in_file(reference, lookups)
        case "secrets":
            return _look_up_secret(reference, lookups)
        case _:
            raise _MissingError("is of an unknown kind; known: ${env:NAME}, ${file:path:key}, ${secrets:name}")


def _look_up_in_file(reference: str, lookups: Lookups) -> str:
    path, colon, key = reference.partition(":")
    if not colon or not key:
        raise _MissingError("names no key: write ${file:path:key}")
    if lookups.read_file is None:
        raise _MissingError("cannot be looked up: files are not read here")
    try:
        if not lookups.reach.has_file(path):
            raise _RefusedError(f"is not looked up here: {FILE_ROOTS} does not allow it in this process")
        properties = parse_properties(lookups.read_file(path), path)
    except OSError as error:
        raise _MissingError(
            f"has no value: the file cannot be read ({error.strerror or type(error).__name__})"
        ) from None
    except (UnicodeDecodeError, ConfigurationError):
        raise _MissingError("has no value: the file is not a properties file in UTF-8") from None
    if key not in properties:
        raise _MissingError("has no value: the file has no such key")
    return properties[key]


def _look_up_secret(reference: str, lookups: Lookups) -> str:
    if lookups.secrets is None:
        raise _MissingError("cannot be looked up: no backend for secrets is available here")
    try:
        secret = lookups.secrets(reference)
    except LookupError:
        secret = None
    if secret is None:
        raise _MissingError("has no value: the backend for secrets has no such name")
    return secret
