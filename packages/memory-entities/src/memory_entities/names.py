"""What a name may be, and when two spellings are the same name."""

import unicodedata
from collections.abc import Iterable, Sequence

from memory_core.errors import InvalidInputError
from memory_core.text import clean_name

MAX_ALIASES = 200


def is_blank(text: str) -> bool:
    """Tell whether a text shows nothing: only spaces, control characters and marks that have no letter to stand on."""
    return all(unicodedata.category(letter)[0] in "CMZ" for letter in text)


def clean_entity_name(text: str, name: str = "canonical_name") -> str:
    """Return a name as it is stored: one line, single spaces, accents composed with their letters, at most 1 kB.

    Raises:
        InvalidInputError: it is empty or invisible, too long or not valid Unicode.
    """
    # Composed, because the same name typed on two keyboards must not become two entities.
    cleaned = unicodedata.normalize("NFC", clean_name(text, name))
    if is_blank(cleaned):
        raise InvalidInputError(f"{name} {cleaned[:40]!a} has no visible character; give it at least one")
    return cleaned


def clean_aliases(aliases: Sequence[str] | None) -> list[str]:
    """Return aliases as they are stored, in the given order, each spelling once whatever its case.

    Raises:
        InvalidInputError: it is not a list of names.
    """
    if aliases is None:
        return []
    if isinstance(aliases, str) or not isinstance(aliases, Sequence) or len(aliases) > MAX_ALIASES:
        raise InvalidInputError(f"aliases {str(aliases)[:60]!r} is not a list of at most {MAX_ALIASES} names")
    return unseen_names([clean_entity_name(alias, "alias") for alias in aliases])


def unseen_names(names: Iterable[str], seen: Iterable[str] = ()) -> list[str]:
    """Return the names whose spelling is not among the seen ones, each once, the first of its spelling."""
    known = {spelling(name) for name in seen}
    fresh: dict[str, str] = {}
    for name in names:
        key = spelling(name)
        if key not in known:
            fresh.setdefault(key, name)
    return list(fresh.values())


def spelling(name: str) -> str:
    """Return what two names share when they differ in nothing but case."""
    return unicodedata.normalize("NFC", name.casefold())
