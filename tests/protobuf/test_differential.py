"""Random messages: what becomes of them is what Protobuf's own reflection finds, read one by one or all at once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_s3.adapters.memory import MemoryRegistry
from kafka_s3.avro.arrow import ColumnsError, arrow_type, from_values
from kafka_s3.avro.datums import codec
from kafka_s3.avro.model import Schema
from kafka_s3.protobuf.options import Options
from kafka_s3.settings.registry import SubjectNames
from kafka_s3.values.converters.protobuf import ProtobufValues
from tests.avro.evolution import same
from tests.protobuf.messages import TEXTS, expected, in_order, messages, source

HEAD = b"\0\0\0\0\1\0"


def converter(name: str, **options: bool) -> ProtobufValues:
    registry = MemoryRegistry({1: source(name).registered})
    return ProtobufValues(registry, SubjectNames.TOPIC, "orders", Options(**options), key=False)


@pytest.mark.parametrize("name", TEXTS)
def test_values_are_those_of_reflection(name: str) -> None:
    """A value is never changed: whatever the message, its plain value is what reflection finds in it; its forms, Avro's
    and Arrow's, are the same by itself and among others."""
    convert = converter(name)

    @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(messages(name), min_size=1, max_size=5), st.integers(0, 3))
    def compared(some: list[Any], rotation: int) -> None:
        raw = [HEAD + each.SerializeToString(deterministic=bool(rotation % 2)) for each in some]
        wanted = [in_order(expected(each)) for each in some]
        few, many = convert(raw), convert(raw * 40)
        assert not few.excluded
        assert not many.excluded
        schema = few.schemas
        assert isinstance(schema, Schema)
        values = list(few.values(schema))
        assert same(in_order(values), wanted)
        assert codec(schema).decode(few.datums(schema)) == values
        try:
            arrow_type(schema)
        except ColumnsError:
            assert source(name).recursive
            return
        assert many.has_columns(schema)
        assert many.arrow(schema).equals(from_values(values * 40, schema))
        assert few.arrow(schema).equals(from_values(values, schema))

    compared()


@pytest.mark.parametrize("name", TEXTS)
def test_damaged_messages_are_never_an_exception(name: str) -> None:
    """Bytes taken out, put in or turned: each is a value that both ways agree on, or a reason; others are kept."""
    convert = converter(name)

    @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
    @given(messages(name), st.lists(st.tuples(st.integers(0, 2), st.integers(0, 99), st.integers(0, 255)), max_size=4))
    def damaged(message: Any, changes: list[tuple[int, int, int]]) -> None:
        good = HEAD + message.SerializeToString()
        body = bytearray(good[6:])
        for what, place, byte in changes:
            at = place % (len(body) + 1)
            body[at : at + (what != 0)] = b"" if what == 1 else bytes([byte])
        raw = HEAD + bytes(body)
        alone, among = convert([raw]), convert([*[good] * 40, raw])
        assert set(among.excluded) == {40 for _ in alone.excluded}
        assert among.excluded.get(40) == alone.excluded.get(0)
        if not alone.excluded:
            schema = alone.schemas
            assert isinstance(schema, Schema)
            (value,) = alone.values(schema)
            assert same(among.values(schema)[40], value)
            if not source(name).recursive:
                assert among.arrow(schema).slice(40).equals(from_values([value], schema))

    damaged()
