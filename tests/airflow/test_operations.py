"""The DAG of operations: what it is, what it refuses, and what a run of it does to a real bucket."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition as Deleted

from kafka_s3.adapters.s3 import S3Store
from kafka_s3.errors import ConfigurationError
from kafka_s3.log.entries import Entry, Kind
from kafka_s3.log.store import open_log
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.s3 import S3Settings
from tests.airflow.test_integrity import bag_of, dags_of, healthy
from tests.airflow.test_integrity import write as write_without
from tests.airflow.test_runs import EIGHT, MINUTE, NINE, TEN, Bench, bench, lines  # noqa: F401  # a fixture

# All of Airflow runs in this process, with warnings of its own.
pytestmark = pytest.mark.filterwarnings("ignore")
OFF = "export.operations.enable=false\n"


def write(folder: Path, file: str, name: str, extra: str = "") -> Path:
    """A connector's file that says nothing of operations, unless `extra` does."""
    path = write_without(folder, file, name)
    path.write_text(path.read_text().replace(OFF, "") + extra)
    return path


def test_what_the_dag_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One task that nothing repeats, one run at a time, no schedule, never paused at first; there unless
    `export.operations.enable=false` or the name leaves no room for its id."""
    from airflow.serialization.serialized_objects import DagSerialization

    long = "x" * 240
    write(tmp_path, "a.properties", "a", "export.tags=gold\n")
    write(tmp_path, "b.properties", "b", OFF)
    write(tmp_path, "long.properties", long)
    write(tmp_path, "taken.properties", "a__operations")
    bag = bag_of(tmp_path, monkeypatch)
    assert bag.import_errors == {}
    assert sorted(bag.dag_ids) == ["a", "a__operations", "b", "taken", long]
    dag = bag.dags["a__operations"]
    assert healthy(dag)
    assert "must not end with __operations" in bag.dags["taken"].doc_md
    assert (dag.task_ids, dag.task_dict["operate"].retries, dag.max_active_runs) == (["operate"], 0, 1)
    assert (dag.timetable.can_be_scheduled, dag.is_paused_upon_creation) == (False, False)
    assert dag.tags == {"kafka-s3", "kafka-s3-operations", "gold"}
    assert dag.description == "Rewinds a, accepts losses, or sends its dead letters again, on request."
    again = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))
    assert (again.dag_id, list(again.task_dict)) == ("a__operations", ["operate"])
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", "a__operations")
    assert list(dags_of(tmp_path)) == ["a__operations"]


@pytest.mark.parametrize(
    ("conf", "why"),
    [
        ({}, "operation"),
        ({"operation": "drop"}, "drop"),
        ({"operation": "rewind", "partitions": "orders-0=1"}, "orders-0"),
        ({"operation": "redrive", "letters": "all"}, "all"),
        ({"operation": "redrive", "seen": "7"}, "'7'"),
    ],
)
def test_airflow_refuses_what_is_no_operation(tmp_path: Path, conf: dict[str, Any], why: str) -> None:
    """Before a run begins, by the types of its parameters."""
    from airflow.sdk.exceptions import ParamValidationError

    write(tmp_path, "a.properties", "a")
    params = dags_of(tmp_path)["a__operations"].params
    with pytest.raises(ParamValidationError, match=why):  # noqa: PT012  # which of the two says so is Airflow's affair
        params.update(conf)
        params.validate()


@pytest.mark.parametrize(
    ("conf", "why"),
    [
        ({"operation": "rewind"}, "name at least one: TOPIC-PARTITION=OFFSET"),
        ({"operation": "accept"}, "name at least one: a topic"),
        ({"operation": "rewind", "partitions": ["a=1", 7]}, "partitions=7: is not TOPIC-PARTITION=OFFSET"),
        ({"operation": "redrive", "letters": {"offsets": "9-3"}}, "the lower one first"),
        ({"operation": "redrive", "letters": {"since": "now"}}, "is not an ISO 8601 time"),
        ({"operation": "redrive", "letters": {"since": "2026-01-02", "until": "2026-01-01"}}, "must be after since"),
        ({"operation": "redrive", "seen": True}, "is not a whole number"),
        ({"operation": "redrive", "letters": {"again": "yes"}}, "neither true nor false"),
        ({"operation": "redrive", "letters": {"stage": "LATER"}}, "is not one of VALUE_CONVERTER"),
        ({"operation": "redrive", "letters": {"form": 1}}, "letters.form: is not one of again"),
        ({"operation": "redrive", "letters": {"partition": -1}}, "is not a whole number"),
        ({"operation": "redrive", "letters": {"topic": "a/b"}}, "is not a topic's name"),
        ({"operation": "redrive", "letters": ["a"]}, "is not a JSON object"),
        ({"operation": ["rewind"]}, "is not one of rewind, accept, redrive"),
    ],
)
def test_what_is_wrong_with_a_request(conf: dict[str, Any], why: str) -> None:
    """The same parameters are read for a preview, where nobody has checked them before."""
    from kafka_s3_airflow.operation_request import parse

    with pytest.raises(ConfigurationError, match=why):
        parse(conf)


def test_what_a_request_asks_for() -> None:
    """Targets, letters, and what was seen; the name is typed where positions are written."""
    from kafka_s3_airflow.operation_request import parse

    asked = parse({"operation": "rewind", "partitions": ["a-b-0=12", "a-1=3"], "seen": 7, "confirm": "a"})
    assert asked.targets == {TopicPartition("a-b", 0): 12, TopicPartition("a", 1): 3}
    assert asked.seen == 7
    asked.check_confirmed("a")
    with pytest.raises(ConfigurationError, match=r"(?s)not confirmed.*write the connector's name, b"):
        asked.check_confirmed("b")
    parse({"operation": "rewind", "partitions": ["a-1=3"], "dry_run": True}).check_confirmed("a")
    letters = parse(
        {"operation": "redrive", "letters": {"offsets": "3-5", "since": "1970-01-01T00:00:01Z", "error": "", "to": "x"}}
    )
    letters.check_confirmed("a")
    assert (letters.wanted.offsets, letters.wanted.since_ms, letters.wanted.error, letters.to) == (
        (3, 6),
        1000,
        None,
        "x",
    )


# Run.


def newest(bench: Bench) -> Entry:  # noqa: F811  # the fixture
    store = bench.store
    settings = S3Settings(
        bench.bucket,
        store.region,
        store.endpoint_url,
        access_key_id=store.access_key,
        secret_access_key=store.secret_key,
    )
    found = open_log(S3Store(settings), "_kafka_s3", bench.name).newest()
    assert found is not None
    return found.entry


@pytest.fixture
def operate(
    bench: Bench,  # noqa: F811
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> Callable[..., str]:
    """Runs an operation of the connector; what its task logged, and how it ended in front."""
    from dataclasses import replace

    [file] = (bench.folder / "connectors").iterdir()
    text = file.read_text().replace("export.spark.records.min=0\n", "")
    file.write_text(f"{text}errors.tolerance=all\n")

    def run(**conf: Any) -> str:
        capfd.readouterr()
        caplog.clear()
        ended = replace(bench, name=f"{bench.name}__operations").run(None, conf)
        out, err = capfd.readouterr()
        return f"{ended.state}\n{caplog.text}{out}{err}"

    return run


def test_a_rewind_by_a_run(bench: Bench, operate: Callable[..., str]) -> None:  # noqa: F811
    """Confirmed by the connector's name and of the log that was seen, it is an entry that says which run wrote it; the
    next run exports the offsets again. A second run that saw the same log writes nothing."""
    bench.produce(0, EIGHT + MINUTE, lines(0, 5))
    assert bench.run(NINE).state == "success"
    bench.produce(0, NINE + MINUTE, lines(5, 5))
    assert bench.run(TEN).state == "success"
    before = newest(bench)
    asked: dict[str, Any] = {"operation": "rewind", "partitions": [f"{bench.topic}-0=7"], "seen": before.seq}
    assert "is not confirmed" in operate(**asked)
    assert "would" not in operate(**asked, dry_run=True)
    assert newest(bench) == before
    stale = operate(**{**asked, "seen": before.seq - 1}, confirm=bench.name)
    assert stale.startswith("failed")
    assert f"its newest log entry is {before.seq} by now, not {before.seq - 1}. Nothing was written." in stale
    assert newest(bench) == before
    said = operate(**asked, confirm=bench.name)
    assert said.startswith("success"), said
    assert f"{bench.topic}-0 is exported again from offset 5 on (now 10): 5 records in 1 objects are withdrawn." in said
    entry = newest(bench)
    assert (entry.kind, entry.seq, entry.run_id[:8]) == (Kind.REWIND, before.seq + 1, "manual__")
    assert "has changed since" in operate(**asked, confirm=bench.name)
    assert newest(bench) == entry
    assert bench.run(TEN + MINUTE).state == "success"
    assert newest(bench).position(TopicPartition(bench.topic, 0)) == 10


def test_losses_are_accepted_by_a_run(bench: Bench, operate: Callable[..., str]) -> None:  # noqa: F811
    """What Kafka deleted is accepted once, and not where nothing is wrong."""
    bench.produce(0, EIGHT + MINUTE, lines(0, 5))
    assert bench.run(NINE).state == "success"
    asked: dict[str, Any] = {"operation": "accept", "partitions": [f"{bench.topic}-0"], "confirm": bench.name}
    assert "nothing is wrong with it" in operate(**asked)
    bench.produce(0, NINE + MINUTE, lines(5, 5))
    admin = bench.broker.admin()  # kept: with it its requests would go
    [deleted] = admin.delete_records([Deleted(bench.topic, 0, 8)]).values()
    deleted.result(30)
    said = operate(**asked, seen=newest(bench).seq)
    assert said.startswith("success"), said
    assert "Its export goes on at offset 8." in said
    assert [(each.start, each.end) for each in newest(bench).gaps] == [(5, 8)]


def test_dead_letters_are_sent_by_a_run(bench: Bench, operate: Callable[..., str]) -> None:  # noqa: F811
    """Counted first, sent once; a run that finds none says so and fails, and so does one that asks for what is not."""
    bench.produce(0, EIGHT + MINUTE, [*lines(0, 3), b"{oops"])
    assert bench.run(NINE).state == "success"
    assert f"1 dead letters would be sent to {bench.topic}." in operate(operation="redrive", dry_run=True)
    said = operate(operation="redrive")
    assert said.startswith("success"), said
    assert f"1 dead letters sent to {bench.topic}." in said
    assert "1 were sent there before" in operate(operation="redrive")
    assert "No dead letter is like that." in operate(operation="redrive", letters={"offsets": "99"})
    assert "sets form, which is no parameter" in operate(operation="redrive", form="x")
