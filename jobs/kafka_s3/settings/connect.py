"""The connector itself: its name, its topics, what becomes of bad records, and what belongs to a Connect worker."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kafka_s3.errors import Problem
from kafka_s3.settings import block_gzip, neighbours, validators
from kafka_s3.settings.properties import (
    HIDDEN,
    REQUIRED,
    AppliesWhen,
    Choice,
    Ignored,
    Kind,
    Property,
    PropertyPrefix,
    near_match,
)
from kafka_s3.settings.validation import ParsedConfig, show


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


_RUNTIME = Ignored("the export runs on Airflow and Spark, not on a Connect worker")
_NO_WAIT = Ignored("converters are not retried; requests to a schema registry are, for up to a minute")
_TOLERANT = AppliesWhen("errors.tolerance", ("all",))
_DEAD_LETTERS = AppliesWhen("errors.deadletterqueue.topic.name", None)
PROPERTIES: tuple[Property, ...] = (
    Property(
        "name", Kind.STRING, REQUIRED, "Name of the connector, its DAG and its log.", check=validators.connector_name
    ),
    Property(
        "connector.class",
        Kind.CLASS,
        block_gzip.SINK,
        "Connector class that the file was written for.",
        choices=(Choice(block_gzip.SINK, ("S3Sink",)), Choice(block_gzip.CONNECTOR)),
        shapes=True,
    ),
    Property("topics", Kind.LIST, (), "Topics to export.", check=validators.topic, shapes=True),
    Property(
        "topics.regex",
        Kind.STRING,
        "",
        "Regular expression for the topics to export; it has to match a topic's whole name.",
        check=validators.regular_expression,
        shapes=True,
    ),
    Property(
        "errors.tolerance",
        Kind.STRING,
        "none",
        "none: a bad record stops its partition. all: bad records are skipped and kept as dead letters in the bucket.",
        choices=(Choice("none"), Choice("all")),
        shapes=True,
    ),
    Property(
        "errors.deadletterqueue.topic.name",
        Kind.STRING,
        "",
        "Topic to which dead letters are also produced.",
        check=validators.optional_topic,
        applies_when=_TOLERANT,
    ),
    Property(
        "errors.deadletterqueue.topic.replication.factor",
        Kind.INT,
        3,
        "Replication factor of that topic if it has to be created; -1 means the broker's default.",
        check=validators.replication,
        maximum=32_767,
        applies_when=_DEAD_LETTERS,
    ),
    Property(
        "errors.deadletterqueue.context.headers.enable",
        Kind.BOOLEAN,
        False,
        "Add headers to every dead letter that say where it came from and why it failed.",
        applies_when=_DEAD_LETTERS,
    ),
    Property("errors.retry.timeout", Kind.LONG, 0, "How long Connect retries a failed operation.", _NO_WAIT),
    Property("errors.retry.delay.max.ms", Kind.LONG, 60_000, "Longest delay between those retries.", _NO_WAIT),
    Property("errors.log.enable", Kind.BOOLEAN, False, "Log every bad record that is skipped.", applies_when=_TOLERANT),
    Property(
        "errors.log.include.messages",
        Kind.BOOLEAN,
        False,
        "Quote the offending part of a bad record in its reason: in logs, log entries and dead letters.",
    ),
    Property(
        "export.errors.fraction.max",
        Kind.STRING,
        "1",
        "Largest fraction of a range's records that may be bad; with more, the range fails.",
        check=validators.fraction,
        applies_when=AppliesWhen("errors.tolerance", ("all",)),
    ),
    Property(
        "export.errors.fraction.attention",
        Kind.STRING,
        "0.5",
        "Largest fraction of a topic's records in a commit that may be bad without an alert. With more, the commit"
        " stands, its run ends with status 65, and the connector is not ok until a later commit of the topic has"
        " fewer. 1 turns the alert off.",
        check=validators.fraction,
        applies_when=AppliesWhen("errors.tolerance", ("all",)),
    ),
    Property("config.action.reload", Kind.STRING, "restart", "What Connect does when a secret changes.", _RUNTIME),
    Property("task.class", Kind.STRING, "", "Task class of the sink.", _RUNTIME),
    Property(
        "tasks.max.enforce", Kind.BOOLEAN, True, "Fail if the connector makes more tasks than tasks.max.", _RUNTIME
    ),
    Property("connector.plugin.version", Kind.STRING, "", "Version of the connector plugin.", _RUNTIME),
    Property(
        "shutdown.timeout.ms",
        Kind.LONG,
        3000,
        "How long a worker may take to stop.",
        Ignored("there is no worker to stop"),
    ),
    Property(
        "schema.generator.class",
        Kind.STRING,
        "",
        "Class that makes the partition fields.",
        Ignored("the sink has not used it for years"),
    ),
)

#: The longest prefix that fits decides.
PREFIXES: Final[tuple[PropertyPrefix, ...]] = (
    PropertyPrefix("hive.", Ignored("the S3 sink has no Hive integration")),
    PropertyPrefix("confluent.", Ignored("no Confluent license or monitoring is involved")),
)

_CLOUD: Final = (
    "is Confluent Cloud's managed S3 sink, which is another product with properties of its own: write its settings as"
    f" those of connector.class={block_gzip.SINK}"
)
_SOURCE: Final = "is a source connector, which writes to Kafka: name the topics that it writes in a connector file"
_OTHER: Final = f"is another product, and its properties are not looked at: write them as those of {block_gzip.SINK}"
_DEBEZIUM: Final = "io.debezium.connector."


def another_product(config: ParsedConfig) -> Problem | None:
    """The one problem of a file for a connector that is neither of the S3 sinks; None if the file is for one of them.

    A class that looks like a misspelling of ours is no other product.
    """
    given = config.given.get("connector.class")
    if given is None or config.sure("connector.class"):
        return None
    text = given.text.strip()
    choices = config.properties["connector.class"].choices
    if text == "S3_SINK":
        message = _CLOUD
    elif text.startswith(_DEBEZIUM) or text.endswith("SourceConnector"):
        message = _SOURCE
    elif (same := neighbours.translated(text, _texts(config))) is not None:
        message = f"is another product, which does not run here. The same in this exporter's properties:\n{same}"
    elif "." in text and not near_match(text, [choice.name for choice in choices]):
        message = _OTHER
    else:
        return None
    shown = HIDDEN if config.is_secret("connector.class") else show("connector.class", text)
    return Problem("connector.class", shown, message)


def _texts(config: ParsedConfig) -> dict[str, str]:
    """As they were written, with variables that have no value: those may be secrets."""
    return {name: "${…}" if given.found else given.text for name, given in config.given.items()}


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
        config.add_problem("topics.regex", "cannot be combined with topics: set one of them")
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
