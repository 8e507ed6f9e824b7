"""Which connectors can say that a time partition is complete, and why the others cannot."""

from __future__ import annotations

from typing import Final

from kafka_s3 import custom
from kafka_s3.joda import JodaError
from kafka_s3.joda.buckets import Bucketer
from kafka_s3.joda.zones import zone
from kafka_s3.settings import storage
from kafka_s3.settings.build import time_buckets
from kafka_s3.settings.check import Checked

ENABLE: Final = "export.completeness.marker.enable"
LATENESS: Final = "export.completeness.lateness.ms"

_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
#: Times at which a path is looked at, after a Wednesday in January and after the first day of a year.
_SAMPLES: Final = (
    (1_704_848_400_000, (1, 60_000, _HOUR_MS, 12 * _HOUR_MS, *(days * _DAY_MS for days in (1, 7, 31, 366, 3653)))),
    (1_704_110_400_000, (180 * _DAY_MS, 364 * _DAY_MS)),
)


def apply_completeness_rules(checked: Checked) -> None:
    """Refuse markers where a path is never known to be complete."""
    if not checked.sure(ENABLE) or not checked.flag(ENABLE) or not checked.sure("partitioner.class"):
        return
    partitioner = checked.text("partitioner.class")
    if partitioner not in storage.TIME_BASED:
        short = partitioner if custom.is_path(partitioner) else partitioner.rpartition(".")[2]
        message = f"the paths of {short} are of no time: use TimeBasedPartitioner, Daily- or HourlyPartitioner"
        checked.complain(ENABLE, message)
        return
    if checked.sure("timestamp.extractor") and checked.text("timestamp.extractor") not in ("Record", "Wallclock"):
        message = "Kafka knows no order of the times in values: use timestamp.extractor=Record or Wallclock"
        checked.complain(ENABLE, message)
    if checked.sure("s3.schema.partition.affix.type") and checked.text("s3.schema.partition.affix.type") != "NONE":
        message = "a time has a path for each schema, whatever schemas come: use s3.schema.partition.affix.type=NONE"
        checked.complain(ENABLE, message)
    if checked.sure("partition.duration.ms", "path.format", "directory.delim", "timezone", "locale"):
        _look_at_paths(checked)


def _look_at_paths(checked: Checked) -> None:
    try:
        duration_ms, pattern = time_buckets(checked)
        bucketer = Bucketer(duration_ms, pattern, zone(checked.text("timezone")), checked.text("locale").strip())
        series = [[bucketer.path(at_ms + later) for later in (0, *steps)] for at_ms, steps in _SAMPLES]
    except JodaError:
        return  # said of the pattern, the zone or the duration already
    if series[0][0] == series[0][-1] and len(set(series[0])) == 1:
        checked.complain(ENABLE, "its paths never change, so none is ever complete: path.format needs a year at least")
        return
    for paths in series:
        changed = next((index for index, path in enumerate(paths) if path != paths[0]), len(paths))
        if paths[0] in paths[changed:]:
            message = (
                f"the path {paths[0]!r} comes again at a later time, and would be marked too early: path.format needs"
                " what tells the times apart (the year, both halves of the day, xxxx for the year of a week)"
            )
            checked.complain(ENABLE, message)
            return
