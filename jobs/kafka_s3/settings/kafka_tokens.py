"""Logins by tokens: OAUTHBEARER with a token endpoint, and Amazon MSK's IAM, out of Java's properties."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_s3.settings.properties import near_match

OAUTHBEARER: Final = "OAUTHBEARER"
MSK_IAM: Final = "AWS_MSK_IAM"
#: Java's classes that say where tokens come from, by what they are called without their package.
_OIDC_HANDLERS: Final = ("OAuthBearerLoginCallbackHandler",)
_MSK_HANDLERS: Final = ("IAMClientCallbackHandler", "IAMOAuthBearerLoginCallbackHandler")
_RETRIEVERS: Final = {
    "DefaultJwtRetriever": "client_credentials",
    "ClientCredentialsJwtRetriever": "client_credentials",
    "JwtBearerJwtRetriever": "urn:ietf:params:oauth:grant-type:jwt-bearer",
}
_EXTENSION: Final = "extension_"
_OIDC_OPTIONS: Final = {
    "clientId": "sasl.oauthbearer.client.id",
    "clientSecret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
}
_TRUST: Final = tuple(f"ssl.truststore.{name}" for name in ("location", "password", "type"))
_MSK_OPTIONS: Final = {
    "awsProfileName": "profile",
    "awsRoleArn": "role_arn",
    "awsRoleSessionName": "session_name",
    "awsRoleExternalId": "external_id",
    "awsRoleAccessKeyId": "access_key_id",
    "awsRoleSecretAccessKey": "secret_access_key",
    "awsRoleSessionToken": "session_token",
    "awsStsRegion": "sts_region",
}
_MSK_IGNORED: Final = ("awsDebugCreds", "awsMaxRetries", "awsMaxBackOffTimeMs")
_MSK_HOST: Final = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?(?=[:,]|$)")


@dataclass(frozen=True, slots=True)
class MskLogin:
    """Whose signature a token for Amazon MSK carries: the process's own credentials, a profile's or a role's.

    `region`: of the brokers; unless their names say it, the one that the AWS SDK finds (AWS_REGION, the profile).
    """

    region: str | None = None
    profile: str | None = None
    role_arn: str | None = None
    session_name: str = "kafka-s3"
    external_id: str | None = field(default=None, repr=False)
    access_key_id: str | None = field(default=None, repr=False)
    secret_access_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    sts_region: str | None = None


def is_oidc(handler: str) -> bool:
    """Whether Java's class asks a token endpoint."""
    return _name(handler) in _OIDC_HANDLERS and handler.startswith("org.apache.kafka.")


def is_msk(handler: str) -> bool:
    """Whether Java's class signs tokens for Amazon MSK."""
    return _name(handler) in _MSK_HANDLERS and handler.startswith("software.amazon.msk.auth.iam.")


def known_handlers() -> str:
    return ", ".join((*_OIDC_HANDLERS, *_MSK_HANDLERS))


def grant_type(retriever: str) -> str | None:
    """librdkafka's grant type for one of Java's classes that ask for tokens; `None` for those it does not have."""
    return _RETRIEVERS.get(_name(retriever))


def known_retrievers() -> str:
    return ", ".join(_RETRIEVERS)


def oidc_properties(options: Mapping[str, str]) -> dict[str, str] | str:
    """librdkafka's properties for the options of Java's login module, or what is wrong, without their values."""
    properties, extensions = {}, []
    for name, text in options.items():
        if name in _OIDC_OPTIONS:
            properties[_OIDC_OPTIONS[name]] = text
        elif name.startswith(_EXTENSION):
            extension = name.removeprefix(_EXTENSION)
            if not re.fullmatch("[A-Za-z]+", extension) or "," in text:
                return "has an extension whose name is not of the letters A-Z, or whose value has a comma"
            extensions.append(f"{extension}={text}")
        elif name.startswith("unsecured"):
            return "asks for unsecured tokens, which are for trying out brokers: name a token endpoint"
        elif name not in _TRUST:
            known = (*_OIDC_OPTIONS, *_TRUST)
            return f"has the option {name}, which is not supported here.{near_match(name, known)}"
    if extensions:
        properties["sasl.oauthbearer.extensions"] = ",".join(extensions)
    return properties


def msk_login(options: Mapping[str, str]) -> MskLogin | str:
    """Who signs, by the options of Java's login module, or what is wrong with them."""
    given = {name: text for name, text in options.items() if text and name not in _MSK_IGNORED}
    unknown = [name for name in given if name not in _MSK_OPTIONS]
    if unknown:
        return f"has the option {unknown[0]}, which is not known.{near_match(unknown[0], (*_MSK_OPTIONS,))}"
    if "awsProfileName" in given and "awsRoleArn" in given:
        return "names both awsProfileName and awsRoleArn: leave one of them"
    keys = len({"awsRoleAccessKeyId", "awsRoleSecretAccessKey"} & given.keys())
    if keys == 1 or (keys == 0 and "awsRoleSessionToken" in given):
        return "must contain awsRoleAccessKeyId and awsRoleSecretAccessKey together"
    if "awsRoleArn" not in given and any(name.startswith("awsRole") for name in given):
        return "must contain awsRoleArn with the other options of a role"
    return MskLogin(**{_MSK_OPTIONS[name]: text for name, text in given.items()})


def region_of(servers: str) -> str | None:
    """The region in the names of MSK's brokers.

    >>> region_of("b-1.orders.ab12.c2.kafka.eu-central-1.amazonaws.com:9098"), region_of("kafka.company:9098")
    ('eu-central-1', None)
    """
    found = _MSK_HOST.search(servers.lower())
    return found[1] if found else None


def _name(java_class: str) -> str:
    return java_class.strip().rpartition(".")[2]
