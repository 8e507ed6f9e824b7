"""An object in parts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from kafka_s3.errors import ExporterError, StoreRefused, StoreUnavailable
from kafka_s3.ports import Put

PARTS_MAX: Final = 10_000  # S3's own maximum
EXISTS: Final = ("PreconditionFailed", "412")
UPLOAD_MISSING: Final = ("NoSuchUpload",)


class Call(Protocol):
    """One request of an upload, retried; an error of S3 whose code is `expected` is an answer that holds "Error"."""

    def __call__(self, operation: str, expected: tuple[str, ...] = (), **arguments: Any) -> Mapping[str, Any]: ...


class S3Upload:
    """A `MultipartUpload`: each part is one request, sent and retried before the next."""

    def __init__(self, place: str, call: Call, exists: Callable[[], bool]) -> None:
        self._place = place
        self._call = call
        self._exists = exists
        self._parts: list[dict[str, Any]] = []
        self._ended = False

    def put_part(self, body: bytes) -> None:
        assert not self._ended, f"{self._place}: a part after the end"
        number = len(self._parts) + 1
        if number > PARTS_MAX:
            what = f"{self._place} would have more than {PARTS_MAX} parts."
            raise StoreRefused(what, next="Raise s3.part.size or lower flush.size.")
        answer = self._call("upload_part", UPLOAD_MISSING, PartNumber=number, Body=body)
        if "Error" in answer:
            self._ended = True
            raise self._gone()
        self._parts.append({"PartNumber": number, "ETag": answer["ETag"]})

    def complete_if_absent(self) -> Put:
        assert self._parts, f"{self._place}: nothing to complete"
        assert not self._ended, f"{self._place}: completed twice"
        expected = (*EXISTS, *UPLOAD_MISSING)
        answer = self._call(
            "complete_multipart_upload", expected, MultipartUpload={"Parts": self._parts}, IfNoneMatch="*"
        )
        if "Error" not in answer:
            self._ended = True
            return Put.CREATED
        self.abort()
        if answer["Error"]["Code"] in UPLOAD_MISSING and not self._exists():
            raise self._gone()
        # Another writer's object, or ours and the answer to the first try got lost: the caller compares.
        return Put.EXISTS

    def _gone(self) -> StoreUnavailable:
        what = f"The multipart upload of {self._place} is gone."
        return StoreUnavailable(what, next="Somebody, or a lifecycle rule, aborted it; it is written anew by a retry.")

    def abort(self) -> None:
        """Delete the parts if the upload has not ended; never raises what the store says.

        It is called where something else has failed, and that error counts. Parts that stay cost storage until a
        lifecycle rule (AbortIncompleteMultipartUpload) deletes them.
        """
        if not self._ended:
            self._ended = True
            with contextlib.suppress(ExporterError):
                self._call("abort_multipart_upload", UPLOAD_MISSING)
