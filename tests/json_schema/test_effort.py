"""What the validation of one value may take: it is counted before, and what takes more is a bad record or schema."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from kafka_s3.json_schema.effort import MATCHING_MAX
from kafka_s3.json_schema.shapes import JsonSchemaError
from kafka_s3.json_schema.validation import Validation
from tests.json_schema.topic import JsonTopic, framed, of

ON = {"json_fail_invalid_schema": True}


def problem(schema: Any, value: Any) -> str:
    return str(Validation(schema, {}).problem(json.dumps(value).encode()))


@cache
def trees(size: int) -> list[Any]:
    """All lists of lists with so many lists in them: nothing but their brackets is different."""
    if not size:
        return [[]]
    return [[left, *right] for first in range(size) for left in trees(first) for right in trees(size - 1 - first)]


def test_lists_that_look_alike_are_not_compared() -> None:
    """The library compares each of 4,862 with each; what differs otherwise is compared with little, and may be much."""
    unique = {"uniqueItems": True}
    assert "takes more than" in problem(unique, trees(9))
    assert "takes more than" in problem({"items": unique}, [[{"a": {"b": each}} for each in trees(9)]])
    assert problem(unique, trees(6)) == "None"
    assert problem(unique, [{"id": number, "at": [number, [1]]} for number in range(20_000)]) == "None"
    assert problem(unique, list(range(50_000))) == "None"
    assert "uniqueItems" in problem(unique, [*range(5000), {"a": [1]}, {"a": [1]}])
    within = {"uniqueItems": True, "items": {"$ref": "#"}}
    deep: Any = list(range(10_000))
    for level in range(90):
        deep = [deep, *([-1 - level, item] for item in range(20))]
    assert problem(within, deep) == "None"


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"not": {"pattern": f"a[ab]{{{length}}}c"}} for length in range(10, 60)]},
        {"propertyNames": {"allOf": [{"maxLength": 1_000_000}, {"pattern": "[ab]{1500}"}]}},
        {"patternProperties": {f"a[ab]{{{length}}}c": {} for length in range(10, 60)}},
        {"patternProperties": {f"a[ab]{{{length}}}c": True for length in range(10, 60)}},
    ],
)
def test_all_patterns_of_a_text_are_counted(schema: Any) -> None:
    """Fifty that are short alone take fifty times as long, for texts and for names; in short text they are matched."""
    text = "abbab" * (MATCHING_MAX // 1500 // 5 + 1)
    assert "set maxLength" in problem(schema, text if "allOf" in schema else {text: 1})
    short = "ab" * 1000
    assert "set maxLength" not in problem(schema, short if "allOf" in schema else {short: 1})


def test_patterns_count_where_they_match() -> None:
    """A long text that has no pattern takes nothing of what is allowed for one that has."""
    schema = of(code={"pattern": "^[a-z]{2000}$"}, text={"type": "string"})
    assert problem(schema, {"text": "x" * (MATCHING_MAX // 1000)}) == "None"
    assert "set maxLength" in problem(schema, {"code": "x" * (MATCHING_MAX // 1000)})


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"items": {"allOf": [True] * 200_000}}, "applied to one place"),
        ({"items": {"dependencies": {f"k{number}": [] for number in range(20_000)}}}, "applied to one place"),
        ({"items": {"enum": [{"a": number} for number in range(200)]}}, "applied to one place"),
        (of(**{f"k{n}": {"pattern": f"^.{{1,255}}{n}$"} for n in range(200)}), "200 patterns take too much memory"),
    ],
)
def test_long_lists_in_schemas_count(schema: Any, why: str) -> None:
    """Schemas that are true, dependencies of nothing, objects to compare with, patterns that are large."""
    with pytest.raises(JsonSchemaError, match=why):
        Validation(schema, {})


def test_patterns_of_all_schemas_count_together() -> None:
    """Of schemas that are kept at once, patterns take no more than 256 MiB; the others are looked up anew, and read."""
    topic = JsonTopic(of(a={"type": "string"}))
    ids = [
        topic.registry.register(f"orders-{number}", json.dumps(many_patterns(number)), type="JSON")
        for number in range(6)
    ]
    converter = topic.converter(**ON)
    values = [framed(id, {"a": "12"}) for id in ids for _ in range(2)]
    assert not converter([*values, *reversed(values)]).excluded
    kept = [known.chars() for known in converter.known.values() if not isinstance(known, str)]
    assert 1 < len(kept) < len(ids)
    assert sum(kept) * 8 <= 2**28 < 8 * max(kept) * len(ids)


def many_patterns(number: int) -> Any:
    """Some 64 MiB of them: each may remember as much as a large one of them makes necessary."""
    small = [{"pattern": f"^[0-9]{{1,{length}}}$"} for length in range(2, 33)]
    return {**of(a={"type": "string", "allOf": [*small, {"pattern": "^.{1,300}$"}]}), "title": f"T{number}"}


def test_where_a_large_value_is_wrong_is_not_said() -> None:
    """The library copies it for each choice that failed: 16 GB for a record of 1 MB. Of small ones it is said, and
    where there is no choice."""
    choices = {"items": {"anyOf": [{"minimum": number} for number in range(10, 20)]}}
    assert problem(choices, [1] * 5000) == "not valid by its schema"
    assert problem(choices, [1] * 5) == "not valid by its schema at items/anyOf"
    assert problem({"items": {"minimum": 10}}, [1] * 5000) == "not valid by its schema at items/minimum"


def test_half_a_pair_is_not_too_many_digits() -> None:
    """Text with half a surrogate pair cannot be validated, as a name, too; the reason says so."""
    topic = JsonTopic(of(a={"type": "string"}))
    for value in (b'{"\\ud800":1}', b'"\\ud800"'):
        assert "half a surrogate pair" in topic.refusal(value, **ON)


def test_megabytes_of_all_of() -> None:
    """A schema of 2.5 MB of allOf is refused, validated or not."""
    topic = JsonTopic({"allOf": [{"type": "object"}] * 150_000})
    for options in ({}, ON):
        assert "more than 20000 schemas" in topic.refusal({}, **options)
