"""What records hold is in no reason, log line, log entry or header of a dead letter, unless the user asks for it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from random import Random

import msgspec
import pytest

from kafka_s3.adapters.memory import MemoryBroker, MemoryRegistry, MemoryStore
from kafka_s3.bucket.dead_letter_objects import read_letters
from kafka_s3.dead_letter import context_headers
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.log.entries import PlannedRange
from kafka_s3.log.store import Log
from kafka_s3.naming import LogLayout
from kafka_s3.plan.results import RangeResult
from kafka_s3.ports import RegisteredSchema, Registries
from kafka_s3.records import Record, RecordBatch
from kafka_s3.settings.formats import Format
from kafka_s3.settings.properties import UserDefined
from tests.pairs.exported import AT_MS, is_allowed, settings_of
from tests.pairs.hostile import OPTIONS, PARTITIONERS, TP
from tests.pairs.kinds import ENVELOPE, TYPED, kinds, zigzag
from tests.pairs.test_round_trips import PAIRS, properties_of

#: A card's number, as text, as a number, and as others would show its bytes.
CARD = "4111222233334444"
_NUMBER = int(CARD)
_PARTS = [CARD[at : at + 6] for at in range(len(CARD) - 5)]
_SHOWN = [*_PARTS, CARD.encode().hex()[:12], CARD.encode().hex(" ")[:18], f"{_NUMBER:x}"[:8]]
_TOLERANT = {"errors.tolerance": "all", "errors.log.enable": "true", "behavior.on.null.values": "ignore"}
_CLASS = "io.confluent.connect.s3.S3SinkTask"
_FIELD_TYPES = ("int", "long", "string", "boolean", {"type": "bytes", "logicalType": "decimal", "precision": 4})


class Careless:
    """A partitioner of a user's that says in its exceptions what it was given."""

    def __init__(self, properties: Mapping[str, str]) -> None: ...

    def encode(self, batch: RecordBatch) -> Sequence[str | None]:
        for value in batch.values():
            if value is not None and CARD.encode() in value:
                raise KeyError(value, CARD)
        return ["p"] * len(batch)


BY = {**PARTITIONERS, "a class of one's own": {"partitioner.class": f"{__name__}:Careless"}}
_JSON = [
    CARD.encode(),
    f'"{CARD}"'.encode(),
    f'{{"f":"{CARD}","id":"{CARD}","a":{{"b":{CARD}}}}}'.encode(),
    f'{{"{CARD}":"{CARD}"}}'.encode(),
    f'{{"f":{CARD},"id":{CARD}.5}}'.encode(),
    f'{{"f":{{"{CARD}":1}},"a":["{CARD}"]}}'.encode(),
    f'{{"f":"{CARD}/../x","id":"/../{CARD}"}}'.encode(),
    f'{{"f":"2026-13-{CARD}","f":"{CARD}T"}}'.encode(),
    f'{{"f":"\\u0000{CARD}"}}'.encode(),
    f'{{"f": {CARD}x'.encode(),
    f'{{"f": NaN{CARD}'.encode(),
    f'{{"f": "\\{CARD}"}}'.encode(),
    f'{{"f":{CARD * 400}}}'.encode(),
    f'{{"f":"{CARD * 100}"}}'.encode(),
]


def _schema(number: int) -> str:
    fields = [{"name": "f", "type": _FIELD_TYPES[number % 5]}, {"name": "id", "type": {"type": "map", "values": "int"}}]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


def _values(kind: str, number: int) -> Iterator[bytes]:
    yield from _JSON
    if kind == "AvroConverter":
        for body in (zigzag(_NUMBER), b"\2" + CARD.encode(), zigzag(16) + CARD.encode() + zigzag(1), CARD.encode()):
            yield b"\0\0\0\0\1" + body
            yield b"\0\0\0\0\1" + body + zigzag(1) + zigzag(16) + CARD.encode() + zigzag(1) + b"\0"
            yield b"\0\0\0\0\2" + body
    if kind == ENVELOPE:
        types = ["int8", "string", "boolean", "bytes", "double", CARD]
        schema = {"type": "struct", "fields": [{"field": "f", "type": types[number % 6], "default": CARD}]}
        for payload in (CARD, f'"{CARD}"', f'{{"f":{CARD}}}', f'{{"f":"{CARD}"}}', f'{{"f":{{"{CARD}":1}}}}'):
            yield f'{{"schema":{json.dumps(schema)},"payload":{payload}}}'.encode()
            yield f'{{"schema":null,"payload":{payload}}}'.encode()


def _records(kind: str, side: str, number: int) -> list[Record]:
    headers = [((CARD, CARD.encode()),), ((CARD, None),), ((CARD, b"\xff"), ("h", CARD.encode())), ()]
    made = []
    for offset, harm in enumerate(_values(kind, number)):
        value, key = (harm, CARD.encode()) if side == "value" else (b'{"f":1}', harm)
        made.append(Record(offset, value, key, [AT_MS, None, 2**62][offset % 3], headers[offset % 4]))
    return made


def _range(kind: str, side: str, format: Format | UserDefined, number: int, more: Mapping[str, str]) -> tuple[str, int]:
    """All that is said of a range, and how many records were refused."""
    random = Random(f"{kind} {side} {format} {number}")
    while True:
        properties = {
            **properties_of(kinds()[kind], format, side),
            **({"export.value.schema": _schema(number)} if kind == TYPED else {}),
            **random.choice(list(BY.values())),
            **random.choice(OPTIONS),
            **random.choice([{}, {"store.kafka.headers": "true"}]),
            **more,
        }
        if is_allowed(properties):
            break
    settings = settings_of(properties)
    schemas = {
        1: _schema(number),
        2: json.dumps({"type": "record", "name": "R", "fields": [{"name": CARD[0], "type": 1}]}),
    }
    registry = MemoryRegistry({id: RegisteredSchema(id, text) for id, text in schemas.items()})
    broker, store = MemoryBroker(), MemoryStore()
    broker.create_topic("orders")
    records = _records(kind, side, number)
    broker.append("orders", 0, *records)
    task = RangeTask(PlannedRange("orders", 0, 0, len(records)), AT_MS, 0, broker.offsets([TP])[TP])
    result = export_range(settings, task, store, broker, Registries(registry, registry))
    return "\n".join(_said(result, Log(store, LogLayout("_kafka_s3", "orders")))), _refused(result)


def _refused(result: RangeResult) -> int:
    return (0 if result.entry is None else result.entry.rejected) + (result.failure is not None)


def _said(result: RangeResult, log: Log) -> Iterator[str]:
    yield from result.refused
    yield result.trace
    if result.failure is not None:
        yield result.failure.reason
    if result.entry is not None:
        yield msgspec.json.encode([each.dead_letters for each in [result.entry]]).decode()
        if result.entry.dead_letters is not None:
            for letter in read_letters(log, result.entry):
                yield letter.error
                added = context_headers(letter, _CLASS)[len(letter.headers) :]
                yield from (f"{name} {value!r}" for name, value in added)


@pytest.mark.parametrize(("side", "kind", "format"), PAIRS, ids=str)
def test_no_reason_says_what_a_record_holds(side: str, kind: str, format: Format | UserDefined) -> None:
    """A card's number as values, keys, headers, names of fields, numbers and lengths, under every pair: each record is
    written or refused, and what is said of it does not hold six digits of the number."""
    refused = 0
    for number in range(8):
        tolerant = _TOLERANT if number % 4 else {"behavior.on.null.values": "ignore"}
        said, count = _range(kind, side, format, number, tolerant)
        refused += count
        found = [(part, line) for line in said.splitlines() for part in _SHOWN if part in line]
        assert not found, found[0]
        assert said.isprintable() or all(map(str.isprintable, said.splitlines()))
    assert refused


def test_what_is_quoted_is_asked_for() -> None:
    """errors.log.include.messages=true: the same reasons quote what is wrong."""
    quoting = {**_TOLERANT, "errors.log.include.messages": "true"}
    said = [_range(ENVELOPE, "value", Format.JSON, number, quoting)[0] for number in range(6)]
    assert any(f'"{CARD}" is no' in each for each in said)
