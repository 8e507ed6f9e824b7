"""What Kafka knows of a record, written into it: its topic, partition, offset, timestamp, key and headers.

`export.envelope` says which of them. They stand behind the record's own fields, under names with a prefix. A value
that is not a record (text, a number, a list) becomes the field `value` of one, and so does a record that holds
records of its own kind.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import msgspec

from kafka_s3.avro.graph import avro_of, graph
from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.avro.nodes import Field, Node, Record, Union, held, holds_itself
from kafka_s3.records import RecordBatch
from kafka_s3.settings.converters import Converter, EnvelopeField
from kafka_s3.settings.formats import FileSettings, Format
from kafka_s3.settings.values import FormatSettings
from kafka_s3.values.converters.connect_types import base64_text
from kafka_s3.values.converters.headers import HeaderTexts
from kafka_s3.values.converters.text import java_string
from kafka_s3.values.rows import (
    ChangedBatch,
    Excluded,
    Lines,
    Rows,
    Schemas,
    Stage,
    Unwritable,
    by_schema,
    some,
    topics_of,
)

#: The field that a value gets which is not a record.
VALUE: Final = "value"
_NAMESPACE: Final = "kafka_s3"
_HEADER: Final = {
    "type": "record",
    "name": "Header",
    "namespace": _NAMESPACE,
    "fields": [{"name": "key", "type": "string"}, {"name": "value", "type": ["null", "string"]}],
}
_HEADER_NAME: Final = f"{_NAMESPACE}.Header"
_WRAPPER: Final = {"type": "record", "name": "Record", "namespace": _NAMESPACE}
_WRAPPER_NAME: Final = f"{_NAMESPACE}.Record"
_TYPES: Final[Mapping[EnvelopeField, Any]] = {
    EnvelopeField.TOPIC: "string",
    EnvelopeField.PARTITION: "int",
    EnvelopeField.OFFSET: "long",
    EnvelopeField.TIMESTAMP: ["null", {"type": "long", "logicalType": "timestamp-millis"}],
    EnvelopeField.KEY: ["null", "string"],
    EnvelopeField.HEADERS: {"type": "array", "items": _HEADER},
}
#: Schemas whose fields are remembered; beyond that they are added again, with the same outcome.
_KNOWN_MAX: Final = 1000
KeyRows = Callable[[RecordBatch, FileSettings], Rows]


@dataclass(frozen=True, slots=True, eq=False)
class _Outer(Schema):
    """A schema with the fields behind it, and the one around which it is; `wraps`: as the field `value`."""

    inner: Schema | None = None
    wraps: bool = False


def _named_as(schema: Schema | None, outer: Schema | None) -> Schema | None:
    """The schema around another one, by that one's id: it was made for the first of those that say the same."""
    if schema is None or outer is None or outer.id == schema.id or outer is _CLASH:
        return outer
    return replace(outer, id=schema.id)


#: Stands in the place of an `_Outer`: the schema has a field of such a name itself.
_CLASH: Final = Schema("")


class KafkaFields:
    """Adds the fields to a batch's rows."""

    def __init__(self, settings: FormatSettings, key_rows: KeyRows) -> None:
        self._settings = settings
        self._key_rows = key_rows
        self._texts = HeaderTexts(settings.header)
        self._names = [f"{settings.envelope.prefix}{each.value}" for each in settings.envelope.fields]
        fields = [
            {"name": name, "type": _TYPES[field]}
            for name, field in zip(self._names, settings.envelope.fields, strict=True)
        ]
        self._extra = schema_of({"type": "record", "name": "Fields", "namespace": _NAMESPACE, "fields": fields})
        self._outer: dict[Schema, Schema] = {}
        self._structure = msgspec.defstruct(
            "Fields",
            [(each.name, Any) for each in settings.envelope.fields],
            rename={each.name: name for each, name in zip(settings.envelope.fields, self._names, strict=True)},
        )
        self._encoder = msgspec.json.Encoder()

    def __call__(self, batch: RecordBatch, rows: Any) -> Rows:
        excluded: dict[int, Excluded] = dict(rows.excluded)
        columns = [self._column(field, batch, excluded) for field in self._settings.envelope.fields]
        if isinstance(rows, Lines):
            return self._in_lines(rows, columns, excluded)
        schemas, count = rows.schemas, len(batch)
        is_single = isinstance(schemas, Schema | None)
        made = {each: None if each is None else self._around(each) for each in ({schemas} if is_single else {*schemas})}
        clash: list[int] = []
        if _CLASH in made.values():
            clash += [index for index in range(count) if made[schemas if is_single else schemas[index]] is _CLASH]
        if None in made:
            clash += self._clashing_values(rows, count)
        for index in clash:
            excluded.setdefault(index, self._clash())
        outer: Schemas = (
            _named_as(schemas, made[schemas]) if is_single else [_named_as(each, made[each]) for each in schemas]
        )
        return WithFields(rows, outer, excluded, columns, self._names, self._extra)

    def _clash(self) -> Unwritable:
        names = ", ".join(self._names)
        reason = f"it has a field itself that export.envelope adds ({names}): set another export.envelope.prefix"
        return Unwritable(reason, Stage.TASK_PUT)

    def _around(self, schema: Schema) -> Schema:
        """The schema with the fields behind it, if it has none of that name."""
        found = self._outer.get(schema)
        if found is None:
            if len(self._outer) >= _KNOWN_MAX:
                self._outer.clear()
            found = self._outer[schema] = self._make(schema)
        return found

    def _make(self, schema: Schema) -> Schema:
        node, extra = graph(schema), graph(self._extra)
        assert isinstance(extra, Record)
        defined = {each.name: each.properties for each in held(node)}
        # What was exported with fields before has headers of its own, whose type is written once.
        if defined.get(_HEADER_NAME, _HEADER) != _HEADER:
            return _CLASH
        own = _record_in(node)
        if own is None:
            if _WRAPPER_NAME in defined:
                return _CLASH
            value = Field(VALUE, node, {"name": VALUE})
            made = Record(_WRAPPER_NAME, _WRAPPER, fields=(value, *extra.fields))
        elif any(own.field(name) for name in self._names):
            return _CLASH
        else:
            made = replace(own, fields=(*own.fields, *extra.fields))
        return _Outer(schema_of(avro_of(made)).text, schema.id, schema.version, schema, wraps=own is None)

    def _clashing_values(self, rows: Any, count: int) -> list[int]:
        """The rows without a schema that have one of the fields themselves."""
        return [
            index
            for indexes, part in by_schema(rows, count)
            if part.schemas is None
            for index, value in zip(indexes, part.values(None), strict=True)
            if isinstance(value, dict) and not value.keys().isdisjoint(self._names)
        ]

    def _column(self, field: EnvelopeField, batch: RecordBatch, excluded: dict[int, Excluded]) -> Sequence[Any]:
        match field:
            case EnvelopeField.TOPIC:
                return topics_of(batch)
            case EnvelopeField.PARTITION:
                return [batch.tp.partition] * len(batch)
            case EnvelopeField.OFFSET:
                return [batch.offset_at(index) for index in range(len(batch))]
            case EnvelopeField.TIMESTAMP:
                return batch.timestamps()
            case EnvelopeField.HEADERS:
                return self._headers(batch, excluded)
            case EnvelopeField.KEY:
                return self._keys(batch, excluded)

    def _headers(self, batch: RecordBatch, excluded: dict[int, Excluded]) -> Sequence[Any]:
        made = self._texts(batch.headers())
        for index, texts in enumerate(made):
            if isinstance(texts, Unwritable):
                excluded.setdefault(index, texts)
                made[index] = []
        return made

    def _keys(self, batch: RecordBatch, excluded: dict[int, Excluded]) -> Sequence[str | None]:
        """Keys as text: text as it is, bytes in base64, all else as JSON."""
        converter = self._settings.key.converter
        is_changed = isinstance(batch, ChangedBatch) and batch.key is not None
        if not is_changed and converter in (Converter.STRING, Converter.BYTE_ARRAY):
            text = java_string if converter is Converter.STRING else base64_text
            return [None if key is None else text(key) for key in batch.keys()]  # noqa: SIM118  # no dictionary
        rows = self._key_rows(batch, FileSettings(Format.JSON))
        keys: list[str | None] = [None] * len(batch)
        for index, why in rows.excluded.items():
            if isinstance(why, Unwritable):
                excluded.setdefault(index, Unwritable(f"its key: {why.reason}", Stage.KEY_CONVERTER))
        for indexes, part in by_schema(rows, len(batch)):
            for index, line in zip(indexes, _json_lines(part), strict=True):
                keys[index] = line.decode()
        return keys

    def _in_lines(self, rows: Lines, columns: Sequence[Sequence[Any]], excluded: dict[int, Excluded]) -> Lines:
        # All at C speed: a structure of each record's fields, and each as a line of JSON.
        tails = self._encoder.encode_lines(list(map(self._structure, *columns))).split(b"\n")
        for index in self._suspects(rows):
            if index not in excluded and self._has_one(rows.lines[index]):
                excluded[index] = self._clash()
        lines = list(map(_with_tail, rows.lines, tails))
        for index in excluded:
            lines[index] = b""
        return Lines(lines, excluded)

    def _suspects(self, rows: Lines) -> Sequence[int]:
        """The lines that may have one of the fields: its name is somewhere in them, or an escape that may spell it."""
        # What all names begin with is in most batches nowhere.
        signs = (self._settings.envelope.prefix.encode(), b"\\u")
        joined = rows.joined if rows.joined is not None else b"\n".join(rows.lines)
        if not any(sign in joined for sign in signs):
            return ()
        return [index for index, line in enumerate(rows.lines) if any(sign in line for sign in signs)]

    def _has_one(self, line: bytes) -> bool:
        try:
            value = msgspec.json.decode(line)
        except msgspec.DecodeError:  # JSON that only the standard library takes, as the converter found
            value = json.loads(line)
        return isinstance(value, dict) and not value.keys().isdisjoint(self._names)


def _with_tail(line: bytes, tail: bytes) -> bytes:
    """A JSON value with the fields of a JSON object behind its own."""
    plain = line.strip()
    if not plain.startswith(b"{"):
        return b'{"%b":%b,%b' % (VALUE.encode(), plain, tail[1:])
    own = plain[1:-1].strip()
    return b"{%b,%b" % (own, tail[1:]) if own else tail


def _inner(target: Schema) -> Schema:
    assert isinstance(target, _Outer), "no schema that has the fields"
    assert target.inner is not None
    return target.inner


def _wraps(target: Schema) -> bool:
    return isinstance(target, _Outer) and target.wraps


def _json_lines(rows: Any) -> Sequence[bytes]:
    if isinstance(rows, Lines):
        return rows.lines
    from kafka_s3.settings.formats import DecimalFormat
    from kafka_s3.values.formats.json_datums import row_writer

    return row_writer(rows.schemas, DecimalFormat.BASE64)(rows)


@dataclass(frozen=True)
class WithFields:
    """A `rows.Structs` over others, with the fields behind theirs. Each target is an `_Outer`."""

    rows: Any
    schemas: Schemas
    excluded: Mapping[int, Excluded]
    columns: Sequence[Sequence[Any]]
    names: Sequence[str]
    extra: Schema

    def part(self, start: int, stop: int) -> WithFields:
        return self._some(self.rows.part(start, stop), range(start, stop))

    def pick(self, indexes: Sequence[int]) -> WithFields:
        return self._some(self.rows.pick(indexes), indexes)

    def sizes(self) -> Sequence[int]:
        return [size + len(more) for size, more in zip(self.rows.sizes(), self._encoded, strict=True)]

    def datums(self, target: Schema) -> Sequence[bytes]:
        """A record's binary form is that of its fields, one behind the other."""
        inner: Sequence[bytes] = self.rows.datums(_inner(target))
        if isinstance(graph(_inner(target)), Union) and not _wraps(target):
            inner = [datum[1:] for datum in inner]  # which branch it is, of two
        return [datum + more for datum, more in zip(inner, self._encoded, strict=True)]

    def values(self, target: Schema | None) -> Sequence[Any]:
        return self._with_fields(self.rows.values(None if target is None else _inner(target)), target)

    def long_values(self, target: Schema) -> Sequence[Any]:
        return self._with_fields(self.rows.long_values(_inner(target)), target)

    def _with_fields(self, inner: Sequence[Any], target: Schema | None) -> Sequence[Any]:
        wraps = target is not None and _wraps(target)
        return [
            {**({VALUE: value} if wraps or not isinstance(value, dict) else value), **more}
            for value, more in zip(inner, self._values, strict=True)
        ]

    def arrow(self, target: Schema) -> Any:
        import pyarrow as pa

        from kafka_s3.avro.arrow import arrow_type, from_values

        inner = self.rows.arrow(_inner(target))
        mine = from_values(self._values, self.extra)
        own = [inner] if _wraps(target) else inner.flatten()
        return pa.StructArray.from_arrays([*own, *mine.flatten()], fields=list(arrow_type(target)))

    def has_columns(self, target: Schema) -> bool:  # noqa: ARG002
        return False

    def has_datums(self, target: Schema) -> bool:
        return self.rows.has_datums(_inner(target))  # type: ignore[no-any-return]

    def column(self, path: tuple[str, ...]) -> Sequence[Any]:
        if path[0] in self.names and len(path) == 1:
            return self.columns[self.names.index(path[0])]
        return self.rows.column(path)  # type: ignore[no-any-return]

    def _some(self, rows: Any, indexes: Sequence[int]) -> WithFields:
        columns = [[column[index] for index in indexes] for column in self.columns]
        return WithFields(rows, some(self.schemas, indexes), {}, columns, self.names, self.extra)

    @cached_property
    def _values(self) -> list[dict[str, Any]]:
        return [dict(zip(self.names, row, strict=True)) for row in zip(*self.columns, strict=True)]

    @cached_property
    def _encoded(self) -> Sequence[bytes]:
        from kafka_s3.avro.datums import codec

        return codec(self.extra).encode(self._values)


def _record_in(node: Node) -> Record | None:
    """The record that a value is and that takes more fields; a union with null is one too, since a value that is null
    is a tombstone. One that holds itself is none: each of those within would need the fields."""
    record = node.required
    return record if isinstance(record, Record) and not holds_itself(record) else None
