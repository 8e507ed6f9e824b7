"""Rows over Python values; other forms are made of them when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_s3.avro.fields import NoField, field_reader
from kafka_s3.avro.model import Schema
from kafka_s3.avro.project import projector, unchanged
from kafka_s3.values.rows import Excluded, Missing, Schemas, some


class Held:
    """A value in a form that takes less memory than a plain value; all values of its schema in a batch are held so."""

    __slots__ = ()

    def datum(self) -> bytes:
        raise NotImplementedError

    def value(self) -> Any:
        raise NotImplementedError

    def field(self, path: tuple[str, ...]) -> Any:
        """What stands at the end of a path, None below a null; `NoField` if there is no such field."""
        raise NotImplementedError


class ValueRows:
    """A `Structs` of plain values, or of `Held` ones. Excluded rows hold anything.

    `sizes`: how many bytes each row stands for; where they are not given, those of its Avro form are. Rows without a
    schema have values of their converter's own kind, which `values(None)` hands back.
    """

    def __init__(
        self,
        values: Sequence[Any],
        schemas: Schemas,
        excluded: Mapping[int, Excluded] | None = None,
        sizes: Sequence[int] | None = None,
    ) -> None:
        self._values = values
        self._sizes = sizes
        self.schemas = schemas
        self.excluded: Mapping[int, Excluded] = excluded or {}

    def part(self, start: int, stop: int) -> ValueRows:
        if start == 0 and stop == len(self._values) and not self.excluded and _is_single(self.schemas):
            return self
        sizes = None if self._sizes is None else self._sizes[start:stop]
        return ValueRows(self._values[start:stop], some(self.schemas, range(start, stop)), sizes=sizes)

    def pick(self, indexes: Sequence[int]) -> ValueRows:
        if len(indexes) == len(self._values) and not self.excluded and _is_single(self.schemas):
            return self
        sizes = None if self._sizes is None else [self._sizes[index] for index in indexes]
        return ValueRows([self._values[index] for index in indexes], some(self.schemas, indexes), sizes=sizes)

    def sizes(self) -> Sequence[int]:
        if self._sizes is None:
            self._sizes = [
                0 if index in self.excluded else len(repr(value)) if schema is None else len(self._own(value, schema))
                for index, (value, schema) in enumerate(zip(self._values, self._each_schema(), strict=True))
            ]
        return self._sizes

    def datums(self, target: Schema) -> Sequence[bytes]:
        from kafka_s3.avro.datums import codec

        if self._are_held() and projector(self._schema(), target) is unchanged:
            return [value.datum() for value in self._values]
        return codec(target).encode(self.values(target))

    def values(self, target: Schema | None) -> Sequence[Any]:
        if target is None or self.schemas is None or not self._values:
            return self._values
        project = projector(self._schema(), target)
        values = self._values
        if self._are_held():
            values = [value.value() if isinstance(value, Held) else value for value in values]
        return values if project is unchanged else [project(value) for value in values]

    def _are_held(self) -> bool:
        return isinstance(next((each for each in self._values if not isinstance(each, Excluded)), None), Held)

    def long_values(self, target: Schema) -> Sequence[Any]:
        return self.values(target)

    def arrow(self, target: Schema) -> Any:
        from kafka_s3.avro.arrow import from_values

        return from_values(self.values(target), target)

    def has_columns(self, target: Schema) -> bool:  # noqa: ARG002
        return False

    def has_datums(self, target: Schema) -> bool:  # noqa: ARG002
        return False

    def column(self, path: tuple[str, ...]) -> Sequence[Any]:
        readers = {schema: field_reader(schema, path) for schema in set(self._each_schema()) if schema is not None}
        found: list[Any] = []
        for index, (value, schema) in enumerate(zip(self._values, self._each_schema(), strict=True)):
            if schema is None or index in self.excluded:
                found.append(Missing(f"field {'.'.join(path)}: the value has no schema"))
                continue
            try:
                found.append(value.field(path) if isinstance(value, Held) else readers[schema](value))
            except NoField as error:
                found.append(Missing(str(error)))
        return found

    def _each_schema(self) -> Sequence[Schema | None]:
        if isinstance(self.schemas, Schema | None):
            return [self.schemas] * len(self._values)
        return self.schemas

    def _schema(self) -> Schema:
        """The schema that all rows have."""
        assert isinstance(self.schemas, Schema), "only rows of one schema have another form"
        return self.schemas

    @staticmethod
    def _own(value: Any, schema: Schema) -> bytes:
        from kafka_s3.avro.datums import codec

        return codec(schema).encode([value])[0]


def _is_single(schemas: Schemas) -> bool:
    return isinstance(schemas, Schema | None)
