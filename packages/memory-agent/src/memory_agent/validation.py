"""The rules that every value from outside must pass, with messages that say how to mend it."""

from typing import get_args

from memory_agent.errors import InvalidInputError
from memory_agent.records import MemoryCategory, SearchMode, SearchOptions

# A multiple of it must still fit into an integer of SQLite.
MAX_LIMIT = 1_000_000
# A hundred years: beyond it the calendar ends before the arithmetic does.
MAX_DAYS = 36_500


def require_text(name: str, value: object) -> str:
    """Return the value when it is text that SQLite can store.

    Raises:
        InvalidInputError: it is no string, blank, or holds a lone surrogate.
    """
    text = require_encodable(name, value)
    if not text.strip():
        raise InvalidInputError(f"{name} {value!r} is blank; pass at least one visible character")
    return text


def require_encodable(name: str, value: object) -> str:
    """Return the value when it is a text of valid Unicode.

    Raises:
        InvalidInputError: it is no string, or holds a lone surrogate, which no UTF-8 file can hold.
    """
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} {value!r} is not a string; pass text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{name} {value!r} has a lone surrogate at position {error.start}; decode the text correctly first"
        ) from None
    return value


def require_limit(value: object) -> int:
    """Return the value when it is a usable number of results.

    Raises:
        InvalidInputError: it is no whole number from 1 to a million.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_LIMIT:
        raise InvalidInputError(f"limit {value!r} is not a whole number from 1 to {MAX_LIMIT:,}; pass for example 10")
    return value


def require_category(value: object) -> str:
    """Return the value when it names a category.

    Raises:
        InvalidInputError: it names none.
    """
    known = get_args(MemoryCategory)
    if value not in known:
        raise InvalidInputError(f"category {value!r} is not one of: {', '.join(known)}")
    return str(value)


def require_days(value: object) -> float:
    """Return the value when it is an age in days.

    Raises:
        InvalidInputError: it is no number from 0 to 36,500.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_DAYS:
        raise InvalidInputError(
            f"older_than_days {value!r} is not a number from 0 to {MAX_DAYS:,}; pass for example 30"
        )
    return float(value)


def require_options(opts: SearchOptions) -> SearchOptions:
    """Return the options when every field keeps its rule.

    Raises:
        InvalidInputError: a field does not; the message names it.
    """
    require_limit(opts.limit)
    if opts.mode not in get_args(SearchMode):
        raise InvalidInputError(f"mode {opts.mode!r} is not one of: {', '.join(get_args(SearchMode))}")
    if opts.category is not None:
        require_category(opts.category)
    similarity = opts.min_similarity
    if isinstance(similarity, bool) or not isinstance(similarity, int | float) or not 0 <= similarity <= 1:
        raise InvalidInputError(f"min_similarity {similarity!r} is not a number from 0 to 1; pass for example 0.2")
    return opts
