"""What counts as a text: `None` and the empty one become a single space, anything else must be a string."""

from collections.abc import Sequence


def clean_text(text: str | None) -> str:
    """Return the text that is embedded.

    Raises:
        TypeError: it is neither a string nor `None`.
    """
    if text is None or text == "":
        return " "
    if not isinstance(text, str):
        raise TypeError(f"text {text!r} is a {type(text).__name__}; embed a str, or None for an empty text")
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair, as cut-off JSON escapes leave it. Refusing it would fail the texts it is batched
        # with; the reference model drops the replacement character.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_texts(texts: Sequence[str | None]) -> list[str]:
    """Return the texts that are embedded.

    Raises:
        TypeError: one of them is neither a string nor `None`, or a single string was given for a list.
    """
    if isinstance(texts, str):
        raise TypeError(f"texts {texts[:40]!r} is one str; pass a list of texts, or call embed() for one")
    return [clean_text(text) for text in texts]
