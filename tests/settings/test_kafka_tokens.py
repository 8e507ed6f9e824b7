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
        ({"sasl.jaas.config": f'{MODULE} extension_a="1,b=canary";'}, "whose value has a comma"),
        ({"sasl.jaas.config": f'{MODULE} clientId="canary";'}, "must contain clientId and clientSecret"),
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
        ('awsRoleArn="canary" awsRoleSessionToken="canary"', "together"),
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
    assert said(client) == ""
    assert (client.msk, client.properties["sasl.mechanism"]) == (None, "PLAIN")


def layered(*layers: tuple[dict[str, str], Source]) -> Client:
    return translate(
        [
            ClientLayer({name: (name, Given(text, source)) for name, text in given.items()}, source is Source.AIRFLOW)
            for given, source in layers
        ]
    )


NATIVE = {
    "sasl.mechanisms": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.client.id": "connection",
    "sasl.oauthbearer.client.secret": "canary",
    "sasl.oauthbearer.scope": "connection",
    "sasl.oauthbearer.extensions": "a=connection",
    "sasl.oauthbearer.token.endpoint.url": "https://connection/oauth",
}
WORKERS = f'{MODULE} clientId="worker" clientSecret="canary" scope="worker" extension_a="worker";'


@pytest.mark.parametrize(
    ("connectors", "connection", "expected"),
    [
        ({"sasl.jaas.config": f'{MODULE} clientId="me" clientSecret="s";'}, NATIVE, ("me", "s", None, None)),
        ({"sasl.jaas.config": f'{MODULE} clientId="me" clientSecret="s";'}, {}, ("me", "s", None, None)),
        ({}, NATIVE, ("connection", "canary", "connection", "a=connection")),
        ({}, {}, ("worker", "canary", "worker", "a=worker")),
        ({"sasl.oauthbearer.scope": "mine"}, {}, ("worker", "canary", "mine", "a=worker")),
    ],
)
def test_a_login_is_one_places_as_a_whole(
    connectors: dict[str, str], connection: dict[str, str], expected: tuple[str | None, ...]
) -> None:
    """Id, secret, scope and extensions of one place are not completed by another's; what stands alone is."""
    client = layered(
        (connectors, Source.CONNECTOR),
        (connection, Source.AIRFLOW),
        ({**OIDC, "sasl.jaas.config": WORKERS}, Source.WORKER),
    )
    assert said(client) == ""
    names = ("client.id", "client.secret", "scope", "extensions")
    assert tuple(client.properties.get(f"sasl.oauthbearer.{name}") for name in names) == expected


@pytest.mark.parametrize(
    ("connectors", "connection"),
    [
        ({"sasl.oauthbearer.client.credentials.client.id": "me"}, NATIVE),
        ({"sasl.oauthbearer.client.credentials.client.secret": "s"}, {}),
        ({"sasl.jaas.config": f'{MODULE} clientId="me";'}, {}),
        ({}, {"sasl.oauthbearer.client.id": "connection"}),
    ],
)
def test_half_a_login_gets_no_other_half(connectors: dict[str, str], connection: dict[str, str]) -> None:
    """A secret never goes with another place's name: what is missing is a problem."""
    client = layered(
        (connectors, Source.CONNECTOR),
        (connection, Source.AIRFLOW),
        ({**OIDC, "sasl.jaas.config": WORKERS}, Source.WORKER),
    )
    assert said(client) == "sasl.jaas.config: must contain clientId and clientSecret for OAUTHBEARER, both in one place"
    assert "canary" not in client.properties.values()


def test_a_name_of_the_connection_and_no_password() -> None:
    """The worker's password is not sent with it."""
    scram = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
    worker = {**scram, "sasl.jaas.config": 'a.PlainLoginModule required username="u" password="canary";'}
    client = layered(({"sasl.username": "connection"}, Source.AIRFLOW), (worker, Source.WORKER))
    assert said(client) == "sasl.jaas.config: must contain username and password for PLAIN"
    assert "canary" not in client.properties.values()


def test_a_mechanism_by_its_second_name() -> None:
    """A connection's `sasl.mechanisms` is the mechanism that a login has to be for, and may be Amazon's."""
    plain = {"sasl.jaas.config": 'a.PlainLoginModule required username="u" password="p";'}
    client = layered((plain, Source.CONNECTOR), ({"sasl.mechanisms": "SCRAM-SHA-256"}, Source.AIRFLOW))
    assert "contains a login for PLAIN, not for sasl.mechanism" in said(client)
    msk = {name: text for name, text in MSK.items() if name != "sasl.mechanism"} | {"sasl.mechanisms": "AWS_MSK_IAM"}
    client = layered(({**msk, "sasl.jaas.config": f"{IAM}.IAMLoginModule required;"}, Source.AIRFLOW))
    assert (said(client), client.msk) == ("", MskLogin("eu-central-1"))


@pytest.mark.parametrize("mechanism", ["AWS_MSK_IAM", "OAUTHBEARER"])
def test_msk_without_a_login(mechanism: str) -> None:
    """As in Java it takes `sasl.jaas.config`, and the message says what to write there."""
    handler = {"sasl.login.callback.handler.class": f"{IAM}.IAMOAuthBearerLoginCallbackHandler"}
    client = client_of({**MSK, "sasl.mechanism": mechanism, **(handler if mechanism == "OAUTHBEARER" else {})})
    assert "sasl.jaas.config: is required to log in to Amazon MSK: software.amazon.msk.auth.iam.IAM" in said(client)
    assert len(client.problems) == 1


def test_a_login_in_the_endpoints_address_is_hidden() -> None:
    """In what `validate` shows, of a file and of a connection; it is used as it is."""
    url = {"sasl.oauthbearer.token.endpoint.url": "https://me:canary@tokens/oauth"}
    for source in (Source.CONNECTOR, Source.AIRFLOW):
        client = layered(({**OIDC, "sasl.jaas.config": WORKERS, **url}, source))
        assert said(client) == ""
        assert "canary@" in client.properties["sasl.oauthbearer.token.endpoint.url"]
        (row,) = [row for row in client.rows if row.name in url]
        assert row.value == "https://[hidden]@tokens/oauth"
