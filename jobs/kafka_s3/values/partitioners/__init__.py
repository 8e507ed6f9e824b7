"""The part of a key that the configuration makes of a record: the encoded partition.

A `Partitioner` answers a batch at a time with `Paths`. `fields` reads values, `times` tells a record's time,
`encoded` puts a path together and keeps it a path.
"""
