"""What transforms cannot change: neither reasons nor log lines say what stands in the records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from kafka_s3.records import Record
from kafka_s3.settings.transforms import catalogue
from kafka_s3.values.transforms.user_defined import TransformBatch
from tests.pairs.cards import CARD, NUMBER, exported, own_properties, records_of, refused, registries_of, told
from tests.pairs.exported import AT_MS, is_allowed, settings_of
from tests.pairs.kinds import ENVELOPE, PLAIN, kinds

KAFKA = "org.apache.kafka.connect.transforms"
CONFLUENT = "io.confluent.connect.transforms"
AIVEN = "io.aiven.kafka.connect.transforms"
DEBEZIUM = "io.debezium.transforms"
DATES = {"message.timestamp.format": "yyyy-MM-dd", "topic.timestamp.format": "yyyy-MM-dd"}
IGNORED: Mapping[str, str] = {"behavior.on.null.values": "ignore"}

#: Options of every class under which records of the number fail as they can, if they can.
FAILS: Mapping[str, Sequence[Mapping[str, str]]] = {
    f"{KAFKA}.Cast": [{"spec": "f:int8,id:boolean"}, {"spec": "float64"}],
    f"{KAFKA}.ExtractField": [{"field": "f.x", "field.syntax.version": "V2"}],
    f"{KAFKA}.Flatten": [{"delimiter": "_"}],
    f"{KAFKA}.HeaderFrom": [{"fields": "gone", "headers": "x", "operation": "move"}],
    f"{KAFKA}.InsertField": [{"timestamp.field": "f!"}],
    f"{KAFKA}.MaskField": [{"fields": "f,id", "replacement": "x"}],
    f"{KAFKA}.ReplaceField": [{"renames": "f:id"}],
    f"{KAFKA}.SetSchemaMetadata": [{"schema.name": "N"}],
    f"{KAFKA}.TimestampConverter": [
        {"field": "f", "target.type": "unix", "format": "yyyy-MM-dd"},
        {"target.type": "Timestamp", "format": "yyyy"},
        {"field": "id", "target.type": "string", "format": "yyyy"},
    ],
    f"{KAFKA}.TimestampRouter": [{"topic.format": "${topic}/${timestamp}"}],
    f"{KAFKA}.ValueToKey": [{"fields": "gone"}],
    f"{CONFLUENT}.Drop": [{"schema.behavior": "validate"}],
    f"{CONFLUENT}.ExtractTopic": [
        {"field": "f"},
        {"field": "$.f", "field.format": "JSON_PATH"},
        {"field": "h", "for": "Header"},
        {},
    ],
    f"{CONFLUENT}.Filter": [
        {"filter.condition": "$[?(@.f > 5 && @.id =~ /4.*/)]", "filter.type": "include"},
        {"filter.condition": "$.a.b", "filter.type": "exclude"},
    ],
    f"{CONFLUENT}.GzipDecompress": [{}],
    f"{CONFLUENT}.MessageTimestampRouter": [{"message.timestamp.keys": "f,id", **DATES}],
    f"{CONFLUENT}.TombstoneHandler": [{"behavior": "fail"}],
    f"{AIVEN}.ExtractTimestamp": [{"field.name": "f"}],
    f"{AIVEN}.ExtractTopic": [{"field.name": "f"}, {}],
    f"{AIVEN}.Hash": [{"field.name": "f", "function": "sha256"}],
    f"{AIVEN}.TombstoneHandler": [{"behavior": "fail"}],
    f"{DEBEZIUM}.ByLogicalTableRouter": [{"topic.regex": ".*", "topic.replacement": "all"}],
    f"{DEBEZIUM}.ExtractNewRecordState": [{"route.by.field": "f", "add.fields": "gone"}],
}
#: Whatever they are given, these change, drop or keep it.
NEVER = {
    *(f"{KAFKA}.{name}" for name in ("DropHeaders", "Filter", "HoistField", "InsertHeader", "RegexRouter")),
    f"{AIVEN}.MakeTombstone",
}
CHANGE_EVENT = {
    "type": "struct", "name": "server.T.Envelope", "fields": [
        {"field": "after", "type": "struct", "optional": True, "fields": [{"field": "f", "type": "int64"}]},
        {"field": "op", "type": "string"}]}  # fmt: skip


class Careless:
    """A transform of a user's that says in its exceptions what it was given."""

    def __init__(self, properties: Mapping[str, str]) -> None: ...

    def apply(self, batch: TransformBatch) -> TransformBatch:
        raise KeyError(batch.values, CARD)


def chain(type: str, options: Mapping[str, str]) -> dict[str, str]:
    return {"transforms": "it", "transforms.it.type": type} | {
        f"transforms.it.{name}": text for name, text in options.items() if name != "for"
    }


def records(kind: str, side: str, number: int) -> list[Record]:
    """The kind's, a change event, and a tombstone."""
    made = records_of(kind, side, number)
    payload = {"after": {"f": NUMBER}, "op": CARD}
    event = json.dumps({"schema": CHANGE_EVENT, "payload": payload}).encode()
    return [*made, *(Record(len(made) + at, value, CARD.encode(), AT_MS) for at, value in enumerate((event, None)))]


def said_of(kind: str, side: str, type: str, options: Mapping[str, str]) -> tuple[str, int]:
    """What is said of ranges of a kind's records that go through one transform, and how many were refused."""
    lines, count = [], 0
    for number in range(4):
        properties = {
            **kinds()[kind].properties(side),
            **own_properties(kind, number),
            **IGNORED,
            **chain(type, options),
        }
        if side == "key":
            properties |= {
                "store.kafka.keys": "true",
                "keys.format.class": "JsonFormat",
                **kinds()[PLAIN].properties("value"),
            }
        if number % 2:
            properties |= {"errors.tolerance": "all", "errors.log.enable": "true"}
        if not is_allowed({**properties, "format.class": "JsonFormat"}):
            continue
        settings = settings_of({**properties, "format.class": "JsonFormat"})
        said, result = exported(settings, records(kind, side, number), registries_of(kind, number))
        lines.append(said)
        count += refused(result) if "transforms.it" in said or type.endswith("Careless") else 0
    return "\n".join(lines), count


KINDS = (PLAIN, ENVELOPE, "AvroConverter", "JsonSchemaConverter", "ProtobufConverter", "StringConverter")


@pytest.mark.parametrize("type", [*FAILS, *sorted(NEVER), f"{__name__}:Careless"])
def test_no_failure_of_a_transform_says_what_a_record_holds(type: str) -> None:
    """A card's number as values, keys, headers, names of fields, times and topics: what a transform refuses is said
    without six digits of it."""
    count = 0
    for options in FAILS.get(type, [{}]):
        found = next((each for each in catalogue.TRANSFORMS if each.name == type), None)
        sides = found.sides if found is not None and found.sides else ("",)
        for sided in [options["for"]] if "for" in options else [each for each in sides if each != "Header"]:
            for kind in KINDS:
                said, some = said_of(
                    kind, "key" if sided == "Key" else "value", f"{type}${sided}" if sided else type, options
                )
                count += some
                assert not told(said), told(said)[0]
    assert (count > 0) is (type not in NEVER)


def test_every_class_is_tried() -> None:
    """A class that is added needs options here under which it fails."""
    assert {each.name for each in catalogue.TRANSFORMS} == FAILS.keys() | NEVER
