"""For tests of packages that build on memory-core: an embedder that needs no model, and the mark for scenarios."""

import math
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from random import Random


class WordHashEmbedder:
    """Vectors that need no model: texts that share words are near each other. For tests only."""

    def __init__(self, model: str = "word-hash", version: str = "1", dimensions: int = 384) -> None:
        self.model = model
        self.version = version
        self.dimensions = dimensions

    def embed(self, text: str | None) -> list[float]:
        """Return the normalised sum of the words' pseudo-random vectors."""
        words = (text or " ").lower().split() or [" "]
        vectors = [_word_vector(word, self.dimensions) for word in words]
        total = [sum(column) for column in zip(*vectors, strict=True)]
        length = math.sqrt(sum(value * value for value in total)) or 1.0
        return [value / length for value in total]

    def embed_batch(self, texts: Sequence[str | None]) -> list[list[float]]:
        """Return one vector per text."""
        return [self.embed(text) for text in texts]


@lru_cache(maxsize=50_000)
def _word_vector(word: str, dimensions: int) -> tuple[float, ...]:
    seed = int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    random = Random(seed)
    return tuple(random.gauss(0, 1) for _ in range(dimensions))
