"""Aiven's S3 sink: its configuration, read as this exporter's properties.

Facts: README, S3SinkConfig and AivenCommonConfig of cloud-storage-connectors-for-apache-kafka. What its properties
become is in docs/aiven.md. Properties of this exporter may stand beside, and count before what a translation says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from kafka_s3.errors import Problem
from kafka_s3.settings.aiven_names import NamesError, translated_names
from kafka_s3.settings.block_gzip import SINK
from kafka_s3.settings.credentials import ARN, ASSUME_ROLE, CLASS, EXTERNAL_ID, SESSION_NAME, STS_REGION
from kafka_s3.settings.formats import AVRO, CSV, JSON, PARQUET
from kafka_s3.settings.properties import HIDDEN, ResolvedProperty
from kafka_s3.settings.validation import show
from kafka_s3.settings.variables import Given, Source, has_variable

CONNECTOR: Final = "io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector"
_CLASSES: Final = re.compile(
    r"io\.aiven\.kafka\.connect\.s3\.[A-Za-z0-9]*SinkConnector|AivenKafkaConnectS3Sink(Connector)?"
)

#: What has another name here and the same value; of two names for one thing the newer comes first.
RENAMED: Final[Mapping[str, str]] = {
    "aws.access.key.id": "aws.access.key.id",
    "aws_access_key_id": "aws.access.key.id",
    "aws.secret.access.key": "aws.secret.access.key",
    "aws_secret_access_key": "aws.secret.access.key",
    "aws.s3.bucket.name": "s3.bucket.name",
    "aws_s3_bucket": "s3.bucket.name",
    "aws.s3.region": "s3.region",
    "aws_s3_region": "s3.region",
    "aws.s3.endpoint": "store.url",
    "aws_s3_endpoint": "store.url",
    "aws.s3.sse.algorithm": "s3.ssea.name",
    "aws.s3.backoff.delay.ms": "s3.retry.backoff.ms",
    "aws.s3.backoff.max.retries": "s3.part.retries",
    "aws.credentials.provider": CLASS,
    "aws.sts.role.arn": ARN,
    "aws.sts.role.session.name": SESSION_NAME,
    "aws.sts.role.external.id": EXTERNAL_ID,
    "file.name.timestamp.timezone": "timezone",
    "timestamp.timezone": "timezone",
}
#: What has no effect, and why.
IGNORED: Final[Mapping[str, str]] = {
    "kafka.retry.backoff.ms": "requests to Kafka are retried by its client",
    "aws.s3.backoff.max.delay.ms": "s3.part.retries bounds how long requests are retried",
    "aws.sts.role.session.duration": "a role is assumed anew before its session ends",
    "offset.flush.interval.ms": "a run commits batches; flush.size and schedules say when objects end",
}
#: What several of ours follow from.
_PREFIXES: Final = ("aws.s3.prefix", "aws_s3_prefix")
_FIELDS: Final = ("format.output.fields", "output_fields")
_CODECS: Final = ("file.compression.type", "output_compression")
_TIMES: Final = ("file.name.timestamp.source", "timestamp.source")
_ZONES: Final = ("file.name.timestamp.timezone", "timestamp.timezone")
_TEMPLATE: Final = "file.name.template"
_DEFAULT: Final = "{{topic}}-{{partition}}-{{start_offset}}"
_PADDED: Final = "{{topic}}-{{partition}}-{{start_offset:padding=true}}"
_READ: Final = (
    *_PREFIXES,
    *_FIELDS,
    *_CODECS,
    *_TIMES,
    _TEMPLATE,
    "aws.s3.part.size.bytes",
    "aws.sts.config.endpoint",
    "file.max.records",
    "format.output.type",
    "format.output.envelope",
    "format.output.fields.value.encoding",
)
_REFUSED: Final = {
    "file.record.grouper.builder": "names a class of Java's, which does not run here: remove it, or group by"
    " export.path.template",
}
KNOWN: Final = frozenset((*RENAMED, *IGNORED, *_READ, *_REFUSED))
_EXTENSIONS: Final = {"none": "", "gzip": ".gz", "snappy": ".snappy", "zstd": ".zst"}
_AVRO_CODECS: Final = {"none": "null", "gzip": "deflate", "zstd": "zstandard"}
_TYPES: Final = {"csv": CSV, "jsonl": JSON, "json": JSON, "avro": AVRO, "parquet": PARQUET}
_OUTPUT: Final = ("key", "value", "offset", "timestamp", "headers")
#: The order in which its JSON has them, whatever the configuration says: that of Java's HashMap.
_JSON_ORDER: Final = ("headers", "offset", "value", "key", "timestamp")
_UNLIMITED: Final = "1000000"
_PART_MIN: Final = 5 * 1024 * 1024
_STS: Final = re.compile(r"(?:https://)?sts(?:\.([a-z0-9-]+))?\.amazonaws\.com(?:\.cn)?/?")


@dataclass(slots=True)
class Translated:
    """`given`: this exporter's properties. `defaults`: those that follow from what is not set. `written`: Aiven's names
    of some of them, by ours. `originals`: what the file says, by the names that stand in it."""

    given: dict[str, Given]
    defaults: dict[str, Given] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    originals: Mapping[str, Given] = field(default_factory=dict)
    rows: list[ResolvedProperty] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def is_aivens(self) -> bool:
        return bool(self.rows)


def translated(own: Mapping[str, Given]) -> Translated:
    """What a connector file says, as this exporter's properties; another connector's is left as it is."""
    given = own.get("connector.class")
    if given is None or not _CLASSES.fullmatch(given.text.strip()):
        return Translated(dict(own))
    return _Translation(own).made


class _Translation:
    """One configuration of Aiven's, read once."""

    def __init__(self, own: Mapping[str, Given]) -> None:
        self._own = own
        self.made = Translated({name: given for name, given in own.items() if name not in KNOWN}, originals=own)
        self._became: dict[str, list[str]] = {}
        self._beside: dict[str, list[str]] = {}
        self._put("connector.class", SINK, "connector.class")
        self._defaults()
        self._renamed()
        for part in (self._credentials, self._limits, self._content, self._names):
            part()
        self._report()

    def _text(self, *names: str, default: str = "") -> str:
        """The value of the first of some names that is set."""
        return next((self._own[name].text.strip() for name in names if self._is_set(name)), default)

    def _is_set(self, name: str) -> bool:
        return name in self._own and self._own[name].text.strip() != ""

    def _first(self, *names: str) -> str:
        return next((name for name in names if self._is_set(name)), names[0])

    def _wrong(self, name: str, message: str) -> None:
        self.made.problems.append(Problem(name, self._own[name].text if name in self._own else None, message))

    def _put(self, ours: str, text: str, theirs: str | None = None) -> None:
        """A property of ours, unless the file itself has it."""
        is_theirs = ours in KNOWN or ours == "connector.class"
        if ours in self._own and not is_theirs:
            self._beside.setdefault(theirs or "", []).append(ours)
            return
        if theirs is None or not self._is_set(theirs):
            self.made.defaults[ours] = Given(text, Source.DEFAULT)
            return
        self.made.given[ours] = Given(text, Source.CONNECTOR)
        self.made.written[ours] = theirs
        self._became.setdefault(theirs, []).append(ours)

    def _defaults(self) -> None:
        self._put("storage.class", "io.confluent.connect.s3.storage.S3Storage")
        self._put("s3.region", "us-east-1")
        self._put("timezone", "UTC")

    def _renamed(self) -> None:
        done: set[str] = set()
        for theirs, ours in RENAMED.items():
            if not self._is_set(theirs):
                continue
            if ours not in done:
                done.add(ours)
                self._put(ours, "", theirs)
                if self.made.written.get(ours) == theirs:
                    given = self._own[theirs]
                    self.made.given[ours] = replace(given, text=_zone(given.text)) if ours == "timezone" else given
        for name, message in _REFUSED.items():
            if self._is_set(name):
                self._wrong(name, message)

    def _credentials(self) -> None:
        if self._is_set("aws.sts.role.arn"):
            self._put(CLASS, ASSUME_ROLE, "aws.sts.role.arn")
        name = "aws.sts.config.endpoint"
        if not self._is_set(name):
            return
        found = _STS.fullmatch(self._text(name))
        if found is None:
            self._wrong(name, "is not one of AWS: only sts.<region>.amazonaws.com is asked for roles")
        else:
            self._put(STS_REGION, found[1] or "us-east-1", name)

    def _limits(self) -> None:
        name = "file.max.records"
        count = self._number(name)
        self._put("flush.size", str(count) if count else _UNLIMITED, name)
        name = "aws.s3.part.size.bytes"
        size = self._number(name)
        if size is not None:
            self._put("s3.part.size", str(max(size, _PART_MIN)), name)

    def _number(self, name: str) -> int | None:
        if not self._is_set(name):
            return None
        text = self._text(name)
        if re.fullmatch(r"\d{1,10}", text):
            return int(text)
        self._wrong(
            name, "must be a whole number, and hold no variable" if has_variable(text) else "is not a whole number"
        )
        return None

    def _one_of(self, name: str, known: Mapping[str, str] | tuple[str, ...], default: str) -> str:
        """One of several words, whatever their case; the default where it is none of them, which is a problem."""
        text = self._text(name, default=default).lower()
        if text in known:
            return text
        self._wrong(name, f"must be one of {', '.join(known)}")
        return default

    def _content(self) -> None:
        before = len(self.made.problems)
        kind = self._one_of("format.output.type", _TYPES, "csv")
        codec = self._one_of(self._first(*_CODECS), _EXTENSIONS, "gzip")
        named = self._first(*_FIELDS)
        fields = [each.strip() for each in self._text(named, default="value").split(",")]
        wrong = [each for each in fields if each not in _OUTPUT]
        if wrong:
            self._wrong(named, f"may only contain {', '.join(_OUTPUT)}")
            fields = ["value"]
        wrapped = self._one_of("format.output.envelope", ("true", "false"), "true") == "true"
        if not wrapped and len(fields) != 1:
            self._wrong("format.output.envelope", f"false needs exactly one field, and {named} has {len(fields)}")
            wrapped = True
        if len(self.made.problems) > before:
            kind = "jsonl"  # nothing more is said of what follows from it
        self._put("format.class", _TYPES[kind], "format.output.type")
        self._put("behavior.on.null.values", "fail" if kind in ("avro", "parquet") else "write")
        if kind in ("avro", "parquet"):
            self._packed(kind, codec, fields, wrapped=wrapped, named=named)
        else:
            self._plain(kind, codec, fields, wrapped=wrapped, named=named)

    def _plain(self, kind: str, codec: str, fields: list[str], *, wrapped: bool, named: str) -> None:
        self._put("s3.compression.type", codec, self._first(*_CODECS))
        if kind == "csv":
            self._put("export.record.fields", ",".join(fields), named)
            encoding = "format.output.fields.value.encoding"
            self._put("export.csv.value.encoding", self._one_of(encoding, ("base64", "none"), "base64"), encoding)
            return
        ordered = [each for each in _JSON_ORDER if each in fields]
        self._put("export.record.fields", ",".join(ordered), named)
        self._put("export.record.wrapped", str(wrapped).lower(), "format.output.envelope")
        if kind == "json":
            self._put("export.json.array", "true", "format.output.type")

    def _packed(self, kind: str, codec: str, fields: list[str], *, wrapped: bool, named: str) -> None:
        """Avro and Parquet: a record of the fields, or the value alone."""
        if wrapped:
            self._put("export.record.fields", ",".join(fields), named)
        elif fields != ["value"]:
            self._wrong(named, f"without an envelope, {kind} has the value alone: set it to value")
        if kind == "parquet":
            self._put("parquet.codec", codec, self._first(*_CODECS))
        elif "avro.codec" not in self._own:
            self._put("avro.codec", _AVRO_CODECS.get(codec, codec), self._first(*_CODECS))

    def _names(self) -> None:
        prefixed = next((name for name in _PREFIXES if self._is_set(name)), None)
        kind = self._text("format.output.type", default="csv").lower()
        packed = kind == "avro"
        codec = self._text(*_CODECS, default="gzip").lower()
        ending = ".avro" if packed else _EXTENSIONS.get(codec, "")
        name, template = _TEMPLATE, self._text(_TEMPLATE) or f"{_DEFAULT}{ending}"
        if prefixed is not None:  # then the sink does not look at its template
            name, template = prefixed, f"{self._own[prefixed].text.strip()}{_PADDED}{ending}"
        if has_variable(template):
            self._wrong(name, "must not contain a variable: folders and names follow from its text")
            return
        source = self._text(*_TIMES, default="WALLCLOCK").upper()
        if source not in ("WALLCLOCK", "EVENT"):
            self._wrong(self._first(*_TIMES), "must be WALLCLOCK or EVENT: for a field, set timestamp.extractor")
            return
        try:
            made = translated_names(template, source, self._text("timezone", *_ZONES, default="UTC"))
        except NamesError as error:
            self._wrong(name, str(error))
            self._put("export.path.template", "", name)
            return
        self.made.given.pop(_TEMPLATE, None)
        for ours, text in made.items():
            self._put(ours, text, name)
        if "timestamp.extractor" in made:
            self._became.setdefault(self._first(*_TIMES), []).append("timestamp.extractor")

    def _report(self) -> None:
        """A row for each of Aiven's properties that is set, and a problem for each that is not known."""
        for name in self._own:
            if (name in KNOWN and name not in _REFUSED and RENAMED.get(name) != name) or name == "connector.class":
                self.made.rows.append(self._row(name))

    def _row(self, name: str) -> ResolvedProperty:
        given, became = self._own[name], self._became.get(name, [])
        shown = HIDDEN if given.secret or "access_key" in name or "secret" in name else show(name, given.text.strip())
        title = f"{name} (Aiven's)" if name in ("connector.class", _TEMPLATE) else name
        if name == "connector.class":
            return ResolvedProperty(title, shown, given.source.value, "Aiven's S3 sink: docs/aiven.md.")
        if became:
            meaning = f"Read as {', '.join(became)}."
            return ResolvedProperty(title, shown, given.source.value, meaning)
        if name in self._beside:
            reason = f"{', '.join(self._beside[name])} is set as well, and counts"
        elif name in RENAMED:
            reason = f"{RENAMED[name]} follows from another property"
        elif name in _TIMES:
            reason = "no time is in the names of objects"
        elif name == _TEMPLATE:
            reason = "Aiven's sink does not read it either where a prefix is set"
        else:
            reason = IGNORED.get(name) or "nothing follows from it under the other properties"
        return ResolvedProperty(title, HIDDEN, given.source.value, f"ignored: {reason}", ignored=True)


def _zone(text: str) -> str:
    """Java's name of UTC as an offset."""
    return "UTC" if text.strip() == "Z" else text
