"""The stores that the contract is held against: in memory, over boto3 against two servers, and the interleavings'."""

from __future__ import annotations

import concurrent.futures
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.adapters.s3 import S3Store
from kafka_s3.ports import ObjectInfo, ObjectStore, Put
from kafka_s3.settings.s3 import RetrySettings, S3Settings
from tests.interleavings.bucket import SteppedBucket
from tests.interleavings.scheduler import Scheduler
from tests.interleavings.sides import CURRENT, Transport, Weather

PART_BYTES_MIN = 5 * 1024 * 1024


@dataclass(frozen=True)
class Subject:
    """One implementation: its store, how many multipart uploads its bucket holds open, and an object's tags."""

    store: ObjectStore
    uploads: Callable[[], int]
    tags: Callable[[str], dict[str, str]]


@pytest.fixture(params=["memory", "interleavings", "moto", "versitygw"])
def subject(request: pytest.FixtureRequest, bucket_name: str) -> Subject:
    if request.param == "memory":
        memory = MemoryStore()
        return Subject(memory, memory.uploads_open, memory.tags)
    if request.param == "interleavings":
        chance = random.Random(0)
        bucket = SteppedBucket(lambda: int(time.time() * 1000), page_max=300, part_min=5 * 1024 * 1024)
        bucket.empty_page = lambda: chance.random() < 0.5
        transport = Transport(bucket, Scheduler(random.Random(0)), Weather(random.Random(0)))
        CURRENT[:] = [transport]
        return Subject(transport.store(), lambda: len(bucket.uploads), lambda key: bucket.tags[key])
    server: Any = request.getfixturevalue(request.param)
    server.create_bucket(bucket_name)
    settings = S3Settings(
        bucket=bucket_name,
        region=server.region,
        endpoint_url=server.endpoint_url,
        access_key_id=server.access_key,
        secret_access_key=server.secret_key,
        retry=RetrySettings(3, 1),
    )
    client = server.client()

    def uploads() -> int:
        return len(client.list_multipart_uploads(Bucket=bucket_name).get("Uploads", []))

    def tags(key: str) -> dict[str, str]:
        return {tag["Key"]: tag["Value"] for tag in client.get_object_tagging(Bucket=bucket_name, Key=key)["TagSet"]}

    return Subject(S3Store(settings), uploads, tags)


@pytest.fixture
def store(subject: Subject) -> ObjectStore:
    return subject.store


def keys(objects: Iterator[ObjectInfo]) -> list[str]:
    return [found.key for found in objects]


def start(store: ObjectStore, key: str, *parts: bytes) -> Any:
    upload = store.start_multipart(key)
    for part in parts:
        upload.put_part(part)
    return upload


def race(count: int, enter: Callable[[int], Put]) -> list[Put]:
    """Let `count` threads go at the same moment; their answers by thread."""
    barrier = threading.Barrier(count)

    def one(number: int) -> Put:
        barrier.wait()
        return enter(number)

    with concurrent.futures.ThreadPoolExecutor(count) as threads:
        return list(threads.map(one, range(count)))
