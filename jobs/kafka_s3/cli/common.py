"""What every command shares: the configuration's argument and options, times, and how to print."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from kafka_s3.errors import ConfigurationError
from kafka_s3.events import Event, Tell
from kafka_s3.log.entries import Interval
from kafka_s3.sentences import sentence
from kafka_s3.settings import Loaded, load, lookups_of
from kafka_s3.shown import printable, printable_json, printable_lines

State = TypeVar("State")
Function = TypeVar("Function", bound=Callable[..., Any])


def configured(function: Function) -> Function:
    """A command over a connector file: CONFIG and --worker."""
    function = click.option(
        "--worker",
        type=click.Path(path_type=Path),
        help="The worker's properties, as Connect has them. Default: worker.properties beside CONFIG, if there is one.",
    )(function)
    return click.argument("config", type=click.Path(path_type=Path))(function)


in_parallel = click.option(
    "--parallel",
    type=click.IntRange(1, 256),
    default=8,
    show_default=True,
    metavar="N",
    help="Requests to the store at once.",
)
as_json = click.option("--json", "json_", is_flag=True, help="Print JSON, for machines.")


def load_configuration(config: Path, worker: Path | None, *, offline: bool = False) -> Loaded:
    """The configuration as this process's environment and files complete it; no secrets backend is here."""
    return load(config, worker=worker, lookups=lookups_of(os.environ), offline=offline)


# Times.


class Time(click.ParamType):  # type: ignore[type-arg]  # generic only in newer releases of click
    """An ISO 8601 time as milliseconds since the epoch; without an offset it is UTC."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            at = datetime.fromisoformat(value)
            at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
            return round(at.timestamp() * 1000)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not an ISO 8601 time like 2026-03-01T13:00:00+01:00.", param, ctx)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def iso(milliseconds: int) -> str:
    """
    >>> iso(0), iso(1_767_225_600_500)
    ('1970-01-01T00:00:00Z', '2026-01-01T00:00:00.500Z')
    """
    seconds, rest = divmod(milliseconds, 1000)
    text = datetime.fromtimestamp(seconds, UTC).isoformat().removesuffix("+00:00")
    return f"{text}.{rest:03d}Z" if rest else f"{text}Z"


def interval_text(interval: Interval | None) -> str:
    if interval is None:
        return "until now"
    if interval.start_ms == interval.end_ms:
        return f"until now, at {iso(interval.start_ms)}"
    return f"{iso(interval.start_ms)} .. {iso(interval.end_ms)}"


# Files.


@contextlib.contextmanager
def writing(place: Path) -> Iterator[None]:
    """What cannot be written to a place that the user named is a sentence."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigurationError(f"{place} cannot be written: {reason}.", next="Name another place.") from None


# Questions.


def confirmed(question: str) -> bool:
    """Whether a person says yes; without a terminal nobody does."""
    try:
        return click.confirm(question)
    except click.Abort:  # no terminal, or Ctrl-C
        click.echo()
        return False


# Output.


def echo(text: str = "", *, err: bool = False) -> None:
    """Print a sentence: whatever is in it, names from a bucket or a record, does nothing to the terminal."""
    click.echo(printable_lines(text), err=err)


def telling(*, err: bool = False) -> Tell:
    """Prints the sentence of each event."""

    def tell(event: Event) -> None:
        echo(sentence(event), err=err)

    return tell


def print_json(value: object) -> None:
    click.echo(printable_json(value, 2))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: str = "") -> None:
    """A table; the columns named in `right` (blank between them) hold numbers.

    On a terminal long texts fold; elsewhere a row is one line, for grep.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else 100_000, highlight=False, markup=False, emoji=False)
    table = Table(title=Text(title), title_justify="left", box=None, pad_edge=False, title_style="bold")
    numbers = right.split()
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        # Not markup: a value from a file must not colour or link anything.
        table.add_row(*(Text(printable(str(cell))) for cell in row))
    if terminal:
        console.print(table)
        return
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().splitlines():
        echo(line.rstrip())


def count(number: int, one: str, many: str | None = None) -> str:
    """
    >>> count(1, "record"), count(1200, "record"), count(2, "entry", "entries")
    ('1 record', '1,200 records', '2 entries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def megabytes(number: int) -> str:
    """
    >>> megabytes(1_234_567_890)
    '1,234.6 MB'
    """
    return f"{number / 1e6:,.1f} MB"


@contextlib.contextmanager
def progress_bar(
    waiting_for: str, shown: Callable[[State], tuple[int | None, int, str]]
) -> Iterator[Callable[[State], None]]:
    """A bar on stderr if that is a terminal. `shown`: of a state, how much there is, how much is done, and of what."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    # What is printed meanwhile goes above the bar; into a file or a pipe it goes as ever.
    console, is_shown = Console(stderr=True), sys.stdout.isatty()
    with Progress(console=console, transient=True, redirect_stdout=is_shown) as bar:
        task = bar.add_task(waiting_for, total=None)

        def tell(state: State) -> None:
            total, completed, description = shown(state)
            bar.update(task, total=total, completed=completed, description=description)

        yield tell
