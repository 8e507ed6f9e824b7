"""A bad network between the exporter and its broker: toxiproxy in front of a real one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_s3.adapters.kafka import broker as planning_client
from kafka_s3.adapters.kafka import divergence
from tests.cli.command import write_properties
from tests.conditions.disturbed import Disturbed, produce, words
from tools.parts.s3 import VersityGateway
from tools.parts.toxiproxy import ProxiedBroker, Proxy, Toxiproxy

pytestmark = pytest.mark.faults

RECORDS = 2000  # of a few hundred bytes: about 400 kB
READ_TIMEOUT_MS = 4000


@pytest.fixture(scope="module")
def proxied() -> Iterator[ProxiedBroker]:
    """A broker behind a proxy; where toxiproxy cannot be built the tests are skipped, in CI they fail."""
    reason = Toxiproxy.available()
    if reason is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI has a bad network, always. {reason}")
        pytest.skip(reason)
    with Toxiproxy() as toxiproxy, ProxiedBroker(toxiproxy) as broker:
        yield broker


@pytest.fixture
def proxy(proxied: ProxiedBroker) -> Iterator[Proxy]:
    yield proxied.proxy
    proxied.proxy.mend()


@pytest.fixture
def connector(
    proxied: ProxiedBroker, proxy: Proxy, versitygw: VersityGateway, topic_name: str, bucket_name: str, tmp_path: Path
) -> Disturbed:
    """A connector that reaches its broker through the proxy only."""
    proxied.create_topic(topic_name)
    made = Disturbed(tmp_path / "connector", topic_name, bucket_name, proxied, versitygw, flush_size=500)
    write_properties(made.folder / "worker.properties", {"bootstrap.servers": proxy.address})
    made.configure(export_read_timeout_ms=READ_TIMEOUT_MS)
    return made


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning gives up sooner than users would."""
    for module in (planning_client, divergence):
        monkeypatch.setattr(module, "CONNECT_TIMEOUT_S", 3.0)
        monkeypatch.setattr(module, "REQUEST_TIMEOUT_S", 3.0)


def fill(connector: Disturbed, label: str = "a", count: int = RECORDS) -> list[str]:
    made = words(label, count)
    produce(connector.broker.bootstrap_servers, connector.topic, made)
    return made


def drop(proxy: Proxy) -> None:
    """Every connection is closed; new ones are welcome."""
    proxy.cut()
    proxy.mend()


def reset(proxy: Proxy) -> None:
    """Every connection ends with RST, for a moment."""
    proxy.spoil("reset_peer", timeout=0)
    threading.Timer(1, proxy.mend).start()


def be_gone(proxy: Proxy) -> None:
    """Nobody listens, for less than the reader waits."""
    proxy.cut()
    threading.Timer(1.5, proxy.mend).start()


def be_silent(proxy: Proxy) -> None:
    """What is sent is swallowed, both ways, for less than the reader waits; then the connections end."""
    swallow(proxy)
    threading.Timer(1.5, lambda: drop(proxy)).start()


def delay(proxy: Proxy) -> None:
    """Every answer comes late, and not evenly."""
    proxy.spoil("latency", latency=150, jitter=140)


def trickle(proxy: Proxy) -> None:
    """A narrow line."""
    proxy.spoil("bandwidth", rate=200)


def break_off(proxy: Proxy) -> None:
    """Each connection ends after 60 kB, wherever that is in an answer."""
    proxy.spoil("limit_data", bytes=60_000)


def swallow(proxy: Proxy) -> None:
    """What is sent is swallowed, both ways, and nothing is closed."""
    proxy.spoil("timeout", timeout=0)
    proxy.spoil("timeout", "upstream", timeout=0)


def refuse(proxy: Proxy) -> None:
    """Nobody listens."""
    proxy.cut()


def break_off_at_once(proxy: Proxy) -> None:
    """Each connection ends within the first answer."""
    proxy.spoil("limit_data", bytes=100)


PASSING = [drop, reset, be_gone, be_silent, delay, trickle, break_off]
LASTING = [refuse, swallow, break_off_at_once]
Happens = Callable[[Proxy], None]


@pytest.mark.parametrize("happens", PASSING)
def test_trouble_that_passes_while_it_is_read(connector: Disturbed, proxy: Proxy, happens: Happens) -> None:
    """What is over before the reader gives up costs nothing but time: the run ends well, with every record once."""
    made = fill(connector)
    outcome = connector.export(reading=lambda: happens(proxy))
    assert outcome.status == 0, outcome.said
    assert connector.values() == made
    proxy.mend()
    assert connector.verified() == len(made)


@pytest.mark.parametrize("happens", [delay, trickle, break_off])
def test_trouble_from_the_beginning(connector: Disturbed, proxy: Proxy, happens: Happens) -> None:
    """A slow line, and one that breaks again and again, are good enough to plan, to read and to commit."""
    made = fill(connector)
    happens(proxy)
    outcome = connector.export()
    assert outcome.status == 0, outcome.said
    assert connector.values() == made


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("happens", LASTING)
@pytest.mark.parametrize("when", ["planned", "reading"])
def test_trouble_that_lasts_while_it_is_read(connector: Disturbed, proxy: Proxy, when: str, happens: Happens) -> None:
    """A broker that is out of reach for longer than export.read.timeout.ms, before the first record or after it: the
    run ends while it still is, with status 75 and the broker's address; the next one finishes, every record once."""
    made = fill(connector)
    outcome = connector.export(**{when: lambda: happens(proxy)})
    assert outcome.status == 75, outcome.said
    assert proxy.address in outcome.said
    assert connector.values() == []
    proxy.mend()
    outcome = connector.export()
    assert outcome.status == 0, outcome.said
    assert connector.values() == made
    assert connector.verified() == len(made)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("happens", LASTING)
def test_trouble_while_it_is_planned(connector: Disturbed, proxy: Proxy, happens: Happens) -> None:
    """A broker that cannot be reached when planning begins: status 75 and its address, and the log is as it was."""
    made = fill(connector)
    assert connector.export().status == 0
    made += fill(connector, "b", 100)
    before = connector.keys("")
    happens(proxy)
    outcome = connector.export()
    assert outcome.status == 75, outcome.said
    assert proxy.address in outcome.said
    assert connector.keys("") == before
    proxy.mend()
    assert connector.export().status == 0
    assert connector.values() == made


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("happens", LASTING)
def test_trouble_after_all_was_read(connector: Disturbed, proxy: Proxy, happens: Happens) -> None:
    """A broker that is gone before the commit cannot say that its log still is the one that was read: nothing is
    committed, the status is 75, and the next run finds the objects written and commits them."""
    made = fill(connector)
    outcome = connector.export(read=lambda: happens(proxy))
    assert outcome.status == 75, outcome.said
    assert proxy.address in outcome.said
    assert connector.values() == []
    written = connector.keys("topics/")
    proxy.mend()
    outcome = connector.export()
    assert outcome.status == 0, outcome.said
    assert connector.values() == made
    assert connector.keys("topics/") == written
