"""`kafka-s3 iam`: the least that AWS has to allow a command."""

from __future__ import annotations

from pathlib import Path

import click

from kafka_s3.cli.common import configured, load_configuration, print_json
from kafka_s3.report.policy import COMMANDS, least_policy


@click.command("iam", short_help="The least policy of AWS for each command, as JSON.")
@configured
@click.option(
    "--for",
    "command_",
    type=click.Choice(COMMANDS),
    default="run",
    show_default=True,
    help="The command that the policy allows; assume: for the keys that assume the configured role.",
)
def command(config: Path, worker: Path | None, command_: str) -> None:
    """Print the least policy of IAM that lets a command work over CONFIG, as JSON: S3 by prefix, and KMS, Glue, STS and
    Amazon MSK where they are configured. `run` is what a DAG needs. Reads files and the environment only.

    What a bucket policy or a key policy denies is not seen.
    """
    print_json(least_policy(load_configuration(config, worker, offline=True).settings, command_))
