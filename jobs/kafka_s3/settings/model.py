"""A connector's configuration once it is parsed: frozen values, passed explicitly, chosen from closed types."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_s3.naming import KeyLayout
from kafka_s3.settings.content import FormatSettings, Own
from kafka_s3.signing import NO_KEY, LogKey

OPEN_OBJECTS_MAX: Final = 300  # where partitioner.max.open.files is not set: each holds a compressor of 0.3 MiB
BUILT_IN_TAGS: Final = ("startOffset", "endOffset", "recordCount")  # s3.object.tagging, as the sink writes them
MIN_PART_SIZE: Final = 5 * 1024 * 1024  # S3's own minimum for every part but the last


@dataclass(frozen=True, slots=True)
class DefaultPartitioner:
    """`partition=<kafka partition>`."""


@dataclass(frozen=True, slots=True)
class FieldPartitioner:
    """`name=value` for each field of the value; nested ones as `a.b`."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunTime:
    """Extractor Wallclock: the run's logical time."""


@dataclass(frozen=True, slots=True)
class RecordTime:
    """Extractor Record: Kafka's timestamp."""


@dataclass(frozen=True, slots=True)
class FieldTime:
    """Extractor RecordField: a field of the value."""

    name: str


Extractor = RunTime | RecordTime | FieldTime | Own


@dataclass(frozen=True, slots=True)
class TimePartitioner:
    """The start of a record's bucket of time, as a Joda pattern: TimeBased, Daily and Hourly."""

    duration_ms: int
    path_format: str
    timezone: str
    locale: str
    extractor: Extractor


Partitioner = DefaultPartitioner | FieldPartitioner | TimePartitioner | Own


class SchemaAffix(enum.Enum):
    """`s3.schema.partition.affix.type`: where `schema_name=…` stands in the path."""

    NONE = "NONE"
    PREFIX = "PREFIX"
    SUFFIX = "SUFFIX"


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds. A task holds at most about `part_size_bytes` of encoded bytes for each open object.

    `flush_size`: records per object (`flush.size`).
    `part_size_bytes`: an object below it is one PUT (`s3.part.size`).
    `tasks_max`: Spark tasks at once (`tasks.max`).
    `range_records_max`: offsets one task reads (`export.range.records.max`); a range is cut at multiples of flush.size.
    `batch_records_max`, `batch_bytes_max`: what one commit covers (`export.batch.records.max`, `.bytes.max`).
    `catchup_batches_max`: missed schedule boundaries that get a batch of their own (`export.catchup.batches.max`).
    `open_objects_max`: paths that are open at once (`partitioner.max.open.files`).
    `object_bytes_max`: bytes of records per object, before compression (`export.object.bytes.max`).
    `rotate_interval_ms`: record time per object, of time-based partitioners (`rotate.interval.ms`).
    """

    flush_size: int
    part_size_bytes: int
    tasks_max: int
    range_records_max: int
    batch_records_max: int
    batch_bytes_max: int
    catchup_batches_max: int
    open_objects_max: int = OPEN_OBJECTS_MAX
    object_bytes_max: int | None = None
    rotate_interval_ms: int | None = None


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """Full jitter: before retry n uniform in [0, min(24 h, backoff_ms * 2^(n-1))]."""

    retries: int  # s3.part.retries: after the first try; 0 is allowed
    backoff_ms: int  # s3.retry.backoff.ms


class Chain(enum.Enum):
    """`s3.credentials.provider.class`: the machine's own credentials, wherever they are found or from one place."""

    DEFAULT = "the AWS default chain (environment, profile, role)"
    ENVIRONMENT = "the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)"
    PROFILE = "the profile (AWS_PROFILE, ~/.aws/config and credentials)"
    CONTAINER = "the container (ECS task role, EKS pod identity)"
    INSTANCE = "the EC2 instance's profile"
    CONTAINER_OR_INSTANCE = "the container or the EC2 instance's profile"
    WEB_IDENTITY = "the web identity (AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN)"


@dataclass(frozen=True, slots=True)
class Anonymous:
    """Requests are not signed."""


@dataclass(frozen=True, slots=True)
class AssumeRole:
    """A role that the configured keys, or else the default chain, may assume; asked for anew before it expires."""

    arn: str
    session_name: str
    external_id: str | None = field(default=None, repr=False)
    region: str | None = None  # of STS; unless set, the bucket's


@dataclass(frozen=True, slots=True)
class OwnProvider:
    """A class of the user's own, as `module:Class`, and what it is made with: a `ports.CredentialsProvider`."""

    path: str
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def secrets(self) -> Iterator[str]:
        """Any option may be one; what is too short to be is left readable."""
        yield from (value for _, value in self.options if len(value) > 3)


Credentials = Chain | Anonymous | AssumeRole | OwnProvider


@dataclass(frozen=True, slots=True)
class Tagging:
    """`s3.object.tagging`: offsets and count as tags of every data object; `extra` wins over them.

    `required`: an object that cannot be tagged fails its range (`s3.object.behavior.on.tagging.error=fail`).
    """

    extra: tuple[tuple[str, str], ...] = ()
    required: bool = False


@dataclass(frozen=True, slots=True)
class S3Settings:
    """How to reach the bucket. Secrets print as [hidden].

    `access_key_id`, `secret_access_key`: used before `credentials`, except by a role and by a class of the user's
    own, which are given them.
    """

    bucket: str
    region: str
    endpoint_url: str | None = None  # store.url
    path_style: bool = True
    access_key_id: str | None = field(default=None, repr=False)
    secret_access_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    put_arguments: Mapping[str, str] = field(default_factory=dict, repr=False)  # boto3: ACL, ServerSideEncryption, …
    proxy_url: str | None = field(default=None, repr=False)
    expect_continue: bool = True
    retry: RetrySettings = RetrySettings(3, 200)
    credentials: Credentials = Chain.DEFAULT
    accelerate: bool = False  # s3.wan.mode
    send_digest: bool = False  # s3.send.digest: Content-MD5 with every body
    tagging: Tagging | None = None


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """How to reach Kafka: librdkafka's own properties, secrets among them."""

    client: Mapping[str, str] = field(repr=False)
    isolation_level: str = "read_committed"
    start: str = "earliest"  # auto.offset.reset at the first sight of a topic: earliest or latest
    idle_timeout_ms: int = 60_000  # no progress for so long fails a range (export.read.timeout.ms)
    refused: tuple[str, ...] = ()  # why a process that only looks at connectors may not ask this Kafka


@dataclass(frozen=True, slots=True)
class ScheduleSettings:
    """When runs are due, in `timezone`: by an interval aligned to local midnight, or by a cron expression.

    `interval_ms`: `rotate.schedule.interval.ms`; unset means hourly.
    `cron`: `export.schedule`, which takes the interval's place.
    `timed`: false where runs begin by hand or by assets alone, so that there are no boundaries.
    """

    interval_ms: int = 3_600_000
    timezone: str = "UTC"
    cron: str | None = None
    timed: bool = True


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """What becomes of bad records beside their object in the bucket (`errors.tolerance=all` only).

    `topic`: they are produced there too, with Connect's headers where `headers` says so; `replication` if it has to
    be created. `fraction_max`: more bad records among those of a range than this stop it. `fraction_attention`: with
    more among a topic's records in a commit, the commit stands and the connector needs attention.
    """

    topic: str | None = None
    replication: int = 3
    headers: bool = False
    fraction_max: float = 1.0
    fraction_attention: float = 0.5
    log: bool = False  # errors.log.enable
    include_messages: bool = False  # errors.log.include.messages: a reason quotes what it refuses


@dataclass(frozen=True, slots=True)
class Policies:
    """What the user allows where Kafka is not as the log left it (`export.on.data.loss`, `.on.topic.recreated`)."""

    record_data_loss: bool = False
    restart_recreated: bool = False

    @property
    def any(self) -> bool:
        return self.record_data_loss or self.restart_recreated


@dataclass(frozen=True, slots=True)
class Completeness:
    """`export.completeness.marker.enable`: time partitions are marked, so long after their end."""

    lateness_ms: int = 0


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything one connector's run needs, and nothing that a plan may not show outside `s3`, `kafka` and `log_key`.

    `resolved`: every property that has a meaning here with its effective value as text, secrets left out (not
    hidden: absent), sorted by name. It is what plans show; `configuration_sha256` covers those that shape bytes.
    `notes_timestamps`: the log says how old the records of ranges and objects are (`export.timestamps.enable`, or
    because timestamps are looked at anyway). `reexport_dir`: where windows that are exported again lie. `log_key`: what
    signs the log (`export.log.key`); tasks have none.
    `hidden`: what variables stood for, which nobody is shown.
    """

    name: str
    topics: tuple[str, ...]
    topics_regex: str | None
    tolerate_bad_records: bool  # errors.tolerance=all
    format: FormatSettings
    partitioner: Partitioner
    limits: Limits
    layout: KeyLayout
    log_root: str
    s3: S3Settings
    kafka: KafkaSettings
    schedule: ScheduleSettings
    resolved: Mapping[str, str] = field(repr=False)
    configuration_sha256: str = ""
    schema_affix: SchemaAffix = SchemaAffix.NONE
    dead_letters: DeadLetters = DeadLetters()
    policies: Policies = Policies()
    notes_timestamps: bool = False
    reexport_dir: str = "reexport"
    completeness: Completeness | None = None
    log_key: LogKey = field(default=NO_KEY, repr=False)
    hidden: frozenset[str] = field(default=frozenset(), repr=False)

    def exports(self, topic: str) -> bool:
        """Whether the connector asks for a topic; one that it no longer asks for keeps its positions in the log."""
        if self.topics_regex is not None:
            return re.fullmatch(self.topics_regex, topic) is not None
        return topic in self.topics
