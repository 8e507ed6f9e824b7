"""What a format is that puts other objects beside its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar


class FormatWithCompanions:
    """An `ObjectFormat` whose encoders are of the kind below."""

    __slots__ = ()
    #: The extensions, in place of the object's own, of what `companions` gives.
    companion_extensions: ClassVar[Mapping[str, str]]


class EncoderWithCompanions(ABC):
    """An `ObjectEncoder` that is told offsets before each `encode`, and has something to put beside the object."""

    @abstractmethod
    def note(self, offsets: Sequence[int], timestamps: Sequence[int | None] | None) -> None:
        """The offsets, ascending, and the timestamps in ms of the rows that `encode` gets next."""

    @abstractmethod
    def companions(self) -> Mapping[str, bytes]:
        """What lies beside the finished object, by its kind."""
