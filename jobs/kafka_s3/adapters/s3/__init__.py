"""The object store over boto3: the only package that imports it.

Importing this costs 0.3 s, so what may not need S3 imports it late.

- `store`: the bucket.
- `upload`: an object in parts.
- `client`: how requests are sent.
- `credentials`: whose keys sign them.
- `translation`: what errors mean.
- `glue`: the schema registry of AWS Glue.
"""

from kafka_s3.adapters.s3.store import S3Store

__all__ = ["S3Store"]
