"""Values that transforms made, as rows for a format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kafka_s3.avro.model import Schema
from kafka_s3.settings.converters import Converter
from kafka_s3.settings.formats import DecimalFormat, FileSettings, Format
from kafka_s3.values.converters.fitting import suited
from kafka_s3.values.converters.segmented import segmented
from kafka_s3.values.converters.structs import ValueRows
from kafka_s3.values.rows import ChangedValues, Excluded, Filtered, Lines, Rows, Stage, Tombstone, Unwritable


def changed_rows(changed: ChangedValues, file: FileSettings, left: Mapping[int, Excluded]) -> Rows:
    """The rows; excluded are those that are `left` out, nulls, and what this format has no place for."""
    if changed.segments and file.format is Format.JSON and changed.schemas is None:
        return _with_texts(changed, left)
    if changed.segments and file.format in (Format.JSON, Format.AVRO, Format.PARQUET):
        return _with_segments(changed, file, left)
    values = changed.values
    excluded = dict(left)
    if None in values:
        nulls = (index for index, value in enumerate(values) if value is None and index not in left)
        excluded.update(dict.fromkeys(nulls, Tombstone()))
    match file.format:
        case Format.JSON if changed.schemas is None:
            return _json_lines(values, excluded)
        case Format.JSON:
            rows: Any = ValueRows(_in_json(changed), changed.schemas, excluded)
        case Format.AVRO | Format.PARQUET:
            rows = ValueRows(*_with_schemas(changed, file, excluded), excluded)
            rows = suited(rows, Converter.JSON, file, len(values))
        case _:
            rows = _lines(changed, excluded)
    return rows  # type: ignore[no-any-return]


def _with_segments(changed: ChangedValues, file: FileSettings, left: Mapping[int, Excluded]) -> Rows:
    """Rows that no transform made values of, and those of the other values."""
    count = len(changed.others)
    segments = list(changed.segments)
    excluded = dict(left)
    if sum(len(indexes) for indexes, _ in segments) < count:
        known: set[int] = set().union(*(indexes for indexes, _ in segments))
        schemas = changed.schemas
        each = [schemas] * count if isinstance(schemas, Schema | None) else schemas
        plain = changed.others
        more = changed_rows(
            ChangedValues(each, lambda: plain), file, {**left, **dict.fromkeys(known - left.keys(), Filtered())}
        )
        excluded.update((index, why) for index, why in more.excluded.items() if index not in known)
        others = [index for index in range(count) if index not in more.excluded]
        if others:
            segments.append((others, more.pick(others)))
    rows = segmented(count, segments, excluded)
    return suited(rows, Converter.JSON, file, count)  # type: ignore[no-any-return]


def _with_texts(changed: ChangedValues, left: Mapping[int, Excluded]) -> Lines:
    """Objects that are changed by their text, and those of the other values."""
    from kafka_s3.values.formats.json_rows import lines_of

    count = len(changed.others)
    found = [(indexes, lines_of(rows)) for indexes, rows in changed.segments]
    if len(found) == 1 and len(found[0][0]) == count and not left and found[0][1] is not None:
        return found[0][1]
    lines = [b""] * count
    values = list(changed.others)
    for indexes, (_, rows), (_, made) in zip((each for each, _ in found), changed.segments, found, strict=True):
        if made is None:
            for index, value in zip(indexes, rows.values(None), strict=True):
                values[index] = value
            continue
        for index, line in zip(indexes, made.lines, strict=True):
            lines[index] = line
            values[index] = _WRITTEN
    excluded = dict(left)
    others = []
    for index, value in enumerate(values):
        if value is None:
            excluded.setdefault(index, Tombstone())
        elif value is not _WRITTEN and index not in left:
            others.append(index)
    made_of_values = _json_lines([values[index] for index in others], {})
    for index, line in zip(others, made_of_values.lines, strict=True):
        lines[index] = line
    return Lines(lines, excluded)


def _json_lines(values: Sequence[Any], excluded: dict[int, Excluded]) -> Lines:
    from kafka_s3.values.formats.json_text import as_jackson, is_ready, schemaless

    if excluded:
        values = [None if index in excluded else value for index, value in enumerate(values)]
    ready = [value if is_ready(value) else schemaless(plain(value)) for value in values]
    return Lines(as_jackson(list(map(_ENCODE, ready))), excluded)


def _in_json(changed: ChangedValues) -> Sequence[Any]:
    """Values without a schema, of which there may be some among others, have numbers of Java's own types."""
    if isinstance(changed.schemas, Schema | None):
        return changed.values
    pairs = zip(changed.values, changed.schemas, strict=True)
    return [plain(value) if schema is None else value for value, schema in pairs]


def _with_schemas(
    changed: ChangedValues, file: FileSettings, excluded: Mapping[int, Excluded]
) -> tuple[Sequence[Any], Any]:
    """Values without a schema get AvroData's `Anything` where the format needs one."""
    schemas = changed.schemas
    if file.format is not Format.AVRO or isinstance(schemas, Schema):
        return changed.values, schemas
    from kafka_s3.values.converters.connect_anything import ANYTHING, AnyJson

    if schemas is None:
        each = [None if i in excluded else AnyJson(plain(value)) for i, value in enumerate(changed.values)]
        return each, ANYTHING
    values = [
        value if schema is not None or index in excluded else AnyJson(plain(value)).value()
        for index, (value, schema) in enumerate(zip(changed.values, schemas, strict=True))
    ]
    return values, [ANYTHING if schema is None else schema for schema in schemas]


def _lines(changed: ChangedValues, excluded: dict[int, Excluded]) -> Lines:
    """Bytes as they are, and what has no schema as JSON, for formats that write bytes."""
    from kafka_s3.values.formats.json_text import writer_for

    write = writer_for(None, DecimalFormat.BASE64)
    single = isinstance(changed.schemas, Schema | None)
    lines: list[bytes] = []
    for index, value in enumerate(changed.values):
        schema = changed.schemas if single else changed.schemas[index]  # type: ignore[index]
        if index in excluded:
            lines.append(b"")
        elif isinstance(value, bytes):
            lines.append(value)
        elif schema is None:
            lines += write([plain(value)])
        else:
            excluded[index] = Unwritable("transforms made it no bytes, and its format writes bytes", Stage.TASK_PUT)
            lines.append(b"")
    return Lines(lines, excluded)


def plain(value: Any) -> Any:
    """A value without a schema as JSON has it. Java has more types of numbers than Python; nothing else is copied."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict:
        odd = {name: made for name, each in value.items() if (made := plain(each)) is not each}
        return {**value, **odd} if odd else value
    if kind is list:
        return [plain(each) for each in value]
    if isinstance(value, float):
        from kafka_s3.values.formats.java_numbers import java_float

        text = java_float(float(value))
        return text if value - value != 0 else msgspec.Raw(text.encode())
    return int(value)


#: In the place of a value whose line there is.
_WRITTEN = object()
#: Java's smaller integers are ints of classes of their own.
_ENCODE = msgspec.json.Encoder(enc_hook=int).encode
_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})
