"""A topic of Avro values over the real registry, and the connectors that export it; and a gate before the registry."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from kafka_s3.adapters.kafka import KafkaBroker as Broker
from kafka_s3.adapters.kafka import KafkaSource
from kafka_s3.adapters.s3 import S3Store
from kafka_s3.export.run import run
from kafka_s3.export.run_report import RunReport
from kafka_s3.log.store import open_log
from kafka_s3.settings import Lookups, load
from kafka_s3.settings.model import Settings
from kafka_s3.verify.verify import Kafka, Verified, verify
from kafka_s3.wiring import make_exporter, make_local_execute, make_registries
from tests.adapters.loopback import Seen
from tests.cli.command import write_properties
from tests.support import request
from tools.parts.kafka import KafkaBroker
from tools.parts.process import HOST, ReservedPort
from tools.parts.registry import SchemaRegistry
from tools.parts.s3 import MotoServer

SECRET = "canary-of-a-secret-key"
AVRO = "io.confluent.connect.s3.format.avro.AvroFormat"
PARQUET = "io.confluent.connect.s3.format.parquet.ParquetFormat"
JSON = "io.confluent.connect.s3.format.json.JsonFormat"


@dataclass
class Place:
    """One topic and all that is around it. Each connector has a bucket of its own."""

    topic: str
    folder: Path
    kafka: KafkaBroker
    moto: MotoServer
    registry: SchemaRegistry
    serializers: dict[tuple[str, str], AvroSerializer] = field(default_factory=dict)

    def send(self, schema: Schema | str, values: Iterable[Any], *, partition: int = 0, **more: Any) -> None:
        """Produce values as Confluent's serializer does, which registers the schema; `more` goes to `produce`."""
        self.send_each([(schema, value) for value in values], partition=partition, **more)

    def send_each(self, records: Iterable[tuple[Schema | str, Any]], *, partition: int = 0, **more: Any) -> None:
        """Each value under a schema of its own."""
        self.send_bytes([self.encoded(schema, value) for schema, value in records], partition=partition, **more)

    def send_bytes(self, values: Iterable[bytes | None], *, partition: int = 0, **more: Any) -> None:
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap_servers})
        for value in values:
            producer.produce(self.topic, value, partition=partition, **more)
        assert producer.flush(30) == 0

    def encoded(
        self, schema: Schema | str, value: Any, *, subject: str = "topic", of: str = MessageField.VALUE
    ) -> bytes:
        """A value's bytes, or a key's; `subject`: "topic" or "record", by which name the schema is registered."""
        schema = Schema(schema, "AVRO") if isinstance(schema, str) else schema
        known = (schema.schema_str or "", subject)
        if known not in self.serializers:
            from confluent_kafka.schema_registry import record_subject_name_strategy, topic_subject_name_strategy

            strategy = topic_subject_name_strategy if subject == "topic" else record_subject_name_strategy
            options = {"auto.register.schemas": True, "subject.name.strategy": strategy}
            self.serializers[known] = AvroSerializer(self.registry.client(), schema, conf=options)
        made = self.serializers[known](value, SerializationContext(self.topic, of))
        assert isinstance(made, bytes)
        return made

    def connector(self, name: str, format: str, **more: str) -> Connector:
        """A connector's files, in Connect's own words; `more` with `_` for `.`."""
        bucket = f"{self.topic}-{name}"
        self.moto.create_bucket(bucket)
        folder = self.folder / name
        folder.mkdir()
        properties = {
            "name": name,
            "connector.class": "io.confluent.connect.s3.S3SinkConnector",
            "tasks.max": "1",
            "topics": self.topic,
            "s3.bucket.name": bucket,
            "s3.region": self.moto.region,
            "store.url": self.moto.endpoint_url,
            "aws.access.key.id": self.moto.access_key,
            "aws.secret.access.key": self.moto.secret_key,
            "s3.part.retries": "0",
            "storage.class": "io.confluent.connect.s3.storage.S3Storage",
            "format.class": format,
            "flush.size": "1000000",
            "value.converter": "io.confluent.connect.avro.AvroConverter",
            "value.converter.schema.registry.url": self.registry.url,
            **{key.replace("_", "."): value for key, value in more.items()},
        }
        worker = {"bootstrap.servers": self.kafka.bootstrap_servers}
        write_properties(folder / "worker.properties", worker)
        write_properties(folder / "connector.properties", properties)
        return Connector(self, folder / "connector.properties", bucket)


@dataclass
class Connector:
    """One connector and its bucket."""

    place: Place
    config: Path
    bucket: str

    def settings(self, *, patience_ms: int = 60_000) -> Settings:
        """`patience_ms`: for how long a registry that does not answer is asked again."""
        lookups = Lookups(env={}, read_file=lambda path: Path(path).read_text())
        loaded = load(self.config, lookups=lookups).settings
        registry = loaded.format.value.registry
        assert registry is not None
        value = replace(loaded.format.value, registry=replace(registry, retry_timeout_ms=patience_ms))
        return replace(loaded, format=replace(loaded.format, value=value))

    def run(self, run_id: str = "run", settings: Settings | None = None) -> RunReport:
        """One run in this process; `settings`: others than the files say."""
        settings = settings or self.settings()
        return run(make_exporter(settings), request(run_id), make_local_execute(settings), lambda _: None)

    def exported(self) -> Connector:
        report = self.run()
        assert report.exit_status == 0, report.problems()
        return self

    def verified(self, *, against_kafka: bool = True) -> Verified:
        """What `kafka-s3 verify` finds."""
        settings = self.settings()
        log = open_log(S3Store(settings.s3), settings.log_root, settings.name)
        kafka = Kafka(Broker(settings), KafkaSource(settings.kafka), make_registries(settings))
        return verify(settings, log, kafka if against_kafka else None, tell=lambda _: None)

    def objects(self, prefix: str = "topics/") -> dict[str, bytes]:
        client = self.place.moto.client()
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
        keys = [item["Key"] for page in pages for item in page.get("Contents", [])]
        return {key: client.get_object(Bucket=self.bucket, Key=key)["Body"].read() for key in keys}

    def body(self) -> bytes:
        """The bytes of the only data object."""
        (body,) = self.objects().values()
        return body

    def file(self) -> str:
        """The only data object as a file, under its own name: for readers that want one."""
        ((key, body),) = self.objects().items()
        path = self.config.parent / key.rpartition("/")[2]
        path.write_bytes(body)
        return str(path)

    def folder(self) -> Path:
        """All data objects as files under their keys."""
        folder = self.config.parent / "objects"
        for key, body in self.objects().items():
            path = folder / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
        return folder

    def overwrite(self, key: str, body: bytes) -> None:
        self.place.moto.client().put_object(Bucket=self.bucket, Key=key, Body=body)


class Gate:
    """Stands before a registry: counts what is asked, and can be shut, when nothing listens at its address."""

    def __init__(self, forward: Callable[[Seen], bytes]) -> None:
        self.seen: list[Seen] = []
        #: What is not let through: hung up on, as by a registry that dies.
        self.refused: Callable[[Seen], bool] = lambda _: False
        self._port = ReservedPort()
        self._server: http.server.ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self.url = f"http://{HOST}:{self._port.number}"
        gate = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                seen = Seen(self.command, self.path, headers, b"")
                if gate.refused(seen):
                    return
                gate.seen.append(seen)
                self.wfile.write(forward(seen))

        self._handler = Handler

    @property
    def paths(self) -> list[str]:
        return [seen.path.partition("?")[0] for seen in self.seen]

    def open(self) -> None:
        assert self._server is None
        self._server = http.server.ThreadingHTTPServer((HOST, self._port.number), self._handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def shut(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
            self._server = None

    def close(self) -> None:
        self.shut()
        self._port.close()


def record(name: str, fields: Mapping[str, Any] | list[dict[str, Any]]) -> dict[str, Any]:
    """A record of fields by name, or of whole fields."""
    if isinstance(fields, Mapping):
        fields = [{"name": each, "type": kind} for each, kind in fields.items()]
    return {"type": "record", "name": name, "fields": fields}
