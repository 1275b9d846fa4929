"""The one place that reads the time, and the text form in which SQLite keeps it."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the present moment in UTC."""
    return datetime.now(UTC)


def as_utc(moment: datetime) -> datetime:
    """Return the moment in UTC; a naive one counts as UTC already."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def format_stamp(moment: datetime) -> str:
    """Return the moment as `datetime('now')` writes it, with milliseconds: order survives a busy second."""
    return as_utc(moment).replace(tzinfo=None).isoformat(sep=" ", timespec="milliseconds")


def parse_stamp(stamp: object) -> datetime | None:
    """Return the moment a stored text stands for, or None when it stands for none."""
    try:
        return as_utc(datetime.fromisoformat(str(stamp).strip()))
    except (ValueError, OverflowError):
        return None
