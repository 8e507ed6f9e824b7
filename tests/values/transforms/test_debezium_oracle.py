"""Debezium's own transforms, on the JVM: what they make of a change event, ours make."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.values.transforms.debezium_cases import table_cases, unwrap_cases
from tests.values.transforms.oracle_cases import ours, theirs
from tests.values.transforms.test_transform_oracle import same
from tools.connect.transform_oracle import DEBEZIUM, OLDER_DEBEZIUM, ask

CASES = 1000


def is_stated(debeziums: Any) -> bool:
    """A topic that Kafka would not take: such a record is bad here. Or a schema that can hold no value."""
    if not isinstance(debeziums, dict):
        return False
    # Of an added field that is a struct Debezium keeps no fields in the schema: only null can be such a value.
    without_fields = re.search(r"\['STRUCT', [^\[\]]*, \[\]\]", repr(debeziums["value"])) is not None
    return without_fields or re.fullmatch(r"[A-Za-z0-9._-]+", debeziums["topic"]) is None


@pytest.mark.heavy  # a JVM with Debezium's own classes
@pytest.mark.parametrize("older", [False, True])
def test_events_become_what_debezium_makes(*, older: bool) -> None:
    """Generated events, options of 3.3.1 or of 2.7.4: outcome, topic, value, schema and headers are the same."""
    questions = list(unwrap_cases(1, CASES, older=older))
    answers = ask(questions, OLDER_DEBEZIUM if older else DEBEZIUM)
    different = [
        (dict(each.options), each.value, mine, debeziums)
        for each, answer in zip(questions, answers, strict=True)
        if not is_stated(debeziums := theirs(answer)) and not same(mine := ours(each), debeziums)
    ]
    assert not different, f"{len(different)} differ, the first: {different[0]}"
    outcomes = [answer for answer in answers if "error" not in answer]
    assert len(outcomes) > CASES // 2


@pytest.mark.heavy
def test_tables_are_routed_as_debezium_does() -> None:
    """ByLogicalTableRouter, of generated events, keys and options: outcome, topic, both schemas and both values."""
    questions = list(table_cases(1, CASES))
    answers = ask(questions, DEBEZIUM)
    different = [
        (dict(each.options), each.topic, each.key, each.value, mine, debeziums)
        for each, answer in zip(questions, answers, strict=True)
        if not is_stated(debeziums := theirs(answer)) and not same(mine := ours(each), debeziums)
    ]
    assert not different, f"{len(different)} differ, the first: {different[0]}"
    routed = [answer for answer in answers if "error" not in answer and not answer["topic"].startswith("db.orders_")]
    assert len(routed) > CASES // 4
