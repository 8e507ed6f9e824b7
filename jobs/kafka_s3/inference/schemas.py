"""The schemas that a plan pins: those of the newest entry, and what a sample has beyond them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kafka_s3.avro.model import Compatibility
from kafka_s3.avro.parse import SchemaError
from kafka_s3.errors import LogDamaged
from kafka_s3.inference.sampling import READERS_MAX, sample_of
from kafka_s3.log.entries import Plan, PlannedRange
from kafka_s3.log.plans import with_schemas
from kafka_s3.ports import RecordSource
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.inference import InferenceSettings, Misfit
from kafka_s3.settings.values import FormatSettings
from kafka_s3.values.converters.inference import REST, Sample, check_inferred, widened

_SHOWN_MAX: Final = 10  # numbers of partitions in a note


@dataclass(frozen=True, slots=True)
class SchemaInference:
    """Reads records by the connector's own Kafka client, one reader after the other."""

    format: FormatSettings
    make_source: Callable[[], RecordSource]

    def __call__(self, plan: Plan, kept: frozenset[str]) -> Plan:
        """The plan with the schema of each topic that it has records of; those of the topics in `kept` are not widened.

        Raises as `sample_of` does, and `LogDamaged` for a schema in the log that is none that is inferred.
        """
        settings = self.format.value.inference
        if settings is None:
            return plan
        ranges: dict[str, list[PlannedRange]] = {}
        for each in plan.ranges:
            if not each.is_copied:
                ranges.setdefault(each.topic, []).append(each)
        schemas: dict[str, str] = {}
        notes: list[str] = []
        for topic, planned in sorted(ranges.items()):
            before = plan.topics[topic].schema_text
            _check(topic, before)
            wanted = before is None or topic not in kept
            readers_max = max(1, READERS_MAX // len(ranges))
            sample = Sample()
            if wanted:
                sample, unread = sample_of(self.make_source(), planned, settings, readers_max, is_needed=before is None)
                if unread:
                    notes.append(_unread_note(topic, unread))
            text = inferred(self.format, settings, before, sample)
            if text != before:
                schemas[topic] = text
                notes.append(_note(topic, before, text))
        return with_schemas(plan, schemas, notes)


def schema_of_values(format: FormatSettings, values: Iterable[bytes | None], *, rest: bool | None = None) -> str:
    """The schema of some values alone, all of them looked at; `rest`: with the column, unless as configured."""
    settings = format.value.inference
    assert settings is not None
    sample = Sample()
    for value in values:
        sample.add(value)
    misfit = settings.misfit if rest is None else Misfit.REST if rest else Misfit.REJECT
    return inferred(format, replace(settings, misfit=misfit), None, sample)


def inferred(format: FormatSettings, settings: InferenceSettings, before: str | None, sample: Sample) -> str:
    """The schema after a sample, as `schema.compatibility` has it: longs become doubles if new readers alone have to
    read all objects, and not if old ones have to."""
    forward = format.compatibility in (Compatibility.FORWARD, Compatibility.FULL)
    rest = settings.misfit is Misfit.REST
    # What is checked here can be read again: one in the log that cannot be would lock the connector.
    return check_inferred(widened(before, sample, longs_become_doubles=not forward, rest=rest)).text


def _check(topic: str, text: str | None) -> None:
    try:
        if text is not None:
            check_inferred(text)
    except SchemaError as error:
        raise LogDamaged(
            f"The log has a schema of topic {topic} that cannot be used: {error}.",
            next="Nothing was written. Restore the newest entry from the bucket's versions or a backup.",
        ) from None


def _note(topic: str, before: str | None, after: str) -> str:
    known, now = _names(before), _names(after)
    count = f"{len(now)} {'field' if len(now) == 1 else 'fields'}"
    if before is None:
        return f"schema of {topic}: inferred, {count}"
    new = len(now - known)
    return f"schema of {topic}: changed, {count}" + (f", {new} of them new" if new else "")


def _unread_note(topic: str, unread: Sequence[TopicPartition]) -> str:
    shown = ", ".join(str(each.partition) for each in unread[:_SHOWN_MAX])
    more = f" and {len(unread) - _SHOWN_MAX} more" if len(unread) > _SHOWN_MAX else ""
    return f"schema of {topic}: these partitions could not be sampled: {shown}{more}"


def _names(text: str | None) -> frozenset[str]:
    fields = [] if text is None else json.loads(text)["fields"]
    return frozenset(each["name"] for each in fields) - {REST}
