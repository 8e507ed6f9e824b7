"""The schema of a topic's values, where it is inferred: a plan pins it, and entries carry it to the next plan."""

from __future__ import annotations

import hashlib

import msgspec

from kafka_s3.bounds import SchemaText, Sha256


class ValueSchema(msgspec.Struct, frozen=True):
    """An Avro schema as compact JSON, and its fingerprint, the sha256 of that text."""

    avro: SchemaText
    sha256: Sha256

    @classmethod
    def of(cls, text: str) -> ValueSchema:
        return cls(text, _fingerprint(text))

    @property
    def is_whole(self) -> bool:
        """Whether the fingerprint is that of the text."""
        return _fingerprint(self.avro) == self.sha256


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
