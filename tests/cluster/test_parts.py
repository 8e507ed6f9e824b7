"""PostgreSQL and the Spark cluster as parts: nothing of them stays, however their starter ends."""

import os
import subprocess
import sys
import time

import psutil
import pytest

from tools.parts.cache import REPOSITORY
from tools.parts.postgres import PostgreSQL
from tools.parts.process import child_environment

pytestmark = pytest.mark.cluster

PROGRAM = """
import time, psutil
from tools.parts.postgres import PostgreSQL
from tools.parts.spark import SparkCluster
database = PostgreSQL(user="airflow", password="only here", database="airflow")
cluster = SparkCluster(workers=1, cores=1, memory="512m")
print(*[process.pid for process in psutil.Process().children(recursive=True)], flush=True)
print(database.folder, cluster.master.folder, cluster.workers[0].folder, flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _available() -> None:
    reason = PostgreSQL.available()
    if reason is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI runs against PostgreSQL, always. {reason}")
        pytest.skip(reason)


def test_database_answers_to_its_owner_only_and_not_as_root() -> None:
    """A server takes its user with the password and no other, runs without root's rights, and leaves nothing."""
    with PostgreSQL(user="airflow", password="only here", database="airflow") as server:
        assert server.command("psql", "-At", "-c", "select current_user", "airflow") == "airflow\n"
        wrong = child_environment(PGPASSWORD="another")
        host, _, port = server.address.partition(":")
        psql = ["psql", "-h", host, "-p", port, "-U", "airflow", "-c", "select 1", "airflow"]
        refused = subprocess.run(psql, env=wrong, capture_output=True, text=True)
        assert refused.returncode != 0
        assert "password authentication failed" in refused.stderr
        assert psutil.Process(server.pid).uids().effective != 0
    assert not psutil.pid_exists(server.pid)
    assert not server.folder.exists()


def test_database_dies_with_its_killed_guard() -> None:
    """The change to another account does not cost the server its death signal."""
    with PostgreSQL(user="airflow", password="only here", database="airflow") as server:
        guard = psutil.Process(server.pid).parent()
        assert guard is not None
        guard.kill()
        _until_none_of([server.pid])


def test_database_and_cluster_die_with_their_killed_parent() -> None:
    """SIGKILL to the process that started them takes all their processes and folders along."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env=child_environment()
    ) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        folders = parent.stdout.readline().split()
        assert len(pids) >= 6
        parent.kill()
    _until_none_of(pids)
    assert not [folder for folder in folders if os.path.exists(folder)]


def _until_none_of(pids: list[int]) -> None:
    deadline = time.monotonic() + 30
    while left := [pid for pid in pids if psutil.pid_exists(pid)]:
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.1)
