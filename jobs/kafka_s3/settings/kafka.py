"""Kafka: Java's consumer properties, what librdkafka calls them, which are ignored here and which are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_s3.settings import validators
from kafka_s3.settings.kafka_tokens import MskLogin
from kafka_s3.settings.properties import AppliesWhen, Ignored, Kind, Property, PropertyPrefix, Refused
from kafka_s3.settings.validation import ParsedConfig
from kafka_s3.settings.variables import Given

OVERRIDE: Final = "consumer.override."
PRODUCER: Final = "producer.override."
GROUP_COMMIT: Final = "export.consumer.group.commit"
#: What decides what a range reads, as plans show it.
READING: Final = "consumer.override.isolation.level"


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """How to reach Kafka: librdkafka's own properties, secrets among them."""

    client: Mapping[str, str] = field(repr=False)
    isolation_level: str = "read_committed"
    start: str = "earliest"  # auto.offset.reset at the first sight of a topic: earliest or latest
    msk: MskLogin | None = None  # where sasl.mechanism=OAUTHBEARER and tokens are made here
    idle_timeout_ms: int = 60_000  # no progress for so long fails a range (export.read.timeout.ms)
    group: str | None = None  # the consumer group that shows what is committed, where one is wanted
    refused: tuple[str, ...] = ()  # why a process that only looks at connectors may not ask this Kafka


PROPERTIES: Final[tuple[Property, ...]] = (
    Property(
        "export.kafka.conn.id",
        Kind.STRING,
        "kafka_default",
        "Airflow connection for Kafka.",
        check=validators.not_blank,
    ),
    Property(
        "export.read.timeout.ms",
        Kind.INT,
        60_000,
        "A range that makes no progress for this long fails.",
        minimum=1000,
    ),
    Property(
        GROUP_COMMIT,
        Kind.BOOLEAN,
        False,
        "After each commit, make its positions the offsets of a consumer group, for tools that show lag. Nothing reads"
        " them, and a run does not fail by them.",
        quiet=True,
    ),
    Property(
        "export.consumer.group.id",
        Kind.STRING,
        "",
        "That consumer group; unset: kafka-s3- and the connector's name. One with live members is left alone.",
        applies_when=AppliesWhen(GROUP_COMMIT, (True,)),
        quiet=True,
    ),
)

PREFIXES: Final[tuple[PropertyPrefix, ...]] = (
    PropertyPrefix(PRODUCER, Ignored("the client that reads also produces dead letters: use consumer.override.*")),
    PropertyPrefix(
        "admin.override.",
        Ignored("the client that reads also creates the topic of dead letters: use consumer.override.*"),
    ),
)


@dataclass(frozen=True, slots=True)
class Renamed:
    """librdkafka knows it as `to`. A number outside librdkafka's bounds is brought to the nearest one."""

    to: str
    kind: Kind = Kind.STRING
    minimum: int = 0
    maximum: int = 2**31 - 1
    secret: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Special:
    """Translated by code in `client.py`."""

    secret: bool = False


Meaning = Renamed | Special | Ignored | Refused
_NO_GROUP = Ignored("no consumer group is joined: positions are kept in the log in the bucket")
_NO_POLL = Ignored("a task reads its range to the end; export.read.timeout.ms bounds it")
_BYTES = Ignored("converters read the raw bytes")
_JAVA_TLS = Refused("it names a part of Java, and TLS is OpenSSL's here", "leave it out")
_GSSAPI = Refused("Kerberos is not in librdkafka as Python's packages have it", "use SCRAM or OAUTHBEARER")
_OF_BROKERS = Ignored("brokers check tokens, a client does not")
_REFRESHED = Ignored("a token is asked for anew when four fifths of its time are over")
_ASSERTION: Final = "sasl.oauthbearer.assertion."
_TLS = Refused("librdkafka chooses ciphers and protocols by OpenSSL's names", "set them in the Airflow connection")


def _int(to: str, minimum: int, maximum: int) -> Renamed:
    return Renamed(to, Kind.INT, minimum, maximum)


JAVA: Final[dict[str, Meaning]] = {
    "bootstrap.servers": Renamed("bootstrap.servers"),
    "client.id": Renamed("client.id"),
    "client.rack": Renamed("client.rack"),
    "client.dns.lookup": Renamed(
        "client.dns.lookup", choices=("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")
    ),
    "check.crcs": Renamed("check.crcs", Kind.BOOLEAN),
    "enable.metrics.push": Renamed("enable.metrics.push", Kind.BOOLEAN),
    "metadata.recovery.strategy": Renamed("metadata.recovery.strategy", choices=("none", "rebootstrap")),
    "fetch.max.bytes": _int("fetch.max.bytes", 1_000_000, 2_147_483_135),
    "max.partition.fetch.bytes": _int("max.partition.fetch.bytes", 1, 1_000_000_000),
    "fetch.min.bytes": _int("fetch.min.bytes", 1, 100_000_000),
    "fetch.max.wait.ms": _int("fetch.wait.max.ms", 0, 300_000),
    "request.timeout.ms": _int("socket.timeout.ms", 10, 300_000),
    "receive.buffer.bytes": _int("socket.receive.buffer.bytes", 0, 100_000_000),
    "send.buffer.bytes": _int("socket.send.buffer.bytes", 0, 100_000_000),
    "socket.connection.setup.timeout.ms": _int("socket.connection.setup.timeout.ms", 1000, 2**31 - 1),
    "metadata.max.age.ms": _int("metadata.max.age.ms", 1, 86_400_000),
    "connections.max.idle.ms": _int("connections.max.idle.ms", 0, 2**31 - 1),
    "reconnect.backoff.ms": _int("reconnect.backoff.ms", 0, 3_600_000),
    "reconnect.backoff.max.ms": _int("reconnect.backoff.max.ms", 0, 3_600_000),
    "retry.backoff.ms": _int("retry.backoff.ms", 1, 300_000),
    "retry.backoff.max.ms": _int("retry.backoff.max.ms", 1, 300_000),
    "isolation.level": Special(),
    "auto.offset.reset": Special(),
    "security.protocol": Renamed("security.protocol", choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")),
    "sasl.mechanism": Special(),
    "sasl.jaas.config": Special(secret=True),
    "ssl.endpoint.identification.algorithm": Special(),
    "ssl.key.password": Renamed("ssl.key.password", secret=True),
    "ssl.keystore.type": Special(),
    "ssl.keystore.location": Special(),
    "ssl.keystore.password": Special(secret=True),
    "ssl.keystore.certificate.chain": Special(secret=True),
    "ssl.keystore.key": Special(secret=True),
    "ssl.truststore.type": Special(),
    "ssl.truststore.location": Special(),
    "ssl.truststore.certificates": Special(secret=True),
    "ssl.truststore.password": Special(secret=True),
    **dict.fromkeys(("ssl.cipher.suites", "ssl.enabled.protocols", "ssl.protocol", "ssl.provider"), _TLS),
    **dict.fromkeys(("ssl.keymanager.algorithm", "ssl.trustmanager.algorithm", "ssl.engine.factory.class"), _JAVA_TLS),
    "ssl.secure.random.implementation": Ignored("OpenSSL has its own"),
    "security.providers": _TLS,
    **dict.fromkeys(
        (
            "sasl.kerberos.service.name",
            "sasl.kerberos.kinit.cmd",
            "sasl.kerberos.min.time.before.relogin",
            "sasl.kerberos.ticket.renew.jitter",
            "sasl.kerberos.ticket.renew.window.factor",
        ),
        _GSSAPI,
    ),
    "sasl.login.callback.handler.class": Special(),
    "sasl.client.callback.handler.class": Special(),
    "sasl.login.class": Refused("it is a Java class", "leave it out"),
    "sasl.oauthbearer.token.endpoint.url": Special(),
    "sasl.oauthbearer.jwt.retriever.class": Special(),
    "sasl.oauthbearer.client.credentials.client.id": Renamed("sasl.oauthbearer.client.id"),
    "sasl.oauthbearer.client.credentials.client.secret": Renamed("sasl.oauthbearer.client.secret", secret=True),
    "sasl.oauthbearer.scope": Renamed("sasl.oauthbearer.scope"),
    "sasl.oauthbearer.sub.claim.name": Renamed("sasl.oauthbearer.sub.claim.name"),
    f"{_ASSERTION}algorithm": Renamed(f"{_ASSERTION}algorithm", choices=("RS256", "ES256")),
    f"{_ASSERTION}claim.exp.seconds": _int(f"{_ASSERTION}claim.exp.seconds", 1, 86_400),
    f"{_ASSERTION}claim.nbf.seconds": _int(f"{_ASSERTION}claim.nbf.seconds", 0, 86_400),
    f"{_ASSERTION}claim.jti.include": Renamed(f"{_ASSERTION}claim.jti.include", Kind.BOOLEAN),
    f"{_ASSERTION}private.key.passphrase": Renamed(f"{_ASSERTION}private.key.passphrase", secret=True),
    f"{_ASSERTION}template.file": Renamed(f"{_ASSERTION}jwt.template.file"),
    **{
        f"{_ASSERTION}{name}": Renamed(f"{_ASSERTION}{name}")
        for name in ("claim.aud", "claim.iss", "claim.sub", "file", "private.key.file")
    },
    "sasl.oauthbearer.header.urlencode": Ignored("id and secret are sent as they are"),
    **dict.fromkeys(
        (
            "sasl.oauthbearer.clock.skew.seconds",
            "sasl.oauthbearer.expected.audience",
            "sasl.oauthbearer.expected.issuer",
            "sasl.oauthbearer.jwks.endpoint.refresh.ms",
            "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
            "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
            "sasl.oauthbearer.jwks.endpoint.url",
            "sasl.oauthbearer.jwt.validator.class",
            "sasl.oauthbearer.scope.claim.name",
        ),
        _OF_BROKERS,
    ),
    **dict.fromkeys(
        (
            "sasl.login.connect.timeout.ms",
            "sasl.login.read.timeout.ms",
            "sasl.login.refresh.buffer.seconds",
            "sasl.login.refresh.min.period.seconds",
            "sasl.login.refresh.window.factor",
            "sasl.login.refresh.window.jitter",
            "sasl.login.retry.backoff.max.ms",
            "sasl.login.retry.backoff.ms",
        ),
        _REFRESHED,
    ),
    **dict.fromkeys(
        (
            "group.id",
            "group.instance.id",
            "group.protocol",
            "group.remote.assignor",
            "session.timeout.ms",
            "heartbeat.interval.ms",
            "partition.assignment.strategy",
            "enable.auto.commit",
            "auto.commit.interval.ms",
            "enable.auto.offset.store",
            "internal.leave.group.on.close",
        ),
        _NO_GROUP,
    ),
    **dict.fromkeys(("max.poll.records", "max.poll.interval.ms", "default.api.timeout.ms"), _NO_POLL),
    **dict.fromkeys(("key.deserializer", "value.deserializer"), _BYTES),
    "allow.auto.create.topics": Ignored("topics are only read"),
    "exclude.internal.topics": Ignored("internal topics are exported only if they are named"),
    "metric.reporters": Ignored("there are no Java metrics"),
    "metrics.num.samples": Ignored("there are no Java metrics"),
    "metrics.recording.level": Ignored("there are no Java metrics"),
    "metrics.sample.window.ms": Ignored("there are no Java metrics"),
    "auto.include.jmx.reporter": Ignored("there are no Java metrics"),
    "interceptor.classes": Refused("interceptors are Java code", "leave them out"),
}
#: librdkafka's names whose values an Airflow connection may hold and a report may show.
SHOWN_NATIVE: Final = frozenset(
    [
        "bootstrap.servers",
        "security.protocol",
        "sasl.mechanism",
        "sasl.mechanisms",
        "sasl.username",
        "ssl.ca.location",
        "ssl.certificate.location",
        "ssl.key.location",
        "ssl.keystore.location",
        "ssl.endpoint.identification.algorithm",
        "enable.ssl.certificate.verification",
        "sasl.oauthbearer.method",
        "sasl.oauthbearer.client.id",
        "sasl.oauthbearer.token.endpoint.url",
        "fetch.wait.max.ms",
        "socket.timeout.ms",
        "queued.max.messages.kbytes",
        "queued.min.messages",
        "broker.address.family",
        "debug",
        "log_level",
    ]
)
#: librdkafka's second names.
ALIASES: Final = {
    "sasl.mechanisms": "sasl.mechanism",
    "metadata.broker.list": "bootstrap.servers",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
}
#: Who logs in: what one place says of it is never completed by another, or a password went with another's name.
LOGIN: Final = frozenset(
    (
        "sasl.jaas.config",
        "sasl.username",
        "sasl.password",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.client.id",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.config",
    )
)
#: What goes with a login of the same place, and with no other's.
OF_LOGIN: Final = frozenset(("sasl.oauthbearer.scope", "sasl.oauthbearer.extensions"))
#: Of each set only what the highest place gives is kept: librdkafka would prefer one of them whatever the place.
EXCLUSIVE: Final = (
    LOGIN,
    frozenset(("https.ca.location", "https.ca.pem")),
    frozenset(("ssl.ca.location", "ssl.ca.pem", "ssl.ca.certificate.stores")),
    frozenset(("ssl.certificate.location", "ssl.certificate.pem", "ssl.keystore.location")),
    frozenset(("ssl.key.location", "ssl.key.pem", "ssl.keystore.location")),
)


def apply_producer_rules(config: ParsedConfig, reader: Mapping[str, tuple[str, Given]]) -> None:
    """`producer.override.*` that reaches Kafka another way than the reader is refused where dead letters are produced.

    There is one client: what says how Kafka is reached holds for both, or nobody knows where dead letters went.
    """
    name = "errors.deadletterqueue.topic.name"
    if not config.sure(name) or not config.optional(name) or not config.reads(name):
        return
    for given in config.given:
        bare = given.removeprefix(PRODUCER)
        if bare == given or not _reaches(bare):
            continue
        other = reader.get(bare)
        if other is None or other[1].text.strip() != config.given[given].text.strip():
            config.add_hidden_problem(
                given, f"the client that reads also produces dead letters: set {OVERRIDE}{bare} to the same value"
            )


def _reaches(bare: str) -> bool:
    """Whether a client's property says where Kafka is and who asks."""
    first = bare.partition(".")[0]
    return bare in JAVA and (first in ("ssl", "sasl", "security") or bare == "bootstrap.servers")
