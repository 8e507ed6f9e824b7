"""Which class of a configuration is made by which class here: `settings.transforms.catalogue` has the same names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_s3.settings.transforms.chain import PredicateSettings, TransformSettings
from kafka_s3.user_defined import is_path
from kafka_s3.values.transforms import aiven
from kafka_s3.values.transforms.base import Make, Transform
from kafka_s3.values.transforms.cast import Cast
from kafka_s3.values.transforms.debezium import ExtractNewRecordState
from kafka_s3.values.transforms.debezium_tables import ByLogicalTableRouter
from kafka_s3.values.transforms.drop import Drop
from kafka_s3.values.transforms.extract_topic import topic_of_key_or_value
from kafka_s3.values.transforms.fields import ExtractField, HoistField, ReplaceField, ValueToKey
from kafka_s3.values.transforms.filter import Filter
from kafka_s3.values.transforms.filter_by_path import FilterByPath
from kafka_s3.values.transforms.flatten import Flatten
from kafka_s3.values.transforms.gunzip import GzipDecompress
from kafka_s3.values.transforms.headers import DropHeaders, HeaderFrom, InsertHeader
from kafka_s3.values.transforms.insert import InsertField
from kafka_s3.values.transforms.mask import MaskField
from kafka_s3.values.transforms.message_timestamps import MessageTimestampRouter
from kafka_s3.values.transforms.predicates import PREDICATES, Predicate
from kafka_s3.values.transforms.routers import RegexRouter, TimestampRouter
from kafka_s3.values.transforms.schema_metadata import SetSchemaMetadata
from kafka_s3.values.transforms.timestamps import TimestampConverter
from kafka_s3.values.transforms.tombstones import TombstoneHandler
from kafka_s3.values.transforms.user_defined import UserDefinedPredicate, UserDefinedTransform

_KAFKA: Final = "org.apache.kafka.connect.transforms"
_AIVEN: Final = "io.aiven.kafka.connect.transforms"
_CONFLUENT: Final = "io.confluent.connect.transforms"
#: By the class's name without its side. A file with more classes is a row for each.
TRANSFORMS: Final[Mapping[str, Make]] = {
    f"{_KAFKA}.Cast": Cast,
    f"{_KAFKA}.DropHeaders": DropHeaders,
    f"{_KAFKA}.ExtractField": ExtractField,
    f"{_KAFKA}.Filter": Filter,
    f"{_KAFKA}.Flatten": Flatten,
    f"{_KAFKA}.HeaderFrom": HeaderFrom,
    f"{_KAFKA}.HoistField": HoistField,
    f"{_KAFKA}.InsertField": InsertField,
    f"{_KAFKA}.InsertHeader": InsertHeader,
    f"{_KAFKA}.MaskField": MaskField,
    f"{_KAFKA}.RegexRouter": RegexRouter,
    f"{_KAFKA}.ReplaceField": ReplaceField,
    f"{_KAFKA}.SetSchemaMetadata": SetSchemaMetadata,
    f"{_KAFKA}.TimestampConverter": TimestampConverter,
    f"{_KAFKA}.TimestampRouter": TimestampRouter,
    f"{_KAFKA}.ValueToKey": ValueToKey,
    f"{_AIVEN}.ExtractTimestamp": aiven.ExtractTimestamp,
    f"{_AIVEN}.ExtractTopic": aiven.ExtractTopic,
    f"{_AIVEN}.Hash": aiven.Hash,
    f"{_AIVEN}.MakeTombstone": aiven.MakeTombstone,
    f"{_AIVEN}.TombstoneHandler": TombstoneHandler,
    f"{_CONFLUENT}.Drop": Drop,
    f"{_CONFLUENT}.ExtractTopic": topic_of_key_or_value,
    f"{_CONFLUENT}.Filter": FilterByPath,
    f"{_CONFLUENT}.GzipDecompress": GzipDecompress,
    f"{_CONFLUENT}.MessageTimestampRouter": MessageTimestampRouter,
    f"{_CONFLUENT}.TombstoneHandler": TombstoneHandler,
    "io.debezium.transforms.ByLogicalTableRouter": ByLogicalTableRouter,
    "io.debezium.transforms.ExtractNewRecordState": ExtractNewRecordState,
}


def transform_of(settings: TransformSettings) -> Transform:
    if is_path(settings.type):
        return UserDefinedTransform(settings)
    return TRANSFORMS[settings.type.partition("$")[0]](settings)


def predicate_of(settings: PredicateSettings) -> Predicate:
    if is_path(settings.type):
        return UserDefinedPredicate(settings)
    return PREDICATES[settings.type](settings)
