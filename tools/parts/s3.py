"""S3 servers: moto, which Python's packages bring, and versitygw, which Go builds."""

import functools
import mmap
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from tools.parts.cache import REPOSITORY, cache_directory, cached
from tools.parts.errors import PartError
from tools.parts.golang import go_build
from tools.parts.process import HOST, Part, ReservedPort, child_environment

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

VERSITYGW_MODULE = "github.com/versity/versitygw"
VERSITYGW_VERSION = "1.8.0"
VERSITYGW_MIN = (1, 8, 0)  # older ones check a condition and rename afterwards, without a lock
START_TIMEOUT_S = 60


class S3Server(Part):
    """What both servers have in common: an endpoint, one account and an empty store."""

    access_key = "testing"
    secret_key = "testing"
    region = "us-east-1"
    endpoint_url = ""

    def client(self) -> "S3Client":
        """A new boto3 client of this server, independent of the machine's AWS settings."""
        import boto3
        from botocore.config import Config

        return boto3.client(
            "s3",
            endpoint_url=self.endpoint_url,
            region_name=self.region,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            config=Config(s3={"addressing_style": "path"}, proxies={}),
        )

    def create_bucket(self, name: str) -> str:
        """Create a bucket and return its name."""
        self.client().create_bucket(Bucket=name)
        return name

    def keys(self, bucket: str, prefix: str = "") -> list[str]:
        """Every key of a bucket that begins with the prefix, in order."""
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        return [each["Key"] for page in pages for each in page.get("Contents", [])]

    def objects(self, bucket: str, prefix: str = "") -> dict[str, bytes]:
        """The bodies of these objects by key."""
        client = self.client()
        return {key: client.get_object(Bucket=bucket, Key=key)["Body"].read() for key in self.keys(bucket, prefix)}


class MotoServer(S3Server):
    """Moto's S3 server with a single thread, which makes its conditional writes atomic."""

    name = "moto"

    def __init__(self) -> None:
        super().__init__()
        port_file = self.folder / "port"
        environment = child_environment(PYTHONPATH=str(REPOSITORY), S3_IGNORE_SUBDOMAIN_BUCKETNAME="true")
        try:
            self._launch([sys.executable, "-m", "tools.parts.moto_main", str(port_file)], environment)
            self._await(port_file.exists, START_TIMEOUT_S)
        except BaseException:
            self.stop()
            raise
        self.endpoint_url = f"http://{HOST}:{port_file.read_text()}"


class VersityGateway(S3Server):
    """versitygw over a folder: a real S3 server with conditional writes and many threads."""

    name = "versitygw"

    def __init__(self) -> None:
        reason = self.available()
        if reason is not None:
            raise PartError(reason)
        super().__init__()
        self._port = ReservedPort()
        self.endpoint_url = f"http://{HOST}:{self._port.number}"
        environment = child_environment(ROOT_ACCESS_KEY=self.access_key, ROOT_SECRET_KEY=self.secret_key)
        command = [str(_find_versitygw()), "--port", f"{HOST}:{self._port.number}", "--region", self.region]
        command += [*self._account_options(), "--quiet", "--health", "/health"]
        command += ["posix", *self._metadata_options(), str(self._made("store"))]
        try:
            self._launch(command, environment)
            self._await(self._is_healthy, START_TIMEOUT_S)
        except BaseException:
            self.stop()
            raise

    @staticmethod
    def available() -> str | None:
        """None where a usable versitygw is installed; otherwise the reason and what to run."""
        binary = _find_versitygw()
        how = f"Run: {sys.executable} -m tools.parts.s3 (builds {VERSITYGW_VERSION} with Go, about three minutes)"
        if binary is None:
            return f"versitygw is not on PATH, in Go's bin folder or in {cache_directory()}. {how}"
        version = _version_of(binary)
        if version is None or version < VERSITYGW_MIN:
            found = "unknown" if version is None else ".".join(map(str, version))
            return f"{binary} is versitygw {found}; {'.'.join(map(str, VERSITYGW_MIN))} or newer is needed. {how}"
        return None

    @staticmethod
    def install() -> Path:
        """Build versitygw into the cache, unless it is there, and return the binary; PartError if Go cannot."""
        folder = cached(f"versitygw-{VERSITYGW_VERSION}", _build_versitygw)
        _find_versitygw.cache_clear()
        return folder / "versitygw"

    def stop(self) -> None:
        """End the server and remove its store; harmless when repeated."""
        super().stop()
        self._port.close()

    def _made(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir()
        return folder

    def _account_options(self) -> list[str]:
        """Where it keeps other accounts than its own; unless said, it has no others."""
        return []

    def _metadata_options(self) -> list[str]:
        """Where objects' metadata goes: extended attributes, or a folder beside where the file system has none."""
        try:
            os.setxattr(self.folder, "user.kafka-s3", b"1")
        except (AttributeError, OSError):
            return ["--sidecar", str(self._made("metadata"))]
        return []

    def _is_healthy(self) -> bool:
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with direct.open(f"{self.endpoint_url}/health", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


@functools.cache
def _find_versitygw() -> Path | None:
    """The binary this part would run: the cache's, PATH's or that of `go install`; a usable one before an older one."""
    candidates = [cache_directory() / f"versitygw-{VERSITYGW_VERSION}" / "versitygw"]
    candidates += [Path(found) for found in [shutil.which("versitygw")] if found]
    candidates += [folder / "bin" / "versitygw" for folder in _go_paths()]
    found = [binary for binary in candidates if os.access(binary, os.X_OK)]
    usable = [binary for binary in found if (_version_of(binary) or (0, 0, 0)) >= VERSITYGW_MIN]
    return next(iter(usable + found), None)


def _go_paths() -> list[Path]:
    go = shutil.which("go")
    if go is None:
        return []
    answer = subprocess.run([go, "env", "GOPATH"], capture_output=True, text=True, timeout=60)
    return [Path(folder) for folder in answer.stdout.strip().split(os.pathsep) if folder]


@functools.cache
def _version_of(binary: Path) -> tuple[int, int, int] | None:
    """A versitygw's version: what it prints, or else what Go wrote into it; None if neither."""
    answer = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=60)
    stated = re.search(r"^Version\s*:\s*v?(\d+)\.(\d+)\.(\d+)", answer.stdout, re.MULTILINE)
    if stated is None:
        built = re.compile(rb"(?:mod|dep)\t" + re.escape(VERSITYGW_MODULE.encode()) + rb"\tv(\d+)\.(\d+)\.(\d+)")
        with open(binary, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found = built.search(content)
            return (int(found[1]), int(found[2]), int(found[3])) if found else None
    return int(stated[1]), int(stated[2]), int(stated[3])


def _build_versitygw(folder: Path) -> None:
    without_go = "versitygw has to be built and there is no Go on PATH. Install Go 1.25 or newer (https://go.dev)"
    package = f"{VERSITYGW_MODULE}/cmd/versitygw"
    go_build("versitygw", package, folder, takes="about three minutes", without_go=without_go)


if __name__ == "__main__":
    print(VersityGateway.install())
