"""Rules about converters, formats, companions and dead letters: what fits together, in the sink's words where it has
them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kafka_s3 import custom
from kafka_s3.naming import leads_out
from kafka_s3.settings import block_gzip, client_names, connect, format_names, storage
from kafka_s3.settings.check import Checked
from kafka_s3.settings.content import Converter
from kafka_s3.settings.registry import apply_registry_rules
from kafka_s3.settings.variables import Given

_TEXTS: Final = (Converter.STRING.value, Converter.BYTE_ARRAY.value)
_BYTES: Final = f"set value.converter={Converter.BYTE_ARRAY.value}"
_TO_JSON: Final = f"set format.class={format_names.JSON}"
#: What is at its default where names are the Block-GZIP connector's: its keys have no place for it.
_NO_PLACE: Final = {
    "partitioner.class": storage.DEFAULT_PARTITIONER,
    "s3.schema.partition.affix.type": "NONE",
    "store.kafka.keys": False,
    "store.kafka.headers": False,
    "format.class": format_names.BLOCK_GZIP,
}


def apply_content_rules(checked: Checked) -> None:
    """Add every problem of what goes into objects."""
    _values(checked)
    _keys(checked)
    _gzip(checked)
    _null_values(checked)
    _value_schema(checked)
    _envelope(checked)
    _fields(checked)
    _dead_letters(checked)
    _block_gzip(checked)
    apply_registry_rules(checked)


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def is_plain_json(checked: Checked, side: str) -> bool:
    """JSON without an envelope."""
    is_json = checked.text(f"{side}.converter") == Converter.JSON.value
    return is_json and not checked.flag(f"{side}.converter.schemas.enable")


def _values(checked: Checked) -> None:
    """Which values which format can hold."""
    if not checked.sure("format.class", "value.converter", "value.converter.schemas.enable"):
        return
    converter, written = checked.text("value.converter"), checked.text("format.class")
    lines = converter in _TEXTS or is_plain_json(checked, "value")
    has_schema = checked.is_set("export.value.schema.file") or checked.is_set("export.value.schema")
    if written == format_names.BYTE_ARRAY and converter != Converter.BYTE_ARRAY.value:
        checked.complain("value.converter", f"with ByteArrayFormat every record would fail: {_BYTES}")
    elif written == format_names.BLOCK_GZIP and not lines:
        checked.complain(
            "value.converter", f"BlockGzipFormat holds lines, not values with a schema: {_BYTES}{_or(checked)}"
        )
    elif custom.is_path(written) and not lines:
        checked.complain(
            "value.converter", f"a format of your own gets bytes, not values with a schema: {_BYTES}{_or(checked)}"
        )
    elif written == format_names.PARQUET and is_plain_json(checked, "value") and not has_schema:
        checked.complain(
            "value.converter",
            "a Parquet file needs a schema, and JSON without an envelope has none: name one in"
            f" export.value.schema.file, or set value.converter={Converter.AVRO.value}, or {_TO_JSON}",
        )
    elif written == format_names.PARQUET and not _are_records(converter):
        checked.complain(
            "value.converter",
            f"a Parquet file holds records, and values of {_short(converter)} are none: {_TO_JSON} or"
            f" {format_names.AVRO}, or another converter",
        )


def _or(checked: Checked) -> str:
    """The other way out for JsonConverter, whose default is an envelope."""
    is_json = checked.text("value.converter") == Converter.JSON.value
    return " or value.converter.schemas.enable=false" if is_json else ""


def _are_records(converter: str) -> bool:
    return converter in (Converter.JSON.value, Converter.AVRO.value)


def _keys(checked: Checked) -> None:
    names = ("store.kafka.keys", "keys.format.class", "key.converter", "key.converter.schemas.enable")
    if not checked.sure(*names) or not checked.flag("store.kafka.keys"):
        return
    converter, written = checked.text("key.converter"), checked.text("keys.format.class")
    if written == format_names.BYTE_ARRAY and converter != Converter.BYTE_ARRAY.value:
        way_out = f"set key.converter={Converter.BYTE_ARRAY.value}"
        checked.complain("key.converter", f"with keys in ByteArrayFormat every record would fail: {way_out}")
    elif written == format_names.PARQUET and is_plain_json(checked, "key"):
        checked.complain(
            "key.converter",
            "a Parquet file needs a schema, and JSON without an envelope has none: set"
            f" keys.format.class={format_names.JSON} or another converter",
        )


def _gzip(checked: Checked) -> None:
    """Formats that compress by themselves exclude gzip, those of keys and headers where they are stored."""
    if checked.recognised["s3.compression.type"] != "gzip":
        return
    classes = {"s3.compression.type": ("data", checked.recognised["format.class"])}
    for kind in ("keys", "headers"):
        if checked.recognised[f"store.kafka.{kind}"] is True:
            classes[f"{kind}.format.class"] = (kind, checked.recognised[f"{kind}.format.class"])
    for name, (kind, found) in classes.items():
        if found in (format_names.AVRO, format_names.PARQUET, format_names.BLOCK_GZIP):
            checked.complain(name, f"Compression Type gzip not valid for {kind} format class: ( {found} ).")


def _null_values(checked: Checked) -> None:
    if checked.recognised["behavior.on.null.values"] != "write":
        return
    if checked.sure("store.kafka.keys") and not checked.flag("store.kafka.keys"):
        checked.complain("behavior.on.null.values", "write needs store.kafka.keys=true")
    path = "tombstone.encoded.partition"
    if checked.sure(path, "directory.delim") and leads_out(checked.text(path), checked.text("directory.delim")):
        checked.complain(path, "no part of a path may be '.' or '..': keys would lead out of their folder")


def _value_schema(checked: Checked) -> None:
    if not checked.reads("export.value.schema.file"):
        return
    if checked.is_set("export.value.schema.file") and checked.is_set("export.value.schema"):
        checked.complain("export.value.schema.file", "is export.value.schema too: set one of them")


def _envelope(checked: Checked) -> None:
    """The record's own metadata become fields of its value, which has to be a record for that."""
    name = "export.envelope"
    if not checked.sure(name, "format.class", "value.converter") or not checked.listed(name):
        return
    fields = checked.listed(name)
    if len(set(fields)) < len(fields):
        checked.complain(name, "names a field twice")
    written, converter = checked.text("format.class"), checked.text("value.converter")
    if written in (format_names.BYTE_ARRAY, format_names.BLOCK_GZIP) or custom.is_path(written):
        what = _short(written) if not custom.is_path(written) else "a format of your own"
        checked.complain(name, f"{what} writes values as they are, without room for fields: {_TO_JSON}, say")
    elif not _are_records(converter):
        checked.complain(name, f"values of {_short(converter)} are no records that fields could be added to")


def _fields(checked: Checked) -> None:
    """Fields are read out of records: other values have none."""
    by_field = checked.recognised["partitioner.class"] == storage.FIELD_PARTITIONER
    by_time = checked.recognised["partitioner.class"] in storage.TIME_BASED
    if by_field:
        name = "partitioner.class"
    elif by_time and checked.recognised["timestamp.extractor"] == "RecordField":
        name = "timestamp.extractor"
    else:
        return
    if not checked.sure("value.converter", "format.class"):
        return
    converter = checked.text("value.converter")
    if not _are_records(converter) or checked.text("format.class") == format_names.BYTE_ARRAY:
        checked.complain(name, f"reads fields of the value, and values of {_short(converter)} have none")


def _dead_letters(checked: Checked) -> None:
    """Dead letters in a topic that is exported would come back for ever; Connect refuses that too."""
    name = "errors.deadletterqueue.topic.name"
    if not checked.sure(name, "topics", "topics.regex") or not checked.optional(name):
        return
    topic, pattern = checked.text(name), checked.optional("topics.regex")
    if topic in checked.listed("topics"):
        checked.complain(name, "may not be included in the list of topics (topics) that are exported")
    elif pattern and re.fullmatch(pattern, topic):
        checked.complain(name, "may not be included in the regex matching the topics (topics.regex) that are exported")


def apply_producer_rules(checked: Checked, reader: Mapping[str, tuple[str, Given]]) -> None:
    """`producer.override.*` that reaches Kafka another way than the reader is refused where dead letters are produced.

    There is one client: what says how Kafka is reached holds for both, or nobody knows where dead letters went.
    """
    name = "errors.deadletterqueue.topic.name"
    if not checked.sure(name) or not checked.optional(name) or not checked.reads(name):
        return
    for given in checked.given:
        bare = given.removeprefix(connect.PRODUCER)
        if bare == given or not _reaches(bare):
            continue
        other = reader.get(bare)
        if other is None or other[1].text.strip() != checked.given[given].text.strip():
            checked.complain_hidden(
                given, f"dead letters are produced by the client that reads: set {connect.OVERRIDE}{bare} to the same"
            )


def _reaches(bare: str) -> bool:
    """Whether a client's property says where Kafka is and who asks."""
    first = bare.partition(".")[0]
    return bare in client_names.JAVA and (first in ("ssl", "sasl", "security") or bare == "bootstrap.servers")


def _block_gzip(checked: Checked) -> None:
    """The older connector's own properties, and what its names have no place for."""
    if not block_gzip.is_meant(checked.given):
        for theirs, ours in block_gzip.TODAY.items():
            if checked.is_set(theirs):
                checked.complain(theirs, f"is the Block-GZIP connector's: write {ours}, or set its connector.class")
        return
    for theirs in block_gzip.clashes(checked.given):
        checked.complain(theirs, f"differs from {block_gzip.TODAY[theirs]}: set one of them")
    for name, default in _NO_PLACE.items():
        if checked.sure(name) and checked.values[name] != default:
            checked.complain(
                name,
                f"the Block-GZIP connector has no such choice: leave it out, or set connector.class={block_gzip.SINK}",
            )
