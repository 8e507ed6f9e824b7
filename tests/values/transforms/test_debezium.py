"""ExtractNewRecordState over batches and in configurations: what a question about one record cannot show."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_s3.errors import ConfigurationError
from kafka_s3.ports import Registries
from kafka_s3.records import ColumnBatch
from kafka_s3.values.transforms.chain import Chain
from tests.values.transforms.chains import PARTITION, configured, one, record, written
from tests.values.transforms.oracle_cases import envelope

UNWRAP = "io.debezium.transforms.ExtractNewRecordState"
ROW = {"type": "struct", "optional": True, "name": "s.t.Value", "fields": [{"field": "a", "type": "string"}]}
SOURCE = {"type": "struct", "name": "s.Source", "fields": [{"field": "lsn", "type": "int64"}]}
SCHEMA = {
    "type": "struct",
    "name": "s.t.Envelope",
    "fields": [
        {"field": "before", **ROW},
        {"field": "after", **ROW},
        {"field": "source", **SOURCE},
        {"field": "op", "type": "string"},
    ],
}
SCHEMAS = {"value.converter.schemas.enable": "true"}


def event(operation: str, before: str | None, after: str | None) -> bytes:
    rows = [None if each is None else {"a": each} for each in (before, after)]
    payload = {"before": rows[0], "after": rows[1], "source": {"lsn": 5}, "op": operation}
    return envelope(SCHEMA, payload)


EVENTS = [
    event("c", None, "x"),
    event("u", "x", "y"),
    event("d", "y", None),
    None,
    event("t", None, None),
    envelope({"type": "string"}, "no event"),
]


def outcomes(**options: str) -> list[Any]:
    """What becomes of each event: its value, or the name of the class that says why it is left."""
    chain = Chain(configured({**one(UNWRAP, **options), **SCHEMAS}), Registries())
    made = chain(ColumnBatch(PARTITION, [record(offset, value) for offset, value in enumerate(EVENTS)]))
    assert made.value is not None
    return [type(made.left[i]).__name__ if i in made.left else value for i, value in enumerate(made.value.values)]


def test_a_batch_of_all_kinds_of_events() -> None:
    """Each record of one batch goes its own way; what is not an event stays what it was."""
    assert outcomes(delete_tombstone_handling_mode="rewrite", add_fields="source.lsn") == [
        {"a": "x", "__deleted": "false", "__source_lsn": 5},
        {"a": "y", "__deleted": "false", "__source_lsn": 5},
        {"a": "y", "__deleted": "true", "__source_lsn": 5},
        "Filtered",
        "Filtered",
        "no event",
    ]


@pytest.mark.parametrize(
    ("options", "delete", "tombstone"),
    [
        ({}, None, "Filtered"),
        ({"delete_tombstone_handling_mode": "drop"}, "Filtered", "Filtered"),
        ({"delete_tombstone_handling_mode": "delete-to-tombstone"}, None, "Filtered"),
        ({"delete_tombstone_handling_mode": "drop", "drop_tombstones": "false"}, "Filtered", "Filtered"),
        ({"drop_tombstones": "true"}, "Filtered", "Filtered"),
        ({"drop_tombstones": "false"}, "Filtered", None),
        ({"delete_handling_mode": "none"}, None, "Filtered"),
    ],
)
def test_deletes_and_tombstones(options: dict[str, str], delete: Any, tombstone: Any) -> None:
    """Either mode says what they become; an older option alone has the other's old default beside it."""
    assert outcomes(**options) == [{"a": "x"}, {"a": "y"}, delete, tombstone, "Filtered", "no event"]


def test_a_bad_event_leaves_the_others() -> None:
    """A struct cannot be added as a field where there is one; where there is none the row goes on."""
    made = outcomes(add_fields="before")
    assert made == [{"a": "x", "__before": None}, "Unwritable", None, "Filtered", "Filtered", "no event"]


def test_a_blank_topic_leaves_the_record_in_its_own() -> None:
    """Rows lie in the folders of the topics that a field of theirs names."""
    values = [event("c", None, "x"), event("c", None, " ")]
    records = [record(offset, value) for offset, value in enumerate(values)]
    _, objects = written({**one(UNWRAP, route_by_field="a"), **SCHEMAS}, records)
    assert sorted(key.split("/")[1] for key in objects) == ["orders", "x"]


def test_only_a_field_to_route_by_makes_it_a_router() -> None:
    """What routers forbid is forbidden only where one is configured."""
    plain = configured(one(UNWRAP)).chain
    assert (plain.routes, plain.drops) == (False, True)
    assert configured(one(UNWRAP, route_by_field="a")).chain.routes


@pytest.mark.parametrize(
    ("option", "text", "sentence"),
    [
        ("drop_fields_header_name", "h", "is not supported: use ReplaceField"),
        ("add_fields", "op,a:b:c", "a:b:c is not a field: write field, struct.field"),
        ("delete_tombstone_handling_mode", "keep", "rewrite-with-tombstone"),
    ],
)
def test_what_is_not_built_is_refused(option: str, text: str, sentence: str) -> None:
    """`validate` says what is wrong with an option."""
    with pytest.raises(ConfigurationError, match=sentence):
        configured(one(UNWRAP, **{option: text}))
