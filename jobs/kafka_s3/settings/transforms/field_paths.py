"""Paths to fields, as `field.syntax.version` reads them."""

from __future__ import annotations


def steps(path: str, version: str) -> tuple[str, ...]:
    """The names on the way to a field. `ValueError` if a backtick has no partner.

    >>> steps("a.b", "V1"), steps("a.b", "V2"), steps("`a.b`.c", "V2")
    (('a.b',), ('a', 'b'), ('a.b', 'c'))
    """
    if version.upper() == "V1":
        return (path,)
    found: list[str] = []
    at = 0
    while at < len(path):
        if path[at] == "`":
            step, at = _quoted(path, at)
        else:
            end = path.find(".", at)
            end = len(path) if end < 0 else end
            step, at = path[at:end], end + 1
        found.append(step)
    return (*found, "") if path.endswith(".") else tuple(found)


def _quoted(path: str, begin: int) -> tuple[str, int]:
    """What stands between two backticks, and where the next step begins."""
    step, at = "", begin + 1
    start = at
    while True:
        at = path.find("`", at)
        escaped = at > 0 and path[at - 1] == "\\"
        if at < 0 or (at == len(path) - 1 and escaped):
            raise ValueError(f"a backtick without its partner at position {begin}: write a backslash in front of it")
        if at == len(path) - 1:
            return step + path[start:at], at + 1
        if path[at + 1] != ".":  # one that is part of the name
            at += 1
        elif escaped:
            step += f"{path[start : at - 1]}`"
            at += 1
            start = at
        else:
            return step + path[start:at], at + 2
