"""Reporting: committed dead letters go to their topic (`errors.deadletterqueue.topic.name`), at least once, in order.

They come from the objects that the log lists, so nothing is produced for what was not committed. `reported/<seq>`
marks how far that has come: the letters of this entry, and of every one before, are safe in the topic. It is written
after them, so whoever dies between the two leaves them to the next run, which sends them again.

What a rewind withdrew is reported too: the topic says what each commit refused. Otherwise it would depend on whether
the report or the rewind came first, and nobody exports from that topic, so that nothing is doubled.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from kafka_s3.bucket.dead_letter_marks import reported
from kafka_s3.bucket.dead_letter_objects import CommittedDeadLetters, commits_with_letters, read_letters
from kafka_s3.dead_letter import DeadLetter, reported_key
from kafka_s3.events import DeadLettersSent, Tell
from kafka_s3.export.exporter import Exporter
from kafka_s3.log.store import Log
from kafka_s3.ports import DeadLetterSink


def report(exporter: Exporter, sink: DeadLetterSink, tell: Tell) -> int:
    """Produce the dead letters of every commit that was not reported yet, and say how many.

    Where nothing was committed since, it costs two LISTs; a marker is written only where there is something new.
    """
    log, total = exporter.log, 0
    before = reported(log)
    newest, commits = commits_with_letters(log, after_seq=before)
    marked = before
    for commit in commits:
        sending = _DeadLetters(log, commit)
        sink.send(sending)
        _mark(log, commit.seq, sending.count)
        tell(DeadLettersSent(seq=commit.seq, topic=exporter.settings.dead_letters.topic or "", count=sending.count))
        marked, total = commit.seq, total + sending.count
    if newest > marked:
        _mark(log, newest, 0)
    return total


class _DeadLetters:
    """The letters of a commit, counted as they are read."""

    def __init__(self, log: Log, commit: CommittedDeadLetters) -> None:
        self._log = log
        self._commit = commit
        self.count = 0

    def __iter__(self) -> Iterator[DeadLetter]:
        for done in self._commit.ranges:
            for letter in read_letters(self._log, done):
                self.count += 1
                yield letter


def _mark(log: Log, seq: int, letters: int) -> None:
    """Someone else may have done so: what it says is true either way."""
    log.put(reported_key(log.layout, seq), json.dumps({"seq": seq, "letters": letters}).encode())
