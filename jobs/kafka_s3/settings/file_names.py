"""Names of objects, and whether each topic has a folder of its own."""

from __future__ import annotations

import re
from typing import Final

from kafka_s3.file_template import FileTemplate, TemplateError, parse_file_template, times_of
from kafka_s3.settings.properties import Kind, Property
from kafka_s3.settings.record_fields import writes_fields
from kafka_s3.settings.template_rules import FILE_TEMPLATE, TEMPLATE_PARTITIONER, TOPIC_FOLDER
from kafka_s3.settings.validation import ParsedConfig

TOPIC_FOLDER_PROPERTY: Final = Property(
    TOPIC_FOLDER,
    Kind.BOOLEAN,
    True,
    "false: no folder for each topic; keys begin with topics.dir and what export.path.template says, and names"
    " have to hold the topic.",
    shapes=True,
    quiet=True,
)
FILE_TEMPLATE_PROPERTY: Final = Property(
    FILE_TEMPLATE,
    Kind.STRING,
    "",
    "Name of an object in its folder, without suffixes and extension; unset, the sink's. It has {{topic}},"
    " {{partition}} and {{start_offset}} once each (with zeros: {{start_offset:padding=true}}), text between the"
    " numbers, and ends with a number. {{topic}} may be left out where the topic has a folder. With"
    " FieldAndTimePartitioner it may also have {{timestamp:unit=yyyy}}, MM, dd and HH.",
    shapes=True,
    quiet=True,
)


#: What names of topics are made of.
_IN_TOPICS: Final = re.compile(r"[A-Za-z0-9._-]+")
#: So many digits no number of a partition has, nor that of a second name.
PAD_WIDTH_MIN: Final = 10


def tells_topics_apart(delim: str, pad_width: int) -> bool:
    """Whether the sink's names do that in one folder. With `-` and no zeros, the third other name of topic a's
    partition 1 and offset 2 is that of topic a-1's partition 2 and offset 3.

    >>> tells_topics_apart("+", 0), tells_topics_apart("-", 10), tells_topics_apart("-", 1)
    (True, True, False)
    """
    return pad_width >= PAD_WIDTH_MIN or _IN_TOPICS.fullmatch(delim) is None


def apply_file_name_rules(config: ParsedConfig) -> None:
    """A template of names tells any two objects apart, or is refused."""
    _topic_folder(config)
    if not config.sure(FILE_TEMPLATE, "directory.delim") or not config.text(FILE_TEMPLATE):
        return
    try:
        build_file_template(config)
    except TemplateError as error:
        config.add_problem(FILE_TEMPLATE, str(error))
        return
    if times_of(build_file_template(config)):
        _times(config)
    if config.text("directory.delim") != "/":
        config.add_problem(FILE_TEMPLATE, "requires directory.delim=/, which no topic contains")
    if _shares_folders(config) and config.sure("file.delim") and _IN_TOPICS.fullmatch(config.text("file.delim")):
        config.add_problem(
            "file.delim",
            "must contain a character that no topic name can, such as '+': topics share folders, and two objects could"
            " have one name",
        )


def build_file_template(config: ParsedConfig) -> FileTemplate:
    """A topic that transforms give has a folder, and a name holds the one it came from."""
    if not config.text(FILE_TEMPLATE):
        return ()
    shared = _shares_folders(config)
    return parse_file_template(config.text(FILE_TEMPLATE), topic_folder=not shared, shared=shared)


def _shares_folders(config: ParsedConfig) -> bool:
    """Whether objects of several topics may lie in one folder: transforms may give them one topic."""
    return not config.flag(TOPIC_FOLDER) or bool(config.recognised["transforms"])


def _times(config: ParsedConfig) -> None:
    """Times of names are told by who makes paths; nobody else knows them."""
    if config.sure("partitioner.class") and config.text("partitioner.class") != TEMPLATE_PARTITIONER:
        config.add_problem(FILE_TEMPLATE, f"{{{{timestamp}}}} requires partitioner.class={TEMPLATE_PARTITIONER}")
    if config.recognised["s3.schema.partition.affix.type"] != "NONE":
        config.add_problem(FILE_TEMPLATE, "{{timestamp}} cannot be combined with s3.schema.partition.affix.type")
    if config.recognised["behavior.on.null.values"] == "write" and not writes_fields(config):
        config.add_problem(FILE_TEMPLATE, "{{timestamp}} cannot be combined with behavior.on.null.values=write")


def _topic_folder(config: ParsedConfig) -> None:
    """Where topics share folders, a key says which topic it is of, and every folder is known beforehand."""
    if not config.sure(TOPIC_FOLDER) or config.flag(TOPIC_FOLDER):
        return
    if config.sure("partitioner.class") and config.text("partitioner.class") != TEMPLATE_PARTITIONER:
        config.add_problem(TOPIC_FOLDER, f"false requires partitioner.class={TEMPLATE_PARTITIONER}")
    if config.sure("directory.delim") and config.text("directory.delim") != "/":
        config.add_problem(TOPIC_FOLDER, "false requires directory.delim=/")
    if config.recognised["s3.schema.partition.affix.type"] != "NONE":
        config.add_problem(TOPIC_FOLDER, "false cannot be combined with s3.schema.partition.affix.type")
    for member in ("keys", "headers"):
        if config.recognised[f"store.kafka.{member}"] is True:
            config.add_problem(TOPIC_FOLDER, f"false cannot be combined with store.kafka.{member}=true")
