"""The Prometheus text, read back by Prometheus' own parser."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kafka_s3.errors import KafkaUnavailable
from kafka_s3.ports import Broker
from kafka_s3.report.health import Health, State, look
from kafka_s3_airflow.metrics import CONTENT_TYPE, Seen, text
from tests.house.pages import page
from tests.report.test_health import MINUTE_MS, NINE, NOW, Timed
from tests.support import HOUR_MS, make_settings

Samples = dict[tuple[str, str, str | None], float]


def parsed(seen: list[Seen]) -> Samples:
    return parsed_text(text(seen))


def parsed_text(scraped: bytes) -> Samples:
    """Every sample by its name, its connector and its state."""
    assert b"canary" not in scraped
    found: Samples = {}
    for family in text_string_to_metric_families(scraped.decode()):
        assert family.documentation
        for sample in family.samples:
            assert set(sample.labels) <= {"connector", "state"}
            key = (sample.name, sample.labels["connector"], sample.labels.get("state"))
            assert key not in found
            found[key] = sample.value
    return found


def seen_well(health: Health, name: str = "a") -> Seen:
    return Seen(name, health, kafka_up=True, log_up=True)


@pytest.fixture
def health() -> Health:
    """Two records and a rejected one exported in the hour to nine, one more waits since twenty past."""
    world = Timed(settings=make_settings(tolerate=True))
    world.broker.set_retention("orders", 2 * HOUR_MS)
    world.add(NINE - 40 * MINUTE_MS, NINE - 20 * MINUTE_MS)
    world.add(NINE - 10 * MINUTE_MS, value=b"{")
    world.export((NINE - HOUR_MS, NINE))
    world.add(NOW - 10 * MINUTE_MS)
    layout = world.exporter.log.layout
    world.store.set_modified(layout.plan_key(1), NOW - 29_000)
    world.store.set_modified(layout.log_key(1), NOW - 25_000)
    return world.health()


def test_every_number_is_a_sample(health: Health) -> None:
    """Each under its name, in seconds where it is a time, with the connector as its label."""
    found = {name: value for (name, _, state), value in parsed([seen_well(health)]).items() if state is None}
    assert found == {
        "kafka_s3_lag_records": 1,
        "kafka_s3_lag_seconds": 600,
        "kafka_s3_time_to_loss_seconds": 6600,
        "kafka_s3_overdue_seconds": 0,
        "kafka_s3_rejected_ratio": pytest.approx(1 / 3),
        "kafka_s3_filtered_ratio": 0,
        "kafka_s3_last_commit_timestamp_seconds": NOW / 1000 - 25,
        "kafka_s3_last_commit_records_per_second": 0.5,
        "kafka_s3_partitions_failed": 0,
        "kafka_s3_problems": 0,
        "kafka_s3_kafka_up": 1,
        "kafka_s3_log_up": 1,
        "kafka_s3_configuration_ok": 1,
        "kafka_s3_seen_timestamp_seconds": NOW / 1000,
        "kafka_s3_exported_offsets_total": 3,
        "kafka_s3_log_entries_total": 2,
    }


@pytest.mark.parametrize("state", State)
def test_one_state_is_1(health: Health, state: State) -> None:
    """The state is a set of samples, one for each that there is, of which one is 1."""
    found = parsed([seen_well(replace(health, state=state))])
    states = {of: value for (name, _, of), value in found.items() if name == "kafka_s3_state"}
    assert states == {each.value: float(each is state) for each in State}


def test_what_is_not_known_has_no_sample(health: Health) -> None:
    """While Kafka is down there is no lag, which is not the same as a lag of none; the log's numbers stay."""
    found = parsed([Seen("a", health, kafka_up=False, log_up=True)])
    names = {name.removeprefix("kafka_s3_") for name, _, _ in found}
    assert not names & {"lag_records", "lag_seconds", "time_to_loss_seconds", "overdue_seconds"}
    assert {"last_commit_timestamp_seconds", "rejected_ratio", "exported_offsets_total"} <= names
    assert found["kafka_s3_kafka_up", "a", None] == 0
    assert found["kafka_s3_state", "a", "kafka_down"] == 1
    assert found["kafka_s3_state", "a", "ok"] == 0
    never = {name for name, _, _ in parsed([Seen("a", kafka_up=False, log_up=True)])}
    assert never == {"kafka_s3_kafka_up", "kafka_s3_log_up", "kafka_s3_configuration_ok", "kafka_s3_state"}


def test_no_error_s_text_is_shown() -> None:
    """Why Kafka did not answer is for people who may see it, not for a label."""
    world = Timed()

    def refuse() -> Broker:
        raise KafkaUnavailable("secret-canary")

    down = look(world.settings, world.exporter.log, refuse, at_ms=NOW, entries_max=10)
    assert b"secret-canary" not in text([Seen("a", down, kafka_up=False)])


def test_a_bucket_or_a_file_that_did_not_say() -> None:
    """Of a connector whose log or file could not be read there is that, and that it failed, and nothing else."""
    name = "kafka_s3_configuration_ok"
    failed = {("kafka_s3_state", "a", state.value): float(state is State.FAILED) for state in State}
    assert parsed([Seen("a", log_up=False)]) == {("kafka_s3_log_up", "a", None): 0, (name, "a", None): 1, **failed}
    assert parsed([Seen("a", configuration_ok=False)]) == {(name, "a", None): 0, **failed}
    assert parsed([]) == {}


def test_hostile_names_stay_labels(health: Health) -> None:
    """Quotes, line ends, backslashes and braces in a connector's name make no second sample."""
    names = ['a"} 1\nkafka_s3_lag_records{connector="b', "back\\slash\\", "größe 🙂", "#", 'x",state="ok']
    found = parsed([seen_well(health, name) for name in names])
    assert {connector for _, connector, _ in found} == set(names)
    assert all(math.isfinite(value) for value in found.values())


def test_connectors_are_apart(health: Health) -> None:
    """Many connectors are many samples of one metric, in their order; nothing of the process is beside them."""
    seen = [seen_well(replace(health, lag_records=n), f"c{n:02}") for n in range(50)]
    found = parsed(seen)
    assert [found["kafka_s3_lag_records", each.connector, None] for each in seen] == list(range(50))
    assert {name.split("_")[0] for name, _, _ in found} == {"kafka"}
    assert text(seen) == text(seen)
    assert "text/plain" in CONTENT_TYPE


def test_the_page_names_every_metric(health: Health) -> None:
    """The table of metrics lists what is scraped, no more and no less."""
    table = page("how-to/alarms.md").partition("| metric, of each")[2].partition("\n\n")[0]
    scraped = {name for name, _, _ in parsed([seen_well(health)])}
    assert set(re.findall(r"`(kafka_s3_\w+)", table)) == scraped
    assert set(re.findall(r"`(\w+)`", table)) >= {state.value for state in State}
