"""Kafka's own transforms, on the JVM: what they make of a record, ours make, its schema and its headers included."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from kafka_s3.ports import Registries
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import ColumnBatch, Record
from kafka_s3.values.rows import Filtered
from kafka_s3.values.transforms.chain import Chain
from tests.values.transforms.chains import KAFKA, configured, one
from tests.values.transforms.oracle_cases import cases, conditions, ours, theirs
from tools.connect.transform_oracle import Question, ask

CASES = 2500
KEYS = 1500
CONDITIONS = 600
VALUE = b'{"schema":null,"payload":{"n":0}}'
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


def same(one: Any, other: Any, side: str = "value") -> bool:
    """Both the same, or both refused, each in its own words.

    What Kafka's class makes and no converter can write is a null under a schema without null: to the sink it is null.
    """
    if isinstance(other, str) and "null value for field that is required" in other:
        return isinstance(one, str) or one[side] == "null"
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


@pytest.mark.heavy
def test_keys_become_what_kafkas_make() -> None:
    """The same for `$Key`, with what would be the value as the key; the value stays."""
    questions = [
        replace(each, type=each.type.replace("$Value", "$Key"), key=each.value, value=VALUE)
        for each in cases(2, KEYS)
        if each.type.endswith("$Value") and not is_stated(each)
    ]
    assert len({each.type for each in questions}) == CLASSES - 1
    different = []
    for each, answer in zip(questions, ask(questions), strict=True):
        mine, kafkas = ours(each), theirs(answer)
        if isinstance(kafkas, dict):
            assert kafkas.pop("value") == {"n": ["Long", "0"]}
        if isinstance(mine, dict):
            assert mine.pop("value") is None  # nobody looked at it
        if not same(mine, kafkas, "key"):
            different.append((each.type, dict(each.options), each.key, mine, kafkas))
    assert not different, f"{len(different)} differ, the first: {different[0]}"


@pytest.mark.heavy
@pytest.mark.parametrize("negate", [False, True])
def test_predicates_hold_where_kafkas_hold(*, negate: bool) -> None:
    """By what Filter drops, whose own class drops whatever reaches it."""
    questions = list(conditions(3, CONDITIONS))
    asked = [*questions, Question(f"{KAFKA}.Filter", {}, VALUE)]
    *answers, dropped = ask(asked)
    assert dropped == {"dropped": True}
    holds = [answer["holds"] for answer in answers]
    assert 0.2 < sum(holds) / len(holds) < 0.8
    assert [is_dropped(each, negate=negate) for each in questions] == [held is not negate for held in holds]


def is_dropped(question: Question, *, negate: bool) -> bool:
    more = {
        **one("Filter", predicate="p", negate=str(negate).lower()),
        "predicates": "p",
        "predicates.p.type": question.type,
        **{f"predicates.p.{name}": text for name, text in question.options.items()},
        "value.converter.schemas.enable": "true",
    }
    headers = tuple((name, text.encode()) for name, text in question.headers)
    batch = ColumnBatch(TopicPartition(question.topic, 3), [Record(0, question.value, None, 5, headers)])
    return isinstance(Chain(configured(more), Registries())(batch).left.get(0), Filtered)
