"""What is tried again inside a job, and what is not: one table for each that is asked over a network.

| asked | who tries again | for how long |
|---|---|---|
| S3 | `retry.py` (the SDK does not) | `s3.part.retries` times; 1 h a call, 1 h for all calls of a process |
| schema registry | `retry.py` (the client does not) | 60 s a question, 1 h for all of them |
| Glue | `retry.py` (the SDK does not) | 60 s a question, 1 h for all of them |
| Kafka, reading | librdkafka: connections, leaders that move, fetches | while offsets come: `export.read.timeout.ms` |
| Kafka, dead letters | librdkafka, idempotent | 60 s a letter |
| Kafka, planning | librdkafka: connections, looking for whoever has to answer | 10 s the first answer, 30 s each |
| Kafka, a group | `retry.py` besides: its coordinator has just moved, or begins | 7 times, 30 s |
| Kafka, offsets | `retry.py` besides: librdkafka gives up where a leader has just changed | 5 times, 30 s |

Then the run ends with exit status 75, or a range fails and the others are committed; Airflow starts it again minutes
later. What is final is asked once, and ends it with 65 or 78.

An answer is looked up by its code, then by its status; what is in neither is final below 500. A request without an
answer (no connection, a reset, silence, half an answer, something else) is tried again, unless it is the
configuration that speaks: no credentials, a certificate that nobody trusts, an address that is none.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final


class Again(enum.Enum):
    """Whether the same request, sent once more, may pass."""

    YES = "yes"
    NO = "no"


_YES, _NO = Again.YES, Again.NO

#: S3's codes and statuses. A 200 may carry an error, and a 400 may be a clock: the code comes first.
S3: Final[Mapping[str | int, Again]] = {
    # It asks for time, or has lost its way.
    "SlowDown": _YES,
    "TooManyRequests": _YES,
    "TooManyRequestsException": _YES,
    "RequestLimitExceeded": _YES,
    "BandwidthLimitExceeded": _YES,
    "InternalError": _YES,
    "ServiceUnavailable": _YES,
    # Somebody else changes the same key at this moment.
    "ConditionalRequestConflict": _YES,
    "OperationAborted": _YES,
    # The request did not arrive whole, or in time.
    "RequestTimeout": _YES,
    "RequestTimeoutException": _YES,
    "IncompleteBody": _YES,
    "BadDigest": _YES,
    "XAmzContentSHA256Mismatch": _YES,
    # Keys that are had anew, and clocks that are set.
    "ExpiredToken": _YES,
    "ExpiredTokenException": _YES,
    "RequestExpired": _YES,
    "RequestTimeTooSkewed": _YES,
    "TokenRefreshRequired": _YES,
    # What is configured is not what is there.
    "NoSuchBucket": _NO,
    "AccessDenied": _NO,
    "SignatureDoesNotMatch": _NO,
    "InvalidAccessKeyId": _NO,
    "InvalidToken": _NO,
    "XAdminUserNotFound": _NO,  # versitygw's
    "PermanentRedirect": _NO,
    "AuthorizationHeaderMalformed": _NO,
    "IllegalLocationConstraintException": _NO,
    "NotImplemented": _NO,
    "EntityTooLarge": _NO,
    "ObjectParentIsFile": _NO,  # versitygw's, a 409: its keys are files and folders
    # By status alone.
    408: _YES,
    409: _YES,
    425: _YES,
    429: _YES,
    501: _NO,  # it says that it never will
}

#: The registry's statuses: its codes only tell what is missing.
REGISTRY: Final[Mapping[str | int, Again]] = {
    401: _NO,
    403: _NO,
    408: _YES,
    425: _YES,
    429: _YES,
}


#: Glue's codes.
GLUE: Final[Mapping[str | int, Again]] = {
    "OperationTimeoutException": _YES,
    "InternalServiceException": _YES,
    "RequestTimeout": _YES,
    # Keys that are had anew, and clocks that are set.
    "ExpiredToken": _YES,
    "ExpiredTokenException": _YES,
    "RequestExpired": _YES,
    "AccessDeniedException": _NO,
    "InvalidInputException": _NO,
    "UnrecognizedClientException": _NO,
    "InvalidSignatureException": _NO,
    408: _YES,
    429: _YES,
}


def again(table: Mapping[str | int, Again], code: str, status: int) -> Again:
    """
    >>> again(S3, "SlowDown", 503), again(S3, "NoSuchBucket", 503), again(S3, "KMS.ThrottlingException", 400)
    (<Again.YES: 'yes'>, <Again.NO: 'no'>, <Again.YES: 'yes'>)
    >>> again(S3, "", 502), again(REGISTRY, "", 404)
    (<Again.YES: 'yes'>, <Again.NO: 'no'>)
    """
    found = table.get(code) or table.get(status)
    if found is not None:
        return found
    return Again.YES if status >= 500 or "Throttl" in code else Again.NO
