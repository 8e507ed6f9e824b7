"""Logins by tokens in Java's properties: OAUTHBEARER with an endpoint, and Amazon MSK's IAM."""

from __future__ import annotations

import pytest

from kafka_s3.settings.client_checks import Client
from kafka_s3.settings.kafka_client import ClientLayer, translate
from kafka_s3.settings.kafka_tokens import MskLogin
from kafka_s3.settings.variables import Given, Source
from tests.adapters.stores import STORES

OAUTH = "org.apache.kafka.common.security.oauthbearer"
MODULE = f"{OAUTH}.OAuthBearerLoginModule required"
IAM = "software.amazon.msk.auth.iam"
OIDC = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.login.callback.handler.class": f"{OAUTH}.OAuthBearerLoginCallbackHandler",
    "sasl.oauthbearer.token.endpoint.url": "https://tokens/oauth",
}
MSK = {
    "bootstrap.servers": "b-1.orders.ab12.c2.kafka.eu-central-1.amazonaws.com:9098",
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "AWS_MSK_IAM",
    "sasl.client.callback.handler.class": f"{IAM}.IAMClientCallbackHandler",
}


def client_of(given: dict[str, str], source: Source = Source.CONNECTOR) -> Client:
    return translate([ClientLayer({name: (name, Given(text, source)) for name, text in given.items()})])


def said(client: Client) -> str:
    return "\n".join(map(str, client.problems))


def test_client_credentials() -> None:
    """Id, secret, scope and extensions of the login module become librdkafka's own, and show nowhere."""
    jaas = f'{MODULE} clientId="me" clientSecret="canary" scope="read" extension_a="lkc-1" extension_b="2";'
    client = client_of({**OIDC, "sasl.jaas.config": jaas})
    assert said(client) == ""
    assert client.properties == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "https://tokens/oauth",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "canary",
        "sasl.oauthbearer.scope": "read",
        "sasl.oauthbearer.extensions": "a=lkc-1,b=2",
    }
    assert "canary" not in repr(client) + str(client.rows)


def test_what_newer_clients_are_told() -> None:
    """Kafka 4.1's names for id, secret, scope and assertions mean the same."""
    given = {
        **OIDC,
        "sasl.oauthbearer.client.credentials.client.id": "me",
        "sasl.oauthbearer.client.credentials.client.secret": "canary",
        "sasl.oauthbearer.scope": "read",
        "sasl.oauthbearer.jwt.retriever.class": f"{OAUTH}.JwtBearerJwtRetriever",
        "sasl.oauthbearer.assertion.private.key.file": "/key.pem",
        "sasl.oauthbearer.assertion.private.key.passphrase": "canary",
        "sasl.oauthbearer.assertion.claim.exp.seconds": "60",
        "sasl.oauthbearer.assertion.template.file": "/template.json",
    }
    client = client_of(given)
    assert said(client) == ""
    assert client.properties["sasl.oauthbearer.grant.type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    assert client.properties["sasl.oauthbearer.assertion.jwt.template.file"] == "/template.json"
    assert client.properties["sasl.oauthbearer.client.secret"] == "canary"
    assert "canary" not in str(client.rows)


def test_the_ca_of_a_token_endpoint() -> None:
    """A trust store in the login module is for the endpoint, and is read as Kafka's own would be."""
    place = f'ssl.truststore.location="{STORES / "trust.jks"}" ssl.truststore.password="store-password"'
    client = client_of({**OIDC, "sasl.jaas.config": f'{MODULE} clientId="me" clientSecret="s" {place};'})
    (store,) = client.stores
    assert (store.target, store.holds_key, store.password) == ("https.ca.pem", False, "store-password")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sasl.login.callback.handler.class": ""}, "sasl.login.callback.handler.class: is required by OAUTHBEARER"),
        ({"sasl.oauthbearer.token.endpoint.url": ""}, "token.endpoint.url: is required by OAUTHBEARER"),
        ({"sasl.oauthbearer.token.endpoint.url": "file:///t"}, "must be a URL of http or https"),
        ({"sasl.login.callback.handler.class": "com.canary.Handler"}, "is a Java class that is not known here"),
        ({"sasl.oauthbearer.jwt.retriever.class": f"{OAUTH}.FileJwtRetriever"}, "known: DefaultJwtRetriever"),
        ({"sasl.jaas.config": f'{MODULE} clientid="canary";'}, "Did you mean clientId?"),
        ({"sasl.jaas.config": f'{MODULE} unsecuredLoginStringClaim_sub="canary";'}, "unsecured tokens"),
        ({"sasl.jaas.config": f"{IAM}.IAMLoginModule required;"}, "a login for AWS_MSK_IAM, not for sasl.mechanism"),
        ({"sasl.mechanism": "GSSAPI"}, "must be one of: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, AWS_MSK_IAM"),
    ],
)
def test_tokens_that_cannot_be_had(given: dict[str, str], message: str) -> None:
    """Each mistake is one problem, without a value."""
    client = client_of({**OIDC, **given})
    assert message in said(client)
    assert len(client.problems) == 1
    assert "canary" not in said(client)


@pytest.mark.parametrize(
    ("options", "login"),
    [
        ("", MskLogin("eu-central-1")),
        ('awsProfileName="orders" awsDebugCreds="true"', MskLogin("eu-central-1", "orders")),
        (
            'awsRoleArn="arn:aws:iam::1:role/r" awsRoleSessionName="s" awsRoleExternalId="x" awsStsRegion="eu-west-1"',
            MskLogin("eu-central-1", None, "arn:aws:iam::1:role/r", "s", "x", sts_region="eu-west-1"),
        ),
    ],
)
def test_javas_login_for_msk(options: str, login: MskLogin) -> None:
    """Java's mechanism becomes OAUTHBEARER with tokens that are made here; the brokers' names say the region."""
    client = client_of({**MSK, "sasl.jaas.config": f"{IAM}.IAMLoginModule required {options};"})
    assert said(client) == ""
    assert client.msk == login
    assert client.properties["sasl.mechanism"] == "OAUTHBEARER"
    assert not [name for name in client.properties if name.startswith("sasl.oauthbearer")]


def test_msk_by_the_handler_of_oauthbearer() -> None:
    """The other of Amazon's ways, OAUTHBEARER with its handler, is the same login."""
    handler = {"sasl.login.callback.handler.class": f"{IAM}.IAMOAuthBearerLoginCallbackHandler"}
    client = client_of({**MSK, **handler, "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": f"{MODULE};"})
    assert (said(client), client.msk) == ("", MskLogin("eu-central-1"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ('awsRoleARN="canary"', "Did you mean awsRoleArn?"),
        ('awsProfileName="canary" awsRoleArn="canary"', "leave one of them"),
        ('awsRoleArn="canary" awsRoleAccessKeyId="canary"', "together"),
        ('awsRoleSessionName="canary"', "must contain awsRoleArn"),
    ],
)
def test_a_wrong_login_for_msk(options: str, message: str) -> None:
    """What is wrong with the options is said by their names."""
    client = client_of({**MSK, "sasl.jaas.config": f"{IAM}.IAMLoginModule required {options};"})
    assert message in said(client)
    assert "canary" not in said(client)


def test_a_higher_place_without_tokens_wins() -> None:
    """A connector that logs in by name and password gets no token of the worker's."""
    own = {"sasl.mechanism": "PLAIN", "sasl.jaas.config": 'a.PlainLoginModule required username="u" password="p";'}
    layers = [(own, Source.CONNECTOR), ({**MSK, "sasl.jaas.config": f"{IAM}.IAMLoginModule required;"}, Source.WORKER)]
    client = translate(
        [ClientLayer({name: (name, Given(text, source)) for name, text in given.items()}) for given, source in layers]
    )
    assert (client.msk, client.properties["sasl.mechanism"]) == (None, "PLAIN")
