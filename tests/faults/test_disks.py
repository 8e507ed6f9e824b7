"""Disks that are full: the run's folder for temporary files, and the store's own.

Each is a file system of a few kilobytes or megabytes in memory, mounted where only the process and what is under it see
it (`unshare --map-root-user --mount`).
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kafka_s3.errors import EXIT_DONE, EXIT_TEMPORARY
from tests.faults.conftest import Make
from tools.parts.s3 import VersityGateway

pytestmark = pytest.mark.faults

RECORDS = 40_000
STORE_KIBIBYTES = 64 * 1024
# What is left for each shape: too little for all; an object in parts takes its room twice when it is completed.
FILLER_BYTES = {"whole": 52 * 1024 * 1024, "parts": 36 * 1024 * 1024}
# Objects in one request, and objects in two parts; 25 MB in all.
SHAPES: dict[str, dict[str, Any]] = {
    "whole": {"flush_size": 1_000, "s3_compression_type": "none"},
    "parts": {"flush_size": 10_000, "s3_compression_type": "none", "s3_part_size": "5242880"},
}


def on_a_disk_of(folder: Path, size: str) -> list[str]:
    """What to start a command under, so that `folder` is a disk of that size to it."""
    mount = f'mount -t tmpfs -o {size} none "{folder}" && exec "$@"'
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]


@pytest.fixture(scope="module", autouse=True)
def _may_mount(tmp_path_factory: pytest.TempPathFactory) -> None:
    command = [*on_a_disk_of(tmp_path_factory.mktemp("disk"), "size=64k"), "true"]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {tried.stderr.strip()}")


# The run's.


def test_a_run_needs_no_room_for_temporary_files(make_connector: Make) -> None:
    """Spark, Java and Python get by with a disk of one page: records and objects are in memory only."""
    connector = make_connector()
    connector.produce(RECORDS)
    run = connector.start("run", spark="local[2]", under=on_a_disk_of(connector.temporary, "size=4k"))
    assert run.wait() == EXIT_DONE, run.said()
    assert connector.verified() == RECORDS


def test_no_room_even_for_a_folder(make_connector: Make) -> None:
    """The run ends with a status that is retried and says what is full; the next one, which has room, finishes."""
    connector = make_connector()
    connector.produce(RECORDS)
    run = connector.start(
        "run",
        spark="local[2]",
        under=on_a_disk_of(connector.temporary, "nr_inodes=1"),
        environment={"SPARK_LOCAL_DIRS": str(connector.temporary)},
    )
    assert run.wait() == EXIT_TEMPORARY, run.said()
    assert f"No space left on device: '{connector.temporary}" in run.said()
    assert "Traceback" not in run.said()
    again = connector.start("run", spark="local[2]")
    assert again.wait() == EXIT_DONE, again.said()
    assert connector.verified() == RECORDS
    assert list(connector.temporary.iterdir()) == []


def test_no_room_for_sparks_own_files(make_connector: Make) -> None:
    """The folder for Spark could be made, and nothing in it: a sentence, a status that is retried, and no trace."""
    connector = make_connector()
    connector.produce(10)
    run = connector.start(
        "run",
        spark="local[1]",
        under=on_a_disk_of(connector.temporary, "nr_inodes=3"),
        environment={"SPARK_LOCAL_DIRS": str(connector.temporary)},
    )
    assert run.wait() == EXIT_TEMPORARY, run.said()
    assert "No folder for Spark's temporary files can be made" in run.said()
    assert "let SPARK_LOCAL_DIRS or TMPDIR name a folder that has some" in run.said()
    assert "Traceback" not in run.said()


# The store's.


class SmallStore(VersityGateway):
    """versitygw whose objects are on a small disk of its own. What it knows about them is not, so that it can list."""

    name = "versitygw-small"

    def _launch(self, command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
        super()._launch([*on_a_disk_of(self.folder / "store", f"size={STORE_KIBIBYTES}k"), *command], environment)

    def _metadata_options(self) -> list[str]:
        return ["--sidecar", str(self._made("metadata"))]


@pytest.fixture(scope="module")
def small(_may_mount: None, versitygw: VersityGateway) -> Iterator[SmallStore]:
    with SmallStore() as server:
        yield server


@pytest.mark.parametrize("shape", SHAPES)
def test_the_store_s_disk_is_full(make_connector: Make, small: SmallStore, shape: str) -> None:
    """In the middle of a run there is no room for another object: its requests fail with 5xx, are repeated and given
    up, exit status 75. No part of an object is ever shown. Once there is room the next run finishes."""
    undisturbed = make_connector(**SHAPES[shape])
    undisturbed.produce(RECORDS, words=100)
    run = undisturbed.start("run")
    assert run.wait() == EXIT_DONE, run.said()
    expected = undisturbed.objects("topics/")

    connector = make_connector(undisturbed.topic, store=small, **SHAPES[shape])
    small.client().put_object(Bucket=connector.bucket, Key="filler", Body=bytes(FILLER_BYTES[shape]))
    run = connector.start("run")
    assert run.wait() == EXIT_TEMPORARY, run.said()
    assert "S3 answered 5" in run.said()
    assert "Traceback" not in run.said()
    written = connector.objects("topics/")
    assert written.items() < expected.items()
    assert written

    small.client().delete_object(Bucket=connector.bucket, Key="filler")
    again = connector.start("run")
    assert again.wait() == EXIT_DONE, again.said()
    assert connector.objects("topics/") == expected
    assert connector.open_uploads() == []
    assert connector.verified() == RECORDS
    connector.remove()
