"""Reading a safetensors file without copying it: the arrays are views of the memory-mapped file."""

import json
import mmap
import struct
from pathlib import Path
from typing import Any

import numpy as np

from memory_embed.errors import WeightsError
from memory_embed.graph_builder import Array

_DTYPES = {"F32": np.float32, "I64": np.int64}


class TensorFile:
    """A mapped file and its tensors, each a read-only view.

    Raises:
        WeightsError: the file is not a safetensors file.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            self.tensors = _read_tensors(self._map)
        except (struct.error, ValueError, KeyError) as error:
            raise WeightsError(
                f"{path} is not a readable safetensors file ({error}); replace it with the published file"
            ) from error

    def release_pages(self) -> None:
        """Give the pages read so far back to the system; the views stay valid and read them again when used."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


def _read_tensors(mapped: mmap.mmap) -> dict[str, Array]:
    (header_size,) = struct.unpack_from("<Q", mapped)
    header = json.loads(mapped[8 : 8 + header_size])
    header.pop("__metadata__", None)
    return {name: _view(mapped, 8 + header_size, entry) for name, entry in header.items()}


def _view(mapped: mmap.mmap, start: int, entry: dict[str, Any]) -> Array:
    begin, end = entry["data_offsets"]
    dtype = np.dtype(_DTYPES[entry["dtype"]])
    count = (end - begin) // dtype.itemsize
    return np.frombuffer(mapped, dtype, count, start + begin).reshape(entry["shape"])
