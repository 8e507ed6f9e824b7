"""The one place that chooses adapters."""

from __future__ import annotations

import contextlib
import functools
import gc
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from kafka_s3.adapters.known_schemas import NOTHING_KNOWN, Known, known_schemas, merge
from kafka_s3.adapters.watched import WatchedSource
from kafka_s3.events import Tell
from kafka_s3.export.exporter import Execute, Exporter, Show
from kafka_s3.export.task import export_range
from kafka_s3.fair_pool import FairPool
from kafka_s3.log.store import Log, open_log
from kafka_s3.plan.results import RangeResult, Task
from kafka_s3.ports import Broker, DeadLetterSink, KnownSchemas, ObjectStore, RecordSource, Registries, SchemaRegistry
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.converters import ConverterSettings
from kafka_s3.settings.glue import GlueSettings
from kafka_s3.settings.model import Settings
from kafka_s3.settings.s3 import S3Settings

#: More objects than two batches have messages, which are freed as batches are: Python's own threshold (700) would look
#: through all of them for cycles several times a batch, for a fifth of the CPU of reading.
GC_THRESHOLD: Final = 50_000


#: A connector's bucket.
MakeStore = Callable[[Settings], ObjectStore]
#: Buckets, or ways to reach one, that are kept for connectors that follow.
STORES_MAX: Final = 16


def make_exporter(settings: Settings, store: ObjectStore | None = None) -> Exporter:
    """A connector over its real bucket and its real broker. `store`: that bucket, where others have it too."""
    from kafka_s3.inference.schemas import SchemaInference

    infer = SchemaInference(settings.format, functools.partial(make_source, settings))
    return Exporter(
        settings, store or make_store(settings), make_broker(settings), infer=infer, show=_make_show(settings)
    )


def _make_show(settings: Settings) -> Show | None:
    """What shows positions in a consumer group, where one is configured; Kafka is asked once there is a commit."""
    if settings.kafka.group is None:
        return None

    def show(positions: Mapping[TopicPartition, int]) -> str | None:
        from kafka_s3.adapters.kafka import KafkaGroup

        return KafkaGroup(settings).show(positions)

    return show


def make_broker(settings: Settings) -> Broker:
    """A connector's real broker."""
    from kafka_s3.adapters.kafka import KafkaBroker

    return KafkaBroker(settings)


def make_log(settings: Settings) -> Log:
    """A connector's log in its real bucket."""
    return open_log(make_store(settings), settings.log_root, settings.name, settings.log_key)


def make_store(settings: Settings) -> ObjectStore:
    """A connector's real bucket."""
    from kafka_s3.adapters.s3 import S3Store

    return S3Store(settings.s3)


class SharedStores:
    """A `MakeStore` of many connectors, for several threads: those that reach their bucket in the same way have one
    client, with its connections, and what they spend on requests that fail is counted together. Of more ways than
    STORES_MAX it forgets the one that was not asked for longest; who has that goes on with it."""

    def __init__(self) -> None:
        self._kept: deque[tuple[S3Settings, ObjectStore]] = deque(maxlen=STORES_MAX)
        self._lock = threading.Lock()

    def __call__(self, settings: Settings) -> ObjectStore:
        with self._lock:
            found = next((each for each in self._kept if each[0] == settings.s3), None)
            if found is None:
                found = settings.s3, make_store(settings)
            else:
                self._kept.remove(found)
            self._kept.append(found)
            return found[1]


def make_registries(settings: Settings, known: Known = NOTHING_KNOWN) -> Registries:
    """The schema registries of a connector's converters; what is known already is not asked for."""

    def make(converter: ConverterSettings, schemas: KnownSchemas) -> SchemaRegistry | None:
        if converter.registry is None:
            return None
        if isinstance(converter.registry, GlueSettings):
            from kafka_s3.adapters.s3.glue import GlueRegistry

            return GlueRegistry(settings.s3, converter.registry, schemas)
        from kafka_s3.adapters.registry import ConfluentRegistry

        return ConfluentRegistry(converter.registry, schemas)

    value, key = settings.format.value, settings.format.key
    if value.registry == key.registry:  # then ids mean the same in both
        both = make(value, merge(known.values, known.keys))
        return Registries(both, both)
    return Registries(make(value, known.values), make(key, known.keys))


def ask_registries(settings: Settings, registries: Registries, tasks: Sequence[Task]) -> Known:
    """What the tasks' topics have in the registries, asked for by the driver and not by every task.

    A registry answers the same question once, so the batches of a run ask together: its ends were fixed before.
    """
    topics = sorted({task.planned.topic for task in tasks})
    values, keys = registries.values, registries.keys
    return Known(
        known_schemas(values, settings, topics, key=False) if values is not None else KnownSchemas(),
        known_schemas(keys, settings, topics, key=True) if keys is not None else KnownSchemas(),
    )


def report_letters(exporter: Exporter, tell: Tell) -> None:
    """Send committed dead letters to their topic, where one is configured."""
    if exporter.settings.dead_letters.topic is None:
        return
    from kafka_s3.adapters.kafka import DeadLetterTopic
    from kafka_s3.dead_letters.delivery import report

    with contextlib.closing(DeadLetterTopic(exporter.settings)) as sink:
        report(exporter, sink, tell)


def make_redrive_sink(settings: Settings, to: str | None, *, keep_timestamps: bool) -> DeadLetterSink:
    """Where redriven dead letters go: each to its own topic, or all `to` one."""
    from kafka_s3.adapters.kafka import RedriveTopics

    return RedriveTopics(settings, to=to, keep_timestamps=keep_timestamps)


def export_ranges(settings: Settings, tasks: Sequence[Task], known: Known = NOTHING_KNOWN) -> list[RangeResult]:
    """Some ranges, one after the other, over the real bucket and broker: the work of one Spark task."""
    from kafka_s3.adapters.s3 import S3Store

    return _export_ranges(
        settings, tasks, S3Store(settings.s3), make_source(settings), make_registries(settings, known)
    )


def make_source(settings: Settings) -> RecordSource:
    """A connector's records, from its real broker."""
    from kafka_s3.adapters.kafka import KafkaSource

    return KafkaSource(settings.kafka)


def _export_ranges(
    settings: Settings, tasks: Sequence[Task], store: ObjectStore, source: RecordSource, registries: Registries
) -> list[RangeResult]:
    gc.set_threshold(GC_THRESHOLD)
    return [export_range(settings, task, store, source, registries) for task in tasks]


def make_local_execute(
    settings: Settings,
    read: Callable[[int], None] = lambda _: None,
    done: Callable[[Sequence[RangeResult]], None] = lambda _: None,
    shared: FairPool | None = None,
    stores: MakeStore | None = None,
) -> Execute:
    """Executes ranges in this process, `tasks.max` at once: a run without Spark. `read` is told how many offsets were
    read, `done` which ranges have ended, from several threads; Ctrl-C ends the threads with their next batches, and
    what they have open is given up. `shared`: threads that other connectors have their turns in too, `stores`: what
    they have their buckets from.
    """
    registries = make_registries(settings)  # what one thread asks, all know

    @functools.cache  # one for the run: what its threads spend on requests that fail is counted together
    def store() -> ObjectStore:
        return (stores or make_store)(settings)

    def execute(tasks: Sequence[Task]) -> list[RangeResult]:
        ask_registries(settings, registries, tasks)
        objects, stopped = store(), threading.Event()

        def export(task: Task) -> list[RangeResult]:
            source = WatchedSource(make_source(settings), read, stopped)
            results = _export_ranges(settings, [task], objects, source, registries)
            done(results)
            return results

        if shared is not None:
            done_in_turns = shared.map(export, tasks, settings.limits.tasks_max)
            return [result for each in done_in_turns for result in each]
        with ThreadPoolExecutor(min(settings.limits.tasks_max, len(tasks))) as pool:
            try:
                return [result for done in pool.map(export, tasks) for result in done]
            finally:  # where all are done this stops none
                stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)

    return execute
