"""What is downloaded and installed is what the repository says, byte for byte."""

import hashlib
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tools.parts import digests
from tools.parts.errors import PartError
from tools.parts.golang import MODULES
from tools.parts.jars import Jar, resolve

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "tools" / "requirements"


def test_a_file_with_another_digest_is_refused_and_removed(tmp_path: Path) -> None:
    """A download that is not the kept file, or of which nothing is kept, is an error with both digests; it is removed
    where it was put and where the downloader keeps its copy, and the good ones stay."""
    (tmp_path / "copies" / "deep").mkdir(parents=True)
    for name, content in (("good-1.jar", b"good"), ("bad-1.jar", b"changed"), ("new-1.jar", b"new")):
        (tmp_path / name).write_bytes(content)
        (tmp_path / "copies" / "deep" / name).write_bytes(content)
    kept = {"good-1.jar": hashlib.sha256(b"good").hexdigest(), "bad-1.jar": hashlib.sha256(b"meant").hexdigest()}
    with pytest.raises(PartError) as refused:
        digests.check(sorted(tmp_path.glob("*.jar")), tmp_path / "copies", kept)
    said = str(refused.value)
    assert f"bad-1.jar: {hashlib.sha256(b'changed').hexdigest()}, expected {kept['bad-1.jar']}" in said
    assert "new-1.jar" in said
    assert "expected none" in said
    assert "good-1.jar" not in said
    assert sorted(path.name for path in tmp_path.rglob("*.jar")) == ["good-1.jar", "good-1.jar"]


def test_jars_are_checked_before_anybody_uses_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A jar that Ivy brings with another digest becomes no part: the cache has no folder of it."""

    class Done:
        returncode, stdout = 0, ""

    real = subprocess.run

    def ivy(command: list[str], **options: Any) -> Any:
        if "-ivy" not in command:
            return real(command, **options)
        (Path(command[command.index("-ivy") + 1]).parent / "joda-time-2.14.1.jar").write_bytes(b"changed on the way")
        return Done()

    monkeypatch.setenv("KAFKA_S3_CACHE", str(tmp_path))
    monkeypatch.setattr(subprocess, "run", ivy)
    with pytest.raises(PartError, match=r"joda-time-2\.14\.1\.jar: [0-9a-f]{64}, expected [0-9a-f]{64}"):
        resolve("joda-time-2.14.1", [Jar("joda-time", "joda-time", "2.14.1")], transitive=False)
    assert not (tmp_path / "joda-time-2.14.1").exists()


def test_every_requirement_has_hashes() -> None:
    """Each package of each file is pinned and has hashes, and no file names an index, a server or a folder."""
    for path in (ROOT / "constraints.txt", *sorted(LOCKS.glob("*.txt"))):
        text = path.read_text()
        blocks = re.findall(r"^(\S.*?)\n((?:    .*\n)*)", text, re.M)
        assert blocks, path
        for requirement, hashes in blocks:
            assert re.fullmatch(r"[a-z0-9][a-z0-9._-]*(\[[a-z,-]+\])?==\S+( ; .+)? \\", requirement), requirement
            assert re.fullmatch(r"(    --hash=sha256:[0-9a-f]{64}( \\)?\n)+", hashes), requirement
        assert "://" not in text
        assert "--index" not in text
        assert "--find-links" not in text


def test_what_is_locked_agrees() -> None:
    """The image's packages are those of the tests, the build backend is the one that pyproject.toml requires, and
    everything that pyproject.toml asks for is locked."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    whole, image = _pins(ROOT / "constraints.txt"), _pins(LOCKS / "image.txt")
    assert image.items() <= whole.items()
    build = _pins(LOCKS / "build.txt")
    assert project["build-system"]["requires"] == [f"hatchling=={build['hatchling']}"]
    extras = project["project"]["optional-dependencies"]
    in_image = [name for extra in ("airflow", "spark", "postgres", "protobuf") for name in extras[extra]]
    assert _names(project["project"]["dependencies"] + in_image) <= image.keys()
    assert _names(extras["dev"]) - {"kafka-s3"} <= whole.keys()
    assert _names(extras["java"]) == _pins(LOCKS / "java.txt").keys()
    inputs = [line for line in (LOCKS / "java.in").read_text().splitlines() if not line.startswith("#")]
    assert inputs == extras["java"]


def test_every_module_of_go_has_a_hash() -> None:
    """What Go builds is pinned: the program's module in the version that the part names, and a hash for each module."""
    from tools.parts.compose import COMPOSE_GO_VERSION
    from tools.parts.promrules import PROMETHEUS_VERSION
    from tools.parts.s3 import VERSITYGW_VERSION
    from tools.parts.toxiproxy import TOXIPROXY_VERSION

    wanted = {"versitygw": VERSITYGW_VERSION, "toxiproxy": TOXIPROXY_VERSION, "compose-go": COMPOSE_GO_VERSION}
    wanted["promrules"] = PROMETHEUS_VERSION
    programs = {"promrules": "prometheus"}  # a program of ours over that module
    assert {path.name for path in MODULES.iterdir()} == wanted.keys()
    for name, version in wanted.items():
        required = re.findall(r"^\s*(?:require )?(\S+\.\S+/\S+) (v\S+)", (MODULES / name / "go.mod").read_text(), re.M)
        sums = (MODULES / name / "go.sum").read_text()
        assert any(
            module.removesuffix("/v2").endswith(programs.get(name, name)) and at == f"v{version}"
            for module, at in required
        ), name
        missing = [module for module, at in required if f"{module} {at} h1:" not in sums]
        assert missing == [], name


def _pins(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)(?:\[[a-z,-]+\])?==([^\s;]+)", path.read_text(), re.M))


def _names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=;]", each)[0].strip().lower() for each in requirements}
