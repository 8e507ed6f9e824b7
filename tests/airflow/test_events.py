"""Events of assets, as downstream DAGs get them: by `dag.test()` over the real broker, S3 API and Spark."""

import hashlib
from datetime import datetime

import pytest

from tests.airflow.test_runs import EIGHT, ELEVEN, MINUTE, NINE, TEN, Bench, bench, lines

__all__ = ["bench"]

# All of Airflow runs in this process, with warnings of its own.
pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore")]


def ms(*times: datetime) -> list[int]:
    return [int(at.timestamp() * 1000) for at in times]


HOURLY = """\
partitioner.class=HourlyPartitioner
locale=en
timezone=UTC
timestamp.extractor=Record
export.completeness.marker.enable=true
"""


@pytest.fixture
def idle(bench: Bench) -> str:
    """A second topic of the connector, which nobody writes to; paths are of hours, and marked."""
    topic = f"{bench.topic}-idle"
    bench.broker.create_topic(topic, partitions=1)
    [file] = (bench.folder / "connectors").iterdir()
    file.write_text(file.read_text().replace(f"topics={bench.topic}\n", f"topics={bench.topic},{topic}\n") + HOURLY)
    return topic


def marked(bench: Bench, topic: str) -> list[str]:
    """The hours that are marked as complete."""
    return [key.split("/")[-2] for key in bench.keys(f"topics/{topic}/") if key.endswith("/_COMPLETE.json")]


def test_every_hour_has_its_event(bench: Bench, idle: str, capfd: pytest.CaptureFixture[str]) -> None:
    """An hour with records, and one without: each is an event of the connector and of each of its topics, which says
    that the hour is complete and names the log entry that proves it. A second run of an hour that was committed, a run
    without an interval, and a failed one announce nothing. The markers of the hours say the same in the bucket."""
    bench.produce(0, EIGHT + MINUTE, lines(0, 30))
    full = bench.run(NINE)
    assert full.state == "success"
    [(_, commit)] = bench.events(full.run_id)
    assert [entry["seq"] for entry in commit["entries"]] == [0, 1], "that of the first sight, and the commit"
    assert (commit["kind"], commit["records"]) == ("commit", 30)
    assert (commit["interval_ms"], commit["complete_until_ms"]) == (ms(EIGHT, NINE), ms(NINE)[0])
    entry = bench.store.client().get_object(Bucket=bench.bucket, Key=commit["key"])["Body"].read()
    assert hashlib.sha256(entry).hexdigest() == commit["sha256"]
    [(task, busy)] = bench.events(full.run_id, bench.topic)
    assert (task, busy["records"], busy["keys"], busy["key"]) == ("complete", 30, commit["keys"], commit["key"])
    [(_, nothing)] = bench.events(full.run_id, idle)
    assert (nothing["records"], nothing["offsets"]) == (0, {idle: {"0": [0, 0]}})

    assert marked(bench, bench.topic) == marked(bench, idle) == ["hour=08"]

    again = bench.run(NINE + MINUTE)
    assert again.state == "success"
    assert bench.events(again.run_id) == []
    assert bench.events(again.run_id, idle) == []

    empty = bench.run(TEN)
    assert (empty.state, empty.tasks["export"]) == ("success", "skipped")
    [(task, event)] = bench.events(empty.run_id)
    assert (task, event["kind"], event["records"], event["run_id"]) == ("complete", "empty", 0, empty.run_id)
    assert (event["interval_ms"], event["complete_until_ms"]) == (ms(NINE, TEN), ms(TEN)[0])
    entry = bench.store.client().get_object(Bucket=bench.bucket, Key=event["key"])["Body"].read()
    assert hashlib.sha256(entry).hexdigest() == event["sha256"]
    assert event["seq"] == commit["seq"] + 1, "an hour with nothing new is an entry of its own"
    assert event["offsets"] == {bench.topic: {"0": [30, 30], "1": [0, 0]}, idle: {"0": [0, 0]}}
    for topic in (bench.topic, idle):
        [(_, event)] = bench.events(empty.run_id, topic)
        assert (event["topic"], event["kind"], event["interval_ms"]) == (topic, "empty", ms(NINE, TEN))

    assert marked(bench, bench.topic) == marked(bench, idle) == ["hour=08", "hour=09"]

    now = bench.run(TEN + MINUTE, {"until": "now"})
    assert now.state == "success"
    assert bench.events(now.run_id) == []

    bench.broker.delete_topic(idle)
    failed = bench.run(ELEVEN)
    assert (failed.state, failed.tasks["plan"]) == ("failed", "failed")
    assert bench.events(failed.run_id) == []
    assert marked(bench, bench.topic) == ["hour=08", "hour=09", "hour=10"], "nothing of it is missing"
    assert marked(bench, idle) == ["hour=08", "hour=09"]
    assert bench.starts_of_spark() == 1
    assert f"topic {idle}" in capfd.readouterr().out


def test_many_topics(bench: Bench) -> None:
    """A connector of 100 topics by their pattern: one commit is 101 events, an empty hour as many."""
    [file] = (bench.folder / "connectors").iterdir()
    file.write_text(file.read_text().replace(f"topics={bench.topic}\n", f"topics.regex={bench.topic}(-[0-9]+)?\n"))
    topics = [bench.topic, *(f"{bench.topic}-{n}" for n in range(99))]
    for topic in topics[1:]:
        bench.broker.create_topic(topic, partitions=1)
    bench.produce(0, EIGHT + MINUTE, lines(0, 3))
    full, empty = bench.run(NINE), bench.run(TEN)
    assert [event["kind"] for _, event in bench.events(full.run_id)] == ["commit"]
    assert [event["kind"] for _, event in bench.events(empty.run_id)] == ["empty"]
    for topic in (topics[0], topics[-1]):
        assert [event["kind"] for _, event in bench.events(full.run_id, topic)] == ["commit"]
        assert [event["kind"] for _, event in bench.events(empty.run_id, topic)] == ["empty"]
