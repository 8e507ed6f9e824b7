"""Whole runs over versitygw while the network and the store misbehave: every record once, and nothing left over."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from kafka_s3.adapters.memory import MemoryBroker
from kafka_s3.adapters.s3 import S3Store
from kafka_s3.errors import EXIT_DONE, EXIT_TEMPORARY, TemporaryError
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import run
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.plan.results import RangeResult
from kafka_s3.records import Record
from kafka_s3.settings.model import Settings
from kafka_s3.settings.s3 import RetrySettings, S3Settings
from kafka_s3.verify.verify import Kafka, verify
from tests.faults.s3_proxy import AFTER, BEFORE, Again, Cut, Delay, Fault, Refuse, Reset, Rule, S3Proxy, Silence
from tests.support import identified, make_settings, objects_of, request, rows_of
from tools.parts.s3 import VersityGateway

pytestmark = pytest.mark.faults

PART_SIZE = 5 * 1024 * 1024
LARGE = 2_700_000  # two of them are more than a part
TRIES = 5
FAULTS: dict[str, Fault] = {
    "reset before": Reset(BEFORE),
    "reset after": Reset(AFTER),
    "500": Refuse(500, "InternalError"),
    "500 after": Refuse(500, "InternalError", AFTER),
    "503": Refuse(503, "SlowDown"),
    "409": Refuse(409, "ConditionalRequestConflict"),
    "412": Refuse(412, "PreconditionFailed"),
    "200 with an error": Refuse(200, "InternalError"),
    "200 with an error after": Refuse(200, "InternalError", AFTER),
    "cut": Cut(),
    "twice": Again(hears_second=True),
    "late": Delay(0.02),
}
#: A 412 on a GET or a HEAD, or a 200 with an error in an object's own place, is nothing that S3 says.
ONLY = {
    "412": r"PutObject|CompleteMultipartUpload",
    "200 with an error": r"(?!GetObject|HeadObject)",
    "200 with an error after": r"(?!GetObject|HeadObject)",
}


def large(partition: int, offset: int) -> Record:
    return Record(offset, json.dumps({"p": partition, "o": offset, "x": "x" * LARGE}).encode(), timestamp_ms=0)


@pytest.fixture(scope="module")
def broker() -> MemoryBroker:
    """Two partitions; the first has an object in two parts, and both have small ones."""
    made = MemoryBroker()
    made.create_topic("orders", 2)
    for offset in range(5):
        made.append("orders", 0, large(0, offset) if offset < 2 else identified(0, offset))
    for offset in range(4):
        made.append("orders", 1, identified(1, offset))
    return made


@pytest.fixture
def proxy(versitygw: VersityGateway) -> Iterator[S3Proxy]:
    with S3Proxy(versitygw.endpoint_url) as proxy:
        yield proxy


class FaultyRun:
    """One connector over a bucket of its own, behind the proxy."""

    def __init__(self, server: VersityGateway, proxy: S3Proxy, broker: MemoryBroker, retries: int) -> None:
        self.server, self.proxy, self.broker = server, proxy, broker
        self.bucket = server.create_bucket(f"bucket-{uuid.uuid4().hex[:12]}")
        self.settings = self._settings(proxy.url, retries)
        self.runs = 0

    def _settings(self, url: str, retries: int) -> Settings:
        s3 = S3Settings(
            self.bucket,
            self.server.region,
            url,
            access_key_id=self.server.access_key,
            secret_access_key=self.server.secret_key,
            retry=RetrySettings(retries, 1),
        )
        return make_settings(flush_size=2, part_size=PART_SIZE, s3=s3)

    def run(self) -> int:
        """One run as Airflow starts it; its exit status."""
        self.runs += 1
        store = S3Store(self.settings.s3)
        exporter = Exporter(self.settings, store, self.broker)

        def execute(tasks: Sequence[RangeTask]) -> list[RangeResult]:
            return [export_range(self.settings, task, store, self.broker) for task in tasks]

        try:
            return run(exporter, request("run", try_number=self.runs), execute, lambda _: None).exit_status
        except TemporaryError as error:
            return error.exit_status

    def run_until_done(self) -> None:
        for _ in range(TRIES):
            status = self.run()
            if status == EXIT_DONE:
                return
            assert status == EXIT_TEMPORARY
        raise AssertionError(f"not done after {TRIES} tries")

    def check(self) -> None:
        """Past the proxy: every record once, an undamaged log, no object besides, no open upload."""
        settings = replace(self.settings, s3=replace(self.settings.s3, endpoint_url=self.server.endpoint_url))
        store = S3Store(settings.s3)
        log = Exporter(settings, store, self.broker).log
        found: Counter[tuple[int, int]] = Counter()
        objects = self.server.objects(self.bucket, "topics/")
        for made in objects_of(log.entries()):
            found.update((row["p"], row["o"]) for row in rows_of(objects[made.key], made.key))
        assert found == Counter({(0, offset): 1 for offset in range(5)} | {(1, offset): 1 for offset in range(4)})
        verified = verify(settings, log, Kafka(self.broker, self.broker), tell=lambda _: None)
        assert (verified.findings, verified.orphans, verified.records) == ((), (), 9)
        assert verified.ranges_compared == 2
        assert list(store.uploads("")) == []

    def check_conditions(self) -> None:
        """Nothing was sent that could have overwritten anything, or deleted it."""
        for each in self.proxy.passed:
            assert each.operation != "DeleteObject"
            if each.operation in ("PutObject", "CompleteMultipartUpload"):
                assert each.headers["if-none-match"] == "*"


SWEEPS = {
    0: ("reset before", "reset after", "409", "412", "200 with an error after", "cut", "twice"),
    2: ("reset after", "409", "412", "cut"),
}


@pytest.mark.parametrize(
    ("name", "retries"),
    [pytest.param(name, n, id=f"{name}-{n} retries") for n, names in SWEEPS.items() for name in names],
)
def test_a_fault_at_every_request(
    versitygw: VersityGateway, proxy: S3Proxy, broker: MemoryBroker, name: str, retries: int
) -> None:
    """The first request of a run meets the fault, in the next world the second, and so on to the last: each time every
    record is in the bucket once, whether the run survives or the next one finishes it."""
    place, survived = 0, 0
    while True:
        place += 1
        proxy.clear()
        proxy.add(Rule(FAULTS[name], ONLY.get(name, ""), first=place))
        world = FaultyRun(versitygw, proxy, broker, retries)
        world.run_until_done()
        survived += world.runs == 1
        if not proxy.struck:
            break
        proxy.calm()
        assert world.run() == EXIT_DONE  # and nothing is exported again
        world.check_conditions()
        world.check()
    assert place > 10
    if retries and name != "412":
        assert survived == place, "a fault that a retry cures must not end a run"


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("step", [2, 5])
def test_a_fault_every_few_requests(
    versitygw: VersityGateway, proxy: S3Proxy, broker: MemoryBroker, name: str, step: int
) -> None:
    """Every second or fifth request of all meets the fault, for as long as it takes."""
    proxy.add(Rule(FAULTS[name], ONLY.get(name, ""), first=step, step=step, times=0))
    world = FaultyRun(versitygw, proxy, broker, retries=3)
    if name == "412":  # a store that says that its objects are there and are not: nothing is lost, and it is not done
        for _ in range(TRIES):
            world.run()
        proxy.calm()
    world.run_until_done()
    world.check_conditions()
    world.check()


def test_silence(
    versitygw: VersityGateway, proxy: S3Proxy, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that was done, and whose answer never comes: the client gives up waiting, looks, and goes on."""
    monkeypatch.setattr("kafka_s3.adapters.s3.client.READ_TIMEOUT_S", 1.5)
    for operation in ("PutObject", "CompleteMultipartUpload", "UploadPart", "ListObjectsV2", "GetObject"):
        for applied in (BEFORE, AFTER):
            proxy.clear()
            proxy.add(Rule(Silence(applied), operation))
            world = FaultyRun(versitygw, proxy, broker, retries=1)
            world.run_until_done()
            assert len(proxy.struck) == 1
            world.check()
