"""Names of objects by a template (`file.name.template`): what stands in them, and that no two can be one."""

from __future__ import annotations

import enum
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass


class Slot(enum.Enum):
    """What stands in the name of an object by `file.name.template`; padded as Aiven's sink pads."""

    TOPIC = "topic"
    PARTITION = "partition"
    PADDED_PARTITION = "partition:padding=true"
    OFFSET = "start_offset"
    PADDED_OFFSET = "start_offset:padding=true"


@dataclass(frozen=True, slots=True)
class TimeUnit:
    """A part of a record's time: yyyy, MM, dd or HH. What it is follows from the record, as the folders do."""

    unit: str


_UNITS = {f"timestamp:unit={unit}": TimeUnit(unit) for unit in ("yyyy", "MM", "dd", "HH")}
_UNITS["timestamp:unit=YYYY"] = TimeUnit("yyyy")
_SLOTS = {slot.value: slot for slot in Slot}
_SLOTS |= {f"{name}:padding=false": _SLOTS[name] for name in ("partition", "start_offset")}
_WIDTHS = {Slot.PARTITION: 1, Slot.PADDED_PARTITION: 10, Slot.OFFSET: 1, Slot.PADDED_OFFSET: 20}
#: Text, slots and times, in order.
FileTemplate = tuple[str | Slot | TimeUnit, ...]


class TemplateError(ValueError):
    """A template of names that does not tell objects apart, and why, for people."""


def parse_file_template(text: str, *, topic_folder: bool = False, shared: bool = False) -> FileTemplate:
    """The parts of a name. `topic_folder`: each topic has a folder of its own, so a name need not hold the topic.
    `shared`: topics share folders, so that names alone tell them apart.

    >>> parse_file_template("{{topic}}-p{{ partition }}-{{start_offset:padding=true}}")
    (<Slot.TOPIC: 'topic'>, '-p', <Slot.PARTITION: 'partition'>, '-', <Slot.PADDED_OFFSET: 'start_offset:padding=true'>)
    """
    parts: list[str | Slot | TimeUnit] = []
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
        is_number = part in _WIDTHS or (isinstance(part, TimeUnit) and following in _WIDTHS)
        if is_number and (not isinstance(following, str) or following[0].isdigit()):
            raise TemplateError(
                "needs text that begins with no digit between numbers, or two objects could have one name"
            )
    for part, following in itertools.pairwise((*parts, "")):
        is_numeric = following.isdigit() if isinstance(following, str) else True
        if shared and part is Slot.TOPIC and is_numeric:
            raise TemplateError("needs text that is not a number behind {{topic}}, or two topics could have one name")
    in_year = False  # a year may have five digits: what follows it must not go on with a digit of its own
    for part, following in itertools.pairwise(parts):
        is_digits = isinstance(part, TimeUnit) or (isinstance(part, str) and part.isdigit())
        in_year = part == _UNITS["timestamp:unit=yyyy"] or (in_year and is_digits)
        if in_year and (following in _WIDTHS or (shared and following is Slot.TOPIC)):
            raise TemplateError("needs text that is not a number behind a year, or two objects could have one name")
    if parts[-1] not in _WIDTHS and not isinstance(parts[-1], TimeUnit):
        raise TemplateError("has to end with {{start_offset}} or {{partition}}: the extension follows by itself")
    if isinstance(parts[0], str) and parts[0][0] in "_.":
        raise TemplateError("must not begin with '_' or '.': Spark, Hive and Athena leave out such objects")
    return tuple(parts)


def times_of(template: FileTemplate) -> tuple[TimeUnit, ...]:
    return tuple(part for part in template if isinstance(part, TimeUnit))


def _slot(said: str) -> Slot | TimeUnit:
    if said in _UNITS:
        return _UNITS[said]
    if said in _SLOTS:
        return _SLOTS[said]
    if said == "key" or said.startswith("timestamp"):
        shown = "{key}" if said == "key" else "{timestamp:yyyy-MM-dd}"
        raise TemplateError(
            f"{{{{{said}}}}} belongs in a folder: write {shown} in export.path.template, with"
            " partitioner.class=kafka_s3.FieldAndTimePartitioner"
        )
    raise TemplateError(f"{{{{{said}}}}} is not a placeholder; known placeholders: {', '.join(_SLOTS)}")


def filled(part: str | Slot | TimeUnit, topic: str, partition: int, offset: int, times: Iterator[str]) -> str:
    """The text of a part; `times` are those of the template that are still to come."""
    match part:
        case TimeUnit():
            return next(times)
        case str():
            return part
        case Slot.TOPIC:
            return topic
        case Slot.PARTITION | Slot.PADDED_PARTITION:
            return f"{partition:0{_WIDTHS[part]}d}"
        case _:
            return f"{offset:0{_WIDTHS[part]}d}"


def pattern(part: str | Slot | TimeUnit, topic: str, number: int) -> str:
    """What reads a part of a name back, as groups `partition`, `offset` and, for times, `t<number>`."""
    match part:
        case TimeUnit(unit):
            return rf"(?P<t{number}>\d{{4,}})" if unit == "yyyy" else rf"(?P<t{number}>\d\d)"
        case str():
            return re.escape(part)
        case Slot.TOPIC:
            return re.escape(topic)
        case Slot.PARTITION | Slot.PADDED_PARTITION:
            return r"(?P<partition>\d+)"
        case _:
            return r"(?P<offset>\d+)"
