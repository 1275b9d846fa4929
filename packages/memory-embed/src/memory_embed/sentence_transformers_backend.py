"""Any model of sentence-transformers, for those who have torch anyway; the extra `sentence-transformers` brings it."""

import os
import threading
from collections.abc import Sequence
from typing import Any

from memory_embed.errors import EmbeddingError
from memory_embed.options import directory, whole_number
from memory_embed.texts import clean_text, clean_texts
from memory_embed.weights import DIMENSIONS, MODEL, REPOSITORY, REVISION, data_package_directory


class SentenceTransformersEmbedder:
    """Embeds with sentence-transformers, imported and loaded by the first text or by `load()`.

    Without `model` it is all-MiniLM-L6-v2 at the revision the onnx backend uses, so vectors of the two can be mixed.

    Raises:
        ConfigError: an option has a value it cannot have.
    """

    def __init__(
        self,
        *,
        model: str = MODEL,
        revision: str | None = None,
        model_path: str | os.PathLike[str] | None = None,
        device: str = "cpu",
        threads: int | None = None,
    ) -> None:
        if threads is not None:
            whole_number("threads", threads, 1, "leave it out for torch's own choice")
        self._is_default = model in (MODEL, REPOSITORY)
        self._model = MODEL if self._is_default else model
        self._revision = revision or (REVISION if self._is_default else None)
        self._path = str(directory("model_path", model_path)) if model_path is not None else self._default_path()
        self._device = device
        self._threads = threads
        self._transformer: Any = None
        self._dimensions = DIMENSIONS if self._is_default else None
        # torch gains nothing from two calls at once, and some tokenizers are not safe to share.
        self._lock = threading.RLock()

    @property
    def model(self) -> str:
        """The model's name."""
        return self._model

    @property
    def version(self) -> str:
        """The revision of the weights; for a directory of one's own, `local`."""
        if self._revision is None:
            return "local" if os.path.isdir(self._path) else "latest"
        return self._revision[:12]

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; for another model than the default this loads it."""
        if self._dimensions is None:
            # Asked of a vector: the method that tells it has another name in every other release.
            self._dimensions = len(self.embed(None))
        return self._dimensions

    def load(self) -> Any:
        """Import the library and load the model, once.

        Raises:
            EmbeddingError: the library is not installed, or the model cannot be loaded.
        """
        with self._lock:
            if self._transformer is None:
                self._transformer = self._open()
            return self._transformer

    def embed(self, text: str | None) -> list[float]:
        """Return the vector of one text."""
        return self.embed_batch([clean_text(text)])[0]

    def embed_batch(self, texts: Sequence[str | None]) -> list[list[float]]:
        """Return one unit vector per text, in order."""
        cleaned = clean_texts(texts)
        if not cleaned:
            return []
        with self._lock:
            encoded = self.load().encode(cleaned, normalize_embeddings=True, show_progress_bar=False)
        vectors: list[list[float]] = encoded.tolist()
        return vectors

    def _default_path(self) -> str:
        installed = data_package_directory() if self._is_default else None
        return str(installed) if installed else (REPOSITORY if self._is_default else self._model)

    def _open(self) -> Any:
        try:
            import torch  # type: ignore[import-not-found]
            from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found]
        except ImportError as error:
            raise EmbeddingError(
                f"the embedding backend 'sentence-transformers' needs the library of that name ({error}); "
                "install it with `pip install 'memory-embed[sentence-transformers]'`, or use the backend 'onnx'"
            ) from error
        if self._threads is not None:
            torch.set_num_threads(self._threads)
        revision = None if os.path.isdir(self._path) else self._revision
        try:
            return SentenceTransformer(self._path, revision=revision, device=self._device)
        except (OSError, ValueError, RuntimeError) as error:
            raise EmbeddingError(
                f"model {self._path!r} could not be loaded by sentence-transformers: {error}"
            ) from error
