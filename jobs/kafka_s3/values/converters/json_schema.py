"""JSON as a schema registry's serializers write it under a JSON Schema: a zero byte, a schema's id in four bytes, JSON
text.

Each schema becomes a Connect schema once (`json_schema_connect`); its values are read as an envelope's payloads are.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from kafka_s3.avro.model import Schema
from kafka_s3.json_schema.load import Schemas
from kafka_s3.json_schema.options import Options
from kafka_s3.json_schema.shapes import JsonSchemaError
from kafka_s3.ports import RegisteredSchema, SchemaRegistry
from kafka_s3.settings.registry import SubjectNames
from kafka_s3.shown import named, quoted
from kafka_s3.values.converters.avro_group import shown
from kafka_s3.values.converters.connect_avro import avro_schema
from kafka_s3.values.converters.connect_fast import decoder
from kafka_s3.values.converters.connect_schema import ConnectSchema, InvalidSchema
from kafka_s3.values.converters.connect_values import parse, reader
from kafka_s3.values.converters.connect_weight import Weigher
from kafka_s3.values.converters.envelope import checked, one_for_all
from kafka_s3.values.converters.json_limits import is_too_deep
from kafka_s3.values.converters.json_schema_connect import connect_schema
from kafka_s3.values.converters.structs import ValueRows
from kafka_s3.values.rows import Excluded, Stage, Tombstone, Unwritable

_HEAD: Final = 5
_ID_MAX: Final = 2**31 - 1
#: What is kept of schemas, in characters of them; beyond it all are looked up anew.
_KNOWN_MAX: Final = 10_000
_CHARS_MAX: Final = 32 * 1024 * 1024
#: A schema's text may be this long, and that of all it refers to.
TEXT_CHARS_MAX: Final = 4 * 1024 * 1024
#: Brackets of a value within each other, where its schema may hold itself.
NESTING_MAX: Final = 100
_UNUSABLE: Final = (msgspec.DecodeError, RecursionError, KeyError, InvalidSchema, UnicodeDecodeError)


class _Known:
    """What was made of one schema. `InvalidSchema` where nothing can be."""

    def __init__(self, id: int, version: int | None, connect: ConnectSchema, columns: bool) -> None:
        schema = avro_schema(connect)
        self.id = id
        self.schema = Schema(schema.text, id, version)
        self.decode = decoder(connect, fill=True)
        self._read = reader(connect, fill=True)
        self._weigher = Weigher(connect, columns)
        #: A payload of no more bytes than this cannot become more than is allowed.
        self.length_max = self._weigher.length_max

    def value(self, payload: bytes) -> Any:
        """The plain value of a payload, `None` for null; `InvalidSchema` with the reason if it has none."""
        payload = _checked(payload)
        parsed = None
        if len(payload) > self.length_max and self._weigher.may_be_heavy(payload):
            parsed = parse(payload)
            problem = self._weigher.problem(payload, parsed)
            if problem is not None:
                raise InvalidSchema(problem)
        if self.decode is not None:
            try:
                return self.decode(payload)
            except _UNUSABLE:
                pass  # the reader says why, or knows better
        return self._read(parse(payload) if parsed is None else parsed)


def _checked(payload: bytes) -> bytes:
    """The payload itself, if it may be decoded: also what a decoder skips is nested no deeper than the rest."""
    payload = checked(payload)
    if is_too_deep(payload, NESTING_MAX):
        raise InvalidSchema(f"nested more than {NESTING_MAX} levels deep")
    return payload


class JsonSchemaValues:
    """The values, or keys, of one topic (JsonSchemaConverter).

    Registry errors end a batch; what a record alone is to blame for makes it `Unwritable`. `columns`: the values become
    columns.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        subject_names: SubjectNames,
        topic: str,
        options: Options,
        *,
        key: bool,
        columns: bool = False,
    ) -> None:
        self._registry = registry
        self._subject_names = subject_names
        self._topic = topic
        self._options = options
        self._key = key
        self._columns = columns
        self._stage = Stage.KEY_CONVERTER if key else Stage.VALUE_CONVERTER
        self._known: dict[bytes, _Known | str] = {}
        self._known_chars = 0

    def __call__(self, values: Sequence[bytes | None]) -> ValueRows:
        plain: list[Any] = []
        schemas: list[Schema | None] = []
        excluded: dict[int, Excluded] = {}
        last: _Known | None = None
        head, length_max, decode = b"", 0, None
        for index, value in enumerate(values):
            if decode is not None and value is not None and value.startswith(head) and len(value) <= length_max:
                assert last is not None
                try:
                    plain.append(decode(_checked(value[_HEAD:])))
                    schemas.append(last.schema)
                    continue
                except _UNUSABLE:
                    pass  # the other way says why, or knows better
            made = Tombstone() if value is None else self._one(value)
            if value is not None and isinstance(found := self._known.get(value[:_HEAD]), _Known):
                last, head, decode, length_max = found, value[:_HEAD], found.decode, _HEAD + found.length_max
            if isinstance(made, Tombstone | Unwritable):
                excluded[index] = made
                schemas.append(None)
            else:
                assert last is not None
                schemas.append(last.schema)
            plain.append(made)
        sizes = [0 if value is None else max(len(value) - _HEAD, 0) for value in values]
        return ValueRows(plain, one_for_all(schemas, excluded), excluded, sizes)

    def _one(self, value: bytes) -> Any:
        """A plain value, or why there is none."""
        found = self._of(value[:_HEAD])
        if isinstance(found, str):
            return Unwritable(f"{found} ({shown(value)})", self._stage)
        try:
            made = found.value(value[_HEAD:].removeprefix(codecs.BOM_UTF8))
        except InvalidSchema as refused:
            text = f"not a value of the schema of the id {found.id}: {refused} ({shown(value)})"
            return Unwritable(text, self._stage)
        except RecursionError:  # a caller has left less of the stack than NESTING_MAX takes
            return Unwritable("nested too deeply", self._stage)
        return Tombstone() if made is None else made

    def _of(self, head: bytes) -> _Known | str:
        """What the beginning of a value names, or why that is nothing."""
        found = self._known.get(head)
        if found is None:
            found = self._look_up(head)
            chars = len(found.schema.text if isinstance(found, _Known) else found)
            if len(self._known) >= _KNOWN_MAX or self._known_chars + chars > _CHARS_MAX:
                self._known.clear()
                self._known_chars = 0
            self._known[head] = found
            self._known_chars += chars
        return found

    def _look_up(self, head: bytes) -> _Known | str:
        if len(head) < _HEAD:
            return f"not JSON of a schema registry: {len(head)} bytes, where a zero byte and a schema's id take {_HEAD}"
        if head[0] != 0:
            first = quoted(head[:1], f"{head[0]:02x}", kind="another")
            return f"not JSON of a schema registry: the first byte is {first}, not 00"
        id = int.from_bytes(head[1:], "big")
        registered = self._registry.schema(id) if id <= _ID_MAX else None
        if registered is None:
            return f"the schema registry has no schema of the id {id}"
        if registered.type != "JSON":
            return f"the schema of the id {id} is of the type {named(registered.type)}, not JSON"
        try:
            return self._made(id, registered)
        except (InvalidSchema, JsonSchemaError) as error:
            return f"the schema of the id {id} cannot be used: {error}"
        except RecursionError:
            return f"the schema of the id {id} cannot be used: it is nested too deeply"

    def _made(self, id: int, registered: RegisteredSchema) -> _Known:
        texts = (registered.text, *registered.references)
        if sum(map(len, texts)) > TEXT_CHARS_MAX:
            raise InvalidSchema(f"with what it refers to it has more than {TEXT_CHARS_MAX} characters")
        root, *referred = (parse(text.encode("utf-8", "surrogatepass")) for text in texts)
        schemas = Schemas(
            root,
            dict(zip(registered.names, referred, strict=True)),
            ignore_modern_dialects=self._options.ignore_modern_dialects,
        )
        version = self._registry.versions(self._subject(root)).get(id)
        return _Known(id, version, connect_schema(schemas, self._options, version), self._columns)

    def _subject(self, root: Any) -> str:
        if self._subject_names is SubjectNames.TOPIC:
            return f"{self._topic}-{'key' if self._key else 'value'}"
        title = root.get("title") if isinstance(root, dict) else None
        if not isinstance(title, str):
            raise InvalidSchema("it has no title, by which its subject is called")
        return title if self._subject_names is SubjectNames.RECORD else f"{self._topic}-{title}"
