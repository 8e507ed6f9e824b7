"""The same records by two engines in turn: this checkout's, and that of an earlier commit in a worktree of its own.

Both run in this Python, `PYTHONPATH` decides whose engine it is, and each commit's own `one_task` drives it. A machine
is now faster, now slower: so the two take turns, and the order changes each time. CPU is user and system time of the
process. The least of several is what the work takes when nothing disturbs it; the median of the pairs' ratios says how
steady that is.
"""

import statistics
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rich.table import Table

from bench.formats import FEW, REPOSITORY, Servers, Tasks
from bench.measure import CommandFailed, Measured
from bench.output import console
from bench.paths import PATHS
from bench.records import PARTITIONS
from tools.parts.registry import SchemaRegistry

_WHY_CHARS_MAX: Final = 160


@dataclass(slots=True)
class Row:
    """One path: CPU seconds of whole tasks and of those of a few records, earlier and now, a number for each turn."""

    earlier: list[float] = field(default_factory=list)
    now: list[float] = field(default_factory=list)
    earlier_few: list[float] = field(default_factory=list)
    now_few: list[float] = field(default_factory=list)
    bytes: dict[str, int] = field(default_factory=dict)

    def per_million(self, million: float) -> tuple[float, float]:
        """The least CPU beyond the start of a task, earlier and now."""
        earlier, now = min(self.earlier) - min(self.earlier_few), min(self.now) - min(self.now_few)
        return earlier / million, now / million

    def median_ratio(self) -> float:
        """Of each turn's two tasks, beyond the start."""
        earlier, now = min(self.earlier_few), min(self.now_few)
        return statistics.median((b - now) / (a - earlier) for a, b in zip(self.earlier, self.now, strict=True))


def paired(servers: Servers, commit: str, records: int, repetitions: int, word: str = "") -> None:
    """Every path whose name holds the word and that the commit knows."""
    chosen = [name for name in PATHS if word in name]
    with _worktree(commit, servers.folder) as earlier, SchemaRegistry() as registry:
        tasks = Tasks(servers, registry)
        for kind in dict.fromkeys(PATHS[name][0] for name in chosen):
            mean = tasks.fill(kind, records, PARTITIONS)
            tasks.fill(f"{kind}-few", FEW, PARTITIONS)
            console.print(f"{records:,} {kind} records of {mean:.0f} bytes in {PARTITIONS} partitions, one process")
        turns = _Turns(tasks, earlier, records)
        rows = {name: Row() for name in chosen if turns.knows(name)}
        for turn in range(repetitions):
            for name, row in rows.items():
                turns.take(name, row, is_reversed=turn % 2 == 1)
            console.print(f"  turn {turn + 1} of {repetitions}")
    _print(rows, commit, records / 1e6)


class _Turns:
    """Runs tasks of both engines."""

    def __init__(self, tasks: Tasks, earlier: Path, records: int) -> None:
        self._tasks = tasks
        self._earlier = earlier
        self._records = records

    def knows(self, name: str) -> bool:
        """Whether the earlier engine can do it; its modules and this one's are compiled afterwards."""
        try:
            self._few(name, self._earlier)
        except CommandFailed as error:
            last = str(error).strip().splitlines()[-1]
            console.print(f"  {name}: not by the earlier engine ({last[:_WHY_CHARS_MAX]})", markup=False)
            return False
        self._few(name, REPOSITORY)
        return True

    def take(self, name: str, row: Row, *, is_reversed: bool) -> None:
        """One task of each, and one of a few records."""
        sides = [("earlier", self._earlier, row.earlier, row.earlier_few), ("now", REPOSITORY, row.now, row.now_few)]
        for side, root, whole, few in reversed(sides) if is_reversed else sides:
            few.append(self._few(name, root).cpu_s)
            measured = self._tasks.run(name, PATHS[name][0], PARTITIONS, self._records, root=root)
            whole.append(measured.cpu_s)
            row.bytes[side] = int(measured.output.rsplit("bytes", 1)[1])

    def _few(self, name: str, root: Path) -> Measured:
        return self._tasks.run(name, f"{PATHS[name][0]}-few", PARTITIONS, FEW, root=root)


@contextmanager
def _worktree(commit: str, folder: Path) -> Iterator[Path]:
    """A checkout of a commit that is gone afterwards."""
    place = folder / "earlier"
    _git("worktree", "add", "--detach", str(place), commit)
    try:
        yield place
    finally:
        _git("worktree", "remove", "--force", str(place))


def _git(*arguments: str) -> None:
    done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")


def _print(rows: dict[str, Row], commit: str, million: float) -> None:
    table = Table("path", f"CPU s / M, {commit}", "now", "ratio of the least", "median ratio", "bytes")
    ratios: Sequence[float] = []
    for name, row in rows.items():
        earlier, now = row.per_million(million)
        ratios = [*ratios, now / earlier]
        change = row.bytes["now"] - row.bytes["earlier"]
        said = "same" if change == 0 else f"{change:+,}"
        table.add_row(name, f"{earlier:.3f}", f"{now:.3f}", f"{now / earlier:.3f}", f"{row.median_ratio():.3f}", said)
    console.print(table)
    starts = [(min(row.earlier_few), min(row.now_few)) for row in rows.values()]
    if starts:
        earlier, now = min(a for a, _ in starts), min(b for _, b in starts)
        console.print(f"start of a task, not in the table: {earlier:.2f} CPU s, now {now:.2f}: {now / earlier:.3f}")
        console.print(
            f"ratios of the least: {min(ratios):.3f} to {max(ratios):.3f}, median {statistics.median(ratios):.3f}"
        )
