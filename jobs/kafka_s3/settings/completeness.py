"""Markers of complete time partitions: which connectors can write them, and why the others cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kafka_s3 import user_defined
from kafka_s3.joda import JodaError
from kafka_s3.joda.buckets import Bucketer
from kafka_s3.joda.zones import zone
from kafka_s3.settings import paths
from kafka_s3.settings.paths import time_buckets
from kafka_s3.settings.properties import AppliesWhen, Kind, Property
from kafka_s3.settings.template_rules import TEMPLATE_PARTITIONER
from kafka_s3.settings.validation import ParsedConfig

ENABLE: Final = "export.completeness.marker.enable"
LATENESS: Final = "export.completeness.lateness.ms"
_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
#: Times at which a path is looked at, after a Wednesday in January and after the first day of a year.
_SAMPLES: Final = (
    (1_704_848_400_000, (1, 60_000, _HOUR_MS, 12 * _HOUR_MS, *(days * _DAY_MS for days in (1, 7, 31, 366, 3653)))),
    (1_704_110_400_000, (180 * _DAY_MS, 364 * _DAY_MS)),
)


@dataclass(frozen=True, slots=True)
class Completeness:
    """`export.completeness.marker.enable`: time partitions are marked, so long after their end."""

    lateness_ms: int = 0


PROPERTIES: Final[tuple[Property, ...]] = (
    Property(
        "export.completeness.marker.enable",
        Kind.BOOLEAN,
        False,
        "Write `_COMPLETE.json` beside the objects of a time partition once everything that arrived in time is"
        " exported.",
    ),
    Property(
        "export.completeness.lateness.ms",
        Kind.LONG,
        0,
        "How long a time partition waits for late records after its end.",
        minimum=0,
        maximum=10 * 366 * 86_400_000,
        applies_when=AppliesWhen("export.completeness.marker.enable", (True,)),
    ),
)


def apply_completeness_rules(config: ParsedConfig) -> None:
    """Refuse markers where a path is never known to be complete."""
    if not config.sure(ENABLE) or not config.flag(ENABLE) or not config.sure("partitioner.class"):
        return
    partitioner = config.text("partitioner.class")
    if partitioner not in paths.TIME_BASED:
        short = partitioner if user_defined.is_path(partitioner) else partitioner.rpartition(".")[2]
        what = "do not follow from the time alone" if partitioner == TEMPLATE_PARTITIONER else "have no time"
        message = f"paths of {short} {what}: use TimeBasedPartitioner, DailyPartitioner or HourlyPartitioner"
        config.add_problem(ENABLE, message)
        return
    if config.sure("timestamp.extractor") and config.text("timestamp.extractor") not in ("Record", "Wallclock"):
        message = "times in values have no order that Kafka knows: use timestamp.extractor=Record or Wallclock"
        config.add_problem(ENABLE, message)
    if config.sure("s3.schema.partition.affix.type") and config.text("s3.schema.partition.affix.type") != "NONE":
        message = (
            "every schema has its own path, so a time is never known to be complete: use"
            " s3.schema.partition.affix.type=NONE"
        )
        config.add_problem(ENABLE, message)
    if config.sure("partition.duration.ms", "path.format", "directory.delim", "timezone", "locale"):
        _look_at_paths(config)


def _look_at_paths(config: ParsedConfig) -> None:
    try:
        duration_ms, pattern = time_buckets(config)
        bucketer = Bucketer(duration_ms, pattern, zone(config.text("timezone")), config.text("locale").strip())
        series = [[bucketer.path(at_ms + later) for later in (0, *steps)] for at_ms, steps in _SAMPLES]
    except JodaError:
        return  # said of the pattern, the zone or the duration already
    if series[0][0] == series[0][-1] and len(set(series[0])) == 1:
        config.add_problem(ENABLE, "paths never change, so none is ever complete: add at least the year to path.format")
        return
    for trail in series:
        changed = next((index for index, path in enumerate(trail) if path != trail[0]), len(trail))
        if trail[0] in trail[changed:]:
            message = (
                f"the path {trail[0]!r} comes again at a later time and would be marked too early: add to"
                f" path.format what tells the times apart (the year, both halves of the day, xxxx for the year of a"
                f" week)"
            )
            config.add_problem(ENABLE, message)
            return


def build_completeness(config: ParsedConfig) -> Completeness | None:
    return Completeness(config.number(LATENESS)) if config.flag(ENABLE) else None
