"""Plain values as JSON text: what Connect's JsonConverter writes of them with schemas.enable=false.

Records are objects with their fields in order, maps with keys of text objects too, other maps (arrays of `MapEntry`)
lists of pairs, bytes base64, decimals by `json.decimal.format`, dates and times the integers that they are. A union of
more than one type beside null is an object of one field per type, all but one of them null. A null stays a null, also
where its field has a default (JsonConverter's own default writes the field's instead).

msgspec writes the text. It differs from Jackson in few places, and what stands in those is made ready for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any

import msgspec

from kafka_s3.avro.attributes import DIGITS_MAX, too_many_digits
from kafka_s3.avro.model import Avro, Schema, full_name
from kafka_s3.settings.formats import DecimalFormat
from kafka_s3.values.formats.java_numbers import java_double, java_float
from kafka_s3.values.rows import Unfit

Write = Callable[[Sequence[Any]], list[bytes]]
#: A value to one that msgspec writes as Jackson would have.
_Ready = Callable[[Any], Any]

_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_NAMED = ("record", "enum", "fixed")
_MAP_ENTRY = "io.confluent.connect.avro.MapEntry"
_DECIMAL = "org.apache.kafka.connect.data.Decimal"
# A control character by its number; or a backslash that is one, so that what follows it is not taken for an escape.
_BEYOND_BMP = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")
_MAY_CHANGE = frozenset({float, dict, list})
_ESCAPE = re.compile(rb"\\\\|\\u00[01][a-f]")


def writer_for(schema: Schema | None, decimals: DecimalFormat) -> Write:
    """What makes JSON text, one for each value of this schema; `None`: of JSON values without one."""
    ready = _schemaless if schema is None else _Compiler(decimals).ready(schema.avro, "")
    encode = msgspec.json.Encoder().encode

    def write(values: Sequence[Any]) -> list[bytes]:
        return as_jackson(list(map(encode, values if ready is None else map(ready, values))))

    return write


def ready_for(avro: Mapping[str, Any], decimals: DecimalFormat) -> _Ready | None:
    """What bytes of this type, or a fixed, need before msgspec writes them."""
    return _Compiler(decimals).of_bytes(avro)


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


def _schemaless(value: Any) -> Any:
    """A copy only of what has to be another: lists of lists may take most of the memory that a record has."""
    kind = type(value)
    if kind is float:
        return _double(value)
    if kind is not dict and kind is not list:
        return value
    changed = None
    for place, each in value.items() if kind is dict else enumerate(value):
        if type(each) in _MAY_CHANGE and (made := _schemaless(each)) is not each:
            changed = value.copy() if changed is None else changed
            changed[place] = made
    return value if changed is None else changed


class _Compiler:
    """One schema's: named types may be called by their names, also from within themselves."""

    def __init__(self, decimals: DecimalFormat) -> None:
        self._numeric = decimals is DecimalFormat.NUMERIC
        self._named: dict[str, Mapping[str, Any]] = {}
        self._open: dict[str, list[_Ready | None]] = {}
        self._done: dict[str, _Ready | None] = {}

    def ready(self, avro: Avro, namespace: str) -> _Ready | None:
        """What a value of this type needs before msgspec writes it; `None`: nothing."""
        if isinstance(avro, list):
            return self._union(avro, namespace)
        if isinstance(avro, str):
            return self._word(avro, namespace)
        match avro["type"]:
            case "record":
                return self._record(avro, namespace)
            case "enum" | "fixed":
                self._named[full_name(avro, namespace)] = avro
                return self.of_bytes(avro) if avro["type"] == "fixed" else None
            case "array":
                return self._array(avro["items"], namespace)
            case "map":
                return _each_value(self.ready(avro["values"], namespace))
            case "bytes":
                return self.of_bytes(avro)
            case other:
                return self.ready(other, namespace)

    def _word(self, name: str, namespace: str) -> _Ready | None:
        match name:
            case "double":
                return _double
            case "float":
                return _float
            case "null" | "boolean" | "int" | "long" | "string" | "bytes":
                return None
        full = self._full(name, namespace)
        if full in self._open:  # within itself: it is not known yet what it needs
            later = self._open[full]
            return lambda value: value if later[0] is None else later[0](value)
        if full in self._done:
            return self._done[full]
        return self.of_bytes(self._named[full]) if self._named[full]["type"] == "fixed" else None

    def _full(self, name: str, namespace: str) -> str:
        inside = f"{namespace}.{name}"
        return inside if "." not in name and namespace and inside in self._named else name

    def _record(self, avro: Mapping[str, Any], namespace: str) -> _Ready | None:
        full = full_name(avro, namespace)
        space = full.rpartition(".")[0]
        self._named[full] = avro
        later: list[_Ready | None] = [None]
        self._open[full] = later
        fields = [(field["name"], json_name(field), self.ready(field["type"], space)) for field in avro["fields"]]
        if any(name != shown for name, shown, _ in fields):
            later[0] = _renamed(fields)
        else:
            later[0] = _some_fields([(name, ready) for name, _, ready in fields if ready is not None])
        del self._open[full]
        self._done[full] = later[0]
        return later[0]

    def _array(self, items: Avro, namespace: str) -> _Ready | None:
        ready = self.ready(items, namespace)
        entry = self._resolved(items, namespace)
        if isinstance(entry, Mapping) and is_map_entry(entry, full_name(entry, namespace)):
            space = full_name(entry, namespace).rpartition(".")[0]
            key, value = (self.ready(field["type"], space) for field in entry["fields"])
            return _object(value) if self._is_text(entry["fields"][0]["type"], space) else _pairs(key, value)
        return None if ready is None else lambda values: [ready(each) for each in values]

    def _resolved(self, avro: Avro, namespace: str) -> Avro | Mapping[str, Any]:
        """A name's definition; a record's own."""
        if isinstance(avro, str):
            return self._named.get(self._full(avro, namespace), avro)
        return avro if isinstance(avro, list) or avro["type"] in _NAMED else avro["type"]

    def _is_text(self, avro: Avro, namespace: str) -> bool:
        """Whether Connect's type is a string, null or not: then it writes a map with such keys as an object."""
        if isinstance(avro, list):
            rest = [each for each in avro if each != "null"]
            return len(rest) == 1 and len(avro) == 2 and self._is_text(rest[0], namespace)
        kind = self._resolved(avro, namespace)
        return kind == "string" or (isinstance(kind, Mapping) and kind["type"] == "enum")

    def _union(self, branches: list[Any], namespace: str) -> _Ready | None:
        rest = [each for each in branches if each != "null" and each != {"type": "null"}]
        made = [(self._name(each, namespace), self.ready(each, namespace)) for each in rest]
        if len(rest) == 1:
            ready = made[0][1]
            return None if ready is None else lambda value: None if value is None else ready(value)
        # Connect keeps no names of fixed types.
        fixed = [name for (name, _), each in zip(made, rest, strict=True) if self._is_fixed(each, namespace)]
        shown = {name: "fixed" if [name] == fixed else name for name, _ in made}
        by_name = dict(made)

        def of(branch: Any) -> Any:
            if branch is None:
                return None
            ready, value = by_name[branch.name], branch.value
            fields = dict.fromkeys(shown.values())
            fields[shown[branch.name]] = value if ready is None else ready(value)
            return fields

        return of

    def _is_fixed(self, avro: Avro, namespace: str) -> bool:
        kind = self._resolved(avro, namespace)
        return isinstance(kind, Mapping) and kind["type"] == "fixed"

    def _name(self, avro: Avro, namespace: str) -> str:
        kind = self._resolved(avro, namespace)
        if isinstance(kind, Mapping) and kind["type"] in _NAMED:
            return self._full(avro, namespace) if isinstance(avro, str) else full_name(kind, namespace)
        return str(kind)

    def of_bytes(self, avro: Mapping[str, Any]) -> _Ready | None:
        if avro.get("logicalType") != "decimal" and avro.get("connect.name") != _DECIMAL:
            return None
        if not self._numeric:
            return _shortest
        scale = int(avro.get("scale", 0))
        return lambda data: _number(data, scale)


def _number(unscaled: bytes, scale: int) -> msgspec.Raw:
    """As BigDecimal.toString: plain, but with an exponent where there would be many zeros."""
    if too_many_digits(unscaled):
        raise Unfit(f"a decimal of {len(unscaled)} bytes has more than the {DIGITS_MAX} digits that a number may have")
    return _raw(str(Decimal(int.from_bytes(unscaled, signed=True)).scaleb(-scale, _EXACT)))


def json_name(field: Mapping[str, Any]) -> str:
    """A field's name in JSON: what it was before Avro had to have another one."""
    name = field.get("connect.name", field["name"])
    return name if isinstance(name, str) else field["name"]


def is_map_entry(record: Mapping[str, Any], full: str) -> bool:
    marked = full == _MAP_ENTRY or record.get("connect.internal.type") == "MapEntry"
    return marked and [field["name"] for field in record["fields"]] == ["key", "value"]


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


def _each_value(ready: _Ready | None) -> _Ready | None:
    return None if ready is None else lambda values: {key: ready(each) for key, each in values.items()}


def _object(value: _Ready | None) -> _Ready:
    def of(entries: Any) -> dict[str, Any]:
        # Jackson's name for a null key
        keys = ("null" if entry["key"] is None else entry["key"] for entry in entries)
        return {
            key: entry["value"] if value is None else value(entry["value"])
            for key, entry in zip(keys, entries, strict=True)
        }

    return of


def _pairs(key: _Ready | None, value: _Ready | None) -> _Ready:
    def of(entries: Any) -> list[list[Any]]:
        return [
            [
                entry["key"] if key is None else key(entry["key"]),
                entry["value"] if value is None else value(entry["value"]),
            ]
            for entry in entries
        ]

    return of
