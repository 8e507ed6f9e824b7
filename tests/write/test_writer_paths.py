"""Records of several paths into objects: each path has an object of its own, which others do not close."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.avro.groups import Groups
from kafka_s3.avro.model import Compatibility
from kafka_s3.records import Record
from kafka_s3.settings.converters import Converter
from kafka_s3.settings.formats import Compression, Gzip
from kafka_s3.settings.model import Settings
from kafka_s3.settings.paths import FieldPartitioner, FieldTime, RecordTime, TimePartitioner
from kafka_s3.settings.properties import UserDefined
from kafka_s3.settings.values import NullValues
from kafka_s3.write.writer import Written
from tests.support import make_settings
from tests.write.members import ENVELOPE, enveloped, settings_with
from tests.write.members import write as write_families
from tests.write.test_writer import Upload, bounds, left_out, write

BY_F = FieldPartitioner(("f",))
HOURLY = TimePartitioner(3_600_000, "'hour='HH", "UTC", "en", RecordTime())
MINUTE_MS = 60_000


def with_f(*fs: object) -> list[Record]:
    """A record for each, whose field f has this value."""
    return [Record(offset, json.dumps({"f": f, "o": offset}).encode()) for offset, f in enumerate(fs)]


def at_minutes(*minutes: float) -> list[Record]:
    """A record for each, with a timestamp so many minutes after the epoch."""
    return [
        Record(offset, b'{"o":%d}' % offset, timestamp_ms=int(minute * MINUTE_MS))
        for offset, minute in enumerate(minutes)
    ]


def offsets_in(upload: Upload) -> list[int]:
    body = gzip.decompress(upload.body) if upload.name.extension.endswith(".gz") else upload.body
    return [json.loads(line)["o"] for line in body.splitlines()]


def shape(written: Written) -> list[tuple[str, int, str]]:
    """Path and first offset, records, and why it closed."""
    return [
        (made.key.removeprefix("topics/orders/").removesuffix(".json"), made.holds.records, made.closed_by.value)
        for made in written.objects
    ]


def test_an_object_counts_its_own_records() -> None:
    """Not those of the Kafka partition over all paths, as the sink does: fields that take turns fill their objects."""
    written, uploads = write(make_settings(partitioner=BY_F, flush_size=2), with_f(*"abcabca"))
    assert shape(written) == [
        ("f=a/orders+3+0000000000", 2, "flush.size"),
        ("f=b/orders+3+0000000001", 2, "flush.size"),
        ("f=c/orders+3+0000000002", 2, "flush.size"),
        ("f=a/orders+3+0000000006", 1, "end_of_range"),
    ]
    assert [offsets_in(upload) for upload in uploads] == [[0, 3], [6], [1, 4], [2, 5]]


def test_late_records_close_nothing() -> None:
    """A record of an hour that is past goes to that hour's object, and the current one stays open."""
    written, _ = write(make_settings(partitioner=HOURLY, flush_size=10), at_minutes(58, 59, 60, 59.5, 61, 62))
    assert shape(written) == [
        ("hour=00/orders+3+0000000000", 3, "end_of_range"),
        ("hour=01/orders+3+0000000002", 3, "end_of_range"),
    ]


def test_record_time_closes_an_object_before_what_is_too_late() -> None:
    """Counted from the object's first record; going back in time never rotates; each path has its own clock."""
    settings = make_settings(partitioner=HOURLY, flush_size=10, rotate_interval_ms=10 * MINUTE_MS)
    written, _ = write(settings, at_minutes(1, 5, 10.9, 11, 2, 20.9, 61, 21, 69, 71))
    assert shape(written) == [
        ("hour=00/orders+3+0000000000", 3, "rotate.interval.ms"),
        ("hour=00/orders+3+0000000003", 3, "rotate.interval.ms"),
        ("hour=01/orders+3+0000000006", 2, "rotate.interval.ms"),
        ("hour=00/orders+3+0000000007", 1, "end_of_range"),
        ("hour=01/orders+3+0000000009", 1, "end_of_range"),
    ]


def compressed(settings: Settings, compression: Compression) -> Settings:
    file = replace(settings.format.file, compression=compression)
    return replace(settings, format=replace(settings.format, file=file))


def test_a_limit_of_bytes_closes_an_object_behind_it() -> None:
    """Bytes of the records with their separators, before compression, whatever the compression makes of them."""
    records = [Record(offset, b'"%s"' % (b"x" * 7), timestamp_ms=0) for offset in range(7)]  # ten bytes with the break
    for compression in (None, Gzip()):
        settings = make_settings(flush_size=100, object_bytes_max=25)
        if compression:
            settings = compressed(settings, compression)
        written, _ = write(settings, records)
        assert [each[2:] for each in bounds(written)] == [
            (3, "export.object.bytes.max"),
            (3, "export.object.bytes.max"),
            (1, "end_of_range"),
        ]
    exact, _ = write(make_settings(flush_size=3, object_bytes_max=30), records[:3])
    assert [each[2:] for each in bounds(exact)] == [(3, "flush.size")]
    large, _ = write(make_settings(flush_size=9, object_bytes_max=1), records[:2])
    assert [each[2:] for each in bounds(large)] == [(1, "export.object.bytes.max")] * 2


def test_for_one_object_too_many_the_oldest_closes() -> None:
    """The others stay open, and nothing is lost."""
    written, _ = write(make_settings(partitioner=BY_F, flush_size=10, open_objects_max=2), with_f(*"abacab"))
    assert shape(written) == [
        ("f=a/orders+3+0000000000", 2, "open.objects"),
        ("f=b/orders+3+0000000001", 1, "open.objects"),
        ("f=c/orders+3+0000000003", 1, "open.objects"),
        ("f=a/orders+3+0000000004", 1, "end_of_range"),
        ("f=b/orders+3+0000000005", 1, "end_of_range"),
    ]


def test_a_record_without_a_path_ends_the_range_in_front_of_it() -> None:
    """What precedes it is written, of whichever path; tolerated, only it is left out."""
    records = [*with_f("a", "b"), Record(2, b'{"g":1}'), *[Record(3, b'{"f":"a","o":3}')]]
    written, _ = write(make_settings(partitioner=BY_F), records)
    assert (written.records, [each[:2] for each in bounds(written)]) == (2, [(0, 0), (1, 1)])
    assert written.stopped_at is not None
    assert str(written.stopped_at).startswith(
        "topic orders partition 3 offset 2: field f is missing; there are others (1)"
    )
    tolerated, _ = write(make_settings(partitioner=BY_F, tolerate=True), records)
    assert (tolerated.records, tolerated.rejected) == (3, 1)
    assert left_out(make_settings(partitioner=BY_F, tolerate=True), records) == [2]
    assert [offsets_in(upload) for upload in _] == [[0, 3], [1]]


@st.composite
def stories(draw: st.DrawFn) -> tuple[Settings, list[Record], list[int]]:
    """Settings of some path, records of every kind, and two ways to cut them into batches."""
    partitioner = draw(st.sampled_from([BY_F, HOURLY, replace(HOURLY, extractor=FieldTime("at"))]))
    settings = make_settings(
        partitioner=partitioner,
        flush_size=draw(st.integers(1, 5)),
        open_objects_max=draw(st.integers(1, 4)),
        object_bytes_max=draw(st.none() | st.integers(1, 120)),
        rotate_interval_ms=draw(st.none() | st.integers(1, 90 * MINUTE_MS)),
        tolerate=True,
        null_values=NullValues.IGNORE,
    )
    minutes = st.integers(0, 240)
    rows = draw(st.lists(st.tuples(st.sampled_from("abcde"), minutes, st.sampled_from("vvvvvvvvtbm")), max_size=25))
    records = []
    for offset, (f, minute, kind) in enumerate(rows):
        at = minute * MINUTE_MS
        value = {
            "v": json.dumps({"f": f, "at": at, "o": offset}).encode(),
            "t": None,
            "b": b"{not json",
            "m": b'{"o":%d}' % offset,
        }[kind]
        records.append(Record(offset, value, timestamp_ms=at))
    return settings, records, draw(st.lists(st.integers(1, 25), max_size=6))


@given(stories())
def test_how_the_records_came_changes_nothing(story: tuple[Settings, list[Record], list[int]]) -> None:
    """One batch, some, or one a record: the same objects, the same counts, and every record in exactly one place."""
    settings, records, cuts = story
    one, uploads = write(settings, records)
    for other in (cuts, range(1, len(records))):
        written, others = write(settings, records, other)
        assert written == one
        assert sorted(each.body for each in others) == sorted(each.body for each in uploads)
    placed = [offset for upload in uploads for offset in offsets_in(upload)]
    refused = left_out(settings, records, cuts)
    assert len(placed) + len(refused) + one.tombstones == len(records)
    assert len({*placed, *refused}) == len(placed) + len(refused)
    assert placed_in_order(uploads)


def placed_in_order(uploads: Sequence[Upload]) -> bool:
    return all(offsets_in(upload) == sorted(offsets_in(upload)) for upload in uploads)


@given(
    st.lists(st.tuples(st.sampled_from("aaabcdef"), st.sampled_from([1, 2, 2])), max_size=25),
    st.lists(st.integers(1, 24), max_size=6),
    st.sampled_from(Compatibility),
    st.integers(1, 6),
)
def test_paths_with_forgotten_schemas_do_not_show_arrival(
    rows: list[tuple[str, int]], cuts: list[int], mode: Compatibility, paths_max: int
) -> None:
    """Which of too many paths are forgotten, and so which objects there are, follows from the records' order."""
    by_f = {"partitioner.class": "FieldPartitioner", "partition.field.name": "f"}
    settings = settings_with(ENVELOPE, by_f, {"schema.compatibility": mode.value, "flush.size": "4"})
    types = {1: [("f", "string")], 2: [("f", "string"), ("w", {"type": "int32", "optional": True})]}
    records = [
        Record(offset, enveloped({"f": f}, *types[version], version=version))
        for offset, (f, version) in enumerate(rows)
    ]
    size = 2400  # of one path's group of these schemas
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("kafka_s3.write.routing.Groups", partial(Groups, size_max=size * paths_max))
        one = write_families(settings, records)
        for other in (cuts, range(1, len(records))):
            made = write_families(settings, records, other)
            assert made.written == one.written
            assert made.store.contents() == one.store.contents()


# A format of the user's own.


@given(st.lists(st.integers(0, 12), min_size=1, max_size=20), st.integers(1, 40), st.lists(st.integers(1, 19)))
def test_ends_of_a_users_format_do_not_show_arrival(lengths: list[int], bytes_max: int, cuts: list[int]) -> None:
    """What a class adds to the values does not count: a limit in bytes cuts the same objects whatever the batches."""
    records = [Record(offset, b"x" * length, timestamp_ms=0) for offset, length in enumerate(lengths)]
    own = UserDefined(f"{__name__}:Bracketed")
    settings = make_settings(converter=Converter.BYTE_ARRAY, format=own, flush_size=100, object_bytes_max=bytes_max)
    assert write(settings, records, cuts)[0] == write(settings, records)[0]


class Bracketed:
    """Objects with a beginning and an end."""

    extension = ".list"

    def begin(self) -> bytes:
        return b"["

    def encode(self, values: Sequence[bytes]) -> bytes:
        return b"".join(value + b";" for value in values)

    def end(self) -> bytes:
        return b"]"


@pytest.mark.parametrize("compression", [None, Gzip()])
def test_a_format_of_the_users_own(compression: Gzip | None) -> None:
    """It makes the bytes of an object; names, boundaries and compression are ours."""
    settings = make_settings(format=UserDefined(f"{__name__}:Bracketed"), flush_size=2)
    if compression:
        settings = compressed(settings, compression)
    written, uploads = write(settings, [Record(n, b"%d" % n) for n in range(3)], cuts=[1])
    suffix = ".list.gz" if compression else ".list"
    assert [made.key for made in written.objects] == [
        f"topics/orders/partition=3/orders+3+000000000{n}{suffix}" for n in (0, 2)
    ]
    bodies = [gzip.decompress(each.body) if compression else each.body for each in uploads]
    assert bodies == [b"[0;1;]", b"[2;]"]
