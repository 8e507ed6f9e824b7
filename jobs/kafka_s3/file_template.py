"""Names of objects by a template (`file.name.template`): what stands in them, and that no two can be one."""

from __future__ import annotations

import enum
import itertools
import re


class Slot(enum.Enum):
    """What stands in the name of an object by `file.name.template`; padded as Aiven's sink pads."""

    TOPIC = "topic"
    PARTITION = "partition"
    PADDED_PARTITION = "partition:padding=true"
    OFFSET = "start_offset"
    PADDED_OFFSET = "start_offset:padding=true"


_SLOTS = {slot.value: slot for slot in Slot}
_SLOTS |= {f"{name}:padding=false": _SLOTS[name] for name in ("partition", "start_offset")}
_WIDTHS = {Slot.PARTITION: 1, Slot.PADDED_PARTITION: 10, Slot.OFFSET: 1, Slot.PADDED_OFFSET: 20}
#: Text and slots, in order.
FileTemplate = tuple[str | Slot, ...]


class TemplateError(ValueError):
    """A template of names that does not tell objects apart, and why, for people."""


def parse_file_template(text: str, *, topic_folder: bool = False, shared: bool = False) -> FileTemplate:
    """The parts of a name. `topic_folder`: each topic has a folder of its own, so a name need not hold the topic.
    `shared`: topics share folders, so that names alone tell them apart.

    >>> parse_file_template("{{topic}}-p{{ partition }}-{{start_offset:padding=true}}")
    (<Slot.TOPIC: 'topic'>, '-p', <Slot.PARTITION: 'partition'>, '-', <Slot.PADDED_OFFSET: 'start_offset:padding=true'>)
    """
    parts: list[str | Slot] = []
    for number, each in enumerate(re.split(r"\{\{(.*?)\}\}", text)):
        if number % 2:
            parts.append(_slot(re.sub(r"\s", "", each)))
        elif each:
            parts.append(each)
    words = [part for part in parts if isinstance(part, str)]
    if any(brace in word for word in words for brace in "{}"):
        raise TemplateError("contains a brace that belongs to no placeholder")
    if any(not word.isprintable() or "/" in word or "\\" in word for word in words):
        raise TemplateError("must not contain '/', a backslash or control characters: folders are the partitioner's")
    names = [part.value.partition(":")[0] for part in parts if isinstance(part, Slot)]
    for name in ("topic", "partition", "start_offset"):
        if names.count(name) != 1 and not (name == "topic" and topic_folder and not names.count(name)):
            raise TemplateError(f"needs {{{{{name}}}}} once, or two objects could have one name")
    for part, following in itertools.pairwise(parts):
        if part in _WIDTHS and (isinstance(following, Slot) or following[0].isdigit()):
            raise TemplateError(
                "needs text that begins with no digit between numbers, or two objects could have one name"
            )
    for part, following in itertools.pairwise((*parts, "")):
        if shared and part is Slot.TOPIC and (following in _WIDTHS or str(following).isdigit()):
            raise TemplateError("needs text that is no number behind {{topic}}, or two topics could have one name")
    if parts[-1] not in _WIDTHS:
        raise TemplateError("has to end with {{start_offset}} or {{partition}}: the extension follows by itself")
    if isinstance(parts[0], str) and parts[0][0] in "_.":
        raise TemplateError("must not begin with '_' or '.': Spark, Hive and Athena leave out such objects")
    return tuple(parts)


def _slot(said: str) -> Slot:
    if said in _SLOTS:
        return _SLOTS[said]
    if said == "key" or said.startswith("timestamp"):
        shown = "{key}" if said == "key" else "{timestamp:yyyy-MM-dd}"
        raise TemplateError(
            f"{{{{{said}}}}} belongs into a folder: write {shown} in export.path.template, with"
            " partitioner.class=kafka_s3.FieldAndTimePartitioner"
        )
    raise TemplateError(f"{{{{{said}}}}} is no placeholder: known are {', '.join(_SLOTS)}")


def filled(part: str | Slot, topic: str, partition: int, offset: int) -> str:
    match part:
        case str():
            return part
        case Slot.TOPIC:
            return topic
        case Slot.PARTITION | Slot.PADDED_PARTITION:
            return f"{partition:0{_WIDTHS[part]}d}"
        case _:
            return f"{offset:0{_WIDTHS[part]}d}"


def pattern(part: str | Slot, topic: str) -> str:
    """What reads a part of a name back, as groups `partition` and `offset`."""
    match part:
        case str():
            return re.escape(part)
        case Slot.TOPIC:
            return re.escape(topic)
        case Slot.PARTITION | Slot.PADDED_PARTITION:
            return r"(?P<partition>\d+)"
        case _:
            return r"(?P<offset>\d+)"
