"""Single message transforms and their predicates: what a configuration asks for. Contents page only.

| module | what it holds |
|---|---|
| `classes` | what a class of transforms or predicates is: its name and its options |
| `kafka` | Kafka's own classes |
| `debezium` | Debezium's |
| `confluent` | Confluent's |
| `aiven` | Aiven's |
| `catalogue` | every class, by each name that a configuration may use |
| `chain` | the frozen chain of transforms that records go through |
| `rules` | what is wrong with `transforms`, `predicates` and all that begins with these |
| `regex` | Java's regular expressions |
| `dates` | Java's patterns of dates |
| `field_paths` | paths to fields |
| `json_path` | JSONPath |

A class is added by a row in a table here, and one in `values.transforms.build`.
"""
