"""JSON without an envelope, read by a schema that the user gives (`export.value.schema.file`).

The hot path decodes a batch at C speed into types that are made of the schema (`typed_forms`). A value that they do
not take is read again by itself (`typed_values`), which says why, or takes it after all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any, Protocol

import msgspec

from kafka_s3.avro.defaults import check_defaults
from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import Node, Union
from kafka_s3.avro.parse import SchemaError, parse_avro
from kafka_s3.errors import ConfigurationError, Problem
from kafka_s3.settings.converters import ConverterSettings
from kafka_s3.shown import plain
from kafka_s3.values.converters.json_limits import TOO_MANY, VALUES_MAX, has_too_many, is_too_deep
from kafka_s3.values.converters.structs import ValueRows
from kafka_s3.values.converters.typed_forms import Form, Forms
from kafka_s3.values.converters.typed_values import VALUE_NESTING_MAX, NotTyped, Reader, parse
from kafka_s3.values.converters.typed_weight import Weights
from kafka_s3.values.rows import Excluded, Tombstone, Unwritable


def typed_json(settings: ConverterSettings, *, columns: bool = False) -> TypedJson:
    """The converter of a configuration with a schema; `ConfigurationError` if it is none.

    A file has no versions, so its schema is version 1: every `schema.compatibility` takes it.
    """
    assert settings.schema_text is not None
    try:
        return TypedJson(parse_avro(settings.schema_text, version=1), columns=columns)
    except SchemaError as error:
        problem = Problem("export.value.schema.file", None, plain(str(error), content=True))
        raise ConfigurationError("The schema that values are read by cannot be used:", problems=[problem]) from None


class ReadsParsed(Protocol):
    """Reads what `parse` made."""

    def read(self, parsed: Any) -> Any:
        """The plain value, or `NotTyped`."""


class TypedJson:
    """Values to rows of one schema. `SchemaError` if a default of the schema is none of its type.

    A missing value, and one that is just `null`, is a tombstone, as for Connect's JsonConverter.
    `columns`: the values become columns.
    """

    def __init__(self, schema: Schema, *, columns: bool = False) -> None:
        self.schema = schema
        node = graph(schema)
        check_defaults(node)
        self._nullable = node.nullable
        self._form = self._forms().of(node, "")
        self._reader = self._reader_of(node)
        self._weights = Weights(node, columns)
        self._decode = msgspec.json.Decoder(self._form.type).decode

    def _forms(self) -> Forms:
        return Forms()

    def _reader_of(self, node: Node) -> ReadsParsed:
        """What reads a value where its type does not."""
        return Reader(node)

    def _may_change(self, text: bytes) -> bool:  # noqa: ARG002  # of subclasses
        """Whether decoding values, one or several, may make others of them than they are."""
        return False

    def __call__(self, values: Sequence[bytes | None]) -> TypedRows:
        try:
            sizes = list(map(len, values))  # type: ignore[arg-type]  # None raises TypeError
            longest = max(sizes, default=0)
            if longest > VALUES_MAX:
                return self._each(values)
            if longest > self._weights.length_max and any(map(self._weights.may_be_heavy, values)):  # type: ignore[arg-type]
                return self._each(values)
            found = list(map(self._decode, values))  # type: ignore[arg-type]
            joined = b"".join(values)  # type: ignore[arg-type]
            # What the schema does not have is passed over without a look at its encoding.
            is_plain = (joined.isascii() or _is_utf8(values)) and not _may_be_deep(sizes, values)
            if is_plain and not self._may_change(joined):
                self._form.settle_all(found)
                if not (self._nullable and None in found):
                    return TypedRows(self.schema, self._form, found, sizes)
        except (msgspec.DecodeError, UnicodeDecodeError, TypeError, RecursionError, NotTyped):
            pass
        return self._each(values)

    def _each(self, values: Sequence[bytes | None]) -> TypedRows:
        found: list[Any] = []
        excluded: dict[int, Excluded] = {}
        for index, value in enumerate(values):
            made = Tombstone() if value is None else self._one(value)
            if isinstance(made, Tombstone | Unwritable):
                excluded[index] = made
                made = None
            found.append(made)
        return TypedRows(self.schema, self._form, found, [len(value or b"") for value in values], excluded)

    def _one(self, value: bytes) -> Any:
        if is_too_deep(value, VALUE_NESTING_MAX):
            return Unwritable(f"not JSON that a schema can have: nested more than {VALUE_NESTING_MAX} levels deep")
        if has_too_many(value):
            return Unwritable(TOO_MANY)
        try:
            if self._weights.may_be_heavy(value) and (problem := self._weights.problem(value, parse(value))):
                return Unwritable(problem)
            if (value.isascii() or _is_utf8([value])) and not self._may_change(value):
                made = self._decode(value)
                settle = self._form.settle
                made = made if made is None or settle is None else settle(made)
                return Tombstone() if made is None else made
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, NotTyped):
            pass
        try:
            parsed = parse(value)
            if parsed is None:
                return Tombstone()
            plain = self._reader.read(parsed)
        except NotTyped as error:
            return Unwritable(str(error))
        except RecursionError:  # a caller has left less of the stack than VALUE_NESTING_MAX takes
            return Unwritable("nested too deeply")
        return plain if self._form.of_plain is None else self._form.of_plain(plain)


def _is_utf8(values: Sequence[bytes | None]) -> bool:
    try:
        for value in values:
            value.decode("utf-8")  # type: ignore[union-attr]  # the caller has seen that there is no None
    except UnicodeDecodeError:
        return False
    return True


def _may_be_deep(sizes: Sequence[int], values: Sequence[bytes | None]) -> bool:
    if max(sizes, default=0) < 2 * VALUE_NESTING_MAX:
        return False
    long = compress(values, [size >= 2 * VALUE_NESTING_MAX for size in sizes])
    return any(value.count(b"[") + value.count(b"{") > VALUE_NESTING_MAX for value in long if value is not None)


class TypedRows:
    """A `Structs` of decoded values: records are objects with attributes, and become dictionaries where asked for."""

    def __init__(
        self,
        schema: Schema,
        form: Form,
        found: Sequence[Any],
        sizes: Sequence[int],
        excluded: Mapping[int, Excluded] | None = None,
    ) -> None:
        self.schemas = schema
        self.excluded: Mapping[int, Excluded] = excluded or {}
        self._form = form
        self._found = found
        self._sizes = sizes

    def part(self, start: int, stop: int) -> TypedRows:
        if start == 0 and stop == len(self._found) and not self.excluded:
            return self
        return TypedRows(self.schemas, self._form, self._found[start:stop], self._sizes[start:stop])

    def pick(self, indexes: Sequence[int]) -> TypedRows:
        found, sizes = self._found, self._sizes
        return TypedRows(self.schemas, self._form, [found[each] for each in indexes], [sizes[each] for each in indexes])

    def sizes(self) -> Sequence[int]:
        """Those of the JSON that the rows came as."""
        return self._sizes

    def datums(self, target: Schema) -> Sequence[bytes]:
        return self._plain_rows().datums(target)

    def values(self, target: Schema) -> Sequence[Any]:
        return self._plain_rows().values(target)

    def long_values(self, target: Schema) -> Sequence[Any]:
        return self.values(target)

    def arrow(self, target: Schema) -> Any:
        if target.text != self.schemas.text:
            return self._plain_rows().arrow(target)
        from kafka_s3.avro.arrow import arrow_type

        return self._form.array(self._found, arrow_type(target))

    def has_columns(self, target: Schema) -> bool:  # noqa: ARG002
        return False  # its values are at hand already

    def has_datums(self, target: Schema) -> bool:  # noqa: ARG002
        return False

    def column(self, path: tuple[str, ...]) -> Sequence[Any]:
        node: Node = self._form.node
        form: Form | None = self._form
        column = list(self._found)
        for name in path:
            inner = None if form is None or form.fields is None else form.fields.get(name)
            if inner is None:  # not a record here, or without such a field
                return self._plain_rows().column(path)
            attribute, form = inner
            column = [None if each is None else getattr(each, attribute) for each in column]
            node = form.node
        if form is None or (isinstance(node, Union) and node.optional is None):
            return self._plain_rows().column(path)
        return form.plain_all(column)

    def _plain_rows(self) -> ValueRows:
        form = self._form
        plain = (
            form.plain_all(self._found)
            if not self.excluded
            else [
                None if index in self.excluded else form.plain_all([each])[0] for index, each in enumerate(self._found)
            ]
        )
        return ValueRows(plain, self.schemas, self.excluded, self._sizes)
