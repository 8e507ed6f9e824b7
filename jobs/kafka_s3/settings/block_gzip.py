"""The older Block-GZIP connector's own properties, and what its configuration means in today's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from kafka_s3.settings import formats, paths, template_rules
from kafka_s3.settings.formats import Format
from kafka_s3.settings.properties import AppliesWhen, Ignored, Kind, Property
from kafka_s3.settings.validation import ParsedConfig
from kafka_s3.settings.variables import Given, Source

SINK: Final = "io.confluent.connect.s3.S3SinkConnector"
CONNECTOR: Final = "com.deviantart.kafka_connect_s3.S3SinkConnector"
OBJECT_BYTES_MAX: Final = 1 << 30  # "chunks around 1GB" are what its pages aim at

#: Its names of what has another one today.
TODAY: Final = {
    "s3.bucket": "s3.bucket.name",
    "s3.prefix": "topics.dir",
    "s3.endpoint": "store.url",
    "s3.path_style": "s3.path.style.access.enabled",
}
_ONLY = AppliesWhen("connector.class", (CONNECTOR,), f"connector.class={CONNECTOR}")
_BLOCKS = AppliesWhen("format.class", (Format.BLOCK_GZIP.value,))

PROPERTIES: Final[tuple[Property, ...]] = (
    Property("s3.bucket", Kind.STRING, "", "The Block-GZIP connector's name for s3.bucket.name.", applies_when=_ONLY),
    Property(
        "s3.prefix",
        Kind.STRING,
        "",
        "The Block-GZIP connector's name for topics.dir; blank unless set.",
        applies_when=_ONLY,
    ),
    Property("s3.endpoint", Kind.STRING, "", "The Block-GZIP connector's name for store.url.", applies_when=_ONLY),
    Property(
        "s3.path_style",
        Kind.BOOLEAN,
        False,
        "The Block-GZIP connector's name for s3.path.style.access.enabled.",
        applies_when=_ONLY,
    ),
    Property(
        "compressed_block_size",
        Kind.INT,
        67_108_864,
        "Bytes of records, before compression, per block of BlockGzipFormat.",
        minimum=1,
        shapes=True,
        applies_when=_BLOCKS,
    ),
    Property("local.buffer.dir", Kind.STRING, "", "Directory for buffers.", Ignored("nothing is buffered on disk")),
)


def is_meant(given: Mapping[str, Given]) -> bool:
    """Whether this is a configuration of the Block-GZIP connector; its class is known by its whole name."""
    return "connector.class" in given and given["connector.class"].text.strip() == CONNECTOR


def translated(given: Mapping[str, Given]) -> Mapping[str, Given]:
    """The properties as they are; those of the Block-GZIP connector under today's names too, with its defaults.

    It has no limit of records: what a range holds is one object, up to a size.
    """
    if not is_meant(given):
        return given
    whole = dict(given)
    for theirs, ours in TODAY.items():
        taken = ours in given and given[ours].source is Source.CONNECTOR
        if theirs in given and not taken:
            text = given[theirs].text.strip()
            whole[ours] = replace(given[theirs], text=text.strip("/") if theirs == "s3.prefix" else text)
    ranges = given.get("export.range.records.max")
    defaults = {
        "topics.dir": "",
        "s3.path.style.access.enabled": "false",
        "storage.class": "io.confluent.connect.s3.storage.S3Storage",
        "format.class": Format.BLOCK_GZIP.value,
        "flush.size": ranges.text if ranges is not None else "1000000",
        "export.object.bytes.max": str(OBJECT_BYTES_MAX),
    }
    for name, text in defaults.items():
        whole.setdefault(name, Given(text, Source.DEFAULT))
    return whole


def written(given: Mapping[str, Given]) -> dict[str, str]:
    """Today's names of what was given under its own ones."""
    return {ours: theirs for theirs, ours in TODAY.items() if theirs in given} if is_meant(given) else {}


def clashes(given: Mapping[str, Given]) -> list[str]:
    """Its names whose value differs from the one under today's name: nobody knows which is meant."""
    if not is_meant(given):
        return []
    return [
        theirs
        for theirs, ours in TODAY.items()
        if theirs in given and given[theirs].text.strip().strip("/") != given[ours].text.strip().strip("/")
    ]


#: What is at its default where names are the Block-GZIP connector's: its keys have no place for it.
_NO_PLACE: Final = {
    "partitioner.class": paths.DEFAULT_PARTITIONER,
    "s3.schema.partition.affix.type": "NONE",
    template_rules.FILE_TEMPLATE: "",
    template_rules.TOPIC_FOLDER: True,
    "store.kafka.keys": False,
    "store.kafka.headers": False,
    "format.class": formats.BLOCK_GZIP,
}


def apply_block_gzip_rules(config: ParsedConfig) -> None:
    """The older connector's own properties, and what its names have no place for."""
    if not is_meant(config.given):
        for theirs, ours in TODAY.items():
            if config.is_set(theirs):
                config.add_problem(
                    theirs, f"belongs to the Block-GZIP connector: use {ours}, or set that connector's connector.class"
                )
        return
    for theirs in clashes(config.given):
        config.add_problem(theirs, f"differs from {TODAY[theirs]}: set one of them")
    for name, default in _NO_PLACE.items():
        if config.sure(name) and config.values[name] != default:
            config.add_problem(
                name,
                f"the Block-GZIP connector does not support it: remove it, or set connector.class={SINK}",
            )
