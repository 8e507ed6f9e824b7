"""Tells others what was committed: asset events, markers of completeness, lists of objects.

- `announce`: every entry as an event, at least once and in order.
- `completeness`: markers beside the objects of complete time partitions.
- `committed`: for readers: the objects that an event stands for, checked against the log.
"""
