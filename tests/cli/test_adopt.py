"""adopt on a real broker and a real S3 API, behind what the Connect sink would have left."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest
from click.testing import Result
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Assignment

from tests.adopt.sink import Encode, Sink, by_field
from tests.cli.command import call, call_process
from tests.cli.conftest import SECRET, ConnectorFile

# How the sink's partitioner encodes an offset, and the properties that make ours do the same: the field `o` of a record
# is its offset, and its time in milliseconds.
TIME_BASED = {
    "partitioner.class": "TimeBasedPartitioner",
    "path.format": "'ms'=SSS",
    "partition.duration.ms": "4",
    "timezone": "UTC",
    "locale": "en",
    "timestamp.extractor": "RecordField",
    "timestamp.field": "o",
}
LAYOUTS: dict[str, tuple[Encode | None, dict[str, str]]] = {
    "default": (None, {}),
    "time": (lambda offset: f"ms={offset // 4 * 4:03}", TIME_BASED),
    "field": (lambda offset: f"o={offset}", {"partitioner.class": "FieldPartitioner", "partition.field.name": "o"}),
}


def _call(connector: ConnectorFile, command: str, *arguments: object, input: str | None = None) -> Result:
    result = call(command, connector.config, *arguments, env=connector.env, input=input)
    assert SECRET not in result.output
    return result


def _produce(connector: ConnectorFile, partition: int, count: int) -> None:
    values: list[bytes | None] = [json.dumps({"p": partition, "o": n}).encode() for n in range(count)]
    connector.produce_values(values, partition=partition)


def _sink(connector: ConnectorFile, encode: Encode | None = None) -> Sink:
    return Sink(connector.topic, 3, connector.overwrite, encode, ".json.gz")


def _commit(connector: ConnectorFile, group: str, sink: Sink) -> None:
    configuration = {"bootstrap.servers": connector.broker.bootstrap_servers, "group.id": group}
    consumer = Consumer({**configuration, "enable.auto.commit": False})
    try:
        offsets = [Assignment(*tp, offset) for tp, offset in sink.committed.items()]
        consumer.commit(offsets=offsets, asynchronous=False)
    finally:
        consumer.close()


def _exported(connector: ConnectorFile) -> Counter[tuple[int, int]]:
    lines = [
        line for key in connector.keys("topics/") for line in gzip.decompress(connector.body(key)).decode().splitlines()
    ]
    return Counter((row["p"], row["o"]) for row in map(json.loads, lines))


@pytest.fixture
def group(connector: ConnectorFile) -> str:
    """The group of the connector's name, which all tests' connectors share, renamed: each test has its own."""
    text = connector.config.read_text()
    connector.config.write_text(text.replace("name=orders", f"name={connector.topic}"))
    return f"connect-{connector.topic}"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_user_of_the_sink_moves_over(connector: ConnectorFile, group: str, layout: str) -> None:
    """Names, group and Kafka agree: positions are shown and written; the run leaves nothing out and doubles none, and
    goes on in the sink's folders."""
    encode, properties = LAYOUTS[layout]
    with connector.config.open("a") as config:
        config.writelines(f"{name}={value}\n" for name, value in properties.items())
    _produce(connector, 0, 20)
    _produce(connector, 1, 2)
    sink = _sink(connector, encode)
    sink.put(0, range(14))  # four rotations; two records in files that were never closed
    sink.put(1, range(2))
    _commit(connector, group, sink)

    result = _call(connector, "adopt", "--yes")
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.stdout.splitlines() if line.startswith(f"{connector.topic} ")]
    assert [row[1] for row in rows] == ["0", "1"]
    assert rows[0][-5:] == ["12", "0", "20", "group", group]
    assert rows[1][-4:] == ["0", "0", "2", "auto.offset.reset=earliest"]
    assert "Adopted: _kafka_s3/" in result.stdout
    assert _call(connector, "run", "--until-now").exit_code == 0
    assert _exported(connector) == Counter([(0, n) for n in range(20)] + [(1, n) for n in range(2)])
    folders = {key.split("/")[2] for key in connector.keys("topics/")}
    assert folders == {f"partition={p}" for p in (0, 1)} if encode is None else set(map(encode, range(20)))
    verified = _call(connector, "verify", "--against-kafka")
    assert verified.exit_code == 0, verified.output
    assert "orphan" not in verified.stdout
    status = _call(connector, "status")
    assert status.exit_code == 0
    assert " adopt " in status.stdout
    again = _call(connector, "adopt", "--yes")
    assert again.exit_code == 1
    assert "has a log already" in again.stderr


def test_without_a_group_kafka_confirms_the_count(connector: ConnectorFile, group: str) -> None:
    """The group's offsets have expired: records are counted and found again in Kafka."""
    _produce(connector, 0, 10)
    _sink(connector, by_field(2)).put(0, range(9))
    shown = json.loads(_call(connector, "adopt", "--json").stdout)
    assert (shown["written"], shown["settled"]) == (False, True)
    assert connector.keys("_kafka_s3/") == []
    assert shown["partitions"][0] == {
        "topic": connector.topic,
        "partition": 0,
        "objects": 6,
        "first_start": 0,
        "last_start": 7,
        "records_in_last": 1,
        "position": 9,
        "log_start": 0,
        "log_end": 10,
        "source": "objects, found again in Kafka",
        "group_offset": None,
        "disputes": [],
        "notes": [],
    }
    written = json.loads(_call(connector, "adopt", "--json", "--yes").stdout)
    assert written["written"] is True
    assert _call(connector, "run", "--until-now").exit_code == 0
    assert _exported(connector) == Counter((0, n) for n in range(10))


def test_a_dispute_writes_nothing_and_a_file_settles_it(connector: ConnectorFile, group: str) -> None:
    """Objects above the group's offset: exit 1 and their names, also with --yes; --positions settles it."""
    _produce(connector, 0, 6)
    sink = _sink(connector)
    sink.put(0, range(3))
    _commit(connector, group, sink)
    sink.put(0, range(3, 6))
    for arguments in (["--yes"], ["--yes", "--json"]):
        refused = _call(connector, "adopt", *arguments)
        assert refused.exit_code == 1
        assert f"topics/{connector.topic}/partition=0/{connector.topic}+0+0000000003.json.gz" in refused.stdout
    assert connector.keys("_kafka_s3/") == []
    positions = connector.config.with_name("positions.csv")
    positions.write_text(f"{connector.topic},0,6\n")
    assert _call(connector, "adopt", "--positions", positions, "--yes").exit_code == 0
    assert _call(connector, "run", "--until-now").stdout == "Nothing new.\n"
    assert _exported(connector) == Counter((0, n) for n in range(6))


def test_the_question(connector: ConnectorFile, group: str) -> None:
    """Without --yes it asks; no, and no terminal at all, write nothing."""
    _produce(connector, 0, 3)
    sink = _sink(connector)
    sink.put(0, range(3))
    _commit(connector, group, sink)
    for answer in ("n\n", ""):
        declined = _call(connector, "adopt", input=answer)
        assert declined.exit_code == 1
        assert "Nothing was written." in declined.stderr
    assert connector.keys("_kafka_s3/") == []
    assert _call(connector, "adopt", input="y\n").exit_code == 0
    assert len(connector.keys("_kafka_s3/")) == 3  # the entry and the owner


def test_a_member_of_the_group_is_seen(connector: ConnectorFile, group: str) -> None:
    """A connector that still runs is refused on the real broker, too."""
    _produce(connector, 0, 3)
    _sink(connector).put(0, range(3))
    configuration = {"bootstrap.servers": connector.broker.bootstrap_servers, "group.id": group}
    consumer = Consumer(configuration)
    try:
        consumer.subscribe([connector.topic])
        while not consumer.assignment():
            consumer.poll(0.1)
        refused = _call(connector, "adopt", "--from-objects", "--yes")
    finally:
        consumer.close()
    assert refused.exit_code == 1
    assert f"Group {group} has 1 member: the connector still runs" in refused.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--from-group", "g", "--from-objects"], 2, "mutually exclusive"),
        (["--from-group", "no-such-group"], 1, "Group no-such-group has no committed offset"),
        (["--positions", "/no/such/file"], 1, "The positions in /no/such/file cannot be read"),
        ([], 1, "There is nothing to adopt"),
    ],
)
def test_wrong_calls(connector: ConnectorFile, arguments: list[str], status: int, said: str) -> None:
    """Each is told in a sentence, without a traceback."""
    done = call_process("adopt", connector.config, *arguments, env=connector.env)
    assert done.returncode == status
    assert said in done.stderr
    assert "Traceback" not in done.stderr
