"""What the page knows of a connector, from its file, its log and Airflow's database."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_s3.export.diagnosis import Problem
from kafka_s3.log.entries import Entry, Plan
from kafka_s3.log.store import Committed
from kafka_s3.settings.connect import DeadLetters

if TYPE_CHECKING:
    from kafka_s3_airflow.page.views import CommitRow


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector file, as far as it can be understood without a connection or a secret."""

    dag_id: str
    name: str
    path: Path
    topics: tuple[str, ...]
    topics_regex: str | None
    schedule: str
    problems: tuple[str, ...]
    group_dag_id: str | None = None
    group: str | None = None
    owner: str | None = None
    tags: tuple[str, ...] = ()
    bucket: str | None = None

    @property
    def runs_in(self) -> str:
        """The id of the DAG whose runs export it: its own, or its group's."""
        return self.group_dag_id or self.dag_id

    @property
    def file(self) -> str:
        return self.path.name


#: The settings that a log's problems follow from: of dead letters, `topics` and `topics.regex`.
JudgedBy = tuple[DeadLetters, tuple[str, ...], str | None]


@dataclass(frozen=True, slots=True)
class LogView:
    """The newest of a connector's log: the entry that is its state, the plan that is open, and the rows above."""

    bucket: str
    where: str  # s3://…, for people
    committed: Committed | None
    open_plan: Plan | None
    rows: tuple[CommitRow, ...]
    problems: tuple[Problem, ...] = ()  # of this log alone
    judged_by: JudgedBy | None = None

    @property
    def head(self) -> Entry | None:
        """The newest entry: the state of the export."""
        return None if self.committed is None else self.committed.entry


@dataclass(frozen=True, slots=True)
class RunFacts:
    """A run of a DAG. `failing`: a task of it that failed and waits to be tried again, and how often it was."""

    run_id: str
    state: str
    failing: str | None = None
    tries: int = 0


@dataclass(frozen=True, slots=True)
class Silence:
    """Until when alarms of a connector are silent: those of a kind, or all."""

    kind: str | None
    until_ms: int


@dataclass(frozen=True, slots=True)
class AirflowFacts:
    """What Airflow's database says of a connector's DAGs; nothing of one that it does not know yet."""

    is_paused: bool | None = None
    run: RunFacts | None = None  # the newest that has ended
    verify_id: str | None = None
    verify: RunFacts | None = None
    at_work: RunFacts | None = None  # the newest run that is queued or running
    silences: tuple[Silence, ...] = ()
