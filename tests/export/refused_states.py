"""Calls that mix up states. `mypy --strict` checks this file and refuses each: one that it let pass would make the
`type: ignore` behind it unused, which is an error too. Nothing here is ever run.
"""

from __future__ import annotations

from kafka_s3.bucket.window_leftovers import sweep as sweep_window
from kafka_s3.bucket.window_state import OpenWindow
from kafka_s3.events import nobody
from kafka_s3.export import append, closing
from kafka_s3.export.accounting import Incomplete
from kafka_s3.export.append import EntrySlot
from kafka_s3.export.exporter import Execute, Exporter
from kafka_s3.export.run_state import RunState
from kafka_s3.export.sweep import abort_abandoned_uploads, sweep
from kafka_s3.log.entries import Entry, Interval, Kind, RangeEntry
from kafka_s3.log.plans import ClosedPlan, InheritedPlan, NewPlan, OpenPlan, StoredPlan
from kafka_s3.plan.batch import RunRequest
from kafka_s3.write.object_group import ObjectGroup, Upload
from kafka_s3.write.uploads import object_entry


def ranges_that_nobody_accounted_for(slot: EntrySlot, planned: OpenPlan, ranges: list[RangeEntry]) -> None:
    append.commit(slot, planned, ranges, ())  # type: ignore[arg-type]
    append.entry(slot, ranges, {}, closes=planned)  # type: ignore[arg-type]


def a_plan_that_is_committed_in_part(slot: EntrySlot, planned: OpenPlan, failed: Incomplete) -> None:
    append.entry(slot, failed, {}, closes=planned)  # type: ignore[arg-type]


def a_commit_of_nothing(slot: EntrySlot) -> None:
    append.entry(slot, Kind.COMMIT, {})  # type: ignore[arg-type]


def a_plan_that_is_closed(slot: EntrySlot, closed: ClosedPlan, stored: StoredPlan) -> None:
    append.entry(slot, Kind.VOID, {}, closes=closed)  # type: ignore[arg-type]
    append.entry(slot, Kind.VOID, {}, closes=stored)  # type: ignore[arg-type]


def a_plan_of_which_nobody_said_whose_it_is(
    exporter: Exporter, found: OpenPlan, state: RunState, request: RunRequest, execute: Execute
) -> None:
    closing.close(exporter, found, state, request, execute, nobody)  # type: ignore[arg-type]
    sweep(exporter, found)  # type: ignore[arg-type]


def a_sweep_that_fits_another_plan(exporter: Exporter, new: NewPlan, inherited: InheritedPlan, entry: Entry) -> None:
    sweep(exporter, new)  # type: ignore[arg-type]
    abort_abandoned_uploads(exporter, inherited, entry)  # type: ignore[arg-type]


def a_window_that_is_open(exporter: Exporter, window: Interval, state: OpenWindow) -> None:
    sweep_window(exporter.settings, exporter.log, window, state)  # type: ignore[arg-type]


def an_upload_that_is_open(upload: Upload, group: ObjectGroup) -> None:
    object_entry(upload)  # type: ignore[arg-type]
    object_entry(group)  # type: ignore[arg-type]
