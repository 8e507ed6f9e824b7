"""JSONPath on the JVM (com.jayway.jsonpath), asked in one go: a path and a document each, answers in the same order."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.connect.oracle import CONNECT_JSON, TIMEOUT_S
from tools.parts.errors import PartError
from tools.parts.jars import Jar, resolve
from tools.parts.java import BRIEF, find_java
from tools.parts.process import child_environment

JSON_PATH = (
    Jar("com.jayway.jsonpath", "json-path", "2.9.0"),
    Jar("net.minidev", "json-smart", "2.5.0"),
    Jar("net.minidev", "accessors-smart", "2.5.0"),
    Jar("org.ow2.asm", "asm", "9.3"),
)


@dataclass(frozen=True)
class PathQuestion:
    path: str
    document: Any


def ask_paths(questions: Sequence[PathQuestion]) -> list[dict[str, Any]]:
    """What each path finds; see the Java source for what an answer says."""
    jackson = resolve(f"connect-json-{CONNECT_JSON.version}", [CONNECT_JSON])  # and SLF4J
    jars = resolve(f"{JSON_PATH[0].name}-{JSON_PATH[0].version}", JSON_PATH, transitive=False)
    source = str(Path(__file__).with_name("PathOracle.java"))
    command = [str(find_java().executable), *BRIEF, "-Dfile.encoding=UTF-8", "-cp", f"{jackson}/*:{jars}/*", source]
    lines = "".join(json.dumps({"path": each.path, "document": each.document}) + "\n" for each in questions)
    done = subprocess.run(
        command, input=lines.encode(), capture_output=True, env=child_environment(), timeout=TIMEOUT_S
    )
    answers = done.stdout.decode().split("\n")[:-1]
    if done.returncode != 0 or len(answers) != len(questions):
        raise PartError(
            f"JSONPath gave {len(answers)} answers to {len(questions)} questions. It runs from its source, so a whole"
            f" JDK is needed, not just a runtime. What Java said:\n{done.stderr.decode()[-2000:]}"
        )
    return [json.loads(answer) for answer in answers]
