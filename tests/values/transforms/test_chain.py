"""Chains of transforms: their order, their predicates, what is dropped, what is bad, where records go."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kafka_s3.adapters.memory.broker import MemoryBroker
from kafka_s3.adapters.memory.store import MemoryStore
from kafka_s3.errors import ConfigurationError
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import PlannedRange
from kafka_s3.naming import DataName, KeyLayout, format_data_key, parse_data_key
from kafka_s3.ports import PartitionOffsets
from kafka_s3.records import Record
from kafka_s3.settings.transforms import catalogue
from kafka_s3.values.rows import Stage
from kafka_s3.values.transforms import build, predicates
from kafka_s3.values.transforms.user_defined import TransformBatch
from tests.values.transforms.chains import AT_MS, KAFKA, configured, lines, one, record, written

TOLERANT = {"errors.tolerance": "all"}


class Doubled:
    """A transform of the user's own."""

    parts = ("value", "timestamp")

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._field = properties["field"]

    def apply(self, batch: TransformBatch) -> TransformBatch:
        for place, value in enumerate(batch.values):
            if value["a"] < 0:
                batch.drop.add(place)
            elif value["a"] == 0:
                batch.bad[place] = "zero has no double"
            else:
                batch.values[place] = {self._field: 2 * value["a"]}
                batch.topics[place] = f"doubled-{batch.topics[place]}"
        return batch


class IsLarge:
    def __init__(self, properties: Mapping[str, str]) -> None:
        self._above = int(properties["above"])

    def test(self, batch: TransformBatch) -> Sequence[bool]:
        return [value["a"] > self._above for value in batch.values]


class Raising(Doubled):
    def apply(self, batch: TransformBatch) -> TransformBatch:
        raise ZeroDivisionError("13")


OWN = {"transforms": "own", "transforms.own.type": f"{__name__}:Doubled", "transforms.own.field": "b"}


def test_every_class_has_an_implementation() -> None:
    """What validates also runs: both tables have the same names."""
    assert sorted(each.name for each in catalogue.TRANSFORMS) == sorted(build.TRANSFORMS)
    assert sorted(each.name for each in catalogue.PREDICATES) == sorted(predicates.PREDICATES)


def test_transforms_apply_in_their_order() -> None:
    """Each sees what those before it made."""
    first = {"transforms.a.type": "HoistField$Value", "transforms.a.field": "x"}
    second = {"transforms.b.type": "InsertField$Value", "transforms.b.static.field": "s"}
    both = {**first, **second, "transforms.b.static.value": "t"}
    assert lines({**both, "transforms": "a,b"}, {"n": 1}) == [{"x": {"n": 1}, "s": "t"}]
    assert lines({**both, "transforms": "b,a"}, {"n": 1}) == [{"x": {"n": 1, "s": "t"}}]


@pytest.mark.parametrize(("negate", "kept"), [("false", [0, 2]), ("true", [])])
def test_a_predicate_says_which_records(negate: str, kept: list[int]) -> None:
    """A record for which it does not hold stays as it is; `negate` turns it round."""
    more = {
        **one("Filter", predicate="p", negate=negate),
        "predicates": "p",
        "predicates.p.type": "RecordIsTombstone",
        "behavior.on.null.values": "ignore",
    }
    records = [record(0, {"n": 0}), record(1, None), record(2, {"n": 2})]
    _, objects = written(more, records)
    assert [json.loads(line)["n"] for body in objects.values() for line in body.splitlines()] == kept


def test_predicates_know_topics_and_headers() -> None:
    """TopicNameMatches takes the whole name, HasHeaderKey any header of the name."""
    both = {
        "transforms": "a,b",
        "transforms.a.type": "Filter",
        "transforms.a.predicate": "h",
        "transforms.b.type": "Filter",
        "transforms.b.predicate": "t",
        "predicates": "h,t",
        "predicates.h.type": f"{KAFKA}.predicates.HasHeaderKey",
        "predicates.h.name": "drop",
        "predicates.t.type": f"{KAFKA}.predicates.TopicNameMatches",
        "predicates.t.pattern": "rder",
    }
    records = [record(0, {"n": 0}, headers=(("drop", b"1"),)), record(1, {"n": 1}, headers=(("other", None),))]
    _, objects = written(both, records)
    assert list(objects.values()) == [b'{"n": 1}\n']
    _, objects = written({**both, "predicates.t.pattern": "ord.*"}, records)
    assert not objects


def _exported(more: Mapping[str, str], values: Sequence[object]) -> Any:
    """The range that records become, as a task exports it."""
    broker, store = MemoryBroker(), MemoryStore()
    broker.create_topic("orders", 1)
    for offset, value in enumerate(values):
        broker.append("orders", 0, record(offset, value))
    count = len(values)
    task = RangeTask(PlannedRange("orders", 0, 0, count), AT_MS, 0, PartitionOffsets(0, count, count))
    return export_range(configured(more), task, store, broker), store


def test_dropped_records_are_counted() -> None:
    """Every offset of a range is accounted for; what transforms dropped is neither bad nor a tombstone."""
    more = {
        **one("Filter", predicate="p"),
        "predicates": "p",
        "predicates.p.type": "RecordIsTombstone",
        "behavior.on.null.values": "fail",
    }
    result, _ = _exported(more, [{"n": 0}, None, {"n": 2}])
    assert result.failure is None
    entry = result.entry
    assert (entry.records, entry.filtered, entry.rejected, entry.tombstones) == (2, 1, 0, 0)
    entry.check_accounting()


def test_a_range_may_be_dropped_as_a_whole() -> None:
    """It has no object, and its offsets are done."""
    result, store = _exported(one("Filter"), [{"n": 0}, {"n": 1}])
    assert (result.entry.records, result.entry.filtered, result.entry.next_offset) == (0, 2, 2)
    assert not list(store.list(""))


def test_what_fails_is_a_bad_record() -> None:
    """At the stage that Connect names; the records beside it are written."""
    more = {**one("InsertField$Value", static_field="s", static_value="x"), **TOLERANT}
    outcome, objects = written(more, [record(0, {"n": 0}), record(1, [1]), record(2, {"n": 2})])
    assert [(each.offset, each.stage) for each in outcome.rejected] == [(1, Stage.TRANSFORMATION)]
    assert outcome.rejected[0].reason.startswith("transforms.it: only a map")
    assert list(objects.values()) == [b'{"n":0,"s":"x"}\n{"n":2,"s":"x"}\n']


def test_a_failure_stops_the_range_unless_tolerated() -> None:
    """As any bad record does: what stands before it is written."""
    more = one("InsertField$Value", static_field="s", static_value="x")
    outcome, objects = written(more, [record(0, {"n": 0}), record(1, [1]), record(2, {"n": 2})])
    assert [each.offset for each in outcome.stopped] == [1]
    assert list(objects.values()) == [b'{"n":0,"s":"x"}\n']


def test_a_value_that_cannot_be_read_stays_bad() -> None:
    """Connect converts before it transforms: a Filter drops no record that has no value to begin with."""
    more = {**one("Filter"), **TOLERANT}
    outcome, _ = written(more, [record(0, b"{"), record(1, {"n": 1})])
    assert [(each.offset, each.stage) for each in outcome.rejected] == [(0, Stage.VALUE_CONVERTER)]


def test_a_routed_record_lies_in_its_topics_folder() -> None:
    """The file's name keeps the topic that the record came from, so that sources never meet in one name."""
    more = one("RegexRouter", regex="(.*)", replacement="all-$1")
    _, objects = written(more, [record(0, {"n": 0})])
    assert list(objects) == ["topics/all-orders/partition=0/orders+0+0000000000.json"]


def test_each_topic_of_a_batch_has_objects() -> None:
    """Records of one batch go where their own time routes them."""
    more = one("TimestampRouter", topic_format="${topic}_${timestamp}", timestamp_format="yyyy")
    records = [record(0, {"n": 0}), record(1, {"n": 1}, timestamp_ms=0), record(2, {"n": 2})]
    _, objects = written(more, records)
    assert objects == {
        "topics/orders_2016/partition=0/orders+0+0000000000.json": b'{"n": 0}\n{"n": 2}\n',
        "topics/orders_1970/partition=0/orders+0+0000000001.json": b'{"n": 1}\n',
    }


@pytest.mark.parametrize("topic", ["a/b", "..", "a b", ""])
def test_what_is_no_topics_name_is_refused(topic: str) -> None:
    """It would become a folder: such a record is bad."""
    more = {**one("RegexRouter", regex=".*", replacement=topic), **TOLERANT}
    outcome, objects = written(more, [record(0, {"n": 0})])
    assert [each.stage for each in outcome.rejected] == [Stage.TRANSFORMATION]
    assert not objects


@pytest.mark.parametrize(
    "name",
    [
        DataName("orders", "partition=0", 0, 7, ".json", folder="all"),
        DataName("orders", "", 0, 7, ".json", folder="all"),
        DataName("orders", "a=b/c=d", 3, 7, ".json.gz", 2, 1, folder="x.y-z"),
        DataName("orders", "partition=0", 0, 7, ".json"),
    ],
)
def test_names_of_routed_objects_are_read_back(name: DataName) -> None:
    """A routed key says its folder and its source; nothing else reads it, and no other topic claims it."""
    layout = KeyLayout(routed=True)
    key = format_data_key(layout, name)
    assert parse_data_key(layout, "orders", key) == name
    assert parse_data_key(layout, "all", key) is None
    assert name.folder is None or parse_data_key(KeyLayout(), "orders", key) is None


def test_a_class_of_the_users_own_changes_batches() -> None:
    """It may change, drop and route records, and say that one is bad."""
    more = {**OWN, **TOLERANT}
    outcome, objects = written(more, [record(n, {"a": a}) for n, a in enumerate([1, -1, 0, 4])])
    assert objects == {"topics/doubled-orders/partition=0/orders+0+0000000000.json": b'{"b":2}\n{"b":8}\n'}
    assert [(each.offset, each.reason) for each in outcome.rejected] == [(2, "transforms.own: zero has no double")]


def test_a_predicate_of_the_users_own() -> None:
    """Its `test` answers for every record."""
    more = {
        **one("Filter", predicate="p"),
        "predicates": "p",
        "predicates.p.type": f"{__name__}:IsLarge",
        "predicates.p.above": "1",
    }
    assert lines(more, {"a": 1}, {"a": 2}, {"a": 0}) == [{"a": 1}, {"a": 0}]


def test_a_class_that_raises_makes_bad_records() -> None:
    """What it raises is the reason, and quotes no record."""
    more = {**OWN, **TOLERANT, "transforms.own.type": f"{__name__}:Raising"}
    outcome, _ = written(more, [record(0, {"a": 1})])
    (refused,) = outcome.rejected
    assert refused.stage is Stage.TRANSFORMATION
    assert "Raising.apply raised ZeroDivisionError" in refused.reason
    assert "13" not in refused.reason


@pytest.mark.parametrize(
    ("more", "name", "sentence"),
    [
        ({"transforms": "a,a", "transforms.a.type": "Filter"}, "transforms", "names one twice"),
        (one("Filtre"), "transforms.it.type", "Did you mean Filter?"),
        (one("com.acme.Own"), "transforms.it.type", "module:Class"),
        (one("InsertField"), "transforms.it.type", "InsertField$Key or InsertField$Value"),
        (one("Filter", predicate="p"), "transforms.it.predicate", "names no such one"),
        (one("Filter", negate="true"), "transforms.it.negate", "no transforms.it.predicate"),
        (one("HoistField$Value"), "transforms.it.field", "is required"),
        (one("HoistField$Value", field="x", fild="y"), "transforms.it.fild", "Did you mean field?"),
        (one("Cast$Value", spec="a:int7"), "transforms.it.spec", "int8, int16"),
        (one("RegexRouter", regex="(", replacement="x"), "transforms.it.regex", "regular expression"),
        (one("RegexRouter", regex="x", replacement="$1"), "transforms.it.replacement", "no group 1"),
        (one("TimestampRouter", timestamp_format="b"), "transforms.it.timestamp.format", "SimpleDateFormat"),
        (one("nowhere.at.all:Own"), "transforms.it.type", "nowhere"),
        (one(f"{__name__}:IsLarge"), "transforms.it.type", "no method apply"),
        (
            {
                **one("TimestampRouter"),
                "export.completeness.marker.enable": "true",
                "partitioner.class": "io.confluent.connect.storage.partitioner.DailyPartitioner",
                "timezone": "UTC",
                "locale": "en",
            },
            "export.completeness.marker.enable",
            "other topics",
        ),
        ({**one("TimestampRouter"), "directory.delim": "-"}, "directory.delim", "topic names"),
    ],
)
def test_what_is_wrong_is_a_problem_of_its_option(more: dict[str, str], name: str, sentence: str) -> None:
    """`validate` names the option, and what to do."""
    with pytest.raises(ConfigurationError) as raised:
        configured(more)
    assert sentence in {each.name: each.message for each in raised.value.problems}[name]


def test_an_older_name_of_an_option_is_read() -> None:
    """ReplaceField had a blacklist before it had `exclude`."""
    assert lines(one("ReplaceField$Value", blacklist="a"), {"a": 1, "b": 2}) == [{"b": 2}]


def test_paths_follow_what_transforms_made() -> None:
    """A partitioner sees the record as the sink would."""
    more = {
        **one("ReplaceField$Value", renames="a:b"),
        "partitioner.class": "io.confluent.connect.storage.partitioner.FieldPartitioner",
        "partition.field.name": "b",
    }
    _, objects = written(more, [record(0, {"a": "x"})])
    assert list(objects) == ["topics/orders/b=x/orders+0+0000000000.json"]


def test_a_templates_topic_and_headers_are_what_transforms_made() -> None:
    """A path by template has the routed topic, for each record its own, and the header that was inserted."""
    more = {
        "transforms": "route,mark",
        "transforms.route.type": f"{KAFKA}.TimestampRouter",
        "transforms.route.topic.format": "${topic}-${timestamp}",
        "transforms.route.timestamp.format": "yyyy",
        "transforms.mark.type": f"{KAFKA}.InsertHeader",
        "transforms.mark.header": "tenant",
        "transforms.mark.value.literal": "t1",
        "partitioner.class": "kafka_s3.FieldAndTimePartitioner",
        "export.path.template": "t={topic}/{header.tenant}",
        "timestamp.extractor": "Record",
        "timezone": "UTC",
        "locale": "en",
    }
    _, objects = written(more, [record(0, {"a": 1}), record(1, {"a": 1}, timestamp_ms=0)])
    assert sorted(objects) == [
        "topics/orders-1970/t=orders-1970/t1/orders+0+0000000001.json",
        "topics/orders-2016/t=orders-2016/t1/orders+0+0000000000.json",
    ]


@pytest.mark.parametrize(
    ("type", "option"), [("ValueToKey", "fields"), ("ExtractField$Key", "field"), (f"{__name__}:Doubled", "field")]
)
def test_a_template_with_a_key_needs_keys_as_they_are(type: str, option: str) -> None:
    """The key of a path is Kafka's: where a transform may make another, `validate` refuses it."""
    more = {
        **one(type, **{option: "a"}),
        "partitioner.class": "kafka_s3.FieldAndTimePartitioner",
        "export.path.template": "k={key}",
    }
    with pytest.raises(ConfigurationError) as raised:
        configured(more)
    problems = {each.name: each.message for each in raised.value.problems}
    assert "transforms.it may change it" in problems["export.path.template"]
    assert configured({**more, "export.path.template": "a={a}"}).chain.transforms


def test_an_entry_without_dropped_records_is_as_before() -> None:
    """Logs that older releases wrote, and those of configurations without transforms, keep their bytes."""
    from tests.values.transforms.entries import entry_with

    plain = encode(entry_with(filtered=0))
    assert b"filtered" not in plain
    read = decode(type(entry_with(filtered=0)), "key", plain)
    assert read == entry_with(filtered=0)
    dropped = encode(entry_with(filtered=2))
    assert decode(type(read), "key", dropped).ranges[0].filtered == 2


def test_values_stay_as_they_came_where_none_looks() -> None:
    """A chain that only routes leaves every byte of a value."""
    body = b'{ "n" : 1.50 }'
    _, objects = written(one("RegexRouter", regex="x", replacement="y"), [Record(0, body)])
    assert list(objects.values()) == [body + b"\n"]
