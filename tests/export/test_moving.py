"""A connector that moves to another DAG meets runs of the same id there: Airflow makes ids of times alone."""

from __future__ import annotations

from kafka_s3.errors import EXIT_DONE
from kafka_s3.export.run import prepare
from kafka_s3.log.plans import NewPlan, OpenPlan
from kafka_s3.log.progress import complete_until_ms
from tests.export.place import TOPIC, SimpleExport
from tests.support import HOUR_MS, request

RUN = "scheduled__2026-11-20T10:00:00+00:00"
NINE, TEN = 9 * HOUR_MS, 10 * HOUR_MS


def test_another_interval_has_ends_of_its_own() -> None:
    """The run of the new DAG goes up to its own end: what the old one wrote down is no answer to its question, or an
    hour would be called complete whose records are left out."""
    place = SimpleExport(partitions=1, flush_size=3)
    place.produce(0, 4, at_ms=NINE - 1)
    place.produce(0, 5, at_ms=TEN - 1)
    place.produce(0, 6, at_ms=TEN)
    assert place.run(RUN, interval=(NINE - HOUR_MS, NINE), now_ms=TEN + 1).exit_status == EXIT_DONE
    assert place.newest.topics[TOPIC].positions == {0: 4}
    assert place.run(RUN, interval=(NINE - HOUR_MS, TEN), now_ms=TEN + 1).exit_status == EXIT_DONE
    assert place.newest.topics[TOPIC].positions == {0: 9}
    assert complete_until_ms(place.newest, [TOPIC], TEN + 1) == TEN


def test_an_open_plan_of_the_same_id_and_another_interval() -> None:
    """It is finished, and then the run goes up to its own end."""
    place = SimpleExport(partitions=1, flush_size=3)
    place.produce(0, 4, at_ms=NINE - 1)
    place.produce(0, 5, at_ms=TEN - 1)
    place.die_while_exporting(RUN, interval=(NINE - HOUR_MS, NINE), now_ms=TEN + 1)
    assert place.run(RUN, interval=(NINE - HOUR_MS, TEN), now_ms=TEN + 1).exit_status == EXIT_DONE
    assert place.newest.topics[TOPIC].positions == {0: 9}


def test_the_same_interval_is_as_a_retry() -> None:
    """Under another DAG the same run has nothing left to do."""
    place = SimpleExport(partitions=1, flush_size=3)
    place.produce(0, 4, at_ms=NINE - 1)
    interval = (NINE - HOUR_MS, NINE)
    assert place.run(RUN, interval=interval, now_ms=TEN).exit_status == EXIT_DONE
    seq = place.newest.seq
    place.produce(0, 5, at_ms=NINE - 1)  # late: of the next run
    assert place.run(RUN, interval=interval, now_ms=TEN).exit_status == EXIT_DONE
    assert (place.newest.seq, place.newest.topics[TOPIC].positions) == (seq, {0: 4})


def test_whoever_plans_says_whose_plan_it_is() -> None:
    """`plan` of the new DAG finds the plan that the old one's driver was killed over: so its driver, although it is of
    the same run by its id, deletes what that one left."""
    place = SimpleExport(partitions=1, flush_size=3)
    place.produce(0, 5)
    place.die_while_exporting(RUN)
    left = "topics/orders/partition=0/orders+0+0000000003.json"
    place.store.put_if_absent(left, b"half done")
    planned, _ = prepare(place.exporter(), request(RUN))
    assert isinstance(planned, OpenPlan)
    assert not isinstance(planned, NewPlan)
    assert place.run(RUN, planned_apart=isinstance(planned, NewPlan)).exit_status == EXIT_DONE
    assert "plan 1: 1 objects and 0 open uploads that an earlier driver left were deleted" in place.told
    assert left not in place.data()
