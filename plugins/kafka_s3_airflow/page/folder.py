"""The folder of connector files, read again when a file of it changed."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from airflow.sdk.exceptions import AirflowException

from kafka_s3.settings import Outline
from kafka_s3_airflow import dags
from kafka_s3_airflow.page.model import Connector
from kafka_s3_airflow.schedules import spoken


def folder_of(environment: Mapping[str, str], dags_folder: str, bundles: Iterable[Path] = ()) -> Path:
    """Where the connectors are: as `dags/exporters.py` has it, but for an api-server that may have no such file.

    `bundles`: the folders of Airflow's bundles of DAGs. Beside each, or in it, there may be connectors.
    """
    named = environment.get("KAFKA_S3_CONNECTORS")
    if named:
        return Path(named)
    beside = Path(dags_folder).parent / "connectors"
    others = (folder / "connectors" for bundle in bundles for folder in (bundle.parent, bundle))
    return next((each for each in (beside, *others) if each.is_dir()), beside)


def bundle_folders() -> list[Path]:
    """The folders of Airflow's bundles of DAGs on this machine. That of a git bundle is here only where the volume of
    its checkout is: an api-server makes none."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager

    try:
        return [bundle.path for bundle in DagBundlesManager().get_all_dag_bundles()]  # type: ignore[no-untyped-call]
    except (AirflowException, ImportError):  # a bundle whose provider is not installed here
        return []


@dataclass
class Folder:
    """The connectors of a folder. Looking at it costs a directory and its files' times."""

    path: Path
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _seen: tuple[object, ...] | None = None
    _connectors: tuple[Connector, ...] = ()

    def connectors(self) -> list[Connector]:
        """By DAG id. A folder that cannot be read is one connector that says so."""
        with self._lock:
            seen = self._look()
            if seen != self._seen:
                self._connectors = tuple(sorted(map(_connector, dags.connectors_in(self.path)), key=_by_id))
                self._seen = seen
            return list(self._connectors)

    def named(self, dag_id: str) -> Connector | None:
        """The connector of a DAG, as the folder was at the last look: whoever asks for an answer has just looked."""
        with self._lock:
            is_new = self._seen is None
        found = self.connectors() if is_new else self._connectors
        return next((each for each in found if each.dag_id == dag_id), None)

    def _look(self) -> tuple[object, ...]:
        try:
            with os.scandir(self.path) as entries:
                files = [(each.name, each.stat()) for each in entries]
        except OSError as error:
            return ("unreadable", error.errno)
        return tuple(sorted((name, status.st_mtime_ns, status.st_size) for name, status in files))


def _by_id(connector: Connector) -> str:
    return connector.dag_id


def _connector(found: dags.Connector) -> Connector:
    known = found.outline
    return Connector(
        dag_id=found.dag_id,
        name=known.name if known is not None else found.dag_id,
        path=found.path,
        topics=known.topics if known is not None else (),
        topics_regex=known.topics_regex if known is not None else None,
        schedule=_times(known) if known is not None and not found.problems else "",
        problems=found.problems,
        group_dag_id=found.runs_in if found.group is not None else None,
        group=found.group,
        owner=known.owner if known is not None else None,
        tags=known.tags if known is not None else (),
        bucket=(known.bucket or None) if known is not None else None,
    )


def _times(known: Outline) -> str:
    """When its DAG runs."""
    by_time = [spoken(known.schedule)] if known.schedule.timed else []
    by_assets = [f"after updates of {', '.join(known.schedule_assets)}"] if known.schedule_assets else []
    return " and ".join(by_time + by_assets) or "by hand only"
