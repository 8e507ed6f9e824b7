"""YARN on this machine: a ResourceManager and a NodeManager, out of Hadoop's own jar for tests; no HDFS."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from tools.parts.errors import PartError
from tools.parts.jars import Jar, pyspark_folder, resolve
from tools.parts.java import BRIEF, find_java
from tools.parts.process import HOST, Part, ReservedPort, UntilStopped, child_environment

#: In the release of pyspark's own client: the jar has the servers, pyspark's jars what they share with it.
HADOOP: Final = "3.5.0"
JARS: Final = (
    Jar("org.apache.hadoop", "hadoop-client-minicluster", HADOOP),
    *(Jar("org.bouncycastle", f"{name}-jdk18on", "1.82") for name in ("bcprov", "bcpkix", "bcutil")),
)
START_TIMEOUT_S: Final = 120
_SHARED: Final = ("hadoop-client-", "slf4j-", "log4j-", "jcl-over-", "jul-to-")
_PORTS: Final = ("address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address")
_SERVER: Final = "org.apache.hadoop.yarn.server"


class _Daemon(Part):
    """One of YARN's processes; its pages have no content, since the jar has none."""

    def __init__(self, name: str, class_name: str, conf: Path) -> None:
        self.name = name
        super().__init__()
        for pages in ("cluster", "node"):
            (self.folder / "webapps" / pages).mkdir(parents=True)
        own = resolve(f"yarn-{HADOOP}", JARS, transitive=False).glob("*.jar")
        jars = [path for path in sorted((pyspark_folder() / "jars").iterdir()) if path.name.startswith(_SHARED)]
        classes = ":".join(map(str, (conf, self.folder, *own, *jars)))
        java = find_java()
        options = (*BRIEF, f"-Djava.io.tmpdir={self.folder}", "-Dorg.apache.logging.log4j.level=INFO")
        command: list[str | Path] = [java.executable, *options, "-cp", classes, class_name]
        self._launch(command, child_environment(JAVA_HOME=str(java.home), HADOOP_CONF_DIR=str(conf)))


class YarnCluster(UntilStopped):
    """A ResourceManager with one node that has registered when the constructor returns. `conf` is HADOOP_CONF_DIR."""

    def __init__(self, *, cores: int = 2, memory_mb: int = 4096) -> None:
        self._ports = {name: ReservedPort() for name in _PORTS}
        self._daemons: list[_Daemon] = []
        self._place = _Folder()
        self.conf = self._place.folder / "conf"
        try:
            self._configure(cores, memory_mb)
            manager = self._start("yarn-resourcemanager", f"{_SERVER}.resourcemanager.ResourceManager")
            self._start("yarn-nodemanager", f"{_SERVER}.nodemanager.NodeManager")
            manager._await(lambda: "registered with capability" in manager.log.read_text(), START_TIMEOUT_S)
        except BaseException:
            self.stop()
            raise

    @property
    def containers(self) -> Path:
        """Where each container leaves its standard output and error."""
        return self._place.folder / "logs"

    def stop(self) -> None:
        """End both, with the containers, and remove their folders."""
        for daemon in reversed(self._daemons):
            daemon.stop()
        for port in self._ports.values():
            port.close()
        self._place.stop()

    def _start(self, name: str, class_name: str) -> _Daemon:
        daemon = _Daemon(name, class_name, self.conf)
        self._daemons.append(daemon)
        if not daemon.is_running:
            raise PartError(f"{name} ended at once:\n{daemon.log_tail()}")
        return daemon

    def _configure(self, cores: int, memory_mb: int) -> None:
        folder = self._place.folder
        addresses = {f"yarn.resourcemanager.{name}": f"{HOST}:{port.number}" for name, port in self._ports.items()}
        node = {f"yarn.nodemanager.{name}address": f"{HOST}:0" for name in ("", "localizer.", "webapp.")}
        self.conf.mkdir()
        _write(self.conf / "core-site.xml", {"fs.defaultFS": "file:///", "hadoop.tmp.dir": f"{folder}/tmp"})
        _write(
            self.conf / "yarn-site.xml",
            {
                **addresses,
                **node,
                "yarn.resourcemanager.hostname": HOST,
                "yarn.resourcemanager.scheduler.class": f"{_SERVER}.resourcemanager.scheduler.fifo.FifoScheduler",
                "yarn.scheduler.minimum-allocation-mb": "256",
                "yarn.nodemanager.local-dirs": f"{folder}/local",
                "yarn.nodemanager.log-dirs": str(self.containers),
                "yarn.nodemanager.resource.memory-mb": str(memory_mb),
                "yarn.nodemanager.resource.cpu-vcores": str(cores),
                "yarn.nodemanager.vmem-check-enabled": "false",  # Java's virtual memory is none of its own
                "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99",
            },
        )


class _Folder(Part):
    """A folder that is removed, whoever ends."""

    name = "yarn"


def _write(path: Path, properties: Mapping[str, str]) -> None:
    lines = (
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in properties.items()
    )
    path.write_text(f"<configuration>\n{''.join(lines)}</configuration>\n")
