"""Do the generated histories notice what must never be done? One wrong change at a time, to a copy of the tree.

Each change is a few exact replacements of text; one whose text is no longer there fails, and has to be written anew.
The copy plays histories (`tests.scenario.hunt`, or for epochs those of a lost log, `tests.interleavings.hunt_lost`)
until one fails. The untouched copy plays them all first.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
COPIED: Final = ("jobs", "plugins", "tests", "tools", "pyproject.toml")
EXAMPLES: Final = 4000
EXPORT: Final = "jobs/kafka_s3/export"
ANY: Final = "tests.scenario.hunt"
LOST_LOG: Final = "tests.interleavings.hunt_lost"


@dataclass(frozen=True)
class Edit:
    """Text that is replaced wherever it stands in a file, which is once unless `times` says otherwise."""

    path: str
    before: str
    after: str
    times: int = 1

    def apply(self, root: Path) -> None:
        file = root / self.path
        text = file.read_text()
        found = text.count(self.before)
        if found != self.times:
            sys.exit(f"{self.path} has this text {found} times, not {self.times}: {self.before!r}")
        file.write_text(text.replace(self.before, self.after))


@dataclass(frozen=True)
class Mutation:
    """A wrong change, with the rule of docs/protocol.md that it breaks, and the histories that have to notice."""

    name: str
    edits: tuple[Edit, ...]
    plays: str = ANY


MUTATIONS: Final = (
    Mutation(
        "overwrite instead of the next free name",  # data goes out without If-None-Match
        (
            Edit(
                "jobs/kafka_s3/adapters/memory/store.py",
                "        if self._conditional_writes and key in self._objects:\n",
                '        if self._conditional_writes and key in self._objects and key.startswith("_"):\n',
            ),
        ),
    ),
    Mutation(
        "delete by age instead of by position",  # whatever nobody lists is old by now
        (
            Edit(
                "jobs/kafka_s3/bucket/orphans.py",
                "        return self in (Fate.BELOW, Fate.OLDER, Fate.WINDOW, Fate.WITHDRAWN)\n",
                "        return self is not Fate.ADOPTED\n",
            ),
        ),
    ),
    Mutation(
        "delete on void",
        (
            Edit(
                "jobs/kafka_s3/export/closing.py",
                "        tell(PlanVoided(seq=plan.seq, reason=why_not))\n",
                "        tell(PlanVoided(seq=plan.seq, reason=why_not))\n"
                "        from kafka_s3.naming import parse_data_key\n\n"
                "        for each in plan.ranges:\n"
                "            for info in list(exporter.store.list(settings.layout.topic_prefix(each.topic))):\n"
                "                name = parse_data_key(settings.layout, each.topic, info.key)\n"
                "                inside = name is not None and each.start <= name.start_offset < each.end\n"
                "                if inside and name.partition == each.partition:\n"
                "                    exporter.store.delete(info.key)\n",
            ),
        ),
    ),
    Mutation(
        "commit before PUT",
        (
            Edit(
                "jobs/kafka_s3/write/uploads.py",
                "            while not self._put_all(bodies, tags):\n                self._use_next_name()\n",
                "            LATER.append(lambda: self._put_all(bodies, tags))\n",
            ),
            Edit(
                "jobs/kafka_s3/write/uploads.py",
                "class ObjectGroupUpload:\n",
                "LATER = []\n\n\nclass ObjectGroupUpload:\n",
            ),
            Edit(
                "jobs/kafka_s3/export/closing.py",
                "    committed = exporter.log.put_entry(entry)\n",
                "    committed = exporter.log.put_entry(entry)\n"
                "    from kafka_s3.write.uploads import LATER\n\n"
                "    while LATER:\n        LATER.pop()()\n",
            ),
            Edit(
                "jobs/kafka_s3/export/run.py",
                "    state = begin(exporter, request, tell)\n    try:\n",
                "    from kafka_s3.write.uploads import LATER\n\n    LATER.clear()\n"
                "    state = begin(exporter, request, tell)\n    try:\n",
            ),
        ),
    ),
    Mutation(
        "take the last record, not the position",
        (
            Edit(
                "jobs/kafka_s3/export/task.py",
                "        holes.end(planned.end)\n        problem",
                "        end = max(holes._expected, planned.start + 1)\n        holes.end(end)\n        problem",
            ),
            Edit("jobs/kafka_s3/export/task.py", "_entry(task, planned.end, written", "_entry(task, end, written"),
            Edit(
                "jobs/kafka_s3/export/accounting.py",
                "            assert position[planned.tp] == planned.end,",
                "            assert position[planned.tp] <= planned.end,",
            ),
            Edit(
                "jobs/kafka_s3/export/accounting.py",
                "        assert planned.start == position[planned.tp], "
                'f"{planned.offsets} does not start at the position"\n',
                "",
            ),
        ),
    ),
    Mutation(
        "commit a later split without its predecessor",
        (
            Edit("jobs/kafka_s3/export/accounting.py", "        if planned.tp in stopped:\n", "        if False:\n"),
            Edit(
                "jobs/kafka_s3/export/accounting.py",
                "        assert planned.start == position[planned.tp], "
                'f"{planned.offsets} does not start at the position"\n',
                "",
            ),
        ),
    ),
    Mutation(
        "reuse a lost sequence number",
        (
            Edit(
                "jobs/kafka_s3/export/closing.py",
                "        committed = same_commit(committed.winner, entry)\n",
                "        newest = exporter.log.newest()\n"
                "        import msgspec\n\n"
                "        again = msgspec.structs.replace(\n"
                "            entry, seq=newest.entry.seq + 1, previous_sha256=newest.sha256, plan_sha256=None\n"
                "        )\n"
                "        committed = exporter.log.put_entry(again)\n",
            ),
        ),
    ),
    Mutation(
        "do not look at Kafka after the last read",
        (
            Edit(
                "jobs/kafka_s3/plan/changes.py",
                "    return Changes(why, replaced)\n",
                "    return Changes({}, frozenset())\n",
            ),
        ),
    ),
    Mutation(
        "do not ask where a log parted",
        (
            Edit(
                "jobs/kafka_s3/plan/planner.py",
                "    return broker.diverged(points) if points else {}\n",
                "    return {}\n",
            ),
        ),
    ),
    Mutation(
        "begin again under the same generation",
        (
            Edit(
                "jobs/kafka_s3/plan/anomalies.py",
                "generation=state.generation + 1)",
                "generation=state.generation)",
            ),
        ),
    ),
    Mutation(
        "rewind under the same generation",
        (
            Edit(
                "jobs/kafka_s3/rewind/rewind.py",
                "generation=state.generation + 1, ",
                "",
            ),
        ),
    ),
    Mutation(
        "say that what a limit cut has reached its end",
        (
            Edit(
                "jobs/kafka_s3/export/append.py",
                "        if topic not in accounted.replaced_topics and topics[topic].positions[p] >= end\n",
                "        if topic not in accounted.replaced_topics\n",
            ),
        ),
    ),
    Mutation(
        "leave what was reached as it is when it is rewound",
        (Edit("jobs/kafka_s3/rewind/rewind.py", " if p not in positions}", "}"),),
    ),
    Mutation(
        "skip a partition that the ends of its run lack",
        (
            Edit(
                "jobs/kafka_s3/plan/ends.py",
                "if tp not in held or held[tp] > self._bounds(tp).last_stable]",
                "if tp in held and held[tp] > self._bounds(tp).last_stable]",
            ),
            Edit(
                "jobs/kafka_s3/plan/planner.py",
                "    behind = [tp for tp in tps if run_ends.offsets[tp] > snapshot.position(tp)]\n",
                "    behind = [tp for tp in tps if run_ends.offsets.get(tp, 0) > snapshot.position(tp)]\n",
            ),
        ),
    ),
    Mutation(
        "go on behind a loss without a gap",
        (
            Edit(
                "jobs/kafka_s3/plan/anomalies.py",
                "            made.gaps.append(RangeGap(topic=name, partition=p, start=before, end=left.resume, "
                "reason=left.reason))\n",
                "",
            ),
        ),
    ),
    Mutation(
        "keys of plans and entries without their epoch",
        (
            Edit(
                "jobs/kafka_s3/naming.py",
                'return f"{self.home}{what}/{self.epoch}/" if self.epoch else f"{self.home}{what}/"',
                'return f"{self.home}{what}/"',
            ),
        ),
        LOST_LOG,
    ),
    Mutation(
        "look for the log of the epoch anew at every step",  # so that a zombie of the one before writes into this one
        (
            Edit(
                "jobs/kafka_s3/export/exporter.py",
                "        return replace(self, opened=self.log, show=show)\n",
                "        return replace(self, show=show)\n",
            ),
        ),
        LOST_LOG,
    ),
    Mutation(
        "read the oldest claim of an epoch",
        (
            Edit(
                "jobs/kafka_s3/log/epochs.py",
                "    for info in log.store.list(layout.epoch_prefix, limit=1):\n",
                "    for info in list(log.store.list(layout.epoch_prefix))[-1:]:\n",
            ),
        ),
        LOST_LOG,
    ),
    Mutation(
        "go on from an entry of an epoch whose predecessor is gone",
        (Edit("jobs/kafka_s3/log/emptied.py", "    if entry.previous_sha256 is None:\n", "    if True:\n"),),
        LOST_LOG,
    ),
)


@dataclass(frozen=True)
class Outcome:
    """What came of a copy: after how many histories, in how many seconds, and what was noticed."""

    examples: int
    seconds: float
    failure: str | None


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make mutations", description=__doc__)
    parser.add_argument("--examples", type=int, default=EXAMPLES, help="histories at most (%(default)s)")
    parser.add_argument("--only", default="", help="mutations whose name holds this word; no control")
    parser.add_argument("--list", action="store_true", help="say the names, change nothing")
    given = parser.parse_args(arguments)
    chosen = [mutation for mutation in MUTATIONS if given.only in mutation.name]
    if given.list:
        print("\n".join(mutation.name for mutation in chosen))
        return 0
    wrong = 0
    if not given.only:
        for plays in (ANY, LOST_LOG):
            control = try_it((), given.examples, plays)
            _say("(no change)", control)
            wrong += control.failure is not None
    for mutation in chosen:
        outcome = try_it(mutation.edits, given.examples, mutation.plays)
        _say(mutation.name, outcome)
        wrong += outcome.failure is None
    print(
        f"{len(chosen)} mutations, {wrong} not as they should be" if wrong else f"{len(chosen)} mutations, all caught"
    )
    return 1 if wrong else 0


def try_it(edits: Sequence[Edit], examples: int, plays: str = ANY) -> Outcome:
    """Play histories over a copy of the tree with some text replaced."""
    with tempfile.TemporaryDirectory(prefix="kafka-s3-mutation-") as folder:
        copy = Path(folder)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy / name)
        for edit in edits:
            edit.apply(copy)
        return _play(copy, examples, plays)


def _play(copy: Path, examples: int, plays: str) -> Outcome:
    before = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", plays, str(examples)],
        cwd=copy,
        env={"PYTHONPATH": f"{copy}:{copy / 'jobs'}:{copy / 'plugins'}", "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - before
    if done.returncode:
        sys.exit(f"The histories could not be played:\n{done.stderr}")
    said = json.loads(done.stdout.splitlines()[-1])
    if not Path(said["engine"]).is_relative_to(copy.resolve()):
        sys.exit(f"The histories were played over {said['engine']}, not over the copy in {copy}.")
    return Outcome(said["examples"], seconds, said["failure"])


def _say(name: str, outcome: Outcome) -> None:
    caught = outcome.failure or "nothing"
    print(f"{name:46} | {outcome.examples:5} | {outcome.seconds:6.1f} s | {caught[:110]}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
