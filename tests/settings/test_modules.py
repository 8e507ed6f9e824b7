"""How the room of settings is built: one module for each topic, and arrows that only point down."""

from __future__ import annotations

import ast
import graphlib
import re
from pathlib import Path

import pytest

import kafka_s3.settings
from kafka_s3.settings import catalogue

ROOM = Path(kafka_s3.settings.__file__).parent
NAME = "kafka_s3.settings"


def imports(room: Path) -> dict[str, set[str]]:
    """What each module of a room imports of the same room."""
    modules = {path.stem: path for path in room.glob("*.py") if path.stem != "__init__"}
    found: dict[str, set[str]] = {}
    for stem, path in modules.items():
        nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        whole = {alias.name for node in nodes if node.module == NAME for alias in node.names}
        parts = {node.module.rpartition(".")[2] for node in nodes if node.module and node.module.startswith(f"{NAME}.")}
        found[stem] = (whole | parts) & modules.keys()
    return found


def test_no_module_imports_itself_over_others() -> None:
    """The modules can be put in an order in which each knows only earlier ones."""
    order = list(graphlib.TopologicalSorter(imports(ROOM)).static_order())
    assert order.index("properties") < order.index("validation") < order.index("catalogue") < order.index("loading")


def test_a_circle_is_found(tmp_path: Path) -> None:
    """Planted in a copy, an import back is one that the test above would fail for."""
    for path in ROOM.glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text())
    with (tmp_path / "properties.py").open("a") as planted:
        planted.write("\nfrom kafka_s3.settings import catalogue\n")
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(imports(tmp_path)).prepare()


def test_the_contents_page_names_every_module() -> None:
    """`settings/__init__` says what each module holds, and names none that is gone."""
    named = set(re.findall(r"`([a-z0-9_]+)`", kafka_s3.settings.__doc__ or ""))
    modules = imports(ROOM).keys()
    assert sorted(modules - named) == []
    assert sorted(named - modules - {"load", "from_mapping", "outline", "settings_from_plan"}) == []


def test_every_property_belongs_to_one_topic() -> None:
    """The catalogue is made of the topics' tables, and their modules alone make properties."""
    assert sum(map(len, catalogue.TOPICS.values())) == len(catalogue.PROPERTIES)
    makers = {path.stem for path in ROOM.glob("*.py") if re.search(r"\bProperty\(\n? *[\"f]", path.read_text())}
    assert makers <= imports(ROOM)["catalogue"]
