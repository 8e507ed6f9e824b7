"""Signing a log that is older than its key: a person confirms what is there.

- `sign`: the operation.
"""
