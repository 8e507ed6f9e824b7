"""`kafka-s3 airflow`: what helps to bring exports into an Airflow."""

from __future__ import annotations

from pathlib import Path

import click

from kafka_s3.cli.common import echo, writing


@click.group("airflow")
def command() -> None:
    """Set up exports in an Airflow.

    `init FOLDER` writes a starter project into FOLDER, which must be empty: a DAG file, a connector, tests of both.
    """


@command.command("init", short_help="Write a starter project: a DAG file, a connector, tests.")
@click.argument("folder", type=click.Path(path_type=Path), metavar="FOLDER")
def init(folder: Path) -> None:
    """Write a starter project into FOLDER: a DAG file, a connector, and tests of both. FOLDER must be empty."""
    from kafka_s3.cli.starting_project import files, write_project

    with writing(folder):
        write_project(folder)
    for name in files():
        echo(str(folder / name))
    echo(f"Next: change {folder / 'connectors' / 'orders.properties'}, and read {folder / 'README.md'}.")
