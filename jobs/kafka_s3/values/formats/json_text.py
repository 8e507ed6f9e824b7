"""Plain values as JSON text: what Connect's JsonConverter writes of them with schemas.enable=false.

Records are objects with their fields in order, maps with keys of text objects too, other maps (arrays of `MapEntry`)
lists of pairs, bytes base64, decimals by `json.decimal.format`, dates and times the integers that they are. A union of
more than one type beside null is an object of one field per type, all but one of them null. A null stays a null, also
where its field has a default (JsonConverter's own default writes the field's instead).

msgspec writes the text. It differs from Jackson in few places, and what stands in those is made ready for it.
"""

# A visitor's methods are alike, and few need the type itself:
# ruff: noqa: ARG002

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from kafka_s3.avro.attributes import DECIMAL_NAME
from kafka_s3.avro.decimals import TooManyDigits, number_of
from kafka_s3.avro.graph import graph
from kafka_s3.avro.long_values import ITEMS, LongArray
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import (
    Array,
    Decimal,
    Enum,
    Field,
    Fixed,
    Kind,
    Map,
    Node,
    Primitive,
    Record,
    Union,
    Visitor,
)
from kafka_s3.settings.formats import DecimalFormat
from kafka_s3.values.formats.java_numbers import java_double, java_float
from kafka_s3.values.rows import Unfit

Write = Callable[[Sequence[Any]], list[bytes]]
#: A value to one that msgspec writes as Jackson would have.
_Ready = Callable[[Any], Any]

_MAP_ENTRY = "io.confluent.connect.avro.MapEntry"
# A control character by its number; or a backslash that is one, so that what follows it is not taken for an escape.
_BEYOND_BMP = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")
_READY = frozenset({str, int, bool, type(None)})
_MAY_CHANGE = frozenset({float, dict, list})
_ESCAPE = re.compile(rb"\\\\|\\u00[01][a-f]")


def writer_for(schema: Schema | None, decimals: DecimalFormat) -> Write:
    """What makes JSON text, one for each value of this schema; `None`: of JSON values without one."""
    ready = schemaless if schema is None else _Compiler(decimals).visit(graph(schema))
    encode = msgspec.json.Encoder(enc_hook=_hook).encode

    def write(values: Sequence[Any]) -> list[bytes]:
        return as_jackson(list(map(encode, values if ready is None else map(ready, values))))

    return write


def ready_for(node: Primitive | Fixed, decimals: DecimalFormat) -> _Ready | None:
    """What a value of this type needs before msgspec writes it."""
    return _Compiler(decimals).visit(node)


def as_jackson(lines: list[bytes]) -> list[bytes]:
    """What msgspec wrote with Jackson's escapes in the place of its own."""
    together = b"".join(lines)
    if together.isascii() and b"\\u00" not in together:
        return lines
    for index, line in enumerate(lines):
        if b"\\u00" in line:
            lines[index] = line = _ESCAPE.sub(_upper, line)
        if not line.isascii():
            lines[index] = _BEYOND_BMP.sub(_surrogates, line)
    return lines


def _surrogates(found: re.Match[bytes]) -> bytes:
    """Jackson writes what Java has two chars for as two escapes."""
    high, low = divmod(ord(found[0].decode()) - 0x10000, 0x400)
    return b"\\u%04X\\u%04X" % (0xD800 + high, 0xDC00 + low)


def _upper(found: re.Match[bytes]) -> bytes:
    """Jackson's hexadecimal digits are capitals."""
    text = found[0]
    return text if text == rb"\\" else text[:5] + text[5:].upper()


def _raw(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())


def _double(number: float) -> Any:
    if 1e-3 <= number < 1e7 or -1e7 < number <= -1e-3 or number == 0:
        return number
    return java_double(number) if number - number != 0 else _raw(java_double(number))


def _float(number: float) -> Any:
    return java_float(number) if number - number != 0 else _raw(java_float(number))


def is_ready(value: Any) -> bool:
    """Whether msgspec writes a value without a schema as Jackson does, numbers of Java's own types left aside."""
    kind = type(value)
    if kind is dict or kind is list:
        for each in value.values() if kind is dict else value:
            if type(each) not in _READY and not is_ready(each):
                return False
        return True
    if kind is float:
        return bool(1e-3 <= value < 1e7 or -1e7 < value <= -1e-3 or value == 0)
    return kind in _READY or isinstance(value, int)


def schemaless(value: Any) -> Any:
    """A copy only of what has to be another: lists of lists may take most of the memory that a record has."""
    kind = type(value)
    if kind is float:
        return _double(value)
    if kind is not dict and kind is not list:
        return value
    changed = None
    for place, each in value.items() if kind is dict else enumerate(value):
        if type(each) in _MAY_CHANGE and (made := schemaless(each)) is not each:
            changed = value.copy() if changed is None else changed
            changed[place] = made
    return value if changed is None else changed


class _Compiler(Visitor[_Ready | None]):
    """What values of a schema's types need before msgspec writes them; `None`: nothing."""

    def __init__(self, decimals: DecimalFormat) -> None:
        super().__init__()
        self._numeric = decimals is DecimalFormat.NUMERIC
        self._entries: dict[Record, list[_Ready | None]] = {}

    def primitive(self, node: Primitive) -> _Ready | None:
        match node.kind:
            case Kind.DOUBLE:
                return _double
            case Kind.FLOAT:
                return _float
            case Kind.BYTES:
                return self.of_bytes(node)
        return None

    def fixed(self, node: Fixed) -> _Ready | None:
        return self.of_bytes(node)

    def enum(self, node: Enum) -> None:
        return None

    def array(self, node: Array, item: _Ready | None) -> _Ready | None:
        entry = node.item
        if isinstance(entry, Record) and is_map_entry(entry):
            write = _object if is_text(entry.fields[0].node) else _pairs
            if entry not in self._entries:  # within itself: it is not known yet what its parts need
                return lambda entries: write(*self._entries[entry])(entries)
            return write(*self._entries[entry])
        return None if item is None else _items(item)

    def map(self, node: Map, item: _Ready | None) -> _Ready | None:
        return None if item is None else _entries(item)

    def union(self, node: Union, branches: list[_Ready | None]) -> _Ready | None:
        some = {each.name: ready for each, ready in zip(node.branches, branches, strict=True) if not each.nullable}
        if node.is_plain:
            one = next(iter(some.values()), None)
            return None if one is None else lambda value: None if value is None else one(value)
        shown = branch_names(node)

        def of(branch: Any) -> Any:
            if branch is None:
                return None
            ready, value = some[branch.name], branch.value
            fields = dict.fromkeys(shown.values())
            fields[shown[branch.name]] = value if ready is None else ready(value)
            return fields

        return of

    def record(self, node: Record, fields: list[_Ready | None]) -> _Ready | None:
        self._entries[node] = fields
        named = [(each.name, json_name(each), ready) for each, ready in zip(node.fields, fields, strict=True)]
        if any(name != shown for name, shown, _ in named):
            return _renamed(named)
        return _some_fields([(name, ready) for name, _, ready in named if ready is not None])

    def again(self, node: Record) -> _Ready:
        return lambda value: value if (ready := self.made[node]) is None else ready(value)

    def of_bytes(self, node: Primitive | Fixed) -> _Ready | None:
        """Connect takes for a decimal what is called one, whatever its precision."""
        words = node.properties
        if words.get("logicalType") != Decimal.name and words.get("connect.name") != DECIMAL_NAME:
            return None
        if not self._numeric:
            return _shortest
        scale = int(words.get("scale", 0))
        return lambda data: _number(data, scale)


def _items(item: _Ready) -> _Ready:
    def of(values: Any) -> Any:
        if len(values) < ITEMS:
            return [item(each) for each in values]
        return _in_pieces(b"[]", map(item, values), list)

    return of


def _entries(item: _Ready) -> _Ready:
    def of(entries: Any) -> Any:
        made = ((key, item(each)) for key, each in entries.items())
        return dict(made) if len(entries) < ITEMS else _in_pieces(b"{}", made, dict)

    return of


def _hook(values: Any) -> msgspec.Raw:
    assert type(values) is LongArray, f"no value has the type {type(values)}"
    return _in_pieces(b"[]", values, list)


def _in_pieces(ends: bytes, items: Iterable[Any], kind: Callable[[Any], Any]) -> msgspec.Raw:
    """The text of a long list or object, of whose items only some are there at a time."""
    encode = msgspec.json.Encoder(enc_hook=_hook).encode
    out, left = bytearray(ends[:1]), iter(items)
    while some := list(itertools.islice(left, ITEMS)):
        out += encode(kind(some))[1:-1]
        out += b","
    out[-1:] = ends[1:]
    return msgspec.Raw(out)


def branch_names(union: Union) -> dict[str, str]:
    """What each type of a union but null is called in JSON: Connect keeps no names of fixed types."""
    fixed = [each.name for each in union.others if isinstance(each, Fixed)]
    return {each.name: Fixed.kind if [each.name] == fixed else each.name for each in union.others}


def is_text(node: Node) -> bool:
    """Whether Connect's type is a string, null or not: then it writes a map with such keys as an object."""
    if isinstance(node, Union):
        return node.optional is not None and node.nullable and is_text(node.optional)
    return isinstance(node, Enum) or (isinstance(node, Primitive) and node.kind is Kind.STRING)


def _number(unscaled: bytes, scale: int) -> msgspec.Raw:
    """As BigDecimal.toString: plain, but with an exponent where there would be many zeros."""
    try:
        return _raw(str(number_of(unscaled, scale)))
    except TooManyDigits as error:
        raise Unfit(str(error)) from None


def json_name(field: Field) -> str:
    """A field's name in JSON: what it was before Avro had to have another one."""
    name = field.properties.get("connect.name", field.name)
    return name if isinstance(name, str) else field.name


def is_map_entry(record: Record) -> bool:
    marked = record.name == _MAP_ENTRY or record.properties.get("connect.internal.type") == "MapEntry"
    return marked and [each.name for each in record.fields] == ["key", "value"]


def _shortest(data: bytes) -> bytes:
    """A decimal in base64 has no more bytes than it needs."""
    if len(data) < 2 or (data[0] not in (0, 255)):
        return data
    number = int.from_bytes(data, signed=True)
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, signed=True)


def _some_fields(fields: list[tuple[str, _Ready]]) -> _Ready | None:
    if not fields:
        return None

    def of(record: dict[str, Any]) -> dict[str, Any]:
        made = record.copy()
        for name, ready in fields:
            made[name] = ready(made[name])
        return made

    return of


def _renamed(fields: list[tuple[str, str, _Ready | None]]) -> _Ready:
    def of(record: dict[str, Any]) -> dict[str, Any]:
        return {shown: record[name] if ready is None else ready(record[name]) for name, shown, ready in fields}

    return of


def _object(_: _Ready | None, value: _Ready | None) -> _Ready:
    encode = msgspec.json.Encoder(enc_hook=_hook).encode

    def of(entries: Any) -> dict[str, Any]:
        made = (_entry(each, None, value) for each in entries)
        if len(entries) >= ITEMS:  # a key may come twice: the last value counts, at the first place
            made = ((key, msgspec.Raw(encode(each))) for key, each in made)
        # Jackson's name for a null key
        return {"null" if key is None else key: each for key, each in made}

    return of


def _pairs(key: _Ready | None, value: _Ready | None) -> _Ready:
    def of(entries: Any) -> Any:
        made = (_entry(each, key, value) for each in entries)
        return list(made) if len(entries) < ITEMS else _in_pieces(b"[]", made, list)

    return of


def _entry(entry: dict[str, Any], key: _Ready | None, value: _Ready | None) -> tuple[Any, Any]:
    found, inner = entry["key"], entry["value"]
    return found if key is None else key(found), inner if value is None else value(inner)
