"""A port of a program that is overtaken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Overtaken:
    """A store or a broker to which something happens in front of the program's first request of a kind."""

    inner: Any
    method: str
    happens: Callable[[], None]
    done: bool = False

    def __getattr__(self, name: str) -> Any:
        if name == self.method and not self.done:
            self.done = True
            self.happens()
        return getattr(self.inner, name)
