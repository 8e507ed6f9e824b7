"""What a driver has of Spark, whichever that is: an application of its own, or a session of a Spark Connect server."""

from __future__ import annotations

from typing import Protocol

from kafka_s3.export.exporter import Execute
from kafka_s3.fair_pool import FairPool
from kafka_s3.settings.model import Settings
from kafka_s3.spark.balance import Done


class Application(Protocol):
    """`name` is Spark's own for it, which entries keep. `warning`: what is to be said before anything is sent."""

    @property
    def name(self) -> str | None: ...
    @property
    def warning(self) -> str | None: ...
    def execute(self, settings: Settings, done: Done, shared: FairPool | None = None) -> Execute:
        """What executes ranges there. `shared`: threads that other connectors have their turns in too."""
