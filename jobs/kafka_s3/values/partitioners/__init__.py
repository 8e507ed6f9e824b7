"""The part of a key that the configuration makes of a record: the encoded partition.

A `Partitioner` answers a batch at a time with `Paths`.

- `build`: settings to a partitioner.
- `by_field`: FieldPartitioner.
- `by_time`: TimeBasedPartitioner.
- `by_template`: FieldAndTimePartitioner.
- `fields`: reads single fields out of JSON values.
- `times`: timestamp extractors: a record's time.
- `paths`: puts a path together, and keeps it one.
- `user_defined`: partitioners and timestamp extractors of the user's.
"""
