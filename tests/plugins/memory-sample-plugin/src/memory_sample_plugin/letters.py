"""An embedding backend: how often each letter occurs."""

from string import ascii_lowercase


class LetterEmbedder:
    """Vectors of letter counts, repeated up to the wanted dimensions."""

    model = "letters"
    version = "1"

    def __init__(self, dimensions: int = 384) -> None:
        self.dimensions = dimensions

    def embed(self, text: str | None) -> list[float]:
        """Return the counts of the letters; a text without any is near no other."""
        counts = [float((text or " ").lower().count(letter)) for letter in ascii_lowercase] + [0.1]
        return [counts[index % len(counts)] for index in range(self.dimensions)]

    def embed_batch(self, texts: list[str | None]) -> list[list[float]]:
        """Return one vector per text."""
        return [self.embed(text) for text in texts]
