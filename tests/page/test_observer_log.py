"""What the page knows of a log: commits, objects, plans and windows, and what reading them costs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.log.store import Log
from kafka_s3.naming import LogLayout
from kafka_s3.records import Record
from tests.export.harness import MemoryExport
from tests.page import observed
from tests.page.observed import BOUND_S, ObservedConnector
from tests.support import make_settings
from tools.long_log import write_log

seen = observed.seen
pytestmark = pytest.mark.filterwarnings("ignore")


def test_pages_of_a_long_log(seen: ObservedConnector) -> None:
    """10,000 commits are paged: each page is a LIST of entries, one of plans, and a GET for each commit not seen; and
    first of all two LISTs which log it is, of one without an epoch."""
    write_log(seen.world.exporter.log, 10_000)
    store = seen.world.store
    store.requests.clear()
    first = seen.commits()
    assert [row["seq"] for row in first] == list(range(9_999, 9_949, -1))
    assert sorted(each.operation for each in store.requests) == ["GetObject"] * 50 + ["ListObjectsV2"] * 4
    second = seen.commits(before=first[-1]["seq"])
    assert [row["seq"] for row in second] == list(range(9_949, 9_899, -1))
    last = seen.commits(before=20)
    assert [row["seq"] for row in last] == list(range(19, -1, -1))


def test_a_page_that_was_read_costs_one_list(seen: ObservedConnector) -> None:
    """Entries never change: read again, a page needs no GET."""
    write_log(seen.world.exporter.log, 60)
    first = seen.commits(before=55)
    seen.world.store.requests.clear()
    seen.later()
    shown = seen.commits(before=55)
    deadline = time.monotonic() + BOUND_S
    while not seen.world.store.requests:  # what was known is answered at once, and read again behind it
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert shown == first
    assert {each.operation for each in seen.world.store.requests} == {"ListObjectsV2"}


def test_the_commits_of_a_run(seen: ObservedConnector) -> None:
    """The commits of a run are found by when it was at work, or by looking where that is not known."""
    for number in range(3):
        for _ in range(2):
            seen.world.produce(0, 1)
            seen.world.run()
        seen.world.runs = number
    newest = seen.commits()
    wanted = newest[1]["run_id"]
    span = (newest[-1]["at_ms"], newest[0]["at_ms"])
    expected = [row["seq"] for row in newest if row["run_id"] == wanted]
    assert [row["seq"] for row in seen.commits(run_id=wanted, span_ms=span)] == expected
    assert [row["seq"] for row in seen.commits(run_id=wanted)] == expected
    assert seen.commits(run_id="another") == []
    long_before = (span[0] - 10**9, span[1] - 10**9)
    assert seen.commits(run_id=wanted, span_ms=long_before) == []


def test_an_old_run_is_found_by_halving(seen: ObservedConnector) -> None:
    """A run at the beginning of 10,000 commits is found in some thirty requests, not by reading them all."""
    from kafka_s3_airflow.page.history import History, Rows

    store = AgedStore()
    log = Log(store, LogLayout("_kafka_s3", "orders"))
    write_log(log, 3_000)
    store.requests.clear()
    page = History(log, Rows(), "here").of_run("run-7", (7 * HOUR_MS, 7 * HOUR_MS + 1), 2_999)
    assert [row["seq"] for row in page.rows] == [7]
    assert sum(each.operation == "ListObjectsV2" for each in store.requests) <= 20
    assert sum(each.operation == "GetObject" for each in store.requests) <= 50


HOUR_MS = 3_600_000


class AgedStore(MemoryStore):
    """A store in which each log entry is an hour older than the next."""

    def list(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> Iterator[Any]:
        from dataclasses import replace

        from kafka_s3.naming import parse_seq

        for info in super().list(prefix, start_after=start_after, limit=limit):
            yield replace(info, modified_ms=(parse_seq(info.key) or 0) * HOUR_MS)


def test_a_look_at_a_log_where_nothing_is_new(seen: ObservedConnector) -> None:
    """Looked at again, a log costs one LIST and the GET of the plan that may be open, and every five minutes those two
    for which log it is; a new commit is read."""
    seen.world.produce(0, 4)
    seen.world.run()
    shown = seen.observer.connector("orders")
    assert shown is not None

    def look() -> list[str]:
        """The keys that one look at the log asks for."""
        seen.later(300_000)
        seen.world.store.requests.clear()
        deadline = time.monotonic() + BOUND_S
        while seen.observer.log(shown).at_ms != seen.now_ms:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        return [each.key for each in seen.world.store.requests]

    layout = seen.world.exporter.log.layout
    assert len(look()) > 2
    assert look() == [layout.epoch_prefix, layout.epoch_key(0), layout.log_prefix, layout.plan_key(2)]
    seen.world.produce(0, 1)
    seen.world.run()
    assert layout.log_key(2) in look()
    answer = seen.observer.log(shown).value
    assert answer is not None
    assert answer.head is not None
    assert answer.head.seq == 2


def test_objects_of_a_commit(seen: ObservedConnector) -> None:
    """A commit in full: its ranges with their counts, and each object with key, size and offsets."""
    from kafka_s3_airflow.page.observer import EntryWanted

    seen.world.produce(0, 4)
    seen.world.run()
    found = asyncio.run(seen.observer.entry(EntryWanted("orders", 1), BOUND_S)).value
    assert found is not None
    objects: Any = found["objects"]
    assert [(each["records"], each["first_offset"], each["last_offset"]) for each in objects] == [(3, 0, 2), (1, 3, 3)]
    assert all(each["key"] in seen.world.store.contents() for each in objects)
    missing = asyncio.run(seen.observer.entry(EntryWanted("orders", 7), BOUND_S))
    assert (missing.value, missing.error) == (None, "The log has no entry 7.")


def test_why_records_were_rejected(tmp_path: Path) -> None:
    """Dead letters of a commit are shown by their reason; neither their key nor their value is."""
    from kafka_s3_airflow.page.observer import EntryWanted

    seen = ObservedConnector(tmp_path, MemoryExport(settings=make_settings(tolerate=True)))
    seen.world.produce(0, 2)
    seen.world.broker.append("orders", 0, Record(2, b"{secret"))
    seen.world.run()
    assert seen.commits()[0]["rejected"] == 1
    found: Any = asyncio.run(seen.observer.letters(EntryWanted("orders", 1), BOUND_S)).value
    assert [(each["partition"], each["offset"], each["stage"]) for each in found["letters"]] == [
        (0, 2, "VALUE_CONVERTER")
    ]
    assert found["letters"][0]["error"]
    assert "value" not in found["letters"][0]


def test_an_open_plan_is_shown(seen: ObservedConnector) -> None:
    """A plan without its entry: which run it is of, and how much it covers."""
    from kafka_s3.export.run import prepare
    from tests.support import request

    seen.world.produce(0, 3)
    prepare(seen.world.exporter, request("died"))
    plan = seen.detail()["open_plan"]
    assert (plan["seq"], plan["run_id"], plan["offsets"]) == (1, "died", 3)


def test_what_was_exported_again(tmp_path: Path) -> None:
    """Intervals that were exported again are listed, with what they hold and where it lies."""
    from tests.reexport.windows import WindowExport

    world: Any = WindowExport()
    world.export(120, 150, 250)
    seen = ObservedConnector(tmp_path, world)
    assert asyncio.run(seen.observer.windows("orders", BOUND_S)).value == {"windows": [], "windows_max": 50}
    assert world.again("again").exit_status == 0
    seen.later()
    asyncio.run(seen.observer.windows("orders", BOUND_S))
    deadline = time.monotonic() + BOUND_S
    while True:
        found: Any = asyncio.run(seen.observer.windows("orders", BOUND_S)).value
        if found["windows"]:
            break
        assert time.monotonic() < deadline
    (window,) = found["windows"]
    assert (window["interval_ms"], window["is_committed"], window["records"]) == ([100, 200], True, 2)
    assert window["run_id"] == "again"
    assert sum(key.startswith(window["prefix"]) for key in world.store.contents()) == window["objects"] > 0
