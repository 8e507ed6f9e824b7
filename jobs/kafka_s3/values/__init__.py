"""Bytes of Kafka to rows, and rows to bytes of objects.

- `converters`: record bytes to rows.
- `partitioners`: rows to encoded partitions.
- `formats`: rows to bytes of an object.
- `rows`: a converted batch, which stands between the three.
"""
