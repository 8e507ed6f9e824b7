"""Classes of the user's own, named by Python path in a configuration: `module:Class`.

They run where the engine runs, so they have to be importable there: on Airflow's machine and on Spark's workers.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any, Final

from kafka_s3.errors import ConfigurationError

_PATH: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)


def is_path(text: str) -> bool:
    """
    >>> is_path("my_company.paths:ByCustomer"), is_path("io.confluent.Partitioner")
    (True, False)
    """
    return _PATH.fullmatch(text) is not None


def find_class(path: str, *methods: str) -> type:
    """The class behind a path. Raises ValueError, with the reason, if there is none or it lacks a method."""
    module_name, _, name = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever the user's module raises when it is imported
        raise ValueError(f"the module {module_name} cannot be imported: {type(error).__name__}: {error}") from error
    found = getattr(module, name, None)
    if not isinstance(found, type):
        raise ValueError(f"the module {module_name} has no class {name}")
    missing = [method for method in methods if not callable(getattr(found, method, None))]
    if missing:
        raise ValueError(f"the class {name} has no method {' and '.join(missing)}")
    return found


def called(name: str, function: Callable[..., Any], *arguments: object) -> Any:
    """What the user's code answers. Raises `ConfigurationError`, which names it, if it raises anything."""
    try:
        return function(*arguments)
    except Exception as error:
        raise ConfigurationError(f"{name} raised {type(error).__name__}: {error}.") from error
