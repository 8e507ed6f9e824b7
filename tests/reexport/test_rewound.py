"""A window whose plan was made before the live export was rewound is not finished as it was planned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_s3.crash_points import CrashPoint
from kafka_s3.errors import TemporaryError
from kafka_s3.log.entries import Kind
from kafka_s3.ranges import TopicPartition
from kafka_s3.rewind.rewind import look, rewind
from kafka_s3.settings.run import Policies
from tests.export.place import TOPIC
from tests.reexport.windows import WindowExport
from tests.support import request

ZERO = TopicPartition(TOPIC, 0)


def rewound(place: WindowExport) -> None:
    rewind(place.exporter(), look(place.exporter(), {ZERO: 0}), request("back"))


def kinds(place: WindowExport) -> list[Kind]:
    return [entry.kind for entry in place.window_entries()]


@pytest.fixture
def place() -> WindowExport:
    """Two commits of the live export."""
    place = WindowExport()
    place.export(120, 130, 140)
    place.export(150, 160)
    return place


def test_a_plan_from_before_a_rewind_is_closed(place: WindowExport) -> None:
    """A run died behind its plan, and the live export was rewound: the plan is voided, and the window waits until the
    records are exported again. Then it holds what the live export does."""
    assert place.dies_at(CrashPoint.WROTE_PLAN)
    rewound(place)
    with pytest.raises(TemporaryError, match="exported up to offset 0"):
        place.again()
    assert kinds(place) == [Kind.VOID]
    assert place.window_entries()[0].reason == "topic orders was rewound, or began again, since it was planned"
    assert place.run("live again").exit_status == 0
    assert place.again("later").exit_status == 0
    assert kinds(place) == [Kind.VOID, Kind.COMMIT]
    assert place.rows() == place.expected()
    planned = place.window_log().plan(1)
    assert planned is not None
    assert {each.generation for each in planned.plan.ranges} == {1}


def test_a_rewind_while_a_window_is_read(place: WindowExport) -> None:
    """Nothing of it is committed: what it read was withdrawn meanwhile."""
    place.before_again = lambda: rewound(place)
    with pytest.raises(TemporaryError):
        place.again()
    assert kinds(place) == [Kind.VOID]


def test_a_plan_from_before_a_rewind_that_was_made_up_for(place: WindowExport) -> None:
    """What it names is withdrawn, whatever is exported since: it is planned again in the same run."""
    assert place.dies_at(CrashPoint.WROTE_PLAN)
    rewound(place)
    assert place.run("live again").exit_status == 0
    assert place.again().exit_status == 0
    assert kinds(place) == [Kind.VOID, Kind.COMMIT]
    assert place.rows() == place.expected()


def test_a_plan_from_before_a_topic_was_created_again(place: WindowExport) -> None:
    """Where that is allowed, its records are copied from the bucket by another plan."""
    assert place.dies_at(CrashPoint.WROTE_PLAN)
    place.settings = replace(place.settings, policies=Policies(record_data_loss=False, restart_recreated=True))
    place.broker.recreate_topic(TOPIC)
    place.export(400)
    assert place.again().exit_status == 0
    assert kinds(place) == [Kind.VOID, Kind.COMMIT]
    assert place.rows() == place.expected()


def test_a_plan_goes_on_over_later_commits(place: WindowExport) -> None:
    """Only what withdraws closes it: a plan of a run that died is finished as it was planned."""
    assert place.dies_at(CrashPoint.WROTE_PLAN)
    place.export(170, 310)
    assert place.again().exit_status == 0
    assert kinds(place) == [Kind.COMMIT]
    assert [row[1] for row in place.rows()] == [0, 1, 2, 3, 4]
