"""Connect schemas as Avro schemas, as Confluent's AvroData writes them with `connect.meta.data=true`.

Where AvroData would make a schema that Avro cannot have, there is a way of ours: a name that Avro does not take loses
its odd characters, a second struct of the same name and other fields gets the name with `_2`, a default that does not
belong to the first branch of a union is left out. What was is in `connect.name` and `connect.default`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.avro.parse import SchemaError, parse_avro
from kafka_s3.values.converters.connect_schema import (
    ABSENT,
    DATE,
    DECIMAL,
    ENUM,
    TIME,
    TIMESTAMP,
    ConnectField,
    ConnectSchema,
    InvalidSchema,
    Names,
    is_full_name,
    valid_name,
)
from kafka_s3.values.converters.connect_values import default_of

NAMESPACE: Final = "io.confluent.connect.avro"
DEFAULT_NAME: Final = f"{NAMESPACE}.ConnectDefault"
MAP_ENTRY: Final = "MapEntry"
_FIELD_DEFAULT: Final = f"{NAMESPACE}.field.default"
_PRIMITIVES: Final = {
    "boolean": "boolean",
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "float": "float",
    "double": "double",
    "bytes": "bytes",
    "string": "string",
}
_LOGICAL: Final = {DATE: "date", TIME: "time-millis", TIMESTAMP: "timestamp-millis"}


def avro_schema(schema: ConnectSchema) -> Schema:
    """The Avro schema of the values that `connect_values.reader` makes under this schema.

    It has the limits of every Avro schema (`avro.parse`), whatever it came as: `InvalidSchema` beyond them.
    """
    try:
        avro = _Writer().union(schema, "")
    except _NoSpaces:
        avro = _Writer(spaces=False).union(schema, "")
    made = schema_of(avro, version=schema.version)
    try:
        return parse_avro(made.text, version=schema.version)
    except SchemaError as error:
        raise InvalidSchema(str(error)) from None


class _NoSpaces(Exception):
    """A name without a namespace is needed where there is one, and Avro has no way to say it."""


class _Writer:
    """One schema in the making: which names are taken, and by what. `spaces`: names have namespaces."""

    def __init__(self, *, spaces: bool = True) -> None:
        self._defined: dict[tuple[str, ...], str] = {}
        self._keyed: dict[str, str] = {}
        self._names = Names()
        self._spaces = spaces

    def union(self, schema: ConnectSchema, namespace: str) -> Any:
        """The schema, with null if it is optional."""
        made = self._base(schema, namespace)
        if not schema.optional:
            return made
        return ["null", made] if default_of(schema) is None else [made, "null"]

    def _base(self, schema: ConnectSchema, namespace: str) -> Any:
        match schema.type:
            case "struct":
                return self._record(schema, namespace, schema.fields, schema.name or DEFAULT_NAME, {})
            case "array":
                assert schema.items
                made = {"type": "array", "items": self.union(schema.items, namespace)}
            case "map":
                made = self._map(schema, namespace)
            case "string" if schema.symbols:
                return self._enum(schema, namespace)
            case _:
                made = {"type": _PRIMITIVES[schema.type]}
        made.update(_properties(schema))
        return made if len(made) > 1 else made["type"]

    def _map(self, schema: ConnectSchema, namespace: str) -> dict[str, Any]:
        assert schema.items
        assert schema.keys
        if schema.has_text_keys:
            return {"type": "map", "values": self.union(schema.items, namespace)}
        # A second map of other types cannot be called MapEntry too: then it is the property that says what it is.
        fields = (ConnectField("key", "key", schema.keys), ConnectField("value", "value", schema.items))
        name = schema.name or f"{NAMESPACE}.{MAP_ENTRY}"
        entry = ConnectSchema("struct", name=name, fields=fields)
        internal = {"connect.internal.type": MAP_ENTRY}
        return {"type": "array", "items": self._record(entry, namespace, fields, name, internal)}

    def _record(
        self,
        schema: ConnectSchema,
        namespace: str,
        fields: tuple[ConnectField, ...],
        wanted: str,
        internal: dict[str, Any],
    ) -> Any:
        if schema.again is not None:
            known = self._keyed[schema.again]
            if "." not in known and namespace:
                raise _NoSpaces
            return known
        same = (*internal, wanted, *(text for field in fields for text in (field.name, _digest(field.schema))))
        found = self._defined.get(same)
        if found is not None and ("." in found or not namespace):
            if schema.key is not None:
                self._keyed[schema.key] = found
            return found
        full = self._defined[same] = self._named(wanted, namespace)
        if schema.key is not None:
            self._keyed[schema.key] = full
        made: dict[str, Any] = {"type": "record", **_name(full)}
        if full != f"{NAMESPACE}.{MAP_ENTRY}":
            made.update(internal)
        if doc := schema.parameters.get(f"{NAMESPACE}.record.doc"):
            made["doc"] = doc
        space = full.rpartition(".")[0]
        made["fields"] = [self._field(field, space, schema.parameters) for field in fields]
        if not internal or wanted != f"{NAMESPACE}.{MAP_ENTRY}":
            made.update(_properties(schema))
        return made

    def _named(self, wanted: str, namespace: str) -> str:
        """A full name that Avro takes and nothing else has."""
        full = wanted if is_full_name(wanted) else ".".join(valid_name(each) for each in wanted.split("."))
        if not self._spaces:
            full = full.replace(".", "_")
        if "." not in full and namespace:
            full = f"{namespace}.{full}"  # within a namespace, readers differ about a name without one
        return self._names.unused(full)

    def _enum(self, schema: ConnectSchema, namespace: str) -> Any:
        wanted = schema.parameters[ENUM]
        same = ("enum", wanted, *schema.symbols)
        if (known := self._defined.get(same)) and ("." in known or not namespace):
            return known
        full = self._defined[same] = self._named(wanted, namespace)
        return {"type": "enum", **_name(full), "symbols": list(schema.symbols), **_properties(schema)}

    def _field(self, field: ConnectField, namespace: str, parameters: dict[str, str]) -> dict[str, Any]:
        schema = field.schema
        made: dict[str, Any] = {"name": field.plain, "type": self.union(schema, namespace)}
        if doc := parameters.get(f"{NAMESPACE}.field.doc.{field.name}"):
            made["doc"] = doc
        default = default_of(schema)
        if default is not None:
            with suppress(InvalidSchema):  # connect.default still says it
                made["default"] = _default(schema, default, first_branch=True)
        elif schema.optional:
            made["default"] = None
        if field.plain != field.name:
            made["connect.name"] = field.name
        return made


def _digest(schema: ConnectSchema) -> str:
    """The same for schemas that say the same."""
    if "digest" not in schema.memo:
        parts = [
            *(repr(each) for each in (schema.type, schema.optional, schema.name, schema.version, schema.doc)),
            *(repr(each) for each in (schema.key, schema.again) if each is not None),
            repr(schema.parameters),
            "" if schema.default is ABSENT else repr(schema.default),
            *(_digest(each) for each in (schema.keys, schema.items) if each),
            *(f"{field.name!r} {_digest(field.schema)}" for field in schema.fields),
        ]
        schema.memo["digest"] = hashlib.sha256("\n".join(parts).encode("utf-8", "backslashreplace")).hexdigest()
    digest: str = schema.memo["digest"]
    return digest


def _name(full: str) -> dict[str, str]:
    space, _, name = full.rpartition(".")
    return {"name": name, "namespace": space} if space else {"name": name}


def _properties(schema: ConnectSchema) -> dict[str, Any]:
    """What Avro has no word for, and the logical type."""
    made: dict[str, Any] = {}
    if schema.doc is not None:
        made["connect.doc"] = schema.doc
    if schema.version is not None:
        made["connect.version"] = schema.version
    parameters = {name: text for name, text in schema.parameters.items() if name != _FIELD_DEFAULT}
    if parameters:
        made["connect.parameters"] = parameters
    default = default_of(schema)
    if default is not None and _FIELD_DEFAULT not in schema.parameters:
        with suppress(InvalidSchema):  # NaN: JSON has no word for it
            made["connect.default"] = _default(schema, default, first_branch=False)
    if schema.name is not None:
        made["connect.name"] = schema.name
    if schema.type in ("int8", "int16"):
        made["connect.type"] = schema.type
    if schema.name == DECIMAL:
        made["scale"], made["precision"] = schema.scale, schema.precision
        if 0 <= schema.scale <= schema.precision:
            made["logicalType"] = "decimal"
    elif schema.logical:
        made["logicalType"] = _LOGICAL[schema.logical]
    return made


def _default(schema: ConnectSchema, value: Any, *, first_branch: bool) -> Any:
    """A plain value as Avro writes defaults; `InvalidSchema` if Avro cannot.

    `first_branch`: it may only be of the first type of every union below.
    """

    def inner(part: ConnectSchema, each: Any) -> Any:
        if first_branch and part.optional and (each is None) != (default_of(part) is None):
            raise InvalidSchema("not of the first branch of its union")
        return None if each is None else _default(part, each, first_branch=first_branch)

    match schema.type:
        case "bytes":
            return value.decode("latin-1")
        case "float" | "double" if value - value != 0:
            raise InvalidSchema("no number of JSON")
        case "array":
            assert schema.items
            return [inner(schema.items, each) for each in value]
        case "map":
            return _map_default(schema, value, inner)
        case "struct":
            return {field.plain: inner(field.schema, value[field.plain]) for field in schema.fields}
        case _:
            return value


def _map_default(schema: ConnectSchema, value: Any, inner: Callable[[ConnectSchema, Any], Any]) -> Any:
    keys, items = schema.keys, schema.items
    assert keys
    assert items
    if schema.has_text_keys:
        return {key: inner(items, each) for key, each in value.items()}
    return [{"key": inner(keys, each["key"]), "value": inner(items, each["value"])} for each in value]
