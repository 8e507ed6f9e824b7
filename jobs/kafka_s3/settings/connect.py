"""Connect's own properties of a sink connector, and the families that are known by their prefix."""

from __future__ import annotations

from typing import Final

from kafka_s3.settings import block_gzip, checks
from kafka_s3.settings.properties import HONOURED, REQUIRED, Choice, Family, Kind, Needless, Only, Property, Refused

_RUNTIME = Needless("Airflow and Spark run the export, not a Connect worker")
_NO_WAIT = Needless("only a registry is waited for, and asked again for a minute")
_TOLERANT = Only("errors.tolerance", ("all",), "without errors.tolerance=all a bad record stops its partition")
_DEAD_LETTERS = Only(
    "errors.deadletterqueue.topic.name", None, "only errors.deadletterqueue.topic.name makes it mean something"
)
_TRANSFORMS = Refused(
    "transforms are Java code that runs inside Connect",
    "transform the records before they reach the topic, or the objects after the export",
)

PROPERTIES: tuple[Property, ...] = (
    Property("name", Kind.STRING, REQUIRED, "Name of connector, DAG and log.", check=checks.connector_name),
    Property(
        "connector.class",
        Kind.CLASS,
        block_gzip.SINK,
        "The connector whose configuration this is.",
        choices=(Choice(block_gzip.SINK, ("S3Sink",)), Choice(block_gzip.CONNECTOR)),
        shapes=True,
    ),
    Property("tasks.max", Kind.INT, 1, "Spark tasks at once.", minimum=1),
    Property("topics", Kind.LIST, (), "The topics to export.", check=checks.topic, shapes=True),
    Property(
        "topics.regex",
        Kind.STRING,
        "",
        "Pattern of the whole names of topics to export.",
        check=checks.regular_expression,
        shapes=True,
    ),
    Property(
        "errors.tolerance",
        Kind.STRING,
        "none",
        "Whether bad records are left out, and kept as dead letters in the bucket.",
        choices=(Choice("none"), Choice("all")),
        shapes=True,
    ),
    Property(
        "errors.deadletterqueue.topic.name",
        Kind.STRING,
        "",
        "Topic that dead letters are produced to as well.",
        check=checks.optional_topic,
        only=_TOLERANT,
    ),
    Property(
        "errors.deadletterqueue.topic.replication.factor",
        Kind.INT,
        3,
        "Copies of that topic, if it has to be created; -1 is the broker's default.",
        check=checks.replication,
        maximum=32_767,
        only=_DEAD_LETTERS,
    ),
    Property(
        "errors.deadletterqueue.context.headers.enable",
        Kind.BOOLEAN,
        False,
        "Say in headers of a dead letter where it comes from and why.",
        only=_DEAD_LETTERS,
    ),
    Property("errors.retry.timeout", Kind.LONG, 0, "Retries of a converter.", _NO_WAIT),
    Property("errors.retry.delay.max.ms", Kind.LONG, 60_000, "Pause between.", _NO_WAIT),
    Property("errors.log.enable", Kind.BOOLEAN, False, "Log every bad record that is left out.", only=_TOLERANT),
    Property(
        "errors.log.include.messages",
        Kind.BOOLEAN,
        False,
        "Quote what is wrong in a bad record where its reason is said: in logs, log entries and dead letters.",
    ),
    Property("transforms", Kind.LIST, (), "Single message transforms.", _TRANSFORMS),
    Property("predicates", Kind.LIST, (), "Conditions of transforms.", _TRANSFORMS),
    Property("config.action.reload", Kind.STRING, "restart", "Restart when secrets change.", _RUNTIME),
    Property("task.class", Kind.STRING, "", "The sink's own task class.", _RUNTIME),
    Property("tasks.max.enforce", Kind.BOOLEAN, True, "Refuse more tasks.", _RUNTIME),
    Property("connector.plugin.version", Kind.STRING, "", "Version of the plugin.", _RUNTIME),
)

#: The longest prefix that fits decides.
FAMILIES: tuple[Family, ...] = (
    Family("transforms.", _TRANSFORMS),
    Family("predicates.", _TRANSFORMS),
    Family("producer.override.", Needless("dead letters are produced by the client that reads: consumer.override.*")),
    Family(
        "admin.override.", Needless("the topic of dead letters is made by the client that reads: consumer.override.*")
    ),
    Family("hive.", Needless("the S3 sink has no Hive integration either")),
    Family("confluent.", Needless("no Confluent licence or monitoring is involved")),
    Family("s3.credentials.provider.", HONOURED),  # a class of the user's own reads it
)

OVERRIDE: Final = "consumer.override."
PRODUCER: Final = "producer.override."

#: What belongs to a Connect worker itself: accepted in the worker file, and without a meaning here.
WORKER_NAMES: Final = frozenset(
    [
        "access.control.allow.methods",
        "access.control.allow.origin",
        "admin.listeners",
        "client.id",
        "cluster.id",
        "connect.protocol",
        "connector.client.config.override.policy",
        "exactly.once.source.support",
        "group.id",
        "heartbeat.interval.ms",
        "inter.worker.key.generation.algorithm",
        "inter.worker.key.size",
        "inter.worker.key.ttl.ms",
        "inter.worker.signature.algorithm",
        "inter.worker.verification.algorithms",
        "internal.key.converter",
        "internal.value.converter",
        "listeners",
        "plugin.discovery",
        "plugin.path",
        "rebalance.timeout.ms",
        "response.http.headers.config",
        "scheduled.rebalance.max.delay.ms",
        "session.timeout.ms",
        "task.shutdown.graceful.timeout.ms",
        "topic.creation.enable",
        "topic.tracking.allow.reset",
        "topic.tracking.enable",
        "worker.sync.timeout.ms",
        "worker.unsync.backoff.ms",
    ]
)
WORKER_PREFIXES: Final = (
    "producer.",
    "admin.",
    "offset.storage.",
    "offset.flush.",
    "config.storage.",
    "status.storage.",
    "config.providers",
    "listeners.",
    "rest.",
    "metrics.",
    "metric.",
    "internal.",
    "confluent.",
)
