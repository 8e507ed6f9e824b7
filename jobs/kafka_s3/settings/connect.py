"""Connect's own properties of a sink connector, and the families that are known by their prefix."""

from __future__ import annotations

from typing import Final

from kafka_s3.settings import checks
from kafka_s3.settings.content import Converter
from kafka_s3.settings.properties import HONOURED, REQUIRED, Choice, Family, Kind, Needless, NotYet, Property, Refused

_CONNECT: Final = "org.apache.kafka.connect"
JSON_CONVERTER: Final = Converter.JSON.value

_CONVERTERS = (
    *(Choice(converter.value) for converter in (Converter.BYTE_ARRAY, Converter.STRING, Converter.JSON)),
    Choice("io.confluent.connect.avro.AvroConverter", not_yet=True),
    Choice("io.confluent.connect.json.JsonSchemaConverter", not_yet=True),
    Choice("io.confluent.connect.protobuf.ProtobufConverter", not_yet=True),
    *(
        Choice(f"{_CONNECT}.converters.{name}Converter", not_yet=True)
        for name in ("Boolean", "Double", "Float", "Integer", "Long", "Short")
    ),
)
_RUNTIME = Needless("Airflow and Spark run the export, not a Connect worker")
_NO_DEAD_LETTERS = Needless("only errors.deadletterqueue.topic.name makes it mean something")
_NO_KEYS = Needless("record keys are not exported")
_NO_REGISTRY = Needless("only converters over a schema registry read it")
_TRANSFORMS = Refused(
    "transforms are Java code that runs inside Connect",
    "transform the records before they reach the topic, or the objects after the export",
)

PROPERTIES: tuple[Property, ...] = (
    Property("name", Kind.STRING, REQUIRED, "Name of connector, DAG and log.", check=checks.connector_name),
    Property(
        "connector.class",
        Kind.CLASS,
        "io.confluent.connect.s3.S3SinkConnector",
        "The connector whose configuration this is.",
        choices=(Choice("io.confluent.connect.s3.S3SinkConnector", ("S3Sink",)),),
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
        "value.converter",
        Kind.CLASS,
        None,
        "What values are; unless set, what suits the format: bytes, or JSON without a schema.",
        choices=_CONVERTERS,
        shapes=True,
    ),
    Property(
        "value.converter.schemas.enable",
        Kind.BOOLEAN,
        True,
        "Whether JsonConverter expects an envelope with a schema around every value.",
        shapes=True,
    ),
    Property(
        "value.converter.encoding",
        Kind.STRING,
        "UTF-8",
        "Encoding of StringConverter.",
        choices=(Choice("UTF-8", ("UTF8",)),),
        ignore_case=True,
    ),
    Property("value.converter.schemas.cache.size", Kind.INT, 1000, "Schemas kept at hand.", Needless("no schemas")),
    Property(
        "value.converter.decimal.format",
        Kind.STRING,
        "BASE64",
        "How a decimal is written in JSON.",
        Needless("only values with a schema hold decimals"),
    ),
    Property(
        "value.converter.replace.null.with.default",
        Kind.BOOLEAN,
        True,
        "Whether a null becomes its field's default.",
        Needless("only values with a schema have defaults"),
    ),
    Property("key.converter", Kind.STRING, "", "What keys are.", _NO_KEYS),
    Property("header.converter", Kind.STRING, "", "What headers are.", Needless("headers are not exported")),
    Property(
        "errors.tolerance",
        Kind.STRING,
        "none",
        "Whether bad records may be left out.",
        choices=(Choice("none"), Choice("all", not_yet=True)),
        shapes=True,
    ),
    Property(
        "errors.deadletterqueue.topic.name",
        Kind.STRING,
        "",
        "Topic for bad records.",
        NotYet("bad records are not written to a topic yet: one stops its partition and is named"),
    ),
    Property("errors.deadletterqueue.topic.replication.factor", Kind.INT, 3, "Copies of that topic.", _NO_DEAD_LETTERS),
    Property(
        "errors.deadletterqueue.context.headers.enable", Kind.BOOLEAN, False, "Say why in headers.", _NO_DEAD_LETTERS
    ),
    Property("errors.retry.timeout", Kind.LONG, 0, "Retries of a converter.", Needless("converting never waits")),
    Property("errors.retry.delay.max.ms", Kind.LONG, 60_000, "Pause between.", Needless("converting never waits")),
    Property("errors.log.enable", Kind.BOOLEAN, False, "Log errors.", Needless("every bad record is logged")),
    Property(
        "errors.log.include.messages",
        Kind.BOOLEAN,
        False,
        "Log the records too.",
        Needless("a bad record is named by topic, partition and offset; its contents are never logged"),
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
    Family("key.converter.", _NO_KEYS),
    Family("header.converter.", Needless("headers are not exported")),
    Family("value.converter.", Needless("the value converter does not read it")),
    Family("value.converter.basic.auth.", _NO_REGISTRY),
    Family("value.converter.schema.registry.", _NO_REGISTRY),
    Family("producer.override.", Needless("nothing is produced")),
    Family("admin.override.", Needless("nothing is created")),
    Family("hive.", Needless("the S3 sink has no Hive integration either")),
    Family("confluent.", Needless("no Confluent licence or monitoring is involved")),
    Family("s3.credentials.provider.", HONOURED),  # a class of the user's own reads it
)

OVERRIDE: Final = "consumer.override."

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
