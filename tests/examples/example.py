"""What a configuration from a page is, what becomes of it here, and what several pages share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

Properties = Mapping[str, str | int | bool]


@dataclass(frozen=True)
class Runs:
    """It exports. `objects`: the offsets in each object, by the key below `topics/<topic>/`; `{t}` is the topic.

    `hours`: the two hours of the records are runs of their own, since the path is made of the runs' logical times.
    `registered`: its values have a schema in a registry, as the pages have in mind.
    `refused`: a tenth record is bad, and lies in the topic of dead letters.
    """

    objects: Mapping[str, Sequence[int]]
    hours: bool = False
    registered: bool = False
    refused: bool = False


@dataclass(frozen=True)
class Wrong:
    """The sink refuses it too, or knows no such property.

    `problems`: how the message about each property begins; there are no others.
    """

    problems: Mapping[str, str]


@dataclass(frozen=True)
class Example:
    name: str
    page: str
    properties: Properties
    outcome: Runs | Wrong
    base: Properties = field(default_factory=dict)
    suffix: str = ".json"


STORAGE: Final = "io.confluent.connect.storage"
S3: Final = "io.confluent.connect.s3"
SINK: Final = {"connector.class": f"{S3}.S3SinkConnector"}
AVRO: Final = f"{S3}.format.avro.AvroFormat"
JSON: Final = f"{S3}.format.json.JsonFormat"
PARQUET: Final = f"{S3}.format.parquet.ParquetFormat"
PATTERN: Final = "'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH"

#: What fragments are merged into: JSON without schemas, three records an object.
PLAIN: Final = {
    **SINK,
    "name": "s3-sink",
    "topics": "events",
    "s3.bucket.name": "data-lake-bucket",
    "storage.class": f"{S3}.storage.S3Storage",
    "format.class": JSON,
    "flush.size": "3",
}
#: The same by hours of the records' timestamps.
HOURS: Final = {
    **PLAIN,
    "partitioner.class": f"{STORAGE}.partitioner.TimeBasedPartitioner",
    "path.format": PATTERN,
    "partition.duration.ms": "3600000",
    "locale": "en-US",
    "timezone": "UTC",
    "timestamp.extractor": "Record",
}


def threes(extension: str, *folders: str) -> dict[str, range]:
    """Objects of three records: the nine in order, three objects in one folder or one in each of three."""
    assert len(folders) in (1, 3)
    each = folders * 3 if len(folders) == 1 else folders
    return {f"{folder}/{{t}}+0+{3 * n:010d}{extension}": range(3 * n, 3 * n + 3) for n, folder in enumerate(each)}


def hour_folder(hour: int) -> str:
    return f"year=2024/month=01/day=15/hour={hour:02d}"


BY_THREES: Final = threes(".json", "partition=0")
AT_ONCE: Final = {"partition=0/{t}+0+0000000000.json": range(9)}
BY_HOUR: Final = threes(".json", hour_folder(10), hour_folder(10), hour_folder(11))
AVRO_FILES: Final = Runs(threes(".avro", "partition=0"), registered=True)
PARQUET_FILES: Final = Runs(threes(".snappy.parquet", "partition=0"), registered=True)
#: An hour in an object, from Avro to Parquet.
HOURS_OF_PARQUET: Final = Runs(
    {
        f"{hour_folder(10)}/{{t}}+0+0000000000.snappy.parquet": range(6),
        f"{hour_folder(11)}/{{t}}+0+0000000006.snappy.parquet": range(6, 9),
    },
    hours=True,
    registered=True,
    refused=True,
)
NO_PATTERN: Final = {
    "path.format": "Path format cannot be empty.",
    "partition.duration.ms": "Partition duration needs to be a positive.",
    "locale": "Locale cannot be empty.",
    "timezone": "Timezone cannot be empty.",
}
