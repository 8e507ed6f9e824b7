"""Cases of everything else: what a connector's commands do, one after the other, to a bucket that starts empty.

Every command with --json is called; what it prints is a document, and so is every object of the bucket at the end,
under the part of its key behind the connector's name (log, plan, rejected, announced, …).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.golden.harness import HOUR_MS, MINUTE_MS, NOON_MS, Documents, Given, GoldenExport
from tests.golden.objects import Case
from tests.golden.records import kinds, plain

_HOUR = ("--interval", "2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z")
_NEXT_HOUR = ("--interval", "2026-01-01T13:00:00Z", "2026-01-01T14:00:00Z")
_WINDOW = ("--from", "2026-01-01T12:00:00Z", "--to", "2026-01-01T13:00:00Z")
_BY_HOUR = {
    "partitioner.class": "HourlyPartitioner",
    "timestamp.extractor": "Record",
    "locale": "en",
    "timezone": "UTC",
    "export.completeness.marker.enable": "true",
    "export.timestamps.enable": "true",
}
_TOLERANT = {"errors.tolerance": "all", "export.errors.fraction.attention": "1", "behavior.on.null.values": "ignore"}
_KEY = {"export.log.key": "a-key-of-the-golden-set-that-is-long-enough"}


class Story:
    """A world, and the documents that its commands made so far."""

    def __init__(self, folder: Path, properties: Mapping[str, str] | None = None, **topics: int) -> None:
        self.world = GoldenExport(folder, properties or {}, topics=topics or {"orders": 2})
        self.documents: list[tuple[str, bytes]] = []
        self._number = 0

    def produce(self, *at_minutes: int | None, partition: int = 0, topic: str = "orders", bad: bool = False) -> None:
        """A record for each minute after noon."""
        for at in at_minutes:
            number = self.world.ends.get((topic, partition), 0)
            value = b"{broken" if bad else json.dumps(plain(number)).encode()
            at_ms = None if at is None else at * MINUTE_MS
            self.world.produce(Given(value, b"k", at_ms, (("a", b"x"),)), topic=topic, partition=partition)

    def call(self, command: str, *arguments: str) -> None:
        """Its exit status and what it printed."""
        status, printed = self.world.call(command, *arguments)
        self._number += 1
        self.add(f"{self._number:02} {' '.join([command, *arguments])}", f"{status}\n{printed}".encode())

    def run(self, *when: str) -> None:
        self.call("run", *(when or ("--until-now",)), "--run-id", f"run-{self._number}", "--json")

    def announce(self) -> None:
        told = self.world.announce()
        for name, body in told:
            self.add(f"events/{self._number} {name}", body)

    def page(self, *seqs: int) -> None:
        for name, body in self.world.page(seqs):
            self.add(f"page/{self._number} {name}", body)

    def add(self, name: str, body: bytes) -> None:
        self.documents.append((name, body))

    def end(self) -> Documents:
        """With what lies in the bucket now, and what Kafka was sent."""
        self.call("status", "--json")
        self.call("verify", "--json")
        for key, body in self.world.bucket():
            root, _, rest = key.partition("/")
            part = rest.split("/")[1] if root == "_kafka_s3" and rest.startswith("orders/") else root
            self.add(f"{'owners' if rest.startswith('owners/') else part}/{key}", body)
        for name, body in self.world.sent():
            self.add(f"sent/{name}", body)
        return self.documents


def _hours(folder: Path) -> Documents:
    """Hours with records, without any, and a late one; two topics, dead letters, marks and events."""
    story = Story(folder, {**_TOLERANT, **_BY_HOUR, "topics": "orders,returns"}, orders=2, returns=1)
    story.call("status", "--json")
    story.call("plan", *_HOUR, "--json")
    story.produce(1, 20, 59, 61, 62, 130)
    story.produce(5, 59, partition=1)
    story.produce(3, partition=1, bad=True)
    story.produce(70, partition=1)
    story.produce(2, 65, topic="returns")
    story.call("plan", *_HOUR, "--json")
    story.run(*_HOUR)
    story.announce()
    story.world.now_ms += HOUR_MS
    story.page(0, 1)
    story.call("plan", *_NEXT_HOUR, "--write", "--json")
    story.page(1)
    story.run(*_NEXT_HOUR)
    story.run(*_NEXT_HOUR)
    story.announce()
    story.world.now_ms += HOUR_MS
    story.produce(4, 131, 132)
    story.run()
    story.announce()
    story.call("status", "--json", "--entries", "50")
    story.call("verify", "--against-kafka", "--json")
    story.call("gc", "--json")
    story.call("redrive", "--dry-run", "--json")
    story.call("redrive", "--json")
    story.call("redrive", "--json")
    story.world.now_ms += MINUTE_MS
    story.page(2, 3)
    return story.end()


def _quiet(folder: Path) -> Documents:
    """Before the first run; hours in which nothing is new; a connector that is late; Kafka that does not answer; and
    entries that are no commits, told alone."""
    story = Story(folder, {**_BY_HOUR, "topics": "orders,returns"}, orders=2, returns=1)
    story.call("verify", "--json")
    story.page()
    story.call("plan", *_HOUR, "--json")
    story.run(*_HOUR)
    story.announce()
    story.produce(61, 62)
    story.world.now_ms = NOON_MS + 5 * HOUR_MS
    story.page(0)
    story.run(*_NEXT_HOUR)
    story.announce()
    for hour in (14, 15):
        story.run("--interval", f"2026-01-01T{hour}:00:00Z", f"2026-01-01T{hour + 1}:00:00Z")
        story.announce()
    story.call("rewind", "--to", "orders-0=0", "--yes", "--json")
    story.announce()
    story.world.broker.set_log_start("orders", 0, 1)
    story.call("rewind", "--accept", "orders-0", "--json")
    story.announce()
    story.world.kafka_fails()
    story.call("status", "--json")
    story.world.kafka_fails()
    story.run()
    story.world.kafka_fails()
    story.page(2)
    return story.end()


def _windows(folder: Path) -> Documents:
    """Windows of time exported again: from Kafka, from objects, withdrawn and anew."""
    story = Story(folder, {**_BY_HOUR, "export.reexport.enable": "true", "flush.size": "2"})
    story.produce(1, 20, 59, 61)
    story.produce(2, 70, partition=1)
    story.run()
    story.produce(5, 62)
    story.run()
    story.world.now_ms += 3 * HOUR_MS
    story.run()
    story.world.broker.set_log_start("orders", 0, 2)
    story.call("reexport", *_WINDOW, "--run-id", "again-1")
    story.call("reexport", *_WINDOW, "--run-id", "again-2")
    story.produce(6)
    story.run()
    story.call("reexport", *_WINDOW, "--run-id", "again-3", "--anew")
    story.call("status", "--json")
    story.page(1, 2)
    story.call("gc", "--json")
    for key, body in story.world.bucket("reexport/"):
        story.add(f"objects/{key}", body)
    story.call("reexport", *_WINDOW, "--run-id", "again-4", "--withdraw")
    story.call("gc", "--delete", "--json")
    texts = {"reexport"}  # it prints sentences alone
    story.documents = [each for each in story.documents if not texts & set(each[0].split()[1:2])]
    return story.end()


def _rewound(folder: Path) -> Documents:
    """A partition exported again by hand."""
    story = Story(folder)
    story.produce(*range(12))
    story.produce(*range(4), partition=1)
    story.run()
    story.produce(*range(12, 18))
    story.run()
    story.call("rewind", "--to", "orders-0=13", "--json")
    story.call("rewind", "--to", "orders-0=13", "--yes", "--json")
    story.announce()
    story.call("plan", "--until-now", "--json")
    story.run()
    story.call("gc", "--withdrawn", "--json")
    story.page(1, 2, 3)
    story.call("gc", "--withdrawn", "--delete", "--json")
    story.call("verify", "--against-kafka", "--json")
    return story.end()


def _lost(folder: Path) -> Documents:
    """What Kafka lost: a start that is gone, a topic created again; accepted by hand."""
    story = Story(folder)
    story.produce(*range(6))
    story.produce(*range(3), partition=1)
    story.run()
    story.produce(*range(6, 12))
    story.world.broker.set_log_start("orders", 0, 9)
    story.run()
    story.call("status", "--json")
    story.call("plan", "--until-now", "--json")
    story.page(1)
    story.call("rewind", "--accept", "orders-0", "--json")
    story.run()
    story.announce()
    story.world.broker.recreate_topic("orders")
    story.world.ends.clear()
    story.produce(1, 2)
    story.run()
    story.call("status", "--json")
    story.call("verify", "--json")
    story.call("rewind", "--accept", "orders", "--json")
    story.run()
    story.announce()
    story.page(3, 4)
    return story.end()


def _allowed(folder: Path) -> Documents:
    """The same where the configuration allows it."""
    policies = {"export.on.data.loss": "record", "export.on.topic.recreated": "restart"}
    story = Story(folder, policies)
    story.produce(*range(6))
    story.run()
    story.produce(*range(6, 12))
    story.world.broker.set_log_start("orders", 0, 9)
    story.run()
    story.world.broker.recreate_topic("orders")
    story.world.ends.clear()
    story.produce(1, 2)
    story.run()
    story.announce()
    story.page(1)
    return story.end()


def _stopped(folder: Path) -> Documents:
    """A bad record stops its partition; the others go on, and the configuration lets it pass later."""
    story = Story(folder, {"export.range.records.max": "10000"})
    story.produce(*range(7))
    story.produce(7, bad=True)
    story.produce(8, 9)
    story.produce(*range(3), partition=1)
    story.run()
    story.call("status", "--json")
    story.call("plan", "--until-now", "--json")
    story.page(1)
    story.announce()
    story.run()
    story.world.configure({**_TOLERANT, "errors.deadletterqueue.topic.name": "bad"})
    story.run()
    story.announce()
    story.page(2)
    return story.end()


def _voided(folder: Path) -> Documents:
    """A plan of another configuration is voided, and its orphans are found."""
    story = Story(folder)
    story.produce(*range(9))
    story.call("plan", "--until-now", "--write", "--json")
    story.world.configure({"s3.compression.type": "gzip", "flush.size": "4"})
    story.run()
    story.world.store.put_if_absent("topics/orders/partition=0/orders+0+0000000002.json.gz", b"left")
    story.world.store.start_multipart("topics/orders/partition=0/orders+0+0000000003.json.gz")
    story.call("verify", "--json")
    story.call("gc", "--json")
    story.call("gc", "--delete", "--json")
    story.announce()
    return story.end()


def _adopted(folder: Path) -> Documents:
    """Data of the Connect sink, without a log."""
    story = Story(folder)
    story.produce(*range(12))
    for start in (0, 5):
        rows = "".join(json.dumps(plain(number)) + "\n" for number in range(start, start + 5))
        key = f"topics/orders/partition=0/orders+0+{start:010}.json"
        story.world.store.put_if_absent(key, rows.encode())
    story.run()
    story.call("adopt", "--json")
    story.call("adopt", "--from-objects", "--json")
    story.call("adopt", "--from-objects", "--yes", "--json")
    story.run()
    story.announce()
    story.call("gc", "--json")
    return story.end()


def _signed(folder: Path) -> Documents:
    """A log that is signed from its first entry on."""
    story = Story(folder, {**_KEY, **_TOLERANT, "errors.deadletterqueue.topic.name": "bad",
                           "errors.deadletterqueue.context.headers.enable": "true"})  # fmt: skip
    story.produce(*range(6))
    story.produce(6, bad=True)
    story.run()
    story.announce()
    story.produce(7)
    story.run()
    story.page(1)
    return story.end()


def _beside(folder: Path) -> Documents:
    """Keys, headers and tombstones beside the values, of three versions of an Avro schema."""
    kind = kinds()["Avro"]
    stored = {"store.kafka.keys": "true", "store.kafka.headers": "true", "behavior.on.null.values": "write"}
    properties = {**_TOLERANT, **kind.properties, **stored, "format.class": "AvroFormat", "flush.size": "9"}
    story = Story(folder)
    story.world = GoldenExport(folder, properties, **kind.known)
    story.world.produce(*kind.records(), holes=3)
    story.run()
    story.announce()
    story.call("verify", "--against-kafka", "--json")
    story.page(1)
    story.call("redrive", "--to", "elsewhere", "--json")
    return story.end()


def _configured(folder: Path) -> Documents:
    """What `validate` says of a configuration, and of everything wrong with one; and what `preview` does."""
    story = Story(folder, {**_BY_HOUR, **_TOLERANT, "store.kafka.keys": "true"})
    story.call("validate", "--json")
    lines = [json.dumps({"offset": n, "timestamp": NOON_MS + n, "key": f"k{n}", "value": plain(n)}) for n in range(12)]
    lines.append('{"offset": 12, "value_base64": "AAE="}')
    (folder / "records.jsonl").write_text("\n".join(lines))
    story.call("preview", "--records", "records.jsonl", "--at", "2026-01-01T12:00:00Z", "--out", "out")
    for path in sorted((folder / "out").rglob("*")):
        if path.is_file():
            story.add(f"previewed/{path.relative_to(folder / 'out')}", path.read_bytes())
    story.world.configure({"flush.size": "many", "flush.sise": "3", "s3.acl.canned": "x", "format.class": "XmlFormat"})
    story.call("validate", "--json")
    return story.documents


_STORIES: Mapping[str, Callable[[Path], Documents]] = {
    "hours": _hours,
    "quiet": _quiet,
    "windows": _windows,
    "rewound": _rewound,
    "lost": _lost,
    "allowed": _allowed,
    "stopped": _stopped,
    "voided": _voided,
    "adopted": _adopted,
    "signed": _signed,
    "beside": _beside,
    "configured": _configured,
}


def cases() -> Iterator[tuple[str, Case]]:
    for name, story in _STORIES.items():
        yield f"history/{name}", story
