"""Change events for Debezium's own classes: generated rows in envelopes, what is not an event, and options."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from tests.values.transforms.oracle_cases import envelope, schema_and_value, struct
from tools.connect.transform_oracle import Question

DEBEZIUM = "io.debezium.transforms"
BY_TABLE = f"{DEBEZIUM}.ByLogicalTableRouter"
UNWRAP = f"{DEBEZIUM}.ExtractNewRecordState"
#: Debezium's word for an envelope, and what passes unchanged.
NAMES = ("srv-1.db.orders.Envelope",) * 8 + ("srv.db.orders.Value", "io.debezium.connector.common.Heartbeat", None)
FIELDS = (
    "op",
    "ts_ms",
    "ts_us:at",
    "table",
    "source.ts_ms",
    "source.db:DB",
    "lsn",
    "id",
    "transaction.total_order:n",
    "nowhere",
    "after.a",
    "source.op",
    "source.when",
    "missing.x",
    "before",
)


def _source() -> tuple[dict[str, Any], dict[str, Any]]:
    text, number = {"type": "string"}, {"type": "int64"}
    fields = [
        {"field": "connector", **text},
        {"field": "ts_ms", **number},
        {"field": "db", **text, "default": "none"},
        {"field": "table", "type": "string", "optional": True, "default": "t"},
        {"field": "lsn", "type": "int64", "optional": True},
        {"field": "when", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1},
    ]
    schema = {"type": "struct", "name": "io.debezium.connector.x.Source", "fields": fields, "version": 1}
    return schema, {"connector": "x", "ts_ms": 17, "db": "d", "table": None, "lsn": 5, "when": 1_456_300_800_123}


def _transaction(random: Random) -> tuple[dict[str, Any], dict[str, Any] | None]:
    fields = [{"field": "id", "type": "string"}, {"field": "total_order", "type": "int64"}]
    value = {"id": "tx", "total_order": 3} if random.random() < 0.5 else None
    return {"type": "struct", "optional": True, "fields": fields, "name": "event.block"}, value


def event(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """An envelope; now and then one that lacks what it should have."""
    row, after = struct(random, 1)
    if random.random() < 0.3:
        row["fields"].append({"field": "region", "type": "string", "optional": True})
        after["region"] = random.choice(("north", "", " ", None))
    if random.random() < 0.03:
        row, after = schema_and_value(random)
    row["optional"] = True
    before = after
    operation = random.choice(("c", "u", "d", "d", "r", "t"))
    if operation in ("c", "r"):
        before = None
    elif operation in ("d", "t"):
        after = None  # type: ignore[assignment]
        before = before if operation == "d" else None
    (source_schema, source), (block_schema, block) = _source(), _transaction(random)
    parts = [
        ("before", row, before),
        ("after", row, after),
        ("source", source_schema, source),
        ("transaction", block_schema, block),
        ("op", {"type": "string"}, operation),
        ("ts_ms", {"type": "int64", "optional": True}, random.choice((None, 19))),
        ("ts_us", {"type": "int64", "optional": True}, 19_000),
    ]
    if random.random() < 0.06:
        parts.pop(random.randrange(len(parts)))
    fields = [{"field": name, **schema} for name, schema, _ in parts]
    made: dict[str, Any] = {"type": "struct", "fields": fields, "version": random.choice((1, 2))}
    if (name := random.choice(NAMES)) is not None:
        made["name"] = name
    return made, {name: value for name, _, value in parts}


def _options(random: Random, *, older: bool) -> dict[str, str]:
    made: dict[str, str] = {}
    if older:
        if random.random() < 0.8:
            made["drop.tombstones"] = random.choice(("true", "false"))
        if random.random() < 0.8 or not made:
            made["delete.handling.mode"] = random.choice(("drop", "rewrite", "none", "REWRITE"))
    elif random.random() < 0.9:
        modes = ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone", "Rewrite")
        made["delete.tombstone.handling.mode"] = random.choice(modes)
    if not older and random.random() < 0.5:
        made["replace.null.with.default"] = random.choice(("true", "false"))
    for part in ("fields", "headers"):
        if random.random() < 0.5:
            made[f"add.{part}"] = ",".join(random.sample(FIELDS, random.randint(1, 3)))
            if random.random() < 0.3:
                made[f"add.{part}.prefix"] = random.choice(("", "x-", "_"))
    if random.random() < 0.3:
        made["route.by.field"] = random.choice(("region", "region", "a"))
    return made


def unwrap_cases(seed: int, count: int, *, older: bool = False) -> Iterator[Question]:
    for number in range(count):
        random = Random(f"unwrap {seed} {number} {older}")
        schema, payload = event(random)
        value: bytes | None = envelope(schema, payload)
        kind = random.random()
        if kind < 0.06:
            value = None
        elif kind < 0.1:
            value = envelope(None, payload)
        yield Question(UNWRAP, _options(random, older=older), value, headers=(("h", "there"),))


def _key(random: Random) -> bytes | None:
    kind = random.random()
    if kind < 0.1:
        return None
    if kind < 0.15:
        return envelope(None, {"a": 1})
    schema, value = schema_and_value(random) if kind < 0.2 else struct(random)
    return None if value is None else envelope(schema, value)


def _table_options(random: Random) -> dict[str, str]:
    regex, to = random.choice(
        (
            ("(.*)_shard[0-9]", "$1"),
            ("(.*)", "all-$1"),
            ("orders|(?<x>or).*", "1x.${x}y"),
            ("none", "x"),
            ("()(.*)", "$1"),
        )
    )
    made = {"topic.regex": regex, "topic.replacement": to}
    if random.random() < 0.3:
        made["key.enforce.uniqueness"] = random.choice(("true", "false"))
    if random.random() < 0.4:
        made["key.field.name"] = random.choice(("__table", "a", "t-t"))
    if random.random() < 0.5:
        made |= {"key.field.regex": random.choice((".*_(.*)", "(or).*", "")), "key.field.replacement": "k$1"}
    if random.random() < 0.5:
        made["schema.name.adjustment.mode"] = random.choice(("none", "avro", "avro_unicode", "AVRO"))
    return made


def table_cases(seed: int, count: int) -> Iterator[Question]:
    for number in range(count):
        random = Random(f"tables {seed} {number}")
        schema, payload = event(random)
        value: bytes | None = envelope(schema, payload)
        kind = random.random()
        if kind < 0.06:
            value = None
        elif kind < 0.1:
            value = envelope(None, payload)
        topic = random.choice(("orders", "db.orders_shard1", "db.orders_shard2"))
        yield Question(BY_TABLE, _table_options(random), value, _key(random), topic=topic)
