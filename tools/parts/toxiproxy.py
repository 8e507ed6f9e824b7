"""A bad network: toxiproxy between a client and a server, and a Kafka broker that can only be reached through one."""

import json
import shutil
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Literal

from tools.parts.cache import cache_directory, cached
from tools.parts.errors import PartError
from tools.parts.golang import go_build
from tools.parts.kafka import KafkaBroker
from tools.parts.process import HOST, Part, ReservedPort, child_environment

TOXIPROXY_VERSION = "2.12.0"
_PACKAGE = "github.com/Shopify/toxiproxy/v2/cmd/server"
_FOLDER = f"toxiproxy-{TOXIPROXY_VERSION}"
START_TIMEOUT_S = 60
REQUEST_TIMEOUT_S = 30


class Toxiproxy(Part):
    """toxiproxy on 127.0.0.1, without any proxy at first."""

    name = "toxiproxy"

    def __init__(self) -> None:
        reason = self.available()
        if reason is not None:
            raise PartError(reason)
        super().__init__()
        self._port = ReservedPort()
        self._ports: list[ReservedPort] = []
        self._url = f"http://{HOST}:{self._port.number}"
        command = [str(self.install()), "-host", HOST, "-port", str(self._port.number)]
        try:
            self._launch(command, child_environment(LOG_LEVEL="error"))
            self._await(self._answers, START_TIMEOUT_S)
        except BaseException:
            self.stop()
            raise

    @staticmethod
    def available() -> str | None:
        """None where it is built or can be; otherwise the reason and what to do."""
        if shutil.which("go") is None and not (cache_directory() / _FOLDER).is_dir():
            return "toxiproxy has to be built and there is no Go on PATH. See https://go.dev"
        return None

    @staticmethod
    def install() -> Path:
        """Build toxiproxy into the cache, unless it is there, and return the binary; PartError if Go cannot."""
        return cached(_FOLDER, _build) / "server"

    def proxy(self, upstream: str) -> "Proxy":
        """A new proxy for the server at `upstream`, on a port of its own."""
        port = ReservedPort()
        self._ports.append(port)
        address = f"{HOST}:{port.number}"
        self.ask("POST", "/proxies", {"name": str(port.number), "listen": address, "upstream": upstream})
        return Proxy(self, str(port.number), address)

    def stop(self) -> None:
        """End all proxies; harmless when repeated."""
        super().stop()
        for port in [self._port, *self._ports]:
            port.close()

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """One request of toxiproxy's own HTTP interface."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, {"Content-Type": "application/json"}, method=method)
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with direct.open(request, timeout=REQUEST_TIMEOUT_S) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace")
            raise PartError(f"toxiproxy refused {method} {path} with {body}: {said}") from error

    def _answers(self) -> bool:
        try:
            return isinstance(self.ask("GET", "/proxies"), dict)
        except (urllib.error.URLError, OSError):
            return False


class Proxy:
    """One proxied address, and what can go wrong on the way to it."""

    def __init__(self, toxiproxy: Toxiproxy, name: str, address: str) -> None:
        self.address = address
        self._toxiproxy = toxiproxy
        self._path = f"/proxies/{name}"

    def cut(self) -> None:
        """Close every connection and refuse new ones."""
        self._toxiproxy.ask("POST", self._path, {"enabled": False})

    def spoil(self, kind: str, stream: Literal["upstream", "downstream"] = "downstream", **attributes: int) -> None:
        """Add one of toxiproxy's toxics, by its name and attributes, to connections old and new.

        `latency` (ms), `timeout` (0: what comes is swallowed, and nothing is closed), `reset_peer` (after `timeout`
        ms), `limit_data` (each connection is closed after `bytes`), `bandwidth` (`rate` in KB/s).
        """
        self._toxiproxy.ask("POST", f"{self._path}/toxics", {"type": kind, "stream": stream, "attributes": attributes})

    def mend(self) -> None:
        """All is well again."""
        for toxic in self._toxiproxy.ask("GET", f"{self._path}/toxics"):
            self._toxiproxy.ask("DELETE", f"{self._path}/toxics/{toxic['name']}")
        self._toxiproxy.ask("POST", self._path, {"enabled": True})


class ProxiedBroker(KafkaBroker):
    """A broker with a second address, `proxy.address`: clients that begin there are told of no other."""

    name = "kafka-proxied"

    def __init__(self, toxiproxy: Toxiproxy) -> None:
        self._inner_port = ReservedPort()
        self.proxy = toxiproxy.proxy(f"{HOST}:{self._inner_port.number}")
        protocols = "PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT"
        super().__init__({"listener.security.protocol.map": protocols})

    def stop(self) -> None:
        """End the broker and remove its data; harmless when repeated."""
        super().stop()
        self._inner_port.close()

    def _addresses(self) -> dict[str, str]:
        plain = super()._addresses()
        return plain | {
            "listeners": f"{plain['listeners']},PROXIED://{HOST}:{self._inner_port.number}",
            "advertised.listeners": f"{plain['advertised.listeners']},PROXIED://{self.proxy.address}",
        }


def _build(folder: Path) -> None:
    without_go = Toxiproxy.available() or "there is no Go on PATH"
    go_build("toxiproxy", _PACKAGE, folder, takes="half a minute", without_go=without_go)


if __name__ == "__main__":
    print(Toxiproxy.install())
