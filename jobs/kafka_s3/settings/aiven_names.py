"""Names of objects of Aiven's S3 sink, in this exporter's properties.

A template there is the whole key, the extension included. Here its folders become `topics.dir`, the topic's folder and
`export.path.template`, its last part `file.name.template`, and what follows the first dot behind the last number
`export.file.extension`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kafka_s3.file_template import TemplateError, parse_file_template, times_of

_SLOT: Final = re.compile(r"\{\{\s*(.*?)\s*\}\}")
_UNIT: Final = re.compile(r"timestamp\s*:\s*unit\s*=\s*(yyyy|YYYY|MM|dd|HH)")
_DATE: Final = "{timestamp:yyyy}-{timestamp:MM}-{timestamp:dd}"
_DATES: Final = ("utc_date", "local_date")
_IN_FOLDERS: Final = {"topic": "{topic}", "partition": "{partition}", **dict.fromkeys(_DATES, _DATE)}
_NAME: Final = re.compile(r"(.*\}\})(.*)", re.DOTALL)
_COMPACT: Final = (
    "keeps only the latest record of each key and overwrites objects: here every record is kept and no object is"
    " overwritten. Write {{topic}}-{{partition}}-{{start_offset}} for the name of an object; a folder for each key is"
    " {key} in export.path.template"
)


class NamesError(ValueError):
    """Names that cannot be made here, and why, for people."""


def translated_names(template: str, source: str, zone: str = "UTC") -> Mapping[str, str]:
    """The properties that make the same keys as the template. `source`: WALLCLOCK or EVENT, the time in a key, and
    `zone` its time zone.

    >>> for each in translated_names("a/{{topic}}/{{partition}}-{{start_offset}}.gz", "EVENT").items(): print(each)
    ('topics.dir', 'a')
    ('partitioner.class', 'kafka_s3.FieldAndTimePartitioner')
    ('export.path.template', '')
    ('file.name.template', '{{partition}}-{{start_offset}}')
    ('export.file.extension', '.gz')
    """
    slots = [_SLOT.fullmatch(each) for each in re.findall(r"\{\{.*?\}\}", template)]
    said = [slot[1].partition(":")[0].strip() for slot in slots if slot is not None]
    if "key" in said:
        raise NamesError(_COMPACT)
    *folders, last = template.split("/")
    name, extension = _split(last)
    if "" in folders:
        raise NamesError("has an empty folder: two slashes in a row, or one at its beginning")
    fixed: list[str] = []
    while folders and "{{" not in folders[0]:
        fixed.append(folders.pop(0))
    has_topic = bool(folders) and _SLOT.fullmatch(folders[0]) is not None and _is(folders[0], "topic")
    if has_topic:
        folders.pop(0)
    _check_dates(folders, source, zone)
    path = "/".join(map(_folder, folders))
    try:
        parsed = parse_file_template(name, topic_folder=has_topic, shared=not has_topic)
    except TemplateError as error:
        raise NamesError(f"{error}. {_WAY_OUT}") from None
    made = {"topics.dir": "/".join(fixed), "partitioner.class": "kafka_s3.FieldAndTimePartitioner"}
    if not has_topic:
        made["export.topic.folder"] = "false"
    if any(each != each.strip() for each in (made["topics.dir"], name, extension)):
        raise NamesError("has a space beside a slash or at its end, which is left out here")
    if _is_used("utc_date", *folders):
        made["timezone"] = "UTC"  # whatever the worker file says
    made |= {"export.path.template": path, "file.name.template": name, "export.file.extension": extension or "none"}
    if "{timestamp:" in path or times_of(parsed):
        made |= {"timestamp.extractor": {"EVENT": "Record"}.get(source, "Wallclock"), "locale": "en"}
    return made


_DATE_WAY_OUT: Final = (
    "For dates by the source and time zone of the file, write"
    " {{timestamp:unit=yyyy}}-{{timestamp:unit=MM}}-{{timestamp:unit=dd}}"
)
_WAY_OUT: Final = (
    "Write folders first and the numbers last, as in"
    " {{topic}}/{{timestamp:unit=yyyy}}/{{partition}}-{{start_offset}}.gz"
)


def _split(last: str) -> tuple[str, str]:
    """The last part of a key, and its extension."""
    found = _NAME.fullmatch(last)
    if found is None or not found[2].startswith("."):
        return last, ""
    return found[1], found[2]


def _is(slot: str, name: str) -> bool:
    found = _SLOT.fullmatch(slot)
    return found is not None and found[1] == name


def _check_dates(folders: list[str], source: str, zone: str) -> None:
    """Dates without a source are those on which the sink writes, whatever it says of other times."""
    for said in _DATES:
        if source != "WALLCLOCK" and _is_used(said, *folders):
            raise NamesError(f"{{{{{said}}}}} requires file.name.timestamp.source=WALLCLOCK. {_DATE_WAY_OUT}")
    if zone not in ("UTC", "Z") and _is_used("utc_date", *folders):
        raise NamesError(f"{{{{utc_date}}}} requires file.name.timestamp.timezone=UTC. {_DATE_WAY_OUT}")


def _is_used(name: str, *folders: str) -> bool:
    return any(found[1] == name for folder in folders for found in _SLOT.finditer(folder))


def _folder(text: str) -> str:
    """A folder with this exporter's placeholders, which single braces would make."""
    if any(brace in _SLOT.sub("", text) for brace in "{}"):
        raise NamesError("contains a brace that belongs to no placeholder, and no folder can have one here")
    return _SLOT.sub(_placeholder, text)


def _placeholder(found: re.Match[str]) -> str:
    said = found[1]
    if said in _IN_FOLDERS:
        return _IN_FOLDERS[said]
    unit = _UNIT.fullmatch(said)
    if unit is not None:
        return f"{{timestamp:{unit[1].replace('Y', 'y')}}}"
    if said.startswith("partition"):
        raise NamesError(f"{{{{{said}}}}} has no zeros in a folder: write {{{{partition}}}} there")
    if said.startswith("start_offset"):
        raise NamesError("{{start_offset}} belongs in the last part of a name, or objects could not be told apart")
    raise NamesError(
        f"{{{{{said}}}}} is not a placeholder; known placeholders: topic, partition, start_offset, and in folders"
        " timestamp:unit=yyyy, MM, dd and HH, utc_date, local_date"
    )
