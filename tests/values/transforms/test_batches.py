"""A record's fate is its own: what a chain makes of it does not depend on the records beside it in a batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from kafka_s3.ports import Registries
from kafka_s3.records import ColumnBatch, Record
from kafka_s3.settings.converters import Converter
from kafka_s3.settings.model import Settings
from kafka_s3.values.rows import Unwritable
from kafka_s3.values.transforms.chain import Chain
from tests.values.transforms.chains import AT_MS, KAFKA, PARTITION, configured
from tests.values.transforms.oracle_cases import envelope, form, plain, schema_and_value, struct, transforms

AIVEN, CONFLUENT = "io.aiven.kafka.connect.transforms", "io.confluent.connect.transforms"
#: Batches of each kind of values, and records of one.
BATCHES, ROWS = 150, 70
OTHERS: tuple[tuple[str, dict[str, str]], ...] = (
    (f"{AIVEN}.ExtractTimestamp$Value", {"field.name": "a"}),
    (f"{AIVEN}.ExtractTopic$Value", {"field.name": "b", "skip.missing.or.null": "true"}),
    (f"{AIVEN}.ExtractTopic$Value", {"field.name": "a"}),
    (f"{AIVEN}.Hash$Value", {"field.name": "a", "function": "md5"}),
    (f"{AIVEN}.Hash$Key", {"function": "sha1"}),
    (f"{CONFLUENT}.TombstoneHandler", {"behavior": "fail"}),
    (f"{CONFLUENT}.Drop$Value", {"schema.behavior": "retain"}),
    (f"{CONFLUENT}.Filter$Value", {"filter.condition": "$[?(@.a == 1)]", "filter.type": "exclude"}),
    (f"{CONFLUENT}.Filter$Key", {"filter.condition": "$.k", "filter.type": "include"}),
    (f"{CONFLUENT}.ExtractTopic$Value", {"field": "b"}),
    (f"{CONFLUENT}.ExtractTopic$Header", {"field": "mark", "skip.missing.or.null": "true"}),
    (
        f"{CONFLUENT}.MessageTimestampRouter",
        {"message.timestamp.keys": "a", "message.timestamp.format": "yyyy", "topic.timestamp.format": "yyyy"},
    ),
    (f"{KAFKA}.Filter", {"predicate": "marked"}),
    (f"{KAFKA}.DropHeaders", {"headers": "mark"}),
    (f"{KAFKA}.InsertHeader", {"header": "h", "value.literal": "1"}),
    (f"{KAFKA}.HeaderFrom$Key", {"fields": "k", "headers": "hk", "operation": "move"}),
    (f"{KAFKA}.ExtractField$Key", {"field": "k"}),
    (f"{KAFKA}.RegexRouter", {"regex": "orders(.*)", "replacement": "all$1"}),
    (f"{KAFKA}.TimestampRouter", {"topic.format": "${topic}-${timestamp}", "timestamp.format": "SSS"}),
)
PREDICATES = {
    "predicates": "marked,empty,ours",
    "predicates.marked.type": f"{KAFKA}.predicates.HasHeaderKey",
    "predicates.marked.name": "mark",
    "predicates.empty.type": f"{KAFKA}.predicates.RecordIsTombstone",
    "predicates.ours.type": f"{KAFKA}.predicates.TopicNameMatches",
    "predicates.ours.pattern": "orders",
}


def chain_of(random: Random) -> dict[str, str]:
    made = dict(PREDICATES)
    aliases = [f"t{number}" for number in range(random.randint(1, 3))]
    made["transforms"] = ",".join(aliases)
    for alias in aliases:
        name, options = transforms(random)
        type, options = random.choice([*OTHERS, *[(f"{KAFKA}.{name}", options)] * len(OTHERS)])
        step = {"type": type, **options}
        if "predicate" not in step and random.random() < 0.3:
            step |= {
                "predicate": random.choice(("marked", "empty", "ours")),
                "negate": random.choice(("true", "false")),
            }
        made |= {f"transforms.{alias}.{option}": text for option, text in step.items() if text}
    return made


def odd(random: Random, good: bytes) -> bytes | None:
    """What a topic may hold beside good values."""
    return random.choice([None, b"null", b"5", b'"x"', b"[1]", b"{}", b"", b"{", b"\xff", good[:-1], b'{"a":1e400}'])


def records_of(random: Random, *, schemas: bool) -> list[Record]:
    """A few different values over and over, so that many are of one schema; offsets with gaps."""
    made: list[bytes | None] = []
    for _ in range(random.randint(2, 6)):
        if not schemas:
            value = json.dumps({name: plain(random) for name in "abcd"[: random.randint(1, 4)]}).encode()
        elif random.random() < 0.8:
            value = envelope(*(struct(random) if random.random() < 0.8 else schema_and_value(random)))
        else:
            value = envelope(None, plain(random))
        made.append(odd(random, value) if random.random() < 0.2 else value)
    offset, found = 0, []
    for row in range(ROWS):
        offset += random.choice((1, 1, 1, 4))
        key = random.choice(
            [None, b'{"k":1}', b'{"k":"x"}', b"7", b"{"] if not schemas else [None, envelope(None, {"k": 1})]
        )
        headers = random.choice([(), (("mark", b"m"),), (("mark", None), ("h", b"0"))])
        found.append(Record(offset, made[row % len(made)], key, None if row % 9 == 4 else AT_MS + row, headers))
    return found


def fates(settings: Settings, records: Sequence[Record]) -> list[Any]:
    """What becomes of each record: its parts, or why it is left."""
    made = Chain(settings, Registries())(ColumnBatch(PARTITION, list(records)))
    found: list[Any] = []
    for row in range(len(records)):
        why = made.left.get(row)
        if why is not None:
            found.append(why.reason if isinstance(why, Unwritable) else type(why).__name__)
            continue
        sides = []
        for side in (made.key, made.value):
            schemas = (
                None if side is None else side.schemas if not isinstance(side.schemas, list) else side.schemas[row]
            )
            sides.append(None if side is None else form(schemas, side.values[row]))
        untouched = made.value_rows.excluded.get(row) if made.value_rows is not None else None
        topic = made.topics if isinstance(made.topics, str) else made.topics[row]
        found.append((made.offset_at(row), topic, made.timestamps()[row], made.headers()[row], *sides, untouched))
    return found


@pytest.mark.parametrize("schemas", [False, True])
def test_a_batch_changes_no_records_fate(schemas: bool) -> None:
    """Whatever chain and values: each of a batch becomes what it becomes alone, at its offset, with its headers."""
    changed = left = 0
    for number in range(BATCHES):
        random = Random(f"{schemas} {number}")
        enabled = "true" if schemas else "false"
        converters = {"value.converter.schemas.enable": enabled, "key.converter.schemas.enable": enabled}
        properties = {
            **converters,
            "key.converter": Converter.JSON.value,
            "errors.tolerance": "all",
            **chain_of(random),
        }
        settings = configured(properties)
        records = records_of(random, schemas=schemas)
        together = fates(settings, records)
        for record, fate in zip(records, together, strict=True):
            assert fates(settings, [record]) == [fate], (properties, record)
        left += sum(isinstance(fate, str) for fate in together)
        changed += sum(not isinstance(fate, str) for fate in together)
    assert left > 1000
    assert changed > 1000
