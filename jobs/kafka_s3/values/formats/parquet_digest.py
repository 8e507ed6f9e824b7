"""What a Parquet file holds: its columns' types, the Avro schema beside them, and every value.

Row groups, pages, dictionaries and codecs say nothing.
"""

from __future__ import annotations

import hashlib
import tempfile
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kafka_s3.values.formats.content_digest import ContentDigest, Unreadable
from kafka_s3.values.formats.expansion import PIECE

_ROWS: Final = 1000
_AVRO_SCHEMA: Final = b"parquet.avro.schema"


class ParquetDigest(ContentDigest):
    """One file, which is read from its end, so it is kept until it is whole."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(PIECE)  # noqa: SIM115  # closed with what it is part of

    def feed(self, data: bytes) -> None:
        self._file.write(data)

    def digest(self) -> str:
        self._file.seek(0)
        columns = _Columns()
        try:
            with pq.ParquetFile(self._file, pre_buffer=False) as file:
                schema = file.schema_arrow
                said = (schema.metadata or {}).get(_AVRO_SCHEMA, b"")
                types = schema.to_string(show_schema_metadata=False, show_field_metadata=False)
                for batch in file.iter_batches(batch_size=_ROWS, use_threads=False):
                    columns.take(batch)
        except (pa.ArrowException, OSError) as error:
            raise Unreadable(f"no Parquet file: {''.join(str(error).splitlines()[:1])}") from None
        except UnicodeDecodeError:
            raise Unreadable("no Parquet file: a name in it is not UTF-8") from None
        finally:
            self._file.close()
        return hashlib.sha256(b"%d %b\n%b\n" % (len(said), said, types.encode()) + columns.digest()).hexdigest()


class _Columns:
    """A digest for each kind of a column's parts, so that it says nothing how rows came together."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, ...], Any] = {}

    def digest(self) -> bytes:
        together = hashlib.sha256()
        for path, digest in sorted(self._parts.items()):
            together.update(repr(path).encode() + digest.digest())
        return together.digest()

    def take(self, batch: pa.RecordBatch) -> None:
        self._add(("rows",), b"\0" * len(batch))
        for number, column in enumerate(batch.columns):
            self._take((str(number),), column)

    def _add(self, path: tuple[str, ...], data: Any) -> None:
        if path not in self._parts:
            self._parts[path] = hashlib.sha256()
        self._parts[path].update(data)

    def _take(self, path: tuple[str, ...], array: Any) -> None:
        self._add((*path, "there"), np.asarray(array.is_valid().cast(pa.uint8())).tobytes())
        if pa.types.is_null(array.type):
            return
        array = array.drop_null()
        if not len(array):
            return
        kind, first, last = array.type, array.offset, array.offset + len(array)
        if pa.types.is_struct(kind):
            for number, field in enumerate(array.flatten()):
                self._take((*path, str(number)), field)
        elif pa.types.is_boolean(kind):
            self._add(path, np.asarray(array.cast(pa.uint8())).tobytes())
        elif pa.types.is_list(kind) or pa.types.is_map(kind):
            ends = np.frombuffer(array.buffers()[1], np.int32)[first : last + 1]
            self._add((*path, "sizes"), np.diff(ends).tobytes())
            parts = (array.keys, array.items) if pa.types.is_map(kind) else (array.values,)
            for number, part in enumerate(parts):
                self._take((*path, str(number)), part[ends[0] : ends[-1]])
        elif pa.types.is_string(kind) or pa.types.is_binary(kind):
            ends = np.frombuffer(array.buffers()[1], np.int32)[first : last + 1]
            self._add((*path, "sizes"), np.diff(ends).tobytes())
            if ends[0] < ends[-1]:
                self._add(path, memoryview(array.buffers()[2])[ends[0] : ends[-1]])
        elif not _has_width(kind):
            raise Unreadable(f"a column of the type {kind}, which this engine does not write")
        else:
            width = kind.bit_width // 8
            self._add(path, memoryview(array.buffers()[1])[first * width : last * width])


def _has_width(kind: Any) -> bool:
    """Whether its values are bytes of one length."""
    types = pa.types
    return bool(types.is_primitive(kind) or types.is_decimal(kind) or types.is_fixed_size_binary(kind))
