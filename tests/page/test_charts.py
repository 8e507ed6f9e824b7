"""An export over time: sums of its commits by hour, day and month, what the log does not say, what reading costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.log.store import Log
from kafka_s3.naming import LogLayout, parse_seq
from kafka_s3.records import Record
from tests.export.harness import MemoryExport
from tests.support import HOUR_MS, make_settings
from tools.long_log import write_log

pytestmark = pytest.mark.filterwarnings("ignore")

BEGAN_MS = 1_700_000_000_000 // HOUR_MS * HOUR_MS


class HourlyStore(MemoryStore):
    """A store in which each entry was written ten minutes after its hour."""

    def list(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> Iterator[Any]:
        for info in super().list(prefix, start_after=start_after, limit=limit):
            ended_ms = BEGAN_MS + ((parse_seq(info.key) or 0) + 1) * HOUR_MS
            yield replace(info, modified_ms=ended_ms + HOUR_MS // 6)


def hourly(count: int) -> Any:
    """The history of so many hourly commits."""
    from kafka_s3_airflow.page.history import History, Rows

    log = Log(HourlyStore(), LogLayout("_kafka_s3", "orders"))
    write_log(log, count, began_ms=BEGAN_MS)
    log.store.requests.clear()  # type: ignore[attr-defined]
    return History(log, Rows(), "here")


def charted(history: Any, per: str, wanted: int = 200, kept: Any = None, new_max: int = 1_000) -> dict[str, Any]:
    from kafka_s3_airflow.page.charts import charted, window_of
    from kafka_s3_airflow.page.commit_facts import FactsKept, read_facts

    head = len(history.log.store.contents()) - 1
    window = window_of(per, UTC, None, None, BEGAN_MS + (head + 1) * HOUR_MS + HOUR_MS // 2)
    assert window is not None
    return charted(read_facts(history, kept or FactsKept(), window.from_ms, wanted, new_max), window)


def requests_of(history: Any) -> list[str]:
    found = [each.operation for each in history.log.store.requests]
    history.log.store.requests.clear()
    return found


def test_hours_of_hourly_commits() -> None:
    """A bar an hour: what was committed in it, and how long after its interval; no duration where no plan is there."""
    found = charted(hourly(100), "hour")
    assert [each["commits"] for each in found["bars"]] == [1] * 72
    newest = found["bars"][-1]
    assert (newest["records"], newest["bytes"], newest["objects"]) == (1_000, 100_000, 1)
    assert (newest["delay_ms"], newest["delay_mean_ms"]) == (HOUR_MS // 6, HOUR_MS // 6)
    assert (newest["duration_ms"], newest["duration_mean_ms"]) == (None, None), "no figure, and not 0"
    assert found["is_whole"]


def test_days_and_months_are_sums() -> None:
    """A day of hourly commits is the sum of 24; where the log begins, there are none before."""
    history = hourly(24 * 70)
    days = charted(history, "day", 2_000, new_max=2_000)
    assert [each["records"] for each in days["bars"][1:-1]] == [24_000] * 58
    months = charted(history, "month", 2_000, new_max=2_000)
    assert sum(each["records"] for each in months["bars"]) == 24 * 70 * 1_000
    assert months["bars"][0]["records"] == 0
    assert all(each["is_known"] for each in months["bars"])


def test_what_was_not_read_is_not_known() -> None:
    """A long log is read as far back as it is wanted; an older bar, or one that was read in part, has no sum."""
    found = charted(hourly(1_000), "day", 200)
    assert (found["entries"], found["read"], found["is_whole"]) == (1_000, 200, False)
    known = [each["is_known"] for each in found["bars"]]
    assert known == sorted(known)
    assert 6 <= sum(known) <= 9
    assert all(each["commits"] == 24 for each in found["bars"][:-1] if each["is_known"])


def test_one_question_reads_so_many_and_the_next_goes_on() -> None:
    """Of 100,000 commits a question reads a thousand at most; what was read is not read again."""
    from kafka_s3_airflow.page.commit_facts import FactsKept

    history, kept = hourly(100_000), FactsKept()
    first = charted(history, "month", 100_000, kept)
    assert requests_of(history).count("GetObject") == first["read"] == 1_000
    again = charted(history, "month", 200, kept)
    assert (again["read"], requests_of(history)) == (200, ["ListObjectsV2"])
    more = charted(history, "month", 100_000, kept)
    assert (more["read"], requests_of(history).count("GetObject")) == (2_000, 1_000)


def test_what_happened_is_marked() -> None:
    """Failed ranges, lost records and entries of other kinds are on the time line, with the commit that says so."""
    from kafka_s3_airflow.page.history import History, Rows

    world = MemoryExport(settings=make_settings())
    world.produce(0, 2)
    world.broker.append("orders", 1, Record(0, b"{poison"))
    world.run()
    found = charted(History(world.exporter.log, Rows(), "here"), "month")
    assert found["marks"] == [], "they are of another time"
    at_ms = int(datetime.now(UTC).timestamp() * 1000)
    history = History(world.exporter.log, Rows(), "here")
    marks = _charted_at(history, at_ms)["marks"]
    assert [(each["seq"], each["kind"]) for each in marks] == [(1, "failed")]
    assert "orders-1" in marks[0]["text"]


def _charted_at(history: Any, now_ms: int) -> dict[str, Any]:
    from kafka_s3_airflow.page.charts import charted, window_of
    from kafka_s3_airflow.page.commit_facts import FactsKept, read_facts

    window = window_of("hour", UTC, None, None, now_ms)
    assert window is not None
    return charted(read_facts(history, FactsKept(), window.from_ms, 200, 1_000), window)


def row(seq: int, **more: Any) -> Any:
    from kafka_s3_airflow.page.views import damaged_row

    return {**damaged_row(seq, BEGAN_MS + seq, ""), "kind": "commit", "error": None, **more}


def test_a_schema_that_changes_is_marked() -> None:
    """The first schema that is seen is no change, the next one is, across chunks too."""
    from kafka_s3_airflow.page.charts import Window, charted
    from kafka_s3_airflow.page.commit_facts import Facts, chunk_of

    older = chunk_of([row(2, schemas={"orders": "id 4"}), row(1), row(0, schemas={"orders": "id 3"})])
    newer = chunk_of([row(4, schemas={"orders": "id 4"}), row(3, schemas={"orders": "id 4", "new": "id 9"})])
    found: Any = charted(Facts((newer, older), 5, 5, True), Window("hour", (BEGAN_MS, BEGAN_MS + HOUR_MS)))
    assert [(each["seq"], each["text"]) for each in found["marks"]] == [(2, "orders: id 3 → id 4")]


def test_numbers_of_an_entry_that_somebody_made_up() -> None:
    """Counts as large as they may be, and times before their interval, make bars all the same."""
    from kafka_s3_airflow.page.charts import Window, charted
    from kafka_s3_airflow.page.commit_facts import Facts, chunk_of

    huge = row(0, records=2**80, bytes=2**63, interval_ms=[0, 2**63 - 1], gaps=["x" * 100_000] * 20)
    chunk = chunk_of([huge] * 200)
    found: Any = charted(Facts((chunk,), 200, 200, True), Window("hour", (BEGAN_MS, BEGAN_MS + HOUR_MS)))
    assert found["bars"][0]["records"] == 200 * (2**63 - 1)
    assert found["bars"][0]["delay_ms"] is None
    assert sum(len(each["text"]) for each in found["marks"]) < 10_000
    assert found["marks_omitted"] == 200 * 20 - len(found["marks"])


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Sao_Paulo", "Asia/Kolkata", "Pacific/Apia", "UTC"])
def test_bars_are_those_of_the_calendar(zone: str) -> None:
    """Days and months begin at midnight of the zone, whatever the clock did, and follow each other without a gap."""
    from kafka_s3_airflow.page.charts import window_of

    there = ZoneInfo(zone)
    for per, size in (("hour", 100), ("day", 190), ("month", 190)):
        days = {"hour": 1 / 24, "day": 1, "month": 30.4}[per]
        began_ms = int(datetime(2011, 10, 1, tzinfo=UTC).timestamp() * 1000)
        window = window_of(per, there, began_ms, began_ms + int(size * days * 24 * HOUR_MS), 0)
        assert window is not None
        starts = [datetime.fromtimestamp(each / 1000, there) for each in window.edges]
        assert list(window.edges) == sorted(set(window.edges))
        if per != "hour":
            assert all((each.hour, each.minute) in ((0, 0), (1, 0)) for each in starts)
        if per == "month":
            assert [each.day for each in starts] == [1] * len(starts)
    newest = window_of("day", there, None, None, began_ms)
    assert newest is not None
    assert len(newest.edges) == 61
    assert newest.from_ms < began_ms < newest.to_ms


@pytest.mark.parametrize(("from_ms", "to_ms"), [(5, 5), (7, 5), (0, 10**13), (0, 201 * HOUR_MS)])
def test_windows_that_are_none(from_ms: int, to_ms: int) -> None:
    """Times in the wrong order, or more bars than are shown, are refused."""
    from kafka_s3_airflow.page.charts import window_of

    assert window_of("hour", UTC, from_ms, to_ms, 0) is None


def test_lag_is_kept_by_the_minute() -> None:
    """The newest answer of a minute counts, the oldest points go first, and so do connectors nobody asks about."""
    from kafka_s3_airflow.page.lags import Lag, Lags

    lags = Lags(kept_of_one=3, connectors_max=2)
    for minute in range(5):
        for second in (1, 30):
            lags.add("a", Lag(minute * 60_000 + second * 1000, minute * 100 + second, None))
    assert [each.records for each in lags.of("a")] == [230, 330, 430]
    lags.add("b", Lag(0, 1, 0))
    lags.add("c", Lag(0, 1, 0))
    assert (lags.of("a"), len(lags.of("b"))) == ([], 1)
