"""The operator of a group's `export`: one driver for all members; a second, on Spark, for those that need it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from kafka_s3.attempts import Raised, attempt
from kafka_s3.errors import EXIT_CONFIGURATION, EXIT_DONE, EXIT_UNEXPECTED, ConfigurationError
from kafka_s3.settings.spark import CONN_ID, SparkSettings, conf_conflicts
from kafka_s3.spark.driver_context import GroupContext, Member
from kafka_s3.spark.scratch import scratch
from kafka_s3.spark.submit import driver_environment
from kafka_s3_airflow.driver_output import GroupOutput
from kafka_s3_airflow.group_failures import Failures, Members
from kafka_s3_airflow.group_tasks import FAILED, PLANS_FOUND, load_each, narrowed
from kafka_s3_airflow.guard import die_with_supervisor
from kafka_s3_airflow.operators import ExportOperator, is_local

if TYPE_CHECKING:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
    from airflow.sdk import Context

    from kafka_s3.spark.connect_server import ConnectServer
    from kafka_s3_airflow.lineage import Lineage


class GroupExportOperator(ExportOperator):
    """Runs `jobs/export.py` for the members of a group that have something to do. Fails if one of them does, at once
    if a retry can cure none; a retry finds nothing to do for those that are done."""

    operator_extra_links = ()  # the page shows commits of one connector
    way_out = "Make two groups of it."

    def __init__(self, *, group: str, members: Members, **arguments: Any) -> None:
        super().__init__(connector=group, **arguments)
        self.group = group
        self._members = members

    def execute(self, context: Context) -> None:
        """As one connector's: no secret is in the command line, in Spark's configuration or in a log."""
        from kafka_s3_airflow.connections import check_spark

        die_with_supervisor()
        connection = check_spark(self._conn_id)
        ended = Failures(self._wanted(context))
        members, asked = self._load(ended, context)
        self.application_args = self._arguments(context)
        before, output = GroupOutput(), GroupOutput()
        spark = self._spark(connection, asked, output)
        with scratch(os.environ) as folder:
            environment = driver_environment(os.environ, folder, local=is_local(spark))
            here = [each.member for each in members if not each.is_for_spark]
            if here:
                given = {**environment, **GroupContext(tuple(here)).to_environment()}
                ended.take(before, here, self._run_driver("--without-spark", given, before))
            for_spark = [each.member for each in members if each.is_for_spark or each.member.name in before.waiting]
            if for_spark:
                given = {**environment, **GroupContext(tuple(for_spark)).to_environment()}
                ended.take(output, for_spark, self._run_all(spark, given, output))
        if ended.statuses:
            context["ti"].xcom_push(key=FAILED, value=ended.statuses)
            raise ended.error()

    def _wanted(self, context: Context) -> Members:
        """The members that `plan` found something to do for, the smallest plan first; all, where it did not say."""
        planned = self._planned(context)
        wanted = narrowed(context, self._members)
        return wanted if planned is None else {name: wanted[name] for name in planned if name in wanted}

    def _load(self, ended: Failures, context: Context) -> tuple[list[_Loaded], dict[str, str]]:
        """The members in their order, and what they ask of Spark together; those that are wrong have failed."""
        planned, found = self._planned(context) or {}, self._planned(context, PLANS_FOUND) or ()
        written = {name for name, offsets in planned.items() if offsets is not None}.difference(found)
        members: list[_Loaded] = []
        spark: dict[str, SparkSettings] = {}
        for name, loaded in load_each(ended.members):
            if isinstance(loaded, Raised):
                ended.raised(name, loaded.error)
                self.log.error("%s: %s", name, loaded.error)
                continue
            spark[name] = loaded.settings.spark
            member = Member(name, ended.members[name], loaded.driver_context, name in written)
            members.append(_Loaded(member, is_for_spark=not loaded.settings.limits.spark_records_min))
        asked = self._asked(spark, ended)
        return [each for each in members if each.member.name not in ended.statuses], asked

    def _asked(self, spark: Mapping[str, SparkSettings], ended: Failures) -> dict[str, str]:
        """Members share one application: what one of them asks of Spark all have. Who cannot have what it asks for has
        failed; a parse of the DAG finds that already, but for values with a variable."""
        for member, problem in conf_conflicts(self.group, spark).items():
            error = ConfigurationError(f"{problem}.")
            ended.raised(member, error)
            self.log.error("%s: %s", member, error)
        asked: dict[str, str] = {}
        for member, settings in sorted(spark.items()):
            if member in ended.statuses:
                continue
            asked |= settings.conf
            if settings.conn_id != self._conn_id:
                self.log.warning(
                    "%s: %s=%s is not what the group has: %s", member, CONN_ID, settings.conn_id, self._conn_id
                )
        return asked

    def _run_all(
        self, spark: SparkSubmitHook | ConnectServer, environment: Mapping[str, str], output: GroupOutput
    ) -> int:
        """Run the driver on Spark; an exit status for those of its members of whom it tells nothing."""
        try:
            self._run_on(spark, environment, output)
        except AirflowException as error:
            self._refuse_to_go_on()
            if output.exit_status is None and not output.reason:
                output.reasons[""] = [str(error)]
            return EXIT_CONFIGURATION if isinstance(error, AirflowFailException) else EXIT_UNEXPECTED
        return EXIT_DONE

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Lineage | None:
        """Of all members together; one that cannot be asked now is left out."""
        from kafka_s3.wiring import SharedStores
        from kafka_s3_airflow.lineage import lineage_of_run

        stores = SharedStores()
        whole: Lineage | None = None
        for _, loaded in load_each(self._members):
            if isinstance(loaded, Raised):
                continue
            found = attempt(lineage_of_run, loaded.settings, stores, task_instance.run_id)
            if not isinstance(found, Raised):
                whole = found if whole is None else whole.merge(found)
        return whole

    def _what(self) -> dict[str, str]:
        return {"--group": self.group}


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A member that has something to do; `is_for_spark`: it does all of it on Spark."""

    member: Member
    is_for_spark: bool
