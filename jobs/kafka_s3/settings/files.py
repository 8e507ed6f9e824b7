"""Reads a configuration file: Java's `.properties`, Connect's `.json` or Strimzi's `.yaml`."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from kafka_s3.errors import ConfigurationError, Problem
from kafka_s3.settings.reach import Reach

#: How the names of connector files end, in small or capital letters.
SUFFIXES: Final = (".properties", ".json", ".yaml", ".yml")
SIZE_MAX_BYTES: Final = 1 << 20  # read whole, so this is also the memory it takes, a few times over
ANYWHERE: Final = Reach()
_LINE = re.compile(r"\r\n|\r|\n")
_BLANK: Final = " \t\f"
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True)
class ConfigurationFile:
    """The texts of a file's properties; `problems` is what was wrong with single ones."""

    properties: Mapping[str, str] = field(repr=False)
    problems: tuple[Problem, ...] = ()


def read(path: Path) -> ConfigurationFile:
    """The properties of a file, by how its name ends; `ConfigurationError` if it cannot be read as one."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ConfigurationError(f"The name of {path} has to end in one of {', '.join(SUFFIXES)}.")
    text = read_limited(path)
    if suffix == ".json":
        file = parse_json(text, str(path))
    elif suffix == ".properties":
        file = ConfigurationFile(parse_properties(text, str(path)))
    else:
        from kafka_s3.settings.manifests import parse_manifest  # only who has such files pays for YAML

        file = ConfigurationFile(*parse_manifest(text, str(path)))
    if not file.properties and not file.problems:
        raise ConfigurationError(f"{path} holds no property.", next="Describe a connector in it, or remove it.")
    return file


def read_limited(path: Path, reach: Reach = ANYWHERE) -> str:
    """The text of a file of at most `SIZE_MAX_BYTES`; `ConfigurationError` if there is no such text."""
    # Raised after the handlers, so that no error drags the file's contents along as its context.
    try:
        with _opened(path, reach) as file:
            raw = file.read(SIZE_MAX_BYTES + 1)
        if len(raw) <= SIZE_MAX_BYTES:
            return raw.decode("utf-8-sig")
        wrong = f"is larger than {SIZE_MAX_BYTES} bytes, too large for a configuration."
    except UnicodeDecodeError as error:
        wrong = f"is not UTF-8 (at byte {error.start})."
    except OSError as error:
        wrong = f"cannot be read: {error.strerror or type(error).__name__}."
    raise ConfigurationError(f"{path} {wrong}")


def read_text(path: str, reach: Reach = ANYWHERE) -> str:
    """The text of the file that a `${file:path:key}` names; OSError or UnicodeDecodeError if there is none."""
    return read_bytes(Path(path), reach).decode("utf-8-sig")


def read_bytes(path: Path, reach: Reach = ANYWHERE) -> bytes:
    """What is in a file of at most `SIZE_MAX_BYTES`; OSError if there is none."""
    with _opened(path, reach) as file:
        raw = file.read(SIZE_MAX_BYTES + 1)
    if len(raw) > SIZE_MAX_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {SIZE_MAX_BYTES} bytes")
    return raw


def _opened(path: Path, reach: Reach = ANYWHERE) -> BinaryIO:
    """An open file of the usual kind: a pipe or a device could be read for ever. What was opened lies within reach,
    even if a link on the way to it was changed meanwhile."""
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "its name holds a null byte")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise OSError(errno.EINVAL, "its name holds half a character") from None
    with contextlib.ExitStack() as unless_good:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        file = unless_good.enter_context(os.fdopen(handle, "rb"))
        opened = os.fstat(file.fileno())
        if not stat.S_ISREG(opened.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        real = os.path.realpath(path)
        if not (reach.has_file(real) and os.path.samestat(opened, os.stat(real, follow_symlinks=False))):
            raise OSError(errno.EACCES, "it lies elsewhere")
        unless_good.pop_all()
        return file


def parse_properties(text: str, origin: str) -> dict[str, str]:
    """The properties of a text in Java's syntax; of two with one name the last wins. Values keep trailing blanks.

    The library javaproperties names no line in its errors, and takes a comment that follows a line of a backslash alone
    for a property, which Java does not (0.8.2).
    """
    properties: dict[str, str] = {}
    for number, line in _logical_lines(text):
        match = re.match(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", line, re.DOTALL)
        assert match is not None
        key, value = (_unescape(part) for part in match.groups())
        if key is None or value is None:
            raise ConfigurationError(
                f"{origin} line {number}: a \\u escape is not four hexadecimal digits of a character."
            )
        properties[key] = value
    return properties


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Lines without comments and blank ones, continued lines joined, with the number of the first."""
    lines: list[tuple[int, str]] = []
    pieces: list[str] = []  # of the line that is being continued
    first = 0
    for number, natural in enumerate(_LINE.split(text), 1):
        line = natural.lstrip(_BLANK)
        if not pieces:
            if not line or line[0] in "#!":
                continue
            first = number
        continued = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        piece = line[:-1] if continued else line
        if piece or pieces:  # a line of a backslash alone starts nothing: the next one may be a comment
            pieces.append(piece)
        if not continued:
            lines.append((first, "".join(pieces)))
            pieces = []
    lines.append((first, "".join(pieces)))
    return [(number, line) for number, line in lines if line]


def _unescape(text: str) -> str | None:
    """Java's escapes undone, pairs of surrogates joined; `None` if a \\u escape is broken."""
    if "\\" not in text:
        return text
    if re.search(r"(?<!\\)(?:\\\\)*\\u(?![0-9a-fA-F]{4})", text):
        return None

    def replace(match: re.Match[str]) -> str:
        escape = match.group(1)
        return chr(int(escape[1:], 16)) if len(escape) == 5 else _ESCAPES.get(escape, escape)

    plain = re.sub(r"\\(u[0-9a-fA-F]{4}|.|$)", replace, text, flags=re.DOTALL)
    try:
        return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        return None


def parse_json(text: str, origin: str) -> ConfigurationFile:
    """The properties of a flat object or of any answer of Connect's REST API that holds one connector.

    Those are `{"name": …, "config": {…}, "tasks": […], "type": "sink"}` and what `?expand=info` makes of it,
    `{"orders": {"info": {…}, "status": {…}}}`. A null means unset.
    """
    problems: list[Problem] = []

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        seen: dict[str, object] = {}
        for key, value in pairs:
            if key in seen:
                problems.append(Problem(key, None, "is given twice"))
            seen[key] = value
        return seen

    wrong = "is not a JSON object."
    try:
        # Numbers stay as they are written: what they mean is the property's business.
        whole: object = json.loads(text, object_pairs_hook=unique, parse_int=str, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as error:
        whole, wrong = None, f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
    except RecursionError:
        whole, wrong = None, "is not a configuration: it is nested too deeply."
    if not isinstance(whole, dict):
        raise ConfigurationError(f"{origin} {wrong}")
    whole = _expanded(whole, origin)
    config = whole.get("config")
    flat = _unwrap(whole, config, problems) if isinstance(config, dict) else whole
    properties: dict[str, str] = {}
    for key, value in flat.items():
        rendered = _text(value)
        if rendered is not None:
            properties[key] = rendered
        elif value is not None:
            problems.append(Problem(key, None, "must be a text, a number or true or false"))
    return ConfigurationFile(properties, tuple(problems))


def _expanded(whole: dict[str, object], origin: str) -> dict[str, object]:
    """What stands under `info` in an answer to `?expand=info`; another object as it is."""
    answers = [each for each in whole.values() if isinstance(each, dict)]
    infos = [info for each in answers if isinstance(info := each.get("info"), dict) and "config" in info]
    if not infos or len(infos) != len(whole):
        return whole
    if len(infos) > 1:
        raise ConfigurationError(
            f"{origin} holds {len(infos)} connectors: {', '.join(sorted(whole))}.",
            next="Write each connector into a file of its own.",
        )
    return infos[0]


def _unwrap(whole: dict[str, object], config: dict[str, object], problems: list[Problem]) -> dict[str, object]:
    for key in whole.keys() - {"name", "config", "tasks", "type", "initial_state"}:
        problems.append(Problem(key, None, 'stands beside "config": move it inside'))
    outer, inner = whole.get("name"), config.get("name")
    if outer is not None and inner is not None and outer != inner:
        problems.append(Problem("name", None, 'differs from the "name" beside "config"'))
    return config if outer is None else {"name": outer, **config}


def _text(value: object) -> str | None:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case _:
            return None
