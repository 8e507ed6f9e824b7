"""json.fail.invalid.schema=true: values are checked by their schema, as the library below JsonSchemaConverter does it;
what checking takes is bounded."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from kafka_s3.json_schema.effort import APPLIED_MAX, CHECKS_MAX, MATCHING_MAX
from kafka_s3.json_schema.shapes import JsonSchemaError
from kafka_s3.json_schema.validation import Validation
from tests.json_schema.topic import LATEST, JsonTopic, of
from tools.connect.json_schema import SchemaQuestion, ask_schemas

ON = {"json_fail_invalid_schema": True}
WORDS: dict[str, list[dict[str, Any]]] = {
    "string": [{"minLength": 2}, {"maxLength": 3}, {"pattern": "^a+b?$"}, {"pattern": "[0-9]"}, {"format": "date"}],
    "integer": [{"minimum": 0}, {"maximum": 10}, {"exclusiveMaximum": 5}, {"multipleOf": 3}],
    "number": [{"minimum": 0.5}, {"exclusiveMinimum": 1}, {"multipleOf": 0.25}],
    "array": [{"minItems": 1}, {"maxItems": 2}, {"uniqueItems": True}, {"contains": {"const": 1}}],
    "object": [
        *({"minProperties": 1}, {"maxProperties": 1}, {"required": ["a"]}, {"additionalProperties": False}),
        *({"propertyNames": {"maxLength": 1}}, {"patternProperties": {"^b": {"type": "integer"}}}),
        {"dependencies": {"a": ["b"]}},
    ],
    "boolean": [{}],
    "null": [{}],
}


def random_schema(random: Random, depth: int) -> dict[str, Any]:
    kind = random.choice([*WORDS, "object", "object", "string"])
    made: dict[str, Any] = {"type": kind}
    for word in random.sample(WORDS[kind], min(len(WORDS[kind]), random.randint(0, 2))):
        made |= word
    if kind == "object" and depth:
        made["properties"] = {name: random_schema(random, depth - 1) for name in random.sample("abc", 2)}
    if kind == "array" and depth:
        made["items"] = random_schema(random, depth - 1)
    if depth and random.random() < 0.3:
        word = random.choice(["allOf", "anyOf", "oneOf"])
        made = {word: [made, random_schema(random, depth - 1)]}
    if depth and random.random() < 0.1:
        made = {**made, "not": random_schema(random, 0)}
    if depth and random.random() < 0.1:
        made = {**made, "if": random_schema(random, 0), "then": random_schema(random, 0)}
    if random.random() < 0.1:
        made["enum"] = ["a", 1, None, {"a": 1}, "abc"]
    return made


def random_value(random: Random, depth: int = 3) -> Any:
    kinds = ["text", "whole", "number", "true", "null", *(["list", "object", "object"] if depth else [])]
    match random.choice(kinds):
        case "text":
            return random.choice(["", "a", "aab", "b1", "2024-02-29", "2023-02-29", "abc", "é"])
        case "whole":
            return random.choice([0, 1, 3, -3, 5, 10, 12])
        case "number":
            return random.choice([0.5, 1.25, 1.1, -0.25])
        case "list":
            return [random_value(random, depth - 1) for _ in range(random.randint(0, 3))]
        case "object":
            return {name: random_value(random, depth - 1) for name in random.sample(["a", "b", "c", "bb"], 2)}
        case kind:
            return True if kind == "true" else None


def test_values_are_valid_as_the_library_says() -> None:
    """600 random schemas of draft 7, ten values each: 6,000 verdicts; 3.0 alone, an integer since draft 6, is none to
    the library."""
    random = Random(5)
    questions = [
        SchemaQuestion(random_schema(random, 2), values=[random_value(random) for _ in range(10)]) for _ in range(600)
    ]
    valid = total = 0
    for each, answer in zip(questions, ask_schemas(questions), strict=True):
        validation = Validation(each.schema, {})
        assert each.values is not None
        ours = [validation.problem(json.dumps(value).encode()) is None for value in each.values]
        assert ours == answer, each
        valid, total = valid + sum(ours), total + len(ours)
    assert Validation({"type": "integer"}, {}).problem(b"3.0") is None
    assert total == 6000
    assert 300 < valid < 5700, "both verdicts are among them"


ORDER = of(id={"type": "integer", "minimum": 1}, country={"type": "string", "pattern": "^[A-Z]{2}$"})


def test_what_is_not_valid_is_bad() -> None:
    """With the place in the schema, and nothing of the value; those beside it are kept; without the option all are."""
    topic = JsonTopic(ORDER)
    good, bad = {"id": 1, "country": "NZ"}, {"id": 1, "country": "secret"}
    assert topic.value(good, **ON) == good
    assert topic.value(bad) == bad
    rows = topic.rows(good, bad, good, **ON)
    assert list(rows.excluded) == [1]
    why = topic.refusal(bad, **ON)
    assert "not valid by its schema at properties/country/pattern" in why
    assert "secret" not in why
    assert "not JSON" in topic.refusal(b"{", **ON)


def test_references_and_drafts() -> None:
    """Names of references, `id` of draft 4, keywords of 2020-12, which knows formats as words alone."""
    references = {"shop/country.json": {"type": "object", "properties": {"code": {"type": "string", "maxLength": 2}}}}
    topic = JsonTopic(of(c={"$ref": "shop/country.json"}), references)
    assert topic.value({"c": {"code": "NZ"}}, **ON) == {"c": {"code": "NZ"}}
    assert "maxLength" in topic.refusal({"c": {"code": "NZL"}}, **ON)
    four = {"$schema": "http://json-schema.org/draft-04/schema#", **of(n={"type": "integer", "maximum": 5})}
    four["properties"]["n"]["exclusiveMaximum"] = True
    assert "n/" in JsonTopic(four).refusal({"n": 5}, **ON)
    day = {"type": "string", "format": "date"}
    assert "format" in JsonTopic(of(d=day)).refusal({"d": "x"}, **ON)
    assert JsonTopic({"$schema": LATEST, **of(d=day)}).value({"d": "x"}, **ON) == {"d": "x"}
    named = {"$schema": LATEST, "$id": "http://shop/order.json", **of(c={"$ref": "country.json"})}
    beside = {"country.json": {"type": "string", "minLength": 1}}
    assert "minLength" in JsonTopic(named, beside).refusal({"c": ""}, **ON)


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (of(a={"type": "string", "pattern": "^(?=a)b"}), "the pattern ^(?=a)b cannot be matched in linear time"),
        (of(a={"type": "string", "pattern": r"(a)\1"}), "looks around or back"),
        (of(a={"type": "string", "pattern": "(.{1,900}){900}"}), "it is too large"),
        (of(a={"type": "string", "minLength": "2"}), "it is not a valid JSON Schema"),
        (
            {"$schema": LATEST, **of(a={"type": "string", "$dynamicRef": "#x"})},
            "$dynamicRef is not known to validation",
        ),
    ],
)
def test_schemas_that_cannot_be_checked(schema: Any, why: str) -> None:
    """Refused with the reason, where the option is set; without it the same schema is read."""
    topic = JsonTopic(schema)
    assert why in topic.refusal({"a": "b"}, **ON)
    assert topic.value({"a": "b"}) == {"a": "b"}


def test_schemas_that_would_take_without_end() -> None:
    """Themselves by two ways: twice as often on each level; a thousand for one place; themselves without a level."""
    both = {"anyOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]}
    with pytest.raises(JsonSchemaError, match="applied to one place|applies too many"):
        Validation(both, {})
    with pytest.raises(JsonSchemaError, match="applied to one place|applies too many"):
        Validation({"items": {"anyOf": [{"minimum": n} for n in range(APPLIED_MAX + 1)]}}, {})
    with pytest.raises(JsonSchemaError, match="refers to itself"):
        Validation({"allOf": [{"$ref": "#"}]}, {})
    modern = {"$schema": LATEST, "unevaluatedProperties": False, "anyOf": [{"properties": {"a": {"$ref": "#"}}}]}
    with pytest.raises(JsonSchemaError, match="applied to one place|applies too many"):
        Validation(modern, {})


def test_schemas_that_hold_themselves_once() -> None:
    """Trees and lists of themselves are checked at every depth."""
    tree = {"properties": {"n": {"type": "integer"}, "next": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}}}
    validation = Validation({**tree, "items": {"$ref": "#"}}, {})
    assert validation.problem(b'{"next":{"next":{"n":5,"next":null}}}') is None
    assert validation.problem(b'{"next":{"next":{"n":"x","next":null}}}') is not None
    assert validation.problem(b'[[{"n":"x"}]]') is not None


def test_values_that_take_too_much_are_bad() -> None:
    """Many schemas for many places, and patterns that repeat much in long text."""
    kinds = [{"type": "object", "properties": {"k": {"const": n}}, "required": ["k"]} for n in range(400)]
    validation = Validation(
        {"properties": {"all": {"items": {"oneOf": kinds}}, "more": {"items": {"type": "integer"}}}}, {}
    )
    many = json.dumps({"all": [{"k": 399}] * (CHECKS_MAX // 400)}).encode()
    assert "takes more than" in str(validation.problem(many))
    assert validation.problem(json.dumps({"all": [{"k": 399}], "more": [1] * 100_000}).encode()) is None
    repeats = Validation({"type": "string", "pattern": "(a|b){5000}c"}, {})
    assert repeats.problem(b'"' + b"a" * 100 + b'"') is not None
    long = b'"' + b"a" * (MATCHING_MAX // 5000) + b'"'
    assert "set maxLength" in str(repeats.problem(long))
