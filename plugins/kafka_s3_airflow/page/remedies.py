"""What to do about a connector's state, as commands to copy. Pure.

What `kafka-s3 status` says comes as it is said there; the rest is Airflow's part, which it does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from shlex import quote, split
from typing import Any, Final, TypedDict

from kafka_s3.settings.validators import VERIFY_SUFFIX
from kafka_s3_airflow.page.model import AirflowFacts, Connector

COMMANDS_MAX: Final = 10
_COMMAND: Final = "kafka-s3"


class Action(TypedDict):
    """What a button does, and the values that its form begins with."""

    kind: str
    values: dict[str, Any]


class Remedy(TypedDict):
    """What to do, the command that does it, and what a button does instead, for whom Airflow lets."""

    text: str
    command: str | None
    action: Action | None


def late(facts: AirflowFacts) -> str:
    """Why records of an interval that is over still wait, as far as Airflow knows."""
    what = "Records of an interval that is over are not exported yet"
    if facts.at_work is not None:
        also = " The DAG is paused: no other will follow." if facts.is_paused else ""
        run = facts.at_work
        if run.failing is not None:
            tries = "once" if run.tries == 1 else f"{run.tries} times"
            fails = f"is failing: its task {run.failing} failed {tries}, and waits to be tried again"
            return f"{what}: run {run.run_id} {fails}.{also}"
        return f"{what}: run {run.run_id} is {run.state}.{also}"
    if facts.is_paused:
        return f"{what}: the DAG is paused."
    if facts.is_paused is None:
        return f"{what}: Airflow does not know the DAG."
    return f"{what}, and no run is queued or running."


def remedies(connector: Connector, state: str, commands: Iterable[str], facts: AirflowFacts) -> list[Remedy]:
    """The commands for a state, the most useful first. `commands`: those of its problems."""
    file = quote(str(connector.path))
    found = [_by("As said above:", each) for each in commands]
    if facts.verify is not None and facts.verify.state == "failed":
        found.append(_by("What verification found, and what to do about it:", f"{_COMMAND} verify {file}"))
        found.append(_by("Then verify again:", f"airflow dags trigger {facts.verify_id}"))
    match state:
        case "broken":
            found.append(_by("Correct the file, and check it:", f"{_COMMAND} validate {file}"))
        case "late" | "never_ran":
            found += _of_airflow(connector, facts)
        case "failed" if facts.run is not None and facts.run.state == "failed":
            text = "Read the failed run's log. Once the cause is gone, the next run goes on, or now:"
            found.append(_by(text, f"airflow dags trigger {connector.runs_in}"))
            action = Action(kind="clear", values={})
            found.append(Remedy(text="Or clear it: its failed tasks run again.", command=None, action=action))
        case "failed" if not found:  # what stops a run is corrected elsewhere
            found.append(_by("Once that is corrected, what the next run would do:", f"{_COMMAND} plan {file}"))
            found.append(_by("The next run goes on, or now:", f"airflow dags trigger {connector.runs_in}"))
    if state in ("failed", "kafka_down", "late"):
        found.append(_by("What a run would find, partition by partition:", f"{_COMMAND} status {file}"))
    return found[:COMMANDS_MAX]


def _by(text: str, command: str) -> Remedy:
    return Remedy(text=text, command=command, action=action_of(command))


def _of_airflow(connector: Connector, facts: AirflowFacts) -> Iterator[Remedy]:
    if facts.is_paused:
        yield _by("Unpause the DAG:", f"airflow dags unpause {connector.runs_in}")
    elif facts.at_work is None:
        yield _by("Run it now:", f"airflow dags trigger {connector.runs_in}")


def action_of(command: str) -> Action | None:
    """What a button does instead of a command that the engine made, if there is such an action.

    >>> action_of("kafka-s3 rewind a.properties --accept orders-0")
    {'kind': 'accept', 'values': {'partitions': ['orders-0']}}
    """
    match split(command):
        case ["airflow", "dags", "trigger", dag_id] if dag_id.endswith(VERIFY_SUFFIX):
            return Action(kind="verify", values={})
        case ["kafka-s3", "run", *_] | ["airflow", "dags", "trigger", _]:
            return Action(kind="trigger", values={})
        case ["airflow", "dags", "unpause", _]:
            return Action(kind="unpause", values={})
        case ["kafka-s3", "redrive", _]:
            return Action(kind="redrive", values={})
        case ["kafka-s3", "rewind", _, *options]:
            pairs = list(zip(options[::2], options[1::2], strict=True))
            accepted = [value for name, value in pairs if name == "--accept"]
            targets = [value.removesuffix("OFFSET") for name, value in pairs if name == "--to"]
            if accepted:
                return Action(kind="accept", values={"partitions": accepted})
            return Action(kind="rewind", values={"partitions": targets})
        case _:
            return None
