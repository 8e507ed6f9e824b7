"""The object store over boto3: the only package that imports it.

`store.py` is the bucket, `upload.py` an object in parts, `client.py` how requests are sent, `credentials.py` with
whose keys, `translation.py` what their errors mean. Importing this costs 0.3 s, so who may not need S3 imports it
late.
"""

from kafka_s3.adapters.s3.store import S3Store

__all__ = ["S3Store"]
