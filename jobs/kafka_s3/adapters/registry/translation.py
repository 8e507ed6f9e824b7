"""What the errors of confluent-kafka's registry client mean. No secret gets into them."""

from __future__ import annotations

import base64
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

import httpx2
from confluent_kafka.schema_registry.error import OAuthTokenError, SchemaRegistryError

from kafka_s3.adapters.retry_policy import REGISTRY, Again, again
from kafka_s3.errors import RegistryRefused, RegistryUnavailable
from kafka_s3.settings.registry import RegistrySettings

#: The last line: what the client runs into when it takes a page for a registry's answer.
LIBRARY_ERRORS: Final = (
    SchemaRegistryError,
    OAuthTokenError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    OSError,
    *(ValueError, TypeError, LookupError, AttributeError, RecursionError),
)

_NO_SUBJECT, _NO_VERSION, _NO_SCHEMA = 40401, 40402, 40403
_SAID_CHARS_MAX: Final = 200
_READ_CHARS_MAX: Final = 100_000
#: What OpenSSL says when the other side is not who it should be, does not speak TLS, or wants to know who we are.
_TLS_REFUSALS: Final = ("CERTIFICATE", "WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_CA", "HTTP_REQUEST")
_SECRETS: Final = (
    "basic.auth.user.info",
    "bearer.auth.token",
    "bearer.auth.client.secret",
    "ssl.key.password",
    "ssl.key.pem",
)


def is_missing(error: BaseException) -> bool:
    """The registry has no such subject, version or schema; a 404 with another code is not a registry's."""
    return (
        isinstance(error, SchemaRegistryError)
        and error.http_status_code == 404
        and error.error_code in (_NO_SUBJECT, _NO_VERSION, _NO_SCHEMA)
    )


def translate(settings: RegistrySettings, error: BaseException, what: str) -> RegistryRefused | RegistryUnavailable:
    """Any of `LIBRARY_ERRORS` as ours. `what` was asked for; empty while the client is made."""
    place = f"The schema registry at {places(settings)}"
    if isinstance(error, SchemaRegistryError):
        said = _shortened(settings, str(error.error_message or "")) or "no reason given"
        return _translate_answer(error, f"{place} answered", f"to the question for {what}: {said}.")
    said = f"{type(error).__name__}: {_shortened(settings, str(error)) or 'no reason given'}"
    if what:
        return _translate_failure(error, said, place, what)
    files = [f"{name}={value}" for name, value in settings.client.items() if name.endswith(".location")]
    return RegistryRefused(
        f"{place} cannot be asked as it is configured{''.join(f', {file}' for file in files)}: {said}.",
        next="Correct schema.registry.url and the other properties of the registry.",
    )


def places(settings: RegistrySettings) -> str:
    """The registry's addresses without the user and the password that may stand in them."""
    return ", ".join(_without_user(url.strip()) for url in settings.client.get("url", "").split(",")) or "(no URL)"


def _translate_answer(error: SchemaRegistryError, answered: str, asked: str) -> RegistryRefused | RegistryUnavailable:
    """An answer that is an error."""
    status = error.http_status_code
    code = f" (code {error.error_code})" if isinstance(error.error_code, int) and error.error_code > 0 else ""
    what = f"{answered} {status}{code} {asked}"
    if status in (401, 403):
        return RegistryRefused(
            what,
            next="Correct the converter's basic.auth.user.info, token or certificate, or allow it to read subjects.",
        )
    if again(REGISTRY, "", status) is Again.YES:
        return RegistryUnavailable(what, next="Check that the registry is up; the next try goes on from here.")
    return RegistryRefused(what, next="Does schema.registry.url name a schema registry, with its whole path?")


def _translate_failure(error: BaseException, said: str, place: str, what: str) -> RegistryRefused | RegistryUnavailable:
    """No answer, or none that could be read."""
    text = f"{place} did not answer the question for {what}: {said}."
    if isinstance(error, OAuthTokenError):
        return _translate_token(error, text)
    if isinstance(error, httpx2.LocalProtocolError):
        # What cannot be sent is a header, and its value may be a secret.
        return RegistryRefused(
            f"{place} cannot be asked: a header cannot be sent.",
            next="Is there a line break or another odd character in the user, the password or the token?",
        )
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
        return RegistryRefused(text, next="Correct schema.registry.url: http:// or https://, host and port.")
    if isinstance(error, httpx2.HTTPError | OSError) and any(word in str(error) for word in _TLS_REFUSALS):
        return RegistryRefused(
            text,
            next="Is it https or http? Trust its CA with schema.registry.ssl.truststore.location; if it asks for a "
            "certificate, give it one with schema.registry.ssl.keystore.location.",
        )
    if isinstance(error, httpx2.HTTPError | OSError):
        return RegistryUnavailable(
            text, next="Check that the registry is up and that schema.registry.url names it, http or https."
        )
    return RegistryRefused(
        f"{place} answered the question for {what} with something that is not a registry's answer: {said}.",
        next="Does schema.registry.url name a schema registry, with its whole path?",
    )


def _translate_token(error: OAuthTokenError, text: str) -> RegistryRefused | RegistryUnavailable:
    """No token: refused by the identity provider, or not answered."""
    if isinstance(error.__context__, httpx2.HTTPError | OSError):
        return RegistryUnavailable(text, next="Check that bearer.auth.issuer.endpoint.url answers.")
    return RegistryRefused(text, next="Correct bearer.auth.client.id, its secret, scope and issuer.endpoint.url.")


def _shortened(settings: RegistrySettings, text: str) -> str:
    """What others said, short and without our secrets."""
    text = text[:_READ_CHARS_MAX]
    for secret in _secrets(settings):
        text = text.replace(secret, "[hidden]")
    text = " ".join(text.split())
    return (text if len(text) <= _SAID_CHARS_MAX else f"{text[:_SAID_CHARS_MAX]}…").rstrip(".")


def _without_user(url: str) -> str:
    return url.rpartition("@")[0].partition("//")[0] + "//" + url.rpartition("@")[2] if "@" in url else url


def _secrets(settings: RegistrySettings) -> list[str]:
    """Every secret in every form that a message may hold it in, the longest first."""
    found: set[str] = set()
    for name in _SECRETS:
        found.add(settings.client.get(name, ""))
    found.add(settings.client.get("basic.auth.user.info", "").partition(":")[2])
    for url in (*settings.client.get("url", "").split(","), settings.client.get("proxy", "")):
        user, separator, password = _user_info(url).partition(":")
        found |= {password, unquote(password), f"{unquote(user)}{separator}{unquote(password)}"} if separator else set()
    found |= {base64.b64encode(pair.encode(errors="replace")).decode() for pair in found if ":" in pair}
    found |= {each.strip() for each in found} | {repr(each)[1:-1] for each in found}
    return sorted(filter(None, found), key=len, reverse=True)


def _user_info(url: str) -> str:
    try:
        parts: SplitResult = urlsplit(url.strip())
    except ValueError:
        return url.rpartition("@")[0].rpartition("//")[2]
    return parts.netloc.rpartition("@")[0]
