"""The messages of a batch that have one type, in whichever form they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from kafka_s3.avro.datum_reader import FEW, LONG
from kafka_s3.avro.model import Schema
from kafka_s3.protobuf.reader import Reader
from kafka_s3.protobuf.shapes import Shape
from kafka_s3.protobuf.wire import NotAMessage
from kafka_s3.values.converters.avro_group import Group, shown, taken
from kafka_s3.values.converters.avro_weight import Weights as AvroWeights
from kafka_s3.values.converters.protobuf_weight import weights_of
from kafka_s3.values.rows import Excluded, Stage, Unwritable


@lru_cache(maxsize=256)
def reader_of(shape: Shape) -> Reader:
    return Reader(shape)


class MessageGroup(Group):
    """All the messages of a batch that have one type; refused ones among them.

    `head`: bytes in front of each; `called`: what their schema is called, for reasons.
    """

    has_datums = False

    def __init__(self, shape: Shape, schema: Schema, values: Sequence[bytes], head: int, called: str) -> None:
        self._shape = shape
        self._reader = reader_of(shape)
        self._called = called
        self._read: dict[int, Any] = {}  # what was read by itself
        self._long: dict[int, Any] = {}  # of that, what is long: arrays in it make their items when they are read
        super().__init__(schema, values, head)

    def _make_scan(self) -> None:
        if len(self.values) < FEW:
            return
        from kafka_s3.protobuf.columns import columns_of

        columns = columns_of(self._shape, self.schema)
        if columns is not None:
            self._scan = columns.scan(self.values, self.head)

    def check(
        self,
        stage: Stage,
        columns: bool,
        weights: AvroWeights | None = None,  # noqa: ARG002  # it has weights of its own
    ) -> Mapping[int, Excluded]:
        found = weights_of(self._shape, columns)
        doubtful = range(len(self.values)) if self._scan is None else self._scan.doubtful()
        suspect = dict.fromkeys(doubtful)
        if max(map(len, self.values), default=0) - self.head > found.length_max:
            suspect.update(
                (at, None) for at, each in enumerate(self.values) if len(each) - self.head > found.length_max
            )
        slow = []
        in_doubt = set(doubtful)
        wanted = not columns or self._has_arrow()
        for place in suspect:
            value = self.values[place]
            try:
                weight = self._reader.look(value, self.head, found.each)
                problem = found.problem(len(value) - self.head, weight)
                if problem is not None:
                    raise NotAMessage(problem)
                if place in in_doubt:
                    if wanted and len(value) >= LONG:
                        self._long[place] = self._reader.read_long(value, self.head)
                    elif wanted:
                        self._read[place] = self._reader.read(value, self.head)
                    slow.append(place)
            except NotAMessage as error:
                text = f"not a value of the schema of {self._called}: {error} ({shown(value)})"
                self._refused[place] = Unwritable(text, stage)
        self._slow = slow
        if columns:
            self._refused.update(self._misfits())
            self._slow = [place for place in self._slow if place not in self._refused]
        return self._refused

    def _has_arrow(self) -> bool:
        """Whether there are columns at all; else all messages are refused, and need no values."""
        from kafka_s3.avro.arrow import ColumnsError, arrow_type

        try:
            arrow_type(self.schema)
        except ColumnsError:
            return False
        return True

    def datums(self, places: Sequence[int]) -> Sequence[bytes]:
        return self._codec.encode(self.decode_some(places))

    def decode_some(self, places: Sequence[int]) -> Sequence[Any]:
        if not self._long:
            return self.decode(places)
        long = self._long
        short = [place for place in places if place not in long]
        made = dict(zip(short, self.decode(short), strict=True))
        return [long[place] if place in long else made[place] for place in places]

    def _decode_long(self, places: Sequence[int]) -> Sequence[Any]:
        return self.decode_some(places)

    def projected(self, target: Schema) -> None:  # noqa: ARG002  # there are no datums to put together anew
        return None

    def fields(self, kinds: Mapping[int, Any]) -> None:  # noqa: ARG002  # `arrow` has them
        return None

    def decode(self, places: Sequence[int]) -> Sequence[Any]:
        if self._decoded is not None:
            return taken(self._decoded, places)
        values, head, known, read = self.values, self.head, self._read, self._reader.read
        decoded = [known[place] if place in known else read(values[place], head) for place in places]
        if isinstance(places, range) and len(places) == len(values):
            self._decoded = decoded
        return decoded
