"""Partitioners and timestamp extractors of the user's own.

    class ByCustomer:
        def __init__(self, properties: Mapping[str, str]) -> None: ...     # the connector's, without secrets
        def encode(self, batch: RecordBatch) -> Sequence[str | None]: ...  # a path for each record; None: a bad record

    class OrderTime:
        def __init__(self, properties: Mapping[str, str]) -> None: ...
        def extract(self, batch: RecordBatch) -> Sequence[int | None]: ... # milliseconds; None: a bad record

What they answer must follow from the records alone: a retry has to write the same objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafka_s3.errors import ConfigurationError
from kafka_s3.records import RecordBatch
from kafka_s3.shown import quoted
from kafka_s3.user_defined import EXTRACTOR, PARTITIONER, call, call_on_records, find_class
from kafka_s3.values.partitioners.paths import Paths
from kafka_s3.values.partitioners.times import TIME_MAX_MS, Times
from kafka_s3.values.rows import Rows


class UserDefinedPaths:
    """A `Partitioner` around a class with `encode`."""

    def __init__(self, path: str, properties: Mapping[str, str]) -> None:
        self._path = path
        self._own = call(f"{path}(properties)", find_class(path, *PARTITIONER), properties)

    def __call__(self, batch: RecordBatch, rows: Rows) -> Paths:  # noqa: ARG002
        each = _answer(self._path, self._own.encode, batch, str)
        bad = {index: f"{self._path} gives it no path" for index, path in enumerate(each) if path is None}
        return Paths(["" if path is None else path for path in each] if bad else each, bad)


class UserDefinedTimes:
    """An `Extractor` around a class with `extract`."""

    def __init__(self, path: str, properties: Mapping[str, str]) -> None:
        self._path = path
        self._own = call(f"{path}(properties)", find_class(path, *EXTRACTOR), properties)

    def __call__(self, batch: RecordBatch, rows: Rows) -> Times:  # noqa: ARG002
        each = _answer(self._path, self._own.extract, batch, int)
        bad: dict[int, str] = {}
        for index, at in enumerate(each):
            if at is None:
                bad[index] = f"{self._path} gives it no time"
            elif not -TIME_MAX_MS <= at <= TIME_MAX_MS:
                bad[index] = f"{self._path} gives it the time {quoted(at)}, which is out of range"
        return Times([0 if index in bad else at for index, at in enumerate(each)] if bad else each, bad)


def _answer(path: str, method: Callable[[RecordBatch], Sequence[Any]], batch: RecordBatch, kind: type) -> list[Any]:
    """What the user's method says of a batch. Raises `ConfigurationError` if that is nothing we can use."""
    where = f"{path}.{method.__name__} on {batch.tp} from offset {batch.offset_at(0)}"
    each = call_on_records(where, lambda: list(method(batch)))
    wrong = set(map(type, each)) - {kind, type(None)}
    if len(each) != len(batch) or wrong:
        found = ", ".join(sorted(each.__name__ for each in wrong)) or f"{len(each)} answers"
        raise ConfigurationError(f"{where} must give {len(batch)} {kind.__name__} or None, and gave {found}.")
    return list(each)
