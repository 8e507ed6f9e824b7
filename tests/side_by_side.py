"""Which tests run in one process, in order, where several processes share the work (`pytest -n`).

Tests of one file do: they share what the file starts. Tests of some folders do, since they share an Airflow, a cluster
or a page that takes longer to start than a test to run. The longest groups are handed out first, so that none of them
is left for one process at the end.
"""

from __future__ import annotations

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

#: Folders whose tests share an installation that takes a minute to start.
SHARED = ("tests/scheduler",)
#: Files of such a folder whose tests have another installation.
APART = ("tests/scheduler/test_postgresql.py",)
#: The groups that take minutes, the longest first.
LONGEST: tuple[str, ...] = (
    "tests/scheduler",
    "tests/cluster/test_cluster.py",
    "tests/airflow/test_dags_test.py",
    "tests/scheduler/test_postgresql.py",
    "tests/spark/test_connect.py",
    "tests/faults/test_races.py",
    "tests/faults/test_store_faults.py",
    "tests/conditions/test_leaders.py",
    "tests/conditions/test_elections.py",
    "tests/faults/test_run_faults.py",
    "tests/faults/test_kills.py",
    "tests/airflow/test_own_dags.py",
    "tests/airflow/test_spark_connect.py",
    "tests/airflow/test_alarm_dag.py",
    "tests/airflow/test_alarms.py",
    "tests/spark/test_connect_workers.py",
    "tests/airflow/test_bad_input.py",
    "tests/airflow/test_verification.py",
    "tests/page/test_browser.py",
    "tests/wiring/test_bad_input.py",
    "tests/wiring/test_bad_log.py",
    "tests/cli/test_real_parts.py",
    "tests/pairs/test_reproducible.py",
    "tests/airflow/test_integrity.py",
    "tests/adapters/test_kafka_errors.py",
    "tests/adapters/test_kafka_rights.py",
    "tests/interleavings/test_interleavings.py",
    "tests/readers/test_read_back.py",
    "tests/scenario/test_exactly_once.py",
    "tests/interleavings/test_planted.py",
    "tests/examples/test_examples.py",
    "tests/contract/test_object_store.py",
    "tests/golden/test_golden.py",
    "tests/pairs/test_weights.py",
    "tests/values/transforms/test_debezium_oracle.py",
    "tests/values/formats/test_record_fields.py",
    "tests/wiring/test_memory.py",
    "tests/scenario/test_windows.py",
    "tests/readers/test_verified.py",
    "tests/pairs/test_round_trips.py",
    "tests/pairs/test_tries.py",
    "tests/readers/test_evolution.py",
    "tests/readers/test_read_back.py",
    "tests/readers/test_registry.py",
)


def group_of(nodeid: str) -> str:
    """
    >>> group_of("tests/scheduler/test_intervals.py::test_late"), group_of("tests/gc/test_gc.py::test_age[1]")
    ('tests/scheduler', 'tests/gc/test_gc.py')
    >>> group_of("tests/scheduler/test_postgresql.py::test_runs_of_every_kind")
    'tests/scheduler/test_postgresql.py'
    """
    file = nodeid.partition("::")[0]
    if file in APART:
        return file
    return next((folder for folder in SHARED if file.startswith(f"{folder}/")), file)


def rank(nodeid: str) -> int:
    """Where a test's group stands among all, 0 for the first."""
    group = group_of(nodeid)
    return LONGEST.index(group) if group in LONGEST else len(LONGEST)


class Groups(LoadScopeScheduling):
    """Hands out whole groups, in the order in which they were collected."""

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
