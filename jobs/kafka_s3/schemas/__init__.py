"""What values are: Avro schemas, whatever they came as, and values under them in one plain form.

`model` says both. `avro` reads and writes Avro's binary form, `arrow` columns, `compatibility` says which schemas may
share an object.
"""
