"""Times as people and formats write them: the values of time options in, ISO and short texts out."""

from __future__ import annotations

import re
import time

from satchel.errors import UsageError

__all__ = ["age", "iso_utc", "local", "parse_moment"]

_FORMS = 'a duration (30m, 5h, 2d, 1w), a number of days, or a date ("2026-07-05", "2026-07-05 14:30", "2026-07-05T14:30:00Z")'

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-z]*)", re.ASCII | re.IGNORECASE)
_DATE = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?)\s*(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?",
    re.ASCII | re.IGNORECASE,
)
_SECONDS = {
    unit: seconds
    for seconds, units in {
        1: "s sec secs second seconds",
        60: "m min mins minute minutes",
        3600: "h hr hrs hour hours",
        86400: "d day days",
        604800: "w wk wks week weeks",
    }.items()
    for unit in units.split()
} | {"": 86400}

# The years 1 to 9999, UTC: what a date can be written for.
_FIRST = -62_135_596_800
_LAST = 253_402_300_800

_dates: dict[int, str] = {}
"""By the number of days since the epoch: a session's messages are of few days."""
_MOST_DATES = 1000


def parse_moment(text: str, *, now: float, name: str) -> float:
    """
    Return the moment that the value of the time option `name` means, in seconds since the epoch.

    A duration (`30m`, `5h`, `2 days`, `1.5w`) is that long before `now`; a bare number counts days; a date or a date and time
    in ISO form without a zone is local time.

    Raises:
        UsageError: The value is empty or none of these, or lies outside the years 1 to 9999.
    """
    value = text.strip()
    if not value:
        raise UsageError(f"{name} needs a value: {_FORMS}", subject=name)
    moment: float | None = None
    duration = _DURATION.fullmatch(value)
    if duration:
        unit = _SECONDS.get(duration[2].lower())
        if unit is not None:
            moment = now - float(duration[1]) * unit
    else:
        date = _DATE.fullmatch(value)
        if date:
            moment = _from_date(*date.groups())
    if moment is None:
        raise UsageError(f"{name} takes {_FORMS}; {_shown(text)} is none of them", subject=name)
    if not _FIRST <= moment < _LAST:
        raise UsageError(f"{name} {_shown(text)} lies outside the years 1 to 9999; it takes {_FORMS}", subject=name)
    return moment


def _from_date(day: str, clock: str | None, zone: str | None) -> float | None:
    from datetime import datetime

    iso = day if clock is None else f"{day}T{clock}{(zone or '').upper()}"
    try:
        return datetime.fromisoformat(iso).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")


def iso_utc(seconds: object, *, whole: bool = False) -> str:
    """
    Return seconds since the epoch as `2026-01-10T00:36:44.123456Z`, or without the fraction.

    What is no number, or lies outside the years 1 to 9999, gives "".
    """
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not _FIRST <= seconds < _LAST:
        return ""
    full = int(seconds // 1)
    micros = 0 if whole else round((seconds - full) * 1e6)
    if micros == 1_000_000:
        full, micros = full + 1, 0
    day, left = divmod(full, 86400)
    date = _dates.get(day)
    if date is None:
        try:
            year, month, of_month = time.gmtime(full)[:3]
        except (ValueError, OverflowError, OSError):
            return ""
        if year > 9999:
            return ""
        if len(_dates) > _MOST_DATES:
            _dates.clear()
        date = _dates[day] = f"{year:04}-{month:02}-{of_month:02}"
    text = f"{date}T{left // 3600:02}:{left // 60 % 60:02}:{left % 60:02}"
    return f"{text}Z" if whole else f"{text}.{micros:06}Z"


def local(seconds: object) -> str:
    """Return seconds since the epoch as people read them, `2026-01-10 00:36` in local time; "" for what `iso_utc` refuses."""
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not _FIRST <= seconds < _LAST:
        return ""
    try:
        year, month, day, hour, minute = time.localtime(int(seconds // 1))[:5]
    except (ValueError, OverflowError, OSError):
        return ""
    return f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}"


def age(seconds: object, now: float) -> str:
    """
    Return how long ago a moment was: "just now", "5m ago", "2h ago", "yesterday", "3d ago".

    From a week on it is the local date, and for the future the local time; "" for what `iso_utc` refuses.
    """
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not _FIRST <= seconds < _LAST:
        return ""
    past = now - seconds
    if past < -60:
        return local(seconds)
    if past < 60:
        return "just now"
    if past < 3600:
        return f"{int(past // 60)}m ago"
    if past < 86400:
        return f"{int(past // 3600)}h ago"
    if past < 172800:
        return "yesterday"
    if past < 604800:
        return f"{int(past // 86400)}d ago"
    return local(seconds)[:10]
