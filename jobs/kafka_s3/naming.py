"""Every key in the bucket: `format` and `parse` are inverse.

Data keys are the Connect S3 sink's (reference: its TopicPartitionWriter's file names):
`<topics.dir>/<topic>/<encoded partition>/<topic>+<kafka partition>+<start offset><suffixes><extension>`.
The start offset is that of the first record in the object. Where a transform gave records another topic, the folder is
that topic's, and the file's name stays that of the topic they were read from: two topics never meet in one name.
Suffixes are ours and appear only when needed: `+g<n>` for generation n > 0, then `+<k>` when the name was taken by
other bytes.

Keys of Block-GZIP are those of the connector that the format comes from, with our suffixes:
`<s3.prefix>/<yyyy-mm-dd>/<topic>-<kafka partition, 5 digits>-<start offset, 12 digits><suffixes><extension>`.

The log lies under `<log dir>/<connector>/`, each of its folders divided by epochs: whoever begins a log anew has one of
its own. `<seq>` is inverted, so that the newest entry is the first key.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from kafka_s3.file_template import FileTemplate, filled, pattern, times_of

#: Names beyond an object's own that are tried, as many as the sink probes.
COLLISIONS_MAX = 100
SEQ_DIGITS = 19
#: The last part of the key of a marker, which is no data object.
MARKER_NAME = "_COMPLETE.json"
_FOLDER = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)
_SEQ_TOP = 10**SEQ_DIGITS - 1
#: More entries than a log can come to have; a key beyond it is nobody's. So the next number can always be written.
SEQ_MAX = 10**18
# Keys of Block-GZIP of all topics lie together: no end of a key of the topic "a-00000-000000000000.b" may be one.
_BLOCK_EXTENSION = r"(?:\.[a-z]+)*"


class Naming(enum.Enum):
    """What data objects are called: as Connect's sink does, or as the older Block-GZIP connector did."""

    CONNECT = "CONNECT"
    BLOCK_GZIP = "BLOCK_GZIP"


@dataclass(frozen=True, slots=True)
class KeyLayout:
    """The parts of a data key that the configuration sets, the same for every object of a connector.

    Under Block-GZIP's naming `topics_dir` is its prefix, and all topics lie together; the rest means nothing.
    """

    topics_dir: str = "topics"
    directory_delim: str = "/"
    file_delim: str = "+"
    offset_pad_width: int = 10
    naming: Naming = Naming.CONNECT
    file_template: FileTemplate = ()  # of the last part of a key; unset, it is the sink's
    routed: bool = False  # transforms may give records another topic, whose folder they then lie in
    topic_folder: bool = True  # export.topic.folder
    folders: str = ""  # without that folder, what the folders of a key look like, as a regular expression

    @property
    def is_shared(self) -> bool:
        """Whether keys of other topics may lie among those of a topic."""
        return self.routed or not self.topic_folder

    def listed_prefix(self, topic: str) -> str:
        """The prefix under which all objects of a topic's records are found, whichever folders they lie in."""
        return f"{self.topics_dir}{self.directory_delim}" if self.routed else self.topic_prefix(topic)

    def topic_prefix(self, topic: str) -> str:
        """The prefix that every data key of a topic begins with; a blank `topics.dir` is left out."""
        if self.naming is Naming.BLOCK_GZIP:
            return _block_prefix(self.topics_dir)
        folders = [part for part in (self.topics_dir, topic if self.topic_folder else "") if part]
        return self.directory_delim.join([*folders, ""])


@dataclass(frozen=True, slots=True)
class DataName:
    """What a data key says: which records of which topic-partition, from which offset on.

    `encoded_partition`: what the partitioner makes. Where names have times, its last parts are these, not folders.
    `folder`: the topic that a transform gave the records, where it is another.
    """

    topic: str
    encoded_partition: str
    partition: int
    start_offset: int
    extension: str
    generation: int = 0
    collision: int = 0
    folder: str | None = None

    def next_free(self) -> DataName:
        """The name to try when this one is taken by other bytes."""
        return replace(self, collision=self.collision + 1)


def leads_out(path: str, directory_delim: str) -> bool:
    """Whether a path has a part that tools which make files of keys would climb by.

    These split keys at `/`, and on Windows at a backslash, whatever the configuration calls a delimiter.

    >>> leads_out("a/../b", "/"), leads_out("a..b/.c", "/"), leads_out("a-b/../c", "-"), leads_out("a\\\\..", "/")
    (True, False, True, True)
    """
    parts = path.split(directory_delim)
    if "/" in path or "\\" in path:
        parts += re.split(r"[/\\]", path)
        if directory_delim not in "/\\":
            parts += re.split(rf"[/\\]|{re.escape(directory_delim)}", path)
    return not {".", ".."}.isdisjoint(parts)


def format_data_key(layout: KeyLayout, name: DataName) -> str:
    """
    >>> format_data_key(KeyLayout(), DataName("orders", "partition=3", 3, 42, ".json.gz"))
    'topics/orders/partition=3/orders+3+0000000042.json.gz'
    """
    if layout.naming is Naming.BLOCK_GZIP:
        return format_block_key(layout.topics_dir, name)
    f = layout.file_delim
    file = f"{name.topic}{f}{name.partition}{f}{name.start_offset:0{layout.offset_pad_width or 1}d}"
    folders = name.encoded_partition
    if layout.file_template:
        folders, times = _without_times(layout, folders)
        parts = layout.file_template
        file = "".join(filled(part, name.topic, name.partition, name.start_offset, times) for part in parts)
    if name.generation:
        file += f"{f}g{name.generation}"
    if name.collision:
        file += f"{f}{name.collision}"
    middle = f"{folders}{layout.directory_delim}" if folders else ""
    return f"{layout.topic_prefix(name.folder or name.topic)}{middle}{file}{name.extension}"


def _without_times(layout: KeyLayout, encoded_partition: str) -> tuple[str, Iterator[str]]:
    """The folders of an encoded partition, and the times that stand in the name."""
    count = len(times_of(layout.file_template))
    parts = encoded_partition.split(layout.directory_delim)
    assert len(parts) >= count, f"{encoded_partition!r} lacks the times of names"
    at = len(parts) - count
    return layout.directory_delim.join(parts[:at]), iter(parts[at:])


def parse_data_key(layout: KeyLayout, topic: str, key: str) -> DataName | None:
    """The name behind a key of `topic`, or `None` if it is no data key of this layout."""
    if layout.naming is Naming.BLOCK_GZIP:
        return parse_block_key(layout.topics_dir, topic, key)
    prefix, folder = layout.topic_prefix(topic), None
    if not key.startswith(prefix):
        found = _FOLDER.match(key[len(layout.listed_prefix(topic)) :]) if layout.routed else None
        if found is None or not key.startswith(prefix := layout.topic_prefix(found[0])):
            return None
        folder = found[0]
    d, f = re.escape(layout.directory_delim), re.escape(layout.file_delim)
    # The extension starts at the first dot: Kafka's partition, offset and the suffixes hold none. A topic may hold
    # the delimiter of directories ("-", say), so the key is not split at it.
    file = rf"{re.escape(topic)}{f}(?P<partition>\d+){f}(?P<offset>\d+)"
    if layout.file_template:
        file = "".join(pattern(part, topic, number) for number, part in enumerate(layout.file_template))
    path = rf"(?:(?P<path>.+){d})?"
    if not layout.topic_folder:  # among keys of others, only folders that the configuration makes are ours
        path = rf"(?P<path>{layout.folders}){d}" if layout.folders else "(?P<path>)"
    shape = rf"{path}{file}(?:{f}g(?P<g>[1-9]\d*))?(?:{f}(?P<k>[1-9]\d*))?(?P<extension>\..*)?"
    match = re.fullmatch(shape, key[len(prefix) :], re.ASCII | re.DOTALL)
    if match is None:
        return None
    said = match.groupdict(default="")
    partition, offset = int(said["partition"]), int(said["offset"])
    suffixes = int(said["g"] or 0), int(said["k"] or 0)
    times = [text for group, text in said.items() if group.startswith("t")]
    path = layout.directory_delim.join([*([said["path"]] if said["path"] else []), *times])
    name = DataName(topic, path, partition, offset, said["extension"], *suffixes, folder)
    # Only what `format` would write is ours: this refuses other paddings and leading zeros.
    return name if format_data_key(layout, name) == key else None


def marker_key(layout: KeyLayout, topic: str, encoded_partition: str) -> str:
    """Where it stands that a time partition is complete. The leading _ hides it from Hive, Spark and Athena.

    >>> marker_key(KeyLayout(), "orders", "year=2026/month=11")
    'topics/orders/year=2026/month=11/_COMPLETE.json'
    """
    return f"{layout.topic_prefix(topic)}{encoded_partition}{layout.directory_delim}{MARKER_NAME}"


def block_partition(at_ms: int) -> str:
    """The path part of keys of Block-GZIP: the UTC date of a logical time.

    >>> block_partition(1_456_300_800_000)
    '2016-02-24'
    """
    return datetime.fromtimestamp(at_ms // 1000, UTC).date().isoformat()


def format_block_key(prefix: str, name: DataName) -> str:
    """
    >>> format_block_key("systest", DataName("system-test", "2016-02-24", 0, 100, ".gz"))
    'systest/2016-02-24/system-test-00000-000000000100.gz'
    """
    assert _is_date(name.encoded_partition), f"{name.encoded_partition!r} is not a date"
    assert re.fullmatch(_BLOCK_EXTENSION, name.extension), f"{name.extension!r} could be a part of a topic"
    file = f"{name.topic}-{name.partition:05d}-{name.start_offset:012d}"
    if name.generation:
        file += f"+g{name.generation}"
    if name.collision:
        file += f"+{name.collision}"
    return f"{_block_prefix(prefix)}{name.encoded_partition}/{file}{name.extension}"


def parse_block_key(prefix: str, topic: str, key: str) -> DataName | None:
    """The name behind a key of `topic`, or `None` if it is not a key of Block-GZIP with this prefix."""
    before = _block_prefix(prefix)
    # A topic may hold the delimiter and digits; partition and offset are the last two parts. It holds no "+".
    partition_offset, suffixes = r"-(\d{5,10})-(\d{12,19})", r"(?:\+g([1-9]\d{0,9}))?(?:\+([1-9]\d{0,9}))?"
    shape = rf"(\d\d\d\d-\d\d-\d\d)/{re.escape(topic)}{partition_offset}{suffixes}({_BLOCK_EXTENSION})"
    match = re.fullmatch(shape, key[len(before) :], re.ASCII) if key.startswith(before) else None
    if match is None or not _is_date(match[1]):
        return None
    day, partition, offset, generation, collision, extension = match.groups(default="")
    name = DataName(topic, day, int(partition), int(offset), extension, int(generation or 0), int(collision or 0))
    return name if format_block_key(prefix, name) == key else None


def _block_prefix(prefix: str) -> str:
    return f"{prefix}/" if prefix and not prefix.endswith("/") else prefix


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class LogLayout:
    """Where the log of one connector lies: `<root>/<connector>/<folder>/<epoch>/`.

    `epoch`: the id that whoever began the log has claimed (docs/protocol.md#epochs). A log without one lies in the
    folders themselves: an earlier release began it, or it is that of a window that was exported again.
    """

    root: str
    connector: str
    epoch: str = ""

    @property
    def home(self) -> str:
        """All that is kept of the connector, whatever the epoch."""
        return f"{self.root}/{self.connector}/"

    @property
    def name(self) -> str:
        """What owner objects call the log, whatever the epoch."""
        return f"{self.home}log/"

    def folder(self, what: str) -> str:
        """
        >>> LogLayout("_kafka_s3", "orders", "e0-00c0ffee00c0ffee").folder("log")
        '_kafka_s3/orders/log/e0-00c0ffee00c0ffee/'
        """
        return f"{self.home}{what}/{self.epoch}/" if self.epoch else f"{self.home}{what}/"

    @property
    def plan_prefix(self) -> str:
        return self.folder("plan")

    @property
    def log_prefix(self) -> str:
        return self.folder("log")

    @property
    def announced_prefix(self) -> str:
        return self.folder("announced")

    @property
    def complete_prefix(self) -> str:
        return self.folder("complete")

    @property
    def epoch_prefix(self) -> str:
        return f"{self.home}epoch/"

    def epoch_key(self, number: int) -> str:
        """Where it is claimed which log is the connector's: the highest number counts."""
        return f"{self.epoch_prefix}{invert_seq(number)}.json"

    def plan_key(self, seq: int) -> str:
        return f"{self.plan_prefix}{invert_seq(seq)}.json"

    def log_key(self, seq: int) -> str:
        """
        >>> LogLayout("_kafka_s3", "orders").log_key(0)
        '_kafka_s3/orders/log/9999999999999999999.json'
        """
        return f"{self.log_prefix}{invert_seq(seq)}.json"

    def announced_key(self, seq: int) -> str:
        return f"{self.announced_prefix}{invert_seq(seq)}"

    def complete_key(self, number: int) -> str:
        """How far the completeness of time partitions was told; numbered from 0, like entries."""
        return f"{self.complete_prefix}{invert_seq(number)}.json"

    def owner_key(self, topics_dir: str, topic: str) -> str:
        """Who owns the data keys of a topic. It does not name the connector: that is what two of them contend for."""
        return "/".join(part for part in (self.root, "owners", topics_dir, f"{topic}.json") if part)


def format_epoch(number: int, chance: str) -> str:
    """The id of an epoch: its number, and 16 hexadecimal digits that nobody else has. It sorts behind every `<seq>`.

    >>> format_epoch(1, "00c0ffee00c0ffee")
    'e1-00c0ffee00c0ffee'
    """
    epoch = f"e{number}-{chance}"
    assert is_epoch(epoch), f"{chance!r} are not 16 hexadecimal digits"
    return epoch


def is_epoch(text: str) -> bool:
    return re.fullmatch(r"e\d{1,19}-[0-9a-f]{16}", text, re.ASCII) is not None


def parse_log_key(layout: LogLayout, key: str) -> tuple[LogLayout, int] | None:
    """The log of this connector that a key is of, in whatever epoch, and the number of the entry; `None` if of none."""
    epoch, _, name = key.removeprefix(layout.name).rpartition("/")
    seq = parse_seq(f"/{name}")
    of = replace(layout, epoch=epoch)
    return (of, seq) if seq is not None and (not epoch or is_epoch(epoch)) and of.log_key(seq) == key else None


def invert_seq(seq: int) -> str:
    """A sequence number as it stands in a key: later numbers sort first.

    >>> invert_seq(0), invert_seq(10)
    ('9999999999999999999', '9999999999999999989')
    """
    assert 0 <= seq <= _SEQ_TOP
    return f"{_SEQ_TOP - seq:0{SEQ_DIGITS}d}"


def parse_seq(key: str) -> int | None:
    """The sequence number of a plan, log, announcement, completeness or epoch key, or `None` if it is none."""
    match = re.search(rf"/(\d{{{SEQ_DIGITS}}})(?:\.json)?\Z", key, re.ASCII)
    seq = _SEQ_TOP - int(match.group(1)) if match else None
    return seq if seq is not None and seq <= SEQ_MAX else None
