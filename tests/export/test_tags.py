"""`s3.object.tagging`: what a run's objects are tagged with is what its log entry says of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.adapters.s3 import S3Store
from kafka_s3.log.entries import ObjectEntry
from kafka_s3.log.store import Log, open_log
from kafka_s3.settings.s3 import S3Settings, Tagging
from tests.export.harness import MemoryExport
from tests.support import make_settings, objects_of
from tools.parts.s3 import MotoServer

TAGGED = S3Settings("bucket", "us-east-1", tagging=Tagging((("team", "data"),)))


def tags_of(made: ObjectEntry) -> dict[str, str]:
    numbers = {"startOffset": made.first_offset, "endOffset": made.last_offset, "recordCount": made.records}
    return {**{name: str(number) for name, number in numbers.items()}, "team": "data"}


def objects_in(log: Log) -> list[ObjectEntry]:
    return objects_of(log.entries())


@pytest.mark.parametrize("part_size", [26_214_400, 10], ids=["puts", "parts"])
def test_the_tags_are_what_the_log_says(part_size: int) -> None:
    """Every data object, in one piece or in parts, and nothing but data objects."""
    store = MemoryStore(part_bytes_min=1)
    world = MemoryExport(make_settings(s3=TAGGED, part_size=part_size), store)
    world.produce(0, 8)
    world.produce(1, 2)
    world.run()
    objects = objects_in(open_log(store, "_kafka_s3", "orders"))
    assert len(objects) == 4
    assert {made.key: store.tags(made.key) for made in objects} == {made.key: tags_of(made) for made in objects}
    assert [key for key in store.contents() if store.tags(key)] == sorted(made.key for made in objects)


def test_tags_at_a_real_store(moto: MotoServer, bucket_name: str) -> None:
    """The same, asked of an S3 server, which also says how its objects are encrypted and who may read them."""
    moto.create_bucket(bucket_name)
    s3 = replace(
        TAGGED,
        bucket=bucket_name,
        endpoint_url=moto.endpoint_url,
        access_key_id=moto.access_key,
        secret_access_key=moto.secret_key,
        send_digest=True,
        put_arguments={"ACL": "public-read", "ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "a-key"},
    )
    world = MemoryExport(make_settings(s3=s3), S3Store(s3))  # type: ignore[arg-type]
    world.produce(0, 5)
    world.run()
    objects = objects_in(open_log(S3Store(s3), "_kafka_s3", "orders"))
    assert [made.records for made in objects] == [3, 2]
    client = moto.client()
    for made in objects:
        found = client.get_object_tagging(Bucket=bucket_name, Key=made.key)["TagSet"]
        assert {tag["Key"]: tag["Value"] for tag in found} == tags_of(made)
        head = client.head_object(Bucket=bucket_name, Key=made.key)
        assert (head["ServerSideEncryption"], head["SSEKMSKeyId"]) == ("aws:kms", "a-key")
        grants = client.get_object_acl(Bucket=bucket_name, Key=made.key)["Grants"]
        assert "http://acs.amazonaws.com/groups/global/AllUsers" in {each["Grantee"].get("URI") for each in grants}
