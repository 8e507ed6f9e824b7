"""What stands in the pages' blocks is right as it stands: configurations load, YAML and JSON parse, programs exist."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

from kafka_s3.settings import from_mapping
from kafka_s3.settings.files import parse_properties
from tests.house.pages import PAGES, ROOT, blocks, name_of
from tests.support import MINIMAL

#: Each has its tests: commands in tests/cli/test_pages.py, Python and SQL where the page's subject is tested.
LANGUAGES = {"sh", "python", "properties", "json", "yaml", "sql", "text"}
PROGRAMS = {"kafka-s3", "make", "airflow", "pip", "python", "docker", "(umask", "_KAFKA_S3_COMPLETE=bash_source"}
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

#: What examples/block-gzip.properties keeps of the file that it was: the Block-GZIP connector asks for it.
LEFT_IN = {"local.buffer.dir"}


def each(language: str) -> list[tuple[str, str]]:
    return [(name_of(path), block) for path in PAGES for block in blocks(path.read_text(), language)]


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_every_block_says_its_language(path: Path) -> None:
    """A block without a language, or with one that nothing checks, is not shown."""
    opened = re.findall(r"^ *```(.*)$", path.read_text(), re.M)[::2]
    assert set(opened) <= LANGUAGES


@pytest.mark.parametrize(("name", "block"), each("properties"))
def test_properties_are_read_without_a_problem(name: str, block: str) -> None:
    """A whole connector is right, a part beside what every connector needs, and nothing in it is ignored."""
    given = parse_properties(block, name)
    is_whole = {"name", "topics", "connector.class"} <= given.keys()
    loaded = from_mapping(given if is_whole else {**MINIMAL, **given}, offline=True)
    assert [row.name for row in loaded.report if row.name in given and row.ignored and row.name not in LEFT_IN] == []


def test_json_and_yaml_parse() -> None:
    """Each line of JSON, or the whole block, is a document; so is each block of YAML."""
    for name, block in each("json"):
        try:
            json.loads(block)
        except ValueError:
            assert [json.loads(line) for line in block.splitlines()], name
    assert all(yaml.safe_load(block) for _, block in each("yaml"))


@pytest.mark.parametrize(("name", "block"), each("sh"))
def test_a_shell_block_calls_what_there_is(name: str, block: str) -> None:
    """Programs are those that the project has; `python -m pytest` names tests that exist, pip extras that exist."""
    for line in block.splitlines():
        program, *arguments = shlex.split(line.replace("<", "").replace(">", ""), comments=True)
        assert program in PROGRAMS, (name, line)
        if program == "python":
            assert all((ROOT / argument).exists() for argument in arguments if argument.startswith("tests/"))
        if program == "pip":
            extras = {
                extra
                for argument in arguments
                for found in re.findall(r"\[(.*)\]", argument)
                for extra in found.split(",")
            }
            assert extras <= EXTRAS.keys(), (name, line)


def test_calls_of_airflow_are_right() -> None:
    """Every call of `airflow` on a page is one that Airflow's own parser takes."""
    from airflow.cli.cli_parser import get_parser

    calls = [line for _, block in each("sh") for line in block.splitlines() if line.startswith("airflow ")]
    assert calls
    for line in calls:
        assert get_parser().parse_args(shlex.split(line, comments=True)[1:]).func
