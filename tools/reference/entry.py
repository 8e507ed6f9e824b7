"""The JSON schema of a log entry, from the type that reads and writes entries."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from kafka_s3.log.entries import FORMAT_VERSION, Entry

_REF: Final = "#/$defs/{name}"


def schema() -> dict[str, Any]:
    """The schema of a file below `log/`: an envelope with the entry's checksum, and the entry."""
    (body,), definitions = msgspec.json.schema_components([Entry], ref_template=_REF)
    envelope = {
        "sha256": {"type": "string", "description": "SHA-256 of the bytes of `body`, in hexadecimal."},
        "hmac": {"type": "string", "description": "Signature, where export.log.key is set."},
        "body": body,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Log entry, format version {FORMAT_VERSION}",
        "type": "object",
        "required": ["sha256", "body"],
        "properties": envelope,
        "$defs": definitions,
    }


def schema_text() -> str:
    """The file docs/schema/entry.json."""
    return json.dumps(schema(), indent=2, sort_keys=True) + "\n"
