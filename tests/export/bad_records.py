"""Every kind of bad record with the reason that a person reads, and a connector over memory that meets them."""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kafka_s3.adapters.memory import MemoryBroker, MemoryDeadLetters, MemoryRegistry, MemoryStore
from kafka_s3.bucket.dead_letter_objects import read_letters
from kafka_s3.dead_letter import DeadLetter
from kafka_s3.dead_letters.delivery import report
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import run
from kafka_s3.export.run_report import RunReport
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.log.entries import Entry, Kind
from kafka_s3.plan.results import RangeResult
from kafka_s3.ports import Registries
from kafka_s3.records import Record
from kafka_s3.settings.model import Settings
from kafka_s3.verify.verify import Kafka, verify
from tests.support import hear, request
from tests.write.members import ENVELOPE, HEADERS, KEYS, PLAIN, TOLERANT, WRITE, enveloped, settings_with

AVRO = {"value.converter": "AvroConverter", "value.converter.schema.registry.url": "http://registry:8081"}
PARQUET = {"format.class": "ParquetFormat"}
TEN = {"flush.size": "10"}
QUOTING = {"errors.log.include.messages": "true"}
ROW = {"type": "record", "name": "Row", "fields": [{"name": "n", "type": "int"}]}
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
PRICED = {"type": "record", "name": "Priced", "fields": [{"name": "price", "type": PRICE}]}
TIME_MS = 1_700_000_000_000


@dataclass
class BadRecordExport:
    """A connector over one partition of `orders`; a registry with the schemas 1 (Row), 2 (Priced), 3 (no Avro)."""

    settings: Settings
    store: MemoryStore = field(default_factory=MemoryStore)
    broker: MemoryBroker = field(default_factory=MemoryBroker)
    registry: MemoryRegistry = field(default_factory=MemoryRegistry)
    runs: int = 0
    told: list[str] = field(default_factory=list)
    letters: MemoryDeadLetters = field(default_factory=MemoryDeadLetters)

    def __post_init__(self) -> None:
        self.broker.create_topic("orders")
        self.registry.register("orders-value", json.dumps(ROW))
        self.registry.register("priced", json.dumps(PRICED))
        self.registry.register("broken", '{"type":"record","name":"Broken"}')
        self.registry.register("json", "{}", type="JSON")

    @property
    def exporter(self) -> Exporter:
        return Exporter(self.settings, self.store, self.broker)

    def produce(self, *records: Record) -> None:
        self.broker.append("orders", 0, *records)

    def run(self) -> RunReport:
        self.runs += 1
        return run(self.exporter, request(f"run-{self.runs}"), self.execute, hear(self.told))

    def execute(self, tasks: Sequence[RangeTask]) -> list[RangeResult]:
        registries = Registries(self.registry.again(), self.registry.again())
        return [export_range(self.settings, task, self.store, self.broker, registries) for task in tasks]

    def entries(self) -> list[Entry]:
        """The log, oldest first."""
        return [each.entry for each in self.exporter.log.entries()][::-1]

    def found(self) -> list[DeadLetter]:
        """Every committed dead letter."""
        ranges = [done for entry in self.entries() if entry.kind is Kind.COMMIT for done in entry.ranges]
        log = self.exporter.log
        return [letter for done in ranges if done.dead_letters is not None for letter in read_letters(log, done)]

    def counts(self) -> tuple[int, int, int, int]:
        """Records, rejected, tombstones and skipped offsets of the newest entry's only range."""
        [done] = self.entries()[-1].ranges
        return done.records, done.rejected, done.tombstones, done.skipped_offsets

    def report(self) -> list[tuple[int, str]]:
        """What a topic of dead letters has got by now."""
        report(self.exporter, self.letters, hear(self.told))
        return [(each.offset, each.error) for each in self.letters.sent]

    def findings(self) -> list[str]:
        kafka = Kafka(self.broker, self.broker, Registries(self.registry.again(), self.registry.again()))
        checked = verify(self.settings, self.exporter.log, kafka, tell=lambda _: None)
        return [str(each) for each in checked.findings]


def world_of(*more: Mapping[str, str]) -> BadRecordExport:
    """Bad records are tolerated, however many: that most of them are bad is what other tests are about."""
    return BadRecordExport(settings_with(PLAIN, TOLERANT, TEN, {"export.errors.fraction.attention": "1"}, *more))


def avro(id: int, datum: bytes) -> bytes:
    return b"\0" + struct.pack(">I", id) + datum


def versioned(payload: Any, *fields: tuple[str, Any]) -> bytes:
    return enveloped(payload, *fields, version=1)


@dataclass(frozen=True)
class Bad:
    """A configuration, a record that it takes, one that it does not, and what is said of that."""

    more: Mapping[str, str]
    good: Record
    bad: Record
    reason: str
    stage: str = "TASK_PUT"


def given_record(value: bytes | None, **more: Any) -> Record:
    fields: dict[str, Any] = {"key": b"k\xff", "timestamp_ms": TIME_MS, "headers": (("h", b"\0\xff"), ("n", None))}
    return Record(0, value, **{**fields, **more})


JSON = given_record(b'{"n":1}')
ROW_1 = given_record(avro(1, b"\x02"))
ENVELOPED = given_record(versioned({"n": 1}, ("n", "int32")))
VALUE, KEY = "VALUE_CONVERTER", "KEY_CONVERTER"
BY_FIELD = {"partitioner.class": "FieldPartitioner", "partition.field.name": "n"}
HOURLY = {"partitioner.class": "HourlyPartitioner", "locale": "en", "timezone": "UTC"}
BY_TIME = {**HOURLY, "timestamp.extractor": "RecordField", "timestamp.field": "n"}
LONG_KEYS = {**KEYS, "key.converter": "LongConverter", "keys.format.class": "JsonFormat"}
DECIMAL = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}

BADS = {
    "not JSON": Bad(
        {},
        JSON,
        given_record(b"{oops"),
        "not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        VALUE,
    ),
    "JSON of a registry": Bad(
        {},
        JSON,
        given_record(b'\0\0\0\0\x01{"n":1}'),
        "not JSON: it begins with 00, the magic byte of a schema registry: AvroConverter reads Avro, ProtobufConverter"
        " Protobuf, JsonSchemaConverter JSON; or take the bytes with ByteArrayConverter",
        VALUE,
    ),
    "no value in JSON": Bad({}, JSON, given_record(b""), "not JSON: the value is empty", VALUE),
    "not UTF-8": Bad({}, JSON, given_record(b'"\xff"'), "not JSON: not UTF-8 at byte 1", VALUE),
    "wrong magic byte": Bad(
        AVRO,
        ROW_1,
        given_record(b"\x01\0\0\0\x01\x02"),
        "not Avro of a schema registry: the first byte is 01, not 00 (it is 01 00 00 00 01 02)",
        VALUE,
    ),
    "too short for an id": Bad(
        AVRO,
        ROW_1,
        given_record(b"\0\0"),
        "not Avro of a schema registry: 2 bytes, where a zero byte and a schema's id take 5 (it is 00 00)",
        VALUE,
    ),
    "unknown schema": Bad(
        AVRO,
        ROW_1,
        given_record(avro(99, b"\x02")),
        "the schema registry has no schema of the id 99 (it is 00 00 00 00 63 02)",
        VALUE,
    ),
    "schema of another type": Bad(
        AVRO,
        ROW_1,
        given_record(avro(4, b"\x02")),
        "the schema of the id 4 is of the type JSON, not AVRO (it is 00 00 00 00 04 02)",
        VALUE,
    ),
    "schema that does not parse": Bad(
        AVRO,
        ROW_1,
        given_record(avro(3, b"\x02")),
        "the schema of the id 3 cannot be used: the record Broken has no list of fields (it is 00 00 00 00 03 02)",
        VALUE,
    ),
    "truncated": Bad(
        AVRO,
        ROW_1,
        given_record(avro(1, b"\x80")),
        "not a value of the schema of the id 1: ends within an int at byte 0 (it is 00 00 00 00 01 80)",
        VALUE,
    ),
    "trailing": Bad(
        AVRO,
        ROW_1,
        given_record(avro(1, b"\x02\x02")),
        "not a value of the schema of the id 1: 1 bytes too many, after 1 of the value (it is 00 00 00 00 01 02 02)",
        VALUE,
    ),
    "no envelope": Bad(
        ENVELOPE,
        ENVELOPED,
        given_record(b'{"n":1}'),
        "no envelope: with schemas.enable=true it is an object of exactly 'schema' and 'payload'; JSON without "
        "its schema needs schemas.enable=false of its converter",
        VALUE,
    ),
    "envelope's schema": Bad(
        ENVELOPE,
        ENVELOPED,
        given_record(versioned({}, ("n", "int33"))),
        "the envelope's schema cannot be used: n: there is no schema of type 'int33'",
        VALUE,
    ),
    "wrong type": Bad(
        ENVELOPE, ENVELOPED, given_record(versioned({"n": "x"}, ("n", "int32"))), 'n: "x" is not an int32', VALUE
    ),
    "missing value": Bad(
        ENVELOPE, ENVELOPED, given_record(versioned({}, ("n", "int32"))), "n: null or missing, but required", VALUE
    ),
    "number of 3 bytes": Bad(
        {"value.converter": "LongConverter"},
        given_record(bytes(8)),
        given_record(b"abc"),
        "3 bytes are not a long: it has 8",
        VALUE,
    ),
    "missing field": Bad(BY_FIELD, JSON, given_record(b'{"m":1}'), "field n is missing; there are m (a whole number)"),
    "field that is not a path": Bad(
        BY_FIELD,
        JSON,
        given_record(b'{"n":[1]}'),
        "field n is a list: a path is made of text, whole numbers, booleans and null",
    ),
    "time that is none": Bad(
        BY_TIME,
        JSON,
        given_record(b'{"n":"soon"}'),
        "field n is 'soon', which is not a time: Invalid format: 'soon' is not a timestamp. Allowed are milliseconds "
        "since 1970 and ISO 8601, such as 2015-04-02T10:30:15.123+02:00 or 2015-04-02.",
    ),
    "missing time": Bad(BY_TIME, JSON, given_record(b"{}"), "field n is missing; there are no fields"),
    "no timestamp": Bad(
        {**HOURLY, "timestamp.extractor": "Record"},
        JSON,
        given_record(b'{"n":1}', timestamp_ms=None),
        "the record has no timestamp",
    ),
    "null value": Bad({}, JSON, given_record(None), "the value is null and behavior.on.null.values is fail"),
    "null key": Bad(
        KEYS, JSON, given_record(b'{"n":1}', key=None), "the key is null, and store.kafka.keys=true wants one"
    ),
    "key of a wrong size": Bad(
        LONG_KEYS, given_record(b"{}", key=bytes(8)), JSON, "its key: 2 bytes are not a long: it has 8", KEY
    ),
    "tombstone without a key": Bad(
        WRITE, JSON, given_record(None, key=None), "the key is null, and store.kafka.keys=true wants one"
    ),
    "missing headers": Bad(
        {**HEADERS, "headers.format.class": "JsonFormat"},
        given_record(b"{}", headers=(("h", b"1"),)),
        given_record(b"{}", headers=()),
        "it has no headers, and store.kafka.headers=true wants some",
    ),
    "header without a value": Bad(
        HEADERS, given_record(b"{}", headers=(("h", b"1"),)), JSON, "its header 'n' has no value", "HEADER_CONVERTER"
    ),
    "path too long": Bad(
        BY_FIELD,
        JSON,
        given_record(b'{"n":"%b"}' % (b"x" * 1000)),
        "its key would have 1063 bytes, and S3 takes 1024: the path begins "
        "'n=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'",
    ),
    "path with a control character": Bad(
        {**BY_FIELD, "s3.schema.partition.affix.type": "NONE"},
        JSON,
        given_record(b'{"n":"\\ud800"}'),
        "field n holds half a surrogate pair, which no key can",
    ),
    "no version": Bad(
        {**ENVELOPE, "schema.compatibility": "BACKWARD"},
        ENVELOPED,
        given_record(enveloped({"n": 1}, ("n", "int32"))),
        "Schema version required for BACKWARD compatibility: Order has none. Versions are those of a registry's "
        "subject, or of the envelope's schema; schema.compatibility=NONE needs none.",
    ),
    "decimal too large": Bad(
        {**ENVELOPE, **PARQUET},
        ENVELOPED,
        given_record(versioned({"d": b64encode(b"\x7f" * 33).decode()}, ("d", DECIMAL))),
        "d: a decimal of more than 64 digits",
        VALUE,
    ),
    "decimal beyond its precision": Bad(
        {**AVRO, **PARQUET},
        given_record(avro(2, b"\x02\x01")),
        given_record(avro(2, b"\x06\x7f\xff\xff")),
        "the field price is a decimal of 3 bytes with more than the 4 digits of its schema",
    ),
    "no schema for Parquet": Bad(
        {**ENVELOPE, **PARQUET},
        ENVELOPED,
        given_record(b'{"schema":null,"payload":{"n":1}}'),
        "it has no schema, and ParquetFormat needs one",
    ),
    "field of the same name": Bad(
        {"export.envelope": "offset"},
        JSON,
        given_record(b'{"_kafka_offset":1}'),
        "it has a field itself that export.envelope adds (_kafka_offset): set another export.envelope.prefix",
    ),
}


def in_a_row(*records: Record) -> list[Record]:
    return [replace(each, offset=offset) for offset, each in enumerate(records)]
