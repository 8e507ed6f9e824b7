"""Long records are read in pieces: what they become is the same, byte for byte."""

from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_s3.avro import datum_checker, datums
from kafka_s3.records import Record
from kafka_s3.settings.formats import Format
from kafka_s3.values.converters import avro_group
from kafka_s3.values.formats import json_datums
from tests.pairs.exported import Exported, export, registries_of, settings_of
from tests.pairs.kinds import Batch, kinds

calm = settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=12)


@pytest.mark.parametrize("format", [Format.JSON, Format.PARQUET])
@pytest.mark.parametrize("kind", ["AvroConverter", "ProtobufConverter"])
def test_long_records_become_what_short_ones_do(kind: str, format: Format) -> None:
    """Any records of a registry's schemas, a few and so many that they are read at once: the same objects and reasons
    if every record is taken for a long one."""
    properties = {**kinds()[kind].properties("value"), "format.class": format.value, "errors.tolerance": "all"}

    @calm
    @given(kinds()[kind].batches(format is Format.PARQUET), st.sampled_from([1, 40]))
    def held(batch: Batch, times: int) -> None:
        schema = batch.registered
        assert schema is not None
        raws = [case.raw for case in batch.cases] * times
        records = [Record(offset, raw) for offset, raw in enumerate(raws)]

        def exported() -> Exported:
            return export(settings_of(properties), records, registries=registries_of(schema))

        short = exported()
        with (
            mock.patch.object(avro_group, "LONG", 0),
            mock.patch.object(datums, "LONG", 0),
            mock.patch.object(json_datums, "LONG", 0),
            mock.patch.multiple(datum_checker, _ITEMS=2, _BYTES=8),
        ):
            long = exported()
        assert long.objects == short.objects
        assert long.refused == short.refused

    held()
