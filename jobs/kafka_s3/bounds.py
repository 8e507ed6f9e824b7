"""What numbers and names of the log's documents may be.

Whatever lies in the bucket is checked against it when it is decoded. So nothing that is read from there makes a key, an
offset or a count that the exporter itself never makes.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kafka_s3.naming import SEQ_MAX

Seq = Annotated[int, Meta(ge=0, le=SEQ_MAX)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Offset = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Seen = Annotated[int, Meta(ge=-1, le=2**63 - 1)]  # what a broker said; -1: nothing
Number = Annotated[int, Meta(ge=0, le=2**31 - 1)]  # of a partition, a generation, a try
Ms = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
TopicName = Annotated[str, Meta(pattern=r"^(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}\Z")]
Key = Annotated[str, Meta(min_length=1, max_length=1024)]  # S3's own limit, of bytes
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
SchemaText = Annotated[str, Meta(min_length=2, max_length=128 * 1024)]
