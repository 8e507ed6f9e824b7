"""The rooms of docs/house.md, and what every file has to be like, read off the source itself."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.house import ENGINE, ROOT, engine, sources, violations

LINES_MAX = 400
FUNCTION_LINES_MAX = 70

# One outside thing, one file. Other parts of the engine get the standard library and what `OPEN` says.
HOMES = {
    "boto3": {"adapters.s3"},
    "botocore": {"adapters.msk", "adapters.s3"},
    "aws_msk_iam_sasl_signer": {"adapters.msk"},
    "urllib3": {"adapters.s3"},
    "mypy_boto3_s3": {"adapters.s3"},
    "httpx2": {"adapters.registry"},
    "confluent_kafka": {"adapters.kafka", "adapters.registry"},
    "pyspark": {"spark"},
    "py4j": {"spark"},
    "isal": {"values.formats"},
    "fastavro": {"avro"},
    "google": {"protobuf"},
    "numpy": {"avro", "protobuf", "values.formats"},
    "pyarrow": {"avro", "protobuf", "spark", "values.converters", "values.formats"},
    "click": {"cli"},
    "rich": {"cli"},
    "jsonschema_rs": {"json_schema"},
    "msgspec": {
        "adopt",
        "bounds",
        "bucket",
        "cli",
        "dead_letter",
        "dead_letters",
        "events",
        "export",
        "log",
        "plan",
        "publish",
        "reexport",
        "rewind",
        "settings",
        "sign",
        "values.converters",
        "values.formats",
        "values.partitioners",
        "verify",
    },
    "babel": {"joda"},
    "cryptography": {"settings"},
    "yaml": {"settings"},
}

HEAVY = {*HOMES, "airflow", "pyarrow", "fastavro", "pandas", "numpy"}


# What is looked for. Each check answers with the violations it finds.


def strangers(root: Path) -> list[str]:
    """Libraries outside their one file."""
    found = []
    for source in engine(root):
        for name in source.imports():
            first = name.partition(".")[0]
            homeless = first not in sys.stdlib_module_names and first != ENGINE
            if homeless and source.room not in HOMES.get(first, set()):
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
            if (
                isinstance(node, ast.ExceptHandler)
                and _catches_all(node)
                and source.room not in ("attempts", "user_defined")
            ):
                found.append(f"{source.module}:{node.lineno} catches everything")
    return found


def _catches_all(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(each is None or (isinstance(each, ast.Name) and each.id in _EVERYTHING) for each in caught)


_EVERYTHING = {"Exception", "BaseException"}


def contents_pages(root: Path) -> list[str]:
    """Packages whose docstring leaves one of their modules out, or lists one that is not there."""
    found = []
    for page in sorted(root.glob("jobs/kafka_s3/**/__init__.py")) + sorted(root.glob("plugins/*/**/__init__.py")):
        text = ast.get_docstring(ast.parse(page.read_text())) or ""
        # A line of the contents: its modules in front of a colon, or in the first cell of a table.
        entries = re.findall(r"^(?:- (`[^:]+):|\| (`\w+`) \|)", text, re.M)
        listed = {name for entry in entries for name in re.findall(r"`(\w+)`", "".join(entry))}
        inside = {path.stem for path in page.parent.glob("*.py")} - {"__init__", "__main__"}
        inside |= {path.parent.name for path in page.parent.glob("*/__init__.py")}
        folder = page.parent.relative_to(root)
        found += [f"{folder}/__init__.py does not list {name}" for name in sorted(inside - listed)]
        found += [f"{folder}/__init__.py lists {name}, which is not there" for name in sorted(listed - inside)]
    return found


def references(root: Path) -> list[str]:
    """References to a section of docs/ that does not exist."""
    sections = {
        f"docs/{page.name}#{re.sub(r'[^a-z0-9 -]', '', title.lower()).replace(' ', '-')}"
        for page in (ROOT / "docs").glob("*.md")
        for title in re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    }
    return [
        f"{path.relative_to(root)}: {name} is not there"
        for folder in ("jobs", "plugins", "dags", "tests", "tools")
        for path in sorted((root / folder).rglob("*.py"))
        for name in re.findall(r"docs/[\w.-]+#[\w-]+", path.read_text())
        if name not in sections
    ]


CHECKS: dict[str, Callable[[Path], list[str]]] = {
    "rooms": violations,
    "strangers": strangers,
    "private parts": private_parts,
    "arrows back": arrows_back,
    "too long": too_long,
    "shadows": shadows,
    "swallowed": swallowed,
    "contents pages": contents_pages,
    "references": references,
}

#: Operations never know each other, nor do adapters; nor does the run know an operation.
OPERATIONS = ("adopt", "dead_letters", "gc", "reexport", "rewind", "sign", "verify")
SIBLINGS = [
    *((one, two) for one in ("export", *OPERATIONS) for two in OPERATIONS if one != two),
    ("adapters/s3", "adapters.kafka"),
    ("values/converters", "values.partitioners"),
    ("report", "publish"),
]

PLANTED = [
    ("rooms", "jobs/kafka_s3/ports.py", "from kafka_s3.joda import zones", "ports may not know joda"),
    ("rooms", "jobs/kafka_s3/naming.py", "import kafka_s3.shown", "naming may not know shown"),
    ("rooms", "jobs/kafka_s3/export/run.py", "from kafka_s3.adapters.s3 import S3Store", "may not know adapters.s3"),
    ("rooms", "jobs/kafka_s3/plan/batch.py", "def f():\n    from kafka_s3.export import sweep", "may not know export"),
    ("rooms", "jobs/kafka_s3/novelty.py", "", "novelty has no floor"),
    ("rooms", "jobs/kafka_s3/log/entries.py", "import kafka_s3.log.progress", "log.progress import each other"),
    ("rooms", "jobs/kafka_s3/settings/properties.py", "from kafka_s3.settings import catalogue", "import each other"),
    *(("rooms", f"jobs/kafka_s3/{one}/__init__.py", f"import kafka_s3.{two}", f"know {two}") for one, two in SIBLINGS),
    ("strangers", "jobs/kafka_s3/wiring.py", "def f():\n    import boto3", "boto3"),
    ("strangers", "jobs/kafka_s3/adapters/kafka/client.py", "from pyspark.sql import Row", "pyspark"),
    ("strangers", "jobs/kafka_s3/export/task.py", "import requests", "requests"),
    ("private parts", "jobs/kafka_s3/adapters/registry/requests.py", "from confluent_kafka._util import x", "_util"),
    ("arrows back", "jobs/kafka_s3/errors.py", "import airflow.exceptions", "airflow"),
    ("arrows back", "jobs/kafka_s3/adapters/memory/store.py", "from tests.support import request", "tests"),
    ("arrows back", "plugins/kafka_s3_airflow/tasks.py", "import dags.exporters", "dags"),
    ("too long", "jobs/kafka_s3/ranges.py", "#\n" * LINES_MAX, "kafka_s3.ranges: 4"),
    (
        "too long",
        "jobs/kafka_s3/spark/submit.py",
        "def long():\n" + "    pass\n" * FUNCTION_LINES_MAX,
        "submit.long: 71",
    ),
    ("shadows", "plugins/calendar.py", "", "calendar.py"),
    (
        "swallowed",
        "jobs/kafka_s3/adapters/s3/store.py",
        "try: pass\nexcept (OSError, Exception): pass",
        "catches everything",
    ),
    ("swallowed", "jobs/kafka_s3/write/writer.py", "try: pass\nexcept: pass", "catches everything"),
    ("swallowed", "jobs/kafka_s3/write/writer.py", "WORD = 'Ignoring.'", "Ignoring"),
    ("contents pages", "jobs/kafka_s3/plan/novelty.py", "", "plan/__init__.py does not list novelty"),
    ("contents pages", "plugins/kafka_s3_airflow/page/novelty.py", "", "page/__init__.py does not list novelty"),
    (
        "references",
        "jobs/kafka_s3/ports.py",
        "# docs/" + "house.md#novelty",
        "house.md#novelty is not there",
    ),
]


@pytest.mark.parametrize("name", CHECKS)
def test_the_source_keeps_the_rules(name: str) -> None:
    """Arrows point down, each library has one file, and files, functions, names and handlers keep the rules."""
    assert CHECKS[name](ROOT) == []


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source once more, to plant violations in."""
    root = tmp_path_factory.mktemp("copy")
    for folder in ("jobs", "plugins", "dags"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return root


@pytest.mark.parametrize(("name", "file", "text", "said"), PLANTED)
def test_a_violation_is_found(copy: Path, name: str, file: str, text: str, said: str) -> None:
    """Each rule is one that can fail: planted in a copy of the source, a violation is found and named."""
    path = copy / file
    before = path.read_text() if path.exists() else None
    path.write_text(f"{before or ''}\n{text}\n")
    try:
        [found] = CHECKS[name](copy)
    finally:
        path.unlink() if before is None else path.write_text(before)
    assert said in found


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
    """The factory's own part of the engine (settings, errors, submit) stays inside the standard library."""
    assert (
        not _loaded_by(
            "import kafka_s3.settings, kafka_s3.errors, kafka_s3.spark.submit, kafka_s3.spark.driver_context"
        )
        & HEAVY
    )
