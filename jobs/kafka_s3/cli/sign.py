"""`kafka-s3 sign`: confirms what a log held before it had a key, or under an earlier one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from kafka_s3.cli.common import configured, count, echo, in_parallel, load_configuration
from kafka_s3.shown import printable
from kafka_s3.sign.sign import Found, confirm, look
from kafka_s3.signing import NO_KEY, Signed
from kafka_s3.wiring import make_log


@click.command("sign", short_help="Confirm what the log held before it was signed.")
@configured
@click.option(
    "--head",
    metavar="SHA256",
    help="SHA-256 of the newest entry that you checked, or at least 16 characters of it; none if there is no log.",
)
@in_parallel
def command(config: Path, worker: Path | None, head: str | None, parallel: int) -> None:
    """Show which documents of CONFIG's log the key in use (the first of export.log.key) has not signed; with --head,
    confirm them as they are.

    First stop the connector's runs, and check the log without the key as well as you can. Use `kafka-s3 verify`, best
    with --against-kafka, the bucket's versions, and the newest entry's SHA-256 in the last event or a backup. Whatever
    was changed in the log before you sign is trusted from then on.

    To change the key: put the new one in front of the old one in export.log.key everywhere, sign, and remove the old
    one. No document is changed: what you confirm goes into a list, which is signed.

    Exits with 1 if something remains to be confirmed, or could not be.
    """
    settings = load_configuration(config, worker).settings
    plain = make_log(replace(settings, log_key=NO_KEY))  # with the key nothing of it could be found
    found = look(plain, settings.log_key, parallel=parallel)
    _print(found, settings.name)
    if not found.documents:
        return
    if head is None:
        named = found.sha256 or "none"
        echo(f"Once that is checked: kafka-s3 sign {printable(str(config))} --head {named}")
        raise click.exceptions.Exit(1)
    key = confirm(plain, settings.log_key, found, head)
    echo(f"Confirmed: {key} lists them. Whatever else is not signed is refused.")


def _print(found: Found, connector: str) -> None:
    newest = "no entry" if found.seq is None else f"entry {found.seq}, SHA-256 {found.sha256}"
    echo(f"Connector {connector}: {newest}")
    for worth in (Signed.NOT, Signed.EARLIER, Signed.WRONG):
        folders = {folder: many for (each, folder), many in sorted(found.counts.items(), key=str) if each is worth}
        if folders:
            said = ", ".join(f"{count(many, 'document')} in {printable(folder)}/" for folder, many in folders.items())
            echo(f"  {worth.value}: {said}")
    if not found.documents:
        echo("All of it is signed with the key in use.")
