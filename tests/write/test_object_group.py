"""Families of objects: values, keys, headers and an index under one name, whatever is there already and whatever fails.

The store is in memory; what dies is a process between, or in the middle of, two of its requests.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.errors import StoreUnavailable
from kafka_s3.naming import DataName, KeyLayout, format_data_key
from kafka_s3.ports import GET_BYTES_MAX, ObjectInfo, Put
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.model import Settings
from kafka_s3.write.object_group import Body, Member, OffsetSpan
from kafka_s3.write.uploads import ObjectGroupUpload
from tests.write.members import (
    BYTES,
    ENVELOPE,
    HEADERS,
    PLAIN,
    TOLERANT,
    WRITE,
    Made,
    enveloped,
    record,
    settings_with,
    suffixed,
    write,
)

NAMES = [DataName("orders", "partition=0", 0, 42, end) for end in (".json", ".keys.avro", ".headers.json")]
HELD = OffsetSpan(records=9, first_offset=42, last_offset=52)
TP = TopicPartition("orders", 3)


class Died(BaseException):
    """The process is gone: nobody tidies up."""


@dataclass
class Mortal:
    """A store whose user dies at one of its requests: before it is made, or after it was and nobody heard."""

    store: MemoryStore
    at: int
    after: bool
    requests: int = 0

    def _ask(self, request: Callable[[], Any]) -> Any:
        self.requests += 1
        if self.requests == self.at and not self.after:
            raise Died
        answer = request()
        if self.requests == self.at:
            raise Died
        return answer

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        *,
        metadata: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Put:
        made: Put = self._ask(lambda: self.store.put_if_absent(key, body, metadata=metadata, tags=tags))
        return made

    def put_tags(self, key: str, tags: Mapping[str, str]) -> None:
        self._ask(lambda: self.store.put_tags(key, tags))

    def get(self, key: str, *, limit: int = GET_BYTES_MAX) -> bytes | None:
        return self.store.get(key, limit=limit)

    def read(self, key: str, *, limit: int | None = None) -> Iterator[bytes]:
        return self.store.read(key, limit=limit)

    def head(self, key: str) -> ObjectInfo | None:
        found: ObjectInfo | None = self._ask(lambda: self.store.head(key))
        return found

    def list(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> Iterator[ObjectInfo]:
        return self.store.list(prefix, start_after=start_after, limit=limit)

    def start_multipart(self, key: str) -> Any:
        return _MortalUpload(self, self._ask(lambda: self.store.start_multipart(key)))


@dataclass
class _MortalUpload:
    mortal: Mortal
    upload: Any

    def put_part(self, body: bytes) -> None:
        self.mortal._ask(lambda: self.upload.put_part(body))

    def complete_if_absent(self) -> Put:
        made: Put = self.mortal._ask(self.upload.complete_if_absent)
        return made

    def abort(self) -> None:
        self.upload.abort()


Pieces = Sequence[Sequence[bytes]]


def upload(store: Any, members: Pieces) -> list[str]:
    """A family as the writer sends it: all pieces of a member but the last are parts, members in turns."""
    made = ObjectGroupUpload(store, KeyLayout(), NAMES[: len(members)])
    try:
        for turn in range(max(map(len, members))):
            for number, pieces in enumerate(members):
                if turn < len(pieces) - 1:
                    made.part(number, pieces[turn])
        return [each.key for each in made.finish([_body(pieces) for pieces in members], HELD).objects]
    except StoreUnavailable:
        made.abort()
        raise


def _body(pieces: Sequence[bytes]) -> Body:
    whole = b"".join(pieces)
    return Body(pieces[-1], len(whole), hashlib.sha256(whole).hexdigest())


def key_of(member: int, collision: int) -> str:
    name = NAMES[member]
    for _ in range(collision):
        name = name.next_free()
    return format_data_key(KeyLayout(), name)


def whole(members: Pieces) -> list[bytes]:
    return [b"".join(pieces) for pieces in members]


def in_pieces(sizes: Sequence[int]) -> list[list[bytes]]:
    return [[b"%d%d" % (number, piece) for piece in range(size)] for number, size in enumerate(sizes)]


members = st.lists(st.integers(1, 3), min_size=1, max_size=3).map(in_pieces)
taken = st.dictionaries(st.tuples(st.integers(0, 2), st.integers(0, 2)), st.booleans(), max_size=5)
deaths = st.lists(st.tuples(st.integers(1, 14), st.booleans()), max_size=3)


@profile(max_examples=50, deadline=None)
@given(members, taken, deaths)
def test_one_whole_family_in_the_end(
    members: list[list[bytes]], taken: dict[tuple[int, int], bool], deaths: list[tuple[int, bool]]
) -> None:
    """Whichever names are taken, by our bytes or others, and wherever a try dies: one family, whole, under one suffix.

    Nothing that was there changes, and once it is there another try finds it and writes nothing.
    """
    store = MemoryStore(part_bytes_min=1)
    for (member, collision), ours in taken.items():
        if member < len(members):
            store.put_if_absent(key_of(member, collision), b"".join(members[member]) if ours else b"other")
    standing = store.contents()
    for at, after in deaths:
        with contextlib.suppress(Died):
            upload(Mortal(store, at, after), members)
    keys = upload(store, members)
    found = store.contents()
    assert [found[key] for key in keys] == whole(members)
    assert keys in [[key_of(member, collision) for member in range(len(members))] for collision in range(8)]
    assert {key: found[key] for key in standing} == standing
    assert upload(store, members) == keys
    assert store.contents() == found


@pytest.mark.parametrize("sizes", itertools.product((1, 2), repeat=3))
def test_who_sees_the_values_sees_what_lies_beside_them(sizes: tuple[int, ...]) -> None:
    """The first member is made visible last, however large each one is and wherever a try dies."""
    given = in_pieces(sizes)
    for at, after in itertools.product(range(1, 20), (False, True)):
        store = MemoryStore(part_bytes_min=1)
        with contextlib.suppress(Died):
            upload(Mortal(store, at, after), given)
        found = store.contents()
        assert key_of(0, 0) not in found or len(found) == 3


@pytest.mark.parametrize("late", [0, 1, 2])
@pytest.mark.parametrize("sizes", itertools.product((1, 2), repeat=3))
def test_a_name_that_is_taken_while_parts_are_sent(sizes: tuple[int, ...], late: int) -> None:
    """Somebody takes one member's name meanwhile: the next try has a whole family under the next one."""
    given = in_pieces(sizes)
    store = MemoryStore(part_bytes_min=1)
    made = ObjectGroupUpload(store, KeyLayout(), NAMES)
    for number, pieces in enumerate(given):
        for piece in pieces[:-1]:
            made.part(number, piece)
    store.put_if_absent(key_of(late, 0), b"other")
    try:
        keys = [each.key for each in made.finish([_body(pieces) for pieces in given], HELD).objects]
    except StoreUnavailable:
        made.abort()
        keys = upload(store, given)
    assert keys == [key_of(member, 1) for member in range(3)]
    found = store.contents()
    assert [found[key] for key in keys] == whole(given)
    assert found[key_of(late, 0)] == b"other"
    assert store.uploads_open() == 0


# What the writer makes of records.


def numbers(member: Member, rows: Sequence[Any]) -> list[int]:
    """Which record each row is of."""
    match member:
        case Member.VALUES:
            return [_number(row) for row in rows]
        case Member.KEYS:
            return [int(str(row["key"] if isinstance(row, dict) else _text(row))[1:]) for row in rows]
        case _:
            return [int((row["headers"] if isinstance(row, dict) else row)[0]["value"]) for row in rows]


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _number(value: Any) -> int:
    found = json.loads(value)["n"] if isinstance(value, bytes) else value["n"]
    assert isinstance(found, int)
    return found


def check(made: Made, offsets: Sequence[int]) -> None:
    """Every record once, row i of each member of the same record, all members under one suffix."""
    seen: list[int] = []
    for each in made.written.objects:
        stems = {suffixed(stored.key)[0] for stored in each.upload.objects}
        assert len(stems) == 1
        found = {member: numbers(member, rows) for member, rows in made.members(each).items()}
        orders = list(found.values())
        assert all(order == orders[0] for order in orders), found
        assert orders[0] == sorted(orders[0])
        assert (orders[0][0], orders[0][-1], len(orders[0])) == (
            each.holds.first_offset,
            each.holds.last_offset,
            each.holds.records,
        )
        seen += orders[0]
    assert sorted(seen) == list(offsets)


def plain(offset: int) -> bytes:
    return json.dumps({"n": offset, "f": "xy"[offset % 2]}).encode()


def versioned(offset: int) -> bytes:
    """Two versions in turns, the newer one with a field more."""
    fields: list[tuple[str, Any]] = [("n", "int64"), ("f", "string")]
    payload: dict[str, Any] = {"n": offset, "f": "xy"[offset % 2]}
    if offset % 3:
        return enveloped(payload, *fields, version=1)
    return enveloped({**payload, "g": 1.5}, *fields, ("g", {"type": "double", "optional": True}), version=2)


VALUES = {
    "json": (PLAIN, plain),
    "json.gz": ({**PLAIN, "s3.compression.type": "gzip"}, plain),
    "bytes": (BYTES, plain),
    "block-gzip": ({**PLAIN, "format.class": "BlockGzipFormat", "compressed_block_size": "100"}, plain),
    "envelope-json": (ENVELOPE, versioned),
    "avro": ({**ENVELOPE, "format.class": "AvroFormat"}, versioned),
    "parquet": ({**ENVELOPE, "format.class": "ParquetFormat"}, versioned),
    "parquet-backward": ({**ENVELOPE, "format.class": "ParquetFormat", "schema.compatibility": "BACKWARD"}, versioned),
    "avro-forward": ({**ENVELOPE, "format.class": "AvroFormat", "schema.compatibility": "FORWARD"}, versioned),
}
AS_THEY_ARE = ("bytes", "block-gzip")
FORMATS = ("JsonFormat", "AvroFormat", "ParquetFormat")
KINDS = st.sampled_from(["good"] * 6 + ["tombstone", "no key", "no headers", "bad"])


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("beside", [*zip(FORMATS, (*FORMATS[1:], FORMATS[0]), strict=True), ("ByteArrayFormat", None)])
@profile(max_examples=20, deadline=None)
@given(data=st.data())
def test_row_i_of_each_member_belongs_to_the_same_record(
    values: str, beside: tuple[str, str | None], data: st.DataObject
) -> None:
    """Every format of values beside every one of keys and headers: the same records in the same order, none twice.

    By path, by schema, cut by counts, bytes and batches, with tombstones written and bad records left out, in parts.
    """
    more, value_of = VALUES[values]
    keys_format, headers_format = beside
    if more.get("s3.compression.type") == "gzip" and {*beside} - {"JsonFormat", "ByteArrayFormat", None}:
        keys_format = headers_format = "JsonFormat"
    kinds = data.draw(st.lists(KINDS, min_size=1, max_size=25))
    by_field = values not in AS_THEY_ARE and data.draw(st.booleans())
    settings = settings_with(
        more,
        WRITE,
        TOLERANT,
        {"keys.format.class": keys_format, "flush.size": str(data.draw(st.integers(1, 9)))},
        {} if headers_format is None else {**HEADERS, "headers.format.class": headers_format},
        {"key.converter": "ByteArrayConverter"} if keys_format == "ByteArrayFormat" else {},
        {"partitioner.class": "FieldPartitioner", "partition.field.name": "f"} if by_field else {},
        data.draw(st.sampled_from([{}, {"export.object.bytes.max": "60"}, {"partitioner.max.open.files": "1"}])),
    )
    settings = _with_part_size(settings, data.draw(st.sampled_from([7, 100, 10_000])))
    records, wanted = [], []
    for offset, kind in enumerate(kinds):
        value = {"tombstone": None, "bad": b"\xff"}.get(kind, value_of(offset))
        given: dict[str, Any] = {}
        if kind == "no key":
            given = {"key": None}
        elif kind == "no headers":
            given = {"headers": ()}
        records.append(record(offset, value, **given))
        refused = kind == "no key" or (kind == "no headers" and headers_format is not None)
        if not (refused or (kind == "bad" and values not in AS_THEY_ARE)):
            wanted.append(offset)
    if values in AS_THEY_ARE:  # whatever bytes are a value there, but not one that says its number
        records = [each for each in records if each.value != b"\xff"]
        wanted = [offset for offset in wanted if kinds[offset] != "bad"]
    cuts = data.draw(st.lists(st.integers(1, 24), max_size=4))
    made = write(settings, records, cuts)
    check(made, wanted)
    assert sorted([*wanted, *made.refused]) == [each.offset for each in records]
    again = write(settings, records, store=made.store)
    assert again.written == made.written


def _with_part_size(settings: Settings, size: int) -> Settings:
    return replace(settings, limits=replace(settings.limits, part_size_bytes=size))


@pytest.mark.parametrize(
    "partitioner",
    [
        {"partitioner.class": "FieldPartitioner", "partition.field.name": "f"},
        {
            "partitioner.class": "HourlyPartitioner",
            "locale": "en",
            "timezone": "UTC",
            "timestamp.extractor": "RecordField",
            "timestamp.field": "f",
        },
    ],
)
def test_a_field_is_read_from_bytes_that_nobody_has_looked_at(partitioner: Mapping[str, str]) -> None:
    """Block-GZIP takes whatever a value is; one that no field can be read from is a bad record's, and stops nothing."""
    values = [b'{"f":1}', b'{"f":"\xff"}', b'"\xff"', b"\xff", b"{", b'{"f":2}']
    records = [record(offset, value) for offset, value in enumerate(values)]
    made = write(settings_with(VALUES["block-gzip"][0], TOLERANT, partitioner), records)
    assert (made.written.records, sorted(made.refused)) == (2, [1, 2, 3, 4])
