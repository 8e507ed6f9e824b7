"""Connect's schemas, as JsonConverter's envelope carries them.

`read_schema` takes what JsonConverter takes, and refuses what it refuses. Two limits are ours: schemas are at most
NESTING_MAX levels deep (Connect has no limit, and overflows its stack), and a logical name stands on the type that is
its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from kafka_s3.shown import named, quoted

NESTING_MAX: Final = 64
DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
DATE: Final = "org.apache.kafka.connect.data.Date"
TIME: Final = "org.apache.kafka.connect.data.Time"
TIMESTAMP: Final = "org.apache.kafka.connect.data.Timestamp"
ENUM: Final = "io.confluent.connect.avro.Enum"
PRECISION: Final = "connect.decimal.precision"
PRECISION_DEFAULT: Final = 64
_LOGICAL: Final = {DECIMAL: "bytes", DATE: "int32", TIME: "int32", TIMESTAMP: "int64"}
_PRIMITIVES: Final = frozenset(
    {"boolean", "int8", "int16", "int32", "int64", "float", "double", "bytes", "string"},
)
_JAVA_INT = re.compile(r"[+-]?[0-9]{1,9}", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_NO_NAME = re.compile(r"[^A-Za-z0-9_]")
#: There is no `default` in the schema.
ABSENT: Final = object()


class InvalidSchema(ValueError):
    """A schema or a value that cannot be taken; `at` is where, from the outside in."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.at: list[str] = []

    def __str__(self) -> str:
        where = ".".join(map(named, self.at))
        return f"{where}: {self.args[0]}" if where else str(self.args[0])


@dataclass(frozen=True, slots=True)
class ConnectField:
    """A field of a struct. `plain` is its name in Avro: the same, if Avro can have it."""

    name: str
    plain: str
    schema: ConnectSchema


@dataclass(frozen=True, slots=True)
class ConnectSchema:
    """One schema. `default` is JSON as the envelope has it, or `ABSENT`.

    `key`: of a struct that others name by it. `again`: this is the struct of that key, whose fields are said there;
    readers find it as `memo["again"]`. `union`: a struct of which a value has one field, and is what that says.
    `entries`: of a map that is an array of objects with `key` and `value`, not of pairs. `exact`: of a double that is
    an integer in JSON; one that a double would round is refused.
    """

    type: str
    optional: bool = False
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    parameters: dict[str, str] = field(default_factory=dict)
    default: Any = ABSENT
    items: ConnectSchema | None = None
    keys: ConnectSchema | None = None
    fields: tuple[ConnectField, ...] = ()
    key: str | None = None
    again: str | None = None
    union: bool = False
    entries: bool = False
    exact: bool = False
    #: What was made of it, so that nested schemas are looked at once, not once for each level above them.
    memo: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def logical(self) -> str | None:
        """The logical type: its name, if it is one of Connect's."""
        return self.name if self.name in _LOGICAL else None

    @property
    def scale(self) -> int:
        """Of a decimal."""
        return int(self.parameters["scale"])

    @property
    def precision(self) -> int:
        """Of a decimal, as AvroData has it."""
        return int(self.parameters.get(PRECISION, PRECISION_DEFAULT))

    @property
    def symbols(self) -> tuple[str, ...]:
        """Of a string that was an Avro enum, and can be one again; empty otherwise."""
        if self.type != "string" or not is_full_name(self.parameters.get(ENUM, "")):
            return ()
        found = tuple(text for name, text in self.parameters.items() if name.startswith(f"{ENUM}."))
        return found if len(set(found)) == len(found) and all(map(is_name, found)) else ()

    @property
    def has_text_keys(self) -> bool:
        """Whether Avro has a map for this map."""
        return self.keys is not None and self.keys.type == "string" and not self.keys.optional


def read_schema(json: Any) -> ConnectSchema:
    """The schema that is the envelope's `schema`, as JSON values; `InvalidSchema` if JsonConverter would refuse it."""
    return _read(json, 1)


def _read(json: Any, depth: int) -> ConnectSchema:
    if depth > NESTING_MAX:
        raise InvalidSchema(f"the schema is nested too deeply (more than {NESTING_MAX} levels)")
    kind = json.get("type") if isinstance(json, dict) else None
    if not isinstance(kind, str):
        raise InvalidSchema("a schema has no 'type', or one that is not text")
    items = keys = None
    fields: tuple[ConnectField, ...] = ()
    match kind:
        case "array":
            items = _read(_part(json, "items", "the type of its items"), depth + 1)
        case "map":
            keys = _read(_part(json, "keys", "the type of its keys"), depth + 1)
            items = _read(_part(json, "values", "the type of its values"), depth + 1)
        case "struct":
            fields = _fields(json.get("fields"), depth + 1)
        case _ if kind not in _PRIMITIVES:
            raise InvalidSchema(f"there is no schema of type {quoted(kind, repr(kind[:40]))}")
    return ConnectSchema(
        kind,
        optional=json.get("optional") is True,
        name=logical_checked(_text(json, "name"), kind, json.get("parameters")),
        version=_version(json.get("version")),
        doc=_text(json, "doc"),
        parameters=_parameters(json),
        default=json.get("default", ABSENT),
        items=items,
        keys=keys,
        fields=fields,
    )


def _part(json: dict[str, Any], name: str, what: str) -> Any:
    if json.get(name) is None:
        raise InvalidSchema(f"a schema of type {json['type']!r} does not say {what} ({name!r})")
    return json[name]


def _fields(json: Any, depth: int) -> tuple[ConnectField, ...]:
    if not isinstance(json, list):
        raise InvalidSchema("a schema of type 'struct' has no list of 'fields'")
    found: list[ConnectField] = []
    names: set[str] = set()
    plain_names = Names(each["field"] for each in json if isinstance(each, dict) and is_name(each.get("field")))
    for each in json:
        name = each.get("field") if isinstance(each, dict) else None
        if not isinstance(name, str) or not name or name in names:
            raise InvalidSchema("a field of a struct has no name ('field'), or that of another field")
        plain = name if is_name(name) else plain_names.unused(valid_name(name))
        try:
            found.append(ConnectField(name, plain, _read(each, depth)))
        except InvalidSchema as refused:
            refused.at.insert(0, name)
            raise
        names.add(name)
    return tuple(found)


def _text(json: dict[str, Any], name: str) -> str | None:
    found = json.get(name)
    if not isinstance(found, str):
        return None
    return as_text(found)


def as_text(text: str) -> str:
    """The text, if it can be written in UTF-8."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidSchema("text with half a surrogate pair, which UTF-8 cannot have") from None
    return text


def _version(json: Any) -> int | None:
    if type(json) is not int:
        return None
    return (json + 2**31) % 2**32 - 2**31  # Java's int, which wraps


def _parameters(json: dict[str, Any]) -> dict[str, str]:
    found = json.get("parameters")
    if not isinstance(found, dict):
        return {}
    for name, text in found.items():
        if not isinstance(text, str):
            raise InvalidSchema(f"the schema's parameter {quoted(name)} is not text")
        as_text(name + text)
    return found


def logical_checked(name: str | None, kind: str, parameters: Any) -> str | None:
    """The name, if it is none of Connect's own types or one of this type."""
    if name in _LOGICAL and kind != _LOGICAL[name]:
        raise InvalidSchema(f"{name} is a name of {_LOGICAL[name]}, not of {kind}")
    if name == DECIMAL:
        given = parameters if isinstance(parameters, dict) else {}
        if not isinstance(given.get("scale"), str) or not _JAVA_INT.fullmatch(given["scale"]):
            raise InvalidSchema("a Decimal's parameter 'scale' is not a number")
        precision = given.get(PRECISION, "1")
        if not isinstance(precision, str) or not _JAVA_INT.fullmatch(precision) or int(precision) < 1:
            raise InvalidSchema(f"a Decimal's parameter {PRECISION!r} is not a number above 0")
    return name


# Names that Avro can have.


def is_name(name: Any) -> bool:
    """Whether Avro takes this name of a field, a symbol or (without its namespace) a type."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def is_full_name(name: str) -> bool:
    return all(map(is_name, name.split(".")))


def valid_name(name: str) -> str:
    """A name that Avro takes, for one that it does not.

    >>> valid_name("order-id"), valid_name("1st"), valid_name("")
    ('order_id', '_1st', '_')
    """
    name = _NO_NAME.sub("_", name)
    return name if is_name(name) else f"_{name}"


class Names:
    """Names that are taken."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._numbers: dict[str, int] = {}

    def unused(self, name: str) -> str:
        """The name, or the first of `name_2`, `name_3`, ... that is not taken; now it is.

        >>> Names(["a"]).unused("a"), Names().unused("a")
        ('a_2', 'a')
        """
        found = name
        while found in self._taken:
            number = self._numbers[name] = self._numbers.get(name, 1) + 1
            found = f"{name}_{number}"
        self._taken.add(found)
        return found
