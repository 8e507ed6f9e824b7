"""Partitioners of the user's own: what a class may say, and what it may not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafka_s3.errors import ConfigurationError
from kafka_s3.records import RecordBatch
from kafka_s3.settings.paths import (
    Partitioner,
)
from kafka_s3.settings.properties import UserDefined
from kafka_s3.shown import plain
from tests.values.partitioners.test_paths import batch_of, by_hour, paths_of

# Classes of the user's own.


class ByLength:
    """A partitioner as a user writes it."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.flush_size = properties["flush.size"]

    def encode(self, batch: RecordBatch) -> list[str | None]:
        return [None if value is None else f"flush={self.flush_size}/bytes={len(value)}" for value in batch.values()]


class Climbing:
    """A partitioner that takes its paths from the values as they are."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        pass

    def encode(self, batch: RecordBatch) -> list[str | None]:
        return [None if value is None else value.decode("utf-8", "surrogatepass") for value in batch.values()]


class Leaving:
    """A module's code that ends the process."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        raise SystemExit(3)

    def encode(self, batch: RecordBatch) -> list[str | None]:
        raise AssertionError("it was never made")


class KeyTime:
    """An extractor as a user writes it."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        pass

    def extract(self, batch: RecordBatch) -> list[int | None]:
        return [None if value is None else 10 ** len(value) for value in batch.values()]


class Broken:
    """Methods that do not keep the protocol, each in its own way."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        pass

    def encode(self, batch: RecordBatch) -> list[int]:
        return [1] * len(batch)

    def extract(self, batch: RecordBatch) -> list[int]:
        raise KeyError("at")


HERE = f"{__name__}:"


def test_a_partitioner_of_the_users_own() -> None:
    """It is made with the connector's properties, and may say that a record has no path."""
    paths = paths_of(UserDefined(f"{HERE}ByLength"), batch_of(b"1", None, b"333"))
    assert [path for path in paths.each if path] == ["flush=3/bytes=1", "flush=3/bytes=3"]
    assert list(paths.bad) == [1]


def test_a_path_that_climbs_is_a_bad_records() -> None:
    """A part `.` or `..` would lead out of the topic's folder, on stores that have folders; `...` is a name."""
    paths = paths_of(UserDefined(f"{HERE}Climbing"), batch_of(b"..", b"a/../../b", b"a/.", b"...", b"a..b"))
    assert list(paths.bad) == [0, 1, 2]
    assert (
        plain(paths.bad[1], content=True)
        == "its path 'a/../../b' has a part '.' or '..', which would lead out of its folder"
    )


def test_a_path_that_no_key_can_hold_is_a_bad_records() -> None:
    """Control characters and halves of a surrogate pair, whatever class they come from."""
    values = (b"a\nb", b"\x7f", "\ud800".encode("utf-8", "surrogatepass"), "é \U0001f600".encode())
    paths = paths_of(UserDefined(f"{HERE}Climbing"), batch_of(*values))
    assert list(paths.bad) == [0, 1, 2]
    assert (
        plain(paths.bad[0], content=True)
        == "its path 'a\\nb' holds a control character or half a surrogate pair, which no key can"
    )


def test_an_extractor_of_the_users_own() -> None:
    """Its times go through the same buckets and patterns."""
    paths = paths_of(by_hour(UserDefined(f"{HERE}KeyTime")), batch_of(b"1", None, b"x" * 12))
    assert (paths.each[0], paths.each[2]) == ("year=1970/month=01/day=01/hour=00", "year=2001/month=09/day=09/hour=01")
    assert list(paths.bad) == [1]


@pytest.mark.parametrize(
    ("partitioner", "said"),
    [
        (UserDefined("no.such.module:Paths"), "ModuleNotFoundError: No module named 'no'"),
        (UserDefined(f"{HERE}Nothing"), "has no class Nothing"),
        (UserDefined(f"{HERE}KeyTime"), "the class KeyTime has no method encode"),
        (UserDefined(f"{HERE}Broken"), "must give 1 str or None, and gave int"),
        (UserDefined(f"{HERE}Leaving"), "raised SystemExit: 3"),
        (by_hour(UserDefined(f"{HERE}Broken")), "raised KeyError (text of 4 characters)"),
    ],
)
def test_a_class_that_cannot_be_used_is_named(partitioner: Partitioner, said: str) -> None:
    """What is wrong with the user's class is an error of the configuration that names class and method."""
    with pytest.raises(ConfigurationError, match="(?s).*") as caught:
        paths_of(partitioner, batch_of({}))
    assert said in str(caught.value)
