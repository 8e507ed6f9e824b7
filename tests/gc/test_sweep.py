"""What a driver sweeps once it has finished what another had begun; and collections on real servers."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest

from kafka_s3.adapters.memory import MemoryBroker, MemoryStore
from kafka_s3.adapters.s3 import S3Store
from kafka_s3.bucket.orphans import keys_of
from kafka_s3.errors import StoreRefused, StoreUnavailable
from kafka_s3.events import SweepFailed, Swept, UploadsNotListed
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import run
from kafka_s3.export.sweep import sweep
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.gc.gc import collect, delete
from kafka_s3.log.entries import Kind
from kafka_s3.log.plans import InheritedPlan, StoredPlan
from kafka_s3.log.store import Log
from kafka_s3.naming import DataName, KeyLayout, format_data_key
from kafka_s3.plan.results import RangeResult
from kafka_s3.ports import Put
from kafka_s3.settings.paths import DefaultPartitioner, FieldPartitioner, Partitioner
from kafka_s3.settings.s3 import S3Settings
from kafka_s3.settings.values import NullValues
from tests.export.harness import MemoryExport
from tests.gc.test_gc import TP, _log, _put
from tests.log.logs import HandMade, settings_of
from tests.support import make_settings, request
from tools.parts.s3 import S3Server

# What a driver sweeps, after it has finished what another had begun.


class _DiedError(BaseException):
    """kill -9."""


def _left_open(partitioner: Partitioner, *, ranges_done: int) -> tuple[MemoryExport, InheritedPlan]:
    """A plan whose driver died after so many ranges, in other bytes than the next driver's, with an upload open."""
    world = MemoryExport(settings=make_settings(partitioner=partitioner, flush_size=2, range_records_max=4))
    world.produce(0, 4)
    world.run()
    world.produce(0, 8)
    world.produce(1, 4)
    strange = replace(world.settings, format=replace(world.settings.format, null_values=NullValues.IGNORE))

    def die(tasks: Sequence[RangeTask]) -> list[RangeResult]:
        for task in tasks[:ranges_done]:
            made = export_range(strange, task, _Altered(world.store), world.broker)  # type: ignore[arg-type]
            assert made.failure is None
        world.store.start_multipart(format_data_key(KeyLayout(), _name(tasks[-1])))
        raise _DiedError

    with contextlib.suppress(_DiedError):
        run(world.exporter, request("dies"), die, lambda _: None)
    head = world.exporter.log.newest()
    assert head is not None
    planned = world.exporter.log.open_plan(head)
    assert planned is not None
    return world, _inherited(planned)


def _inherited(found: StoredPlan) -> InheritedPlan:
    return InheritedPlan(found.plan, found.sha256)


def _name(task: RangeTask) -> DataName:
    planned = task.planned
    return DataName(planned.topic, f"partition={planned.partition}", planned.partition, planned.start, ".json")


@dataclass
class _Altered:
    """A store through which a machine of another kind writes: other bytes of the same records."""

    inner: MemoryStore

    def put_if_absent(self, key: str, body: bytes, **more: object) -> Put:
        return self.inner.put_if_absent(key, body + b"\n", metadata={})

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


@pytest.mark.parametrize("partitioner", [DefaultPartitioner(), FieldPartitioner(("o",))])
def test_a_sweep_deletes_what_the_earlier_driver_left(partitioner: Partitioner) -> None:
    """After the commit of its plan, objects in other bytes and open uploads of a dead driver are gone; what is listed,
    and what lies outside of the plan's offsets, stays."""
    world, plan = _left_open(partitioner, ranges_done=2)
    before = set(world.store.contents())
    outside = format_data_key(KeyLayout(), DataName("orders", "partition=0", 0, 1, ".json"))
    world.store.overwrite(outside, b"of another plan")
    world.run()
    listed = {key for committed in world.exporter.log.entries() for key in keys_of(committed.entry)}
    left = {key for key in before if key.startswith("topics/")} - listed
    assert len(left) > 1
    assert left <= world.store.contents().keys() or not left & world.store.contents().keys()
    sweep(world.exporter, plan)
    contents = world.store.contents()
    assert not left & contents.keys()
    assert world.store.uploads_open() == 0
    assert listed <= contents.keys()
    assert outside in contents
    assert sweep(world.exporter, plan) == []


def test_a_sweep_looks_at_its_own_offsets_alone() -> None:
    """Under the default partitioner a sweep lists the keys of the plan's offsets, whatever else is in the topic, and
    reads no entry before the plan's."""
    made = HandMade(settings_of())
    made.begin({"orders": 1})
    for start in range(0, 400, 10):
        made.commit([("orders", 0, start, start + 10)])
    assert made.head is not None
    plan = made.log.plan(made.head.entry.seq)
    assert plan is not None
    left = made.key(TP, 391)
    _put(made, left)
    exporter = Exporter(made.settings, made.store, MemoryBroker()).at_work()
    made.store.requests.clear()
    assert sweep(exporter, _inherited(plan)) == [Swept(seq=plan.plan.seq, objects=1, uploads=0)]
    assert left not in made.store.contents()
    gets = [each.key for each in made.store.requests if each.operation == "GetObject"]
    assert len([key for key in gets if "/log/" in key]) == 1
    assert len(made.store.requests) < 12


def test_a_sweep_leaves_a_plan_alone_that_is_not_committed() -> None:
    """An open plan's objects will be committed, a voided one's lie above the positions: both stay."""
    made = _log()
    planned = made.plan([("orders", 0, 20, 30)])
    key = made.key(TP, 20)
    _put(made, key)
    exporter = Exporter(made.settings, made.store, MemoryBroker())
    assert sweep(exporter, _inherited(planned)) == []
    made.put(Kind.VOID, plan_sha256=planned.sha256)
    assert sweep(exporter, _inherited(planned)) == []
    assert key in made.store.contents()


def test_what_a_failed_range_left_stays_for_its_retry() -> None:
    """Above the position that its commit reached, a plan's objects are adopted by the next one."""
    made = _log()
    planned = made.plan([("orders", 0, 20, 30), ("orders", 0, 30, 40)])
    adoptable, doomed = made.key(TP, 30), made.key(TP, 22)
    _put(made, adoptable, doomed)
    made.commit([("orders", 0, 20, 30)], planned)
    sweep(Exporter(made.settings, made.store, MemoryBroker()), _inherited(planned))
    assert adoptable in made.store.contents()
    assert doomed not in made.store.contents()


def test_what_a_later_commit_took_over_stays() -> None:
    """A range that failed is committed by a later entry, under the keys of the plan that is swept: they stay."""
    made = _log()
    planned = made.plan([("orders", 0, 20, 30), ("orders", 0, 30, 40)])
    made.commit([("orders", 0, 20, 30)], planned)
    made.commit([("orders", 0, 30, 40)])
    made.commit([("orders", 0, 40, 50)])
    before = made.store.contents()
    assert sweep(Exporter(made.settings, made.store, MemoryBroker()), _inherited(planned)) == []
    assert made.store.contents() == before


@pytest.mark.parametrize("operation", ["ListObjectsV2", "GetObject", "DeleteObject", "ListMultipartUploads"])
def test_a_sweep_that_fails_is_told_and_not_raised(operation: str) -> None:
    """The export is complete without it: what went wrong is a sentence, and gc finds the rest."""
    made = _log()
    plan = made.log.plan(2)
    assert plan is not None
    _put(made, made.key(TP, 12))
    made.store.fail_next(operation, StoreUnavailable("The store is out."))
    (told,) = sweep(Exporter(made.settings, made.store, MemoryBroker()), _inherited(plan))
    assert isinstance(told, SweepFailed)
    assert "The store is out." in told.reason


def test_a_sweep_that_may_not_list_uploads_deletes_objects() -> None:
    """That is a permission of its own, which no export needs."""
    made = _log()
    plan = made.log.plan(2)
    assert plan is not None
    left = made.key(TP, 12)
    _put(made, left)
    made.store.fail_next("ListMultipartUploads", StoreRefused("s3:ListBucketMultipartUploads is not allowed."))
    refused = "open uploads were not looked for: s3:ListBucketMultipartUploads is not allowed."
    assert sweep(Exporter(made.settings, made.store, MemoryBroker()), _inherited(plan)) == [
        Swept(seq=2, objects=1, uploads=0),
        UploadsNotListed(seq=2, reason=refused),
    ]
    assert left not in made.store.contents()


# On real servers.


@pytest.mark.parametrize("server", ["moto", "versitygw"])
def test_real_stores_list_and_forget(server: str, request: pytest.FixtureRequest, bucket_name: str) -> None:
    """Objects and open uploads that are garbage are deleted on a real store; what the log lists stays."""
    real: S3Server = request.getfixturevalue(server)
    real.create_bucket(bucket_name)
    keys = {"access_key_id": real.access_key, "secret_access_key": real.secret_key}
    store = S3Store(S3Settings(bucket_name, real.region, real.endpoint_url, **keys))
    made = HandMade(settings_of())
    made.begin({"orders": 1})
    made.commit([("orders", 0, 0, 10)])
    doomed = [made.key(TP, 3, collision=number) for number in range(1, 20)]
    _put(made, *doomed, made.key(TP, 10))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda pair: store.put_if_absent(*pair), made.store.contents().items()))
    for offset in (5, 10):
        upload = store.start_multipart(made.key(TP, offset))
        upload.put_part(b"part")
    log = Log(store, made.log.layout)
    garbage = collect(made.settings, log)
    assert garbage is not None
    assert [orphan.key for orphan in garbage.objects] == sorted(doomed)
    deleted = delete(log, garbage)
    assert (deleted.objects, deleted.uploads, deleted.complete) == (len(doomed), 1, True)
    assert [info.key for info in store.list("topics/")] == [made.key(TP, 0), made.key(TP, 10)]
    assert [upload.key for upload in store.uploads("topics/")] == [made.key(TP, 10)]
