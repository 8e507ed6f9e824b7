"""The page's answers as metrics: what `/kafka-s3/metrics` shows to Prometheus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_s3_airflow.metrics import CONTENT_TYPE as CONTENT_TYPE
from kafka_s3_airflow.metrics import Seen, text
from kafka_s3_airflow.page.model import Connector
from kafka_s3_airflow.page.observer import Observer

#: For what is asked about again, all connectors together. What has not answered by then is of the last time.
WAIT_S: Final = 0.4


def scraped(shown: Sequence[Connector], observer: Observer) -> bytes:
    """The metrics of some connectors, as far as they are known now."""
    return text([_seen(each, observer) for each in shown])


def _seen(connector: Connector, observer: Observer) -> Seen:
    if connector.problems:
        return Seen(connector.dag_id, configuration_ok=False)
    log, kafka = observer.known_log(connector), observer.known_kafka(connector)
    log_up = None if log.is_first else log.error is None
    # Kafka is asked by way of the log: what that does not say is not Kafka's silence.
    kafka_up = None if kafka.is_first or log_up is False else kafka.error is None
    return Seen(connector.dag_id, kafka.value, kafka_up, log_up)
