"""Kafka topics to S3, exactly once: the engine. Importing it costs nothing; see README, "How to read the code"."""

__version__ = "0.1.0"
