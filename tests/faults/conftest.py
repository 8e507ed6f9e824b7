"""A topic full of records, and what an undisturbed run makes of it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.exports import PARTITIONS, KillableRun
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import S3Server, VersityGateway

Make = Callable[..., KillableRun]


@pytest.fixture(scope="session")
def make_connector(
    kafka: KafkaBroker, versitygw: VersityGateway, tmp_path_factory: pytest.TempPathFactory, java_home: str
) -> Make:
    """Makes a connector in a bucket of its own; without a topic, over a new one. `s3_part_size` is s3.part.size."""

    def make(
        topic: str | None = None, *, flush_size: int = 500, store: S3Server | None = None, **more: str
    ) -> KillableRun:
        name = uuid.uuid4().hex[:12]
        if topic is None:
            topic = f"topic-{name}"
            kafka.create_topic(topic, PARTITIONS)
        folder: Path = tmp_path_factory.mktemp(name)
        properties = {name.replace("_", "."): value for name, value in more.items()}
        return KillableRun(folder, topic, f"bucket-{name}", kafka, store or versitygw, flush_size, properties)

    return make
