"""The schema registry behind AvroConverter: rules about its options, and what they are in the settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote, urlsplit

from kafka_s3.errors import Problem
from kafka_s3.settings import converter_names as names
from kafka_s3.settings.check import Checked
from kafka_s3.settings.client import Client, translate_stores
from kafka_s3.settings.content import RegistrySettings
from kafka_s3.settings.properties import HIDDEN
from kafka_s3.settings.sources import ClientLayer, ResolvedProperty
from kafka_s3.settings.variables import Given

_URL: Final = "schema.registry.url"
_SOURCE: Final = "basic.auth.credentials.source"
_USER_INFO: Final = ("basic.auth.user.info", "schema.registry.basic.auth.user.info")
_BEARER: Final = "bearer.auth.credentials.source"
_TOKEN: Final = "bearer.auth.token"  # noqa: S105  # the name of a property
_CLUSTER: Final = "bearer.auth.logical.cluster"
_POOL: Final = "bearer.auth.identity.pool.id"
_SSL: Final = "schema.registry.ssl."
_HOST_CHECK: Final = "ssl.endpoint.identification.algorithm"
#: librdkafka's properties that the registry's client has as well; it reads its certificates from files only.
_FILES: Final = ("ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.key.password")


def apply_registry_rules(checked: Checked) -> None:
    for side in names.SIDES:
        if _is_avro(checked, side):
            _login_rules(checked, f"{side}.converter.")
            _tls_rules(checked, side)
        else:
            for name in _tls_given(checked, side):
                reason = "needless: only AvroConverter reads it"
                checked.rows.append(ResolvedProperty(name, HIDDEN, checked.given[name].source.value, reason))


def build_registry(checked: Checked, side: str) -> RegistrySettings | None:
    """How to reach the registry of one side's converter; `None` where it has none."""
    if not _is_avro(checked, side):
        return None
    prefix = f"{side}.converter."
    urls = checked.listed(f"{prefix}{_URL}")
    client = {"url": ",".join(without_login(url) for url in urls)}
    if checked.text(f"{prefix}{_SOURCE}") == names.USER_INFO:
        logins = [login for name in _USER_INFO if (login := checked.optional(f"{prefix}{name}"))]
    else:
        logins = _logins(urls)
    if checked.text(f"{prefix}{_BEARER}") == names.STATIC_TOKEN:
        client["bearer.auth.credentials.source"] = names.STATIC_TOKEN
        client[_TOKEN] = checked.text(f"{prefix}{_TOKEN}").strip()
        client[_CLUSTER] = checked.text(f"{prefix}{_CLUSTER}").strip()  # Java can do without, the client here cannot
        if pool := checked.optional(f"{prefix}{_POOL}"):
            client[_POOL] = pool
    elif logins:
        client["basic.auth.user.info"] = logins[0]
    stores = _stores(checked, side).properties
    return RegistrySettings({**client, **{name: stores[name] for name in _FILES if name in stores}})


def without_login(url: str) -> str:
    """
    >>> without_login("https://user:pass@registry:8081/api")
    'https://registry:8081/api'
    """
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def _logins(urls: Iterable[str]) -> list[str]:
    """The different logins in some addresses, in their order."""
    return list(dict.fromkeys(login for url in urls if (login := _login(url))))


def _login(url: str) -> str | None:
    parts = urlsplit(url)
    if not parts.username:
        return None
    return f"{unquote(parts.username)}:{unquote(parts.password or '')}"


def _is_avro(checked: Checked, side: str) -> bool:
    name = f"{side}.converter"
    return checked.sure(name) and checked.reads(name) and checked.text(name) == names.AVRO


def _login_rules(checked: Checked, prefix: str) -> None:
    url, source, bearer = f"{prefix}{_URL}", f"{prefix}{_SOURCE}", f"{prefix}{_BEARER}"
    if checked.sure(url) and not checked.listed(url):
        checked.complain(url, "is required by AvroConverter")
    by_user = checked.sure(source) and checked.text(source) == names.USER_INFO
    if by_user and not any(f"{prefix}{name}" in checked.given for name in _USER_INFO):
        checked.complain(f"{prefix}{_USER_INFO[0]}", f"is required by {_SOURCE}=USER_INFO")
    by_token = checked.sure(bearer) and checked.text(bearer) == names.STATIC_TOKEN
    if by_token and f"{prefix}{_TOKEN}" not in checked.given:
        checked.complain(f"{prefix}{_TOKEN}", f"is required by {_BEARER}={names.STATIC_TOKEN}")
    by_url = checked.sure(url, source, bearer) and not by_user and not by_token
    if by_url and len(_logins(checked.listed(url))) > 1:
        message = "holds different logins, and the registry's client has one for every address: give all the same one, "
        checked.complain_hidden(url, f"{message}or set {_SOURCE}=USER_INFO and {_USER_INFO[0]}")
    if by_user and by_token:
        checked.complain(bearer, f"excludes {_SOURCE}=USER_INFO: set one of them")


def _tls_rules(checked: Checked, side: str) -> None:
    prefix = f"{side}.converter.{_SSL.removesuffix('ssl.')}"
    client = _stores(checked, side)
    checked.rows += client.rows
    checked.problems += client.problems
    kept = {name for name in _FILES if name in client.properties}
    if client.properties.get(_HOST_CHECK, "https") != "https":
        message = "the registry's certificate is always checked: leave it out"
        checked.problems.append(Problem(f"{prefix}{_HOST_CHECK}", None, message))
    for target in sorted(client.properties.keys() - kept - {_HOST_CHECK}):
        given = f"{prefix}{_WRITTEN.get(target, target)}"
        message = "the registry's client reads certificates from PEM files: write it to one and set "
        checked.problems.append(
            Problem(given, None, f"{message}{prefix}{_PLACES.get(target, 'ssl.keystore.location')}")
        )
    if {"ssl.key.location", "ssl.key.password"} & kept and "ssl.certificate.location" not in kept:
        location = f"{prefix}ssl.keystore.location"
        checked.problems.append(Problem(location, None, "must hold the certificate that the key belongs to"))


_WRITTEN: Final = {
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
}
_PLACES: Final = {"ssl.ca.pem": "ssl.truststore.location"}


def _tls_given(checked: Checked, side: str) -> list[str]:
    return [name for name in checked.given if name.startswith(f"{side}.converter.{_SSL}")]


def _stores(checked: Checked, side: str) -> Client:
    """What TLS comes to, by the rules of Kafka's client: names, types of stores and messages are the same."""
    cut = len(f"{side}.converter.{_SSL}") - len("ssl.")
    given: dict[str, tuple[str, Given]] = {
        name[cut:]: (name, checked.given[name]) for name in _tls_given(checked, side)
    }
    return translate_stores(ClientLayer(given))
