"""JSON without a schema, from Kafka to a bucket under schemas that are inferred, and what readers find there."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import fastavro
import pyarrow.dataset as ds
import pytest

from kafka_s3.adapters.kafka import KafkaBroker as Broker
from kafka_s3.adapters.kafka import KafkaSource
from kafka_s3.adapters.s3 import S3Store
from kafka_s3.export.run import run
from kafka_s3.export.task import RangeTask
from kafka_s3.log.entries import Entry
from kafka_s3.log.store import open_log
from kafka_s3.plan.results import RangeResult
from kafka_s3.settings import Lookups, load
from kafka_s3.settings.model import Settings
from kafka_s3.verify.verify import Kafka, verify
from kafka_s3.wiring import make_exporter, make_local_execute
from tests.readers.place import AVRO, PARQUET, Connector, Place
from tests.support import request

JSON = "org.apache.kafka.connect.json.JsonConverter"


def connector(place: Place, name: str, format: str, **more: str) -> tuple[Connector, Settings]:
    made = place.connector(
        name, format, value_converter=JSON, value_converter_schemas_enable="false", export_value_schema="infer", **more
    )
    text = "\n".join(line for line in made.config.read_text().splitlines() if "schema.registry.url" not in line)
    made.config.write_text(text)
    lookups = Lookups(env={}, read_file=lambda path: Path(path).read_text())
    return made, load(made.config, lookups=lookups).settings


def send(place: Place, *values: object) -> None:
    place.send_bytes([json.dumps(value).encode() for value in values])


def entries(settings: Settings) -> list[Entry]:
    log = open_log(S3Store(settings.s3), settings.log_root, settings.name)
    return [each.entry for each in log.entries() if each.entry.ranges][::-1]


def schema_of(place: Place, settings: Settings) -> str:
    text = entries(settings)[-1].topics[place.topic].schema_text
    assert text is not None
    return text


FIRST = [{"id": 1, "price": 2, "tags": ["a"], "who": {"name": "x"}}, {"id": 2, "price": 3}]
LATER = [{"id": 3, "price": 2.5, "who": {"name": "y", "age": 7}, "new": True}, {"id": "four", "a-b": [1.50]}]
ROWS: list[dict[str, Any]] = [
    {"id": 1, "price": 2.0, "tags": ["a"], "who": {"name": "x", "age": None}, "new": None, "_rest": None},
    {"id": 2, "price": 3.0, "tags": None, "who": None, "new": None, "_rest": None},
    {"id": 3, "price": 2.5, "tags": None, "who": {"name": "y", "age": 7}, "new": True, "_rest": None},
    {"id": None, "price": None, "tags": None, "who": None, "new": None, "_rest": {"/id": '"four"', "/a-b": "[1.5]"}},
]


def exported(place: Place, settings: Settings) -> None:
    """Two commits, the second one with more fields, a price with a fraction and a record that does not fit."""
    for run_id, values in (("one", FIRST), ("two", LATER)):
        send(place, *values)
        report = run(make_exporter(settings), request(run_id), make_local_execute(settings), lambda _: None)
        assert report.exit_status == 0, report.problems()
    assert len(entries(settings)) == 2


def test_parquet_files_of_a_topic_together(place: Place) -> None:
    """DuckDB and pyarrow read both commits as one table, with all that was sent; verify finds nothing."""
    made, settings = connector(place, "parquet", PARQUET)
    exported(place, settings)
    folder = made.folder()
    found = duckdb.sql(
        f"SELECT * FROM read_parquet('{folder}/**/*.parquet', union_by_name=true, hive_partitioning=false)"
    )
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
    assert sorted(rows, key=lambda row: ROWS.index(row)) == ROWS
    newest = max(folder.rglob("*.parquet"))
    schema = ds.dataset(newest).schema
    table = ds.dataset(folder, schema=schema, format="parquet").to_table()
    assert sorted(table.to_pylist(maps_as_pydicts="strict"), key=lambda row: ROWS.index(row)) == ROWS
    log = open_log(S3Store(settings.s3), settings.log_root, settings.name)
    verified = verify(settings, log, Kafka(Broker(settings), KafkaSource(settings.kafka)), tell=lambda _: None)
    assert not verified.findings
    assert verified.ranges_compared == 2


def test_avro_files_of_a_topic_together(place: Place) -> None:
    """The newest schema in the log reads all objects, as Avro resolves schemas."""
    made, settings = connector(place, "avro", AVRO)
    exported(place, settings)
    reader = json.loads(schema_of(place, settings))
    bodies = [body for _, body in sorted(made.objects().items())]
    assert [row for body in bodies for row in fastavro.reader(io.BytesIO(body), reader)] == ROWS


@pytest.mark.parametrize("format", [AVRO, PARQUET])
def test_a_retry_finds_its_bytes(place: Place, format: str) -> None:
    """A driver dies before it commits, and more records come: the retry writes what the first try wrote."""
    made, settings = connector(place, "killed", format)
    send(place, *FIRST)
    execute = make_local_execute(settings)

    def dies(tasks: Sequence[RangeTask]) -> list[RangeResult]:
        execute(tasks)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(make_exporter(settings), request("killed"), dies, lambda _: None)
    left = made.objects()
    assert left
    send(place, *LATER)
    assert run(make_exporter(settings), request("other"), execute, lambda _: None).exit_status == 0
    objects = made.objects()
    assert left.items() <= objects.items()
    listed = {each.key for entry in entries(settings) for done in entry.ranges for each in done.objects}
    assert listed == set(objects)


def test_what_is_rejected_goes_on(place: Place) -> None:
    """With reject, a record that does not fit is counted as a bad one, and the others are exported."""
    more = {"export_value_schema_infer_misfit": "reject", "export_value_schema_infer_records": "2"}
    made, settings = connector(place, "reject", PARQUET, errors_tolerance="all", **more)
    send(place, {"id": 1}, {"id": "secret"}, {"id": 3})
    assert run(make_exporter(settings), request("one"), make_local_execute(settings), lambda _: None).exit_status == 0
    (done,) = entries(settings)[0].ranges
    assert (done.records, done.rejected) == (2, 1)
    assert ds.dataset(made.folder(), format="parquet").to_table().to_pylist() == [{"id": 1}, {"id": 3}]
