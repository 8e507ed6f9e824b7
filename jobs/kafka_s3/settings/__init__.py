"""Configuration: one connector file, and what surrounds it, becomes frozen values. Contents page only.

`load` and `from_mapping` return settings or raise a ConfigurationError with every problem; `outline` is what Airflow
needs while it builds a DAG; `settings_from_plan` is what the ranges of an earlier plan are written under.

The way in, from the outside inwards:

| module | what it holds |
|---|---|
| `loading` | from files to settings; every problem at once |
| `sources` | the places a value may come from, in their order: connector file, Airflow connections, worker file |
| `files` | reads `.properties` and `.json` |
| `manifests` | Strimzi's `KafkaConnector` in `.yaml` |
| `variables` | `${env:…}`, `${file:…}`, `${secrets:…}` in values |
| `reach` | what a connector may make this process look up, open and import |
| `model` | `Settings`, what one run needs, made of what the topics made; the hash of what shapes bytes |

One module for each topic, with its properties, what is wrong with their values together, and its frozen settings:

| module | topic |
|---|---|
| `connect` | the connector itself: name, topics, bad records, what belongs to a Connect worker |
| `s3` | the bucket, requests, encryption, tags |
| `credentials` | who asks S3: keys, roles, providers |
| `aws_connection` | an Airflow AWS connection: a role, endpoints |
| `kafka` | Java's client properties and what librdkafka calls them |
| `kafka_client` | translates them |
| `client_checks` | what they come to, and what is wrong with them together |
| `kafka_tokens` | logins by tokens: OAUTHBEARER, Amazon MSK |
| `jaas` | logins in `sasl.jaas.config` |
| `key_stores` | Java's key and trust stores, read in memory |
| `registry` | the schema registry behind AvroConverter |
| `glue` | AWS Glue's schema registry behind its converters |
| `converters` | what a record's bytes are: converters, the schema of plain JSON, the record's own metadata |
| `inference` | the schema of plain JSON where it is inferred |
| `formats` | what an object holds: formats, codecs, compression |
| `values` | what of a record is written: values, keys, headers, tombstones, and what fits together |
| `record_fields` | which fields of a record are written, nested or as CSV |
| `paths` | keys of objects: folders, partitioners, timestamps |
| `file_names` | names of objects, and the topic's folder |
| `template_rules` | what `export.path.template` has to be |
| `path_template` | its text and placeholders |
| `transforms` | single message transforms and predicates |
| `completeness` | markers of complete time partitions |
| `run` | bounds of a run, its log, what it may do where Kafka is not as the log left it |
| `schedule` | when runs are due, and cron expressions, the DAGs of a connector |
| `spark` | the Spark that exports, and what its application is given |
| `block_gzip` | the older Block-GZIP connector |
| `aiven` | Aiven's S3 sink, read as this exporter's properties |
| `aiven_names` | its templates of names |
| `neighbours` | other S3 sinks: their configuration in this exporter's properties |

What they are written in:

- `properties`: what a property is.
- `validators`: what is wrong with a single value.
- `validation`: a configuration whose values were looked at.
- `catalogue`: all properties by name.
"""

from kafka_s3.settings.files import read_text as read_text
from kafka_s3.settings.loading import Loaded as Loaded
from kafka_s3.settings.loading import Outline as Outline
from kafka_s3.settings.loading import from_mapping as from_mapping
from kafka_s3.settings.loading import load as load
from kafka_s3.settings.loading import outline as outline
from kafka_s3.settings.loading import settings_from_plan as settings_from_plan
from kafka_s3.settings.model import Settings as Settings
from kafka_s3.settings.properties import ResolvedProperty as ResolvedProperty
from kafka_s3.settings.variables import Lookups as Lookups
from kafka_s3.settings.variables import lookups_of as lookups_of
