"""How requests are sent: endpoint, signature, proxy, bodies.

The SDK's own retries are off: `retry.py` has them all. Its default checksums are off, too, because many stores
refuse them; the log holds the SHA-256 of every object. HTTPS trusts the CAs in AWS_CA_BUNDLE, else botocore's own.
"""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from botocore import UNSIGNED
from botocore.auth import AUTH_TYPE_MAPS, S3SigV4Auth
from botocore.config import Config
from botocore.exceptions import IncompleteReadError

from kafka_s3.adapters.s3.credentials import session_for
from kafka_s3.settings.credentials import Anonymous, AssumeRole, UserDefinedProvider
from kafka_s3.settings.s3 import S3Settings

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

CONNECT_TIMEOUT_S: Final = 10
READ_TIMEOUT_S: Final = 60
#: Kept open at most; threads that share a client take more, and close them after each request.
CONNECTIONS_MAX: Final = 256
# A smaller body is sent sooner than "100 Continue" is waited for.
EXPECT_BYTES_MIN: Final = 1024 * 1024

_session_lock = threading.Lock()

_KNOWN_HASH: Final = "s3v4-known-hash"
_HEX_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class _KnownHashAuth(S3SigV4Auth):
    """Signature 4 whose hash of the body is the one in the metadata, instead of hashing the body once more."""

    def payload(self, request: Any) -> str:
        known = request.headers.get("x-amz-meta-sha256")
        if isinstance(known, bytes):
            known = known.decode("ascii")
        if known and _HEX_SHA256.fullmatch(known):
            return str(known)
        return str(super().payload(request))


AUTH_TYPE_MAPS[_KNOWN_HASH] = _KnownHashAuth


def make_client(settings: S3Settings) -> S3Client:
    """The client of a bucket. Raises botocore's errors, and ValueError for an endpoint that is not a URL."""
    proxies = {"http": settings.proxy_url, "https": settings.proxy_url} if settings.proxy_url else None
    # Where TLS guards the body the signature leaves it out: hashing it once more would cost 2.5 ms per MiB.
    plain = settings.endpoint_url is not None and settings.endpoint_url.startswith("http:")
    given = not isinstance(settings.credentials, AssumeRole | UserDefinedProvider)  # they get the keys themselves
    unsigned = isinstance(settings.credentials, Anonymous) and settings.access_key_id is None
    config = Config(
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=READ_TIMEOUT_S,
        max_pool_connections=CONNECTIONS_MAX,
        retries={"total_max_attempts": 1, "mode": "standard"},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={
            "addressing_style": "path" if settings.path_style else "virtual",
            "payload_signing_enabled": plain,
            "use_accelerate_endpoint": settings.accelerate,
        },
        signature_version=UNSIGNED if unsigned else None,
        proxies=proxies,
        use_fips_endpoint=settings.use_fips,
        use_dualstack_endpoint=settings.use_dualstack,
    )
    with _session_lock:  # boto3's clients may be shared between threads, its sessions may not
        client = session_for(settings).client(
            "s3",
            region_name=settings.region,
            endpoint_url=settings.endpoint_url,
            aws_access_key_id=settings.access_key_id if given else None,
            aws_secret_access_key=settings.secret_access_key if given else None,
            aws_session_token=settings.session_token if given else None,
            config=config,
        )
    if plain:
        choose: Any = _choose_signer  # the stubs know no handler that answers
        client.meta.events.register("choose-signer.s3.PutObject", choose)
    client.meta.events.register("before-parse.s3", refuse_half_an_answer)
    client.meta.events.register_last("before-parameter-build.s3", follow_once)
    return client


def follow_once(model: Any, context: dict[str, Any], **_: Any) -> None:
    """Let botocore ask for a bucket's region once. Whether a HeadBucket that is redirected itself asks again, and that
    one again, it does not look: a store that redirects everything would end in a RecursionError."""
    if model.name == "HeadBucket":
        context.setdefault("s3_redirect", {})["redirected"] = True


def _choose_signer(signature_version: object, **_: Any) -> str | None:
    return _KNOWN_HASH if signature_version in ("v4", "s3v4") else None


def plain_body(expect_continue: bool, params: dict[str, Any], **_: Any) -> None:
    """Send a body in one piece, and let the store refuse a large one first (`s3.http.send.expect.continue`).

    boto3 makes a file of every body, sends it in pieces of 16 KiB and always waits for "100 Continue".
    """
    body = params.get("body")
    if isinstance(body, io.BytesIO):
        params["body"] = body.getvalue()
        params["headers"].pop("Expect", None)
        if expect_continue and len(params["body"]) >= EXPECT_BYTES_MIN:
            params["headers"]["Expect"] = "100-continue"


def refuse_half_an_answer(operation_model: Any, response_dict: Mapping[str, Any], **_: Any) -> None:
    """Raise if an answer ended early: botocore takes half an error, which may have lost its code, for a whole one."""
    body, length = response_dict["body"], response_dict["headers"].get("content-length", "")
    unknown = not isinstance(body, bytes) or operation_model.http["method"] == "HEAD" or not length.isdecimal()
    if not unknown and len(body) != int(length):
        raise IncompleteReadError(actual_bytes=len(body), expected_bytes=int(length))
