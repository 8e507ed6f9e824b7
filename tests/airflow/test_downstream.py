"""The example of a downstream DAG, by `dag.test()`: it reads exactly what its events announce."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.airflow.test_runs import CANARY, EIGHT, MINUTE, NINE, TEN, Bench, bench

__all__ = ["bench"]

EXAMPLE = Path(__file__).resolve().parents[2] / "dags" / "examples" / "hourly_counts.py"

# All of Airflow runs in this process, with warnings of its own.
pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def orders(bench: Bench) -> Bench:
    """The connector that the example runs on."""
    [file] = (bench.folder / "connectors").iterdir()
    (file.parent / "orders.properties").write_text(file.read_text().replace(f"name={bench.name}\n", "name=orders\n"))
    file.unlink()
    bench.name = "orders"
    return bench


def stored_events(run_id: str) -> list[int]:
    """The ids of the events of the connector's asset that a run sent, in order."""
    from airflow.models.asset import AssetEvent
    from airflow.utils.session import create_session
    from sqlalchemy import select

    of_run = (AssetEvent.source_run_id == run_id, AssetEvent.asset.has(uri="x-kafka-s3://orders"))
    with create_session() as session:
        return sorted(each.id for each in session.scalars(select(AssetEvent).where(*of_run)).all())


def run(monkeypatch: pytest.MonkeyPatch, events: Sequence[int] = (), extra: dict[str, Any] | None = None) -> Any:
    """A run of the example that some events have triggered: how it ended, and what it has counted.

    The scheduler's part is done by hand: it gives a run the events that it is for. `extra`: what they say instead.
    """
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db
    from airflow.models import dagrun
    from airflow.models.asset import AssetEvent
    from sqlalchemy import select

    create = dagrun.get_or_create_dagrun

    def with_events(**arguments: Any) -> Any:
        made, session = create(**arguments), arguments["session"]
        found = session.scalars(select(AssetEvent).where(AssetEvent.id.in_(events))).all()
        for each in found if extra is not None else []:
            each.extra = extra
        made.consumed_asset_events.extend(found)
        session.commit()
        return made

    DagBundlesManager().sync_bundles_to_db()
    bag = BundleDagBag(str(EXAMPLE.parent), bundle_path=EXAMPLE.parent, bundle_name="dags-folder")
    assert bag.import_errors == {}
    sync_bag_to_db(bag, "dags-folder", None)
    with monkeypatch.context() as patched:
        patched.setattr(dagrun, "get_or_create_dagrun", with_events)
        ended = bag.dags["hourly_counts"].test()
    [task] = ended.get_task_instances()
    return str(ended.state), task.xcom_pull(task_ids="count", run_id=ended.run_id), task.try_number


def test_hourly_counts(orders: Bench, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Before anything is exported it ends quietly. Then it counts what its events have announced: nothing for an empty
    hour, each object once for events of several commits, and, started by hand, the newest commit. An event that names
    another file of the bucket fails it at once, unread. No secret is in its log or its result."""
    assert run(monkeypatch)[:2] == ("success", {})
    tp = f"{orders.topic}-0"
    orders.produce(0, EIGHT + MINUTE, [json.dumps({"n": n}).encode() for n in range(120)])
    full, empty = orders.run(NINE), orders.run(TEN)
    assert (full.state, empty.state) == ("success", "success")
    assert run(monkeypatch)[:2] == ("success", {tp: 120})
    announced, nothing = stored_events(full.run_id), stored_events(empty.run_id)
    assert run(monkeypatch, [*announced, *nothing])[:2] == ("success", {tp: 120})
    assert run(monkeypatch, nothing)[:2] == ("success", {})
    said = capfd.readouterr().out

    [(_, event)] = orders.events(full.run_id)
    state, counts, tries = run(monkeypatch, announced, {**event, "key": "_kafka_s3/owners/topics/orders.json"})
    assert (state, counts, tries) == ("failed", None, 1)
    said += capfd.readouterr().out
    assert "names no key under _kafka_s3/orders/log/" in said
    assert CANARY not in said
    assert orders.store.secret_key not in said


def test_tables_of_the_example() -> None:
    """The example reads Parquet as well as JSON lines, compressed or not."""
    import gzip
    import importlib.util

    import pyarrow as pa
    from pyarrow import parquet

    spec = importlib.util.spec_from_file_location("hourly_counts", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table({"n": [1, 2, 3]}), sink)
    rows = [{"n": 1}, {"n": 2}, {"n": 3}]
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    bodies = {"a.snappy.parquet": sink.getvalue().to_pybytes(), "a.json": lines, "a.json.gz": gzip.compress(lines)}
    for key, body in bodies.items():
        assert module.table_of(key, body).to_pylist() == rows
    assert module.table_of("a.json", b'1\n"two"\n').num_rows == 2
