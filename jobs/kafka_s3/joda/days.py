"""The proleptic Gregorian calendar in whole numbers; a day is counted from 1970-01-01.

Years go on below 1: 0 is 1 BC, -1 is 2 BC. Weeks are ISO 8601's: they begin on Monday and belong to the year that holds
their Thursday.
"""

from __future__ import annotations

DAY_MS = 86_400_000
DAYS_PER_400_YEARS = 146_097
_DAYS_BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365)
_MARCH_0000 = -719_468  # the day of 0000-03-01: from there leap days come last


def days_of(year: int, month: int, day: int) -> int:
    """
    >>> days_of(1970, 1, 1), days_of(2024, 2, 29), days_of(0, 1, 1)
    (0, 19782, -719528)
    """
    shifted = year - (month <= 2)
    day_of_shifted_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400 + day_of_shifted_year + _MARCH_0000


def civil_of(days: int) -> tuple[int, int, int]:
    """Year, month and day of the month: the inverse of `days_of`.

    >>> civil_of(19782), civil_of(-719529)
    ((2024, 2, 29), (-1, 12, 31))
    """
    cycles, day_of_cycle = divmod(days - _MARCH_0000, DAYS_PER_400_YEARS)
    year_of_cycle = (day_of_cycle - day_of_cycle // 1460 + day_of_cycle // 36524 - day_of_cycle // 146096) // 365
    day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle // 4 - year_of_cycle // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    month = (month_from_march + 2) % 12 + 1
    return cycles * 400 + year_of_cycle + (month <= 2), month, day_of_year - (153 * month_from_march + 2) // 5 + 1


def is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(year: int, month: int) -> int:
    return 29 if month == 2 and is_leap(year) else _DAYS_BEFORE_MONTH[month] - _DAYS_BEFORE_MONTH[month - 1]


def day_of_week(days: int) -> int:
    """1 is Monday, 7 is Sunday.

    >>> day_of_week(0)
    4
    """
    return (days + 3) % 7 + 1


def week_of(days: int) -> tuple[int, int]:
    """The year that the week belongs to, and the week in it, from 1.

    >>> week_of(days_of(2021, 1, 3)), week_of(days_of(2024, 12, 30))
    ((2020, 53), (2025, 1))
    """
    thursday = days - day_of_week(days) + 4
    year = civil_of(thursday)[0]
    return year, (thursday - days_of(year, 1, 1)) // 7 + 1


def first_week(year: int) -> int:
    """The Monday that the first week of a year begins with."""
    fourth = days_of(year, 1, 4)
    return fourth - day_of_week(fourth) + 1


def weeks_in_year(year: int) -> int:
    return (first_week(year + 1) - first_week(year)) // 7
