"""Tokens for Amazon MSK: their form, and whose signature they carry. No broker here takes them."""

from __future__ import annotations

import base64
import importlib.util
import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

from kafka_s3.adapters import msk
from kafka_s3.errors import ConfigurationError
from kafka_s3.settings.kafka_tokens import MskLogin
from tools.parts.s3 import MotoServer

pytest.importorskip("aws_msk_iam_sasl_signer", reason="the extra `msk` is not installed")
ROLE = "arn:aws:iam::123456789012:role/reader"


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
    """What STS said, with the role, is what librdkafka is told, and so what a run says."""
    from tests.adapters.loopback import ScriptedServer, answer

    said = b"<ErrorResponse><Error><Code>AccessDenied</Code><Message>no trust</Message></Error></ErrorResponse>"
    server = ScriptedServer(lambda _: answer(403, said))
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", server.url)
    try:
        with pytest.raises(ValueError, match=rf"{ROLE}: .*AccessDenied.*AssumeRole"):
            msk.msk_tokens(MskLogin("eu-central-1", role_arn=ROLE))("")
    finally:
        server.stop()


def test_an_unknown_region() -> None:
    """Brokers behind names of a company's own need AWS_REGION, and the message says so."""
    with pytest.raises(ConfigurationError, match="Set AWS_REGION"):
        msk.msk_tokens(MskLogin())


def test_without_the_signer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the extra is missing, one sentence has the command."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'kafka-s3\[msk\]'"):
        msk.msk_tokens(MskLogin("eu-central-1"))
