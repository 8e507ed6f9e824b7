"""From the bytes that Kafka delivers to rows, a batch at a time.

`build` chooses. `text` makes lines of values without a schema. `structs` are rows over Python values. `typed` reads
JSON by a schema of the user's.
"""
