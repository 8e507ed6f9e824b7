"""A record of many values in few bytes takes no more than its bytes account for."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_s3.avro.datums import codec
from kafka_s3.avro.model import schema_of
from kafka_s3.ports import Registries
from kafka_s3.records import Record
from kafka_s3.settings.formats import Format
from kafka_s3.values.converters.avro_weight import weights_of
from kafka_s3.values.converters.typed import TypedJson
from kafka_s3.values.rows import Unwritable
from tests.pairs.exported import export, registries_of, settings_of
from tests.pairs.kinds import ENVELOPE, PLAIN, TYPED, kinds
from tests.pairs.weights import SMALL, Weight, said, shapes, weighed

#: Whatever is in a record: parts, compressors, and what a payload may stand for.
ROOM = 128 << 20
ONE = {"type": "record", "name": "One", "fields": [{"name": "a", "type": "int"}]}
_SIZE = 60_000
_TIMES_MAX = 100
#: What is made once for a schema, and what codecs and formats take whatever is in a record.
_FLOOR = 3 << 20


#: What is refused for the values that it has, or for columns that nest without end.
REFUSED = {
    ("deep records", None),
    ("empty records, beside bytes", None),
    *((name, Format.PARQUET) for name in ("trees", "long lists", "pairs of pairs", "one of many", "structs")),
}
AVRO = [
    *("records", "deep records", "records of two bytes", "names of records", "pairs of pairs", "trees", "long lists"),
    *("entries", "lists", "maps", "empty records, beside bytes", "fixed of no size, beside bytes"),
]
PROTOBUF = ["packed unknown enums", "empty messages", "one of many", "structs", "entries", "timestamps", "anything"]
FORMATS = (Format.AVRO, Format.JSON, Format.PARQUET)


def _each(kind: str, names: list[str]) -> Iterator[Any]:
    """With each format; `make test` takes one of them, now this and now that."""
    for number, name in enumerate(names):
        for format in FORMATS:
            now = format is FORMATS[number % len(FORMATS)]
            yield pytest.param(kind, name, format, marks=() if now else pytest.mark.heavy)


@pytest.mark.parametrize(
    ("kind", "name", "format"),
    [
        (PLAIN, "deep lists", Format.AVRO),
        (PLAIN, "objects of no text", Format.AVRO),
        (PLAIN, "numbers", Format.AVRO),
        (ENVELOPE, "no schema, deep lists", Format.AVRO),
        *_each("AvroConverter", AVRO),
        *_each("ProtobufConverter", PROTOBUF),
    ],
    ids=str,
)
def test_many_values_take_little_memory(kind: str, name: str, format: Format) -> None:
    """No more than 100 times the record's bytes, whatever is in it, and it is written unless it has more values than
    its bytes may hold, or no columns."""
    (shape,) = (each for each in shapes(kind, _SIZE) if each.name == name)
    (small,) = (each for each in shapes(kind, 100) if each.name == name)
    settings = settings_of(
        {
            **kinds()[kind].properties("value"),
            "format.class": format.value,
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
    assert len(found.refused) == ((name, None) in REFUSED or (name, format) in REFUSED)
    assert peak <= _FLOOR + _TIMES_MAX * len(shape.raw)


def test_missing_fields_are_weighed_by_what_they_become() -> None:
    """JSON read by a schema of one's own: a MB of empty objects, each of 20 fields, is refused before it is made; the
    same objects in a record that is wide are not."""
    (shape,) = (each for each in shapes(TYPED, 1_000_000) if each.name == "missing fields")
    assert shape.schema is not None
    converter = TypedJson(shape.schema)
    refused = converter([shape.raw]).excluded[0]
    assert isinstance(refused, Unwritable)
    assert "bytes of fields and defaults" in refused.reason
    fields: list[dict[str, object]] = [{"name": f"f{n}", "type": ["null", "int"], "default": None} for n in range(1000)]
    wide = {
        "type": "record",
        "name": "Wide",
        "fields": [*fields, {"name": "x", "type": {"type": "array", "items": ONE}}],
    }
    assert not TypedJson(schema_of(wide))([b'{"x":[' + b'{"a":1},' * 9_999 + b'{"a":1}]}']).excluded


#: What a registry's schema makes of few bytes, and for which format that is too much.
HEAVY = {
    "symbols": (Format.JSON, Format.PARQUET),
    "long names": (Format.JSON,),
    "names of before": (Format.JSON,),
    "branches": (Format.JSON,),
    "unions": (Format.PARQUET,),
    "nulls of wide records": (Format.PARQUET,),
}


@pytest.mark.parametrize("format", [Format.JSON, Format.PARQUET, Format.AVRO])
@pytest.mark.parametrize("name", HEAVY)
def test_what_a_schema_adds_is_weighed(name: str, format: Format) -> None:
    """Datums of 150 kB that stand for long names or symbols, or for many empty branches or columns: bad records where
    they would be written so, and written in all other formats. A small record of the same schema is written."""
    (shape,) = (each for each in shapes("AvroConverter", 150_000) if each.name == name)
    (small,) = (each for each in shapes("AvroConverter", 100) if each.name == name)
    assert shape.schema is not None
    settings = settings_of(
        {**kinds()["AvroConverter"].properties("value"), "format.class": format.value, "errors.tolerance": "all"}
    )
    found = export(settings, [Record(0, shape.raw), Record(1, small.raw)], registries=registries_of(shape.schema))
    assert list(found.refused) == ([0] if format in HEAVY[name] else [])
    assert all("bytes of what its schema adds to its values, and" in why.reason for why in found.refused.values())


@pytest.mark.parametrize("columns", [False, True])
def test_no_datum_is_heavier_than_its_schema_says(columns: bool) -> None:
    """What is known of a schema once is an upper bound: only datums beyond it are read to be weighed. Plain arrays
    never are."""
    for shape in shapes("AvroConverter", 20_000):
        assert shape.schema is not None
        weights, datum = weights_of(shape.schema, columns), shape.raw[5:]
        if codec(shape.schema).check([datum]):
            continue  # more values than its bytes may hold
        assert 0 <= weights.weight(datum) <= weights.most(len(datum)), shape.name
        if shape.name in ("longs", "texts", "dates", "trees"):
            assert weights.length_max == sys.maxsize, shape.name


def test_the_text_of_a_datum_is_no_longer_than_its_weight() -> None:
    """As JSON, of which three copies are weighed, names and symbols take no more than a third of the weight."""
    settings = settings_of({**kinds()["AvroConverter"].properties("value"), "format.class": Format.JSON.value})
    for name in ("symbols", "long names", "names of before", "branches"):
        (shape,) = (each for each in shapes("AvroConverter", 1_000) if each.name == name)
        assert shape.schema is not None
        found = export(settings, [Record(0, shape.raw)], registries=registries_of(shape.schema))
        text = sum(map(len, found.objects.values()))
        own = 20 * len(shape.raw)
        assert weights_of(shape.schema, False).weight(shape.raw[5:]) >= 3 * (text - own), name


@pytest.mark.parametrize(("kind", "name"), [(ENVELOPE, "nulls of wide structs"), (TYPED, "nulls of wide records")])
def test_nulls_take_the_place_of_all_their_columns(kind: str, name: str) -> None:
    """200 columns for each null: too much for Parquet, and not for JSON."""
    (shape,) = (each for each in shapes(kind, 200_000) if each.name == name)
    for format in (Format.JSON, Format.PARQUET):
        settings = settings_of(
            {
                **kinds()[kind].properties("value"),
                "format.class": format.value,
                "errors.tolerance": "all",
                **(shape.properties or {}),
            }
        )
        found = export(settings, [Record(0, shape.raw)])
        assert list(found.refused) == ([] if format is Format.JSON else [0])
        assert all("bytes of fields and defaults" in why.reason for why in found.refused.values())


@pytest.mark.trial
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("size", [1_000_000, 4_000_000], ids=["1 MB", "4 MB"])
def test_hostile_records_of_megabytes(size: int) -> None:
    """Every shape over every converter and format, each in a process of its own: memory is bounded by the record's
    bytes; what each pair took at most is printed, CPU too."""
    worst: dict[tuple[str, str], list[Weight]] = {}
    for kind in kinds():
        for shape, small in zip(shapes(kind, size), shapes(kind, SMALL), strict=True):
            for format in Format:
                if (found := weighed(kind, format, shape, small, {})) is not None:
                    worst.setdefault((kind, found.format), []).append(found)
    for weights in worst.values():
        heaviest, slowest = max(weights, key=lambda each: each.times), max(weights, key=lambda each: each.cpu_s)
        sys.stdout.write(f"heaviest {said(heaviest)}slowest  {said(slowest)}")
    held = [each for weights in worst.values() for each in weights]
    assert not [said(each) for each in held if each.peak > ROOM + _TIMES_MAX * each.size]
