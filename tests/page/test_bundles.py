"""Where the page finds connectors whose DAGs come in bundles: by Airflow's own manager of bundles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_s3_airflow.page.folder import bundle_folders, folder_of

LOCAL = "airflow.dag_processing.bundles.local.LocalDagBundle"


def bundles(monkeypatch: pytest.MonkeyPatch, *given: tuple[str, dict[str, str]]) -> None:
    listed = [
        {"name": f"b{number}", "classpath": kind, "kwargs": kwargs} for number, (kind, kwargs) in enumerate(given)
    ]
    monkeypatch.setenv("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST", json.dumps(listed))


def test_connectors_beside_a_local_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or in it; beside the DAGs' folder comes first, and what is named before that."""
    for name in ("team/dags", "team/connectors", "whole/connectors", "other/dags"):
        (tmp_path / name).mkdir(parents=True)
    nowhere = str(tmp_path / "nowhere" / "dags")
    bundles(
        monkeypatch, (LOCAL, {"path": str(tmp_path / "other/dags")}), (LOCAL, {"path": str(tmp_path / "team/dags")})
    )
    assert folder_of({}, nowhere, bundle_folders()) == tmp_path / "team/connectors"
    bundles(monkeypatch, (LOCAL, {"path": str(tmp_path / "whole")}))
    assert folder_of({}, nowhere, bundle_folders()) == tmp_path / "whole/connectors"
    assert folder_of({}, str(tmp_path / "team/dags"), bundle_folders()) == tmp_path / "team/connectors"
    assert folder_of({"KAFKA_S3_CONNECTORS": "/mine"}, nowhere, bundle_folders()) == Path("/mine")


def test_a_bundle_that_is_not_known_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its provider is not installed: the page says that there is no folder, as without bundles."""
    bundles(monkeypatch, ("airflow.providers.nowhere.bundles.Bundle", {}))
    assert bundle_folders() == []
    assert folder_of({}, str(tmp_path / "dags"), bundle_folders()) == tmp_path / "connectors"
