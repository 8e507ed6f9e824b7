"""Aiven's own writers on the JVM, asked in one go: records in, objects out."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from kafka_s3.records import Record
from tools.connect.oracle import asked
from tools.parts.jars import Jar

#: The writers alone: what those of Avro and Parquet need besides is not here.
COMMONS = Jar("io.aiven", "commons-for-apache-kafka-connect", "0.12.0")


@dataclass(frozen=True)
class AivenQuestion:
    """An object of `format.output.*` and these records."""

    type: str
    fields: str
    records: Sequence[Record]
    envelope: bool = True
    encoding: str = "base64"

    def line(self) -> str:
        settings = (self.type, self.fields, str(self.envelope).lower(), self.encoding)
        return "\t".join((*settings, *map(_record, self.records))) + "\n"


def ask_aiven(questions: Sequence[AivenQuestion]) -> list[bytes]:
    """The objects, uncompressed."""
    answers = asked("AivenOracle.java", [each.line() for each in questions], "-Duser.timezone=UTC", alone=(COMMONS,))
    return list(map(base64.b64decode, answers))


def _record(record: Record) -> str:
    stamp = "-" if record.timestamp_ms is None else str(record.timestamp_ms)
    headers = ",".join(f"{_bytes(name.encode())}:{_bytes(value)}" for name, value in record.headers)
    return ";".join((_bytes(record.key), _bytes(record.value), str(record.offset), stamp, headers))


def _bytes(data: bytes | None) -> str:
    return "-" if data is None else base64.b64encode(data).decode()
