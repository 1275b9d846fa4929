"""Reads what an English query says about time: pure.

"In June" prefers memories from June and shortly after; "when did" prefers memories that speak of a time. They reorder
what was found, they never hide anything; in other languages they do nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_MONTH_NAMES = "January|February|March|April|May|June|July|August|September|October|November|December"
_MONTHS = _MONTH_NAMES.split("|")
_MONTH = rf"(?P<month>{_MONTH_NAMES})"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
# Months begin with a capital letter, or "may" and "march" would be dates.
_DATES = (
    re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<number>\d\d)(?:-(?P<day>\d\d))?\b"),
    re.compile(rf"\b{_DAY}(?:\s+of)?\s+{_MONTH}(?:,?\s+{_YEAR})?\b"),
    re.compile(rf"\b{_MONTH}\s+{_DAY}(?:,?\s+{_YEAR})?\b"),
    re.compile(rf"\b{_MONTH}(?:,?\s+(?:of\s+)?{_YEAR})?\b"),
    re.compile(rf"\b{_YEAR}\b"),
)
_AGO = re.compile(r"\b(?P<count>\d{1,3}|an?|one|two|three|four|five|six)\s+(?P<unit>day|week|month|year)s?\s+ago\b")
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_RELATIVE = {
    "today": (1, 0),
    "yesterday": (2, 1),
    "this week": (7, 0),
    "last week": (14, 7),
    "this month": (31, 0),
    "last month": (61, 30),
    "recently": (14, 0),
    "lately": (14, 0),
}
_ASKS_WHEN = re.compile(r"\bwhen\b|\bhow long\b|\b(?:what|which) (?:date|day|month|year|time)\b", re.I)
_SPEAKS_OF_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|since|weekend|week|month|year|summer|winter|spring|autumn|fall"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th)"
    rf"|{_MONTH_NAMES})s?\b",
    re.I,
)

# People tell of a thing some days after it happened.
TOLD_WITHIN = timedelta(days=7)


@dataclass(frozen=True)
class Period:
    """A stretch of time; without a year it comes every year."""

    start: datetime
    end: datetime
    every_year: bool = False

    def holds(self, moment: datetime) -> bool:
        """Tell whether a moment lies in the period or shortly after it."""
        if not self.every_year:
            return self.start <= moment < self.end + TOLD_WITHIN
        years = moment.year - self.start.year
        return any(
            start <= moment < start + (self.end - self.start) + TOLD_WITHIN
            for start in (_in_year(self.start, self.start.year + years - back) for back in (0, 1))
        )


@dataclass(frozen=True)
class TimeCues:
    """What a query says about time."""

    periods: tuple[Period, ...] = ()
    asks_when: bool = False

    def fits(self, moment: datetime) -> bool:
        """Tell whether a moment lies in one of the periods that the query names."""
        return any(period.holds(moment) for period in self.periods)


NO_TIME_CUES = TimeCues()


def time_cues(query: str, now: datetime) -> TimeCues:
    """Return what a query says about time, relative to now."""
    return TimeCues((*_dates(query), *_relative(query, now)), _ASKS_WHEN.search(query) is not None)


def speaks_of_time(text: str) -> bool:
    """Tell whether a text has a word for a time."""
    return _SPEAKS_OF_TIME.search(text) is not None


def _dates(query: str) -> list[Period]:
    periods = []
    rest = query
    for pattern in _DATES:
        for match in pattern.finditer(rest):
            period = _period(**match.groupdict())
            if period is not None:
                periods.append(period)
        # What was read as a full date is not read again as a month or a year.
        rest = pattern.sub(" ", rest)
    return periods


def _period(
    year: str | None = None, month: str | None = None, day: str | None = None, number: str | None = None
) -> Period | None:
    """Return the period of a date, or nothing where the calendar has no such date."""
    month_number = int(number) if number else _MONTHS.index(month) + 1 if month else None
    try:
        start = datetime(int(year or 2000), month_number or 1, int(day or 1), tzinfo=UTC)
    except ValueError:
        return None
    if day:
        end = start + timedelta(days=1)
    elif month_number:
        end = (start + timedelta(days=31)).replace(day=1)
    else:
        end = start.replace(year=start.year + 1)
    return Period(start, end, every_year=year is None)


def _relative(query: str, now: datetime) -> list[Period]:
    lowered = query.lower()
    day = timedelta(days=1)
    spans = [span for words, span in _RELATIVE.items() if re.search(rf"\b{words}\b", lowered)]
    for match in _AGO.finditer(lowered):
        unit = _UNIT_DAYS[match["unit"]]
        days = (_COUNTS.get(match["count"]) or int(match["count"])) * unit
        spans.append((days + max(1, unit // 2), days - unit // 2))
    return [Period(now - first * day, now - last * day) for first, last in spans]


def _in_year(moment: datetime, year: int) -> datetime:
    day = 28 if (moment.month, moment.day) == (2, 29) else moment.day
    return moment.replace(year=year, day=day)
