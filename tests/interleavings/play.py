"""Plays one seed, and prints who did what: `python -m tests.interleavings.play SEED [LENGTH] [LINES]`."""

from __future__ import annotations

import sys
import traceback

from tests.interleavings.history import LENGTH, History


def main(seed: int, length: int = LENGTH, lines: int | None = None) -> int:
    history = History(seed, length)
    try:
        history.play()
    except BaseException:
        print(history.world.scheduler.trace.text(lines))  # noqa: T201
        traceback.print_exc()
        return 1
    print(history.world.scheduler.trace.text(lines))  # noqa: T201
    print(dict(history.world.reached))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
