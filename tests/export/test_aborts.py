"""No multipart upload stays open: of a range that ends early, whatever ended it, and of a run that died."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kafka_s3.adapters.memory import MemoryBroker, MemoryStore
from kafka_s3.bucket import owners
from kafka_s3.crash_points import CrashPoint
from kafka_s3.errors import StoreRefused, StoreUnavailable
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import run
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.log.entries import PlannedRange
from kafka_s3.log.store import Log
from kafka_s3.naming import LogLayout
from kafka_s3.plan.results import RangeResult
from kafka_s3.ports import PartitionOffsets, Put
from kafka_s3.records import Record
from tests.export.place import SimpleExport
from tests.scenario.processes import Fate, Process, ProcessKilled, What
from tests.support import hear, identified, make_settings, request

BAD_EVERY, RECORDS = 4, 40
#: Four objects in parts are open at a time or one after the other; dead letters have parts, too.
SETTINGS = make_settings(flush_size=10, part_size=64, tolerate=True)
ENDINGS = [StoreUnavailable("out"), StoreRefused("no"), KeyError("a bug"), KeyboardInterrupt(), SystemExit(75)]
OPERATIONS = ["HeadObject", "CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload", "read"]


class AbortedExport:
    """A bucket and a topic with records, every fourth of them bad; `export` is one task."""

    def __init__(self) -> None:
        self.store = MemoryStore(part_bytes_min=1)
        self.broker = MemoryBroker(batch_records=7)
        self.broker.create_topic("orders", 1)
        for offset in range(RECORDS):
            bad = offset % BAD_EVERY == 3
            self.broker.append("orders", 0, Record(offset, b"{" * 200) if bad else identified(0, offset))

    def export(self) -> RangeResult:
        planned = PlannedRange(topic="orders", partition=0, start=0, end=RECORDS)
        task = RangeTask(planned, 0, 0, PartitionOffsets(0, RECORDS, RECORDS))
        return export_range(SETTINGS, task, self.store, self.broker)

    def fail(self, operation: str, error: Any, skip: int) -> None:
        if operation == "read":
            self.broker.fail_next("read", error, skip=skip)
        else:
            self.store.fail_next(operation, error, skip=skip)


def requests_of(operation: str) -> int:
    world = AbortedExport()
    assert world.export().failure is None
    if operation == "read":
        return world.broker.requests.count("read")
    return [each.operation for each in world.store.requests].count(operation)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("error", ENDINGS, ids=lambda error: type(error).__name__)
def test_no_upload_is_left_open(operation: str, error: BaseException) -> None:
    """Each request of its kind fails in turn: uploads are aborted; after an unexpected one it is tried again."""
    count = requests_of(operation)
    assert count > 1
    for skip in range(count):
        world = AbortedExport()
        world.fail(operation, error, skip)
        if isinstance(error, StoreUnavailable | StoreRefused):
            failure = world.export().failure
            assert failure is not None
            assert str(error) in failure.reason
        elif isinstance(error, Exception):
            assert world.export().failure is None
        else:
            with pytest.raises(type(error)):
                world.export()
        assert world.store.uploads_open() == 0, f"request {skip + 1} of {count}"
        assert world.broker.readers_open == 0
        assert world.export().failure is None
        assert world.store.uploads_open() == 0


def store_with_an_entry() -> tuple[MemoryStore, Log]:
    store = MemoryStore(part_bytes_min=1)
    log = Log(store, LogLayout("_kafka_s3", "orders"))
    store.put_if_absent(log.layout.log_key(0), b"entry")
    return store, log


@pytest.mark.parametrize("operation", ["CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload"])
@pytest.mark.parametrize("error", ENDINGS, ids=lambda error: type(error).__name__)
def test_the_first_look_at_a_store_leaves_no_upload_open(operation: str, error: Any) -> None:
    """The probe before the first plan uploads a part, and gives it up whatever happens to it."""
    store, log = store_with_an_entry()
    before = store.contents()
    store.fail_next(operation, error)
    with pytest.raises(type(error)):
        owners.probe(log, 0)
    assert store.uploads_open() == 0
    owners.probe(log, 0)
    assert store.uploads_open() == 0
    assert store.contents() == before


def test_the_first_look_aborts_what_a_killed_one_left() -> None:
    """A process that dies aborts nothing; the next one does, unless it may not list uploads, and then it goes on."""
    store, log = store_with_an_entry()
    for seq in (0, 1):  # an entry for a new topic may have come since
        store.start_multipart(log.layout.log_key(seq)).put_part(b"entry")
    store.fail_next("ListMultipartUploads", StoreRefused("s3:ListBucketMultipartUploads is not allowed."))
    owners.probe(log, 0)
    assert store.uploads_open() == 2
    owners.probe(log, 0)
    assert store.uploads_open() == 0


def test_an_owner_that_is_there_and_is_not() -> None:
    """A store that contradicts itself may do better the next time: that is no reason to refuse it for good."""

    class Contradicting(MemoryStore):
        def put_if_absent(self, key: str, body: bytes, **more: Any) -> Put:
            return Put.EXISTS

    log = Exporter(SETTINGS, Contradicting(), MemoryBroker()).log
    with pytest.raises(StoreUnavailable, match="404 to a GET"):
        owners.claim(log, SETTINGS, "orders")


# Of runs that die.


class Runs:
    """Runs of one partition whose only object takes three parts; `fates` are those of one process."""

    def __init__(self) -> None:
        self.place = SimpleExport(1, MemoryStore(part_bytes_min=1), flush_size=10, part_size=100)
        self.place.produce(0, 10)

    def run(self, try_number: int, *fates: Fate, worker: Sequence[Fate] = (), run_id: str = "run") -> Process:
        """`worker`: the fates of a Spark task that is repeated in another process when it has died."""
        process = Process(self.place.store, self.place.broker, fates=list(fates))
        exporter = Exporter(self.place.settings, process.store, process.broker)
        asked = request(run_id, try_number=try_number, planned_apart=True)

        def execute(tasks: Sequence[RangeTask]) -> list[RangeResult]:
            if worker:
                died = Process(self.place.store, self.place.broker, fates=list(worker))
                died.start(lambda: self._export(died, tasks))
                assert isinstance(died.error, ProcessKilled)
            return self._export(process, tasks)

        process.start(lambda: run(exporter, asked, execute, hear(self.place.told)))
        return process

    def _export(self, process: Process, tasks: Sequence[RangeTask]) -> list[RangeResult]:
        return [export_range(self.place.settings, task, process.store, process.broker) for task in tasks]

    @property
    def open(self) -> int:
        return self.place.store.uploads_open()


def test_a_driver_that_dies_between_its_commit_and_its_sweep() -> None:
    """What the try before it had left is swept by the next try of that run, which finds nothing else to do."""
    runs = Runs()
    assert isinstance(runs.run(1, Fate(What.DIE, 1, point=CrashPoint.SENT_PART)).error, ProcessKilled)
    assert isinstance(runs.run(2, Fate(What.DIE, 1, point=CrashPoint.COMMITTED)).error, ProcessKilled)
    assert runs.open == 1
    assert runs.run(3).error is None
    assert runs.open == 0
    assert runs.place.offsets_in_bucket(0) == list(range(10))


def test_a_spark_task_that_was_killed_and_repeated() -> None:
    """Spark repeats it within the same job, so no later try sweeps: the commit itself aborts what the first left."""
    runs = Runs()
    assert runs.run(1, worker=[Fate(What.DIE, 1, point=CrashPoint.SENT_PART)]).error is None
    assert runs.open == 0
    assert "commit 1: 1 open uploads of its objects were aborted" in runs.place.told


def test_only_objects_in_parts_are_looked_after() -> None:
    """Small objects cost no further request; without the permission to list uploads nothing is said."""
    runs = Runs()
    runs.place.store.fail_next("ListMultipartUploads", StoreRefused("no"))
    assert runs.run(1).error is None
    assert not any("upload" in line for line in runs.place.told)
    place = SimpleExport(1, flush_size=10)
    place.produce(0, 10)
    place.run()
    assert "ListMultipartUploads" not in place.operations("topics/")
