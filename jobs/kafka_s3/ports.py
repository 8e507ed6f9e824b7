"""What the use cases need from the world. Each port has an adapter over one library, and one in memory.

The contract suite (`tests/contract`) holds every implementation of a port to the same behaviour.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from kafka_s3.dead_letter import DeadLetter
from kafka_s3.errors import TooLarge
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.records import RecordBatch

#: What `ObjectStore.get` reads at most, unless its caller allows less: the largest document of a log. A log entry takes
#: about 350 bytes for each object, 450 for each range and 40 for each partition that its topics have, so this is one
#: with 350,000 objects; in memory it takes about four times as much.
GET_BYTES_MAX: Final = 128 * 1024 * 1024


class Put(enum.Enum):
    """How a put-if-absent ended, as far as the store said. It never overwrites."""

    CREATED = "created"
    EXISTS = "exists"


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """What a store says of an object without its bytes; `modified_ms`: by the store's own clock, when it was written.

    A listing has no metadata.
    """

    key: str
    size: int
    metadata: Mapping[str, str] | None = None
    modified_ms: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class OpenUpload:
    """A multipart upload that was neither completed nor aborted; `id` is the store's own."""

    key: str
    id: str


class ObjectStore(Protocol):
    """One bucket. Every error is an `ExporterError`: `StoreUnavailable` after the retries, `StoreRefused` at once.

    A put whose answer got lost may answer EXISTS to its own retry: callers compare the bytes, never the outcome
    alone.
    """

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        *,
        metadata: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Put:
        """Create an object with its metadata and tags, or leave the one that is there as it is.

        A `sha256` of 64 hexadecimal digits in the metadata is that of the body: a store may rely on it, or check it.
        """

    def put_tags(self, key: str, tags: Mapping[str, str]) -> None:
        """Give an object that is there these tags instead of those it has."""

    def get(self, key: str, *, limit: int = GET_BYTES_MAX) -> bytes | None:
        """The object's bytes, or `None` if there is no such object.

        `TooLarge`, before a byte of it is read, if it has more than `limit`.
        """

    def read(self, key: str, *, limit: int | None = None) -> Iterator[bytes]:
        """The object's bytes in chunks; `StoreRefused` if there is no such object, `TooLarge` as by `get`."""

    def head(self, key: str) -> ObjectInfo | None:
        """Size and metadata, or `None` if there is no such object."""

    def list(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> Iterator[ObjectInfo]:
        """Objects whose key begins with `prefix`, in key order, after `start_after`, at most `limit` (one request
        if it is at most 1000)."""

    def start_multipart(self, key: str) -> MultipartUpload: ...

    def uploads(self, prefix: str) -> Iterator[OpenUpload]:
        """Multipart uploads under way, or left behind, whose key begins with `prefix`."""

    def abort_upload(self, upload: OpenUpload) -> None:
        """Delete the parts of somebody's upload; one that has ended meanwhile is fine."""

    def delete(self, key: str) -> None:
        """Delete an object; a missing one is fine. Only what docs/protocol.md#deletion allows is deleted."""


def check_size(key: str, size: int, limit: int | None) -> None:
    """Raise `TooLarge` for an object of more than `limit` bytes."""
    if limit is not None and size > limit:
        raise TooLarge(
            f"{key} has {size} bytes; at most {limit} are read.",
            next="Nothing of it was read. Restore it from the bucket's versions, or remove it if it does not belong"
            " there: the exporter writes none that is larger.",
        )


class MultipartUpload(Protocol):
    """An object that is too large for one request. Either `complete_if_absent` or `abort` ends it."""

    def put_part(self, body: bytes) -> None:
        """The next part; every part but the last holds at least 5 MiB."""

    def complete_if_absent(self) -> Put: ...
    def abort(self) -> None: ...


@dataclass(frozen=True, slots=True)
class AwsCredentials:
    """What a `CredentialsProvider` answers. `expires_at` has a time zone; `None` is never."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    expires_at: datetime | None = None


class CredentialsProvider(Protocol):
    """A class of the user's own behind `s3.credentials.provider.class=module:Class`.

    It is made once per process with every `s3.credentials.provider.*` property by the rest of its name, and with
    `aws.access.key.id` and `aws.secret.access.key` where those are set. `credentials` is called before the first
    request and again before its answer expires, by one thread at a time. An OSError or a `TemporaryError` is tried
    again; any other error ends the export with its message.
    """

    def __init__(self, options: Mapping[str, str]) -> None: ...
    def credentials(self) -> AwsCredentials: ...


#: What brokers without topic ids (Kafka below 2.8, some that only speak its protocol) say is every topic's id.
NO_TOPIC_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"


def topic_identity(topic_id: str, cluster_id: str) -> str:
    """What tells a topic from others of its name: its id; without one, no more is known than which cluster it is on."""
    return f"{NO_TOPIC_ID}@{cluster_id}" if topic_id == NO_TOPIC_ID else topic_id


@dataclass(frozen=True, slots=True)
class TopicView:
    """A topic as the broker describes it; partitions that are `leaderless` can be neither asked about nor read now.

    `topic_id`: its `topic_identity`.
    """

    name: str
    topic_id: str
    partitions: tuple[int, ...]
    leaderless: frozenset[int] = frozenset()

    @property
    def led(self) -> tuple[int, ...]:
        return tuple(p for p in self.partitions if p not in self.leaderless)


@dataclass(frozen=True, slots=True)
class PartitionOffsets:
    """Where a topic-partition begins and ends for a reader.

    `log_start <= last_stable <= high_watermark`. `last_stable` is the LSO under read_committed, and equals the
    high watermark under read_uncommitted. `leader_epoch`: the newest one of the log, where the broker says it.
    """

    log_start: int
    last_stable: int
    high_watermark: int
    leader_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class LogPoint:
    """A place in a partition's log: everything below `offset` was written under leader epochs up to `epoch`."""

    offset: int
    epoch: int


@dataclass(frozen=True, slots=True)
class TimedOffset:
    """The answer to "the first offset at or after time T": the offset and the timestamp found there."""

    offset: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class GroupOffsets:
    """A consumer group: its members now, and the next offset of each partition that it has committed one of.

    A group that does not exist has neither.
    """

    members: int
    offsets: Mapping[TopicPartition, int]


class Broker(Protocol):
    """A Kafka cluster, as planning sees it. Errors: `KafkaUnavailable`, `TopicMissing`, `ConfigurationError`."""

    def cluster_id(self) -> str: ...
    def topics(self) -> Mapping[str, TopicView]:
        """Every configured topic by name (`topics`, or all that match `topics.regex`); missing ones are left out."""

    def offsets(self, tps: Iterable[TopicPartition]) -> Mapping[TopicPartition, PartitionOffsets]: ...
    def offsets_for_time(
        self, tps: Iterable[TopicPartition], timestamp_ms: int
    ) -> Mapping[TopicPartition, TimedOffset | None]:
        """The first offset whose timestamp is at or after `timestamp_ms`; `None` where there is none."""

    def first_timestamp(self, tp: TopicPartition, start: int, end: int, *, uncommitted: bool = False) -> int | None:
        """The timestamp of the first visible record in `[start, end)`, -1 if it has none; `None` without a record.

        `uncommitted`: what a transaction holds back counts as visible.
        """

    def diverged(self, points: Mapping[TopicPartition, LogPoint]) -> Mapping[TopicPartition, int]:
        """The partitions whose log no longer is, below a point, what it was: where old and new log part (KIP-320)."""

    def committed(self, group: str, tps: Iterable[TopicPartition]) -> GroupOffsets:
        """What a consumer group (not ours: we join none) has committed; `ConfigurationError` without Describe on it."""

    def retention_ms(self, topics: Iterable[str]) -> Mapping[str, int | None]:
        """For how long a topic keeps a record; `None`: its age deletes none (no limit, or compaction alone).

        Left out: what is not there, and what this client may not ask about (DescribeConfigs on the topic).
        """

    def cleanup_policies(self, topics: Iterable[str]) -> Mapping[str, frozenset[str]]:
        """What Kafka does with a topic's old records: `delete`, `compact`, or both. Left out: as by `retention_ms`."""


class RangeReader(Protocol):
    """The visible records of one range, batch by batch, in offset order; close it with `close`."""

    def __iter__(self) -> Iterator[RecordBatch]:
        """Batches until the position reaches the end of the range.

        Raises `DataLoss` if the start is gone, `KafkaUnavailable` if the position stops below the end.
        """

    @property
    def leader_epoch(self) -> int | None:
        """The leader epoch of the last record delivered, or `None` if there was none."""

    def close(self) -> None: ...


class RecordSource(Protocol):
    """Opens readers; what a task needs of Kafka."""

    def open(self, offsets: OffsetRange) -> RangeReader: ...


#: A number, or Glue's id of a schema's version as text.
SchemaId = int | str


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """What a registry holds under an id: the schema as it was registered, of type AVRO, JSON or PROTOBUF.

    `references`: the schemas it refers to, and those they refer to, each before those that need it. `names`: what each
    of these is called where it is referred to: of PROTOBUF the path that imports it, of JSON the address; empty for
    AVRO, whose types say. `version`: where the id is that of a version. `status`: Glue's word for whether it may be
    used.
    """

    id: SchemaId
    text: str
    type: str = "AVRO"
    references: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    version: int | None = None
    status: str = "AVAILABLE"


class SchemaRegistry(Protocol):
    """A schema registry. Errors: `RegistryUnavailable` after the retries, `RegistryRefused` at once."""

    def schema(self, id: SchemaId) -> RegisteredSchema | None:
        """The schema of an id; `None` if the registry has none. An id is asked for once, whatever the answer."""

    def versions(self, subject: str) -> Mapping[SchemaId, int]:
        """The version of every schema id of a subject; empty if there is no such subject. Asked for once."""

    def known(self) -> KnownSchemas:
        """All that has been asked for, to be handed to a task."""


@dataclass(frozen=True, slots=True)
class Registries:
    """Where the schemas of values and of keys come from, where there are any."""

    values: SchemaRegistry | None = None
    keys: SchemaRegistry | None = None


@dataclass(frozen=True, slots=True)
class KnownSchemas:
    """What a driver asked a registry, so that its tasks need not."""

    schemas: Mapping[SchemaId, RegisteredSchema] = field(default_factory=dict)
    versions: Mapping[str, Mapping[SchemaId, int]] = field(default_factory=dict)


class DeadLetterSink(Protocol):
    """Where dead letters are produced to. Errors: `KafkaUnavailable`, `TopicMissing`, `ConfigurationError`."""

    def send(self, letters: Iterable[DeadLetter]) -> None:
        """Produce the letters in their order; back once every one is safe. Some may be after an error, too."""

    def close(self) -> None: ...
