"""The operator of a group's `export`: one driver for all members; a second, on Spark, for those that need it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from kafka_s3.attempts import Raised, attempt
from kafka_s3.errors import EXIT_DONE, EXIT_UNEXPECTED, ExporterError
from kafka_s3.spark.driver_context import GroupContext, Member
from kafka_s3.spark.scratch import scratch
from kafka_s3.spark.submit import driver_environment
from kafka_s3_airflow.driver_output import GroupOutput
from kafka_s3_airflow.group_tasks import FAILED, Members, load_each, narrowed, spark_of
from kafka_s3_airflow.guard import die_with_supervisor
from kafka_s3_airflow.operators import ExportOperator, find_spark_submit, is_local
from kafka_s3_airflow.tasks import NO_RETRY

if TYPE_CHECKING:
    from airflow.sdk import Context

    from kafka_s3_airflow.lineage import Lineage

#: Of so many members that failed it is said why, a line each; the log has all.
REASONS_MAX: Final = 20


class GroupExportOperator(ExportOperator):
    """Runs `jobs/export.py` for the members of a group that have something to do. Fails if one of them does, at once
    if a retry can cure none; a retry finds nothing to do for those that are done."""

    def __init__(self, *, group: str, members: Members, **arguments: Any) -> None:
        super().__init__(connector=group, **arguments)
        self.group = group
        self._members = members
        self._asked: dict[str, str] = {}

    def execute(self, context: Context) -> None:
        """As one connector's: no secret is in the command line, in Spark's configuration or in a log."""
        from kafka_s3_airflow.connections import check_spark

        die_with_supervisor()
        self.take_connection(spark_of(self._members))
        connection = check_spark(self._conn_id)
        ended = _Ended()
        for_here, for_spark = self._load(context, ended)
        self.application_args = self._arguments(context)
        self._spark_binary = find_spark_submit(connection, os.environ)
        output = GroupOutput()
        hook = self._hook_with_conf(self._asked, output)
        with scratch(os.environ) as folder:
            environment = driver_environment(os.environ, folder, local=is_local(hook))
            if for_here:
                here = GroupOutput()
                given = {**environment, **GroupContext(tuple(for_here)).to_environment()}
                status = self._run_without_spark(given, here)
                ended.take(here, for_here, status)
                for_spark += [each for each in for_here if each.name in here.waiting]
            if for_spark:
                given = {**environment, **GroupContext(tuple(for_spark)).to_environment()}
                status = EXIT_DONE
                try:
                    self._submit(hook, given, output)
                except AirflowException as error:
                    self._refuse_to_go_on()
                    if output.exit_status is None and not output.reason:
                        output.reasons[""] = [str(error)]
                    status = EXIT_UNEXPECTED
                ended.take(output, for_spark, status)
        if ended.failed:
            context["ti"].xcom_push(key=FAILED, value=ended.failed)
            raise ended.error(len(for_here) + len(for_spark))

    def _load(self, context: Context, ended: _Ended) -> tuple[list[Member], list[Member]]:
        """The members that have something to do: those that may need no Spark, and those that are always on it."""
        ti: Any = context["ti"]
        planned = ti.xcom_pull(task_ids=f"{self.task_id.removesuffix('export')}plan")
        wanted = narrowed(context, self._members)
        if isinstance(planned, Mapping):  # in its order: the smallest first
            wanted = {name: wanted[name] for name in planned if name in wanted}
        here: list[Member] = []
        on_spark: list[Member] = []
        for name, loaded in load_each(wanted):
            if isinstance(loaded, Raised):
                status = loaded.error.exit_status if isinstance(loaded.error, ExporterError) else EXIT_UNEXPECTED
                ended.fail(name, status, str(loaded.error))
                self.log.error("%s: %s", name, loaded.error)
                continue
            self._ask(name, loaded.settings.spark.conf)
            kept = on_spark if not loaded.settings.limits.spark_records_min else here
            kept.append(Member(name, wanted[name], loaded.driver_context))
        return here, on_spark

    def _ask(self, member: str, conf: Iterable[tuple[str, str]]) -> None:
        """Members share one application: what one of them asks of Spark all have, and the first to ask decides."""
        for name, value in conf:
            if self._asked.setdefault(name, value) != value:
                self.log.warning("%s: %s=%s is not what the group has: %s", member, name, value, self._asked[name])

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Lineage | None:
        """Of all members together; one that cannot be asked now is left out."""
        from kafka_s3_airflow.lineage import lineage_of_run

        whole: Lineage | None = None
        for path in self._members.values():
            found = attempt(lineage_of_run, Path(path), task_instance.run_id)
            if not isinstance(found, Raised):
                whole = found if whole is None else whole.merge(found)
        return whole

    def _what(self) -> dict[str, str]:
        return {"--group": self.group}


class _Ended:
    """How members ended: of those that failed, the exit status and why."""

    def __init__(self) -> None:
        self.failed: dict[str, int] = {}
        self._reasons: dict[str, str] = {}

    def fail(self, name: str, status: int, reason: str) -> None:
        self.failed[name] = status
        self._reasons[name] = reason

    def take(self, output: GroupOutput, members: Iterable[Member], status: int) -> None:
        """What a driver told of its members. Of one that died, those that had not ended failed with it.

        A member that goes on on Spark is done if it is done there, unless something had failed before.
        """
        for each in members:
            reason = "\n".join(output.reasons.get(each.name, []))
            if each.name in output.waiting:
                found = output.waiting[each.name]
            elif each.name in output.statuses:
                found = output.statuses[each.name]
            else:
                found = output.exit_status or status or EXIT_UNEXPECTED
                said = "\n".join(output.reasons.get("", [])) or output.reason
                reason = f"The driver ended before it (exit status {found}). {said}".strip()
            if found:
                self.fail(each.name, found, reason)

    def error(self, count: int) -> AirflowException:
        """Final if no retry can cure any of them."""
        by_name = sorted(self.failed.items())
        lines = [f"{name} ({status}): {self._first(name)}" for name, status in by_name[:REASONS_MAX]]
        if len(by_name) > REASONS_MAX:
            lines.append(f"and {', '.join(name for name, _ in by_name[REASONS_MAX:])}: see the log above")
        said = "\n".join([f"{len(by_name)} of {max(count, len(by_name))} connectors failed:", *lines])
        is_final = all(status in NO_RETRY for status in self.failed.values())
        return (AirflowFailException if is_final else AirflowException)(said)

    def _first(self, name: str) -> str:
        """The first line of why; the last one of a trace."""
        lines = self._reasons[name].split("\n")
        return lines[-1] if lines[0].startswith("Traceback ") else lines[0]
