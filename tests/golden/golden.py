"""The golden set: what this exporter writes and says, case by case, held by digests.

`digests.txt` has a line for each case: its name, and the SHA-256 of all that the case makes (names and bytes). The
test makes everything again and names the cases that differ. The cases go through the command line over ports in
memory, so they stay when modules move; `world` alone knows the engine.

How to read a difference. The beginning of a name says what changed:
    data/, paths/, options/, beside/   keys or bytes of data objects and companions
    letters/                           dead letters, with their reasons
    history/…/log, plan, owners, …     the documents of a bucket, by the part of the key behind the connector's name
    history/…/<number> <command>       what a command prints with --json, and its exit status
    history/…/page, events, sent       answers of the page with the metrics; events of assets; dead letters in Kafka
To see the bytes, make them with both checkouts and compare:
    python -m tests.golden --keep DIR [PART OF A NAME]

When a digest may change. Bytes and keys of data objects, companions, plans, entries and marks: only with a change of
the format that CHANGELOG names (docs/protocol.md#stable-bytes), and with it the byte version where the same plan would
give other bytes. Sentences, names of JSON and metrics: only when they are changed on purpose, which CHANGELOG lists
too. A new case may be added at any time. Never rewrite the digests to make a test pass: say in the commit which lines
changed, and why. `python -m tests.golden` rewrites them and prints which ones differ.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tests.golden import histories, objects
from tests.golden.harness import Documents
from tests.golden.objects import Case

DIGESTS = Path(__file__).with_name("digests.txt")
REFUSED = "refused"
_ATTEMPTS = 4


@cache
def cases() -> Mapping[str, Case]:
    """By name; one that makes several documents of a history is in `made` by their own names."""
    found: dict[str, Case] = {}
    for name, case in (*objects.cases(), *histories.cases()):
        assert name not in found, name
        found[name] = case
    return found


def groups() -> list[str]:
    """The first two parts of the cases' names."""
    return sorted({group_of(name) for name in cases()})


def group_of(name: str) -> str:
    return "/".join(name.split("/")[:2])


def made(name: str) -> Mapping[str, Documents]:
    """What a case makes, in a folder of its own: one line, or of a history one for each of its parts."""
    with tempfile.TemporaryDirectory() as folder:
        documents = cases()[name](Path(folder))
    if not name.startswith("history/"):
        return {name: documents}
    parts: dict[str, list[tuple[str, bytes]]] = {}
    for title, body in documents:
        part, _, rest = title.partition("/")
        parts.setdefault(f"{name}/{part}", []).append((rest, body))
    return parts


def digest(documents: Documents) -> str:
    """Of names and bytes, each behind its length, so that nothing moves between them unseen."""
    if [name for name, _ in documents] == [REFUSED]:
        return REFUSED
    whole = hashlib.sha256()
    for name, body in documents:
        for part in (name.encode(), body):
            whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()


def digests(group: str) -> dict[str, str]:
    """Of every case of a group, as they are now. One that differs from what is committed is made again: ISA-L gives the
    same input other bytes of deflate now and then, which mean the same. What was changed differs every time."""
    before, found = committed(), dict[str, str]()
    for name in (name for name in cases() if group_of(name) == group):
        for _ in range(_ATTEMPTS):
            now = {line: digest(documents) for line, documents in made(name).items()}
            if all(before.get(line) == now[line] for line in now):
                break
        found |= now
    return found


@cache
def committed() -> dict[str, str]:
    """Those in the repository."""
    lines = DIGESTS.read_text("utf-8").splitlines()
    return {name: found for name, _, found in (line.rpartition(" ") for line in lines)}


def write(found: Mapping[str, str]) -> None:
    DIGESTS.write_text("".join(f"{name} {found[name]}\n" for name in sorted(found)), "utf-8")
