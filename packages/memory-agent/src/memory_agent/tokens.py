"""How text becomes terms: `tokenize` for TF-IDF and Jaccard, `index_words` for the full-text index."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from importlib import resources

STOP_WORDS = frozenset((resources.files("memory_agent") / "stop_words.txt").read_text(encoding="utf-8").split())
MIN_TOKEN_LENGTH = 2

_PUNCTUATION = re.compile(r"[^a-z0-9\s_-]+")
_LATIN_MARKS = re.compile("[\u0300-\u036f]+")
# Han and kana are written without spaces: one character is one word, and a phrase finds a run of them.
_INDEX_WORD = re.compile("[\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\\W_\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff]+")


def tokenize(text: str) -> list[str]:
    """Return the lower-case terms of a text, in order, without punctuation, stop words and single characters."""
    words = _PUNCTUATION.sub(" ", text.lower()).split()
    return [word for word in words if _is_term(word)]


def _is_term(word: str) -> bool:
    # A rule of dashes is punctuation even though a dash inside a word is not.
    return len(word) >= MIN_TOKEN_LENGTH and word not in STOP_WORDS and word.strip("-_") != ""


def term_frequency(tokens: Sequence[str]) -> dict[str, float]:
    """Return how often each term occurs, divided by the length of the document."""
    return {term: count / len(tokens) for term, count in Counter(tokens).items()}


def index_words(text: str) -> list[str]:
    """Return the words of a text in any script, folded so that case and Latin accents do not matter."""
    return _INDEX_WORD.findall(_folded(text))


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    # Composed again, so that marks outside Latin (kana, Hangul) stay part of their letter.
    return unicodedata.normalize("NFC", _LATIN_MARKS.sub("", decomposed))
