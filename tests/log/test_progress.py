"""What follows from one entry of the log: how far a partition has come, and what is complete."""

from __future__ import annotations

from typing import Any

import msgspec

from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Entry, FailedRange, Interval, Kind, Plan, TopicState, sha256_of
from kafka_s3.log.progress import (
    complete_until_ms,
    goes_on_from_ms,
    has_passed,
    partition_until_ms,
    reached_ms,
    reaching,
)
from kafka_s3.ranges import TopicPartition

NOW = 1000
ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)


def state(reached: dict[int, int] | None, partitions: int = 2) -> TopicState:
    return TopicState(topic_id="id", positions=dict.fromkeys(range(partitions), 5), reached=reached)


def entry(reached: dict[int, int] | None, **what: Any) -> Entry:
    topics = {"t": state(reached), **what.pop("topics", {})}
    return Entry(
        kind=Kind.COMMIT,
        seq=3,
        connector="c",
        previous_sha256=None,
        cluster_id="k",
        engine="1",
        configuration_sha256="",
        isolation_level="read_committed",
        run_id="r",
        try_number=1,
        topics=topics,
        **what,
    )


def failed(at: Interval) -> FailedRange:
    return FailedRange(topic="t", partition=1, start=5, end=9, reason="bad", interval=at)


def test_a_topic_is_as_complete_as_its_last_partition() -> None:
    """What is complete is the least that a partition of the topics has reached, and nothing where one has not."""
    assert complete_until_ms(entry({0: 200, 1: 100}), ["t"], NOW) == 100
    assert complete_until_ms(entry({0: 200}), ["t"], NOW) is None
    assert complete_until_ms(entry({}), ["t"], NOW) is None


def test_a_topic_that_the_log_does_not_know_is_not_complete() -> None:
    """Nor are others together with it; without any topic nothing is claimed."""
    other = {"u": state({0: 50}, 1), "none": state({}, 0)}
    newest = entry({0: 200, 1: 100}, topics=other)
    assert complete_until_ms(newest, ["t", "u"], NOW) == 50
    assert complete_until_ms(newest, ["t", "absent"], NOW) is None
    assert complete_until_ms(newest, ["t", "none"], NOW) is None
    assert complete_until_ms(newest, [], NOW) is None


def test_what_lies_in_the_future_was_not_reached() -> None:
    """A clock was wrong when it was written."""
    newest = entry({0: 200, 1: NOW + 1})
    assert (reached_ms(newest, ZERO, NOW), reached_ms(newest, ONE, NOW)) == (200, None)
    assert complete_until_ms(newest, ["t"], NOW) is None
    assert reached_ms(newest, ONE, NOW + 1) == NOW + 1


def test_a_failed_range_of_an_older_time_keeps_back_the_claim() -> None:
    """It is written under its own time once more."""
    assert complete_until_ms(entry({0: 200, 1: 200}, failed=(failed(Interval(100, 150)),)), ["t"], NOW) == 100


def test_a_partition_is_complete_for_itself() -> None:
    """One that is behind, or of which an older range failed, keeps back the topic's claim and not the other's."""
    behind = entry({0: 200, 1: 100})
    assert [partition_until_ms(behind, tp, NOW) for tp in (ZERO, ONE)] == [200, 100]
    stuck = entry({0: 200, 1: 200}, failed=(failed(Interval(100, 150)),))
    assert [partition_until_ms(stuck, tp, NOW) for tp in (ZERO, ONE)] == [200, 100]
    assert partition_until_ms(entry({0: 200}), ONE, NOW) is None
    assert partition_until_ms(entry({0: NOW + 1}), ZERO, NOW) is None


def test_an_older_release_claims_nothing_and_goes_on_as_it_did() -> None:
    """Its entries have one boundary: what was cut or failed before it is planned again, and nothing else."""
    old = entry(None, boundary_ms=300)
    assert complete_until_ms(old, ["t"], NOW) is None
    assert goes_on_from_ms(old, ZERO, NOW) == 300
    assert has_passed(old, ZERO, Interval(200, 300), NOW)
    assert not has_passed(old, ZERO, Interval(300, 400), NOW)
    cut = entry(None, boundary_ms=300, unfinished=Interval(200, 300))
    assert not has_passed(cut, ZERO, Interval(200, 300), NOW)
    stuck = entry(None, boundary_ms=300, failed=(failed(Interval(200, 300)),))
    assert has_passed(stuck, ZERO, Interval(200, 300), NOW)
    assert not has_passed(stuck, ONE, Interval(200, 300), NOW)


def test_what_reached_nothing_has_passed_nothing() -> None:
    """It goes on from the newest boundary, and no run for an older interval leaves it alone."""
    newest = entry({0: 300}, boundary_ms=300)
    assert has_passed(newest, ZERO, Interval(200, 300), NOW)
    assert not has_passed(newest, ONE, Interval(0, 100), NOW)
    assert not has_passed(newest, ZERO, None, NOW)
    assert not has_passed(newest, TopicPartition("unknown", 0), Interval(0, 100), NOW)
    assert goes_on_from_ms(newest, ONE, NOW) == 300


def test_reaching_never_goes_back() -> None:
    """Unless the time that was there lies in the future."""
    topics = {"t": state({0: 200, 1: NOW + 1})}
    assert reaching(topics, [ZERO, ONE], 100, NOW)["t"].reached == {0: 200, 1: 100}
    assert reaching({"t": state(None)}, [ZERO], 100, NOW)["t"].reached == {0: 100}


#: A plan as releases wrote it that had no `bent`: one note of t-1, which of t-10 says nothing.
OLD_PLAN = (
    b'{"sha256":"@","body":{"bytes_version":1,"cluster_id":"k","configuration":{},"configuration_sha256":"",'
    b'"connector":"c","engine":"0.1.0","format_version":1,"interval":{"end_ms":2,"start_ms":1},'
    b'"isolation_level":"read_committed","more":false,"notes":["t-1: the next record, at or after 3, is older than the '
    b'interval\'s end (1 ms): read up to the LSO"],"previous_sha256":"","ranges":[],'
    b'"run":{"ends":{},"interval":null,"run_id":"r"},"seq":1,"topics":{}}}'
)


def test_a_plan_of_an_older_release_is_read_by_its_notes() -> None:
    """From its bytes: it names no partitions, so what begins with a partition's name is about that one alone."""
    body = OLD_PLAN.partition(b'"body":')[2][:-1]
    plan = decode(Plan, "k", OLD_PLAN.replace(b"@", sha256_of(body).encode()))
    assert plan.bent is None
    ten = TopicPartition("t", 10)
    assert [plan.may_pass_its_end(tp) for tp in (ZERO, ONE, ten)] == [False, True, False]
    # With the same notes a plan of today goes by the partitions that it names.
    named = decode(Plan, "k", encode(msgspec.structs.replace(plan, bent={"t": (0,)})))
    assert [named.may_pass_its_end(tp) for tp in (ZERO, ONE, ten)] == [True, False, False]


def test_an_empty_list_of_bent_partitions_is_an_answer() -> None:
    """A plan of today whose notes speak of a partition may still say that nothing was bent."""
    body = OLD_PLAN.partition(b'"body":')[2][:-1]
    plan = decode(Plan, "k", OLD_PLAN.replace(b"@", sha256_of(body).encode()))
    named = msgspec.structs.replace(plan, bent={})
    assert not any(named.may_pass_its_end(tp) for tp in (ZERO, ONE))
