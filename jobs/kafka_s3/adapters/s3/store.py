"""One bucket over boto3."""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote, urlencode

from botocore import exceptions as aws

from kafka_s3.adapters.retry import Retrying
from kafka_s3.adapters.s3.client import make_client, plain_body
from kafka_s3.adapters.s3.translation import LIBRARY_ERRORS, api_name, translate
from kafka_s3.adapters.s3.upload import EXISTS, UPLOAD_MISSING, S3Upload
from kafka_s3.errors import StoreRefused, StoreUnavailable
from kafka_s3.ports import GET_BYTES_MAX, ObjectInfo, OpenUpload, Put, check_size
from kafka_s3.settings.s3 import S3Settings

CHUNK_BYTES: Final = 1024 * 1024
PAGE_KEYS_MAX: Final = 1000  # S3's own maximum

PAGE_UPLOADS_MAX: Final = 1000  # the same

_MARKER_REFUSED: Final = ("InvalidArgument",)
_MISSING: Final = ("NoSuchKey", "NotFound", "404")
# What an answer has to hold to be one: a 200 without it came from something else, or is half of one.
_EXPECTED: Final = {
    "put_object": "ETag",
    "get_object": "ContentLength",
    "head_object": "ContentLength",
    "list_objects_v2": "IsTruncated",
    "list_multipart_uploads": "IsTruncated",
    "create_multipart_upload": "UploadId",
    "upload_part": "ETag",
    "complete_multipart_upload": "ETag",
}
# What of the put arguments every other request has to say again, where it knows the name.
_REPEATED: Final = (
    "SSECustomerAlgorithm",
    "SSECustomerKey",
    "SSECustomerKeyMD5",
    "RequestPayer",
    "ExpectedBucketOwner",
)

_Answer = Mapping[str, Any]


class S3Store:
    """One bucket: an `ObjectStore`. Thread-safe; pickles as its settings.

    `on_request` is called with the operation's name ("PutObject") before each request, retries included.
    A task holds one body and, while it reads, one chunk of `CHUNK_BYTES`.
    """

    def __init__(self, settings: S3Settings, *, on_request: Callable[[str], None] | None = None) -> None:
        self._settings = settings
        self._on_request = on_request
        self._retrying = Retrying(settings.retry, retry_on=StoreUnavailable)
        try:
            self._client = make_client(settings)
        except (*LIBRARY_ERRORS, ValueError) as error:
            raise translate(settings, error, "create_client", "") from error
        self._client.meta.events.register("before-call.s3", functools.partial(plain_body, settings.expect_continue))
        if on_request is not None:
            # A handler that answered something would replace the request.
            self._client.meta.events.register(
                "before-send.s3", lambda event_name, **_: on_request(event_name.rpartition(".")[2])
            )

    def __reduce__(self) -> tuple[object, ...]:
        return functools.partial(S3Store, on_request=self._on_request), (self._settings,)

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        *,
        metadata: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Put:
        more: dict[str, Any] = {"Tagging": urlencode(tags, quote_via=quote)} if tags else {}
        answer = self._call(
            "put_object",
            key,
            EXISTS,
            Body=body,
            IfNoneMatch="*",
            Metadata=dict(metadata or {}),
            **self._digest(body),
            **more,
        )
        return Put.EXISTS if "Error" in answer else Put.CREATED

    def put_tags(self, key: str, tags: Mapping[str, str]) -> None:
        tag_set = [{"Key": name, "Value": value} for name, value in tags.items()]
        self._call("put_object_tagging", key, Tagging={"TagSet": tag_set})

    def get(self, key: str, *, limit: int = GET_BYTES_MAX) -> bytes | None:
        def attempt() -> bytes | None:
            answer = self._try("get_object", key, _MISSING)
            return None if "Error" in answer else b"".join(self._chunks(answer, key, limit))

        return self._retrying(attempt)

    def read(self, key: str, *, limit: int | None = None) -> Iterator[bytes]:
        answer = self._call("get_object", key, _MISSING)
        if "Error" in answer:
            raise StoreRefused(f"s3://{self._settings.bucket}/{key} does not exist.")
        yield from self._chunks(answer, key, limit)

    def head(self, key: str) -> ObjectInfo | None:
        """S3 answers a HEAD without a reason: a bucket that does not exist looks like a key that does not."""
        answer = self._call("head_object", key, _MISSING)
        return (
            None
            if "Error" in answer
            else _info(key, answer["ContentLength"], answer.get("LastModified"), answer["Metadata"])
        )

    def list(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> Iterator[ObjectInfo]:
        # Code points and UTF-8 bytes sort alike, so Python's order of the keys is S3's.
        last, left = start_after, limit
        where: dict[str, Any] = {"StartAfter": start_after} if start_after else {}
        while left is None or left > 0:
            count = PAGE_KEYS_MAX if left is None else min(left, PAGE_KEYS_MAX)
            page = self._call("list_objects_v2", prefix, Prefix=prefix, MaxKeys=count, **where)
            found = page.get("Contents", ())  # of a page that is not the last, none at all is an answer, too
            for item in found:
                if item["Key"] <= last:
                    raise _unordered(self._settings, last, item["Key"])
                last = item["Key"]
                yield _info(last, item["Size"], item.get("LastModified"))
            if not page["IsTruncated"]:
                return
            left = None if left is None else left - len(found)
            where = {"ContinuationToken": self._next(page, prefix, "NextContinuationToken")}

    def start_multipart(self, key: str) -> S3Upload:
        upload_id = self._call("create_multipart_upload", key)["UploadId"]

        def call(operation: str, expected: tuple[str, ...] = (), **arguments: Any) -> _Answer:
            if operation == "upload_part":
                arguments |= self._digest(arguments["Body"])
            return self._call(operation, key, expected, UploadId=upload_id, **arguments)

        return S3Upload(f"s3://{self._settings.bucket}/{key}", call, lambda: self.head(key) is not None)

    def uploads(self, prefix: str) -> Iterator[OpenUpload]:
        """versitygw 1.8 refuses its own marker in the middle of a key's uploads: then the rest of them is left out."""
        where: dict[str, Any] = {}
        while True:
            page = self._uploads_page(prefix, where, _MARKER_REFUSED)
            if "Error" in page:
                where.pop("UploadIdMarker", None)
                page = self._uploads_page(prefix, where, ())
            yield from (OpenUpload(item["Key"], item["UploadId"]) for item in page.get("Uploads", ()))
            if not page["IsTruncated"]:
                return
            then = {
                "KeyMarker": self._next(page, prefix, "NextKeyMarker"),
                "UploadIdMarker": self._next(page, prefix, "NextUploadIdMarker"),
            }
            if then == where:
                what = f"s3://{self._settings.bucket} lists the uploads after {then['KeyMarker']!r} again and again."
                raise StoreRefused(what, next="The store cannot page: let a lifecycle rule abort its old uploads.")
            where = then

    def _uploads_page(self, prefix: str, where: Mapping[str, Any], expected: tuple[str, ...]) -> _Answer:
        return self._call(
            "list_multipart_uploads", prefix, expected, Prefix=prefix, MaxUploads=PAGE_UPLOADS_MAX, **where
        )

    def abort_upload(self, upload: OpenUpload) -> None:
        self._call("abort_multipart_upload", upload.key, UPLOAD_MISSING, UploadId=upload.id)

    def delete(self, key: str) -> None:
        self._call("delete_object", key, _MISSING)  # S3 does not tell, others do

    def _next(self, page: _Answer, prefix: str, name: str) -> str:
        """Where the next page of a list begins."""
        found = page.get(name)
        if not found:
            raise self._no_answer("a list", prefix, name)
        return str(found)

    def _no_answer(self, to: str, key: str, missing: str) -> StoreUnavailable:
        what = f"S3 answered 200 to {to} s3://{self._settings.bucket}/{key}, and the answer has no {missing}."
        return StoreUnavailable(what, next="Does something stand between the exporter and the store?")

    def _digest(self, body: bytes) -> dict[str, str]:
        """`s3.send.digest`: the MD5 that the store compares what it got with."""
        if not self._settings.send_digest:
            return {}
        md5 = hashlib.md5(body, usedforsecurity=False).digest()
        return {"ContentMD5": base64.b64encode(md5).decode("ascii")}

    def _call(self, operation: str, key: str, expected: tuple[str, ...] = (), **arguments: Any) -> _Answer:
        """One request, retried; an error of S3 whose code is `expected` is an answer that holds "Error"."""
        return self._retrying(lambda: self._try(operation, key, expected, **arguments))

    def _try(self, operation: str, key: str, expected: tuple[str, ...], **arguments: Any) -> _Answer:
        fixed = self._fixed_arguments(operation)
        if "Prefix" not in arguments:
            fixed = {"Key": key, **fixed}
        with self._translated(operation, key):
            try:
                answer: _Answer = getattr(self._client, operation)(**fixed, **arguments)
            except aws.ClientError as error:
                # It may be STS that answers, asked for credentials on the way.
                if error.operation_name != api_name(operation) or error.response["Error"].get("Code") not in expected:
                    raise
                return error.response
        missing = _EXPECTED.get(operation)
        if missing is not None and missing not in answer:
            raise self._no_answer(api_name(operation), key, missing)
        return answer

    def _chunks(self, answer: _Answer, key: str, limit: int | None) -> Iterator[bytes]:
        """The body of an answer; its header says how much that is before a byte of it is read."""
        received = 0
        with contextlib.closing(answer["Body"]) as body, self._translated("get_object", key):
            check_size(key, answer["ContentLength"], limit)
            for chunk in body.iter_chunks(CHUNK_BYTES):
                received += len(chunk)
                yield chunk
        if received != answer["ContentLength"]:
            what = f"s3://{self._settings.bucket}/{key}: {received} bytes of {answer['ContentLength']} came."
            raise StoreUnavailable(what, next="The answer was cut; try again.")

    def _fixed_arguments(self, operation: str) -> dict[str, Any]:
        arguments = self._settings.put_arguments
        if operation not in ("put_object", "create_multipart_upload"):
            shape = self._client.meta.service_model.operation_model(api_name(operation)).input_shape
            assert shape is not None
            arguments = {name: arguments[name] for name in _REPEATED if name in arguments and name in shape.members}
        return {"Bucket": self._settings.bucket, **arguments}

    @contextlib.contextmanager
    def _translated(self, operation: str, key: str) -> Iterator[None]:
        try:
            yield
        except LIBRARY_ERRORS as error:
            raise translate(self._settings, error, operation, key) from error


def _unordered(settings: S3Settings, last: str, key: str) -> StoreRefused:
    return StoreRefused(
        f"s3://{settings.bucket} lists its keys out of order: {key!r} after {last!r}.",
        next="The newest commit is found by order: use a general purpose bucket (directory buckets have no order).",
    )


def _info(key: str, size: int, modified: datetime | None, metadata: Mapping[str, str] | None = None) -> ObjectInfo:
    return ObjectInfo(key, size, metadata, None if modified is None else int(modified.timestamp() * 1000))
