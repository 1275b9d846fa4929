"""Cron lines: when they are due, in UTC, and which are none."""

from datetime import UTC, datetime, timedelta

from cronsim import CronSim, CronSimError

from memory_core.errors import ConfigError


def parse_cron_line(line: str, name: str) -> str:
    """Return a cron line without the space around it; the empty line, which is never due, is one.

    Raises:
        ConfigError: it cannot be read, or never comes due.
    """
    trimmed = line.strip()
    if trimmed:
        try:
            next_moment(trimmed, datetime.now(UTC))
        except (CronSimError, StopIteration) as error:
            raise ConfigError(
                f"{name} {trimmed!r} is not a cron line that ever comes due ({error}); "
                "write minute, hour, day, month and weekday in UTC, such as '0 3 * * *', or nothing to turn it off"
            ) from None
    return trimmed


def next_moment(line: str, now: datetime) -> datetime:
    """Return when a cron line is due next, after now."""
    return next(CronSim(line, now.astimezone(UTC)))


def latest_moment(line: str, now: datetime) -> datetime:
    """Return when a cron line was due last, now included."""
    return next(CronSim(line, now.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1), reverse=True))
