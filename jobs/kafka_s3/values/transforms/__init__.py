"""Single message transforms: a converted batch to a changed one, as Kafka Connect changes records one by one.

- `chain`: the configured transforms, one after the other, over batches.
- `records`: a batch on its way through the chain.
- `sides`: its keys or its values: rows, until a transform asks for values.
- `build`: settings to a transform: which class of a configuration is made by which class here.
- `connect`: Avro's types as Connect sees them, and how a transform makes new ones.
- `java`: values without a schema that Java has more types of than Python.
- `base`: what transforms share.
- `predicates`: for which records a transform is.
- `user_defined`: transforms and predicates of the user's own.

Kafka's transforms:

- `cast`: fields, or whole values, as another type.
- `fields`: fields dropped, renamed, taken out, hoisted, copied to the key.
- `filter`: records dropped.
- `flatten`: structs within structs side by side.
- `headers`: headers dropped, added, made of fields.
- `header_texts`: what values become as headers.
- `insert`: what Kafka knows of a record as a field of it.
- `mask`: values of fields hidden.
- `routers`: topics by their names, or by the record's time.
- `schema_metadata`: names and versions of schemas.
- `timestamps`: times as numbers, text or Connect's types.

Others':

- `aiven`: Aiven's.
- `debezium`: rows out of Debezium's change events.
- `debezium_names`: how Debezium names schemas.
- `debezium_tables`: topics for several tables (ByLogicalTableRouter).
- `drop`: Confluent's Drop.
- `extract_topic`: Confluent's ExtractTopic.
- `filter_by_path`: Confluent's Filter.
- `gunzip`: Confluent's GzipDecompress.
- `json_paths`: what a JSONPath finds in a value.
- `message_timestamps`: Confluent's MessageTimestampRouter.
- `tombstones`: Confluent's TombstoneHandler, and Aiven's.
"""
