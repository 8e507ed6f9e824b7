"""`kafka-s3 preview`: what a configuration makes of records, without Kafka, S3 or Spark."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from kafka_s3.adapters.memory.registry import folder_registry
from kafka_s3.cli.common import Time, configured, count, echo, load_configuration, now_ms
from kafka_s3.cli.record_lines import RecordLineError, parse_records
from kafka_s3.errors import ConfigurationError, ExporterError
from kafka_s3.inference.schemas import schema_of_values
from kafka_s3.ports import Registries
from kafka_s3.report.preview import GivenRecord, Preview, preview
from kafka_s3.settings import Settings
from kafka_s3.settings.converters import WITH_REGISTRY, Converter
from kafka_s3.shown import printable_json
from kafka_s3.write.rejections import Rejected


@click.command("preview", short_help="What a configuration makes of given records.")
@configured
@click.option(
    "--records",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    required=True,
    help="The records, one JSON object per line; - is standard input.",
)
@click.option("--at", type=Time(), help="The run's logical time, ISO 8601: what Wallclock returns. Default: now.")
@click.option(
    "--schemas",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the registry's schemas, <id>.avsc, .proto or .json; ascending ids are their subject's versions.",
)
@click.option(
    "--write-schema",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With export.value.schema=infer: write the schema into this file, for export.value.schema.file.",
)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Write the objects under this folder.")
def command(
    config: Path,
    worker: Path | None,
    records: Path,
    at: int | None,
    schemas: Path | None,
    write_schema: Path | None,
    out: Path | None,
) -> None:
    """Print the objects that CONFIG makes of some records, without Kafka, S3 or Spark.

    \b
    Each record is one JSON object per line:
      offset     required; offsets ascend in a partition, gaps are fine
      topic      default: the first one configured
      partition  default: 0
      timestamp  milliseconds since the epoch, or null
      key, value any JSON: its compact form is the bytes; null or absent: none (a tombstone)
      key_base64, value_base64
                 exact bytes instead
      headers    list of [name, value], value as above

    Prints one JSON line per object, in the order in which objects close: key, records, first_offset, last_offset,
    bytes, closed_by, and companions (the keys beside it). Then it prints one line per refused record. With
    export.value.schema=infer, one line per topic with its schema comes first.

    Exits with 1 if a record was refused and errors.tolerance is none: its partition ends in front of it, and other
    partitions go on.
    """
    settings = load_configuration(config, worker, offline=True).settings
    given = _read(settings, records)
    if not given:
        echo(f"{records} holds no records.", err=True)
    keep = _Folder(out).write if out is not None else None
    registries = _registries(settings, schemas)
    inferred = _schemas(settings, given, write_schema)
    at_ms = now_ms() if at is None else at
    result = preview(settings, given, keep, at_ms=at_ms, registries=registries, schemas=inferred)
    for topic, text in inferred.items():
        click.echo(printable_json({"topic": topic, "schema": json.loads(text)}))
    _print(result)
    if result.stopped:
        first, more = result.stopped[0], len(result.stopped) - 1
        others = f" So do {count(more, 'other partition')}." if more else ""
        said = str(first).removesuffix(".")
        echo(f"A bad record at {said}; its partition ends in front of it (errors.tolerance=none).{others}", err=True)
        raise click.exceptions.Exit(1)


def _schemas(settings: Settings, given: Sequence[GivenRecord], file: Path | None) -> dict[str, str]:
    """The schema of each topic's records, where schemas are inferred; `file`: where the only one goes."""
    values: dict[str, list[bytes | None]] = {}
    for tp, record in given:
        values.setdefault(tp.topic, []).append(record.value)
    if settings.format.value.inference is None:
        if file is not None:
            raise click.UsageError("--write-schema needs export.value.schema=infer.")
        return {}
    if file is not None:
        if len(values) != 1:
            raise click.UsageError(f"--write-schema writes one schema, and the records are of {len(values)} topics.")
        (only,) = values.values()
        _write(file, schema_of_values(settings.format, only, rest=False))
    return {topic: schema_of_values(settings.format, each) for topic, each in sorted(values.items())}


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise ExporterError(f"{file} cannot be written: {error.strerror or error}.") from None


def _registries(settings: Settings, schemas: Path | None) -> Registries:
    """Where schemas come from: the folder. A registry is never asked: a preview needs no network."""
    asking = {settings.format.value.converter, settings.format.key.converter} & {*WITH_REGISTRY}
    if not asking:
        return Registries()
    if schemas is None:
        names = " and ".join(sorted(each.value.rpartition(".")[2] for each in asking))
        kinds = dict.fromkeys((Converter.PROTOBUF, Converter.GLUE_PROTOBUF), "<id>.proto")
        kinds |= dict.fromkeys((Converter.JSON_SCHEMA, Converter.GLUE_JSON_SCHEMA), "<id>.json")
        files = " and ".join(sorted({kinds.get(each, "<id>.avsc") for each in asking}))
        raise click.UsageError(f"Schemas are read by {names}: give them as --schemas DIR with {files}.")
    registry = folder_registry(schemas)
    return Registries(registry, registry)


def _read(settings: Settings, records: Path) -> list[GivenRecord]:
    """Every record of the file, in memory at once: a preview of half a file would mislead."""
    regex = settings.topics_regex
    default = settings.topics[0] if settings.topics else None

    def is_configured(topic: str) -> bool:
        return topic in settings.topics or (regex is not None and re.fullmatch(regex, topic) is not None)

    with click.open_file(str(records), "rb") as lines:
        try:
            return list(parse_records(lines, default, is_configured))
        except RecordLineError as error:
            raise click.UsageError(f"{records} {error}.") from None


def _print(result: Preview) -> None:
    for made in result.objects:
        line: dict[str, object] = {
            "key": made.key,
            "records": made.holds.records,
            "first_offset": made.holds.first_offset,
            "last_offset": made.holds.last_offset,
            "bytes": made.stored.size,
            "closed_by": made.closed_by.value,
        }
        if made.beside:
            line["companions"] = [each.key for _, each in made.beside]
        click.echo(printable_json(line))
    for refused in result.rejected:
        click.echo(printable_json({"rejected": _refused(refused)}))


def _refused(refused: Rejected) -> dict[str, object]:
    tp = refused.tp
    return {"topic": tp.topic, "partition": tp.partition, "offset": refused.offset, "error": refused.reason}


@dataclass(frozen=True, slots=True)
class _Folder:
    """Where bodies go, each under its key; no key leads out of it, not even by a link that lies inside."""

    root: Path

    def write(self, key: str, body: bytes) -> None:
        if "\0" in key or any(part in ("", ".", "..") for part in key.split("/")):
            raise ConfigurationError(
                f"The key {key!r} cannot be a path under {self.root}.", next="Leave --out out, or change the path."
            )
        target = self.root / key
        try:
            if not target.resolve().is_relative_to(self.root.resolve()):
                raise ConfigurationError(f"{target} leads out of {self.root} by a link.", next="Remove the link.")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(body)
        except OSError as error:
            raise ExporterError(f"{target} cannot be written: {error.strerror or error}.") from None
