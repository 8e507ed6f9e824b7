"""`kafka-s3 gc` as a person uses it, on a real S3 API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import Result

from kafka_s3.naming import LogLayout
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings import load
from kafka_s3.settings.model import Settings
from kafka_s3.settings.variables import Lookups
from tests.cli.command import PLAIN, call, write_properties
from tests.log.logs import HandMade
from tools.parts.s3 import MotoServer

TP = TopicPartition("orders", 0)


@dataclass
class Bucket:
    """A connector's file, and a log of its own in a real bucket."""

    config: Path
    made: HandMade
    server: MotoServer
    name: str

    @property
    def keys(self) -> list[str]:
        found = self.server.client().list_objects_v2(Bucket=self.name)
        return [item["Key"] for item in found.get("Contents", [])]

    def put(self, contents: Mapping[str, bytes]) -> None:
        for key, body in contents.items():
            self.server.client().put_object(Bucket=self.name, Key=key, Body=body)

    def gc(self, *arguments: str) -> Result:
        return call("gc", self.config, *arguments)


@pytest.fixture
def bucket(moto: MotoServer, bucket_name: str, tmp_path: Path) -> Bucket:
    moto.create_bucket(bucket_name)
    properties = {
        **PLAIN,
        "s3.bucket.name": bucket_name,
        "s3.region": moto.region,
        "store.url": moto.endpoint_url,
        "aws.access.key.id": moto.access_key,
        "aws.secret.access.key": moto.secret_key,
        "s3.part.retries": "0",
    }
    config = write_properties(tmp_path / "orders.properties", properties)
    write_properties(tmp_path / "worker.properties", {"bootstrap.servers": "127.0.0.1:9"})
    settings: Settings = load(config, lookups=Lookups(), offline=True).settings
    return Bucket(config, HandMade(settings), moto, bucket_name)


@pytest.fixture
def left(bucket: Bucket) -> Bucket:
    """One commit, one object below its position that nobody lists, one above it, and an open upload of each kind."""
    made = bucket.made
    made.begin({"orders": 1})
    made.commit([("orders", 0, 0, 10)])
    bucket.put(made.store.contents())
    bucket.put({made.key(TP, 3): b"left", made.key(TP, 10): b"left"})
    for offset in (4, 11):
        bucket.server.client().create_multipart_upload(Bucket=bucket.name, Key=made.key(TP, offset))
    return bucket


def test_it_lists_first_and_deletes_when_told_to(left: Bucket) -> None:
    """Without --delete the bucket stays as it is; with it exactly what was listed is gone; then there is no more."""
    before = left.keys
    listed = left.gc()
    assert listed.exit_code == 0, listed.output
    assert f"{left.made.key(TP, 3)} (4 bytes, below the position)" in listed.stdout
    assert f"{left.made.key(TP, 4)} (an open upload" in listed.stdout
    assert left.made.key(TP, 10) not in listed.stdout
    assert "1 orphan more may still be committed by a run, and is kept." in listed.stdout
    assert "1 object (0.0 MB) and 1 open upload can be deleted: --delete does it." in listed.stdout
    assert left.keys == before
    done = left.gc("--delete")
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "1 object and 1 open upload deleted.")
    assert set(before) - set(left.keys) == {left.made.key(TP, 3)}
    uploads = left.server.client().list_multipart_uploads(Bucket=left.name)["Uploads"]
    assert [each["Key"] for each in uploads] == [left.made.key(TP, 11)]
    again = left.gc("--delete", "--parallel", "1")
    assert (again.exit_code, again.stdout.splitlines()[-1]) == (0, "0 objects and 0 open uploads deleted.")
    assert left.gc().stdout.splitlines()[-1] == "Nothing is left behind."


def test_json_is_for_machines(left: Bucket) -> None:
    """--json says the same: what was found, what waits, and what became of it."""
    told = json.loads(left.gc("--json").stdout)
    assert told["newest_entry"] == 1
    assert told["objects"] == [{"key": left.made.key(TP, 3), "size": 4, "deletable": True, "why": "below the position"}]
    assert [each["key"] for each in told["uploads"]] == [left.made.key(TP, 4)]
    assert [each["key"] for each in told["waiting"]] == [left.made.key(TP, 10)]
    assert told["deleted"] is None
    told = json.loads(left.gc("--json", "--delete").stdout)
    assert told["deleted"] == {"objects": 1, "uploads": 1, "failed": [], "left": 0}


def test_a_damaged_log_is_refused(left: Bucket) -> None:
    """One unreadable entry, and nothing is deleted; exit status 1, and what to do."""
    left.put({LogLayout("_kafka_s3", "orders").log_key(0): b"{"})
    before = left.keys
    refused = left.gc("--delete")
    assert refused.exit_code == 1
    assert "Nothing was deleted" in refused.stderr
    assert left.keys == before


def test_what_cannot_be_deleted_is_exit_status_1(left: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that the store keeps is named with the reason, and the command ends with 1."""
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Deny",
                "Principal": "*",
                "Action": "s3:DeleteObject",
                "Resource": f"arn:aws:s3:::{left.name}/*",
            }
        ],
    }
    left.server.client().put_bucket_policy(Bucket=left.name, Policy=json.dumps(policy))
    refused = left.gc("--delete")
    assert left.made.key(TP, 3) in left.keys
    assert refused.exit_code == 1
    assert f"NOT DELETED {left.made.key(TP, 3)}" in refused.stdout


def test_a_bucket_without_a_log(bucket: Bucket) -> None:
    """Before the first run there is nothing to find, and nothing is wrong."""
    found = bucket.gc("--delete")
    assert (found.exit_code, found.stdout) == (0, "There is no log yet, so there is nothing to collect.\n")
    assert json.loads(bucket.gc("--json").stdout)["newest_entry"] is None


def test_verify_shows_orphans_and_in_parallel(left: Bucket) -> None:
    """`verify` tells what can be deleted from what cannot, is right with orphans there, and takes --parallel."""
    verified = call("verify", left.config, "--parallel", "2")
    assert verified.exit_code == 0, verified.output
    assert "2 orphans (8 bytes)" in verified.stdout
    assert f"{left.made.key(TP, 10)} (a run at work may still commit it)" in verified.stdout
    told = json.loads(call("verify", left.config, "--json").stdout)
    assert told["ok"]
    assert [(each["key"], each["deletable"]) for each in told["orphans"]] == [
        (left.made.key(TP, 3), True),
        (left.made.key(TP, 10), False),
    ]
    assert call("verify", left.config, "--parallel", "0").exit_code == 2


def test_a_log_is_signed_on_the_command_line(left: Bucket, tmp_path: Path) -> None:
    """`sign` shows what is not signed and exits with 1; with --head it confirms that, and gc and verify go on."""
    keyed = tmp_path / "keyed" / "orders.properties"
    keyed.parent.mkdir()
    keyed.write_text(f"{left.config.read_text()}export.log.key=${{env:LOG_KEY}}\n")
    (keyed.parent / "worker.properties").write_text((left.config.parent / "worker.properties").read_text())
    env = {"LOG_KEY": "canary-of-a-key-that-signs-the-log"}
    refused = call("gc", keyed, "--delete", env=env)
    assert refused.exit_code == 1
    assert "is not signed, and export.log.key is set" in refused.output
    shown = call("sign", keyed, env=env)
    assert shown.exit_code == 1
    assert "not signed:" in shown.stdout
    [head] = [line.rpartition(" ")[2] for line in shown.stdout.splitlines() if "--head" in line]
    assert call("sign", keyed, "--head", "0" * 64, env=env).exit_code == 1
    signed = call("sign", keyed, "--head", head, env=env)
    assert (signed.exit_code, "Confirmed: _kafka_s3/orders/signed/" in signed.stdout) == (0, True), signed.output
    assert call("gc", keyed, env=env).exit_code == 0
    verified = call("verify", keyed, env=env)
    assert "The log is signed (export.log.key)" in verified.stdout
    assert "were confirmed as of entry" in verified.stdout
    said = refused.output + shown.output + signed.output + verified.output
    assert "canary" not in said
    assert call("sign", left.config).exit_code == 1, "without a key there is nothing to sign with"
