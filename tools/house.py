"""The engine's rooms: which floor each is on, what it may know, and whether the source keeps to that.

    .venv/bin/python -m tools.house

prints the floors, the lowest last, with each room's lines and what it imports; then every circle between two modules,
and every import that is not allowed. It ends with 1 if there is any. `tests/house/test_layers.py` is the same as a
test.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
ENGINE: Final = "kafka_s3"

#: The highest first. A room knows only rooms of lower floors; those of one floor do not know each other.
FLOORS: Final[tuple[tuple[str, ...], ...]] = (
    ("cli",),
    ("spark",),
    ("wiring",),
    ("report", "publish"),
    ("adopt", "dead_letters", "gc", "reexport", "rewind", "sign", "verify"),
    ("export",),
    ("bucket",),
    ("inference", "write"),
    ("plan",),
    ("log",),
    ("adapters.kafka", "adapters.known_schemas", "adapters.memory", "adapters.registry", "adapters.s3"),
    ("adapters.msk", "adapters.retry", "adapters.watched"),
    ("values.partitioners", "values.transforms"),
    ("values.converters",),
    ("values.formats",),
    ("values.rows",),
    ("settings",),
    ("json_schema", "protobuf"),
    ("adapters.retry_policy", "avro", "bounds", "joda", "ports", "user_defined"),
    ("dead_letter",),
    ("fair_pool", "records", "errors", "sentences"),
    ("attempts", "crash_points", "events", "naming", "ordered_pool", "ranges", "shown", "signing"),
    ("file_template", "version"),  # kafka_s3/__init__.py
)

#: What each room may know: all that it does, and no more.
KNOWS: Final[Mapping[str, str]] = {
    "cli": (
        "adapters.kafka adapters.memory adopt bucket dead_letters errors events export gc inference joda log plan "
        "ports publish ranges records reexport report rewind sentences settings shown sign signing spark values.rows "
        "verify version wiring write"
    ),
    "spark": (
        "adapters.known_schemas attempts bucket errors events export fair_pool log ordered_pool plan reexport "
        "sentences settings shown signing version wiring"
    ),
    "wiring": (
        "adapters.kafka adapters.known_schemas adapters.registry adapters.s3 adapters.watched dead_letters "
        "events export fair_pool inference log plan ports ranges settings"
    ),
    "report": "bucket errors export log naming plan ports ranges records settings write",
    "publish": "bucket errors events export joda log naming ordered_pool plan ports ranges settings version",
    "adopt": (
        "bucket errors export log naming plan ports ranges settings values.converters values.formats values.rows"
    ),
    "dead_letters": "bucket dead_letter errors events export log ports ranges",
    "gc": "bucket errors log naming ordered_pool ports settings",
    "reexport": (
        "bucket crash_points errors events export log naming ordered_pool plan ports ranges settings values.formats "
        "version write"
    ),
    "rewind": "errors events export log plan ranges",
    "sign": "bucket errors log ordered_pool ports signing",
    "verify": (
        "attempts bucket dead_letter errors log naming ordered_pool plan ports ranges settings values.formats write"
    ),
    "export": (
        "attempts bucket crash_points errors events log naming ordered_pool plan ports ranges records settings shown "
        "version write"
    ),
    "bucket": (
        "crash_points dead_letter errors events log naming ordered_pool ports ranges settings values.formats write"
    ),
    "inference": "avro errors log ports ranges settings values.converters",
    "write": (
        "attempts avro crash_points dead_letter errors log naming ports ranges records settings shown "
        "user_defined values.converters values.formats values.partitioners values.rows values.transforms"
    ),
    "plan": "errors joda log ports ranges settings version",
    "log": "bounds errors naming ordered_pool ports ranges signing",
    "adapters.kafka": "adapters.msk adapters.retry dead_letter errors ports ranges records settings values.rows",
    "adapters.known_schemas": "ports settings",
    "adapters.memory": "dead_letter errors ports ranges records",
    "adapters.registry": "adapters.retry adapters.retry_policy errors ports settings",
    "adapters.s3": "adapters.retry adapters.retry_policy errors ports settings user_defined",
    "adapters.msk": "adapters.retry_policy errors settings",
    "adapters.retry": "errors settings",
    "adapters.watched": "ports ranges records",
    "values.converters": "avro errors json_schema ports protobuf records settings shown values.formats values.rows",
    "values.partitioners": "avro errors joda naming records settings shown user_defined values.rows",
    "values.transforms": (
        "avro errors ports records settings shown user_defined values.converters values.formats values.rows"
    ),
    "values.formats": "avro errors settings user_defined values.rows",
    "values.rows": "avro ranges records",
    "naming": "file_template",
    "settings": "avro errors file_template joda json_schema naming protobuf shown signing user_defined",
    "protobuf": "avro shown",
    "json_schema": "shown",
    "avro": "shown",
    "bounds": "naming",
    "joda": "shown",
    "ports": "dead_letter errors ranges records",
    "user_defined": "errors shown",
    "dead_letter": "errors naming ranges records",
    "records": "ranges",
    "fair_pool": "attempts",
    "sentences": "events shown",
    "errors": "shown",
}


class Source:
    """One file of the project: its dotted module name, its text, what the checks look at in it."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path = path
        parts = path.relative_to(folder).with_suffix("").parts
        self.module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self.text = path.read_text()
        self.nodes = nodes(self.text)

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def room(self) -> str:
        return room_of(self.module)

    def imports(self) -> Iterator[str]:
        """Every module named by an import statement, wherever it stands; from-imports with the name imported."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.path}: relative imports hide what a module depends on"
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


@functools.cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """What the checks look at in a file. A copy of it is not parsed again: each planted violation changes one file."""
    kept = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ExceptHandler)
    return tuple(node for node in ast.walk(ast.parse(text)) if isinstance(node, kept))


def room_of(module: str) -> str:
    """The room of a module: `values.formats` of `kafka_s3.values.formats.avro`, `plan` of `kafka_s3.plan.batch`."""
    parts = module.split(".")[1:]
    if not parts:
        return "version"
    two = ".".join(parts[:2])
    return two if parts[0] in ("values", "adapters") and len(parts) > 1 else parts[0]


def sources(root: Path, *folders: str) -> list[Source]:
    found = [Source(path, root / folder) for folder in folders for path in sorted((root / folder).rglob("*.py"))]
    assert found, f"nothing under {root}: the wrong place"
    return found


def engine(root: Path) -> list[Source]:
    """The modules of the engine. `values` and `adapters` are contents pages alone, so they are no rooms."""
    found = [source for source in sources(root, "jobs") if source.module.split(".")[0] == ENGINE]
    return [source for source in found if source.module not in (f"{ENGINE}.values", f"{ENGINE}.adapters")]


def imported(files: list[Source]) -> dict[str, set[str]]:
    """The modules of the engine that each of them imports."""
    known = {source.module for source in files}

    def module(name: str) -> str:
        while name and name not in known:
            name = name.rpartition(".")[0]
        return name

    return {each.module: {module(name) for name in each.imports()} - {"", each.module} for each in files}


def circles(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """Modules that import each other, directly or through others."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in sorted(arrows[module]):
            if other not in index:
                visit(other)
            if other in stack:
                low[module] = min(low[module], low[other])
        if low[module] == index[module]:
            start = stack.index(module)
            if len(stack) - start > 1:
                found.append(sorted(stack[start:]))
            del stack[start:]

    for module in sorted(arrows):
        if module not in index:
            visit(module)
    return found


def violations(root: Path) -> list[str]:
    """What is not as `FLOORS` and `KNOWS` have it, a sentence each."""
    files = engine(root)
    floor = {room: level for level, row in enumerate(reversed(FLOORS)) for room in row}
    arrows = imported(files)
    found = [f"{' and '.join(circle)} import each other" for circle in circles(arrows)]
    found += [f"{room} has no floor" for room in sorted({each.room for each in files} - set(floor))]
    used: set[tuple[str, str]] = set()
    for source in files:
        for module in sorted(arrows[source.module]):
            room = room_of(module)
            if room == source.room:
                continue
            used.add((source.room, room))
            if room not in KNOWS.get(source.room, "").split():
                found.append(f"{source.module} imports {module}, and {source.room} may not know {room}")
    for room, known in KNOWS.items():
        for other in known.split():
            if floor[other] >= floor[room]:
                found.append(f"{room} may know {other}, which is not below it")
            elif (room, other) not in used:
                found.append(f"{room} may know {other}, and does not")
    return found


def main() -> int:
    """Print the house; the exit status."""
    files = engine(ROOT)
    arrows = imported(files)
    for row in FLOORS:
        for room in row:
            inside = [each for each in files if each.room == room]
            known = {room_of(module) for each in inside for module in arrows[each.module]} - {room}
            lines = sum(each.lines for each in inside)
            print(f"{room:24}{len(inside):4} files{lines:7} lines  <- {' '.join(sorted(known))}")
        print()
    found = violations(ROOT)
    print(*found or ["no circles, and no import that is not allowed"], sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
