"""Random Avro schemas and random values under them, for property tests.

`avro_schemas()` draws a `Schema` whose text is complete; `values_of(schema)` draws values as `schemas.model` has them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from kafka_s3.avro.model import Avro, Branch, Schema, full_name, schema_of

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
SYMBOLS = ("RED", "GREEN", "BLUE", "_x1", "a")
FIELDS = ("id", "name", "a", "b", "c", "value_1", "Übung")
LOGICAL: tuple[dict[str, Any], ...] = (
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "long", "logicalType": "local-timestamp-micros"},
    {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 3},
    {"type": "string", "logicalType": "uuid"},
    {"type": "string", "avro.java.string": "String"},
    {"type": "int", "connect.type": "int16"},
)


class _Names:
    """Names of types that are not taken yet, and the types defined so far."""

    def __init__(self) -> None:
        self.defined: list[str] = []
        self.count = 0

    def next(self, kind: str) -> dict[str, str]:
        # Never the null namespace: other readers cannot refer to it from inside another one.
        name = {"name": f"{kind}{self.count}", "namespace": ("m", "n", "o.p")[self.count % 3]}
        self.count += 1
        self.defined.append(full_name(name))
        return name


@st.composite
def avro_schemas(
    draw: st.DrawFn,
    *,
    depth: int = 3,
    record: bool = False,
    logical: bool = False,
    branches: bool = True,
    recursive: bool = False,
    maps: bool = True,
    zero_size: bool = True,
) -> Schema:
    """A schema, at most `depth` levels deep.

    `record`: a record at the top. `logical`: with logical types. `branches`: with unions of several types.
    `recursive`: records may hold themselves, below a union, an array or a map. `zero_size`: null as a type by itself,
    empty records and fixed of no bytes among them.
    """
    names = _Names()
    inner = draw(_inner(names, depth, logical, branches, recursive, maps, zero_size))
    if record and not (isinstance(inner, dict) and inner["type"] == "record"):
        inner = {
            "type": "record",
            "name": "Top",
            "fields": [{"name": "id", "type": inner}, {"name": "n", "type": "int"}],
        }
    return schema_of(inner)


@st.composite
def _inner(
    draw: st.DrawFn,
    names: _Names,
    depth: int,
    logical: bool,
    branches: bool,
    recursive: bool,
    maps: bool,
    zero_size: bool,
    barred: frozenset[str] = frozenset(),
) -> Avro:
    """`barred`: kinds that may not be drawn here: those that a union has, and unions inside it."""

    def below(*, level: int = depth - 1, barred: frozenset[str] = frozenset()) -> Any:
        return draw(_inner(names, level, logical, branches, recursive, maps, zero_size, barred))

    kinds = [*PRIMITIVES, "enum", "fixed"]
    kinds += ["logical"] * logical
    if depth > 0:
        kinds += ["record", "record", "optional", "optional", "array"] + ["union"] * branches + ["map"] * maps
    if names.defined:
        kinds.append("reference")
    if not zero_size:
        kinds.remove("null")
    kind = draw(st.sampled_from([kind for kind in kinds if kind not in barred]))
    if kind == "reference":
        return draw(st.sampled_from(names.defined))
    if kind == "enum":
        symbols = draw(st.lists(st.sampled_from(SYMBOLS), min_size=1, max_size=4, unique=True))
        return {"type": "enum", **names.next("E"), "symbols": symbols}
    if kind == "fixed":
        return {"type": "fixed", **names.next("F"), "size": draw(st.integers(0 if zero_size else 1, 5))}
    if kind == "logical":
        return dict(draw(st.sampled_from(LOGICAL)))
    if kind == "array":
        return {"type": "array", "items": below()}
    if kind == "map":
        return {"type": "map", "values": below()}
    if kind == "optional":
        some = below(barred=frozenset({"null", "optional", "union"}))
        return ["null", some] if draw(st.booleans()) else [some, "null"]
    if kind == "union":
        return _union(draw, below)
    if kind == "record":
        name = names.next("R")
        full = full_name(name)
        names.defined.remove(full)  # not to be referred to while it is open, or values would be without end
        chosen = draw(st.lists(st.sampled_from(FIELDS), min_size=0 if zero_size else 1, max_size=4, unique=True))
        fields = [{"name": each, "type": below()} for each in chosen]
        if recursive and draw(st.booleans()):
            again = draw(st.sampled_from([["null", full], {"type": "array", "items": full}]))
            fields.append({"name": "again", "type": again})
        names.defined.append(full)
        return {"type": "record", **name, "fields": fields}
    return str(kind)


def _union(draw: st.DrawFn, below: Any) -> list[Any]:
    """Two to four branches, each of another type; named types may occur several times."""
    made: list[Any] = []
    barred = {"optional", "union", "logical"}
    for _ in range(draw(st.integers(2, 4))):
        branch = below(level=1, barred=frozenset(barred))
        kind = branch if isinstance(branch, str) else branch["type"]
        if kind not in ("enum", "fixed", "record"):
            barred.add(kind)
        if branch_name(branch) not in map(branch_name, made):
            made.append(branch)
    return made


def values_of(schema: Schema, *, size_max: int = 3) -> st.SearchStrategy[Any]:
    """Values under a schema; arrays and maps hold at most `size_max` items."""
    return _values(schema.avro, _defined(schema.avro), size_max, 0)


def _defined(avro: Avro) -> dict[str, Any]:
    """Every named type by its full name."""
    found: dict[str, Any] = {}

    def walk(node: Any, namespace: str) -> None:
        if isinstance(node, list):
            for each in node:
                walk(each, namespace)
        elif isinstance(node, dict):
            if node["type"] in ("record", "enum", "fixed"):
                name = full_name(node, namespace)
                found[name] = node
                namespace = name.rpartition(".")[0]
            for field in node.get("fields", ()):
                walk(field["type"], namespace)
            walk(node.get("items"), namespace)
            walk(node.get("values"), namespace)

    walk(avro, "")
    return found


def branch_name(branch: Any, namespace: str = "") -> str:
    """What `Branch` calls a branch; names in a schema that this module drew are full ones."""
    if isinstance(branch, str):
        return branch
    return full_name(branch, namespace) if branch["type"] in ("record", "enum", "fixed") else str(branch["type"])


def _float32(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


_SIMPLE: Mapping[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1) | st.integers(-70, 70),
    "long": st.integers(-(2**63), 2**63 - 1) | st.integers(-70, 70),
    "float": st.floats(width=32, allow_nan=False).map(_float32),
    "double": st.floats(allow_nan=False),
    "bytes": st.binary(max_size=80),
    "string": st.text(max_size=12) | st.text("ab", min_size=60, max_size=70),
}
_LOGICAL: Mapping[str, st.SearchStrategy[Any]] = {
    "date": st.integers(-700_000, 2_900_000),
    "time-millis": st.integers(0, 86_399_999),
    "time-micros": st.integers(0, 86_399_999_999),
    "decimal": st.integers(-(10**20) + 1, 10**20 - 1).map(
        lambda value: value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)
    ),
    "uuid": st.uuids().map(str),
}


def _values(node: Any, defined: Mapping[str, Any], size_max: int, depth: int) -> st.SearchStrategy[Any]:
    def below(inner: Any) -> st.SearchStrategy[Any]:
        return _values(inner, defined, 0 if depth > 8 else size_max, depth + 1)

    if isinstance(node, str):
        if node in _SIMPLE:
            return _SIMPLE[node]
        return st.deferred(lambda: _values(defined[node], defined, size_max, depth))
    if isinstance(node, list):
        return _union_values(node, below, depth)
    match node["type"]:
        case "record":
            names = [field["name"] for field in node["fields"]]
            drawn = st.fixed_dictionaries({field["name"]: below(field["type"]) for field in node["fields"]})
            return drawn.map(lambda value: {name: value[name] for name in names})
        case "enum":
            return st.sampled_from(node["symbols"])
        case "fixed":
            return st.binary(min_size=node["size"], max_size=node["size"])
        case "array":
            return st.lists(below(node["items"]), max_size=size_max if depth <= 8 else 0)
        case "map":
            return st.dictionaries(st.text(max_size=4), below(node["values"]), max_size=size_max if depth <= 8 else 0)
        case simple:
            if node.get("connect.type") == "int16":
                return st.integers(-(2**15), 2**15 - 1)
            return _LOGICAL.get(node.get("logicalType"), _SIMPLE[simple])


def _union_values(node: list[Any], below: Any, depth: int) -> st.SearchStrategy[Any]:
    some = [branch for branch in node if branch != "null"]
    if "null" in node and depth > 8:
        return st.none()
    if len(some) == 1:
        made = [below(some[0])]
    else:
        made = [st.builds(Branch, st.just(branch_name(branch)), below(branch)) for branch in some]
    return st.one_of([st.none()] * ("null" in node) + made)
