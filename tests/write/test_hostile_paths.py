"""No value puts anything into a key that leads out of its folder, whatever the delimiter of folders."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.records import Record
from tests.write.members import PLAIN, TOLERANT, settings_with, write

BY_FIELD = {"partitioner.class": "FieldPartitioner", "partition.field.name": "f"}
CLIMBING = ["/../x", "a/../../b", "../x", "x/..", "/./", "..\\x", "a\\..\\..\\b", "a/..\\b"]


def keys_of(delimiter: str, *values: object, more: Mapping[str, str] = {}) -> tuple[list[str], dict[int, str]]:
    """The keys that values get as a field, and why others get none."""
    settings = settings_with(PLAIN, TOLERANT, BY_FIELD, {"directory.delim": delimiter, "flush.size": "1"}, more)
    made = write(settings, [Record(n, json.dumps({"f": value}).encode()) for n, value in enumerate(values)])
    return [each.key for each in made.written.objects], made.why


@pytest.mark.parametrize("delimiter", ["/", "_", "-", "=", "__"])
def test_no_key_climbs(delimiter: str) -> None:
    """A part of two dots between slashes, or backslashes, is a bad record, or the slash is written as %2F."""
    keys, why = keys_of(delimiter, *CLIMBING, "fine")
    assert len(keys) + len(why) == len(CLIMBING) + 1
    for key in keys:
        parts = key.replace("\\", "/").split("/")
        assert ".." not in parts, key
        assert "." not in parts, key
    if delimiter != "/":
        assert set(range(len(CLIMBING))) - set(why) <= {2, 3, 5}  # "f=.." is a name of its own
        assert all("would lead out of its folder" in each for each in why.values())


@given(
    st.sampled_from(["/", "_", "-", "."]),
    st.lists(
        st.text(st.sampled_from("./\\_-a%\x00\x1b\ud800\u202eé"), max_size=12) | st.text(max_size=3) | st.integers(),
        max_size=5,
    ),
)
def test_any_text_is_a_key_or_a_bad_record(delimiter: str, values: list[object]) -> None:
    """Dots, slashes, control characters, halves of surrogate pairs: each record is written or refused, none raises,
    and no key has a part that climbs or a control character."""
    keys, why = keys_of(delimiter, *values)
    assert len(keys) + len(why) == len(values)
    for key in keys:
        assert not {".", ".."} & set(key.replace("\\", "/").split("/"))
        assert not any(ord(each) < 32 or 0xD800 <= ord(each) < 0xE000 for each in key)
        assert len(key.encode()) <= 1024


def test_keys_that_were_fine_stay() -> None:
    """With another delimiter a slash of a value stays in the key, as it was."""
    assert keys_of("_", "a/b", "a..b", "x/y.z")[0] == [
        "topics_orders_f=a/b_orders+3+0000000000.json",
        "topics_orders_f=a..b_orders+3+0000000001.json",
        "topics_orders_f=x/y.z_orders+3+0000000002.json",
    ]
