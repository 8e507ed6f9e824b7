"""What an object holds: formats turn rows into bytes, compressors make them smaller.

- `objects`: settings to a format, and what the writer asks of one.
- `lines`: JsonFormat and ByteArrayFormat: a record, then a separator.
- `json_lines`: JSON of values with schemas, as lines or as one array.
- `json_text`: one value as JSON text.
- `json_members`: where the members of JSON objects stand in their text.
- `json_rows`: such objects with other members, by their text.
- `json_datums`: a long datum as JSON text.
- `json_columns`: columns as JSON text, a batch at once.
- `record_json`, `record_csv`: a record's fields as a JSON object or a line of CSV (`export.record.fields`).
- `java_numbers`: floating-point numbers as Java writes them.
- `avro`: AvroFormat.
- `parquet`: ParquetFormat.
- `block_gzip`: lines in gzip members of a bounded size.
- `block_index`: the index of these, which is a companion.
- `companions`: what a format is that writes companions.
- `compression`: compressed streams with stable bytes.
- `expansion`: compressed streams back to what they hold.
- `content_digest`: a digest of what an object holds, whichever library compressed it.
- `avro_digest`, `parquet_digest`: of those formats.
- `user_defined`: a format of the user's.
"""
