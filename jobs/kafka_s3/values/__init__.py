"""Bytes of Kafka to rows, and rows to bytes of objects.

- `converters`: record bytes to rows.
- `transforms`: rows to other rows, as Connect's single message transforms change records.
- `partitioners`: rows to encoded partitions.
- `formats`: rows to bytes of an object.
- `rows`: a converted batch, which stands between the three.
"""
