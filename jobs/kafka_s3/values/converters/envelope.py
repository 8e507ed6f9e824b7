"""JsonConverter's envelopes, `{"schema": ..., "payload": ...}` (schemas.enable=true), to plain values.

The hot path: envelopes repeat one schema, byte for byte, so a value that begins with the last envelope's schema has
only its payload parsed, under the types of that schema. Every other value is parsed as a whole, and what cannot be
taken is refused there, with a reason.

A record whose schema is null has a value without one (its schema among `schemas` is `None`): the JSON itself as Python
values, which `formats.json_text.writer_for(None, ...)` writes; or, where the format needs a schema, `Anything`.

Memory: for a record 64 MiB and 50 times its bytes (`connect_weight`), whatever its schema makes of them; the text of at
most SCHEMAS_MAX schemas, SCHEMAS_BYTES_MAX bytes together, and what was made of them, about fifty times as much.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from kafka_s3.avro.model import Schema
from kafka_s3.settings.converters import ConverterSettings
from kafka_s3.values.converters.connect_anything import ANYTHING, anything_or_none
from kafka_s3.values.converters.connect_avro import avro_schema
from kafka_s3.values.converters.connect_fast import Decode, decoder
from kafka_s3.values.converters.connect_schema import ConnectSchema, InvalidSchema, read_schema
from kafka_s3.values.converters.connect_values import Read, parse, reader
from kafka_s3.values.converters.connect_weight import Weigher
from kafka_s3.values.converters.json_limits import NESTING_MAX, TOO_MANY, has_too_many, is_too_deep
from kafka_s3.values.converters.schemaless import plain_json
from kafka_s3.values.converters.structs import ValueRows
from kafka_s3.values.converters.weight import ROOM
from kafka_s3.values.rows import Excluded, Tombstone, Unwritable

SCHEMAS_MAX: Final = 1000
SCHEMAS_BYTES_MAX: Final = 4 * 1024 * 1024
_BRACE: Final = ord("}")
_NO_ENVELOPE: Final = (
    "no envelope: with schemas.enable=true it is an object of exactly 'schema' and 'payload'; JSON without its schema "
    "needs schemas.enable=false of its converter"
)
_UNUSABLE = (msgspec.DecodeError, RecursionError, KeyError, InvalidSchema, UnicodeDecodeError)


class _Parts(msgspec.Struct, forbid_unknown_fields=True):
    schema: msgspec.Raw
    payload: msgspec.Raw


_PARTS: Final = msgspec.json.Decoder(_Parts)  # on import: ranges are converted in several threads


class _Known:
    """What was made of one schema's text."""

    def __init__(self, text: bytes, fill: bool, schema_needed: bool, columns: bool) -> None:
        self.size = len(text)
        self.connect: ConnectSchema | None = None
        self.schema: Schema | None = None
        self.refusal: str | None = None
        self.decode: Decode | None = None
        self.weigher: Weigher | None = None
        #: A payload of no more bytes than this cannot become more than ROOM.
        self.length_max = ROOM
        self.read: Read = plain_json
        try:
            json = parse(text)
            if json is None and schema_needed:
                self.read, self.schema = anything_or_none, ANYTHING
            elif json is not None:
                connect = self.connect = read_schema(json)
                self.read = reader(connect, fill)
                self.schema = avro_schema(connect)
                self.decode = decoder(connect, fill)
                self.weigher = Weigher(connect, columns)
                self.length_max = self.weigher.length_max
        except InvalidSchema as refused:
            self.refusal = f"the envelope's schema cannot be used: {refused}"

    def value(self, payload: bytes) -> Any:
        """The plain value of a payload; `InvalidSchema` with the reason if it has none."""
        if self.refusal is not None:
            raise InvalidSchema(self.refusal)
        weigher = self.weigher
        if weigher is not None and len(payload) > self.length_max and weigher.may_be_heavy(payload):
            problem = weigher.problem(payload, parse(payload))
            if problem is not None:
                raise InvalidSchema(problem)
        if self.decode is not None:
            try:
                return self.decode(payload)
            except _UNUSABLE:
                pass  # the reader says why, or knows better
        return self.read(parse(payload))


class _Taken(NamedTuple):
    """One value of a batch. `prefix`: what stands before its payload in every envelope like it; empty if unknown."""

    value: Any
    known: _Known | None = None
    size: int = 0
    prefix: bytes = b""


class EnvelopeJson:
    """JsonConverter with schemas.enable=true.

    `schema_needed`: a value whose envelope has no schema becomes AvroData's `Anything`, for formats that need one.
    `columns`: the values become columns.
    """

    def __init__(self, settings: ConverterSettings, *, schema_needed: bool = False, columns: bool = False) -> None:
        self._fill = settings.replace_null_with_default
        self._schema_needed = schema_needed
        self._columns = columns
        self._parts = _PARTS.decode
        self._known: dict[bytes, _Known] = {}
        self._bytes = 0

    def __call__(self, values: Sequence[bytes | None]) -> ValueRows:
        plain: list[Any] = []
        schemas: list[Schema | None] = []
        sizes: list[int] = []
        excluded: dict[int, Excluded] = {}
        last: _Known | None = None
        prefix, begin, length_max, decode = b"", 0, 0, None
        for index, value in enumerate(values):
            if (
                decode is not None
                and value is not None
                and value.startswith(prefix)
                and value[-1] == _BRACE
                and len(value) <= length_max
            ):
                try:
                    plain.append(decode(checked(value[begin:-1])))
                    assert last is not None
                    schemas.append(last.schema)
                    sizes.append(len(value) - begin - 1)
                    continue
                except _UNUSABLE:
                    pass  # the other way says why, or knows better
            taken = self._one(value)
            if isinstance(taken.value, Tombstone | Unwritable):
                excluded[index] = taken.value
            plain.append(taken.value)
            schemas.append(None if taken.known is None else taken.known.schema)
            sizes.append(taken.size)
            if taken.prefix:
                last, prefix, begin = taken.known, taken.prefix, len(taken.prefix)
                decode = None if last is None else last.decode
                length_max = begin if last is None else begin + last.length_max
        return ValueRows(plain, one_for_all(schemas, excluded), excluded, sizes)

    def read(self, value: bytes) -> tuple[ConnectSchema | None, Any]:
        """One value by itself and its schema as Connect has it: a header's, say. As a value: why there is none."""
        taken = self._one(value)
        return None if taken.known is None else taken.known.connect, taken.value

    def _one(self, value: bytes | None) -> _Taken:
        """A value, or why there is none; and what is known of its schema."""
        if value is None:
            return _Taken(Tombstone())
        known = None
        try:
            schema, payload = self._split(checked(value.removeprefix(codecs.BOM_UTF8)))
            known = self._of(schema)
            made = known.value(payload)
        except InvalidSchema as refused:
            return _Taken(Unwritable(str(refused)), known)
        prefix = value[: -len(payload) - 1]
        # Whatever payload stands in the place of this one: the envelope is one of the same schema.
        alike = value.endswith(payload + b"}") and prefix.rstrip(b" \t\r\n:").endswith(b'"payload"')
        return _Taken(Tombstone() if made is None else made, known, len(payload), prefix if alike else b"")

    def _split(self, value: bytes) -> tuple[bytes, bytes]:
        """The texts of an envelope's schema and payload."""
        try:
            parts = self._parts(value)
            return bytes(parts.schema), bytes(parts.payload)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            # Whatever JSON it is, or is not: either this says why, or it is JSON that the fast parser does not take.
            json = parse(value)
        if not isinstance(json, dict) or json.keys() != {"schema", "payload"}:
            raise InvalidSchema(_NO_ENVELOPE)
        raise InvalidSchema("not JSON that can be written: half a surrogate pair, or a number beyond all limits")

    def _of(self, text: bytes) -> _Known:
        known = self._known.get(text)
        if known is None:
            known = _Known(text, self._fill, self._schema_needed, self._columns)
            if len(text) > SCHEMAS_BYTES_MAX:
                return known
            while self._known and (len(self._known) >= SCHEMAS_MAX or self._bytes + len(text) > SCHEMAS_BYTES_MAX):
                self._bytes -= self._known.pop(next(iter(self._known))).size
            self._known[text] = known
            self._bytes += known.size
        return known


def checked(text: bytes) -> bytes:
    """The text itself, if the parsers may have it: what they skip, they do not look at as closely."""
    if not text.isascii():
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidSchema(f"not JSON: not UTF-8 at byte {error.start}") from None
    if has_too_many(text):
        raise InvalidSchema(TOO_MANY)
    if len(text) >= 2 * NESTING_MAX and is_too_deep(text):
        raise InvalidSchema(f"not JSON: nested too deeply (more than {NESTING_MAX} levels)")
    return text


def one_for_all(schemas: list[Schema | None], excluded: dict[int, Excluded]) -> Schema | list[Schema | None] | None:
    """A single schema, if it is that of every row that is not excluded, in whatever words."""
    found = {id(each): each for index, each in enumerate(schemas) if index not in excluded}
    first = next(iter(found.values()), None)
    return first if all(each is first or each == first for each in found.values()) else schemas
