"""Batches of Avro's binary form: checked, read and written.

A valid datum is one that `walk` reads to its end; the fast ways here and in `columns` agree with it. Logical types
mean nothing here, as `schemas.model` has it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import fastavro

from kafka_s3.avro import batch_reader
from kafka_s3.avro.datum_reader import FEW, PRIMITIVES, NotADatum, branch_name, check, read, reader
from kafka_s3.avro.datum_writer import long_bytes, writer
from kafka_s3.avro.model import Branch, Schema, full_name


class Codec:
    """What a schema's binary form takes; made by `codec`, which keeps it."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.columns = batch_reader.columns_of(schema)
        self._read = reader(schema.avro)
        self._write = writer(schema.avro)
        self._decode = _batch_decoder(schema)

    def check(self, datums: Sequence[bytes]) -> dict[int, str]:
        """Which datums are not exactly one value of the schema, by index, and why."""
        if self.columns is None or len(datums) < FEW:
            return self.reasons(datums, range(len(datums)))
        return self.reasons(datums, self.columns.scan(datums).doubtful())

    def reasons(self, datums: Sequence[bytes] | Mapping[int, bytes], indexes: Sequence[int]) -> dict[int, str]:
        """Like `check`, of some datums, each read by itself."""
        found: dict[int, str] = {}
        for index in indexes:
            try:
                check(self._read, datums[index])
            except NotADatum as error:
                found[index] = str(error)
        return found

    def decode(self, datums: Sequence[bytes]) -> list[Any]:
        """The values of checked datums."""
        if self._decode is None:
            return [read(self._read, datum) for datum in datums]
        return self._decode(datums)

    def encode(self, values: Sequence[Any]) -> list[bytes]:
        """The datums of values of the schema."""
        made: list[bytes] = []
        for value in values:
            out = bytearray()
            self._write(value, out)
            made.append(bytes(out))
        return made


def codec(schema: Schema) -> Codec:
    """The codec of a schema, whatever its id and version."""
    return _codec(schema.text)


@lru_cache(maxsize=256)
def _codec(text: str) -> Codec:
    return Codec(Schema(text))


def _batch_decoder(schema: Schema) -> Callable[[Sequence[bytes]], list[Any]] | None:
    """A decoder over fastavro; `None` if fastavro cannot have the schema.

    A batch of datums is what Avro writes for an array of them, so one call reads it all.
    """
    bare = _Bare()
    node = bare.of(schema.avro, "")
    if not bare.possible:
        return None
    parsed = fastavro.parse_schema({"type": "array", "items": node})
    post = _Post().of(schema.avro, "") if bare.branches else None

    def decode(datums: Sequence[bytes]) -> list[Any]:
        if not datums:
            return []
        body = io.BytesIO(b"".join((long_bytes(len(datums)), *datums, b"\0")))
        values: list[Any] = fastavro.schemaless_reader(body, parsed, None)  # type: ignore[assignment]
        return values if post is None else [post(value) for value in values]

    return decode


class _Bare:
    """A schema for fastavro to read by: without logical types, and with branches that say which they are.

    fastavro names the branch of a value only where that is a record. So a branch of a union of several types becomes a
    record of one field, called by the branch's number: a record adds no bytes to its fields.
    """

    def __init__(self) -> None:
        self.branches = False
        self.possible = True
        self._names: dict[str, str] = {}

    def of(self, node: Any, namespace: str) -> Any:
        if isinstance(node, str):
            return node if node in PRIMITIVES else self._names[node]
        if isinstance(node, list):
            if sum(branch_name(each, namespace) != "null" for each in node) <= 1:
                return [self.of(each, namespace) for each in node]
            self.branches = True
            return [self._branch(index, each, namespace) for index, each in enumerate(node)]
        kind = node["type"]
        if kind in PRIMITIVES:
            return kind
        if kind in ("array", "map"):
            word = "items" if kind == "array" else "values"
            return {"type": kind, word: self.of(node[word], namespace)}
        full = full_name(node, namespace)
        name = self._names[full] = f"t{len(self._names)}"
        if kind == "fixed":
            return {"type": "fixed", "name": name, "size": node["size"]}
        if kind == "enum":
            self.possible = self.possible and all(map(str.isascii, node["symbols"]))
            return {"type": "enum", "name": name, "symbols": node["symbols"]}
        own = full.rpartition(".")[0]
        fields = [{"name": field["name"], "type": self.of(field["type"], own)} for field in node["fields"]]
        return {"type": "record", "name": name, "fields": fields}

    def _branch(self, index: int, node: Any, namespace: str) -> Any:
        if branch_name(node, namespace) == "null":
            return "null"
        name = f"b{len(self._names)}"
        self._names[f" {name}"] = name  # no other type's name has a space
        return {"type": "record", "name": name, "fields": [{"name": f"b{index}", "type": self.of(node, namespace)}]}


Post = Callable[[Any], Any]


class _Post:
    """From what fastavro reads by a `_Bare` schema to values; `None` where the two are the same."""

    def __init__(self) -> None:
        self._named: dict[str, Post | None] = {}

    def of(self, node: Any, namespace: str) -> Post | None:
        if isinstance(node, str):
            if node in PRIMITIVES:
                return None
            # One that is still in the making is looked up when it is needed.
            return self._named[node] if node in self._named else (lambda value: (self._named[node] or _same)(value))
        if isinstance(node, list):
            return self._union(node, namespace)
        kind = node["type"]
        if kind in PRIMITIVES or kind in ("enum", "fixed"):
            return self._keep(node, namespace, None)
        if kind == "array":
            item = self.of(node["items"], namespace)
            return item and (lambda values: [item(value) for value in values])
        if kind == "map":
            below = self.of(node["values"], namespace)
            return below and (lambda entries: {key: below(value) for key, value in entries.items()})
        own = full_name(node, namespace).rpartition(".")[0]
        fields = [(field["name"], self.of(field["type"], own)) for field in node["fields"]]
        changed = [(name, post) for name, post in fields if post is not None]

        def record(value: dict[str, Any]) -> dict[str, Any]:
            for name, post in changed:
                value[name] = post(value[name])
            return value

        return self._keep(node, namespace, record if changed else None)

    def _keep(self, node: dict[str, Any], namespace: str, post: Post | None) -> Post | None:
        if "name" in node and node["type"] not in PRIMITIVES:
            self._named[full_name(node, namespace)] = post
        return post

    def _union(self, node: list[Any], namespace: str) -> Post | None:
        names = [branch_name(each, namespace) for each in node]
        posts = [self.of(each, namespace) for each in node]
        if sum(name != "null" for name in names) <= 1:
            post = next((post for name, post in zip(names, posts, strict=True) if name != "null"), None)
            return post and (lambda value: None if value is None else post(value))
        made = {f"b{index}": (name, posts[index]) for index, name in enumerate(names)}

        def branch(value: Any) -> Any:
            if value is None:
                return None
            [(number, inner)] = value.items()
            name, post = made[number]
            return Branch(name, inner if post is None else post(inner))

        return branch


def _same(value: Any) -> Any:
    return value
