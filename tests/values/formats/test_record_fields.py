"""`export.record.fields`: objects of whole records, as JSON and as CSV, and Aiven's own writers beside them."""

from __future__ import annotations

import base64
import json
from random import Random
from typing import Any

import pytest

from kafka_s3.adapters.memory import MemoryRegistry
from kafka_s3.ports import Registries
from kafka_s3.records import Record
from tests.write.members import PLAIN, TOLERANT, Made, record, settings_with, write
from tests.write.test_companions import REGISTRY, avro
from tools.connect.aiven import AivenQuestion, ask_aiven

ORDER = "headers,offset,value,key,timestamp"  # that of Aiven's JSON
FIELDS = {"export.record.fields": ORDER, "behavior.on.null.values": "write", "flush.size": "1000"}
CSV = {"format.class": "CsvFormat", "value.converter": "ByteArrayConverter", "behavior.on.null.values": "write"}
SEED = 7
BEFORE_YEAR_1 = (-62_135_596_800_001, -62_167_219_200_001, -377_705_116_800_001, -(10**16))


def body(made: Made) -> bytes:
    [written] = made.written.objects
    return made.store.contents()[written.key]


def random_records(count: int) -> list[Record]:
    """Values are spelled as Java spells them, and no header is null, at which Aiven's writers fail."""
    random = Random(SEED)
    texts = ["a", "é", "1.5", "true", '{"a":1}', "[1,2]", "", "2020-01-02", '"q"', "a,b\n"]
    values: list[Any] = [None, 1, -7, 2.5, True, "x", "éß", [1, {"a": None}], {"a": {"c": 0.5}, "b": []}, {}]
    made = []
    for offset in range(count):
        value = random.choice(values)
        headers = tuple((random.choice("hk"), random.choice(texts).encode()) for _ in range(random.randrange(3)))
        made.append(
            Record(
                offset * 3,
                None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(),
                None if random.random() < 0.2 else random.choice(texts).encode(),
                random.choice([None, 0, 1_577_836_801_000, 1_577_836_801_020, 253_402_300_800_123, *BEFORE_YEAR_1]),
                headers,
            )
        )
    return made


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["jsonl", "json"])
def test_json_is_that_of_aivens_own_writers(kind: str) -> None:
    """The same text for each record, in the same order of fields; only ends of lines are others."""
    records = random_records(400)
    [theirs] = ask_aiven([AivenQuestion(kind, "key,value,offset,timestamp,headers", records)])
    array = {"export.json.array": str(kind == "json").lower()}
    ours = body(write(settings_with(PLAIN, FIELDS, array), records))
    assert ours == (theirs.replace(b"[\n", b"[", 1)[:-2] + b"]\n" if kind == "json" else theirs + b"\n")


@pytest.mark.heavy
@pytest.mark.parametrize("encoding", ["base64", "none"])
def test_csv_is_that_of_aivens_own_writers(encoding: str) -> None:
    """In the order that the configuration has."""
    records = [Record(r.offset, r.value, r.key, r.timestamp_ms) for r in random_records(400)]
    [theirs] = ask_aiven([AivenQuestion("csv", "timestamp,key,value,offset", records, encoding=encoding)])
    more = {"export.record.fields": "timestamp,key,value,offset", "export.csv.value.encoding": encoding}
    assert body(write(settings_with(CSV, {"flush.size": "1000"}, more), records)) == theirs + b"\n"


@pytest.mark.heavy
def test_a_single_field_may_stand_alone() -> None:
    """As it does in Aiven's without an envelope, a null among them."""
    records = random_records(100)
    [theirs] = ask_aiven([AivenQuestion("jsonl", "value", records, envelope=False)])
    alone = {**FIELDS, "export.record.fields": "value", "export.record.wrapped": "false"}
    assert body(write(settings_with(PLAIN, alone), records)) == theirs + b"\n"


def test_csv_has_headers_in_base64() -> None:
    """`name:value;` each; a value that is null is empty."""
    more = {"export.record.fields": "headers,topic,partition"}
    made = write(settings_with(CSV, more), [record(0, b"x", headers=(("a", b"1"), ("b", None)))])
    assert body(made) == b"YQ==:MQ==;Yg==:;,orders,3\n"


def test_a_header_of_many_digits_is_a_number_too() -> None:
    """More than Python makes an int of at once: a Decimal, as Connect has it."""
    digits = b"1" * 5000
    more = {"export.record.fields": "headers", "errors.tolerance": "all"}
    made = write(settings_with(PLAIN, more), [record(0, b"{}", headers=(("h", digits),))])
    [header] = json.loads(body(made))["headers"]
    number = int.from_bytes(base64.b64decode(header["value"]), signed=True)
    assert number % 10**10 == 1_111_111_111
    assert number == (10**5000 - 1) // 9


def test_csv_is_the_value_alone_unless_fields_are_set() -> None:
    """And its name ends in .csv."""
    made = write(settings_with(CSV), [record(0, b"x")])
    assert body(made) == b"eA==\n"
    assert made.keys == ["partition=3/orders+3+0000000000.csv"]


def test_values_with_a_schema_are_nested() -> None:
    """What AvroConverter reads is an object among the others; a bad record is none."""
    registry = MemoryRegistry()
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": ["null", "int"]}]}
    id = registry.register("orders-value", json.dumps(schema))
    converters = {"value.converter": "AvroConverter", "value.converter.schema.registry.url": "http://registry:8081"}
    settings = settings_with(FIELDS, converters, TOLERANT, {"export.record.fields": "value,offset"})
    records = [record(0, avro(id, b"\x02\x02")), record(1, None), record(2, b"no Avro")]
    made = write(settings, records, registries=Registries(registry.again(), REGISTRY.again()))
    assert list(made.refused) == [2]
    assert body(made) == b'{"value":{"a":1},"offset":0}\n{"value":null,"offset":1}\n'


def test_a_tombstone_is_no_line_unless_it_is_written() -> None:
    """behavior.on.null.values says so here too."""
    records = [record(0, b"1"), record(1, None)]
    made = write(settings_with(PLAIN, {"export.record.fields": "value"}), records)
    assert "the value is null" in made.why[1]
    ignored = {"export.record.fields": "value", "behavior.on.null.values": "ignore"}
    assert body(write(settings_with(PLAIN, ignored), records)) == b'{"value":1}\n'


@pytest.mark.parametrize("cuts", [(1,), (3, 50), tuple(range(1, 99))])
def test_objects_do_not_show_how_records_came_in_batches(cuts: tuple[int, ...]) -> None:
    """Bytes are the same, however they were cut."""
    records = random_records(100)
    for more in ({**PLAIN, **FIELDS}, {**PLAIN, **FIELDS, "export.json.array": "true"}, {**CSV, "flush.size": "1000"}):
        whole = write(settings_with(more), records)
        assert write(settings_with(more), records, cuts).store.contents() == whole.store.contents()
