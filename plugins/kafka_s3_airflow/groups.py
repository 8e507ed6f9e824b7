"""The DAG of a group: many connectors with one `plan`, one `export` with one driver, and one `complete`.

    plan -> export -> complete -> complete_rest -> outcome

`complete` announces what the others committed though one failed; a task that fails cannot. So what fails in it is left
to `complete_rest`, which has retries, and is skipped otherwise; and the run ends with `outcome`, which no worker runs:
Airflow gives it the state of those before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Param, TriggerRule, task

from kafka_s3.errors import Problem
from kafka_s3.settings import Outline
from kafka_s3.settings.schedule import ScheduleSettings
from kafka_s3.settings.spark import conf_conflicts
from kafka_s3.settings.validators import GROUP_SUFFIX
from kafka_s3_airflow import assets
from kafka_s3_airflow.group_failures import Members
from kafka_s3_airflow.group_operator import GroupExportOperator
from kafka_s3_airflow.group_tasks import CONNECTORS
from kafka_s3_airflow.pools import pool_of
from kafka_s3_airflow.schedules import schedule_of, spoken

GROUP: Final = "export.group"
_SHOWN_MAX: Final = 200
#: What members of a group have in common.
Schedule = tuple[ScheduleSettings, tuple[str, ...]]


def group_id(group: str) -> str:
    """No connector's name may end like this, so that no two DAGs have one id."""
    return f"{group}{GROUP_SUFFIX}"


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A connector of a group, and its file."""

    path: str
    outline: Outline


def group_problems(outlines: Sequence[Outline]) -> dict[str, Problem]:
    """By the names of connectors: whose schedule is not its group's, which is that of most members, else of the first
    by name; and who asks Spark for what an earlier member by name has otherwise. They are wrong, and their group is
    not."""
    groups: dict[str, list[Outline]] = {}
    for each in sorted(outlines, key=lambda each: each.name):
        if each.group is not None:
            groups.setdefault(each.group, []).append(each)
    found: dict[str, Problem] = {}
    for group, members in groups.items():
        wrong = _schedule_problems(group, members)
        found |= wrong | conf_conflicts(group, {each.name: each.spark for each in members if each.name not in wrong})
    return found


def _schedule_problems(group: str, members: Sequence[Outline]) -> dict[str, Problem]:
    [(schedule, count)] = Counter(map(_schedule, members)).most_common(1)
    found = {}
    for each in members:
        if _schedule(each) != schedule:
            message = (
                f"has another schedule: this connector runs {_times(_schedule(each))}, and {count} of the group's"
                f" {len(members)} connectors run {_times(schedule)}. Give it theirs, or another group"
            )
            found[each.name] = Problem(GROUP, group, message)
    return found


def group_dag(
    group: str,
    members: Sequence[GroupMember],
    *,
    start: datetime,
    params: Mapping[str, Param],
    default_args: Mapping[str, Any],
) -> DAG:
    """The DAG of some connectors of one schedule. Its Spark is that of the first by name."""
    members = sorted(members, key=lambda each: each.outline.name)
    paths = {each.outline.name: each.path for each in members}
    spark = str(default_args.get("conn_id") or members[0].outline.spark.conn_id)
    owners = {each.outline.owner for each in members}
    [owner, *others] = owners
    given = {**({} if others or owner is None else {"owner": owner}), **default_args}
    tags = {tag for each in members for tag in each.outline.tags}
    with DAG(
        group_id(group),
        schedule=schedule_of(members[0].outline),
        start_date=start,
        catchup=False,
        max_active_runs=1,
        auto_register=False,
        tags=["kafka-s3", *sorted(tags)],
        description=f"Exports {len(members)} connectors from Kafka to S3, with one driver.",
        params={
            **params,
            CONNECTORS: Param(
                [],
                type=["array", "null"],
                items={"type": "string"},
                examples=list(paths)[:_SHOWN_MAX],
                title="Connectors",
                description="Only these connectors of the group; all unless some are named.",
            ),
        },
        doc_md=_document(group, members),
        default_args=given,
    ) as dag:
        topics = {each.outline.name: each.outline.topics for each in members}
        plan = _plan(group, paths, topics, given, spark)
        export = GroupExportOperator(
            task_id="export",
            group=group,
            members=paths,
            conn_id=spark,
            max_active_tis_per_dag=1,
            pool=pool_of(default_args),
        )
        complete, rest = _complete(group, paths, topics, given)
        outcome = EmptyOperator(
            task_id="outcome",
            trigger_rule=TriggerRule.NONE_FAILED,
            on_execute_callback=None,  # with a callback to call it would take a worker
            on_success_callback=None,
        )
        plan >> export >> complete >> rest >> outcome
        export >> outcome
    dag.validate()  # type: ignore[no-untyped-call]
    return dag


# The tasks' functions hold the members: as arguments, which Airflow stores and renders, a thousand would be a burden.

Topics = Mapping[str, Sequence[str]]


def _announcing(group: str, topics: Topics, task_id: str, default_args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a task that announces what members committed."""
    return {
        "task_id": task_id,
        "outlets": assets.outlets_of_group(group_id(group), topics, task_id),
        "max_active_tis_per_dag": 1,
        "on_success_callback": assets.after_success(assets.mark_announced, default_args),
    }


def _plan(group: str, paths: Members, topics: Topics, default_args: Mapping[str, Any], spark: str) -> Any:
    announcing = _announcing(group, topics, "plan", default_args)

    @task.short_circuit(ignore_downstream_trigger_rules=False, **announcing)
    def plan() -> dict[str, int | None]:
        from kafka_s3_airflow import group_tasks

        return group_tasks.plan(paths, spark)

    return plan()


def _complete(group: str, paths: Members, topics: Topics, default_args: Mapping[str, Any]) -> tuple[Any, Any]:
    announcing = _announcing(group, topics, "complete", default_args)
    announcing_rest = _announcing(group, topics, "complete_rest", default_args)

    @task.short_circuit(ignore_downstream_trigger_rules=False, trigger_rule=TriggerRule.ALL_DONE, **announcing)
    def complete() -> list[str]:
        from kafka_s3_airflow import group_tasks

        return group_tasks.complete(paths)

    def complete_rest() -> None:
        from kafka_s3_airflow import group_tasks

        group_tasks.complete_rest(paths)

    return complete(), task(**announcing_rest)(complete_rest)()


def _schedule(known: Outline) -> Schedule:
    return known.schedule, known.schedule_assets


def _times(schedule: Schedule) -> str:
    by_time, uris = schedule
    timed = [spoken(by_time)] if by_time.timed else []
    return " and ".join([*timed, *([f"after updates of {', '.join(uris)}"] if uris else [])]) or "by hand only"


def _document(group: str, members: Sequence[GroupMember]) -> str:
    shown = members[:_SHOWN_MAX]
    rows = "".join(f"| `{each.outline.name}` | {_topics(each.outline)} | `{each.outline.bucket}` |\n" for each in shown)
    more = f"\nand {len(members) - len(shown)} more.\n" if len(members) > len(shown) else ""
    return (
        f"Exports the {len(members)} connectors of the group `{group}` with one driver, exactly once. Each has its own"
        f" log; one that fails stops no other. Runs {_times(_schedule(members[0].outline))}.\n\n"
        "| task | what it does |\n|---|---|\n"
        "| `plan` | decides which offsets of each connector the run exports; `export` is skipped if nothing is new |\n"
        "| `export` | exports and commits them; its log has a connector's name before each line |\n"
        "| `complete` | announces what was committed, as asset events |\n"
        "| `complete_rest` | tries again what `complete` could not do of some; skipped if there is nothing left |\n"
        "| `outcome` | fails if one of them did: `export` names the connectors that failed |\n\n"
        f"| connector | topics | bucket |\n|---|---|---|\n{rows}{more}"
    )


def _topics(known: Outline) -> str:
    return ", ".join(f"`{topic}`" for topic in known.topics[:20]) or f"`{known.topics_regex or ''}`"
