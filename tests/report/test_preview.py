"""Previews: the writer over memory, topic-partition by topic-partition."""

import gzip

from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.report.preview import GivenRecord, preview
from kafka_s3.settings.formats import Gzip
from kafka_s3.settings.values import NullValues
from tests.support import make_settings


def _given(partition: int, offset: int, value: bytes | None = b"{}", topic: str = "orders") -> GivenRecord:
    return TopicPartition(topic, partition), Record(offset, value)


def _lines(result: object) -> list[tuple[object, ...]]:
    return [
        (made.key, made.holds.records, made.holds.first_offset, made.holds.last_offset, made.closed_by.value)
        for made in result.objects  # type: ignore[attr-defined]
    ]


def test_objects_have_connects_names_and_boundaries() -> None:
    """With the default partitioner names and boundaries are the sink's; the rest closes at the end of the range."""
    bodies: dict[str, bytes] = {}
    records = [_given(0, offset, b'{"n":%d}' % offset) for offset in range(5)]
    result = preview(make_settings(flush_size=3, compression=Gzip()), records, bodies.__setitem__)
    assert _lines(result) == [
        ("topics/orders/partition=0/orders+0+0000000000.json.gz", 3, 0, 2, "flush.size"),
        ("topics/orders/partition=0/orders+0+0000000003.json.gz", 2, 3, 4, "end_of_range"),
    ]
    assert [made.stored.size for made in result.objects] == [len(body) for body in bodies.values()]
    assert gzip.decompress(bodies[result.objects[1].key]) == b'{"n":3}\n{"n":4}\n'


def test_objects_come_in_the_order_of_closing() -> None:
    """What closed earlier comes first, whatever opened first; what is open at the end comes as it opened."""
    records = [
        _given(2, 0),
        _given(0, 0),
        _given(1, 0),
        _given(1, 1),  # closes partition 1 by flush.size
        _given(0, 1),  # then partition 0
        _given(1, 2),
        _given(0, 2),
    ]
    result = preview(make_settings(flush_size=2), records)
    assert [(made.key.split("+")[1], made.holds.first_offset, made.closed_by.value) for made in result.objects] == [
        ("1", 0, "flush.size"),
        ("0", 0, "flush.size"),
        ("2", 0, "end_of_range"),
        ("1", 2, "end_of_range"),
        ("0", 2, "end_of_range"),
    ]


def test_gaps_between_offsets_are_no_boundary() -> None:
    """Offsets may have holes: an object counts records, and names the first and last offset that it holds."""
    result = preview(make_settings(flush_size=3), [_given(0, at) for at in (7, 9, 100, 101)])
    assert _lines(result) == [
        ("topics/orders/partition=0/orders+0+0000000007.json", 3, 7, 100, "flush.size"),
        ("topics/orders/partition=0/orders+0+0000000101.json", 1, 101, 101, "end_of_range"),
    ]


def test_a_bad_record_ends_its_partition_and_no_other() -> None:
    """Without tolerance what precedes the bad record is written, nothing after it, and other partitions go on."""
    records = [_given(0, 0), _given(0, 1, b"{"), _given(0, 2), _given(1, 0), _given(1, 1)]
    result = preview(make_settings(), records)
    assert [(made.key.split("+")[1], made.holds.first_offset, made.holds.last_offset) for made in result.objects] == [
        ("0", 0, 0),
        ("1", 0, 1),
    ]
    assert [(each.tp.partition, each.offset) for each in result.stopped] == [(0, 1)]
    assert result.rejected == result.stopped


def test_tolerated_bad_records_are_left_out_in_the_order_given() -> None:
    """With errors.tolerance=all bad records are reported as they came, and the others are written."""
    records = [_given(1, 4, b"{"), _given(0, 0, b"NaN"), _given(1, 5), _given(0, 1, b"")]
    result = preview(make_settings(tolerate=True), records)
    assert [(each.tp.partition, each.offset) for each in result.rejected] == [(1, 4), (0, 0), (0, 1)]
    assert result.stopped == ()
    assert [made.holds.records for made in result.objects] == [1]


def test_tombstones_are_passed_over_where_they_are_ignored() -> None:
    """behavior.on.null.values=ignore makes no object and no refusal of a record without a value."""
    result = preview(make_settings(null_values=NullValues.IGNORE), [_given(0, 0, None), _given(0, 1)])
    assert [(made.holds.first_offset, made.holds.records) for made in result.objects] == [(1, 1)]
    assert result.rejected == ()


def test_how_records_are_interleaved_changes_no_object() -> None:
    """Boundaries follow each partition's own order: objects are the same however partitions alternate."""
    alternating = [_given(offset % 3, offset // 3) for offset in range(3 * 700)]
    by_partition = sorted(alternating, key=lambda given: given[0])
    settings = make_settings(flush_size=7)
    one, other = preview(settings, alternating), preview(settings, by_partition)
    assert sorted(_lines(one)) == sorted(_lines(other))


def test_no_records_make_nothing() -> None:
    """An empty input is no error and makes no object."""
    result = preview(make_settings(), [])
    assert (result.objects, result.rejected, result.stopped) == ((), (), ())
