"""What was committed, as metrics of Airflow's own: by StatsD, Datadog or OpenTelemetry, as `[metrics]` says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from airflow.sdk.configuration import conf
from airflow.sdk.observability import stats

if TYPE_CHECKING:
    from kafka_s3.log.entries import Entry
    from kafka_s3.log.store import Log

_BACKENDS: Final = ("statsd_on", "statsd_datadog_enabled", "otel_on")


def count(log: Log, seqs: Iterable[int]) -> None:
    """Count what some entries commit, each told once. Reads them again; nothing at all where metrics are off."""
    if not any(conf.getboolean("metrics", name, fallback=False) for name in _BACKENDS):
        return
    for seq in seqs:
        committed = log.entry(seq)
        if committed is not None and committed.entry.ranges:
            _send(committed.entry)


def _send(entry: Entry) -> None:
    connector = entry.connector
    for name, number in counted(entry).items():
        for metric, tags in _names(name, connector):
            stats.incr(metric, number, tags=tags)
    for metric, tags in _names("lag", connector):
        stats.gauge(metric, lag_after(entry), tags=tags)


def counted(entry: Entry) -> dict[str, int]:
    """The counts of one entry."""
    return {
        "records": sum(done.records for done in entry.ranges),
        "bytes": sum(done.bytes for done in entry.ranges),
        "objects": sum(len(done.objects) for done in entry.ranges),
        "rejected": sum(done.rejected for done in entry.ranges),
        "filtered": sum(done.filtered for done in entry.ranges),
    }


def lag_after(entry: Entry) -> int:
    """Offsets that could be read when the commit was planned, of the partitions in it, and are not exported by it."""
    last_stable = {done.tp: done.last_stable for done in entry.ranges}
    return sum(max(0, end - (entry.position(tp) or 0)) for tp, end in last_stable.items())


def _names(name: str, connector: str) -> list[tuple[str, dict[str, str]]]:
    """As Airflow names its own: with tags, and for what knows no tags under the connector's name too."""
    names = [(f"kafka_s3.{name}", {"connector": connector})]
    if conf.getboolean("metrics", "legacy_names_on", fallback=True):
        part = stats.normalize_name_for_stats(connector, log_warning=False).replace(".", "_")
        names.append((f"kafka_s3.{part}.{name}", {}))
    return names
