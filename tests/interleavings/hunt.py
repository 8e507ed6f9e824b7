"""Plays many seeds, and says which fail and why: `python -m tests.interleavings.hunt FIRST COUNT [LENGTH]`."""

from __future__ import annotations

import collections
import sys
import time

from tests.interleavings.history import LENGTH, History


def main(first: int, count: int, length: int = LENGTH) -> int:
    reached: collections.Counter[str] = collections.Counter()
    failures: dict[str, list[int]] = {}
    began, commits = time.monotonic(), 0
    for seed in range(first, first + count):
        history = History(seed, length)
        try:
            history.play()
        except Exception as error:  # whatever it is, it is told
            words = (str(error).splitlines() or [""])[0]
            failures.setdefault(f"{type(error).__name__}: {words[:230]}", []).append(seed)
            print(seed, words[:500], flush=True)  # noqa: T201
        reached.update(history.world.reached.keys())
        commits += len(history.world.book.states)
    seconds = time.monotonic() - began
    print(f"{count} histories, {commits} entries, {seconds / count:.3f} s each")  # noqa: T201
    print(dict(reached.most_common()))  # noqa: T201
    for what, seeds in failures.items():
        print(f"{len(seeds)} {seeds[:6]} {what}")  # noqa: T201
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
