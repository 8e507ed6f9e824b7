"""JSON as a schema registry's serializers write it under a JSON Schema: a zero byte, a schema's id in four bytes, JSON
text.

Each schema becomes a Connect schema once (`json_schema_connect`); its values are read as an envelope's payloads are.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec

from kafka_s3.avro.model import Schema
from kafka_s3.json_schema.load import Schemas
from kafka_s3.json_schema.options import Options
from kafka_s3.json_schema.shapes import JsonSchemaError
from kafka_s3.ports import RegisteredSchema, SchemaRegistry
from kafka_s3.settings.registry import SubjectNames
from kafka_s3.values.converters.avro_group import shown
from kafka_s3.values.converters.connect_avro import avro_schema
from kafka_s3.values.converters.connect_fast import decoder
from kafka_s3.values.converters.connect_schema import ConnectSchema, InvalidSchema
from kafka_s3.values.converters.connect_values import parse, reader
from kafka_s3.values.converters.connect_weight import Weigher
from kafka_s3.values.converters.envelope import checked, one_for_all
from kafka_s3.values.converters.json_limits import is_too_deep
from kafka_s3.values.converters.json_schema_connect import connect_schema
from kafka_s3.values.converters.registry_head import HEAD, KnownHeads, RegistryHead
from kafka_s3.values.converters.structs import ValueRows
from kafka_s3.values.rows import Excluded, Stage, Tombstone, Unwritable

#: A schema's text may be this long, and that of all it refers to.
TEXT_CHARS_MAX: Final = 4 * 1024 * 1024
#: Brackets of a value within each other, where its schema may hold itself.
NESTING_MAX: Final = 100
#: Bytes of compiled patterns that count as one character of a schema: `KnownHeads` keeps 256 MiB of them.
_BYTES_OF_CHAR: Final = 8
_UNUSABLE: Final = (msgspec.DecodeError, RecursionError, KeyError, InvalidSchema, UnicodeDecodeError)


@dataclass(frozen=True, slots=True)
class Named:
    """What the beginning of a value names. `named`: it in words. `id`, `version`: where the registry numbers them.
    `problem`: why a payload is not valid, where values are validated; `kept_bytes`: what that takes to keep."""

    connect: ConnectSchema
    named: str
    id: int | None
    version: int | None
    problem: Callable[[bytes], str | None] | None = None
    kept_bytes: int = 0


class Framing(Protocol):
    """What stands in front of JSON, and the schema that it names."""

    #: How many bytes these are.
    head: int

    def look_up(self, head: bytes) -> Named | str: ...


class _Known:
    """What was made of one schema. `InvalidSchema` where nothing can be."""

    def __init__(self, found: Named, columns: bool) -> None:
        schema = avro_schema(found.connect)
        self.named = found.named
        self.schema = Schema(schema.text, found.id, found.version)
        self._problem = found.problem
        self._kept_bytes = found.kept_bytes
        self._decode = decoder(found.connect, fill=True)
        self.decode = self._decode if found.problem is None or self._decode is None else self._valid
        self._read = reader(found.connect, fill=True)
        self._weigher = Weigher(found.connect, columns)
        #: A payload of no more bytes than this cannot become more than is allowed.
        self.length_max = self._weigher.length_max

    def chars(self) -> int:
        """What it counts as among all that are kept."""
        return len(self.schema.text) + self._kept_bytes // _BYTES_OF_CHAR

    def value(self, payload: bytes) -> Any:
        """The plain value of a payload, `None` for null; `InvalidSchema` with the reason if it has none."""
        payload = _checked(payload)
        self._validate(payload)
        parsed = None
        if len(payload) > self.length_max and self._weigher.may_be_heavy(payload):
            parsed = parse(payload)
            problem = self._weigher.problem(payload, parsed)
            if problem is not None:
                raise InvalidSchema(problem)
        if self._decode is not None:
            try:
                return self._decode(payload)
            except _UNUSABLE:
                pass  # the reader says why, or knows better
        return self._read(parse(payload) if parsed is None else parsed)

    def _valid(self, payload: bytes) -> Any:
        assert self._decode is not None
        self._validate(payload)
        return self._decode(payload)

    def _validate(self, payload: bytes) -> None:
        if self._problem is None:
            return
        try:
            problem = self._problem(payload)
        except UnicodeEncodeError:
            raise InvalidSchema("text with half a surrogate pair, which cannot be validated") from None
        except ValueError:
            parse(payload)  # says what is wrong with it, if it is none of JSON
            raise InvalidSchema("a number with too many digits to be validated") from None
        if problem is not None:
            raise InvalidSchema(problem)


def _checked(payload: bytes) -> bytes:
    """The payload itself, if it may be decoded: also what a decoder skips is nested no deeper than the rest."""
    payload = checked(payload)
    if is_too_deep(payload, NESTING_MAX):
        raise InvalidSchema(f"nested more than {NESTING_MAX} levels deep")
    return payload


class FramedJson:
    """JSON behind something that names its schema: the values, or keys, of one topic.

    Registry errors end a batch; what a record alone is to blame for makes it `Unwritable`. `columns`: the values become
    columns.
    """

    def __init__(self, framing: Framing, *, key: bool, columns: bool) -> None:
        self._framing = framing
        self._head = framing.head
        self._columns = columns
        self._stage = Stage.KEY_CONVERTER if key else Stage.VALUE_CONVERTER
        #: What the beginning of a value names, or why that is nothing.
        self.known: KnownHeads[_Known] = KnownHeads(self._look_up, _Known.chars)

    def __call__(self, values: Sequence[bytes | None]) -> ValueRows:
        plain: list[Any] = []
        schemas: list[Schema | None] = []
        excluded: dict[int, Excluded] = {}
        last: _Known | None = None
        size = self._head
        head, length_max, decode = b"", 0, None
        for index, value in enumerate(values):
            if decode is not None and value is not None and value.startswith(head) and len(value) <= length_max:
                assert last is not None
                try:
                    plain.append(decode(_checked(value[size:])))
                    schemas.append(last.schema)
                    continue
                except _UNUSABLE:
                    pass  # the other way says why, or knows better
            made = Tombstone() if value is None else self._one(value)
            if value is not None and isinstance(found := self.known.get(value[:size]), _Known):
                last, head, decode, length_max = found, value[:size], found.decode, size + found.length_max
            if isinstance(made, Tombstone | Unwritable):
                excluded[index] = made
                schemas.append(None)
            else:
                assert last is not None
                schemas.append(last.schema)
            plain.append(made)
        sizes = [0 if value is None else max(len(value) - size, 0) for value in values]
        return ValueRows(plain, one_for_all(schemas, excluded), excluded, sizes)

    def _one(self, value: bytes) -> Any:
        """A plain value, or why there is none."""
        found = self.known[value[: self._head]]
        if isinstance(found, str):
            return Unwritable(f"{found} ({shown(value)})", self._stage)
        try:
            made = found.value(value[self._head :].removeprefix(codecs.BOM_UTF8))
        except InvalidSchema as refused:
            text = f"not a value of the schema of {found.named}: {refused} ({shown(value)})"
            return Unwritable(text, self._stage)
        except RecursionError:  # a caller has left less of the stack than NESTING_MAX takes
            return Unwritable("nested too deeply", self._stage)
        return Tombstone() if made is None else made

    def _look_up(self, head: bytes) -> _Known | str:
        found = self._framing.look_up(head)
        if isinstance(found, str):
            return found
        try:
            return _Known(found, self._columns)
        except InvalidSchema as error:
            return f"the schema of {found.named} cannot be used: {error}"
        except RecursionError:
            return f"the schema of {found.named} cannot be used: it is nested too deeply"


class JsonSchemaValues(FramedJson):
    """The values, or keys, of one topic (JsonSchemaConverter)."""

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
        head = RegistryHead(registry, subject_names, topic, "JSON", key)
        super().__init__(_Confluent(head, options), key=key, columns=columns)


class _Confluent:
    """A zero byte, a schema's id in four bytes."""

    head = HEAD

    def __init__(self, registry_head: RegistryHead, options: Options) -> None:
        self._registry_head = registry_head
        self._options = options

    def look_up(self, head: bytes) -> Named | str:
        found = self._registry_head.look_up(head)
        if isinstance(found, str):
            return found
        id, registered = found
        return made_of(registered, f"the id {id}", lambda root, referred: self._named(id, root, referred))

    def _named(self, id: int, root: Any, referred: Mapping[str, Any]) -> Named:
        schemas = Schemas(root, referred, ignore_modern_dialects=self._options.ignore_modern_dialects)
        version = self._registry_head.version(id, lambda: _title(root))
        connect = connect_schema(schemas, self._options, version)
        problem, kept_bytes = None, 0
        if self._options.json_fail_invalid_schema:
            from kafka_s3.json_schema.validation import Validation

            modern = self._options.ignore_modern_dialects
            validation = Validation(root, referred, ignore_modern_dialects=modern)
            problem, kept_bytes = validation.problem, validation.kept_bytes
        return Named(connect, f"the id {id}", id, version, problem, kept_bytes)


def _title(root: Any) -> str:
    title = root.get("title") if isinstance(root, dict) else None
    if not isinstance(title, str):
        raise InvalidSchema("it has no title, by which its subject is called")
    return title


def made_of(registered: RegisteredSchema, named: str, make: Callable[[Any, Mapping[str, Any]], Named]) -> Named | str:
    """What `make` makes of a schema as JSON, and of those that it refers to; or why that is nothing."""
    texts = (registered.text, *registered.references)
    try:
        if sum(map(len, texts)) > TEXT_CHARS_MAX:
            raise InvalidSchema(f"with what it refers to it has more than {TEXT_CHARS_MAX} characters")
        root, *referred = (parse(text.encode("utf-8", "surrogatepass")) for text in texts)
        return make(root, dict(zip(registered.names, referred, strict=True)))
    except (InvalidSchema, JsonSchemaError) as error:
        return f"the schema of {named} cannot be used: {error}"
    except RecursionError:
        return f"the schema of {named} cannot be used: it is nested too deeply"
