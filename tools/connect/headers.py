"""Connect's header converters on the JVM, asked in one go: bytes of headers in, their values out, in the same order."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from tools.connect.oracle import asked

#: The time zone is the JVM's: SimpleDateFormat reads and writes in it.
_UTC = "-Duser.timezone=UTC"


@dataclass(frozen=True)
class HeaderAnswer:
    """A header's value as the sink writes it, and with its types; `None`: it is null. Or why it has none."""

    text: str | None = None
    typed: str | None = None
    refused: str | None = None


def ask_headers(questions: Sequence[tuple[str, bytes]]) -> list[HeaderAnswer]:
    """What each converter (simple, string, bytes, json, plain json) makes of the bytes of a header."""
    lines = [f"{converter}\t{base64.b64encode(header).decode()}\n" for converter, header in questions]
    return [_answer(line) for line in asked("HeaderOracle.java", lines, _UTC)]


def _answer(line: str) -> HeaderAnswer:
    kind, rest = line[:1], line[1:]
    match kind:
        case "=":
            text, _, typed = rest.partition("\t")
            return HeaderAnswer(base64.b64decode(text).decode(), typed)
        case "0":
            return HeaderAnswer()
        case _:
            return HeaderAnswer(refused=rest)
