"""What the engine needs from outside, behind the ports: one outside thing, one room.

- `kafka`: brokers and topics, over confluent-kafka.
- `s3`: the object store, over boto3.
- `registry`: the schema registry, over confluent-kafka's client.
- `memory`: the same ports in memory.
- `known_schemas`: the registry's answers that a driver passes on to its tasks.
- `watched`: a source that reports progress and can be stopped.
- `msk`: tokens for Amazon MSK.
- `retry`: how calls are retried.
- `retry_policy`: which errors are retried.
"""
