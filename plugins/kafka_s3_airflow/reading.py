"""For DAGs that run on a connector's assets: the committed objects of an event, each checked against the log.

    reader = Reader("connectors/orders.properties")
    for committed in reader.objects(triggering_asset_events[asset_of("orders")]):
        body = reader.read(committed)

Connections and secrets are those of the connector; none of them is in what a reader gives.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kafka_s3_airflow.tasks import for_airflow

if TYPE_CHECKING:
    from kafka_s3.log.store import Log
    from kafka_s3.publish.committed import CommittedObject
    from kafka_s3.settings import Settings


class AssetEvent(Protocol):
    """What is needed of an event of Airflow's."""

    @property
    def extra(self) -> Any: ...


class Reader:
    """Reads what a connector has committed. Use it in a task: the connector is looked up when it is made.

    An error that no retry can cure (an event that lies, an object that was overwritten) fails the task at once.
    """

    def __init__(self, connector: Path | str) -> None:
        with for_airflow():
            from kafka_s3.wiring import make_log
            from kafka_s3_airflow.connections import load_connector

            self._settings: Settings = load_connector(Path(connector)).settings
            self._log: Log = make_log(self._settings)

    def objects(self, events: Iterable[AssetEvent]) -> list[CommittedObject]:
        """The objects that are new with some events, each once; without any event, those of the newest commit."""
        from kafka_s3.publish.committed import announced, newest

        with for_airflow():
            told = [event.extra if isinstance(event.extra, dict) else {} for event in events]
            if not told:
                return newest(self._log)
            bucket = self._settings.s3.bucket
            found = [each for extra in told for each in announced(self._log, bucket, extra)]
            return list({each.object.key: each for each in found}.values())

    def read(self, committed: CommittedObject) -> bytes:
        """An object's bytes, whose size and SHA-256 are those of the log; all of them in memory."""
        from kafka_s3.publish.committed import read

        with for_airflow():
            return read(self._log.store, committed.object)
