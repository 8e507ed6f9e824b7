"""A schema without what only interprets its values: the same bytes, as the types that they are of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from kafka_s3.avro.graph import avro_of, graph
from kafka_s3.avro.model import Schema, schema_of

_INTERPRETING: Final = ("logicalType", "precision", "scale", "connect.type")


def bare(schema: Schema) -> Schema:
    """The schema without logical types: a decimal is bytes, a date an int, an int8 too.

    >>> bare(Schema('{"type":"array","items":{"type":"int","logicalType":"date"}}')).text
    '{"type":"array","items":{"type":"int"}}'
    """
    return _bare(schema.text)


@lru_cache(maxsize=256)
def _bare(text: str) -> Schema:
    return schema_of(avro_of(graph(Schema(text)), _physical))


def _physical(words: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in words.items() if name not in _INTERPRETING}
