"""Decimals: the bytes of an unscaled value to a number with every digit of it, and how many digits that may have."""

from __future__ import annotations

from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context
from decimal import Decimal as Number
from typing import Final

#: Digits of a decimal that is written as a number: Jackson, and so Connect, reads no more. Beyond it the time that a
#: number takes is the square of its length.
DIGITS_MAX: Final = 1000
#: A byte is less than 2.41 digits, so a number of no more bytes than this may have DIGITS_MAX.
DIGITS_BYTES_MAX: Final = 416
_TOO_LARGE: Final[int] = 10**DIGITS_MAX
_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


class TooManyDigits(ValueError):
    """A decimal of more than `DIGITS_MAX`, and how long it is."""


def exact(unscaled: bytes, scale: int) -> Number:
    """The number, whose length was looked at before.

    >>> exact(b"}", 2), exact(b"", 0)
    (Decimal('1.25'), Decimal('0'))
    """
    return Number(int.from_bytes(unscaled, signed=True)).scaleb(-scale, _EXACT)


def number_of(unscaled: bytes, scale: int) -> Number:
    """The number. `TooManyDigits`, told before it is made."""
    if len(unscaled) >= DIGITS_BYTES_MAX and too_many_digits(unscaled):
        why = f"a decimal of {len(unscaled)} bytes has more than the {DIGITS_MAX} digits that a number may have"
        raise TooManyDigits(why)
    return exact(unscaled, scale)


def too_many_digits(unscaled: bytes) -> bool:
    """Whether a decimal cannot be written as a number; told without making a number of it where it is long.

    >>> too_many_digits(b"\\x7f" * 415), too_many_digits(b"\\x7f" * 417)
    (False, True)
    """
    if len(unscaled) <= DIGITS_BYTES_MAX - 1:
        return False
    shortest = unscaled.lstrip(b"\0" if unscaled[0] < 0x80 else b"\xff")
    if len(shortest) > DIGITS_BYTES_MAX:
        return True
    number = int.from_bytes(unscaled[-DIGITS_BYTES_MAX - 1 :], "big", signed=True)
    return not -_TOO_LARGE < number < _TOO_LARGE
