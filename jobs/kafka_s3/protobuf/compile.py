"""Schemas as a registry holds them, `.proto` text or a descriptor in base64, to descriptors.

Google's compiler does it (grpcio-tools), as a process of its own: whatever a text does to it, it does to that process.
"""

from __future__ import annotations

import base64
import binascii
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath
from typing import Final

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.message import DecodeError

from kafka_s3.shown import named, quoted

#: What the record's own schema is called, which a registry gives no name.
MAIN: Final = "schema.proto"
_INCLUDE: Final = Path(__file__).parent / "include"
_COMPILE_S: Final = 60
_PROBLEM_CHARS_MAX: Final = 500
_MISSING: Final = ": File not found."


class ProtoError(ValueError):
    """A schema that cannot be used, and why, for people."""


class CompilerMissing(Exception):
    """grpcio-tools is not installed."""


def need_compiler() -> None:
    """`CompilerMissing` without grpcio-tools."""
    try:
        found = importlib.util.find_spec("grpc_tools")
    except (ImportError, ValueError):
        found = None
    if found is None:
        raise CompilerMissing


class Schemas:
    """The descriptors of a schema and of all that it refers to.

    A map's entries are read as what they are on the wire, messages in their order: so equal bytes are equal rows.
    """

    def __init__(self, files: descriptor_pb2.FileDescriptorSet, main: str) -> None:
        self.protos: dict[str, descriptor_pb2.DescriptorProto] = {}
        self.files: dict[str, descriptor_pb2.FileDescriptorProto] = {}
        #: The full names of maps' entries.
        self.entries: set[str] = set()
        self.pool = descriptor_pool.DescriptorPool()
        try:
            for each in files.file:
                self.files[each.name] = each
                for message in each.message_type:
                    self._index(message, each.package)
                self.pool.Add(each)
            self.main: FileDescriptor = self.pool.FindFileByName(main)
        except (TypeError, KeyError, ValueError) as error:
            raise ProtoError(f"its descriptors do not go together: {quoted(str(error))}") from None

    def _index(self, message: descriptor_pb2.DescriptorProto, scope: str) -> None:
        name = f"{scope}.{message.name}" if scope else message.name
        self.protos[name] = message
        if message.options.map_entry:
            self.entries.add(name)
            message.options.ClearField("map_entry")
        for each in message.nested_type:
            self._index(each, name)

    @cached_property
    def by_name(self) -> tuple[tuple[int, ...], ...]:
        """The indexes of every message of the file in the order of their full names, maps' entries among them."""
        file = self.files[self.main.name]
        found = dict(_indexed(file.message_type, file.package, ()))
        return tuple(found[name] for name in sorted(found))

    def message(self, indexes: Sequence[int]) -> Descriptor:
        """The message type of these indexes; `ProtoError` if there is none."""
        first, *rest = indexes
        names = [each.name for each in self.files[self.main.name].message_type]
        if first >= len(names):
            raise ProtoError(f"the message index {_said(first)} is past the last of its {len(names)} messages")
        found: Descriptor = self.main.message_types_by_name[names[first]]
        for index in rest:
            nested = [each.name for each in self.protos[found.full_name].nested_type]
            if index >= len(nested):
                owner = named(found.full_name)
                raise ProtoError(f"the message index {_said(index)} is past the {len(nested)} inside {named(owner)}")
            found = found.nested_types_by_name[nested[index]]
        return found


def _indexed(
    messages: Sequence[descriptor_pb2.DescriptorProto], scope: str, outer: tuple[int, ...]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    for place, message in enumerate(messages):
        name, indexes = f"{scope}.{message.name}" if scope else message.name, (*outer, place)
        yield name, indexes
        yield from _indexed(message.nested_type, name, indexes)


@lru_cache(maxsize=32)  # the descriptors of a schema take some hundred times its text
def schemas(text: str, names: tuple[str, ...] = (), texts: tuple[str, ...] = ()) -> Schemas:
    """The schemas of a text and of what it refers to by name, in the same order; `ProtoError` if they are none."""
    need_compiler()
    given = dict(zip(names, texts, strict=True))
    main = MAIN
    while main in given:
        main = f"_{main}"
    given[main] = text
    files = descriptor_pb2.FileDescriptorSet.FromString(_compiled(given, main))
    return Schemas(files, main)


def _compiled(given: Mapping[str, str], main: str) -> bytes:
    """The descriptors of a file and of all that it imports, as protoc writes them."""
    with tempfile.TemporaryDirectory(prefix="kafka-s3-proto-") as scratch:
        folder = Path(scratch) / "given"
        folder.mkdir()
        ready = descriptor_pb2.FileDescriptorSet()
        for name, text in given.items():
            if (descriptor := _serialized(text)) is not None:
                descriptor.name = name
                ready.file.append(descriptor)
            else:
                _write(folder, name, text)
        out, binary = Path(scratch) / "out", Path(scratch) / "ready"
        command = [f"-I{folder}", f"-I{_INCLUDE}", *(f"-I{each}" for each in _common_types())]
        if ready.file:
            binary.write_bytes(ready.SerializeToString())
            command.append(f"--descriptor_set_in={binary}")
        command += ["--include_imports", f"--descriptor_set_out={out}", main]
        try:
            done = subprocess.run(  # noqa: S603  # our own interpreter and paths of our own
                [sys.executable, "-P", "-m", "grpc_tools.protoc", *command],
                capture_output=True,
                timeout=_COMPILE_S,
                check=False,
                cwd=scratch,
            )
        except subprocess.TimeoutExpired:
            raise ProtoError(f"it did not compile within {_COMPILE_S} s") from None
        if done.returncode or not out.exists():
            told = done.stderr.decode("utf-8", "replace").replace(f"{folder}/", "")
            raise ProtoError(_problem(told, main))
        return out.read_bytes()


def _serialized(text: str) -> descriptor_pb2.FileDescriptorProto | None:
    """The descriptor that a text is in base64, as clients in Python register it; `None`: it is `.proto` text."""
    try:
        found = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (binascii.Error, DecodeError, ValueError):
        return None
    return found if found.message_type or found.enum_type or found.dependency else None


def _write(folder: Path, name: str, text: str) -> None:
    """A file under the path that it is imported by, which stays in the folder."""
    path = PurePosixPath(name)
    if not name or path.is_absolute() or any(part in ("", ".", "..") for part in name.split("/")) or "\0" in name:
        raise ProtoError(f"it refers to {named(name)}, which is not a path of a .proto file")
    target = folder / path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    except (OSError, UnicodeEncodeError):
        raise ProtoError(f"it refers to {named(name)}, which is not a path of a .proto file") from None


def _common_types() -> list[Path]:
    """Where google/type/*.proto are: date, time of day and their kind, which every registry takes for known."""
    try:
        spec = importlib.util.find_spec("google.type")
    except ImportError:
        return []
    places = [] if spec is None else [Path(each) for each in spec.submodule_search_locations or ()]
    return [each.parent.parent for each in places if (each / "date.proto").exists()][:1]


def _problem(said: str, main: str) -> str:
    """What protoc says of it, in a sentence; a missing reference by its name."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and ": warning:" not in line]
    for line in lines:
        if line.endswith(_MISSING):
            name = line.removesuffix(_MISSING)
            return f"it imports {named(name)}, which is not among its references in the registry"
    where = [line for line in lines if line.startswith(f"{main}:")] or lines or ["protoc says nothing"]
    first = where[0].removeprefix(f"{main}:").strip()
    return f"it is not a Protobuf schema: {quoted(first[:_PROBLEM_CHARS_MAX], kind='protoc refuses it')}"


def _said(index: int) -> str:
    return quoted(index, kind="that a record names")
