"""The runbook has every error, and the schema of log entries is that of the entries which are written."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from kafka_s3 import errors, user_defined
from tests.golden.golden import cases
from tests.house.pages import DOCS, ROOT, page

RUNBOOK = page("reference/errors.md")
SCHEMA = json.loads((DOCS / "schema" / "entry.json").read_text())


def tree() -> Iterator[type[errors.ExporterError]]:
    """Every class of the engine's own errors; what begins with _ never leaves its module."""
    known = [errors.ExporterError]
    while known:
        kind = known.pop()
        known += [each for each in kind.__subclasses__() if not each.__name__.startswith("_")]
        if kind.__module__ in (errors.__name__, user_defined.__name__):
            yield kind


def test_no_other_module_adds_to_the_error_tree() -> None:
    """Errors are those of errors.py and user_defined.py, so that `tree` misses none."""
    names = {kind.__name__ for kind in tree()}
    elsewhere = {
        node.name
        for path in (ROOT / "jobs" / "kafka_s3").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and names & {base.id for base in node.bases if isinstance(base, ast.Name)}
    }
    assert {name for name in elsewhere if not name.startswith("_")} <= names


@pytest.mark.parametrize("kind", sorted(tree(), key=lambda kind: kind.__name__), ids=lambda kind: kind.__name__)
def test_the_runbook_has_the_error(kind: type[errors.ExporterError]) -> None:
    """What it means, what to do, and the exit status that it really has."""
    found = re.search(rf"^## {kind.__name__}\n(.*?)(?=^## |\Z)", RUNBOOK, re.M | re.S)
    assert found is not None
    assert "**What it means.**" in found[1]
    assert "**What to do.**" in found[1]
    stated = re.search(r"Ends with status (\d+)", found[1])
    assert (int(stated[1]) if stated else errors.EXIT_UNEXPECTED) == kind.exit_status


def test_the_runbook_has_no_error_that_is_gone() -> None:
    """Each section is a class of the tree."""
    assert set(re.findall(r"^## (\w+)$", RUNBOOK, re.M)) == {kind.__name__ for kind in tree()}


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The files of log entries that three histories of the golden set leave in their buckets."""
    found = []
    for name in ("history/hours", "history/rewound", "history/signed"):
        documents = cases()[name](tmp_path_factory.mktemp("history"))
        found += [body for key, body in documents if re.match(r"log/_kafka_s3/orders/log/", key)]
    return found


def test_real_entries_fit_the_schema(entries: list[bytes]) -> None:
    """Commits, checkpoints and rewinds with objects, dead letters and restarts are valid by docs/schema/entry.json."""
    validator = jsonschema.Draft202012Validator(SCHEMA)
    kinds = set()
    for body in entries:
        document = json.loads(body)
        assert [error.message for error in validator.iter_errors(document)] == []
        kinds.add(document["body"]["kind"])
    assert {"commit", "checkpoint", "rewind"} <= kinds


def test_the_schema_refuses_what_is_no_entry(entries: list[bytes]) -> None:
    """An entry without its positions, with a negative offset or of an unknown kind is not valid."""
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for field, value in (("topics", None), ("seq", -1), ("kind", "merge")):
        document = json.loads(entries[0])
        document["body"][field] = value
        assert not validator.is_valid(document), field


def test_the_page_of_entries_names_every_field() -> None:
    """Each field of an entry that is written is in the table of its page, or is carried from entry to entry."""
    text = Path(DOCS / "reference" / "entry.md").read_text()
    fields = set(SCHEMA["$defs"]["Entry"]["properties"])
    assert {name for name in fields if f"`{name}`" not in text} == set()
