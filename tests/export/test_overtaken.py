"""A first run that sleeps before its first write, and wakes when others have exported already."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_s3.adapters.memory import MemoryBroker, MemoryStore
from kafka_s3.bucket import owners
from kafka_s3.errors import Fenced, LogMissing
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import run
from kafka_s3.export.task import export_range
from tests.support import identified, make_settings, request

SETTINGS = make_settings()


@pytest.fixture
def exported() -> Exporter:
    """A connector with a commit, for a program that looked before there was any."""
    store, broker = MemoryStore(), MemoryBroker()
    broker.create_topic("orders", 1)
    broker.append("orders", 0, *(identified(0, offset) for offset in range(5)))
    exporter = Exporter(SETTINGS, store, broker).at_work()
    run(
        replace(exporter, opened=None),
        request(),
        lambda tasks: [export_range(SETTINGS, task, store, broker) for task in tasks],
        lambda line: None,
    )
    return exporter


def test_what_others_wrote_meanwhile_is_no_missing_log(exported: Exporter) -> None:
    """The log was empty, or without the topic, when the run looked, and is not any more: another run was first, which
    a retry cures. It is not said that the log is lost."""
    head = exported.log.current().newest()
    assert head is not None
    with pytest.raises(Fenced, match="Another run of connector orders wrote log entry 1 meanwhile"):
        owners.check_no_traces(exported.log, SETTINGS, head.entry.topics)
    for has_log in (False, True):
        with pytest.raises(Fenced, match="a retry reads the log again"):
            owners.check_no_data(exported.log, SETTINGS, "orders", has_log=has_log)


def test_a_log_that_is_missing_is_still_one(exported: Exporter) -> None:
    """Objects of a topic that no entry knows are refused as before; so are a claim and a plan without any entry."""
    store = exported.store
    assert isinstance(store, MemoryStore)
    store.put_if_absent("topics/payments/partition=0/payments+0+0000000000.json", b"{}")
    with pytest.raises(LogMissing, match="Topic payments has objects"):
        owners.check_no_data(exported.log, SETTINGS, "payments", has_log=True)
    for key in list(store.contents()):
        if "/log/" in key:
            store.delete(key)
    with pytest.raises(LogMissing, match="has begun a log"):
        owners.check_no_traces(exported.log.current(), SETTINGS, {})
    for key in list(store.contents()):
        if "/epoch/" in key:
            store.delete(key)
    with pytest.raises(LogMissing, match="has a plan"):
        owners.check_no_traces(exported.log.current(), SETTINGS, {})
