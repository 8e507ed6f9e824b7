"""Tokens for Amazon MSK: their form, and whose signature they carry. No broker here takes them."""

from __future__ import annotations

import base64
import importlib.util
import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from confluent_kafka import KafkaError

from kafka_s3.adapters import msk
from kafka_s3.adapters.kafka.client import translate
from kafka_s3.errors import ConfigurationError, KafkaUnavailable
from kafka_s3.settings.kafka import KafkaSettings
from kafka_s3.settings.kafka_tokens import MskLogin
from tests.adapters import test_kafka_errors
from tests.adapters.loopback import ScriptedServer, answer
from tests.adapters.test_kafka_errors import broker
from tools.parts.s3 import MotoServer

pytest.importorskip("aws_msk_iam_sasl_signer", reason="the extra `msk` is not installed")
ROLE = "arn:aws:iam::123456789012:role/reader"
hasty = test_kafka_errors.hasty
nobody = test_kafka_errors.nobody


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, text in (("ACCESS_KEY_ID", "AKIAENVIRONMENT"), ("SECRET_ACCESS_KEY", "canary"), ("REGION", "")):
        monkeypatch.setenv(f"AWS_{name}", text)
    forget()
    yield
    forget()


def forget() -> None:
    msk._session.cache_clear()
    msk._credentials.cache_clear()


def kafka_at(servers: str, login: MskLogin) -> KafkaSettings:
    client = {"bootstrap.servers": servers, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
    return KafkaSettings(client, msk=login)


def request(login: MskLogin) -> tuple[str, dict[str, str]]:
    """The request that a token is: its host, and its parameters."""
    token, expires_s = msk.msk_tokens(login)("")
    assert 800 < expires_s - time.time() <= 900  # what MSK allows
    url = urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
    assert "canary" not in url.query
    return url.netloc, {name: values[0] for name, values in parse_qs(url.query).items()}


def test_a_token_of_the_default_chain() -> None:
    """A signed request to connect, to Kafka's service in the region of the brokers."""
    host, parameters = request(MskLogin("eu-central-1"))
    assert host == "kafka.eu-central-1.amazonaws.com"
    assert parameters["Action"] == "kafka-cluster:Connect"
    assert parameters["X-Amz-Credential"].startswith("AKIAENVIRONMENT/")
    assert parameters["X-Amz-Credential"].endswith("/eu-central-1/kafka-cluster/aws4_request")


def test_a_token_of_a_role(moto: MotoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A role's keys sign, and STS is asked once for all tokens while they last."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", moto.endpoint_url)
    login = MskLogin("eu-central-1", role_arn=ROLE, external_id="4711")
    one, other = (request(login)[1] for _ in range(2))
    assert one["X-Amz-Credential"].startswith("ASIA")
    assert one["X-Amz-Security-Token"] == other["X-Amz-Security-Token"]


def test_a_role_that_may_not_be_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What STS said, with the role, is what a run says."""
    said = b"<ErrorResponse><Error><Code>AccessDenied</Code><Message>no trust</Message></Error></ErrorResponse>"
    server = ScriptedServer(lambda _: answer(403, said))
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", server.url)
    try:
        with pytest.raises(ConfigurationError, match=rf"{ROLE}: .*AccessDenied.*AssumeRole"):
            msk.msk_tokens(MskLogin("eu-central-1", role_arn=ROLE))
    finally:
        server.stop()


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (403, "InvalidClientTokenId", ConfigurationError),
        (403, "SignatureDoesNotMatch", ConfigurationError),
        (400, "ValidationError", ConfigurationError),
        (400, "Throttling", KafkaUnavailable),
        (503, "ServiceUnavailable", KafkaUnavailable),
    ],
)
def test_what_sts_says_decides_about_a_retry(
    status: int, code: str, kind: type[Exception], nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wrong keys and roles are a wrong configuration; a service that asks for time is asked by the next try."""
    said = f"<ErrorResponse><Error><Code>{code}</Code><Message>so it is</Message></Error></ErrorResponse>"
    server = ScriptedServer(lambda _: answer(status, said.encode()))
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", server.url)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    try:
        with pytest.raises(kind, match=rf"{ROLE}.*{code}"):
            broker(kafka_at(nobody, MskLogin("eu-central-1", role_arn=ROLE)), "orders").topics()
    finally:
        server.stop()


def test_a_profile_that_is_not_there(nobody: str) -> None:
    """One sentence with the profile, whether or not the brokers' names say the region."""
    for region in ("eu-central-1", None):
        with pytest.raises(ConfigurationError, match=r"profile \(nowhere\) could not be found\.\nCorrect sasl"):
            broker(kafka_at(nobody, MskLogin(region, profile="nowhere")), "orders").topics()


def test_credentials_that_come_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without credentials is asked again for the next token."""
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        monkeypatch.delenv(f"AWS_{name}")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    login = MskLogin("eu-central-1")
    with pytest.raises(ConfigurationError, match="no AWS credentials were found"):
        msk.msk_tokens(login)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIALATER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary")
    assert msk.msk_tokens(login)("")


@pytest.mark.parametrize(("code", "kind"), [("AccessDenied", ConfigurationError), ("Throttling", KafkaUnavailable)])
def test_a_later_token_that_is_not_given(code: str, kind: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """What librdkafka passes on of the callback, in the middle of a range, is told apart too."""
    said = f"<ErrorResponse><Error><Code>{code}</Code><Message>no</Message></Error></ErrorResponse>"
    server = ScriptedServer(lambda _: answer(400, said.encode()))
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", server.url)
    try:
        with pytest.raises(ValueError, match=code) as raised:
            msk._token(MskLogin("eu-central-1", role_arn=ROLE), "")
    finally:
        server.stop()
    told = f"Failed to acquire SASL OAUTHBEARER token: {raised.value}"
    assert isinstance(translate(KafkaError(KafkaError._AUTHENTICATION, told), "reading"), kind)


def test_an_unknown_region() -> None:
    """Brokers behind names of a company's own need AWS_REGION, and the message says so."""
    with pytest.raises(ConfigurationError, match="Set AWS_REGION"):
        msk.msk_tokens(MskLogin())


def test_without_the_signer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the extra is missing, one sentence has the command."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'kafka-s3\[msk\]'"):
        msk.msk_tokens(MskLogin("eu-central-1"))
