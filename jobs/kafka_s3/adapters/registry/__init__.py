"""The schema registry over confluent-kafka's client: the only package that imports that part of it.

The client itself, 0.2 s, is loaded by the first request: a task that was told all it needs never does.

- `confluent`: the registry, asked for each thing once.
- `answer_cache`: its answers, up to a size together.
- `requests`: how requests are sent and answers are read.
- `translation`: what errors mean.
"""

from kafka_s3.adapters.registry.confluent import ConfluentRegistry

__all__ = ["ConfluentRegistry"]
