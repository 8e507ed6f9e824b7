"""A group's runs, by `dag.test()` over the real broker, S3 API and Spark: members share a driver and nothing else."""

from __future__ import annotations

import functools
import gc
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kafka_s3_airflow.group_tasks import Said
from tests.airflow import test_runs
from tests.airflow.test_runs import CANARY, CONNECTOR, EIGHT, MINUTE, NINE, TEN, Bench, Run, lines
from tests.support import entries_of

bench = test_runs.bench
pytestmark = pytest.mark.filterwarnings("ignore")


class Group:
    """Members over topics and buckets of their own, or not; the bench's own connector is its `a`."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.topics: dict[str, str] = {}
        [file] = (bench.folder / "connectors").iterdir()
        file.unlink()

    def add(self, name: str, *, topic: str | None = None, more: str = "", records: list[bytes] | None = None) -> Path:
        """A member; it has a topic of its own unless one is given."""
        full = f"{self.bench.name}-{name}"
        if topic is None:
            topic = f"{self.bench.topic}-{name}"
            self.bench.broker.create_topic(topic, partitions=2)
        self.topics[name] = topic
        text = CONNECTOR.format(name=full, topic=topic, bucket=self.bench.bucket)
        text = text.replace("export.spark.records.min=0\n", "")
        path = self.bench.folder / "connectors" / f"{name}.properties"
        path.write_text(f"{text}export.group={self.bench.name}\nexport.reexport.enable=false\n{more}")
        if records:
            self.produce(name, EIGHT + MINUTE, records)
        return path

    def produce(self, name: str, at: datetime, records: list[bytes]) -> None:
        topic, self.bench.topic = self.bench.topic, self.topics[name]
        try:
            self.bench.produce(0, at, records)
        finally:
            self.bench.topic = topic

    def run(self, at: datetime, conf: dict[str, Any] | None = None) -> Run:
        name, self.bench.name = self.bench.name, f"{self.bench.name}__group"
        try:
            return self.bench.run(at, conf)
        finally:
            self.bench.name = name

    def committed(self, name: str) -> list[tuple[int, bool]]:
        """Of each commit of a member: its records, and whether it was made on Spark."""
        entries = entries_of(self.bench.store, self.bench.bucket, f"{self.bench.name}-{name}")
        return [
            (sum(done.records for done in each.ranges), bool(each.spark_application)) for each in entries if each.ranges
        ]

    def announced(self, name: str, run: Run) -> list[tuple[str, int]]:
        """The events of a member's asset in a run: by which task, of how many records."""
        whole, self.bench.name = self.bench.name, f"{self.bench.name}-{name}"
        try:
            return [(task, event["records"]) for task, event in self.bench.events(run.run_id)]
        finally:
            self.bench.name = whole


def tasks(**states: str) -> dict[str, str]:
    """The states of a run's tasks: these, and of the others those of a run in which nothing failed."""
    usual = dict.fromkeys(("plan", "export", "complete", "outcome"), "success")
    return {**usual, "complete_rest": "skipped", **states}


@pytest.fixture
def group(bench: Bench) -> Group:
    return Group(bench)


@pytest.mark.heavy
def test_a_member_that_fails_stops_no_other(group: Group, capfd: pytest.CaptureFixture[str]) -> None:
    """A bad record, a topic that is missing, one that another member owns: the task names each with its status, the
    others are exported and announced in the same run; the next one does what is new, and nothing again."""
    group.add("a", records=lines(0, 20))
    group.add("b", records=[*lines(0, 5), b"{not json", *lines(6, 5)])
    group.add("c", topic="nowhere-at-all")
    group.add("d", records=lines(0, 30))
    group.add("e", topic=group.topics["d"])
    first = group.run(NINE)
    said = capfd.readouterr().out
    assert first.tasks == tasks(export="failed", outcome="upstream_failed")
    assert first.state == "failed"
    assert first.tries["export"] == 1, "no retry cures any of them"
    loser = "d" if group.committed("e") else "e"  # whoever of the two was first owns the topic
    exported = {name: group.committed(name) for name in "abcde" if name != loser}
    assert exported == {"a": [(20, False)], "b": [(5, False)], "c": [], "de".replace(loser, ""): [(30, False)]}
    assert group.committed(loser) == []
    assert "3 of 5 connectors failed:" in said
    full = group.bench.name
    assert f"{full}-b (65): A bad record at topic" in said
    assert f"{full}-c (78): " in said
    assert f"{full}-a: commit 1: 20 records" in said
    assert group.announced("a", first) == [("complete", 20)]
    assert group.announced("b", first) == [("complete", 5)]
    assert group.bench.starts_of_spark() == 0
    for secret in (CANARY, group.bench.store.secret_key):
        assert secret not in said

    for name in ("b", "c", loser):
        (group.bench.folder / "connectors" / f"{name}.properties").unlink()
    group.produce("a", NINE + MINUTE, lines(20, 7))
    second = group.run(TEN)
    assert second.state == "success"
    assert group.committed("a") == [(20, False), (7, False)]
    assert group.announced("a", second) == [("complete", 7)]


@pytest.mark.heavy
def test_one_spark_for_those_that_need_it(group: Group, capfd: pytest.CaptureFixture[str]) -> None:
    """The small ones are done without it, before; a run that is narrowed leaves the others alone; one in which nothing
    is new starts no driver."""
    group.add("a", records=lines(0, 20))
    group.add("b", records=lines(0, 40), more="export.spark.records.min=40\n")
    group.add("c", records=lines(0, 50), more="export.spark.records.min=0\n")
    narrowed = group.run(NINE, {"connectors": [f"{group.bench.name}-a"]})
    assert narrowed.state == "success"
    assert {name: group.committed(name) for name in "abc"} == {"a": [(20, False)], "b": [], "c": []}
    whole = group.run(NINE + MINUTE)
    said = capfd.readouterr().out
    assert whole.state == "success", said[-5000:]
    assert {name: group.committed(name) for name in "abc"} == {"a": [(20, False)], "b": [(40, True)], "c": [(50, True)]}
    assert group.bench.starts_of_spark() == 1
    submitted = group.bench.submits.read_text()
    assert CANARY not in submitted + said
    assert json.dumps(group.bench.store.secret_key) not in submitted
    again = group.run(NINE + 2 * MINUTE)
    assert again.tasks == tasks(export="skipped")
    assert group.bench.starts_of_spark() == 1


@pytest.mark.heavy
def test_a_member_that_cannot_be_announced(group: Group, capfd: pytest.CaptureFixture[str]) -> None:
    """The others are announced in the same run, which fails all the same, after retries; the next one makes up for it.
    Whatever is marked then is that of the log that was announced."""
    group.add("a", records=lines(0, 20))
    group.add("b", records=lines(0, 30))
    assert group.run(NINE).state == "success"
    bucket, full = group.bench.store.client(), f"{group.bench.name}-b"
    [mark, *_] = group.bench.keys(f"_kafka_s3/{full}/announced/")
    note = f"{mark.rpartition('/')[0]}/0-note"
    bucket.put_object(Bucket=group.bench.bucket, Key=note, Body=b"")
    for name in "ab":
        group.produce(name, NINE + MINUTE, lines(40, 5))
    capfd.readouterr()
    second = group.run(TEN)
    said = capfd.readouterr().out
    assert second.tasks == tasks(complete_rest="failed", outcome="upstream_failed")
    assert second.state == "failed"
    assert {name: group.committed(name)[-1] for name in "ab"} == {"a": (5, False), "b": (5, False)}
    assert (group.announced("a", second), group.announced("b", second)) == ([("complete", 5)], [])
    assert f"1 of 1 connectors failed:\\n{full} (" in said.replace("\n", "\\n")
    assert "0-note is not the key of an announcement" in said
    bucket.delete_object(Bucket=group.bench.bucket, Key=note)
    third = group.run(TEN + MINUTE)
    assert third.tasks == tasks(export="skipped")
    assert group.announced("b", third) == [("plan", 5)]
    assert group.announced("a", third) == []


@pytest.mark.heavy
@pytest.mark.parametrize("into_group", [True, False], ids=["into a group", "out of one"])
def test_a_connector_that_moves(
    group: Group, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, into_group: bool
) -> None:
    """The new DAG has a run of the same id as the old one's, whose driver was killed over its plan: it finishes that,
    deletes what is left of it, and exports nothing twice."""
    from airflow.models.dagrun import DagRun

    from kafka_s3.export.run import prepare
    from kafka_s3.log.entries import Interval
    from kafka_s3.plan.batch import RunRequest
    from kafka_s3.wiring import make_exporter
    from kafka_s3_airflow.connections import load_connector

    # `dag.test()` makes ids of now; scheduled runs of one time have one id, whatever their DAGs.
    monkeypatch.setattr(DagRun, "generate_run_id", lambda **_: "of_nine")
    path, whole, full = group.add("a", records=lines(0, 20)), group.bench.name, f"{group.bench.name}-a"
    exporter = make_exporter(load_connector(path).settings)
    interval = Interval(*(int(at.timestamp() * 1000) for at in (EIGHT, NINE)))
    planned, _ = prepare(exporter, RunRequest("of_nine", 1, interval, interval.end_ms + 1))
    assert planned is not None
    left = f"topics/{group.topics['a']}/partition=0/{group.topics['a']}+0+0000000007.json.gz"
    exporter.store.put_if_absent(left, b"half done")
    if into_group:
        new = group.run(NINE)
    else:
        path.write_text(path.read_text().replace(f"export.group={whole}\n", ""))
        group.bench.name = full
        new = group.bench.run(NINE)
        group.bench.name = whole
    assert (new.run_id, new.state) == ("of_nine", "success")
    assert group.committed("a") == [(20, False)]
    assert "1 objects and 0 open uploads that an earlier driver left were deleted" in capfd.readouterr().out
    assert left not in group.bench.keys("topics/")


def test_members_share_what_reaches_their_bucket(group: Group) -> None:
    """Of many members a task keeps few clients, each of which has connections: not one each until all are announced."""
    from kafka_s3.adapters.s3 import S3Store
    from kafka_s3.wiring import STORES_MAX, SharedStores
    from kafka_s3_airflow.group_tasks import _complete, _each

    def clients() -> list[S3Store]:
        gc.collect()
        return [each for each in gc.get_objects() if type(each) is S3Store]  # `isinstance` wakes what is lazy

    same = {f"s{n}": str(group.add(f"s{n}", topic=f"t{n}")) for n in range(10)}
    own = {f"o{n}": str(group.add(f"o{n}", topic=f"t{n}", more=f"s3.retry.backoff.ms={n + 1}\n")) for n in range(30)}
    others = clients()  # of tests before, which stay with this name
    for members, most in ((same, 1), (own, STORES_MAX)):
        stores = SharedStores()
        kept = list(_each(members, functools.partial(_complete, None, frozenset()), stores))
        assert [name for name, said in kept if not isinstance(said, Said)] == []
        assert len(clients()) - len(others) == most
        del stores, kept
