"""From the bytes that Kafka delivers to rows, a batch at a time.

- `build`: settings to a converter.
- `record_converter`: values, keys and headers of a batch together.

Values without a schema:

- `text`: to lines, as they came.
- `schemaless`: JSON to Python values, as JsonConverter sees it.
- `connect_anything`: JSON for formats that need a schema: AvroData's `Anything`.
- `primitives`: Kafka's serializations of single values.

Values with a schema:

- `avro`: as a schema registry's serializers write it.
- `glue`: as those of AWS Glue write it.
- `glue_protobuf`: Protobuf as those of AWS Glue write it.
- `glue_json_schema`: JSON under a JSON Schema as those of AWS Glue write it.
- `registry_head`: what such serializers put in front of a value, whatever its format.
- `avro_group`: the values of a batch that have one schema.
- `avro_weight`: how much memory a datum may become, beyond its values.
- `protobuf`: as a schema registry's serializers write it.
- `protobuf_group`: the messages of a batch that have one type.
- `protobuf_schema`: the schema that ProtobufConverter gives a message type.
- `protobuf_weight`: how much memory a message may become, beyond its values.
- `json_schema`: JSON under a JSON Schema of a registry.
- `json_schema_connect`: the Connect schema that JsonSchemaConverter gives a JSON Schema.
- `json_schema_words`: what a JSON Schema says of itself to Connect.
- `envelope`: JsonConverter's `{"schema": ..., "payload": ...}`.
- `connect_schema`: the schema of an envelope.
- `connect_avro`: that schema as an Avro schema.
- `connect_unions`: which schema of a union a value has.
- `connect_values`: the payload, one record at a time, with a reason where it is bad.
- `connect_fast`: the payload, at C speed.
- `connect_weight`: how much memory a payload may become.
- `typed`: plain JSON by a schema of the user's (`export.value.schema.file`).
- `inference`: a schema for plain JSON, from a sample of it.
- `inferred`: plain JSON by such a schema, and what it has no place for.
- `typed_values`: one such value, with a reason where it is bad.
- `typed_forms`: the types that such values are decoded into.
- `iso`: dates and times in them as ISO 8601.
- `typed_weight`: how much memory such a value may become.
- `weight`: how much is allowed, and how it is said that it is more.
- `json_limits`: how deep JSON may be, and how many values it may hold.

What is made of them:

- `structs`: rows over Python values.
- `fitting`: what a format has no place for.
- `changed`: values that transforms made, as rows for a format.
- `reshaped`: rows made of the fields of others, and of new ones.
- `segmented`: rows of a batch that went different ways through transforms.
- `mixed_schema_rows`: rows of several schemas in one object.
- `kafka_fields`: the record's own metadata, written into it.
- `record_texts`, `record_structs`: whole records as text of their fields, and as records with a schema.

Headers:

- `headers`: headers beside the values.
- `header_texts`: the bytes of headers as text, by their converter.
- `connect_text_parser`: a header's text to a value with a type, as SimpleHeaderConverter reads it.
- `connect_time_parser`: dates and times in such text.
- `connect_types`: values with Connect's types, and their text.
"""
