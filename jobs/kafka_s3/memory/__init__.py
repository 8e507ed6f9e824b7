"""The ports in memory, for tests, previews and models: the contract suite holds them to what real servers do."""

from kafka_s3.memory.broker import MemoryBroker
from kafka_s3.memory.registry import MemoryRegistry, folder_registry
from kafka_s3.memory.store import MemoryStore

__all__ = ["MemoryBroker", "MemoryRegistry", "MemoryStore", "folder_registry"]
