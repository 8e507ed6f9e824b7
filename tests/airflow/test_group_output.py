"""What the operator makes of a group's driver: by its events, each of which says whose it is."""

from __future__ import annotations

import pytest
from airflow.sdk.exceptions import AirflowFailException

from kafka_s3.events import CommitWritten, Event, ProblemReported, RunEnded, SparkNeeded, to_line
from kafka_s3.spark.driver_context import Member
from kafka_s3_airflow.driver_output import GroupOutput
from kafka_s3_airflow.group_failures import REASONS_MAX, Failures

pytestmark = pytest.mark.filterwarnings("ignore")


def followed(*told: tuple[str | None, Event] | str) -> tuple[GroupOutput, list[str]]:
    output = GroupOutput()
    lines = [each if isinstance(each, str) else to_line(each[1], each[0]) for each in told]
    return output, [line.rstrip("\n") for line in output.read(f"{line}\n" for line in lines)]


def members(*names: str) -> list[Member]:
    return [Member(name, f"/{name}.properties") for name in names]


def of(*names: str) -> Failures:
    return Failures({name: f"/{name}.properties" for name in names})


def test_lines_have_the_names_of_connectors() -> None:
    """Each line of a sentence; what the driver says of itself, and what others write, has none."""
    output, shown = followed(
        ("a", CommitWritten(seq=1, records=3, rejected=0)),
        "26/11/21 09:00:00 WARN Utils: x",
        ("b", ProblemReported(what="It is wrong.\nGo on so.")),
        ("b", RunEnded(exit_status=65)),
        ("c", SparkNeeded(offsets=10**6, exit_status=0)),
        (None, RunEnded(exit_status=65)),
    )
    assert shown == [
        "a: commit 1: 3 records",
        "26/11/21 09:00:00 WARN Utils: x",
        "b: It is wrong.",
        "b: Go on so.",
        "b: the run ended with exit status 65",
        "c: the plan has 1000000 offsets: Spark takes over",
        "the run ended with exit status 65",
    ]
    assert (output.statuses, output.waiting, output.exit_status) == ({"b": 65}, {"c": 0}, 65)
    assert output.has_ended


def test_a_group_has_not_ended_with_a_member() -> None:
    """The driver's own last event ends it, not one of a connector's."""
    output, _ = followed(("a", RunEnded(exit_status=0)), ("b", SparkNeeded(offsets=1, exit_status=0)))
    assert not output.has_ended


def test_those_that_fail_are_named_with_their_status() -> None:
    """Final if a retry can cure none of them."""
    output, _ = followed(
        ("a", RunEnded(exit_status=0)),
        ("b", ProblemReported(what="A bad record.\nAnd more.")),
        ("b", RunEnded(exit_status=65)),
        (None, RunEnded(exit_status=65)),
    )
    ended = of("a", "b", "c")
    ended.take(output, members("a", "b"), 0)
    assert ended.statuses == {"b": 65}
    error = ended.error()
    assert isinstance(error, AirflowFailException)
    assert str(error) == "1 of 3 connectors failed:\nb (65): A bad record."
    ended.fail("c", 75, "Kafka does not answer.")
    assert not isinstance(ended.error(), AirflowFailException)


def test_a_driver_that_dies_fails_those_that_had_not_ended() -> None:
    """With what was said last; those that were done before are done."""
    output, _ = followed(("a", RunEnded(exit_status=0)), "MemoryError")
    ended = of("a", "b", "c")
    ended.take(output, members("a", "b", "c"), -9)
    assert ended.statuses == {"b": -9, "c": -9}
    assert "b (-9): The driver ended before it (exit status -9). MemoryError" in str(ended.error())
    assert not isinstance(ended.error(), AirflowFailException), "a retry may help"


def test_one_that_goes_on_on_spark() -> None:
    """It is done if it is done there, and no more had failed before; it is one connector of those that are counted."""
    before, _ = followed(
        ("a", SparkNeeded(offsets=1, exit_status=0)),
        ("b", SparkNeeded(offsets=1, exit_status=65)),
        (None, RunEnded(exit_status=0)),
    )
    on_spark, _ = followed(
        ("a", RunEnded(exit_status=0)), ("b", RunEnded(exit_status=0)), (None, RunEnded(exit_status=0))
    )
    ended = of("a", "b")
    ended.take(before, members("a", "b"), 0)
    ended.take(on_spark, members("a", "b"), 0)
    assert ended.statuses == {"b": 65}
    assert "1 of 2 connectors failed:" in str(ended.error())


def test_many_failures_are_a_short_message() -> None:
    """The first with their reasons, the others by name."""
    ended = of(*(f"m{number:03}" for number in range(1000)))
    for number in range(100):
        ended.fail(f"m{number:03}", 78, "It is wrong.\n" * 100)
    lines = str(ended.error()).split("\n")
    assert lines[0] == "100 of 1000 connectors failed:"
    assert len(lines) == REASONS_MAX + 2
    assert lines[-1].startswith("and m020, m021,")
