"""Avro and Protobuf to Parquet under the real spark-submit: what the driver knows of the registry, its tasks know."""

from __future__ import annotations

import io
import json
from collections import Counter

import pyarrow.parquet as pq
import pytest
from confluent_kafka.schema_registry import Schema as RegistrySchema

from kafka_s3.log.documents import decode
from kafka_s3.log.entries import Entry
from tests.readers.everything import ROWS, registered
from tests.readers.place import PARQUET, Gate, Place
from tests.readers.test_read_back import COLUMNS
from tests.spark import test_spark_job
from tests.spark.test_spark_job import PARTITIONS, Job
from tools.parts.registry import SchemaRegistry

job = test_spark_job.job  # a connector file, a topic, an empty bucket

KEY = 'syntax = "proto3"; message Key { string key = 1; }'
PLAIN = json.dumps({"type": "record", "name": "shop.Plain", "fields": [{"name": "n", "type": "long"}]})


@pytest.mark.heavy
def test_known_schemas_travel_to_the_workers(job: Job, registry_server: SchemaRegistry, gate: Gate) -> None:
    """Four partitions in two tasks of two versions, a reference and keys of Protobuf: everything is asked for once, by
    the driver, and the tasks compile the message.

    What the tasks write is what was produced.
    """
    place = Place(job.topic, job.folder, job.broker, job.store, registry_server)
    everything = registered(place)
    id = registry_server.client().register_schema(f"{job.topic}-key", RegistrySchema(KEY, "PROTOBUF"))
    for partition in range(PARTITIONS):
        key = b"\0" + id.to_bytes(4, "big") + b"\0\x0a\2k%d" % partition
        place.send(everything, ROWS, partition=partition, key=key)
        place.send(PLAIN, [{"n": number} for number in range(150)], partition=partition, key=key)
    job.properties |= {
        "format.class": PARQUET,
        "value.converter": "io.confluent.connect.avro.AvroConverter",
        "value.converter.schema.registry.url": gate.url,
        "key.converter": "io.confluent.connect.protobuf.ProtobufConverter",
        "key.converter.schema.registry.url": gate.url,
        "store.kafka.keys": "true",
        "keys.format.class": PARQUET,
    }
    for name in ("value.converter.schemas.enable", "s3.compression.type"):
        del job.properties[name]
    ran = job.run()
    assert ran.returncode == 0, ran.stdout
    assert f"commit 1: {PARTITIONS * 152} records" in ran.stdout
    tables = [pq.read_table(io.BytesIO(body)) for body in job.objects("topics/").values()]
    keys = [row["key"] for table in tables if table.column_names == ["key"] for row in table.to_pylist()]
    assert sorted(keys) == [f"k{partition}" for partition in range(PARTITIONS) for _ in range(152)]
    rows = [row for table in tables if "n" in table.column_names for row in table.to_pylist()]
    assert sorted(row["n"] for row in rows) == sorted(PARTITIONS * list(range(150)))
    others = [row for table in tables if "text" in table.column_names for row in table.to_pylist()]
    assert [row | {"counts": dict(row["counts"])} for row in others] == PARTITIONS * COLUMNS
    key, body = next(iter(job.objects("_kafka_s3/orders/log/").items()))
    entry = decode(Entry, key, body)
    assert (entry.spark_application or "").startswith("local-")
    subject = f"/subjects/{job.topic}"
    assert Counter(gate.paths) == Counter(
        [
            f"{subject}-value/versions",
            f"{subject}-value/versions/1",
            f"{subject}-value/versions/2",
            f"{subject}-address/versions/1",
            f"{subject}-key/versions",
            f"{subject}-key/versions/1",
        ]
    )
