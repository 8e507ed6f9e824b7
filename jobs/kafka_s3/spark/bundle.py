"""The engine, with what it needs or alone, as one archive that Spark brings to workers that have nothing installed.

Packed is what is installed here, so workers get the driver's own versions, and nothing is downloaded. Spark unpacks an
archive of `spark.archives` beside each executor; libraries in C cannot be imported from a zip that stays one.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from kafka_s3 import __version__
from kafka_s3.errors import ConfigurationError

NAME: Final = "kafka-s3"
ENGINE: Final = "kafka_s3"
#: The folder beside an executor into which Spark unpacks the archive.
FOLDER: Final = "kafka_s3_bundle"
#: Never imported by a worker: tests, and what compilers read.
_LEFT_OUT_FOLDERS: Final = frozenset({"__pycache__", "tests", "include"})
_LEFT_OUT_SUFFIXES: Final = frozenset({".pyc", ".pyi", ".pyx", ".pxd", ".pxi", ".h", ".hpp", ".c", ".cc", ".a"})
_REQUIREMENT: Final = re.compile(r"([A-Za-z0-9._-]+)\s*(?:\[([^]]*)\])?")
_EXTRA: Final = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
#: A date that every build has, so that the same content is the same archive.
_DATE: Final = (1980, 1, 1, 0, 0, 0)
_LEVEL: Final = 6  # of deflate: an archive is made once, and sent with every run


@dataclass(frozen=True, slots=True)
class Bundle:
    """An archive that was written: `packages` are the distributions in it, as name==version."""

    path: Path
    packages: tuple[str, ...]
    files: int

    @property
    def bytes(self) -> int:
        return self.path.stat().st_size


def default_name(*, engine_only: bool) -> str:
    """Which engine it is, and of libraries which Python and which machine they are for."""
    if engine_only:
        return f"{NAME}-{__version__}-engine.zip"
    version = f"py{sys.version_info[0]}{sys.version_info[1]}"
    return f"{NAME}-{__version__}-{version}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}.zip"


def bundle(path: Path, extras: Sequence[str] = ()) -> Bundle:
    """Write the engine and the libraries that it needs, those of some of its extras too."""
    libraries = _closure([*map(_normal, extras)])
    files = dict(_engine_files())
    for library in libraries:
        files |= _files_of(library)
    _write(path, files)
    packages = (f"{NAME}=={__version__}", *(f"{each.name}=={each.version}" for each in libraries))
    return Bundle(path, packages, len(files))


def engine_zip(path: Path) -> Bundle:
    """Write the engine alone, which Python imports from the zip: for `--py-files`, where workers have the libraries."""
    files = dict(_engine_files())
    _write(path, files)
    return Bundle(path, (f"{NAME}=={__version__}",), len(files))


def _engine_files() -> Iterator[tuple[str, Path]]:
    package = Path(__file__).parents[1]
    if not package.is_dir():
        raise ConfigurationError(f"The engine is itself in an archive, {package}.", next="pip install kafka-s3.")
    for file in package.rglob("*"):
        if file.is_file() and file.suffix != ".pyc" and file.name != "export_job.py":
            yield f"{ENGINE}/{file.relative_to(package).as_posix()}", file


def _closure(extras: Sequence[str]) -> list[Distribution]:
    """The installed distributions that the engine needs, in the order of their names, itself left out."""
    waiting, found = [(NAME, frozenset(extras))], dict[str, Distribution]()
    seen = set(waiting)
    while waiting:
        name, wanted = waiting.pop()
        try:
            one = distribution(name)
        except PackageNotFoundError:
            wished = f"[{','.join(sorted(extras))}]" if extras else ""
            raise ConfigurationError(
                f"{name} is not installed here, and a bundle is made of what is.",
                next=f"pip install '{NAME}{wished}'.",
            ) from None
        found[_normal(name)] = one
        if name == NAME:
            _check_extras(one, extras)
        for text in one.requires or ():
            need = _needed(text, wanted)
            if need is not None and need not in seen:
                seen.add(need)
                waiting.append(need)
    return [found[name] for name in sorted(found) if name != NAME]


def _check_extras(engine: Distribution, extras: Sequence[str]) -> None:
    known = sorted(engine.metadata.get_all("Provides-Extra") or ())
    for extra in extras:
        if extra not in known:
            raise ConfigurationError(f"{extra!r} is not an extra of {NAME}.", next=f"Its extras: {', '.join(known)}.")


def _needed(text: str, extras: frozenset[str]) -> tuple[str, frozenset[str]] | None:
    """A requirement of a distribution; `None` of one that is for another extra, or for another platform.

    Markers of platforms are not read: whatever they ask for here is installed, and nothing else.

    >>> _needed("confluent-kafka[schemaregistry]<3,>=2.16", frozenset())
    ('confluent-kafka', frozenset({'schemaregistry'}))
    >>> _needed("pyspark==4.2.0; extra == 'spark'", frozenset())
    """
    requirement, _, marker = text.partition(";")
    of_extras = set(_EXTRA.findall(marker))
    if of_extras and not of_extras & extras:
        return None
    match = _REQUIREMENT.match(requirement)
    assert match is not None, text
    rest = _EXTRA.sub("", marker).strip(" ()") if of_extras else marker.strip()
    if rest and not _is_installed(match[1]):
        return None
    return _normal(match[1]), frozenset(filter(None, re.split(r"[\s,]+", match[2] or "")))


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _files_of(library: Distribution) -> dict[str, Path]:
    """What of a distribution is imported, by the name that it has in the archive."""
    files = {}
    for file in library.files or ():
        place = Path(str(library.locate_file(file)))
        if ".." not in file.parts and _is_wanted(file) and place.is_file():
            files[file.as_posix()] = place
    if not files:
        raise ConfigurationError(
            f"{library.name} does not list its files, so they cannot be packed.",
            next="Make the bundle in an environment that pip or uv has made.",
        )
    return files


def _is_wanted(file: os.PathLike[str]) -> bool:
    path = Path(file)
    return path.suffix not in _LEFT_OUT_SUFFIXES and not _LEFT_OUT_FOLDERS & set(path.parts[:-1])


def _write(path: Path, files: dict[str, Path]) -> None:
    """All at once, under its name only when it is whole; the same files are the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        part = Path(folder) / path.name
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in sorted(files):
                member = zipfile.ZipInfo(name, _DATE)
                member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                archive.writestr(member, files[name].read_bytes(), compresslevel=_LEVEL)
        part.replace(path)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
