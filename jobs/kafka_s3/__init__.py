"""Kafka topics to S3, exactly once: the engine.

Importing it costs nothing. docs/house.md says where to start, docs/protocol.md what the rules are, docs/glossary.md
what the words mean. A room knows only rooms further down, in this order:

- `cli`: the commands.
- `spark`: the Spark driver.
- `wiring`: the one place that chooses adapters; ranges in threads where there is no Spark.
- `report`: status, health, forecast, preview.
- `publish`: asset events, markers of completeness, what was committed.
- `adopt`, `dead_letters`, `gc`, `reexport`, `rewind`, `sign`, `verify`: one operation each.
- `export`: a run.
- `bucket`: what operations share: owners, folders, orphans, windows, the audit of a log.
- `write`: one range into objects.
- `inference`: schemas for topics that have none.
- `plan`: what the next commit covers.
- `log`: what is exported.
- `adapters`: Kafka, S3, the registry; the same in memory.
- `values`: bytes of Kafka to rows to bytes of objects.
- `settings`: a connector file as frozen values.
- `protobuf`: schemas and messages of Protobuf.
- `json_schema`: what a JSON Schema says.
- `avro`: schemas and values under them.
- `joda`: times, zones and patterns as Joda-Time has them.

What everything shares:

- `ports`: what the engine asks of Kafka, S3, the registry and the dead-letter topic.
- `events`: what a run tells while it goes on, as types and as lines of JSON.
- `sentences`: those events in words.
- `user_defined`: classes of the user's, by their Python path.
- `dead_letter`: a rejected record, in full, with its reason.
- `records`: records and batches of them.
- `errors`: the tree of errors, with exit statuses.
- `bounds`: what numbers and names of stored documents may be.
- `naming`: every key, made and read.
- `file_template`: names of objects by a template.
- `ranges`: topic-partitions and offset ranges.
- `signing`: signatures over what a log holds.
- `shown`: text that is safe to show.
- `attempts`: the one place where everything is caught.
- `fair_pool`: threads that several callers share in turns.
- `ordered_pool`: work in parallel, results in order.
- `crash_points`: named places where a process may die.
"""

__version__ = "0.2.0"
