"""JSON text that is written from a long datum, byte by byte what is written of its value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_s3.avro.datum_writer import long_bytes
from kafka_s3.avro.datums import codec
from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.records import Record
from kafka_s3.settings.formats import DecimalFormat
from kafka_s3.values.formats import json_datums
from kafka_s3.values.formats.json_datums import datum_writer
from kafka_s3.values.formats.json_text import writer_for
from tests.avro.strategies import avro_schemas, values_of
from tests.pairs.exported import export, registries_of, settings_of
from tests.pairs.kinds import kinds
from tests.pairs.weights import AVRO, shapes

calm = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
TEXT = {"type": "array", "items": "string"}


def both(schema: Schema, datum: bytes, decimals: DecimalFormat = DecimalFormat.BASE64) -> tuple[bytes, bytes]:
    """By its value, and by its bytes."""
    assert not codec(schema).check([datum])
    return writer_for(schema, decimals)(codec(schema).decode([datum]))[0], datum_writer(schema, decimals)(datum)


def record(name: str, *fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


@calm
@given(st.data(), st.sampled_from(DecimalFormat))
def test_the_text_is_that_of_the_value(data: st.DataObject, decimals: DecimalFormat) -> None:
    """Any value under any schema, recursive ones too."""
    schema = data.draw(avro_schemas(logical=True, recursive=True))
    [datum] = codec(schema).encode([data.draw(values_of(schema))])
    by_value, by_bytes = both(schema, datum, decimals)
    assert by_bytes == by_value


@pytest.mark.parametrize("name", AVRO)
def test_hostile_datums_have_the_same_text(name: str) -> None:
    """Whatever is made to cost much, of a length that is harmless."""
    (shape,) = (each for each in shapes("AvroConverter", 400) if each.name == name)
    assert shape.schema is not None
    if not codec(shape.schema).check([shape.raw[5:]]):
        by_value, by_bytes = both(shape.schema, shape.raw[5:])
        assert by_bytes == by_value


ODD = {
    "a key that comes twice": (
        {"type": "map", "values": TEXT},
        long_bytes(3) + b"\2a\2\2x\0" + b"\2b\0" + b"\2a\2\2y\0" + b"\0",
    ),
    "a key that comes twice, below one": (
        {"type": "map", "values": {"type": "map", "values": "int"}},
        long_bytes(2) + (b"\2a" + long_bytes(2) + b"\2b\2\2b\4\0") * 2 + b"\0",
    ),
    "an entry that comes twice": (
        {
            "type": "array",
            "items": record(
                "E",
                {"name": "key", "type": ["null", "string"]},
                {"name": "value", "type": "int"},
                **{"connect.internal.type": "MapEntry"},
            ),
        },
        long_bytes(3) + b"\0\2" + b"\2\x08null\4" + b"\2\2a\6" + b"\0",
    ),
    "fields of one name": (
        record(
            "R",
            {"name": "a", "type": "int", "connect.name": "same"},
            {"name": "b", "type": "int"},
            {"name": "c", "type": "int", "connect.name": "same"},
        ),
        b"\2\4\6",
    ),
    "no items, said at length": (TEXT, b"\x80\0"),
    "no entries, said at length": ({"type": "map", "values": "int"}, b"\x80\0"),
    "blocks with sizes": (TEXT, long_bytes(-1) + b"\4\2a" + long_bytes(1) + b"\2b" + b"\0"),
    "what Jackson escapes": (TEXT, long_bytes(2) + b"\2\x0b\x08\xf0\x9f\x98\x80\0"),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_datums_have_the_same_text(name: str) -> None:
    """Names that come twice, and bytes that no serializer writes but that are valid."""
    avro, datum = ODD[name]
    by_value, by_bytes = both(schema_of(avro), datum)
    assert by_bytes == by_value


@pytest.mark.parametrize("options", [{}, {"export.json.array": "true"}, {"export.envelope": "offset,key"}])
def test_long_rows_stand_among_short_ones(options: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An object is the same bytes whichever of its rows are written from their bytes, under a recursive schema, which
    has no columns, and with fields of Kafka's beside the value."""
    schema = schema_of(
        record("T", {"name": "x", "type": "double"}, {"name": "all", "type": {"type": "array", "items": "T"}})
    )
    values = [{"x": n / 3, "all": [{"x": 1e9, "all": []}] * (n % 5)} for n in range(40)]
    records = [Record(n, b"\0\0\0\0\1" + datum, key=b"k") for n, datum in enumerate(codec(schema).encode(values))]
    properties = {**kinds()["AvroConverter"].properties("value"), "format.class": "JsonFormat", **options}
    made = []
    for long in (10**9, 40, 0):
        monkeypatch.setattr(json_datums, "LONG", long)
        made.append(export(settings_of(properties), records, registries=registries_of(schema)).objects)
    assert made[0]
    assert made[0] == made[1] == made[2]
