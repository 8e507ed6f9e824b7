"""Records into objects: where they begin and end, what is left out, and what an upload is given."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.errors import StoreUnavailable
from kafka_s3.naming import DataName, KeyLayout, format_data_key
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import ColumnBatch, Record, RecordBatch
from kafka_s3.settings.formats import Compression, Gzip, NoCompression
from kafka_s3.settings.model import Settings
from kafka_s3.settings.values import NullValues
from kafka_s3.values.rows import Stage
from kafka_s3.write.object_group import Body, ClosedBy, FinishedUpload, OffsetSpan
from kafka_s3.write.rejections import Rejected
from kafka_s3.write.writer import RangeWriter, Written
from tests.support import identified, make_settings

TP = TopicPartition("orders", 3)
AT_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z
COMPRESSIONS: list[Compression] = [NoCompression(), Gzip(), Gzip(6)]


@dataclass
class Upload:
    """One upload, remembered."""

    name: DataName
    broken: bool = False
    parts: list[bytes] = field(default_factory=list)
    last: bytes | None = None
    aborted: bool = False
    told: tuple[int, str] | None = None

    def part(self, member: int, body: bytes) -> None:
        assert member == 0
        self.parts.append(body)

    def finish(self, bodies: Sequence[Body], holds: OffsetSpan) -> FinishedUpload:
        if self.broken:
            raise StoreUnavailable("The store is out.")
        assert self.last is None
        (body,) = bodies
        self.last, self.told = body.last, (body.size, body.sha256)
        return FinishedUpload.of([format_data_key(KeyLayout(), self.name)], bodies)

    def abort(self) -> None:
        assert self.last is None
        self.aborted = True

    @property
    def body(self) -> bytes:
        return b"".join([*self.parts, self.last or b""])


@dataclass
class Uploads:
    made: list[Upload] = field(default_factory=list)
    broken: bool = False

    def open(self, names: Sequence[DataName]) -> Upload:
        (name,) = names
        self.made.append(Upload(name, self.broken))
        return self.made[-1]


def batches(records: Sequence[Record], cuts: Sequence[int] = ()) -> list[ColumnBatch]:
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(records)}), len(records)]
    pairs = itertools.pairwise(edges)
    return [ColumnBatch(TP, records[start:end]) for start, end in pairs if start < end]


def write(
    settings: Settings, records: Sequence[Record], cuts: Sequence[int] = (), *, generation: int = 0
) -> tuple[Written, list[Upload]]:
    uploads = Uploads()
    writer = RangeWriter(settings, generation, AT_MS, uploads.open)
    for batch in batches(records, cuts):
        if not writer.write(batch):
            break
    return writer.finish(), uploads.made


def left_out(settings: Settings, records: Sequence[Record], cuts: Sequence[int] = ()) -> list[int]:
    """The offsets of the records that are refused and passed over."""
    refused: list[int] = []
    told = partial(_remember, refused)
    writer = RangeWriter(settings, 0, AT_MS, Uploads().open, refuse=told)
    for batch in batches(records, cuts):
        if not writer.write(batch):
            break
    assert writer.finish().rejected == len(refused)
    return refused


def _remember(refused: list[int], rejected: Rejected, batch: RecordBatch, index: int) -> None:
    assert batch.offset_at(index) == rejected.offset
    if rejected.reason != "the value is null":  # a tombstone that is ignored is reported, and counted by itself
        refused.append(rejected.offset)


def at(*offsets: int) -> list[Record]:
    return [identified(3, offset) for offset in offsets]


def bounds(written: Written) -> list[tuple[int, int, int, str]]:
    return [(o.holds.first_offset, o.holds.last_offset, o.holds.records, o.closed_by.value) for o in written.objects]


# Boundaries.


def test_objects_end_where_connects_files_do() -> None:
    """flush.size records to a file, counted from the range's start; the names carry the first offset (Connect's)."""
    written, uploads = write(make_settings(flush_size=3), at(*range(100, 107)))
    assert bounds(written) == [
        (100, 102, 3, "flush.size"),
        (103, 105, 3, "flush.size"),
        (106, 106, 1, "end_of_range"),
    ]
    assert [made.key for made in written.objects] == [
        "topics/orders/partition=3/orders+3+0000000100.json",
        "topics/orders/partition=3/orders+3+0000000103.json",
        "topics/orders/partition=3/orders+3+0000000106.json",
    ]
    assert [json.loads(line)["o"] for line in uploads[1].body.splitlines()] == [103, 104, 105]


def test_offsets_without_a_record_count_for_nothing() -> None:
    """With holes, an object still holds flush.size records, and first and last offset are those of records."""
    written, _ = write(make_settings(flush_size=2), at(5, 9, 10, 40, 41))
    assert bounds(written) == [(5, 9, 2, "flush.size"), (10, 40, 2, "flush.size"), (41, 41, 1, "end_of_range")]


def test_a_full_object_at_the_end_leaves_no_empty_one() -> None:
    """When the last record fills an object nothing more is opened."""
    written, uploads = write(make_settings(flush_size=2), at(0, 1, 2, 3))
    assert [made.closed_by for made in written.objects] == [ClosedBy.FLUSH_SIZE] * 2
    assert len(uploads) == 2


def test_a_range_without_records_makes_no_object() -> None:
    """Nothing read is nothing written."""
    assert write(make_settings(), []) == (Written(), [])


def test_the_generation_is_in_the_name() -> None:
    """Objects of a topic whose offsets started again have names of their own."""
    written, _ = write(make_settings(), at(0), generation=2)
    assert written.objects[0].key == "topics/orders/partition=3/orders+3+0000000000+g2.json"


def _maybe_odd(offset: int, kind: int) -> Record:
    return [identified(3, offset), Record(offset, None), Record(offset, b"oops")][kind]


odd_records = st.lists(st.tuples(st.integers(1, 3), st.sampled_from([0, 0, 0, 0, 1, 2])), min_size=1, max_size=30).map(
    lambda steps: [_maybe_odd(10 + sum(gap for gap, _ in steps[:i]), kind) for i, (_, kind) in enumerate(steps)]
)


@given(
    odd_records,
    st.lists(st.integers(0, 30), max_size=8),
    st.integers(1, 7),
    st.integers(1, 80),
    st.sampled_from(COMPRESSIONS),
    st.booleans(),
    st.sampled_from([NullValues.FAIL, NullValues.IGNORE]),
)
def test_how_the_records_came_changes_nothing(
    records: list[Record],
    cuts: list[int],
    flush_size: int,
    part_size: int,
    compression: Compression,
    tolerate: bool,
    null_values: NullValues,
) -> None:
    """However the broker cuts its answers, the same objects are written, byte for byte, with the same accounts."""
    settings = make_settings(
        flush_size=flush_size,
        part_size=part_size,
        compression=compression,
        tolerate=tolerate,
        null_values=null_values,
    )
    whole, whole_uploads = write(settings, records)
    cut, cut_uploads = write(settings, records, cuts)
    assert cut == whole
    assert [upload.body for upload in cut_uploads] == [upload.body for upload in whole_uploads]
    for upload, made in zip(cut_uploads, cut.objects, strict=True):
        _check_parts(upload, part_size)
        assert (
            (len(upload.body), hashlib.sha256(upload.body).hexdigest())
            == (made.stored.size, made.stored.sha256)
            == upload.told
        )
    seen = len(records) if whole.stopped_at is None else [r.offset for r in records].index(whole.stopped_at.offset)
    assert whole.records + whole.rejected + whole.tombstones == seen
    assert [made.holds.records for made in whole.objects[:-1]] == [flush_size] * len(whole.objects[:-1])


def _check_parts(upload: Upload, part_size: int) -> None:
    assert upload.last
    assert all(len(part) == part_size for part in upload.parts)
    assert len(upload.last) <= part_size


# Parts.


@pytest.mark.parametrize(
    ("size", "parts"), [(10, []), (19, []), (20, []), (21, [20]), (40, [20]), (41, [20, 20]), (100, [20, 20, 20, 20])]
)
def test_parts_are_as_large_as_they_should_be(size: int, parts: list[int]) -> None:
    """Every part but the last is s3.part.size; up to that size an object is a single PUT."""
    _, uploads = write(make_settings(part_size=20), [Record(0, b'"' + b"x" * (size - 3) + b'"')])
    assert [len(part) for part in uploads[0].parts] == parts
    assert len(uploads[0].body) == size


def test_bytes_are_counted_before_compression() -> None:
    """`bytes` is what the records are without compression, separators included; an object's size is what it is."""
    written, uploads = write(make_settings(compression=Gzip(), flush_size=1000), at(*range(1000)))
    assert written.bytes == sum(len(record.value or b"") + 1 for record in at(*range(1000)))
    assert written.objects[0].stored.size == len(uploads[0].body) < written.bytes / 4


# What is not written.


def test_a_bad_record_stops_the_range_in_front_of_itself() -> None:
    """Without tolerance, what precedes the record is written and closed; the record is named and not counted."""
    records = [*at(5, 6, 7, 8), Record(9, b"{oops"), *at(10)]
    written, uploads = write(make_settings(flush_size=3), records)
    assert bounds(written) == [(5, 7, 3, "flush.size"), (8, 8, 1, "end_of_range")]
    assert (written.records, written.rejected) == (4, 0)
    assert str(written.stopped_at).startswith("topic orders partition 3 offset 9: not JSON: ")
    assert len(uploads) == 2


def test_a_bad_first_record_writes_nothing() -> None:
    """A range that begins with a bad record opens no object."""
    written, uploads = write(make_settings(), [Record(9, b"oops"), *at(10)])
    assert (written.objects, uploads) == ((), [])
    assert written.stopped_at == Rejected(TP, 9, "not JSON: Expecting value: line 1 column 1 (char 0)")


def test_tolerated_records_are_counted_and_left_out() -> None:
    """errors.tolerance=all: bad records are counted, named and stepped over, and do not fill objects."""
    records = [*at(0), Record(1, b"oops"), *at(2), Record(3, b""), Record(4, None), *at(5)]
    uploads, refused = Uploads(), []

    def refuse(rejected: Rejected, batch: RecordBatch, index: int) -> None:
        assert batch.offset_at(index) == rejected.offset
        refused.append((rejected.offset, rejected.reason))

    writer = RangeWriter(make_settings(tolerate=True), 0, AT_MS, uploads.open, refuse=refuse)
    assert all(writer.write(batch) for batch in batches(records, [2]))
    written = writer.finish()
    assert bounds(written) == [(0, 5, 3, "flush.size")]
    assert written.rejected == 3
    assert refused == [
        (1, "not JSON: Expecting value: line 1 column 1 (char 0)"),
        (3, "not JSON: the value is empty"),
        (4, "the value is null and behavior.on.null.values is fail"),
    ]
    assert written.stopped_at is None
    assert [json.loads(line)["o"] for line in uploads.made[0].body.splitlines()] == [0, 2, 5]


@pytest.mark.parametrize("tombstone", [None, b"null"])
def test_tombstones_are_ignored_where_that_is_asked_for(tombstone: bytes | None) -> None:
    """behavior.on.null.values=ignore counts tombstones, as such."""
    settings = make_settings(null_values=NullValues.IGNORE)
    written, _ = write(settings, [Record(0, tombstone), *at(1), Record(2, tombstone)])
    assert (written.tombstones, written.records, written.rejected) == (2, 1, 0)
    assert bounds(written) == [(1, 1, 1, "end_of_range")]


@pytest.mark.parametrize("tombstone", [None, b"null"])
def test_tombstones_stop_the_range_by_default(tombstone: bytes | None) -> None:
    """behavior.on.null.values=fail makes a tombstone a bad record that says which property to set."""
    written, _ = write(make_settings(), [*at(0), Record(1, tombstone)])
    reason = "the value is null and behavior.on.null.values is fail"
    assert written.stopped_at == Rejected(TP, 1, reason, Stage.TASK_PUT)
    assert (written.records, written.tombstones) == (1, 0)


# Giving up.


def test_abort_gives_up_what_is_open_and_only_that() -> None:
    """Closed objects stay, for a retry to adopt; the open one is aborted, once."""
    uploads = Uploads()
    writer = RangeWriter(make_settings(flush_size=2), 0, AT_MS, uploads.open)
    writer.write(ColumnBatch(TP, at(0, 1, 2)))
    writer.abort()
    writer.abort()
    assert [(upload.last is not None, upload.aborted) for upload in uploads.made] == [(True, False), (False, True)]


def test_an_object_whose_close_failed_can_be_aborted() -> None:
    """A close that fails leaves the object open, so that abort cleans up its parts."""
    uploads = Uploads(broken=True)
    writer = RangeWriter(make_settings(flush_size=2, part_size=5), 0, AT_MS, uploads.open)
    with pytest.raises(StoreUnavailable):
        writer.write(ColumnBatch(TP, at(0, 1, 2)))
    writer.abort()
    assert [upload.aborted for upload in uploads.made] == [True]
