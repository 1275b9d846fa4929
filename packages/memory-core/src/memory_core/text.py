"""Makes any text safe to store, to index and to search for."""

from memory_core.errors import InvalidInputError

MAX_INDEXED_BYTES = 1_048_576
MAX_CONTENT_BYTES = 1_048_576
MAX_NAME_BYTES = 1_024


def preprocess_text(text: str | None) -> str:
    """Return text fit for a search vector: no NUL bytes, single spaces, at most 1 MB on a codepoint boundary."""
    normal = preprocess_search_query(text)
    encoded = normal.encode("utf-8", "ignore")
    if len(encoded) <= MAX_INDEXED_BYTES:
        return normal
    return encoded[:MAX_INDEXED_BYTES].decode("utf-8", "ignore").rstrip()


def preprocess_search_query(query: str | None) -> str:
    """Return a query without NUL bytes and with single spaces; the empty string for no query."""
    return " ".join((query or "").replace("\x00", "").split())


def clean_content(text: str, name: str = "content", max_bytes: int = MAX_CONTENT_BYTES) -> str:
    """Return text as it is stored: NUL bytes removed, everything else kept.

    Raises:
        InvalidInputError: nothing but white space is left, it is too long, or it is not valid Unicode.
    """
    if not isinstance(text, str):
        raise InvalidInputError(f"{name} is {type(text).__name__}, not text; pass a string")
    cleaned = text.replace("\x00", "")
    if not cleaned.strip():
        raise InvalidInputError(f"{name} {_shown(text)} is empty; give it at least one visible character")
    try:
        size = len(cleaned.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{name} has a lone surrogate {cleaned[error.start]!a} at position {error.start}; "
            "only valid Unicode can be stored: decode the text properly or replace that character"
        ) from None
    if size > max_bytes:
        raise InvalidInputError(
            f"{name} is {size:,} bytes long ({_shown(text)}), at most {max_bytes:,} are allowed; "
            "store a summary, or split it"
        )
    return cleaned


def clean_name(text: str, name: str) -> str:
    """Return a subject, predicate, scope, butler or tenant: one line, single spaces, at most 1 kB.

    Raises:
        InvalidInputError: it is empty, too long or not valid Unicode.
    """
    return preprocess_search_query(clean_content(text, name, MAX_NAME_BYTES))


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 40 else text[:37] + "...")
