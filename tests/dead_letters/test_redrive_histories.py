"""Redriving over rewinds and restarts: what is of the export is sent, and a record once, whatever it was before."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3.adapters.memory import MemoryDeadLetters
from kafka_s3.bucket.dead_letter_objects import read_letters
from kafka_s3.dead_letter import DeadLetter, redriven_key
from kafka_s3.dead_letters.redrive import Redrive, Redriven, Wanted, redrive
from kafka_s3.errors import ConfigurationError, LogDamaged
from kafka_s3.log.entries import Kind, ObjectEntry, RangeEntry, Restart, TopicState
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.rewind.rewind import look, rewind
from kafka_s3.settings.converters import Converter
from kafka_s3.settings.run import Policies
from tests.dead_letters import test_redrive
from tests.dead_letters.letters import commit, letter, put_letters, replace_range
from tests.dead_letters.test_redrive import NOW_MS, RedrivenExport
from tests.export.place import SimpleExport
from tests.support import make_settings, request

world = test_redrive.world


# Over rewinds and restarts: what is of the export is sent, and a record once, whatever object its letter lies in.

TP = TopicPartition("orders", 0)
ALLOWED = Policies(record_data_loss=True, restart_recreated=True)


class Histories(SimpleExport):
    """Real runs over one partition. A record is `{"id": n}`, or n without the braces, which is bad JSON."""

    def __init__(self) -> None:
        super().__init__(1, tolerate=True, policies=ALLOWED)
        self.sink = MemoryDeadLetters()
        self.ids = itertools.count()

    def append(self, *bad: bool) -> None:
        end = self.broker.offsets([TP])[TP].high_watermark
        values = [b"%d}" % id if is_bad else b'{"id": %d}' % id for is_bad, id in zip(bad, self.ids, strict=False)]
        self.broker.append("orders", 0, *(Record(end + n, value) for n, value in enumerate(values)))

    def take(self, converter: Converter) -> None:
        """Another converter: STRING refuses nothing, JSON what is bad, LONG everything."""
        self.settings = make_settings(tolerate=True, policies=ALLOWED, converter=converter)

    def go_back(self, to: int) -> None:
        rewind(self.exporter(), look(self.exporter(), {TP: to}), request("by hand"))

    def try_to_go_back(self, to: int) -> None:
        with contextlib.suppress(ConfigurationError):
            self.go_back(max(0, to))

    def run_as(self, converter: Converter) -> None:
        self.take(converter)
        self.run(f"run-{next(self.ids)}")

    def redrive(self, *, again: bool = False, to: str | None = None, **wanted: Any) -> Redriven:
        return redrive(
            self.log,
            Wanted(**wanted),
            exports={"orders"}.__contains__,
            to=to,
            again=again,
            sink=self.sink,
            at_ms=NOW_MS,
            tell=lambda _: None,
        )

    def sent(self) -> list[int]:
        """The records that were sent since the last call."""
        found = [_id(each) for each in self.sink.sent]
        self.sink.sent.clear()
        return found

    def live_letters(self) -> list[int]:
        """The records that are letters for a reader of the log, which is followed from its oldest entry here."""
        kept: list[RangeEntry] = []
        live: list[RangeEntry] = []
        for entry in self.entries():
            for restart in entry.restarts:
                if restart.withdrawn:
                    live = [done for done in live if done.start < restart.position]
                else:
                    kept, live = [*kept, *live], []
            live += entry.ranges
        letters = [letter for done in (*kept, *live) if done.dead_letters for letter in read_letters(self.log, done)]
        return sorted(map(_id, letters))


def _id(letter: DeadLetter) -> int:
    return int(re.sub(rb"\D", b"", letter.value or b""))


@pytest.fixture
def histories() -> Histories:
    return Histories()


def test_letters_that_are_exported_well_after_a_rewind(histories: Histories) -> None:
    """The converter was wrong, is corrected, and the range is rewound: its letters are letters no more. They are not
    sent, neither before the next run nor after it, and --again does not send them either."""
    histories.append(True, True, True, True)
    histories.run("wrong")
    assert histories.newest.ranges[0].rejected == 4
    histories.take(Converter.STRING)
    histories.go_back(0)
    assert histories.redrive() == Redriven()
    histories.run("corrected")
    assert (histories.newest.ranges[0].records, histories.newest.ranges[0].rejected) == (4, 0)
    assert histories.redrive() == Redriven()
    assert histories.redrive(again=True) == Redriven()
    assert histories.redrive(to="fixed") == Redriven()
    assert histories.sent() == []


def test_a_letter_that_is_one_again_after_a_rewind(histories: Histories) -> None:
    """It lies in another object under another generation, and its record was sent all the same: not to the same topic
    again, unless --again is said; to another topic, and what was not sent before, as ever."""
    histories.append(True, False, True, False)
    histories.run("first")
    assert histories.redrive(offsets=(0, 1)) == Redriven(1, 0, {"orders": 1})
    histories.go_back(0)
    histories.run("second")
    assert histories.redrive() == Redriven(2, 1, {"orders": 1})
    assert histories.sent() == [0, 2]
    assert histories.redrive() == Redriven(2, 2, {})
    assert histories.redrive(to="fixed") == Redriven(2, 0, {"fixed": 2})
    assert histories.redrive(again=True) == Redriven(2, 0, {"orders": 2})
    assert histories.sent() == [0, 2, 0, 2]
    histories.go_back(0)
    histories.run("third")
    assert histories.redrive() == Redriven(2, 2, {})
    assert histories.redrive(to="fixed") == Redriven(2, 2, {})


def test_a_letter_that_was_sent_and_exported_well(histories: Histories) -> None:
    """What was sent back is exported well as a new record; a rewind then makes its old offset a letter anew. It would
    be in the export twice if it were sent once more."""
    histories.append(True, False)
    histories.run("first")
    histories.redrive()
    histories.append(False)  # as somebody corrected it
    histories.run("second")
    histories.go_back(0)
    histories.run("third")
    assert histories.live_letters() == [0]
    assert histories.redrive() == Redriven(1, 1, {})


def test_records_that_became_bad_between_those_that_were_sent(histories: Histories) -> None:
    """Letters 0 and 4 were sent, as one run of their object. After a rewind what lies between them is refused too: it
    was never sent, so it is now."""
    histories.append(True, False, False, False, True)
    histories.run("first")
    histories.redrive()
    [record] = [json.loads(body) for key, body in histories.store.contents().items() if "/redriven/" in key]
    assert (record["offsets"], record["letters"]) == ([[0, 4]], 2)
    histories.sent()
    histories.take(Converter.LONG)
    histories.go_back(0)
    histories.run("worse")
    assert histories.newest.ranges[0].rejected == 5
    assert histories.redrive() == Redriven(5, 2, {"orders": 3})
    assert [each.offset for each in histories.sink.sent] == [1, 2, 3]


def test_withdrawn_letters_that_are_gone(histories: Histories) -> None:
    """No reader needs them, and where every offset of a run was sent nor does this. Otherwise it is said that they are
    missing, before anything of the range is sent, and --again needs them no more."""
    histories.append(True, False, True, False)
    histories.run("first")
    histories.redrive(offsets=(2, 3))
    histories.go_back(0)
    histories.run("second")
    [gone] = [key for key in histories.store.contents() if "/rejected/" in key and "+g1" not in key]
    body = histories.store.contents()[gone]
    histories.store.delete(gone)
    assert histories.redrive() == Redriven(2, 1, {"orders": 1})

    histories.store.put_if_absent(gone, body)
    histories.redrive(again=True)
    histories.go_back(0)
    histories.run("third")
    [gone] = [key for key in histories.store.contents() if "/rejected/" in key and "+g1" in key]
    histories.store.delete(gone)
    histories.sent()
    with pytest.raises(LogDamaged, match=r"\+g1.*gone.*--again sends whatever"):
        histories.redrive()
    assert histories.sent() == []
    assert histories.redrive(again=True).sent == {"orders": 2}


def test_a_withdrawn_key_of_something_else(world: RedrivenExport) -> None:
    """Records of redrives are looked for beside keys of dead letters only, of withdrawn ranges too."""
    right = put_letters(world.log, [letter(20)])
    assert right.dead_letters is not None
    wrong: ObjectEntry = msgspec.structs.replace(right.dead_letters, key="_kafka_s3/orders/log/20")
    commit(world.log, replace_range(TP, 20, 21, 1, wrong))
    restart = Restart(topic="orders", partition=0, generation=1, position=20, withdrawn=True, reason="rewound")
    commit(world.log, kind=Kind.REWIND, restarts=(restart,))
    commit(world.log, put_letters(world.log, [letter(20)], generation=1))
    with pytest.raises(LogDamaged, match="is not the key of dead letters"):
        world.redrive(offsets=(20, 21))
    assert world.redrive(offsets=(20, 21), again=True).sent == {"orders": 1}


def test_a_topic_created_again_has_other_records(histories: Histories) -> None:
    """Its offsets are those that were sent of the former topic, and its letters others: they are sent, and those of the
    former topic, which stay in the export, are not sent twice. A rewind of the new topic changes nothing of that."""
    histories.append(True, True)
    histories.run("first")
    histories.go_back(0)
    histories.run("second")
    assert histories.redrive() == Redriven(2, 0, {"orders": 2})
    histories.broker.recreate_topic("orders")
    histories.append(True, True)
    histories.run("third")
    assert histories.redrive() == Redriven(4, 2, {"orders": 2})
    assert histories.sent() == [0, 1, 2, 3]
    histories.go_back(0)
    histories.run("fourth")
    assert histories.redrive() == Redriven(4, 4, {})


def test_a_truncated_log_has_other_records_from_there_on(histories: Histories) -> None:
    """Letters 0 to 3 were sent, and an unclean election cuts the log off at 2: 2 and 3 are others now, and are sent,
    once, whatever is rewound on either side."""
    histories.append(True, True, True, True)
    histories.run("first")
    histories.redrive()
    histories.go_back(0)
    histories.run("second")
    assert histories.redrive() == Redriven(4, 4, {})
    histories.broker.truncate("orders", 0, 2)
    histories.append(True, True)
    histories.run("third")
    assert [(each.position, each.withdrawn) for each in histories.entries()[-2].restarts] == [(2, False)]
    assert histories.redrive() == Redriven(6, 4, {"orders": 2})
    assert histories.sent() == [0, 1, 2, 3, 4, 5]
    histories.go_back(2)
    histories.run("fourth")
    assert histories.redrive() == Redriven(6, 6, {})


def test_a_partition_that_came_back_later(histories: Histories) -> None:
    """A topic that is created again with fewer partitions has no restart of the others; when they are added, it is the
    topic's id that tells their records from those of before."""
    tp, state = TopicPartition("orders", 7), TopicState(topic_id="before")
    log = histories.log
    first = put_letters(log, [letter(0, tp)])
    commit(log, first, topics={"orders": state})
    withdrawn = Restart(topic="orders", partition=7, generation=1, position=0, withdrawn=True, reason="r")
    commit(log, restarts=(withdrawn,), kind=Kind.REWIND, topics={"orders": state})
    assert histories.redrive() == Redriven()
    # Sent before it was withdrawn, as its record says.
    made = first.dead_letters
    assert made is not None
    run = Redrive(to="orders", object=made.key, sha256=made.sha256, offsets=((0, 0),), letters=1, at_ms=0)
    log.store.put_if_absent(redriven_key(log.layout, "orders", made.key, 0), msgspec.json.encode(run))
    other = put_letters(log, [letter(0, tp)], generation=2)
    commit(log, other, topics={"orders": TopicState(topic_id="after", generation=2)})
    assert histories.redrive() == Redriven(1, 0, {"orders": 1})


CONVERTERS = st.sampled_from([Converter.JSON, Converter.LONG, Converter.STRING])
STEPS = st.one_of(
    st.tuples(st.just("append"), st.lists(st.booleans(), min_size=1, max_size=3)),
    st.tuples(st.just("run"), CONVERTERS),
    st.tuples(st.just("rewind"), st.integers(1, 6)),
    st.tuples(st.just("rewind, run"), st.tuples(st.integers(1, 6), CONVERTERS)),
    st.tuples(st.just("truncate"), st.integers(1, 3)),
    st.tuples(st.just("recreate"), st.lists(st.booleans(), min_size=1, max_size=3)),
    st.tuples(st.just("redrive"), st.tuples(st.integers(0, 3), st.integers(1, 8))),
    st.tuples(st.just("redrive"), st.just((0, 100))),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(STEPS, min_size=5, max_size=15))
def test_whatever_happened_before(steps: list[tuple[str, Any]]) -> None:
    """Over converters that change, rewinds, truncated and recreated topics: what is sent is a letter of the export at
    that moment, no record is sent twice, and in the end every letter of the export was sent."""
    histories, sent = Histories(), []
    histories.append(True, False, True)
    histories.run("first")
    for step, what in [*steps, ("redrive", (0, 100))]:
        end, position = histories.broker.offsets([TP])[TP].high_watermark, histories.positions()[0]
        match step:
            case "append":
                histories.append(*what)
            case "run":
                histories.run_as(what)
            case "rewind":
                histories.try_to_go_back(position - what)
            case "rewind, run":
                histories.try_to_go_back(position - what[0])
                histories.run_as(what[1])
            case "truncate" if position == end:  # what is rewound before a run sees it is taken for the same records
                histories.broker.truncate("orders", 0, max(0, end - what))
                histories.append(*[True] * what)
                histories.run_as(Converter.JSON)
            case "recreate":
                histories.broker.recreate_topic("orders")
                histories.append(*what)
            case "redrive":
                live = histories.live_letters()
                histories.redrive(offsets=(what[0], sum(what)))
                now = histories.sent()
                assert set(now) <= set(live)
                sent += now
    assert len(sent) == len(set(sent))
    assert set(histories.live_letters()) <= set(sent)
