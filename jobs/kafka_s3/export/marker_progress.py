"""Up to where the time partitions of each topic have their markers of completeness: read before any is written to.

Markers and plans are kept apart by two writes and two looks, in either order (`why_marked`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from kafka_s3.errors import LogDamaged
from kafka_s3.log.entries import Plan
from kafka_s3.log.store import Log
from kafka_s3.naming import parse_seq
from kafka_s3.plan.batch import interval_of
from kafka_s3.settings.model import Settings
from kafka_s3.settings.paths import RecordTime, TimePartitioner

FORMAT_VERSION: Final = 1


class MarkerProgress(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Up to where a topic has its markers: the next one is for the path of this time.

    `claimed`: up to where it may have some, since a program is about to write them, or was.
    """

    format_version: int
    through: dict[str, int]
    claimed: dict[str, int] = {}

    @property
    def until(self) -> dict[str, int]:
        """The logical time from which on a run may write to a topic's paths."""
        return joined(self.through, self.claimed)


class Versioned(msgspec.Struct, frozen=True, kw_only=True):
    """What every such document says."""

    format_version: int


Document = TypeVar("Document", bound=msgspec.Struct)


def read(decoder: msgspec.json.Decoder[Document], key: str, data: bytes | None) -> Document:
    """A document of the markers; `LogDamaged` if it is none, or a newer exporter's."""
    try:
        document = decoder.decode(data or b"")
        version = _VERSION.decode(data or b"").format_version
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LogDamaged(
            f"{key} does not say up to when hours are complete: {error}.",
            next="Something else wrote it: restore it from the bucket's versions, or delete it.",
        ) from None
    if version > FORMAT_VERSION:
        raise LogDamaged(
            f"{key} has format version {version}, this exporter knows up to {FORMAT_VERSION}.",
            next="A newer exporter wrote it: upgrade this one.",
        )
    return document


def how_far(log: Log) -> tuple[int, MarkerProgress]:
    """How far the markers are, and the number under which to write that next."""
    for info in log.store.list(log.layout.complete_prefix, limit=1):
        number = parse_seq(info.key)
        if number is None:
            raise LogDamaged(
                f"{info.key} is not the key of a completeness mark.", next="Remove what does not belong there."
            )
        return number + 1, read(_REACHED, info.key, log.get(info.key))
    return 0, MarkerProgress(format_version=FORMAT_VERSION, through={})


def joined(these: Mapping[str, int], those: Mapping[str, int]) -> dict[str, int]:
    """The later time of each topic."""
    return {topic: max(each.get(topic, 0) for each in (these, those)) for topic in {**these, **those}}


def is_by_record(settings: Settings) -> bool:
    return isinstance(settings.partitioner, TimePartitioner) and isinstance(settings.partitioner.extractor, RecordTime)


def marked_until(settings: Settings, log: Log) -> Mapping[str, int]:
    """By topic, the logical time from which on a run may write to its paths: those before have their markers.

    Empty where no path is a run's: a record that comes late is written to the path of its own time, marked or not.
    """
    if settings.completeness is None or is_by_record(settings):
        return {}
    return how_far(log)[1].until


def why_marked(settings: Settings, log: Log, plan: Plan, before: Mapping[str, int]) -> str | None:
    """Why a plan that is in the bucket is not executed: a path that it writes to has its marker, or is to have one, and
    had not when it was planned (`before`).

    Who writes markers claims their paths, and then looks for a plan once more; who plans looks here for claims once the
    plan is there. Of two that do so at the same moment at least one sees the other.
    """
    for topic, until_ms in marked_until(settings, log).items():
        ranges = (each for each in plan.ranges if each.topic == topic)
        times = [each.start_ms for one in ranges if (each := interval_of(one.interval, plan.interval)) is not None]
        if until_ms > before.get(topic, 0) and min(times, default=until_ms) < until_ms:
            return f"a path of topic {topic} that it was to write to is complete since"
    return None


# Made on import: documents are read by several threads.
_REACHED: Final = msgspec.json.Decoder(MarkerProgress)
_VERSION: Final = msgspec.json.Decoder(Versioned)
