"""Keys: what docs/concepts/bucket.md says, and that format and parse are inverse."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from kafka_s3.naming import (
    SEQ_MAX,
    DataName,
    KeyLayout,
    LogLayout,
    format_data_key,
    format_epoch,
    invert_seq,
    parse_data_key,
    parse_log_key,
    parse_seq,
)
from kafka_s3.settings.file_names import tells_topics_apart
from kafka_s3.settings.validators import extension as extension_problem
from kafka_s3.settings.validators import file_delim as file_delim_problem

LOG = LogLayout("_kafka_s3", "orders")

topics = st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True).filter(lambda name: name not in (".", ".."))
file_delims = st.text("+-_.=~g ab", min_size=1, max_size=3).filter(lambda text: file_delim_problem(text) is None)
directory_delims = st.sampled_from(["/", "-", ".", "_", "//", "=", ":"])
extensions = st.sampled_from(["", ".json", ".json.gz", ".bin", ".avro", ".snappy.parquet", ".7z", ".a-b_c+d"])
extensions = extensions.filter(lambda text: extension_problem(text) is None)
level = st.from_regex(r"[a-z]{1,6}=[a-zA-Z0-9%_. -]{1,10}", fullmatch=True)


@st.composite
def layouts(draw: st.DrawFn) -> KeyLayout:
    """A layout that the settings accept: the delimiter of directories is not in that of files."""
    directory, file = draw(directory_delims), draw(file_delims)
    assume(directory not in file)
    topics_dir = draw(st.sampled_from(["topics", "", "a/b", "raw-data", "2026"]))
    return KeyLayout(topics_dir, directory, file, draw(st.integers(0, 20)))


@st.composite
def named(draw: st.DrawFn) -> tuple[KeyLayout, DataName]:
    layout = draw(layouts())
    topic = draw(topics)
    encoded = layout.directory_delim.join(draw(st.lists(level, max_size=4)))
    name = DataName(
        topic,
        encoded,
        draw(st.integers(0, 10_000)),
        draw(st.integers(0, 2**63 - 1)),
        draw(extensions),
        draw(st.integers(0, 50)),
        draw(st.integers(0, 100)),
    )
    return layout, name


@given(named())
@example((KeyLayout(directory_delim="-"), DataName("my-topic", "partition=0", 0, 7, ".json")))
@example((KeyLayout(directory_delim="."), DataName("a.b", "partition=0", 0, 7, ".json.gz")))
@example((KeyLayout(file_delim="."), DataName("a.1.2", "partition=1", 1, 2, ".json.gz", 3, 4)))
@example((KeyLayout(file_delim="g"), DataName("g1g2", "", 1, 2, ".bin", 3, 4)))
def test_parse_gives_back_what_format_was_given(pair: tuple[KeyLayout, DataName]) -> None:
    """parse_data_key(format_data_key(name)) is the name, under every layout that the settings accept."""
    layout, name = pair
    assert parse_data_key(layout, name.topic, format_data_key(layout, name)) == name


sources = st.builds(
    DataName,
    st.sampled_from(["a", "a-1", "a-1-2", "a.1", "a_1", "a-g1", "ag1"]),
    st.just("partition=1"),
    st.sampled_from([0, 1, 2, 12]),
    st.sampled_from([0, 1, 2, 3, 4, 12, 2**40]),
    st.just(".json"),
    st.sampled_from([0, 1, 2]),
    st.sampled_from([0, 1, 2, 3, 4]),
    st.just("all"),
)


@given(file_delims, st.sampled_from([0, 1, 2, 10]), sources, sources)
@example("+", 0, DataName("a", "", 1, 2, "", 0, 3, "all"), DataName("a-1", "", 2, 3, "", 0, 0, "all"))
@example("-", 0, DataName("a", "", 1, 2, "", 0, 3, "all"), DataName("a-1", "", 2, 3, "", 0, 0, "all"))
@example("-", 10, DataName("a", "", 1, 2, "", 0, 3, "all"), DataName("a-1", "", 2, 3, "", 0, 0, "all"))
def test_routed_topics_never_meet_in_one_key(delim: str, width: int, name: DataName, other: DataName) -> None:
    """Two topics that a router gives one name share its folder: under settings that are taken no object of one has a
    key of the other, or is taken for its."""
    assume("/" not in delim and tells_topics_apart(delim, width))
    layout = KeyLayout(file_delim=delim, offset_pad_width=width, routed=True)
    key = format_data_key(layout, name)
    assert parse_data_key(layout, name.topic, key) == name
    assert (format_data_key(layout, other) == key) == (other == name)
    if other.topic != name.topic:
        assert parse_data_key(layout, other.topic, key) is None


@given(layouts(), topics, st.text("topics/orders+0123456789gjson.-=\n\u0663", max_size=40))
@example(KeyLayout(), "orders", "partition=0/orders+0+42.json")
@example(KeyLayout(), "orders", "partition=0/orders+0+0000000042+01.json")
@example(KeyLayout(), "orders", "partition=0/orders+0+0000000042+g0.json")
@example(KeyLayout(), "orders", "partition=0/orders+0+00000000042.json")
@example(KeyLayout(), "orders", "partition=0/orders+00+0000000042.json")
@example(KeyLayout(), "orders", "/orders+0+0000000042.json")
@example(KeyLayout(), "orders", "partition=0/orders+0+000000004\u0663.json")
@example(KeyLayout(), "orders", "partition=0/orders+0+0000000042json")
@example(KeyLayout(), "orders", "partition=0/orders_v2+0+0000000042.json")
def test_what_parse_accepts_is_what_format_writes(layout: KeyLayout, topic: str, rest: str) -> None:
    """A key that parses is the one its name formats to; any other key is refused, also one with other padding."""
    key = layout.topic_prefix(topic) + rest
    name = parse_data_key(layout, topic, key)
    assert name is None or format_data_key(layout, name) == key


@pytest.mark.parametrize(
    "key",
    [
        "topics/orders/partition=0/orders+0+42.json",
        "topics/orders/partition=0/orders+0+0000000042+01.json",
        "topics/orders/partition=0/orders+0+0000000042+g0.json",
        "topics/orders/partition=0/orders+00+0000000042.json",
        "topics/orders/partition=0/orders+0+000000004\u0663.json",
        "topics/orders/partition=0/orders+0+0000000042json",
        "topics/orders/partition=0/other+0+0000000042.json",
        "topics/orders//orders+0+0000000042.json",
        "topics/orders2/partition=0/orders+0+0000000042.json",
        "topics/orders/_SUCCESS",
        "",
    ],
)
def test_a_stranger_among_the_keys_is_no_data_object(key: str) -> None:
    """Keys that Connect or a user left under the prefix are not taken for ours."""
    assert parse_data_key(KeyLayout(), "orders", key) is None


@pytest.mark.parametrize(
    ("name", "layout", "key"),
    [
        (
            DataName("orders", "partition=3", 3, 42, ".json.gz"),
            KeyLayout(),
            "topics/orders/partition=3/orders+3+0000000042.json.gz",
        ),
        (
            DataName("orders", "partition=3", 3, 42, ".json.gz", collision=2),
            KeyLayout(),
            "topics/orders/partition=3/orders+3+0000000042+2.json.gz",
        ),
        (
            DataName("orders", "partition=3", 3, 42, ".avro", generation=1),
            KeyLayout(),
            "topics/orders/partition=3/orders+3+0000000042+g1.avro",
        ),
        (
            DataName("orders", "partition=3", 3, 42, ".avro", generation=1, collision=2),
            KeyLayout(),
            "topics/orders/partition=3/orders+3+0000000042+g1+2.avro",
        ),
        (
            DataName("orders", "year=2026/month=11", 12, 10**12, ".json"),
            KeyLayout(),
            "topics/orders/year=2026/month=11/orders+12+1000000000000.json",
        ),
        (
            DataName("orders", "partition=0", 0, 42, ".bin"),
            KeyLayout("", offset_pad_width=0),
            "orders/partition=0/orders+0+42.bin",
        ),
        (
            DataName("orders", "partition=0", 0, 0, ".bin"),
            KeyLayout("", "/", "-", 0),
            "orders/partition=0/orders-0-0.bin",
        ),
    ],
)
def test_data_keys_are_those_of_the_table(name: DataName, layout: KeyLayout, key: str) -> None:
    """Data keys are Connect's; suffixes for generation and collision come after the offset, in this order."""
    assert format_data_key(layout, name) == key
    assert parse_data_key(layout, name.topic, key) == name


def test_log_keys_are_those_of_the_table() -> None:
    """Plans, entries, announcements and owners lie where docs/concepts/bucket.md says."""
    assert LOG.plan_key(0) == "_kafka_s3/orders/plan/9999999999999999999.json"
    assert LOG.log_key(41) == "_kafka_s3/orders/log/9999999999999999958.json"
    assert LOG.announced_key(41) == "_kafka_s3/orders/announced/9999999999999999958"
    assert LOG.owner_key("topics", "orders") == "_kafka_s3/owners/topics/orders.json"
    assert LOG.owner_key("", "orders") == "_kafka_s3/owners/orders.json"


def test_two_connectors_contend_for_one_owner_key() -> None:
    """The owner key does not depend on the connector, so two of them meet there."""
    assert LogLayout("_kafka_s3", "a").owner_key("t", "x") == LogLayout("_kafka_s3", "b").owner_key("t", "x")


@given(st.integers(0, SEQ_MAX), st.integers(0, SEQ_MAX))
def test_newer_entries_sort_first(one: int, other: int) -> None:
    """The order of keys is the reverse of the order of sequence numbers, whatever their size."""
    assert (one < other) == (LOG.log_key(one) > LOG.log_key(other))


@given(st.integers(0, SEQ_MAX))
def test_a_sequence_number_is_read_back_from_every_kind_of_key(seq: int) -> None:
    """parse_seq is the inverse of the plan, log and announcement keys."""
    assert parse_seq(LOG.plan_key(seq)) == parse_seq(LOG.log_key(seq)) == parse_seq(LOG.announced_key(seq)) == seq
    assert len(invert_seq(seq)) == 19


@pytest.mark.parametrize(
    "key",
    [
        "_kafka_s3/orders/log/readme.txt",
        "_kafka_s3/orders/log/123.json",
        "_kafka_s3/orders/log/9999999999999999999.json.bak",
        "_kafka_s3/orders/log/9999999999999999999.json\n",
        "_kafka_s3/orders/log/99999999999999999999.json",
        "_kafka_s3/orders/log/999999999999999999\u0669.json",
    ],
)
def test_what_is_no_log_key_has_no_sequence_number(key: str) -> None:
    """A stranger in the log folder is seen as one."""
    assert parse_seq(key) is None


@given(topics, st.integers(0, 3))
def test_the_next_name_is_another_one(topic: str, taken: int) -> None:
    """Trying name after name never comes back to the same key."""
    name = DataName(topic, "partition=0", 0, 42, ".json")
    keys = []
    for _ in range(taken + 2):
        keys.append(format_data_key(KeyLayout(), name))
        name = name.next_free()
    assert len(set(keys)) == len(keys)


def test_an_epoch_divides_every_folder() -> None:
    """Its id stands behind the folder's name, and its claim beside the folders; owners name the log without it."""
    of = replace(LOG, epoch=format_epoch(3, "00c0ffee00c0ffee"))
    assert of.log_key(41) == "_kafka_s3/orders/log/e3-00c0ffee00c0ffee/9999999999999999958.json"
    assert of.epoch_key(3) == LOG.epoch_key(3) == "_kafka_s3/orders/epoch/9999999999999999996.json"
    assert (of.name, of.owner_key("t", "x")) == (LOG.name, LOG.owner_key("t", "x"))
    assert LOG.log_key(0) < of.log_key(0), "entries without an epoch come first"


@given(st.integers(0, SEQ_MAX), st.integers(0, SEQ_MAX), st.binary(min_size=8, max_size=8))
def test_log_keys_of_every_epoch_are_parsed(seq: int, number: int, chance: bytes) -> None:
    """`parse_log_key` is the inverse of `log_key`, with an epoch and without."""
    for of in (LOG, replace(LOG, epoch=format_epoch(number, chance.hex()))):
        assert parse_log_key(LOG, of.log_key(seq)) == (of, seq)
        assert parse_log_key(replace(LOG, connector="other"), of.log_key(seq)) is None
    assert parse_log_key(LOG, f"{LOG.name}../log/{invert_seq(seq)}.json") is None
