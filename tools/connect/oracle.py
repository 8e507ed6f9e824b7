"""JsonConverter on the JVM, asked in one go: envelopes in, lines out, in the same order."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.parts.errors import PartError
from tools.parts.jars import Jar, resolve
from tools.parts.java import BRIEF, find_java
from tools.parts.process import child_environment

CONNECT_JSON = Jar("org.apache.kafka", "connect-json", "4.1.0")  # brings connect-api and Jackson
TIMEOUT_S = 300


@dataclass(frozen=True)
class Question:
    """An envelope, and how it is read and written."""

    envelope: bytes
    decimals: str = "BASE64"
    replace_null_with_default: bool = True


@dataclass(frozen=True)
class Answer:
    """The JSON text without its envelope (`None`: the value is null), or why it was refused, in reading or writing."""

    text: bytes | None = None
    refused: str | None = None


def ask(questions: Sequence[Question]) -> list[Answer]:
    """What JsonConverter makes of each envelope: read with schemas.enable=true, written without."""
    lines = [
        f"{each.decimals}\t{str(each.replace_null_with_default).lower()}\t{base64.b64encode(each.envelope).decode()}\n"
        for each in questions
    ]
    return [_answer(answer) for answer in asked("Oracle.java", lines)]


def asked(program: str, lines: Sequence[str], *options: str, alone: Sequence[Jar] = ()) -> list[str]:
    """The answers of one of the programs beside this module, a line for each. `alone`: jars that it needs besides,
    without what these need."""
    jars = f"{resolve(f'connect-json-{CONNECT_JSON.version}', [CONNECT_JSON])}/*"
    for jar in alone:
        jars += f":{resolve(f'{jar.name}-{jar.version}', [jar], transitive=False)}/*"
    source = str(Path(__file__).with_name(program))
    command = [str(find_java().executable), *BRIEF, "-Dfile.encoding=UTF-8", *options, "-cp", jars, source]
    done = subprocess.run(
        command, input="".join(lines).encode(), capture_output=True, env=child_environment(), timeout=TIMEOUT_S
    )
    answers = done.stdout.decode().split("\n")[:-1]
    if done.returncode != 0 or len(answers) != len(lines):
        raise PartError(
            f"{program} gave {len(answers)} answers to {len(lines)} questions. It runs from its source, so a "
            f"whole JDK is needed, not just a runtime. What Java said:\n{done.stderr.decode()[-2000:]}"
        )
    return answers


def _answer(line: str) -> Answer:
    kind, rest = line[:1], line[1:]
    match kind:
        case "=":
            return Answer(base64.b64decode(rest))
        case "0":
            return Answer()
        case _:
            return Answer(refused=rest)
