"""Takes over a bucket that has data and no log: finds the positions, and begins a log there.

- `adopt`: the operation: looks, reports, writes the first entry.
- `objects`: what the names of data objects say.
- `count`: counts records, in objects and in Kafka.
- `decide`: from all evidence about a partition to its position, or a dispute.
- `positions_file`: reads a file of positions.
"""
