"""What the Connect S3 sink would leave in a bucket, laid out by its own algorithm (s3-sink-behaviour §2.2 to §2.6)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kafka_s3.naming import DataName, KeyLayout, format_data_key
from kafka_s3.ranges import TopicPartition

Encode = Callable[[int], str]


def hourly(per_hour: int) -> Encode:
    """Offsets in time order, so many an hour, every third of them an hour late."""

    def encode(offset: int) -> str:
        hour = max(0, offset // per_hour - (offset % 3 == 0))
        return f"year=2026/month=01/day=01/hour={hour:02d}"

    return encode


def by_field(values: int) -> Encode:
    return lambda offset: f"f={offset % values}"


@dataclass
class Sink:
    """One task's writers for a topic: `put` hands it records, `flush_size` of them make a rotation of a partition.

    `overwrite` puts an object. `committed`: what the consumer group would have. Values stand in the objects as
    Jackson writes them: without the blanks that `tests.support.identified` has.
    """

    topic: str
    flush_size: int
    overwrite: Callable[[str, bytes], None]
    encode: Encode | None = None
    extension: str = ".json"
    layout: KeyLayout = KeyLayout()
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    _open: dict[int, dict[str, list[int]]] = field(default_factory=dict)

    def put(self, partition: int, offsets: Iterable[int]) -> None:
        for offset in offsets:
            encoded = f"partition={partition}" if self.encode is None else self.encode(offset)
            files = self._open.setdefault(partition, {})
            files.setdefault(encoded, []).append(offset)
            if sum(map(len, files.values())) >= self.flush_size:
                self.rotate(partition)

    def rotate(self, partition: int, *, commit: bool = True) -> None:
        """Commit every open file of the partition; `commit=False`: the task dies before the group's offset is."""
        files = self._open.pop(partition, {})
        for encoded, offsets in files.items():
            name = DataName(self.topic, encoded, partition, offsets[0], self.extension)
            self.overwrite(format_data_key(self.layout, name), self.body(partition, offsets))
        if files and commit:
            self.committed[TopicPartition(self.topic, partition)] = max(map(max, files.values())) + 1

    def body(self, partition: int, offsets: Iterable[int]) -> bytes:
        lines = (json.dumps({"p": partition, "o": offset}, separators=(",", ":")) for offset in offsets)
        plain = "".join(f"{line}\n" for line in lines).encode()
        return gzip.compress(plain, mtime=0) if self.extension.endswith(".gz") else plain
