"""Ways to log in to a real broker: TLS and mTLS from Java's stores, SCRAM over TLS, tokens; and what is allowed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from kafka_s3.adapters.kafka import KafkaGroup, KafkaSource
from kafka_s3.adapters.kafka import client as kafka_client
from kafka_s3.errors import ConfigurationError, KafkaUnavailable
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.settings.kafka import KafkaSettings
from kafka_s3.settings.kafka_tokens import MskLogin
from tests.adapters import test_kafka_errors
from tests.adapters.guarded import OAUTH_HANDLER, OAUTH_MODULE, PASSWORD, SCRAM, STORES, GuardedPart, works
from tests.adapters.test_kafka_errors import broker, fill
from tests.adapters.token_endpoint import CLIENT, SECRET
from tests.support import make_settings

pytestmark = pytest.mark.heavy
hasty = test_kafka_errors.hasty
nobody = test_kafka_errors.nobody

TRUST = {"ssl.truststore.location": str(STORES / "trust.jks"), "ssl.truststore.password": PASSWORD}
KEYS = {
    "ssl.keystore.location": str(STORES / "client.jks"),
    "ssl.keystore.password": PASSWORD,
    "ssl.key.password": "key-password",
}


@pytest.fixture(scope="module")
def guarded() -> Iterator[GuardedPart]:
    with GuardedPart() as part:
        yield part


@pytest.fixture
def orders(guarded: GuardedPart, topic_name: str) -> str:
    """A topic of two records."""
    guarded.create_topic(topic_name)
    fill(guarded, topic_name, b"1", b"2")
    return topic_name


def scram(user: str, password: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{SCRAM} required username="{user}" password="{password}";',
    }


# Java's stores


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_mutual_tls_with_javas_stores(guarded: GuardedPart, orders: str, kind: str) -> None:
    """A key and a trust store, as a Java client has them, let a run in by the name of its certificate."""
    guarded.allow("CN=client", orders, AclOperation.DESCRIBE, AclOperation.READ)
    given = {**TRUST, **KEYS}
    if kind == "PKCS12":
        given = {name: text.replace(".jks", ".p12") for name, text in given.items() if name != "ssl.key.password"}
        given |= {"ssl.keystore.type": kind, "ssl.truststore.type": kind}
    assert works(guarded.settings("MTLS", {"security.protocol": "SSL", **given}), orders)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, r"(?s)certificate verify failed.*ssl\.\*"),
        (TRUST, r"(?s)does not take this client's certificate.*ssl\.keystore"),
    ],
)
def test_tls_that_cannot_be_agreed_on(guarded: GuardedPart, given: dict[str, str], said: str) -> None:
    """Without the CA the broker is not believed, and without a key it lets nobody in: each is final, in a sentence."""
    kafka = guarded.settings("MTLS", {"security.protocol": "SSL", **given})
    with pytest.raises(ConfigurationError, match=said):
        broker(kafka, "orders").topics()


def test_scram_over_tls(guarded: GuardedPart, orders: str) -> None:
    """Name and password out of `sasl.jaas.config`, the CA out of a trust store."""
    guarded.add_user("scram-reader", "scram-password")
    guarded.allow("scram-reader", orders, AclOperation.DESCRIBE, AclOperation.READ)
    kafka = guarded.settings("SCRAM", {**TRUST, **scram("scram-reader", "scram-password")})
    assert works(kafka, orders)
    with pytest.raises(ConfigurationError, match=r"uthentication failed") as caught:
        broker(guarded.settings("SCRAM", {**TRUST, **scram("scram-reader", "canary")}), orders).topics()
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("operation", [AclOperation.DESCRIBE, AclOperation.READ])
def test_one_of_two_rights(guarded: GuardedPart, orders: str, operation: AclOperation) -> None:
    """Read implies Describe at Kafka: it alone is enough, and Describe alone is told which right is missing."""
    user = f"only-{operation.name.lower()}"
    guarded.add_user(user, "scram-password")
    guarded.allow(user, orders, operation)
    kafka = guarded.settings("SCRAM", {**TRUST, **scram(user, "scram-password")})
    if operation is AclOperation.READ:
        assert works(kafka, orders)
    else:
        with pytest.raises(ConfigurationError, match=rf"(?s){orders}.*Read on the topics"):
            works(kafka, orders)


# Tokens


def oauth(guarded: GuardedPart, secret: str = SECRET) -> dict[str, str]:
    """Java's properties for a token endpoint."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": OAUTH_HANDLER,
        "sasl.oauthbearer.token.endpoint.url": guarded.endpoint.url,
        "sasl.jaas.config": f'{OAUTH_MODULE} required clientId="{CLIENT}" clientSecret="{secret}" scope="read";',
    }


@pytest.fixture
def readable(guarded: GuardedPart, orders: str) -> str:
    guarded.allow(CLIENT, orders, AclOperation.READ)
    return orders


def test_tokens_of_an_endpoint(guarded: GuardedPart, readable: str) -> None:
    """Id, secret and scope out of `sasl.jaas.config` get a token, which the broker takes."""
    assert works(guarded.settings("OAUTH", oauth(guarded)), readable)
    form = guarded.endpoint.forms()[-1]
    assert (form["grant_type"], form["scope"]) == ("client_credentials", "read")


def test_tokens_for_an_assertion(guarded: GuardedPart, readable: str) -> None:
    """With Java's class for assertions the client signs one with its own key, as the properties say."""
    given = {name: text for name, text in oauth(guarded).items() if name != "sasl.jaas.config"}
    assertion = {
        "algorithm": "ES256",
        "private.key.file": str(STORES / "key.pem"),
        "claim.iss": "exporter",
        "claim.sub": "exporter",
        "claim.aud": "tokens",
    }
    given["sasl.oauthbearer.jwt.retriever.class"] = f"{OAUTH_MODULE.rpartition('.')[0]}.JwtBearerJwtRetriever"
    given |= {f"sasl.oauthbearer.assertion.{name}": text for name, text in assertion.items()}
    assert works(guarded.settings("OAUTH", given), readable)
    form = guarded.endpoint.forms()[-1]
    assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    assert form["assertion"].count(".") == 2


@pytest.mark.usefixtures("hasty")
def test_an_endpoint_that_gives_no_token(guarded: GuardedPart, nobody: str) -> None:
    """A wrong secret is final and is not shown; an endpoint that does not answer may be there for the next try."""
    with pytest.raises(ConfigurationError, match=r"(?s)invalid_client.*sasl\.\*") as caught:
        broker(guarded.settings("OAUTH", oauth(guarded, "canary")), "orders").topics()
    assert "canary" not in str(caught.value)
    down = oauth(guarded) | {"sasl.oauthbearer.token.endpoint.url": f"http://{nobody}/token"}
    with pytest.raises(KafkaUnavailable, match=r"token"):
        broker(guarded.settings("OAUTH", down), "orders").topics()


def _endpoints(guarded: GuardedPart, monkeypatch: pytest.MonkeyPatch) -> KafkaSettings:
    return guarded.settings("OAUTH", oauth(guarded))


def _made_here(guarded: GuardedPart, monkeypatch: pytest.MonkeyPatch) -> KafkaSettings:
    """As for MSK, whose tokens no broker here would take: the callback gives those of the endpoint."""
    monkeypatch.setattr(kafka_client, "msk_tokens", lambda _: lambda _: guarded.endpoint.token())
    client = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
    return KafkaSettings({"bootstrap.servers": guarded.at("OAUTH"), **client}, msk=MskLogin())


@pytest.mark.parametrize("whose", [_endpoints, _made_here])
def test_a_token_that_ends_in_the_middle_of_a_range(
    guarded: GuardedPart, readable: str, whose: Callable[..., KafkaSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader shows newer tokens while it reads on: the broker, which ends connections by them, reads to the end."""
    monkeypatch.setattr(guarded.endpoint, "lifetime_s", 2)
    kafka = whose(guarded, monkeypatch)
    offsets = OffsetRange(TopicPartition(readable, 0), 0, 3)
    with contextlib.closing(KafkaSource(kafka).open(offsets)) as reader:
        batches = iter(reader)
        found = [next(batches).offset_at(0)]
        given = guarded.endpoint.given
        deadline = time.monotonic() + 60
        while guarded.endpoint.given < given + 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        fill(guarded, readable, b"3")
        found += [batch.offset_at(index) for batch in batches for index in range(len(batch))]
    assert found[-1] == 2


def test_a_group_needs_a_right_of_its_own(guarded: GuardedPart, orders: str) -> None:
    """To show positions in a group takes Read on it; without, one sentence says why they are not shown."""
    guarded.add_user("shower", "scram-password")
    guarded.allow("shower", orders, AclOperation.READ)
    kafka = guarded.settings("SCRAM", {**TRUST, **scram("shower", "scram-password")})
    group = KafkaGroup(make_settings(topics=(orders,), kafka=replace(kafka, group="shown")))
    positions = {TopicPartition(orders, 0): 2}
    assert "Give this client Describe permission on the group" in str(group.show(positions))
    guarded.allow("shower", "shown", AclOperation.READ, kind=ResourceType.GROUP)
    assert group.show(positions) is None
