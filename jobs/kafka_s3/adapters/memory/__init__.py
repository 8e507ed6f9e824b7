"""The ports in memory, for tests, previews and models: the contract suite holds them to what real servers do.

- `broker`: a Kafka cluster.
- `store`: a bucket.
- `registry`: a schema registry, also one made of files.
- `dead_letters`: a topic of dead letters.
"""

from kafka_s3.adapters.memory.broker import MemoryBroker
from kafka_s3.adapters.memory.dead_letters import MemoryDeadLetters
from kafka_s3.adapters.memory.registry import MemoryRegistry, folder_registry
from kafka_s3.adapters.memory.store import MemoryStore

__all__ = ["MemoryBroker", "MemoryDeadLetters", "MemoryRegistry", "MemoryStore", "folder_registry"]
