"""Any text of an Avro schema, with the texts it refers to, to one complete `Schema`.

What comes out is plain: a schema is a primitive's name, a full name of a type defined before, a list (a union), or an
object whose `type` is one of Avro's own words. A name without a dot is of no namespace, wherever it stands. What comes
in is a registry's answer or a user's file, so its size, its depth and its meaning are limited before anything is made.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, Final

from kafka_s3.avro.attributes import wrong_attribute, wrong_name
from kafka_s3.avro.model import Avro, Schema, full_name, schema_of
from kafka_s3.shown import NoJsonNumber, json_problem, named, quoted

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
NAMED: Final = frozenset({"record", "enum", "fixed"})

TEXT_MAX: Final = 4 * 1024 * 1024  # characters, all texts together
NESTING_MAX: Final = 64  # types within types
BRACKETS_MAX: Final = 256  # of the JSON: NESTING_MAX types of three brackets each, and properties
EXPANDED_MAX: Final = 50_000  # types and fields, if each name were replaced by what it stands for
SIZE_MAX: Final = 2**31 - 1  # of a fixed type: Java's int

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


class SchemaError(ValueError):
    """A text is not an Avro schema, or one that cannot be used, and why, for people."""


def parse_avro(
    text: str, references: Sequence[str] = (), *, id: int | None = None, version: int | None = None
) -> Schema:
    """The schema that a text and the texts it refers to say; `SchemaError` if they say none.

    A type is defined where it is first used, whatever text its definition stands in; references that nothing uses
    are left out. Worst case: JSON values and a copy of them, some 100 bytes for each of `TEXT_MAX` characters.
    """
    if len(text) + sum(map(len, references)) > TEXT_MAX:
        raise SchemaError(f"the schema is longer than {TEXT_MAX:,} characters, with those it refers to")
    known: dict[str, Any] = {}
    for reference in references:
        _collect(_json(reference), "", known, set(), 0)
    top = _json(text)
    _collect(top, "", known, set(), 0)
    writer = _Writer(known)
    avro = writer.write(top, "", "", 0, "the schema")
    size, depth = writer.expanded(avro)
    if size > EXPANDED_MAX:
        raise SchemaError(f"the schema has more than {EXPANDED_MAX:,} types, names replaced by what they stand for")
    if depth > NESTING_MAX + 1:
        raise SchemaError(f"types are nested more than {NESTING_MAX} deep, names replaced by what they stand for")
    return schema_of(avro, id=id, version=version)


def _json(text: str) -> Any:
    depth = 0
    for character in re.findall(r"[\[\]{}]", _STRING.sub("", text)):
        depth += 1 if character in "[{" else -1
        if depth > BRACKETS_MAX:
            raise SchemaError(f"the schema is nested more than {BRACKETS_MAX} brackets deep")
    try:
        parsed = json.loads(text, parse_constant=_constant, parse_float=_float)
    except (ValueError, RecursionError) as error:
        raise SchemaError(
            f"the schema is not JSON: {json_problem(error) if isinstance(error, ValueError) else 'nested too deeply'}"
        ) from error
    if _SURROGATE.search(json.dumps(parsed, ensure_ascii=False)):
        raise SchemaError("the schema holds half of a surrogate pair")
    return parsed


def _constant(name: str) -> float:
    raise NoJsonNumber(name)


def _float(text: str) -> float:
    if math.isinf(value := float(text)):
        raise ValueError("a number is too large for a double")
    return value


def _collect(node: Any, namespace: str, known: dict[str, Any], here: set[str], depth: int) -> None:
    """Every definition by its full name; `here`: the names of this text."""
    if depth > NESTING_MAX:
        raise SchemaError(f"types are nested more than {NESTING_MAX} deep")
    if isinstance(node, list):
        for each in node:
            _collect(each, namespace, known, here, depth + 1)
    if not isinstance(node, dict):
        return
    kind = node.get("type")
    if isinstance(kind, dict | list):
        _collect(kind, namespace, known, here, depth + 1)
    elif kind in NAMED:
        name = _name_of(node, namespace)
        if name in here:
            raise SchemaError(f"{name} is defined twice")
        if name in known and known[name] != node:
            raise SchemaError(f"{name} is defined twice, and not in the same way")
        here.add(name)
        known.setdefault(name, node)
        namespace = name.rpartition(".")[0]
    if kind == "record" and isinstance(node.get("fields"), list):
        for field in node["fields"]:
            if isinstance(field, dict):
                _collect(field.get("type"), namespace, known, here, depth + 1)
    elif kind in ("array", "map"):
        _collect(node.get("items" if kind == "array" else "values"), namespace, known, here, depth + 1)


def _name_of(node: dict[str, Any], namespace: str) -> str:
    name, own = node.get("name"), node.get("namespace")
    if not isinstance(name, str):
        raise SchemaError(f"a type {_say(node['type'])} has no name" if name is None else f"{_say(name)} is not a name")
    if own is not None and not isinstance(own, str):
        raise SchemaError(f"the namespace {_say(own)} of {_say(name)} is not text")
    if own is None:
        node = {key: value for key, value in node.items() if key != "namespace"}
    full = full_name(node, namespace)
    if full.rpartition(".")[2] in PRIMITIVES:
        raise SchemaError(f"{_say(full)} is the name of one of Avro's own types")
    if not all(map(is_name, full.removeprefix(".").split("."))):
        raise SchemaError(f"{_say(full)} is not a name of a type: letters, digits and _ in parts between dots")
    return full.removeprefix(".")


def is_name(text: str) -> bool:
    """As Avro for Java has it: letters of any alphabet."""
    return text != "" and (text[0].isalpha() or text[0] == "_") and all(each.isalnum() or each == "_" for each in text)


def _say(value: Any) -> str:
    """A name, or what stands where one should: names say where something is, all else may be content."""
    if isinstance(value, str):
        return named(repr(value))
    text = json.dumps(value, ensure_ascii=False)
    return quoted(value, text if len(text) <= 80 else f"{text[:77]}...")


class _Writer:
    """Writes a schema out, each definition where its name is used first."""

    def __init__(self, known: dict[str, Any]) -> None:
        self._known = known
        self._written: dict[str, dict[str, Any]] = {}
        self._names: dict[int, str] = {}  # of what is in _written, by identity
        self._sizes: dict[str, tuple[int, int]] = {}

    def write(self, node: Any, inside: str, around: str, depth: int, where: str) -> Avro:
        """`inside`: the namespace that the author's text has here; `around`: the one that the text written has."""
        if depth > NESTING_MAX:
            raise SchemaError(f"types are nested more than {NESTING_MAX} deep, names replaced by what they stand for")
        if isinstance(node, str):
            return node if node in PRIMITIVES else self._named(node, inside, around, depth, where)
        if isinstance(node, list):
            return self._union(node, inside, around, depth, where)
        if not isinstance(node, dict):
            raise SchemaError(f"{where} is not a type: {_say(node)}")
        kind = node.get("type")
        if (wrong := wrong_attribute(node, where)) is not None:
            raise SchemaError(wrong)
        if isinstance(kind, dict | list):
            inner = self.write(kind, inside, around, depth + 1, where)
            own = _without_others(node, "")
            return {**own, **inner} if isinstance(inner, dict) and inner["type"] not in NAMED else inner
        if not isinstance(kind, str):
            raise SchemaError(f"{where} has no type: {_say(node)}")
        if kind in PRIMITIVES:
            return _without_others(node, kind)
        if kind in NAMED:
            return self._named("." + _name_of(node, inside), inside, around, depth, where)
        if kind in ("array", "map"):
            word = "items" if kind == "array" else "values"
            if word not in node:
                raise SchemaError(f"{where} is of type {kind}, but does not say its {word}")
            below = self.write(node[word], inside, around, depth + 1, f"{where}, {word}")
            return {**_without_others(node, kind), word: below}
        return self._named(kind, inside, around, depth, where)

    def _union(self, node: list[Any], inside: str, around: str, depth: int, where: str) -> list[Any]:
        made = [self.write(each, inside, around, depth + 1, where) for each in node]
        if not made:
            raise SchemaError(f"{where} is a union of no types")
        names: set[str] = set()
        namespaces = around
        for each in made:
            if isinstance(each, list):
                raise SchemaError(f"{where} is a union within a union")
            name = each if isinstance(each, str) else str(each["type"])
            if isinstance(each, dict) and name in NAMED:
                name = full_name(each, namespaces)
            if name in names:
                raise SchemaError(f"{where} is a union that has {name} twice")
            names.add(name)
        return made

    def _named(self, name: str, inside: str, around: str, depth: int, where: str) -> Avro:
        """A name, or its definition where it comes first; a leading dot marks a full name."""
        full = name.removeprefix(".")
        if full == name and "." not in name and inside and f"{inside}.{name}" in self._known:
            full = f"{inside}.{name}"
        if full not in self._known:
            raise SchemaError(f"{where} is of type {_say(full)}, which is not defined, nor among the references")
        if full in self._written:
            return full
        node = self._known[full]
        own_words = _without_others(node, node["type"])
        made = {key: value for key, value in own_words.items() if not (key == "namespace" and value is None)}
        self._written[full] = made
        self._names[id(made)] = full
        if full_name(made, around) != full:
            # It stood elsewhere, and had its namespace from there.
            made.pop("namespace", None)
            rest = dict(made)
            made.clear()
            for key, value in rest.items():
                made[key] = value
                if key == "name":
                    made["namespace"] = full.rpartition(".")[0]
        own = full.rpartition(".")[0]
        match made["type"]:
            case "record":
                self._fields(made, full, own, depth)
            case "enum":
                _check_symbols(made, full)
            case _:
                _check_size(made, full)
        _check_aliases(made, full)
        return made

    def _fields(self, made: dict[str, Any], full: str, own: str, depth: int) -> None:
        fields = made.get("fields")
        if not isinstance(fields, list):
            raise SchemaError(f"the record {full} has no list of fields")
        names: set[str] = set()
        written: list[dict[str, Any]] = []
        for field in fields:
            if not isinstance(field, dict) or not isinstance(name := field.get("name"), str) or "type" not in field:
                raise SchemaError(f"the record {full} has a field without a name or a type: {_say(field)}")
            if not is_name(name):
                raise SchemaError(f"the record {full} has a field {_say(name)}, which is not a name")
            if name in names:
                raise SchemaError(f"the record {full} has two fields {_say(name)}")
            names.add(name)
            _check_aliases(field, f"{full}.{name}")
            if (wrong := wrong_name(field, f"{full}.{name}")) is not None:
                raise SchemaError(wrong)
            written.append({**field, "type": self.write(field["type"], own, own, depth + 1, f"{full}.{name}")})
        made["fields"] = written

    def expanded(self, node: Any) -> tuple[int, int]:
        """How many types and fields there are and how deep, names replaced by their definitions; a name within itself
        is one."""
        if isinstance(node, list):
            return self._around(node)
        if isinstance(node, str):
            return (1, 1) if node in PRIMITIVES else self._sizes[node]
        if node["type"] not in NAMED:
            return self._around([node[word] for word in ("items", "values") if word in node])
        name = self._names[id(node)]
        self._sizes[name] = (1, 1)
        self._sizes[name] = self._around([field["type"] for field in node.get("fields", ())])
        return self._sizes[name]

    def _around(self, nodes: Sequence[Any]) -> tuple[int, int]:
        below = [self.expanded(node) for node in nodes]
        size = 1 + sum(size for size, _ in below)
        return min(size, EXPANDED_MAX + 1), 1 + max((depth for _, depth in below), default=0)


#: The word that says what a type is made of, and which others must not be taken to have.
_MADE_OF: Final = {"array": "items", "map": "values", "record": "fields", "enum": "symbols", "fixed": "size"}


def _without_others(node: dict[str, Any], kind: str) -> dict[str, Any]:
    """A type without the words that say what other types are made of: on this one they mean nothing."""
    others = {word for each, word in _MADE_OF.items() if each != kind}
    return {name: value for name, value in node.items() if name not in others}


def _check_symbols(made: dict[str, Any], full: str) -> None:
    symbols = made.get("symbols")
    if not isinstance(symbols, list) or not symbols:
        raise SchemaError(f"the enum {full} has no list of symbols")
    for symbol in symbols:
        if not isinstance(symbol, str) or not is_name(symbol):
            raise SchemaError(f"the enum {full} has a symbol {_say(symbol)}, which is not a name")
    if len(set(symbols)) != len(symbols):
        raise SchemaError(f"the enum {full} has a symbol twice")


def _check_size(made: dict[str, Any], full: str) -> None:
    size = made.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= SIZE_MAX:
        raise SchemaError(f"the fixed type {full} has the size {_say(size)}: a number from 0 to {SIZE_MAX:,} is one")


def _check_aliases(made: dict[str, Any], where: str) -> None:
    aliases = made.get("aliases", [])
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise SchemaError(f"the aliases of {where} are not a list of names: {_say(aliases)}")
