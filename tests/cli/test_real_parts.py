"""plan, run, status and verify on a real broker and a real S3 API."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest
from click.testing import Result

from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Entry
from tests.cli.command import ROOT, call, call_process, write_properties
from tests.cli.conftest import SECRET, ConnectorFile
from tests.processes import below, drivers_below


def _call(connector: ConnectorFile, command: str, *arguments: object) -> Result:
    result = call(command, connector.config, *arguments, env=connector.env)
    assert SECRET not in result.output
    return result


def _exported(connector: ConnectorFile) -> ConnectorFile:
    connector.produce(5)
    connector.produce(2, partition=1)
    result = _call(connector, "run", "--until-now")
    assert result.exit_code == 0, result.output
    return connector


def test_a_run_exports_and_is_then_proved(connector: ConnectorFile) -> None:
    """run, status and verify --against-kafka agree: every record once, under Connect's keys; a second run is idle."""
    _exported(connector)
    folder = f"topics/{connector.topic}/"
    assert connector.keys("topics/") == [
        f"{folder}partition=0/{connector.topic}+0+0000000000.json.gz",
        f"{folder}partition=0/{connector.topic}+0+0000000003.json.gz",
        f"{folder}partition=1/{connector.topic}+1+0000000000.json.gz",
    ]
    status = _call(connector, "status")
    assert status.exit_code == 0
    assert status.stdout.startswith("OK: everything readable is exported; the newest entry is 1")
    verified = _call(connector, "verify", "--against-kafka")
    assert verified.exit_code == 0, verified.output
    assert "3 objects, 7 records" in verified.stdout
    assert "2 ranges compared with Kafka: no problems found." in verified.stdout
    again = _call(connector, "run", "--until-now")
    assert (again.exit_code, again.stdout) == (0, "Nothing new.\n")


def test_an_interval_is_what_a_run_covers(connector: ConnectorFile) -> None:
    """--interval exports the records before its end and no others; without one the schedule's last one is taken."""
    connector.produce(3, timestamp_ms=1767225600000)  # 2026-01-01T00:00:00Z
    connector.produce(2, timestamp_ms=1767229200000)  # an hour later
    first = ("--interval", "2026-01-01T00:00:00", "2026-01-01T01:00:00")
    plan = json.loads(_call(connector, "plan", *first, "--json").stdout)
    assert [(each["start"], each["end"]) for each in plan["plan"]["ranges"]] == [(0, 3)]
    assert _call(connector, "run", *first).exit_code == 0
    status = json.loads(_call(connector, "status", "--json").stdout)
    assert [(each["position"], each["lag"]) for each in status["partitions"]] == [(3, 2), (0, 0)]
    assert status["entries"][0]["interval"] == {"start_ms": 1767225600000, "end_ms": 1767229200000}
    rest = _call(connector, "run")
    assert rest.exit_code == 0
    assert "the schedule's last complete one" in rest.stderr
    assert "commit 2: 2 records" in rest.stdout


def test_a_dry_run_writes_nothing(connector: ConnectorFile) -> None:
    """plan shows the ranges of a first run and leaves the bucket empty; with --write the next run executes it."""
    connector.produce(5)
    dry = _call(connector, "plan", "--until-now")
    assert dry.exit_code == 0
    assert "dry run" in dry.stdout
    assert "5 offsets in 1 range." in dry.stdout
    assert "seen for the first time" in dry.stdout
    assert connector.keys() == []
    written = json.loads(_call(connector, "plan", "--until-now", "--write", "--json").stdout)
    assert (written["next"], written["written"]) == ("finish", True)
    assert len(connector.keys("_kafka_s3/orders/plan/")) == 1
    status = _call(connector, "status")
    assert status.exit_code == 0
    assert "Open: plan 1" in status.stdout
    ran = _call(connector, "run", "--until-now")
    assert "plan 1: 5 offsets in 1 ranges" in ran.stdout
    assert "Nothing new" in _call(connector, "plan", "--until-now").stdout


def test_a_bad_record_is_status_65_and_named(connector: ConnectorFile) -> None:
    """What precedes an invalid value and the other partitions are committed; run and status name the record."""
    connector.produce_values([b'{"n":0}', b"{oops", b'{"n":2}'])
    connector.produce(2, partition=1)
    ran = _call(connector, "run", "--until-now")
    assert ran.exit_code == 65
    assert f"topic {connector.topic} partition 0 offset 1: not JSON" in ran.stderr
    status = _call(connector, "status")
    assert status.exit_code == 1
    assert status.stdout.startswith(f"1 of 2 partitions needs attention: {connector.topic}-0; the others are exported.")
    assert f"Failed: {connector.topic}-0 [1, 3)" in status.stdout
    assert f"kafka-s3 run {connector.config}" in status.stdout
    positions = {
        row.split()[1]: row.split()[2] for row in status.stdout.splitlines() if row.startswith(connector.topic)
    }
    assert positions == {"0": "1", "1": "2"}
    verified = _call(connector, "verify", "--against-kafka")
    assert verified.exit_code == 1
    assert "WRONG" not in verified.stdout
    assert "they match the log, but a problem needs attention." in verified.stdout
    assert "errors.tolerance=all" in verified.stdout


def test_a_tampered_object_is_found(connector: ConnectorFile) -> None:
    """Other bytes under an object's key: exit status 1, the key, what was expected and what to do."""
    key = _exported(connector).keys("topics/")[0]
    body = bytearray(connector.body(key))
    body[12] ^= 255
    connector.overwrite(key, bytes(body))
    result = _call(connector, "verify")
    assert result.exit_code == 1
    assert f"WRONG {key}" in result.stdout
    assert "expected: sha256" in result.stdout
    assert "next:     Restore the object" in result.stdout
    assert "1 problem found." in result.stdout


def test_a_deleted_object_is_found(connector: ConnectorFile) -> None:
    """A data object that is gone is named, with its size; --json says the same to machines."""
    key = _exported(connector).keys("topics/")[1]
    connector.client.delete_object(Bucket=connector.bucket, Key=key)
    result = _call(connector, "verify", "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["ok"] is False
    assert [(each["where"], each["found"]) for each in report["findings"]] == [(key, "no object")]


def test_an_edited_log_entry_is_found(connector: ConnectorFile) -> None:
    """An entry edited by hand fails its checksum; one edited with its checksum breaks the chain to the next."""
    _exported(connector)
    connector.produce(1)
    assert _call(connector, "run", "--until-now").exit_code == 0
    key = connector.log_key(1)
    good = connector.body(key)
    connector.overwrite(key, good.replace(b'"records":3', b'"records":4', 1))
    by_hand = _call(connector, "verify")
    assert by_hand.exit_code == 1
    assert "was edited: its checksum does not match" in by_hand.stdout
    assert key in by_hand.stdout
    entry = decode(Entry, key, good)
    connector.overwrite(key, encode(type(entry)(**{**_fields(entry), "run_id": "another"})))
    forged = _call(connector, "verify")
    assert forged.exit_code == 1
    assert "which entry 2 names" in forged.stdout


def _fields(entry: Entry) -> dict[str, object]:
    return {name: getattr(entry, name) for name in entry.__struct_fields__}


def test_a_deleted_log_entry_is_found_and_status_says_so(connector: ConnectorFile) -> None:
    """Without an entry in the middle verify names its key; status, which needs the newest alone, is an error too."""
    _exported(connector)
    connector.produce(1)
    assert _call(connector, "run", "--until-now").exit_code == 0
    connector.client.delete_object(Bucket=connector.bucket, Key=connector.log_key(1))
    result = _call(connector, "verify")
    assert result.exit_code == 1
    assert f"WRONG {connector.log_key(1)}" in result.stdout
    assert _call(connector, "status").exit_code == 1


def test_what_retention_took_is_not_checkable(connector: ConnectorFile) -> None:
    """Offsets that were deleted from Kafka after the export are a note of verify, and no problem."""
    from confluent_kafka import TopicPartition

    _exported(connector)
    admin = connector.broker.admin()  # its answers never come once it is garbage
    for future in admin.delete_records([TopicPartition(connector.topic, 0, 4)]).values():
        future.result(30)
    result = _call(connector, "verify", "--against-kafka")
    assert result.exit_code == 0, result.output
    assert f"not checkable: {connector.topic}-0 [0, 5), of which Kafka no longer has [0, 4)" in result.stdout


def test_holes_of_transactions_are_shown_and_proved(connector: ConnectorFile) -> None:
    """Aborted records and markers are counted by status, and verify --against-kafka finds the same."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": connector.broker.bootstrap_servers, "transactional.id": connector.topic})
    producer.init_transactions(30)
    for commit in (True, False, True):
        producer.begin_transaction()
        for number in range(2):
            producer.produce(connector.topic, b'{"n":%d}' % number, partition=0)
        producer.flush(30)
        producer.commit_transaction(30) if commit else producer.abort_transaction(30)
    assert _call(connector, "run", "--until-now").exit_code == 0
    (first, _) = json.loads(_call(connector, "status", "--json").stdout)["partitions"]
    assert (first["position"], first["skipped_offsets"]) == (9, 5)
    assert _call(connector, "verify", "--against-kafka").exit_code == 0


@pytest.fixture
def closed_port() -> str:
    """An address on which nothing listens."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{reserved.getsockname()[1]}"


@pytest.mark.heavy
def test_a_broker_that_is_down_is_said(connector: ConnectorFile, closed_port: str) -> None:
    """run ends with 75; status still shows the log, says that Kafka did not answer, and ends with 1."""
    _exported(connector)
    worker = write_properties(connector.config.parent / "down.properties", {"bootstrap.servers": closed_port})
    status = _call(connector, "status", "--worker", worker)
    assert status.exit_code == 1
    assert status.stdout.startswith("Kafka did not answer; shown below is the log up to entry 1.")
    assert "Kafka did not answer" in status.stdout
    assert "cli__" in status.stdout
    run = _call(connector, "run", "--until-now", "--worker", worker)
    assert run.exit_code == 75
    assert closed_port in run.stderr


@pytest.mark.heavy
def test_a_bucket_that_is_missing_is_said(connector: ConnectorFile) -> None:
    """run ends with 78, which nobody retries, the others with 1; the bucket is named, without a traceback."""
    connector.client.delete_bucket(Bucket=connector.bucket)
    for command, status in (("run", 78), ("plan", 1), ("status", 1), ("verify", 1)):
        more = ("--until-now",) if command in ("run", "plan") else ()
        result = call_process(command, connector.config, *more, env=connector.env)
        assert result.returncode == status, result.stderr
        assert f"bucket '{connector.bucket}' does not exist" in result.stderr
        assert "Traceback" not in result.stderr
        assert SECRET not in result.stdout + result.stderr


def test_a_topic_that_is_missing_is_said(connector: ConnectorFile) -> None:
    """run ends with 78 and names the topic; plan with 1; status shows why it cannot say more."""
    connector.broker.delete_topic(connector.topic)
    run = _call(connector, "run", "--until-now")
    assert run.exit_code == 78
    assert f"do not exist on the broker: {connector.topic}" in run.stderr
    assert _call(connector, "plan").exit_code == 1
    status = _call(connector, "status")
    assert status.exit_code == 1
    assert connector.topic in status.stdout


def test_a_silent_store_is_status_75(connector: ConnectorFile, closed_port: str) -> None:
    """A store on which nothing listens is temporary for run and an error for the others, with its address."""
    text = connector.config.read_text().replace("store.url=", f"store.url=http://{closed_port}\n#")
    connector.config.write_text(text)
    run = _call(connector, "run", "--until-now")
    assert run.exit_code == 75
    assert closed_port in run.stderr
    assert _call(connector, "verify").exit_code == 1


@pytest.mark.heavy
def test_a_run_on_spark_is_the_same_and_leaves_no_files(connector: ConnectorFile, java_home: str) -> None:
    """--spark exports through a driver of its own; its folder is removed; with nothing new no JVM starts."""
    connector.produce(5)
    folders = set(Path(tempfile.gettempdir()).glob("kafka-s3-spark-*"))
    result = call_process(
        "run", connector.config, "--until-now", "--run-id", "mine", "--spark", "local[1]", env=connector.env
    )
    assert result.returncode == 0, result.stderr
    assert "commit 1: 5 records" in result.stdout
    assert SECRET not in result.stdout + result.stderr
    assert set(Path(tempfile.gettempdir()).glob("kafka-s3-spark-*")) == folders
    entry = json.loads(_call(connector, "status", "--json").stdout)["entries"][0]
    assert entry["run_id"] == "mine"
    assert entry["spark_application"].startswith("local-")
    assert _call(connector, "verify", "--against-kafka").exit_code == 0
    without_java = {**connector.env, "JAVA_HOME": "", "PATH": "/nowhere"}
    idle = call_process("run", connector.config, "--until-now", "--spark", "local[1]", env=without_java)
    assert (idle.returncode, idle.stdout) == (0, "Nothing new.\n")


@pytest.mark.heavy
def test_sparks_exit_status_is_passed_through(connector: ConnectorFile, java_home: str) -> None:
    """A bad record ends the driver with 65, and so spark-submit and this command."""
    connector.produce_values([b'{"n":0}', b"{oops"])
    result = call_process("run", connector.config, "--until-now", "--spark", "local[1]", env=connector.env)
    assert result.returncode == 65
    assert "offset 1: not JSON" in result.stdout  # where spark-submit puts all that its driver says


@pytest.mark.heavy
def test_spark_ends_with_its_command(connector: ConnectorFile, java_home: str, tmp_path: Path) -> None:
    """Killed without a chance to clean up, the command takes the JVM and the driver with it."""
    connector.produce(5)
    process = subprocess.Popen(
        [sys.executable, "-m", "kafka_s3.cli", "run", str(connector.config), "--until-now", "--spark", "local[1]"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "jobs"), "TMPDIR": str(tmp_path), **connector.env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not drivers_below(process.pid):
        assert time.monotonic() < deadline, "no driver came up"
        assert process.poll() is None
        time.sleep(0.2)
    children = below(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(children, timeout=60)
    assert alive == []
