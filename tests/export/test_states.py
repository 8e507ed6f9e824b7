"""States are types: what a step takes says what was done before it, and `mypy --strict` holds callers to that.

`refused_states` has the calls that mypy refuses.
"""

from __future__ import annotations

import ast
import inspect
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

import pytest

from kafka_s3.bucket import window_leftovers
from kafka_s3.bucket.window_state import CommittedWindow, OpenWindow
from kafka_s3.errors import EXIT_DATA, LogDamaged
from kafka_s3.export import append, sweep
from kafka_s3.export.accounting import AccountedRanges
from kafka_s3.export.run_state import RunState, VoidedPlan
from kafka_s3.log.entries import Kind, ObjectEntry, RangeEntry
from kafka_s3.log.plans import ClosedPlan, InheritedPlan, NewPlan, OpenPlan
from kafka_s3.plan.results import Failure
from kafka_s3.ranges import TopicPartition
from kafka_s3.write.object_group import FinishedUpload, WrittenObject
from kafka_s3.write.uploads import ObjectGroupUpload, object_entry
from tests.log.test_entries import plan_of
from tools.house import ROOT, sources

#: They write objects into nothing, to show or to compare them.
WITHOUT_STORE = {"kafka_s3.report.preview", "kafka_s3.verify.comparison"}
#: The only modules that make values of these types.
MAKERS = {
    "Entry": {"kafka_s3.export.append"},
    "FinishedUpload": {"kafka_s3.write.uploads", *WITHOUT_STORE},
    "WrittenObject": {"kafka_s3.write.object_group", "kafka_s3.write.dead_letter_writer"},
    "ObjectEntry": {"kafka_s3.write.uploads"},
    "AccountedRanges": {"kafka_s3.export.accounting"},
    "NewPlan": {"kafka_s3.log.store", "kafka_s3.export.opening"},
    "OpenPlan": {"kafka_s3.log.store", "kafka_s3.reexport.run"},
    "ClosedPlan": {"kafka_s3.log.store"},
    "CommittedPlan": {"kafka_s3.export.closing"},
    "CommittedWindow": {"kafka_s3.bucket.window_state", "kafka_s3.reexport.run"},
}


def made_elsewhere(root: Path) -> list[str]:
    """Calls of constructors that are another module's to make."""
    return [
        f"{source.module} makes {name}"
        for source in sources(root, "jobs", "plugins")
        for node in ast.walk(ast.parse(source.text))
        if isinstance(node, ast.Call) and (name := _name(node.func)) in MAKERS and source.module not in MAKERS[name]
    ]


def _name(called: ast.expr) -> str:
    if isinstance(called, ast.Attribute):
        return _name(called.value) if called.attr == "of" else called.attr
    return called.id if isinstance(called, ast.Name) else ""


def test_a_state_is_made_where_it_comes_about() -> None:
    """An entry, accounted ranges, a new, closed or committed plan: each is made by one module, whose work it states."""
    assert made_elsewhere(ROOT) == []


@pytest.mark.parametrize(
    ("file", "planted", "found"),
    [
        ("reexport/run.py", "AccountedRanges(())", "kafka_s3.reexport.run makes AccountedRanges"),
        ("export/closing.py", "accounting.AccountedRanges(())", "kafka_s3.export.closing makes AccountedRanges"),
        ("rewind/rewind.py", "Entry(seq=0)", "kafka_s3.rewind.rewind makes Entry"),
        ("export/task.py", "FinishedUpload.of([], [])", "kafka_s3.export.task makes FinishedUpload"),
    ],
)
def test_a_state_made_elsewhere_is_found(tmp_path: Path, file: str, planted: str, found: str) -> None:
    """The rule can fail: planted in a copy of the source, such a call is named."""
    for folder in ("jobs", "plugins"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "jobs" / "kafka_s3" / file).open("a") as source:
        source.write(f"\n{planted}\n")
    assert made_elsewhere(tmp_path) == [found]


def test_a_commit_takes_what_was_accounted_for() -> None:
    """What makes entries takes no ranges, but `AccountedRanges` in place of the kind: the kind of a commit is none that
    it takes. Nothing takes arguments that mypy does not check."""
    what = get_type_hints(append.entry)["what"]
    assert set(get_args(what)) == {Literal[Kind.VOID, Kind.CHECKPOINT, Kind.REWIND, Kind.ADOPT], AccountedRanges}
    assert get_type_hints(append.commit)["accounted"] is AccountedRanges
    assert get_type_hints(append.commit)["planned"] is OpenPlan
    made = [each for _, each in inspect.getmembers(append, inspect.isfunction) if each.__module__ == append.__name__]
    assert {append.entry, append.commit} <= set(made)
    for function in made:
        parameters = inspect.signature(function).parameters
        kinds = {each.kind for each in parameters.values()}
        assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
        assert "ranges" not in parameters


def test_an_object_that_is_listed_was_finished() -> None:
    """What lists an object takes a written one, which has the finished upload it came out of; an upload that is open
    is no such thing, and `finish` alone makes one."""
    assert get_type_hints(object_entry) == {"made": WrittenObject, "return": ObjectEntry}
    assert get_type_hints(WrittenObject)["upload"] is FinishedUpload
    assert get_type_hints(ObjectGroupUpload.finish)["return"] is FinishedUpload
    methods = inspect.getmembers(ObjectGroupUpload, inspect.isfunction)
    makers = {name for name, method in methods if get_type_hints(method).get("return") is FinishedUpload}
    assert makers == {"finish"}


def test_a_window_is_swept_once_it_is_committed() -> None:
    """What deletes the leftovers of a window takes one that is exported; one that is open is another type."""
    assert get_type_hints(window_leftovers.sweep)["exported"] is CommittedWindow
    assert not issubclass(OpenWindow, CommittedWindow)


def test_a_range_that_was_not_accounted_for_is_refused() -> None:
    """A range of three offsets with two records is not an accounted range, whoever makes it."""
    done = RangeEntry(
        topic="t",
        partition=0,
        start=0,
        next_offset=3,
        records=2,
        bytes=2,
        rejected=0,
        tombstones=0,
        skipped_offsets=0,
        leader_epoch=None,
        log_start=0,
        high_watermark=3,
        last_stable=3,
    )
    with pytest.raises(LogDamaged, match="3 offsets, but 2 records"):
        AccountedRanges((done,))


def test_a_sweep_takes_no_plan_of_this_run() -> None:
    """What may delete objects takes a plan that another driver worked on; what aborts uploads alone takes a new one."""
    assert get_type_hints(sweep.sweep)["planned"] == InheritedPlan | ClosedPlan
    assert get_type_hints(sweep.abort_abandoned_uploads)["planned"] is NewPlan
    assert not issubclass(NewPlan, InheritedPlan | ClosedPlan)
    assert not issubclass(ClosedPlan, OpenPlan)


def test_what_kafka_lost_is_planned_again_once() -> None:
    """A partition whose records Kafka lost is planned again where that is allowed, and its failure is forgotten; the
    second time it has failed. Any other failure counts at once."""
    lost = (TopicPartition("t", 0), Failure("lost", EXIT_DATA, kafka_changed=True))
    bad = (TopicPartition("t", 1), Failure("bad", EXIT_DATA))
    unused: Any = None
    start = RunState(unused, unused, None, None, unused)

    first = replace(start, failures=(lost, bad)).failures_noted((lost, bad), may_replan=True)
    assert (first.failed, first.replanned, first.failures) == ({bad[0]}, {lost[0]}, (bad,))

    second = replace(first, failures=(bad, lost)).failures_noted((lost,), may_replan=True)
    assert (second.failed, second.failures) == ({lost[0], bad[0]}, (bad, lost))

    barred = replace(start, failures=(lost,)).failures_noted((lost,), may_replan=False)
    assert (barred.failed, barred.failures) == ({lost[0]}, (lost,))


def test_the_run_knows_what_had_markers_when_it_planned() -> None:
    """What had its markers is known of a plan that this run wrote, until the plan is closed; of none that was found."""
    unused: Any = None
    found = RunState(unused, unused, unused, None, unused)
    assert found.marked == {}
    planned = NewPlan(plan_of(), "sha")
    opened = found.opened(planned, {"t": 5})
    assert (opened.open_plan, opened.marked) == (planned, {"t": 5})
    assert opened.looked(unused, unused).marked == {"t": 5}
    closed = opened.closed(VoidedPlan(unused))
    assert (closed.open_plan, closed.marked) == (None, {})
