"""Classes of the user's own, named by Python path in a configuration: `module:Class`.

They run where the engine runs, so they have to be importable there: on Airflow's machine and on Spark's workers.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any, Final

from kafka_s3.errors import ConfigurationError
from kafka_s3.shown import quoted

#: What a class has to have, by what it is.
PARTITIONER: Final = ("encode",)
EXTRACTOR: Final = ("extract",)
FORMAT: Final = ("begin", "encode", "end")
TRANSFORM: Final = ("apply",)
PREDICATE: Final = ("test",)
CREDENTIALS_PROVIDER: Final = ("credentials",)

_PATH: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)


class UserCodeFailed(ConfigurationError):
    """The user's code raised over some records: one of them may be to blame, or all are, or the code."""


def is_path(text: str) -> bool:
    """
    >>> is_path("my_company.paths:ByCustomer"), is_path("io.confluent.Partitioner")
    (True, False)
    """
    return _PATH.fullmatch(text) is not None


def find_class(path: str, *methods: str) -> type:
    """The class behind a path. Raises `ConfigurationError`, with the reason, if there is none or it lacks a method."""
    module_name, _, name = path.partition(":")
    module = call(f"{path}: importing {module_name}", importlib.import_module, module_name)
    found = getattr(module, name, None)
    if not isinstance(found, type):
        raise ConfigurationError(f"{path}: the module {module_name} has no class {name}.")
    missing = [method for method in methods if not callable(getattr(found, method, None))]
    if missing:
        raise ConfigurationError(f"{path}: the class {name} has no method {' and '.join(missing)}.")
    return found


def call(what: str, function: Callable[..., Any], *arguments: object) -> Any:
    """What the user's code answers. Raises `ConfigurationError` if it raises: that is theirs to mend."""
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"{what} raised {type(error).__name__}: {error}.") from error


def call_on_records(what: str, function: Callable[..., Any], *arguments: object) -> Any:
    """The same for code that is given records: what it raises may quote them. Raises `UserCodeFailed`."""
    try:
        return function(*arguments)
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        raise UserCodeFailed(f"{what} raised {type(error).__name__} ({quoted(str(error), str(error))}).") from error
