"""What a connector's DAG says about itself, in Markdown. Made of the file alone, and without its secrets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kafka_s3.settings import Outline
from kafka_s3_airflow.schedules import spoken

VALUE_LENGTH_MAX: Final = 200

_TASKS: Final = """\
| task | what it does |
|---|---|
| `plan` | decides which offsets the run exports and records them; if nothing is new, `export` is skipped |
| `export` | exports them with Spark, and commits them |
| `complete` | announces what was committed, as asset events |
"""


def document(path: Path, known: Outline, log: str) -> str:
    """What a connector exports, when, from where and to where; what its tasks do; which properties are set."""
    topics = ", ".join(_code(topic) for topic in known.topics) or f"all that match {_code(known.topics_regex or '')}"
    target = f"s3://{known.bucket}/{known.topics_dir}"
    properties = "\n".join(f"{name}={_short(value)}" for name, value in known.given)
    return (
        f"Exports Kafka topics to S3, exactly once. Configured in {_code(path.name)}.\n\n"
        f"- Topics: {topics}\n"
        f"- Target: {_code(target)}, format {_code(known.format)}, partitioner {_code(known.partitioner)}\n"
        f"- Runs {_times(known)}\n"
        f"- Connections: {_code(known.kafka_conn_id)}, {_code(known.aws_conn_id)}, {_code(known.spark.conn_id)}\n"
        f"- Log of commits: {_code(log)}\n\n"
        f"{_TASKS}\n"
        "A run exports the records before the end of its data interval; without one, or with `until: now`, all that"
        " can be read when it is planned.\n\n"
        f"Configured properties:\n\n```\n{properties}\n```\n"
    )


def described(known: Outline) -> str:
    """One line for the list of DAGs."""
    topics = ", ".join(known.topics) or f"topics that match {known.topics_regex}"
    return _short(f"Exports {topics} from Kafka to s3://{known.bucket}/{known.topics_dir}, exactly once.")


def broken_document(path: Path, problems: Sequence[str]) -> str:
    """What is wrong with a connector."""
    return f"**This connector cannot run.** {_code(path.name)}:\n\n```\n{listed(problems)}\n```\n"


def listed(problems: Sequence[str]) -> str:
    """One problem a line."""
    return "\n".join(f"  {problem}" for problem in problems)


def _times(known: Outline) -> str:
    by_time = spoken(known.schedule) if known.schedule.timed else ""
    uris = ", ".join(_code(uri) for uri in known.schedule_assets)
    by_assets = f"when these assets are updated: {uris}" if uris else ""
    return ", and ".join(filter(None, (by_time, by_assets))) or "by hand only"


def _code(text: str) -> str:
    return f"`{text.replace('`', '')}`"


def _short(value: str) -> str:
    return value if len(value) <= VALUE_LENGTH_MAX else f"{value[:VALUE_LENGTH_MAX]}…"
