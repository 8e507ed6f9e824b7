"""A schema without what only interprets its values: the same bytes, as the types that they are of."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

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
    return schema_of(_without(Schema(text).avro))


def _without(avro: Any) -> Any:
    if isinstance(avro, list):
        return [_without(each) for each in avro]
    if not isinstance(avro, dict):
        return avro
    made = {name: value for name, value in avro.items() if name not in _INTERPRETING}
    for name in ("type", "items", "values"):
        if name in made:
            made[name] = _without(made[name])
    if "fields" in made:
        made["fields"] = [{**field, "type": _without(field["type"])} for field in made["fields"]]
    return made
