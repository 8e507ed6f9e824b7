"""What a connector's file may have this process look up, open and import: allow lists from the environment.

Whoever writes connectors is not always whoever runs Airflow. Where a list is set it holds; where it is not, everything
is allowed, but in a process that only looks at connectors (the api-server), where nothing is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

ENV_PREFIXES: Final = "KAFKA_S3_ENV_PREFIXES"
FILE_ROOTS: Final = "KAFKA_S3_FILE_ROOTS"
CLASSES: Final = "KAFKA_S3_CLASSES"
ANYTHING: Final = "*"


@dataclass(frozen=True, slots=True)
class Reach:
    """`None` allows anything. `only_looks`: what is refused and not needed to look at a connector is left alone."""

    env_prefixes: tuple[str, ...] | None = None
    file_roots: tuple[str, ...] | None = None
    classes: tuple[str, ...] | None = None
    only_looks: bool = False

    def has_variable(self, name: str) -> bool:
        """Whether an environment variable may be read.

        >>> Reach(env_prefixes=("ORDERS_",)).has_variable("ORDERS_KEY"), Reach(env_prefixes=()).has_variable("A")
        (True, False)
        """
        return self.env_prefixes is None or name.startswith(self.env_prefixes)

    def has_file(self, path: str) -> bool:
        """Whether a file may be read, links followed. Whoever reads it looks again at what was opened."""
        if self.file_roots is None:
            return True
        try:
            real = os.path.realpath(path)
        except ValueError:  # a null byte or half a character
            return False
        return any(os.path.commonpath((real, root)) == root for root in map(os.path.realpath, self.file_roots))

    def has_class(self, path: str) -> bool:
        """Whether a class may be imported: by its own path, or every class of its module.

        >>> reach = Reach(classes=("ours.paths", "ours.formats:Lines"))
        >>> [reach.has_class(each) for each in ("ours.paths:Any", "ours.formats:Lines", "ours.formats:Other", "os:x")]
        [True, True, False, False]
        """
        return self.classes is None or path in self.classes or path.partition(":")[0] in self.classes


def reach_of(environment: Mapping[str, str], *, only_looks: bool = False) -> Reach:
    """What the environment allows: names or folders with commas between them, `*` for anything, blank for nothing."""
    return Reach(
        _listed(environment, ENV_PREFIXES, only_looks),
        _listed(environment, FILE_ROOTS, only_looks),
        _listed(environment, CLASSES, only_looks),
        only_looks,
    )


def _listed(environment: Mapping[str, str], name: str, is_closed: bool) -> tuple[str, ...] | None:
    text = environment.get(name)
    if text is None:
        return () if is_closed else None
    listed = tuple(part.strip() for part in text.split(",") if part.strip())
    return None if ANYTHING in listed else listed
