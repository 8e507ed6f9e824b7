"""What becomes of bad records, and where dead letters go."""

from collections.abc import Callable

import pytest

from kafka_s3.settings import Loaded
from kafka_s3.settings.connect import DeadLetters
from tests.settings.given import TOLERANT, TOPIC

Load = Callable[..., Loaded]
Problems = Callable[..., dict[str, str]]


def test_dead_letters(load_with: Load) -> None:
    """Everything about dead letters has its setting where bad records are left out, and none where they are not."""
    more = {
        TOPIC: "dlq",
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
        "errors.log.enable": "true",
        "export.errors.fraction.max": "0.25",
        "export.errors.fraction.attention": "0.125",
    }
    settings = load_with({**TOLERANT, **more}).settings
    assert settings.dead_letters == DeadLetters("dlq", 1, True, 0.25, 0.125, True)
    assert settings.tolerate_bad_records
    assert load_with(more).settings.dead_letters == DeadLetters()
    ignored = {**TOLERANT, "behavior.on.null.values": "ignore", "report.null.values.to.dlq": "false"}
    assert not load_with(ignored).settings.format.report_null_values


@pytest.mark.parametrize(
    ("more", "name", "said"),
    [
        ({TOPIC: "orders"}, TOPIC, "may not be included in the list of topics"),
        ({TOPIC: "orders", "topics": None, "topics.regex": "or.*"}, TOPIC, "in the regex matching"),
        (
            {TOPIC: "dlq", "producer.override.sasl.jaas.config": "x"},
            "producer.override.sasl.jaas.config",
            "set consumer.override.sasl.jaas.config to the same",
        ),
        (
            {TOPIC: "dlq", "producer.override.bootstrap.servers": "a:1", "consumer.override.bootstrap.servers": "b:1"},
            "producer.override.bootstrap.servers",
            "set consumer.override.bootstrap.servers to the same",
        ),
    ],
)
def test_dead_letters_that_would_get_lost_or_come_back(
    problems_of: Problems, more: dict[str, str], name: str, said: str
) -> None:
    """No topic of dead letters is exported, and they go where the client that reads goes."""
    assert said in problems_of({**TOLERANT, **more})[name]


def test_what_a_producer_is_told_beside_that_is_ignored(load_with: Load) -> None:
    """Tuning is listed with the reason; so is the way to Kafka where it is the reader's own, or nothing is produced."""
    same = {f"{side}.override.security.protocol": "SSL" for side in ("producer", "consumer")}
    rows = {
        row.name: row for row in load_with({**TOLERANT, TOPIC: "dlq", "producer.override.acks": "1", **same}).report
    }
    for name in ("producer.override.acks", "producer.override.security.protocol"):
        assert rows[name].meaning.startswith("ignored")
    assert load_with({"producer.override.bootstrap.servers": "a:1"})
    to_worker = {**TOLERANT, TOPIC: "dlq", "producer.override.bootstrap.servers": "a:1"}
    assert load_with(to_worker, worker={"bootstrap.servers": "a:1"})
