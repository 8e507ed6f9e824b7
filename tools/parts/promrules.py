"""Reads Prometheus' alert rules and queries with Prometheus' own parser: no Prometheus is needed."""

import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.parts.cache import cache_directory, cached
from tools.parts.errors import PartError
from tools.parts.golang import MODULES, go_build
from tools.parts.process import child_environment

PROMETHEUS_VERSION: Final = "0.305.0"  # of the module, which is Prometheus 3.5
_FOLDER: Final = f"promrules-{PROMETHEUS_VERSION}"


@dataclass(frozen=True)
class Query:
    """An expression, what is wrong with it, and each series that it selects: the metric, and its labels' matchers."""

    expression: str
    error: str | None
    selectors: tuple[tuple[str, Mapping[str, str]], ...]


def available() -> str | None:
    """None where rules can be read; otherwise the reason and what to do."""
    if shutil.which("go") is None and not (cache_directory() / _FOLDER).is_dir():
        return (
            "promrules, which reads Prometheus' rules, has to be built and there is no Go on PATH. See https://go.dev"
        )
    return None


def read_rules(path: Path, queries: Iterable[str] = ()) -> tuple[list[str], list[Query]]:
    """What is wrong with a file of rules, and its expressions, followed by other queries, as Prometheus reads them."""
    program = cached(_FOLDER, _build) / "promrules"
    given = "".join(f"{query}\n" for query in queries)
    run = subprocess.run(
        [program, path], input=given, capture_output=True, text=True, env=child_environment(), timeout=60
    )
    if run.returncode != 0:
        raise PartError(f"promrules ended with {run.returncode}: {run.stderr}")
    found = json.loads(run.stdout)
    return found["problems"], [
        Query(
            each["expression"],
            each.get("error"),
            tuple((one["name"], one["labels"]) for one in each["selectors"]),
        )
        for each in found["read"]
    ]


def _build(folder: Path) -> None:
    without_go = "promrules has to be built and there is no Go on PATH. See https://go.dev"
    go_build("promrules", ".", folder, takes="about two minutes", without_go=without_go, modules=MODULES)
