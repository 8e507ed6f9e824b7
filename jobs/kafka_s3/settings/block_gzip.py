"""The older Block-GZIP connector's own properties, and what its configuration means in today's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from kafka_s3.settings.content import Format
from kafka_s3.settings.properties import Kind, Needless, Only, Property
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
_ONLY = Only("connector.class", (CONNECTOR,), "only the Block-GZIP connector reads it", own=False)
_BLOCKS = Only("format.class", (Format.BLOCK_GZIP.value,), "only BlockGzipFormat reads it", own=False)

PROPERTIES: Final[tuple[Property, ...]] = (
    Property("s3.bucket", Kind.STRING, "", "The Block-GZIP connector's s3.bucket.name.", only=_ONLY),
    Property("s3.prefix", Kind.STRING, "", "The Block-GZIP connector's topics.dir; blank unless set.", only=_ONLY),
    Property("s3.endpoint", Kind.STRING, "", "The Block-GZIP connector's store.url.", only=_ONLY),
    Property(
        "s3.path_style", Kind.BOOLEAN, False, "The Block-GZIP connector's s3.path.style.access.enabled.", only=_ONLY
    ),
    Property(
        "compressed_block_size",
        Kind.INT,
        67_108_864,
        "Bytes of records, before compression, that BlockGzipFormat packs together.",
        minimum=1,
        shapes=True,
        only=_BLOCKS,
    ),
    Property("local.buffer.dir", Kind.STRING, "", "Folder for buffers.", Needless("nothing is buffered on disk")),
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
