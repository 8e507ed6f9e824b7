"""Everything one connector's run needs, as frozen values, made of what the topics made."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from kafka_s3.naming import KeyLayout, Naming
from kafka_s3.settings import block_gzip, credentials
from kafka_s3.settings.aws_connection import AwsConnection
from kafka_s3.settings.client_checks import Client
from kafka_s3.settings.completeness import Completeness, build_completeness
from kafka_s3.settings.connect import DeadLetters, build_dead_letters
from kafka_s3.settings.converters import SCHEMA_FILE, EnvelopeField
from kafka_s3.settings.formats import Format
from kafka_s3.settings.kafka import GROUP_COMMIT, READING, KafkaSettings
from kafka_s3.settings.paths import (
    Partitioner,
    RecordTime,
    SchemaAffix,
    TemplatePartitioner,
    TimePartitioner,
    build_layout,
    build_partitioner,
)
from kafka_s3.settings.properties import HIDDEN, Supported, Value, render
from kafka_s3.settings.record_fields import RecordField
from kafka_s3.settings.registry import without_login
from kafka_s3.settings.run import OPEN_OBJECTS_MAX, Limits, Policies, build_limits, build_log_key, build_policies
from kafka_s3.settings.s3 import S3Settings, build_s3
from kafka_s3.settings.schedule import ScheduleSettings, build_schedule
from kafka_s3.settings.spark import NO_SPARK_CONF, SparkSettings, build_spark
from kafka_s3.settings.spark import is_member as is_sparks
from kafka_s3.settings.transforms import rules as transforms
from kafka_s3.settings.transforms.chain import NO_CHAIN, ChainSettings
from kafka_s3.settings.validation import ParsedConfig, show
from kafka_s3.settings.values import FormatSettings, build_format
from kafka_s3.settings.variables import Given
from kafka_s3.signing import NO_KEY, LogKey

_CREDENTIALS: Final = ("aws.access.key.id", "s3.proxy.user", credentials.PREFIX)
_LOGINS: Final = re.compile(r"\.converter\.(basic|bearer)\.auth\.")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything one connector's run needs, and nothing that a plan may not show outside `s3`, `kafka` and `log_key`.

    `resolved`: every property that has a meaning here with its effective value as text, secrets left out (not
    hidden: absent), sorted by name. It is what plans show; `configuration_sha256` covers those that shape bytes.
    `notes_timestamps`: the log says how old the records of ranges and objects are (`export.timestamps.enable`, or
    because timestamps are looked at anyway). `reexport_dir`: where windows that are exported again lie. `log_key`: what
    signs the log (`export.log.key`); tasks have none.
    `hidden`: what variables stood for, which nobody is shown.
    """

    name: str
    topics: tuple[str, ...]
    topics_regex: str | None
    tolerate_bad_records: bool  # errors.tolerance=all
    format: FormatSettings
    partitioner: Partitioner
    limits: Limits
    layout: KeyLayout
    log_root: str
    s3: S3Settings
    kafka: KafkaSettings
    schedule: ScheduleSettings
    resolved: Mapping[str, str] = field(repr=False)
    configuration_sha256: str = ""
    schema_affix: SchemaAffix = SchemaAffix.NONE
    dead_letters: DeadLetters = DeadLetters()
    policies: Policies = Policies()
    notes_timestamps: bool = False
    reexport_dir: str = "reexport"
    completeness: Completeness | None = None
    log_key: LogKey = field(default=NO_KEY, repr=False)
    chain: ChainSettings = NO_CHAIN
    spark: SparkSettings = NO_SPARK_CONF
    hidden: frozenset[str] = field(default=frozenset(), repr=False)

    def reading_by(self, schema: str | None) -> Settings:
        """The same with the schema that a plan has pinned for a topic's values, where it is inferred."""
        if schema is None or self.format.value.inference is None:
            return self
        return replace(self, format=replace(self.format, value=replace(self.format.value, schema_text=schema)))

    def exports(self, topic: str) -> bool:
        """Whether the connector asks for a topic; one that it no longer asks for keeps its positions in the log."""
        if self.topics_regex is not None:
            return re.fullmatch(self.topics_regex, topic) is not None
        return topic in self.topics


def build_settings(config: ParsedConfig, client: Client, session_token: Given | None, aws: AwsConnection) -> Settings:
    """The settings behind settled values; call it only if there was no problem."""
    resolved = _resolved(config, client)
    content, partitioner = build_format(config), build_partitioner(config)
    chain = transforms.build_chain(config)
    naming = Naming.BLOCK_GZIP if block_gzip.is_meant(config.given) else Naming.CONNECT
    return Settings(
        name=config.text("name"),
        topics=tuple(dict.fromkeys(config.listed("topics"))),
        topics_regex=config.optional("topics.regex"),
        tolerate_bad_records=config.text("errors.tolerance") == "all",
        format=content,
        partitioner=partitioner,
        schema_affix=SchemaAffix(config.text("s3.schema.partition.affix.type")),
        limits=build_limits(config),
        layout=build_layout(config, naming, routed=chain.routes),
        chain=chain,
        spark=build_spark(config),
        log_root=config.text("export.log.dir"),
        log_key=build_log_key(config),
        s3=build_s3(config, session_token, aws),
        kafka=KafkaSettings(
            client=dict(client.properties),
            isolation_level=client.isolation_level,
            start=client.start,
            msk=client.msk,
            group=_group(config),
            idle_timeout_ms=config.number("export.read.timeout.ms"),
        ),
        schedule=build_schedule(config),
        dead_letters=build_dead_letters(config),
        policies=build_policies(config),
        notes_timestamps=config.flag("export.timestamps.enable") or _reads_timestamps(content, partitioner),
        reexport_dir=config.text("export.reexport.topics.dir"),
        completeness=build_completeness(config),
        resolved=resolved,
        configuration_sha256=_hash(config, resolved),
    )


def _group(config: ParsedConfig) -> str | None:
    name = config.optional("export.consumer.group.id") or f"kafka-s3-{config.text('name')}"
    return name if config.flag(GROUP_COMMIT) else None


def _reads_timestamps(content: FormatSettings, partitioner: Partitioner) -> bool:
    """Whether the timestamp of every record is looked at anyway, so that noting it costs next to nothing."""
    by_time = isinstance(partitioner, TimePartitioner) and isinstance(partitioner.extractor, RecordTime)
    if isinstance(partitioner, TemplatePartitioner):
        by_time = partitioner.has_time and isinstance(partitioner.extractor, RecordTime)
    in_record = EnvelopeField.TIMESTAMP in content.envelope.fields
    if content.record_fields is not None:
        in_record = in_record or RecordField.TIMESTAMP in content.record_fields.fields
    return by_time or in_record or content.file.format is Format.BLOCK_GZIP


def settle(config: ParsedConfig) -> None:
    """Put what unset values mean in their place, so that report and plan show what is in effect."""
    values = config.values
    if config.number("partitioner.max.open.files") == -1:
        values["partitioner.max.open.files"] = OPEN_OBJECTS_MAX
    if values["format.bytearray.separator"] is None:
        values["format.bytearray.separator"] = "\n"
    schedule = build_schedule(config)
    if schedule.timed and schedule.cron is None:
        values["rotate.schedule.interval.ms"] = schedule.interval_ms
    values["timezone"] = schedule.timezone


def _resolved(config: ParsedConfig, client: Client) -> dict[str, str]:
    """Every property with an effect, and its effective value; secrets, credentials and unknown values are absent.

    Read as a configuration it means the same: what has two names stands under one, a file under what it holds.
    """
    resolved = {READING: client.isolation_level, "consumer.override.auto.offset.reset": client.start}
    for name, value in config.values.items():
        prop = config.properties[name]
        honoured = isinstance(prop.status, Supported) and not (prop.quiet and value == prop.default)
        unresolved = name in config.given and not config.given[name].resolved
        honoured = honoured and config.applies(prop)
        if honoured and not unresolved and not _is_left_out(name, config):
            resolved[name] = _shown(name, value)
    for name in (transforms.TRANSFORMS, transforms.PREDICATES):
        if not resolved.get(name):  # so that a plan without transforms says what it always said
            resolved.pop(name, None)
    resolved |= transforms.members(config)
    return dict(sorted(resolved.items()))


def shown(config: ParsedConfig) -> tuple[tuple[str, str], ...]:
    """What was set, as anybody may see it: secrets and credentials are hidden, variables stand as they are."""
    rows = []
    for name, given in sorted(config.given.items()):
        if transforms.is_member(name) or is_sparks(name):
            rows.append((name, HIDDEN if given.secret else show(name, given.text)))
        elif name not in config.properties or _is_secret(name, config):
            rows.append((name, HIDDEN))
        elif not given.resolved or not config.sure(name):
            rows.append((name, show(name, given.text)))
        else:
            rows.append((name, _shown(name, config.values[name])))
    return tuple(rows)


def _is_left_out(name: str, config: ParsedConfig) -> bool:
    return name in block_gzip.TODAY or name == SCHEMA_FILE or _is_secret(name, config)


def _is_secret(name: str, config: ParsedConfig) -> bool:
    """Whether the value is a secret, or what belongs to one."""
    return config.is_secret(name) or name.startswith(_CREDENTIALS) or _LOGINS.search(name) is not None


def _shown(name: str, value: Value) -> str:
    if isinstance(value, tuple) and name.endswith("schema.registry.url"):
        return render(tuple(without_login(url) for url in value))
    return show(name, render(value)) if name.endswith(".url") else render(value)


def _hash(config: ParsedConfig, resolved: dict[str, str]) -> str:
    """SHA-256 over the properties that shape the bytes, names or contents of objects, as canonical JSON.

    These are: topics, converters with what they read by, transforms and predicates with their options, formats with
    their options, companions, the envelope, flush.size, s3.part.size, the partitioner, the parts of keys, what
    tombstones and bad records do, the size of a range, the isolation level (`Property.shapes`). Of a file with a schema
    it is what the file says. Left out, because a plan made under another value yields the same objects: how to reach
    Kafka, S3 and the registry, credentials (secrets always), encryption and ACL, retries, time-outs, tasks.max, the
    schedule (a plan holds its logical time), limits of batches (a plan holds its ranges), where a new topic starts,
    where dead letters go.
    """
    shaping = {
        name: value
        for name, value in resolved.items()
        if name == READING
        or transforms.is_member(name)
        or (name in config.properties and config.properties[name].shapes)
    }
    canonical = json.dumps(shaping, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
