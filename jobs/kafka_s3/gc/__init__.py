"""Garbage collection: finds and deletes what dead runs left. `bucket.orphans` has the rule.

- `gc`: the operation: collects, then deletes.
- `withdrawn`: objects that a rewind withdrew and that were exported again.
"""
