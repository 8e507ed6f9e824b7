"""What values are: Avro schemas, whatever they came as, and values under them in one plain form.

Schemas:

- `model`: a schema, and the plain form of values.
- `parse`: a schema's text, with the texts it refers to, to a `Schema`.
- `graph`: text to graph and back: names resolved, logical types read.
- `nodes`: the types that a graph is made of.
- `attributes`: logical types and Connect's attributes.
- `decimals`: decimals to numbers, and how many digits these may have.
- `physical_schema`: a schema without what only interprets its values.
- `compatibility`: which schemas may share an object.
- `groups`: under which schema each record is written.

Values:

- `datums`: batches of Avro's binary form: checked, read and written.
- `datum_reader`: one value at a time.
- `datum_checker`: whether bytes are a value, and where the items of a long one begin.
- `long_values`: a long value, some items at a time.
- `long_columns`: one long datum as columns.
- `long_datums`: longs to the binary form, a batch at once.
- `batch_decoder`: many values at once, by fastavro.
- `datum_writer`: values to the binary form.
- `batch_reader`: all rows of a batch at once.
- `column_nodes`: one class for each Avro type that `batch_reader` reads.
- `vectors`: reads at many positions of a batch at once.
- `pieces`: rows put together of pieces from here and there.
- `joined_rows`: rows of bytes that stand one after the other.
- `splice`: from one schema to another by copying bytes.
- `project`: from one schema to another by values.
- `defaults`: default values.
- `fields`: one field of a value, by its path.
- `arrow`: schemas and values as Arrow columns.
"""
