"""`python -m tests.golden` makes every case and rewrites the digests; it prints which ones differ.

`--keep DIR [PART]` rewrites nothing: it writes what the cases make into a folder, those with PART in their names.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

from tests.golden.golden import cases, committed, digests, groups, made, write

_NAME_MAX = 200  # bytes of a file's name


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--keep", type=Path, metavar="DIR")
    parser.add_argument("part", nargs="?", default="")
    chosen = parser.parse_args()
    if chosen.keep is not None:
        for name in cases():
            if chosen.part in name:
                _keep(chosen.keep, name)
        return
    before = committed()
    now = {line: found for group in groups() for line, found in digests(group).items()}
    for line in sorted({*before, *now}):
        if before.get(line) != now.get(line):
            print(f"{'new' if line not in before else 'gone' if line not in now else 'other'}: {line}")  # noqa: T201
    write(now)


def _keep(folder: Path, name: str) -> None:
    for line, documents in made(name).items():
        for title, body in documents:
            safe = "".join(letter if letter.isalnum() or letter in "._+=- " else "%" for letter in title) or "_"
            if len(safe.encode()) > _NAME_MAX:
                safe = safe[:100] + hashlib.sha256(title.encode()).hexdigest()
            path = folder / line / safe
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)


if __name__ == "__main__":
    main()
