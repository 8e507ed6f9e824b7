"""JSON without a schema, written under one that was inferred from a sample (`inference`).

No value is changed. What the schema has no place for goes into the column `_rest` of its record as JSON text, or makes
the record a bad one: a field that the schema does not have, a value of another type, a number that a double does not
hold as it was written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import msgspec

from kafka_s3.avro.nodes import Array, Fixed, Kind, Map, Node, Primitive, Record, Union, held
from kafka_s3.avro.parse import SchemaError
from kafka_s3.errors import LogDamaged
from kafka_s3.settings.converters import ConverterSettings
from kafka_s3.values.converters.inference import REST, check_inferred, is_exact, is_json_text
from kafka_s3.values.converters.typed import TypedJson
from kafka_s3.values.converters.typed_forms import Form, Forms
from kafka_s3.values.converters.typed_values import NotTyped, Real, parse

#: Entries of one record's `_rest`; a record with more goes there whole.
REST_MAX: Final = 1000
#: After what JSON has before a number: one with more digits than any double holds, or with an exponent.
_LONG_NUMBER: Final = re.compile(rb"[:,\[\s](?=-?(?:(?=[0-9.]{17})[0-9]++\.|[0-9]++(?:\.[0-9]++)?[eE]))")
#: What text has that holds one which a double may change; every digit is a zero there. Of 16 digits, which is one more
#: than any double holds, 8 are on one side of the point; without a point there is an exponent. Numbers that are too
#: large do not decode, and those that are too small have an exponent of three digits.
_SUSPECT: Final = (b"." + b"0" * 8, b"0" * 8 + b".", b"0" * 16 + b"e", b"e-000")
_AS_ZEROS: Final = bytes.maketrans(b"123456789E", b"000000000e")
_NUMBER: Final = re.compile(rb"-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_LONG: Final = range(-(1 << 63), 1 << 63)


def inferred_json(settings: ConverterSettings, *, columns: bool = False) -> InferredJson:
    """The converter under a schema that a plan has pinned; `LogDamaged` if it is none that is inferred."""
    assert settings.inference is not None
    assert settings.schema_text is not None, "a plan pins a schema before anything is written"
    try:
        schema = check_inferred(settings.schema_text)
    except SchemaError as error:
        raise LogDamaged(
            f"The schema that a plan has for its values cannot be used: {error}.",
            next="Nothing was written. Restore the plan from the bucket's versions or a backup.",
        ) from None
    return InferredJson(replace(schema, version=1), columns=columns)


class InferredJson(TypedJson):
    """Values to rows of one schema, with all that they hold."""

    def _forms(self) -> Forms:
        return _Forms()

    def _reader_of(self, node: Node) -> _Fitting:
        self._has_doubles = any(isinstance(each, Primitive) and each.kind is Kind.DOUBLE for each in held(node))
        assert isinstance(node, Record), "it was checked"
        return _Fitting(node)

    def _may_change(self, text: bytes) -> bool:
        if not self._has_doubles:
            return False
        zeros = text.translate(_AS_ZEROS)
        return any(each in zeros for each in _SUSPECT) and not all(map(_is_kept, _numbers(text)))


def _numbers(text: bytes) -> Iterable[str]:
    for found in _LONG_NUMBER.finditer(text):
        number = _NUMBER.match(text, found.end())
        yield "" if number is None else number[0].decode()


def _is_kept(number: str) -> bool:
    return number.isdecimal() or is_exact(Real(number))


class _Forms(Forms):
    """The types of an inferred schema: what they do not hold they refuse, and `_Fitting` reads it."""

    _ANY_FIELDS = False

    def of(self, node: Node, path: str) -> Form:
        if path == REST:  # a field of that name in the JSON is none of this
            return Form(node, None)
        return super().of(node, path)

    def _simple(self, node: Primitive | Fixed, path: str) -> Form:
        if is_json_text(node):
            return Form(node, msgspec.Raw, _text_of_raw, direct=True)
        if isinstance(node, Primitive) and node.kind is Kind.DOUBLE:
            return Form(node, int | float, _double, frozenset({float}), direct=True)
        return super()._simple(node, path)

    def _nullable_text(self, node: Union, form: Form) -> Form:
        return replace(form, node=node)


def _text_of_raw(found: Any) -> str | None:
    if type(found) is not msgspec.Raw:
        return None  # a field that is not there
    parsed = parse(bytes(found))
    return None if parsed is None else json_text(parsed)


def _double(found: int | float) -> float:
    if isinstance(found, int) and not is_exact(found):
        raise NotTyped("a double does not hold it")
    return float(found)


class _Fitting:
    """Reads what `parse` made by an inferred schema."""

    def __init__(self, node: Record) -> None:
        self._node = node
        self._has_rest = node.field(REST) is not None
        self._rest: dict[str, str] = {}
        self._names: dict[Record, frozenset[str]] = {
            each: frozenset(inner.name for inner in each.fields)
            for each in (node, *held(node))
            if isinstance(each, Record)
        }
        self._names[node] -= {REST}

    def read(self, parsed: Any) -> dict[str, Any]:
        """The plain value; `NotTyped` for what does not fit, if there is no column for it."""
        self._rest = {}
        try:
            made = self._read(self._node, parsed, "")
        except _Whole:
            made = None
        if made is None:
            self._rest = {"": json_text(parsed)}
            made = dict.fromkeys(each.name for each in self._node.fields)
        if self._has_rest:
            made[REST] = self._rest or None
        return made  # type: ignore[no-any-return]

    def _read(self, node: Node, parsed: Any, path: str) -> Any:
        """`path`: a JSON Pointer."""
        if parsed is None:
            return None
        node = node.required
        match node, parsed:
            case Record(), dict():
                return self._record(node, parsed, path)
            case Array(item), list():
                return [self._read(item, each, f"{path}/{index}") for index, each in enumerate(parsed)]
            case Primitive(), _ if (fitting := _fitting(node, parsed)) is not None:
                return fitting
        if not self._has_rest:
            wanted = _described(node)
            raise NotTyped(f"{path or 'the value'} is not {wanted}")
        self._keep(path, parsed)
        return None

    def _record(self, node: Record, parsed: dict[str, Any], path: str) -> dict[str, Any]:
        names = self._names[node]
        made = {
            each.name: self._read(each.node, parsed[each.name], f"{path}/{each.name}")
            if each.name in names and each.name in parsed
            else None
            for each in node.fields
        }
        for name, value in parsed.items():
            if name not in names and value is not None:
                if not self._has_rest:
                    raise NotTyped(f"{path or 'the value'} has a field that its schema does not have")
                self._keep(f"{path}/{_escaped(name)}", value)
        return made

    def _keep(self, pointer: str, parsed: Any) -> None:
        if len(self._rest) >= REST_MAX:
            raise _Whole
        self._rest[pointer] = json_text(parsed)


class _Whole(Exception):
    """A record goes into the rest whole: more than REST_MAX of its values do not fit, or a name is in no pointer."""


def _fitting(node: Primitive, parsed: Any) -> Any:
    """The value as the column has it, or `None` if it does not fit."""
    match node.kind, parsed:
        case Kind.BOOLEAN, bool():
            return parsed
        case Kind.LONG, int() if not isinstance(parsed, bool) and parsed in _LONG:
            return parsed
        case Kind.DOUBLE, int() | Real() if not isinstance(parsed, bool) and is_exact(parsed):
            return float(parsed)
        case Kind.STRING, _ if is_json_text(node):
            return json_text(parsed)
        case Kind.STRING, str() if not isinstance(parsed, Real) and _is_unicode(parsed):
            return parsed
    return None


def _described(node: Node) -> str:
    match node:
        case Record():
            return "an object"
        case Array() | Map():
            return "a list"
        case Primitive(Kind.DOUBLE):
            return "a number that a double holds as it is written"
        case Primitive(Kind.LONG):
            return "a whole number of 64 bits"
        case Primitive(Kind.STRING):
            return "text"
    return f"a {node.described}"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escaped(name: str) -> str:
    """A field's name in a JSON Pointer (RFC 6901), which has no half of a surrogate pair."""
    if not _is_unicode(name):
        raise _Whole
    return name.replace("~", "~0").replace("/", "~1")


def json_text(parsed: Any) -> str:
    """What `parse` made as JSON again: numbers as they were written but for -0, which is 0, and no white space.

    >>> json_text(parse(b'{ "a": [1.50, 1e3], "b": "\\\\u00e9" }'))
    '{"a":[1.50,1e3],"b":"é"}'
    """
    match parsed:
        case Real():
            return str(parsed)
        case dict():
            return "{" + ",".join(f"{json_text(name)}:{json_text(each)}" for name, each in parsed.items()) + "}"
        case list():
            return "[" + ",".join(map(json_text, parsed)) + "]"
        case str():
            return json.dumps(parsed, ensure_ascii=not _is_unicode(parsed))
    return json.dumps(parsed)
