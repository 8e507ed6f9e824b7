"""`kafka-s3 gc`: deletes what dead runs left behind."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from kafka_s3.bucket.folders import Named
from kafka_s3.bucket.orphans import Fate
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
from kafka_s3.cli.verify import orphan_values
from kafka_s3.gc.gc import Deleted, Garbage, Progress, collect, delete
from kafka_s3.shown import printable
from kafka_s3.wiring import make_log

_SHOWN = 20


@click.command("gc", short_help="List, or delete, what dead runs left behind.")
@configured
@click.option("--delete", "delete_", is_flag=True, help="Delete them. Without it nothing is written.")
@click.option(
    "--prefix",
    multiple=True,
    metavar="PREFIX",
    help="Also keys with this prefix, if an older plan names it.",
)
@click.option("--topic", multiple=True, metavar="TOPIC", help="Also a topic that CONFIG no longer exports.")
@click.option(
    "--lost", is_flag=True, help="Also what may be the last copy of records that Kafka lost before they were exported."
)
@click.option(
    "--withdrawn", is_flag=True, help="Also objects that a rewind withdrew and whose offsets are exported again."
)
@in_parallel
@as_json
def command(
    config: Path,
    worker: Path | None,
    delete_: bool,
    prefix: tuple[str, ...],
    topic: tuple[str, ...],
    lost: bool,
    withdrawn: bool,
    parallel: int,
    json_: bool,
) -> None:
    """List the objects and multipart uploads of CONFIG that runs which died left behind; with --delete, delete them.

    These are data objects, what lies beside them, and dead letters that no log entry lists and that none can list any
    more: below the position of their partition, or of an older generation. In a window that was exported again and is
    committed, they are whatever its commit does not list. It is safe at any time, also while runs are at work; age
    plays no part.

    Never touched: what a log entry lists, rewound objects included; what `adopt` took over; keys of another connector's
    topics; every key that this connector's configurations do not make; a window that is not committed.

    With --withdrawn it also takes objects that a rewind withdrew, once all their offsets are exported again. With
    --lost it also takes objects that begin where the log says that Kafka lost records before they were exported: after
    a gap, a topic that was created again, or a truncated log. These objects may be the last copy. Prefixes and topics
    that CONFIG no longer names are left alone unless --prefix or --topic names them.

    Refuses a log that is not whole. In a bucket with versions, a deletion leaves the old version behind.

    Exits with 1 if something could not be deleted.
    """
    settings = load_configuration(config, worker).settings
    log = make_log(settings)
    deleted: Deleted | None = None
    with progress_bar("log entries", _bar) as tell:
        garbage = collect(
            settings,
            log,
            named=Named(prefix, topic),
            with_lost=lost,
            with_withdrawn=withdrawn,
            parallel=parallel,
            tell=tell,
        )
        if delete_ and garbage is not None:
            deleted = delete(log, garbage, parallel=parallel, tell=tell)
    if json_:
        print_json(_values(garbage, deleted))
    elif garbage is None:
        echo("There is no log yet, so there is nothing to collect.")
    else:
        _print(garbage, deleted)
    raise click.exceptions.Exit(0 if deleted is None or deleted.complete else 1)


def _bar(at: Progress) -> tuple[int | None, int, str]:
    return max(at.total, at.done) or None, at.done, at.doing


def _values(garbage: Garbage | None, deleted: Deleted | None) -> dict[str, object]:
    found = None if garbage is None else garbage.seq
    return {
        "newest_entry": found,
        "objects": [orphan_values(each) for each in garbage.objects] if garbage else [],
        "uploads": [asdict(each) for each in garbage.uploads] if garbage else [],
        "waiting": [orphan_values(each) for each in garbage.waiting] if garbage else [],
        "notes": list(garbage.notes) if garbage else [],
        "deleted": None if deleted is None else asdict(deleted),
    }


def _print(garbage: Garbage, deleted: Deleted | None) -> None:
    lines = [f"{orphan.key} ({count(orphan.size, 'byte')}, {orphan.fate.value})" for orphan in garbage.objects]
    lines += [f"{upload.key} (an open upload, {upload.id})" for upload in garbage.uploads]
    for line in lines[:_SHOWN]:
        echo(f"  {printable(line)}")
    if len(lines) > _SHOWN:
        echo(f"  … and {len(lines) - _SHOWN:,} more; --json lists all.")
    for note in garbage.notes:
        echo(f"Note: {printable(note)}")
    last = [orphan for orphan in garbage.waiting if orphan.fate is Fate.LOST]
    for orphan in last[:_SHOWN]:
        echo(f"  KEPT {printable(orphan.key)} ({count(orphan.size, 'byte')}, {orphan.fate.value})")
    if last:
        many = count(len(last), "object")
        echo(f"{many} may be the last copy of records that Kafka lost: look first; --lost includes such objects.")
    ahead = len(garbage.waiting) - len(last)
    if ahead:
        many = count(ahead, "orphan")
        echo(f"{many} more may still be committed by a run, and {'is' if ahead == 1 else 'are'} kept.")
    size, uploads = megabytes(garbage.bytes), count(len(garbage.uploads), "open upload")
    what = f"{count(len(garbage.objects), 'object')} ({size}) and {uploads}"
    if deleted is None:
        echo(f"{what} can be deleted: --delete does it." if lines else "Nothing is left behind.")
        return
    for failed in deleted.failed:
        echo(f"NOT DELETED {printable(failed.key)}: {printable(failed.reason)}")
    if deleted.left:
        echo(f"{count(deleted.left, 'key')} not tried: too many deletions failed. Fix the cause and run gc again.")
    echo(f"{count(deleted.objects, 'object')} and {count(deleted.uploads, 'open upload')} deleted.")
