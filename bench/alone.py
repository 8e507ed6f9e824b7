"""Converting and writing alone, without Kafka, S3 and processes: what a path adds to another, round by round in turn.

    python -m bench.alone --rounds 9

CPU is that of this process and its threads. All paths take a turn in each round, so a machine that is slow for a while
is so for all of them; the least of the rounds is what the work takes when nothing disturbs it.
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from rich.table import Table

from bench.output import console, spread
from bench.paths import CHAINS, PATHS
from bench.records import (
    AVRO,
    BASE_MS,
    JSON_SCHEMA,
    NEWER,
    PROMOTED,
    PROTO,
    avro_values,
    json_schema_values,
    protobuf_values,
    values,
)
from kafka_s3.adapters.memory.registry import MemoryRegistry
from kafka_s3.inference.schemas import schema_of_values
from kafka_s3.naming import DataName
from kafka_s3.ports import Registries
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import ColumnBatch, Record
from kafka_s3.settings import Lookups, load, read_text
from kafka_s3.settings.model import Settings
from kafka_s3.wiring import GC_THRESHOLD
from kafka_s3.write.object_group import Body, FinishedUpload, OffsetSpan
from kafka_s3.write.writer import RangeWriter

RECORDS: Final = 20_000
_BATCH: Final = 2_000
#: Beside the chains: what costs are said to be a ratio of.
_BESIDE: Final = {
    "Protobuf to Parquet, zstd": "Avro to Parquet, zstd",
    "Protobuf to JSON": "Avro to JSON",
    "JSON Schema to Parquet, zstd": "JSON to Parquet, zstd",
    "inferred JSON to Parquet": "JSON to Parquet by a schema",
}
PAIRS: Final = {**CHAINS, **_BESIDE}
_COMMON: Final = (
    "name=alone\ns3.bucket.name=alone\ns3.region=us-east-1\nstorage.class=io.confluent.connect.s3.storage.S3Storage\n"
    "connector.class=io.confluent.connect.s3.S3SinkConnector\nflush.size=1000000\n"
    "consumer.override.bootstrap.servers=nowhere:9092\naws.access.key.id=a\naws.secret.access.key=b\n"
)


class _Upload:
    """Counts what is written, and forgets it."""

    def __init__(self, names: Sequence[DataName]) -> None:
        self._keys = [name.topic for name in names]
        self.bytes = 0

    def part(self, member: int, body: bytes) -> None:  # noqa: ARG002  # what uploads have
        self.bytes += len(body)

    def finish(self, bodies: Sequence[Body], holds: OffsetSpan) -> FinishedUpload:  # noqa: ARG002
        return FinishedUpload.of(self._keys, bodies)

    def abort(self) -> None: ...


def _given(kind: str, registry: MemoryRegistry, count: int) -> Iterator[bytes]:
    """The values of the bench's topic of a kind."""
    subject = f"{kind}-value"
    if kind.startswith("avro"):
        newer = PROMOTED if "promoted" in kind else NEWER
        id, newer_id = (registry.register(subject, json.dumps(each)) for each in (AVRO, newer))
        return avro_values(count, id, newer_id, newer, 1)
    if kind == "protobuf":
        return protobuf_values(count, registry.register(subject, PROTO, type="PROTOBUF"))
    if kind == "schema-json":
        return json_schema_values(count, registry.register(subject, json.dumps(JSON_SCHEMA), type="JSON"))
    return values(count)


class Turns:
    """A batch of records of each topic, and the settings of each path."""

    def __init__(self, folder: Path, records: int) -> None:
        self._folder = folder
        self._records = records
        (folder / "schema.avsc").write_text(json.dumps(AVRO))
        self._topics: dict[str, tuple[list[ColumnBatch], Registries]] = {}

    def _topic(self, kind: str) -> tuple[list[ColumnBatch], Registries]:
        if kind not in self._topics:
            registry = MemoryRegistry()
            found = [
                Record(at, value, b"%08d" % at, BASE_MS + at, ())
                for at, value in enumerate(_given(kind, registry, self._records))
            ]
            parts = range(0, len(found), _BATCH)
            batches = [ColumnBatch(TopicPartition(kind, 0), found[at : at + _BATCH]) for at in parts]
            self._topics[kind] = batches, Registries(registry, registry)
        return self._topics[kind]

    def of(self, name: str) -> Callable[[], float]:
        """What does a path once, and says the CPU seconds that it took."""
        kind, properties = PATHS[name]
        file = self._folder / "alone.properties"
        text = properties.replace("{registry}", "http://nowhere:1").replace(
            "{schema}", str(self._folder / "schema.avsc")
        )
        file.write_text(f"{_COMMON}topics={kind}\n{text}")
        settings = load(file, lookups=Lookups(env={}, read_file=read_text)).settings
        batches, registries = self._topic(kind)
        if settings.format.value.inference is not None:
            given = [value for batch in batches for value in batch.values()]
            settings = settings.reading_by(schema_of_values(settings.format, given))
        return lambda: _once(settings, batches, registries)


def _once(settings: Settings, batches: Sequence[ColumnBatch], registries: Registries) -> float:
    refused: list[object] = []
    began = time.process_time()
    writer = RangeWriter(
        settings, 0, BASE_MS, _Upload, registries=registries, refuse=lambda *each: refused.append(each)
    )
    for batch in batches:
        assert writer.write(batch)
    writer.finish()
    took = time.process_time() - began
    assert not refused
    return took


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.alone")
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--path", default="", help="of these pairs, those whose name holds the word")
    asked = parser.parse_args()
    gc.set_threshold(GC_THRESHOLD)  # as tasks do
    pairs = {name: beside for name, beside in PAIRS.items() if asked.path in name}
    with tempfile.TemporaryDirectory() as folder:
        turns = Turns(Path(folder), asked.records)
        paths = {name: turns.of(name) for name in dict.fromkeys((*pairs.values(), *pairs))}
        for run in paths.values():
            run()  # what is loaded and compiled once
        found: dict[str, list[float]] = {name: [] for name in paths}
        for _ in range(asked.rounds):
            for name, run in paths.items():
                found[name].append(run() / asked.records * 1e6)
    table = Table("path", "µs a record", "beside", "least over least", "of each round")
    for name, beside in pairs.items():
        ours, theirs = found[name], found[beside]
        each = [one / other for one, other in zip(ours, theirs, strict=True)]
        least = f"{min(theirs):.2f} to {min(ours):.2f}: {min(ours) / min(theirs):.2f}"
        table.add_row(name, spread(ours), beside, least, spread(each))
    console.print(table)


if __name__ == "__main__":
    main()
