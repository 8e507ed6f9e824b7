"""Ask Joda-Time again and write the tables of tests/joda (needs a JDK; the jar is downloaded once).

python -m tools.joda
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tools.joda import cases, texts
from tools.joda.oracle import JODA, ask, escaped

TABLES = Path(__file__).parents[2] / "tests" / "joda"


def main() -> None:
    """Write every table and tell how long it is."""
    changed = cases.transitions_questions()
    *answers, available = ask([*changed, ("zones",)])
    at_changes = {zone: cases.changes(answer) for (_, zone, *_), answer in zip(changed, answers, strict=True)}
    _write("transitions", [(zone, since, answer) for (_, zone, since, _), answer in zip(changed, answers, strict=True)])
    _answered("zones", cases.zones_questions(available.split(" ")))
    _answered("prints", cases.prints_questions(at_changes), drop=(0, 1, 3))
    _answered("patterns", cases.patterns_questions(), drop=(0, 2, 3))
    _answered("names", cases.names_questions(), drop=(0,))
    _answered("buckets", cases.buckets_questions(at_changes), drop=(0,))
    asked = sorted(set(texts.timestamps_questions(at_changes)))
    answered = [answer if answer[:1] != "!" else "!" for answer in ask(asked)]  # what it says is for its own people
    _write("timestamps", [(*question[1:], answer) for question, answer in zip(asked, answered, strict=True)])


def _answered(name: str, found: Iterable[cases.Question], drop: tuple[int, ...] = ()) -> None:
    """A table of questions, without those of their words that are the same in all, and their answers."""
    questions, rows = list(found), []
    for question, answer in zip(questions, ask(questions), strict=True):
        rows.append((*(word for index, word in enumerate(question) if index not in drop), answer))
    _write(name, rows)


def _write(name: str, rows: list[tuple[str, ...]]) -> None:
    path = TABLES / f"{name}.tsv"
    lines = [f"# Joda-Time {JODA.version} says; written by python -m tools.joda"]
    # The answers come escaped, as the questions go.
    lines += ["\t".join([*(escaped(word) for word in row[:-1]), row[-1]]) for row in dict.fromkeys(rows)]
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    print(f"{path.relative_to(Path.cwd())}: {len(lines) - 1} rows, {path.stat().st_size / 1024:.0f} KiB")


main()
