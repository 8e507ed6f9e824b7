"""The command line, `kafka-s3`: one module for each command, imported when it is called.

A command parses its options, calls a use case and prints what comes back. Exit status: 0; 1 if something was found
wrong or went wrong; 2 for a wrong call. `run` and `reexport` alone end with the statuses of errors.py.

- `validate`, `preview`, `plan`, `run`, `status`, `verify`, `sign`, `gc`, `adopt`, `rewind`, `reexport`, `redrive`,
  `iam`, `bundle`, `airflow`: a command each.
- `common`: the arguments and options that commands share, and how they print.
- `interval`: the interval that a run is for.
- `problems`: what needs attention, as every command prints it.
- `record_lines`: the records of `preview`.
- `starting_project`: the files that `airflow init` writes.
- `spark_submit`: starts the Spark driver.
"""

from __future__ import annotations

import errno
from importlib import import_module
from typing import Final

import click

from kafka_s3 import __version__
from kafka_s3.errors import ExporterError
from kafka_s3.shown import printable_lines

#: In the order of `--help`. A module is cheap to import: what is heavy is imported where it is needed.
COMMANDS: Final = (
    "validate",
    "preview",
    "plan",
    "run",
    "status",
    "verify",
    "sign",
    "gc",
    "adopt",
    "rewind",
    "redrive",
    "reexport",
    "iam",
    "bundle",
    "airflow",
)
_OWN_EXIT_STATUS: Final = frozenset({"run", "reexport"})
#: What a disk or its permissions say to a file of the user's, or to where the output goes.
_DISK: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EFBIG})
EXIT_INTERRUPTED: Final = 130  # as a shell has it: 128 and SIGINT's number
#: What a command leaves behind that is stopped by Ctrl-C.
_LEFT: Final = {
    "run": "What was committed stays; a plan that is open is finished by the next `kafka-s3 run`.",
    "reexport": "Nothing of the window is committed; the same command goes on with its plan.",
    "redrive": "What was sent and not yet noted down is sent again by the next `kafka-s3 redrive`.",
    "gc": "What was deleted is deleted; the same command goes on with the rest.",
}


class _Commands(click.Group):
    """Finds a command in the module of its name; an error of ours is a message, never a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in COMMANDS:
            return None
        command = import_module(f"kafka_s3.cli.{name}").command
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except ExporterError as error:
            click.echo(printable_lines(str(error)), err=True)
            ctx.exit(error.exit_status if ctx.invoked_subcommand in _OWN_EXIT_STATUS else 1)
        except OSError as error:
            if error.errno not in _DISK:
                raise
            named = f": {error.filename}" if error.filename else ""
            said = f"What is printed or written here cannot be: {error.strerror}{named}."
            click.echo(printable_lines(said), err=True)
            ctx.exit(1)
        except KeyboardInterrupt:
            click.echo(
                printable_lines(f"\nInterrupted. {_LEFT.get(ctx.invoked_subcommand or '', '')}".rstrip()), err=True
            )
            ctx.exit(EXIT_INTERRUPTED)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Kafka topics to S3, exactly once, in bounded batches.

    CONFIG is a connector's configuration file, in the Kafka Connect S3 sink's properties: .properties or .json. What
    Connect keeps in its worker (bootstrap.servers, converters, security) is read from worker.properties beside it.

    Start with `validate`, which says what the configuration means, and `preview`, which shows what it makes of
    records, without Kafka or S3.
    """
