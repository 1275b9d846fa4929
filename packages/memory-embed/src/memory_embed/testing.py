"""The tests that every embedding backend passes; a backend's own test module imports them.

from memory_embed.testing import EmbedderContract

class TestMyBackend(EmbedderContract):
    @pytest.fixture
    def embedder(self):
        return MyEmbedder()
"""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

from memory_core.embedding import Embedder

SHORT_AND_LONG = [
    "ok",
    "The dentist appointment was moved to Thursday.",
    "Встреча перенесена на четверг",
    "会議は来週の火曜日です",
    "def add(a, b): return a + b",
    "👩‍👩‍👧‍👦 dinner at 7 🍝",
    "She moved to Lisbon in 2019 and works as a nurse. " * 5,
    "nothing is decided until the board has met " * 40,
]


def cosine(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the cosine of the angle between two vectors."""
    product = math.fsum(a * b for a, b in zip(left, right, strict=True))
    return product / math.sqrt(math.fsum(a * a for a in left) * math.fsum(b * b for b in right))


class EmbedderContract:
    """Subclass it and define a fixture `embedder`.

    `batch_tolerance` is how far the cosine between a text's vector alone and among others may stay below one.
    """

    batch_tolerance: ClassVar[float] = 1e-6

    def test_it_is_an_embedder_that_names_its_generation(self, embedder: Embedder) -> None:
        """Model and version are what `embedding_versions` records."""
        assert isinstance(embedder, Embedder)
        assert embedder.model
        assert embedder.version

    def test_a_vector_has_the_declared_dimensions_and_finite_numbers(self, embedder: Embedder) -> None:
        """Plain floats: they go to the database and into JSON."""
        vector = embedder.embed("The invoice is overdue.")
        assert isinstance(vector, list)
        assert len(vector) == embedder.dimensions
        assert all(type(number) is float and math.isfinite(number) for number in vector)

    def test_none_and_empty_texts_are_one_space(self, embedder: Embedder) -> None:
        """Alone and in a batch."""
        space = embedder.embed(" ")
        for vector in [embedder.embed(None), embedder.embed(""), *embedder.embed_batch([None, ""])]:
            assert cosine(vector, space) >= 1 - self.batch_tolerance

    def test_an_empty_batch_gives_an_empty_list(self, embedder: Embedder) -> None:
        """Without any work."""
        assert embedder.embed_batch([]) == []

    def test_a_batch_gives_one_vector_per_text_in_order(self, embedder: Embedder) -> None:
        """Whatever the backend sorts inside."""
        vectors = embedder.embed_batch(SHORT_AND_LONG)
        assert len(vectors) == len(SHORT_AND_LONG)
        for text, vector in zip(SHORT_AND_LONG, vectors, strict=True):
            alone = embedder.embed(text)
            assert max(range(len(vectors)), key=lambda i: cosine(vectors[i], alone)) == vectors.index(vector)

    def test_a_vector_does_not_depend_on_its_batch(self, embedder: Embedder) -> None:
        """Otherwise the same memory is found or missed depending on what was stored with it."""
        among_others = embedder.embed_batch(SHORT_AND_LONG)
        for text, vector in zip(SHORT_AND_LONG, among_others, strict=True):
            assert cosine(embedder.embed(text), vector) >= 1 - self.batch_tolerance, text[:40]

    def test_the_same_text_gives_the_same_vector(self, embedder: Embedder) -> None:
        """To the last bit."""
        assert embedder.embed("spare key") == embedder.embed("spare key")

    def test_threads_may_embed_at_the_same_time(self, embedder: Embedder) -> None:
        """And each gets the vector of its own text."""
        texts = [f"note number {number} about the garden" for number in range(24)]
        expected = embedder.embed_batch(texts)
        with ThreadPoolExecutor(8) as threads:
            for vector, alone in zip(expected, threads.map(embedder.embed, texts), strict=True):
                assert cosine(vector, alone) >= 1 - self.batch_tolerance

    def test_a_very_long_text_is_cut_not_refused(self, embedder: Embedder) -> None:
        """Episodes can be longer than any model reads."""
        assert len(embedder.embed("the river was high that spring " * 2000)) == embedder.dimensions

    def test_half_a_character_does_not_break_the_batch(self, embedder: Embedder) -> None:
        """A lone surrogate comes from cut-off JSON escapes."""
        assert len(embedder.embed_batch(["fine", "cut off \ud83d", "fine too"])) == 3

    def test_what_is_not_a_text_is_refused(self, embedder: Embedder) -> None:
        """With a TypeError, before any work."""
        for texts in ([42], "one string instead of a list"):
            try:
                embedder.embed_batch(texts)  # type: ignore[arg-type]
            except TypeError:
                continue
            raise AssertionError(f"embed_batch({texts!r}) must raise TypeError")

    def test_similar_meanings_are_closer_than_different_ones(self, embedder: Embedder) -> None:
        """A backend that returns noise of the right shape fails here."""
        question, answer, other = embedder.embed_batch(
            ["Where does Anna live?", "Anna's home is in Berlin.", "The printer is out of paper."]
        )
        assert cosine(question, answer) > cosine(question, other)
