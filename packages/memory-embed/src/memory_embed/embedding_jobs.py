"""Who waits for vectors, and whose texts the next pass of the model takes.

Batching is natural: a pass takes what is waiting when the model is free. One caller alone waits for nobody, and what
arrives during a pass goes together in the next one. No timer holds anything back.
"""

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from typing import NamedTuple

from memory_embed.errors import EngineClosedError, QueueFullError

# About 2,000 tokens, 0.2 s on one core: what a single question may have to wait for behind a bulk load.
PASS_CHARACTERS = 8192
# A longer text is cut at 256 tokens, so it takes no longer than this many characters do.
_COUNTED_CHARACTERS = 1024


def _cost(text: str) -> int:
    return min(len(text) + 1, _COUNTED_CHARACTERS)


class Job:
    """The texts of one call, given out in portions of like length, and their vectors coming back."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.future: Future[list[list[float]]] = Future()
        self.texts = texts
        self._order = sorted(range(len(texts)), key=lambda position: len(texts[position]))
        self._given = 0
        self._vectors: list[list[float]] = [[] for _ in texts]
        self._missing = len(texts)

    @property
    def waiting(self) -> int:
        """How many texts were not given out yet."""
        return len(self._order) - self._given

    def take(self, characters: int) -> list[int]:
        """Give out the positions of the next texts, at least one, up to about that many characters."""
        first = self._given
        while self._given < len(self._order) and (characters > 0 or self._given == first):
            characters -= _cost(self.texts[self._order[self._given]])
            self._given += 1
        return self._order[first : self._given]

    def fill(self, positions: Sequence[int], vectors: Sequence[list[float]]) -> None:
        """Take back the vectors of a portion; the last portion resolves the future."""
        for position, vector in zip(positions, vectors, strict=True):
            self._vectors[position] = vector
        self._missing -= len(positions)
        if self._missing == 0 and self.future.set_running_or_notify_cancel():
            self.future.set_result(self._vectors)

    def fail(self, error: BaseException) -> None:
        """Resolve the future with an error, unless it is resolved or cancelled."""
        if not self.future.done() and self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)


class Portion(NamedTuple):
    """Some texts of one job, on their way through the model."""

    job: Job
    positions: list[int]

    @property
    def texts(self) -> list[str]:
        """The texts themselves."""
        return [self.job.texts[position] for position in self.positions]


class JobQueue:
    """Jobs in order of arrival; bounded by the number of texts that wait."""

    def __init__(self, max_waiting: int) -> None:
        self._max_waiting = max_waiting
        self._jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._closed = False

    def put(self, job: Job, *, block: bool) -> None:
        """Queue a job, however large, unless too much waits already; then block or refuse.

        Raises:
            QueueFullError: too many texts wait, and the caller does not want to.
            EngineClosedError: the engine was closed.
        """
        with self._changed:
            if block:
                self._changed.wait_for(lambda: self._closed or self._waiting() < self._max_waiting)
            if self._closed:
                raise EngineClosedError("the embedding engine is closed; call get_embedding_engine() for a new one")
            if self._waiting() >= self._max_waiting:
                raise QueueFullError(
                    f"{self._waiting()} texts wait for the embedding model and at most {self._max_waiting} may; "
                    "try again later, or raise the option `max_waiting`"
                )
            self._jobs.append(job)
            self._changed.notify_all()

    def next_pass(self) -> list[Portion] | None:
        """Wait for work and take a pass of it; `None` once closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._jobs)
            if self._closed:
                return None
            self._jobs = deque(job for job in self._jobs if not job.future.done())
            portions = self._take_portions()
            self._changed.notify_all()
            return portions

    def close(self) -> None:
        """Refuse new jobs and fail those that wait."""
        with self._changed:
            self._closed = True
            for job in self._jobs:
                job.fail(EngineClosedError("the embedding engine was closed while this text waited"))
            self._jobs.clear()
            self._changed.notify_all()

    def _take_portions(self) -> list[Portion]:
        # Equal shares keep a question from waiting behind a re-embedding of everything, and the other way round.
        share, left = PASS_CHARACTERS // max(len(self._jobs), 1), PASS_CHARACTERS
        portions: list[Portion] = []
        while self._jobs and left > 0:
            job = self._jobs.popleft()
            portions.append(Portion(job, job.take(share)))
            left -= sum(_cost(text) for text in portions[-1].texts)
        self._jobs.extend(portion.job for portion in portions if portion.job.waiting)
        return portions

    def _waiting(self) -> int:
        return sum(job.waiting for job in self._jobs if not job.future.cancelled())
