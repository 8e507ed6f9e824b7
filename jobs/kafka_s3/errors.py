"""Every error that the engine raises on purpose.

* ExporterError              what, with which values, and what to do next
  - ConfigurationError       the configuration is wrong: every problem at once        exit 78
    - StoreRefused           bucket, credentials or store cannot be used as they are  exit 78
    - TopicMissing           a configured topic does not exist                        exit 78
    - RegistryRefused        the schema registry cannot be used as it is configured   exit 78
  - DataError                a retry would meet the same data                         exit 65
    - DataLoss               offsets that are gone, or a topic that is another one
    - LogDamaged             a plan or log entry is not what it should be
      . LogEmptied           the entry before the newest one is gone
      . NotSigned            it does not carry the signature that the configuration asks for
      . TooLarge             it is larger than what is read at once
    - LogMissing             something of this connector is there, its log is not
  - TemporaryError           a later try may pass                                     exit 75
    - Fenced                 another run closed the plan first
    - StoreUnavailable       S3 did not answer, or asked for time
    - KafkaUnavailable       no broker answered, or a partition has no leader
    - RegistryUnavailable    the schema registry did not answer
    - SparkFailed            Spark lost a task more often than it tries one
    - SparkUnavailable       no Spark master or Spark Connect server answered

Exit statuses are those of sysexits.h. Anything that is not an ExporterError is a bug or an accident of the
machine and leaves the process with status 1; in a range it is that range's failure, with the same status.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_s3.shown import plain

EXIT_DONE = 0
EXIT_UNEXPECTED = 1
EXIT_DATA = 65
EXIT_TEMPORARY = 75
EXIT_CONFIGURATION = 78


class ExporterError(Exception):
    """An error with a message for people: `what` happened with which values, and what to do `next`."""

    exit_status = EXIT_UNEXPECTED

    def __init__(self, what: str, *, next: str = "") -> None:
        super().__init__(what, next)
        self.what = what
        self.next = next

    def __str__(self) -> str:
        return plain(f"{self.what} {self.next}".strip())

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process borders (Spark tasks): pickle must rebuild keyword arguments too.
        return (_rebuild, (type(self), self.what, self.next, self.__dict__))


def _rebuild(kind: type[ExporterError], what: str, next: str, state: dict[str, object]) -> ExporterError:
    error = kind.__new__(kind)
    Exception.__init__(error, what, next)
    error.__dict__.update(state)
    return error


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a configuration: the property, its value (`None`: not set) and what is allowed."""

    name: str
    value: str | None
    message: str

    @property
    def subject(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value}"

    def __str__(self) -> str:
        return f"{self.subject}: {self.message}"


class ConfigurationError(ExporterError):
    """The configuration is wrong; `problems` holds everything found, not just the first."""

    exit_status = EXIT_CONFIGURATION

    def __init__(self, what: str, *, problems: Sequence[Problem] = (), next: str = "") -> None:
        super().__init__(what, next=next)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        said: dict[str, list[str]] = {}  # what holds for several properties is said once
        for problem in self.problems:
            said.setdefault(problem.message, []).append(problem.subject)
        lines = [self.what, *(f"  {', '.join(subjects)}: {message}" for message, subjects in said.items())]
        if self.next:
            lines.append(self.next)
        return plain("\n".join(lines))


class StoreRefused(ConfigurationError):
    """The bucket, the credentials or the store itself cannot be used: a retry would be refused again."""


class TopicMissing(ConfigurationError):
    """A configured topic does not exist on the broker."""


class RegistryRefused(ConfigurationError):
    """The schema registry refuses the credentials, or is none."""


class DataError(ExporterError):
    """The data stands in the way: a retry would meet it again."""

    exit_status = EXIT_DATA


class DataLoss(DataError):
    """Offsets are gone before they were exported, or a topic is not the one it was."""


class LogDamaged(DataError):
    """A plan or a log entry is truncated, edited, or written by a newer version."""


class LogEmptied(LogDamaged):
    """The entry before the newest one is gone: the log was deleted, and a program that slept wrote into it."""


class NotSigned(LogDamaged):
    """Something that the log holds was not signed for its place with a key of `export.log.key`."""


class TooLarge(LogDamaged):
    """An object is larger than what is read of it at once: nothing of it was read."""


class LogMissing(DataError):
    """Objects, a plan or an owner of this connector are there, but its log is not."""


class TemporaryError(ExporterError):
    """A later try may pass."""

    exit_status = EXIT_TEMPORARY


class Fenced(TemporaryError):
    """Another run closed the plan first: stop, touch nothing."""


class StoreUnavailable(TemporaryError):
    """S3 did not answer, answered with 5xx, or asked for time."""


class KafkaUnavailable(TemporaryError):
    """No broker answered, or a partition made no progress."""


class RegistryUnavailable(TemporaryError):
    """The schema registry did not answer: no record is bad because of that."""


class SparkFailed(TemporaryError):
    """Spark lost a task, to the machine or to whoever killed it, more often than it tries one."""


class SparkUnavailable(TemporaryError):
    """No Spark master, or no Spark Connect server, answered."""
