"""The engine everything shares: one model, loaded once, off the caller's thread, fed in batches."""

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Protocol, runtime_checkable

from memory_core.embedding import Embedder

from memory_embed.embedding_jobs import Job, JobQueue, Portion
from memory_embed.errors import EmbeddingError
from memory_embed.onnx_backend import OnnxEmbedder
from memory_embed.options import whole_number
from memory_embed.texts import clean_texts
from memory_embed.vector_cache import VectorCache

logger = logging.getLogger(__name__)

# A pass takes a fraction of this; only a download or a stuck disk takes longer, and exit does not wait for those.
_CLOSE_SECONDS = 5.0


@runtime_checkable
class LoadingEmbedder(Embedder, Protocol):
    """An embedder that can be told to load its model before the first text comes."""

    def load(self) -> object:
        """Load the model unless it is loaded."""


class EmbeddingEngine:
    """Wraps an embedder with a worker thread that loads it and coalesces concurrent calls into batches.

    Nothing is loaded or started before the first text. Calls of one pass cannot harm each other: when a pass fails,
    its calls are tried one by one.

    Raises:
        ConfigError: `max_waiting` or `cache_size` has a value it cannot have.
    """

    def __init__(self, embedder: Embedder | None = None, *, max_waiting: int = 10_000, cache_size: int = 256) -> None:
        self._embedder = embedder if embedder is not None else OnnxEmbedder()
        self._max_waiting = whole_number("max_waiting", max_waiting, 1, "10000 texts are the default")
        self._cache_size = whole_number("cache_size", cache_size, 0, "0 remembers nothing")
        self._closed = False
        self._worker: threading.Thread | None = None
        self._reset()
        _engines.add(self)

    @property
    def model(self) -> str:
        """The name of the embedder's model."""
        return self._embedder.model

    @property
    def version(self) -> str:
        """The embedder's generation."""
        return self._embedder.version

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._embedder.dimensions

    @property
    def closed(self) -> bool:
        """Whether the engine was closed."""
        return self._closed

    def embed(self, text: str | None) -> list[float]:
        """Return the vector of one text, waiting for room in the queue if need be."""
        return self._queue_texts([text], block=True).result()[0]

    def embed_batch(self, texts: Sequence[str | None]) -> list[list[float]]:
        """Return one vector per text, in order, waiting for room in the queue if need be."""
        return self._queue_texts(texts, block=True).result()

    def submit(self, texts: Sequence[str | None]) -> "Future[list[list[float]]]":
        """Queue texts and return a future of their vectors; cancelling it takes them from the queue.

        Raises:
            QueueFullError: too many texts wait; an event loop must not be blocked, so this is said at once.
            EngineClosedError: the engine was closed.
        """
        return self._queue_texts(texts, block=False)

    def preload(self) -> "Future[list[list[float]]]":
        """Start loading the model and return a future that is done, or fails, when it is loaded."""
        return self._queue_job(Job([]), block=False)

    def close(self) -> None:
        """Fail what waits, let the pass that runs finish, and end the worker; calling it again does nothing."""
        self._closed = True
        self._queue.close()
        worker = self._worker
        if worker is not None and worker is not threading.current_thread():
            worker.join(_CLOSE_SECONDS)

    def __enter__(self) -> "EmbeddingEngine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _queue_texts(self, texts: Sequence[str | None], *, block: bool) -> "Future[list[list[float]]]":
        job = Job(clean_texts(texts))
        if not job.texts:
            job.future.set_result([])
            return job.future
        if len(job.texts) > 1:
            return self._queue_job(job, block=block)
        remembered = self._cache.get(job.texts[0])
        if remembered is None:
            return self._queue_job(job, block=block)
        job.fill([0], [remembered])
        return job.future

    def _queue_job(self, job: Job, *, block: bool) -> "Future[list[list[float]]]":
        self._start_worker()
        self._queue.put(job, block=block)
        return job.future

    def _start_worker(self) -> None:
        with self._starting:
            if self._worker is None and not self._closed:
                # A daemon, so that an exit never waits for it; `close` at exit lets the running pass finish.
                self._worker = threading.Thread(target=self._work, args=[self._queue], name="memory-embed", daemon=True)
                self._worker.start()

    def _work(self, queue: JobQueue) -> None:
        while (portions := queue.next_pass()) is not None:
            self._load_and_run(portions)

    def _load_and_run(self, portions: list[Portion]) -> None:
        try:
            if isinstance(self._embedder, LoadingEmbedder):
                self._embedder.load()
        except Exception as error:
            # An isolation point: the worker outlives whatever a backend raises, and the callers get the error.
            logger.exception("embedding model %r could not be loaded", self._embedder.model)
            for portion in portions:
                portion.job.fail(error)
        else:
            self._run(portions)

    def _run(self, portions: list[Portion]) -> None:
        texts = [text for portion in portions for text in portion.texts]
        try:
            vectors = self._embedder.embed_batch(texts)
            self._check_count(vectors, texts)
        except Exception as error:
            # An isolation point too: one text that the backend cannot take must fail only the call that it came with.
            self._run_apart(portions, error)
            return
        for portion in portions:
            count = len(portion.positions)
            self._deliver(portion, vectors[:count])
            vectors = vectors[count:]

    def _check_count(self, vectors: list[list[float]], texts: list[str]) -> None:
        if len(vectors) != len(texts):
            raise EmbeddingError(
                f"embedding backend {self.model!r} returned {len(vectors)} vectors for {len(texts)} texts; "
                "it must return one per text"
            )

    def _run_apart(self, portions: list[Portion], error: Exception) -> None:
        if len(portions) == 1:
            logger.error("embedding %d texts failed", len(portions[0].positions), exc_info=error)
            portions[0].job.fail(error)
            return
        for portion in portions:
            self._run([portion])

    def _deliver(self, portion: Portion, vectors: list[list[float]]) -> None:
        if len(portion.job.texts) == 1:
            self._cache.put(portion.job.texts[0], vectors[0])
        portion.job.fill(portion.positions, vectors)

    def _reset(self) -> None:
        self._queue = JobQueue(self._max_waiting)
        self._cache = VectorCache(self._cache_size)
        self._starting = threading.Lock()
        self._worker = None


_engines: "weakref.WeakSet[EmbeddingEngine]" = weakref.WeakSet()
_shared: EmbeddingEngine | None = None
_sharing = threading.Lock()


def get_embedding_engine() -> EmbeddingEngine:
    """Return the process's shared engine on the default backend; the first call creates it, nothing is loaded yet."""
    global _shared
    with _sharing:
        if _shared is None or _shared.closed:
            _shared = EmbeddingEngine()
        return _shared


def _close_engines() -> None:
    for engine in list(_engines):
        engine.close()


def _start_over_in_child() -> None:
    # The worker did not come along into the forked process, and a lock may have been held by it at that moment.
    global _sharing
    _sharing = threading.Lock()
    for engine in list(_engines):
        engine._reset()


atexit.register(_close_engines)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_over_in_child)
