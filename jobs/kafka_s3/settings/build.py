"""Makes `Settings` of values that are all right."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Final

from kafka_s3 import custom
from kafka_s3.naming import KeyLayout, Naming
from kafka_s3.settings import block_gzip, catalogue, credential_names, cron, storage
from kafka_s3.settings.check import Checked, show
from kafka_s3.settings.checks import split_keys
from kafka_s3.settings.client import Client
from kafka_s3.settings.content import EnvelopeField, Format, FormatSettings, Own
from kafka_s3.settings.content_build import SCHEMA_FILE, build_format
from kafka_s3.settings.model import (
    OPEN_OBJECTS_MAX,
    Completeness,
    DeadLetters,
    DefaultPartitioner,
    Extractor,
    FieldPartitioner,
    FieldTime,
    KafkaSettings,
    Limits,
    Partitioner,
    Policies,
    RecordTime,
    RunTime,
    ScheduleSettings,
    SchemaAffix,
    Settings,
    TimePartitioner,
)
from kafka_s3.settings.properties import HIDDEN, Honoured, Value, render
from kafka_s3.settings.registry import without_login
from kafka_s3.settings.s3_side import build_s3
from kafka_s3.settings.variables import Given
from kafka_s3.signing import NO_KEY, LogKey

_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
_CREDENTIALS: Final = ("aws.access.key.id", "s3.proxy.user", credential_names.PREFIX)
_LOGINS: Final = re.compile(r"\.converter\.(basic|bearer)\.auth\.")
READING: Final = "consumer.override.isolation.level"


def build_settings(checked: Checked, client: Client, session_token: Given | None) -> Settings:
    """The settings behind settled values; call it only if there was no problem."""
    resolved = _resolved(checked, client)
    content, partitioner = build_format(checked), _partitioner(checked)
    return Settings(
        name=checked.text("name"),
        topics=tuple(dict.fromkeys(checked.listed("topics"))),
        topics_regex=checked.optional("topics.regex"),
        tolerate_bad_records=checked.text("errors.tolerance") == "all",
        format=content,
        partitioner=partitioner,
        schema_affix=SchemaAffix(checked.text("s3.schema.partition.affix.type")),
        limits=_limits(checked),
        layout=KeyLayout(
            topics_dir=checked.text("topics.dir"),
            directory_delim=checked.text("directory.delim"),
            file_delim=checked.text("file.delim"),
            offset_pad_width=checked.number("filename.offset.zero.pad.width"),
            naming=Naming.BLOCK_GZIP if block_gzip.is_meant(checked.given) else Naming.CONNECT,
        ),
        log_root=checked.text("export.log.dir"),
        log_key=_log_key(checked),
        s3=build_s3(checked, session_token),
        kafka=KafkaSettings(
            client=dict(client.properties),
            isolation_level=client.isolation_level,
            start=client.start,
            idle_timeout_ms=checked.number("export.read.timeout.ms"),
        ),
        schedule=build_schedule(checked),
        dead_letters=_dead_letters(checked),
        policies=Policies(
            record_data_loss=checked.text("export.on.data.loss") == "record",
            restart_recreated=checked.text("export.on.topic.recreated") == "restart",
        ),
        notes_timestamps=checked.flag("export.timestamps.enable") or _reads_timestamps(content, partitioner),
        reexport_dir=checked.text("export.reexport.topics.dir"),
        completeness=_completeness(checked),
        resolved=resolved,
        configuration_sha256=_hash(resolved),
    )


def _log_key(checked: Checked) -> LogKey:
    if not checked.text("export.log.key"):
        return NO_KEY
    keys = tuple(key.encode("utf-8", "surrogatepass") for key in split_keys(checked.text("export.log.key")))
    return LogKey(keys, f"{checked.text('export.log.dir')}/{checked.text('name')}/")


def _reads_timestamps(content: FormatSettings, partitioner: Partitioner) -> bool:
    """Whether the timestamp of every record is looked at anyway, so that noting it costs next to nothing."""
    by_time = isinstance(partitioner, TimePartitioner) and isinstance(partitioner.extractor, RecordTime)
    in_record = EnvelopeField.TIMESTAMP in content.envelope.fields
    return by_time or in_record or content.file.format is Format.BLOCK_GZIP


def build_schedule(checked: Checked) -> ScheduleSettings:
    """Hourly unless set; at most a day, since the sink starts counting anew at each local midnight."""
    interval, given = checked.number("rotate.schedule.interval.ms"), checked.optional("export.schedule")
    by_assets_alone = given is None and interval <= 0 and bool(checked.listed("export.schedule.assets"))
    timed = given != cron.NONE and not by_assets_alone
    return ScheduleSettings(
        interval_ms=min(interval, _DAY_MS) if interval > 0 else _HOUR_MS,
        timezone=checked.text("timezone") or "UTC",
        cron=given if timed else None,
        timed=timed,
    )


def settle(checked: Checked) -> None:
    """Put what unset values mean in their place, so that report and plan show what is in effect."""
    values = checked.values
    if checked.number("partitioner.max.open.files") == -1:
        values["partitioner.max.open.files"] = OPEN_OBJECTS_MAX
    if values["format.bytearray.separator"] is None:
        values["format.bytearray.separator"] = "\n"
    schedule = build_schedule(checked)
    if schedule.timed and schedule.cron is None:
        values["rotate.schedule.interval.ms"] = schedule.interval_ms
    values["timezone"] = schedule.timezone


def _limits(checked: Checked) -> Limits:
    return Limits(
        flush_size=checked.number("flush.size"),
        part_size_bytes=checked.number("s3.part.size"),
        tasks_max=checked.number("tasks.max"),
        range_records_max=checked.number("export.range.records.max"),
        batch_records_max=checked.number("export.batch.records.max"),
        batch_bytes_max=checked.number("export.batch.bytes.max"),
        catchup_batches_max=checked.number("export.catchup.batches.max"),
        open_objects_max=checked.number("partitioner.max.open.files"),
        object_bytes_max=_positive(checked.number("export.object.bytes.max")),
        rotate_interval_ms=_positive(checked.number("rotate.interval.ms")) if _is_time_based(checked) else None,
    )


def _dead_letters(checked: Checked) -> DeadLetters:
    """Everything at its default unless bad records are left out."""
    include_messages = checked.flag("errors.log.include.messages")
    if checked.text("errors.tolerance") != "all":
        return DeadLetters(include_messages=include_messages)
    prefix = "errors.deadletterqueue"
    return DeadLetters(
        topic=checked.optional(f"{prefix}.topic.name"),
        replication=checked.number(f"{prefix}.topic.replication.factor"),
        headers=checked.flag(f"{prefix}.context.headers.enable"),
        fraction_max=float(checked.text("export.errors.fraction.max")),
        fraction_attention=float(checked.text("export.errors.fraction.attention")),
        log=checked.flag("errors.log.enable"),
        include_messages=include_messages,
    )


def _completeness(checked: Checked) -> Completeness | None:
    if not checked.flag("export.completeness.marker.enable"):
        return None
    return Completeness(checked.number("export.completeness.lateness.ms"))


def _positive(number: int) -> int | None:
    return number if number > 0 else None


def _is_time_based(checked: Checked) -> bool:
    return checked.text("partitioner.class") in storage.TIME_BASED


def _partitioner(checked: Checked) -> Partitioner:
    match checked.text("partitioner.class"):
        case storage.DEFAULT_PARTITIONER:
            return DefaultPartitioner()
        case storage.FIELD_PARTITIONER:
            return FieldPartitioner(checked.listed("partition.field.name"))
        case own if custom.is_path(own):
            return Own(own)
        case _:
            duration_ms, pattern = time_buckets(checked)
            zone, locale = checked.text("timezone"), checked.text("locale").strip()
            return TimePartitioner(duration_ms, pattern, zone, locale, _extractor(checked))


def _extractor(checked: Checked) -> Extractor:
    match checked.text("timestamp.extractor"):
        case "Wallclock":
            return RunTime()
        case "Record":
            return RecordTime()
        case "RecordField":
            return FieldTime(checked.text("timestamp.field"))
        case path:
            return Own(path)


def time_buckets(checked: Checked) -> tuple[int, str]:
    """Duration and Joda pattern of a time-based partitioner; Daily and Hourly have their own."""
    delim = checked.text("directory.delim").replace("'", "''")
    daily = f"'year='YYYY'{delim}month='MM'{delim}day='dd"
    match checked.text("partitioner.class"):
        case storage.DAILY_PARTITIONER:
            return _DAY_MS, daily
        case storage.HOURLY_PARTITIONER:
            return _HOUR_MS, f"{daily}'{delim}hour='HH"
        case _:
            # One delimiter at the end is left out, as in the sink.
            pattern = checked.text("path.format").removesuffix(checked.text("directory.delim"))
            return checked.number("partition.duration.ms"), pattern


def _resolved(checked: Checked, client: Client) -> dict[str, str]:
    """Every property with an effect, and its effective value; secrets, credentials and unknown values are absent.

    Read as a configuration it means the same: what has two names stands under one, a file under what it holds.
    """
    resolved = {READING: client.isolation_level, "consumer.override.auto.offset.reset": client.start}
    for name, value in checked.values.items():
        honoured = isinstance(catalogue.PROPERTIES[name].status, Honoured)
        unresolved = name in checked.given and not checked.given[name].resolved
        honoured = honoured and checked.applies(catalogue.PROPERTIES[name])
        if honoured and not unresolved and not _is_left_out(name, checked):
            resolved[name] = _shown(name, value)
    return dict(sorted(resolved.items()))


def shown(checked: Checked) -> tuple[tuple[str, str], ...]:
    """What was set, as anybody may see it: secrets and credentials are hidden, variables stand as they are."""
    rows = []
    for name, given in sorted(checked.given.items()):
        if name not in catalogue.PROPERTIES or _is_secret(name, checked):
            rows.append((name, HIDDEN))
        elif not given.resolved or not checked.sure(name):
            rows.append((name, show(name, given.text)))
        else:
            rows.append((name, _shown(name, checked.values[name])))
    return tuple(rows)


def _is_left_out(name: str, checked: Checked) -> bool:
    return name in block_gzip.TODAY or name == SCHEMA_FILE or _is_secret(name, checked)


def _is_secret(name: str, checked: Checked) -> bool:
    """Whether the value is a secret, or what belongs to one."""
    return checked.is_secret(name) or name.startswith(_CREDENTIALS) or _LOGINS.search(name) is not None


def _shown(name: str, value: Value) -> str:
    if isinstance(value, tuple) and name.endswith("schema.registry.url"):
        return render(tuple(without_login(url) for url in value))
    return show(name, render(value)) if name.endswith(".url") else render(value)


def _hash(resolved: dict[str, str]) -> str:
    """SHA-256 over the properties that shape the bytes, names or contents of objects, as canonical JSON.

    These are: topics, converters with what they read by, formats with their options, companions, the envelope,
    flush.size, s3.part.size, the partitioner, the parts of keys, what tombstones and bad records do, the size of a
    range, the isolation level (`Property.shapes`). Of a file with a schema it is what the file says. Left out,
    because a plan made under another value yields the same objects: how to reach Kafka, S3 and the registry,
    credentials (secrets always), encryption and ACL, retries, time-outs, tasks.max, the schedule (a plan holds its
    logical time), limits of batches (a plan holds its ranges), where a new topic starts, where dead letters go.
    """
    shaping = {
        name: value
        for name, value in resolved.items()
        if name == READING or (name in catalogue.PROPERTIES and catalogue.PROPERTIES[name].shapes)
    }
    canonical = json.dumps(shaping, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
