"""Folders for Spark's files."""

from __future__ import annotations

import os
from pathlib import Path

from kafka_s3.scratch import scratch


def test_folders_of_killed_processes(tmp_path: Path) -> None:
    """A process removes its folder, and what killed ones have left; a folder in use stays."""
    killed = tmp_path / "kafka-s3-spark-killed"
    killed.mkdir()
    (killed / "lock").touch()
    other = tmp_path / "other"
    other.mkdir()
    environment = {"SPARK_LOCAL_DIRS": f"{tmp_path},/elsewhere"}
    with scratch(environment) as mine:
        assert mine.parent == tmp_path
        assert not killed.exists()
        with scratch(environment) as another:
            assert mine.exists()
            assert another != mine
    assert os.listdir(tmp_path) == ["other"]
