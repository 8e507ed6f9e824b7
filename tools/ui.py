"""`make ui`: Airflow's own UI on what `make demo` left, until Ctrl-C."""

import signal
import sys
from contextlib import ExitStack
from threading import Event

from rich.console import Console

from tools.demo.records import TOPIC
from tools.demo.stage import HOME, REPOSITORY, kept_stage
from tools.parts.airflow import Airflow
from tools.parts.errors import PartError

console = Console(highlight=False)


def main() -> int:
    """Serve until the user has seen enough."""
    if not (HOME / "kafka").is_dir():
        console.print("There is no data yet: run `make demo` first.")
        return 1
    stopped = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    try:
        with ExitStack() as servers:
            with console.status("Starting the Kafka broker and the S3 server with the demo's data, and Airflow"):
                stage = servers.enter_context(kept_stage())
                airflow = servers.enter_context(Airflow(stage.environment()))
            shell = HOME / "shell"
            shell.write_text(stage.shell_lines())
            console.print(f"\nAirflow: [bold]{airflow.url}/dags/{TOPIC}[/bold]")
            console.print(f"Login:   [bold]{airflow.user}[/bold]   password: [bold]{airflow.password}[/bold]")
            console.print(f"\nThe DAG {TOPIC} is unpaused: it runs at the end of each hour. Trigger it to run it now.")
            here = REPOSITORY.name
            console.print(f"In another shell, in {here}/, the command line on the same data:")
            console.print(f"    source {shell.relative_to(REPOSITORY)}")
            console.print(f"    .venv/bin/kafka-s3 status connectors/{TOPIC}.properties")
            console.print("\nCtrl-C stops everything.")
            stopped.wait()
    except PartError as error:
        console.print(f"[red]Could not start:[/red] {error}")
        return 1
    console.print("Stopped.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
