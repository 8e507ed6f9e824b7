"""Every pair of converter and format: what was produced is what readers find, or what the table says of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.ports import Registries
from kafka_s3.records import Record
from kafka_s3.settings.formats import Format, ParquetCodec
from kafka_s3.settings.properties import UserDefined
from kafka_s3.write.object_group import Member
from tests.house.pages import page
from tests.pairs.exported import Exported, export, is_allowed, registries_of, settings_of
from tests.pairs.framed import unframed
from tests.pairs.kinds import Batch, Kind, kinds
from tests.pairs.readers import avro_values, parquet_rows, plain
from tests.pairs.table import FORMATS, KEEPS, Written, table_of_page

#: What a record takes to draw: random schemas cost most.
_EXAMPLES = {"AvroConverter": 40, "JsonConverter": 30, "JsonSchemaConverter": 30, "JsonConverter and a schema file": 30}
_SEPARATOR = "--\r\n"


def _name_of(format: Format | UserDefined) -> str:
    return format.path if isinstance(format, UserDefined) else format.value


def properties_of(kind: Kind, format: Format | UserDefined, side: str) -> dict[str, str]:
    """The keys lie beside values that are JSON."""
    if side == "value":
        return {**kind.properties(side), "format.class": _name_of(format)}
    return {
        **kind.properties(side),
        "format.class": Format.JSON.value,
        "store.kafka.keys": "true",
        "keys.format.class": _name_of(format),
    }


def allowed(side: str) -> Iterator[tuple[str, Format | UserDefined]]:
    """The pairs that the settings take."""
    for kind in kinds().values():
        for format in FORMATS:
            if side in kind.sides and is_allowed(properties_of(kind, format, side)):
                yield kind.name, format


VALUES, KEYS = list(allowed("value")), list(allowed("key"))
PAIRS = [*(("value", *pair) for pair in VALUES), *(("key", *pair) for pair in KEYS)]


def test_the_table_has_every_pair_that_the_settings_take() -> None:
    """A converter, a format or a pair that is new fails here until somebody says, and proves, what it keeps."""
    assert {*VALUES, *KEYS} == KEEPS.keys()
    keys_only = {pair for pair, keeps in KEEPS.items() if keeps.words.startswith("keys only")}
    assert keys_only == set(KEYS) - set(VALUES)


def test_the_pages_table_is_this_one() -> None:
    """The page says of every pair what these tests prove."""
    assert table_of_page() in page("how-to/formats.md")


def found_in(
    exported: Exported, member: Member, format: Format | UserDefined, single: str | None, array: bool
) -> list[Any]:
    """Every value in the order of the records: bytes of lines, values of the others. `single`: Parquet's one column."""
    found: list[Any] = []
    keys = [made.key for made in exported.written.objects]
    for key, body in zip(keys, exported.bodies(member), strict=True):
        found += _values_in(plain(body, key), format, single, array)
    return found


def _values_in(body: bytes, format: Format | UserDefined, single: str | None, array: bool) -> list[Any]:
    match format:
        case Format.AVRO:
            return avro_values(body)
        case Format.PARQUET:
            return [row if single is None else row[single] for row in parquet_rows(body)]
        case Format.BYTE_ARRAY:
            return body.split(_SEPARATOR.encode())[:-1]
        case UserDefined():
            return unframed(body)
        case Format.JSON if array:
            texts = body.removeprefix(b"[").removesuffix(b"]\n").split(b",\n")
            assert len(json.loads(body)) == len(texts)
            return texts
        case _:
            assert body.endswith(b"\n")
            return body.split(b"\n")[:-1]


def options(format: Format | UserDefined) -> st.SearchStrategy[dict[str, str]]:
    """What the format can be told."""
    gzip = {"s3.compression.type": st.sampled_from(["none", "gzip"])}
    match format:
        case Format.JSON:
            numbers = {"json.decimal.format": st.sampled_from(["BASE64", "NUMERIC"])}
            return st.fixed_dictionaries({**gzip, **numbers, "export.json.array": st.sampled_from(["true", "false"])})
        case Format.AVRO:
            return st.fixed_dictionaries({"avro.codec": st.sampled_from(["null", "deflate", "snappy", "bzip2"])})
        case Format.PARQUET:
            return st.fixed_dictionaries({"parquet.codec": st.sampled_from([each.value for each in ParquetCodec])})
        case Format.BYTE_ARRAY:
            return st.fixed_dictionaries({**gzip, "format.bytearray.separator": st.just(_SEPARATOR)})
        case Format.BLOCK_GZIP:
            return st.just({"compressed_block_size": "1048576"})
    return st.fixed_dictionaries(gzip)


def _one_column(schema: Schema | None, side: str) -> str | None:
    """Parquet's column of values that are no records."""
    assert schema is not None
    top = graph(schema).required
    return None if top.kind == "record" else side


def _records(batch: Batch, side: str) -> list[Record]:
    if side == "value":
        return [Record(offset, case.raw) for offset, case in enumerate(batch.cases)]
    return [Record(offset, b"{}", case.raw) for offset, case in enumerate(batch.cases)]


@pytest.mark.parametrize(("side", "name", "format"), PAIRS, ids=str)
def test_what_was_produced_is_what_readers_find(side: str, name: str, format: Format | UserDefined) -> None:
    """Random values, under random schemas where there are any, and every option of the format: each record is in the
    objects, once, in order, and is what the table says."""
    kind, keeps = kinds()[name], KEEPS[name, format]
    examples = _EXAMPLES.get(name, 8) // (2 if side == "key" else 1)

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(kind.batches(format is Format.PARQUET), options(format), st.lists(st.integers(0, 6), max_size=2))
    def round_trip(batch: Batch, more: dict[str, str], cuts: list[int]) -> None:
        if format is Format.BLOCK_GZIP:  # lines end at a line feed, whatever it belongs to
            batch = replace(batch, cases=[case for case in batch.cases if b"\n" not in case.raw])
        given = {**properties_of(kind, format, side), **batch.properties, **more}
        registries = registries_of(batch.registered) if batch.registered else Registries()
        exported = export(settings_of(given), _records(batch, side), registries=registries, cuts=cuts)
        assert not exported.refused, exported.refused
        assert exported.written.stopped_at is None
        single = _one_column(batch.schema, side) if format is Format.PARQUET else None
        member = Member.VALUES if side == "value" else Member.KEYS
        found = found_in(exported, member, format, single, more.get("export.json.array") == "true")
        written = Written(batch.schema, more.get("json.decimal.format") == "NUMERIC")
        for one, case in zip(found, batch.cases, strict=True):
            keeps.same(one, case, written)

    round_trip()
