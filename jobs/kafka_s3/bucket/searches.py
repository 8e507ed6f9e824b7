"""Where a sweep looks for what an earlier driver left: as few keys as the configuration lets it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kafka_s3.bucket.folders import Place
from kafka_s3.naming import Naming
from kafka_s3.ports import ObjectStore
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.model import Settings
from kafka_s3.settings.paths import DefaultPartitioner, SchemaAffix

#: Keys under one prefix that a sweep looks at: 20 requests.
SWEEP_KEYS_MAX: Final = 20_000


@dataclass(frozen=True, slots=True, order=True)
class Search:
    """Keys to look at: those of a prefix, after one key and before another."""

    prefix: str
    start_after: str = ""
    before: str = ""


def searches(
    place: Place, topic: str, settings: Settings, whole: Mapping[TopicPartition, tuple[int, int]]
) -> Iterator[Search]:
    """Where the keys of a plan lie: under the default partitioner exactly there, else anywhere in the topic."""
    layout, f, width = place.layout, place.layout.file_delim, place.layout.offset_pad_width
    by_partition = isinstance(settings.partitioner, DefaultPartitioner) and settings.schema_affix is SchemaAffix.NONE
    by_partition = by_partition and layout.naming is Naming.CONNECT and not layout.file_template
    by_partition = by_partition and not layout.routed
    for tp, (start, end) in whole.items():
        if tp.topic != topic:
            continue
        # Padded offsets sort as numbers do, and "~" comes after every suffix.
        if place.owned and by_partition and len(str(end)) <= width:
            path = f"partition={tp.partition}{layout.directory_delim}"
            prefix = f"{layout.topic_prefix(topic)}{path}{topic}{f}{tp.partition}{f}"
            after = f"{prefix}{start - 1:0{width}d}~" if start else ""
            yield Search(prefix, after, f"{prefix}{end:0{width}d}")
        else:
            yield Search(layout.listed_prefix(topic))


def keys_under(store: ObjectStore, search: Search) -> tuple[list[str], bool]:
    """The keys of a search, and whether these are all of them."""
    keys: list[str] = []
    for info in store.list(search.prefix, start_after=search.start_after):
        if search.before and info.key >= search.before:
            break
        if len(keys) == SWEEP_KEYS_MAX:
            return keys, False
        keys.append(info.key)
    return keys, True
