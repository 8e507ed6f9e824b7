"""How the library below JsonSchemaConverter reads a schema, asked in one go: the classes that it makes of it.

The library comes with the registry of the tests; Confluent's own classes are nowhere to be had.
"""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.connect.oracle import TIMEOUT_S
from tools.parts.errors import PartError
from tools.parts.java import BRIEF, find_java
from tools.parts.process import child_environment
from tools.parts.registry import registry_jars


@dataclass(frozen=True)
class SchemaQuestion:
    """A schema, and those it refers to by their names. `plain`: asked as AWS Glue's converter asks.
    `values`: asked which of them are valid."""

    schema: Any
    references: Mapping[str, Any] = field(default_factory=dict)
    plain: bool = False
    values: Sequence[Any] | None = None


def ask_schemas(questions: Sequence[SchemaQuestion]) -> list[Any]:
    """Each schema as the library has it, with the fields of objects in its order, or of each value whether it is valid;
    `None`: it refuses the schema."""
    lines = []
    for each in questions:
        references = {name: json.dumps(json_) for name, json_ in each.references.items()}
        values = None if each.values is None else [json.dumps(value) for value in each.values]
        asked = json.dumps(
            {"schema": json.dumps(each.schema), "references": references, "plain": each.plain, "values": values}
        )
        lines.append(base64.b64encode(asked.encode()).decode() + "\n")
    source = str(Path(__file__).with_name("JsonSchemaOracle.java"))
    command = [str(find_java().executable), *BRIEF, "-Dfile.encoding=UTF-8", "-cp", f"{registry_jars()}/lib/*", source]
    done = subprocess.run(
        command, input="".join(lines).encode(), capture_output=True, env=child_environment(), timeout=TIMEOUT_S
    )
    answers = done.stdout.decode().split("\n")[:-1]
    if done.returncode != 0 or len(answers) != len(lines):
        raise PartError(f"{len(answers)} answers to {len(lines)} schemas. Java said:\n{done.stderr.decode()[-2000:]}")
    return [None if each.startswith("!") else json.loads(each) for each in answers]
