"""Configuration: one connector file, and what surrounds it, to frozen values. Contents page only.

`load` and `from_mapping` return settings or raise a ConfigurationError with every problem; `outline` is what Airflow
needs while it builds a DAG.
"""

from kafka_s3.settings.files import read_text as read_text
from kafka_s3.settings.loading import Loaded as Loaded
from kafka_s3.settings.loading import Outline as Outline
from kafka_s3.settings.loading import from_mapping as from_mapping
from kafka_s3.settings.loading import load as load
from kafka_s3.settings.loading import outline as outline
from kafka_s3.settings.model import Settings as Settings
from kafka_s3.settings.sources import ResolvedProperty as ResolvedProperty
from kafka_s3.settings.variables import Lookups as Lookups
from kafka_s3.settings.variables import lookups_of as lookups_of
