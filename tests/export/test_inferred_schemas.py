"""Exports of JSON under schemas that plans pin: what a run, a retry and a later run write, over memory."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import fastavro
import msgspec
import pytest

from kafka_s3.adapters.memory import MemoryBroker, MemoryStore
from kafka_s3.errors import EXIT_TEMPORARY, LogDamaged
from kafka_s3.events import Event
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import run
from kafka_s3.export.run_report import RunReport
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.inference.schemas import SchemaInference
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Entry, Plan
from kafka_s3.log.store import Log
from kafka_s3.log.value_schema import ValueSchema
from kafka_s3.plan.results import Failure, RangeResult
from kafka_s3.ports import Put
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.report.forecast import Make, forecast
from kafka_s3.settings import from_mapping
from kafka_s3.settings.model import Settings
from kafka_s3.verify.verify import Kafka, verify
from tests.support import MINIMAL, request

AVRO = "io.confluent.connect.s3.format.avro.AvroFormat"
TOPIC = "orders"


def settings_of(**more: str) -> Settings:
    """`more`: properties, with `_` for `.`."""
    properties = {**MINIMAL, "format.class": AVRO, "flush.size": "1000", "export.value.schema": "infer"}
    return from_mapping(
        {**properties, **{name.replace("_", "."): value for name, value in more.items()}}, offline=True
    ).settings


class Inferring:
    """A topic of JSON, and runs that infer its schema."""

    def __init__(self, partitions: int = 1, **more: str) -> None:
        self.store = MemoryStore()
        self.broker = MemoryBroker()
        self.broker.create_topic(TOPIC, partitions)
        self.settings = settings_of(**more)
        self.dies = False
        self.fails: int | None = None  # a partition whose ranges do

    def send(self, *values: object, partition: int = 0) -> None:
        """JSON values; bytes as they are."""
        tp = TopicPartition(TOPIC, partition)
        start = self.broker.offsets([tp])[tp].high_watermark
        for number, value in enumerate(values, start):
            body = value if isinstance(value, bytes | None) else json.dumps(value).encode()
            self.broker.append(TOPIC, partition, Record(number, body))

    @property
    def exporter(self) -> Exporter:
        infer = SchemaInference(self.settings.format, lambda: self.broker)
        return Exporter(self.settings, self.store, self.broker, infer=infer)

    def run(self, run_id: str = "run") -> RunReport:
        told: list[Event] = []
        return run(self.exporter, request(run_id), self._execute, told.append)

    def _execute(self, tasks: Sequence[RangeTask]) -> list[RangeResult]:
        results = [
            RangeResult(task.planned, None, Failure("it fails", EXIT_TEMPORARY))
            if task.planned.partition == self.fails
            else export_range(self.settings, task, self.store, self.broker)
            for task in tasks
        ]
        if self.dies:
            raise KeyboardInterrupt
        return results

    @property
    def log(self) -> Log:
        return self.exporter.log

    @property
    def newest(self) -> Entry:
        head = self.log.newest()
        assert head is not None
        return head.entry

    def schema(self) -> dict[str, Any]:
        """The newest entry's, as field names and types."""
        text = self.newest.topics[TOPIC].schema_text
        assert text is not None
        return {each["name"]: each["type"][1] for each in json.loads(text)["fields"]}

    def objects(self) -> dict[str, bytes]:
        return {key: body for key, body in self.store.contents().items() if key.startswith("topics/")}

    def rows(self) -> list[Any]:
        """Those of the objects that entries list, in the order of the log."""
        keys = [
            made.key
            for each in reversed(list(self.log.entries()))
            for done in each.entry.ranges
            for made in done.objects
        ]
        return [row for key in keys for row in fastavro.reader(io.BytesIO(self.objects()[key]))]


def test_a_topic_gets_a_schema() -> None:
    """The first plan samples, the entry has the schema and its fingerprint, and every record is in the object."""
    place = Inferring()
    place.send({"id": 1, "name": "a"}, None, b"{oops", {"id": 2, "tags": ["x"]})
    place.settings = settings_of(errors_tolerance="all", behavior_on_null_values="ignore")
    assert place.run().exit_status == 0
    assert list(place.schema()) == ["id", "name", "tags", "_rest"]
    state = place.newest.topics[TOPIC]
    assert state.value_schema == ValueSchema.of(str(state.schema_text))
    assert place.rows() == [
        {"id": 1, "name": "a", "tags": None, "_rest": None},
        {"id": 2, "name": None, "tags": ["x"], "_rest": None},
    ]


def test_a_later_plan_widens_it() -> None:
    """The next commit begins with the last entry's schema; what was unknown between is in the rest."""
    place = Inferring(export_value_schema_infer_records="2")
    place.send({"id": 1}, {"id": 2, "late": True}, {"id": 3})
    place.run()
    place.send({"id": 4.5, "late": False})
    place.run("next")
    assert place.schema() == {
        "id": "double",
        "late": "boolean",
        "_rest": {"type": "map", "values": "string"},
    }
    assert [row["_rest"] for row in place.rows()] == [None, {"/late": "true"}, None, None]
    assert [row["id"] for row in place.rows()] == [1, 2, 3, 4.5]


@pytest.mark.parametrize(("compatibility", "kind"), [("BACKWARD", "double"), ("FORWARD", "long"), ("FULL", "long")])
def test_compatibility_limits_widening(compatibility: str, kind: str) -> None:
    """Where old readers have to read new objects, a long stays one, and a fraction goes to the rest."""
    place = Inferring(schema_compatibility=compatibility)
    place.send({"id": 1})
    place.run()
    place.send({"id": 1.5, "new": 1})
    place.run("next")
    assert place.schema()["id"] == kind
    assert place.schema()["new"] == "long"
    assert place.rows()[-1]["_rest"] == (None if kind == "double" else {"/id": "1.5"})


def test_a_retry_writes_the_same_bytes() -> None:
    """A run dies before its commit, other records come: the plan has the schema, and nothing is written twice."""
    place = Inferring()
    place.send({"id": 1})
    place.run()
    place.send({"id": 2, "new": "x"})
    place.dies = True
    with pytest.raises(KeyboardInterrupt):
        place.run("killed")
    place.dies = False
    left = place.objects()
    place.send({"id": 3, "newer": "y"})
    assert place.run("other").exit_status == 0
    assert left.items() <= place.objects().items()
    entries = [committed.entry for committed in place.log.entries()][::-1]
    assert len([each for each in entries if each.ranges]) == 3
    assert list(place.schema()) == ["id", "new", "newer", "_rest"]
    assert len(place.rows()) == len(place.objects()) == 3


def test_a_voided_plan_leaves_no_schema() -> None:
    """The configuration changed: the next plan begins with the last entry's schema, not with that of the void."""
    place = Inferring()
    place.send({"id": 1})
    place.dies = True
    with pytest.raises(KeyboardInterrupt):
        place.run("killed")
    place.dies = False
    place.settings = settings_of(export_value_schema_infer_misfit="reject")
    place.run("other")
    assert list(place.schema()) == ["id"]


def test_a_misfit_stops_if_it_is_to() -> None:
    """With reject it is a bad record, and the range stops in front of it; the next plan looks again, and takes it."""
    place = Inferring(export_value_schema_infer_misfit="reject", export_value_schema_infer_records="2")
    place.send({"id": 1}, {"id": 2, "new": 1}, {"id": 3})
    report = place.run()
    assert report.exit_status != 0
    assert place.newest.topics[TOPIC].positions == {0: 1}
    assert any("the value has a field that its schema does not have" in each for each in report.problems())


def test_rejected_misfits_are_dead_letters() -> None:
    """Where bad records are tolerated they are counted, with a reason of no content."""
    place = Inferring(
        export_value_schema_infer_misfit="reject", export_value_schema_infer_records="2", errors_tolerance="all"
    )
    place.send({"id": 1}, {"id": "secret"}, {"id": 3})
    place.run()
    (done,) = place.newest.ranges
    assert (done.records, done.rejected) == (2, 1)
    assert done.refusals[0].reason == "/id is not a whole number of 64 bits"


def test_partitions_are_sampled_at_both_ends() -> None:
    """A field of one partition, or of the newest records alone, is found, though few records are looked at."""
    place = Inferring(partitions=3, export_value_schema_infer_records="30")
    for partition in range(3):
        place.send(*({"id": n} for n in range(100)), {f"last{partition}": 1}, partition=partition)
    place.run()
    assert set(place.schema()) == {"id", "last0", "last1", "last2", "_rest"}
    assert len(place.rows()) == 303


def test_bytes_limit_a_sample() -> None:
    """A sample ends with its bytes: what comes after is in the rest, and nothing is lost."""
    place = Inferring(export_value_schema_infer_bytes="10")
    place.send({"id": "0123456789"}, {"new": 1})
    place.run()
    assert place.rows()[1] == {"id": None, "_rest": {"/new": "1"}}


def test_a_dry_run_shows_the_schema() -> None:
    """A forecast samples too, and its plan is what a run then writes; nothing is in the bucket after it."""
    place = Inferring()
    place.send({"id": 1})
    place.run()
    place.send({"id": 2, "new": 1})
    before = place.store.contents()
    step = forecast(place.exporter, request("next")).step
    assert isinstance(step, Make)
    assert place.store.contents() == before
    place.run("next")
    planned = place.log.plan(place.newest.seq)
    assert planned is not None
    assert step.plan.topics[TOPIC].schema_text == planned.plan.topics[TOPIC].schema_text
    assert planned.plan.notes == ("schema of orders: changed, 2 fields, 1 of them new",)


def test_verify_reads_by_the_entry() -> None:
    """Each commit is compared under the schema that it was written under."""
    place = Inferring()
    for number, value in enumerate([{"id": 1}, {"id": 2.5, "new": 1}, {"id": "x"}]):
        place.send(value)
        place.run(f"run-{number}")
    found = verify(place.settings, place.log, Kafka(place.broker, place.broker), tell=lambda _: None)
    assert not found.findings
    assert found.ranges_compared == 3


@pytest.mark.parametrize("text", ["[]", '{"type":"record","name":"R","fields":[{"name":"a","type":"long"}]}'])
def test_a_schema_that_nobody_infers(text: str) -> None:
    """One that somebody wrote into the log is refused before a record is written by it."""
    place = Inferring()
    place.send({"id": 1})
    place.run()
    head = place.log.newest()
    assert head is not None
    state = msgspec.structs.replace(head.entry.topics[TOPIC], value_schema=ValueSchema.of(text))
    forged = msgspec.structs.replace(head.entry, topics={TOPIC: state})
    key = place.log.layout.log_key(head.entry.seq)
    place.store.delete(key)
    assert place.store.put_if_absent(key, encode(forged)) is Put.CREATED
    place.send({"id": 2})
    with pytest.raises(LogDamaged, match="a schema of topic orders that cannot be used"):
        place.run("next")


@pytest.mark.parametrize(
    "schema",
    [
        ValueSchema("{}", "0" * 64),
        ValueSchema("x" * (128 * 1024 + 1), "0" * 64),
    ],
)
def test_documents_check_schemas(schema: ValueSchema) -> None:
    """A fingerprint of another text, and a text of any length, are no document of ours."""
    place = Inferring()
    place.send({"id": 1})
    place.run()
    entry = place.newest
    state = msgspec.structs.replace(entry.topics[TOPIC], value_schema=schema)
    damaged = encode(msgspec.structs.replace(entry, topics={TOPIC: state}))
    with pytest.raises(LogDamaged):
        decode(Entry, "log/1", damaged)


def test_documents_without_schemas_are_as_before() -> None:
    """Where none is inferred no document says a word of it."""
    place = Inferring()
    place.settings = replace(settings_of(), format=from_mapping(MINIMAL, offline=True).settings.format)
    place.send({"id": 1})
    place.run()
    documents = [body for key, body in place.store.contents().items() if not key.startswith("topics/")]
    assert documents
    assert not any(b"value_schema" in body for body in documents)
    planned = place.log.plan(place.newest.seq)
    assert planned is not None
    assert decode(Plan, "plan/1", encode(planned.plan)) == planned.plan
