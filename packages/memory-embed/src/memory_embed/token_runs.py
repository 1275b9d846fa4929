"""From texts to the padded arrays of one run: tokens as the reference counts them, neighbours of like length."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from memory_embed.graph_builder import Array

MAX_TOKENS = 256
# Past this many padded tokens a run gains no speed and the intermediate results leave the processor's caches.
TOKENS_PER_RUN = 512
# Far more characters than 256 tokens of prose take: most long texts need not be tokenised to their end.
_LONG_TEXT = 8192


class TextTokenizer:
    """Turns a text into at most 256 token ids; used by any number of threads."""

    def __init__(self, path: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(path))
        # The file asks for 128 tokens, and for padding every text to them; the reference does neither.
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, cut where the reference cuts it."""
        if len(text) > _LONG_TEXT:
            # Words never join across white space, so a beginning that fills 256 tokens alone decides all of them.
            beginning = text[:_LONG_TEXT].rsplit(maxsplit=1)[0:1]
            ids = self._ids(beginning[0]) if beginning else []
            if len(ids) == MAX_TOKENS:
                return ids
        return self._ids(text)

    def _ids(self, text: str) -> list[int]:
        # One text at a time: the batch call starts a thread per core, which is the database's core.
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids


def plan_runs(lengths: Sequence[int], tokens_per_run: int = TOKENS_PER_RUN) -> Iterator[list[int]]:
    """Yield the positions of the texts of each run: sorted by length, so that little of a run is padding."""
    run: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        if run and lengths[position] * (len(run) + 1) > tokens_per_run:
            yield run
            run = []
        run.append(position)
    if run:
        yield run


def pad_run(encoded: Sequence[Sequence[int]]) -> tuple[Array, Array]:
    """Return ids and mask of texts that run together."""
    width = max(len(ids) for ids in encoded)
    ids_array = np.zeros((len(encoded), width), np.int64)
    mask = np.zeros((len(encoded), width), np.float32)
    for row, ids in enumerate(encoded):
        ids_array[row, : len(ids)] = ids
        mask[row, : len(ids)] = 1
    return ids_array, mask
