"""all-MiniLM-L6-v2 on onnxruntime: the default backend, without torch and without the network."""

import os
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import platformdirs

from memory_embed.options import directory, flag, one_of, whole_number
from memory_embed.precision import Precision
from memory_embed.texts import clean_text, clean_texts
from memory_embed.weights import DIMENSIONS, MODEL, REVISION, find_model_files

if TYPE_CHECKING:
    from memory_embed.minilm_session import MiniLMSession


# Sessions of a parent process: their threads do not exist after a fork, and destroying them would wait for these.
_inherited: list[object] = []
_embedders: "weakref.WeakSet[OnnxEmbedder]" = weakref.WeakSet()


class OnnxEmbedder:
    """Embeds with all-MiniLM-L6-v2; the model is loaded by the first text or by `load()`.

    Raises:
        ConfigError: an option has a value it cannot have.
    """

    def __init__(
        self,
        *,
        model_path: str | os.PathLike[str] | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        precision: Precision = "fp32",
        threads: int = 1,
        download: bool = True,
    ) -> None:
        one_of("precision", precision, get_args(Precision))
        self._model_path = directory("model_path", model_path) if model_path is not None else None
        self._cache_dir = directory("cache_dir", cache_dir) if cache_dir is not None else default_cache_dir()
        self._precision: Precision = precision
        self._threads = whole_number("threads", threads, 1, "1 suits a shared machine")
        self._download = flag("download", download)
        self._session: MiniLMSession | None = None
        self._loading = threading.Lock()
        _embedders.add(self)

    @property
    def model(self) -> str:
        """The model's name."""
        return MODEL

    @property
    def version(self) -> str:
        """The weights' revision; in full precision the same as the sentence-transformers backend's."""
        return REVISION[:12] if self._precision == "fp32" else f"{REVISION[:12]}-{self._precision}"

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return DIMENSIONS

    def load(self) -> "MiniLMSession":
        """Find, check and load the model, once; later calls return at once.

        Raises:
            WeightsError: the model's files are missing or are not the published ones.
        """
        with self._loading:
            if self._session is None:
                self._session = self._open_session()
            return self._session

    def embed(self, text: str | None) -> list[float]:
        """Return the vector of one text."""
        return self.embed_batch([clean_text(text)])[0]

    def embed_batch(self, texts: Sequence[str | None]) -> list[list[float]]:
        """Return one vector per text, in order."""
        cleaned = clean_texts(texts)
        return self.load().embed(cleaned) if cleaned else []

    def _open_session(self) -> "MiniLMSession":
        # Imported here: onnxruntime, numpy and tokenizers take 0.1 s, which an unused engine should not cost.
        from memory_embed.minilm_session import MiniLMSession

        files = find_model_files(self._model_path, self._cache_dir, download=self._download)
        return MiniLMSession(files, precision=self._precision, threads=self._threads)

    def _forget_session(self) -> None:
        _inherited.append(self._session)
        self._session = None
        self._loading = threading.Lock()


def default_cache_dir() -> Path:
    """Return the user's cache directory for models and receipts; `MEMORY_EMBED_CACHE_DIR` overrides it."""
    named = os.environ.get("MEMORY_EMBED_CACHE_DIR")
    return Path(named) if named else platformdirs.user_cache_path("butler-memory") / "embed"


def _forget_inherited_sessions() -> None:
    for embedder in list(_embedders):
        embedder._forget_session()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_inherited_sessions)
