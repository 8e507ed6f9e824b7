"""A DAG that runs on a connector's asset, started by Airflow's scheduler."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.scheduler.harness import ENDED, ScheduledExports, lines, until

pytestmark = pytest.mark.scheduler


def test_a_commit_starts_what_follows_it(world: ScheduledExports) -> None:
    """A commit's event, which comes through an alias, is one of the asset that other DAGs name: the scheduler starts
    them, and they read what was committed."""
    world.produce("followed", 0, lines(40), datetime.now(UTC) - timedelta(days=1))
    with world.unpaused("hourly_counts"), world.unpaused("followed"):
        run = world.ended("followed")
        assert (run.state, len(world.events("followed", run))) == ("success", 1)

        def has_followed() -> bool:
            return any(
                each.kind == "asset_triggered" and each.state in ENDED and counted(world, each.run_id)
                for each in world.runs("hourly_counts")
            )

        until("the commit is followed", has_followed, or_say=lambda: world.runs("hourly_counts"))
    [counts] = [found for each in world.runs("hourly_counts") if (found := counted(world, each.run_id))]
    assert counts == {f"{world.topics['followed']}-0": 40}


def counted(world: ScheduledExports, run_id: str) -> object:
    """What a run of the example has counted."""
    path = f"/dags/hourly_counts/dagRuns/{run_id}/taskInstances/count/xcomEntries/return_value"
    return world.api.get(path)["value"]
