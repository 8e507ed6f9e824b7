"""Schemas of a folder, and what a driver asks a registry before its tasks start."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_s3.adapters.known_schemas import KNOWN_CHARS_MAX, KNOWN_VERSIONS_CHARS_MAX, known_schemas, merge
from kafka_s3.adapters.memory import MemoryRegistry, folder_registry
from kafka_s3.errors import ConfigurationError, RegistryUnavailable
from kafka_s3.ports import KnownSchemas, RegisteredSchema
from kafka_s3.settings.converters import Converter, ConverterSettings
from kafka_s3.settings.model import Settings
from kafka_s3.settings.registry import SubjectNames
from tests.support import make_settings

AVRO = ConverterSettings(Converter.AVRO)


def settings_with(value: ConverterSettings = AVRO, key: ConverterSettings = AVRO) -> Settings:
    settings = make_settings()
    return replace(settings, format=replace(settings.format, value=value, key=key))


@pytest.fixture
def registry() -> MemoryRegistry:
    """Two versions of the values of `orders`, one of its keys and of the values of `customers`."""
    memory = MemoryRegistry()
    for subject, text in (
        ("orders-value", '"int"'),
        ("orders-value", '"long"'),
        ("orders-key", '"string"'),
        ("customers-value", '"bytes"'),
    ):
        memory.register(subject, text)
    return memory


# A folder.


def test_folder(tmp_path: Path) -> None:
    """Files are schemas by id, and ascending ids are the versions of every subject."""
    for id in (20, 3, 100):
        (tmp_path / f"{id}.avsc").write_text(f'{{"type": "fixed", "name": "F{id}", "size": 1}}\n')
    (tmp_path / "README.md").write_text("Others' files may lie there, too.")
    registry = folder_registry(tmp_path)
    assert registry.schema(20) == RegisteredSchema(20, '{"type": "fixed", "name": "F20", "size": 1}\n')
    assert registry.schema(1) is None
    assert registry.versions("orders-value") == registry.versions("anything") == {3: 1, 20: 2, 100: 3}


@pytest.mark.parametrize(
    "name", ["0.avsc", "01.avsc", "-1.avsc", "orders.avsc", "2147483648.avsc", "1 .avsc", "١.avsc"]
)
def test_a_file_with_a_wrong_name(tmp_path: Path, name: str) -> None:
    """A name that is not an id is an error that names the file."""
    (tmp_path / "1.avsc").write_text('"int"')
    (tmp_path / name).write_text('"int"')
    with pytest.raises(ConfigurationError, match="is not named by an id") as error:
        folder_registry(tmp_path)
    assert name in str(error.value)


@pytest.mark.parametrize("content", [b"", b"{", b"int", b"\xff\xfe", b"[" * 100_000])
def test_a_file_that_is_no_json(tmp_path: Path, content: bytes) -> None:
    """A file that is not JSON is an error that names it."""
    (tmp_path / "7.avsc").write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"7\.avsc is not JSON"):
        folder_registry(tmp_path)


def test_no_folder_and_no_schemas(tmp_path: Path) -> None:
    """A folder that is not there, is a file, or holds no schema is an error; so is a schema that is a folder."""
    (tmp_path / "file").touch()
    for name in ("none", "file"):
        with pytest.raises(ConfigurationError, match=f"{name} cannot be read"):
            folder_registry(tmp_path / name)
    with pytest.raises(ConfigurationError, match="There are no schemas in"):
        folder_registry(tmp_path)
    (tmp_path / "1.avsc").mkdir()
    with pytest.raises(ConfigurationError, match=r"1\.avsc cannot be read"):
        folder_registry(tmp_path)


# In memory.


def test_a_failure_is_not_an_answer() -> None:
    """What failed is asked again, and what was answered is not."""
    memory = MemoryRegistry({1: RegisteredSchema(1, '"int"')})
    memory.fail_next(RegistryUnavailable("gone"))
    with pytest.raises(RegistryUnavailable):
        memory.schema(1)
    assert memory.schema(1) == memory.schema(1) == RegisteredSchema(1, '"int"')
    assert memory.requests == ["schema 1", "schema 1"]


# Before tasks start.


def test_known_values(registry: MemoryRegistry) -> None:
    """Every version of every topic's values is known, and that a topic has none."""
    known = known_schemas(registry, settings_with(), ["orders", "customers", "none"], key=False)
    assert known.versions == {"orders-value": {1: 1, 2: 2}, "customers-value": {4: 1}, "none-value": {}}
    assert {id: schema.text for id, schema in known.schemas.items()} == {1: '"int"', 2: '"long"', 4: '"bytes"'}


def test_known_keys(registry: MemoryRegistry) -> None:
    """Keys have subjects of their own; together with the values all of the topic is known."""
    keys = known_schemas(registry, settings_with(), ["orders"], key=True)
    assert keys == KnownSchemas({3: RegisteredSchema(3, '"string"')}, {"orders-key": {3: 1}})
    merged = merge(known_schemas(registry, settings_with(), ["orders"], key=False), keys)
    assert (set(merged.schemas), set(merged.versions)) == ({1, 2, 3}, {"orders-value", "orders-key"})
    assert merge() == KnownSchemas()


@pytest.mark.parametrize(
    "converter",
    [
        ConverterSettings(Converter.JSON),
        ConverterSettings(Converter.AVRO, subject_names=SubjectNames.RECORD),
        ConverterSettings(Converter.AVRO, subject_names=SubjectNames.TOPIC_RECORD),
    ],
)
@pytest.mark.parametrize("key", [True, False])
def test_nothing_to_ask_for(registry: MemoryRegistry, converter: ConverterSettings, key: bool) -> None:
    """Other converters ask nothing, and where a record tells the subject nothing is known before it is read."""
    settings = settings_with(key=converter) if key else settings_with(converter)
    assert known_schemas(registry, settings, ["orders"], key=key) == KnownSchemas()
    assert registry.requests == []


def test_what_goes_to_every_task_is_bounded() -> None:
    """Of very large schemas the newest go along, and all the versions."""
    memory = MemoryRegistry()
    size = KNOWN_CHARS_MAX // 4 - 80
    for number in range(10):
        memory.register("orders-value", f'"{number}' + "x" * size + '"')
    known = known_schemas(memory, settings_with(), ["orders"], key=False)
    assert set(known.schemas) == {7, 8, 9, 10}
    assert len(known.versions["orders-value"]) == 10


def test_what_every_task_is_told_of_versions_is_bounded() -> None:
    """Of subjects with very many versions those that fit go along whole; others are asked for by the tasks."""
    ids = range(2**30, 2**30 + 10_000)
    memory = MemoryRegistry({id: RegisteredSchema(id, f'"{id}"') for id in ids}, every_subject={id: id for id in ids})
    topics = [f"topic-{number}" for number in range(50)]
    known = known_schemas(memory, settings_with(), topics, key=False)
    assert set(known.versions) == {"topic-0-value"}
    assert known.versions["topic-0-value"] == memory.versions("topic-0-value")
    assert len(pickle.dumps(known)) < KNOWN_CHARS_MAX + KNOWN_VERSIONS_CHARS_MAX + 1_000


def test_very_many_subjects_without_versions() -> None:
    """Names alone have a limit, too."""
    topics = [f"{number:0249}" for number in range(2_000)]
    known = known_schemas(MemoryRegistry(), settings_with(), topics, key=False)
    assert 0 < sum(map(len, known.versions)) <= KNOWN_VERSIONS_CHARS_MAX
