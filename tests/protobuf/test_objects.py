"""Messages into objects: schemas that share one, paths by fields, and what a schema may add to a message."""

from __future__ import annotations

import importlib.util
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest

from kafka_s3.adapters.memory import MemoryRegistry
from kafka_s3.errors import ConfigurationError
from kafka_s3.ports import Registries
from kafka_s3.records import Record
from tests.pairs.exported import Exported, export, settings_of
from tests.protobuf.proto import Topic, proto3

PROTOBUF = {
    "value.converter": "io.confluent.connect.protobuf.ProtobufConverter",
    "value.converter.schema.registry.url": "http://registry:8081",
}
FORMATS = ["JsonFormat", "AvroFormat", "ParquetFormat"]
FIRST = proto3("message M { int32 n = 1; }")
SECOND = proto3("message M { int32 n = 1; optional string s = 2; repeated int32 all = 3; }")


def framed(id: int, body: bytes) -> bytes:
    return b"\0" + id.to_bytes(4, "big") + b"\0" + body


def exported(texts: Sequence[str], values: Sequence[tuple[int, bytes]], more: Mapping[str, str]) -> Exported:
    """A range of messages, each of one of some schemas, the versions of one subject."""
    registry = MemoryRegistry()
    ids = [registry.register("orders-value", text, type="PROTOBUF") for text in texts]
    records = [Record(offset, framed(ids[which], body)) for offset, (which, body) in enumerate(values)]
    return export(
        settings_of({**PROTOBUF, "flush.size": "1000", **more}), records, registries=Registries(registry, registry)
    )


def rows(body: bytes, format: str) -> list[Any]:
    match format:
        case "JsonFormat":
            return list(map(json.loads, body.splitlines()))
        case "AvroFormat":
            return list(fastavro.reader(io.BytesIO(body)))
        case _:
            return list(pq.read_table(io.BytesIO(body)).to_pylist())


@pytest.mark.parametrize("format", FORMATS[1:])
@pytest.mark.parametrize("count", [3, 50])
def test_two_versions_in_one_object(format: str, count: int) -> None:
    """schema.compatibility=BACKWARD: once the newer version came, older messages get what they lack, in one object."""
    old, new = (0, b"\x08\x05"), (1, b"\x08\x06\x12\x01x\x1a\x01\x07")
    found = exported([FIRST, SECOND], [new, old] * count, {"format.class": format, "schema.compatibility": "BACKWARD"})
    assert not found.refused
    (body,) = found.objects.values()
    pair = [{"n": 6, "s": "x", "all": [7]}, {"n": 5, "s": None, "all": None}]
    assert rows(body, format) == pair * count
    apart = exported([FIRST, SECOND], [new, old] * 2, {"format.class": format})
    assert len(apart.objects) == 2  # one for each schema


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("count", [1, 40])
def test_paths_by_fields(format: str, count: int) -> None:
    """Fields of messages are paths: enums by name, fields inside, those of a oneof's struct."""
    text = proto3(
        "message M { E e = 1; I i = 2; oneof k { string s = 3; int64 t = 4; } message I { int32 n = 1; } "
        "enum E { Z = 0; Q = 4; } }"
    )
    by = {"partitioner.class": "FieldPartitioner", "partition.field.name": "e,i.n,k_0.s"}
    values = [(0, b"\x08\x04\x12\x02\x08\x07\x1a\x01x")] * count
    found = exported([text], values, {"format.class": format, **by})
    assert not found.refused
    (key,) = found.objects
    assert "/e=Q/i.n=7/k_0.s=x/" in key or "/e=Q/n=7/s=x/" in key


def test_a_path_by_a_timestamp() -> None:
    """A field of google.protobuf.Timestamp is the time of a path."""
    text = proto3("message M { google.protobuf.Timestamp at = 1; }", "google/protobuf/timestamp.proto")
    by = {"partitioner.class": "DailyPartitioner", "locale": "en", "timezone": "UTC"}
    by |= {"timestamp.extractor": "RecordField", "timestamp.field": "at", "format.class": "ParquetFormat"}
    found = exported([text], [(0, b"\x0a\x06\x08\x80\xca\x8c\xc3\x06")] * 40, by)
    assert not found.refused
    (key,) = found.objects
    assert "year=2025/month=07/day=01" in key


@pytest.mark.parametrize("format", FORMATS)
def test_recursive_messages_by_format(format: str) -> None:
    """JSON and Avro hold a message inside itself; Parquet cannot, and says which field it is, and what can."""
    text = proto3("message M { int32 n = 1; M next = 2; }")
    found = exported([text], [(0, b"\x08\x01\x12\x02\x08\x02")], {"format.class": format, "errors.tolerance": "all"})
    if format == "ParquetFormat":
        assert "the field next is M inside M: columns cannot nest without end" in found.refused[0].reason
        return
    (body,) = found.objects.values()
    assert rows(body, format) == [{"n": 1, "next": {"n": 2, "next": None}}]


def test_maps_are_objects_of_json() -> None:
    """A map with texts as keys is an object, one with other keys a list of pairs, as JsonConverter has it."""
    text = proto3("message M { map<string, int32> a = 1; map<int32, bool> b = 2; }")
    found = exported(
        [text], [(0, b"\x0a\x05\x0a\x01k\x10\x02\x12\x04\x08\x05\x10\x01")], {"format.class": "JsonFormat"}
    )
    (body,) = found.objects.values()
    assert body == b'{"a":{"k":2},"b":[[5,true]]}\n'


def test_keys_of_messages() -> None:
    """ProtobufConverter reads keys too, under the options and the subject of keys."""
    topic = Topic(FIRST)
    more = {"key.converter": PROTOBUF["value.converter"], "key.converter.schema.registry.url": "http://registry:8081"}
    more |= {"store.kafka.keys": "true", "keys.format.class": "JsonFormat", "format.class": "JsonFormat"}
    records = [Record(0, topic.framed(b"\x08\x01"), topic.framed(b"\x08\x02"))]
    registries = Registries(topic.registry, topic.registry)
    found = export(settings_of({**PROTOBUF, **more}), records, registries=registries)
    assert sorted(found.objects.values()) == [b'{"n":1}\n', b'{"n":2}\n']


WIDE = " ".join(f"repeated string a_field_whose_name_is_long_{n} = {n};" for n in range(1, 1001))


@pytest.mark.parametrize("format", FORMATS)
def test_few_bytes_of_wide_messages(format: str) -> None:
    """Empty messages of many fields would become gigabytes: such a record is bad, before anything of it is made."""
    text = proto3(f"message M {{ repeated W w = 1; }} message W {{ {WIDE} }}")
    good, bomb = (0, b"\x0a\0"), (0, b"\x0a\0" * 50_000)
    found = exported([text], [good, bomb, good], {"format.class": format, "errors.tolerance": "all"})
    assert list(found.refused) == [1]
    assert "bytes of what its schema adds to its values" in found.refused[1].reason
    assert found.written.records == 2


def test_long_names_of_enums() -> None:
    """A number of an enum in one byte may have a name of a thousand: as text it would be too much."""
    text = proto3(f"message M {{ repeated E e = 1; }} enum E {{ {'Z' * 1000} = 0; }}")
    bomb = (0, b"\x0a\xc0\x84\x3d" + b"\0" * 1_000_000)
    found = exported([text], [bomb], {"format.class": "JsonFormat", "errors.tolerance": "all"})
    assert "bytes of what its schema adds to its values" in found.refused[0].reason


def test_without_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where protoc is not installed it is said what to install, before a record is read."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "grpc_tools" else find(name, *more)
    )
    with pytest.raises(ConfigurationError, match="ProtobufConverter needs protoc") as error:
        exported([FIRST], [(0, b"")], {"format.class": "JsonFormat"})
    assert error.value.next == "Install the extra there: pip install 'kafka-s3[protobuf]'."


def test_messages_of_one_name() -> None:
    """Two messages of one name and other fields are two types in an Avro file, which any reader of Avro takes."""
    inner = "message A { message Item { int32 n = 1; } Item i = 1; }"
    inner += "message B { message Item { string s = 1; } Item i = 1; }"
    text = proto3(f"message M {{ A a = 1; B b = 2; oneof k {{ A c = 3; M d = 4; }} }} {inner}")
    value = (0, b"\x0a\x04\x0a\x02\x08\x05\x12\x05\x0a\x03\x0a\x01x\x22\x02\x0a\x00")
    found = exported([text], [value], {"format.class": "AvroFormat"})
    (body,) = found.objects.values()
    nothing = {"k_0": None, "a": {"i": None}, "b": None}
    assert rows(body, "AvroFormat") == [
        {"k_0": {"c": None, "d": nothing}, "a": {"i": {"n": 5}}, "b": {"i": {"s": "x"}}}
    ]


@pytest.mark.parametrize("format", FORMATS)
def test_transforms_and_metadata(format: str) -> None:
    """Transforms and export.envelope take messages as they take every record with a schema."""
    text = proto3("message M { int32 n = 1; optional string s = 2; oneof k { int64 a = 4; string b = 5; } }")
    more = {
        "format.class": format,
        "transforms": "add,drop",
        "transforms.add.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.add.offset.field": "at",
        "transforms.drop.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
        "transforms.drop.exclude": "s",
        "export.envelope": "partition",
    }
    found = exported([text], [(0, b"\x08\x05\x12\x01x\x20\x07")] * 40, more)
    assert not found.refused
    (body,) = found.objects.values()
    wanted = {"k_0": {"a": 7, "b": None}, "n": 5, "_kafka_partition": 3}
    assert rows(body, format) == [{**wanted, "at": offset} for offset in range(40)]
