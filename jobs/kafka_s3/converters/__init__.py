"""From the bytes that Kafka delivers to rows, a batch at a time.

`build` chooses. `text` makes lines of values without a schema.
"""
