"""The layers of DESIGN §6, and what STYLE asks of every file, read off the source itself."""

from __future__ import annotations

import ast
import functools
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINE = "kafka_s3"
LINES_MAX = 400
FUNCTION_LINES_MAX = 70

# The lowest first. A part imports only parts of lower rows, and itself; what a row must not know stands above it.
RANKS: tuple[frozenset[str], ...] = (
    frozenset({""}),  # kafka_s3/__init__.py: the version
    frozenset({"attempts", "shown"}),
    frozenset(
        {
            "crash_points",
            "errors",
            "fingerprint",
            "handover",
            "job",
            "joda",
            "lifetime",
            "ranges",
            "naming",
            "retried",
            "scratch",
            "signing",
            "wire",
        }
    ),
    frozenset({"bounds", "custom", "records", "schemas"}),
    frozenset({"letters", "rows", "settings"}),
    frozenset({"ports", "retries", "partitioners", "commit_log", "schedule"}),
    frozenset({"documents", "formats"}),
    frozenset({"converters"}),
    frozenset({"claims", "coverage", "families", "planning", "troubles"}),
    frozenset({"sorting"}),
    frozenset({"chunks"}),
    frozenset({"writer"}),
    frozenset({"export", "kafka", "s3", "registry", "memory"}),
    frozenset({"wiring"}),
    frozenset({"spark", "cli"}),
)

# Arrows that the rows alone would allow or forbid: every part names all that it may import.
ALLOWED: dict[str, set[str]] = {
    "": set(),
    "attempts": set(),
    "shown": set(),
    "errors": {"shown"},
    "naming": set(),
    "job": {"scratch"},
    "handover": set(),
    "lifetime": set(),
    "retried": set(),
    "scratch": {"errors"},
    "wire": set(),
    "signing": set(),
    "crash_points": set(),
    "custom": {"errors", "shown"},
    "joda": {"shown"},
    "fingerprint": {""},
    "ranges": set(),
    "records": {"ranges"},
    "settings": {"custom", "errors", "joda", "naming", "schemas", "shown", "signing"},
    "letters": {"errors", "naming", "ranges", "records"},
    "ports": {"errors", "letters", "ranges", "records"},
    "retries": {"errors", "settings"},
    "partitioners": {"custom", "errors", "joda", "naming", "records", "rows", "schemas", "settings", "shown"},
    "schemas": {"errors", "shown"},
    "rows": {"schemas"},
    "converters": {"errors", "formats", "ports", "records", "rows", "schemas", "settings", "shown"},
    "formats": {"custom", "errors", "rows", "schemas", "settings"},
    "claims": {"commit_log", "ranges"},
    "bounds": {"naming"},
    "commit_log": {"bounds", "errors", "ranges"},
    "documents": {"commit_log", "errors"},
    "coverage": {"commit_log", "ranges"},
    "schedule": {"commit_log", "joda", "settings"},
    "planning": {"commit_log", "ports", "ranges", "settings"},
    "troubles": {"commit_log", "errors", "ports", "ranges", "settings"},
    "families": {"formats", "naming"},
    "sorting": {"families", "formats", "partitioners", "rows", "schemas", "settings"},
    "chunks": {"formats", "partitioners", "records", "rows", "sorting"},
    "writer": {
        "attempts",
        "chunks",
        "converters",
        "custom",
        "errors",
        "families",
        "naming",
        "partitioners",
        "ports",
        "ranges",
        "records",
        "rows",
        "settings",
        "shown",
        "sorting",
    },
    "memory": {"errors", "letters", "ports", "ranges", "records"},
    "s3": {"custom", "errors", "ports", "retried", "retries", "settings"},
    "kafka": {"errors", "letters", "ports", "ranges", "records", "retries", "rows", "settings"},
    "registry": {"errors", "ports", "retried", "retries", "settings"},
    "export": {
        "",
        "attempts",
        "bounds",
        "crash_points",
        "claims",
        "errors",
        "commit_log",
        "converters",
        "coverage",
        "documents",
        "families",
        "formats",
        "joda",
        "letters",
        "naming",
        "planning",
        "ports",
        "ranges",
        "records",
        "rows",
        "schedule",
        "settings",
        "shown",
        "signing",
        "troubles",
        "writer",
    },
}

# One outside thing, one file. Other parts of the engine get the standard library and what `OPEN` says.
HOMES = {
    "boto3": {"s3"},
    "botocore": {"s3"},
    "urllib3": {"s3"},
    "mypy_boto3_s3": {"s3"},
    "confluent_kafka": {"kafka", "registry"},
    "httpx2": {"registry"},
    "pyspark": {"spark"},
    "py4j": {"spark"},
    "isal": {"formats"},
    "fastavro": {"schemas"},
    "numpy": {"formats", "schemas"},
    "pyarrow": {"schemas", "formats", "converters"},
    "click": {"cli"},
    "rich": {"cli"},
    "msgspec": {
        "bounds",
        "claims",
        "cli",
        "commit_log",
        "converters",
        "documents",
        "export",
        "formats",
        "letters",
        "partitioners",
        "planning",
        "schemas",
        "troubles",
    },
    "babel": {"joda"},
}

HEAVY = {*HOMES, "airflow", "pyarrow", "fastavro", "pandas", "numpy"}


@functools.cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """What the checks look at in a file. A copy of it is not parsed again: each planted violation changes one file."""
    kept = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ExceptHandler)
    return tuple(node for node in ast.walk(ast.parse(text)) if isinstance(node, kept))


class Source:
    """One file of the project: its dotted module name, its text, what the checks look at in it."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path = path
        parts = path.relative_to(folder).with_suffix("").parts
        self.module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self.text = path.read_text()
        self.nodes = nodes(self.text)

    @property
    def part(self) -> str:
        """`export` of `kafka_s3.export.run`, `""` of `kafka_s3`."""
        return [*self.module.split("."), ""][1]

    def imports(self) -> Iterator[str]:
        """Every module named by an import statement, wherever it stands; from-imports with the name imported."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.path}: relative imports hide what a module depends on"
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def sources(root: Path, *folders: str) -> list[Source]:
    found = [Source(path, root / folder) for folder in folders for path in sorted((root / folder).rglob("*.py"))]
    assert found, f"nothing under {root}: the test looks at the wrong place"
    return found


def engine(root: Path) -> list[Source]:
    return [source for source in sources(root, "jobs") if source.module.split(".")[0] == ENGINE]


def parts_imported(source: Source, known: set[str]) -> set[str]:
    parts = set()
    for name in source.imports():
        first, _, rest = name.partition(".")
        if first == ENGINE:
            second = rest.partition(".")[0]
            parts.add(second if second in known else "")
    return parts - {source.part}


# What is looked for. Each check answers with the violations it finds.


def upward_arrows(root: Path) -> list[str]:
    rank = {part: level for level, row in enumerate(RANKS) for part in row}
    files = engine(root)
    known = {source.part for source in files}
    found = [f"{part} has no rank" for part in sorted(known - set(rank))]
    for source in files:
        for part in sorted(parts_imported(source, known)):
            if rank.get(part, 99) > rank.get(source.part, -1):
                found.append(f"{source.module} imports {part}, which lies above it")
            elif source.part in ALLOWED and part not in ALLOWED[source.part]:
                found.append(f"{source.module} imports {part}, which is not among what {source.part} may know")
    return found


def strangers(root: Path) -> list[str]:
    """Libraries outside their one file."""
    found = []
    for source in engine(root):
        for name in source.imports():
            first = name.partition(".")[0]
            homeless = first not in sys.stdlib_module_names and first != ENGINE
            if homeless and source.part not in HOMES.get(first, set()):
                found.append(f"{source.module} imports {name}")
    return found


def private_parts(root: Path) -> list[str]:
    """Names that begin with an underscore, of whoever else: they change without a word."""
    return [
        f"{source.module} imports {name}"
        for source in sources(root, "jobs", "plugins")
        for name in source.imports()
        if any(part.startswith("_") and not part.startswith("__") for part in name.split("."))
    ]


def arrows_back(root: Path) -> list[str]:
    """dags -> plugins -> jobs, and none of them knows the tools or the tests."""
    barred = {
        "jobs": {"dags", "plugins", "kafka_s3_airflow", "airflow", "tools", "tests"},
        "plugins": {"dags", "exporters", "tools", "tests", "pyspark", "boto3", "botocore", "confluent_kafka"},
        "dags": {"tools", "tests", "kafka_s3"},
    }
    return [
        f"{folder}: {source.module} imports {name}"
        for folder, names in barred.items()
        for source in sources(root, folder)
        for name in source.imports()
        if name.partition(".")[0] in names
    ]


def too_long(root: Path) -> list[str]:
    found = []
    for source in sources(root, "jobs", "plugins", "dags"):
        lines = source.text.count("\n")
        if lines > LINES_MAX:
            found.append(f"{source.module}: {lines} lines")
        for node in source.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > FUNCTION_LINES_MAX:
                    found.append(f"{source.module}.{node.name}: {length} lines")
    return found


def shadows(root: Path) -> list[str]:
    """Modules that would hide one of the standard library: those in a folder that is itself on sys.path."""
    return [
        str(path.relative_to(root))
        for folder in ("jobs", "plugins", "dags", ".")
        for path in (root / folder).iterdir()
        if path.stem in sys.stdlib_module_names and (path.suffix == ".py" or (path / "__init__.py").exists())
    ]


def swallowed(root: Path) -> list[str]:
    """Handlers that catch everything, and the word that goes with them."""
    found = []
    for source in engine(root):
        if "Ignoring" in source.text:
            found.append(f"{source.module} says Ignoring")
        for node in source.nodes:
            # What runs the user's own code, or reads records, has to expect anything: these two say so for all.
            if isinstance(node, ast.ExceptHandler) and _catches_all(node) and source.part not in ("attempts", "custom"):
                found.append(f"{source.module}:{node.lineno} catches everything")
    return found


def _catches_all(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(each is None or (isinstance(each, ast.Name) and each.id in _EVERYTHING) for each in caught)


_EVERYTHING = {"Exception", "BaseException"}
CHECKS: dict[str, Callable[[Path], list[str]]] = {
    "upward arrows": upward_arrows,
    "strangers": strangers,
    "private parts": private_parts,
    "arrows back": arrows_back,
    "too long": too_long,
    "shadows": shadows,
    "swallowed": swallowed,
}

PLANTED = [
    ("upward arrows", "jobs/kafka_s3/ports.py", "from kafka_s3.plan.batch import share", "planning"),
    ("upward arrows", "jobs/kafka_s3/naming.py", "import kafka_s3.ranges", "ranges"),
    ("upward arrows", "jobs/kafka_s3/export/run.py", "from kafka_s3 import s3", "s3"),
    ("upward arrows", "jobs/kafka_s3/kafka.py", "def f():\n    from kafka_s3.export import run", "export"),
    ("upward arrows", "jobs/kafka_s3/novelty.py", "", "novelty has no rank"),
    ("upward arrows", "jobs/kafka_s3/plan/batch.py", "from kafka_s3 import __version__", "not among"),
    ("strangers", "jobs/kafka_s3/wiring.py", "def f():\n    import boto3", "boto3"),
    ("strangers", "jobs/kafka_s3/kafka.py", "from pyspark.sql import Row", "pyspark"),
    ("strangers", "jobs/kafka_s3/export/task.py", "import requests", "requests"),
    ("private parts", "jobs/kafka_s3/adapters/registry/requests.py", "from confluent_kafka._util import x", "_util"),
    ("arrows back", "jobs/kafka_s3/errors.py", "import airflow.exceptions", "airflow"),
    ("arrows back", "jobs/kafka_s3/adapters/memory/store.py", "from tests.support import request", "tests"),
    ("arrows back", "plugins/kafka_s3_airflow/tasks.py", "import dags.exporters", "dags"),
    ("too long", "jobs/kafka_s3/ranges.py", "#\n" * LINES_MAX, "kafka_s3.ranges: 4"),
    ("too long", "jobs/kafka_s3/spark/job.py", "def long():\n" + "    pass\n" * FUNCTION_LINES_MAX, "job.long: 71"),
    ("shadows", "plugins/calendar.py", "", "calendar.py"),
    (
        "swallowed",
        "jobs/kafka_s3/adapters/s3/store.py",
        "try: pass\nexcept (OSError, Exception): pass",
        "catches everything",
    ),
    ("swallowed", "jobs/kafka_s3/write/writer.py", "try: pass\nexcept: pass", "catches everything"),
    ("swallowed", "jobs/kafka_s3/write/writer.py", "WORD = 'Ignoring.'", "Ignoring"),
]


@pytest.mark.parametrize("name", CHECKS)
def test_the_source_keeps_the_rules(name: str) -> None:
    """Arrows point down, each library has one file, and files, functions, names and handlers are as STYLE has them."""
    assert CHECKS[name](ROOT) == []


@pytest.mark.parametrize(("name", "file", "text", "said"), PLANTED)
def test_a_violation_is_found(tmp_path: Path, name: str, file: str, text: str, said: str) -> None:
    """Each rule is one that can fail: planted in a copy of the source, a violation is found and named."""
    for folder in ("jobs", "plugins", "dags"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    before = set(CHECKS[name](tmp_path))
    with (tmp_path / file).open("a") as planted:
        planted.write(f"\n{text}\n")
    found = set(CHECKS[name](tmp_path)) - before
    assert len(found) == 1
    assert said in found.pop()


def _loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sorted(sys.modules))"
    command = [sys.executable, "-I", "-c", f"import sys\nsys.path.insert(0, {str(ROOT / 'jobs')!r})\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return {module.partition(".")[0] for module in done.stdout.split()}


def test_importing_the_engine_costs_nothing_heavy() -> None:
    """`import kafka_s3` loads no library at all: a DAG file can do it at every parse."""
    assert not _loaded_by("import kafka_s3") & HEAVY


def test_importing_the_use_cases_loads_no_adapter() -> None:
    """What a task imports to describe its work knows neither boto3 nor confluent_kafka, nor Spark, nor Airflow."""
    loaded = _loaded_by("import kafka_s3.export.run, kafka_s3.export.task, kafka_s3.settings, kafka_s3.wiring")
    assert not loaded & {"boto3", "botocore", "confluent_kafka", "pyspark", "airflow", "pyarrow", "pandas"}


def test_parsing_a_dag_file_needs_no_codec() -> None:
    """The factory's own part of the engine (settings, errors, job) stays inside the standard library."""
    assert (
        not _loaded_by("import kafka_s3.settings, kafka_s3.errors, kafka_s3.spark.job, kafka_s3.spark.driver_context")
        & HEAVY
    )
