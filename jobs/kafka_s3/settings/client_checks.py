"""A Kafka client's properties once they are translated, and what is wrong with them together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from kafka_s3.errors import Problem
from kafka_s3.settings import kafka_tokens as tokens
from kafka_s3.settings.kafka_tokens import MSK_IAM, OAUTHBEARER, MskLogin
from kafka_s3.settings.key_stores import JavaStore
from kafka_s3.settings.properties import ResolvedProperty

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_JAAS: Final = "sasl.jaas.config"
_GRANT: Final = "client_credentials"
_ID_AND_SECRET: Final = ("sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret")


@dataclass(slots=True)
class Client:
    """librdkafka's properties; what decides what a reader sees stands beside them, since the reader sets it.

    `stores`: Java's key and trust stores, to be read where the client is made (`read_stores`). `signs`: tokens for
    Amazon MSK are asked for; `msk`: whose they are.
    """

    properties: dict[str, str] = field(default_factory=dict, repr=False)
    stores: list[JavaStore] = field(default_factory=list)
    msk: MskLogin | None = None
    signs: bool = False
    isolation_level: str = "read_committed"
    start: str = "earliest"
    rows: list[ResolvedProperty] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unresolved: set[str] = field(default_factory=set)


def order_backoffs(properties: dict[str, str]) -> None:
    """Raise a largest pause that is below the smallest one, as Java does; librdkafka refuses it."""
    for name, default, default_max in (("reconnect.backoff", 100, 10_000), ("retry.backoff", 100, 1000)):
        smallest = int(properties.get(f"{name}.ms", default))
        if int(properties.get(f"{name}.max.ms", default_max)) < smallest:
            properties[f"{name}.max.ms"] = str(smallest)


def settle_tokens(client: Client) -> None:
    """One way to tokens at most: those that are made here need no endpoint, and other mechanisms no token."""
    if client.properties.get("sasl.mechanism") != OAUTHBEARER:
        client.msk = None
    if client.msk is not None:
        client.msk = replace(client.msk, region=tokens.region_of(client.properties.get("bootstrap.servers", "")))
        for name in [name for name in client.properties if name.startswith("sasl.oauthbearer.")]:
            del client.properties[name]


def check_login(client: Client) -> None:
    given = client.properties
    if not given.get("security.protocol", "").upper().startswith("SASL_") or client.unresolved:
        return
    mechanism = given.get("sasl.mechanism", "")
    if not mechanism:
        known = ", ".join((*MECHANISMS, OAUTHBEARER, MSK_IAM))
        message = f"must be set with security.protocol={given['security.protocol']}: one of {known}"
        client.problems.append(Problem("sasl.mechanism", None, message))
    elif mechanism in MECHANISMS and not (given.get("sasl.username") and "sasl.password" in given):
        client.problems.append(Problem(_JAAS, None, f"must contain username and password for {mechanism}"))
    elif mechanism == OAUTHBEARER and client.msk is None and client.signs:
        message = "is required to log in to Amazon MSK: software.amazon.msk.auth.iam.IAMLoginModule required;"
        client.problems.append(Problem(_JAAS, None, message))
    elif mechanism == OAUTHBEARER and client.msk is None:
        _check_oauth(client)


def _check_oauth(client: Client) -> None:
    """Tokens that nobody gives; librdkafka would wait for them for ever."""
    given, handler = client.properties, "sasl.login.callback.handler.class"
    if given.get("sasl.oauthbearer.method", "").lower() != "oidc":
        if "sasl.oauthbearer.config" not in given:
            message = f"is required by {OAUTHBEARER} and {MSK_IAM}: one of {tokens.known_handlers()}"
            client.problems.append(Problem(handler, None, message))
    elif "sasl.oauthbearer.metadata.authentication.type" in given:
        return
    elif "sasl.oauthbearer.token.endpoint.url" not in given:
        client.problems.append(Problem("sasl.oauthbearer.token.endpoint.url", None, f"is required by {OAUTHBEARER}"))
    elif given.get("sasl.oauthbearer.grant.type", _GRANT) == _GRANT and not all(map(given.get, _ID_AND_SECRET)):
        message = f"must contain clientId and clientSecret for {OAUTHBEARER}, both in one place"
        client.problems.append(Problem(_JAAS, None, message))
