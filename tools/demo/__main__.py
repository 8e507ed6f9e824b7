"""`make demo`: the main job on real input, as users run it."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime

from rich.console import Console

from tools.demo import check
from tools.demo.records import HOUR_MS, PARTITIONS, TOPIC, produce
from tools.demo.stage import HOME, Stage, StepFailed, airflow, fresh_stage, keep
from tools.parts.errors import PartError

console = Console(highlight=False, soft_wrap=False, width=None if sys.stdout.isatty() else 120)


def main() -> int:
    """Run the demo; 0 if every record landed exactly once."""
    try:
        with ExitStack() as servers:
            with step("Starting a Kafka broker and an S3 server"):
                stage = servers.enter_context(fresh_stage())
            play(stage)
    except (PartError, StepFailed, AssertionError) as error:
        console.print(f"[red]The demo failed:[/red] {error}", markup=True)
        return 1
    except KeyboardInterrupt:
        console.print("Interrupted; everything was stopped.")
        return 130
    console.print(
        "\nNext: [bold]make ui[/bold] opens this data in Airflow; docs/concepts/bucket.md says what is in the bucket."
    )
    return 0


def play(stage: Stage) -> None:
    """Topic, three runs, the table, the check."""
    now_ms = int(time.time() * 1000)
    start_ms = now_ms - now_ms % HOUR_MS - 3 * HOUR_MS  # two full hours, and a third one that is over too
    stage.kafka.create_topic(TOPIC, PARTITIONS)
    produce(stage.kafka.bootstrap_servers, start_ms)
    with step("Preparing Airflow's database (SQLite)"):
        airflow(stage, "db-migrate", "db", "migrate")
    for number, what in enumerate(("the first hour", "the second hour", "an hour with nothing new"), 1):
        # `dags test DAG DATE` runs the last interval that ended by DATE. The end itself is the date of a scheduled run,
        # which the scheduler of `make ui` would not start any more.
        date = datetime.fromtimestamp((start_ms + number * HOUR_MS) / 1000 + 60, UTC).isoformat()
        with step(f"airflow dags test {TOPIC} {date}   ({what})"):
            said = airflow(stage, f"run-{number}", "dags", "test", TOPIC, date)
        started = "Spark-Submit cmd" in said
        assert started == (number < 3), f"Spark started: {started}, for {what}; see {HOME}/run-{number}.log"
    objects = check.landed(stage)
    console.print(check.table_of(objects))
    console.print(check.table_of_positions(stage))
    with step("Comparing every record of the topic with the objects"):
        compared = check.compare(stage, objects)
    console.print(f"[green]{compared:,} records of the topic are in {len(objects)} objects, each exactly once.[/green]")
    console.print("The third run found nothing new: Spark was not started.")
    with step(f"Keeping the topic and the bucket in {HOME.name}/ for make ui"):
        keep(stage)


@contextmanager
def step(what: str) -> Iterator[None]:
    """Show a step while it runs, and how long it took."""
    began = time.monotonic()
    with console.status(what):
        yield
    console.print(f"{what} [dim]{time.monotonic() - began:.0f} s[/dim]")


if __name__ == "__main__":
    sys.exit(main())
