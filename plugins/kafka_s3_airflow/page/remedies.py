"""What to do about a connector's state, as commands to copy. Pure.

What `kafka-s3 status` says comes as it is said there; the rest is Airflow's part, which it does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from shlex import quote
from typing import Final, TypedDict

from kafka_s3_airflow.page.model import AirflowFacts, Connector

COMMANDS_MAX: Final = 10
_COMMAND: Final = "kafka-s3"


class Remedy(TypedDict):
    """What to do, and the command that does it."""

    text: str
    command: str


def late(facts: AirflowFacts) -> str:
    """Why records of an interval that is over still wait, as far as Airflow knows."""
    what = "Records of an interval that is over are not exported yet"
    if facts.at_work is not None:
        also = " The DAG is paused: no other will follow." if facts.is_paused else ""
        return f"{what}: run {facts.at_work.run_id} is {facts.at_work.state}.{also}"
    if facts.is_paused:
        return f"{what}: the DAG is paused."
    if facts.is_paused is None:
        return f"{what}: Airflow does not know the DAG."
    return f"{what}, and no run is queued or running."


def remedies(connector: Connector, state: str, commands: Iterable[str], facts: AirflowFacts) -> list[Remedy]:
    """The commands for a state, the most useful first. `commands`: those of its problems."""
    file = quote(str(connector.path))
    found = [Remedy(text="As said above:", command=each) for each in commands]
    match state:
        case "broken":
            found.append(Remedy(text="Correct the file, and check it:", command=f"{_COMMAND} validate {file}"))
        case "late" | "never_ran":
            found += _of_airflow(connector, facts)
        case "failed" if facts.run is not None and facts.run.state == "failed":
            text = "Read the failed run's log. Once the cause is gone, the next run goes on, or now:"
            found.append(Remedy(text=text, command=f"airflow dags trigger {connector.runs_in}"))
    if facts.verify is not None and facts.verify.state == "failed":
        found.append(
            Remedy(text="What verification found, and what to do about it:", command=f"{_COMMAND} verify {file}")
        )
        found.append(Remedy(text="Then verify again:", command=f"airflow dags trigger {facts.verify_id}"))
    if state in ("failed", "kafka_down", "late"):
        found.append(Remedy(text="What a run would find, partition by partition:", command=f"{_COMMAND} status {file}"))
    return found[:COMMANDS_MAX]


def _of_airflow(connector: Connector, facts: AirflowFacts) -> Iterator[Remedy]:
    if facts.is_paused:
        yield Remedy(text="Unpause the DAG:", command=f"airflow dags unpause {connector.runs_in}")
    elif facts.at_work is None:
        yield Remedy(text="Run it now:", command=f"airflow dags trigger {connector.runs_in}")
