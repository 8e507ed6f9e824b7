"""The file of --positions."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.adopt.positions_file import parse_positions
from kafka_s3.errors import ConfigurationError
from kafka_s3.ranges import TopicPartition

ORDERS = {TopicPartition("orders", 0): 6, TopicPartition("orders", 12): 0}


def _of_connect(partition: int, offset: int | None) -> dict[str, object]:
    at = None if offset is None else {"kafka_offset": offset}
    return {"partition": {"kafka_topic": "orders", "kafka_partition": partition}, "offset": at}


@pytest.mark.parametrize(
    "text",
    [
        '{"orders": {"0": 6, "12": "0"}}',
        json.dumps({"offsets": [_of_connect(0, 6), _of_connect(12, 0), _of_connect(3, None)]}),
        "# by hand\norders,0,6\n\norders , 12, 0\n",
        '"orders",0,6\r\n"orders",12,0\r\n',
    ],
)
def test_the_forms_of_kafkas_tools(text: str) -> None:
    """JSON by topic, Connect's answer, and lines of kafka-consumer-groups say the same."""
    assert parse_positions(text, "p.json") == ORDERS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no position"),
        ("{}", "holds no position"),
        ("{", "is not a file of positions"),
        ('{"orders": [1]}', "is not a file of positions"),
        ('{"orders": {"0": 1.5}}', "1.5 is not a whole number"),
        ('{"orders": {"0": true}}', "True is not a whole number"),
        ('{"offsets": [{}]}', "is not a file of positions"),
        ("orders,0", "line 1 is not topic,partition,offset: 'orders,0'"),
        ("orders,0,x", "is not a file of positions"),
        ("orders,0,-1", "orders-0 has the position -1"),
        ("orders,0,1\norders,0,2", "orders-0 has two positions, 1 and 2"),
    ],
)
def test_what_is_no_position_is_named(text: str, said: str) -> None:
    """Each error names the file and what is wrong."""
    with pytest.raises(ConfigurationError) as caught:
        parse_positions(text, "p.json")
    assert "p.json" in str(caught.value)
    assert said in str(caught.value)


@given(st.text())
def test_any_text_is_positions_or_an_error_of_ours(text: str) -> None:
    """Nothing but a ConfigurationError comes out of a file."""
    try:
        found = parse_positions(text, "p")
    except ConfigurationError:
        return
    assert all(tp.partition >= 0 and offset >= 0 for tp, offset in found.items())
