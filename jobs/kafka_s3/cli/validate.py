"""`kafka-s3 validate`: what a configuration means, or everything that is wrong with it."""

from __future__ import annotations

from pathlib import Path

import click

from kafka_s3.cli.common import as_json, configured, count, echo, iso, load_configuration, print_json, print_table
from kafka_s3.errors import ConfigurationError
from kafka_s3.joda.buckets import Bucketer
from kafka_s3.joda.zones import zone
from kafka_s3.settings import Loaded, Settings, outline
from kafka_s3.settings.files import SUFFIXES
from kafka_s3.settings.loading import WORKER_FILE
from kafka_s3.settings.paths import TimePartitioner
from kafka_s3.settings.spark import conf_conflicts
from kafka_s3.settings.values import NullValues
from kafka_s3.settings.variables import Source
from kafka_s3.write.routing import ObjectRouter

_SAMPLE_MS = 1_709_214_417_678  # no two parts of this time are equal: a path shows which letters mean what


@click.command("validate", short_help="What a configuration means, or everything wrong with it.")
@configured
@click.option(
    "--complete",
    is_flag=True,
    help="Also insist on what may be known only where the export runs: bootstrap.servers and every variable.",
)
@click.option("--all", "all_", is_flag=True, help="Also print the properties that have their default.")
@as_json
def command(config: Path, worker: Path | None, complete: bool, all_: bool, json_: bool) -> None:
    """Print what CONFIG sets: each property with its value, where that comes from and what it means.

    If anything is wrong, print every problem instead (property, value, what is allowed) and exit with 1. Reads
    files and the environment only: no Kafka, no S3. Secrets show as [hidden]. --json always prints the defaults, too.
    """
    try:
        loaded = load_configuration(config, worker, offline=not complete)
        _refuse_in_group(config, worker)
    except ConfigurationError as error:
        if not json_:
            raise
        problems = [{"property": p.name, "value": p.value, "problem": p.message} for p in error.problems]
        print_json({"valid": False, "error": error.what, "problems": problems})
        raise click.exceptions.Exit(1) from None
    if json_:
        rows = [
            {
                "property": row.name,
                "value": row.value,
                "source": row.source,
                "meaning": row.meaning,
                "ignored": row.ignored,
            }
            for row in loaded.report
        ]
        print_json({"valid": True, "name": loaded.settings.name, "properties": rows, "notes": _notes(loaded)})
        return
    _print(config, loaded, with_defaults=all_)


def _refuse_in_group(config: Path, worker: Path | None) -> None:
    """Members of a group share one Spark application: raise if one beside this file has what it asks for otherwise."""
    known = outline(config, worker)
    if known.group is None:
        return
    files = (path for path in config.absolute().parent.iterdir() if path.suffix.lower() in SUFFIXES and path.is_file())
    beside = [outline(path, worker) for path in files if path.name not in (config.name, WORKER_FILE)]
    right = [each for each in beside if each.group == known.group and not each.problems]
    conflict = conf_conflicts(known.group, {each.name: each.spark for each in (*right, known)}).get(known.name)
    if conflict is not None:
        raise ConfigurationError(f"{config} has 1 problem:", problems=[conflict])


def _print(config: Path, loaded: Loaded, *, with_defaults: bool) -> None:
    used = [row for row in loaded.report if not row.ignored]
    shown = [row for row in used if with_defaults or row.source != Source.DEFAULT.value]
    ignored = [row for row in loaded.report if row.ignored]
    print_table(
        f"Connector {loaded.settings.name}",
        ("property", "value", "source", "meaning"),
        [(row.name, row.value, row.source, row.meaning) for row in shown],
    )
    if ignored:
        echo()
        print_table(
            "Accepted, without effect",
            ("property", "source", "reason"),
            [(row.name, row.source, row.meaning) for row in ignored],
        )
    echo()
    for note in _notes(loaded):
        echo(f"Note: {note}")
    defaults = len(used) - len(shown)
    echo(f"{config} is valid: {count(len(used), 'property', 'properties')} in effect{_of_those(defaults)}.")


def _of_those(defaults: int) -> str:
    return f", {defaults} of them by default (--all shows them)" if defaults else ""


def _beside(settings: Settings) -> list[str]:
    """What readers of a plain listing have to leave out: pyarrow, for one, reads whatever lies in a folder."""
    format, router = settings.format, ObjectRouter(settings)
    beside = [f"*{extension}" for extension in router.extensions[1:]]
    if format.null_values is NullValues.WRITE and format.record_fields is None:
        beside.append(f"{format.tombstone_path}/")
    if settings.completeness is not None:
        beside.append("_COMPLETE.json")
    if not beside:
        return []
    values = f"*[0-9]{router.extensions[0]}"
    return [f"beside the values lie {', '.join(beside)}: list {values} alone, or records are counted twice"]


def _notes(loaded: Loaded) -> list[str]:
    """What a pattern of paths comes to, and what is still open: it may be known where the export runs."""
    notes = []
    if loaded.is_aivens:
        notes.append("this is a configuration of Aiven's S3 sink, read as this exporter's properties: docs/aiven.md.")
    match loaded.settings.partitioner:
        case TimePartitioner(duration_ms, path_format, timezone, locale):
            path = Bucketer(duration_ms, path_format, zone(timezone), locale).path(_SAMPLE_MS)
            notes.append(f"a record of {iso(_SAMPLE_MS)} has the path {path}")
        case _:
            pass
    notes += _beside(loaded.settings)
    if not any(row.name.endswith("bootstrap.servers") for row in loaded.report):
        notes.append("bootstrap.servers is not in these files: it has to come from the Airflow connection.")
    open_variables = [row.name for row in loaded.report if "${" in row.value]
    if open_variables:
        notes.append(f"these hold a variable that has no value here: {', '.join(open_variables)}.")
    return notes
