"""What a connector's file may have a process look up, open and import."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from kafka_s3.errors import ConfigurationError
from kafka_s3.settings import Loaded, load, lookups_of
from kafka_s3.settings.files import SIZE_MAX_BYTES, read_text
from kafka_s3.settings.reach import Reach
from tests.adapters.stores import STORES
from tests.support import MINIMAL

CANARY = "canary-4711"


def connector(folder: Path, **more: str) -> Path:
    """A connector file; `__` stands for the dots of a property's name."""
    given = {**MINIMAL, "consumer.override.bootstrap.servers": "a:1"}
    given |= {name.replace("__", "."): text for name, text in more.items()}
    path = folder / "orders.properties"
    path.write_text("".join(f"{name}={text}\n" for name, text in given.items()))
    return path


def looked_at(path: Path, environment: dict[str, str]) -> Loaded:
    """As the api-server loads it."""
    return load(path, lookups=lookups_of(environment, only_looks=True))


def problems(path: Path, environment: dict[str, str], *, only_looks: bool) -> dict[str, str]:
    with pytest.raises(ConfigurationError) as raised:
        load(path, lookups=lookups_of(environment, only_looks=only_looks))
    assert CANARY not in str(raised.value)
    return {each.name: each.message for each in raised.value.problems}


def test_a_process_that_looks_reads_nothing_unless_allowed(tmp_path: Path) -> None:
    """Without lists the api-server looks up no variable and no file: what it needs to find the log is a problem that
    names the list, what it does not need stays as it stands, and Kafka is not asked with what is missing."""
    (tmp_path / "secrets.properties").write_text(f"key={CANARY}\n")
    environment = {"HOST": CANARY, "SERVERS": CANARY}
    needed = connector(
        tmp_path, store__url="http://${env:HOST}", aws__access__key__id=f"${{file:{tmp_path}/secrets.properties:key}}"
    )
    found = problems(needed, environment, only_looks=True)
    assert "KAFKA_S3_ENV_PREFIXES does not allow it" in found["store.url"]
    assert "KAFKA_S3_FILE_ROOTS does not allow it" in found["aws.access.key.id"]
    rest = connector(tmp_path, consumer__override__bootstrap__servers="${env:SERVERS}", topics__dir="${env:HOST}")
    settings = looked_at(rest, environment).settings
    assert "KAFKA_S3_ENV_PREFIXES" in settings.kafka.refused[0]
    assert CANARY not in str(settings.kafka.client)
    assert settings.layout.topics_dir == "topics"


def test_what_is_allowed_by_name_is_looked_up(tmp_path: Path) -> None:
    """Prefixes of variables and roots of files open what they name, and nothing beside it; `*` opens everything."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "s.properties").write_text("key=AKIA\n")
    (tmp_path / "outside.properties").write_text(f"key={CANARY}\n")
    environment = {
        "ORDERS_HOST": "one",
        "OTHER": CANARY,
        "KAFKA_S3_ENV_PREFIXES": "ORDERS_",
        "KAFKA_S3_FILE_ROOTS": str(inside),
    }
    keys = {"aws__access__key__id": f"${{file:{inside}/s.properties:key}}", "aws__secret__access__key": "s"}
    loaded = looked_at(connector(tmp_path, store__url="http://${env:ORDERS_HOST}", **keys), environment)
    assert (loaded.settings.s3.endpoint_url, loaded.settings.s3.access_key_id) == ("http://one", "AKIA")
    assert loaded.settings.hidden == {"one", "AKIA"}
    wrong = {"aws__access__key__id": f"${{file:{inside}/../outside.properties:key}}", "aws__secret__access__key": "s"}
    assert problems(connector(tmp_path, store__url="${env:OTHER}", **wrong), environment, only_looks=True).keys() == {
        "store.url",
        "aws.access.key.id",
    }
    anything = {**environment, "KAFKA_S3_ENV_PREFIXES": "*", "KAFKA_S3_FILE_ROOTS": "*"}
    assert looked_at(connector(tmp_path, **wrong), anything).settings.s3.access_key_id == CANARY


def test_a_key_that_is_out_of_reach_is_no_missing_key(tmp_path: Path) -> None:
    """A process that may not look up the log's key says so: it never goes on as if the log had none."""
    path = connector(tmp_path, export__log__key="${env:LOG_KEY}")
    found = problems(path, {"LOG_KEY": CANARY * 8}, only_looks=True)
    assert "KAFKA_S3_ENV_PREFIXES does not allow it" in found["export.log.key"]
    allowed = looked_at(path, {"LOG_KEY": "k" * 40, "KAFKA_S3_ENV_PREFIXES": "LOG_KEY"})
    assert allowed.settings.log_key != looked_at(connector(tmp_path), {}).settings.log_key


def test_lists_hold_wherever_they_are_set(tmp_path: Path) -> None:
    """A driver or a command without lists looks up everything, as before; with a list that holds for them too."""
    path = connector(tmp_path, store__url="http://${env:HOST}")
    assert load(path, lookups=lookups_of({"HOST": "one"})).settings.s3.endpoint_url == "http://one"
    found = problems(path, {"HOST": CANARY, "KAFKA_S3_ENV_PREFIXES": ""}, only_looks=False)
    assert found.keys() == {"store.url"}


def test_links_lead_nowhere_else(tmp_path: Path) -> None:
    """A link below a root to a file outside of it is outside, also where a folder on the way is the link."""
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.properties").write_text(f"key={CANARY}\n")
    (root / "link.properties").symlink_to(tmp_path / "secret.properties")
    (root / "folder").symlink_to(tmp_path)
    (root / "good.properties").write_text("key=fine\n")
    (root / "inner.properties").symlink_to(root / "good.properties")
    reach = Reach(file_roots=(str(root),))
    for name in ("link.properties", "folder/secret.properties", "../secret.properties"):
        assert not reach.has_file(str(root / name))
        with pytest.raises(PermissionError):
            read_text(str(root / name), reach)
    assert read_text(str(root / "inner.properties"), reach) == "key=fine\n"


def test_certificates_lie_below_the_roots(tmp_path: Path) -> None:
    """Kafka's and the registry's certificates and keys are files that a connector names, like `${file:}`: what no list
    allows, the api-server gives to no client, so Kafka is not asked; a driver with a list refuses it by name."""
    inside = tmp_path / "inside"
    inside.mkdir()
    for name in (inside / "ca.pem", tmp_path / "ca.pem"):
        name.write_text("")
    (inside / "link.pem").symlink_to(tmp_path / "ca.pem")
    registry = "value.converter.schema.registry"
    names = ("consumer.override.ssl.truststore.location", "consumer.override.ssl.keystore.location")
    names += (f"{registry}.ssl.truststore.location", f"{registry}.ssl.keystore.location")
    types = {f"{name.removesuffix('location')}type": "PEM" for name in names}
    types |= {f"{registry}.url": "https://r", "value.converter": "io.confluent.connect.avro.AvroConverter"}
    types = {name.replace(".", "__"): text for name, text in types.items()}
    said = "a file that is not looked up here: KAFKA_S3_FILE_ROOTS does not allow it in this process"

    def at(place: Path) -> Path:
        return connector(tmp_path, **types, **{name.replace(".", "__"): str(place) for name in names})

    def opened(loaded: Loaded) -> set[str]:
        content = loaded.settings.format.value
        clients = [loaded.settings.kafka.client, content.registry.client if content.registry else {}]
        return {text for client in clients for name, text in client.items() if name.endswith(".location")}

    roots = {"KAFKA_S3_FILE_ROOTS": str(inside)}
    assert opened(looked_at(at(inside / "ca.pem"), roots)) == {str(inside / "ca.pem")}
    for place in (tmp_path / "ca.pem", inside / "link.pem", inside / ".." / "ca.pem"):
        assert opened(load(at(place), lookups=lookups_of({}))) == {str(place)}
        found = problems(at(place), roots, only_looks=False)
        assert found.keys() == set(names)
        assert all(said in message for message in found.values())
        for environment in ({}, roots):
            loaded = looked_at(at(place), environment)
            assert opened(loaded) == set()
            assert [said in each for each in loaded.settings.kafka.refused] == [True, True]


def test_a_worker_files_certificates_are_bound_too(tmp_path: Path) -> None:
    """A place in worker.properties, whether for every client or for consumers, is refused by its name there; blank
    ones are no files, and a certificate that is written out is not looked for."""
    path = connector(tmp_path)
    for name in ("ssl.truststore.location", "consumer.ssl.truststore.location"):
        (tmp_path / "worker.properties").write_text(f"ssl.truststore.type=PEM\n{name}=/etc/hostname\n")
        (said,) = looked_at(path, {}).settings.kafka.refused
        assert said.startswith(name)
    (tmp_path / "worker.properties").write_text("ssl.truststore.type=PEM\nssl.truststore.location=\n")
    assert looked_at(path, {}).settings.kafka.refused == ()


def test_no_name_of_a_file_ends_in_a_traceback(tmp_path: Path) -> None:
    """A null byte in the name of a file is a sentence, with a list and without."""
    path = connector(tmp_path, s3__region=f"${{file:{tmp_path}/a\\u0000b:key}}")
    for environment in ({}, {"KAFKA_S3_FILE_ROOTS": str(tmp_path)}):
        assert "the variable" in problems(path, environment, only_looks=False)["s3.region"]


@pytest.mark.timeout(60)
def test_what_is_no_file_or_too_large_is_refused(tmp_path: Path) -> None:
    """A pipe, a device and a folder are not waited for, and a huge file is not read: sentences, in every process."""
    os.mkfifo(tmp_path / "pipe.properties")
    (tmp_path / "huge.properties").write_bytes(b"key=x\n" + b"#" * SIZE_MAX_BYTES)
    for name in (tmp_path / "pipe.properties", Path("/dev/zero"), tmp_path, tmp_path / "huge.properties"):
        found = problems(connector(tmp_path, s3__region=f"${{file:{name}:key}}"), {}, only_looks=False)
        assert re.search(r"the file cannot be read \((it is |Is a directory)", found["s3.region"])
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load(tmp_path / "pipe.properties", lookups=lookups_of({}))


def test_classes_are_imported_by_name_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The api-server imports no class of a connector's file; of what it does not need it says nothing. One that gives
    credentials it would need. A driver with a list imports what is on it, one without imports what it is told."""
    (tmp_path / "own_4711.py").write_text(
        "open('imported', 'w').close()\n"
        "class Paths:\n    def encode(self, record): return ''\n"
        "class Vault:\n    def credentials(self): return None\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    paths = connector(tmp_path, partitioner__class="own_4711:Paths")
    assert looked_at(paths, {}).settings.name == "orders"
    vault = connector(tmp_path, s3__credentials__provider__class="own_4711:Vault")
    said = problems(vault, {}, only_looks=True)
    assert said == {
        "s3.credentials.provider.class": "is not imported here: KAFKA_S3_CLASSES does not allow it in this process"
    }
    other = {"KAFKA_S3_CLASSES": "own_4711:Paths,another.module"}
    assert problems(vault, other, only_looks=False) == said
    assert not Path("imported").exists()
    assert "own_4711" not in sys.modules
    load(connector(tmp_path, partitioner__class="own_4711:Paths"), lookups=lookups_of(other))
    assert Path("imported").exists()


def test_what_a_variable_stood_for_is_a_secret_everywhere(tmp_path: Path) -> None:
    """A value from the environment, in whatever property, is in no report, no plan, no repr and not in the hash."""

    def loaded(value: str) -> Loaded:
        names = ("topics.dir", "store.url", "s3.bucket.name", "consumer.override.client.id")
        more = {name.replace(".", "__"): "${env:X}" for name in names} | {"store__url": "http://${env:X}"}
        return load(connector(tmp_path, **more), lookups=lookups_of({"X": value}))

    one = loaded(CANARY)
    assert one.settings.layout.topics_dir == CANARY
    shown = repr(one) + str(one.report) + str(one.settings.resolved)
    assert f"'{CANARY}'" not in str(one.report)
    assert CANARY not in str(one.settings.resolved)
    assert all(CANARY not in row.value for row in one.report)
    assert "[hidden]" in shown
    assert one.settings.hidden == {CANARY}
    assert one.settings.configuration_sha256 == loaded("another").settings.configuration_sha256


def test_stores_of_a_connection_are_the_operators(tmp_path: Path) -> None:
    """A store that an Airflow connection names is opened wherever it lies; a connector that names the same file, by a
    property or in its login, is refused."""
    store = str(STORES / "trust.jks")
    roots = {"KAFKA_S3_FILE_ROOTS": str(tmp_path)}
    connection = {"ssl.truststore.location": store, "ssl.truststore.password": "store-password"}
    for only_looks in (False, True):
        lookups = lookups_of(roots, only_looks=only_looks)
        found = load(connector(tmp_path), lookups=lookups, kafka_connection=connection).settings.kafka
        assert (found.refused, "ssl.ca.pem" in found.client) == ((), True)
    own = connector(tmp_path, consumer__override__ssl__truststore__location=store)
    with pytest.raises(ConfigurationError, match="KAFKA_S3_FILE_ROOTS does not allow it"):
        load(own, lookups=lookups_of(roots), kafka_connection=connection)
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLogin"
    login = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": f"{module}CallbackHandler",
        "sasl.oauthbearer.token.endpoint.url": "https://t",
    }
    jaas = f'{module}Module required clientId="a" clientSecret="b" ssl.truststore.location="{store}";'
    own = connector(tmp_path, consumer__override__sasl__jaas__config=jaas)
    with pytest.raises(ConfigurationError, match=r"sasl\.jaas\.config: .*trust\.jks cannot be read: it lies elsewhere"):
        load(own, lookups=lookups_of(roots), kafka_connection=login)
    found = load(
        connector(tmp_path), lookups=lookups_of(roots), kafka_connection={**login, "sasl.jaas.config": jaas}
    ).settings.kafka
    assert "https.ca.pem" in found.client


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {
                "format__class": "io.confluent.connect.s3.format.avro.AvroFormat",
                "export__value__schema__file": "/no/{}",
            },
            "/no/[hidden] cannot be read: No such file or directory.",
        ),
        ({"partitioner__class": "{}.paths:ByCustomer"}, "importing [hidden].paths raised ModuleNotFoundError"),
        ({"transforms": "a", "transforms__a__type": "{}:Mine"}, "importing [hidden] raised ModuleNotFoundError"),
    ],
)
def test_no_message_has_what_a_variable_stood_for(tmp_path: Path, given: dict[str, str], said: str) -> None:
    """Neither in the place of a file nor in a class that cannot be imported."""
    name = [*given][-1]
    path = connector(tmp_path, **{**given, name: given[name].replace("{}", "${env:PLACE}")})
    found = problems(path, {"PLACE": "canary_4711"}, only_looks=False)
    assert said in found[name.replace("__", ".")]
    assert "canary_4711" not in str(found)
