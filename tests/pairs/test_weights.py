"""A record of many values in few bytes takes no more than its bytes account for."""

from __future__ import annotations

import tracemalloc

import pytest

from kafka_s3.ports import Registries
from kafka_s3.records import Record
from kafka_s3.settings.content import Format
from tests.pairs.exported import export, registries_of, settings_of
from tests.pairs.kinds import ENVELOPE, PLAIN, kinds
from tests.pairs.weights import shapes

_SIZE = 100_000
_TIMES_MAX = 100
#: What is made once for a schema, and what codecs and formats take whatever is in a record.
_FLOOR = 3 << 20


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (PLAIN, "deep lists"),
        (PLAIN, "objects of no text"),
        (PLAIN, "numbers"),
        (ENVELOPE, "no schema, deep lists"),
        ("AvroConverter", "records"),
        ("AvroConverter", "deep records"),
        ("AvroConverter", "empty records, beside bytes"),
    ],
)
def test_many_values_take_little_memory(kind: str, name: str) -> None:
    """Into Avro: no more than 100 times the record's bytes, whatever is in it."""
    (shape,) = (each for each in shapes(kind, _SIZE) if each.name == name)
    (small,) = (each for each in shapes(kind, 100) if each.name == name)
    settings = settings_of(
        {
            **kinds()[kind].properties("value"),
            "format.class": Format.AVRO.value,
            "errors.tolerance": "all",
            **(shape.properties or {}),
        }
    )
    registries = registries_of(shape.schema) if shape.schema else Registries()
    export(settings, [Record(0, small.raw)], registries=registries)
    tracemalloc.start()
    try:
        found = export(settings, [Record(0, shape.raw)], registries=registries)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.written.records + len(found.refused) == 1
    assert peak <= _FLOOR + _TIMES_MAX * len(shape.raw)
