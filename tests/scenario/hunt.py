"""Plays histories until one fails, without making it smaller: `python -m tests.scenario.hunt EXAMPLES`.

Prints one line of JSON: how many were played, and what the first failure was. `tools.mutations` reads it.
"""

from __future__ import annotations

import json
import sys
import traceback

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

import kafka_s3
from tests.scenario.machine import Histories


def main(examples: int) -> None:
    played = 0

    class Counted(Histories):
        def __init__(self) -> None:
            nonlocal played
            played += 1
            super().__init__()

    failure = None
    try:
        run_state_machine_as_test(
            Counted,
            settings=settings(
                max_examples=examples,
                stateful_step_count=16,
                phases=[Phase.generate],
                deadline=None,
                derandomize=True,
                database=None,
                report_multiple_bugs=False,
                suppress_health_check=list(HealthCheck),
                print_blob=False,
            ),
        )
    except Exception as error:  # whatever it is, somebody has noticed
        last = traceback.extract_tb(error.__traceback__)[-1]
        said = (str(error).splitlines() or [""])[0]
        failure = f"{type(error).__name__} in {last.name}: {said}"
    print(json.dumps({"engine": kafka_s3.__file__, "examples": played, "failure": failure}))  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]))
