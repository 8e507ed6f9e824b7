"""Ranges of records that mean harm: random schemas, values and bytes (valid, nearly valid, made to hurt), and what they
cost. `tried` exports one such range as a task does, over memory."""

from __future__ import annotations

import json
import re
import time
import tracemalloc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from kafka_s3.adapters.memory import MemoryBroker, MemoryRegistry, MemoryStore
from kafka_s3.errors import EXIT_UNEXPECTED
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.log.entries import PlannedRange
from kafka_s3.plan.results import RangeResult
from kafka_s3.ports import RegisteredSchema, Registries
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.settings.model import Settings
from tests.pairs.exported import AT_MS
from tests.pairs.kinds import ENVELOPE, Batch, zigzag

TP = TopicPartition("orders", 0)
CPU_S_MAX = 1.0  # of one record
TIMES_MAX = 100  # of a record's bytes, in memory
FLOOR = 48 << 20  # what a range takes whatever is in it: parts, compressors, columns, and what libraries keep

_FIELD = {"partitioner.class": "FieldPartitioner"}
_TIME = {"partitioner.class": "HourlyPartitioner", "locale": "en", "timezone": "UTC"}
PARTITIONERS: Mapping[str, Mapping[str, str]] = {
    "default": {},
    "fields": {**_FIELD, "partition.field.name": "f,a.b"},
    "another delimiter": {**_FIELD, "partition.field.name": "f", "directory.delim": "_"},
    "id": {**_FIELD, "partition.field.name": "id"},
    "a field's time": {**_TIME, "timestamp.extractor": "RecordField", "timestamp.field": "f"},
    "the record's time": {**_TIME, "timestamp.extractor": "Record", "rotate.interval.ms": "1000"},
    "schema names": {"s3.schema.partition.affix.type": "PREFIX"},
}
OPTIONS: Sequence[Mapping[str, str]] = (
    {},
    {"json.decimal.format": "NUMERIC"},
    {"schema.compatibility": "BACKWARD"},
    {"schema.compatibility": "FULL"},
    {"schema.compatibility": "FORWARD"},
    {"export.envelope": "topic,offset,timestamp,key,headers"},
    {"export.object.bytes.max": "1000000"},
    {"store.kafka.headers": "true", "headers.format.class": "JsonFormat"},
)
_PATHS = ["..", "/../x", "a/../../b", "\\..\\x", "/", "", "a//b", "\x1b[31m", "\ud800", "x" * 2000, ".", "é\x00"]
_ODD: list[Any] = [
    None,
    [],
    {},
    "abc",
    "",
    10**19,
    -1,
    2**31,
    1.5,
    True,
    [1],
    {"a": 1},
    "decimal",
    "int8",
    "\x1b[2J",
    -(10**30),
]
_WORDS = [
    "logicalType",
    "scale",
    "precision",
    "connect.type",
    "connect.version",
    "connect.parameters",
    "connect.name",
    "connect.default",
    "connect.doc",
    "doc",
    "aliases",
    "name",
    "namespace",
    "symbols",
    "size",
    "default",
    "items",
    "values",
    "fields",
    "type",
    "version",
    "optional",
    "parameters",
]


def _long_decimal(size: int) -> bytes:
    return zigzag(size) + b"\x55" * size


#: Values of a registry's schema that is among these, by its number: what it may be made to do.
AVRO: Sequence[tuple[Any, Sequence[bytes]]] = (
    (
        {
            "type": "record",
            "name": "P",
            "fields": [{"name": "f", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}}],
        },
        [_long_decimal(n) for n in (1, 100, 417, 20_000, 200_000)],
    ),
    (
        {"type": "record", "name": "Q", "fields": [{"name": "f", "type": "string"}]},
        [zigzag(len(t)) + t for t in (p.encode("utf-8", "surrogatepass") for p in _PATHS)],
    ),
    ({"type": "array", "items": "null"}, [zigzag(900) + b"\0", zigzag(10**6) + b"\0", zigzag(2**62)]),
    (
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": "id", "type": "long"}, {"name": "f", "type": ["null", "long"]}],
        },
        [zigzag(2**63 - 1) + b"\2" + zigzag(-(2**63)), b"\0\0"],
    ),
)
#: JSON that is made to hurt, as a value, a payload, or a field.
JSON: Sequence[bytes] = (
    *(json.dumps({"f": path, "a": {"b": path}, "id": path}).encode() for path in _PATHS),
    b'{"f":%b,"id":%b}' % (b"9" * 4000, b"9" * 50_000),
    b'{"f":1e999999999999,"id":-0.0}',
    b'{"f":0.%b1}' % (b"0" * 100_000),
    b"[" * 1000,
    b"[" + b"0," * 50_000 + b"0]",
    b"[" + b"[]," * 30_000 + b"0]",
    b'{"a":' * 500 + b"1" + b"}" * 500,
    b'{"f":"2026-01-01T00:00:00Z","f":5}',
    b'{"f":{"f":null},"a":[{"b":1}]}',
    b'"' + b"\\ud800" * 5000 + b'"',
    b"{" + b",".join(b'"%d":%d' % (n, n) for n in range(5000)) + b"}",
)


_DECIMAL = json.dumps(
    {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
).encode()


def respelled(json_: Any, random: Random) -> Any:
    """The same JSON with its keys in another order."""
    if isinstance(json_, list):
        return [respelled(each, random) for each in json_]
    if not isinstance(json_, dict):
        return json_
    names = list(json_)
    random.shuffle(names)
    return {name: respelled(json_[name], random) for name in names}


def mangled(json_: Any, random: Random) -> Any:
    """A schema with something put in, taken out, or replaced, somewhere."""
    if isinstance(json_, list) and json_ and random.random() < 0.8:
        at = random.randrange(len(json_))
        return [mangled(each, random) if index == at else each for index, each in enumerate(json_)]
    if isinstance(json_, dict):
        below = [name for name, each in json_.items() if isinstance(each, list | dict)]
        if below and random.random() < 0.6:
            at_name = random.choice(below)
            return {**json_, at_name: mangled(json_[at_name], random)}
        made = {**json_, random.choice(_WORDS): random.choice(_ODD)}
        if random.random() < 0.5:
            made |= {"type": "bytes", "logicalType": "decimal", "precision": random.choice([4, *_ODD])}
        return made
    return random.choice(_ODD) if random.random() < 0.3 else {"type": json_, random.choice(_WORDS): random.choice(_ODD)}


@dataclass
class Figures:
    """What was tried, and the worst of it."""

    records: int = 0
    ranges: int = 0
    combinations: set[str] = field(default_factory=set)
    cpu_s: float = 0.0
    times: float = 0.0  # of a range's bytes, above FLOOR
    peak: int = 0
    contained: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return (
            f"{self.records} records in {self.ranges} ranges, {len(self.combinations)} combinations; worst CPU of a "
            f"range {self.cpu_s:.2f} s; worst memory {self.peak / 2**20:.0f} MiB, {self.times:.1f} times its bytes "
            f"beyond a floor of {FLOOR >> 20} MiB; exceptions contained: {self.contained or 'none'}"
        )


Schemas = dict[int, RegisteredSchema]


def values_of(kind: str, batch: Batch, random: Random, damage: Any) -> tuple[list[bytes | None], Schemas]:
    """Values, and the registry's schemas by id: those of the batch, and worse ones."""
    raw = [case.raw for case in batch.cases]
    texts: dict[int, str] = {}
    schemas: Schemas = {}
    values: list[bytes | None] = [*raw, *(damage(each, random) for each in raw)]
    if isinstance(batch.registered, RegisteredSchema) and batch.registered.type == "JSON":
        values += _json_schema(raw, batch.registered, schemas, random)
    elif isinstance(batch.registered, RegisteredSchema):
        values += _protobuf(raw, batch.registered, schemas, random)
    elif batch.registered is not None:
        avro = json.loads(batch.registered.text)
        texts[1] = batch.registered.text
        texts[2] = json.dumps(respelled(avro, random), indent=1)
        texts |= {id: json.dumps(mangled(avro, random)) for id in (3, 4)}
        values += [each[:4] + bytes([id]) + each[5:] for each in raw[:3] for id in (2, 3, 4)]
        chosen = random.randrange(len(AVRO))
        texts[5] = json.dumps(AVRO[chosen][0])
        values += [b"\0\0\0\0\5" + each for each in random.sample(AVRO[chosen][1], 2)]
    if kind == ENVELOPE:
        for each in raw[:3]:
            parsed = json.loads(each)
            for schema in (respelled(parsed["schema"], random), mangled(parsed["schema"], random)):
                values.append(json.dumps({"schema": schema, "payload": parsed["payload"]}).encode())
        harm = random.choice(JSON)
        values.append(b'{"schema":null,"payload":' + harm + b"}")
        values.append(b'{"payload":' + harm + b',"schema":' + _DECIMAL + b"}")
    values += [random.choice(JSON), None, random.randbytes(random.randint(0, 30))]
    random.shuffle(values)
    return values, {**schemas, **{id: RegisteredSchema(id, text) for id, text in texts.items()}}


#: Schemas that are none, or that are made to cost much.
_BAD_PROTOS: Sequence[str] = (
    "",
    "message",
    'syntax = "proto3"; import "gone.proto"; message M { Gone g = 1; }',
    'syntax = "proto2"; message M { optional group G = 1 { optional int32 a = 1; } }',
    'syntax = "proto3"; message M { M a = 1; repeated M f = 2; map<string, M> b = 3; }',
    'syntax = "proto3"; message M { repeated W f = 1; } message W { '
    + " ".join(f"repeated string a_field_with_a_long_name_{n} = {n};" for n in range(1, 500))
    + "}",
)
#: Messages for these, and for any other: empty ones inside by the thousand, packed ones, deep ones, groups.
_PROTO_BOMBS: Sequence[bytes] = (
    b"\x0a\0" * 20_000,
    b"\x12\0" * 20_000,
    b"\x0a\x90\x4e" + b"\0" * 10_000,
    b"\x0a" * 5_000,
    b"\x13" * 5_000,
    b"\x0b" * 99 + b"\x0c" * 99,
    b"\x0a\xff\xff\xff\xff\x0f",
    b"\x08" + b"\xff" * 20,
    b"\x1a\x04\x0a\x00\x12\x00" * 2_000,
)


def _protobuf(raw: Sequence[bytes], given: RegisteredSchema, schemas: Schemas, random: Random) -> list[bytes]:
    schemas[1] = given
    bad = random.choice(_BAD_PROTOS)
    names = random.choice([(), ("../up.proto",), ("gone.proto",)])
    schemas[2] = RegisteredSchema(2, bad, "PROTOBUF", tuple('syntax = "proto3";' for _ in names), names)
    schemas[3] = RegisteredSchema(3, given.text, random.choice(["AVRO", "JSON"]))
    values = [each[:4] + bytes([id]) + each[5:] for each in raw[:2] for id in (2, 3, 4)]
    values += [each[:5] + random.choice([b"\2\2", b"\4\0\0", b"\xff" * 6, b"\1", b""]) + each[6:] for each in raw[:2]]
    return values + [bytes([0, 0, 0, 0, random.choice([1, 2]), 0]) + each for each in random.sample(_PROTO_BOMBS, 3)]


#: What may stand in the place of anything in a JSON Schema.
_JSON_WORDS: Sequence[str] = (
    *("type", "properties", "items", "oneOf", "allOf", "enum", "$ref", "title", "default", "required", "const"),
    *("connect.type", "connect.index", "connect.version", "connect.parameters", "additionalProperties", "$id"),
)
_JSON_ODD: Sequence[Any] = (
    *(None, True, 0, -1, 2**31, 1.5, "", "map", "bytes", "integer", "#", "#/properties", "gone.json", [], {}),
    *(
        [{}],
        {"type": "string"},
        [{"type": "null"}],
        {"$ref": "#"},
        [{"$ref": "#"}] * 9,
        {"type": []},
        ["null", "string"],
    ),
    "org.apache.kafka.connect.data.Decimal",
)
#: Values for these, and for any other: many of little, deep ones, numbers without end.
_JSON_BOMBS: Sequence[bytes] = (
    b"[" + b"{}," * 20_000 + b"{}]",
    b'{"a":' * 90 + b"1" + b"}" * 90,
    b"[" * 5_000,
    b'{"a":[' + b"null," * 20_000 + b"null]}",
    b'{"a":' + b"9" * 5_000 + b"}",
    b'{"a":1e999999999}',
    b'{"a":"' + b"\\u0000" * 5_000 + b'"}',
    b'{"a":1,"a":{"a":1}}',
)


def _mangled_json(json_: Any, random: Random) -> Any:
    """A JSON Schema with something put in, or replaced, somewhere."""
    if isinstance(json_, dict):
        below = [name for name, each in json_.items() if isinstance(each, list | dict)]
        if below and random.random() < 0.6:
            at = random.choice(below)
            return {**json_, at: _mangled_json(json_[at], random)}
        return {**json_, random.choice(_JSON_WORDS): random.choice(_JSON_ODD)}
    if isinstance(json_, list) and json_:
        return [_mangled_json(each, random) for each in json_]
    return random.choice(_JSON_ODD)


def _json_schema(raw: Sequence[bytes], given: RegisteredSchema, schemas: Schemas, random: Random) -> list[bytes]:
    schemas[1] = given
    parsed = json.loads(given.text)
    for id in (2, 3):
        names = random.choice([(), ("gone.json",), ("a.json",)])
        text = json.dumps(_mangled_json(parsed, random))
        schemas[id] = RegisteredSchema(id, text, "JSON", tuple(random.choice(["{", "{}", text]) for _ in names), names)
    schemas[4] = RegisteredSchema(4, given.text, random.choice(["AVRO", "PROTOBUF"]))
    values = [each[:4] + bytes([id]) + each[5:] for each in raw[:3] for id in (2, 3, 4, 5)]
    return values + [bytes([0, 0, 0, 0, random.choice([1, 2, 3])]) + each for each in random.sample(_JSON_BOMBS, 3)]


def record_of(offset: int, value: bytes | None, random: Random) -> Record:
    """With a key, a time and headers that need not be what is expected."""
    key = random.choice([b"k", b"\xff\0", None, value, b"7" * 8])
    headers = random.choice([(("h", b"1"),), (), (("\x1b[0m", b"\xff"), ("n", None)), (("h", value),)])
    return Record(offset, value, key, random.choice([AT_MS, None, 0, 2**63 - 1, -1]), headers)


def tried(
    settings: Settings, records: Sequence[Record], schemas: Schemas, figures: Figures, *, traced: bool
) -> RangeResult:
    """A range through the task; fails where it costs too much, raised, or does not add up."""
    registry = MemoryRegistry(schemas)
    broker, store = MemoryBroker(), MemoryStore()
    broker.create_topic("orders")
    broker.append("orders", 0, *records)
    task = RangeTask(PlannedRange("orders", 0, 0, len(records)), AT_MS, 0, broker.offsets([TP])[TP])
    before = _before(traced)
    began = time.process_time()
    result = export_range(settings, task, store, broker, Registries(registry, registry))
    cpu_s = time.process_time() - began
    peak = _peak(traced) - before
    check(settings, result, len(records))
    size = sum(len(each.value or b"") + len(each.key or b"") for each in records) + sum(
        len(each.text) for each in schemas.values()
    )
    figures.records += len(records)
    figures.ranges += 1
    figures.cpu_s = max(figures.cpu_s, cpu_s) if not traced else figures.cpu_s
    figures.peak = max(figures.peak, peak)
    figures.times = max(figures.times, (peak - FLOOR) / max(size, 1))
    assert peak <= FLOOR + TIMES_MAX * size, f"{peak >> 20} MiB for {size} bytes"
    assert traced or cpu_s <= CPU_S_MAX * len(records), f"{cpu_s:.1f} s for {len(records)} records"
    return result


def check(settings: Settings, result: RangeResult, count: int) -> None:
    """A range is committed to its end, or up to a bad record, or failed for a reason that was foreseen."""
    failure, entry = result.failure, result.entry
    assert failure is None or failure.exit_status != EXIT_UNEXPECTED, (failure, result.trace)
    assert not result.trace
    if entry is not None:
        entry.check_accounting()
        stopped = failure is not None
        assert stopped or entry.next_offset == count
        assert not (stopped and settings.tolerate_bad_records)
    for text in (*result.refused, failure.reason if failure else ""):
        assert text.isprintable(), text


def _before(traced: bool) -> int:
    if traced:
        tracemalloc.start()
        return tracemalloc.get_traced_memory()[0]
    Path("/proc/self/clear_refs").write_text("5")  # the high water begins anew at what is in use
    return _high_water()


def _peak(traced: bool) -> int:
    if traced:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak
    return _high_water()


def _high_water() -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) << 10
