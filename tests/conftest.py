"""Real parts, started once per session and shared; and an environment that does not depend on the caller's shell."""

import os
import re
import uuid
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from xdist.remote import Producer
from xdist.workermanage import WorkerController

# How long an example takes is the machine's business. In CI Hypothesis has a profile of its own that says so too, and
# that draws the same examples every time. EXAMPLES=1000 looks further, where a test does not say how far.
_PARENT = hypothesis_settings.get_profile("ci" if "CI" in os.environ else "default")
hypothesis_settings.register_profile(
    "here",
    _PARENT,
    deadline=None,
    max_examples=int(os.environ.get("EXAMPLES", "50")),
    suppress_health_check=[*_PARENT.suppress_health_check, HealthCheck.too_slow],
)
hypothesis_settings.load_profile("here")

_FOREIGN = re.compile(
    r"AIRFLOW_|SPARK_|PYSPARK_|AWS_|KAFKA_S3_(?!CACHE$)|PYTHON(PATH|HOME|DONTWRITEBYTECODE)$|HADOOP_CONF_DIR$"
)

# At import: what is tested may read the environment when it is imported itself.
for _name in [name for name in os.environ if _FOREIGN.match(name)]:
    del os.environ[_name]
os.environ |= {
    # the machine's own AWS settings, and the address that botocore asks for credentials otherwise
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    "NO_PROXY": "127.0.0.1,localhost",
    "no_proxy": "127.0.0.1,localhost",
}

from tests.shared_parts import PartsForAll, SharedBroker, SharedRegistry, ask  # noqa: E402
from tests.side_by_side import Groups, rank  # noqa: E402
from tools.parts.java import find_java  # noqa: E402  # the environment comes first
from tools.parts.kafka import KafkaBroker  # noqa: E402
from tools.parts.registry import SchemaRegistry  # noqa: E402
from tools.parts.s3 import MotoServer, VersityGateway  # noqa: E402
from tools.parts.spark import submit_variables  # noqa: E402


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Groups:
    return Groups(config, log)


_PARTS = pytest.StashKey[PartsForAll]()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    stash = node.config.stash
    if _PARTS not in stash:
        stash[_PARTS] = parts = PartsForAll()
        node.config.add_cleanup(parts.stop)
    node.workerinput["parts"] = stash[_PARTS].place


@pytest.hookimpl(tryfirst=True)  # before `-m` picks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):  # a JVM for a test or two
            item.add_marker(pytest.mark.heavy)
    nameless = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if nameless:  # processes that share the tests would not agree on their names
        raise pytest.UsageError(f"Give the parameters ids that are the same in every process: {nameless[:3]}")
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: rank(item.nodeid))


@pytest.fixture(scope="session")
def java_home() -> str:
    """The home of the Java that Spark is to run on, which JAVA_HOME names from now on; Spark starts sooner on it."""
    home = str(find_java().home)
    os.environ |= {"JAVA_HOME": home, **submit_variables()}
    return home


@pytest.fixture(scope="session")
def kafka(pytestconfig: pytest.Config) -> Iterator[KafkaBroker]:
    """A broker for all tests, whatever process they are in; each makes its own topics (`topic_name`)."""
    place = _parts_for_all(pytestconfig)
    with KafkaBroker() if place is None else SharedBroker(ask(place, "kafka")) as broker:
        yield broker


@pytest.fixture(scope="session")
def registry_server(pytestconfig: pytest.Config) -> Iterator[SchemaRegistry]:
    """A schema registry for all tests, whatever process they are in; each makes its own subjects (`topic_name`)."""
    place = _parts_for_all(pytestconfig)
    with SchemaRegistry() if place is None else SharedRegistry(ask(place, "registry")) as registry:
        yield registry


def _parts_for_all(config: pytest.Config) -> tuple[str, str] | None:
    """Where this process asks for what all share; None where it has the tests to itself."""
    shared: tuple[str, str] | None = getattr(config, "workerinput", {}).get("parts")
    return shared


@pytest.fixture(scope="session")
def moto() -> Iterator[MotoServer]:
    """A moto server for all tests; each makes its own bucket (`bucket_name`)."""
    with MotoServer() as server:
        yield server


@pytest.fixture(scope="session")
def versitygw() -> Iterator[VersityGateway]:
    """A versitygw for all tests; without the binary they are skipped, in CI they fail."""
    reason = VersityGateway.available()
    if reason is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI runs against versitygw, always. {reason}")
        pytest.skip(reason)
    with VersityGateway() as server:
        yield server


@pytest.fixture
def topic_name() -> str:
    """A name that no other test's topic has."""
    return f"topic-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def bucket_name() -> str:
    """A name that no other test's bucket has."""
    return f"bucket-{uuid.uuid4().hex[:12]}"
