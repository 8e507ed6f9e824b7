"""Joda-Time on the JVM, asked in one go: questions in, answers out, in the same order."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

from tools.parts.errors import PartError
from tools.parts.jars import Jar, resolve
from tools.parts.java import BRIEF, find_java
from tools.parts.process import child_environment

JODA = Jar("joda-time", "joda-time", "2.14.1")  # its time-zone data: 2026a
TIMEOUT_S = 300
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}


def ask(questions: Iterable[tuple[str, ...]]) -> list[str]:
    """The answer to each question (its kind, then its arguments); one that Joda refused begins with `!`."""
    jars = resolve(f"joda-time-{JODA.version}", [JODA], transitive=False)
    lines = ["\t".join(escaped(word) for word in question) for question in questions]
    # Joda's zone is the default one's nowhere; the locale's names come from CLDR, as they do by default since Java 9.
    options = ["-Duser.timezone=UTC", "-Duser.language=en", "-Djava.locale.providers=CLDR", "-Dfile.encoding=UTF-8"]
    command = [
        str(find_java().executable),
        *BRIEF,
        *options,
        "-cp",
        f"{jars}/*",
        str(Path(__file__).with_name("Oracle.java")),
    ]
    done = subprocess.run(
        command,
        input="".join(f"{line}\n" for line in lines).encode(),
        capture_output=True,
        env=child_environment(),
        timeout=TIMEOUT_S,
    )
    answers = done.stdout.decode().split("\n")[:-1]
    if done.returncode != 0 or len(answers) != len(lines):
        raise PartError(
            f"Joda-Time gave {len(answers)} answers to {len(lines)} questions. It runs from its source, so a whole "
            f"JDK is needed, not just a runtime. What Java said:\n{done.stderr.decode()[-2000:]}"
        )
    return answers


def escaped(text: str) -> str:
    """A field as it stands in a question and in a table: tabs, line ends and backslashes by their names."""
    return "".join(_ESCAPES.get(character, character) for character in text)
