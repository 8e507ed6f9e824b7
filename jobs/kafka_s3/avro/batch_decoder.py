"""Values of many datums at once, by fastavro.

Logical types mean nothing here, as `avro.model` has it.
"""

# A visitor's methods are alike, and few need the type itself:
# ruff: noqa: ARG002

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import fastavro

from kafka_s3.avro.datum_writer import long_bytes
from kafka_s3.avro.model import Branch
from kafka_s3.avro.nodes import Array, Enum, Fixed, Map, Node, Primitive, Record, Union, Visitor, is_null

#: Makes so many values of their bytes.
Decode = Callable[[int, bytes], list[Any]]


def batch_decoder(schema: Node) -> Decode | None:
    """A decoder over fastavro, of datums that were checked; `None` if fastavro cannot have the schema.

    A batch of datums is what Avro writes for an array of them, so one call reads it all.
    """
    plain = _ForFastavro()
    items = plain.of(schema)
    if not plain.possible:
        return None
    parsed = fastavro.parse_schema({"type": "array", "items": items})
    post = _Posts().visit(schema) if plain.branches else None

    def decode(count: int, datums: bytes) -> list[Any]:
        if not count:
            return []
        body = io.BytesIO(b"".join((long_bytes(count), datums, b"\0")))
        values: list[Any] = fastavro.schemaless_reader(body, parsed, None)  # type: ignore[assignment]
        return values if post is None else [post(value) for value in values]

    return decode


class _ForFastavro:
    """Writes a schema for fastavro to read by: without logical types, and with branches that say which they are.

    fastavro names the branch of a value only where that is a record. So a branch of a union of several types becomes a
    record of one field, called by the branch's number: a record adds no bytes to its fields.
    """

    def __init__(self) -> None:
        self.branches = False
        self.possible = True
        self._names: dict[Node, str] = {}
        self._count = 0

    def of(self, node: Node) -> Any:
        match node:
            case Primitive(kind):
                return kind.value
            case Array(item):
                return {"type": "array", "items": self.of(item)}
            case Map(item):
                return {"type": "map", "values": self.of(item)}
            case Union(branches):
                if node.is_plain:
                    return [self.of(each) for each in branches]
                self.branches = True
                return [self._branch(index, each) for index, each in enumerate(branches)]
        if node in self._names:
            return self._names[node]
        name = self._names[node] = self._name()
        match node:
            case Fixed():
                return {"type": "fixed", "name": name, "size": node.size}
            case Enum():
                self.possible = self.possible and all(map(str.isascii, node.symbols))
                return {"type": "enum", "name": name, "symbols": list(node.symbols)}
            case Record():
                return self._record(name, [(each.name, each.node) for each in node.fields])

    def _branch(self, index: int, node: Node) -> Any:
        return "null" if is_null(node) else self._record(self._name(), [(f"b{index}", node)])

    def _record(self, name: str, fields: Sequence[tuple[str, Node]]) -> Any:
        return {"type": "record", "name": name, "fields": [{"name": each, "type": self.of(t)} for each, t in fields]}

    def _name(self) -> str:
        self._count += 1
        return f"t{self._count}"


Post = Callable[[Any], Any]


class _Posts(Visitor[Post | None]):
    """From what fastavro reads by such a schema to values; `None` where the two are the same."""

    def primitive(self, node: Primitive) -> None:
        return None

    def fixed(self, node: Fixed) -> None:
        return None

    def enum(self, node: Enum) -> None:
        return None

    def array(self, node: Array, item: Post | None) -> Post | None:
        return item and (lambda values: [item(value) for value in values])

    def map(self, node: Map, item: Post | None) -> Post | None:
        return item and (lambda entries: {key: item(value) for key, value in entries.items()})

    def union(self, node: Union, branches: list[Post | None]) -> Post | None:
        if node.is_plain:
            post = next((post for each, post in zip(node.branches, branches, strict=True) if not each.nullable), None)
            return post and (lambda value: None if value is None else post(value))
        made = {f"b{index}": (each.name, branches[index]) for index, each in enumerate(node.branches)}

        def branch(value: Any) -> Any:
            if value is None:
                return None
            [(number, inner)] = value.items()
            name, post = made[number]
            return Branch(name, inner if post is None else post(inner))

        return branch

    def record(self, node: Record, fields: list[Post | None]) -> Post | None:
        changed = [(each.name, post) for each, post in zip(node.fields, fields, strict=True) if post is not None]

        def record(value: dict[str, Any]) -> dict[str, Any]:
            for name, post in changed:
                value[name] = post(value[name])
            return value

        return record if changed else None

    def again(self, node: Record) -> Post:
        return lambda value: (self.made[node] or _same)(value)


def _same(value: Any) -> Any:
    return value
