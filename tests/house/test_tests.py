"""What the tests themselves are held to: names that are sentences, and files that are read in one go."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

from tests.side_by_side import APART, LONGEST, SHARED
from tools.house import FLOORS

TESTS = Path(__file__).resolve().parents[1]
#: What folders that are no room of the engine are about.
ACROSS = {
    "airflow": "DAGs, tasks, timetables and metrics, in this process",
    "cluster": "a Spark Master and Workers",
    "conditions": "a live Kafka to which everything happens that may",
    "contract": "each port, over everything that implements it",
    "dags": "what users copy into their own project",
    "examples": "the configurations of Confluent's documentation",
    "faults": "killed runs, and stores and networks that fail",
    "golden": "the bytes, as they were",
    "house": "the rules of this repository",
    "interleavings": "programs that stop in front of every request",
    "page": "the page in Airflow",
    "pairs": "each converter with each format",
    "readers": "what others read of what is exported",
    "scenario": "generated histories over the ports in memory",
    "scheduler": "Airflow's scheduler as processes",
    "tools": "tools/, and the parts that tests start",
    "words": "the lowest floors, of one module each",
}
NAME_MAX = 60
LINES_MAX = 400


@functools.cache
def definitions() -> list[tuple[str, ast.stmt]]:
    """What each file defines, and what its classes do."""
    found = []
    for path in sorted(TESTS.rglob("*.py")):
        body = ast.parse(path.read_text()).body
        inner = [each for node in body if isinstance(node, ast.ClassDef) for each in node.body]
        found += [(str(path.relative_to(TESTS)), node) for node in [*body, *inner]]
    return found


def lines() -> dict[str, int]:
    return {str(path.relative_to(TESTS)): path.read_text().count("\n") for path in sorted(TESTS.rglob("*.py"))}


def test_names_are_short_sentences() -> None:
    """Below 60 characters; what else there is to say stands in the docstring."""
    long = [
        f"{file}::{node.name}"
        for file, node in definitions()
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and len(node.name) >= NAME_MAX
    ]
    assert not long


def test_files_are_read_in_one_go() -> None:
    """Below 400 lines."""
    assert not {file: count for file, count in lines().items() if count >= LINES_MAX}


def test_harnesses_have_names_of_their_own() -> None:
    """What several tests share is called what it is: no two of their modules have a class of the same name."""
    modules: dict[str, list[str]] = {}
    for file, node in definitions():
        is_shared = not Path(file).name.startswith("test_")
        if is_shared and isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            modules.setdefault(node.name, []).append(file)
    assert not {name: files for name, files in modules.items() if len(files) > 1 or name == "World"}


def test_folders_are_rooms() -> None:
    """A folder of tests is a room of the engine, or one of those that look across rooms."""
    rooms = {room for floor in FLOORS for room in floor}
    places = rooms | {room.partition(".")[0] for room in rooms} | set(ACROSS)
    found = {".".join(path.relative_to(TESTS).parent.parts) for path in TESTS.rglob("test_*.py")}
    assert found <= places
    assert set(ACROSS) <= found


def test_the_longest_groups_are_there() -> None:
    """What is handed out first among several processes is a file or a folder of tests still."""
    named = {*LONGEST, *APART, *SHARED}
    assert not [group for group in named if not (TESTS.parent / group).exists()]
