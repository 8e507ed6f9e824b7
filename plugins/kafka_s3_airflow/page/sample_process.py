"""The first rows of an object, read in a process of its own with limits on all that it may take.

What lies in a bucket may be made to break a reader. So nothing of it is decoded in the api-server: this program gets
the bytes on its standard input, behind a line of JSON that says what they should be, and prints JSON. It knows neither
Airflow nor a secret, opens no connection and writes no file.

Memory: DATA_MAX; time: CPU_S.
"""

from __future__ import annotations

import io
import json
import resource
import sys
from collections.abc import Iterator
from typing import Any, Final

DATA_MAX: Final = 1024 * 1024 * 1024
CPU_S: Final = 10
ROW_CHARS_MAX: Final = 2_000
SCHEMA_CHARS_MAX: Final = 20_000
LINE_BYTES_MAX: Final = 256 * 1024
DEPTH_MAX: Final = 40
HIDDEN: Final = "(hidden)"


def main() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (DATA_MAX, DATA_MAX))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    wanted = json.loads(sys.stdin.buffer.readline())
    sys.path[:] = wanted["path"]
    data = sys.stdin.buffer.read()
    try:
        found = sampled(wanted, data)
    except Exception as error:  # whatever a library says of bytes that anybody wrote
        found = {
            "rows": [],
            "schema": None,
            "error": f"The object cannot be read as {wanted['format']}: {type(error).__name__}.",
        }
    json.dump(found, sys.stdout)


def sampled(wanted: dict[str, Any], data: bytes) -> dict[str, Any]:
    rows: list[str] = []
    schema, values = _opened(wanted, data)
    hidden = {each.lower() for each in wanted["hidden"]}
    for value in values:
        if len(rows) == wanted["rows"]:
            break
        rows.append(shown(value, hidden)[:ROW_CHARS_MAX])
    return {"rows": rows, "schema": schema[:SCHEMA_CHARS_MAX] if schema is not None else None, "error": None}


def shown(value: Any, hidden: set[str]) -> str:
    """A row as JSON; fields of these names are hidden, however deep they lie.

    >>> shown({"id": 7, "to": [{"Mail": "a@b.c"}], "raw": b"x"}, {"mail"})
    '{"id": 7, "to": [{"Mail": "(hidden)"}], "raw": "base16:78"}'
    """
    return json.dumps(_plain(value, hidden, DEPTH_MAX), ensure_ascii=False, default=str)


def _plain(value: Any, hidden: set[str], depth: int) -> Any:
    if depth == 0:
        return "…"
    if isinstance(value, dict):
        return {
            str(name): HIDDEN if str(name).lower() in hidden else _plain(each, hidden, depth - 1)
            for name, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(each, hidden, depth - 1) for each in value]
    if isinstance(value, bytes | bytearray):
        return f"base16:{bytes(value[:ROW_CHARS_MAX]).hex()}"
    if isinstance(value, str):
        return value[:ROW_CHARS_MAX]
    return value


def _opened(wanted: dict[str, Any], data: bytes) -> tuple[str | None, Iterator[Any]]:
    """The schema, where the format has one, and the rows."""
    match wanted["format"]:
        case "avro":
            import fastavro

            reader = fastavro.reader(io.BytesIO(data))
            return json.dumps(reader.writer_schema, ensure_ascii=False), _until_cut(reader, wanted)
        case "parquet":
            import pyarrow.parquet as pq

            file = pq.ParquetFile(io.BytesIO(data), memory_map=False)
            batches = file.iter_batches(batch_size=wanted["rows"], use_threads=False)
            return str(file.schema_arrow.remove_metadata()), (row for batch in batches for row in batch.to_pylist())
        case "json":
            return None, map(json.loads, _lines(data, wanted))
        case _:
            return None, (line.decode("utf-8", "backslashreplace") for line in _lines(data, wanted))


def _until_cut(rows: Iterator[Any], wanted: dict[str, Any]) -> Iterator[Any]:
    """The rows of a file of which only the beginning was read, as far as that goes."""
    try:
        yield from rows
    except Exception:  # where it was cut, any error is its end
        if not wanted["is_cut"]:
            raise


def _lines(data: bytes, wanted: dict[str, Any]) -> Iterator[bytes]:
    """Whole lines; the last one of bytes that were cut is left out."""
    rest = b""
    for piece in _pieces(data, wanted):
        *lines, rest = (rest + piece).split(b"\n")
        yield from (each for each in lines if len(each) <= LINE_BYTES_MAX)
        if len(rest) > LINE_BYTES_MAX:
            raise ValueError("a line that is too long")
    if rest and not wanted["is_cut"]:
        yield rest


def _pieces(data: bytes, wanted: dict[str, Any]) -> Iterator[bytes]:
    from kafka_s3.settings.formats import Bzip2, Compression, Gzip, Lz4, NoCompression, Snappy, Zstd
    from kafka_s3.values.formats.expansion import expansion_of

    kinds: dict[str, Compression] = {
        "none": NoCompression(),
        "gzip": Gzip(),
        "zstd": Zstd(),
        "snappy": Snappy(),
        "lz4": Lz4(),
        "bzip2": Bzip2(),
    }
    expansion = expansion_of(kinds[wanted["compression"]])
    for at in range(0, len(data), 64 * 1024):
        for piece in expansion.feed(data[at : at + 64 * 1024]):
            yield from (piece[begin : begin + LINE_BYTES_MAX] for begin in range(0, len(piece), LINE_BYTES_MAX))


if __name__ == "__main__":
    main()
