"""The health of connectors as Prometheus reads it. Pure: what was seen, in its text format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from kafka_s3.report.health import Health, State

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4

Sample = tuple[float | None, dict[str, str]]  # a value, and the labels beside the connector's


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a connector: its health when Kafka last answered, if it ever did, and what answers now.

    `None`: not known. A number that is not known has no sample at all: an alarm asks for `kafka_s3_kafka_up == 0`, or
    for `absent(…)`. While Kafka does not answer, that is what waits; the log's numbers are those of that time.
    """

    connector: str
    health: Health | None = None
    kafka_up: bool | None = None
    log_up: bool | None = None
    configuration_ok: bool = True


def text(seen: Sequence[Seen]) -> bytes:
    """All that was seen, in Prometheus' text format; the same for the same, connectors in their order."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(seen))
    return generate_latest(registry)


class _Collector:
    """Its own registry's only one: nothing of this process is shown beside it."""

    def __init__(self, seen: Sequence[Seen]) -> None:
        self._seen = seen

    def collect(self) -> Iterator[Metric]:
        for name, what in _GAUGES.items():
            gauge = GaugeMetricFamily(f"kafka_s3_{name}", what, labels=_labels(name))
            for each in self._seen:
                for value, labels in _samples(name, each):
                    if value is not None:
                        gauge.add_metric([each.connector, *labels.values()], value)
            yield gauge
        for name, what in _COUNTERS.items():
            counter = CounterMetricFamily(f"kafka_s3_{name}", what, labels=["connector"])
            for each in self._seen:
                count = _count(name, each.health)
                if count is not None:
                    counter.add_metric([each.connector], count)
            yield counter


_GAUGES: Final = {
    "lag_records": "Readable offsets that are not exported yet.",
    "lag_seconds": "Age of the oldest record waiting for export; 0 if none.",
    "time_to_loss_seconds": "Time until retention.ms may delete a waiting record; no sample if it never will.",
    "overdue_seconds": "Time since the oldest schedule boundary with a record still waiting before it; 0 if none.",
    "rejected_ratio": "Share of rejected records in the newest log entries.",
    "filtered_ratio": "Share of records that transforms dropped in the newest log entries.",
    "last_commit_timestamp_seconds": "When the newest commit was written, by the store's clock.",
    "last_commit_records_per_second": "Records of the newest commit per second since its plan.",
    "partitions_failed": "Partitions that need attention: a range failed, or the partition is left out.",
    "problems": "Problems that `kafka-s3 status` reports; 0 if there are none.",
    "seen_timestamp_seconds": "When Kafka last answered and these numbers were taken.",
    "state": "1 for the connector's current state, 0 for the others.",
    "kafka_up": "Whether Kafka answers.",
    "log_up": "Whether the connector's log in the bucket can be read.",
    "configuration_ok": "Whether the connector's file can be used.",
}
#: What only Kafka knows: of another time it says nothing.
_OF_KAFKA: Final = ("lag_records", "lag_seconds", "time_to_loss_seconds", "overdue_seconds")
_COUNTERS: Final = {
    "exported_offsets": "Sum of the positions of all partitions; a rewind resets it.",
    "log_entries": "Entries of the connector's log.",
}


def _labels(name: str) -> list[str]:
    return ["connector", "state"] if name == "state" else ["connector"]


def _samples(name: str, seen: Seen) -> Iterable[Sample]:
    if name == "state":
        now = _state(seen)
        return [(float(now is state), {"state": state.value}) for state in State] if now else []
    return [(_gauge(name, seen), {})]


def _state(seen: Seen) -> State | None:
    """The state now. Where the log cannot be read, or the file cannot be used, an earlier state says nothing."""
    if not seen.configuration_ok or seen.log_up is False:
        return State.FAILED
    if seen.kafka_up is False:
        return State.KAFKA_DOWN
    return seen.health.state if seen.health is not None else None


def _gauge(name: str, seen: Seen) -> float | None:
    match name:
        case "kafka_up":
            return seen.kafka_up
        case "log_up":
            return seen.log_up
        case "configuration_ok":
            return seen.configuration_ok
    health = seen.health
    if health is None or (name in _OF_KAFKA and not seen.kafka_up):
        return None
    status = health.status
    values: dict[str, float | None] = {
        "lag_records": health.lag_records,
        "lag_seconds": _seconds(health.lag_ms),
        "time_to_loss_seconds": _seconds(health.loss_in_ms),
        "overdue_seconds": _seconds(health.overdue_ms),
        "rejected_ratio": health.rejected_fraction,
        "filtered_ratio": health.filtered_fraction,
        "last_commit_timestamp_seconds": _seconds(health.last_commit_ms),
        "last_commit_records_per_second": health.records_per_s,
        "partitions_failed": len(status.stuck),
        "problems": len(status.problems),
        "seen_timestamp_seconds": _seconds(health.at_ms),
    }
    return values[name]


def _count(name: str, health: Health | None) -> float | None:
    if health is None or not health.status.entries:
        return None
    head = health.status.entries[0]
    if name == "log_entries":
        return head.seq + 1
    return sum(position for topic in head.topics.values() for position in topic.positions.values())


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000
