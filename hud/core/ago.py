"""Times as people say them."""

from datetime import datetime

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
_CLOCK_SKEW_S = 90
_MONTH_S, _YEAR_S = 30.44 * _DAY_S, 365.25 * _DAY_S
_LONGEST_DAYS_S = 60 * _DAY_S


def span_words(seconds: float) -> str:
    """Return a length of time in its greatest unit: "12 s", "41 min", "3 h", "5 d", "8 mo", "4 y"."""
    whole = max(0, int(seconds))
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < _HOUR_S:
        return f"{whole // _MINUTE_S} min"
    if whole < 2 * _DAY_S:
        return f"{whole // _HOUR_S} h"
    if whole < _LONGEST_DAYS_S:
        return f"{whole // _DAY_S} d"
    if whole < 2 * _YEAR_S:
        return f"{int(whole / _MONTH_S)} mo"
    return f"{int(whole / _YEAR_S)} y"


def duration_words(seconds: float) -> str:
    """Return how long something took, in two units where the second matters: "42 s", "3 min 5 s", "1 h 12 min"."""
    whole = max(0, int(seconds))
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < _HOUR_S:
        return f"{whole // _MINUTE_S} min {whole % _MINUTE_S} s" if whole % _MINUTE_S else f"{whole // _MINUTE_S} min"
    hours, minutes = whole // _HOUR_S, whole % _HOUR_S // _MINUTE_S
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def age_words(then: datetime, now: datetime) -> str:
    """Return the age of `then` ("41 min"); its date if it lies in the future: somebody's clock was wrong."""
    age_s = (now - then).total_seconds()
    return then.strftime("%Y-%m-%d") if age_s < -_CLOCK_SKEW_S else span_words(age_s)


def ago_words(then: datetime, now: datetime) -> str:
    """Return `age_words` as part of a sentence: "41 min ago"; the date if it is old or in the future."""
    age_s = (now - then).total_seconds()
    if age_s < -_CLOCK_SKEW_S or age_s > _LONGEST_DAYS_S:
        return then.strftime("on %Y-%m-%d")
    return f"{age_words(then, now)} ago"
