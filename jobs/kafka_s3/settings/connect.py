"""The connector itself: its name, its topics, what becomes of bad records, and what belongs to a Connect worker."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kafka_s3.settings import block_gzip, validators
from kafka_s3.settings.properties import REQUIRED, AppliesWhen, Choice, Family, Ignored, Kind, Property, Refused
from kafka_s3.settings.validation import ParsedConfig


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """What becomes of bad records beside their object in the bucket (`errors.tolerance=all` only).

    `topic`: they are produced there too, with Connect's headers where `headers` says so; `replication` if it has to
    be created. `fraction_max`: more bad records among those of a range than this stop it. `fraction_attention`: with
    more among a topic's records in a commit, the commit stands and the connector needs attention.
    """

    topic: str | None = None
    replication: int = 3
    headers: bool = False
    fraction_max: float = 1.0
    fraction_attention: float = 0.5
    log: bool = False  # errors.log.enable
    include_messages: bool = False  # errors.log.include.messages: a reason quotes what it refuses


_RUNTIME = Ignored("Airflow and Spark run the export, not a Connect worker")
_NO_WAIT = Ignored("only a registry is waited for, and asked again for a minute")
_TOLERANT = AppliesWhen("errors.tolerance", ("all",), "without errors.tolerance=all a bad record stops its partition")
_DEAD_LETTERS = AppliesWhen(
    "errors.deadletterqueue.topic.name", None, "only errors.deadletterqueue.topic.name makes it mean something"
)
_TRANSFORMS = Refused(
    "transforms are Java code that runs inside Connect",
    "transform the records before they reach the topic, or the objects after the export",
)
PROPERTIES: tuple[Property, ...] = (
    Property("name", Kind.STRING, REQUIRED, "Name of connector, DAG and log.", check=validators.connector_name),
    Property(
        "connector.class",
        Kind.CLASS,
        block_gzip.SINK,
        "The connector whose configuration this is.",
        choices=(Choice(block_gzip.SINK, ("S3Sink",)), Choice(block_gzip.CONNECTOR)),
        shapes=True,
    ),
    Property("topics", Kind.LIST, (), "The topics to export.", check=validators.topic, shapes=True),
    Property(
        "topics.regex",
        Kind.STRING,
        "",
        "Pattern of the whole names of topics to export.",
        check=validators.regular_expression,
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
        check=validators.optional_topic,
        applies_when=_TOLERANT,
    ),
    Property(
        "errors.deadletterqueue.topic.replication.factor",
        Kind.INT,
        3,
        "Copies of that topic, if it has to be created; -1 is the broker's default.",
        check=validators.replication,
        maximum=32_767,
        applies_when=_DEAD_LETTERS,
    ),
    Property(
        "errors.deadletterqueue.context.headers.enable",
        Kind.BOOLEAN,
        False,
        "Say in headers of a dead letter where it comes from and why.",
        applies_when=_DEAD_LETTERS,
    ),
    Property("errors.retry.timeout", Kind.LONG, 0, "Retries of a converter.", _NO_WAIT),
    Property("errors.retry.delay.max.ms", Kind.LONG, 60_000, "Pause between.", _NO_WAIT),
    Property(
        "errors.log.enable", Kind.BOOLEAN, False, "Log every bad record that is left out.", applies_when=_TOLERANT
    ),
    Property(
        "errors.log.include.messages",
        Kind.BOOLEAN,
        False,
        "Quote what is wrong in a bad record where its reason is said: in logs, log entries and dead letters.",
    ),
    Property(
        "export.errors.fraction.max",
        Kind.STRING,
        "1",
        "Part of a range's records that may be bad: more stop it.",
        check=validators.fraction,
        applies_when=AppliesWhen(
            "errors.tolerance", ("all",), "without errors.tolerance=all a bad record stops its partition"
        ),
    ),
    Property(
        "export.errors.fraction.attention",
        Kind.STRING,
        "0.5",
        "Part of a topic's records in a commit that may be bad: with more, the commit stands, its run ends with status"
        " 65, and the connector is not ok until a later commit of the topic has fewer. 1: never.",
        check=validators.fraction,
        applies_when=AppliesWhen(
            "errors.tolerance", ("all",), "without errors.tolerance=all a bad record stops its partition"
        ),
    ),
    Property("transforms", Kind.LIST, (), "Single message transforms.", _TRANSFORMS),
    Property("predicates", Kind.LIST, (), "Conditions of transforms.", _TRANSFORMS),
    Property("config.action.reload", Kind.STRING, "restart", "Restart when secrets change.", _RUNTIME),
    Property("task.class", Kind.STRING, "", "The sink's own task class.", _RUNTIME),
    Property("tasks.max.enforce", Kind.BOOLEAN, True, "Refuse more tasks.", _RUNTIME),
    Property("connector.plugin.version", Kind.STRING, "", "Version of the plugin.", _RUNTIME),
    Property("shutdown.timeout.ms", Kind.LONG, 3000, "Time to stop.", Ignored("there is no worker to stop")),
    Property(
        "schema.generator.class",
        Kind.STRING,
        "",
        "Makes partition fields.",
        Ignored("the sink has not read it for years"),
    ),
)

#: The longest prefix that fits decides.
FAMILIES: Final[tuple[Family, ...]] = (
    Family("transforms.", _TRANSFORMS),
    Family("predicates.", _TRANSFORMS),
    Family("hive.", Ignored("the S3 sink has no Hive integration either")),
    Family("confluent.", Ignored("no Confluent licence or monitoring is involved")),
)

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


def apply_connector_rules(config: ParsedConfig) -> None:
    _topics(config)
    _dead_letters(config)


def _topics(config: ParsedConfig) -> None:
    if not config.sure("topics", "topics.regex"):
        return
    if config.is_set("topics") and config.is_set("topics.regex"):
        config.add_problem("topics.regex", "topics and topics.regex exclude each other: set one of them")
    elif not config.is_set("topics") and not config.is_set("topics.regex"):
        config.add_problem("topics", "either topics or topics.regex must be set")


def _dead_letters(config: ParsedConfig) -> None:
    """Dead letters in a topic that is exported would come back for ever; Connect refuses that too."""
    name = "errors.deadletterqueue.topic.name"
    if not config.sure(name, "topics", "topics.regex") or not config.optional(name):
        return
    topic, pattern = config.text(name), config.optional("topics.regex")
    if topic in config.listed("topics"):
        config.add_problem(name, "may not be included in the list of topics (topics) that are exported")
    elif pattern and re.fullmatch(pattern, topic):
        config.add_problem(
            name, "may not be included in the regex matching the topics (topics.regex) that are exported"
        )


def build_dead_letters(config: ParsedConfig) -> DeadLetters:
    """Everything at its default unless bad records are left out."""
    include_messages = config.flag("errors.log.include.messages")
    if config.text("errors.tolerance") != "all":
        return DeadLetters(include_messages=include_messages)
    prefix = "errors.deadletterqueue"
    return DeadLetters(
        topic=config.optional(f"{prefix}.topic.name"),
        replication=config.number(f"{prefix}.topic.replication.factor"),
        headers=config.flag(f"{prefix}.context.headers.enable"),
        fraction_max=float(config.text("export.errors.fraction.max")),
        fraction_attention=float(config.text("export.errors.fraction.attention")),
        log=config.flag("errors.log.enable"),
        include_messages=include_messages,
    )
