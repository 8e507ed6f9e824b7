"""Transforms over rows make what they make of values: the same objects, to the byte."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_s3.adapters.memory.registry import MemoryRegistry
from kafka_s3.avro.datums import codec
from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.ports import RegisteredSchema, Registries
from kafka_s3.records import Record
from kafka_s3.values.transforms.user_defined import TransformBatch
from tests.avro.strategies import avro_schemas, values_of
from tests.values.transforms.chains import AT_MS, KAFKA, written

FORMATS = ("avro.AvroFormat", "parquet.ParquetFormat", "json.JsonFormat")
ROWS = 40
KINDS = tuple(
    f"{name}$Value"
    for name in (
        "InsertField",
        "ReplaceField",
        "SetSchemaMetadata",
        "Cast",
        "MaskField",
        "TimestampConverter",
        "Router",
    )
)
AVRO = {
    "value.converter": "io.confluent.connect.avro.AvroConverter",
    "value.converter.schema.registry.url": "http://registry",
    "errors.tolerance": "all",
    "behavior.on.null.values": "ignore",
}


class Values:
    """Hands every record's value back, which makes values of rows."""

    parts = ("value",)

    def __init__(self, properties: Any) -> None:
        pass

    def apply(self, batch: TransformBatch) -> TransformBatch:
        return batch


def chain(steps: Sequence[dict[str, str]], *, by_values: bool) -> dict[str, str]:
    """The properties of a chain; `by_values`: it begins with a transform that makes values."""
    if by_values:
        steps = [{"type": f"{__name__}:Values"}, *steps]
    made = {"transforms": ",".join(f"t{number}" for number in range(len(steps)))}
    for number, step in enumerate(steps):
        made |= {f"transforms.t{number}.{name}": text for name, text in step.items()}
    predicates = {"marked": ("HasHeaderKey", "name", "mark"), "ours": ("TopicNameMatches", "pattern", "orders-.*")}
    made["predicates"] = ",".join((*predicates, "empty"))
    made["predicates.empty.type"] = f"{KAFKA}.predicates.RecordIsTombstone"
    for name, (type, option, text) in predicates.items():
        made |= {f"predicates.{name}.type": f"{KAFKA}.predicates.{type}", f"predicates.{name}.{option}": text}
    return made


@st.composite
def steps_of(draw: st.DrawFn, names: Sequence[str]) -> list[dict[str, str]]:
    """A chain over a struct of these fields, with predicates and without."""
    known = [*names, "new", "other", "_offset"]
    some = st.lists(st.sampled_from(known), unique=True, max_size=2).map(",".join)
    made: list[dict[str, str]] = []
    for number in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(KINDS))
        step = {"type": f"{KAFKA}.{kind}"}
        match kind:
            case "InsertField$Value":
                for what in draw(st.sets(st.sampled_from(("topic", "partition", "offset", "timestamp")), min_size=1)):
                    step[f"{what}.field"] = f"_{what}{number}{draw(st.sampled_from(('', '?', '!')))}"
                step |= {"static.field": draw(st.sampled_from(("new", f"s{number}"))), "static.value": "größe"}
            case "ReplaceField$Value":
                step |= {"exclude": draw(some), "include": draw(st.sampled_from(("", "", ",".join(known[:2]))))}
                renamed = draw(st.lists(st.sampled_from(known), unique=True, max_size=2))
                step["renames"] = ",".join(
                    f"{name}:{draw(st.sampled_from((f'{name}_', 'new', *names)))}" for name in renamed
                )
            case "Cast$Value":
                target = st.sampled_from(("string", "int32", "float64", "boolean"))
                step["spec"] = ",".join(
                    f"{name}:{draw(target)}" for name in draw(st.sets(st.sampled_from(known), min_size=1))
                )
            case "MaskField$Value":
                step["fields"] = ",".join(draw(st.sets(st.sampled_from(known), min_size=1)))
                step["replacement"] = draw(st.sampled_from(("", "7")))
            case "TimestampConverter$Value":
                target = st.sampled_from(("string", "unix", "Date", "Timestamp"))
                step |= {"field": draw(st.sampled_from(known)), "target.type": draw(target), "format": "yyyy-MM-dd"}
            case "SetSchemaMetadata$Value":
                step |= {"schema.name": "n.Renamed", "schema.version": "7"}
            case _:
                step = {
                    "type": f"{KAFKA}.TimestampRouter",
                    "topic.format": "orders-${timestamp}",
                    "timestamp.format": "SSS",
                }
        if (predicate := draw(st.sampled_from(("", "", "marked", "ours", "empty")))) != "":
            step |= {"predicate": predicate, "negate": draw(st.sampled_from(("true", "false")))}
        made.append({name: text for name, text in step.items() if text})
    return made


def records_of(schema: Schema, values: Sequence[Any], other: Schema, others: Sequence[Any]) -> list[Record]:
    """Records under two schemas in turn, tombstones and junk among them; every third is marked by a header."""
    datums = [b"\0\0\0\0\1" + each for each in codec(schema).encode(values)]
    more = [b"\0\0\0\0\2" + each for each in codec(other).encode(others)]
    made = []
    for row in range(ROWS):
        value: bytes | None = more[row % len(more)] if more and row % 5 == 4 else datums[row % len(datums)]
        if row == 7:
            value = None
        if row == 11:
            value = b"\0\0\0\0\1\xff"
        headers = (("mark", b"1"),) if row % 3 == 0 else ()
        stamp = None if row == 13 else AT_MS + row % 4
        made.append(Record(row if row < 9 else row + 3, value, None, stamp, headers))
    return made


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.data())
def test_rows_become_what_values_become(data: st.DataObject) -> None:
    """Whatever schemas, values and chains: with values made first the objects and the bad records are the same."""
    schema = data.draw(avro_schemas(record=True, logical=True, depth=2))
    other = data.draw(avro_schemas(record=True, logical=True, depth=1))
    names = [each["name"] for each in json.loads(schema.text)["fields"]]
    values = data.draw(st.lists(values_of(schema), min_size=1, max_size=6))
    others = data.draw(st.lists(values_of(other), max_size=2))
    steps = data.draw(steps_of(names))
    records = records_of(schema, values, other, others)
    known = {1: RegisteredSchema(1, schema.text), 2: RegisteredSchema(2, other.text)}
    registry = MemoryRegistry(known, every_subject={1: 1, 2: 2})
    registries = Registries(registry, registry)
    properties = {**AVRO, "format.class": f"io.confluent.connect.s3.format.{data.draw(st.sampled_from(FORMATS))}"}
    properties["schema.compatibility"] = data.draw(st.sampled_from(("NONE", "BACKWARD")))
    made = [
        written({**properties, **chain(steps, by_values=by_values)}, records, registries) for by_values in (False, True)
    ]
    (rows, objects), (plain, expected) = made
    assert objects == expected
    reasons = [
        [each.reason.replace("transforms.t", "").lstrip("0123456789") for each in found.rejected]
        for found in (rows, plain)
    ]
    assert reasons[0] == reasons[1]


def test_copied_fields_keep_their_bytes() -> None:
    """An array in two blocks stays one in two blocks; no value was decoded on its way."""
    schema = schema_of(
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": "a", "type": {"type": "array", "items": "int"}}, {"name": "b", "type": "int"}],
        }
    )
    blocks = b"\2\2\2\4\0"  # [1] and [2], as no encoder of ours writes it
    known = {1: RegisteredSchema(1, schema.text)}
    registries = Registries(MemoryRegistry(known), MemoryRegistry(known))
    steps = [{"type": f"{KAFKA}.ReplaceField$Value", "exclude": "b"}]
    properties = {**AVRO, "format.class": "io.confluent.connect.s3.format.avro.AvroFormat"}
    records = [Record(row, b"\0\0\0\0\1" + blocks + b"\6") for row in range(ROWS)]
    _, objects = written({**properties, **chain(steps, by_values=False)}, records, registries)
    (body,) = objects.values()
    assert body.count(blocks * ROWS) == 1
