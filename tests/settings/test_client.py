"""Kafka client properties: Java's names to librdkafka's."""

import pytest
from confluent_kafka import Consumer

from kafka_s3.settings.client_checks import Client
from kafka_s3.settings.jaas import Login, parse_jaas
from kafka_s3.settings.kafka import JAVA, Renamed
from kafka_s3.settings.kafka_client import ClientLayer, pem, translate
from kafka_s3.settings.properties import Kind
from kafka_s3.settings.variables import Given, Source

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def _layer(source: Source, given: dict[str, str], native: bool = False) -> ClientLayer:
    return ClientLayer({name: (name, Given(text, source)) for name, text in given.items()}, native)


def _java(given: dict[str, str]) -> Client:
    return translate([_layer(Source.WORKER, given)])


def _airflow(given: dict[str, str]) -> Client:
    return translate([_layer(Source.AIRFLOW, given, native=True)])


def _messages(client: Client) -> list[str]:
    return [str(problem) for problem in client.problems]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"bootstrap.servers": "a:1,b:2"}, {"bootstrap.servers": "a:1,b:2"}),
        ({"fetch.max.wait.ms": "7"}, {"fetch.wait.max.ms": "7"}),
        ({"request.timeout.ms": "305000"}, {"socket.timeout.ms": "300000"}),
        ({"fetch.max.bytes": "2147483647"}, {"fetch.max.bytes": "2147483135"}),
        ({"receive.buffer.bytes": "-1"}, {"socket.receive.buffer.bytes": "0"}),
        ({"check.crcs": "True"}, {"check.crcs": "true"}),
        ({"security.protocol": "ssl"}, {"security.protocol": "SSL"}),
        ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
        ({"ssl.endpoint.identification.algorithm": "HTTPS"}, {"ssl.endpoint.identification.algorithm": "https"}),
        (
            {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca.pem"},
            {"ssl.ca.location": "/ca.pem"},
        ),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": "/k.pem", "ssl.key.password": "p"},
            {"ssl.certificate.location": "/k.pem", "ssl.key.location": "/k.pem", "ssl.key.password": "p"},
        ),
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f'{PLAIN} required username="u" password="p";',
            },
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "u",
                "sasl.password": "p",
            },
        ),
        ({"group.id": "g", "max.poll.records": "5", "enable.auto.commit": "false"}, {}),
        ({"isolation.level": "read_uncommitted", "auto.offset.reset": "latest"}, {}),
    ],
)
def test_javas_names_become_librdkafkas(given: dict[str, str], expected: dict[str, str]) -> None:
    """Each known Java property becomes librdkafka's, in its units and bounds; ignored ones vanish."""
    client = _java(given)
    assert _messages(client) == []
    assert client.properties == expected


def test_what_decides_what_is_read_stands_apart() -> None:
    """Isolation level and start are values of their own, read_committed and earliest unless set."""
    assert (_java({}).isolation_level, _java({}).start) == ("read_committed", "earliest")
    client = _java({"isolation.level": "read_uncommitted", "auto.offset.reset": "latest"})
    assert (client.isolation_level, client.start) == ("read_uncommitted", "latest")
    assert _airflow({"auto.offset.reset": "smallest"}).start == "earliest"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ssl.truststore.type": "BCFKS", "ssl.truststore.location": "/t"}, "must be one of: PEM, JKS, PKCS12"),
        ({"ssl.truststore.certificates": "x"}, "holds PEM: set ssl.truststore.type=PEM"),
        ({"ssl.engine.factory.class": "x"}, "leave it out"),
        ({"sasl.kerberos.service.name": "kafka"}, "Kerberos is not in librdkafka as Python's packages have it"),
        ({"sasl.login.class": "X"}, "it is a Java class"),
        ({"interceptor.classes": "com.example.X"}, "interceptors are Java code"),
        ({"ssl.cipher.suites": "X"}, "OpenSSL's names"),
        ({"fetch.min.byte": "1"}, "Did you mean fetch.min.bytes?"),
        ({"fetch.min.bytes": "many"}, "Not a number of type INT"),
        ({"isolation.level": "committed"}, "must be one of: read_committed, read_uncommitted"),
        ({"auto.offset.reset": "none"}, "must be one of: earliest, latest"),
        ({"security.protocol": "TLS"}, "must be one of: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanism: must be set with security.protocol=SASL_SSL"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "must contain username and password for PLAIN"),
        (
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": f'{SCRAM} required username="u" password="p";'},
            "contains a login for SCRAM-SHA-256 or SCRAM-SHA-512, not for sasl.mechanism",
        ),
    ],
)
def test_what_cannot_be_translated_is_refused_once(given: dict[str, str], said: str) -> None:
    """A Java property that librdkafka cannot have is one problem, by its name, with what to do instead."""
    (message,) = _messages(_java(given))
    assert said in message


@pytest.mark.parametrize("name", [name for name, meaning in JAVA.items() if isinstance(meaning, Renamed)])
def test_every_translated_name_is_one_that_librdkafka_knows(name: str) -> None:
    """librdkafka itself accepts every property of the table at its bounds."""
    meaning = JAVA[name]
    assert isinstance(meaning, Renamed)
    numbers = ("-2147483648", "2147483647") if meaning.kind is Kind.INT else ()
    for text in numbers or meaning.choices or ("true",):
        client = _java({"bootstrap.servers": "localhost:1", name: text})
        if not client.problems:  # SASL asks for more
            Consumer({"group.id": "g", "log_level": 0, **client.properties}).close()


def test_an_airflow_connection_may_use_librdkafkas_own_names() -> None:
    """What Airflow's Kafka connection holds goes through as it is, under the one name of each property."""
    given = {
        "bootstrap.servers": "a:1",
        "sasl.mechanisms": "OAUTHBEARER",
        "security.protocol": "sasl_ssl",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "canary",
        "sasl.oauthbearer.token.endpoint.url": "http://t",
        "ssl.keystore.location": "/k.p12",
        "group.id": "airflow",
        "error_cb": "module.function",
    }
    client = _airflow(given)
    assert _messages(client) == []
    assert client.properties == {
        "bootstrap.servers": "a:1",
        "sasl.mechanism": "OAUTHBEARER",
        "security.protocol": "SASL_SSL",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "canary",
        "sasl.oauthbearer.token.endpoint.url": "http://t",
        "ssl.keystore.location": "/k.p12",
    }
    assert "canary" not in repr(client)


def test_librdkafkas_names_are_refused_where_connect_has_javas() -> None:
    """In a connector or worker file only Java's names mean something."""
    assert "not a known Kafka consumer property" in _messages(_java({"socket.timeout.ms": "1"}))[0]


def test_the_first_layer_wins_property_by_property() -> None:
    """A connector's override hides the Airflow connection's value, which hides the worker's; others are kept."""
    client = translate(
        [
            _layer(Source.CONNECTOR, {"fetch.max.wait.ms": "1"}),
            _layer(Source.AIRFLOW, {"fetch.wait.max.ms": "2", "bootstrap.servers": "airflow:1"}, native=True),
            _layer(Source.WORKER, {"fetch.max.wait.ms": "3", "bootstrap.servers": "worker:1", "client.id": "w"}),
        ]
    )
    assert client.properties == {"fetch.wait.max.ms": "1", "bootstrap.servers": "airflow:1", "client.id": "w"}
    assert {row.name: row.meaning for row in client.rows if row.source == "Airflow connection"} == {
        "fetch.wait.max.ms": "overridden",
        "bootstrap.servers": "Kafka client: bootstrap.servers",
    }


def test_a_higher_layers_certificate_hides_the_lower_ones() -> None:
    """librdkafka would prefer a location to PEM text whatever its source, so only one form is handed on."""
    client = translate(
        [
            _layer(Source.CONNECTOR, {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "x"}),
            _layer(Source.AIRFLOW, {"ssl.ca.location": "/ca.pem"}, native=True),
        ]
    )
    assert client.properties == {"ssl.ca.pem": "x"}


def test_pem_on_one_line_gets_its_lines_back() -> None:
    """PEM whose lines were lost in a properties file is what OpenSSL reads; PEM with lines stays the same."""
    body = "A" * 64 + "B" * 10
    whole = f"-----BEGIN CERTIFICATE-----\n{'A' * 64}\n{'B' * 10}\n-----END CERTIFICATE-----\n"
    assert pem(f"-----BEGIN CERTIFICATE-----{body}-----END CERTIFICATE-----") == whole
    assert pem(f"-----BEGIN CERTIFICATE----- {body[:30]} {body[30:]} -----END CERTIFICATE----- ") == whole
    assert pem(whole * 2) == whole * 2


@pytest.mark.parametrize(
    ("text", "username", "password"),
    [
        (f'{PLAIN} required username="u" password="p";', "u", "p"),
        (f"{SCRAM} required\n  username='u'\n  password='p' ; ", "u", "p"),
        (f"{PLAIN} REQUIRED username=u password=p-1_2;", "u", "p-1_2"),
        (f'{PLAIN} required password="a\\"b;c=d e\\\\" username = "u";', "u", 'a"b;c=d e\\'),
        (f'{PLAIN} required serviceName="x" username="u" password="";', "u", ""),
    ],
)
def test_a_jaas_login_is_read(text: str, username: str, password: str) -> None:
    """User name and password come out of every way to write them."""
    login = parse_jaas(text)
    assert isinstance(login, Login)
    assert (login.username, login.password) == (username, password)
    assert "password" not in repr(login)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "canary",
        f'{PLAIN} required username="u" password="canary"',
        f'{PLAIN} required username="u" password="canary;',
        f'{PLAIN} required username="u" password "canary";',
        f'{PLAIN} required password="canary";',
        f'{PLAIN} perhaps username="u" password="canary";',
        f'{SCRAM} required username="u" password="canary" tokenauth="true";',
        f'{PLAIN} required username="u" password="canary"; {PLAIN} required;',
        'com.example.canaryLoginModule required username="u" password="canary";',
    ],
)
def test_a_broken_jaas_login_is_refused_without_showing_it(text: str) -> None:
    """What cannot be read is refused in a sentence that holds nothing of it."""
    sentence = parse_jaas(text)
    assert isinstance(sentence, str)
    assert "canary" not in sentence
