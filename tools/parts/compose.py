"""Reads a Compose file with compose-go, the parser and schema of `docker compose`: no Docker engine is needed."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tools.parts.cache import cache_directory, cached
from tools.parts.errors import PartError
from tools.parts.golang import go_build
from tools.parts.process import child_environment

COMPOSE_GO_VERSION: Final = "2.16.2"
_PACKAGE: Final = "github.com/compose-spec/compose-go/v2/cmd"
_FOLDER: Final = f"compose-go-{COMPOSE_GO_VERSION}"
_VARIABLE = re.compile(r"\$(?:\$|\{(?P<name>\w+):\?[^}]*\})")


def available() -> str | None:
    """None where files can be read; otherwise the reason and what to do."""
    if shutil.which("go") is None and not (cache_directory() / _FOLDER).is_dir():
        return "compose-go, which reads Compose files, has to be built and there is no Go on PATH. See https://go.dev"
    return None


def read_compose(path: Path) -> dict[str, Any]:
    """The file after the schema, with anchors resolved and short forms spelt out; PartError says what is wrong.

    Variables stay as they are written (compose-go's command would take none from the environment): `interpolate`.
    """
    command = cached(_FOLDER, _build) / "cmd"
    options = ["-no-interpolation", "-no-path-resolution", "-format=json"]
    environment = {**child_environment(), "COMPOSE_DISABLE_ENV_FILE": "1"}
    run = subprocess.run(
        [command, *options, path.name], cwd=path.parent, capture_output=True, text=True, env=environment, timeout=60
    )
    if run.returncode != 0:
        raise PartError(f"{path} is not a valid Compose file: {run.stderr}")
    return dict(json.loads(run.stdout))


def interpolate(value: Any, variables: Mapping[str, str]) -> Any:
    """Fill in `${NAME:?message}`, the only form this project uses, and `$$`, everywhere in a value.

    >>> interpolate({"a": ["x-${NAME:?give one}", "$$HOME"]}, {"NAME": "y"})
    {'a': ['x-y', '$HOME']}
    """
    match value:
        case str():
            return _VARIABLE.sub(lambda found: variables[found["name"]] if found["name"] else "$", value)
        case list():
            return [interpolate(item, variables) for item in value]
        case dict():
            return {name: interpolate(item, variables) for name, item in value.items()}
        case _:
            return value


def _build(folder: Path) -> None:
    without_go = available() or "there is no Go on PATH"
    go_build("compose-go", _PACKAGE, folder, takes="half a minute", without_go=without_go)
