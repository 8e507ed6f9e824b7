"""What `export.path.template` has to be, beside what each placeholder is."""

from __future__ import annotations

import re
from typing import Final

from kafka_s3.file_template import TemplateError as NameTemplateError
from kafka_s3.file_template import TimeUnit, parse_file_template, times_of
from kafka_s3.joda import JodaError
from kafka_s3.joda.patterns import compile_pattern
from kafka_s3.joda.zones import zone
from kafka_s3.naming import leads_out
from kafka_s3.settings.path_template import KeyField, Part, TemplateError, Text, TimeText, parse_template
from kafka_s3.settings.properties import AppliesWhen, Kind, Property
from kafka_s3.settings.validation import ParsedConfig

TEMPLATE_PARTITIONER: Final = "kafka_s3.FieldAndTimePartitioner"
TEMPLATE: Final = "export.path.template"
TOPIC_FOLDER: Final = "export.topic.folder"
FILE_TEMPLATE: Final = "file.name.template"
PROPERTY: Final = Property(
    TEMPLATE,
    Kind.STRING,
    "",
    "Path of FieldAndTimePartitioner, for example region={region}/day={timestamp:yyyy-MM-dd}/{header.tenant}."
    " {field}, {key}, {key.field} (of JSON keys), {header.name}, {topic}, {partition}, {timestamp:Joda pattern}.",
    untrimmed=True,
    shapes=True,
    applies_when=AppliesWhen("partitioner.class", (TEMPLATE_PARTITIONER,)),
)


def apply_template_rules(config: ParsedConfig) -> None:
    """A template is tried, with a text in the place of what records decide."""
    if not config.sure(TEMPLATE, "directory.delim"):
        return
    delim, parts = config.text("directory.delim"), template_parts(config)
    if not parts:
        try:
            parse_template(config.text(TEMPLATE))
            if not may_be_blank(config):
                config.add_problem(
                    TEMPLATE, "must not be blank. For example region={region}/day={timestamp:yyyy-MM-dd}"
                )
        except TemplateError as error:
            config.add_problem(TEMPLATE, str(error))
        return
    in_zone = zone((config.text("timezone") if config.sure("timezone") else "") or "UTC")
    locale = config.text("locale").strip() if config.sure("locale") else "en"
    try:
        tried = [
            part.text
            if isinstance(part, Text)
            else (compile_pattern(part.pattern, in_zone, locale or "en")(0) if isinstance(part, TimeText) else "x")
            for part in parts
        ]
    except JodaError as error:
        config.add_problem(TEMPLATE, str(error))
        return
    path = "".join(tried)
    if leads_out(path, delim):
        config.add_problem(TEMPLATE, "no part of a path may be '.' or '..': keys would leave their folder")
    elif "" in path.split(delim):
        config.add_problem(TEMPLATE, f"no part of a path may be empty: it begins with {delim!r}, or has two in a row")
    elif not all(each.isprintable() for each in tried):
        config.add_problem(TEMPLATE, "contains a control character, which no key can")
    rotates = config.sure("rotate.interval.ms") and config.number("rotate.interval.ms") > 0
    if rotates and not has_time(parts):
        config.add_problem("rotate.interval.ms", f"needs a time of each record: add {{timestamp:…}} to {TEMPLATE}")
    if any(isinstance(part, KeyField) for part in parts):
        _json_keys(config)


def may_be_blank(config: ParsedConfig) -> bool:
    """Without the topic's folder, objects may lie in `topics.dir` itself; so may those whose names are given."""
    return any(config.is_set(name) for name in (TOPIC_FOLDER, FILE_TEMPLATE))


def folder_pattern(parts: tuple[Part, ...]) -> str:
    """What the folders of a key look like, as a regular expression: no placeholder's text has a delimiter.

    >>> folder_pattern(parse_template("day={timestamp:dd}/{topic}"))
    'day=[^/]+/[^/]+'
    """
    return "".join(re.escape(part.text) if isinstance(part, Text) else _text_pattern(part) for part in parts)


def _text_pattern(part: Part) -> str:
    slashes = part.pattern.count("/") if isinstance(part, TimeText) else 0
    return "/".join(["[^/]+"] * (slashes + 1))


def _json_keys(config: ParsedConfig) -> None:
    converter = str(config.recognised["key.converter"] or "JsonConverter").rpartition(".")[2]
    if converter not in ("JsonConverter", "StringConverter", "ByteArrayConverter"):
        config.add_problem(TEMPLATE, f"{{key.field}} reads keys that are JSON, and key.converter is {converter}")


def template_parts(config: ParsedConfig) -> tuple[Part, ...]:
    """Folders and, behind them, the times of names: all that follows from a record."""
    folders = folder_parts(config)
    parts = list(folders)
    for each in name_times(config):
        parts += [*([Text(config.text("directory.delim"))] if parts else []), TimeText(each.unit)]
    return tuple(parts)


def name_times(config: ParsedConfig) -> tuple[TimeUnit, ...]:
    """The times in names of objects, where a path can have them."""
    if config.recognised["partitioner.class"] != TEMPLATE_PARTITIONER or not config.sure(FILE_TEMPLATE):
        return ()
    try:
        text = config.text(FILE_TEMPLATE)
        return times_of(parse_file_template(text, topic_folder=True)) if text else ()
    except NameTemplateError:
        return ()


def folder_parts(config: ParsedConfig) -> tuple[Part, ...]:
    """Of a template that means something; one delimiter at the end is left out, as of path.format."""
    if config.recognised["partitioner.class"] != TEMPLATE_PARTITIONER or not config.sure(TEMPLATE, "directory.delim"):
        return ()
    try:
        return parse_template(config.text(TEMPLATE).removesuffix(config.text("directory.delim")))
    except TemplateError:
        return ()


def has_time(parts: tuple[Part, ...]) -> bool:
    return any(isinstance(part, TimeText) for part in parts)
