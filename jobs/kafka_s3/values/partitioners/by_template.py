"""FieldAndTimePartitioner: a path of fields, headers and times, as a template says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, assert_never

from kafka_s3.joda.printing import Printed
from kafka_s3.records import RecordBatch
from kafka_s3.settings.path_template import (
    HeaderText,
    KafkaPartition,
    KeyField,
    Part,
    Text,
    TimeText,
    TopicName,
    ValueField,
    WholeKey,
)
from kafka_s3.values.partitioners.by_field import FieldParts, as_it_is
from kafka_s3.values.partitioners.fields import FieldReader, Fields
from kafka_s3.values.partitioners.paths import Paths, Unpartitionable
from kafka_s3.values.partitioners.times import Extractor, Times
from kafka_s3.values.rows import Missing, Rows, topics_of

#: One text for all records, or one a record.
_Column = str | list[str]
_NOT_TEXT: Final = "is not UTF-8: a path is made of text"


class TemplatePaths:
    """A `Partitioner` over a template. What has no text is a bad record, and so is a part of the path that is empty.

    Fields as FieldPartitioner takes them, without their names: text, whole numbers, booleans, and null as `null`.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        printer: Callable[[str], Printed],
        extract: Extractor,
        directory_delim: str,
        escape: Callable[[str], str],
    ) -> None:
        self._parts = parts
        self._delim = directory_delim
        self._extract = extract if any(isinstance(part, TimeText) for part in parts) else None
        values = [part.name for part in parts if isinstance(part, ValueField)]
        keys = [part.name for part in parts if isinstance(part, KeyField)]
        self._values = Fields(list(dict.fromkeys(values)), as_it_is) if values else None
        self._keys = FieldReader(list(dict.fromkeys(keys))) if keys else None
        self._value_names, self._key_names = list(dict.fromkeys(values)), list(dict.fromkeys(keys))
        self._texts = [_texts_of(part, escape) for part in parts]
        self._times = [printer(part.pattern) if isinstance(part, TimeText) else None for part in parts]
        self._may_be_empty = _may_be_empty(parts, directory_delim)

    def __call__(self, batch: RecordBatch, rows: Rows) -> Paths:
        times = self._extract(batch, rows) if self._extract is not None else None
        fields: dict[Part, list[Any]] = {}
        if self._values is not None:
            read = self._values(batch, rows)
            fields |= {ValueField(name): column for name, column in zip(self._value_names, read, strict=True)}
        if self._keys is not None:
            read = self._keys(batch.keys(), {})
            fields |= {KeyField(name): column for name, column in zip(self._key_names, read, strict=True)}
        columns = [self._column(number, batch, fields, times) for number in range(len(self._parts))]
        bad = dict(times.bad) if times is not None else {}
        for column in reversed(columns):
            if not isinstance(column, str) and Unpartitionable in set(map(type, column)):
                bad |= {index: part for index, part in enumerate(column) if isinstance(part, Unpartitionable)}
        each = _joined(columns)
        if self._may_be_empty:
            bad = {**self._empty(each, len(batch)), **bad}
        return Paths(each, bad, times.each if times is not None else None)

    def _column(self, number: int, batch: RecordBatch, fields: dict[Part, list[Any]], times: Times | None) -> _Column:
        part, texts = self._parts[number], self._texts[number]
        match part:
            case Text(text):
                return text
            case TopicName():
                return _one(list(topics_of(batch)))
            case KafkaPartition():
                return str(batch.tp.partition)
            case TimeText():
                printed = self._times[number]
                assert printed is not None
                assert times is not None
                return printed(times.each) if isinstance(times.each, int) else _one(printed.all(times.each))
            case ValueField() | KeyField():
                found = fields[part]
            case WholeKey():
                keys = batch.keys()
                found = [_text("the key", key) for key in keys]
            case HeaderText(name):
                found = _header_texts(name, batch)
            case _ as never:
                assert_never(never)
        assert texts is not None
        return texts(found)

    def _empty(self, each: _Column, count: int) -> dict[int, str]:
        """Records of whose path a part is empty: tools that make folders of keys lose such a part."""
        if isinstance(each, str):
            return dict.fromkeys(range(count), _EMPTY) if self._has_empty(each) else {}
        wrong = {path for path in set(each) if self._has_empty(path)}
        return {index: _EMPTY for index, path in enumerate(each) if path in wrong} if wrong else {}

    def _has_empty(self, path: str) -> bool:
        return "" in path.split(self._delim)


_EMPTY: Final = "its path has an empty part: a field, header or key that stands alone between two delimiters is empty"


def _texts_of(part: Part, escape: Callable[[str], str]) -> FieldParts | None:
    match part:
        case ValueField(name):
            return FieldParts(f"field {name}", escape)
        case KeyField(name):
            return FieldParts(f"field {name} of the key", escape)
        case WholeKey():
            return FieldParts("the key", escape)
        case HeaderText(name):
            return FieldParts(f"header {name}", escape)
        case _:
            return None


def _joined(columns: Sequence[_Column]) -> _Column:
    """Text and columns, one after the other."""
    if all(isinstance(column, str) for column in columns):
        return "".join(map(str, columns))
    made = [column for column in columns if not isinstance(column, str)]
    shape = "".join(column.replace("%", "%%") if isinstance(column, str) else "%s" for column in columns)
    return list(map(shape.__mod__, zip(*made, strict=True)))


def _one(texts: list[str]) -> _Column:
    return texts[0] if texts.count(texts[0]) == len(texts) else texts


def _text(what: str, data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return Missing(f"{what} {_NOT_TEXT}")


def _header_texts(name: str, batch: RecordBatch) -> list[Any]:
    """The last header of a name, as Connect's `lastWithName`."""
    missing = Missing(f"header {name} is missing")
    found: list[Any] = []
    for headers in batch.headers():
        value: Any = missing
        for each, data in headers:
            if each == name:
                value = _text(f"header {name}", data)
        found.append(value)
    return found


def _may_be_empty(parts: Sequence[Part], delim: str) -> bool:
    """Whether a part of the path may be nothing but placeholders whose text a record decides."""
    shape = "".join(part.text if isinstance(part, Text) else "" if _is_a_records(part) else "x" for part in parts)
    return "" in shape.split(delim)


def _is_a_records(part: Part) -> bool:
    return isinstance(part, ValueField | KeyField | HeaderText | WholeKey)
