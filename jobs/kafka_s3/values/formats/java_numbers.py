"""Floating-point numbers as Java writes them: `Double.toString` and `Float.toString`, as of Java 19.

The fewest digits that read back as the number, as Python has it, but with at least two of them, and in scientific
notation outside `[0.001, 10,000,000)`. (Java before 19 writes more digits than needed, now and then.)
"""

from __future__ import annotations

import struct
from functools import lru_cache


def java_double(number: float) -> str:
    """
    >>> java_double(100.0), java_double(1e10), java_double(1e-05), java_double(-1234567.5), java_double(5e-324)
    ('100.0', '1.0E10', '1.0E-5', '-1234567.5', '4.9E-324')
    """
    if 1e-3 <= abs(number) < 1e7 or number == 0:
        return repr(number)
    if number - number != 0:
        return _not_finite(number)
    return _scientific(repr(number), number)


def java_float(number: float) -> str:
    """A float of 32 bits, held in a Python float.

    >>> java_float(struct.unpack("f", struct.pack("f", 0.1))[0]), java_float(16777216.0), java_float(3.5)
    ('0.1', '1.6777216E7', '3.5')
    """
    if number - number != 0:
        return _not_finite(number)
    return _nonzero_float(number) if number else repr(number)  # to a cache 0.0 and -0.0 are the same


@lru_cache(4096)
def _nonzero_float(number: float) -> str:
    shortest = next(text for text in _roundings(number) if _single(float(text)) == number)
    size = abs(number)
    if 1e-3 <= size < 1e7:
        return repr(float(shortest))
    return _scientific(shortest, number)


def _roundings(number: float) -> list[str]:
    """By ever more digits; six are what a normal float always keeps, so fewer are among those of six."""
    digits = range(6, 10) if abs(number) >= 1.2e-38 else range(1, 10)
    return [f"{number:.{count - 1}e}" for count in digits]


def _single(number: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:  # the largest float, rounded up
        return float("inf")


def _not_finite(number: float) -> str:
    return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"


def _scientific(shortest: str, number: float) -> str:
    """Java's notation for digits in Python's. With one digit Java takes the nearest two."""
    mantissa, _, power = shortest.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    exponent = int(power or 0) + len(digits) - len(fraction) - 1
    digits = digits.rstrip("0")
    if len(digits) == 1:
        mantissa, _, power = f"{abs(number):.1e}".partition("e")
        digits, exponent = mantissa[0] + mantissa[2], int(power)
    return f"{'-' if number < 0 else ''}{digits[0]}.{digits[1:].rstrip('0') or '0'}E{exponent}"
