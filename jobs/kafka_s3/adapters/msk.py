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
from botocore import exceptions as aws
from botocore.config import Config
from botocore.credentials import AssumeRoleCredentialFetcher, CredentialProvider, DeferredRefreshableCredentials
from botocore.exceptions import BotoCoreError, ClientError

from kafka_s3.adapters.retry_policy import S3, Again, again
from kafka_s3.errors import ConfigurationError, ExporterError, KafkaUnavailable
from kafka_s3.settings.kafka_tokens import MskLogin

#: How librdkafka is told, in a text, that no retry makes a token: `client.py` looks for it.
REFUSED: Final = "AWS refuses the login for Amazon MSK"
_CORRECT: Final = "Correct sasl.jaas.config (awsProfileName, awsRoleArn), or AWS's environment where the exporter runs."
_STS: Final = Config(connect_timeout=10, read_timeout=30, retries={"total_max_attempts": 3, "mode": "standard"})

#: No answer, or none that can be read.
_UNANSWERED: Final = (
    aws.ConnectionError,
    aws.CredentialRetrievalError,
    aws.HTTPClientError,
    aws.MetadataRetrievalError,
    aws.TokenRetrievalError,
)

#: What librdkafka's client wants of a callback: a token and when it expires, in seconds since the epoch.
Token = tuple[str, float]


def msk_tokens(login: MskLogin) -> Callable[[str], Token]:
    """A callback that makes tokens. One is made at once, since librdkafka's client waits ten seconds for its first and
    then says nothing of why: `ConfigurationError` where none can be made, `KafkaUnavailable` where AWS does not answer.
    """
    if importlib.util.find_spec("aws_msk_iam_sasl_signer") is None:
        raise ConfigurationError(
            "sasl.mechanism=AWS_MSK_IAM takes aws-msk-iam-sasl-signer-python, which is not installed here.",
            next="Run pip install 'kafka-s3[msk]'.",
        )
    _make(login)
    return functools.partial(_token, login)


def _token(login: MskLogin, _: str) -> Token:
    try:
        return _make(login)
    except ExporterError as error:
        # Its text becomes librdkafka's, and so that of the error of whoever waits for the connection.
        raise ValueError(error.what) from None


def _make(login: MskLogin) -> Token:
    from aws_msk_iam_sasl_signer import MSKAuthTokenProvider

    signer: Any = MSKAuthTokenProvider
    try:
        region = _region(login)
        if region is None:
            raise ConfigurationError(
                "The region of the MSK cluster is not known: bootstrap.servers are not Amazon's own names.",
                next="Set AWS_REGION where the exporter runs, Spark's executors among it.",
            )
        made, expires_ms = signer.generate_auth_token_from_credentials_provider(region, _Signing(login))
    except (BotoCoreError, ClientError) as error:
        who = login.role_arn or login.profile or "the AWS credentials"
        said = str(error).rstrip(".")
        if _is_final(error):
            raise ConfigurationError(f"{REFUSED} of {who}: {said}.", next=_CORRECT) from None
        raise KafkaUnavailable(f"AWS gave no token for Amazon MSK to {who}: {said}.") from None
    return str(made), expires_ms / 1000


def _is_final(error: BotoCoreError | ClientError) -> bool:
    """Whether the same question is refused again: keys or a role that are wrong, and nobody who did not answer."""
    if isinstance(error, ClientError):
        code = str(error.response.get("Error", {}).get("Code", ""))
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        return again(S3, code, status) is Again.NO
    return not isinstance(error, _UNANSWERED)


class _Signing(CredentialProvider):
    """What the signer asks for credentials."""

    METHOD = "kafka-s3"

    def __init__(self, login: MskLogin) -> None:
        super().__init__()
        self._login = login

    def load(self) -> Any:
        return _credentials(self._login).get_frozen_credentials()  # all parts of one set


@functools.lru_cache(maxsize=16)
def _session(login: MskLogin) -> botocore.session.Session:
    return botocore.session.Session(profile=login.profile)


def _region(login: MskLogin) -> str | None:
    found: str | None = login.region or _session(login).get_config_variable("region")
    return found


@functools.lru_cache(maxsize=16)
def _credentials(login: MskLogin) -> Any:
    """Raises where there are none, since only answers are remembered: a machine may have some a moment later."""
    session = _session(login)
    if login.role_arn is not None and login.access_key_id is not None and login.secret_access_key is not None:
        session.set_credentials(login.access_key_id, login.secret_access_key, login.session_token)
    source = session.get_credentials()
    if source is None:
        raise ConfigurationError(f"{REFUSED}: no AWS credentials were found to sign a token with.", next=_CORRECT)
    if login.role_arn is None:
        return source
    who = {"RoleSessionName": login.session_name}
    if login.external_id is not None:
        who["ExternalId"] = login.external_id
    client = functools.partial(session.create_client, region_name=login.sts_region or _region(login), config=_STS)
    fetcher = AssumeRoleCredentialFetcher(client, source, login.role_arn, extra_args=who)
    return DeferredRefreshableCredentials(refresh_using=fetcher.fetch_credentials, method="assume-role")
