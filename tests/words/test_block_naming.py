"""Keys of Block-GZIP: those of the connector it comes from, and that format and parse are inverse."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_s3.naming import DataName, block_partition, format_block_key, parse_block_key

topics = st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True).filter(lambda name: name not in (".", ".."))
prefixes = st.sampled_from(["", "systest", "a/b", "systest/", "2016-02-24", "raw+data"])


@st.composite
def named(draw: st.DrawFn) -> DataName:
    return DataName(
        draw(topics),
        draw(st.dates()).isoformat(),
        draw(st.integers(0, 2**31 - 1) | st.integers(0, 200)),
        draw(st.integers(0, 2**63 - 1) | st.integers(0, 10**13)),
        draw(st.sampled_from([".gz", ".index.json", ""])),
        draw(st.integers(0, 50)),
        draw(st.integers(0, 100)),
    )


@given(prefixes, named())
@example("systest", DataName("a-00000-000000000001", "2016-02-24", 0, 1, ".gz"))
@example("systest", DataName("a-1", "2016-02-24", 100_000, 10**12, ".gz", 3, 4))
def test_parse_gives_back_what_format_was_given(prefix: str, name: DataName) -> None:
    """parse_block_key(format_block_key(name)) is the name, for every topic that Kafka allows."""
    assert parse_block_key(prefix, name.topic, format_block_key(prefix, name)) == name


@given(prefixes, topics, st.text("systest2016-02-24/orders+0123456789g.zjnx\n\u0663", max_size=60))
def test_what_parse_accepts_is_what_format_writes(prefix: str, topic: str, rest: str) -> None:
    """A key that parses is the one its name formats to."""
    key = f"{prefix}/2016-02-24/{topic}-{rest}"
    name = parse_block_key(prefix, topic, key)
    assert name is None or format_block_key(prefix, name) == key


@given(prefixes, named(), st.from_regex(r"[.-]?[0-9a-z]{0,3}", fullmatch=True))
@example("", DataName("a-00000-000000000001.b", "2016-02-24", 0, 2, ".gz"), "")
def test_a_key_is_of_one_topic(prefix: str, name: DataName, more: str) -> None:
    """Topics share a folder: no topic whose name begins another's takes that one's objects for its own."""
    key = format_block_key(prefix, name)
    begun = {name.topic[:length] for length in range(1, len(name.topic))} | {name.topic + more} - {name.topic}
    assert [topic for topic in begun if parse_block_key(prefix, topic, key)] == []


@given(named(), named())
def test_two_names_have_two_keys(one: DataName, other: DataName) -> None:
    """Different names never meet in one key, so nothing is taken for something else."""
    assert (one == other) == (format_block_key("p", one) == format_block_key("p", other))


@pytest.mark.parametrize(
    ("name", "key"),
    [
        (
            DataName("system-test", "2016-02-24", 2, 0, ".index.json"),
            "systest/2016-02-24/system-test-00002-000000000000.index.json",
        ),
        (
            DataName("orders", "2016-02-24", 12, 42, ".gz", collision=1),
            "systest/2016-02-24/orders-00012-000000000042+1.gz",
        ),
        (
            DataName("orders", "2016-02-24", 12, 42, ".gz", generation=2, collision=1),
            "systest/2016-02-24/orders-00012-000000000042+g2+1.gz",
        ),
        (
            DataName("orders", "2016-02-24", 123_456, 1_234_567_890_123, ".gz"),
            "systest/2016-02-24/orders-123456-1234567890123.gz",
        ),
    ],
)
def test_keys_are_those_of_the_documentation(name: DataName, key: str) -> None:
    """Partition and offset are padded to 5 and 12 digits and grow beyond; our suffixes stand behind the offset."""
    assert format_block_key("systest", name) == format_block_key("systest/", name) == key
    assert parse_block_key("systest", name.topic, key) == name


@pytest.mark.parametrize(
    "key",
    [
        "systest/last_chunk_index.orders-00000.txt",
        "systest/2016-02-24/orders-0000-000000000042.gz",
        "systest/2016-02-24/orders-00000-00000000042.gz",
        "systest/2016-02-24/orders-000000-000000000042.gz",
        "systest/2016-02-24/orders-00000-0000000000042.gz",
        "systest/2016-02-30/orders-00000-000000000042.gz",
        "systest/20160224/orders-00000-000000000042.gz",
        "systest/2016-02-24/x/orders-00000-000000000042.gz",
        "systest/2016-02-24/orders-00000-000000000042+g0.gz",
        "systest/2016-02-24/orders-00000-000000000042+01.gz",
        "systest/2016-02-24/orders-00000-00000000004\u0663.gz",
        "systest/2016-02-24/orders-00000-000000000042.b-00000-000000000042.gz",
        "systest/2016-02-24/other-00000-000000000042.gz",
        "systest/2016-02-24/orders-00000-" + "0" * 5000 + ".gz",
        "elsewhere/2016-02-24/orders-00000-000000000042.gz",
        "",
    ],
)
def test_a_stranger_among_the_keys_is_no_data_object(key: str) -> None:
    """Other padding, days that are none, other topics and what the older connector kept beside its objects."""
    assert parse_block_key("systest", "orders", key) is None


@given(st.integers(0, 4_000_000_000_000))
def test_the_day_is_that_of_utc(at_ms: int) -> None:
    """A day is 86,400,000 ms from midnight to midnight UTC, and later days sort behind earlier ones."""
    midnight = at_ms - at_ms % 86_400_000
    assert block_partition(midnight) == block_partition(at_ms) == block_partition(midnight + 86_399_999)
    assert block_partition(midnight - 1) < block_partition(at_ms) < block_partition(midnight + 86_400_000)
