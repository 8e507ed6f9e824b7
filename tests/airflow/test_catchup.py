"""Late runs and punctual ones: Airflow's intervals over the engine in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pendulum
import pytest
from airflow.sdk import DAG
from airflow.serialization.serialized_objects import DagSerialization
from airflow.timetables.base import DataInterval, TimeRestriction

from kafka_s3.ranges import TopicPartition
from kafka_s3.settings import Lookups, load
from kafka_s3_airflow import export_schedule, kafka_to_s3
from tests.airflow.test_integrity import dags_of, write
from tests.airflow.test_timetable import ms
from tests.export.place import TOPIC, SimpleExport

MINUTE_MS = 60_000
# Berlin's clock goes from 2 to 3 on the 29th.
START, NOW = pendulum.datetime(2026, 3, 26), pendulum.datetime(2026, 3, 31, 12, 30)
BERLIN = "timezone=Europe/Berlin\n"
SCHEDULES = {
    "an hour": "rotate.schedule.interval.ms=3600000\ntimezone=UTC\n",
    "two hours in Berlin": f"rotate.schedule.interval.ms=7200000\n{BERLIN}",
    "90 minutes in Berlin": f"rotate.schedule.interval.ms=5400000\n{BERLIN}",
    "cron": "export.schedule=15 */4 * * *\ntimezone=UTC\n",
    "cron in Berlin": f"export.schedule=30 2,14 * * *\n{BERLIN}",
    "workdays in Berlin": f"export.schedule=0 4 * * mon-fri\n{BERLIN}",
}
# The logical time is in every path, so that an object of another batch has another key.
PATHS = """\
partitioner.class=TimeBasedPartitioner
path.format='at'-MM-dd-HHmm
partition.duration.ms=60000
timestamp.extractor=Wallclock
locale=en
"""


def exported(path: Path, intervals: list[DataInterval]) -> dict[str, bytes]:
    """What runs with these data intervals make of records in the order of their timestamps."""
    place = SimpleExport()
    place.settings = load(path, lookups=Lookups(), offline=True).settings
    for number, at_ms in enumerate(range(ms(START) - 60 * MINUTE_MS, ms(NOW), 17 * MINUTE_MS)):
        place.produce(number % 2, 1 + number % 3, at_ms=at_ms)
    for number, interval in enumerate(intervals):
        edges = (ms(interval.start), ms(interval.end))
        report = place.run(f"run-{number}", interval=edges, now_ms=ms(NOW))
        assert not report.failures
    ends = place.broker.offsets([TopicPartition(TOPIC, p) for p in (0, 1)])
    assert all(0 < place.positions()[tp.partition] <= seen.high_watermark for tp, seen in ends.items())
    return place.data()


def scheduled(dag: Any) -> list[DataInterval]:
    """The runs of a DAG with catch-up until now."""
    timetable = DagSerialization.from_dict(DagSerialization.to_dict(dag)).timetable
    assert dag.catchup
    found: list[DataInterval] = []
    while True:
        last = found[-1] if found else None
        info = timetable.next_dagrun_info(
            last_automated_data_interval=last, restriction=TimeRestriction(dag.start_date, None, True)
        )
        if info.run_after > NOW:
            return found
        found.append(info.data_interval)


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES.keys())
def test_both_settings_make_the_same_objects(tmp_path: Path, schedule: str) -> None:
    """A DAG with catchup=True and kafka_to_s3, whose runs come one by one, and the factory's, which has no catch-up,
    ran once and was then paused for days, make the same objects under the same keys, over a change of the clock too."""
    path = write(tmp_path, "a.properties", "a", PATHS + schedule)
    path.write_text(path.read_text().replace("topics=a-topic", f"topics={TOPIC}"))
    with DAG("own", schedule=export_schedule(path), start_date=START, catchup=True) as own:
        kafka_to_s3(path)
    punctual = scheduled(own)
    assert len(punctual) >= 3

    factory = dags_of(tmp_path)["a"]
    assert not factory.catchup
    timetable = DagSerialization.from_dict(DagSerialization.to_dict(factory)).timetable
    late = timetable.infer_manual_data_interval(run_after=NOW)
    assert late == punctual[-1]
    objects = exported(path, punctual)
    assert len({key.split("/")[2] for key in objects}) == len(punctual)
    assert exported(path, [punctual[0], late]) == objects
