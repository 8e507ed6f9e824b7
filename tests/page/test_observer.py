"""What the page knows, over buckets and brokers in memory: no web, and no Airflow besides its settings."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.errors import ConfigurationError, KafkaUnavailable
from kafka_s3.log.store import Log
from kafka_s3.naming import LogLayout
from kafka_s3.ports import Broker
from kafka_s3.records import Record
from kafka_s3.settings.model import Settings
from tests.export.harness import MemoryExport
from tests.support import make_settings
from tools.long_log import write_log

pytestmark = pytest.mark.filterwarnings("ignore")

CONNECTOR = """\
name=orders
connector.class=io.confluent.connect.s3.S3SinkConnector
topics=orders
s3.bucket.name=archive
s3.region=us-east-1
storage.class=io.confluent.connect.s3.storage.S3Storage
format.class=io.confluent.connect.s3.format.json.JsonFormat
flush.size=100
"""
BOUND_S = 30


@dataclass
class Seen:
    """An observer of one connector, whose file is `orders.properties`, over a world in memory."""

    folder: Path
    world: MemoryExport = field(default_factory=MemoryExport)
    now_ms: int = 10**12
    kafka_is_up: bool = True
    problem: ConfigurationError | None = None
    held: threading.Event | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from kafka_s3_airflow.page.folder import Folder
        from kafka_s3_airflow.page.observer import Observer

        (self.folder / "orders.properties").write_text(CONNECTOR)
        self.observer = Observer(
            Folder(self.folder),
            load=self._load,
            make_store=lambda _: self.world.store,
            make_broker=self._broker,
            find_facts=lambda connectors: self.facts,
            now_ms=lambda: self.now_ms,
        )

    def _load(self, connector: Any) -> Settings:
        if self.problem is not None:
            raise self.problem
        return self.world.settings

    def _broker(self, _: Settings) -> Broker:
        if self.held is not None:
            self.held.wait(BOUND_S)
        if not self.kafka_is_up:
            raise KafkaUnavailable("No broker answered.")
        return self.world.broker

    def detail(self, wanted: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        """What the page shows of the connector, once it is what is wanted."""
        from kafka_s3_airflow.page import views

        shown = self.observer.connector("orders")
        assert shown is not None
        deadline = time.monotonic() + BOUND_S
        while True:
            asyncio.run(self.observer.await_first([shown], BOUND_S))
            log, kafka = self.observer.log(shown), self.observer.kafka(shown)
            found = views.detail(shown, log, kafka, self.observer.facts(shown), self.now_ms)
            if log.open_ms is None and wanted(found):
                return found
            assert time.monotonic() < deadline, found
            time.sleep(0.01)

    def known(self) -> dict[str, Any]:
        """The same once Kafka has answered."""
        return self.detail(lambda found: bool(found["kafka_at_ms"] == self.now_ms))

    def later(self, ms: int = 60_000) -> None:
        self.now_ms += ms

    def commits(self, **wanted: Any) -> list[dict[str, Any]]:
        from kafka_s3_airflow.page.observer import CommitsWanted

        self.later()
        answer = asyncio.run(self.observer.commits(CommitsWanted("orders", **wanted), BOUND_S))
        assert answer.value is not None, answer.error
        return [dict(row) for row in answer.value.rows]


@pytest.fixture
def seen(tmp_path: Path) -> Iterator[Seen]:
    made = Seen(tmp_path)
    yield made
    if made.held is not None:
        made.held.set()


def test_a_connector_that_never_ran(seen: Seen) -> None:
    """Nothing exported yet is a state of its own, with what to do; lag and positions are as Kafka has them."""
    seen.world.produce(0, 4)
    found = seen.known()
    assert (found["state"], found["lag_records"], found["entries"]) == ("never_ran", 4, None)
    assert found["why"] == ["Nothing exported yet: unpause the DAG, or trigger it."]
    assert [(each["partition"], each["position"], each["last_stable"]) for each in found["partitions"]] == [
        (0, 0, 4),
        (1, 0, 0),
    ]


def test_a_connector_that_is_ok(seen: Seen) -> None:
    """The newest commit, the lag behind it, and each partition's position beside Kafka's offsets."""
    seen.world.produce(0, 4)
    seen.world.run()
    found = seen.known()
    assert (found["state"], found["why"], found["lag_records"], found["last_records"]) == ("ok", [], 0, 4)
    seen.world.produce(0, 2)  # of 1970, so that their interval is long over
    seen.later()
    found = seen.known()
    assert (found["state"], found["lag_records"], found["lag_ms"]) == ("late", 2, seen.now_ms)
    assert found["last_commit_ms"] is not None
    first = found["partitions"][0]
    assert (first["log_start"], first["position"], first["last_stable"], first["high_watermark"]) == (0, 4, 6, 6)
    assert (first["lag"], first["generation"], first["trouble"]) == (2, 0, None)


def test_positions_are_the_logs_where_kafkas_answer_is_older(seen: Seen) -> None:
    """A commit shows at once: the lag is what Kafka said last, less what the log holds by now."""
    seen.world.produce(0, 4)
    assert seen.known()["lag_records"] == 4
    seen.world.run()
    seen.held = threading.Event()
    seen.later()
    found = seen.detail(lambda found: found["entries"] is not None)
    assert (found["lag_records"], found["partitions"][0]["position"]) == (0, 4)


def test_kafka_down_is_shown_with_what_was_known(seen: Seen) -> None:
    """A broker that does not answer leaves the last answer, marked as stale with its age, and the reason."""
    seen.world.produce(0, 4)
    seen.world.run()
    seen.world.produce(0, 3)
    before = seen.known()
    assert not before["kafka_is_stale"]
    seen.kafka_is_up = False
    seen.later()
    found = seen.detail(lambda found: found["kafka_error"] is not None)
    assert (found["state"], found["kafka_error"]) == ("kafka_down", "No broker answered.")
    assert (found["lag_records"], found["kafka_is_stale"], found["kafka_at_ms"]) == (3, True, before["kafka_at_ms"])


def test_a_broker_that_hangs_delays_nothing(seen: Seen) -> None:
    """While Kafka is asked the log's part is there; after the limit the connector counts as one whose Kafka is down.
    It is asked once, however often somebody looks."""
    asked: list[int] = []
    seen.world.produce(0, 4)
    seen.world.run()
    seen.held = threading.Event()
    waited = seen.held.wait
    seen.held.wait = lambda timeout=None: asked.append(1) is None and waited(timeout)  # type: ignore[method-assign]
    found = seen.detail()
    assert (found["state"], found["lag_records"], found["last_records"]) == ("asking", None, 4)
    for _ in range(1000):  # its thread may not have come so far
        if asked:
            break
        time.sleep(0.01)
    seen.later(16_000)
    found = seen.detail()
    assert (found["state"], found["kafka_error"]) == ("kafka_down", "Kafka has not answered for 16 s.")
    assert asked == [1]
    seen.held.set()
    seen.later()
    assert seen.known()["state"] == "ok"


def test_a_failed_range_needs_attention(seen: Seen) -> None:
    """A bad record that may not be skipped is named, on the line of its connector and in its commit."""
    seen.world.produce(0, 2)
    seen.world.broker.append("orders", 0, Record(2, b"{"))
    seen.world.run()
    found = seen.known()
    assert found["state"] == "failed"
    (why,) = found["why"]
    assert "errors.tolerance=all" in why
    (failed,) = seen.commits()[0]["failed"]
    assert failed.startswith("orders-0 [2, 3): ")
    assert failed.removeprefix("orders-0 [2, 3): ") in why


def test_a_partition_that_lost_data_is_marked(seen: Seen) -> None:
    """What Kafka deleted before it was exported is said of the partition, which stands below the log start."""
    seen.world.produce(0, 2)
    seen.world.run()
    seen.world.broker.set_log_start("orders", 0, 5)
    found = seen.known()
    assert found["state"] == "failed"
    first = found["partitions"][0]
    assert "[2, 5) are gone" in first["trouble"]
    assert first["position"] < first["log_start"]


def test_a_run_that_failed(seen: Seen) -> None:
    """A run that failed before it wrote anything, say at its configuration, shows by what Airflow knows of it."""
    from kafka_s3_airflow.page.model import AirflowFacts, RunFacts

    seen.world.produce(0, 2)
    seen.world.run()
    seen.facts["orders"] = AirflowFacts(False, RunFacts("manual__1", "failed"), "orders__verify", None)
    found = seen.detail(lambda found: found["last_run"] is not None)
    assert (found["state"], found["is_paused"]) == ("failed", False)
    assert found["why"] == ["The newest run of its DAG failed: manual__1."]


def test_a_broken_configuration(seen: Seen) -> None:
    """A file that is wrong says everything that is wrong with it; nobody is asked about it."""
    (seen.folder / "orders.properties").write_text(CONNECTOR.replace("flush.size=100", "flush.size=many"))
    seen.world.store.requests.clear()
    found = seen.detail()
    assert found["state"] == "broken"
    assert any("flush.size=many" in why for why in found["why"])
    assert seen.world.store.requests == []


def test_what_only_a_connection_shows_to_be_wrong(seen: Seen) -> None:
    """A problem that shows once connections and secrets are looked up is shown, too."""
    seen.problem = ConfigurationError("orders.properties cannot be used: no brokers are named.")
    found = seen.detail()
    assert (found["state"], found["why"]) == ("broken", ["orders.properties cannot be used: no brokers are named."])


def test_a_damaged_log_is_shown_and_the_rest_stays(seen: Seen) -> None:
    """A newest entry that cannot be believed is the connector's error; in the timeline it is one row among others."""
    for _ in range(3):
        seen.world.produce(0, 1)
        seen.world.run()
    log = seen.world.exporter.log
    seen.world.store.overwrite(log.layout.log_key(2), b"{}")
    assert [(row["seq"], row["kind"]) for row in seen.commits()] == [
        (3, "commit"),
        (2, "damaged"),
        (1, "commit"),
        (0, "checkpoint"),
    ]
    seen.world.store.overwrite(log.layout.log_key(3), b"{}")
    seen.later()
    found = seen.detail()
    assert found["state"] == "failed"
    assert log.layout.log_key(3) in found["why"][0]


def test_pages_of_a_long_log(seen: Seen) -> None:
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


def test_a_page_that_was_read_costs_one_list(seen: Seen) -> None:
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


def test_the_commits_of_a_run(seen: Seen) -> None:
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


def test_an_old_run_is_found_by_halving(seen: Seen) -> None:
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


def test_a_look_at_a_log_where_nothing_is_new(seen: Seen) -> None:
    """Looked at again, a log costs one LIST and the GET of the plan that may be open, and once a minute those two for
    which log it is; a new commit is read."""
    seen.world.produce(0, 4)
    seen.world.run()
    shown = seen.observer.connector("orders")
    assert shown is not None

    def look() -> list[str]:
        """The keys that one look at the log asks for."""
        seen.later()
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


def test_objects_of_a_commit(seen: Seen) -> None:
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

    seen = Seen(tmp_path, MemoryExport(settings=make_settings(tolerate=True)))
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


def test_an_open_plan_is_shown(seen: Seen) -> None:
    """A plan without its entry: which run it is of, and how much it covers."""
    from kafka_s3.export.run import prepare
    from tests.support import request

    seen.world.produce(0, 3)
    prepare(seen.world.exporter, request("died"))
    plan = seen.detail()["open_plan"]
    assert (plan["seq"], plan["run_id"], plan["offsets"]) == (1, "died", 3)


def test_what_was_exported_again(tmp_path: Path) -> None:
    """Intervals that were exported again are listed, with what they hold and where it lies."""
    from tests.reexport.windows import Windows

    world: Any = Windows()
    world.export(120, 150, 250)
    seen = Seen(tmp_path, world)
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


def test_a_new_file_is_seen(seen: Seen) -> None:
    """A connector that is added, changed or taken away shows at the next look, without a restart."""
    assert [each.dag_id for each in seen.observer.connectors()] == ["orders"]
    (seen.folder / "payments.properties").write_text(CONNECTOR.replace("orders", "payments"))
    assert [each.dag_id for each in seen.observer.connectors()] == ["orders", "payments"]
    (seen.folder / "orders.properties").unlink()
    assert [each.dag_id for each in seen.observer.connectors()] == ["payments"]


def test_what_belongs_to_a_connector_leads_to_it(seen: Seen) -> None:
    """The page of a DAG beside a connector's, such as its verification, is the connector's."""
    for dag_id in ("orders", "orders__verify"):
        shown = seen.observer.connector(dag_id)
        assert shown is not None
        assert shown.dag_id == "orders"
    assert seen.observer.connector("other") is None


def test_a_folder_that_cannot_be_read(tmp_path: Path) -> None:
    """Without the folder the page says so, and how to name another."""
    from kafka_s3_airflow.page.folder import Folder, folder_of

    (shown,) = Folder(tmp_path / "nowhere").connectors()
    assert "KAFKA_S3_CONNECTORS names another one" in shown.problems[0]
    assert folder_of({}, "/somewhere/dags") == Path("/somewhere/connectors")
    assert folder_of({"KAFKA_S3_CONNECTORS": "/mine"}, "/somewhere/dags") == Path("/mine")
