"""`kafka-s3 adopt`: goes on where the Connect S3 sink has stopped."""

from __future__ import annotations

from pathlib import Path

import click

from kafka_s3.adopt.adopt import Found, Progress, adopt, look
from kafka_s3.adopt.decide import Basis, Choice, Decision
from kafka_s3.adopt.objects import Tail
from kafka_s3.adopt.positions_file import parse_positions
from kafka_s3.cli.common import (
    as_json,
    configured,
    confirmed,
    count,
    echo,
    iso,
    load_configuration,
    now_ms,
    print_json,
    print_table,
    progress_bar,
)
from kafka_s3.errors import ConfigurationError
from kafka_s3.plan.batch import RunRequest
from kafka_s3.ranges import TopicPartition
from kafka_s3.shown import printable
from kafka_s3.wiring import make_exporter


@click.command("adopt", short_help="Continue where the Connect S3 sink stopped.")
@configured
@click.option(
    "--from-group", metavar="GROUP", help="Trust this consumer group's offsets. Read in any case: connect-<name>."
)
@click.option("--from-objects", is_flag=True, help="Trust the records in the bucket, whatever a group says.")
@click.option(
    "--positions",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Use these positions as they are: JSON, or lines topic,partition,offset.",
)
@click.option("--yes", is_flag=True, help="Write the positions without asking.")
@as_json
def command(
    config: Path,
    worker: Path | None,
    from_group: str | None,
    from_objects: bool,
    positions: Path | None,
    yes: bool,
    json_: bool,
) -> None:
    """Take over the data of CONFIG that has no log: what the Connect S3 sink wrote, or whose log was lost.

    Finds each partition's next offset from the names in the bucket, the records in the last objects, the offsets of
    the consumer group connect-<name> and Kafka's log, and shows it. On confirmation it writes them as the first log
    entry; `kafka-s3 run` goes on there. Stop the connector first.

    Exits with 1, and writes nothing, if these do not agree: it says what was found and which option settles it.
    With --json nothing is asked: it shows what was found, and writes the entry only with --yes.
    """
    if from_group is not None and from_objects:
        raise click.UsageError("--from-group and --from-objects are mutually exclusive.")
    settings = load_configuration(config, worker).settings
    from kafka_s3.adapters.kafka import KafkaSource

    exporter = make_exporter(settings)
    basis = Basis.GROUP if from_group else Basis.OBJECTS if from_objects else Basis.AGREED
    given = {} if positions is None else _read_positions(positions)
    choice = Choice(from_group or f"connect-{settings.name}", basis, given)
    with progress_bar("counting records", _shown) as tell:
        found = look(exporter, KafkaSource(settings.kafka), choice, tell)
    if not json_:
        _print(found, f"s3://{settings.s3.bucket}")
    write = found.is_settled and (
        yes or (not json_ and confirmed("Write these positions? Is the sink's connector stopped for good?"))
    )
    if write:
        at = now_ms()
        adopt(exporter, found, RunRequest(f"adopt__{iso(at)}", 1, None, at))
    if json_:
        print_json(_as_json(found, written=write))
    elif write:
        key = found.log.layout.log_key(0)
        echo(f"Adopted: {key} holds the positions. `kafka-s3 run {config}` continues there.")
    else:
        echo("Nothing was written.", err=True)
    raise click.exceptions.Exit(0 if write or (json_ and found.is_settled) else 1)


def _read_positions(path: Path) -> dict[TopicPartition, int]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The positions in {path} cannot be read: {error}.") from None
    return parse_positions(text, str(path))


def _shown(at: Progress) -> tuple[int | None, int, str]:
    return at.to_count, at.counted, f"counting records, {at.to_count:,} objects"


def _print(found: Found, where: str) -> None:
    print_table(
        f"Found in {where}",
        (
            "topic",
            "partition",
            "objects",
            "first start",
            "last start",
            "records in last",
            "position",
            "log start",
            "log end",
            "source",
        ),
        [_row(decision) for decision in found.decisions],
        right="partition objects position",
    )
    echo()
    for note in found.notes:
        echo(f"Note: {printable(note)}")
    for decision in found.decisions:
        for note in decision.notes:
            echo(f"Note: {decision.tp}: {printable(note)}")
    for dispute in found.disputes:
        echo(f"\nRefused: {printable(dispute.what)}\n  {printable(dispute.next)}")
    for decision in found.decisions:
        for dispute in decision.disputes:
            echo(f"\nRefused: {decision.tp}: {printable(dispute.what)}\n  {printable(dispute.next)}")
    disputed = sum(bool(decision.disputes) for decision in found.decisions)
    if not found.is_settled:
        echo(f"\n{disputed} of {count(len(found.decisions), 'partition')} cannot be adopted yet.")


def _row(decision: Decision) -> tuple[object, ...]:
    shown = _values(decision)
    return tuple("" if value is None else value for value in shown.values())


def _values(decision: Decision) -> dict[str, object]:
    """A partition's line: of the table in this order, and of --json by these names."""
    evidence = decision.evidence
    values, tail = evidence.objects.values, evidence.tail
    return {
        "topic": decision.tp.topic,
        "partition": decision.tp.partition,
        "objects": len(values) + len(evidence.objects.without_value),
        "first_start": values[0].start if values else None,
        "last_start": values[-1].start if values else None,
        "records_in_last": tail.objects[-1].records if isinstance(tail, Tail) else None,
        "position": decision.position,
        "log_start": evidence.offsets.log_start,
        "log_end": evidence.offsets.high_watermark,
        "source": decision.source,
    }


def _as_json(found: Found, *, written: bool) -> dict[str, object]:
    return {
        "written": written,
        "settled": found.is_settled,
        "entry": found.log.layout.log_key(0) if written else None,
        "disputes": [{"what": dispute.what, "next": dispute.next} for dispute in found.disputes],
        "notes": list(found.notes),
        "partitions": [
            {
                **_values(decision),
                "group_offset": decision.evidence.committed,
                "disputes": [{"what": dispute.what, "next": dispute.next} for dispute in decision.disputes],
                "notes": list(decision.notes),
            }
            for decision in found.decisions
        ],
    }
