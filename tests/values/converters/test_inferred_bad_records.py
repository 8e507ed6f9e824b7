"""What is a bad record under an inferred schema whatever becomes of misfits, and what is none (docs/inference.md)."""

from __future__ import annotations

import pytest

from kafka_s3.avro.model import Schema
from kafka_s3.values.converters.inference import REST, Sample, widened
from kafka_s3.values.converters.inferred import InferredJson
from kafka_s3.values.rows import Tombstone, Unwritable

WIDE = b'{"l": [{%s}]}' % b",".join(b'"f%d": 1' % number for number in range(250))


def converter(value: bytes, *, rest: bool = True) -> InferredJson:
    sample = Sample()
    sample.add(value)
    text = widened(None, sample, longs_become_doubles=True, rest=rest)
    return InferredJson(Schema(text, version=1), columns=True)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (rb'{"id":2,"\ud800":1}', rb'{"id":2,"\ud800":1}'),
        (rb'{"o":{"\udfff":"x"}, "id":1}', rb'{"o":{"\udfff":"x"},"id":1}'),
    ],
)
def test_names_that_no_pointer_has(value: bytes, kept: bytes) -> None:
    """A name with half of a surrogate pair is in no map of text: the whole value is kept, and nothing stops."""
    convert = converter(b'{"id": 1, "o": {"a": 1}}')
    rows = convert([b'{"id": 1}', value])
    assert not rows.excluded
    assert rows.values(convert.schema)[1] == {"id": None, "o": None, REST: {"": kept.decode()}}


def test_such_a_name_in_a_known_place() -> None:
    """Deeper in a misfit, and in a value that is text, it is escaped as JSON has it."""
    convert = converter(b'{"id": 1, "s": "x"}')
    (row,) = convert([rb'{"id":{"\ud800":1},"s":"\ud800"}']).values(convert.schema)
    assert row == {"id": None, "s": None, REST: {"/id": r'{"\ud800":1}', "/s": r'"\ud800"'}}


def test_minus_zero() -> None:
    """Of the numbers that do not come back as they were written it is the only one."""
    convert = converter(b'{"id": 1}')
    (row,) = convert([b'{"id":-0,"m":[-0,-0.0,1.50]}']).values(convert.schema)
    assert row == {"id": 0, REST: {"/m": "[0,-0.0,1.50]"}}


@pytest.mark.parametrize("rest", [False, True])
@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"{oops", "not JSON"),
        (b'{"l": "\xff"}', "not UTF-8"),
        (b'{"l": NaN}', "not JSON"),
        (b'{"l": ' + b"[" * 100 + b"]" * 100 + b"}", "nested more than 100 levels deep"),
        (b'{"l": [' + b"1," * 2_500_000 + b"1]}", "more than 2500000 values"),
        (b'{"l": [' + b"{}," * 10_000 + b"{}]}", "bytes of fields and defaults"),
    ],
)
def test_bad_records_either_way(value: bytes, why: str, rest: bool) -> None:
    """Where there is a rest, too."""
    problem = converter(WIDE, rest=rest)([value]).excluded[0]
    assert isinstance(problem, Unwritable)
    assert why in problem.reason


def test_tombstones_either_way() -> None:
    """A missing value, and one that is just null."""
    assert converter(WIDE)([None, b"null"]).excluded == {0: Tombstone(), 1: Tombstone()}
