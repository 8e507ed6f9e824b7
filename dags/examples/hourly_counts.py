"""An example of a DAG that runs on what a connector has exported: it counts the records of each committed object.

It runs whenever `orders` has an event: after each commit, and after each hour with nothing in it.
"""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airflow.sdk import dag, task

from kafka_s3_airflow.assets import asset_of

CONNECTOR = "orders"
ORDERS = asset_of(CONNECTOR)

beside = Path(__file__).resolve().parents[2] / "connectors"
folder = Path(os.environ.get("KAFKA_S3_CONNECTORS", beside))


@dag(
    schedule=[ORDERS],
    start_date=datetime(2020, 1, 1, tzinfo=UTC),
    catchup=False,
    tags=["kafka-s3", "example"],
    doc_md=__doc__,
)
def hourly_counts() -> None:
    @task
    def count(triggering_asset_events: Any = None) -> dict[str, int]:
        """Records by Kafka partition, as they are in the objects and as the log counts them."""
        from kafka_s3_airflow.reading import Reader

        reader = Reader(folder / f"{CONNECTOR}.properties")
        # Of several commits since the last run there is an event each; by hand there is none: then the newest commit.
        events = (triggering_asset_events or {}).get(ORDERS, [])
        counts: dict[str, int] = {}
        for committed in reader.objects(events):
            rows = table_of(committed.object.key, reader.read(committed)).num_rows
            if rows != committed.object.records:
                raise ValueError(f"{committed.object.key}: {rows} rows, the log says {committed.object.records}")
            counts[str(committed.tp)] = counts.get(str(committed.tp), 0) + rows
        return counts

    count()


def table_of(key: str, body: bytes) -> Any:
    """The records of an object of JSON lines, or of Parquet: a column for each field, or one of the values."""
    import pyarrow as pa
    from pyarrow import json as json_lines
    from pyarrow import parquet

    source = pa.BufferReader(body)
    if key.endswith(".parquet"):
        return parquet.read_table(source)
    lines = (pa.CompressedInputStream(source, "gzip") if key.endswith(".gz") else source).read()
    if lines.startswith(b"{"):
        return json_lines.read_json(pa.BufferReader(lines))
    return pa.table({"value": lines.splitlines()})


hourly_counts()
