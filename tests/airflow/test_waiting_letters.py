"""Committed dead letters that no driver could send: `complete` sends them, whatever the run found to do. In memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from kafka_s3.adapters.memory import MemoryDeadLetters
from kafka_s3.errors import ConfigurationError, KafkaUnavailable
from kafka_s3.settings.connect import DeadLetters
from tests.export.place import SimpleExport

# All of Airflow runs in this process, with warnings of its own.
pytestmark = pytest.mark.filterwarnings("ignore")


class Group:
    """The task `complete` of a connector whose driver died between its commit, which has two dead letters, and their
    report. `states`: of the tasks before it."""

    def __init__(self) -> None:
        self.place = SimpleExport(1, tolerate=True)
        self.sink = MemoryDeadLetters()
        self.place.settings = replace(self.place.settings, dead_letters=DeadLetters("dead"))
        self.place.poison(0)
        self.place.produce(0, 3)
        self.place.poison(0)
        self.place.run("dies")
        self.states = {"plan": "success", "export": "skipped"}
        self.events: dict[Any, Any] = defaultdict(MagicMock)

    def context(self) -> dict[str, Any]:
        states = {"manual": self.states}
        return {
            "run_id": "manual",
            "params": {},
            "dag_run": SimpleNamespace(data_interval_start=None, data_interval_end=None, conf={}),
            "task": SimpleNamespace(task_id="complete", outlets=[]),
            "ti": SimpleNamespace(task_id="complete", dag_id="orders", get_task_states=lambda **_: states),
            "outlet_events": self.events,
        }

    def sent(self) -> list[int]:
        return [letter.offset for letter in self.sink.sent]


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> Group:
    from kafka_s3_airflow import tasks

    group = Group()
    monkeypatch.setattr(tasks, "get_current_context", group.context)
    monkeypatch.setattr(tasks, "_exporter", lambda _: group.place.exporter())
    monkeypatch.setattr("kafka_s3.adapters.kafka.DeadLetterTopic", lambda _: group.sink)
    monkeypatch.setattr(group.sink, "close", lambda: None)
    return group


@pytest.fixture
def complete(group: Group) -> Callable[[], None]:
    from kafka_s3_airflow.tasks import complete

    return lambda: complete("/orders.properties")


def test_a_run_with_nothing_new(group: Group, complete: Callable[[], None]) -> None:
    """The letters of the run before are sent, once, and the commits are announced as ever."""
    complete()
    assert group.sent() == [0, 4]
    assert group.events
    complete()
    assert group.sent() == [0, 4]


def test_a_run_whose_driver_sent_them(group: Group, complete: Callable[[], None]) -> None:
    """Looking costs two LISTs, and nothing is sent."""
    complete()
    group.states["export"] = "success"
    group.place.store.requests.clear()
    complete()
    home = "_kafka_s3/orders"
    assert group.place.operations(f"{home}/reported/") == ["ListObjectsV2"]
    assert group.sent() == [0, 4]


@pytest.mark.parametrize(
    ("error", "is_final"), [(ConfigurationError("refused"), True), (KafkaUnavailable("down"), False)]
)
def test_a_topic_that_refuses_them(
    group: Group, complete: Callable[[], None], error: Exception, is_final: bool
) -> None:
    """The task fails, at once where no retry helps, and announces nothing; the next one sends them."""
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    group.sink.fail_next(error)
    with pytest.raises(AirflowException, match=str(error)) as raised:
        complete()
    assert isinstance(raised.value, AirflowFailException) is is_final
    assert not group.events
    complete()
    assert group.sent() == [0, 4]


@pytest.mark.parametrize(
    "states", [{"plan": "failed", "export": "upstream_failed"}, {"plan": "success", "export": "failed"}]
)
def test_a_run_that_failed(group: Group, complete: Callable[[], None], states: dict[str, str]) -> None:
    """It sends them too, and ends as failed for what was said before, whatever the topic of dead letters says."""
    from airflow.sdk.exceptions import AirflowFailException

    group.states = states
    group.sink.fail_next(KafkaUnavailable("down"))
    for sent in ([], [0, 4]):
        with pytest.raises(AirflowFailException, match="failed: see the task's log"):
            complete()
        assert group.sent() == sent


def test_a_connector_without_a_topic_for_them(group: Group, complete: Callable[[], None]) -> None:
    """Nothing is looked for, sent or written."""
    group.place.settings = replace(group.place.settings, dead_letters=DeadLetters())
    complete()
    assert (group.sent(), group.place.operations("_kafka_s3/orders/reported/")) == ([], [])
