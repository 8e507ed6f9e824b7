"""What is named as a way out is there."""

from __future__ import annotations

from pathlib import Path

from kafka_s3.cli.status import show
from kafka_s3.ranges import TopicPartition
from kafka_s3.rewind.rewind import look, rewind
from kafka_s3.settings.run import Policies
from tests.cli.command import call
from tests.report.attention import Patient, printed
from tests.support import request


def test_the_way_out_of_what_a_rewind_withdrew() -> None:
    """After a rewind status names the command that takes withdrawn objects out of plain listings; it exists."""
    patient = Patient()
    patient.produce()
    patient.run()
    exporter = patient.place.exporter()
    rewind(exporter, look(exporter, {TopicPartition("orders", 0): 0}), request("rewind"))
    said = printed(lambda: show(patient.health(), Path("FILE"), "s3://b/log/", Policies()))
    assert "kafka-s3 gc FILE --withdrawn --delete" in said
    options = call("gc", "--help").stdout
    assert "--withdrawn" in options
    assert "--delete" in options
