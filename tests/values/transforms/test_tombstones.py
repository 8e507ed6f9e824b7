"""TombstoneHandler: nulls are dropped, or bad."""

from __future__ import annotations

import pytest

from kafka_s3.ports import Registries
from kafka_s3.records import ColumnBatch
from kafka_s3.values.transforms.chain import Chain
from tests.values.transforms.chains import PARTITION, configured, one, record

HANDLER = "io.confluent.connect.transforms.TombstoneHandler"


@pytest.mark.parametrize(
    ("options", "outcome"),
    [({}, "Filtered"), ({"behavior": "ignore"}, "Filtered"), ({"behavior": "fail"}, "Unwritable")],
)
def test_a_null_is_dropped_or_bad(options: dict[str, str], outcome: str) -> None:
    """Only the record whose value is null is left; the one beside it goes on."""
    chain = Chain(configured(one(HANDLER, **options)), Registries())
    made = chain(ColumnBatch(PARTITION, [record(0, {"a": 1}), record(1, None)]))
    assert {index: type(why).__name__ for index, why in made.left.items()} == {1: outcome}


def test_it_may_drop_and_never_routes() -> None:
    """`adopt` counts no records where it is configured; what routers forbid is allowed."""
    chain = configured(one(HANDLER)).chain
    assert (chain.drops, chain.routes) == (True, False)
