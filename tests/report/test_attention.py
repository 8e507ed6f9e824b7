"""It never says that all is in order when it is not: whatever a run would stop at, leave out or leave behind, status,
verify, the page and the metrics say in the same words, with the same way out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_s3.export.diagnosis import Said
from tests.export.place import SimpleExport
from tests.report.attention import CONFIG, OPERATIONS, Patient

pytestmark = pytest.mark.filterwarnings("ignore")

Operation = Callable[[Patient], None]
RUN = Patient.run


def _patient(operations: Sequence[Operation]) -> Patient:
    patient = Patient()
    for each in operations:
        each(patient)
    return patient


def _check(operations: Sequence[Operation]) -> None:
    """One more run after what happened: what it does is what was said, and what it leaves behind is said."""
    patient = _patient(operations)
    before = patient.said()
    _all_say(patient, before)
    report, error = patient.run()
    if error is not None and report is None:
        # Below the command line nobody knows what the connector's file is called.
        assert Said(error.what, error.next.replace("CONFIG", CONFIG)) in [_named(each) for each in before], error
    for left in report.excluded if report is not None else ():
        assert str(left) in [each.what for each in before], (left, before)
    after = patient.said()
    _all_say(patient, after)
    for each in report.said(CONFIG) if report is not None else ():
        assert each in after, (each, after)
    if error is not None or (report is not None and report.exit_status):
        assert after


def _named(said: Said) -> Said:
    return Said(said.what, said.next.replace("CONFIG", CONFIG))


def _all_say(patient: Patient, problems: Sequence[Said]) -> None:
    for place, shown in patient.shown().items():
        assert shown.is_ok == (not problems), (place, shown.text, problems)
        for each in problems if place != "metrics" else ():
            assert each.what in shown.text, (place, each.what, shown.text)
            assert each.next in shown.text, (place, each.next, shown.text)


@given(st.lists(st.sampled_from([*OPERATIONS, *[RUN] * 8]), max_size=10))
@example([Patient.produce, RUN, Patient.lose_log])
@example([Patient.produce, RUN, Patient.lose_everything_but_data])
@example([Patient.produce, RUN, Patient.rename])
@example([Patient.tolerate, Patient.poison, RUN])
@example([Patient.tolerate, Patient.refuse_letters, Patient.poison, RUN])
@example([Patient.by_pattern])
@example([Patient.name_another, Patient.produce, RUN])
@example([Patient.produce, RUN, Patient.allow_restart, Patient.recreate_topic, Patient.retention])
@example([Patient.produce, RUN, Patient.produce, Patient.another_owner])
@settings(max_examples=120, deadline=None)
def test_what_a_run_does_is_what_every_place_says(operations: list[Operation]) -> None:
    """Whatever happens: the error that stops a run, the partitions that it leaves out and the ranges and records that
    it leaves behind are said before, or after it, by status, verify, page and metrics, with the same way out."""
    _check(operations)


REFUSED = {
    "the log deleted": ([Patient.produce, RUN, Patient.lose_log], "and no log entry under"),
    "log and plans deleted": ([Patient.produce, RUN, Patient.lose_log_and_plans], "owns topic orders and has no log"),
    "the connector renamed": ([Patient.produce, RUN, Patient.rename], "belongs to connector orders"),
    "objects that nobody adopted": ([Patient.foreign_object], "has objects under topics/orders/"),
    "owned by another": ([Patient.another_owner], "belongs to connector another"),
    "another owner since": ([Patient.produce, RUN, Patient.produce, Patient.another_owner], "belongs to connector"),
    "a pattern without a topic": ([Patient.by_pattern], "topics.regex=nothing-.*"),
    "no topic": ([Patient.delete_topic], "that do not exist on the broker: orders"),
    "Kafka down": ([Patient.kafka_down], "No broker answered."),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_is_promised_where_a_run_refuses(name: str) -> None:
    """The error that a run stops with is what status, verify, the page and the metrics say, before any run."""
    operations, said = REFUSED[name]
    patient = _patient(operations)
    _, error = patient.run()
    assert error is not None
    assert said in error.what
    patient = _patient(operations)
    for place, shown in patient.shown().items():
        assert not shown.is_ok, place
        assert place == "metrics" or (said in shown.text and error.next.replace("CONFIG", CONFIG) in shown.text), (
            place,
            shown.text,
        )


def test_letters_that_were_never_sent_are_said() -> None:
    """Until the topic of dead letters takes them, however many commits without a bad record follow."""
    patient = _patient([Patient.tolerate, Patient.refuse_letters, Patient.produce, Patient.poison, RUN])
    for _ in range(12):
        patient.produce()
        patient.run()
    for place, shown in patient.shown().items():
        assert not shown.is_ok, place
        assert place == "metrics" or "1 dead letters were not sent to topic dead, from commit 1 on" in shown.text
    patient.take_letters()
    patient.run()
    assert all(shown.is_ok for shown in patient.shown().values())


def test_a_commit_of_rejected_records_is_not_ok_anywhere() -> None:
    """All of 40 records rejected: the run ends with 65 and says how many, at which stage, why and how to get them
    back; so does every place, until a commit of the topic has fewer, or the topic is rewound."""
    patient = Patient(SimpleExport(1))
    patient.tolerate()
    for _ in range(40):
        patient.place.poison(0)
    report, error = patient.run()
    assert error is None
    assert report is not None
    assert report.exit_status == 65
    assert patient.place.told[-1] == "commit 1: 0 records, 40 rejected"
    (said,) = report.said("FILE")
    assert "40 of 40 records of topic orders were rejected in commit 1" in said.what
    assert "VALUE_CONVERTER (40): not JSON" in said.what
    assert "kafka-s3 rewind FILE --to orders-0=0" in said.next
    assert "kafka-s3 redrive FILE" in said.next
    for place, shown in patient.shown().items():
        assert not shown.is_ok, place
        assert place == "metrics" or "40 of 40 records of topic orders were rejected" in shown.text
    patient.place.produce(0, 3)
    assert patient.run()[0].exit_status == 0  # type: ignore[union-attr]
    assert all(shown.is_ok for shown in patient.shown().values())


def test_few_rejected_records_are_told_and_ok() -> None:
    """Below the fraction a run says how many it rejected and how to get them back, and all is in order."""
    patient = Patient(SimpleExport(1))
    patient.tolerate()
    patient.place.produce(0, 9)
    patient.place.poison(0)
    report, _ = patient.run()
    assert report is not None
    assert report.exit_status == 0
    (line,) = report.lines("FILE")
    assert "1 of 10 records of topic orders were rejected in commit 1" in line
    assert "kafka-s3 redrive FILE" in line
    assert all(shown.is_ok for shown in patient.shown().values())


def test_a_rewound_topic_has_no_rejected_records() -> None:
    """The way out that is named is one: after the rewind nothing needs attention."""
    from kafka_s3.ranges import TopicPartition
    from kafka_s3.rewind.rewind import look, rewind
    from tests.support import request

    patient = Patient(SimpleExport(1))
    patient.tolerate()
    patient.place.poison(0)
    patient.run()
    assert not patient.shown()["status"].is_ok
    exporter = patient.place.exporter()
    rewind(exporter, look(exporter, {TopicPartition("orders", 0): 0}), request("rewind"))
    assert patient.shown()["status"].is_ok


def test_a_poison_record_names_errors_tolerance() -> None:
    """The way out of a bad record that stops its partition is in the run's report, and everywhere else."""
    patient = _patient([Patient.poison])
    report, _ = patient.run()
    assert report is not None
    assert "errors.tolerance=all" in report.said("FILE")[0].next
    for place, shown in patient.shown().items():
        assert place == "metrics" or "errors.tolerance=all" in shown.text, place


def test_the_way_out_of_a_renaming_is_one() -> None:
    """Named are the owner object and `adopt`: once the one is deleted the other begins, and the next run goes on."""
    from kafka_s3.adopt.adopt import adopt, look
    from kafka_s3.adopt.decide import Choice
    from tests.support import request

    patient = _patient([Patient.produce, RUN, Patient.rename])
    _, error = patient.run()
    assert error is not None
    key = patient.place.log.layout.owner_key("topics", "orders")
    assert key in error.next
    assert "kafka-s3 adopt" in error.next
    patient.place.store.delete(key)
    exporter = patient.place.exporter()
    found = look(exporter, patient.place.broker, Choice("connect-orders"), lambda _: None)
    assert found.is_settled, found
    adopt(exporter, found, request("adopt"))
    patient.produce()
    patient.run()
    assert patient.place.offsets_in_bucket(0) == [0, 1, 2, 3]
    assert patient.shown()["status"].is_ok


def test_a_failed_range_of_a_topic_not_asked_for_is_no_problem() -> None:
    """A topic that was taken out of the configuration is nothing that a run would try again."""
    from dataclasses import replace

    patient = _patient([Patient.poison, RUN])
    assert not patient.shown()["status"].is_ok
    patient.place.broker.create_topic("clicks")
    patient.place.broker._names = ("clicks",)
    patient.place.settings = replace(patient.place.settings, topics=("clicks",))
    assert patient.run()[0].exit_status == 0  # type: ignore[union-attr]
    assert patient.shown()["status"].is_ok
