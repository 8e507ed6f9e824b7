"""What dead drivers and tasks left under a plan's keys, deleted right after the plan's commit.

    sweep                     a plan that an earlier driver had begun: objects that no entry lists, and open uploads
    abort_abandoned_uploads   a plan that nobody else had begun: open uploads alone

Why this cannot race with a run, a rewind or a collection is said in `bucket.orphans`. Memory of `sweep`: the keys of
the entries since the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from os.path import commonprefix

from kafka_s3.bucket.folders import place_of
from kafka_s3.bucket.lost import Losses
from kafka_s3.bucket.orphans import keys_of, open_uploads, survey
from kafka_s3.bucket.searches import keys_under, searches
from kafka_s3.errors import ExporterError, StoreRefused
from kafka_s3.events import (
    Event,
    SweepFailed,
    SweepIncomplete,
    Swept,
    UploadsAborted,
    UploadsNotAborted,
    UploadsNotListed,
)
from kafka_s3.export.exporter import Exporter
from kafka_s3.log.entries import Entry, Kind, Plan
from kafka_s3.log.plans import ClosedPlan, InheritedPlan, NewPlan
from kafka_s3.naming import DataName
from kafka_s3.ordered_pool import PARALLEL, map_ordered, workers
from kafka_s3.ranges import TopicPartition


def sweep(exporter: Exporter, planned: InheritedPlan | ClosedPlan) -> list[Event]:
    """After the commit of a plan that an earlier driver had begun: delete what that one left under the plan's keys.

    What it did, and what went wrong, to be told: the export is complete without it, so nothing is raised.
    """
    try:
        return _swept(exporter, planned.plan)
    except ExporterError as error:
        return [SweepFailed(seq=planned.plan.seq, reason=str(error))]


def _swept(exporter: Exporter, plan: Plan) -> list[Event]:
    """Only entries from the plan's on can list what its ranges' keys are: those before lie below its positions."""
    log, settings, store = exporter.log, exporter.settings, exporter.store
    entries = [committed.entry for committed in log.entries(after_seq=plan.seq - 1)]
    lost = Losses()
    for entry in entries:
        lost.take(entry)
    if not entries or entries[-1].seq != plan.seq or entries[-1].kind is not Kind.COMMIT:
        return []
    head, listed = entries[0], {key for entry in entries for key in keys_of(entry)}
    whole = {tp: span for tp, span in _whole(plan).items() if settings.exports(tp.topic)}
    territory = survey(log, head, [place_of(settings)], topics=sorted({tp.topic for tp in whole}))
    where = sorted({each for place, topic in territory.places for each in searches(place, topic, settings, whole)})

    def doomed(key: str) -> bool:
        what = territory.fate(key, head, (), lost.found)
        return what is not None and what.deletable and all(_is_of(plan, whole, name) for name in territory.names(key))

    objects: list[str] = []
    complete = True
    with workers(PARALLEL) as pool:
        for keys, is_whole in map_ordered(pool, partial(keys_under, store), where, PARALLEL):
            objects += [key for key in keys if key not in listed and doomed(key)]
            complete = complete and is_whole
    uploads, refused = open_uploads(store, territory.prefixes, lambda key, _: doomed(key))
    if objects or uploads:
        log.check_current()
    for key in dict.fromkeys(objects):
        store.delete(key)
    told: list[Event] = [] if complete else [SweepIncomplete(seq=plan.seq)]
    if refused:
        told.append(UploadsNotListed(seq=plan.seq, reason=refused))
    for upload in uploads:
        store.abort_upload(upload)
    if objects or uploads:
        told.insert(0, Swept(seq=plan.seq, objects=len(objects), uploads=len(uploads)))
    return told


def abort_abandoned_uploads(exporter: Exporter, planned: NewPlan, entry: Entry) -> list[Event]:
    """After the commit of a plan that no earlier driver had begun: abort what is still open under keys that it lists.

    Such an upload is that of a Spark task which was killed and repeated, or it was opened twice because an answer got
    lost. One LIST, or two with dead letters, where objects went out in parts. Returned and raised: as by `sweep`.
    """
    assert entry.plan_sha256 == planned.sha256, f"entry {entry.seq} is not a commit of plan {planned.plan.seq}"
    store = exporter.store
    large = exporter.settings.limits.part_size_bytes
    letters = {each.dead_letters.key for each in entry.ranges if each.dead_letters and each.dead_letters.size > large}
    objects = {made.key for done in entry.ranges for made in done.objects if made.size > large}
    beside = (each for done in entry.ranges for made in done.objects for each in made.companions)
    aborted = 0
    try:
        for keys in (objects.union(each.key for each in beside if each.size > large), letters):
            prefix = commonprefix(list(keys))  # noqa: RUF071 - S3's prefixes are characters, too
            lost = [upload for upload in store.uploads(prefix) if upload.key in keys] if keys else []
            if lost:
                exporter.log.check_current()
            for upload in lost:
                store.abort_upload(upload)
                aborted += 1
    except StoreRefused:
        return []  # for want of a permission that no export needs; it would be said with every commit
    except ExporterError as error:
        return [UploadsNotAborted(seq=entry.seq, reason=str(error))]
    return [UploadsAborted(seq=entry.seq, uploads=aborted)] if aborted else []


def _whole(plan: Plan) -> dict[TopicPartition, tuple[int, int]]:
    """The offsets of a plan, each partition's in one: its ranges follow one another."""
    whole: dict[TopicPartition, tuple[int, int]] = {}
    for each in plan.ranges:
        start, end = whole.get(each.tp, (each.start, each.end))
        whole[each.tp] = (min(start, each.start), max(end, each.end))
    return whole


def _is_of(plan: Plan, whole: Mapping[TopicPartition, tuple[int, int]], name: DataName) -> bool:
    """Whether a name is one that a plan's ranges make."""
    span = whole.get(TopicPartition(name.topic, name.partition))
    if span is None or name.generation != plan.topics[name.topic].generation:
        return False
    return span[0] <= name.start_offset < span[1]
