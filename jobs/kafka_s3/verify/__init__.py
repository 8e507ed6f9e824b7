"""Proves an export: the whole log, every object that it lists and, if asked, what Kafka holds. Reads only.

`bucket.audit` checks the log itself.

- `verify`: the operation.
- `objects`: compares objects with the log.
- `comparison`: compares ranges with Kafka.
- `owners`: whether the topics belong to this connector, and who could have made the log up.
"""
