"""Programs that Go builds from their published source."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

from tools.parts.errors import PartError
from tools.parts.process import child_environment

BUILD_TIMEOUT_S = 1800


def go_install(source: str, folder: Path, *, takes: str, without_go: str) -> None:
    """Build the program that `source` names (`module/path@v1.2.3`) into a folder, and say so on standard error.

    Raises `PartError`: with `without_go` where there is no Go on PATH, else with what Go said.
    """
    go = shutil.which("go")
    if go is None:
        raise PartError(without_go)
    print(f"{source}: building it (once, {takes}) ...", file=sys.stderr, flush=True)
    began = time.monotonic()
    try:
        run = subprocess.run(
            [go, "install", "-trimpath", "-ldflags=-s -w", source],
            capture_output=True,
            text=True,
            env=child_environment(GOBIN=str(folder), CGO_ENABLED="0"),
            timeout=BUILD_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise PartError(f"`go install {source}` did not finish within {BUILD_TIMEOUT_S} s. Run it again.") from error
    if run.returncode != 0:
        raise PartError(
            f"`go install {source}` failed. Can Go reach its module proxy from here? Go said:\n{run.stderr}"
        )
    print(f"{source}: built in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
