"""Generated histories of a topic whose schema is inferred: every record can be had back, under every schema."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3.avro.model import Schema
from kafka_s3.values.converters.typed_values import parse
from tests.export.test_inferred_schemas import TOPIC, Inferring
from tests.values.converters.test_inference import RECORDS, plain, whole

SENT = st.lists(RECORDS, min_size=1, max_size=4)
#: Records and the run that exports them; `True`: its driver dies before it commits.
STEPS = st.lists(st.tuples(SENT, st.booleans()), min_size=1, max_size=4)


def history(steps: Sequence[tuple[list[bytes], bool]], compatibility: str) -> Inferring:
    """Few records are sampled, so that some do not fit; the last run takes what dead ones left."""
    place = Inferring(export_value_schema_infer_records="2", schema_compatibility=compatibility)
    for number, (values, place.dies) in enumerate(steps):
        place.send(*values)
        if place.dies:
            with pytest.raises(KeyboardInterrupt):
                place.run(f"run-{number}")
        else:
            assert place.run(f"run-{number}").exit_status == 0
    place.dies = False
    assert place.run("last").exit_status == 0
    return place


@given(STEPS, st.sampled_from(["BACKWARD", "FULL"]))
@settings(max_examples=40)
def test_every_record_can_be_had_back(steps: list[tuple[list[bytes], bool]], compatibility: str) -> None:
    """Through its commit's schema, and through the newest one; and the same history writes the same bytes.

    Where longs become doubles, a reader of the newest schema rounds those of older objects that are beyond 2^53.
    """
    place = history(steps, compatibility)
    sent = [plain(parse(value)) for values, _ in steps for value in values]
    entries = [each.entry for each in reversed(list(place.log.entries())) if each.entry.ranges]
    newest = place.newest.topics[TOPIC].schema_text
    assert newest is not None
    objects = place.objects()
    for reader in (None, newest) if compatibility == "FULL" else (None,):
        found = []
        for entry in entries:
            text = reader or entry.topics[TOPIC].schema_text
            assert text is not None
            for done in entry.ranges:
                for made in done.objects:
                    rows = fastavro.reader(io.BytesIO(objects[made.key]), json.loads(text))
                    found += [plain(whole(Schema(text), row)) for row in rows]
        assert found == sent
    assert set(objects) == {made.key for entry in entries for done in entry.ranges for made in done.objects}
    assert history(steps, compatibility).objects() == objects


@pytest.mark.parametrize(
    ("more", "columns"),
    [
        ({"export_envelope": "topic,offset"}, ["id", "new", "_rest", "_kafka_topic", "_kafka_offset"]),
        ({"partitioner_class": "FieldPartitioner", "partition_field_name": "id"}, ["id", "new", "_rest"]),
        (
            {
                "transforms": "i",
                "transforms_i_type": "org.apache.kafka.connect.transforms.InsertField$Value",
                "transforms_i_static_field": "source",
                "transforms_i_static_value": "x",
            },
            ["id", "new", "_rest", "source"],
        ),
    ],
)
def test_what_else_makes_rows(more: dict[str, str], columns: list[str]) -> None:
    """Metadata, paths and transforms see the columns as those of any schema."""
    place = Inferring(export_value_schema_infer_records="2", **more)
    place.send({"id": 1}, {"id": 2, "late": True}, {"id": 3, "new": 1})
    assert place.run().exit_status == 0
    rows = place.rows()
    assert [list(row) for row in rows] == [columns] * 3
    assert [row["_rest"] for row in rows] == [None, {"/late": "true"}, None]
