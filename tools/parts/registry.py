"""A schema registry: Apicurio, which answers as Confluent's does, from its published archive."""

import functools
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka.schema_registry import SchemaRegistryClient

from tools.parts.class_data import DUMP_TIMEOUT_S, class_data
from tools.parts.jars import Jar, resolve
from tools.parts.java import BRIEF, find_java
from tools.parts.process import HOST, Part, ReservedPort, child_environment

REGISTRY_VERSION = "2.6.13.Final"
START_TIMEOUT_S = 90

_JVM = ("-Xmx256m", *BRIEF, "-Djava.awt.headless=true")


class SchemaRegistry(Part):
    """A registry on 127.0.0.1 that keeps its schemas in memory and answers when the constructor returns.

    `url` is what Connect's schema.registry.url names. The first registry on a machine downloads Apicurio.
    `java_options`: what the JVM starts with instead of what it remembers of earlier registries.
    """

    name = "registry"

    def __init__(self, *, java_options: Sequence[str] | None = None) -> None:
        jar = next(registry_jars().glob("*-runner.jar"))
        remembered = _remembered() if java_options is None else java_options
        java = find_java()
        super().__init__()
        self._port = ReservedPort()
        self.url = f"http://{HOST}:{self._port.number}/apis/ccompat/v7"
        command: list[str | Path] = [java.executable, *_JVM, *remembered, f"-Djava.io.tmpdir={self.folder}"]
        command += [f"-Dquarkus.http.host={HOST}", f"-Dquarkus.http.port={self._port.number}", "-jar", jar]
        try:
            self._launch(command, child_environment())
            self._await(self._answers, START_TIMEOUT_S)
        except BaseException:
            self.stop()
            raise

    def client(self) -> SchemaRegistryClient:
        """A new client of this registry."""
        return SchemaRegistryClient({"url": self.url, "timeout": 30})

    def stop(self) -> None:
        """End the registry and forget its schemas; harmless when repeated."""
        super().stop()
        self._port.close()

    def _answers(self) -> bool:
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with direct.open(f"{self.url}/subjects", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


@functools.cache
def _remembered() -> Sequence[str]:
    def run(options: Sequence[str]) -> None:
        with SchemaRegistry(java_options=options) as registry:
            registry._terminate(DUMP_TIMEOUT_S)

    return class_data(f"apicurio-{REGISTRY_VERSION}", run)


def registry_jars() -> Path:
    """The folder with Apicurio's jars, downloaded on the first call."""
    archive = Jar("io.apicurio", "apicurio-registry-app", REGISTRY_VERSION, classifier="all", type="tar.gz")
    return resolve(f"apicurio-{REGISTRY_VERSION}", [archive], transitive=False)
