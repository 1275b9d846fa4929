"""Sparse TF-IDF vectors and how alike two of them are; no storage."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from memory_agent.errors import InvalidInputError
from memory_agent.tokens import term_frequency


class IDFCorpus:
    """Counts in how many documents each term occurs."""

    def __init__(self, document_count: int = 0, frequencies: Mapping[str, int] | None = None) -> None:
        self.document_count = document_count
        self.frequencies: Counter[str] = Counter(frequencies or {})

    def add_document(self, tokens: Sequence[str]) -> None:
        """Count a document's terms, each once."""
        self.document_count += 1
        self.frequencies.update(set(tokens))

    def remove_document(self, tokens: Sequence[str]) -> None:
        """Take a document's terms back; counts never fall below zero."""
        self.document_count = max(0, self.document_count - 1)
        for term in set(tokens):
            self.frequencies[term] -= 1
            if self.frequencies[term] <= 0:
                del self.frequencies[term]

    def idf(self, term: str) -> float:
        """Return `log((N+1) / (1+df))`: 0 for a term that every document holds."""
        return math.log((self.document_count + 1) / (1 + self.frequencies[term]))

    def tfidf_vector(self, tokens: Sequence[str]) -> dict[str, float]:
        """Return the weight of each term of a document."""
        return self.weigh(term_frequency(tokens))

    def tfidf_dense_vector(self, tokens: Sequence[str], vocab_index: Sequence[str]) -> list[float]:
        """Return the document's weights in the order of a vocabulary, 0.0 for terms it lacks."""
        weights = self.tfidf_vector(tokens)
        return [weights.get(term, 0.0) for term in vocab_index]

    def weigh(self, frequencies: Mapping[str, float]) -> dict[str, float]:
        """Return term frequencies multiplied by idf; raw counts give the same direction, and so the same cosine."""
        # `idf` written out: a search weighs some hundred terms, and the calls would cost more than the logarithms.
        documents, holders = self.document_count + 1, self.frequencies.get
        return {term: count * math.log(documents / (1 + holders(term, 0))) for term, count in frequencies.items()}


def cosine_similarity_sparse(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Return the cosine of two sparse vectors, 0 when either is zero."""
    # Each side is normalised before they are multiplied: products of very large or small numbers would be lost.
    length_a, length_b = math.hypot(*a.values()), math.hypot(*b.values())
    if not length_a or not length_b:
        return 0.0
    cosine = math.fsum((a[term] / length_a) * (b[term] / length_b) for term in a.keys() & b.keys())
    return max(-1.0, min(1.0, cosine))


def cosine_similarity_dense(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the cosine of two dense vectors, 0 when either is zero.

    Raises:
        InvalidInputError: they differ in length.
    """
    if len(a) != len(b):
        raise InvalidInputError(f"vectors have {len(a)} and {len(b)} numbers; both must come from one vocabulary")
    return cosine_similarity_sparse(_indexed(a), _indexed(b))


def _indexed(vector: Sequence[float]) -> dict[str, float]:
    return {str(position): value for position, value in enumerate(vector)}
