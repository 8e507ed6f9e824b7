"""Every option of JsonSchemaConverter that changes what a sink sees, beside the same without it."""

from __future__ import annotations

from tests.json_schema.topic import LATEST, JsonTopic, of


def test_properties_that_are_not_required() -> None:
    """use.optional.for.nonrequired makes what is not in `required` nullable, also in allOf and inside."""
    inner = {"type": "object", "properties": {"x": {"type": "integer"}}}
    topic = JsonTopic({**of(a={"type": "string"}, b=inner), "required": ["b"]})
    assert topic.value({"b": {}}, use_optional_for_nonrequired=True) == {"a": None, "b": {"x": None}}
    assert "null or missing" in topic.refusal({"b": {}})
    assert "b: null or missing" in topic.refusal({}, use_optional_for_nonrequired=True)
    both = JsonTopic({"allOf": [{**of(a={"type": "string"}), "required": ["a"]}, of(c={"type": "string"})]})
    assert both.value({"a": "x"}, use_optional_for_nonrequired=True) == {"a": "x", "c": None}


def test_sum_types_of_connect() -> None:
    """generalized.sum.type.support marks enums and unions with Connect's own parameters and names."""
    optional = {"type": ["string", "null"]}
    union = {"oneOf": [{"type": "string"}, {"type": "integer"}]}
    topic = JsonTopic(of(a={"enum": ["x", "y"]}, b=optional, c=union))
    word = "org.apache.kafka.connect.data.Enum"
    assert topic.field("a", generalized_sum_type_support=True)["connect.parameters"] == {
        word: "",
        f"{word}.x": "0",
        f"{word}.y": "1",
    }
    found = topic.field("c", generalized_sum_type_support=True)
    assert found["connect.parameters"] == {"org.apache.kafka.connect.data.Union": "connect_union_1"}
    assert [each["name"] for each in found["fields"]] == ["connect_union_field_0", "connect_union_field_1"]
    value = topic.value({"a": "x", "b": None, "c": 5}, generalized_sum_type_support=True)
    assert value["c"] == {"connect_union_field_0": None, "connect_union_field_1": 5}


def test_modern_dialects_as_draft_7() -> None:
    """ignore.modern.dialects reads 2019-09 and 2020-12 as draft 7: what stands beside a $ref does not count."""
    schema = {
        **of(a={"$ref": "#/$defs/A", "properties": {"y": {"type": "integer"}}}),
        "$defs": {"A": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        "$schema": LATEST,
    }
    value = {"a": {"x": 1, "y": 2}}
    assert JsonTopic(schema).value(value) == value
    assert JsonTopic(schema).value(value, ignore_modern_dialects=True) == {"a": {"x": 1}}
