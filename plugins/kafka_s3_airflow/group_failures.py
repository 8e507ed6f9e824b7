"""Which members of a group failed, and what is said of that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from kafka_s3.errors import EXIT_UNEXPECTED, ExporterError
from kafka_s3_airflow.tasks import NO_RETRY

if TYPE_CHECKING:
    from kafka_s3.spark.driver_context import Member
    from kafka_s3_airflow.driver_output import GroupOutput

#: The members of a group by their names: the paths of their files.
Members = Mapping[str, str]
#: Of so many members that failed it is said why, a line each; the log has all.
REASONS_MAX: Final = 20


class Failures:
    """Of those of some members that failed: `statuses`, their exit statuses, and why."""

    def __init__(self, members: Members) -> None:
        self.members = members
        self.statuses: dict[str, int] = {}
        self._reasons: dict[str, str] = {}

    def fail(self, name: str, status: int, reason: str) -> None:
        self.statuses[name] = status
        self._reasons[name] = reason

    def raised(self, name: str, error: Exception) -> None:
        """A member failed with an error, ours or another."""
        self.fail(name, error.exit_status if isinstance(error, ExporterError) else EXIT_UNEXPECTED, str(error))

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

    def error(self) -> AirflowException:
        """Final if no retry can cure any of them."""
        by_name = sorted(self.statuses.items())
        lines = [f"{name} ({status}): {self._first(name)}" for name, status in by_name[:REASONS_MAX]]
        if len(by_name) > REASONS_MAX:
            lines.append(f"and {', '.join(name for name, _ in by_name[REASONS_MAX:])}: see the log above")
        said = "\n".join([f"{len(by_name)} of {len(self.members)} connectors failed:", *lines])
        is_final = all(status in NO_RETRY for status in self.statuses.values())
        return (AirflowFailException if is_final else AirflowException)(said)

    def _first(self, name: str) -> str:
        """The first line of why; the last one of a trace."""
        lines = self._reasons[name].split("\n")
        return lines[-1] if lines[0].startswith("Traceback ") else lines[0]
