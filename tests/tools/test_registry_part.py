"""The schema registry that tests and demo stand on."""

import psutil
import pytest
from confluent_kafka.schema_registry import Schema

from tools.parts.process import accepts_connections
from tools.parts.registry import SchemaRegistry


@pytest.mark.heavy
def test_registry_numbers_a_schema_and_leaves_nothing() -> None:
    """A new registry is empty, takes and gives back a schema, and stopping it leaves no process, port or folder."""
    with SchemaRegistry() as registry:
        client = registry.client()
        assert client.get_subjects() == []
        id = client.register_schema("orders-value", Schema('"int"'))
        assert registry.client().get_schema(id).schema_str == '"int"'
        port = int(registry.url.split("/")[2].partition(":")[2])
    assert not psutil.pid_exists(registry.pid)
    assert not accepts_connections(port)
    assert not registry.folder.exists()
