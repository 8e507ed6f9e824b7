"""What the names of a bucket's data objects say about where an export has come to. Pure.

Facts about the sink that this rests on (s3-sink-behaviour §2.4, §2.6): a rotation commits all open files of a
topic-partition together, over all its encoded partitions; a file's name holds the offset of its first record; what
was not committed is read again after a restart. So between two rotations the files of a topic-partition hold exactly
the records between two offsets, its *boundaries*, however the records interleave over the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from kafka_s3.naming import MARKER_NAME, DataName, KeyLayout, format_data_key, parse_data_key
from kafka_s3.ports import ObjectInfo


@dataclass(frozen=True, slots=True)
class Stored:
    """One data object in the bucket."""

    key: str
    size: int
    name: DataName

    @property
    def start(self) -> int:
        return self.name.start_offset


@dataclass(frozen=True, slots=True)
class PartitionObjects:
    """The data objects of one Kafka partition, over all its encoded partitions.

    `values`: ascending by start offset. `without_value`: files of keys or headers beside which no file of values
    stands (tombstones in write mode, or what a crash left), ascending too.
    """

    values: tuple[Stored, ...] = ()
    without_value: tuple[Stored, ...] = ()

    def from_offset(self, offset: int) -> list[Stored]:
        """Every object that begins at or after an offset."""
        return [each for each in (*self.values, *self.without_value) if each.start >= offset]

    @property
    def is_empty(self) -> bool:
        return not self.values and not self.without_value


@dataclass(frozen=True, slots=True)
class TopicObjects:
    """What lies under a topic's prefix. `strangers`: keys that are not data keys of this layout.

    Memory: about 500 bytes for each object.
    """

    partitions: Mapping[int, PartitionObjects] = field(default_factory=dict)
    strangers: tuple[str, ...] = ()

    @property
    def generation(self) -> int:
        """The highest generation among the names: 0 unless this exporter wrote them."""
        every = (each for objects in self.partitions.values() for each in objects.from_offset(0))
        return max((each.name.generation for each in every), default=0)


def sort_out(
    layout: KeyLayout, topic: str, infos: Iterable[ObjectInfo], other_topics: Iterable[str] = ()
) -> TopicObjects:
    """Tell a topic's data objects apart by Kafka partition; empty "folder" objects and markers of completeness
    are passed over.

    `other_topics`: whose keys may begin with this topic's prefix too, where `directory.delim` may be part of a name.
    """
    others = [other for other in other_topics if layout.topic_prefix(other).startswith(layout.topic_prefix(topic))]
    found: dict[int, list[Stored]] = {}
    strangers: list[str] = []
    for info in infos:
        name = parse_data_key(layout, topic, info.key)
        if name is not None:
            found.setdefault(name.partition, []).append(Stored(info.key, info.size, name))
        elif any(other != topic and parse_data_key(layout, other, info.key) for other in others):
            continue
        elif (info.size or not info.key.endswith("/")) and not info.key.endswith(MARKER_NAME):
            strangers.append(info.key)
    return TopicObjects({p: _partition(layout, stored) for p, stored in sorted(found.items())}, tuple(strangers))


def _partition(layout: KeyLayout, stored: Sequence[Stored]) -> PartitionObjects:
    ordered = sorted(stored, key=lambda each: (each.start, each.key))
    values = tuple(each for each in ordered if not _is_companion(each))
    stems = {_stem(layout, each) for each in values}
    alone = (each for each in ordered if _is_companion(each))
    return PartitionObjects(values, tuple(each for each in alone if _stem(layout, each) not in stems))


def _is_companion(stored: Stored) -> bool:
    """Whether an object holds keys or headers: `<base>.keys<extension>`."""
    return stored.name.extension.split(".")[1:2] in (["keys"], ["headers"])


def _stem(layout: KeyLayout, stored: Stored) -> str:
    """The key without its extension, which a file of values shares with those of its keys and headers."""
    return format_data_key(layout, stored.name).removesuffix(stored.name.extension)


def tail(objects: PartitionObjects) -> tuple[Stored, ...]:
    """The objects after the last offset before which, by the names alone, there must be a boundary.

    Where one encoded partition has two objects, the first was closed before the second began: a boundary lies above
    the start of the first and not above that of the second. With the default partitioner this is the last object.

    >>> def stored(start, encoded): return Stored("", 1, DataName("t", encoded, 0, start, ".json"))
    >>> [each.start for each in tail(PartitionObjects((stored(0, "f=a"), stored(1, "f=b"), stored(5, "f=b"))))]
    [5]
    >>> [each.start for each in tail(PartitionObjects((stored(0, "f=a"), stored(2, "f=b"), stored(7, "f=a"))))]
    [2, 7]
    """
    seen: dict[str, int] = {}
    closed = -1
    for each in objects.values:
        before = seen.get(each.name.encoded_partition, each.start)
        closed = max(closed, before if before < each.start else -1)
        seen[each.name.encoded_partition] = each.start
    return tuple(each for each in objects.values if each.start > closed)


@dataclass(frozen=True, slots=True)
class Counted:
    """An object that was read: how many records it holds, and the last of them as it stands there."""

    start: int
    records: int
    last: bytes


@dataclass(frozen=True, slots=True)
class Uncounted:
    """Why the records of a partition's last objects are not known."""

    reason: str


@dataclass(frozen=True, slots=True)
class Tail:
    """The last objects of a partition, counted, ascending by start; never empty.

    `is_all`: these are all objects that the partition has.
    """

    objects: tuple[Counted, ...]
    is_all: bool

    @property
    def start(self) -> int:
        return self.objects[0].start

    def records_from(self) -> dict[int, int]:
        """How many records lie in the objects that begin at each start or after it."""
        total, records = 0, {}
        for each in reversed(self.objects):
            total += each.records
            records[each.start] = total
        return records

    @property
    def end(self) -> int:
        """The next offset, if no offset among these objects is without a record.

        Records in objects that begin at or after an offset s are at most those from s to the end, and exactly those
        where s is a boundary, which one of the starts is.
        """
        return max(start + records for start, records in self.records_from().items())

    @property
    def is_contiguous(self) -> bool:
        """Whether the objects from the first on hold as many records as there are offsets."""
        return self.start + self.records_from()[self.start] == self.end


def why_not_countable(objects: PartitionObjects, wanted: Sequence[Stored], can_count: Callable[[str], bool]) -> str:
    """Why counting `wanted` would not tell where the export ends; "" if it would. `can_count`: by the extension."""
    if not wanted:
        return "it has files of keys or headers only, and no values to count"
    alone = [each for each in objects.without_value if each.start >= wanted[0].start]
    if alone:
        return f"{alone[0].key} has no file of values beside it: its records (tombstones?) cannot be counted"
    for each in wanted:
        if each.name.generation:
            return f"{each.key} is of generation {each.name.generation}: which objects count, only the log knew"
        if not can_count(each.name.extension):
            return f"records of {each.key} cannot be counted: only JSON lines and ByteArray"
    for before, after in pairwise(wanted):
        if before.start == after.start:
            return f"{before.key} and {after.key} begin at the same offset: one of them is a double"
    return ""
