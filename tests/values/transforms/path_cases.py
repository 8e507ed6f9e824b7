"""Generated paths and documents for JSONPath."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from tools.connect.path_oracle import PathQuestion

NAMES = ("a", "b", "c", "user", "x-y")
SCALARS: tuple[Any, ...] = (
    *(1, 0, -3, 18, 2.5, 100.0, 1e21, 1e-7, 2**40),
    *(True, False, None),
    *("18", "x", "xyz", "", "1.50", "true", "null", "é", "18.0", "X"),
)
LITERALS = ("18", "0", "-3", "2.5", "1e2", "100", "'18'", "'x'", '"xyz"', "''", "'1.5'", "true", "false", "null", "'é'")
PATTERNS = ("/x.*/", "/X.*/i", "/1./", "/.*/", "/tr[a-z]e/", r"/\d+/", r"/[\w\/]+/")


def value(random: Random, depth: int = 0) -> Any:
    kind = random.random()
    if depth < 3 and kind < 0.3:
        return {name: value(random, depth + 1) for name in random.sample(NAMES, random.randint(0, 4))}
    if depth < 3 and kind < 0.45:
        return [value(random, depth + 1) for _ in range(random.randint(0, 3))]
    return random.choice(SCALARS)


def document(random: Random) -> Any:
    return {name: value(random, 1) for name in random.sample(NAMES, random.randint(1, 5))}


def _step(random: Random) -> str:
    name = random.choice(NAMES)
    return random.choice((f".{name}", f"['{name}']", f'["{name}"]', f".{name}", f"[{random.randint(-2, 2)}]"))


def _operand(random: Random) -> str:
    begin = random.choice("@@@$")
    return begin + "".join(_step(random) for _ in range(random.choice((0, 1, 1, 1, 2)) or (begin == "$")))


def _condition(random: Random, depth: int = 0) -> str:
    kind = random.random()
    if depth < 2 and kind < 0.25:
        joined = random.choice((" && ", " || ")).join(_condition(random, depth + 1) for _ in range(2))
        return random.choice((joined, f"({joined})", f"!({joined})"))
    path = _operand(random)
    if kind < 0.4:
        path = f"@{path[1:]}"
        return path if path == "@" or random.random() < 0.7 else f"!{path}"
    if kind < 0.5:
        return f"{path} =~ {random.choice(PATTERNS)}"
    if kind < 0.6:
        listed = ", ".join(random.choice(("18", "'x'", "true", "null", "2.5", "'18'")) for _ in range(2))
        return f"{path} {random.choice(('in', 'nin'))} [{listed}]"
    return f"{path} {random.choice(('==', '!=', '<', '<=', '>', '>='))} {random.choice(LITERALS)}"


def path(random: Random) -> str:
    made = "$"
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        made += _step(random) if random.random() < 0.85 else random.choice(("[*]", ".*"))
    if random.random() < 0.75:
        made += random.choice(("", ".")) + f"[?({_condition(random)})]"
        if random.random() < 0.2:
            made += _step(random)
    return made


def path_cases(seed: int, count: int) -> Iterator[PathQuestion]:
    for number in range(count):
        random = Random(f"path {seed} {number}")
        yield PathQuestion(path(random), document(random))
