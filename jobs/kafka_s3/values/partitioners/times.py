"""Timestamp extractors: the time of each record of a batch, in milliseconds since the epoch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from kafka_s3.avro.model import Branch
from kafka_s3.avro.nodes import Node, Timestamp, Unit
from kafka_s3.joda.timestamps import parse_timestamp
from kafka_s3.joda.zones import Zone
from kafka_s3.records import RecordBatch
from kafka_s3.shown import quoted
from kafka_s3.values.partitioners.fields import Fields, FromStruct, kind_of, time_type
from kafka_s3.values.rows import Missing, Rows

#: A `long` of milliseconds, within which Joda-Time's calendar works.
TIME_MAX_MS: Final = 2**63 - 1
# Stands where a record has no time.
_NONE: Final = 0


@dataclass(frozen=True, slots=True)
class Times:
    """`each`: one time for all records, or one a record; where `i in bad` it means nothing."""

    each: int | Sequence[int]
    bad: Mapping[int, str] = field(default_factory=dict)


class Extractor(Protocol):
    """Tells the records' times. Rows that are excluded will not be written anyway."""

    def __call__(self, batch: RecordBatch, rows: Rows) -> Times: ...


@dataclass(frozen=True, slots=True)
class Wallclock:
    """The run's logical time, the same for every record: the start of the data interval.

    See docs/protocol.md#what-a-plan-pins
    """

    at_ms: int

    def __call__(self, batch: RecordBatch, rows: Rows) -> Times:  # noqa: ARG002
        return Times(self.at_ms)


def record_times(batch: RecordBatch, rows: Rows) -> Times:  # noqa: ARG001
    """Kafka's own timestamp (`Record`)."""
    stamps = batch.timestamps()
    if None not in stamps:
        return Times(stamps)  # type: ignore[arg-type]  # no None is left
    bad = {index: "the record has no timestamp" for index, stamp in enumerate(stamps) if stamp is None}
    return Times([_NONE if stamp is None else stamp for stamp in stamps], bad)


def _in_milliseconds(name: str, node: Node | None) -> FromStruct | None:
    logical = time_type(node)
    if logical is None:
        return None
    if not isinstance(logical, Timestamp):
        missing = Missing(f"field {name} is a {logical}, which is not a timestamp")
        return lambda value: None if value is None else missing
    per_ms = logical.unit.value // Unit.MILLIS.value
    return None if per_ms == 1 else lambda value: None if value is None else value // per_ms


class FieldTimes:
    """A field of the value (`RecordField`): a number of milliseconds, or text as ISO 8601 or digits.

    Where the schema says that it is a timestamp, its unit counts (a difference from the sink, which takes every
    number for milliseconds).
    Numbers with a fraction lose it, as in the sink. Text without an offset is read in `zone`, not in the machine's
    (a difference from the sink).
    """

    def __init__(self, name: str, zone: Zone) -> None:
        self._name = name
        self._zone = zone
        self._read = Fields([name], _in_milliseconds)

    def __call__(self, batch: RecordBatch, rows: Rows) -> Times:
        (column,) = self._read(batch, rows)
        if set(map(type, column)) == {int} and min(column) >= -TIME_MAX_MS and max(column) <= TIME_MAX_MS:
            return Times(column)
        each: list[int] = []
        bad: dict[int, str] = {}
        for index, value in enumerate(column):
            try:
                each.append(self._time(value))
            except ValueError as error:
                each.append(_NONE)
                bad[index] = str(error)
        return Times(each, bad)

    def _time(self, value: Any) -> int:
        match value:
            case Missing():
                raise ValueError(value)
            case bool() | None | list() | dict() | bytes() | Branch():
                raise ValueError(f"field {self._name} is {kind_of(value)}, which is not a time")
            case float() if not math.isfinite(value):
                raise ValueError(f"field {self._name} is {quoted(value)}, which is not a time")
            case str():
                try:
                    at = parse_timestamp(value, self._zone)
                except ValueError as error:
                    raise ValueError(
                        f"field {self._name} is {quoted(value, repr(value[:60]))}, which is not a time: {error}"
                    ) from None
            case _:
                at = int(value)
        if not -TIME_MAX_MS <= at <= TIME_MAX_MS:
            raise ValueError(f"field {self._name} is {quoted(value, str(value)[:40])}, which is out of range")
        return at
