"""The one place where everything is caught: what records, and code that reads them, may do is not to be listed.

Nothing is swallowed: whoever attempts something has to say what becomes of what was raised. An order to stop
(`KeyboardInterrupt`, `SystemExit`) is none of it, and goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

Made = TypeVar("Made")
Given = ParamSpec("Given")


@dataclass(frozen=True, slots=True)
class Raised:
    """Something was raised, and this is it."""

    error: Exception


def attempt(function: Callable[Given, Made], *args: Given.args, **kwargs: Given.kwargs) -> Made | Raised:
    """
    >>> attempt(int, "7"), attempt(int, "x")
    (7, Raised(error=ValueError("invalid literal for int() with base 10: 'x'")))
    """
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return Raised(error)
