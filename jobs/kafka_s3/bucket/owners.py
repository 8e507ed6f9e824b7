"""What is done once: is the store good enough, are these topics ours, and where does the export of each begin."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from kafka_s3.crash_points import CrashPoint, crash_point
from kafka_s3.errors import ConfigurationError, Fenced, LogDamaged, LogMissing, StoreRefused, StoreUnavailable
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Owner, TopicState
from kafka_s3.log.store import Log
from kafka_s3.naming import parse_data_key
from kafka_s3.ports import Put
from kafka_s3.settings.model import Settings

_NO_FIRST_RUN = (
    "A first run would export the topic a second time. If the Connect S3 sink wrote these objects, or the log is lost:"
    " `kafka-s3 adopt CONFIG` finds the positions to go on from. Otherwise restore the log from the bucket's versions,"
    " set export.log.dir if it was moved, or give the connector a topics.dir of its own."
)
_NO_ADOPTION = (
    "A first run would export the topic a second time, and adopt is for connectors without a log. Give the topic to a"
    " connector of its own (another name, the same topics.dir), which `kafka-s3 adopt` can begin; or move the objects."
)


def check_no_traces(log: Log, settings: Settings, topics: Mapping[str, TopicState]) -> None:
    """Raise `LogMissing` if the log is empty although something of this connector is already in the bucket."""
    if log.epoch is not None:
        _refuse_if_overtaken(log)
        raise LogMissing(
            f"Connector {settings.name} has begun a log ({log.layout.epoch_key(log.epoch.number)}) and no log entry "
            f"under {log.layout.log_prefix}.",
            next=_NO_FIRST_RUN,
        )
    for info in log.store.list(f"{log.layout.home}plan/", limit=1):  # of whatever epoch
        _refuse_if_overtaken(log)
        raise LogMissing(
            f"Connector {settings.name} has a plan ({info.key}) and no log entry under {log.layout.name}.",
            next=_NO_FIRST_RUN,
        )
    for topic in sorted(topics):
        owner = _owner(log, settings, topic)
        if owner is not None:
            _refuse_other_owner(log, settings, topic, owner)
            _refuse_if_overtaken(log)
            raise LogMissing(
                f"Connector {settings.name} owns topic {topic} and has no log entry under {log.layout.name}.",
                next=_NO_FIRST_RUN,
            )


def check_no_data(log: Log, settings: Settings, topic: str, *, has_log: bool) -> None:
    """Raise if a topic seen for the first time belongs to another connector, or has objects already."""
    owner = _owner(log, settings, topic)
    if owner is not None:
        _refuse_other_owner(log, settings, topic, owner)
    prefix = settings.layout.topic_prefix(topic)
    shared = settings.layout.is_shared
    for info in log.store.list(prefix, limit=None if shared else 1):
        if shared and parse_data_key(settings.layout, topic, info.key) is None:
            continue  # of another topic
        _refuse_if_overtaken(log, topic)
        raise LogMissing(
            f"Topic {topic} has objects under {prefix} ({info.key}) that no log of connector {settings.name} lists.",
            next=_NO_ADOPTION if has_log else _NO_FIRST_RUN,
        )


def _refuse_if_overtaken(log: Log, topic: str | None = None) -> None:
    """Raise `Fenced` if the log holds by now what it did not when this run looked: another run saw the same first."""
    newest = log.current().newest()
    if newest is not None and (topic is None or topic in newest.entry.topics):
        raise Fenced(
            f"Another run of connector {newest.entry.connector} wrote log entry {newest.entry.seq} meanwhile "
            f"(run {newest.entry.run_id}, try {newest.entry.try_number}).",
            next="Nothing was changed; a retry reads the log again.",
        )


def is_ours(log: Log, settings: Settings, topic: str) -> bool:
    """Whether the topic has an owner, which is this connector; raises if it is another one."""
    owner = _owner(log, settings, topic)
    if owner is not None:
        _refuse_other_owner(log, settings, topic, owner)
    return owner is not None


def claim(log: Log, settings: Settings, topic: str, *, way_out: str = "topics.dir") -> None:
    """Write the owner object of a topic, or raise if its data keys belong to another connector.

    `way_out`: the property that says where they lie.
    """
    key = log.layout.owner_key(settings.layout.topics_dir, topic)
    put = log.put(key, encode(_ours(log, settings)))
    owner = _owner(log, settings, topic)
    if owner is None and put is Put.EXISTS:
        raise StoreUnavailable(f"The store answered 412 to a PUT of {key}, 404 to a GET.", next="Try again.")
    if owner is None:
        raise StoreRefused(
            f"{key} was written and cannot be read back.",
            next="The store loses writes: use one that is consistent after a write.",
        )
    _refuse_other_owner(log, settings, topic, owner, way_out)


def probe(log: Log, seq: int) -> None:
    """Raise `StoreRefused` unless the store keeps the promises that exactly-once rests on.

    Entry `seq` is there already, and nothing here changes it on a store that behaves: it is put again, listed, and
    completed once more as a multipart upload. What a try that was killed, or a lost answer, left of those is aborted.
    """
    store, key = log.store, log.layout.log_key(seq)
    body = store.get(key)
    if body is None:  # put as it was found, nothing would be an entry that nobody can read
        raise LogDamaged(f"{key} was written and is gone: something deletes log entries.", next="Stop it.")
    if store.put_if_absent(key, body) is Put.CREATED:
        _refuse_store("it took a PUT with If-None-Match: * although the object exists")
    if not any(info.key == key for info in store.list(key, limit=1)):
        _refuse_store(f"a LIST right after the PUT of {key} does not show it")
    upload = store.start_multipart(key)
    crash_point(CrashPoint.PROBING_STORE)
    with contextlib.ExitStack() as left:
        left.callback(upload.abort)  # whatever happens, no upload stays open
        upload.put_part(body)
        if upload.complete_if_absent() is Put.CREATED:
            _refuse_store("it completed a multipart upload with If-None-Match: * although the object exists")
    with contextlib.suppress(StoreRefused):  # listing uploads is a permission of its own, which no export needs
        for opened in list(store.uploads(log.layout.log_prefix)):
            store.abort_upload(opened)


def _refuse_store(why: str) -> None:
    raise StoreRefused(
        f"This store cannot be used: {why}. Two runs could overwrite each other's objects.",
        next="Use a store with conditional writes (Amazon S3, versitygw 1.8 or newer, MinIO, Cloudflare R2, …).",
    )


def _ours(log: Log, settings: Settings) -> Owner:
    return Owner(connector=settings.name, log=log.layout.name)


def _owner(log: Log, settings: Settings, topic: str) -> Owner | None:
    key = log.layout.owner_key(settings.layout.topics_dir, topic)
    data = log.get(key)
    return None if data is None else decode(Owner, key, data)


def _refuse_other_owner(log: Log, settings: Settings, topic: str, owner: Owner, way_out: str = "topics.dir") -> None:
    if owner != _ours(log, settings):
        key = log.layout.owner_key(settings.layout.topics_dir, topic)
        renamed = (
            f" If {owner.connector} is this connector's old name: give it back, or delete the owner object {key} and"
            " begin a log of the new name where the old one stopped: `kafka-s3 adopt CONFIG`."
        )
        raise ConfigurationError(
            f"Topic {topic} under {settings.layout.topic_prefix(topic)} belongs to connector {owner.connector} "
            f"(log {owner.log}), not to {settings.name} (log {log.layout.name}).",
            next=f"Two connectors may not write the same keys: give one of them another {way_out}."
            + (renamed if way_out == "topics.dir" else ""),
        )
