"""`preview` beside Joda-Time itself: the keys of records are what Joda prints for their times."""

from __future__ import annotations

from itertools import groupby

from kafka_s3.joda.buckets import bucket_start
from kafka_s3.joda.zones import zone
from kafka_s3.naming import parse_data_key
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.report.preview import preview
from kafka_s3.settings.paths import RecordTime, TimePartitioner
from tests.joda.tables import rows, same_rules
from tests.support import make_settings
from tools.joda.cases import LETTERS


def is_its_start(id: str, at_ms: int) -> bool:
    return bucket_start(at_ms, 1, zone(id)) == at_ms


def test_keys_are_what_joda_prints() -> None:
    """All pattern letters, in every zone of the table that `python -m tools.joda` makes, one record each."""
    # Where clocks show a time twice, the sink's bucket is the one or the other: `test_buckets` has those.
    table = [(id, at, joda) for id, at, joda in rows("prints") if same_rules(id, int(at)) and is_its_start(id, int(at))]
    assert len(table) > 600
    for id, of_zone in groupby(table, key=lambda row: row[0]):
        cases = list(of_zone)
        settings = make_settings(partitioner=TimePartitioner(1, LETTERS, id, "en", RecordTime()))
        records = [Record(n, b"{}", timestamp_ms=int(at)) for n, (_, at, _) in enumerate(cases)]
        made = preview(settings, [(TopicPartition("orders", 0), record) for record in records])
        assert made.rejected == ()
        paths = {}
        for each in made.objects:
            name = parse_data_key(settings.layout, "orders", each.key)
            assert name is not None
            paths[name.encoded_partition] = each.holds.records
        assert set(paths) == {joda for _, _, joda in cases}
        assert sum(paths.values()) == len(cases)
