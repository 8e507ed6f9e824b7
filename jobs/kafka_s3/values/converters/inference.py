"""A schema for JSON that comes without one, from a sample of it (`export.value.schema=infer`).

| JSON in the sample | column |
|---|---|
| true and false | boolean |
| whole numbers of 64 bits | long |
| numbers of which a double holds every one exactly as written, some with a point or an exponent | double |
| text | string |
| lists of one type | array |
| objects | record |
| anything else: several types, longer numbers, objects of very many names | string with the JSON text of the value |

Every column is nullable. A field that is only null, `[]` or `{}` in the sample gets none yet. What a schema has stays:
later samples add fields, and turn a long into a double where that is allowed. Types are those of the whole sample, in
whatever order it comes; fields stand in the order in which they were first seen.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal as Number
from decimal import InvalidOperation
from typing import Any, Final

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Avro, Schema, schema_of
from kafka_s3.avro.nodes import Kind, Node, Primitive, Record
from kafka_s3.avro.parse import SchemaError, is_name, parse_avro
from kafka_s3.values.converters.json_limits import has_too_many, is_too_deep
from kafka_s3.values.converters.typed_values import VALUE_NESTING_MAX, NotTyped, Real, parse

#: The column of what has no other: JSON Pointers (RFC 6901) to the JSON text that is there.
REST: Final = "_rest"
#: Fields of a schema, those of inner records too. A schema of so many takes some 100 KB of the log.
FIELDS_MAX: Final = 1000
TEXT_MAX: Final = 128 * 1024  # characters of a schema
NAME_MAX: Final = 256  # characters of a field's name
NESTING_MAX: Final = 16  # objects and lists within each other; what lies deeper is JSON text
#: Names that the objects at one inner place may have: where there are more, they are keys of a map, not fields.
NAMES_MAX: Final = 256
#: Places that a sample is remembered by, some 300 bytes each; names beyond are passed over.
PLACES_MAX: Final = 20_000
_EXACT_MAX: Final = 400  # characters of a number that a double could hold as written
_WHOLE_MAX: Final = 1 << 53  # up to here a double has every whole number
_LONG: Final = range(-(1 << 63), 1 << 63)


class Seen(enum.Flag):
    """What values were seen at one place."""

    NOTHING = 0
    BOOLEAN = enum.auto()
    LONG = enum.auto()  # of 64 bits, and a double holds it
    LARGE_LONG = enum.auto()  # of 64 bits, and a double does not hold it
    DOUBLE = enum.auto()
    STRING = enum.auto()
    LIST = enum.auto()
    OBJECT = enum.auto()
    OTHER = enum.auto()  # no column but JSON text holds it


@dataclass(slots=True)
class Place:
    """One place of the sampled values: the value itself, a field, or the items of a list."""

    seen: Seen = Seen.NOTHING
    fields: dict[str, Place] = field(default_factory=dict)
    items: Place | None = None
    is_map: bool = False  # more than NAMES_MAX names


class Sample:
    """What was seen in some values. Memory: PLACES_MAX places."""

    def __init__(self) -> None:
        self.top = Place()
        self._places = 1

    def add(self, value: bytes | None) -> None:
        """One record's value; tombstones, what is not JSON and what is not an object say nothing."""
        if value is None or is_too_deep(value, VALUE_NESTING_MAX) or has_too_many(value):
            return
        try:
            parsed = parse(value)
        except NotTyped:
            return
        if isinstance(parsed, dict):
            self._add(self.top, parsed, 0)

    def _add(self, place: Place, parsed: Any, depth: int) -> None:
        if isinstance(parsed, dict | list) and depth >= NESTING_MAX:
            place.seen |= Seen.OTHER
        elif isinstance(parsed, dict):
            place.seen |= Seen.OBJECT
            self._add_fields(place, parsed, depth)
        elif isinstance(parsed, list):
            place.seen |= Seen.LIST
            if place.items is None:
                place.items = self._new_place()
            if place.items is not None:
                for each in parsed:
                    self._add(place.items, each, depth + 1)
        elif parsed is not None:
            place.seen |= _seen(parsed)

    def _add_fields(self, place: Place, parsed: Mapping[str, Any], depth: int) -> None:
        if place.is_map:
            return
        for name, each in parsed.items():
            below = place.fields.get(name)
            if below is None:
                if depth and len(place.fields) >= NAMES_MAX:
                    place.fields.clear()
                    place.is_map = True
                    return
                below = self._new_place()
                if below is None:
                    continue
                place.fields[name] = below
            self._add(below, each, depth + 1)

    def _new_place(self) -> Place | None:
        if self._places >= PLACES_MAX:
            return None
        self._places += 1
        return Place()


def _seen(parsed: Any) -> Seen:
    if isinstance(parsed, bool):
        return Seen.BOOLEAN
    if isinstance(parsed, int):
        if parsed not in _LONG:
            return Seen.OTHER
        return Seen.LONG if is_exact(parsed) else Seen.LARGE_LONG
    if isinstance(parsed, Real):
        return Seen.DOUBLE if is_exact(parsed) else Seen.OTHER
    return Seen.STRING


def is_exact(number: int | Real) -> bool:
    """Whether a double is this number, and no other is the same double: by the shortest text that means the double.

    >>> is_exact(Real("0.10")), is_exact(Real("0.1000000000000000001")), is_exact(2**53 + 1), is_exact(2**55)
    (True, False, False, False)
    """
    try:
        if isinstance(number, int):
            return -_WHOLE_MAX <= number <= _WHOLE_MAX or Number(repr(float(number))) == number
        return len(number) <= _EXACT_MAX and Number(repr(float(number))) == Number(number)
    except (OverflowError, InvalidOperation):
        return False


def widened(schema: str | None, sample: Sample, *, longs_become_doubles: bool, rest: bool) -> str:
    """The schema that values are written under next: `schema`, and what the sample has beyond it.

    `rest`: with a column for what does not fit. A reader of what comes out reads all that was written under `schema`:
    fields are added, none is taken away or turned into another type, but for longs that become doubles if that is
    allowed and every number of the sample is exact as a double; longs beyond 2^53 in older objects are then rounded.
    """
    known = [each for each in _fields_of(schema) if each["name"] != REST]
    made = _Widening(longs_become_doubles, known, len(schema or "")).fields(known, sample.top, ())
    if rest:
        made.append(dict(_REST_FIELD))
    text = schema_of(_record((), made)).text
    return parse_avro(text).text


def _fields_of(schema: str | None) -> list[dict[str, Any]]:
    fields: list[dict[str, Any]] = [] if schema is None else json.loads(schema)["fields"]
    return fields


class _Widening:
    """Makes the fields of one schema."""

    def __init__(self, longs_become_doubles: bool, known: Sequence[Mapping[str, Any]], characters: int) -> None:
        self._promotes = longs_become_doubles
        self._count = sum(_count(each["type"]) for each in known)
        self._characters = characters + 256  # the record itself, and the column of the rest

    def fields(self, known: Sequence[dict[str, Any]], place: Place, path: tuple[str, ...]) -> list[dict[str, Any]]:
        """Those of a record that is there already, and new ones behind them."""
        made = []
        for each in known:
            below = place.fields.get(each["name"])
            kind = each["type"][1]
            made.append(
                each if below is None else _field(each["name"], self._widened(kind, below, (*path, each["name"])))
            )
        taken = {each["name"].lower() for each in known} | ({REST} if path == () else set())
        for name, below in place.fields.items():
            if not _may_be_field(name, taken):
                continue
            count = self._count
            new = self._new_field(name, below, path)
            if new is None:
                continue
            size = len(json.dumps(new, ensure_ascii=False, separators=(",", ":"))) + 1
            if self._characters + size > TEXT_MAX:
                self._count = count
                continue
            self._characters += size
            taken.add(name.lower())
            made.append(new)
        return made

    def _widened(self, kind: Any, place: Place, path: tuple[str, ...]) -> Any:
        if kind == "long" and self._promotes and Seen.DOUBLE in place.seen and Seen.LARGE_LONG not in place.seen:
            longer = self._characters + len("double") - len("long")
            if longer > TEXT_MAX:
                return kind
            self._characters = longer
            return "double"
        if not isinstance(kind, dict):
            return kind
        match kind["type"]:
            case "record":
                return {**kind, "fields": self.fields(kind["fields"], place, path)}
            case "array" if place.items is not None:
                return {**kind, "items": ["null", self._widened(kind["items"][1], place.items, path)]}
        return kind

    def _new_field(self, name: str, place: Place, path: tuple[str, ...]) -> dict[str, Any] | None:
        if self._count >= FIELDS_MAX:
            return None
        self._count += 1
        kind = self._new(place, (*path, name))
        if kind is None:
            self._count -= 1
            return None
        return _field(name, kind)

    def _new(self, place: Place, path: tuple[str, ...]) -> Any:
        """The type of a new place, or `None` if nothing says what it will be."""
        match place.seen:
            case Seen.NOTHING:
                return None
            case Seen.BOOLEAN:
                return "boolean"
            case Seen.STRING:
                return "string"
            case Seen.LIST:
                item = None if place.items is None else self._new(place.items, path)
                return None if item is None else {"type": "array", "items": ["null", item]}
            case Seen.OBJECT if not place.is_map:
                return self._new_record(place, path)
        if place.seen in Seen.LONG | Seen.LARGE_LONG:
            return "long"
        if place.seen in Seen.LONG | Seen.DOUBLE:
            return "double"
        return dict(_JSON)

    def _new_record(self, place: Place, path: tuple[str, ...]) -> Any:
        made: list[dict[str, Any]] = []
        taken: set[str] = set()
        for name, below in place.fields.items():
            if not _may_be_field(name, taken):
                continue
            new = self._new_field(name, below, path)
            if new is not None:
                taken.add(name.lower())
                made.append(new)
        if made:
            return _record(path, made)
        # Nothing but names that cannot be fields: then it is a column of its own as text.
        return dict(_JSON) if any(not is_name(name) for name in place.fields) else None


_JSON: Final[Mapping[str, str]] = {"type": "string", "logicalType": "json"}


def _may_be_field(name: str, taken: set[str]) -> bool:
    """Names that Avro has none of, and those that differ from another only in case, which most readers take for one,
    get no column."""
    return len(name) <= NAME_MAX and is_name(name) and name.lower() not in taken


def _field(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": ["null", kind], "default": None}


def _record(path: tuple[str, ...], fields: list[dict[str, Any]]) -> dict[str, Any]:
    """A record's name follows from its place alone: readers of another schema know it again."""
    return {"type": "record", "name": "Record", "namespace": ".".join(("value", *path)), "fields": fields}


_REST_FIELD: Final[Mapping[str, Any]] = _field(REST, {"type": "map", "values": "string"})


def _count(avro: Avro) -> int:
    """How many fields there are in a field's type, itself counted."""
    inner: Any = avro[1] if isinstance(avro, list) else avro
    while isinstance(inner, dict) and inner["type"] == "array":
        inner = inner["items"][1]
    if isinstance(inner, dict) and inner["type"] == "record":
        return 1 + sum(_count(each["type"]) for each in inner["fields"])
    return 1


def is_json_text(node: Node) -> bool:
    """Whether a string holds the JSON text of values."""
    return isinstance(node, Primitive) and node.kind is Kind.STRING and node.properties.get("logicalType") == "json"


def check_inferred(text: str) -> Schema:
    """The schema in a text that a log has; `SchemaError` if `widened` makes none such."""
    if len(text) > TEXT_MAX:
        raise SchemaError(f"it is longer than {TEXT_MAX:,} characters")
    schema = parse_avro(text)
    top = graph(schema)
    avro = json.loads(text)
    if schema.text != text or not isinstance(top, Record) or avro != _record((), avro["fields"]):
        raise SchemaError("it is not the schema of a record as it is inferred")
    fields = avro["fields"][:-1] if avro["fields"][-1:] == [_REST_FIELD] else avro["fields"]
    for known, each in zip(top.fields, fields, strict=False):
        name = known.name
        if not _is_inferred(each, (), 1):
            raise SchemaError(f"its field {name} is of no type that is inferred")
    if not _are_distinct([REST, *(each["name"] for each in fields)]):
        raise SchemaError(f"names of its fields differ only in case, or one is {REST}")
    return schema


def _is_inferred(each: Mapping[str, Any], path: tuple[str, ...], depth: int) -> bool:
    match each:
        case {"name": str(name), "type": ["null", kind]}:
            return each == _field(name, kind) and _is_kind(kind, (*path, name), depth)
    return False


def _is_kind(kind: Any, path: tuple[str, ...], depth: int) -> bool:
    match kind:
        case "boolean" | "long" | "double" | "string":
            return True
        case {"type": "array", "items": ["null", item], **others} if not others:
            return depth <= NESTING_MAX and _is_kind(item, path, depth + 1)
        case {"type": "record", "fields": [*fields]}:
            return (
                depth <= NESTING_MAX
                and kind == _record(path, fields)
                and _are_distinct([each["name"] for each in fields])
                and all(_is_inferred(each, path, depth + 1) for each in fields)
            )
    return bool(kind == _JSON)


def _are_distinct(names: Sequence[str]) -> bool:
    """Whether none differs from another only in case."""
    return len({each.lower() for each in names}) == len(names)
