"""Kafka's own transforms, on the JVM: what they make of a record, ours make, its schema and its headers included."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.values.transforms.oracle_cases import cases, ours, theirs
from tools.connect.transform_oracle import Question, ask

CASES = 2500
#: Classes whose outcome hangs on more than the value: they have tests of their own (test_chain).
CLASSES = 11


def is_stated(question: Question) -> bool:
    """The differences that docs/transforms.md names."""
    if question.value is None:
        return False
    envelope = json.loads(question.value)
    schema, payload = envelope["schema"], envelope["payload"]
    null_with_schema = schema is not None and payload is None
    whole = question.type.endswith("Cast$Value") and ":" not in question.options["spec"]
    logical_cast = whole and schema is not None and "name" in schema and schema["type"] != "struct"
    masks = question.type.endswith("MaskField$Value") and "replacement" not in question.options
    names = question.options.get("fields", "").split(",")
    fields = schema["fields"] if schema is not None and schema["type"] == "struct" else ()
    masked_decimal = masks and any(
        each["field"] in names
        and each.get("name", "").endswith(".Decimal")
        and (payload or {})[each["field"]] is not None
        for each in fields
    )
    return null_with_schema or logical_cast or masked_decimal


def same(one: Any, other: Any) -> bool:
    """Both the same, or both refused, each in its own words.

    What Kafka's class makes and no converter can write is a null under a schema without null: to the sink it is null.
    """
    if isinstance(other, str) and "null value for field that is required" in other:
        return isinstance(one, str) or one["value"] == "null"
    refused = [isinstance(each, str) and each.startswith("error") for each in (one, other)]
    return all(refused) or (one == other and not any(refused))


@pytest.mark.heavy  # a JVM with Kafka's own classes
def test_transforms_make_what_kafkas_make() -> None:
    """Generated schemas, values and options; every difference is one that the documentation names."""
    questions = [each for each in cases(1, CASES) if not is_stated(each)]
    asked = Counter(each.type for each in questions)
    assert len(asked) == CLASSES
    assert min(asked.values()) > 100
    different = [
        (each.type, dict(each.options), each.value, mine, kafkas)
        for each, answer in zip(questions, ask(questions), strict=True)
        if not same(mine := ours(each), kafkas := theirs(answer))
    ]
    assert not different, f"{len(different)} differ, the first: {different[0]}"
