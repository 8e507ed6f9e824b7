"""The schema registry over confluent-kafka's client: the only package that imports that part of it.

`confluent.py` is the registry, with what it was asked before (`kept.py`), `requests.py` how requests are sent and
answers are read, `translation.py` what errors mean. The client itself, 0.2 s, is loaded by the first request: who was
told all that it needs never does.
"""

from kafka_s3.adapters.registry.confluent import ConfluentRegistry

__all__ = ["ConfluentRegistry"]
