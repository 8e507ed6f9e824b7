"""The Avro schema of values in JSON without an envelope: `export.value.schema.file`, or the schema itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

from kafka_s3.errors import ConfigurationError
from kafka_s3.schemas.parse import SchemaError, parse_avro
from kafka_s3.settings.check import Checked
from kafka_s3.settings.content_build import SCHEMA, SCHEMA_FILE
from kafka_s3.settings.files import ANYWHERE, read_limited
from kafka_s3.settings.reach import Reach
from kafka_s3.shown import plain

_NESTING_MAX: Final = 200


def read_value_schema(checked: Checked, folder: Path, reach: Reach = ANYWHERE) -> None:
    """Put the schema in its compact form in the place of the file's name, relative to `folder`; say what is wrong.

    A process that only looks at connectors reads none: it makes no objects. Files beside the connector are in reach.
    Looked at here: that it is the schema of a record. Whether its defaults are values is found by who reads by it.
    """
    name = SCHEMA if checked.is_set(SCHEMA) else SCHEMA_FILE
    if not (checked.is_set(name) and checked.sure(name) and checked.reads(name)):
        return
    if name == SCHEMA_FILE and reach.only_looks:
        return
    try:
        text = checked.text(name)
        if name == SCHEMA_FILE:
            if reach.file_roots is not None:
                reach = replace(reach, file_roots=(*reach.file_roots, str(folder)))
            text = read_limited(folder / text, reach)
        checked.settle(SCHEMA, _compact(text))
    except ConfigurationError as error:
        checked.complain(name, error.what)


def _compact(text: str) -> str:
    wrong = "is not an Avro schema of a record"
    try:
        schema = json.loads(text)
        if _depth(schema) > _NESTING_MAX:
            raise RecursionError
        compact = json.dumps(schema, separators=(",", ":"), ensure_ascii=False)
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"{wrong}: {error.msg} at line {error.lineno}, column {error.colno}.") from None
    except (ValueError, RecursionError):
        raise ConfigurationError(f"{wrong}: it is nested too deeply, or holds a number that is too long.") from None
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise ConfigurationError(f'{wrong}: it has to be an object with "type": "record".')
    try:
        parse_avro(compact)
    except SchemaError as error:
        raise ConfigurationError(f"{wrong}: {plain(str(error), content=True)}.") from None
    return compact


def _depth(value: object) -> int:
    """How deep lists and objects lie in each other, level by level."""
    level, depth = [value], 0
    while level:
        inner: list[object] = []
        for each in level:
            inner += each.values() if isinstance(each, dict) else each if isinstance(each, list) else []
        level, depth = inner, depth + 1
    return depth
