"""Up to where the time partitions of each topic have their markers of completeness: read before any is written to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from kafka_s3.errors import LogDamaged
from kafka_s3.log.store import Log
from kafka_s3.naming import parse_seq
from kafka_s3.settings.model import Settings
from kafka_s3.settings.paths import RecordTime, TimePartitioner

FORMAT_VERSION: Final = 1


class MarkerProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Up to where a topic has its markers: the next one is for the path of this time."""

    format_version: int = FORMAT_VERSION
    through: dict[str, int]


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
            f"{key} does not say how far the completeness is: {error}.",
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
            raise LogDamaged(f"{info.key} is no key of the completeness.", next="Remove what does not belong there.")
        return number + 1, read(_REACHED, info.key, log.get(info.key))
    return 0, MarkerProgress(through={})


def is_by_record(settings: Settings) -> bool:
    return isinstance(settings.partitioner, TimePartitioner) and isinstance(settings.partitioner.extractor, RecordTime)


def marked_until(settings: Settings, log: Log) -> Mapping[str, int]:
    """By topic, the logical time from which on a run may write to its paths: those before have their markers.

    Empty where no path is a run's: a record that comes late is written to the path of its own time, marked or not.
    """
    if settings.completeness is None or is_by_record(settings):
        return {}
    return how_far(log)[1].through


# Made on import: documents are read by several threads.
_REACHED: Final = msgspec.json.Decoder(MarkerProgress)
_VERSION: Final = msgspec.json.Decoder(Versioned)
