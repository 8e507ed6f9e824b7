"""`export.record.fields` where objects have a schema: each record as one of its fields, of which the value is one.

Keys are text or bytes, headers a map of text in which the last header of a name counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from kafka_s3.avro.graph import avro_of, graph
from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.avro.nodes import Field, Record, held
from kafka_s3.records import RecordBatch
from kafka_s3.settings.converters import Converter
from kafka_s3.settings.record_fields import RecordField, RecordFields
from kafka_s3.settings.values import FormatSettings
from kafka_s3.values.converters.headers import HeaderTexts
from kafka_s3.values.converters.text import java_string
from kafka_s3.values.rows import Excluded, Schemas, Stage, Unwritable, some, topics_of

_WRAPPER: Final = {"type": "record", "name": "Record", "namespace": "kafka_s3"}
_WRAPPER_NAME: Final = "kafka_s3.Record"
_TYPES: Final[Mapping[RecordField, Any]] = {
    RecordField.TOPIC: "string",
    RecordField.PARTITION: "int",
    RecordField.OFFSET: "long",
    RecordField.TIMESTAMP: ["null", "long"],
    RecordField.HEADERS: {"type": "map", "values": ["null", "string"]},
}
#: Schemas around which one was made already; beyond that they are made again, with the same outcome.
_KNOWN_MAX: Final = 1000


@dataclass(frozen=True, slots=True, eq=False)
class _Around(Schema):
    """A schema of records of which `inner` is the value's."""

    inner: Schema | None = None


class RecordStructs:
    """Rows of values with schemas to rows of whole records."""

    def __init__(self, settings: FormatSettings, chosen: RecordFields) -> None:
        self._texts = HeaderTexts(settings.header)
        self._as_text = settings.key.converter is Converter.STRING
        at = chosen.fields.index(RecordField.VALUE)
        self._before = [(field, self._type(field)) for field in chosen.fields[:at]]
        self._behind = [(field, self._type(field)) for field in chosen.fields[at + 1 :]]
        self._known: dict[Schema, Schema | None] = {}

    def __call__(self, batch: RecordBatch, rows: Any) -> RecordRows:
        excluded: dict[int, Excluded] = dict(rows.excluded)
        before, behind = (self._columns(each, batch, excluded) for each in (self._before, self._behind))
        schemas = rows.schemas
        around: Schemas
        if isinstance(schemas, Schema | None):  # None: no row has one, and all are excluded
            around = None if schemas is None else self._around(schemas)
            clashes = list(range(len(batch))) if around is None else []
        else:
            around = [None if inner is None else self._around(inner) for inner in schemas]
            clashes = [index for index, made in enumerate(around) if made is None]
        for index in clashes:
            excluded.setdefault(index, Unwritable(f"its schema has a type {_WRAPPER_NAME} itself", Stage.TASK_PUT))
        return RecordRows(rows, around, excluded, before, behind)

    def _type(self, field: RecordField) -> Any:
        return _TYPES.get(field, ["null", "string" if self._as_text else "bytes"])

    def _around(self, inner: Schema) -> Schema | None:
        """The schema of records around a value's; `None` if that has a type of its name."""
        if inner not in self._known:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            self._known[inner] = self._make(inner)
        made = self._known[inner]
        # One that was made for another that says the same has that one's id.
        return made if made is None or made.id == inner.id else replace(made, id=inner.id)

    def _make(self, inner: Schema) -> Schema | None:
        node = graph(inner)
        if any(each.name == _WRAPPER_NAME for each in held(node)):
            return None
        extra = graph(_extra_schema([*self._before, *self._behind]))
        assert isinstance(extra, Record)
        value = Field(RecordField.VALUE.value, node, {"name": RecordField.VALUE.value})
        count = len(self._before)
        fields = (*extra.fields[:count], value, *extra.fields[count:])
        text = schema_of(avro_of(Record(_WRAPPER_NAME, _WRAPPER, fields=fields))).text
        return _Around(text, inner.id, inner.version, inner)

    def _columns(
        self, fields: Sequence[tuple[RecordField, Any]], batch: RecordBatch, excluded: dict[int, Excluded]
    ) -> Extra:
        columns = [self._column(field, batch, excluded) for field, _ in fields]
        return Extra(_extra_schema(fields), [field.value for field, _ in fields], columns, len(batch))

    def _column(self, field: RecordField, batch: RecordBatch, excluded: dict[int, Excluded]) -> Sequence[Any]:
        match field:
            case RecordField.TOPIC:
                return topics_of(batch)
            case RecordField.PARTITION:
                return [batch.tp.partition] * len(batch)
            case RecordField.OFFSET:
                return [batch.offset_at(index) for index in range(len(batch))]
            case RecordField.TIMESTAMP:
                return batch.timestamps()
            case RecordField.HEADERS:
                return self._headers(batch, excluded)
            case RecordField.KEY if self._as_text:
                return [None if key is None else java_string(key) for key in batch.keys()]  # noqa: SIM118  # no dictionary
            case RecordField.KEY:
                return batch.keys()
            case RecordField.VALUE:
                raise AssertionError("the value stands between the columns")

    def _headers(self, batch: RecordBatch, excluded: dict[int, Excluded]) -> Sequence[Any]:
        made: list[dict[str, str | None]] = []
        for index, texts in enumerate(self._texts(batch.headers())):
            if isinstance(texts, Unwritable):
                excluded.setdefault(index, texts)
                made.append({})
            else:
                made.append({each["key"]: each["value"] for each in texts})
        return made


def _extra_schema(fields: Sequence[tuple[RecordField, Any]]) -> Schema:
    listed = [{"name": field.value, "type": type} for field, type in fields]
    return schema_of({"type": "record", "name": "Fields", "namespace": "kafka_s3", "fields": listed})


@dataclass(frozen=True)
class Extra:
    """Columns of some of a record's fields, beside the value."""

    schema: Schema
    names: Sequence[str]
    columns: Sequence[Sequence[Any]]
    count: int

    def some(self, indexes: Sequence[int]) -> Extra:
        columns = [[column[index] for index in indexes] for column in self.columns]
        return replace(self, columns=columns, count=len(indexes))

    @cached_property
    def values(self) -> list[dict[str, Any]]:
        if not self.columns:
            return [{}] * self.count
        return [dict(zip(self.names, row, strict=True)) for row in zip(*self.columns, strict=True)]

    @cached_property
    def encoded(self) -> Sequence[bytes]:
        from kafka_s3.avro.datums import codec

        return codec(self.schema).encode(self.values) if self.columns else [b""] * self.count

    def arrow(self) -> list[Any]:
        from kafka_s3.avro.arrow import from_values

        return from_values(self.values, self.schema).flatten() if self.columns else []


@dataclass(frozen=True)
class RecordRows:
    """A `rows.Structs` over the values' rows. Each target is a schema around a value's."""

    rows: Any
    schemas: Schemas
    excluded: Mapping[int, Excluded]
    before: Extra
    behind: Extra

    def part(self, start: int, stop: int) -> RecordRows:
        return self._some(self.rows.part(start, stop), range(start, stop))

    def pick(self, indexes: Sequence[int]) -> RecordRows:
        return self._some(self.rows.pick(indexes), indexes)

    def sizes(self) -> Sequence[int]:
        parts = zip(self.rows.sizes(), self.before.encoded, self.behind.encoded, strict=True)
        return [size + len(before) + len(behind) for size, before, behind in parts]

    def datums(self, target: Schema) -> Sequence[bytes]:
        """A record's binary form is that of its fields, one behind the other."""
        parts = zip(self.before.encoded, self.rows.datums(_inner(target)), self.behind.encoded, strict=True)
        return list(map(b"".join, parts))

    def values(self, target: Schema) -> Sequence[Any]:
        parts = zip(self.before.values, self.rows.values(_inner(target)), self.behind.values, strict=True)
        return [{**before, RecordField.VALUE.value: value, **behind} for before, value, behind in parts]

    def arrow(self, target: Schema) -> Any:
        import pyarrow as pa

        from kafka_s3.avro.arrow import arrow_type

        columns = [*self.before.arrow(), self.rows.arrow(_inner(target)), *self.behind.arrow()]
        return pa.StructArray.from_arrays(columns, fields=list(arrow_type(target)))

    def has_columns(self, target: Schema) -> bool:  # noqa: ARG002
        return False

    def has_datums(self, target: Schema) -> bool:
        return self.rows.has_datums(_inner(target))  # type: ignore[no-any-return]

    def column(self, path: tuple[str, ...]) -> Sequence[Any]:
        return self.rows.column(path)  # type: ignore[no-any-return]

    def _some(self, rows: Any, indexes: Sequence[int]) -> RecordRows:
        return RecordRows(rows, some(self.schemas, indexes), {}, self.before.some(indexes), self.behind.some(indexes))


def _inner(target: Schema) -> Schema:
    assert isinstance(target, _Around), "no schema around a value's"
    assert target.inner is not None
    return target.inner
