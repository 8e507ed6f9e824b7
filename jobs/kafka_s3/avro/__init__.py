"""What values are: Avro schemas, whatever they came as, and values under them in one plain form.

`model` says both. `parse` reads a schema's text, `nodes` is its graph. `datums` reads and writes Avro's binary form,
`arrow` columns. `compatibility` says which schemas may share an object, `groups` under which schema each record is
written, `project` how its value gets there, `defaults` and `fields` what stands in and at the end of a path.
"""
