"""HTTP in front of the bucket: what boto3 is about to send becomes a request, its outcome what boto3 would receive.

`kafka_s3.adapters.s3.S3Store` runs as it is, signing, retries and translation of errors included; only the socket is
missing.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape

from botocore.awsrequest import AWSResponse

from tests.interleavings.bucket import Refused, SteppedBucket

WRITES = frozenset(
    (
        *("PutObject", "DeleteObject", "PutObjectTagging", "CreateMultipartUpload", "UploadPart"),
        *("CompleteMultipartUpload", "AbortMultipartUpload"),
    )
)
SHORT = {
    "PutObject": "PUT",
    "GetObject": "GET",
    "HeadObject": "HEAD",
    "DeleteObject": "DELETE",
    "ListObjectsV2": "LIST",
    "PutObjectTagging": "TAG",
    "CreateMultipartUpload": "START",
    "UploadPart": "PART",
    "CompleteMultipartUpload": "COMPLETE",
    "AbortMultipartUpload": "ABORT",
    "ListMultipartUploads": "UPLOADS",
}
_TAG = re.compile(r"<Key>(.*?)</Key><Value>(.*?)</Value>")
_PART = re.compile(r"<Part>(.*?)</Part>", re.DOTALL)


@dataclass(frozen=True)
class Request:
    operation: str
    key: str  # of a list: its prefix
    url: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    def __str__(self) -> str:
        return f"{SHORT[self.operation]} {self.key}"

    @property
    def is_write(self) -> bool:
        return self.operation in WRITES

    @property
    def is_conditional(self) -> bool:
        return self.headers.get("if-none-match") == "*"


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]
    body: bytes = b""


class _Raw(io.BytesIO):
    """As much of urllib3's response as boto3 reads."""

    def stream(self, amt: int | None = None, decode_content: bool | None = None) -> Iterator[bytes]:
        while data := self.read(amt or -1):
            yield data


def read_request(event_name: str, prepared: Any) -> Request:
    """What boto3 is about to send."""
    parts = urlsplit(prepared.url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    key = unquote(parts.path).lstrip("/").partition("/")[2]
    body = prepared.body or b""
    headers = {name.lower(): _text(value) for name, value in prepared.headers.items()}
    operation = event_name.rpartition(".")[2]
    return Request(
        operation,
        key or query.get("prefix", ""),
        prepared.url,
        query,
        headers,
        body if isinstance(body, bytes) else body.read() if hasattr(body, "read") else bytes(body, "utf-8"),
    )


def to_boto(request: Request, response: Response, *, cut: bool = False) -> AWSResponse:
    """`cut`: the connection ends before the body does."""
    headers = {"content-length": str(len(response.body)), **response.headers}
    body = response.body[: len(response.body) // 2] if cut else response.body
    return AWSResponse(request.url, response.status, headers, _Raw(body))


def error(status: int, code: str, *, is_head: bool = False) -> Response:
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
    return Response(status, {}, b"" if is_head else body)


def apply(bucket: SteppedBucket, request: Request) -> Response:
    """The one moment at which a request happens."""
    try:
        return _HANDLERS[request.operation](bucket, request)
    except Refused as refused:
        return error(refused.status, refused.code, is_head=request.operation == "HeadObject")


def _put(bucket: SteppedBucket, request: Request) -> Response:
    tags = dict(parse_qsl(request.headers.get("x-amz-tagging", "")))
    etag = bucket.put(request.key, request.body, _metadata(request), absent=request.is_conditional, tags=tags)
    return Response(200, {"ETag": etag})


def _get(bucket: SteppedBucket, request: Request) -> Response:
    found = bucket.get(request.key)
    more = {f"x-amz-meta-{name}": value for name, value in found.metadata.items()}
    headers = {"ETag": found.etag, "Last-Modified": formatdate(found.modified_ms // 1000, usegmt=True), **more}
    if request.operation == "HeadObject":
        return Response(200, {**headers, "content-length": str(len(found.body))})
    return Response(200, headers, found.body)


def _delete(bucket: SteppedBucket, request: Request) -> Response:
    bucket.delete(request.key)
    return Response(204, {})


def _tag(bucket: SteppedBucket, request: Request) -> Response:
    bucket.tag(request.key, dict(_TAG.findall(request.body.decode())))
    return Response(200, {})


def _list(bucket: SteppedBucket, request: Request) -> Response:
    query = request.query
    page = bucket.list(
        request.key,
        int(query.get("max-keys", "1000")),
        query.get("start-after", ""),
        query.get("continuation-token"),
        query.get("delimiter", ""),
    )
    lines = [_tagged("IsTruncated", "true" if page.next else "false"), _tagged("EncodingType", "url")]
    lines += [_tagged("NextContinuationToken", page.next)] if page.next else []
    for key, found in page.items:
        written = _iso(found.modified_ms)
        of = _tagged("Key", quote(key)) + _tagged("Size", str(len(found.body))) + _tagged("LastModified", written)
        lines.append(f"<Contents>{of}<ETag>{escape(found.etag)}</ETag></Contents>")
    lines += [f"<CommonPrefixes>{_tagged('Prefix', quote(folder))}</CommonPrefixes>" for folder in page.folders]
    return _xml("ListBucketResult", lines)


def _uploads(bucket: SteppedBucket, request: Request) -> Response:
    query = request.query
    after = (query.get("key-marker", ""), query.get("upload-id-marker", "\U0010ffff" if "key-marker" in query else ""))
    found = bucket.open_uploads(request.key, after)
    most = min(int(query.get("max-uploads", "1000")), bucket.page_max)
    lines = [_tagged("IsTruncated", "true" if len(found) > most else "false")]
    if len(found) > most:  # boto3 asks for no encoding here, as it does of objects
        key, id = found[most - 1]
        lines += [_tagged("NextKeyMarker", key), _tagged("NextUploadIdMarker", id)]
    for key, id in found[:most]:
        lines.append(f"<Upload>{_tagged('Key', key)}{_tagged('UploadId', id)}</Upload>")
    return _xml("ListMultipartUploadsResult", lines)


def _start(bucket: SteppedBucket, request: Request) -> Response:
    return _xml("InitiateMultipartUploadResult", [_tagged("UploadId", bucket.start(request.key, _metadata(request)))])


def _part(bucket: SteppedBucket, request: Request) -> Response:
    number = int(request.query["partNumber"])
    return Response(200, {"ETag": bucket.part(request.query["uploadId"], number, request.body)})


def _complete(bucket: SteppedBucket, request: Request) -> Response:
    parts = []
    for part in _PART.findall(request.body.decode()):
        number, etag = re.search(r"<PartNumber>(\d+)<", part), re.search(r"<ETag>(.*?)<", part)
        assert number is not None
        assert etag is not None
        parts.append((int(number[1]), etag[1].replace("&quot;", '"')))
    etag = bucket.complete(request.query["uploadId"], parts, absent=request.is_conditional)
    return _xml("CompleteMultipartUploadResult", [_tagged("ETag", etag)])


def _abort(bucket: SteppedBucket, request: Request) -> Response:
    bucket.abort(request.query["uploadId"])
    return Response(204, {})


_HANDLERS = {
    "PutObject": _put,
    "GetObject": _get,
    "HeadObject": _get,
    "DeleteObject": _delete,
    "PutObjectTagging": _tag,
    "ListObjectsV2": _list,
    "ListMultipartUploads": _uploads,
    "CreateMultipartUpload": _start,
    "UploadPart": _part,
    "CompleteMultipartUpload": _complete,
    "AbortMultipartUpload": _abort,
}


def _metadata(request: Request) -> dict[str, str]:
    prefix = "x-amz-meta-"
    return {name.removeprefix(prefix): value for name, value in request.headers.items() if name.startswith(prefix)}


def _tagged(name: str, value: str) -> str:
    return f"<{name}>{escape(value)}</{name}>"


def _xml(root: str, lines: list[str]) -> Response:
    return Response(200, {}, f"<?xml version='1.0'?><{root}>{''.join(lines)}</{root}>".encode())


def _iso(at_ms: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
