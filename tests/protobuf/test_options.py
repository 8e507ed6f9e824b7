"""Every option of ProtobufConverter that changes what a sink sees, beside the same without it."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_s3.protobuf.options import Options
from tests.protobuf.proto import Topic, proto3

TAG = "io.confluent.connect.protobuf.Tag"
UNION = "message M { int32 a = 1; oneof kind { string s = 2; I i = 3; } message I { int32 x = 1; } enum E { Z = 0; } }"


def names(topic: Topic, **options: bool) -> list[str]:
    return [each["name"] for each in topic.fields(**options)]


def nullable(topic: Topic, **options: bool) -> dict[str, bool]:
    return {each["name"]: isinstance(each["type"], list) for each in topic.fields(**options)}


def test_packages_in_names() -> None:
    """enhanced.protobuf.schema.support keeps packages and outer messages in the names of structs, enums and maps."""
    topic = Topic(proto3("message M { N n = 1; map<string, E> tags = 2; message N { E e = 1; } } enum E { Z = 0; }"))

    def found(**options: bool) -> list[Any]:
        record, array = (each["type"][1] for each in topic.fields(**options))
        enum = record["fields"][0]["type"][1]
        return [topic.schema(**options).name, record["connect.name"], enum["connect.name"], array["connect.name"]]

    assert found() == ["M", "N", "E", "tags"]
    assert found(enhanced_protobuf_schema_support=True) == ["shop.M", "shop.M.N", "shop.E", "shop._m._tags"]


def test_sum_types_of_connect() -> None:
    """generalized.sum.type.support marks enums and oneofs with Connect's own parameters."""
    topic = Topic(proto3("message M { oneof kind { E e = 1; } enum E { Z = 0; } }"))
    (union,) = topic.fields(generalized_sum_type_support=True)
    record = union["type"][1]
    assert (record["connect.name"], record["connect.parameters"]) == (
        "kind",
        {"org.apache.kafka.connect.data.Union": "kind"},
    )
    enum = record["fields"][0]["type"][1]["connect.parameters"]
    word = "org.apache.kafka.connect.data.Enum"
    assert enum == {word: "E", f"{word}.Z": "0", TAG: "1"}


def test_flat_oneofs() -> None:
    """flatten.unions makes the fields of a oneof fields of the message, in front of the others."""
    topic = Topic(proto3(UNION))
    message = topic.type(s="x")
    assert names(topic) == ["kind_0", "a"]
    assert names(topic, flatten_unions=True) == ["s", "i", "a"]
    assert topic.value(message, flatten_unions=True) == {"s": "x", "i": None, "a": 0}
    assert topic.value(b"", flatten_unions=True) == {"s": None, "i": None, "a": 0}
    two = b"\x12\x01x\x1a\x02\x08\x05"
    assert topic.value(two, flatten_unions=True) == {"s": None, "i": {"x": 5}, "a": 0}


def test_oneofs_without_an_index() -> None:
    """generate.index.for.unions=false calls the struct as the oneof is called."""
    topic = Topic(proto3(UNION))
    assert names(topic, generate_index_for_unions=False) == ["kind", "a"]
    assert topic.value(topic.type(s="x"), generate_index_for_unions=False)["kind"] == {"s": "x", "i": None}


def test_a_oneof_beside_a_field_of_its_name() -> None:
    """A oneof whose name with its index is a field's is refused with the options that help, as Connect refuses it."""
    topic = Topic(proto3("message M { oneof kind { int32 n = 1; } int32 kind_0 = 2; }"))
    (why,) = topic.rows(b"").excluded.values()
    assert "shop.M has two fields kind_0, one of them a oneof: set generate.index.for.unions=false" in str(why)
    assert topic.value(b"", flatten_unions=True) == {"n": None, "kind_0": 0}


def test_structs_for_nulls() -> None:
    """generate.struct.for.nulls puts a struct of defaults where a message is not there; other nulls stay."""
    body = "message M { I i = 1; google.protobuf.Timestamp t = 2; message I { int32 x = 1; J j = 2; } }"
    topic = Topic(proto3(body + "message J { string s = 1; }", "google/protobuf/timestamp.proto"))
    assert topic.value(b"") == {"i": None, "t": None}
    assert topic.value(b"", generate_struct_for_nulls=True) == {"i": {"x": 0, "j": {"s": ""}}, "t": None}


def test_structs_for_nulls_without_end() -> None:
    """A message that holds itself would be a struct without end: refused by its name."""
    topic = Topic(proto3("message M { I i = 1; } message I { J j = 1; } message J { I i = 1; }"))
    (why,) = topic.rows(b"", generate_struct_for_nulls=True).excluded.values()
    assert "generate.struct.for.nulls=true has no end: shop.M" in str(why) or "shop.I holds itself" in str(why)
    assert topic.value(b"") == {"i": None}


def test_enums_as_numbers() -> None:
    """int.for.enums reads the number, one without a name too."""
    topic = Topic(proto3("message M { E e = 1; repeated E all = 2; enum E { Z = 0; N = -1; } }"))
    assert topic.fields(int_for_enums=True)[0]["type"][1]["type"] == "int"
    assert topic.value(topic.type(e=-1, all=[0, 9]), int_for_enums=True) == {"e": -1, "all": [0, 9]}
    assert topic.value(b"", int_for_enums=True) == {"e": 0, "all": []}


def test_optional_for_nullables() -> None:
    """Only fields with the word optional are nullable; enums, messages and lists are, as without the option."""
    body = "message M { int32 a = 1; optional int32 b = 2; I i = 3; repeated int32 r = 4; message I { int32 x = 1; } }"
    topic = Topic(proto3(body))
    assert nullable(topic) == dict.fromkeys("abir", True)
    assert nullable(topic, optional_for_nullables=True) == {"a": False, "b": True, "i": True, "r": True}
    expected = {"a": 0, "b": None, "i": None, "r": []}
    assert topic.value(b"", optional_for_nullables=True) == expected


def test_wrappers_for_nullables() -> None:
    """Only wrappers are nullable, and are what is inside; a field with the word optional stays so: it may be null."""
    fields = "int32 a = 1; google.protobuf.Int32Value b = 2; optional int32 c = 3;"
    topic = Topic(proto3(f"message M {{ {fields} }}", "google/protobuf/wrappers.proto"))
    options = {"wrapper_for_nullables": True, "wrapper_for_raw_primitives": False}
    assert nullable(topic, **options) == {"a": False, "b": True, "c": True}
    assert topic.value(b"", **options) == {"a": 0, "b": None, "c": None}
    assert topic.value(b"\x12\x02\x08\x05", **options) == {"a": 0, "b": 5, "c": None}


def test_a_oneofs_fields_are_nullable() -> None:
    """Of a oneof all fields but one are null, so they are nullable under every option."""
    topic = Topic(proto3(UNION))
    for options in ({"optional_for_nullables": True}, {"wrapper_for_nullables": True}):
        assert topic.value(topic.type(i=topic.type.I(x=1)), **options)["kind_0"] == {"s": None, "i": {"x": 1}}


def test_maps_with_keys_that_are_there() -> None:
    """Where keys are not nullable, a map of texts is a map in Avro too."""
    topic = Topic(proto3("message M { map<string, int32> m = 1; map<int32, string> n = 2; }"))
    one, other = (each["type"][1] for each in topic.fields(optional_for_nullables=True))
    assert (one["type"], other["type"]) == ("map", "array")
    twice = b"\x0a\x05\x0a\x01a\x10\x01\x0a\x05\x0a\x01a\x10\x02"
    assert topic.value(twice, optional_for_nullables=True) == {"m": {"a": 2}, "n": []}


@pytest.mark.parametrize("field", ["optional int32 f = 1;", "optional int32 f = 1 [default = 7];"])
def test_proto2_optional_fields(field: str) -> None:
    """optional.for.proto2=false reads an absent field of proto2 as its default, zero or declared; else it is null."""
    topic = Topic(f'syntax = "proto2"; message M {{ {field} }}')
    assert topic.value(b"") == {"f": None}
    assert topic.value(b"", optional_for_proto2=False) == {"f": 7 if "default" in field else 0}


def test_raw_primitives() -> None:
    """wrapper.for.raw.primitives=false keeps a wrapper as the message that it is, inside and at the root."""
    topic = Topic(proto3("message M { google.protobuf.StringValue f = 1; }", "google/protobuf/wrappers.proto"))
    assert topic.value(b"\x0a\x03\x0a\x01x", wrapper_for_raw_primitives=False) == {"f": {"value": "x"}}
    assert topic.value(b"\x0a\x03\x0a\x01x") == {"f": "x"}
    root = Topic('syntax = "proto3"; package google.protobuf; message BoolValue { bool value = 1; }')
    assert root.value(b"\x08\x01", wrapper_for_raw_primitives=False) == {"value": True}
    assert root.value(b"\x08\x01") is True


def test_every_option_has_a_test() -> None:
    """Each option of the converter is set by a test of this file."""
    with open(__file__) as source:
        text = source.read()
    assert [name for name in Options.__slots__ if f"{name}=" not in text and f'"{name}"' not in text] == []
