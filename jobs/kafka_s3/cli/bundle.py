"""`kafka-s3 bundle`: an archive of the engine for Spark workers that have nothing installed."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kafka_s3.cli.common import echo, writing
from kafka_s3.settings.spark import CONF


@click.command("bundle", short_help="Pack the engine and its libraries for Spark workers.")
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False), required=False, metavar="[FILE]")
@click.option("--extra", "extras", multiple=True, metavar="EXTRA", help="Pack this extra too: msk, protobuf.")
@click.option("--engine-only", is_flag=True, help="Pack no libraries: a small zip for workers that have them.")
def command(out: Path | None, extras: tuple[str, ...], engine_only: bool) -> None:
    """Pack this engine and the libraries that it needs into one archive, FILE, for Spark workers without them.

    It packs what is installed here, so nothing is downloaded, and workers get the driver's own versions. They need the
    same minor version of Python (3.12, say) and the same kind of machine. Airflow and pyspark are not packed: Spark
    brings its own.
    """
    from kafka_s3.spark.bundle import FOLDER, bundle, default_name, engine_zip

    if engine_only and extras:
        raise click.UsageError("--engine-only packs no libraries, so there is no extra to pack.")
    path = (out or Path("dist", default_name(engine_only=engine_only))).absolute()
    with writing(path):
        made = engine_zip(path) if engine_only else bundle(path, extras)
    echo(f"{made.path}: {len(made.packages)} packages, {made.files:,} files, {made.bytes / 1e6:.1f} MB")
    echo("A connector that uses it says:")
    if engine_only:
        echo(f"  {CONF}spark.submit.pyFiles={made.path}")
        return
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    echo(f"  {CONF}spark.archives={made.path}#{FOLDER}")
    echo(f"  {CONF}spark.executorEnv.PYTHONPATH={FOLDER}")
    echo(f"  {CONF}spark.pyspark.python={version}")
