"""What is committed, as events of assets: one asset a connector, one a topic.

A DAG that runs on an asset runs for every commit, and for every hour that held nothing. Events are told at least once:
an entry is marked as announced after Airflow has stored its events.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from airflow.sdk import Asset, AssetAlias

from kafka_s3.attempts import Raised, attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from airflow.sdk import Context

    from kafka_s3.log.entries import Epoch
    from kafka_s3.log.store import Log
    from kafka_s3.naming import LogLayout
    from kafka_s3.publish.announce import Announcement
    from kafka_s3.settings import Settings
    from kafka_s3.wiring import MakeStore

_ANNOUNCED: Final = "kafka_s3_announced"  # in the task's context: what was announced, of each log


def asset_of(connector: str, topic: str | None = None) -> Asset:
    """What a connector's commits are events of, or those of one topic. A scheme with x- loads no provider."""
    name = connector if topic is None else f"{connector}/{topic}"
    return Asset(name=f"kafka-s3/{name}", uri=f"x-kafka-s3://{name}")


def outlets_of(connector: str, topics: Sequence[str], task: str) -> list[Asset | AssetAlias]:
    """What a task that announces declares: the assets, so that they can be seen before their first event, and an alias.

    Whatever an event needs and Airflow does not have, it makes on the way; of two tasks that are the first to need it,
    Airflow 3.3 fails one for good, though it had done its work. What is declared is made beforehand; what belongs to an
    alias and an asset together is not, so each task has its own alias, and Airflow is asked to run it once at a time
    (`max_active_tis_per_dag`).
    """
    return [*_assets_of(connector, topics), _alias_of(connector, task)]


def outlets_of_group(group: str, topics: Mapping[str, Sequence[str]], task: str) -> list[Asset | AssetAlias]:
    """The same of a group's task: the assets of all its connectors. `topics`: of each by its name."""
    known = [asset for connector, of_it in topics.items() for asset in _assets_of(connector, of_it)]
    return [*known, _alias_of(group, task)]


def _assets_of(connector: str, topics: Sequence[str]) -> list[Asset]:
    known = [topic for topic in topics if "$" not in topic]  # variables are resolved when a task runs
    return [asset_of(connector), *(asset_of(connector, topic) for topic in known)]


def _alias_of(connector: str, task: str) -> AssetAlias:
    return AssetAlias(f"kafka-s3/{connector}/{task}")


def announce(context: Context, log: Log, settings: Settings, ended_ms: int | None = None) -> int:
    """Make what is not announced yet events of the connector's and its topics' assets; how many there are.

    `ended_ms`: the time now, where none of the run's tasks failed: up to where all is complete is told too. A task has
    an event for an outlet that is an asset, whatever it did, and none if Airflow does not know the asset yet. So all go
    through the alias that the task declares, which is its only outlet for this try.
    """
    context["task"].outlets = []  # if reading the log fails, too
    alias = _alias_of(log.layout.connector, context["task"].task_id.rpartition(".")[2])  # without the group's prefix
    return _announce(context, alias, [Announced.of(log, settings, lambda _: log.store, ended_ms)])


@dataclass(frozen=True, slots=True)
class Announced:
    """What of a connector's log is not announced yet. `log` opens that log once more when it is marked: until then a
    thousand connectors would each keep a client of S3's."""

    connector: str
    made: Announcement
    log: Callable[[], Log]

    @classmethod
    def of(cls, log: Log, settings: Settings, make_store: MakeStore, ended_ms: int | None = None) -> Announced:
        """As it is in the log now; `ended_ms` as in `announce`."""
        from kafka_s3.publish.announce import announcement

        made = announcement(log, settings.s3.bucket, settings.exports, ended_ms, named=settings.topics)
        again = functools.partial(_same_log, settings, log.layout, log.epoch, make_store)
        return cls(log.layout.connector, made, again)


def _same_log(settings: Settings, layout: LogLayout, epoch: Epoch | None, make_store: MakeStore) -> Log:
    """That of an epoch, whatever was begun since."""
    from kafka_s3.log.store import Log

    return Log(make_store(settings), layout, settings.log_key, epoch=epoch)


def announce_all(context: Context, of_each: Sequence[Announced]) -> int:
    """As `announce`, of several connectors by one task of a group; how many events there are."""
    return _announce(context, _alias_of(context["dag"].dag_id, context["task"].task_id), of_each)


def _announce(context: Context, alias: AssetAlias, of_each: Sequence[Announced]) -> int:
    events = [(each.connector, event) for each in of_each for event in each.made.events]
    context["task"].outlets = [alias] if events else []
    for connector, event in events:
        context["outlet_events"][alias].add(asset_of(connector, event.topic), extra=event.extra)
    cast("dict[str, Any]", context)[_ANNOUNCED] = [each for each in of_each if each.made.seqs]
    return len(events)


def mark_announced(context: Context) -> None:
    """After a task succeeded, so after Airflow stored its events: mark what they announced, and count it.

    Airflow calls this in the task's process once the server has confirmed the success. If it does not come to that,
    the entries are announced again: at least once.
    """
    announced: list[Announced] = cast("dict[str, Any]", context).get(_ANNOUNCED, [])
    if announced:
        from kafka_s3.ordered_pool import PARALLEL, map_ordered, workers

        with workers(PARALLEL) as pool:
            marked = list(map_ordered(pool, lambda each: attempt(_mark, each), announced, PARALLEL))
        # What is not marked is announced again; the others are, all the same.
        errors = [each.error for each in marked if isinstance(each, Raised)]
        if errors:
            raise errors[0]


def _mark(announced: Announced) -> None:
    from kafka_s3.publish.announce import mark
    from kafka_s3_airflow.counters import count

    log = announced.log()
    count(log, [seq for seq in announced.made.seqs if mark(log, seq)])


def after_success(ours: Callable[[Context], None], *default_args: Mapping[str, Any]) -> list[Any]:
    """What is called once a task that announces succeeded: ours, and then the first callback that is given."""
    name = "on_success_callback"
    given: Any = next((each[name] for each in default_args if each.get(name)), [])
    return [ours, *(given if isinstance(given, list | tuple) else [given])]
