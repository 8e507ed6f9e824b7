"""The library below Confluent's converter, on the JVM: it tells the same kinds of schemas apart, and orders properties
as we do."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from kafka_s3.json_schema.load import Schemas
from kafka_s3.json_schema.shapes import (
    ABSENT,
    ArrayOf,
    Combined,
    JsonSchemaError,
    Numeric,
    ObjectOf,
    OneOfValues,
    Reference,
    Shape,
    Untyped,
)
from kafka_s3.values.converters.json_schema_words import in_java_order
from tests.json_schema.shared import JSON_SCHEMAS
from tools.connect.json_schema import SchemaQuestion, ask_schemas

KINDS = {"Numeric": "Number", "Text": "String", "ArrayOf": "Array", "ObjectOf": "Object", "OneOfValues": "Enum"}
UNTYPED = {"true": "True", "false": "False", "not": "Not", "if": "Conditional"}
TYPES = ["string", "integer", "number", "boolean", "null", "array", "object"]
MORE: list[dict[str, Any]] = [
    {"minimum": 1},
    {"format": "date-time"},
    {"pattern": "a+"},
    {"items": {"type": "string"}},
    {"items": [{"type": "string"}]},
    {"items": False},
    {"uniqueItems": True},
    {"required": ["a"]},
    {"additionalProperties": {"type": "integer"}},
    {"additionalProperties": False},
    {"enum": ["a", 1, None]},
    {"const": 5},
    {"not": {"type": "string"}},
    {"if": {"type": "string"}, "then": {}},
    {"title": "T", "description": "D"},
    {"default": 5},
    {"connect.index": 3, "connect.type": "bytes"},
]
MISTAKES: list[dict[str, Any]] = [
    {"type": "wrong"},
    {"title": 3},
    {"properties": []},
    {"required": "a"},
    {"enum": "a"},
]


def random_schema(random: Random, depth: int) -> Any:
    if random.random() < 0.05:
        return random.random() < 0.5
    if random.random() < 0.1:
        return {"$ref": random.choice(["#/definitions/A", "other.json", "other.json#/definitions/B"]), "title": "R"}
    made: dict[str, Any] = {}
    if random.random() < 0.8:
        kinds = random.sample(TYPES, random.randint(1, 3))
        made["type"] = kinds[0] if random.random() < 0.7 else kinds
    if depth and random.random() < 0.5:
        names = random.sample(["id", "name", "order-id", "at", "émoji", "x1", "customer", "n", "a", "b"], 4)
        made["properties"] = {name: random_schema(random, depth - 1) for name in names}
    if depth and random.random() < 0.3:
        key = random.choice(["allOf", "anyOf", "oneOf"])
        made[key] = [random_schema(random, depth - 1) for _ in range(random.randint(1, 3))]
    for _ in range(random.randint(0, 2)):
        made |= random.choice(MORE)
    if random.random() < 0.03:
        made |= random.choice(MISTAKES)
    return made


def shown(schemas: Schemas, shape: Shape, inside: frozenset[int] = frozenset()) -> Any:
    """A shape as the library's classes, in the order that says nothing sorted away."""
    name = type(shape).__name__
    kind = UNTYPED.get(shape.what, "Empty") if isinstance(shape, Untyped) else KINDS.get(name, name)
    made: dict[str, Any] = {"kind": "Const" if kind == "Constant" else kind}
    words = shape.words
    said = {"title": words.title, "doc": words.description, "connect": words.connect or None}
    made |= {name: each for name, each in said.items() if each is not None}
    if words.default is not ABSENT:
        made["default"] = words.default
    match shape:
        case Numeric(integer):
            made["integer"] = integer
        case OneOfValues(values):
            made["values"] = list(values)
        case ArrayOf(items) if items is not None:
            made["items"] = shown(schemas, schemas.of(items), inside)
        case Combined(criterion, parts):
            made["criterion"] = criterion
            made["parts"] = in_any_order([shown(schemas, each, inside) for each in parts])
        case ObjectOf(properties, required, rest):
            places = {name: shown(schemas, schemas.of(each), inside) for name, each in properties.items()}
            made["fields"] = [[name, places[name]] for name in in_java_order(places)]
            made["required"] = sorted(required)
            if rest is not None:
                made["rest"] = shown(schemas, schemas.of(rest), inside)
        case Reference():
            referred = schemas.referred(shape)
            if id(referred) not in inside:
                made["of"] = shown(schemas, referred, inside | {id(referred)})
    return made


def in_any_order(parts: list[Any]) -> list[Any]:
    """The library orders parts by hashes of all that they say."""
    return sorted(parts, key=repr)


def settled(answer: Any) -> Any:
    if isinstance(answer, list):
        return [settled(each) for each in answer]
    if not isinstance(answer, dict):
        return answer
    made = {name: settled(each) for name, each in answer.items()}
    return {**made, "parts": in_any_order([canonical(each) for each in made["parts"]])} if "parts" in made else made


def canonical(value: Any) -> Any:
    """With names in one order, so that what is the same looks the same."""
    if isinstance(value, dict):
        made = {name: canonical(value[name]) for name in sorted(value)}
        return {**made, "parts": in_any_order(made["parts"])} if "parts" in made else made
    return [canonical(each) for each in value] if isinstance(value, list) else value


REFERENCES = {"other.json": {"type": "object", "title": "O", "definitions": {"B": {"type": ["integer", "null"]}}}}


def ours(schema: Any, *, by_draft: bool = False) -> Any:
    try:
        schemas = Schemas(schema, REFERENCES, by_draft=by_draft)
        return canonical(shown(schemas, schemas.root))
    except JsonSchemaError:
        return None


DRAFTS = [
    None,
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2020-12/schema",
    "http://example.com/schema",
]
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ0123456789_-. éß"


def with_definitions(random: Random, count: int) -> list[Any]:
    made = [random_schema(random, 2) for _ in range(count)]
    return [{**each, "definitions": {"A": {"type": "string", "title": "A"}}} for each in made if isinstance(each, dict)]


def in_some_draft(random: Random, schema: Any) -> Any:
    draft = random.choice(DRAFTS)
    return {**({"$schema": draft} if draft else {}), **schema}


def objects(random: Random) -> Iterator[Any]:
    for count in (1, 2, 5, 11, 12, 13, 24, 25, 40, 97, 200):
        for _ in range(5):
            names = {"".join(random.choices(LETTERS, k=random.randint(1, 14))) for _ in range(count)}
            yield {"type": "object", "properties": {name: {"type": "string"} for name in names}}


ANY_DRAFT = [*JSON_SCHEMAS, *with_definitions(Random(7), 2000)]
ITS_DRAFT = [
    in_some_draft(Random(number), each)
    for number, each in enumerate(with_definitions(Random(9), 1500))
    if "'id': True" not in str(each) and "'id': False" not in str(each)  # in draft 4 the library takes it for an id
]
OBJECTS = list(objects(Random(11)))


@pytest.fixture(scope="module")
def answers() -> tuple[list[Any], list[Any], list[Any]]:
    """Of these three, from one Java."""
    questions = [SchemaQuestion(each, REFERENCES) for each in (*ANY_DRAFT, *OBJECTS)]
    found = ask_schemas([*questions, *(SchemaQuestion(each, REFERENCES, plain=True) for each in ITS_DRAFT)])
    return found[: len(ANY_DRAFT)], found[len(ANY_DRAFT) : len(questions)], found[len(questions) :]


@pytest.mark.heavy  # a JVM
def test_schemas_are_told_apart_as_the_library_does(answers: Any) -> None:
    """Every draft up to 7: 2,000 random schemas and some chosen ones, with references, combinations and mistakes."""
    for schema, answer in zip(ANY_DRAFT, answers[0], strict=True):
        assert ours(schema) == canonical(answer), schema
    refused = sum(answer is None for answer in answers[0])
    assert 0 < refused < len(ANY_DRAFT) / 2, "both kinds are among them"


@pytest.mark.heavy  # a JVM
def test_schemas_are_read_by_their_draft_for_glue(answers: Any) -> None:
    """As AWS Glue's converter asks the library: 1,500 random schemas that name a draft, or none."""
    for schema, answer in zip(ITS_DRAFT, answers[2], strict=True):
        assert ours(schema, by_draft=True) == canonical(answer), schema
    refused = sum(answer is None for answer in answers[2])
    assert len(ITS_DRAFT) / 5 < refused < len(ITS_DRAFT) / 1.2, "both kinds are among them"


@pytest.mark.heavy  # a JVM
def test_properties_come_in_javas_order(answers: Any) -> None:
    """Names of any length and letters, few and many: as a HashMap hands them out."""
    for schema, answer in zip(OBJECTS, answers[1], strict=True):
        assert answer is not None
        assert in_java_order(schema["properties"]) == [name for name, _ in answer["fields"]]
