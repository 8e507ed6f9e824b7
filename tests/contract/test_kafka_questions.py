"""What planning asks a record source, and what a range of it says that is gone: every implementation alike."""

from __future__ import annotations

import contextlib
import uuid

import pytest

from kafka_s3.errors import DataLoss, TopicMissing
from kafka_s3.ports import GroupOffsets, LogPoint, TimedOffset
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.records import Record
from tests.contract import test_record_source
from tests.contract.test_record_source import Cluster, made, offsets_of

cluster = test_record_source.cluster
tp = test_record_source.tp


# What is gone


def test_log_start_moved(cluster: Cluster, tp: TopicPartition) -> None:
    """A range whose start was deleted is data loss, which names the log's bounds; from the log start all is well."""
    cluster.append(tp, *made(10))
    cluster.delete_before(tp, 6)
    offsets = cluster.broker.offsets([tp])[tp]
    assert (offsets.log_start, offsets.last_stable, offsets.high_watermark) == (6, 10, 10)
    with pytest.raises(DataLoss, match=rf"{tp} \[2, 10\).*\[6, 10\)") as caught:
        offsets_of(cluster.source, tp, 2, 10)
    assert caught.value.exit_status == 65
    assert offsets_of(cluster.source, tp, 6, 10) == [6, 7, 8, 9]


def test_start_above_the_log(cluster: Cluster, tp: TopicPartition) -> None:
    """A range that starts past the end of the log is data loss: the log was truncated, or is another one."""
    cluster.append(tp, *made(2))
    with pytest.raises(DataLoss, match=r"\[5, 9\).*\[0, 2\)"):
        offsets_of(cluster.source, tp, 5, 9)


def test_topic_deleted_while_it_is_read(cluster: Cluster, tp: TopicPartition) -> None:
    """A topic that vanishes below a reader is data loss that names the topic, not silence."""
    cluster.append(tp, *made(2))
    with contextlib.closing(cluster.source.open(OffsetRange(tp, 0, 9))) as reader:
        batches = iter(reader)
        next(batches)
        cluster.delete(tp.topic)
        with pytest.raises(DataLoss, match=tp.topic):
            list(batches)


def test_topic_missing(cluster: Cluster) -> None:
    """A topic that does not exist is left out of the topics, missing where offsets are asked for, lost to a reader."""
    tp = TopicPartition("no-such-topic", 0)
    assert cluster.configured(topics=["no-such-topic"]).topics() == {}
    with pytest.raises(TopicMissing, match="no-such-topic"):
        cluster.broker.offsets([tp])
    with pytest.raises(TopicMissing, match="no-such-topic"):
        cluster.broker.offsets_for_time([tp], 0)
    with pytest.raises(DataLoss, match="no-such-topic"):
        offsets_of(cluster.source, tp, 0, 1)


def test_partition_missing(cluster: Cluster, tp: TopicPartition) -> None:
    """A partition that a topic does not have is missing like a topic, also beside one that is there."""
    absent = TopicPartition(tp.topic, 7)
    with pytest.raises(TopicMissing, match=f"{tp.topic}-7"):
        cluster.broker.offsets([tp, absent])
    with pytest.raises(DataLoss, match=f"{tp.topic}-7"):
        offsets_of(cluster.source, absent, 0, 1)


# What planning asks


def test_topics_by_name(cluster: Cluster, topic_name: str) -> None:
    """The topics configured by name are those, with their partitions; others and missing ones are left out."""
    broker = cluster.configured(topics=[topic_name, "no-such-topic"])
    cluster.create(topic_name, 3)
    cluster.create(f"{topic_name}-more")
    (view,) = broker.topics().values()
    assert (view.name, view.partitions) == (topic_name, (0, 1, 2))


def test_topics_by_regex(cluster: Cluster, topic_name: str) -> None:
    """`topics.regex` has to match the whole name."""
    broker = cluster.configured(topics_regex=rf"{topic_name}-[ab]+")
    for name in ("a", "bb", "c", "a.dlq"):
        cluster.create(f"{topic_name}-{name}")
    assert list(broker.topics()) == [f"{topic_name}-a", f"{topic_name}-bb"]


def test_regex_matches_nothing(cluster: Cluster) -> None:
    """A pattern without a match is no topics, and no error."""
    assert cluster.configured(topics_regex="no-such-topic.*").topics() == {}


def test_topic_id_tells_topics_apart(cluster: Cluster, topic_name: str) -> None:
    """The id of a topic stays while it lives, and is another one once it was deleted and made again."""
    broker = cluster.configured(topics=[topic_name])
    cluster.create(topic_name)
    first = broker.topics()[topic_name].topic_id
    assert first == broker.topics()[topic_name].topic_id
    cluster.delete(topic_name)
    assert broker.topics() == {}
    cluster.create(topic_name)
    assert broker.topics()[topic_name].topic_id not in (first, "")


def test_cluster_id(cluster: Cluster) -> None:
    """A cluster has an id, always the same."""
    assert cluster.broker.cluster_id() == cluster.broker.cluster_id() != ""


def test_offsets(cluster: Cluster, topic_name: str) -> None:
    """Every partition that is asked for is answered, empty ones with zeros; asking for none is fine."""
    cluster.create(topic_name, 3)
    tps = [TopicPartition(topic_name, number) for number in range(3)]
    cluster.append(tps[1], *made(4))
    offsets = cluster.broker.offsets(iter(tps))
    assert [(offsets[tp].log_start, offsets[tp].last_stable, offsets[tp].high_watermark) for tp in tps] == [
        (0, 0, 0),
        (0, 4, 4),
        (0, 0, 0),
    ]
    assert cluster.broker.offsets([]) == {}
    assert cluster.broker.offsets_for_time([], 0) == {}


def test_log_that_is_what_it_was(cluster: Cluster, topic_name: str) -> None:
    """No log parts from itself: not at its beginning, in its middle, in a hole, or at its end, of whatever epoch."""
    tps = [TopicPartition(topic_name, p) for p in range(3)]
    cluster.create(topic_name, 3)
    for tp in tps:
        cluster.append(tp, *made(3))
    cluster.abort(tps[0], 1)
    assert {offsets.leader_epoch for offsets in cluster.broker.offsets(tps).values()} == {0}
    for offsets in ([3, 0, 1], [4, 3, 2], [5, 3, 3]):
        assert cluster.broker.diverged({tp: LogPoint(at, 0) for tp, at in zip(tps, offsets, strict=True)}) == {}
    assert cluster.broker.diverged({}) == {}


def test_log_that_is_shorter(cluster: Cluster, topic_name: str) -> None:
    """A point above the end of the log: it parts there. Points of other partitions have answers of their own."""
    short, long = TopicPartition(topic_name, 0), TopicPartition(topic_name, 1)
    cluster.create(topic_name, 2)
    cluster.append(short, *made(3))
    cluster.append(long, *made(9))
    assert cluster.broker.diverged({short: LogPoint(7, 0), long: LogPoint(7, 0)}) == {short: 3}


def test_log_in_an_open_transaction(cluster: Cluster, tp: TopicPartition) -> None:
    """A point above the LSO is asked about like any other: an open transaction holds no answer up."""
    cluster.append(tp, *made(2))
    with cluster.transaction(tp, *made(2)):
        assert cluster.broker.diverged({tp: LogPoint(4, 0)}) == {}


def test_log_whose_start_has_passed_a_point(cluster: Cluster, tp: TopicPartition) -> None:
    """What retention took is lost, which the log start says: the log itself is what it was."""
    cluster.append(tp, *made(6))
    cluster.delete_before(tp, 4)
    assert cluster.broker.diverged({tp: LogPoint(2, 0)}) == {}


def test_log_that_never_had_the_epoch(cluster: Cluster, tp: TopicPartition) -> None:
    """An epoch newer than any of the log: nothing shows that a record is the same, back to the log start."""
    cluster.append(tp, *made(6))
    cluster.delete_before(tp, 2)
    assert cluster.broker.diverged({tp: LogPoint(5, 7)}) == {tp: 2}


def test_log_of_no_topic(cluster: Cluster) -> None:
    """A topic that does not exist is an error that names it, here too."""
    with pytest.raises(TopicMissing, match="no-such-topic"):
        cluster.broker.diverged({TopicPartition("no-such-topic", 0): LogPoint(1, 0)})


def test_offsets_for_time(cluster: Cluster, tp: TopicPartition) -> None:
    """The first offset at or after a time, with its timestamp; before all: the first; after all: none."""
    cluster.append(tp, *made(5))
    asked = {
        0: TimedOffset(0, 1000),
        1000: TimedOffset(0, 1000),
        1001: TimedOffset(1, 2000),
        5000: TimedOffset(4, 5000),
        5001: None,
        10**14: None,
    }
    assert {time_ms: cluster.broker.offsets_for_time([tp], time_ms)[tp] for time_ms in asked} == asked


def test_offsets_for_time_out_of_order(cluster: Cluster, tp: TopicPartition) -> None:
    """Where timestamps go back and forth the lowest offset counts, not the nearest time."""
    cluster.append(tp, *(Record(0, b"", timestamp_ms=at) for at in (5000, 1000, 9000, 2000)))
    assert cluster.broker.offsets_for_time([tp], 1500)[tp] == TimedOffset(0, 5000)
    assert cluster.broker.offsets_for_time([tp], 6000)[tp] == TimedOffset(2, 9000)


def test_offsets_for_time_begin_at_the_log_start(cluster: Cluster, tp: TopicPartition) -> None:
    """What was deleted is not found."""
    cluster.append(tp, *made(5))
    cluster.delete_before(tp, 3)
    assert cluster.broker.offsets_for_time([tp], 0)[tp] == TimedOffset(3, 4000)


def test_offsets_for_time_stop_at_the_lso(cluster: Cluster, tp: TopicPartition) -> None:
    """A match inside or behind an open transaction is none yet."""
    cluster.append(tp, *made(2))
    with cluster.transaction(tp, Record(0, b"", timestamp_ms=7000)):
        assert cluster.broker.offsets_for_time([tp], 7000)[tp] is None
        assert cluster.broker.offsets_for_time([tp], 1001)[tp] == TimedOffset(1, 2000)
    assert cluster.broker.offsets_for_time([tp], 7000)[tp] == TimedOffset(2, 7000)


def test_offsets_for_time_see_aborted_records(cluster: Cluster, tp: TopicPartition) -> None:
    """The record found may be one that nobody can read: planning has to expect it."""
    cluster.append(tp, *made(2))
    cluster.abort(tp, 4000)
    cluster.append(tp, Record(0, b"", timestamp_ms=5000))
    assert cluster.broker.offsets_for_time([tp], 3000)[tp] == TimedOffset(2, 4000)


def test_offsets_for_time_pass_over_records_without_timestamp(cluster: Cluster, tp: TopicPartition) -> None:
    """A record without a timestamp is at no time."""
    cluster.append(tp, Record(0, b""))
    assert cluster.broker.offsets_for_time([tp], 0)[tp] is None
    cluster.append(tp, Record(0, b"", timestamp_ms=1000))
    assert cluster.broker.offsets_for_time([tp], 0)[tp] == TimedOffset(1, 1000)


def test_first_timestamp(cluster: Cluster, tp: TopicPartition) -> None:
    """The timestamp of the first record of a range that can be seen; -1 without one; None without a record."""
    cluster.append(tp, *made(3))
    cluster.abort(tp, 9000, 9000)
    cluster.append(tp, Record(0, b""), Record(0, b"", timestamp_ms=500))
    ask = cluster.broker.first_timestamp
    assert ask(tp, 0, 8) == 1000
    assert ask(tp, 2, 8) == 3000
    assert ask(tp, 3, 8) == -1
    assert ask(tp, 7, 8) == 500
    assert ask(tp, 3, 6) is None
    assert ask(tp, 3, 3) is None


def test_first_timestamp_behind_a_transaction(cluster: Cluster, tp: TopicPartition) -> None:
    """What an open transaction holds back is seen only by who asks for it."""
    cluster.append(tp, *made(2))
    with cluster.transaction(tp, *made(3)):
        seen = cluster.broker.offsets([tp])[tp]
        assert (seen.last_stable, seen.high_watermark) == (2, 5)
        assert cluster.broker.first_timestamp(tp, 2, 5, uncommitted=True) == 1000


def test_first_timestamp_of_what_is_gone(cluster: Cluster, tp: TopicPartition) -> None:
    """Below the log start there is nothing to look at: data loss."""
    cluster.append(tp, *made(3))
    cluster.delete_before(tp, 2)
    with pytest.raises(DataLoss):
        cluster.broker.first_timestamp(tp, 0, 3)


def test_committed(cluster: Cluster, topic_name: str) -> None:
    """A group's members and its offsets, of the partitions asked for that have one; both stay apart."""
    cluster.create(topic_name, 2)
    first, second = TopicPartition(topic_name, 0), TopicPartition(topic_name, 1)
    group = f"group-{topic_name}"
    cluster.append(first, *made(5))
    with cluster.commit(group, first, 3):
        assert cluster.broker.committed(group, [first, second]) == GroupOffsets(1, {first: 3})
        assert cluster.broker.committed(group, []) == GroupOffsets(1, {})
    assert cluster.broker.committed(group, [first, second]) == GroupOffsets(0, {first: 3})
    assert cluster.broker.committed(group, [second]) == GroupOffsets(0, {})


def test_committed_of_no_group(cluster: Cluster, tp: TopicPartition) -> None:
    """A group that does not exist has neither members nor offsets."""
    assert cluster.broker.committed(f"nobody-{uuid.uuid4()}", [tp]) == GroupOffsets(0, {})


def test_retention(cluster: Cluster, topic_name: str) -> None:
    """How long each topic keeps a record, `None` for ever; what is not there is left out."""
    cluster.create_kept(f"{topic_name}-short", 90_000)
    cluster.create_kept(f"{topic_name}-ever", None)
    asked = [f"{topic_name}-short", f"{topic_name}-ever", "no-such-topic"]
    assert cluster.broker.retention_ms(asked) == {asked[0]: 90_000, asked[1]: None}
    assert cluster.broker.retention_ms([]) == {}


def test_cleanup_policies(cluster: Cluster, topic_name: str) -> None:
    """What becomes of old records of each topic; what is not there is left out."""
    made = {f"{topic_name}-{name}": set(name.split("-")) for name in ("delete", "compact", "compact-delete")}
    for name, policies in made.items():
        cluster.create_cleaned(name, *sorted(policies))
    assert cluster.broker.cleanup_policies([*made, "no-such-topic"]) == made
    assert cluster.broker.cleanup_policies([]) == {}
