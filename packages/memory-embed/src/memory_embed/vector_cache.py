"""The vectors of the last questions: an agent asks the same thing again while it works on one task."""

import threading
from array import array
from collections import OrderedDict

# Questions are short. A stored episode may have megabytes, and 256 of those would be kept for nothing.
MAX_CHARACTERS = 2_000


class VectorCache:
    """The most recently used vectors by text, 3 KB and a short text each."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._vectors: OrderedDict[str, array[float]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, text: str) -> list[float] | None:
        """Return a copy of the text's vector, if it is remembered."""
        with self._lock:
            vector = self._vectors.get(text)
            if vector is None:
                return None
            self._vectors.move_to_end(text)
            return vector.tolist()

    def put(self, text: str, vector: list[float]) -> None:
        """Remember the vector of a short text and forget the one not used for longest."""
        if len(text) > MAX_CHARACTERS:
            return
        with self._lock:
            self._vectors[text] = array("d", vector)
            self._vectors.move_to_end(text)
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)
