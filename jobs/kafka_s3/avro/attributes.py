"""What interprets a schema's values: logical types and Connect's own attributes, checked once when it is parsed.

Avro leaves out of account a logical type that it does not know, or whose numbers make no sense (a scale above the
precision). What is not a number or text at all, or too large for Java's int, is refused, as Connect's AvroData does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafka_s3.shown import kind_and_length

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
DECIMAL_NAME: Final = "org.apache.kafka.connect.data.Decimal"
_TEXTS: Final = ("logicalType", "connect.type", "connect.name", "connect.doc", "connect.internal.type")


def wrong_attribute(avro: Mapping[str, Any], where: str) -> str | None:
    """What is wrong with the attributes of a type, or `None`."""
    for word in _TEXTS:
        if avro.get(word) is not None and not isinstance(avro[word], str):
            return f"{where} has {kind_and_length(avro[word])} as {word}, which is a text"
    version = avro.get("connect.version")
    if version is not None and not _is_int(version):
        return f"{where} has {_what(version)} as connect.version, which is a whole number of 32 bits"
    parameters = avro.get("connect.parameters")
    if parameters is not None and not (
        isinstance(parameters, dict) and all(isinstance(each, str) for each in parameters.values())
    ):
        return f"{where} has {kind_and_length(parameters)} as connect.parameters, which is an object of texts"
    if avro.get("logicalType") == "decimal" or avro.get("connect.name") == DECIMAL_NAME:
        for word in ("precision", "scale"):
            if word in avro and not _is_int(avro[word]):
                return f"{where} has {_what(avro[word])} as the {word} of a decimal, which is a whole number of 32 bits"
    return None


def wrong_name(field: Mapping[str, Any], where: str) -> str | None:
    """The same of a field, which may have another name in JSON."""
    found = field.get("connect.name")
    if found is not None and not isinstance(found, str):
        return f"{where} has {kind_and_length(found)} as connect.name, which is a text"
    return None


def _is_int(value: Any) -> bool:
    return type(value) is int and INT_MIN <= value <= INT_MAX


def _what(value: Any) -> str:
    return "a number that is too large" if type(value) is int else kind_and_length(value)
