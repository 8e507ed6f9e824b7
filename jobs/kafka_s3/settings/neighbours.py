"""Other S3 sinks: their configuration in this exporter's properties, as far as these say the same; printed, never run.

Facts: Lenses' Stream Reactor (its page of the AWS S3 sink: KCQL). No value of a secret is printed, nor any of a
property that is not known. Aiven's sink runs: `aiven`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_s3.settings.block_gzip import SINK
from kafka_s3.settings.formats import AVRO, BYTE_ARRAY, JSON, PARQUET

_LENSES: Final = re.compile(r"(io\.lenses|com\.datamountaineer)\.streamreactor\.connect\.[a-z0-9.]*S3SinkConnector")
#: What every connector has, whatever it is.
_KEPT: Final = re.compile(r"name|topics|topics\.regex|tasks\.max|errors\.[a-z.]+|(key|value)\.converter")
_OPTIONS: Final = re.compile(r"(key|value)\.converter\.(schemas\.enable|schema\.registry\.url)")
_SECRET: Final = "..."  # noqa: S105  # it stands where one is to be filled in


@dataclass(slots=True)
class Translation:
    """`words`: this exporter's properties. `differs`: what these do not say, or say otherwise."""

    words: dict[str, str] = field(default_factory=dict)
    differs: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        shown = {name: text if text.isprintable() else repr(text) for name, text in self.words.items()}
        lines = [f"    {name}={text}" for name, text in shown.items()]
        lines += [f"    # {each}" for each in self.differs]
        return "\n".join(lines)


def translated(connector: str, given: Mapping[str, str]) -> Translation | None:
    """The configuration of a neighbour; `None` of any other connector."""
    if _LENSES.fullmatch(connector):
        return _lenses(given)
    return None


def _begun(given: Mapping[str, str]) -> Translation:
    kept = {name: text for name, text in given.items() if _KEPT.fullmatch(name) or _OPTIONS.fullmatch(name)}
    shown = {name: _SECRET if "@" in text else text for name, text in kept.items()}
    return Translation({"connector.class": SINK, "storage.class": "io.confluent.connect.s3.storage.S3Storage", **shown})


def _moved(made: Translation, given: Mapping[str, str], names: Mapping[str, str]) -> None:
    for theirs, ours in names.items():
        if given.get(theirs, "").strip() and ours not in made.words:
            secret = "secret" in theirs or "access.key" in theirs or "access_key" in theirs
            made.words[ours] = _SECRET if secret else given[theirs].strip()


_LENSES_NAMES: Final = {
    "connect.s3.aws.access.key": "aws.access.key.id",
    "aws.access.key": "aws.access.key.id",
    "connect.s3.aws.secret.key": "aws.secret.access.key",
    "aws.secret.key": "aws.secret.access.key",
    "connect.s3.aws.region": "s3.region",
    "aws.region": "s3.region",
    "connect.s3.custom.endpoint": "store.url",
    "aws.custom.endpoint": "store.url",
}
_KCQL: Final = re.compile(
    r"""\s*INSERT\s+INTO\s+(?P<bucket>[^\s:]+)(?::(?P<prefix>\S+))?\s+SELECT\s+(?P<what>.+?)\s+FROM\s+(?P<topic>\S+)
    (?:\s+PARTITIONBY\s+(?P<by>.+?)|\s+NOPARTITION)?
    (?:\s+STOREAS\s+(?P<format>\S+))?
    (?:\s+WITHPARTITIONER\s*=?\s*(?P<partitioner>\S+))?
    (?P<limits>(?:\s+WITH_FLUSH_[A-Z]+\s*=?\s*\d+)*)
    (?:\s+PROPERTIES\s*\((?P<properties>.*)\))?\s*""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_KCQL_CHARS_MAX: Final = 100_000
_STATEMENT_MAX: Final = 4_000


def _lenses(given: Mapping[str, str]) -> Translation:
    made = _begun(given)
    _moved(made, given, _LENSES_NAMES)
    if given.get("connect.s3.vhost.bucket", "true").strip().lower() == "false" and "store.url" in made.words:
        made.words["s3.path.style.access.enabled"] = "true"
    statements = [each for each in given.get("connect.s3.kcql", "")[:_KCQL_CHARS_MAX].split(";") if each.strip()]
    if len(statements) > 1:
        made.differs.append(f"this is the first of {len(statements)} statements: write a connector for each")
    # Single blanks: runs of them could be shared out between the words in very many ways.
    statement = " ".join(statements[0].split()) if statements else ""
    match = _KCQL.fullmatch(statement) if len(statement) <= _STATEMENT_MAX else None
    if match is None:
        made.differs.append("connect.s3.kcql is not a statement that is understood here: INSERT INTO … SELECT * FROM …")
        return made
    said = {name: text.strip("`") for name, text in match.groupdict(default="").items()}
    made.words["s3.bucket.name"] = said["bucket"]
    made.words["topics.dir"] = said["prefix"].strip("/")
    if said["topic"] != "*" and "topics.regex" not in made.words:
        made.words["topics"] = said["topic"]
    if said["what"] != "*":
        made.differs.append("all fields are written: only SELECT * has a meaning here")
    _lenses_format(made, said["format"].upper())
    _lenses_limits(made, f"{said['limits']} {said['properties']}".lower())
    _lenses_paths(made, said["by"])
    return made


def _lenses_format(made: Translation, kind: str) -> None:
    made.words["format.class"] = {"": JSON, "JSON": JSON, "AVRO": AVRO, "PARQUET": PARQUET}.get(kind, BYTE_ARRAY)
    if kind == "TEXT":
        made.words["format.bytearray.extension"] = ".txt"
    elif kind not in ("", "JSON", "AVRO", "PARQUET", "BYTES"):
        made.differs.append(f"there is no {kind}: each line is a value as it came")


def _lenses_limits(made: Translation, text: str) -> None:
    found = dict(re.findall(r"flush[._](count|size|interval)'?\s*=?\s*(\d+)", text))
    made.words["flush.size"] = found.get("count", "50000")
    if "size" in found:
        made.words |= {"export.object.bytes.max": found["size"], "export.object.bytes.of": "object"}
    if "interval" in found:
        made.words["rotate.schedule.interval.ms"] = str(max(60, int(found["interval"])) * 1000)
        made.words["timezone"] = "UTC"


def _lenses_paths(made: Translation, by: str) -> None:
    parts = [_lenses_part(each.strip().strip("`")) for each in by.split(",") if each.strip()]
    if parts:
        made.words["partitioner.class"] = "kafka_s3.FieldAndTimePartitioner"
        made.words["export.path.template"] = "/".join(parts)
        made.differs.append("folders are name=value; without names, leave them out of export.path.template")


def _lenses_part(name: str) -> str:
    kind, _, rest = name.partition(".")
    known = {"_key": "key", "_header": "header", "_value": "value", "_topic": "topic", "_partition": "partition"}
    placeholder = ".".join(part for part in (known[kind], rest) if part) if kind in known else f"value.{name}"
    return f"{rest or kind.lstrip('_')}={{{placeholder}}}"
