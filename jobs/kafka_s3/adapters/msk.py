"""Tokens for Amazon MSK's IAM: a request to Kafka's service, signed and never sent. The signer is an extra, `msk`.

Credentials of a role are asked for anew before they expire, one set per process and login; each token lives for
15 minutes, and librdkafka asks for the next one when four fifths of them are over, in the middle of a range if need be.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from typing import Any, Final

import botocore.session
from botocore.config import Config
from botocore.credentials import AssumeRoleCredentialFetcher, CredentialProvider, DeferredRefreshableCredentials
from botocore.exceptions import BotoCoreError, ClientError

from kafka_s3.errors import ConfigurationError
from kafka_s3.settings.kafka_tokens import MskLogin

_STS: Final = Config(connect_timeout=10, read_timeout=30, retries={"total_max_attempts": 3, "mode": "standard"})

#: What librdkafka's client wants of a callback: a token and when it expires, in seconds since the epoch.
Token = tuple[str, float]


def msk_tokens(login: MskLogin) -> Callable[[str], Token]:
    """A callback that makes tokens; `ConfigurationError` where none can be made."""
    if importlib.util.find_spec("aws_msk_iam_sasl_signer") is None:
        raise ConfigurationError(
            "sasl.mechanism=AWS_MSK_IAM takes aws-msk-iam-sasl-signer-python, which is not installed here.",
            next="Run pip install 'kafka-s3[msk]'.",
        )
    if _region(login) is None:
        raise ConfigurationError(
            "The region of the MSK cluster is not known: bootstrap.servers are not Amazon's own names.",
            next="Set AWS_REGION where the exporter runs, Spark's executors among it.",
        )
    return functools.partial(_token, login)


def _token(login: MskLogin, _: str) -> Token:
    from aws_msk_iam_sasl_signer import MSKAuthTokenProvider

    signer: Any = MSKAuthTokenProvider
    try:
        made, expires_ms = signer.generate_auth_token_from_credentials_provider(_region(login), _Signing(login))
    except (BotoCoreError, ClientError) as error:
        # Its text becomes librdkafka's, and so that of the error of whoever waits for the connection.
        raise ValueError(f"{login.role_arn or 'AWS'}: {error}") from None
    return str(made), expires_ms / 1000


class _Signing(CredentialProvider):
    """What the signer asks for credentials."""

    METHOD = "kafka-s3"

    def __init__(self, login: MskLogin) -> None:
        super().__init__()
        self._login = login

    def load(self) -> Any:
        found = _credentials(self._login)
        if found is None:
            raise ValueError("no AWS credentials were found to sign a token for MSK with")
        return found.get_frozen_credentials()  # all parts of one set


@functools.lru_cache(maxsize=16)
def _session(login: MskLogin) -> botocore.session.Session:
    return botocore.session.Session(profile=login.profile)


def _region(login: MskLogin) -> str | None:
    found: str | None = login.region or _session(login).get_config_variable("region")
    return found


@functools.lru_cache(maxsize=16)
def _credentials(login: MskLogin) -> Any:
    session = _session(login)
    if login.role_arn is None:
        return session.get_credentials()
    if login.access_key_id is not None and login.secret_access_key is not None:
        session.set_credentials(login.access_key_id, login.secret_access_key, login.session_token)
    source = session.get_credentials()
    if source is None:
        return None
    who = {"RoleSessionName": login.session_name}
    if login.external_id is not None:
        who["ExternalId"] = login.external_id
    client = functools.partial(session.create_client, region_name=login.sts_region or _region(login), config=_STS)
    fetcher = AssumeRoleCredentialFetcher(client, source, login.role_arn, extra_args=who)
    return DeferredRefreshableCredentials(refresh_using=fetcher.fetch_credentials, method="assume-role")
