"""Properties that many tests begin with."""

import json

REGISTRY = {"value.converter": "AvroConverter", "value.converter.schema.registry.url": "http://registry:8081"}
KEY_REGISTRY = {"key.converter": "AvroConverter", "key.converter.schema.registry.url": "http://registry:8081"}
WITH_KEYS = {"store.kafka.keys": "true"}
ENVELOPE = {"value.converter": "JsonConverter"}
PLAIN = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}
SCHEMA = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
INLINE = {**PLAIN, "export.value.schema": json.dumps(SCHEMA)}
INFER = {**PLAIN, "format.class": "AvroFormat", "export.value.schema": "infer"}
TOLERANT = {"errors.tolerance": "all"}
TOPIC = "errors.deadletterqueue.topic.name"
