"""`kafka-s3 verify`: proves what is in the bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click

from kafka_s3.bucket.orphans import Orphan
from kafka_s3.cli.common import (
    as_json,
    configured,
    count,
    echo,
    in_parallel,
    load_configuration,
    megabytes,
    print_json,
    progress_bar,
)
from kafka_s3.cli.problems import as_json_problem, print_problem
from kafka_s3.export.diagnosis import Problem
from kafka_s3.report.status import problems
from kafka_s3.settings import Settings
from kafka_s3.shown import printable
from kafka_s3.verify.verify import Kafka, Progress, Verified, verify
from kafka_s3.wiring import make_broker, make_log, make_registries

_ORPHANS_SHOWN = 20


@click.command("verify", short_help="Prove log and objects, also against Kafka.")
@configured
@click.option("--against-kafka", is_flag=True, help="Also read the offsets from Kafka again, and compare the content.")
@click.option("--since", type=click.IntRange(0), default=0, metavar="SEQ", help="Only entries from this number on.")
@in_parallel
@as_json
def command(config: Path, worker: Path | None, against_kafka: bool, since: int, parallel: int, json_: bool) -> None:
    """Prove the export of CONFIG: walk its whole log and read every object.

    Checks the chain of checksums, plans, offset accounting, that every offset is exported once or named as lost
    (across rewinds, truncated and recreated topics too), who owns the topics, and every object's name, size, hash and
    number of records. Lost offsets, what was rewound, and offsets that Kafka no longer has are notes. Objects that no
    entry lists (orphans of failed runs) are reported too; they are not errors. Nothing is written.

    Exits with 1 if anything is wrong: each finding says where, what was expected, what was found and what to do. Also
    if the log (or Kafka, with --against-kafka) shows that something needs attention, which `kafka-s3 status` says
    in the same words, and if there is no log entry, so that nothing was proved.
    """
    settings = load_configuration(config, worker).settings
    log = make_log(settings)
    with progress_bar("log entries", _shown) as tell:
        open_broker = partial(make_broker, settings) if against_kafka else None
        found = problems(settings, log, open_broker)
        kafka = _kafka(settings) if against_kafka else None
        verified = verify(settings, log, kafka, since=since, parallel=parallel, tell=tell)
    is_ok = verified.ok and verified.entries > 0 and not found
    if json_:
        print_json({**as_values(verified), "ok": is_ok, "problems": [as_json_problem(each, config) for each in found]})
    else:
        _print(verified)
        for problem in found:
            print_problem(problem, config)
        _conclude(verified, found, f"s3://{settings.s3.bucket}/{log.where}", against_kafka=against_kafka)
    raise click.exceptions.Exit(0 if is_ok else 1)


def as_values(verified: Verified) -> dict[str, object]:
    """What `--json` prints of what was checked."""
    orphans = None if verified.orphans is None else [orphan_values(orphan) for orphan in verified.orphans]
    findings = [asdict(finding) for finding in verified.findings]
    return {"ok": verified.ok, **asdict(verified), "findings": findings, "orphans": orphans}


def orphan_values(orphan: Orphan) -> dict[str, object]:
    return {"key": orphan.key, "size": orphan.size, "deletable": orphan.deletable, "why": orphan.fate.value}


def _kafka(settings: Settings) -> Kafka:
    from kafka_s3.adapters.kafka import KafkaSource

    return Kafka(make_broker(settings), KafkaSource(settings.kafka), make_registries(settings))


def _shown(at: Progress) -> tuple[int | None, int, str]:
    return at.entries_total, at.entries, f"log entries, {at.objects:,} objects, {megabytes(at.bytes)}"


def _print(verified: Verified) -> None:
    for finding in verified.findings:
        echo(f"WRONG {printable(finding.where)}")
        echo(f"  expected: {printable(finding.expected)}")
        echo(f"  found:    {printable(finding.found)}")
        echo(f"  next:     {printable(finding.next)}")
    if verified.findings_count > len(verified.findings):
        echo(f"… and {verified.findings_count - len(verified.findings):,} more.")
    for note in verified.notes:
        echo(f"Note: {printable(note)}")
    echo(verified.trust)
    _print_orphans(verified)


def _conclude(verified: Verified, found: Sequence[Problem], where: str, *, against_kafka: bool) -> None:
    """What was proved, and no more than that."""
    compared = f", {count(verified.ranges_compared, 'range')} compared with Kafka" if against_kafka else ""
    counted = (
        f"{count(verified.entries, 'log entry', 'log entries')}, {count(verified.objects, 'object')}, "
        f"{count(verified.records, 'record')}, {count(verified.bytes, 'byte')}{compared}: "
    )
    if verified.findings_count:
        echo(f"{counted}{count(verified.findings_count, 'problem')} found.")
    elif not verified.entries:
        echo(f"Nothing was verified: there is no entry to check under {where}.")
    elif found:
        many = "a problem needs" if len(found) == 1 else f"{len(found)} problems need"
        echo(f"{counted}they match the log, but {many} attention.")
    else:
        echo(f"{counted}no problems found.")


def _print_orphans(verified: Verified) -> None:
    orphans = verified.orphans
    if not orphans:
        return
    size = sum(orphan.size for orphan in orphans)
    many = count(len(orphans), "orphan")
    echo(
        f"{many} ({count(size, 'byte')}): not listed by any log entry, and not needed by any reader; see `kafka-s3 gc`."
    )
    for orphan in orphans[:_ORPHANS_SHOWN]:
        echo(f"  {printable(orphan.key)} ({orphan.fate.value})")
    if len(orphans) > _ORPHANS_SHOWN:
        echo(f"  … and {len(orphans) - _ORPHANS_SHOWN:,} more; --json lists all.")
