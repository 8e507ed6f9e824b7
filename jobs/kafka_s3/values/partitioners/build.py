"""Settings to a partitioner."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from kafka_s3.avro.model import Schema
from kafka_s3.joda.buckets import Bucketer
from kafka_s3.joda.printing import Printed
from kafka_s3.joda.zones import zone
from kafka_s3.naming import Naming, block_partition
from kafka_s3.records import RecordBatch
from kafka_s3.settings.model import Settings
from kafka_s3.settings.paths import (
    DefaultPartitioner,
    FieldPartitioner,
    FieldTime,
    RecordTime,
    RunTime,
    SchemaAffix,
    TemplatePartitioner,
    TimePartitioner,
)
from kafka_s3.settings.properties import UserDefined
from kafka_s3.values.partitioners.by_field import FieldPaths
from kafka_s3.values.partitioners.by_template import TemplatePaths
from kafka_s3.values.partitioners.by_time import TimePaths
from kafka_s3.values.partitioners.paths import FittingKeys, Partitioner, Paths, escape_for
from kafka_s3.values.partitioners.times import Extractor, FieldTimes, Wallclock, record_times
from kafka_s3.values.partitioners.user_defined import UserDefinedPaths, UserDefinedTimes
from kafka_s3.values.rows import Rows


def partitioner_for(settings: Settings, at_ms: int, extension: str) -> Partitioner:
    """How records of this connector get their paths in a run of the logical time `at_ms`."""
    partitioner = _configured(settings, at_ms)
    if settings.schema_affix is not SchemaAffix.NONE:
        delim = settings.layout.directory_delim
        partitioner = WithSchemaName(partitioner, settings.schema_affix, delim, escape_for(delim))
    return FittingKeys(partitioner, settings.layout, extension)


def default_paths(batch: RecordBatch, rows: Rows) -> Paths:  # noqa: ARG001
    """`partition=<kafka partition>`."""
    return Paths(f"partition={batch.tp.partition}")


@dataclass(frozen=True, slots=True)
class OnePath:
    """The same path for every record."""

    path: str

    def __call__(self, batch: RecordBatch, rows: Rows) -> Paths:  # noqa: ARG002
        return Paths(self.path)


@dataclass(frozen=True, slots=True)
class WithSchemaName:
    """Puts the name of the value's schema before or after the path; a value without a schema has `null`."""

    inner: Partitioner
    affix: SchemaAffix
    delim: str
    escape: Callable[[str], str]

    def __call__(self, batch: RecordBatch, rows: Rows) -> Paths:
        paths, schemas = self.inner(batch, rows), rows.schemas
        if isinstance(paths.each, str) and isinstance(schemas, Schema | None):
            return Paths(self._with(paths.each, schemas), paths.bad, paths.times)
        each = itertools.repeat(paths.each) if isinstance(paths.each, str) else paths.each
        theirs = itertools.repeat(schemas) if isinstance(schemas, Schema | None) else schemas
        pairs = list(itertools.islice(zip(each, theirs, strict=False), len(batch)))
        made = {pair: self._with(*pair) for pair in set(pairs)}
        return Paths(list(map(made.__getitem__, pairs)), paths.bad, paths.times)

    def _with(self, path: str, schema: Schema | None) -> str:
        name = f"schema_name={self.escape((schema.name if schema else None) or 'null')}"
        parts = (name, path) if self.affix is SchemaAffix.PREFIX else (path, name)
        return self.delim.join(parts)


def _configured(settings: Settings, at_ms: int) -> Partitioner:
    delim = settings.layout.directory_delim
    if settings.layout.naming is Naming.BLOCK_GZIP:
        return OnePath(block_partition(at_ms))
    match settings.partitioner:
        case DefaultPartitioner():
            return default_paths
        case FieldPartitioner(names):
            return FieldPaths(names, delim, escape_for(delim))
        case TimePartitioner() as by_time:
            bucketer = Bucketer(by_time.duration_ms, by_time.path_format, zone(by_time.timezone), by_time.locale)
            return TimePaths(bucketer, _extractor(settings, by_time, at_ms))
        case TemplatePartitioner(()):
            return OnePath("")
        case TemplatePartitioner() as by_template:
            in_zone, locale = zone(by_template.timezone), by_template.locale
            return TemplatePaths(
                by_template.parts,
                lambda pattern: Printed(pattern, in_zone, locale),
                _extractor(settings, by_template, at_ms),
                delim,
                escape_for(delim),
            )
        case UserDefined(path):
            return UserDefinedPaths(path, settings.resolved)
        case _ as never:
            assert_never(never)


def _extractor(settings: Settings, by_time: TimePartitioner | TemplatePartitioner, at_ms: int) -> Extractor:
    match by_time.extractor:
        case RunTime():
            return Wallclock(at_ms)
        case RecordTime():
            return record_times
        case FieldTime(name):
            return FieldTimes(name, zone(by_time.timezone))
        case UserDefined(path):
            return UserDefinedTimes(path, settings.resolved)
        case _ as never:
            assert_never(never)
