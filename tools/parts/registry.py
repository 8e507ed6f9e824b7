"""A schema registry: Apicurio, which answers as Confluent's does, from its published archive."""

import urllib.error
import urllib.request
from pathlib import Path

from confluent_kafka.schema_registry import SchemaRegistryClient

from tools.parts.jars import Jar, resolve
from tools.parts.java import find_java
from tools.parts.process import HOST, Part, ReservedPort, child_environment

REGISTRY_VERSION = "2.6.13.Final"
START_TIMEOUT_S = 90

_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")


class SchemaRegistry(Part):
    """A registry on 127.0.0.1 that keeps its schemas in memory and answers when the constructor returns.

    `url` is what Connect's schema.registry.url names. The first registry on a machine downloads Apicurio.
    """

    name = "registry"

    def __init__(self) -> None:
        jar = next(registry_jars().glob("*-runner.jar"))
        java = find_java()
        super().__init__()
        self._port = ReservedPort()
        self.url = f"http://{HOST}:{self._port.number}/apis/ccompat/v7"
        command: list[str | Path] = [java.executable, *_JVM, f"-Djava.io.tmpdir={self.folder}"]
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


def registry_jars() -> Path:
    """The folder with Apicurio's jars, downloaded on the first call."""
    archive = Jar("io.apicurio", "apicurio-registry-app", REGISTRY_VERSION, classifier="all", type="tar.gz")
    return resolve(f"apicurio-{REGISTRY_VERSION}", [archive], transitive=False)
