"""Published jars with everything they need, through the Ivy that pyspark carries: no Maven, no Spark session.

Each is checked against the SHA-256 in digests.txt before anything runs or unpacks it.
"""

import importlib.util
import re
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from tools.parts import digests
from tools.parts.cache import cache_directory, cached, locked
from tools.parts.errors import PartError
from tools.parts.java import find_java
from tools.parts.process import child_environment

RESOLVE_TIMEOUT_S = 900


@dataclass(frozen=True)
class Jar:
    """One published artifact: Maven's group, name and version, and its classifier if it has one.

    `type`: jar, or tar.gz for an archive, which is unpacked.
    """

    group: str
    name: str
    version: str
    classifier: str | None = None
    type: str = "jar"


def resolve(folder_name: str, jars: Sequence[Jar], *, transitive: bool = True) -> Path:
    """Return the cache's folder with these jars and what they depend on; the first call downloads them."""
    return cached(folder_name, lambda folder: _retrieve(folder_name, jars, transitive, folder))


def _retrieve(title: str, jars: Sequence[Jar], transitive: bool, folder: Path) -> None:
    """Download into an empty folder, telling on standard error what is going on."""
    print(f"{title}: downloading its jars from Maven Central (once, about a minute) ...", file=sys.stderr, flush=True)
    began = time.monotonic()
    description = folder / "ivy.xml"
    description.write_text(_ivy_xml(jars, transitive))
    spark = pyspark_folder()
    command = [str(find_java().executable), "-cp", f"{spark}/jars/*", "org.apache.ivy.Main"]
    command += ["-cache", str(cache_directory() / "ivy"), "-ivy", str(description), "-confs", "default"]
    command += ["-retrieve", f"{folder}/[artifact]-[revision](-[classifier]).[ext]"]
    try:
        with locked("ivy"):  # two that fill Ivy's own cache at once miss each other's files
            run = subprocess.run(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env=child_environment(),
                timeout=RESOLVE_TIMEOUT_S,
            )
    except subprocess.TimeoutExpired as error:
        raise PartError(
            f"{title}: Ivy did not finish within {RESOLVE_TIMEOUT_S} s. Is Maven Central reachable from here? "
            "What it has so far is kept: run the same command again."
        ) from error
    found = sorted([*folder.glob("*.jar"), *folder.glob("*.tar.gz")])
    if run.returncode != 0 or not found:
        raise PartError(
            f"{title}: Ivy could not resolve {', '.join(f'{jar.group}:{jar.name}:{jar.version}' for jar in jars)}. "
            "Is Maven Central reachable from here? (Behind a proxy: JAVA_TOOL_OPTIONS="
            "'-Dhttps.proxyHost=HOST -Dhttps.proxyPort=PORT'.) What Ivy said:\n" + _tail(run.stdout)
        )
    digests.check(found, cache_directory() / "ivy")
    bytes_total = sum(jar.stat().st_size for jar in found)
    print(
        f"{title}: {len(found)} jars, {bytes_total / 1e6:.0f} MB, in {time.monotonic() - began:.0f} s",
        file=sys.stderr,
        flush=True,
    )
    for archive in folder.glob("*.tar.gz"):
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        archive.unlink()


def pyspark_folder() -> Path:
    """Where the installed pyspark is, without importing it."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise PartError("pyspark is not installed in this Python, and its jars bring Ivy. Run: make setup")
    return Path(spec.origin).parent


def _ivy_xml(jars: Sequence[Jar], transitive: bool) -> str:
    dependencies = []
    for jar in jars:
        attributes = f"org={quoteattr(jar.group)} name={quoteattr(jar.name)} rev={quoteattr(jar.version)}"
        attributes += f' conf="default->default" transitive="{str(transitive).lower()}"'
        if jar.classifier:
            artifact = f"<artifact name={quoteattr(jar.name)} type={quoteattr(jar.type)} "
            artifact += f"m:classifier={quoteattr(jar.classifier)}/>"
            dependencies.append(f"<dependency {attributes}>{artifact}</dependency>")
        else:
            dependencies.append(f"<dependency {attributes}/>")
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">'
        '<info organisation="kafka-s3" module="parts"/><configurations><conf name="default"/></configurations>'
        f"<dependencies>{''.join(dependencies)}</dependencies></ivy-module>\n"
    )


def _tail(output: str) -> str:
    lines = [line for line in output.splitlines() if re.search(r"\S", line)]
    return "\n".join(f"    {line}" for line in lines[-25:])
