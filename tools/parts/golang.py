"""Programs that Go builds from their published source, of which every module has its hash in the repository.

Each folder of `go/` is a module for one program: its go.mod has the versions, its go.sum the SHA-256 of everything that
the program is built from. With `-mod=readonly` Go refuses what differs, whatever GOFLAGS, GOSUMDB or a proxy say. They
are made by `go get MODULE@VERSION && go mod tidy` there, with Go's checksum database on.
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from tools.parts.errors import PartError
from tools.parts.process import child_environment

BUILD_TIMEOUT_S = 1800
MODULES: Final = Path(__file__).with_name("go")


def go_build(name: str, package: str, folder: Path, *, takes: str, without_go: str, modules: Path = MODULES) -> None:
    """Build a program into a folder, and say so on standard error; the module of that name in `go/` says of what.

    Raises `PartError`: with `without_go` where there is no Go on PATH, else with what Go said.
    """
    go = shutil.which("go")
    if go is None:
        raise PartError(without_go)
    print(f"{name}: building it (once, {takes}) ...", file=sys.stderr, flush=True)
    began = time.monotonic()
    try:
        run = subprocess.run(
            [go, "build", "-mod=readonly", "-trimpath", "-ldflags=-s -w", "-o", f"{folder}/", package],
            cwd=modules / name,
            capture_output=True,
            text=True,
            env=child_environment(CGO_ENABLED="0", GOFLAGS="-buildvcs=false", GOWORK="off"),
            timeout=BUILD_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise PartError(f"`go build {package}` did not finish within {BUILD_TIMEOUT_S} s. Run it again.") from error
    if run.returncode != 0:
        wrong = "checksum mismatch" in run.stderr or "SECURITY ERROR" in run.stderr
        why = (
            f"what Go downloaded is not what {modules / name / 'go.sum'} says. Nothing of it is used"
            if wrong
            else "can Go reach its module proxy from here?"
        )
        raise PartError(f"`go build {package}` failed: {why}. Go said:\n{run.stderr}")
    print(f"{name}: built in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
