"""What an operation would do, over a bucket and a broker in memory: said, bounded, and nothing written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafka_s3.errors import ConfigurationError, TemporaryError
from tests.export.place import TOPIC
from tests.page.observed import ObservedConnector
from tests.page.observed import seen as seen

HOUR_MS = 3_600_000


def previewed(seen: ObservedConnector, requests: int = 2_000, **conf: Any) -> dict[str, Any]:
    """What the page says of an operation; what is in the bucket stays as it is."""
    from kafka_s3_airflow.page.bounded_store import BoundedStore
    from kafka_s3_airflow.page.previews import PreviewWanted, previewed

    before = seen.world.store.contents()
    store = BoundedStore(seen.world.store, requests_left=requests)
    try:
        wanted = PreviewWanted("orders", json.dumps(conf))
        return previewed(seen.world.settings, store, seen.world.broker, wanted, seen.now_ms)
    finally:
        assert seen.world.store.contents() == before


def test_a_rewind_and_the_entry_that_it_is_of(seen: ObservedConnector) -> None:
    """Where each partition would go, what that withdraws, which plan it ends; or all that is wrong with it."""
    from kafka_s3.export.run import prepare
    from tests.support import request

    seen.world.produce(0, 4)
    seen.world.run()
    found = previewed(seen, operation="rewind", partitions=[f"{TOPIC}-0=2"])
    assert (found["seq"], found["is_empty"]) == (1, False)
    assert found["told"][0].startswith(f"{TOPIC}-0 is exported again from offset 0 on (now 4): 4 records in")
    assert "Asked for was 2; a committed range begins there." in found["told"][0]
    seen.world.produce(0, 1)
    prepare(seen.world.exporter, request("by-hand"))
    told = previewed(seen, operation="rewind", partitions=[f"{TOPIC}-0=0"])["told"]
    assert told[1].startswith("Plan 2 of run by-hand is open: it is abandoned.")
    with pytest.raises(ConfigurationError, match=r"(?s)not below its position 4.*does not know this partition"):
        previewed(seen, operation="rewind", partitions=[f"{TOPIC}-0=9", f"{TOPIC}-7=0"])
    with pytest.raises(ConfigurationError, match="nothing is wrong with it"):
        previewed(seen, operation="accept", partitions=[f"{TOPIC}-0"])
    with pytest.raises(ConfigurationError, match="is not one of"):
        previewed(seen, operation="drop")


def test_letters_and_windows(seen: ObservedConnector) -> None:
    """No letter, no run; a window that is not over waits, and one that is says what would be read."""
    seen.world.produce(0, 4)
    seen.world.run()
    assert previewed(seen, operation="redrive") == {
        "told": ["No dead letter is like that."],
        "omitted": 0,
        "seq": None,
        "is_empty": True,
    }
    with pytest.raises(ConfigurationError, match="no window of that time"):
        previewed(seen, operation="reexport", at_ms=10**15)
    with pytest.raises(TemporaryError, match="is not over yet"):
        previewed(seen, operation="reexport", at_ms=seen.now_ms)
    found = previewed(seen, operation="reexport", at_ms=seen.now_ms - 5 * HOUR_MS)
    read = [f"{TOPIC}-0 [0, 4): from Kafka"]
    assert found["told"][:2] == ["4 offsets in 1 ranges are read from Kafka.", *read]
    start, end = found["window_ms"]
    assert (start % HOUR_MS, end - start) == (0, HOUR_MS)


def test_a_preview_reads_so_much_and_no_more(seen: ObservedConnector) -> None:
    """Beyond its bound it says so, and where there is none; a store for a look writes nothing at all."""
    from kafka_s3_airflow.page.bounded_store import BoundedStore, TooMuchToRead

    for _ in range(4):
        seen.world.produce(0, 4)
        seen.world.run()
    asked: dict[str, Any] = {"operation": "rewind", "partitions": [f"{TOPIC}-0=0"]}
    assert previewed(seen, **asked)["seq"] == 4
    with pytest.raises(TooMuchToRead, match=r"2,000 requests or 64 MiB.*dry_run"):
        previewed(seen, 5, **asked)
    [key, *_] = seen.world.store.contents()
    small = BoundedStore(seen.world.store, bytes_left=1)
    with pytest.raises(TooMuchToRead):
        small.get(key)
    with pytest.raises(TooMuchToRead):
        list(BoundedStore(seen.world.store, bytes_left=1).read(key))
    for name in ("put_if_absent", "delete", "start_multipart", "put_tags"):
        with pytest.raises(AttributeError):
            getattr(small, name)


@pytest.mark.parametrize(
    ("command", "kind", "values"),
    [
        ("kafka-s3 run 'a b.properties'", "trigger", {}),
        ("airflow dags trigger orders", "trigger", {}),
        ("airflow dags trigger orders__verify", "verify", {}),
        ("airflow dags unpause orders", "unpause", {}),
        ("kafka-s3 redrive a.properties", "redrive", {}),
        ("kafka-s3 rewind a.properties --accept orders-0", "accept", {"partitions": ["orders-0"]}),
        ("kafka-s3 rewind a.properties --to orders-0=OFFSET", "rewind", {"partitions": ["orders-0="]}),
        ("kafka-s3 rewind a --to orders-0=3 --to 'x-1=4'", "rewind", {"partitions": ["orders-0=3", "x-1=4"]}),
        ("kafka-s3 status a.properties", None, {}),
    ],
)
def test_what_a_button_does_instead_of_a_command(command: str, kind: str | None, values: dict[str, Any]) -> None:
    from kafka_s3_airflow.page.remedies import action_of

    assert action_of(command) == (None if kind is None else {"kind": kind, "values": values})
