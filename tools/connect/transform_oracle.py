"""Kafka's own transforms on the JVM, asked in one go: a transform and a record each, answers in the same order."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.connect.oracle import CONNECT_JSON, TIMEOUT_S
from tools.parts.errors import PartError
from tools.parts.jars import Jar, resolve
from tools.parts.java import BRIEF, find_java
from tools.parts.process import child_environment

CONNECT_TRANSFORMS = Jar("org.apache.kafka", "connect-transforms", "4.1.0")
_DEBEZIUM = "io.debezium"
DEBEZIUM = tuple(Jar(_DEBEZIUM, f"debezium-{name}", "3.3.1.Final") for name in ("core", "api", "common"))
#: The last that knows the older options.
OLDER_DEBEZIUM = tuple(Jar(_DEBEZIUM, f"debezium-{name}", "2.7.4.Final") for name in ("core", "api"))


@dataclass(frozen=True)
class Question:
    """A transform with its options, and a record: its key and value are envelopes (`None`: null)."""

    type: str
    options: Mapping[str, str]
    value: bytes | None
    key: bytes | None = None
    topic: str = "orders"
    offset: int = 7
    timestamp_ms: int | None = 1_456_300_800_123
    headers: tuple[tuple[str, str], ...] = field(default=())

    def line(self) -> str:
        record = {
            "topic": self.topic,
            "partition": 3,
            "offset": self.offset,
            "timestamp": self.timestamp_ms,
            "key": None if self.key is None else base64.b64encode(self.key).decode(),
            "value": None if self.value is None else base64.b64encode(self.value).decode(),
            "headers": [list(pair) for pair in self.headers],
        }
        return json.dumps({"type": self.type, "options": dict(self.options), "record": record}) + "\n"


def ask(questions: Sequence[Question], more: Sequence[Jar] = ()) -> list[dict[str, Any]]:
    """What the class itself makes of each record; see the Java source for what an answer says.

    `more`: the jars of classes that are not Kafka's; the folder in the cache is called after the first.
    """
    jars = resolve(f"connect-transforms-{CONNECT_TRANSFORMS.version}", [CONNECT_TRANSFORMS, CONNECT_JSON])
    source = str(Path(__file__).with_name("TransformOracle.java"))
    path = f"{jars}/*"
    if more:
        path += f":{resolve(f'{more[0].name}-{more[0].version}', more, transitive=False)}/*"
    command = [str(find_java().executable), *BRIEF, "-Dfile.encoding=UTF-8", "-cp", path, source]
    lines = "".join(each.line() for each in questions)
    done = subprocess.run(
        command, input=lines.encode(), capture_output=True, env=child_environment(), timeout=TIMEOUT_S
    )
    answers = done.stdout.decode().split("\n")[:-1]
    if done.returncode != 0 or len(answers) != len(questions):
        raise PartError(
            f"The transforms gave {len(answers)} answers to {len(questions)} questions. They run from their source, so"
            f" a whole JDK is needed, not just a runtime. What Java said:\n{done.stderr.decode()[-2000:]}"
        )
    return [json.loads(answer) for answer in answers]
