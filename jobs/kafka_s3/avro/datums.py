"""Batches of Avro's binary form: checked, read and written.

A valid datum is one that `datum_reader` reads to its end; the fast ways here and in `batch_reader` agree with it.
Logical types mean nothing here, as `avro.model` has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from kafka_s3.avro import batch_reader
from kafka_s3.avro.arrow import arrow_type
from kafka_s3.avro.batch_decoder import batch_decoder
from kafka_s3.avro.datum_checker import Cuts, check, checker
from kafka_s3.avro.datum_reader import FEW, LONG, NotADatum, TooManyValues, read, reader
from kafka_s3.avro.datum_writer import writer
from kafka_s3.avro.graph import graph
from kafka_s3.avro.long_columns import LongColumns
from kafka_s3.avro.long_values import LongValues
from kafka_s3.avro.model import Schema

_NO_LIMITS: Final[Mapping[int, int]] = {}


class Codec:
    """What a schema's binary form takes; made by `codec`, which keeps it."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.columns = batch_reader.columns_of(schema)
        node = graph(schema)
        self._check = checker(node)
        self._read = reader(node)
        self._write = writer(node)
        self._decode = batch_decoder(node)
        self._long = LongValues(node)
        self._node = node
        self._long_columns: LongColumns | None = None

    def check(self, datums: Sequence[bytes]) -> dict[int, str]:
        """Which datums are not exactly one value of the schema, by index, and why."""
        if self.columns is None or len(datums) < FEW:
            return self.reasons(datums, range(len(datums)))
        return self.reasons(datums, self.columns.scan(datums).doubtful())

    def reasons(
        self,
        datums: Sequence[bytes] | Mapping[int, bytes],
        indexes: Sequence[int],
        cuts: dict[int, Cuts] | None = None,
        values_max: Mapping[int, int] = _NO_LIMITS,
    ) -> dict[int, str]:
        """Like `check`, of some datums, each read by itself. `cuts`: those of long ones are put there, for
        `decode_long`. `values_max`: how many values some may hold, where these are fewer than by their bytes."""
        found: dict[int, str] = {}
        for index in indexes:
            datum = datums[index]
            of = None if cuts is None or len(datum) < LONG else Cuts()
            try:
                check(self._check, datum, of, most := values_max.get(index))
            except TooManyValues as error:
                found[index] = str(error) if most is None else f"more values than the {most} that it may hold"
            except NotADatum as error:
                found[index] = str(error)
            else:
                if cuts is not None and of is not None:
                    cuts[index] = of
        return found

    def decode(self, datums: Sequence[bytes]) -> list[Any]:
        """The values of checked datums."""
        if self._decode is None:
            return [read(self._read, datum) for datum in datums]
        return self._decode(len(datums), b"".join(datums))

    def decode_long(self, datum: bytes, cuts: Cuts | None = None) -> Any:
        """The value of a checked datum, in which long arrays and maps are made some items at a time."""
        return self._long.value(datum, self._cuts(datum, cuts))

    def long_arrow(self, datum: bytes, cuts: Cuts | None, schema: Schema) -> Any:
        """A checked datum as an array of one row of a schema, this one or that without logical types; `None` if that
        takes its value."""
        if self._long_columns is None:
            self._long_columns = LongColumns(self._node)
        return self._long_columns.made(datum, self._cuts(datum, cuts), arrow_type(schema))

    def _cuts(self, datum: bytes, cuts: Cuts | None) -> Cuts:
        if cuts is None:
            cuts = Cuts()
            check(self._check, datum, cuts)
        return cuts

    def encode(self, values: Sequence[Any]) -> list[bytes]:
        """The datums of values of the schema."""
        made: list[bytes] = []
        for value in values:
            out = bytearray()
            self._write(value, out)
            made.append(bytes(out))
        return made


def codec(schema: Schema) -> Codec:
    """The codec of a schema, whatever its id and version."""
    return _codec(schema.text)


@lru_cache(maxsize=256)
def _codec(text: str) -> Codec:
    return Codec(Schema(text))
